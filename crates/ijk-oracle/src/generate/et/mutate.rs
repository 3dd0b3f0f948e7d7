//! Programs with mistakes: tokens exchanged, duplicated or omitted, and unusual numbers.

use super::{EtCase, mistakes};
use crate::generate::Rng;

/// Words with a meaning.
const WORDS: [&str; 30] = [
    "+", "-", "*", "//", "//^", "%", "/", "[", "]", "(", ")", ",", ":", "=", "+=", "max=", "DIMS",
    "RANK", "FLAT", "RANDOM", "IN", "INT", "FLOAT", "min", "EXP", "WHERE", "\n\n", "nope", "0.5",
    "a",
];

const NUMBERS: [&str; 9] = [
    "0",
    "1",
    "-1",
    "9",
    "11",
    "100000000000",
    "9223372036854775807",
    "99999999999999999999",
    "2.5",
];

impl EtCase {
    /// The case with one to three mistakes, or another one with a rare mistake.
    pub fn mutated(&self, rng: &mut Rng) -> Self {
        match rng.below(1000) {
            0..20 => return mistakes::beyond(rng),
            20..420 => return mistakes::mistake(rng),
            _ => {}
        }
        let mut case = self.clone();
        for _ in 0..rng.weighted(&[(6, 1), (2, 2), (1, 3)]) {
            match rng.below(12) {
                0 => case.mutate_lines(rng),
                1 => case.mutate_bound(rng),
                2 => case.constrain_again(rng),
                _ => case.mutate_tokens(rng),
            }
        }
        case
    }

    fn mutate_tokens(&mut self, rng: &mut Rng) {
        let mut tokens = tokens(&self.source);
        if tokens.is_empty() {
            return;
        }
        let at = rng.below(tokens.len());
        let other = rng.below(tokens.len());
        let name = |t: &String| t.starts_with(|c: char| c.is_alphabetic());
        let names: Vec<String> = tokens.iter().filter(|t| name(t)).cloned().collect();
        let places: Vec<usize> = (0..tokens.len()).filter(|&at| name(&tokens[at])).collect();
        let numbers: Vec<usize> = (0..tokens.len())
            .filter(|&at| tokens[at].starts_with(|c: char| c.is_ascii_digit()))
            .collect();
        match rng.below(8) {
            0 => tokens.swap(at, other),
            1 => drop(tokens.remove(at)),
            2 => tokens.insert(at, tokens[other].clone()),
            3 => tokens[at] = (*rng.pick(&WORDS)).to_owned(),
            4 => tokens.insert(at, (*rng.pick(&WORDS)).to_owned()),
            5 if !numbers.is_empty() => {
                tokens[*rng.pick(&numbers)] = (*rng.pick(&NUMBERS)).to_owned();
            }
            _ if !names.is_empty() => tokens[*rng.pick(&places)] = rng.pick(&names).clone(),
            _ => {}
        }
        self.source = tokens.concat();
    }

    fn mutate_lines(&mut self, rng: &mut Rng) {
        let mut lines: Vec<&str> = self.source.lines().collect();
        let (at, other) = (rng.below(lines.len()), rng.below(lines.len()));
        match rng.below(3) {
            0 => drop(lines.remove(at)),
            1 => lines.swap(at, other),
            _ => lines.insert(at, lines[other]),
        }
        self.source = lines.join("\n") + "\n";
    }

    /// Changes the shape of a bound array, or removes it.
    fn mutate_bound(&mut self, rng: &mut Rng) {
        let names: Vec<String> = self.bound.keys().cloned().collect();
        if names.is_empty() {
            return;
        }
        let name = rng.pick(&names);
        let input = self.bound.get_mut(name).expect("a bound array");
        match rng.below(3) {
            0 => drop(self.bound.remove(name)),
            1 if !input.value.shape.is_empty() && !input.value.data.is_empty() => {
                let axis = rng.below(input.value.shape.len());
                let rows = input.value.data.len() / input.value.shape[axis];
                input.value.shape[axis] -= 1;
                let rest: usize = input.value.shape.iter().product();
                debug_assert!(rest <= rows * input.value.shape[axis]);
                input.value.data.truncate(rest);
            }
            _ => {
                input.value.shape.push(1);
                input.layout.order.push(input.layout.order.len());
                input.layout.steps.push(1);
            }
        }
        if let Some(input) = self.bound.get_mut(name) {
            crate::generate::repeat(&mut input.value, &input.layout);
        }
    }

    /// Adds a constraint.
    fn constrain_again(&mut self, rng: &mut Rng) {
        let tokens = tokens(&self.source);
        let name = |t: &&String| t.starts_with(|c: char| c.is_lowercase());
        let names: Vec<&String> = tokens.iter().filter(name).collect();
        if names.is_empty() {
            return;
        }
        let (x, y) = (rng.pick(&names), rng.pick(&names));
        let n = rng.pick(&NUMBERS);
        let line = match rng.below(8) {
            0 => format!("DIMS({x}) = DIMS({y}) + 1"),
            1 => format!("DIMS({x}) IN [3, {n}]"),
            2 => format!("RANK({x}) = {n}"),
            3 => format!("RANK({x}) IN [{n}, 1]"),
            4 => format!("DIMS({x}) = {n} // 0"),
            5 => format!("RANK({x}) = RANK({y}) + 1"),
            6 => format!("DIMS({x}) = RANK({y}) - {n}"),
            _ => format!("DIMS({x}) = DIMS({x})"),
        };
        self.source.push_str(&format!("\n{line}\n"));
    }
}

/// Words, numbers, symbols and white space, in order.
fn tokens(source: &str) -> Vec<String> {
    let class = |c: char| match c {
        _ if c.is_alphanumeric() || c == '_' || c == '.' => 0,
        _ if c.is_whitespace() => 1,
        '/' | '^' | '=' | '+' => 2,
        _ => 3,
    };
    let mut tokens: Vec<String> = Vec::new();
    for c in source.chars() {
        match tokens.last_mut() {
            Some(last) if class(c) < 3 && last.chars().all(|l| class(l) == class(c)) => {
                last.push(c)
            }
            _ => tokens.push(c.into()),
        }
    }
    tokens
}
