//! Random programs of Einsum Tuple with arrays to bind, from a seed; and programs with mistakes.

mod build;
mod constraints;
mod framework;
mod idioms;
mod index;
pub(crate) mod links;
mod loops;
mod mistakes;
mod mutate;
pub(crate) mod print;
mod rows;
mod shrink;
mod statement;
mod value;
mod world;

pub use print::print_et;

use crate::Value;
use crate::generate::{Input, Layout, Rng};
use ijk_syntax::et::ast::Program;
use std::collections::BTreeMap;
use world::World;

/// A program with arrays to bind.
#[derive(Clone, Debug, PartialEq)]
pub struct EtCase {
    /// The text.
    pub source: String,
    /// Arrays by name.
    pub bound: BTreeMap<String, Input>,
    /// Extents of eintups that are given with the program.
    pub dims: BTreeMap<String, Vec<u64>>,
    /// Ranks of eintups that are given with the program.
    pub ranks: BTreeMap<String, u32>,
    /// The seed of the run.
    pub seed: u64,
}

impl EtCase {
    /// The case of a seed. Nearly all are well-formed; evaluation may still divide by zero.
    pub fn random(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let run = rng.below(1000) as u64;
        if rng.chance(0.15) {
            let text = match rng.chance(0.25) {
                true => rows::rows(&mut rng),
                false => idioms::idiom(&mut rng),
            };
            return Self { seed: run, ..Self::unbound(text) };
        }
        let mut world = World::new(&mut rng);
        for _ in 0..world.rng.between(1, 4) {
            world.statement();
        }
        if world.rng.chance(0.25) {
            world.loops();
        }
        world.choose_outputs();
        let names = names(&world.program);
        let used = |name: &str| names.iter().any(|used| used == name);
        world.constraints(&used);
        world.bound.retain(|name, _| used(name));
        let some = !world.bound.is_empty() || world.rng.chance(0.1);
        let dims = if some { world.choose_dims(&used) } else { BTreeMap::new() };
        world.loosen_ranks(&used, &dims);
        world.call();
        world.declare();
        let (program, bound) = (world.program, world.bound);
        let ranks = world.ranks;
        Self { source: print_et(&program, Some(&mut rng)), bound, dims, ranks, seed: run }
    }

    /// A loop of about `rows` independent rows and `passes` passes.
    pub fn row_loop(seed: u64, rows: usize, passes: usize) -> Self {
        Self::unbound(rows::rows_of(&mut Rng::new(seed), rows, passes))
    }

    /// A program without bound arrays or given extents.
    fn unbound(source: String) -> Self {
        let (bound, dims, ranks) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { source, bound, dims, ranks, seed: 1 }
    }

    /// The elements of the arrays.
    pub fn values(&self) -> BTreeMap<String, Value> {
        self.bound.iter().map(|(name, input)| (name.clone(), input.value.clone())).collect()
    }
}

/// All names in the statements.
fn names(program: &Program) -> Vec<String> {
    let text = print_et(&Program { constraints: Vec::new(), ..program.clone() }, None);
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c| !letter(c)).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The source and the arrays, for reproduction by hand.
impl std::fmt::Display for EtCase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}  seed {}", self.source, self.seed)?;
        for (name, dims) in &self.dims {
            writeln!(f, "  DIMS({name}) is {dims:?}")?;
        }
        for (name, rank) in &self.ranks {
            writeln!(f, "  RANK({name}) is {rank}")?;
        }
        for (name, input) in &self.bound {
            let Value { dtype, shape, data } = &input.value;
            write!(f, "  {name}: {dtype}{shape:?}")?;
            if input.layout != Layout::contiguous(shape.len()) {
                write!(f, " {:?}", input.layout)?;
            }
            if data.len() <= 40 {
                let elements: Vec<String> = data.iter().map(|x| format!("{x:?}")).collect();
                write!(f, " [{}]", elements.join(", "))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
