//! Functions outside, and the output.

use super::super::build::{bracket, int, letter, minus, number, plain, plus, product, times, var};
use super::body::accepts;
use super::{Drafter, Source};
use ijk_syntax::Function;
use ijk_syntax::ast::{ArithOp, Body, Operand, Position};
use ijk_types::DType;

impl Drafter<'_> {
    pub(super) fn outer_and_output(
        &mut self,
        function: Option<Function>,
        value: DType,
        body: &Body,
    ) -> Option<(Option<Function>, Vec<Position>)> {
        let letters: Vec<char> = self.letters.iter().map(|l| l.0).collect();
        let index = function == Some(Function::Index);
        match self.rng.below(10) {
            0..=3 if !letters.is_empty() => {
                let reducer = self.reducer(value)?;
                Some((Some(reducer), self.reduced_output(letters, reducer)))
            }
            // Before a single operand, the function is the whole map.
            4..=6 if !index => {
                Some((self.outer_map(function, value, body)?, self.mapped_output(letters)))
            }
            _ => Some((None, self.mapped_output(letters))),
        }
    }

    fn reducer(&mut self, value: DType) -> Option<Function> {
        let takes = |&f: &Function| {
            f.reduces()
                && (accepts(f, &[value]) || (is_arg(f) || f.orders()) && !value.is_complex())
        };
        let choices: Vec<Function> = Function::ALL.iter().copied().filter(takes).collect();
        let sum = self.rng.chance(0.4) && value != DType::Bool;
        if sum {
            Some(Function::Add)
        } else {
            (!choices.is_empty()).then(|| *self.rng.pick(&choices))
        }
    }

    fn outer_map(
        &mut self,
        function: Option<Function>,
        value: DType,
        body: &Body,
    ) -> Option<Option<Function>> {
        let takes = |&f: &Function| f != Function::Index && accepts(f, &[value]);
        let mut choices: Vec<Function> = Function::ALL.iter().copied().filter(takes).collect();
        let is_vector = matches!(body, Body::Operand(Operand::Index(c)) if matches!(&c.positions[..], [Position::Letter(_)]));
        if function.is_none() && is_vector && self.rng.chance(0.15) {
            choices = vec![Function::Index];
        }
        (!choices.is_empty()).then(|| Some(*self.rng.pick(&choices)))
    }

    /// All letters, and sometimes more.
    fn mapped_output(&mut self, mut letters: Vec<char>) -> Vec<Position> {
        if self.rng.chance(0.6) {
            self.rng.shuffle(&mut letters);
        }
        let mut output: Vec<Position> = Vec::new();
        for letter in letters {
            let mut positions = self.output_letter(letter);
            output.append(&mut positions);
        }
        self.merge_axes(&mut output);
        self.unsqueeze(&mut output);
        output
    }

    /// A letter, or a bracket whose points are distinct.
    fn output_letter(&mut self, letter: char) -> Vec<Position> {
        let (x, extent) = (var(letter), self.extent_of(letter) as i64);
        let d = self.rng.between(2, 4) as i64;
        match self.rng.below(40) {
            0 => vec![bracket(times(int(2), x))],
            1 => vec![bracket(plus(x, int(d)))],
            2 if extent > 0 => vec![bracket(minus(int(extent - 1), x))],
            3 => vec![
                bracket(product(x.clone(), ArithOp::Div, int(d))),
                bracket(product(x, ArithOp::Mod, int(d))),
            ],
            4 | 5 => vec![plain(letter), plain(letter)],
            _ => vec![plain(letter)],
        }
    }

    /// `ij` as `[n*i+j]`.
    fn merge_axes(&mut self, output: &mut Vec<Position>) {
        let letters = |p: &Position| match p {
            Position::Letter(letter) => Some(letter.name),
            Position::Bracket(..) => None,
        };
        if output.len() < 2 || !self.rng.chance(0.08) {
            return;
        }
        let at = self.rng.below(output.len() - 1);
        if let (Some(i), Some(j)) = (letters(&output[at]), letters(&output[at + 1])) {
            let n = self.extent_of(j).max(1) as i64;
            if i != j {
                let merged = plus(times(int(n), var(i)), var(j));
                output.splice(at..at + 2, [bracket(merged)]);
            }
        }
    }

    /// Letters that only the output has.
    fn unsqueeze(&mut self, output: &mut Vec<Position>) {
        if output.len() > 4 || !self.rng.chance(0.12) {
            return;
        }
        let at = self.rng.between(0, output.len());
        let mut new = letter(self.new_letter(Source::Known(1)));
        let extent = self.rng.between(0, 4);
        match self.rng.below(4) {
            0 => new.extent = Some(number(extent as u64)),
            1 => new.extent = Some(self.wanted_name(extent)),
            _ => {}
        }
        output.insert(at, Position::Letter(new));
    }

    /// Some of the letters; several points may have a common element.
    fn reduced_output(&mut self, mut letters: Vec<char>, reducer: Function) -> Vec<Position> {
        if self.rng.chance(0.5) {
            self.rng.shuffle(&mut letters);
        }
        if reducer.orders() {
            return self.ordered_output(letters);
        }
        let drop = if is_arg(reducer) { 1 } else { self.dropped(letters.len()) };
        for _ in 0..drop {
            letters.remove(self.rng.below(letters.len()));
        }
        let mut output = Vec::new();
        let mut letters = letters.into_iter().peekable();
        while let Some(letter) = letters.next() {
            let scatter = self.rng.chance(0.08) && !is_arg(reducer);
            match (scatter, letters.peek()) {
                (true, Some(&next)) if self.rng.chance(0.6) => {
                    letters.next();
                    output.push(bracket(plus(var(letter), var(next))));
                }
                (true, _) => output.push(self.colliding(letter)),
                (false, _) if is_arg(reducer) => output.push(plain(letter)),
                (false, _) => output.append(&mut self.output_letter(letter)),
            }
        }
        self.unsqueeze(&mut output);
        output
    }

    /// All letters but one, in the place of which there is a new one, mostly.
    fn ordered_output(&mut self, mut letters: Vec<char>) -> Vec<Position> {
        let at = self.rng.below(letters.len());
        let extent = self.extent_of(letters[at]);
        let mut new = letter(self.new_letter(Source::Known(extent)));
        match self.rng.below(6) {
            0 | 1 => new.extent = Some(number(self.rng.between(0, extent) as u64)),
            2 => new.extent = Some(number(extent as u64)),
            _ => {}
        }
        letters.remove(at);
        let mut output: Vec<Position> = letters.into_iter().map(plain).collect();
        let at = if self.rng.chance(0.7) { at } else { self.rng.between(0, output.len()) };
        output.insert(at, Position::Letter(new));
        output
    }

    fn dropped(&mut self, letters: usize) -> usize {
        match self.rng.below(10) {
            0 => 0,
            1 => letters,
            2 => letters.min(2),
            _ => letters.min(1),
        }
    }

    fn colliding(&mut self, letter: char) -> Position {
        let d = int(self.rng.between(1, 4) as i64);
        let op = if self.rng.chance(0.5) { ArithOp::Div } else { ArithOp::Mod };
        bracket(product(var(letter), op, d))
    }
}

fn is_arg(function: Function) -> bool {
    matches!(function, Function::ArgMax | Function::ArgMin)
}
