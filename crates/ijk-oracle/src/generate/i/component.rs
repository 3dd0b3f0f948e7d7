//! Random components: index expressions under combinators, with bindings.

use super::Rng;
use super::build::{combined, name, push};
use super::expression::{Array, Draft, ProgramScope, draft};
use crate::reference::surface::{Names, shapes};
use ijk_syntax::Span;
use ijk_syntax::ast::{Combinator, Extent, Item, LoopForm, LoopHead, NodeId, NodeKind, Program};
use ijk_types::DType;
use std::ops::RangeInclusive;

/// A component with its input and output arrays.
#[derive(Clone, Debug)]
pub(crate) struct Component {
    node: NodeId,
    pub inputs: Vec<Array>,
    outputs: Vec<Array>,
}

/// Allowed numbers of inputs.
type InputCounts = RangeInclusive<usize>;

/// A random program with its arguments.
pub(crate) fn program(rng: &mut Rng, most_points: usize) -> Option<(Program, Vec<Array>)> {
    let scope = ProgramScope { names: Names::new(), wanted: Names::new(), most_points };
    let depth = rng.weighted(&[(2, 0), (3, 1), (4, 2), (2, 3), (1, 4)]);
    let most_inputs = rng.between(1, 4);
    let mut maker =
        ComponentGenerator { rng, scope, program: Program::default(), bound: Vec::new() };
    let component = maker.component(&[], 1..=most_inputs, depth)?;
    let (program, inputs) = maker.finish(component);
    shapes(&program, &inputs).ok()?;
    Some((program, inputs))
}

struct ComponentGenerator<'a> {
    rng: &'a mut Rng,
    scope: ProgramScope,
    program: Program,
    /// Bindings so far.
    bound: Vec<(String, Component)>,
}

/// State to restore if a choice leads to no component.
struct Mark {
    scope: ProgramScope,
    nodes: usize,
    items: usize,
    bound: usize,
}

impl ComponentGenerator<'_> {
    fn finish(mut self, component: Component) -> (Program, Vec<Array>) {
        self.rng.shuffle(&mut self.program.items);
        let bare = self.bound.is_empty() || self.rng.chance(0.8);
        let item_name = (!bare).then(|| name("main"));
        self.program.items.push(Item {
            name: item_name,
            value: component.node,
            span: Span::default(),
        });
        (self.program, component.inputs)
    }

    fn mark(&self) -> Mark {
        let (nodes, items) = (self.program.nodes.len(), self.program.items.len());
        Mark { scope: self.scope.clone(), nodes, items, bound: self.bound.len() }
    }

    fn back(&mut self, mark: Mark) {
        self.scope = mark.scope;
        self.program.nodes.truncate(mark.nodes);
        self.program.items.truncate(mark.items);
        self.bound.truncate(mark.bound);
    }

    /// A component whose first inputs are `given`, as far as it has that many.
    fn component(
        &mut self,
        given: &[Array],
        arity: InputCounts,
        depth: usize,
    ) -> Option<Component> {
        for _ in 0..6 {
            let mark = self.mark();
            if let Some(component) = self.any_form(given, arity.clone(), depth)
                && arity.contains(&component.inputs.len())
            {
                return Some(component);
            }
            self.back(mark);
        }
        None
    }

    fn any_form(&mut self, given: &[Array], arity: InputCounts, depth: usize) -> Option<Component> {
        if *arity.start() > 3 {
            return self.pair(given, arity, depth.saturating_sub(1));
        }
        if depth == 0 {
            return self.atom(given, arity);
        }
        match self.rng.below(21) {
            0..=9 => self.chain(given, arity, depth - 1),
            10..=12 => self.fanout(given, arity, depth - 1),
            13 | 14 => self.pair(given, arity, depth - 1),
            15 => self.swap(given, arity, depth - 1),
            16 | 17 => self.binding(given, arity, depth - 1),
            18 => self.looped(given, arity, depth - 1),
            _ => self.atom(given, arity),
        }
    }

    fn atom(&mut self, given: &[Array], arity: InputCounts) -> Option<Component> {
        let (least, most) = (*arity.start(), (*arity.end()).min(3));
        match self.rng.below(20) {
            0 if least == 1 && !given.is_empty() => Some(self.identity(&given[0])),
            1 | 2 => self.reuse(given, arity).or_else(|| self.index(given, least.max(1))),
            _ => {
                let two = least <= 2 && most >= 2 && self.rng.chance(0.55);
                let inputs = if two { 2 } else { self.rng.between(least.max(1), most.max(least)) };
                self.index(given, inputs)
            }
        }
    }

    fn index(&mut self, given: &[Array], inputs: usize) -> Option<Component> {
        let Draft { expression, inputs, output } = draft(self.rng, &mut self.scope, given, inputs)?;
        let node = push(&mut self.program, NodeKind::Index(Box::new(expression)));
        Some(Component { node, inputs, outputs: vec![output] })
    }

    fn identity(&mut self, array: &Array) -> Component {
        let node = push(&mut self.program, NodeKind::Identity);
        Component { node, inputs: vec![array.clone()], outputs: vec![array.clone()] }
    }

    /// A name bound before, if its inputs match.
    fn reuse(&mut self, given: &[Array], arity: InputCounts) -> Option<Component> {
        let fits = |(_, c): &&(String, Component)| {
            arity.contains(&c.inputs.len()) && c.inputs.iter().zip(given).all(|(a, b)| a == b)
        };
        let fitting: Vec<&(String, Component)> = self.bound.iter().filter(fits).collect();
        if fitting.is_empty() {
            return None;
        }
        let (name, component) = (*self.rng.pick(&fitting)).clone();
        let node = push(&mut self.program, NodeKind::Name(name));
        Some(Component { node, ..component })
    }

    /// A component bound to a new name.
    fn binding(&mut self, given: &[Array], arity: InputCounts, depth: usize) -> Option<Component> {
        let component = self.component(given, arity, depth)?;
        let stem = *self.rng.pick(&["f", "mm", "ij", "norm_", "λ", "x1", "Step", "i"]);
        let text = format!("{stem}{}", self.bound.len());
        let value = component.node;
        self.program.items.push(Item { name: Some(name(&text)), value, span: Span::default() });
        self.bound.push((text.clone(), component.clone()));
        let node = push(&mut self.program, NodeKind::Name(text));
        Some(Component { node, ..component })
    }

    fn swap(&mut self, given: &[Array], arity: InputCounts, depth: usize) -> Option<Component> {
        if *arity.end() < 2 {
            return None;
        }
        let mut swapped = given.to_vec();
        match swapped.len() {
            0 => {}
            1 => swapped.clear(),
            _ => swapped.swap(0, 1),
        }
        let least = (*arity.start()).max(2);
        let mut inner = self.component(&swapped, least..=*arity.end(), depth)?;
        inner.inputs.swap(0, 1);
        // A single given argument would be the second of the inner component.
        if given.len() == 1 && inner.inputs[0] != given[0] {
            return None;
        }
        let node = push(&mut self.program, NodeKind::Swap(inner.node));
        Some(Component { node, ..inner })
    }

    fn chain(&mut self, given: &[Array], arity: InputCounts, depth: usize) -> Option<Component> {
        let (least, most) = (*arity.start(), *arity.end());
        let first = self.component(given, 1..=most, depth)?;
        let taken = first.inputs.len();
        let (inputs, outputs) = (taken, first.outputs.len());
        let mut fed = first.outputs.clone();
        fed.extend_from_slice(given.get(taken..).unwrap_or(&[]));
        let at_least = outputs.max((least + outputs).saturating_sub(inputs));
        let at_most = most + outputs - inputs;
        if at_least > at_most {
            return None;
        }
        let wide = at_least..=at_most.min(at_least + 1);
        let second = self.component(&fed, wide, depth)?;
        let mut inputs = first.inputs.clone();
        inputs.extend_from_slice(&second.inputs[outputs..]);
        let kind = if self.rng.chance(0.15) {
            combined(Combinator::Compose, second.node, first.node)
        } else {
            combined(Combinator::Chain, first.node, second.node)
        };
        let node = push(&mut self.program, kind);
        Some(Component { node, inputs, outputs: second.outputs })
    }

    fn fanout(&mut self, given: &[Array], arity: InputCounts, depth: usize) -> Option<Component> {
        let (least, most) = (*arity.start(), *arity.end());
        let left = self.component(given, 1..=most, depth)?;
        let mut shared = left.inputs.clone();
        shared.extend_from_slice(given.get(left.inputs.len()..).unwrap_or(&[]));
        let right_least = if left.inputs.len() >= least { 1 } else { least };
        let right = self.component(&shared, right_least..=most, depth)?;
        let more = &right.inputs[left.inputs.len().min(right.inputs.len())..];
        let inputs = [&left.inputs, more].concat();
        self.beside(Combinator::Fanout, left, right, inputs)
    }

    fn pair(&mut self, given: &[Array], arity: InputCounts, depth: usize) -> Option<Component> {
        let (least, most) = (*arity.start(), *arity.end());
        if most < 2 {
            return None;
        }
        let left = self.component(given, 1..=(most - 1).min(2), depth)?;
        let taken = left.inputs.len();
        let rest = given.get(taken..).unwrap_or(&[]);
        let right_least = least.saturating_sub(taken).max(1);
        let right = self.component(rest, right_least..=most - taken, depth)?;
        let inputs = [&left.inputs[..], &right.inputs].concat();
        self.beside(Combinator::Pair, left, right, inputs)
    }

    /// A loop over a component whose outputs are like its first inputs.
    fn looped(&mut self, given: &[Array], arity: InputCounts, depth: usize) -> Option<Component> {
        let rows = |array: &Array| array.1.split_first().map(|(&n, rest)| (n, rest.to_vec()));
        // The given array after the first is swept, if it has rows.
        let second = given.get(1).and_then(rows).filter(|(passes, _)| *passes <= 5);
        let mut pass: Vec<Array> = given.iter().take(1).cloned().collect();
        let row = second.as_ref().map(|(_, rest)| (given[1].0, rest.clone()));
        pass.extend(row);
        let most = *arity.end();
        let body = (0..10).find_map(|_| {
            let mark = self.mark();
            let body = self.component(&pass, 1..=most, depth.min(1));
            let fits = |c: &Component| c.inputs.starts_with(&c.outputs);
            if body.as_ref().is_none_or(|body| !fits(body)) {
                self.back(mark);
                return None;
            }
            body
        })?;
        let states = body.outputs.len();
        let others = body.inputs.len() - states;
        // Given arrays decide which inputs may be swept.
        let decided = given.len().saturating_sub(states).min(others);
        let swept = match decided {
            0 => self.rng.between(0, others),
            _ if states == 1 && second.is_some() => self.rng.between(1, others),
            _ => return None,
        };
        if given.len() > states + 1 && others > 1 {
            return None;
        }
        let passes = match second {
            Some((passes, _)) if decided > 0 => passes,
            _ => self.rng.between(0, 5),
        };
        let named = self.scope.names.iter().find(|(_, n)| **n == passes as u64);
        let named = named.map(|(text, _)| text.clone()).filter(|_| self.rng.chance(0.5));
        let (all, braces) = (self.rng.chance(0.5), swept == 0 || self.rng.chance(0.3));
        let form = match (all, swept, self.rng.chance(0.3)) {
            (true, _, back) => [LoopForm::Scan, LoopForm::ScanBack][usize::from(back)],
            (false, 0, true) if states == 1 => LoopForm::Until,
            (false, 0, _) if self.rng.chance(0.8) => LoopForm::Repeat,
            (false, _, back) => [LoopForm::Fold, LoopForm::FoldBack][usize::from(back)],
        };
        let of = match form {
            LoopForm::Until => self.with_condition(&body),
            _ => body.node,
        };
        let braces = braces.then(|| match named {
            Some(text) => Extent::Name(name(&text)),
            None => Extent::Number(passes as u64, Span::default()),
        });
        let plain = !form.sweeps() || swept == others && self.rng.chance(0.7);
        let rows = (!plain).then(|| (swept as u64, Span::default()));
        let head = LoopHead { form, passes: braces, rows, symbol: Span::default() };
        let node = push(&mut self.program, NodeKind::Loop(Box::new(head), of));
        let mut looped = Component { node, ..body };
        let inputs = looped.inputs[states..states + swept].iter_mut();
        let outputs = looped.outputs.iter_mut().filter(|_| all);
        inputs.chain(outputs).for_each(|array| array.1.insert(0, passes));
        Some(looped)
    }

    /// A component with a bool of its one output behind that.
    fn with_condition(&mut self, body: &Component) -> NodeId {
        let (t, shape) = &body.outputs[0];
        let letters: String = ('a'..='z').take(shape.len()).collect();
        let index = if letters.is_empty() { "." } else { &letters };
        let text = match (t, index) {
            (DType::Bool, ".") => "I".to_owned(),
            (DType::Bool, _) => format!(">{index}~."),
            (DType::C64 | DType::C128, _) => {
                format!("@abs {index}~{index} . >{index}~. . .@gt 3~.")
            }
            _ => format!(">{index}~. . .@gt {}~.", self.rng.between(0, 5)),
        };
        let condition = copied(&mut self.program, &text);
        let same = push(&mut self.program, NodeKind::Identity);
        let both = push(&mut self.program, combined(Combinator::Fanout, same, condition));
        push(&mut self.program, combined(Combinator::Chain, body.node, both))
    }

    fn beside(
        &mut self,
        combinator: Combinator,
        left: Component,
        right: Component,
        inputs: Vec<Array>,
    ) -> Option<Component> {
        let node = push(&mut self.program, combined(combinator, left.node, right.node));
        let outputs = [left.outputs, right.outputs].concat();
        Some(Component { node, inputs, outputs })
    }
}

/// Adds the component of a text that has no bindings, swaps and loops.
fn copied(program: &mut Program, text: &str) -> NodeId {
    let (parsed, errors) = ijk_syntax::parse(text);
    debug_assert!(errors.is_empty(), "{text}");
    let before = program.nodes.len() as u32;
    let moved = |id: NodeId| NodeId(id.0 + before);
    for node in &parsed.nodes {
        let kind = match node.kind.clone() {
            NodeKind::Combine { combinator, left, right, .. } => {
                combined(combinator, moved(left), moved(right))
            }
            kind => kind,
        };
        push(program, kind);
    }
    moved(parsed.value().expect("a component").value)
}
