//! Extents by what is in bounds, for eintups that stand in the arithmetic of reads alone.
//!
//! `y[j] = a[i] * b[i+j]` reads `b` at every `j` up to `DIMS(b) - DIMS(i)`: the extent of `j` is the largest for which
//! no read of the statement passes the upper end of an array. Reads that do not grow with an extent leave it open.

use super::{Bound, From, Inference, KnownExtent};
use crate::et::checked::{Checked, Solution};
use crate::et::extent::Extents;
use crate::et::space::Kind;
use crate::et::walk::{self, Event, Role};
use crate::et::{Origin, ShapeId};
use ijk_syntax::et::ast::{Access, Index, Statement};

/// Extents that are tried.
const MOST: u64 = 1 << 40;

/// A component of a shape.
type ShapeComponent = (ShapeId, usize);

/// A read of an array with known extents at one place.
#[derive(Clone, Copy)]
struct Read<'a> {
    access: &'a Access,
    index: &'a Index,
    /// Rank of the place.
    rank: u32,
    component: usize,
    /// Extent of the array.
    extent: u64,
}

impl<'a> Inference<'a> {
    /// Determines extents by the first statement whose reads bound them.
    pub(super) fn in_bounds(&mut self) {
        let checked = self.space.checked;
        let mut open = self.space.kinds.iter().zip(&self.known);
        let unknown = |known: &[Option<KnownExtent<'_>>]| known.iter().any(Option::is_none);
        if !open.any(|(kind, known)| matches!(kind, Kind::Open) && unknown(known)) {
            return;
        }
        for (n, statement) in checked.program.statements.iter().enumerate() {
            if is_replaced(checked, self.bound, n) {
                continue;
            }
            while let Some(((shape, component), extent, access)) = self.bounded(statement) {
                self.set(shape, component, extent, From::InBounds(access));
                self.propagate();
            }
        }
    }

    /// An undetermined extent that the reads of a statement bound, with one of those that bound it.
    fn bounded(&self, statement: &'a Statement) -> Option<(ShapeComponent, u64, &'a Access)> {
        let solution = self.present();
        let reads = self.reads(statement, &solution);
        let alone = |read: &Read<'a>| {
            let mut unknown = Vec::new();
            self.unknown(read.index, Some(read.component), &mut unknown);
            match unknown[..] {
                [one] => Some((one, *read)),
                _ => None,
            }
        };
        let alone: Vec<(ShapeComponent, Read<'a>)> = reads.iter().filter_map(alone).collect();
        let open = |shape: ShapeId| matches!(self.space.kinds[shape.0 as usize], Kind::Open);
        alone.iter().filter(|((shape, _), _)| open(*shape)).find_map(|(of, _)| {
            let own = alone.iter().filter(|(other, _)| other == of);
            let limit = |(_, read): &(ShapeComponent, Read<'a>)| {
                Some((largest(self.space.checked, &solution, *of, read)?, read.access))
            };
            let (extent, access) = own.filter_map(limit).min_by_key(|(extent, _)| *extent)?;
            Some((*of, extent, access))
        })
    }

    /// The known extents, with 0 for all others.
    fn present(&self) -> Solution {
        let known = |of: &Vec<Option<KnownExtent<'a>>>| {
            of.iter().map(|known| known.map_or(0, |known| known.value)).collect()
        };
        let dims = self.known.iter().map(known).collect();
        Solution { dims, places: self.space.ranks.places.clone() }
    }

    /// The reads of a statement from arrays with known extents.
    fn reads(&self, statement: &'a Statement, solution: &Solution) -> Vec<Read<'a>> {
        let mut accesses = Vec::new();
        walk::statement(statement, &mut |event| {
            if let Event::Access(access, Role::Right | Role::Nested) = event {
                accesses.push(access);
            }
        });
        let mut reads = Vec::new();
        for access in accesses {
            let Some(array) = self.space.checked.array(&access.array.text) else { continue };
            for (place, index) in access.indices.iter().enumerate() {
                let Some(extents) = self.extents_of(array, place, solution) else { continue };
                let rank = extents.len() as u32;
                let read = |(component, &extent): (usize, &u64)| Read {
                    access,
                    index,
                    rank,
                    component,
                    extent,
                };
                reads.extend(extents.iter().enumerate().map(read));
            }
        }
        reads
    }

    /// The extents of a place of an array, if they are known.
    fn extents_of(&self, array: usize, place: usize, solution: &Solution) -> Option<Vec<u64>> {
        let checked = self.space.checked;
        let ranks = self.space.ranks.places.get(array)?;
        let rank = *ranks.get(place)?;
        if let Some((_, extents)) = self.bound.iter().find(|(bound, _)| *bound == array) {
            let first = ranks[..place].iter().sum::<u32>() as usize;
            return Some(extents.get(first..first + rank as usize)?.to_vec());
        }
        if checked.arrays[array].origin == Origin::Input {
            return None;
        }
        let index = checked.system.sizing[array].indices.get(place)?;
        let mut unknown = Vec::new();
        self.unknown(index, None, &mut unknown);
        let extents = || Extents::new(checked, solution).dims(index, rank).ok().flatten();
        unknown.is_empty().then(extents).flatten()
    }

    /// Adds the undetermined extents that a component of an index depends on; without one, that any depends on.
    fn unknown(&self, index: &Index, component: Option<usize>, found: &mut Vec<ShapeComponent>) {
        match index {
            Index::Integer(..) | Index::Rank(..) | Index::Star(_) => {}
            Index::Tuple(name) => {
                let Some(tuple) = self.space.checked.tuple(&name.text) else { return };
                let components = match component {
                    Some(one) => one..one + 1,
                    None => 0..self.space.rank(tuple.shape),
                };
                for component in components {
                    let of = (tuple.shape, component);
                    let exists = component < self.space.rank(tuple.shape);
                    if exists && self.get(of.0, of.1).is_none() && !found.contains(&of) {
                        found.push(of);
                    }
                }
            }
            Index::Dims(of, _) => match &of[..] {
                [one] => self.unknown(one, component, found),
                all => all.iter().for_each(|each| self.unknown(each, None, found)),
            },
            Index::Flat(of, _) => of.iter().for_each(|each| self.unknown(each, None, found)),
            Index::Array(access) => {
                access.indices.iter().for_each(|each| self.unknown(each, None, found));
            }
            Index::Call(_, of, _) => {
                of.iter().for_each(|each| self.unknown(each, component, found));
            }
            Index::Sum(terms, _) => {
                terms.iter().for_each(|(_, term)| self.unknown(term, component, found));
            }
            Index::Product(first, rest, _) => {
                self.unknown(first, component, found);
                rest.iter().for_each(|(_, factor)| self.unknown(factor, component, found));
            }
        }
    }
}

/// The largest extent of a component for which a read does not pass the upper end; none if the read does not grow
/// with it, or depends on elements of arrays.
fn largest(
    checked: &Checked,
    solution: &Solution,
    (shape, component): ShapeComponent,
    read: &Read<'_>,
) -> Option<u64> {
    let mut solution = solution.clone();
    // Beyond 64 bits a read has no value. Other eintups that are empty count as if they had one.
    let mut reach = |extent: u64| {
        solution.dims[shape.0 as usize][component] = extent;
        let range = Extents::new(checked, &solution).range(read.index, read.rank).ok();
        range.map_or(i128::MAX, |range| range[read.component].greatest)
    };
    let (first, last) = (reach(1), reach(MOST));
    if last <= first || last < read.extent.into() {
        return None;
    }
    let (mut fits, mut passes) = (0, MOST);
    while passes - fits > 1 {
        let middle = fits + (passes - fits) / 2;
        match reach(middle) < read.extent.into() {
            true => fits = middle,
            false => passes = middle,
        }
    }
    Some(fits)
}

/// Returns true for a statement that a bound array replaces.
pub(in crate::et) fn is_replaced(checked: &Checked, bound: &Bound, statement: usize) -> bool {
    let origin = Origin::Random { statement };
    bound.iter().any(|(array, _)| checked.arrays[*array].origin == origin)
}
