//! The extents of letters, outputs and names.

use super::affine::Affine;
use super::form::Form;
use crate::EvalError;
use ijk_syntax::ast::Extent;
use std::collections::BTreeMap;

/// Known extents. A name in braces is one extent throughout the program.
pub(crate) type Names = BTreeMap<String, u64>;
/// A shape with extents that may be unknown.
pub(crate) type Partial = Vec<Option<u64>>;

/// Known extents of the letters of an expression.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extents {
    known: BTreeMap<char, u64>,
}

impl Extents {
    /// Determines extents from the shapes of the operands and the known names, and names from these.
    pub fn solve(form: &Form, shapes: &[&Partial], names: &mut Names) -> Result<Self, EvalError> {
        let mut extents = Self::default();
        for &(operand, axis, letter) in &form.plain {
            if let Some(extent) = shapes[operand][axis] {
                extents.set(letter, extent)?;
            }
        }
        extents.pin(form, names)?;
        let waits = |l: char| extents.get(l).is_none() && Self::determined_elsewhere(form, l);
        if !form.letters.iter().any(|&l| waits(l)) && shapes.iter().all(|s| !s.contains(&None)) {
            extents.infer(form, shapes);
            extents.unsqueeze(form);
        }
        Ok(extents)
    }

    /// Returns true if an array or braces determine the letter, even if they are not known yet.
    fn determined_elsewhere(form: &Form, letter: char) -> bool {
        form.plain.iter().any(|p| p.2 == letter) || form.pins.iter().any(|p| p.0 == letter)
    }

    /// The extent of a letter.
    pub fn get(&self, letter: char) -> Option<u64> {
        self.known.get(&letter).copied()
    }

    fn set(&mut self, letter: char, extent: u64) -> Result<(), EvalError> {
        let first = *self.known.entry(letter).or_insert(extent);
        let conflict = EvalError::Extents { letter, first, second: extent };
        if first == extent { Ok(()) } else { Err(conflict) }
    }

    fn pin(&mut self, form: &Form, names: &mut Names) -> Result<(), EvalError> {
        // Twice: a name may be known only through another occurrence of its letter.
        for (letter, extent) in form.pins.iter().chain(&form.pins) {
            let pinned = match extent {
                Extent::Number(n, _) => Some(*n),
                Extent::Name(name) => names.get(&name.text).copied(),
            };
            if let Some(n) = pinned {
                self.set(*letter, n)?;
            }
            if let (Extent::Name(name), Some(n)) = (extent, self.get(*letter)) {
                names.insert(name.text.clone(), n);
            }
        }
        Ok(())
    }

    /// Infers the range of letters that occur only in brackets of operands: as far as accesses are in bounds.
    fn infer(&mut self, form: &Form, shapes: &[&Partial]) {
        loop {
            let mut found: BTreeMap<char, u64> = BTreeMap::new();
            for (operand, axis, e) in form.brackets() {
                let size = shapes[operand][axis].expect("known by now");
                if let Some((letter, extent)) = self.infer_from(e, size) {
                    let least = found.entry(letter).or_insert(extent);
                    *least = extent.min(*least);
                }
            }
            if found.is_empty() {
                return;
            }
            self.known.extend(found);
        }
    }

    /// The single unknown letter of a bracket, and the largest extent for which the bracket is in bounds.
    fn infer_from(&self, e: &Affine, size: u64) -> Option<(char, u64)> {
        let unknown: Vec<char> =
            e.letters().into_iter().filter(|&l| self.get(l).is_none()).collect();
        let [letter] = unknown[..] else { return None };
        if e.occurrences(letter) != 1 || e.under_mod(letter) {
            return None;
        }
        let fits = |extent: u64| {
            let of = |l: char| if l == letter { extent } else { self.get(l).unwrap_or(0) };
            let (least, greatest) = e.range(&of);
            if e.direction(letter) > 0 { greatest < i128::from(size) } else { least >= 0 }
        };
        Some((letter, greatest_that(fits)))
    }

    /// Letters that occur only in the output have extent 1.
    fn unsqueeze(&mut self, form: &Form) {
        for &letter in &form.letters[form.operand_letters..] {
            self.known.entry(letter).or_insert(1);
        }
    }

    /// The known extents of the output.
    pub fn output(&self, form: &Form) -> Result<Partial, EvalError> {
        form.output.iter().map(|e| self.output_axis(e)).collect()
    }

    fn output_axis(&self, e: &Affine) -> Result<Option<u64>, EvalError> {
        let letters = e.letters();
        if letters.iter().any(|&l| self.get(l) == Some(0)) {
            return Ok(Some(0));
        }
        if letters.iter().any(|&l| self.get(l).is_none()) {
            return Ok(None);
        }
        let (least, greatest) = e.range(&|l| self.get(l).expect("known"));
        if least < 0 {
            return Err(EvalError::NegativeOutput(least));
        }
        u64::try_from(greatest + 1).map(Some).map_err(|_| EvalError::TooLarge)
    }

    /// The extents of the domain's axes.
    pub fn domain(&self, form: &Form) -> Result<Vec<usize>, EvalError> {
        let extent = |&letter: &char| {
            let n = self.get(letter).ok_or(EvalError::Undetermined(letter.to_string()))?;
            usize::try_from(n).map_err(|_| EvalError::TooLarge)
        };
        form.letters.iter().map(extent).collect()
    }

    /// Checks that every access is in bounds.
    pub fn check_bounds(&self, form: &Form, shapes: &[&Partial]) -> Result<(), EvalError> {
        if form.letters.iter().any(|&l| self.get(l) == Some(0)) {
            return Ok(());
        }
        for (operand, axis, e) in form.indices() {
            let extent = shapes[operand][axis].expect("known by now");
            let (least, greatest) = e.range(&|l| self.get(l).expect("known"));
            if least < 0 || greatest >= i128::from(extent) {
                return Err(EvalError::Bounds { least, greatest, extent });
            }
        }
        Ok(())
    }
}

/// The largest extent for which `fits` holds, if it is monotone; 0 if there is none.
fn greatest_that(fits: impl Fn(u64) -> bool) -> u64 {
    let (mut fitting, mut beyond) = (0, 1 << 62);
    while beyond - fitting > 1 {
        let middle = fitting + (beyond - fitting) / 2;
        if fits(middle) {
            fitting = middle;
        } else {
            beyond = middle;
        }
    }
    fitting
}
