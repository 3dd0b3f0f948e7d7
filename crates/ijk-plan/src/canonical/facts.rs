//! Facts about argument values, substituted before all other passes.
//!
//! An index array that holds 0, 1, …, as `arange` makes it, turns a product into one with a gather, and a contiguous
//! row into a computed one. A program that names two arguments, both of which are the same array, hides that it
//! computes a square. Facts are part of the key of a plan, as shapes and strides are.

use crate::graph::{ExprNode, Graph, Guard, Stmt, index};
use ijk_ir::core::{Access, ArrayId, IndexExpr, Init};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// Facts about arguments, by position, beyond shapes and strides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Facts {
    /// Integer arrays that hold 0, 1, 2, … along their one axis of more than one element.
    pub counting: SmallVec<[u32; 2]>,
    /// Arrays that alias an earlier one, with the position of that.
    pub same: SmallVec<[(u32, u32); 2]>,
}

impl Facts {
    /// Tells whether no fact is known.
    pub fn is_empty(&self) -> bool {
        self.counting.is_empty() && self.same.is_empty()
    }
}

/// Substitutes facts into a graph.
pub(crate) fn substitute(mut graph: Graph, facts: &Facts) -> Graph {
    if facts.is_empty() {
        return graph;
    }
    let known = Known::of(&graph, facts);
    for at in 0..graph.statements.len() {
        if let Some(stmt) = known.replaced(&graph, &graph.statements[at]) {
            graph.statements[at] = stmt;
        }
    }
    graph
}

/// Facts by arrays of a graph.
struct Known {
    counting: Vec<ArrayId>,
    same: BTreeMap<ArrayId, ArrayId>,
}

impl Known {
    fn of(graph: &Graph, facts: &Facts) -> Self {
        let input = |at: &u32| graph.inputs.get(*at as usize).copied();
        let counting = facts.counting.iter().filter_map(input).collect();
        let same = facts.same.iter();
        let same = same.filter_map(|(at, earlier)| Some((input(at)?, input(earlier)?))).collect();
        Self { counting, same }
    }

    /// The array to read instead of `array`.
    fn read(&self, array: ArrayId) -> ArrayId {
        self.same.get(&array).copied().unwrap_or(array)
    }

    /// The statement with aliases replaced by their originals, and elements of counting arrays by their index, which
    /// is in bounds where they are. `None` on overflow.
    fn replaced(&self, graph: &Graph, stmt: &Stmt) -> Option<Stmt> {
        let extents = stmt.extents();
        let element = |access: Access| {
            let access = Access { array: self.read(access.array), ..access };
            match self.place(graph, &access) {
                Some(place) => place.clone(),
                None => IndexExpr::element(access),
            }
        };
        let replace =
            |e: &IndexExpr| index::mapped(e, &extents, &|axis| IndexExpr::axis(axis), &element);
        let guards = Self::bounds(graph, stmt).into_iter().chain(stmt.guards.iter().cloned());
        let mut value = stmt.value.map_indices(replace)?;
        for node in &mut value.nodes {
            if let ExprNode::Access(array, _) = node {
                *array = self.read(*array);
            }
        }
        let init = match stmt.init {
            Init::From(array) => Init::From(self.read(array)),
            init => init,
        };
        Some(Stmt {
            out_index: stmt.out_index.iter().map(replace).collect::<Option<_>>()?,
            init,
            value,
            guards: guards
                .map(|(e, extent)| Some((replace(&e)?, extent)))
                .collect::<Option<_>>()?,
            ..stmt.clone()
        })
    }

    /// Guards that keep the indices of all elements in bounds, inner ones first: elements are replaced, and others vanish
    /// where indices are simplified, as equal ones that cancel do.
    fn bounds(graph: &Graph, stmt: &Stmt) -> Vec<Guard> {
        let mut bounds = Vec::new();
        stmt.for_each_index(|e| {
            index::for_each_element(e, &mut |access| {
                let shape = &graph.array(access.array).shape;
                bounds.extend(access.index.iter().cloned().zip(shape.iter().copied()));
            });
        });
        bounds
    }

    /// Index that equals the element, if its array counts.
    fn place<'a>(&self, graph: &Graph, access: &'a Access) -> Option<&'a IndexExpr> {
        let along = graph.array(access.array).shape.iter().position(|&extent| extent > 1)?;
        self.counting.contains(&access.array).then(|| &access.index[along])
    }
}
