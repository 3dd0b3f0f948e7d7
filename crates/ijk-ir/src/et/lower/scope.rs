//! Context of lowering one statement.

use super::known::ArrayState;
use super::stage::StageBuilder;
use crate::core::{Access, Atom, Axis, AxisId, IndexExpr, Terms};
use crate::interval::{Interval, range};
use crate::sink::Sink;
use ijk_syntax::Diagnostic;

/// One statement's domain, the conditions on its points, and the sinks of arrays and errors.
pub struct Scope<'s, 'a> {
    /// State of the program's arrays.
    pub known: &'s ArrayState<'a>,
    /// Where the statement will stand.
    pub stage: &'s mut StageBuilder,
    /// Errors found.
    pub errors: &'s mut Sink,
    /// The variables, each with its first axis.
    pub variables: Vec<(&'a str, usize)>,
    /// The axes of the domain.
    pub domain: Vec<Axis>,
    /// Their extents.
    pub extents: Vec<u64>,
    /// Conditions on points, besides that accesses are in bounds.
    pub guards: Vec<(IndexExpr, u64)>,
    /// Elements that the index in the making reads, each with the extents of its array.
    pub elements: Vec<(Access, Vec<u64>)>,
}

impl<'s, 'a> Scope<'s, 'a> {
    /// The domain of these variables.
    pub fn new(
        known: &'s ArrayState<'a>,
        stage: &'s mut StageBuilder,
        errors: &'s mut Sink,
        names: Vec<&'a str>,
    ) -> Self {
        let (mut variables, mut domain, mut extents) = (Vec::new(), Vec::new(), Vec::new());
        for name in names {
            variables.push((name, extents.len()));
            let dims = known.tuple(name).unwrap_or(&[]);
            for (component, &extent) in dims.iter().enumerate() {
                domain.push(axis(name, component, dims.len()));
                extents.push(extent);
            }
        }
        Self {
            known,
            stage,
            errors,
            variables,
            domain,
            extents,
            guards: Vec::new(),
            elements: Vec::new(),
        }
    }

    /// Returns true if there is no point.
    pub fn is_empty(&self) -> bool {
        self.extents.contains(&0)
    }

    /// The axes of a variable.
    pub fn axes(&self, name: &str) -> Option<Vec<IndexExpr>> {
        let (_, first) = *self.variables.iter().find(|(own, _)| *own == name)?;
        let rank = self.known.tuple(name)?.len();
        Some((first..first + rank).map(|n| IndexExpr::axis(AxisId(n as u32))).collect())
    }

    /// Skips points where the index is out of bounds.
    pub fn guard(&mut self, index: &IndexExpr, extent: u64) {
        let within = {
            let r = self.range(index);
            r.least >= 0 && r.greatest < i128::from(extent)
        };
        let guard = (index.clone(), extent);
        if !within && !self.guards.contains(&guard) {
            self.guards.push(guard);
        }
    }

    /// Skips points where an element that an index read is out of bounds, though the element itself
    /// is gone from what the index became: `0 * idx[a]`.
    pub fn guard_lost(&mut self, indices: &[IndexExpr]) {
        for (access, shape) in std::mem::take(&mut self.elements) {
            let atom = Atom::Element(access.clone().into()).without_spans();
            if !indices.iter().any(|index| reads(index, &atom)) {
                let each = access.index.iter().zip(shape);
                each.for_each(|(index, extent)| self.guard(index, extent));
            }
        }
    }

    fn range(&self, index: &IndexExpr) -> Interval {
        range(index, &|axis| Interval::of_extent(self.extents[axis.0 as usize]))
    }

    /// The position of a point among all of the domain, in row-major order.
    pub fn counter(&self) -> IndexExpr {
        let mut terms = Terms::new();
        let mut stride = 1i64;
        for (n, &extent) in self.extents.iter().enumerate().rev() {
            terms.push((stride, crate::core::Atom::Axis(AxisId(n as u32))));
            stride = stride.saturating_mul(extent.max(1) as i64);
        }
        terms.reverse();
        IndexExpr { constant: 0, terms }
    }

    /// Takes note of what is wrong.
    pub fn fail<T>(&mut self, diagnostic: Diagnostic) -> Option<T> {
        self.errors.push(diagnostic);
        None
    }

    /// The value of a result; what is wrong is taken note of.
    pub fn check<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|diagnostic| self.errors.push(diagnostic)).ok()
    }
}

fn axis(name: &str, component: usize, rank: usize) -> Axis {
    let name = if rank == 1 { name.to_string() } else { format!("{name}.{component}") };
    Axis { name, dims: Vec::new(), pins: Vec::new() }
}

/// Returns true if an element is part of an index.
fn reads(index: &IndexExpr, access: &Atom) -> bool {
    index.terms.iter().any(|(_, atom)| match atom {
        Atom::Axis(_) => false,
        Atom::FloorDiv(e, _) | Atom::Mod(e, _) | Atom::Abs(e) => reads(e, access),
        Atom::Product(left, right) | Atom::Max(left, right) | Atom::Min(left, right) => {
            reads(left, access) || reads(right, access)
        }
        Atom::Element(own) => {
            atom.without_spans() == *access || own.index.iter().any(|index| reads(index, access))
        }
    })
}
