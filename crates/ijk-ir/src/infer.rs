//! Unification of ranks and element types.

use crate::leaf::{Verb, Why};
use ijk_syntax::Span;
use ijk_types::TypeSet;

/// A variable for a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RankVar(pub u32);

/// A variable for an element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeVar(pub u32);

/// A rank and the place that fixes it.
pub type KnownRank = (u32, Span);

/// Two ranks that should be one.
#[derive(Clone, Copy, Debug)]
pub struct RankConflict(pub KnownRank, pub KnownRank);

/// Two sets of types that should have one in common.
#[derive(Clone, Copy, Debug)]
pub struct TypeConflict(pub Why, pub Why);

#[derive(Clone, Copy, Debug)]
struct RankCell {
    parent: u32,
    known: Option<KnownRank>,
}

#[derive(Clone, Copy, Debug)]
struct TypeCell {
    parent: u32,
    set: TypeSet,
    why: Why,
    /// The variable of the real part's type.
    real: Option<u32>,
}

/// Variables and what is known of them.
#[derive(Clone, Debug, Default)]
pub struct Infer {
    ranks: Vec<RankCell>,
    types: Vec<TypeCell>,
}

impl Infer {
    /// Forgets all variables.
    pub fn clear(&mut self) {
        self.ranks.clear();
        self.types.clear();
    }

    /// A new rank.
    pub fn rank(&mut self, known: Option<KnownRank>) -> RankVar {
        let parent = self.ranks.len() as u32;
        self.ranks.push(RankCell { parent, known });
        RankVar(parent)
    }

    /// A new type.
    pub fn element(&mut self, set: TypeSet, why: Why) -> TypeVar {
        let parent = self.types.len() as u32;
        self.types.push(TypeCell { parent, set, why, real: None });
        TypeVar(parent)
    }

    /// The type of the real part of `v`.
    pub fn real_of(&mut self, v: TypeVar) -> TypeVar {
        let root = self.type_root(v).0 as usize;
        if let Some(real) = self.types[root].real {
            return self.type_root(TypeVar(real));
        }
        let TypeCell { set, why, .. } = self.types[root];
        if set.iter().all(|t| !t.is_complex()) {
            self.types[root].real = Some(root as u32);
            return TypeVar(root as u32);
        }
        let real = self.element(reals(set), Why { verb: Verb::Gives, ..why });
        self.types[real.0 as usize].real = Some(real.0);
        self.types[root].real = Some(real.0);
        real
    }

    /// The representative of a rank.
    pub fn rank_root(&mut self, v: RankVar) -> RankVar {
        let mut at = v.0;
        while self.ranks[at as usize].parent != at {
            let up = self.ranks[at as usize].parent;
            self.ranks[at as usize].parent = self.ranks[up as usize].parent;
            at = up;
        }
        RankVar(at)
    }

    /// The representative of a type.
    pub fn type_root(&mut self, v: TypeVar) -> TypeVar {
        let mut at = v.0;
        while self.types[at as usize].parent != at {
            let up = self.types[at as usize].parent;
            self.types[at as usize].parent = self.types[up as usize].parent;
            at = up;
        }
        TypeVar(at)
    }

    /// Rank as far as it is determined.
    pub fn known_rank(&mut self, v: RankVar) -> Option<KnownRank> {
        let root = self.rank_root(v);
        self.ranks[root.0 as usize].known
    }

    /// The types a variable may be, and why.
    pub fn types_of(&mut self, v: TypeVar) -> (TypeSet, Why) {
        let root = self.type_root(v).0 as usize;
        let set = self.linked_set(root);
        (set, self.types[root].why)
    }

    /// The representative of the real part's type, where one exists.
    pub fn known_real(&mut self, v: TypeVar) -> Option<TypeVar> {
        let root = self.type_root(v);
        let real = self.types[root.0 as usize].real?;
        Some(self.type_root(TypeVar(real)))
    }

    fn linked_set(&mut self, root: usize) -> TypeSet {
        let set = self.types[root].set;
        match self.known_real(TypeVar(root as u32)) {
            Some(real) if real.0 as usize != root => {
                let allowed = self.types[real.0 as usize].set;
                set.filter(|t| allowed.contains(t.real()))
            }
            _ => set,
        }
    }

    /// Makes two ranks one.
    pub fn unify_ranks(&mut self, a: RankVar, b: RankVar) -> Result<(), RankConflict> {
        let (a, b) = (self.rank_root(a).0 as usize, self.rank_root(b).0 as usize);
        match (self.ranks[a].known, self.ranks[b].known) {
            (Some(x), Some(y)) if x.0 != y.0 => return Err(RankConflict(x, y)),
            (x, y) => self.ranks[a].known = x.or(y),
        }
        self.ranks[b].parent = a as u32;
        Ok(())
    }

    /// Makes two types one.
    pub fn unify_types(&mut self, a: TypeVar, b: TypeVar) -> Result<(), TypeConflict> {
        let mut next = Some((a, b));
        while let Some((a, b)) = next {
            next = self.unify_type_pair(a, b)?;
        }
        Ok(())
    }

    /// Merges two types; the types of their real parts are left to do.
    fn unify_type_pair(
        &mut self,
        a: TypeVar,
        b: TypeVar,
    ) -> Result<Option<(TypeVar, TypeVar)>, TypeConflict> {
        let (a, b) = (self.type_root(a).0 as usize, self.type_root(b).0 as usize);
        if a == b {
            return Ok(None);
        }
        let (left, right) = (self.linked_set(a), self.linked_set(b));
        let set = left.intersect(right);
        let (x, y) = (self.types[a], self.types[b]);
        if set.is_empty() {
            return Err(TypeConflict(x.why, y.why));
        }
        self.types[b].parent = a as u32;
        let why = if set == left { x.why } else { y.why };
        self.types[a] = TypeCell { parent: a as u32, set, why, real: x.real.or(y.real) };
        self.narrow_real(a);
        Ok(x.real.zip(y.real).map(|(r, s)| (TypeVar(r), TypeVar(s))))
    }

    fn narrow_real(&mut self, root: usize) {
        if let Some(real) = self.known_real(TypeVar(root as u32)) {
            let real = real.0 as usize;
            self.types[real].set = self.types[real].set.intersect(reals(self.types[root].set));
        }
    }
}

fn reals(set: TypeSet) -> TypeSet {
    set.iter().fold(TypeSet::NONE, |s, t| s.union(TypeSet::only(t.real())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ijk_types::DType;

    fn any(infer: &mut Infer) -> TypeVar {
        infer.element(TypeSet::ALL, Why::any(Span::default()))
    }

    fn only(infer: &mut Infer, t: DType) -> TypeVar {
        infer.element(TypeSet::only(t), Why::any(Span::default()))
    }

    #[test]
    fn ranks_conflict_only_when_both_known() {
        let mut infer = Infer::default();
        let (a, b) = (infer.rank(None), infer.rank(Some((2, Span::new(0, 1)))));
        let c = infer.rank(Some((3, Span::new(4, 5))));
        infer.unify_ranks(a, b).unwrap();
        assert_eq!(infer.known_rank(a).unwrap().0, 2);
        assert_eq!(infer.unify_ranks(c, a).unwrap_err().0.0, 3);
    }

    #[test]
    fn a_known_real_part_narrows_what_it_is_the_part_of() {
        let mut infer = Infer::default();
        let v = any(&mut infer);
        let r = infer.real_of(v);
        let f = only(&mut infer, DType::F32);
        infer.unify_types(r, f).unwrap();
        let both = TypeSet::only(DType::F32).union(TypeSet::only(DType::C64));
        assert_eq!(infer.types_of(v).0, both);
        let c = only(&mut infer, DType::C128);
        assert!(infer.unify_types(v, c).is_err());
    }

    #[test]
    fn two_moduli_may_be_of_different_types() {
        let mut infer = Infer::default();
        let (v, w) = (any(&mut infer), any(&mut infer));
        let (r, s) = (infer.real_of(v), infer.real_of(w));
        infer.unify_types(r, s).unwrap();
        let c = only(&mut infer, DType::C64);
        infer.unify_types(v, c).unwrap();
        let both = TypeSet::only(DType::F32).union(TypeSet::only(DType::C64));
        assert_eq!(infer.types_of(w).0, both);
        assert_eq!(infer.types_of(s).0.single(), Some(DType::F32));
    }

    #[test]
    fn the_real_part_of_a_real_is_itself() {
        let mut infer = Infer::default();
        let v = any(&mut infer);
        let r = infer.real_of(v);
        assert_eq!(infer.real_of(r), infer.type_root(r));
        infer.unify_types(v, r).unwrap();
        assert_eq!(infer.types_of(v).0, TypeSet::ORDERED);
        let again = infer.real_of(v);
        assert_eq!(infer.type_root(again), infer.type_root(v));
    }
}
