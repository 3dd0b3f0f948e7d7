//! Letters, and names of extents.

use super::super::build::{letter, name, number};
use super::{Drafter, Source};
use ijk_syntax::ast::{Extent, Position};

const LETTERS: [char; 32] = [
    'i', 'j', 'k', 'l', 'm', 'n', 'a', 'b', 'h', 'w', 'x', 'y', 'A', 'Z', 'λ', 'ж', 'é', 'c', 'd',
    'e', 'f', 'g', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v', 'z', 'B',
];

impl Drafter<'_> {
    pub(super) fn random_extent(&mut self) -> usize {
        let small = self.rng.weighted(&[(1, 0), (3, 1), (8, 2), (8, 3), (6, 4), (3, 5), (2, 7)]);
        let big = self.rng.between(8, 9 + self.scope.most_points / 60);
        match self.scope.most_points {
            0..=256 => small,
            257..=4000 if self.rng.chance(0.35) => self.rng.between(5, 24),
            257..=4000 => small,
            _ if self.rng.chance(0.15) => big.min(700),
            _ if self.rng.chance(0.6) => self.rng.between(4, 70),
            _ => small,
        }
    }

    pub(super) fn known(&self, fits: impl Fn(usize) -> bool) -> Vec<char> {
        let known = |&(letter, source): &(char, Source)| match source {
            Source::Known(n) if fits(n) => Some(letter),
            _ => None,
        };
        self.letters.iter().filter_map(known).collect()
    }

    pub(super) fn extent_of(&self, letter: char) -> usize {
        match self.letters.iter().find(|l| l.0 == letter) {
            Some((_, Source::Known(n))) => *n,
            _ => 0,
        }
    }

    pub(super) fn new_letter(&mut self, source: Source) -> char {
        let free = |c: &char| !self.letters.iter().any(|l| l.0 == *c);
        let free: Vec<char> = LETTERS.iter().copied().filter(free).collect();
        if free.is_empty() {
            // The draft will probably not match then, and another one is made.
            return LETTERS[0];
        }
        let first = free.len().min(4);
        let at =
            if self.rng.chance(0.7) { self.rng.below(first) } else { self.rng.below(free.len()) };
        self.letters.push((free[at], source));
        free[at]
    }

    /// A letter, sometimes with its extent in braces.
    pub(super) fn braced(&mut self, l: char, extent: usize) -> Position {
        let mut letter = letter(l);
        if self.rng.chance(0.05) {
            letter.extent = Some(number(extent as u64));
        } else if self.rng.chance(0.06) || self.rng.chance(0.5) && self.is_wanted(extent) {
            letter.extent = Some(self.extent_name(extent));
        }
        Position::Letter(letter)
    }

    fn is_wanted(&self, extent: usize) -> bool {
        self.wanted.values().any(|&n| n == extent as u64)
    }

    /// A name for an extent that the letter's array determines.
    fn extent_name(&mut self, extent: usize) -> Extent {
        let extent = extent as u64;
        let wanted = self.wanted.iter().find(|w| *w.1 == extent).map(|w| w.0.clone());
        if let Some(text) = wanted {
            self.wanted.remove(&text);
            self.names.insert(text.clone(), extent);
            return Extent::Name(name(&text));
        }
        let text = match self.names.iter().find(|known| *known.1 == extent) {
            Some(known) if self.rng.chance(0.7) => known.0.clone(),
            _ => self.fresh_name(),
        };
        self.names.insert(text.clone(), extent);
        Extent::Name(name(&text))
    }

    fn fresh_name(&mut self) -> String {
        let taken = self.names.len() + self.wanted.len();
        let stem = *self.rng.pick(&["n", "rows", "m_", "size"]);
        format!("{stem}{taken}")
    }

    /// A name that an array of this or another expression determines.
    pub(super) fn wanted_name(&mut self, extent: usize) -> Extent {
        let names: Vec<String> = self.names.keys().cloned().collect();
        if !names.is_empty() && self.rng.chance(0.7) {
            let known: &String = self.rng.pick(&names);
            return Extent::Name(name(known));
        }
        let text = self.fresh_name();
        self.wanted.insert(text.clone(), extent.max(1) as u64);
        Extent::Name(name(&text))
    }
}
