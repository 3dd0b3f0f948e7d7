//! Loops among the statements of a program: some statements run once for each pass, on states.

use super::{ArrayId, Pin, Program, Span};
use serde::{Deserialize, Serialize};

/// A loop: a range of statements that runs once for each pass.
///
/// A pass reads the states, a row of each swept array, and any array that is defined before the loop. It defines the
/// next value of each state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Iteration {
    /// Its statements: the first, and the one behind the last. Those of loops in it are among them.
    pub body: (u32, u32),
    /// The loop that it is in: a position in [`Program::loops`].
    pub within: Option<u32>,
    /// Number of passes in braces; all pins and the first axes of swept arrays must agree.
    pub passes: Option<Pin>,
    /// The states.
    pub states: Vec<LoopState>,
    /// Arrays of which each pass takes a row.
    pub swept: Vec<Swept>,
    /// True if the results are the states after every pass, with a new first axis; else those after the last.
    pub all: bool,
    /// True if the last row comes first.
    pub descending: bool,
    /// A bool of rank 0 that ends the loop after the first pass in which it is true.
    pub until: Option<ArrayId>,
    /// The combinator and its component.
    pub span: Span,
}

/// An array that changes from pass to pass: its type and shape do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopState {
    /// Value before the first pass.
    pub before: ArrayId,
    /// Value in a pass, which the loop defines.
    pub current: ArrayId,
    /// Value in the next pass.
    pub next: ArrayId,
    /// Value behind the loop, which the loop defines.
    pub result: ArrayId,
}

/// An array of which each pass takes a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swept {
    /// The array.
    pub of: ArrayId,
    /// Its row in a pass, which the loop defines.
    pub row: ArrayId,
}

/// A part of a program, in the order in which it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramItem {
    /// A statement.
    Statement(usize),
    /// A loop: up to its end, items run once for each pass.
    Begin(usize),
    /// The end of a loop.
    End(usize),
}

impl Program {
    /// Statements, and where loops begin and end.
    pub fn items(&self) -> Vec<ProgramItem> {
        let mut items = Vec::with_capacity(self.statements.len() + 2 * self.loops.len());
        let mut open: Vec<usize> = Vec::new();
        let mut next = 0;
        for n in 0..=self.statements.len() {
            loop {
                let inner = open.last().copied();
                let begins = self.loops.get(next).filter(|own| own.body.0 as usize <= n);
                if begins.is_some_and(|own| own.within.map(|at| at as usize) == inner) {
                    items.push(ProgramItem::Begin(next));
                    open.push(next);
                    next += 1;
                } else if inner.is_some_and(|at| self.loops[at].body.1 as usize <= n) {
                    items.extend(open.pop().map(ProgramItem::End));
                } else {
                    break;
                }
            }
            if n < self.statements.len() {
                items.push(ProgramItem::Statement(n));
            }
        }
        items
    }
}
