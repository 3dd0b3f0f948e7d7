//! Greedy reduction of failing cases, which keep failing.

use super::{Case, Input, Layout, print};
use crate::{Value, evaluate};
use ijk_syntax::ast::{Combinator, Item, NodeId, NodeKind, Program};
use ijk_types::{DType, Monoid, Scalar, scalar};

/// Most attempts.
const MOST_ATTEMPTS: usize = 600;

impl Case {
    /// The smallest case found for which `fails` still holds.
    pub fn shrunk(&self, fails: &mut dyn FnMut(&Case) -> bool) -> Self {
        let mut best = self.clone();
        let mut attempts = MOST_ATTEMPTS;
        'again: loop {
            for smaller in best.smaller() {
                if attempts == 0 {
                    return best;
                }
                attempts -= 1;
                if fails(&smaller) {
                    best = smaller;
                    continue 'again;
                }
            }
            return best;
        }
    }

    /// Cases one step smaller, the largest steps first.
    fn smaller(&self) -> Vec<Case> {
        let (program, _) = ijk_syntax::parse(&self.source);
        let mut all = Vec::new();
        if let Some(item) = program.value() {
            self.parts(&program, item.value, &mut all);
        }
        self.with_unused_dropped(&program, &mut all);
        self.with_plain_layouts(&mut all);
        self.with_smaller_extents(&mut all);
        self.with_plain_data(&mut all);
        all.retain(|case| case != self);
        all
    }

    /// Replaces the program's value by its parts.
    fn parts(&self, program: &Program, root: NodeId, all: &mut Vec<Case>) {
        let mut add = |value: NodeId, inputs: &[Input]| {
            let source = print(&with_value(program, value), None);
            all.push(Case { source, inputs: inputs.to_vec() });
        };
        match &program.node(root).kind {
            NodeKind::Combine { combinator, left, right, .. } => {
                for part in [*left, *right] {
                    for first in 0..self.inputs.len() {
                        for last in first + 1..=self.inputs.len() {
                            add(part, &self.inputs[first..last]);
                        }
                    }
                }
                let (first, second) = match combinator {
                    Combinator::Compose => (*right, *left),
                    _ => (*left, *right),
                };
                for taken in 1..=self.inputs.len() {
                    if let Some(inputs) = self.after(program, first, taken) {
                        add(second, &inputs);
                    }
                }
            }
            NodeKind::Loop(head, of) => {
                let rows = |(n, input): (usize, &Input)| {
                    let swept = head.form.sweeps() && n > 0;
                    if swept { first_row(input) } else { input.clone() }
                };
                add(*of, &self.inputs.iter().enumerate().map(rows).collect::<Vec<_>>());
            }
            NodeKind::Swap(f) => {
                add(*f, &self.inputs);
                let mut swapped = self.inputs.clone();
                if swapped.len() > 1 {
                    swapped.swap(0, 1);
                }
                add(*f, &swapped);
            }
            NodeKind::Name(name) => {
                let named = |item: &&Item| item.name.as_ref().is_some_and(|n| n.text == *name);
                if let Some(item) = program.items.iter().find(named) {
                    add(item.value, &self.inputs);
                }
            }
            _ => {}
        }
    }

    /// Arguments of the second component of a chain, if the first takes `taken` arguments.
    fn after(&self, program: &Program, first: NodeId, taken: usize) -> Option<Vec<Input>> {
        let values: Vec<Value> = self.inputs[..taken].iter().map(|i| i.value.clone()).collect();
        let source = print(&with_value(program, first), None);
        let results = evaluate(&ijk_syntax::parse(&source).0, &values).ok()?;
        let contiguous = |value: Value| {
            let layout = Layout::contiguous(value.shape.len());
            Input { value, layout }
        };
        let mut inputs: Vec<Input> = results.into_iter().map(contiguous).collect();
        inputs.extend_from_slice(&self.inputs[taken..]);
        Some(inputs)
    }

    fn with_unused_dropped(&self, program: &Program, all: &mut Vec<Case>) {
        for at in 0..program.items.len().saturating_sub(1) {
            let mut fewer = program.clone();
            fewer.items.remove(at);
            all.push(Case { source: print(&fewer, None), inputs: self.inputs.clone() });
        }
    }

    fn with_plain_layouts(&self, all: &mut Vec<Case>) {
        for at in 0..self.inputs.len() {
            let mut case = self.clone();
            case.inputs[at].layout = Layout::contiguous(case.inputs[at].value.shape.len());
            all.push(case);
        }
    }

    /// Shortens all axes of one extent together, since letters usually require them to be equal.
    fn with_smaller_extents(&self, all: &mut Vec<Case>) {
        let mut extents: Vec<usize> =
            self.inputs.iter().flat_map(|input| input.value.shape.iter().copied()).collect();
        extents.sort_unstable();
        extents.dedup();
        for extent in extents.into_iter().rev().filter(|&extent| extent > 1) {
            for smaller in [1, extent / 2, extent - 1] {
                let mut case = self.clone();
                case.inputs.iter_mut().for_each(|input| shorten(&mut input.value, extent, smaller));
                all.push(case);
            }
        }
    }

    fn with_plain_data(&self, all: &mut Vec<Case>) {
        for at in 0..self.inputs.len() {
            let value = &self.inputs[at].value;
            let ones = vec![one(value.dtype); value.data.len()];
            let mut case = self.clone();
            case.inputs[at].value.data = ones;
            all.push(case);
        }
    }
}

/// The first row of an array, if it has one.
fn first_row(input: &Input) -> Input {
    let Value { dtype, shape, data } = &input.value;
    let Some((&rows, shape)) = shape.split_first().filter(|(rows, _)| **rows > 0) else {
        return input.clone();
    };
    let data = data[..data.len() / rows].to_vec();
    let layout = Layout::contiguous(shape.len());
    Input { value: Value { dtype: *dtype, shape: shape.to_vec(), data }, layout }
}

fn with_value(program: &Program, value: NodeId) -> Program {
    let mut program = program.clone();
    let bare = program.items.iter().position(|item| item.name.is_none());
    let at = bare.unwrap_or(program.items.len() - 1);
    program.items[at] = Item { name: None, value, span: Default::default() };
    let item = program.items.remove(at);
    program.items.push(item);
    program
}

fn shorten(value: &mut Value, extent: usize, smaller: usize) {
    let shape = value.shape.clone();
    let kept: Vec<usize> = shape.iter().map(|&n| if n == extent { smaller } else { n }).collect();
    let mut index = vec![0; shape.len()];
    let mut data = Vec::new();
    for &element in &value.data {
        if index.iter().zip(&kept).all(|(i, n)| i < n) {
            data.push(element);
        }
        crate::reference::surface::advance(&mut index, &shape);
    }
    *value = Value { dtype: value.dtype, shape: kept, data };
}

fn one(dtype: DType) -> Scalar {
    scalar::identity(Monoid::Mul, dtype)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_case_becomes_small() {
        let data = vec![Scalar::F32(2.5); 12];
        let value = Value { dtype: DType::F32, shape: vec![3, 4], data };
        let layout = Layout { order: vec![1, 0], steps: vec![1, 2] };
        let source = "f: +ij~i; ij~ji . -ij~ij . f . i*2~i".to_owned();
        let case = Case { source, inputs: vec![Input { value, layout }] };
        // Suppose that sums are wrong.
        let small = case.shrunk(&mut |case| {
            let (program, errors) = ijk_syntax::parse(&case.source);
            let results = evaluate(&program, &case.values()).unwrap_or_default();
            let vector = results.first().is_some_and(|result| result.shape.len() == 1);
            errors.is_empty() && vector && print(&program, None).contains("+ij~i")
        });
        assert_eq!(small.source, "+ij~i\n");
        assert_eq!(small.inputs[0].value.data, [Scalar::F32(1.0)]);
    }
}
