//! Grouped contractions, whose right operand is looked up by row: `x[t,d] * w[c[t],d,h]` over `d`.
//!
//! A row times its own matrix reads the whole matrix for one row. Rows with the same matrix are collected, and each
//! group is one matrix product.

use crate::domain::bounds;
use crate::graph::{Expr, ExprNode, Graph, Stmt, index};
use crate::lower::buffers::Buffers;
use crate::lower::contraction;
use crate::lower::emit::affine;
use crate::plan::{Base, Contraction, Grouped, Role};
use ijk_ir::core::{Access, ArrayId, Atom, IndexExpr, Init};
use ijk_types::{BinaryOp, DType, Reducer};

/// Least average number of rows per group for which sorting rows pays.
const MIN_ROWS_PER_GROUP: u64 = 4;

/// Least number of elements of a group's right operand; smaller ones are L1-resident.
const MIN_GROUP_ELEMENTS: u64 = 512;

/// The grouped contraction that computes a statement, if it is one.
pub(crate) fn grouped(graph: &Graph, buffers: &Buffers, stmt: &Stmt) -> Option<Grouped> {
    let found = Lookup::of(graph, stmt)?;
    let plain = found.at_first(stmt);
    let each = contraction::contraction(graph, buffers, &plain)?;
    let each = found.on_the_right(buffers, each)?;
    let Lookup { array, place, access, first, groups } = found;
    let (own, buffer) = (&graph.array(access.array), buffers.of(access.array));
    let strides = &buffers.all[buffer.0 as usize].strides;
    let (offset, index_steps) = affine(&access.index, strides, stmt.axes.len());
    let rows = each.axes.iter().zip(&index_steps).all(|(axis, &step)| {
        let stands = axis.role == Role::M || step == 0;
        stands && (axis.role != Role::M || axis.b == 0)
    });
    let extent = |role| each.extent(role);
    let elements =
        extent(Role::Batch).saturating_mul(extent(Role::N)).saturating_mul(extent(Role::K));
    let worth = extent(Role::M) / MIN_ROWS_PER_GROUP >= groups && elements >= MIN_GROUP_ELEMENTS;
    let covers = stmt.init == each_identity(stmt)? && !each.accumulate && each.then.is_none();
    let step = buffers.all[buffers.of(array).0 as usize].strides[place];
    (rows && worth && covers).then_some(Grouped {
        each,
        index: Base { buffer, offset },
        index_dtype: own.dtype,
        index_steps,
        first,
        groups: usize::try_from(groups).ok()?,
        step,
    })
}

/// The identity as initial value.
fn each_identity(stmt: &Stmt) -> Option<Init> {
    match stmt.reduce {
        Some(Reducer::Monoid(monoid)) => Some(Init::Identity(monoid)),
        _ => None,
    }
}

/// An operand with one index that is an element of another array.
struct Lookup {
    array: ArrayId,
    place: usize,
    /// The access to the element.
    access: Access,
    /// Value of the element that selects the first group.
    first: i64,
    groups: u64,
}

impl Lookup {
    /// The only gather of a product of two accesses, if the statement has no other guards.
    fn of(graph: &Graph, stmt: &Stmt) -> Option<Self> {
        let [ExprNode::Access(..), ExprNode::Access(..), ExprNode::Binary(..), ..] =
            &stmt.value.nodes[..]
        else {
            return None;
        };
        let mut found = None;
        for node in &stmt.value.nodes[..2] {
            let ExprNode::Access(array, index) = node else { return None };
            for (place, e) in index.iter().enumerate().filter(|(_, e)| !e.is_affine()) {
                let [(1, Atom::Element(access))] = &e.terms[..] else { return None };
                let groups = graph.array(*array).shape[place];
                let guarded = |(guard, extent): &(IndexExpr, u64)| guard == e && *extent == groups;
                if found.is_some() || !stmt.guards.iter().all(guarded) {
                    return None;
                }
                let (access, first) = ((**access).clone(), e.constant.checked_neg()?);
                found = Some(Self { array: *array, place, access, first, groups });
            }
        }
        found.filter(|found| found.is_in_bounds(graph, stmt))
    }

    /// Tells whether the access to the element is in bounds at every point.
    fn is_in_bounds(&self, graph: &Graph, stmt: &Stmt) -> bool {
        let info = graph.array(self.access.array);
        let inside = |(e, &extent): (&IndexExpr, &u64)| {
            e.is_affine() && bounds::holds(e, extent, &stmt.extents())
        };
        matches!(info.dtype, DType::I32 | DType::I64)
            && self.access.index.iter().zip(&info.shape).all(inside)
    }

    /// The statement with the first group's operand for every row.
    fn at_first(&self, stmt: &Stmt) -> Stmt {
        let plain = |node: &ExprNode| match node {
            ExprNode::Access(array, index) if *array == self.array => {
                let first = |e: &IndexExpr| match index::reads(e) {
                    true => IndexExpr::default(),
                    false => e.clone(),
                };
                ExprNode::Access(*array, index.iter().map(first).collect())
            }
            other => other.clone(),
        };
        let nodes = stmt.value.nodes.iter().map(plain).collect();
        Stmt { value: Expr { nodes }, guards: Vec::new(), ..stmt.clone() }
    }

    /// The contraction with the gathered operand as rhs.
    fn on_the_right(&self, buffers: &Buffers, each: Contraction) -> Option<Contraction> {
        let own = buffers.of(self.array);
        match (each.a.buffer == own, each.b.buffer == own) {
            (false, true) => Some(each),
            (true, false) if matches!(each.map, BinaryOp::Mul | BinaryOp::Add) => {
                let (a, b, mut axes) = (each.b, each.a, each.axes);
                for axis in &mut axes {
                    (axis.a, axis.b) = (axis.b, axis.a);
                    axis.role = match axis.role {
                        Role::M => Role::N,
                        Role::N => Role::M,
                        other => other,
                    };
                }
                Some(Contraction { a, b, axes, ..each })
            }
            _ => None,
        }
    }
}
