//! Name resolution of index expressions in a statement.

use super::index::{Element, Node, PlaceIndex};
use super::range::apply;
use super::types::WeakArrays;
use super::{EtError, Shapes};
use crate::Bounded;
use ijk_syntax::et::ast::{Access, Index, IndexOp};
use std::collections::BTreeMap;

/// Meaning of names in a statement.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub shapes: &'a Shapes,
    /// Every array before the statement.
    pub arrays: &'a BTreeMap<String, Bounded>,
    /// The variables, in order.
    pub variables: &'a [String],
    /// Those of them whose elements are weak.
    pub weak: &'a WeakArrays,
}

impl<'a> Scope<'a> {
    pub fn is_tuple(&self, name: &str) -> bool {
        self.shapes.tuples.contains_key(name)
    }

    pub fn extents(&self, tuple: &str) -> Result<&'a [u64], EtError> {
        let extents = self.shapes.tuples.get(tuple);
        extents.map(|e| &e[..]).ok_or_else(|| EtError::Unknown(tuple.into()))
    }

    /// The extents of the statement's domain.
    pub fn domain(&self) -> Result<Vec<u64>, EtError> {
        let extents = self.variables.iter().map(|name| self.extents(name));
        Ok(extents.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// First axis of a variable in the domain.
    pub fn first_axis(&self, tuple: &str) -> Option<usize> {
        let at = self.variables.iter().position(|name| name == tuple)?;
        Some(self.variables[..at].iter().map(|name| self.shapes.tuples[name].len()).sum())
    }

    /// The ranks of an array's places.
    pub fn places(&self, array: &str) -> Result<&'a [usize], EtError> {
        let places = self.shapes.places.get(array);
        places.map(|p| &p[..]).ok_or_else(|| EtError::Unknown(array.into()))
    }

    pub fn array(&self, name: &str) -> Result<&'a Bounded, EtError> {
        self.arrays.get(name).ok_or_else(|| EtError::Unknown(name.into()))
    }

    /// An index expression whose values all fit the integers.
    pub fn index(&self, e: &Index) -> Result<Node<'a>, EtError> {
        let node = match e {
            Index::Integer(value, _) => Node::Scalar((*value).into()),
            Index::Rank(list, _) => {
                let ranks = self.list(list)?.iter().map(|(_, dims)| dims.len()).sum::<usize>();
                Node::Scalar(ranks as i128)
            }
            Index::Dims(list, _) => Node::Static(self.dims(list)?),
            Index::Tuple(name) => {
                let extents = self.extents(&name.text)?.to_vec();
                Node::Tuple(self.first_axis(&name.text), extents)
            }
            Index::Flat(list, _) => Node::Flat(self.list(list)?),
            Index::Call(function, list, _) => {
                let operands = list.iter().map(|e| self.index(e)).collect::<Result<Vec<_>, _>>()?;
                same_rank(operands.iter())?;
                Node::Call(*function, operands)
            }
            Index::Array(access) => Node::Element(self.nested(access)?),
            Index::Star(_) => return Err(EtError::Star),
            Index::Sum(terms, _) => {
                let term = |(negated, term): &(bool, Index)| Ok((*negated, self.index(term)?));
                let terms = terms.iter().map(term).collect::<Result<Vec<_>, EtError>>()?;
                same_rank(terms.iter().map(|(_, term)| term))?;
                Node::Sum(terms)
            }
            Index::Product(first, rest, _) => self.product(first, rest)?,
        };
        node.dims(node.own_rank())?;
        Ok(node)
    }

    /// Index expressions with their extents.
    fn list(&self, list: &[Index]) -> Result<Vec<(Node<'a>, Vec<u64>)>, EtError> {
        let with_dims = |e: &Index| {
            let node = self.index(e)?;
            let dims = node.dims(node.own_rank())?;
            Ok((node, dims))
        };
        list.iter().map(with_dims).collect()
    }

    /// `DIMS(…)` of a list.
    pub fn dims(&self, list: &[Index]) -> Result<Vec<i128>, EtError> {
        let list = self.list(list)?;
        Ok(list.iter().flat_map(|(_, dims)| dims).map(|&n| n.into()).collect())
    }

    fn product(&self, first: &Index, rest: &[(IndexOp, Index)]) -> Result<Node<'a>, EtError> {
        let first = self.index(first)?;
        let factor = |(op, factor): &(IndexOp, Index)| Ok((*op, self.index(factor)?));
        let rest = rest.iter().map(factor).collect::<Result<Vec<_>, EtError>>()?;
        same_rank(std::iter::once(&first).chain(rest.iter().map(|(_, factor)| factor)))?;
        let product = Node::Product(Box::new(first), rest);
        let Node::Product(_, rest) = &product else { unreachable!("made above") };
        for (op, divisor) in rest.iter().filter(|(op, _)| *op != IndexOp::Mul) {
            if !divisor.is_static() {
                return Err(EtError::NotStatic);
            }
            // Without components there is no division by 0.
            for component in 0..product.own_rank() {
                apply(*op, 0, divisor.at(component, &[]).expect("static"))?;
            }
        }
        Ok(product)
    }

    /// An element of an array as an index.
    fn nested(&self, access: &Access) -> Result<Element<'a>, EtError> {
        let element = self.element(access)?;
        let stars = access.indices.iter().filter(|e| matches!(e, Index::Star(_))).count();
        if stars > 1 {
            return Err(EtError::Star);
        }
        match element.array.dtype.is_integer() {
            true if element.array.cells.iter().any(|cell| cell.error > 0.0) => {
                Err(EtError::IndexType(element.array.dtype))
            }
            true => Ok(element),
            false => Err(EtError::IndexType(element.array.dtype)),
        }
    }

    /// An element of an array with the places of its indices.
    pub fn element(&self, access: &Access) -> Result<Element<'a>, EtError> {
        let array = self.array(&access.array.text)?;
        Ok(Element { array, places: self.places_of(access)? })
    }

    /// Index and rank of each place of an access.
    pub fn places_of(&self, access: &Access) -> Result<Vec<(PlaceIndex<'a>, usize)>, EtError> {
        let ranks = self.places(&access.array.text)?;
        if ranks.len() != access.indices.len() {
            let (found, expected) = (access.indices.len(), ranks.len());
            return Err(EtError::Places { name: access.array.text.clone(), found, expected });
        }
        let place = |(e, &rank): (&Index, &usize)| Ok((self.place(e, rank)?, rank));
        access.indices.iter().zip(ranks).map(place).collect()
    }

    fn place(&self, e: &Index, rank: usize) -> Result<PlaceIndex<'a>, EtError> {
        let (place, found) = match e {
            Index::Star(_) => (PlaceIndex::Star, Some(1)),
            e => {
                let node = self.index(e)?;
                let found = node.rank();
                (PlaceIndex::Index(node), found)
            }
        };
        match found {
            Some(found) if found != rank => Err(EtError::Ranks(found, rank)),
            _ => Ok(place),
        }
    }
}

fn same_rank<'n, 'a: 'n>(mut nodes: impl Iterator<Item = &'n Node<'a>>) -> Result<(), EtError> {
    let mut first = None;
    nodes.try_for_each(|node| match (first, node.rank()) {
        (Some(first), Some(rank)) if first != rank => Err(EtError::Ranks(first, rank)),
        (None, rank) => {
            first = rank;
            Ok(())
        }
        _ => Ok(()),
    })
}
