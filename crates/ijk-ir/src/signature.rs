//! Signatures of programs as users see them.

use crate::core::{ArrayId, Program, TypeTerm};
use ijk_types::TypeSet;
use std::collections::HashMap;
use std::fmt;

/// Inputs and outputs of a program.
///
/// Displays as `(T[2], T[2]) -> T[3] where T: bool int …`, with the rank of each array in brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The arguments.
    pub inputs: Vec<Port>,
    /// The results.
    pub outputs: Vec<Port>,
    /// For each type variable, what it may be.
    pub types: Vec<TypeSet>,
    /// Pairs of type variables whose real parts are of one type.
    pub same_real: Vec<(u32, u32)>,
}

/// Rank and element type of an argument or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Its rank.
    pub rank: Rank,
    /// Its element type.
    pub dtype: TypeTerm,
}

/// A rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rank {
    /// Known.
    Fixed(u32),
    /// Any; equal variables are equal ranks.
    Var(u32),
}

impl Signature {
    /// The signature of a program.
    pub fn of(program: &Program) -> Self {
        let port = |id: &ArrayId| {
            let array = &program.arrays[id.0 as usize];
            Port { rank: array.rank.map_or(Rank::Var(id.0), Rank::Fixed), dtype: array.dtype }
        };
        Self {
            inputs: program.inputs.iter().map(port).collect(),
            outputs: program.outputs.iter().map(port).collect(),
            types: program.types.clone(),
            same_real: program.same_real.clone(),
        }
    }

    /// The name of a type variable: `T`, `U`, `V`, `W`, then `T4` and so on.
    pub fn type_name(variable: u32) -> String {
        match ["T", "U", "V", "W"].get(variable as usize) {
            Some(name) => (*name).to_string(),
            None => format!("T{variable}"),
        }
    }

    /// Numbers of the ranks that are not known, in the order of their first appearance.
    fn rank_numbers(&self) -> HashMap<u32, usize> {
        let mut numbers = HashMap::new();
        for port in self.inputs.iter().chain(&self.outputs) {
            if let Rank::Var(v) = port.rank {
                let next = numbers.len();
                numbers.entry(v).or_insert(next);
            }
        }
        numbers
    }
}

/// A type term as signatures and IR text write it.
pub fn term_text(term: TypeTerm) -> String {
    match term {
        TypeTerm::Var(v) => Signature::type_name(v),
        TypeTerm::RealOf(v) => format!("real({})", Signature::type_name(v)),
        TypeTerm::Fixed(t) => t.name().to_string(),
    }
}

/// As signatures write it: `T`, `real(T)`, `i64`.
impl fmt::Display for TypeTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&term_text(*self))
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranks = self.rank_numbers();
        write_ports(f, &self.inputs, &ranks, true)?;
        f.write_str(" -> ")?;
        write_ports(f, &self.outputs, &ranks, self.outputs.len() != 1)?;
        for (v, set) in self.types.iter().enumerate() {
            f.write_str(if v == 0 { " where " } else { ", " })?;
            write!(f, "{}:", Signature::type_name(v as u32))?;
            set.kinds().into_iter().try_for_each(|kind| write!(f, " {kind}"))?;
        }
        for (a, b) in &self.same_real {
            let (a, b) = (Signature::type_name(*a), Signature::type_name(*b));
            write!(f, ", real({a}) = real({b})")?;
        }
        Ok(())
    }
}

fn write_ports(
    f: &mut fmt::Formatter<'_>,
    ports: &[Port],
    ranks: &HashMap<u32, usize>,
    parentheses: bool,
) -> fmt::Result {
    f.write_str(if parentheses { "(" } else { "" })?;
    for (n, port) in ports.iter().enumerate() {
        let comma = if n == 0 { "" } else { ", " };
        write!(f, "{comma}{}", term_text(port.dtype))?;
        match port.rank {
            Rank::Fixed(rank) => write!(f, "[{rank}]")?,
            Rank::Var(v) => {
                let n = ranks.get(&v).copied().unwrap_or(0);
                write!(f, "[{}]", rank_name(n))?;
            }
        }
    }
    f.write_str(if parentheses { ")" } else { "" })
}

fn rank_name(n: usize) -> String {
    if n == 0 { "r".to_string() } else { format!("r{n}") }
}
