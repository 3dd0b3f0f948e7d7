//! Checked programs before ranks and extents are solved, and their eintups after.

use super::System;
use super::walk::{self, Event, Role};
use ijk_syntax::Span;
use ijk_syntax::et::ast::Program;

/// A shape that one or more eintups have: index of its rank and extents in a [`Solution`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShapeId(pub u32);

/// A program whose names and places are understood.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// The text that spans point into.
    pub source: String,
    /// The trees.
    pub program: Program,
    /// Eintups in the order of their first appearance.
    pub tuples: Vec<Tuple>,
    /// Number of different shapes.
    pub shapes: u32,
    /// Arrays in the order of their first appearance.
    pub arrays: Vec<ArrayInfo>,
    /// The results: positions in `arrays`.
    pub outputs: Vec<usize>,
    /// Dependencies between ranks and extents; lowering does not need them.
    pub system: System,
}

/// An eintup: a name for a tuple of indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuple {
    /// The name.
    pub name: String,
    /// Its first appearance.
    pub span: Span,
    /// Its shape, which others may share.
    pub shape: ShapeId,
}

/// An array of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayInfo {
    /// The name.
    pub name: String,
    /// Its first use, which sizes it unless it is bound.
    pub span: Span,
    /// Number of places of its signature.
    pub places: usize,
    /// Where its elements come from.
    pub origin: Origin,
}

/// Where the elements of an array come from at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is never assigned: it must be bound.
    Input,
    /// A statement that assigns `RANDOM(…)` alone, the first that uses the array; binding the array
    /// replaces that statement.
    Random {
        /// Number of the statement.
        statement: usize,
    },
    /// Computed.
    Computed,
}

/// Ranks and extents for one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Solution {
    /// For each shape, its extents; their number is the rank.
    pub dims: Vec<Vec<u64>>,
    /// For each array, the ranks of its places.
    pub places: Vec<Vec<u32>>,
}

impl Checked {
    /// The eintup of a name.
    pub fn tuple(&self, name: &str) -> Option<&Tuple> {
        self.tuples.iter().find(|t| t.name == name)
    }

    /// Returns true for an array that must be bound: nothing assigns it before it is read.
    pub fn must_be_bound(&self, array: usize) -> bool {
        match self.arrays[array].origin {
            Origin::Input => true,
            Origin::Random { statement } => self.program.statements[statement].declared.is_some(),
            Origin::Computed => false,
        }
    }

    /// The position of an array.
    pub fn array(&self, name: &str) -> Option<usize> {
        self.arrays.iter().position(|a| a.name == name)
    }

    /// The arrays whose elements stand in indices.
    pub fn in_indices(&self) -> Vec<usize> {
        let mut found = Vec::new();
        walk::program(&self.program, &mut |_, event| {
            if let Event::Access(access, Role::Nested | Role::Fixed) = event {
                let array = self.array(&access.array.text);
                found.extend(array.filter(|at| !found.contains(at)));
            }
        });
        found
    }
}

impl Solution {
    /// The extents of an eintup.
    ///
    /// # Panics
    /// If the solution is not one of the eintup's program.
    pub fn of(&self, tuple: &Tuple) -> &[u64] {
        &self.dims[tuple.shape.0 as usize]
    }
}
