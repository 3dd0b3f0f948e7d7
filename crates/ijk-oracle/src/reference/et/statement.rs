//! Rules 0 to 6 for one statement.

use super::index::PlaceIndex;
use super::resolve::Scope;
use super::terms::{Compiler, Read, Term, convert};
use super::types::{Type, WeakArrays};
use super::variables::{stands_alone, variables};
use super::{EtError, PointCount, Shapes};
use crate::reference::surface::{advance, reduce, size};
use crate::reference::value::position;
use crate::{Bounded, Cell};
use ijk_syntax::et::ast::{AssignOp, Index, Statement};
use ijk_types::{DType, Monoid, scalar};
use std::collections::BTreeMap;

/// Most points of a statement, and most elements of an array.
const MOST: usize = 1 << 20;

/// The new version of the array on the left with the type of its elements, and the numbers of points.
pub(crate) fn run(
    statement: &Statement,
    shapes: &Shapes,
    (arrays, weak): (&BTreeMap<String, Bounded>, &WeakArrays),
    seed: u64,
    site: u64,
) -> Result<(Bounded, Type, PointCount), EtError> {
    let variables = variables(statement, &|name| shapes.tuples.contains_key(name));
    let scope = Scope { shapes, arrays, variables: &variables, weak };
    let domain = usable(&scope.domain()?)?;
    let places = scope.places_of(&statement.left)?;
    let old = arrays.get(&statement.left.array.text);
    let shape = match old {
        Some(old) => old.shape.clone(),
        None => sized(&places)?,
    };
    let mut compiler = Compiler { scope, reads: Vec::new(), seed, site };
    let former = old.filter(|_| statement.assign.accumulate);
    let name = &statement.left.array.text;
    let former = former.map(|old| weak.type_of(name, old.dtype));
    let (term, t) = value(&mut compiler, statement, former)?;
    let dtype = t.dtype;
    let (reads, pass) = (&compiler.reads[..], &[][..]);
    let points = StatementPoints { places, shape: &shape, reads, term, domain: &domain, pass };
    let (groups, skipped) = points.groups()?;
    let start = Start::of(statement, old, dtype, &variables)?;
    let scattered = !statement.left.indices.iter().all(|e| matches!(e, Index::Tuple(_)));
    let element = |(at, group): (usize, &Vec<Cell>)| start.combine(at, group, scattered);
    let cells = groups.iter().enumerate().map(element).collect::<Result<_, _>>()?;
    let meet = groups.iter().map(Vec::len).max().unwrap_or(0);
    let points = PointCount { points: size(&domain), skipped, meet };
    Ok((Bounded { dtype, shape, cells }, t.stored(), points))
}

/// The extents that the first use of an array gives it.
pub(super) fn sized(places: &[(PlaceIndex, usize)]) -> Result<Vec<usize>, EtError> {
    let mut shape = Vec::new();
    for (place, rank) in places {
        match place {
            PlaceIndex::Index(e) => shape.extend(e.dims(*rank)?),
            PlaceIndex::Star => return Err(EtError::Star),
        }
    }
    usable(&shape)
}

/// Extents with a limited number of points.
pub(super) fn usable(extents: &[u64]) -> Result<Vec<usize>, EtError> {
    let product = |n: usize, &extent: &usize| n.checked_mul(extent).filter(|&n| n <= MOST);
    let extents: Vec<usize> = extents
        .iter()
        .map(|&n| usize::try_from(n).map_err(|_| EtError::TooLarge))
        .collect::<Result<_, _>>()?;
    match extents.contains(&0) || extents.iter().try_fold(1, product).is_some() {
        true => Ok(extents),
        false => Err(EtError::TooLarge),
    }
}

/// The value at a point in the type of the new version, and that type.
pub(super) fn value(
    compiler: &mut Compiler,
    statement: &Statement,
    former: Option<Type>,
) -> Result<(Term, Type), EtError> {
    let (term, t) = compiler.value(&statement.value)?;
    let logical = matches!(statement.assign.op, AssignOp::And | AssignOp::Or);
    let own = match former {
        _ if logical => Type::strong(DType::Bool),
        Some(former) => former.join(t),
        None => t,
    };
    let dtype = own.dtype;
    if !monoid(statement.assign.op).op().accepts().contains(dtype) {
        return Err(EtError::Type(dtype));
    }
    Ok((convert((term, t), dtype)?, own))
}

pub(super) fn monoid(op: AssignOp) -> Monoid {
    match op {
        AssignOp::Add => Monoid::Add,
        AssignOp::Mul => Monoid::Mul,
        AssignOp::Max => Monoid::Max,
        AssignOp::Min => Monoid::Min,
        AssignOp::And => Monoid::And,
        AssignOp::Or => Monoid::Or,
        AssignOp::LogAddExp => Monoid::LogAddExp,
    }
}

/// Rules 2 to 5: the points of a statement.
pub(super) struct StatementPoints<'s, 'a> {
    /// The index on the left.
    pub places: Vec<(PlaceIndex<'a>, usize)>,
    pub shape: &'s [usize],
    pub reads: &'s [Read<'a>],
    pub term: Term,
    pub domain: &'s [usize],
    /// Coordinates of the loops around it, which come first in the domain.
    pub pass: &'s [usize],
}

impl StatementPoints<'_, '_> {
    /// For each element of the new version the values combined with it, in the order of their points; and the number of
    /// skipped points.
    pub(super) fn groups(&self) -> Result<(Vec<Vec<Cell>>, usize), EtError> {
        let mut groups = vec![Vec::new(); size(self.shape)];
        let fixed = self.pass.len();
        let mut point = self.pass.to_vec();
        point.resize(self.domain.len(), 0);
        let (mut counter, mut skipped) = (position(self.domain, point.iter().copied()) as u64, 0);
        if self.domain.contains(&0) {
            return Ok((groups, skipped));
        }
        loop {
            match (self.target(&point), self.reads(&point)) {
                (Some(at), Some(reads)) => groups[at].push(self.term.value(&reads, counter)?),
                _ => skipped += 1,
            }
            counter += 1;
            if !advance(&mut point[fixed..], &self.domain[fixed..]) {
                return Ok((groups, skipped));
            }
        }
    }

    /// The element of a point, if that is in bounds.
    fn target(&self, point: &[usize]) -> Option<usize> {
        let mut index = Vec::with_capacity(self.shape.len());
        for (place, rank) in &self.places {
            let PlaceIndex::Index(e) = place else { return None };
            if !e.inside(point) {
                return None;
            }
            for component in 0..*rank {
                let extent = *self.shape.get(index.len())? as i128;
                let value = e.at(component, point)?;
                index.push(Some(value).filter(|i| (0..extent).contains(i))? as usize);
            }
        }
        Some(position(self.shape, index))
    }

    fn reads(&self, point: &[usize]) -> Option<Vec<Cell>> {
        self.reads.iter().map(|read| read.at(point)).collect()
    }
}

/// The elements of an array in another type.
pub(super) fn converted(array: &Bounded, dtype: DType) -> Result<Vec<Cell>, EtError> {
    let term = convert((Term::Read(0), Type::strong(array.dtype)), dtype)?;
    array.cells.iter().map(|&cell| term.value(&[cell], 0)).collect()
}

/// Rules 0 and 6: initial elements, and combination with values.
pub(super) struct Start {
    pub monoid: Monoid,
    pub dtype: DType,
    /// The old elements in the new type, if they are combined.
    pub old: Option<Vec<Cell>>,
    /// True if a single value is not added to 0.
    pub stores: bool,
}

impl Start {
    pub(super) fn of(
        statement: &Statement,
        old: Option<&Bounded>,
        dtype: DType,
        variables: &[String],
    ) -> Result<Self, EtError> {
        let old = old.filter(|_| statement.assign.accumulate);
        let old = old.map(|old| converted(old, dtype)).transpose()?;
        let monoid = monoid(statement.assign.op);
        let stores = monoid == Monoid::Add
            && !statement.assign.accumulate
            && stands_alone(&statement.left, variables);
        Ok(Self { monoid, dtype, old, stores })
    }

    pub(super) fn combine(
        &self,
        at: usize,
        group: &[Cell],
        scattered: bool,
    ) -> Result<Cell, EtError> {
        let Some(old) = &self.old else {
            let sum = reduce::reduce(self.monoid, self.dtype, group, scattered)?;
            return Ok(match group {
                [one] if self.stores => Cell { value: one.value, wide: one.wide, ..sum },
                _ => sum,
            });
        };
        let all: Vec<Cell> = std::iter::once(&old[at]).chain(group).copied().collect();
        let bounded = reduce::reduce(self.monoid, self.dtype, &all, scattered)?;
        let mut value = old[at].value;
        for cell in group {
            value = scalar::binary(self.monoid.op(), value, cell.value)?;
        }
        // Elements without points keep their value.
        Ok(if group.is_empty() { old[at] } else { Cell { value, ..bounded } })
    }
}
