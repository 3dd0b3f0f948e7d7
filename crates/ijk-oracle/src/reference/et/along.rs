//! Values that depend on all values along an eintup.

use super::EtError;
use super::index::{Node, PlaceIndex};
use super::resolve::Scope;
use super::statement::usable;
use super::terms::{Compiler, Read, Term, TypedTerm};
use super::types::Type;
use super::variables::along_variables;
use crate::reference::order::places;
use crate::reference::surface::{Order, advance, reduce, size};
use crate::reference::value::position;
use crate::{Bounded, Cell};
use ijk_syntax::Function;
use ijk_syntax::et::ast::Along;
use ijk_types::{DType, Scalar};

/// The values at all points, in row-major order, with the extents of their domain.
struct AllValues {
    cells: Vec<Cell>,
    domain: Vec<usize>,
    /// The axis along which they are taken.
    axis: usize,
}

impl Compiler<'_> {
    /// `SORT(x, i, k)`, `ARGMAX(x, i)`.
    pub(super) fn along(&mut self, along: &Along) -> Result<TypedTerm, EtError> {
        let names = along_variables(along, &|name| self.scope.is_tuple(name));
        let (values, t) = self.all_values(along, &names)?;
        let mut index = Vec::new();
        let mut count = None;
        for name in &names {
            if *name != along.tuple.text {
                let first = self.scope.first_axis(name).ok_or(EtError::Unknown(name.clone()))?;
                let extents = self.scope.extents(name)?;
                for (component, &extent) in extents.iter().enumerate() {
                    let axis = Node::Tuple(Some(first + component), vec![extent]);
                    index.push(PlaceIndex::Index(axis));
                }
            } else if let Some(place) = along.place() {
                let node = self.scope.index(&place)?;
                if node.rank().is_some_and(|rank| rank != 1) {
                    return Err(EtError::Ranks(node.own_rank(), 1));
                }
                count = Some(usize::try_from(node.dims(1)?[0]).map_err(|_| EtError::TooLarge)?);
                index.push(PlaceIndex::Index(node));
            }
        }
        let array = match count {
            Some(count) if count > values.domain[values.axis] => {
                return Err(EtError::Ranks(count, values.domain[values.axis]));
            }
            Some(count) => values.ordered(along.function, count, t.dtype),
            None => values.extremes(along.function == Function::ArgMax)?,
        };
        let gives_values = matches!(along.function, Function::Sort | Function::TopK);
        let t = if gives_values { t } else { Type::weak(DType::I64) };
        Ok((self.read(Read::Own(array, index)), t))
    }

    fn all_values(
        &mut self,
        along: &Along,
        names: &[String],
    ) -> Result<(AllValues, Type), EtError> {
        let scope = Scope { variables: names, ..self.scope };
        let domain = usable(&scope.domain()?)?;
        let axis = scope.first_axis(&along.tuple.text);
        let axis = axis.filter(|_| scope.extents(&along.tuple.text).is_ok_and(|e| e.len() == 1));
        let axis = axis.ok_or(EtError::Unknown(along.tuple.text.clone()))?;
        let (reads, seed, site) = (Vec::new(), self.seed, self.site);
        let mut inner = Compiler { scope, reads, seed, site };
        let (term, t) = inner.value(&along.of)?;
        self.site = inner.site;
        if t.dtype.is_complex() {
            return Err(EtError::Type(t.dtype));
        }
        let cells = cells(&term, &inner.reads, &domain)?;
        Ok((AllValues { cells, domain, axis }, t))
    }
}

/// The values at all points; none may be skipped.
fn cells(term: &Term, reads: &[Read], domain: &[usize]) -> Result<Vec<Cell>, EtError> {
    let mut cells = Vec::new();
    let mut point = vec![0; domain.len()];
    if domain.contains(&0) {
        return Ok(cells);
    }
    loop {
        let read = |read: &Read| read.at(&point).ok_or(EtError::TooLarge);
        let read = reads.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        cells.push(term.value(&read, cells.len() as u64)?);
        if !advance(&mut point, domain) {
            return Ok(cells);
        }
    }
}

impl AllValues {
    /// Calls `visit` with all values along the axis, for each point of the other axes.
    fn for_each_row(&self, visit: &mut dyn FnMut(&[usize], &[Cell])) {
        let mut others = self.domain.clone();
        others[self.axis] = 1;
        let mut point = vec![0; others.len()];
        if others.contains(&0) {
            return;
        }
        loop {
            let at = |n: usize| {
                let mut at = point.clone();
                at[self.axis] = n;
                self.cells[position(&self.domain, at)]
            };
            let row: Vec<Cell> = (0..self.domain[self.axis]).map(at).collect();
            visit(&point, &row);
            if !advance(&mut point, &others) {
                return;
            }
        }
    }

    /// The first places of the order of each row.
    fn ordered(&self, function: Function, count: usize, dtype: DType) -> Bounded {
        let descending = matches!(function, Function::TopK | Function::ArgTopK);
        let positions = matches!(function, Function::ArgSort | Function::ArgTopK);
        let mut shape = self.domain.clone();
        shape[self.axis] = count;
        let dtype = if positions { DType::I64 } else { dtype };
        let mut cells = vec![Cell::exact(Scalar::zero(dtype)); size(&shape)];
        self.for_each_row(&mut |point, row| {
            for (place, cell) in order(row, descending, positions).into_iter().enumerate() {
                if place < count {
                    let mut at = point.to_vec();
                    at[self.axis] = place;
                    cells[position(&shape, at)] = cell;
                }
            }
        });
        Bounded { dtype, shape, cells }
    }

    /// The position of the greatest or least value of each row.
    fn extremes(&self, greatest: bool) -> Result<Bounded, EtError> {
        let mut shape = self.domain.clone();
        let empty = shape.remove(self.axis) == 0 && !shape.contains(&0);
        if empty {
            return Err(EtError::TooLarge);
        }
        let mut cells = Vec::new();
        self.for_each_row(&mut |_, row| cells.push(reduce::arg(greatest, row)));
        Ok(Bounded { dtype: DType::I64, shape, cells })
    }
}

/// The values of a row in their order, or their positions. Where values have errors, so have the places: no place moves
/// by more than the largest error, but positions may be any.
pub(crate) fn order(row: &[Cell], descending: bool, positions: bool) -> Vec<Cell> {
    let own: Vec<Scalar> = row.iter().map(|cell| cell.value).collect();
    let wide: Vec<Scalar> = row.iter().map(|cell| cell.wide).collect();
    let inverse = |places: Vec<usize>| {
        let mut at = vec![0; places.len()];
        places.into_iter().enumerate().for_each(|(n, place)| at[place] = n);
        at
    };
    let (own, wide) = (inverse(places(&own, descending)), inverse(places(&wide, descending)));
    let most = row.iter().map(|cell| cell.error).fold(0.0, f64::max);
    let order = Order::chosen(row);
    let at = |place: usize| {
        let (own, wide) = (own[place], wide[place]);
        let cell = match positions {
            false => Cell { error: most, wide: row[wide].wide, ..row[own] },
            true => {
                let error = if most > 0.0 { f64::INFINITY } else { 0.0 };
                Cell::new(Scalar::I64(own as i64), Scalar::I64(wide as i64), error)
            }
        };
        Cell { order, ..cell }
    };
    (0..row.len()).map(at).collect()
}
