//! The terms of an index.

use super::Atom;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// Coefficients and atoms, a list of any length. Most indices are an axis alone, which needs no memory of its own.
#[derive(Clone, Default)]
pub struct Terms(Held);

#[derive(Clone, Default)]
enum Held {
    #[default]
    None,
    One((i64, Atom)),
    Many(Vec<(i64, Atom)>),
}

impl Terms {
    /// No terms.
    pub const fn new() -> Self {
        Self(Held::None)
    }

    /// One term.
    pub const fn one(coefficient: i64, atom: Atom) -> Self {
        Self(Held::One((coefficient, atom)))
    }

    /// Adds a term at the end.
    pub fn push(&mut self, term: (i64, Atom)) {
        self.insert(self.len(), term);
    }

    /// Adds a term before that of a position.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn insert(&mut self, at: usize, term: (i64, Atom)) {
        match &mut self.0 {
            Held::None if at == 0 => self.0 = Held::One(term),
            _ => self.many().insert(at, term),
        }
    }

    /// Takes the term of a position out.
    ///
    /// # Panics
    /// If there is none.
    pub fn remove(&mut self, at: usize) -> (i64, Atom) {
        self.many().remove(at)
    }

    /// Keeps some terms only.
    pub fn retain(&mut self, keep: impl FnMut(&(i64, Atom)) -> bool) {
        self.many().retain(keep);
    }

    /// All terms as a list.
    fn many(&mut self) -> &mut Vec<(i64, Atom)> {
        let held = std::mem::take(&mut self.0);
        self.0 = Held::Many(match held {
            Held::None => Vec::new(),
            Held::One(term) => vec![term],
            Held::Many(terms) => terms,
        });
        match &mut self.0 {
            Held::Many(terms) => terms,
            _ => unreachable!("it was just made"),
        }
    }
}

impl Deref for Terms {
    type Target = [(i64, Atom)];

    #[inline]
    fn deref(&self) -> &Self::Target {
        match &self.0 {
            Held::None => &[],
            Held::One(term) => std::slice::from_ref(term),
            Held::Many(terms) => terms,
        }
    }
}

impl DerefMut for Terms {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match &mut self.0 {
            Held::None => &mut [],
            Held::One(term) => std::slice::from_mut(term),
            Held::Many(terms) => terms,
        }
    }
}

impl From<Vec<(i64, Atom)>> for Terms {
    fn from(terms: Vec<(i64, Atom)>) -> Self {
        Self(Held::Many(terms))
    }
}

impl FromIterator<(i64, Atom)> for Terms {
    fn from_iter<I: IntoIterator<Item = (i64, Atom)>>(terms: I) -> Self {
        let mut all = Self::new();
        all.extend(terms);
        all
    }
}

impl Extend<(i64, Atom)> for Terms {
    fn extend<I: IntoIterator<Item = (i64, Atom)>>(&mut self, terms: I) {
        terms.into_iter().for_each(|term| self.push(term));
    }
}

impl IntoIterator for Terms {
    type Item = (i64, Atom);
    type IntoIter =
        std::iter::Chain<std::option::IntoIter<Self::Item>, std::vec::IntoIter<Self::Item>>;

    fn into_iter(self) -> Self::IntoIter {
        let (one, many) = match self.0 {
            Held::None => (None, Vec::new()),
            Held::One(term) => (Some(term), Vec::new()),
            Held::Many(terms) => (None, terms),
        };
        one.into_iter().chain(many)
    }
}

impl<'a> IntoIterator for &'a Terms {
    type Item = &'a (i64, Atom);
    type IntoIter = std::slice::Iter<'a, (i64, Atom)>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Terms {
    type Item = &'a mut (i64, Atom);
    type IntoIter = std::slice::IterMut<'a, (i64, Atom)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl PartialEq for Terms {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl Eq for Terms {}

impl Hash for Terms {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self[..].hash(state);
    }
}

impl std::fmt::Debug for Terms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self[..].fmt(f)
    }
}

impl Serialize for Terms {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self[..].serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Terms {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::AxisId;

    #[test]
    fn they_are_a_list_however_they_are_held() {
        let term = |n: u32| (i64::from(n), Atom::Axis(AxisId(n)));
        let mut terms = Terms::new();
        let mut list = Vec::new();
        for n in [1, 2, 0, 3] {
            let at = (n as usize).min(list.len());
            terms.insert(at, term(n));
            list.insert(at, term(n));
            assert_eq!(terms[..], list[..]);
            assert_eq!(terms, Terms::from(list.clone()));
            assert_eq!(terms.clone().into_iter().collect::<Vec<_>>(), list);
        }
        assert_eq!(terms.remove(1), list.remove(1));
        terms.retain(|(factor, _)| *factor > 1);
        list.retain(|(factor, _)| *factor > 1);
        terms.iter_mut().for_each(|(factor, _)| *factor += 1);
        list.iter_mut().for_each(|(factor, _)| *factor += 1);
        assert_eq!(terms[..], list[..]);
        assert_eq!(Terms::one(1, term(0).1)[..], [(1, term(0).1)]);
        assert_eq!(Terms::from(Vec::new()), Terms::new());
    }
}
