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
    /// Gives every array that a loop assigns its shape, and the common kind of its elements before the loop and of all
    /// values assigned in it.
    ///
    /// Values may depend on the arrays, so kinds are found in rounds. An array without elements before the loop has weak
    /// INTs until a value has a type.
    pub(super) fn settle_types(
        &mut self,
        body: &Range<usize>,
        assigned: &[usize],
        before: &[Option<Version>],
    ) {
        for _ in 0..=ROUNDS_PER_ARRAY * assigned.len() {
            let kind = |version: &Option<Version>| version.as_ref()?.kind;
            let mut kinds: Vec<Option<Kind>> = before.iter().map(kind).collect();
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
    }

    /// Notes the kinds found; returns true if one is new.
    fn take_kinds(&mut self, assigned: &[usize], kinds: &[Option<Kind>]) -> bool {
        let mut changes = false;
        for (&array, kind) in assigned.iter().zip(kinds) {
            let Some(version) = self.known.versions[array].clone() else { continue };
            let kind = kind.map(Kind::stored);
            if kind.is_some() && version.kind.is_some() && version.kind != kind {
                changes = true;
                self.known.replace(array, Version { kind, ..version });
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
        let kind = shape.is_some().then_some(Kind::Integer);
        if let Some(shape) = &shape {
            scope.holds(statement, DType::C128, shape);
        }
        self.known.versions[array] = Some(Version { kind, shape });
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
