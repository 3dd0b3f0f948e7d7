//! The type rule of every term, from the types of its operands to its own (docs/language/blocks.md, section 2).

use crate::error::reblock_hint;
use crate::term::{Positions, zip_rule};
use crate::types::{Blocks, compatible};
use crate::{Aggregation, ElementType, Function, Problem, Type, TypeError};
use ijk_types::{BinaryOp, TypeSet};

type Typed = Result<Type, Box<TypeError>>;

/// `lit([e…], d, b)`: ‖d‖ = ‖b‖, and ∏d = ‖e‖ where that is known.
pub(crate) fn literal(
    dims: &[usize],
    blocks: &[Option<usize>],
    element: ElementType,
    count: Option<usize>,
) -> Typed {
    let rule = format!("lit([…], {dims:?}, {})", Blocks(blocks));
    let refuse = |problem| Err(TypeError::new(rule.clone(), Vec::new(), problem));
    if let Err(problem) = well_formed(dims, blocks) {
        return refuse(problem);
    }
    let ty = Type::new(dims, blocks, element);
    match (count, ty.len()) {
        (Some(found), expected) if expected != Some(found) => {
            refuse(Problem::Count { expected, found })
        }
        _ => Ok(ty),
    }
}

/// As many blocks as dimensions, none of them 0.
fn well_formed(dims: &[usize], blocks: &[Option<usize>]) -> Result<(), Problem> {
    if dims.len() != blocks.len() {
        let lengths = (dims.len(), blocks.len());
        return Err(Problem::Lengths { what: ("dimensions", "blocks"), lengths });
    }
    match blocks.iter().position(|&block| block == Some(0)) {
        Some(axis) => Err(Problem::EmptyBlock { axis }),
        None => Ok(()),
    }
}

/// `u op v`: the same dimensions and elements, compatible blocks.
pub(crate) fn zip(op: BinaryOp, u: &Type, v: &Type) -> Typed {
    let refuse = |problem| {
        TypeError::new(zip_rule(op, "u", "v"), vec![("u", u.clone()), ("v", v.clone())], problem)
    };
    if u.rank() != v.rank() {
        return Err(refuse(Problem::Ranks { ranks: (u.rank(), v.rank()) }).with_hint(bc_hint(u, v)));
    }
    let mut blocks = Vec::with_capacity(u.rank());
    for axis in 0..u.rank() {
        let (axes, extents) = ((axis, axis), (u.dims[axis], v.dims[axis]));
        if extents.0 != extents.1 {
            return Err(refuse(Problem::Extents { axes, extents }).with_hint(bc_hint(u, v)));
        }
        let both = (u.blocks[axis], v.blocks[axis]);
        let Some(block) = compatible(both.0, both.1) else {
            let hint = reblock_hint("v", &refitted(&v.blocks, &u.blocks));
            return Err(refuse(Problem::Blocks { axes, blocks: both }).with_hint(hint));
        };
        blocks.push(block);
    }
    if u.element != v.element {
        let elements = (u.element.clone(), v.element.clone());
        let hint = "map a cast over one of them: map(f64(x), u), say";
        return Err(refuse(Problem::Elements { elements }).with_hint(hint));
    }
    let accepts = op.accepts();
    if !u.element.number().is_some_and(|dtype| accepts.contains(dtype)) {
        return Err(refuse(takes(op, accepts, &u.element)));
    }
    Ok(Type::new(u.dims.clone(), blocks, u.element.clone()))
}

fn takes(op: BinaryOp, accepts: TypeSet, element: &ElementType) -> Problem {
    let what = format!("`{}`", zip_rule(op, "u", "v"));
    Problem::Takes { what, expected: accepts.to_string(), found: element.to_string() }
}

/// Blocks as they are, but for those that others do not fit.
fn refitted(blocks: &[Option<usize>], to: &[Option<usize>]) -> Vec<Option<usize>> {
    let fitted = |(&block, &to)| if compatible(block, to).is_some() { block } else { to };
    blocks.iter().zip(to).map(fitted).collect()
}

/// Operands of different dimensions are not repeated unasked.
fn bc_hint(u: &Type, v: &Type) -> String {
    let (name, small, large) = if u.rank() < v.rank() { ("u", u, v) } else { ("v", v, u) };
    match broadcast(small, &large.dims, &large.blocks) {
        Ok(to) => format!("bc({name}, {:?}, {}) repeats it", to.dims, Blocks(&to.blocks)),
        Err(_) => "bc(u, d, b) repeats a tensor along its axes".into(),
    }
}

/// `bc(u, d', b')`: right-aligned, each extent a whole multiple, blocks compatible.
pub(crate) fn broadcast(u: &Type, dims: &[usize], blocks: &[Option<usize>]) -> Typed {
    let rule = format!("bc(u, {dims:?}, {})", Blocks(blocks));
    let refuse = |problem| TypeError::new(rule.clone(), vec![("u", u.clone())], problem);
    well_formed(dims, blocks).map_err(refuse)?;
    let Some(new) = dims.len().checked_sub(u.rank()) else {
        let lengths = (u.rank(), dims.len());
        return Err(refuse(Problem::Lengths { what: ("axes of u", "dimensions"), lengths }));
    };
    for axis in new..dims.len() {
        let (of, found) = (u.dims[axis - new], dims[axis]);
        if if of == 0 { found != 0 } else { found % of != 0 } {
            return Err(refuse(Problem::Multiple { axis, of, found }));
        }
        let both = (u.blocks[axis - new], blocks[axis]);
        if compatible(both.0, both.1).is_none() {
            let problem = Problem::BroadcastBlocks { axes: (axis - new, axis), blocks: both };
            let hint = reblock_hint("u", &refitted(&u.blocks, &blocks[new..]));
            return Err(refuse(problem).with_hint(hint));
        }
    }
    Ok(Type::new(dims, blocks, u.element.clone()))
}

/// `select(u, {e_i})`: a set of positions for each axis, ascending, each below its extent.
pub(crate) fn select(u: &Type, positions: &[Positions]) -> Typed {
    let refuse = |problem| Err(TypeError::new("select(u, {e_i})", vec![("u", u.clone())], problem));
    if positions.len() != u.rank() {
        let lengths = (positions.len(), u.rank());
        return refuse(Problem::Lengths { what: ("sets of positions", "axes of u"), lengths });
    }
    for (axis, (positions, &extent)) in positions.iter().zip(&u.dims).enumerate() {
        let last = match positions {
            Positions::All => None,
            Positions::Range(range) => range.clone().next_back(),
            Positions::At(at) => {
                if let Some(pair) = at.windows(2).find(|pair| pair[0] >= pair[1]) {
                    return refuse(Problem::Order { axis, positions: (pair[0], pair[1]) });
                }
                at.last().copied()
            }
        };
        if let Some(position) = last.filter(|&last| last >= extent) {
            return refuse(Problem::Position { axis, position, extent });
        }
    }
    let counts = positions.iter().zip(&u.dims).map(|(positions, &extent)| positions.count(extent));
    Ok(Type::new(counts.collect::<Vec<_>>(), u.blocks.clone(), u.element.clone()))
}

/// `map(f, u)`: f takes the elements.
pub(crate) fn map(function: &Function, u: &Type) -> Typed {
    let refuse =
        |problem| TypeError::new(format!("map({function}, u)"), vec![("u", u.clone())], problem);
    let element = function.result(&u.element).map_err(refuse)?;
    Ok(Type::new(u.dims.clone(), u.blocks.clone(), element))
}

/// `contract(u, v, i, j, +, *)`: d_i = d'_j, their blocks compatible.
pub(crate) fn contract(u: &Type, v: &Type, i: usize, j: usize, by: &Aggregation) -> Typed {
    let rule = format!("contract(u, v, {i}, {j}, {by})");
    let operands = || vec![("u", u.clone()), ("v", v.clone())];
    let refuse = |problem| TypeError::new(rule.clone(), operands(), problem);
    for (operand, axis, rank) in [("u", i, u.rank()), ("v", j, v.rank())] {
        if axis >= rank {
            return Err(refuse(Problem::Axis { operand, axis, rank }));
        }
    }
    let (axes, extents) = ((i, j), (u.dims[i], v.dims[j]));
    if extents.0 != extents.1 {
        return Err(refuse(Problem::Extents { axes, extents }));
    }
    let both = (u.blocks[i], v.blocks[j]);
    let Some(block) = compatible(both.0, both.1) else {
        let mut blocks = v.blocks.clone();
        blocks[j] = both.0;
        let error = refuse(Problem::Blocks { axes, blocks: both });
        return Err(error.with_hint(reblock_hint("v", &blocks)));
    };
    let element = by.result(&u.element, &v.element).map_err(refuse)?;
    if let (true, Some(block)) = (by.needs_whole(), block) {
        let (operand, axis, of) = if both.0.is_some() { ("u", i, u) } else { ("v", j, v) };
        let mut blocks = of.blocks.clone();
        blocks[axis] = None;
        let what = format!("`{by}`");
        let error = refuse(Problem::Fibre { what, operand: operand.into(), axis, block });
        return Err(error.with_hint(reblock_hint(operand, &blocks)));
    }
    let without = |list: &[usize], axis: usize| remaining(list, axis);
    let dims = [without(&u.dims, i), without(&v.dims, j)].concat();
    let blocks = [remaining(&u.blocks, i), remaining(&v.blocks, j)].concat();
    if by.has_no_empty_fold() && extents.0 == 0 && !dims.contains(&0) {
        return Err(refuse(Problem::EmptyFibre { what: format!("`{by}`"), axes }));
    }
    Ok(Type::new(dims, blocks, element))
}

fn remaining<T: Copy>(list: &[T], without: usize) -> Vec<T> {
    let kept = list.iter().enumerate().filter(|(n, _)| *n != without);
    kept.map(|(_, &item)| item).collect()
}

/// `reblock(u, b')`.
pub(crate) fn reblock(u: &Type, blocks: &[Option<usize>]) -> Typed {
    let rule = format!("reblock(u, {})", Blocks(blocks));
    match well_formed(&u.dims, blocks) {
        Ok(()) => Ok(Type::new(u.dims.clone(), blocks, u.element.clone())),
        Err(problem) => Err(TypeError::new(rule, vec![("u", u.clone())], problem)),
    }
}
