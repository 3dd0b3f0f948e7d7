//! One index expression applied to arrays, point by point.

use super::Array;
use super::affine::{Affine, Compiled};
use super::cell::{self, Cell};
use super::extents::{Extents, Names, Partial};
use super::form::{Form, Leaf, Tree, literal_of};
use super::reduce;
use super::types::{Types, types};
use crate::EvalError;
use crate::reference::et::along;
use crate::reference::value::{position, zero};
use ijk_syntax::ast::Number;
use ijk_types::{DType, Order, Reducer};
use std::collections::BTreeMap;

/// An array with the error analysis of its elements.
#[derive(Clone, Debug)]
pub struct Bounded {
    /// Element type.
    pub dtype: DType,
    /// Extent of each axis.
    pub shape: Vec<usize>,
    /// The elements in C order.
    pub cells: Vec<Cell>,
}

/// Most points of an expression, and most elements of its output.
const MOST_POINTS: usize = 1 << 28;

/// The value of an expression for its arguments, which have that signature.
pub(crate) fn apply(
    form: &Form,
    arguments: &[&Bounded],
    signature: &Signature,
) -> Result<Bounded, EvalError> {
    let Signature { shape, domain, types, .. } = signature;
    let values = Points { form, arguments, types, domain };
    match form.reduce {
        None => map(&values, shape.clone()),
        Some(reducer) => merge(&values, shape.clone(), reducer),
    }
}

/// Assigns the next of `things` to each index operand, and the default to each number.
pub(crate) fn spread_over_operands<T: Default>(
    form: &Form,
    mut things: impl Iterator<Item = T>,
) -> Vec<T> {
    let thing = |leaf: &Leaf| match leaf {
        Leaf::Index(_) => things.next().expect("as many arguments as indices"),
        Leaf::Number(_) | Leaf::Extent(_) => T::default(),
    };
    form.operands.iter().map(thing).collect()
}

fn output_shape(form: &Form, extents: &Extents) -> Result<Vec<usize>, EvalError> {
    let axis = |n: Option<u64>| {
        let n = n.ok_or(EvalError::Undetermined("an axis of the output".into()))?;
        usize::try_from(n).map_err(|_| EvalError::TooLarge)
    };
    extents.output(form)?.into_iter().map(axis).collect()
}

/// The number of points of a domain that is known to be small enough.
pub(crate) fn size(shape: &[usize]) -> usize {
    if shape.contains(&0) { 0 } else { shape.iter().product() }
}

fn check_size(shape: &[usize]) -> Result<(), EvalError> {
    let product = |n: usize, &extent: &usize| n.checked_mul(extent).filter(|&n| n <= MOST_POINTS);
    let empty = shape.contains(&0);
    if empty {
        Ok(())
    } else {
        shape.iter().try_fold(1, product).map(drop).ok_or(EvalError::TooLarge)
    }
}

/// Properties of an expression's result that do not depend on values.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub dtype: DType,
    pub shape: Vec<usize>,
    /// Extents of the form's letters.
    pub domain: Vec<usize>,
    types: Types,
}

/// The signature of an expression by itself.
pub(crate) fn first_signature(
    form: &Form,
    arguments: &[Array],
    names: &mut Names,
) -> Result<Signature, EvalError> {
    let shapes = partial_shapes(form, arguments);
    let extents = Extents::solve(form, &shapes.iter().collect::<Vec<_>>(), names)?;
    signature(form, arguments, &extents)
}

/// The signature of an expression for arguments of these types and shapes.
pub(crate) fn signature(
    form: &Form,
    arguments: &[Array],
    extents: &Extents,
) -> Result<Signature, EvalError> {
    let domain = extents.domain(form)?;
    let shapes = partial_shapes(form, arguments);
    extents.check_bounds(form, &shapes.iter().collect::<Vec<_>>())?;
    let shape = output_shape(form, extents)?;
    check_size(&domain)?;
    check_size(&shape)?;
    let types = types(form, &arguments.iter().map(|a| a.0).collect::<Vec<_>>())?;
    check_extents(form, &types, &domain)?;
    let dtype = types.value;
    let position = form.reduce.is_some_and(Reducer::gives_positions);
    check_places(form, &domain)?;
    Ok(Signature { dtype: if position { DType::I64 } else { dtype }, shape, domain, types })
}

/// Checks that an order has no more places than values.
fn check_places(form: &Form, domain: &[usize]) -> Result<(), EvalError> {
    let (Some(Reducer::Order(_)), Some((&places, _))) = (form.reduce, domain.split_last()) else {
        return Ok(());
    };
    let values = domain[dropped_axis(form)];
    match places <= values {
        true => Ok(()),
        false => {
            let (greatest, extent) = (places as i128 - 1, values as u64);
            Err(EvalError::Bounds { least: 0, greatest, extent })
        }
    }
}

/// The axis of the one dropped letter.
fn dropped_axis(form: &Form) -> usize {
    let dropped = form.dropped()[0];
    form.letters.iter().position(|&l| l == dropped).expect("a letter")
}

fn partial_shapes(form: &Form, arguments: &[Array]) -> Vec<Partial> {
    let shapes = arguments.iter().map(|(_, s)| s.iter().map(|&n| Some(n as u64)).collect());
    spread_over_operands(form, shapes)
}

/// Checks that extents are values of their types.
fn check_extents(form: &Form, types: &Types, domain: &[usize]) -> Result<(), EvalError> {
    for (leaf, &t) in form.operands.iter().zip(&types.operands) {
        if let Leaf::Extent(letter) = leaf {
            extent(form, domain, *letter, t)?;
        }
    }
    Ok(())
}

/// The extent of a letter as a number.
fn extent(form: &Form, domain: &[usize], letter: char, t: DType) -> Result<Cell, EvalError> {
    let axis = form.letters.iter().position(|&own| own == letter);
    let n = domain[axis.expect("a letter of the expression")] as i64;
    let cell = literal(Number::Integer(n), t)?;
    if t != DType::Bool && cell.value.as_f64().is_finite() {
        Ok(cell)
    } else {
        Err(EvalError::Type(t))
    }
}

pub(super) fn literal(number: Number, t: DType) -> Result<Cell, EvalError> {
    Ok(Cell::exact(literal_of(number).to_scalar(t)?))
}

/// The values of an expression at the points of its domain.
struct Points<'a> {
    form: &'a Form,
    arguments: &'a [&'a Bounded],
    types: &'a Types,
    domain: &'a [usize],
}

impl Points<'_> {
    /// Visits every point in lexicographic order with its element of the output and its value.
    fn visit(
        &self,
        shape: &[usize],
        mut visit: impl FnMut(usize, &[usize], Cell) -> Result<(), EvalError>,
    ) -> Result<(), EvalError> {
        let compile = |e: &Affine| e.compile(&self.form.letters);
        let output: Vec<Compiled> = self.form.output.iter().map(compile).collect();
        let reads = self.reads()?;
        let mut operands = Vec::with_capacity(reads.len());
        let mut point = vec![0; self.domain.len()];
        if self.domain.contains(&0) {
            return Ok(());
        }
        loop {
            let to = position(shape, output.iter().map(|e| e.at(&point) as usize));
            operands.clear();
            operands.extend(reads.iter().map(|read| read.at(&point)));
            visit(to, &point, self.value(&operands, &point)?)?;
            if !advance(&mut point, self.domain) {
                return Ok(());
            }
        }
    }

    fn reads(&self) -> Result<Vec<LeafValue<'_>>, EvalError> {
        let arguments = spread_over_operands(self.form, self.arguments.iter().copied().map(Some));
        let operands = self.form.operands.iter().zip(arguments).zip(&self.types.operands);
        operands.map(|((leaf, argument), &t)| self.read(leaf, argument, t)).collect()
    }

    fn read<'b>(
        &self,
        leaf: &Leaf,
        argument: Option<&'b Bounded>,
        t: DType,
    ) -> Result<LeafValue<'b>, EvalError> {
        match (leaf, argument) {
            (Leaf::Index(index), Some(array)) => {
                let index = index.iter().map(|e| e.compile(&self.form.letters)).collect();
                Ok(LeafValue::Element(array, index))
            }
            (Leaf::Number(number), _) => Ok(LeafValue::Number(literal(*number, t)?)),
            (Leaf::Extent(letter), _) => {
                Ok(LeafValue::Number(extent(self.form, self.domain, *letter, t)?))
            }
            (Leaf::Index(_), None) => unreachable!("an index operand has an argument"),
        }
    }

    fn value(&self, operands: &[Cell], point: &[usize]) -> Result<Cell, EvalError> {
        let letter = |l: char| {
            let axis = self.form.letters.iter().position(|&other| other == l);
            point[axis.expect("a letter of the expression")] as i64
        };
        let body = tree_value(&self.form.body, operands, &letter)?;
        match self.form.outer {
            Some(outer) => cell::apply(outer, &[body], letter),
            None => Ok(body),
        }
    }
}

/// The value of a scalar expression of operands.
fn tree_value(
    tree: &Tree,
    operands: &[Cell],
    letter: &impl Fn(char) -> i64,
) -> Result<Cell, EvalError> {
    match tree {
        Tree::Operand(n) => Ok(operands[*n]),
        Tree::Apply(map, parts) => {
            let value = |part| tree_value(part, operands, letter);
            match &parts[..] {
                [x] => cell::apply(*map, &[value(x)?], letter),
                [x, y] => cell::apply(*map, &[value(x)?, value(y)?], letter),
                parts => {
                    let cells = parts.iter().map(value).collect::<Result<Vec<_>, _>>()?;
                    cell::apply(*map, &cells, letter)
                }
            }
        }
    }
}

enum LeafValue<'a> {
    Number(Cell),
    Element(&'a Bounded, Vec<Compiled>),
}

impl LeafValue<'_> {
    fn at(&self, point: &[usize]) -> Cell {
        match self {
            Self::Number(cell) => *cell,
            Self::Element(array, index) => {
                let index = index.iter().map(|e| e.at(point) as usize);
                array.cells[position(&array.shape, index)]
            }
        }
    }
}

/// The next point in lexicographic order.
pub(crate) fn advance(point: &mut [usize], extents: &[usize]) -> bool {
    for (coordinate, &extent) in point.iter_mut().zip(extents).rev() {
        *coordinate += 1;
        if *coordinate < extent {
            return true;
        }
        *coordinate = 0;
    }
    false
}

/// Each point sets an element to its value; the others are 0.
fn map(points: &Points, shape: Vec<usize>) -> Result<Bounded, EvalError> {
    let dtype = points.types.value;
    let size = size(&shape);
    let mut cells = vec![Cell::exact(zero(dtype)); size];
    let mut written = vec![false; size];
    points.visit(&shape, |to, _, cell| {
        if std::mem::replace(&mut written[to], true) {
            return Err(EvalError::Collision);
        }
        cells[to] = cell;
        Ok(())
    })?;
    Ok(Bounded { dtype, shape, cells })
}

/// Combines the values of points with a common element of the output.
fn merge(points: &Points, shape: Vec<usize>, reducer: Reducer) -> Result<Bounded, EvalError> {
    let mut groups: Vec<Vec<Cell>> = vec![Vec::new(); size(&shape)];
    let monoid = match reducer {
        Reducer::Monoid(monoid) => monoid,
        Reducer::Order(order) => return ordered(points, shape, order),
        arg => return position_of(points, shape, arg == Reducer::ArgMax),
    };
    points.visit(&shape, |to, _, cell| {
        groups[to].push(cell);
        Ok(())
    })?;
    let dtype = points.types.value;
    let scattered = points.form.output_merges;
    let combine = |group: &Vec<Cell>| reduce::reduce(monoid, dtype, group, scattered);
    let cells = groups.iter().map(combine).collect::<Result<_, _>>()?;
    Ok(Bounded { dtype, shape, cells })
}

/// Positions along the single dropped letter. Elements without points (`@argmax ij~ii`) are 0.
fn position_of(points: &Points, shape: Vec<usize>, greatest: bool) -> Result<Bounded, EvalError> {
    let axis = dropped_axis(points.form);
    if points.domain[axis] == 0 && !shape.contains(&0) {
        return Err(EvalError::EmptyArg);
    }
    let mut groups: Vec<Vec<Cell>> = vec![Vec::new(); size(&shape)];
    points.visit(&shape, |to, point, cell| {
        // Lexicographic order visits the dropped letter's values in ascending order.
        debug_assert_eq!(groups[to].len(), point[axis]);
        groups[to].push(cell);
        Ok(())
    })?;
    let zero = Cell::exact(zero(DType::I64));
    let of = |group: &Vec<Cell>| if group.is_empty() { zero } else { reduce::arg(greatest, group) };
    Ok(Bounded { dtype: DType::I64, shape, cells: groups.iter().map(of).collect() })
}

/// The values at the places of their order, or their positions.
fn ordered(points: &Points, shape: Vec<usize>, order: Order) -> Result<Bounded, EvalError> {
    let axis = dropped_axis(points.form);
    let (places, last) = (points.domain.last().copied().unwrap_or(0), points.domain.len() - 1);
    // For each row its values, and the elements of its places.
    let mut rows: BTreeMap<Vec<usize>, (Vec<Cell>, Vec<usize>)> = BTreeMap::new();
    points.visit(&shape, |to, point, cell| {
        let mut key = point.to_vec();
        (key[axis], key[last]) = (0, 0);
        let (values, elements) = rows.entry(key).or_default();
        if point[last] == 0 {
            values.push(cell);
        }
        if point[axis] == 0 {
            elements.push(to);
        }
        Ok(())
    })?;
    let dtype = if order.positions { DType::I64 } else { points.types.value };
    let mut cells = vec![Cell::exact(zero(dtype)); size(&shape)];
    for (values, elements) in rows.into_values() {
        let sorted = along::order(&values, order.descending, order.positions);
        for (to, cell) in elements.into_iter().zip(sorted.into_iter().take(places)) {
            cells[to] = cell;
        }
    }
    Ok(Bounded { dtype, shape, cells })
}
