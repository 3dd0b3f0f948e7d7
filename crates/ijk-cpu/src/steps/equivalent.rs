//! Nests that are equivalent to other steps, and properties of nests.

use crate::check::{CheckedNest, Layout};
use ijk_plan::plan::{
    Base, BufferId, Contraction, ContractionAxis, Load, Nest, NestAxis, Node, NodeId, Role, Start,
    Store, Then,
};
use ijk_types::{BinaryOp, Reducer, Scalar, UnaryOp};

/// The identity of a nest's monoid.
pub(crate) fn starts_from(nest: &Nest, checked: &CheckedNest) -> Option<Scalar> {
    match (nest.reduce, checked.types.last()) {
        (Some(Reducer::Monoid(monoid)), Some(&t)) => Some(ijk_types::scalar::identity(monoid, t)),
        _ => None,
    }
}

/// Returns true if a nest may combine values with its output one by one, which must be initialised with the identity.
pub(crate) fn combines_in_place(nest: &Nest) -> bool {
    nest.sequential || nest.store.offset.is_some()
}

/// A nest that stores one value to all elements of a buffer.
pub(crate) fn constant_nest(buffer: BufferId, layout: &Layout, value: Scalar) -> Nest {
    let axis =
        |&extent: &usize| NestAxis { name: String::new(), extent, reduced: false, collides: false };
    let base = Base { buffer, offset: 0 };
    Nest {
        axes: layout.shape.iter().map(axis).collect(),
        loads: Vec::new(),
        body: vec![Node::Const(value)],
        store: Store { base, dtype: layout.dtype, strides: layout.strides.to_vec(), offset: None },
        reduce: None,
        start: Start::Covered,
        sequential: false,
        span: Default::default(),
    }
}

/// A nest that stores a value to all outputs of another one.
pub(crate) fn without_reduced(nest: &Nest, value: Scalar) -> Nest {
    let kept = || nest.axes.iter().zip(&nest.store.strides).filter(|(axis, _)| !axis.reduced);
    Nest {
        axes: kept().map(|(axis, _)| axis.clone()).collect(),
        loads: Vec::new(),
        body: vec![Node::Const(value)],
        store: Store {
            strides: kept().map(|(_, &stride)| stride).collect(),
            offset: None,
            ..nest.store.clone()
        },
        reduce: None,
        ..nest.clone()
    }
}

/// The nest that is equivalent to a contraction.
pub(crate) fn contraction_nest(task: &Contraction) -> Nest {
    let axis = |a: &ContractionAxis| NestAxis {
        name: a.name.clone(),
        extent: a.extent,
        reduced: a.role == Role::K,
        collides: false,
    };
    let load = |base, step: fn(&ContractionAxis) -> isize| Load {
        base,
        dtype: task.dtype,
        strides: task.axes.iter().map(step).collect(),
    };
    let mut body = vec![Node::Load(0), Node::Load(1), Node::Binary(task.map, NodeId(0), NodeId(1))];
    body.extend(task.then.map(|then| match then {
        Then::Square => Node::Binary(BinaryOp::Mul, NodeId(2), NodeId(2)),
        Then::Abs => Node::Unary(UnaryOp::Abs, NodeId(2)),
    }));
    Nest {
        axes: task.axes.iter().map(axis).collect(),
        loads: vec![load(task.a, |a| a.a), load(task.b, |a| a.b)],
        body,
        store: Store {
            base: task.c,
            dtype: task.dtype,
            strides: task.axes.iter().map(|a| a.c).collect(),
            offset: None,
        },
        reduce: Some(Reducer::Monoid(task.reduce)),
        start: if task.accumulate { Start::Existing } else { Start::Covered },
        sequential: false,
        span: task.span,
    }
}
