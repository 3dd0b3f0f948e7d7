//! Semantic rules.

use super::Coverage;
use crate::reference::surface::{Affine, Form, Leaf};
use ijk_syntax::ast::{Body, Combinator, Extent, IndexExpr, NodeId, NodeKind, Operand, Program};
use std::collections::BTreeMap;

/// Inputs and outputs.
type Ports = (usize, usize);

// Combinators and names.

impl Coverage {
    pub(super) fn combinations(&mut self, source: &str) {
        let (program, _) = ijk_syntax::parse(source);
        let arities = arities(&program);
        let of = |id: NodeId| arities.get(&id).copied().unwrap_or_default();
        for node in &program.nodes {
            match &node.kind {
                NodeKind::Combine { combinator, left, right, .. } => {
                    self.combination(*combinator, of(*left), of(*right));
                }
                NodeKind::Swap(f) if of(*f).0 > 2 => self.count("rule: swap of several inputs"),
                _ => {}
            }
        }
        self.names(&program);
    }

    fn combination(&mut self, combinator: Combinator, left: Ports, right: Ports) {
        let (feature, holds) = match combinator {
            Combinator::Chain => ("chain with inputs left over", right.0 > left.1),
            Combinator::Compose => ("compose with inputs left over", left.0 > right.1),
            Combinator::Fanout => ("fan-out of different arities", left.0 != right.0),
            Combinator::Pair => ("pair of several inputs", left.0 + right.0 > 2),
        };
        let several = match combinator {
            Combinator::Chain => left.1 > 1,
            Combinator::Compose => right.1 > 1,
            _ => false,
        };
        for (feature, holds) in [(feature, holds), ("several outputs feed", several)] {
            if holds {
                self.count(format!("rule: {feature}"));
            }
        }
    }

    /// Names of components and of extents that are reused, or used before they are bound.
    fn names(&mut self, program: &Program) {
        let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
        for node in &program.nodes {
            let NodeKind::Name(name) = &node.kind else { continue };
            *uses.entry(name).or_default() += 1;
            let bound = program
                .items
                .iter()
                .find(|item| item.name.as_ref().is_some_and(|bound| bound.text == *name));
            if bound.is_some_and(|item| item.span.start > node.span.start) {
                self.count("rule: a name used before it is bound");
            }
        }
        if uses.values().any(|&n| n > 1) {
            self.count("rule: a name used twice");
        }
        let mut extents: BTreeMap<String, usize> = BTreeMap::new();
        for expr in expressions(program) {
            let Ok(form) = Form::of(expr) else { continue };
            let mut own: Vec<String> =
                form.pins.iter().filter_map(|(_, e)| extent_name(e)).collect();
            own.sort_unstable();
            own.dedup();
            own.into_iter().for_each(|name| *extents.entry(name).or_default() += 1);
        }
        if extents.values().any(|&n| n > 1) {
            self.count("rule: one extent name in several expressions");
        }
    }
}

fn expressions(program: &Program) -> impl Iterator<Item = &IndexExpr> {
    program.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Index(expr) => Some(&**expr),
        _ => None,
    })
}

fn extent_name(extent: &Extent) -> Option<String> {
    match extent {
        Extent::Name(name) => Some(name.text.clone()),
        Extent::Number(..) => None,
    }
}

/// The arities of all components of a program without mistakes.
fn arities(program: &Program) -> BTreeMap<NodeId, Ports> {
    let mut known: BTreeMap<NodeId, Ports> = BTreeMap::new();
    loop {
        let before = known.len();
        for n in 0..program.nodes.len() {
            let id = NodeId(n as u32);
            if let Some(arity) = arity(program, &known, id) {
                known.insert(id, arity);
            }
        }
        if known.len() == before {
            return known;
        }
    }
}

fn arity(program: &Program, known: &BTreeMap<NodeId, Ports>, id: NodeId) -> Option<Ports> {
    let of = |id: &NodeId| known.get(id).copied();
    Some(match &program.node(id).kind {
        NodeKind::Index(expr) => {
            let index = |o: &&Operand| matches!(o, Operand::Index(_));
            (expr.body.operands().into_iter().filter(index).count(), 1)
        }
        NodeKind::Identity => (1, 1),
        NodeKind::Name(name) => {
            let named = |item: &&ijk_syntax::ast::Item| {
                item.name.as_ref().is_some_and(|bound| bound.text == *name)
            };
            of(&program.items.iter().find(named)?.value)?
        }
        NodeKind::Swap(f) | NodeKind::Loop(_, f) => of(f)?,
        NodeKind::Error => return None,
        NodeKind::Combine { combinator, left, right, .. } => {
            let (l, r) = (of(left)?, of(right)?);
            match combinator {
                Combinator::Chain => ((l.0 + r.0).checked_sub(l.1)?, r.1),
                Combinator::Compose => ((l.0 + r.0).checked_sub(r.1)?, l.1),
                Combinator::Fanout => (l.0.max(r.0), l.1 + r.1),
                Combinator::Pair => (l.0 + r.0, l.1 + r.1),
            }
        }
    })
}

// Index expressions.

impl Coverage {
    pub(super) fn rules(&mut self, expr: &IndexExpr, form: &Form) {
        let plain = |e: &Affine| e.lone_letter();
        let repeats = |letters: &[char]| {
            letters.iter().enumerate().any(|(at, letter)| letters[..at].contains(letter))
        };
        for leaf in &form.operands {
            let Leaf::Index(index) = leaf else { continue };
            if repeats(&index.iter().filter_map(plain).collect::<Vec<_>>()) {
                self.count("rule: diagonal");
            }
        }
        if repeats(&form.output.iter().filter_map(plain).collect::<Vec<_>>()) {
            self.count("rule: embedding on the diagonal");
        }
        let scatters = form.output.iter().any(|e| e.letters().len() > 1);
        let divides = form.output.iter().any(|e| e.divides());
        let kind = if form.reduce.is_some() { "reduction" } else { "map" };
        for (name, holds) in [
            ("two letters in an output's bracket", scatters),
            ("division in an output's bracket", divides),
        ] {
            if holds {
                self.count(format!("rule: {kind} with {name}"));
            }
        }
        if form.operands.iter().filter(|leaf| matches!(leaf, Leaf::Index(_))).count() > 2 {
            self.count("rule: three indices or more");
        }
        let of_output = |leaf: &Leaf| match leaf {
            Leaf::Extent(letter) => form.letters[form.operand_letters..].contains(letter),
            _ => false,
        };
        if form.operands.iter().any(of_output) {
            self.count("production: extent of a letter of the output");
        }
        self.letters(form);
        self.brackets(form);
        self.outer(expr, form);
        self.count(format!("rule: {} letters dropped", form.dropped().len().min(3)));
    }

    fn letters(&mut self, form: &Form) {
        for (at, &letter) in form.letters.iter().enumerate() {
            let pinned = form.pins.iter().any(|pin| pin.0 == letter);
            let stands_alone = form.plain.iter().any(|p| p.2 == letter);
            let feature = match (at < form.operand_letters, pinned, stands_alone) {
                (false, true, _) => "broadcast along a new letter",
                (false, false, _) => "unsqueeze",
                (true, false, false) => "extent inferred from brackets",
                (true, true, false) => "extent of a bracket's letter in braces",
                (true, _, true) => continue,
            };
            self.count(format!("rule: {feature}"));
        }
    }

    /// Bounds that brackets of operands set to letters that occur only in brackets.
    fn brackets(&mut self, form: &Form) {
        let unknown = |letter: &char| {
            let pinned = form.pins.iter().any(|pin| pin.0 == *letter);
            !pinned && !form.plain.iter().any(|p| p.2 == *letter)
        };
        let of = |e: &Affine| e.letters().into_iter().filter(unknown).collect::<Vec<char>>();
        let brackets: Vec<(&Affine, Vec<char>)> =
            form.brackets().map(|(_, _, e)| (e, of(e))).collect();
        let letters = brackets.iter().flat_map(|(_, letters)| letters);
        let mut count: BTreeMap<char, usize> = BTreeMap::new();
        letters.for_each(|&letter| *count.entry(letter).or_default() += 1);
        let one = |e: &&(&Affine, Vec<char>)| e.1.len() == 1;
        for (feature, holds) in [
            ("several brackets limit a letter", count.values().any(|&n| n > 1)),
            ("extents inferred in rounds", brackets.iter().any(|e| e.1.len() > 1)),
            (
                "a bracket limits a negative letter",
                brackets.iter().filter(one).any(|(e, l)| e.direction(l[0]) < 0),
            ),
            (
                "a bracket limits a divided letter",
                brackets.iter().filter(one).any(|(e, _)| e.divides()),
            ),
        ] {
            if holds {
                self.count(format!("rule: {feature}"));
            }
        }
    }

    /// Role of a function before the operands.
    fn outer(&mut self, expr: &IndexExpr, form: &Form) {
        let Some((function, _)) = expr.outer else { return };
        let body = match &expr.body {
            Body::Operand(_) => "an operand",
            Body::Apply { .. } => "a function",
        };
        let does = match (form.reduce.is_some(), function.reduces()) {
            (true, _) => "reduces",
            (false, true) => "maps from its identity",
            (false, false) => "maps",
        };
        self.count(format!("rule: an outer function {does} {body}"));
    }
}
