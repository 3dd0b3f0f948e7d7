//! Axes of a program's arguments and results that letters tie together.

use ijk::__private::core::{ArrayId, Program};
use pyo3::prelude::*;

/// For each array the number of the class of each of its axes.
type Classes = Vec<Vec<usize>>;

/// Axes of all arrays in classes: those that one letter indexes are equivalent (union-find).
struct Axes {
    /// First axis of each array among all axes.
    first: Vec<usize>,
    /// Parent of each axis in its class; a root is its own.
    parent: Vec<usize>,
    /// Letter of each class, by its root.
    letters: Vec<String>,
}

impl Axes {
    fn of(ranks: &[usize]) -> Self {
        let starts = ranks.iter().scan(0, |end, rank| {
            let start = *end;
            *end += rank;
            Some(start)
        });
        let first: Vec<usize> = starts.collect();
        let count = ranks.iter().sum();
        Self { first, parent: (0..count).collect(), letters: vec![String::new(); count] }
    }

    fn class(&self, mut axis: usize) -> usize {
        while self.parent[axis] != axis {
            axis = self.parent[axis];
        }
        axis
    }

    fn tie(&mut self, one: usize, other: usize) {
        let (one, other) = (self.class(one), self.class(other));
        self.parent[other] = one;
    }

    /// Unites the axes that a letter of a statement indexes.
    fn tie_letters(&mut self, program: &Program) {
        for statement in &program.statements {
            let mut tied: Vec<Vec<usize>> = vec![Vec::new(); statement.domain.len()];
            for (axes, axis) in tied.iter_mut().zip(&statement.domain) {
                axes.extend(axis.dims.iter().map(|dim| self.at(dim.array, dim.axis as usize)));
            }
            for (place, index) in statement.out_index.iter().enumerate() {
                if let Some(axis) = index.as_axis() {
                    tied[axis.0 as usize].push(self.at(statement.out, place));
                }
            }
            for (axes, axis) in tied.iter().zip(&statement.domain) {
                for &other in axes.iter().skip(1) {
                    self.tie(axes[0], other);
                }
                for &place in axes {
                    self.letters[place].clone_from(&axis.name);
                }
            }
        }
    }

    /// Unites the axes of the values of a state, and those of a swept array and its rows.
    fn tie_loops(&mut self, program: &Program) {
        let rank = |id: ArrayId| program.arrays[id.0 as usize].rank.unwrap_or(0) as usize;
        for own in &program.loops {
            for state in &own.states {
                for axis in 0..rank(state.current) {
                    let first = self.at(state.before, axis);
                    self.tie(first, self.at(state.current, axis));
                    self.tie(first, self.at(state.next, axis));
                    self.tie(first, self.at(state.result, axis + usize::from(own.all)));
                }
            }
            for swept in &own.swept {
                for axis in 0..rank(swept.row) {
                    self.tie(self.at(swept.of, axis + 1), self.at(swept.row, axis));
                }
                let first = self.at(own.swept[0].of, 0);
                self.tie(first, self.at(swept.of, 0));
                for state in own.states.iter().filter(|_| own.all) {
                    self.tie(first, self.at(state.result, 0));
                }
            }
        }
    }

    fn at(&self, array: ArrayId, axis: usize) -> usize {
        self.first[array.0 as usize] + axis
    }
}

/// Axes of arguments of these ranks and of the results, by classes; and for each axis of each result the letter of the
/// statement that gives it, which may be empty.
pub fn classes(
    program: &Program,
    ranks: &[usize],
) -> PyResult<(Classes, Classes, Vec<Vec<String>>)> {
    if ranks.len() != program.inputs.len() {
        let (takes, given) = (program.inputs.len(), ranks.len());
        let message = format!("the program takes {takes} arguments, but {given} are given");
        return Err(crate::error::Error::new_err(message));
    }
    let mut all: Vec<usize> =
        program.arrays.iter().map(|array| array.rank.unwrap_or(0) as usize).collect();
    for (number, (id, &rank)) in program.inputs.iter().zip(ranks).enumerate() {
        match program.arrays[id.0 as usize].rank {
            Some(expected) if expected as usize != rank => {
                let number = number + 1;
                let message =
                    format!("argument {number} has {rank} axes, but the program takes {expected}");
                return Err(crate::error::Error::new_err(message));
            }
            _ => all[id.0 as usize] = rank,
        }
    }
    let mut axes = Axes::of(&all);
    axes.tie_letters(program);
    axes.tie_loops(program);
    let of = |id: &ArrayId| {
        let first = axes.first[id.0 as usize];
        first..first + all[id.0 as usize]
    };
    let classes = |ids: &[ArrayId]| {
        ids.iter().map(|id| of(id).map(|axis| axes.class(axis)).collect()).collect()
    };
    let letters = program.outputs.iter().map(|id| axes.letters[of(id)].to_vec()).collect();
    Ok((classes(&program.inputs), classes(&program.outputs), letters))
}
