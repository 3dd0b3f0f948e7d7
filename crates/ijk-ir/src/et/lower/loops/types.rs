//! Element types of arrays in a loop: one for all passes.

use super::super::kind::Kind;
use super::super::known::Version;
use super::super::scope::Scope;
use super::super::value::ValueBuilder;
use super::{Lowering, scratch};
use ijk_syntax::et::ast::AssignOp;
use ijk_types::DType;
use std::ops::Range;

/// Types only become wider, and there are less of them.
const MAX_ROUNDS: usize = 16;

impl Lowering<'_> {
    /// Gives every array that a loop assigns its shape, and the common type of its elements before the loop and of all
    /// values assigned in it.
    ///
    /// Values may depend on the arrays, so types are found in rounds. An array without elements before the loop counts
    /// as a weak INT until a value has a type.
    pub(super) fn settle_types(
        &mut self,
        body: &Range<usize>,
        assigned: &[usize],
        before: &[Option<Version>],
    ) {
        for _ in 0..MAX_ROUNDS {
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
            if !self.take_kinds(assigned, &kinds) {
                break;
            }
        }
        self.known.untyped.clear();
    }

    /// Notes the types found; returns true if one is new.
    fn take_kinds(&mut self, assigned: &[usize], kinds: &[Option<Kind>]) -> bool {
        let mut changes = false;
        for (&array, kind) in assigned.iter().zip(kinds) {
            let Some(dtype) = kind.map(Kind::dtype) else { continue };
            let untyped = self.known.untyped.remove(&array);
            let Some(version) = self.known.versions[array].clone() else { continue };
            if version.dtype.is_some() && (untyped || version.dtype != Some(dtype)) {
                changes = true;
                self.known.replace(array, Version { dtype: Some(dtype), ..version });
            }
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
        self.known.untyped.insert(array);
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
