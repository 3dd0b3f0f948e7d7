//! Element types of arrays in a loop: one for all passes.

use super::super::kind::Kind;
use super::super::known::Version;
use super::super::scope::Scope;
use super::super::value::ValueBuilder;
use super::{Lowering, scratch};
use ijk_syntax::et::ast::AssignOp;
use ijk_types::DType;
use std::ops::Range;

/// Types only become wider, and there are less of them: the most rounds for an array.
const ROUNDS_PER_ARRAY: usize = 16;

impl Lowering<'_> {
    /// Gives every array that a loop assigns its shape, and the common type of its elements before the loop and of all
    /// values assigned in it.
    ///
    /// Values may depend on the arrays, so types are found in rounds. An array without elements before the loop is weak
    /// as long as its values are: an INT at first, and a FLOAT where numbers make one of it. What is weak when nothing
    /// changes any more has i64 or f64, and others may become wider for it.
    pub(super) fn settle_types(
        &mut self,
        body: &Range<usize>,
        assigned: &[usize],
        before: &[Option<Version>],
    ) {
        for _ in 0..=ROUNDS_PER_ARRAY * assigned.len() {
            let typed = |version: &Option<Version>| version.as_ref()?.dtype.map(Kind::Of);
            let mut kinds: Vec<Option<Kind>> = before.iter().map(typed).collect();
            for n in body.clone() {
                let left = &self.known.checked.program.statements[n].left;
                let array = self.known.checked.array(&left.array.text);
                let Some(at) = assigned.iter().position(|own| Some(*own) == array) else {
                    continue;
                };
                self.size_first(n, assigned[at]);
                if let Some(kind) = self.assigned_kind(n) {
                    kinds[at] = Some(kinds[at].map_or(kind, |known| known.with(kind)));
                }
            }
            let changes = self.take_kinds(assigned, &kinds);
            if !changes && self.known.weak.is_empty() {
                break;
            }
            if !changes {
                self.known.weak.clear();
            }
        }
        self.known.weak.clear();
    }

    /// Notes the types found; returns true if one is new.
    fn take_kinds(&mut self, assigned: &[usize], kinds: &[Option<Kind>]) -> bool {
        let mut changes = false;
        for (&array, kind) in assigned.iter().zip(kinds) {
            let Some(kind) = *kind else { continue };
            let Some(version) = self.known.versions[array].clone() else { continue };
            let (dtype, weak) = (Some(kind.dtype()), self.known.weak.get(&array).copied());
            if version.dtype.is_none() || weak.map_or(version.dtype == dtype, |weak| weak == kind) {
                continue;
            }
            changes = true;
            self.known.replace(array, Version { dtype, ..version });
            match kind {
                Kind::Of(_) => self.known.weak.remove(&array),
                _ => self.known.weak.insert(array, kind),
            };
        }
        changes
    }

    /// Sizes an array by its first use.
    fn size_first(&mut self, n: usize, array: usize) {
        if self.known.versions[array].is_some() {
            return;
        }
        let statement = &self.known.checked.program.statements[n];
        let (mut stage, _) = scratch(self.known.versions.len());
        let names = self.names(n);
        let scope = &mut Scope::new(&self.known, &mut stage, &mut self.errors, names);
        let shape = scope.size(statement, array);
        let dtype = shape.is_some().then_some(DType::I64);
        if let Some(shape) = &shape {
            scope.holds(statement, DType::C128, shape);
        }
        self.known.versions[array] = Some(Version { dtype, shape });
        self.known.weak.insert(array, Kind::Integer);
    }

    /// The kind of a statement's value, as far as it is known.
    fn assigned_kind(&self, n: usize) -> Option<Kind> {
        let statement = &self.known.checked.program.statements[n];
        if matches!(statement.assign.op, AssignOp::And | AssignOp::Or) {
            return Some(Kind::Of(DType::Bool));
        }
        let (mut stage, mut errors) = scratch(self.known.versions.len());
        let scope = &mut Scope::new(&self.known, &mut stage, &mut errors, self.names(n));
        let value = ValueBuilder::new(scope, 0, 0).value(&statement.value)?;
        Some(value.kind)
    }
}
