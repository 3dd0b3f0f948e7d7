//! Names of axes and attributes: data about an array that no computation depends on.

use crate::formula::FormulaNode;
use crate::statement::Statement;
use crate::term::{Kind, Term};
use crate::{BigTensor, Source};
use std::collections::HashMap;
use std::sync::Arc;

/// Metadata of a stored array: names of axes and attributes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Annotations {
    /// The name of each axis, if it has one; empty where no axis has.
    pub names: Vec<Option<String>>,
    /// Attributes, as the text of a JSON object in which bare `NaN` and `Infinity` may stand.
    pub attributes: Option<Arc<str>>,
}

impl BigTensor {
    /// Names for its axes, and attributes: those of the array that it is a copy of.
    ///
    /// An axis of an input keeps the input's name; others have the letter or eintup of the program: `x0` and `x1` are
    /// the axes of an eintup `x` of rank 2. Where inputs disagree, or two axes would have one name, the letter is used,
    /// too. A copy of all elements, in any order of axes and in any blocks, or of some of them, has the attributes of
    /// the original.
    ///
    /// ```
    /// use ijk_blocks::{BigTensor, apply};
    /// let u = BigTensor::lit([1.0, 2.0], [1, 2], [None, None])?;
    /// let sums = apply("+ij~j", &[&u])?.remove(0);
    /// assert_eq!(sums.annotations().names, [Some("j".to_string())]);
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    pub fn annotations(&self) -> Annotations {
        let mut known: HashMap<usize, TermAnnotations> = HashMap::new();
        for tensor in self.terms() {
            let of = |operand: &BigTensor| known[&operand.id()].clone();
            let operands: Vec<TermAnnotations> = tensor.term.operands.iter().map(of).collect();
            known.insert(tensor.id(), TermAnnotations::of(&tensor.term, operands));
        }
        known.remove(&self.id()).unwrap_or_default().told()
    }
}

/// Annotations of a term: names of its axes, and attributes.
#[derive(Clone, Default)]
struct TermAnnotations {
    axes: Vec<Name>,
    attributes: Option<Arc<str>>,
}

/// Names of an axis: that of an input, and the program's.
#[derive(Clone, Default)]
struct Name {
    given: Option<String>,
    letter: Option<String>,
}

impl TermAnnotations {
    fn of(term: &Term, operands: Vec<TermAnnotations>) -> Self {
        let rank = term.ty.rank();
        if let Kind::Source(source) = &term.kind {
            return Self::stored(&**source, rank);
        }
        if let Kind::Statement(statement) = &term.kind {
            return Self::computed(statement, &operands, rank);
        }
        let mut operands = operands.into_iter();
        let Some(first) = operands.next() else { return Self::default() };
        let Self { axes, attributes } = first;
        let unnamed = |axes| Self { axes, attributes: None };
        match &term.kind {
            Kind::Reblock { .. } | Kind::Select(_) => Self { axes, attributes },
            Kind::Map(_) => unnamed(axes),
            Kind::Broadcast => {
                let of = term.operands[0].dims();
                let new = rank - of.len();
                let axes = axes.into_iter().zip(of).zip(&term.ty.dims[new..]);
                let kept =
                    axes.map(|((name, of), to)| if of == to { name } else { Name::default() });
                unnamed(vec![Name::default(); new].into_iter().chain(kept).collect())
            }
            Kind::Zip(_) => {
                let other = operands.next().unwrap_or_default();
                unnamed(axes.into_iter().zip(other.axes).map(|(l, r)| l.common(r)).collect())
            }
            Kind::Contract { i, j, .. } => {
                let other = operands.next().unwrap_or_default();
                let without = |axes: Vec<Name>, folded: usize| {
                    let kept =
                        axes.into_iter().enumerate().filter(move |(axis, _)| *axis != folded);
                    kept.map(|(_, name)| name)
                };
                unnamed(without(axes, *i).chain(without(other.axes, *j)).collect())
            }
            Kind::Source(_) | Kind::Statement(_) => Self::default(),
        }
    }

    fn stored(source: &dyn Source, rank: usize) -> Self {
        let Annotations { mut names, attributes } = source.annotations();
        names.resize(rank, None);
        let axes = names.into_iter().map(|given| Name { given, letter: None }).collect();
        Self { axes, attributes }
    }

    fn computed(statement: &Statement, operands: &[TermAnnotations], rank: usize) -> Self {
        let name = |axis: usize| {
            let own = &statement.axes[axis];
            if statement.points.writes(axis) {
                return Name::default();
            }
            let mut given: Vec<&String> = Vec::new();
            for (known, index) in operands.iter().zip(&statement.index) {
                let axes = known.axes.iter().zip(index).zip(0..);
                let same = axes.filter(|((_, affine), _)| affine.as_axis() == Some(axis));
                given.extend(same.filter_map(|((name, _), _)| name.given.as_ref()));
            }
            given.dedup();
            let given = match &given[..] {
                [only] => Some((*only).clone()),
                _ => None,
            };
            Name { given, letter: letter(&own.name) }
        };
        let attributes = operands.first().filter(|_| is_copy(statement));
        let attributes = attributes.and_then(|known| known.attributes.clone());
        Self { axes: (0..rank).map(name).collect(), attributes }
    }

    /// One name for each axis.
    fn told(self) -> Annotations {
        let mut names: Vec<Option<String>> = Vec::new();
        for Name { given, letter } in self.axes {
            let is_free = |name: &String| !names.iter().flatten().any(|other| other == name);
            let name = given.into_iter().chain(letter).find(is_free);
            names.push(name);
        }
        if names.iter().all(Option::is_none) {
            names.clear();
        }
        Annotations { names, attributes: self.attributes }
    }
}

impl Name {
    /// The name of an axis that two tensors have.
    fn common(self, other: Self) -> Self {
        let one = |left: Option<String>, right: Option<String>| match (left, right) {
            (Some(left), Some(right)) => (left == right).then_some(left),
            (left, right) => left.or(right),
        };
        Self { given: one(self.given, other.given), letter: one(self.letter, other.letter) }
    }
}

/// A letter, or the name of an eintup with the number of its component: `x.1` of the IR is `x1`.
fn letter(name: &str) -> Option<String> {
    let is_name = name.chars().next().is_some_and(char::is_alphabetic);
    is_name.then(|| name.replace('.', ""))
}

/// Returns true if a statement copies its operand, with its axes in some order.
fn is_copy(statement: &Statement) -> bool {
    let Statement { axes, index, formula, reducer, points, .. } = statement;
    let [index] = &index[..] else { return false };
    let mut read: Vec<usize> = index.iter().filter_map(|affine| affine.as_axis()).collect();
    read.sort_unstable();
    reducer.is_none()
        && points.are_plain()
        && formula.nodes == [FormulaNode::Variable(0)]
        && index.len() == axes.len()
        && read.into_iter().eq(0..axes.len())
}
