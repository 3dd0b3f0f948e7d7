//! State of a program's arrays in the course of lowering.

use super::Wanted;
use super::kind::Kind;
use crate::et::{Checked, Extents, Solution};
use crate::interval::Interval;
use ijk_syntax::Diagnostic;
use ijk_syntax::et::ast::{Access, Index};
use ijk_types::DType;
use std::collections::HashMap;

/// The current version of an array. What an error has left unknown is none.
#[derive(Clone, Debug, Default)]
pub struct Version {
    /// The kind of its elements.
    pub kind: Option<Kind>,
    /// The extents.
    pub shape: Option<Vec<u64>>,
}

impl Version {
    /// Of a known kind and shape.
    pub fn known(kind: Kind, shape: Vec<u64>) -> Self {
        Self { kind: Some(kind), shape: Some(shape) }
    }

    /// The element type.
    pub fn dtype(&self) -> Option<DType> {
        self.kind.map(Kind::dtype)
    }
}

/// The program, and the versions of its arrays before a statement.
pub struct ArrayState<'a> {
    /// The program.
    pub checked: &'a Checked,
    /// Ranks and extents of its eintups.
    pub solution: &'a Solution,
    /// For each array its current version, once it has one.
    pub versions: Vec<Option<Version>>,
    /// Least and greatest elements of current versions: greatest below least where there is none.
    pub ranges: HashMap<Wanted, Vec<Interval>>,
}

/// The range of no value.
pub const NO_VALUE: Interval = Interval { least: 0, greatest: -1 };

impl<'a> ArrayState<'a> {
    /// The extents of an eintup.
    pub fn tuple(&self, name: &str) -> Option<&'a [u64]> {
        self.checked.tuple(name).map(|tuple| self.solution.of(tuple))
    }

    /// The ranks of an array's places.
    pub fn places(&self, array: usize) -> &'a [u32] {
        self.solution.places.get(array).map_or(&[], |places| places)
    }

    /// Evaluates properties of index expressions with the ranges of arrays known so far.
    pub fn extents<T>(
        &self,
        ask: impl FnOnce(Extents<'_>) -> Result<T, Diagnostic>,
    ) -> Result<T, Diagnostic> {
        let elements = |access: &Access| self.elements(access);
        let counts = |access: &Access| {
            let axis = self.wanted(access)?.axis?;
            self.shape(access)?.get(axis as usize).copied()
        };
        ask(Extents::new(self.checked, self.solution).with_elements(&elements, &counts))
    }

    /// The ranges of what a nested array yields.
    fn elements(&self, access: &Access) -> Option<Vec<Interval>> {
        let wanted = self.wanted(access)?;
        let ranges = self.ranges.get(&wanted)?.clone();
        let empty = access.indices.iter().any(|e| self.yields_nothing(e));
        Some(if empty { vec![NO_VALUE; ranges.len()] } else { ranges })
    }

    /// Elements of a nested array that must be known for the bounds of an access.
    pub fn wanted(&self, access: &Access) -> Option<Wanted> {
        let array = self.checked.array(&access.array.text)?;
        let star = access.indices.iter().position(|e| matches!(e, Index::Star(_)));
        let axis = star.map(|place| self.places(array).iter().take(place).sum());
        Some(Wanted { array, axis })
    }

    /// Returns true if an eintup in the expression, or a nested array but for its `:`, is empty.
    fn yields_nothing(&self, e: &Index) -> bool {
        match e {
            Index::Integer(..) | Index::Dims(..) | Index::Rank(..) | Index::Star(_) => false,
            Index::Tuple(name) => self.tuple(&name.text).is_some_and(|dims| dims.contains(&0)),
            Index::Flat(of, _) => {
                self.extents(|e| e.all_dims(of)).is_ok_and(|dims| dims.contains(&0))
            }
            Index::Array(access) => {
                let star = self.wanted(access).and_then(|wanted| wanted.axis);
                let indexed = |(axis, extent)| extent == 0 && Some(axis) != star;
                let mut axes = (0..).zip(self.shape(access).unwrap_or_default().iter().copied());
                axes.any(indexed) || access.indices.iter().any(|e| self.yields_nothing(e))
            }
            Index::Call(_, of, _) => of.iter().any(|e| self.yields_nothing(e)),
            Index::Sum(terms, _) => terms.iter().any(|(_, term)| self.yields_nothing(term)),
            Index::Product(first, rest, _) => {
                self.yields_nothing(first) || rest.iter().any(|(_, f)| self.yields_nothing(f))
            }
        }
    }

    /// The shape of an array, where it is known.
    pub fn shape(&self, access: &Access) -> Option<&[u64]> {
        let array = self.checked.array(&access.array.text)?;
        self.versions.get(array)?.as_ref()?.shape.as_deref()
    }

    /// An array has a new version.
    pub fn replace(&mut self, array: usize, version: Version) {
        self.versions[array] = Some(version);
        self.ranges.retain(|wanted, _| wanted.array != array);
    }
}
