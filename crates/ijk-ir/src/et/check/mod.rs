//! Checking: names, signatures, ranks that are equal, constraints.

mod arrays;
mod constraints;
mod cycle;
mod dropped;
mod groups;
mod linear;
mod loops;
mod names;
mod never;
mod ranks;
mod shapes;
mod unused;

pub use arrays::declared_type;

use super::system::{CountedQuantity, Link, RankNode, Tie, Total};
use super::{Checked, Origin, ShapeId, System, report};
use crate::sink::Sink;
use arrays::Arrays;
use constraints::Constraints;
use ijk_syntax::Diagnostic;
use ijk_syntax::et::ast::{Index, Program};
use names::Names;
use ranks::Ranker;
use shapes::Shapes;

/// Arrays and eintups by name.
struct Symbols {
    arrays: Arrays,
    shapes: Shapes,
    /// The first node of every array's places.
    places: Vec<u32>,
    nodes: u32,
}

impl Symbols {
    fn new(arrays: Arrays, shapes: Shapes) -> Self {
        let mut nodes = shapes.shapes + 1;
        let place = |info: &super::ArrayInfo| {
            let first = nodes;
            nodes += info.places as u32;
            first
        };
        let places = arrays.infos.iter().map(place).collect();
        Self { arrays, shapes, places, nodes }
    }

    /// The shape of an eintup.
    fn shape(&self, name: &str) -> Option<ShapeId> {
        self.shapes.by_name.get(name).map(|n| self.shapes.tuples[*n].shape)
    }

    fn place(&self, array: usize, place: usize) -> RankNode {
        RankNode(self.places[array] + place as u32)
    }

    /// The node of rank 1.
    fn one_node(&self) -> RankNode {
        RankNode(self.shapes.shapes)
    }

    fn one(&self) -> Total {
        Total::of(self.one_node())
    }

    /// The shape that has the extents of a place: that of the plain eintup which sizes it, for an
    /// input of the first that stands there.
    fn place_shape(&self, array: usize, place: usize) -> Option<ShapeId> {
        let standing = || self.shapes.standing[array].get(place).copied().flatten();
        match (self.arrays.infos[array].origin, self.arrays.sizing[array].indices.get(place)?) {
            (Origin::Input, _) => standing().map(|t| self.shapes.tuples[t].shape),
            (_, Index::Tuple(name)) => self.shape(&name.text),
            _ => None,
        }
    }
}

/// Checks a program: returns it with its names, places and constraints resolved, unless there is an error, and the
/// diagnostics.
///
/// `source` is the text that the program's spans point into.
pub fn check(source: &str, program: Program) -> (Option<Checked>, Vec<Diagnostic>) {
    let mut sink = Sink::default();
    let names = Names::collect(&program, &mut sink);
    if sink.errors() > 0 {
        return (None, sink.finish());
    }
    let arrays = Arrays::collect(&program, &names, &mut sink);
    loops::judge(&program, &names, &mut sink);
    let shapes = Shapes::find(&program, &names, &arrays);
    let found = Symbols::new(arrays, shapes);
    let system = system(source, &program, &names, &found, &mut sink);
    if sink.errors() == 0 {
        dropped::judge(source, &program, &found, &system, &mut sink);
    }
    let outputs = unused::outputs(&program, &names, &found, &mut sink);
    unused::call(&program, &names, &found, &mut sink);
    unused::judge(&program, &names, &found, &outputs, &mut sink);
    let checked = Checked {
        source: source.to_owned(),
        program,
        tuples: found.shapes.tuples,
        shapes: found.shapes.shapes,
        arrays: found.arrays.infos,
        outputs,
        system,
    };
    if sink.errors() == 0 {
        report::no_ranks(&checked).into_iter().for_each(|d| sink.push(d));
    }
    let checked = (sink.errors() == 0).then_some(checked);
    (checked, sink.finish())
}

/// Collects the restrictions of statements and constraints on ranks and extents.
fn system(
    source: &str,
    program: &Program,
    names: &Names,
    found: &Symbols,
    sink: &mut Sink,
) -> System {
    let mut ranker = Ranker::new(source, found, sink);
    for (n, statement) in program.statements.iter().enumerate() {
        ranker.statement(statement);
        program.conditions_after(n).for_each(|(_, condition)| ranker.condition(condition));
    }
    ranker.finish();
    let (mut ties, links) = (ranker.ties, ranker.links);
    let Constraints { rules, rank_rules, dims_rules, ties: more, .. } =
        Constraints::collect(program, names, found, sink);
    ties.extend(more);
    ties.extend(counted(&links, &dims_rules));

    let (groups, group_count) = groups::groups(found.nodes as usize, &ties);
    let one = found.one_node();
    groups::judge(source, program, &groups, one, &rules, &ties, sink);
    let (ties, sums) = ties.into_iter().partition(|tie| groups::ends(tie).is_some());
    System {
        one: groups[one.0 as usize],
        groups,
        group_count,
        places: found.places.clone(),
        sums,
        ties,
        links,
        rules,
        rank_rules,
        dims_rules,
        standing: found.shapes.standing.clone(),
        plain: found.shapes.plain(),
        sizing: found.arrays.sizing.clone(),
    }
}

/// Ties of equal rank between quantities that one extent counts.
fn counted(links: &[Link], dims_rules: &[Option<usize>]) -> Vec<Tie> {
    let mut first: std::collections::HashMap<(bool, usize, usize), &Link> = Default::default();
    let mut ties = Vec::new();
    for link in links {
        let key = match link.counts {
            CountedQuantity::Shape(shape) => (true, shape.0 as usize, 0),
            CountedQuantity::Place { array, place } => (false, array, place),
        };
        if !link.strict && dims_rules[key.1].is_some() {
            continue;
        }
        let before = *first.entry(key).or_insert(link);
        if before.rank != link.rank {
            let why = "the extent of this counts components, too".to_owned();
            let (left, right) = (before.rank.clone(), link.rank.clone());
            ties.push(Tie { left, right, span: link.span, why });
        }
    }
    ties
}
