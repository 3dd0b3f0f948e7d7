//! State of program generation: eintups, arrays and bindings.

use super::build::{access, name, tuple};
use crate::generate::{Flavour, Input, Rng};
use ijk_syntax::et::ast::{Constraint, Index, Program, Statement};
use ijk_types::DType;
use std::collections::BTreeMap;

/// An eintup with its intended extents.
#[derive(Clone, Debug)]
pub(crate) struct Tuple {
    pub name: String,
    pub rank: usize,
    pub kind: Kind,
    /// Minimum and maximum of its extents.
    pub lo: u64,
    pub hi: u64,
    /// The extents, if the shape of a bound array determines them.
    pub exact: Option<Vec<u64>>,
}

/// Source of an eintup's extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `DIMS(t) = n`.
    Pinned,
    /// `DIMS(t) IN [lo, hi]`.
    Ranged,
    /// `DIMS(t) = ` others'.
    Derived,
    /// A bound array.
    Bound,
    /// The previous eintup at its place, or the place of a `:`.
    Inferred,
}

/// An array.
#[derive(Clone, Debug)]
pub(crate) struct EtArray {
    pub name: String,
    pub dtype: DType,
    pub places: Vec<ArrayPlace>,
    /// For an index array with a `:`, its place and extent.
    pub star: Option<(usize, usize)>,
    pub bound: bool,
}

/// A place of a signature.
#[derive(Clone, Debug)]
pub(crate) struct ArrayPlace {
    pub rank: usize,
    /// The plain eintup that first occurred there.
    pub tuple: Option<usize>,
}

/// State of program generation.
pub(crate) struct World<'r> {
    pub rng: &'r mut Rng,
    pub program: Program,
    pub tuples: Vec<Tuple>,
    pub arrays: Vec<EtArray>,
    pub bound: BTreeMap<String, Input>,
    /// Ranks to give with the program.
    pub ranks: BTreeMap<String, u32>,
    pub flavour: Flavour,
    /// Names of arrays, those of unfinished statements included.
    pub names: Vec<String>,
    /// Eintups whose extents no bound array determines.
    pub open: Vec<usize>,
    /// Most points of a statement.
    pub budget: u64,
    /// Eintups of the present statement.
    pub pool: Vec<usize>,
}

const TUPLES: [&str; 12] =
    ["a", "b", "c", "pos", "batch", "chan", "row", "f", "k", "slice", "tap", "elem"];
const ARRAYS: [&str; 8] = ["x", "y", "out", "acc", "mat", "image", "w", "z"];

impl<'r> World<'r> {
    pub fn new(rng: &'r mut Rng) -> Self {
        let budget = rng.weighted(&[(75, 256), (15, 2500), (10, 40_000)]);
        let flavour = Flavour::random(rng);
        let mut world = Self {
            rng,
            program: Program::default(),
            tuples: Vec::new(),
            arrays: Vec::new(),
            bound: BTreeMap::new(),
            ranks: BTreeMap::new(),
            flavour,
            names: Vec::new(),
            open: Vec::new(),
            budget,
            pool: Vec::new(),
        };
        let many = world.rng.between(4, 9);
        let other = world.rng.weighted(&[(6, 0), (8, 2), (4, 3), (10, 1), (1, many), (1, 9)]);
        for _ in 0..world.rng.between(2, 4) {
            let rank = if world.rng.chance(0.65) { 1 } else { other };
            let kind =
                world.rng.weighted(&[(4, Kind::Pinned), (4, Kind::Ranged), (2, Kind::Derived)]);
            world.tuple(rank, kind);
        }
        if world.tuples.iter().all(|t| t.rank != 1) {
            world.tuple(1, Kind::Pinned);
        }
        world
    }

    /// A new eintup.
    pub fn tuple(&mut self, rank: usize, kind: Kind) -> usize {
        let most = match rank {
            0 | 1 => 6,
            2 => 4,
            3 => 2,
            _ => 1,
        };
        let hi = if self.rng.chance(0.07) { 0 } else { self.rng.between(1, most) as u64 };
        let lo = match kind {
            Kind::Ranged => hi.saturating_sub(self.rng.below(3) as u64),
            Kind::Derived => 0,
            _ => hi,
        };
        let name = self.fresh_tuple();
        self.tuples.push(Tuple { name, rank, kind, lo, hi, exact: None });
        self.tuples.len() - 1
    }

    /// An unused name for an eintup.
    pub fn fresh_tuple(&mut self) -> String {
        let taken = |name: &str| self.tuples.iter().any(|t| t.name == name);
        let word = self.rng.pick(&TUPLES).to_string();
        if !taken(&word) { word } else { format!("{word}{}", self.tuples.len()) }
    }

    /// An unused name for an array.
    pub fn fresh_array(&mut self, words: Option<&str>) -> String {
        let word = words.map_or_else(|| self.rng.pick(&ARRAYS).to_string(), str::to_owned);
        let name = match self.names.contains(&word) {
            true => format!("{word}{}", self.names.len()),
            false => word,
        };
        self.names.push(name.clone());
        name
    }

    pub fn plain(&self, at: usize) -> Index {
        tuple(&self.tuples[at].name)
    }

    /// Most points that an eintup contributes to a domain, as a factor.
    pub fn points(&self, at: usize) -> u64 {
        let t = &self.tuples[at];
        match &t.exact {
            Some(extents) => extents.iter().product(),
            None => t.hi.max(1).saturating_pow(t.rank as u32),
        }
    }

    /// Most points of the present statement.
    pub fn pool_points(&self) -> u64 {
        self.pool.iter().map(|&at| self.points(at).max(1)).product()
    }

    /// Adds an eintup to the statement, if its domain does not get too large.
    pub fn admit(&mut self, at: usize) -> bool {
        let fits = self.pool.contains(&at)
            || self.pool_points().saturating_mul(self.points(at)) <= self.budget;
        if fits && !self.pool.contains(&at) {
            self.pool.push(at);
        }
        fits
    }

    /// Adds a statement.
    pub fn push(&mut self, statement: Statement) {
        self.program.statements.push(statement);
    }

    pub fn constrain(&mut self, constraint: Constraint) {
        self.program.constraints.push(constraint);
    }

    /// `array[…]` of plain eintups.
    pub fn plain_access(&self, array: &str, tuples: &[usize]) -> ijk_syntax::et::ast::Access {
        access(array, tuples.iter().map(|&at| self.plain(at)).collect())
    }

    pub fn array_named(&self, name: &str) -> Option<usize> {
        self.arrays.iter().position(|a| a.name == name)
    }

    /// Extents to give with the program, so that its solution is unique.
    pub fn choose_dims(&mut self, used: &dyn Fn(&str) -> bool) -> BTreeMap<String, Vec<u64>> {
        let mut dims = BTreeMap::new();
        for (at, t) in self.tuples.iter().enumerate() {
            let wanted = match (&t.exact, t.kind) {
                (Some(_), Kind::Bound) => self.open.contains(&at) || self.rng.chance(0.1),
                (Some(_), _) => self.open.contains(&at),
                (None, kind) => kind == Kind::Ranged,
            };
            if !wanted || !used(&t.name) || self.rng.chance(0.02) {
                continue;
            }
            let span = (t.hi - t.lo) as usize + 1;
            let extents = match &t.exact {
                Some(exact) => exact.clone(),
                None => (0..t.rank).map(|_| t.lo + self.rng.below(span) as u64).collect(),
            };
            dims.insert(t.name.clone(), extents);
        }
        dims
    }

    /// Chooses the outputs, or omits the section.
    pub fn choose_outputs(&mut self) {
        if self.rng.chance(0.6) {
            return;
        }
        let assigned: Vec<String> =
            self.program.statements.iter().map(|s| s.left.array.text.clone()).collect();
        let mut names = assigned;
        names.sort();
        names.dedup();
        self.rng.shuffle(&mut names);
        names.truncate(self.rng.between(1, names.len()));
        self.program.outputs = names.iter().map(|text| name(text)).collect();
    }
}
