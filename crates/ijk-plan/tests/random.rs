//! Random programs: plans compute what the programs say, for contiguous and for strided inputs.

use crate::support::{Builder, binary};
use ijk_ir::core::{ArrayId, ScalarNode};
use ijk_types::{BinaryOp, DType, Monoid, Reducer};
use std::collections::BTreeMap;

/// A generator of numbers, the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

const EXTENTS: [u64; 8] = [1, 2, 4, 4, 6, 8, 9, 12];
const MOST_POINTS: u64 = 6000;

struct Maker {
    random: Random,
    builder: Builder,
    letters: Vec<(char, u64)>,
    arrays: Vec<ArrayId>,
}

impl Maker {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        random.below(2);
        let letters: Vec<_> = "ijklm".chars().map(|c| (c, random.pick(&EXTENTS))).collect();
        let dtype = random.pick(&[DType::I64, DType::F64, DType::I64, DType::Bool]);
        let mut builder = Builder::new(dtype, &letters);
        let mut arrays = vec![];
        for _ in 0..2 {
            let rank = random.below(4);
            let shape = (0..rank).map(|_| random.pick(&letters).1 + random.below(2) as u64);
            arrays.push(builder.input_shape(shape.collect()));
        }
        Self { random, builder, letters, arrays }
    }

    fn extent(&self, c: char) -> u64 {
        self.letters.iter().find(|l| l.0 == c).unwrap().1
    }

    /// An index for an axis of `n` elements, in bounds.
    fn place(&mut self, n: u64) -> String {
        for _ in 0..20 {
            let (a, x) = self.random.pick(&self.letters);
            let (b, y) = self.random.pick(&self.letters);
            let k = 1 + self.random.below(4) as u64;
            let (text, last) = match self.random.below(12) {
                0 => (format!("[{k}*{a}+{b}]"), k * (x - 1) + y - 1),
                1 => (format!("[{a}/{k}]"), (x - 1) / k),
                2 => (format!("[{a}%{k}]"), (x - 1).min(k - 1)),
                3 => (format!("[{k}*{a}+1]"), k * (x - 1) + 1),
                _ => (a.to_string(), x - 1),
            };
            let twice = a == b && text.contains('+') && !text.contains("+1");
            if last < n && !twice {
                return text;
            }
        }
        "[0]".to_owned()
    }

    fn operand(&mut self) -> (ArrayId, String) {
        let recent = self.arrays.len().saturating_sub(3);
        let at = if self.random.below(2) == 0 {
            recent + self.random.below(self.arrays.len() - recent)
        } else {
            self.random.below(self.arrays.len())
        };
        let id = self.arrays[at];
        let shape = self.builder.instance.shapes[id.0 as usize].clone();
        (id, shape.iter().map(|&n| self.place(n)).collect())
    }

    /// Letters of operands in a random order.
    fn letters_of(&mut self, operands: &[(ArrayId, String)]) -> Vec<char> {
        let mut found = BTreeMap::new();
        for c in operands.iter().flat_map(|o| o.1.chars()).filter(|c| c.is_alphabetic()) {
            found.insert(self.random.below(1000) * 256 + c as usize, c);
        }
        let mut letters: Vec<char> = vec![];
        for c in found.into_values() {
            if !letters.contains(&c) {
                letters.push(c);
            }
        }
        letters
    }

    fn statement(&mut self) {
        let count = 1 + self.random.below(3);
        let operands: Vec<_> = (0..count).map(|_| self.operand()).collect();
        let letters = self.letters_of(&operands);
        let points: u64 = letters.iter().map(|&c| self.extent(c)).product();
        if points > MOST_POINTS {
            return;
        }
        let reduce = self.random.below(2) == 0;
        let out = if reduce { self.reducing(&letters) } else { self.injective(&letters) };
        let ops: &[BinaryOp] = match self.builder.instance.dtypes[0] {
            DType::Bool => &[BinaryOp::Mul, BinaryOp::Add, BinaryOp::And, BinaryOp::Max],
            _ => &[BinaryOp::Mul, BinaryOp::Mul, BinaryOp::Add, BinaryOp::Max, BinaryOp::Sub],
        };
        let op = self.random.pick(ops);
        let same = self.random.below(3) > 0;
        let other = self.random.pick(ops);
        let build = |nodes: &mut Vec<ScalarNode>| {
            let mut left = 0;
            for n in 1..count {
                let op = if n == 1 || same { op } else { other };
                nodes.push(binary(op, left, n as u32));
                left = nodes.len() as u32 - 1;
            }
        };
        let monoids: &[Monoid] = match self.builder.instance.dtypes[0] {
            DType::Bool => &[Monoid::Or, Monoid::And, Monoid::Add],
            DType::F64 => &[Monoid::Add, Monoid::Max, Monoid::Min],
            _ => &[Monoid::Add, Monoid::Max, Monoid::Mul],
        };
        let reducer = reduce.then(|| Reducer::Monoid(self.random.pick(monoids)));
        let borrowed: Vec<_> = operands.iter().map(|(id, t)| (*id, &t[..])).collect();
        let id = self.builder.statement(&borrowed, build, &out, reducer);
        self.arrays.push(id);
    }

    /// Each letter once: alone, in a merge, strided; sometimes twice.
    fn injective(&mut self, letters: &[char]) -> String {
        let mut out = String::new();
        let mut at = 0;
        while at < letters.len() {
            let c = letters[at];
            match self.random.below(10) {
                0 => out += &format!("[2*{c}+1]"),
                1 => out += &format!("{c}{c}"),
                2..=4 if at + 1 < letters.len() => {
                    let d = letters[at + 1];
                    out += &format!("[{}*{c}+{d}]", self.extent(d));
                    at += 1;
                }
                _ => out.push(c),
            }
            at += 1;
        }
        out + "."
    }

    /// Some letters, some places where points collide.
    fn reducing(&mut self, letters: &[char]) -> String {
        let mut out = String::new();
        for &c in letters {
            let (d, k) = (self.random.pick(letters), 1 + self.random.below(4));
            match self.random.below(10) {
                0 if c != d => out += &format!("[{k}*{c}+{d}]"),
                1 => out += &format!("[{c}/{k}]"),
                2 => out += &format!("[{c}%{k}]"),
                3..=6 => out.push(c),
                _ => {}
            }
        }
        out + "."
    }
}

fn check(seed: u64) -> Vec<String> {
    let mut maker = Maker::new(seed);
    for _ in 0..6 {
        maker.statement();
    }
    let size = |id: ArrayId| maker.builder.instance.shapes[id.0 as usize].iter().product::<u64>();
    if maker.arrays.iter().any(|&id| size(id) > 20_000) {
        return vec![];
    }
    let last = *maker.arrays.last().unwrap();
    maker.builder.output(last);
    if maker.random.below(2) == 0 {
        let other = maker.random.pick(&maker.arrays);
        maker.builder.output(other);
    }
    maker.builder.checked().choices().collect()
}

#[test]
fn plans_compute_what_programs_say() {
    let count = std::env::var("IJK_RANDOM_PLANS").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..count {
        let result = std::panic::catch_unwind(|| check(seed));
        let choices = result.unwrap_or_else(|e| {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(e)
        });
        for choice in choices {
            *seen.entry(choice).or_default() += 1;
        }
    }
    println!("{seen:#?}");
    for kernel in ["fill", "copy", "map", "reduce", "scatter", "contract"] {
        assert!(seen.keys().any(|choice| choice.starts_with(kernel)), "{kernel} was not reached");
    }
}
