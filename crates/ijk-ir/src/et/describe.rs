//! Findings of the checker as text.

use super::checked::{Checked, Origin};
use super::infer::shifted;
use super::ranks::Problem;
use super::space::name_of;
use super::system::Limit;
use super::walk::{self, Event, Role, Standing};
use super::{ShapeId, Tuple};
use crate::text::slice;
use ijk_syntax::Span;
use ijk_syntax::et::ast::{Index, Quantity};
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// Signatures, groups of equal ranks, how extents come about, and loops: one line each, in sections.
///
/// ```text
/// arrays
///   mat[a]: RANDOM
///   res[a, b]: computed, output
/// ranks
///   a, b: 1
/// extents
///   a: DIMS(a) IN [2,10], or what bound data have
///   b: as a
/// ```
impl Display for Checked {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "arrays")?;
        for array in 0..self.arrays.len() {
            writeln!(f, "  {}", self.signature(array))?;
        }
        writeln!(f, "ranks")?;
        for (tuples, ranks) in self.rank_groups() {
            let names: Vec<&str> = tuples.iter().map(|t| t.name.as_str()).collect();
            writeln!(f, "  {}: {ranks}", names.join(", "))?;
        }
        writeln!(f, "extents")?;
        let shifted = shifted(self);
        for tuple in &self.tuples {
            writeln!(f, "  {}: {}", tuple.name, self.extent_text(tuple, &shifted))?;
        }
        super::describe_loops::write(self, f)
    }
}

impl Checked {
    /// An array with what stands at its places, and where its elements come from.
    pub fn signature(&self, array: usize) -> String {
        let info = &self.arrays[array];
        let standing = |place: usize| self.system.standing[array].get(place).copied().flatten();
        let places = self.system.sizing[array].indices.iter().enumerate();
        let place =
            |(n, index): (usize, &ijk_syntax::et::ast::Index)| match (info.origin, standing(n)) {
                (Origin::Input, Some(tuple)) => self.tuples[tuple].name.clone(),
                _ => one_line(slice(&self.source, index.span())),
            };
        let places: Vec<String> = places.map(place).collect();
        let origin = match info.origin {
            _ if self.must_be_bound(array) => "input, to be bound",
            Origin::Input => "input",
            Origin::Random { .. } => "RANDOM unless bound",
            Origin::Computed => "computed",
        };
        let output = if self.outputs.contains(&array) { ", output" } else { "" };
        format!("{}[{}]: {origin}{output}", info.name, places.join(", "))
    }

    /// Eintups of equal rank, with the ranks that each constraint by itself allows.
    pub fn rank_groups(&self) -> Vec<(Vec<&Tuple>, String)> {
        let mut groups: BTreeMap<usize, Vec<&Tuple>> = BTreeMap::new();
        let mut order = Vec::new();
        for tuple in &self.tuples {
            let group = self.system.groups[tuple.shape.0 as usize].0 as usize;
            groups.entry(group).or_insert_with(|| {
                order.push(group);
                Vec::new()
            });
            groups.get_mut(&group).expect("just made").push(tuple);
        }
        let problem = Problem::new(self, false).narrowed();
        let described = |group: usize| {
            let tuples = groups[&group].clone();
            let text = self.rank_text(&problem.domain(tuples[0].shape), &tuples);
            (tuples, text)
        };
        order.into_iter().map(described).collect()
    }

    fn rank_text(&self, ranks: &[u32], tuples: &[&Tuple]) -> String {
        let text = match ranks {
            [one] => format!("{one}"),
            [first, .., last] if (last - first) as usize == ranks.len() - 1 => {
                format!("{first} to {last}")
            }
            _ => ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
        };
        let rules = tuples.iter().filter_map(|t| self.system.rank_rules[t.shape.0 as usize]);
        let mut rules: Vec<usize> = rules.collect();
        rules.sort_unstable();
        rules.dedup();
        let because = rules.into_iter().map(|rule| self.rule_text(rule));
        std::iter::once(text).chain(because).collect::<Vec<_>>().join("; ")
    }

    fn rule_text(&self, rule: usize) -> String {
        let constraint = &self.program.constraints[self.system.rules[rule].constraint];
        one_line(slice(&self.source, constraint.span))
    }

    /// Derivation of an eintup's extents.
    fn extent_text(&self, tuple: &Tuple, shifted: &[bool]) -> String {
        let shape = tuple.shape;
        let first = name_of(self, shape);
        if first != tuple.name {
            return format!("as {first}");
        }
        let counted = self.system.links.iter().find(
            |link| matches!(link.counts, super::system::CountedQuantity::Shape(s) if s == shape),
        );
        match (self.system.dims_rules[shape.0 as usize], counted) {
            (Some(rule), _) => self.constrained(rule),
            (None, Some(link)) => {
                format!("the number of components that {} counts", self.place(link.span))
            }
            (None, None) => match self.bounding_read(tuple.shape, shifted) {
                Some(span) => format!("open, or the largest in bounds of {}", self.place(span)),
                None => "open".to_owned(),
            },
        }
    }

    /// The first read in whose arithmetic an eintup stands that no bound array has by itself.
    fn bounding_read(&self, shape: ShapeId, shifted: &[bool]) -> Option<Span> {
        let binds = |array: usize| self.arrays[array].origin != Origin::Computed;
        let plain = |array: usize| self.system.plain[array].iter().flatten().any(|s| *s == shape);
        let decides = |array: usize| binds(array) && plain(array);
        if !shifted[shape.0 as usize] && (0..self.arrays.len()).any(decides) {
            return None;
        }
        let mut found = None;
        for statement in &self.program.statements {
            walk::statement(statement, &mut |event| {
                if let Event::Access(access, Role::Right | Role::Nested) = event {
                    let goes = access.indices.iter().any(|index| self.computes_with(index, shape));
                    found = found.or(goes.then_some(access.span));
                }
            });
        }
        found
    }

    /// Returns true if an eintup is a variable of an index expression, and not all of it.
    fn computes_with(&self, index: &Index, shape: ShapeId) -> bool {
        let mut found = false;
        if !matches!(index, Index::Tuple(_)) {
            walk::index(index, Standing::Index, &mut |event| {
                if let Event::Name(name, Standing::Index) = event {
                    found |= self.tuple(&name.text).is_some_and(|tuple| tuple.shape == shape);
                }
            });
        }
        found
    }

    fn constrained(&self, rule: usize) -> String {
        let text = self.rule_text(rule);
        let Limit::Equals(expr) = &self.system.rules[rule].relation else {
            return format!("{text}, or what bound data have");
        };
        let names = |quantity| {
            let shapes: Vec<ShapeId> = expr.shapes(quantity);
            shapes.into_iter().map(|s| name_of(self, s)).collect::<Vec<_>>()
        };
        let from = names(Quantity::Dims);
        if from.is_empty() { text } else { format!("{text}, after {}", from.join(", ")) }
    }

    fn place(&self, span: Span) -> String {
        let line =
            self.source.get(..span.start as usize).map_or(0, |s| s.matches('\n').count()) + 1;
        format!("`{}` of line {line}", one_line(slice(&self.source, span)))
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
