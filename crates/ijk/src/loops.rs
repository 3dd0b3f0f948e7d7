//! Loops of a program in words.

use crate::Program;
use ijk_ir::core::{self as ir, ArrayId, Iteration, Pin};
use std::fmt;

/// A loop of a program, as `ijk check` lists it.
///
/// ```
/// let program = ijk::i("@scan (i*i~i . i+i~i)")?;
/// let loops = program.loops();
/// let text = "loop `@scan (i*i~i . i+i~i)`: carries T[1] from input 0; a row of inputs 1, 2 in each pass; gives the \
///             states after every pass";
/// assert_eq!(loops[0].to_string(), text);
/// # Ok::<(), ijk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopSummary {
    /// Number of loops around it.
    pub depth: usize,
    text: String,
}

impl fmt::Display for LoopSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Program {
    /// The loops, outer ones first.
    pub fn loops(&self) -> Vec<LoopSummary> {
        let program = self.lowered();
        let mut depths: Vec<usize> = Vec::new();
        for own in &program.loops {
            depths.push(own.within.map_or(0, |at| depths[at as usize] + 1));
        }
        let summary = |(own, depth)| LoopSummary { depth, text: text(program, own) };
        program.loops.iter().zip(depths).map(summary).collect()
    }
}

fn text(program: &ir::Program, own: &Iteration) -> String {
    let span = own.span.start as usize..own.span.end as usize;
    let words = program.source.get(span).unwrap_or_default().split_whitespace();
    let source = words.collect::<Vec<_>>().join(" ");
    let mut parts = vec![carries(program, own)];
    if !own.swept.is_empty() {
        let swept: Vec<ArrayId> = own.swept.iter().map(|swept| swept.of).collect();
        let order = if own.descending { ", the last row first" } else { "" };
        parts.push(format!("a row of {} in each pass{order}", arrays(program, &swept)));
    }
    let passes = match own.passes {
        Some(Pin::Number(n, _)) => Some(n.to_string()),
        Some(Pin::Name(n, _)) => Some(program.extent_names[n as usize].clone()),
        None => None,
    };
    let most = if own.until.is_some() { "at most " } else { "" };
    parts.extend(passes.map(|passes| format!("{most}{passes} passes")));
    if own.until.is_some() {
        parts.push("ends after a pass whose last output is true".into());
    }
    let gives = if own.all { "every pass" } else { "the last pass" };
    parts.push(format!("gives the states after {gives}"));
    format!("loop `{source}`: {}", parts.join("; "))
}

/// The states, and where they come from.
fn carries(program: &ir::Program, own: &Iteration) -> String {
    let states = own.states.iter().map(|state| {
        let array = &program.arrays[state.current.0 as usize];
        let rank = array.rank.map_or("any rank".into(), |rank| rank.to_string());
        let from = arrays(program, &[state.before]);
        let kept = if state.next == state.current { ", which stays" } else { "" };
        format!("{}[{rank}] from {from}{kept}", array.dtype)
    });
    format!("carries {}", states.collect::<Vec<_>>().join(", "))
}

/// `inputs 1, 2`, or what else arrays are.
fn arrays(program: &ir::Program, ids: &[ArrayId]) -> String {
    let input = |id: &ArrayId| program.inputs.iter().position(|input| input == id);
    let inputs: Option<Vec<String>> =
        ids.iter().map(|id| input(id).map(|n| n.to_string())).collect();
    match (inputs, ids.len()) {
        (Some(inputs), 1) => format!("input {}", inputs[0]),
        (Some(inputs), _) => format!("inputs {}", inputs.join(", ")),
        (None, 1) => "what is computed before".into(),
        (None, n) => format!("{n} arrays"),
    }
}
