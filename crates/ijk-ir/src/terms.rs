//! From type variables to the terms of a program.

use crate::core::TypeTerm;
use crate::infer::{Infer, TypeVar};
use ijk_types::TypeSet;
use std::collections::HashMap;

/// Type variables of a program being written, numbered by the inputs that first have them.
#[derive(Debug, Default)]
pub struct TypeTerms {
    /// Types that each variable may have.
    pub types: Vec<TypeSet>,
    /// See [`crate::core::Program::same_real`].
    pub same_real: Vec<(u32, u32)>,
    roots: HashMap<u32, TypeTerm>,
}

impl TypeTerms {
    /// The terms that follow from inputs of these types.
    pub fn new(infer: &mut Infer, inputs: impl Iterator<Item = TypeVar>) -> Self {
        let mut terms = Self::default();
        let mut variables = Vec::new();
        for v in inputs {
            let root = infer.type_root(v);
            if !terms.roots.contains_key(&root.0) {
                let term = terms.name(infer, root);
                terms.roots.insert(root.0, term);
                variables.push(root);
            }
        }
        for root in variables {
            terms.name_real(infer, root);
        }
        terms
    }

    fn name(&mut self, infer: &mut Infer, root: TypeVar) -> TypeTerm {
        let (set, _) = infer.types_of(root);
        if let Some(t) = set.single() {
            return TypeTerm::Fixed(t);
        }
        self.types.push(set);
        TypeTerm::Var(self.types.len() as u32 - 1)
    }

    /// Names the type of a variable's real part, or ties the two.
    fn name_real(&mut self, infer: &mut Infer, root: TypeVar) {
        let (TypeTerm::Var(v), Some(real)) = (self.roots[&root.0], infer.known_real(root)) else {
            return;
        };
        if infer.types_of(real).0.single().is_some() {
            return;
        }
        match self.roots.get(&real.0) {
            None => {
                self.roots.insert(real.0, TypeTerm::RealOf(v));
            }
            Some(TypeTerm::Var(other) | TypeTerm::RealOf(other)) if *other != v => {
                self.same_real.push((*other, v));
            }
            Some(_) => {}
        }
    }

    /// The term of a variable.
    pub fn of(&mut self, infer: &mut Infer, v: TypeVar) -> TypeTerm {
        let root = infer.type_root(v);
        if let Some(term) = self.roots.get(&root.0) {
            return *term;
        }
        let term = self.name(infer, root);
        self.roots.insert(root.0, term);
        term
    }
}
