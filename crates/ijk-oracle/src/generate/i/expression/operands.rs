//! Indices of operands.

use super::super::build::compound;
use super::{Array, Drafter, Source};
use ijk_syntax::ast::{Operand, Position};
use ijk_types::DType;

impl Drafter<'_> {
    pub(super) fn operands(&mut self, types: &[DType]) -> (Vec<Operand>, Vec<Array>) {
        let mut operands = Vec::new();
        let mut inputs = Vec::new();
        for (at, &t) in types.iter().enumerate() {
            let (positions, shape) = match self.given.get(at) {
                Some((_, shape)) => {
                    (shape.iter().map(|&n| self.position(n)).collect(), shape.clone())
                }
                None => self.free_operand(),
            };
            operands.push(Operand::Index(compound(positions)));
            inputs.push((t, shape));
        }
        (operands, inputs)
    }

    fn free_operand(&mut self) -> (Vec<Position>, Vec<usize>) {
        let rank = self.rng.weighted(&[(1, 0), (4, 1), (6, 2), (3, 3), (1, 4)]);
        (0..rank).map(|_| self.free_position()).unzip()
    }

    /// A position at an axis of extent `extent`.
    fn position(&mut self, extent: usize) -> Position {
        let known: Vec<char> = self.known(|n| n == extent);
        if !known.is_empty() && self.rng.chance(0.5) {
            let letter = *self.rng.pick(&known);
            return self.braced(letter, extent);
        }
        if self.rng.chance(0.15)
            && let Some(position) = (0..6).find_map(|_| self.bracket_within(extent))
        {
            return position;
        }
        let letter = self.new_letter(Source::Known(extent));
        self.braced(letter, extent)
    }

    /// A position with a free choice of extent.
    fn free_position(&mut self) -> (Position, usize) {
        let known = self.known(|_| true);
        if !known.is_empty() && self.rng.chance(0.5) {
            let letter = *self.rng.pick(&known);
            let extent = self.extent_of(letter);
            return (self.braced(letter, extent), extent);
        }
        let extent = self.random_extent();
        (self.position(extent), extent)
    }
}
