//! Programs that are sums of products, as einsums of their arguments.

use ijk::__private::core::{Access, ArrayId, Init, Program, ScalarExpr, ScalarNode, Statement};
use ijk::__private::{BinaryOp, Monoid, Reducer};

/// A factor: the number of an argument, and the index of each of its axes.
pub type Factor = (usize, Vec<usize>);

/// Factors that are multiplied, and the indices of the result: all others are summed over.
pub type Product = (Vec<Factor>, Vec<usize>);

/// The product that the only result of a program is, if it is one.
pub fn product(program: &Program) -> Option<Product> {
    let &[result] = &program.outputs[..] else { return None };
    if !program.loops.is_empty() {
        return None;
    }
    let rank = program.arrays[result.0 as usize].rank? as usize;
    let mut writer = Writer { program, indices: rank, factors: Vec::new() };
    writer.array(result, &(0..rank).collect::<Vec<_>>())?;
    Some((writer.factors, (0..rank).collect()))
}

/// Most factors that are written: an array that is used twice has its factors written twice.
const MOST: usize = 64;

struct Writer<'a> {
    program: &'a Program,
    /// Number of indices so far.
    indices: usize,
    factors: Vec<Factor>,
}

impl Writer<'_> {
    /// Writes the factors of an array whose axes have these indices.
    fn array(&mut self, id: ArrayId, indices: &[usize]) -> Option<()> {
        if let Some(argument) = self.program.inputs.iter().position(|&input| input == id) {
            self.factors.push((argument, indices.to_vec()));
            return (self.factors.len() <= MOST).then_some(());
        }
        let statement = self.program.statements.iter().find(|statement| statement.out == id)?;
        let letters = self.letters(statement, indices)?;
        let value = &statement.value;
        self.node(value, value.nodes.len().checked_sub(1)?, &letters)
    }

    /// The index of each letter of a statement that sums, if each is an axis of some array.
    fn letters(&mut self, statement: &Statement, indices: &[usize]) -> Option<Vec<usize>> {
        let sums = matches!(statement.reduce, None | Some(Reducer::Monoid(Monoid::Add)));
        let starts = matches!(statement.init, Init::Zero | Init::Identity(Monoid::Add));
        let bounded =
            statement.domain.iter().all(|axis| !axis.dims.is_empty() && axis.pins.is_empty());
        if !(sums && starts && bounded && statement.guards.is_empty()) {
            return None;
        }
        let mut letters = vec![None; statement.domain.len()];
        for (place, &index) in statement.out_index.iter().zip(indices) {
            let letter = &mut letters[place.as_axis()?.0 as usize];
            if letter.replace(index).is_some() {
                return None;
            }
        }
        let fresh = letters.into_iter().map(|letter| {
            letter.unwrap_or_else(|| {
                self.indices += 1;
                self.indices - 1
            })
        });
        Some(fresh.collect())
    }

    /// Writes the factors of a node of a value.
    fn node(&mut self, value: &ScalarExpr, node: usize, letters: &[usize]) -> Option<()> {
        match &value.nodes[node] {
            ScalarNode::Access(Access { array, index, .. }) => {
                let indices = index.iter().map(|at| Some(letters[at.as_axis()?.0 as usize]));
                let indices = indices.collect::<Option<Vec<_>>>()?;
                self.array(*array, &indices)
            }
            ScalarNode::Binary(BinaryOp::Mul, left, right) => {
                self.node(value, left.0 as usize, letters)?;
                self.node(value, right.0 as usize, letters)
            }
            _ => None,
        }
    }
}
