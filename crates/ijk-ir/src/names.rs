//! Names in braces that nothing can determine, found before any extent is known.

use crate::core::{Pin, Program, Span};

/// The names that stand only on letters which neither index an array nor have a number in braces,
/// each with a place where it stands.
pub fn undetermined(program: &Program) -> Vec<(u32, Span)> {
    if program.extent_names.is_empty() {
        return Vec::new();
    }
    let mut classes = Classes::new(program.extent_names.len());
    let axes = || program.statements.iter().flat_map(|s| &s.domain);
    for axis in axes() {
        let numbered = axis.pins.iter().any(|pin| matches!(pin, Pin::Number(..)));
        let mut names = axis.pins.iter().filter_map(name);
        let Some((first, _)) = names.next() else { continue };
        names.for_each(|(other, _)| classes.join(first, other));
        if numbered || !axis.dims.is_empty() {
            classes.determine(first);
        }
    }
    for own in &program.loops {
        if let Some((n, _)) = own.passes.as_ref().and_then(name)
            && !own.swept.is_empty()
        {
            classes.determine(n);
        }
    }
    let mut reported = vec![false; program.extent_names.len()];
    let mut found = Vec::new();
    let passes = program.loops.iter().filter_map(|own| own.passes.as_ref());
    for (n, span) in axes().flat_map(|axis| &axis.pins).chain(passes).filter_map(name) {
        let root = classes.root(n);
        if !classes.known[root] && !std::mem::replace(&mut reported[root], true) {
            found.push((n, span));
        }
    }
    found
}

fn name(pin: &Pin) -> Option<(u32, Span)> {
    match pin {
        Pin::Name(n, span) => Some((*n, *span)),
        Pin::Number(..) => None,
    }
}

/// Names that stand on one letter.
struct Classes {
    parents: Vec<usize>,
    known: Vec<bool>,
}

impl Classes {
    fn new(n: usize) -> Self {
        Self { parents: (0..n).collect(), known: vec![false; n] }
    }

    fn root(&mut self, n: u32) -> usize {
        let mut at = n as usize;
        while self.parents[at] != at {
            self.parents[at] = self.parents[self.parents[at]];
            at = self.parents[at];
        }
        at
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[b] = a;
        self.known[a] |= self.known[b];
    }

    fn determine(&mut self, n: u32) {
        let root = self.root(n);
        self.known[root] = true;
    }
}
