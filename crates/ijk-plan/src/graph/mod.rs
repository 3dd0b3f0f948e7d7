//! The graph that passes rewrite: the core IR with extents and element types filled in.
//!
//! No statement has an empty domain: such a statement is replaced by one that stores the initial value.

pub(crate) mod axes;
pub(crate) mod coverage;
pub(crate) mod expr;
pub(crate) mod index;
pub(crate) mod terms;
pub(crate) mod verify;

use crate::PlanError;
use crate::graph::expr::{can_fail, extract, is_partial, random_can_fail};
use ijk_ir::core::{
    self, Access, ArrayId, AxisId, IndexExpr, Init, Instance, Program, ScalarNode, Span,
};
use ijk_types::{BinaryOp, DType, Reducer, Scalar, UnaryOp, scalar};
use smallvec::SmallVec;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub arrays: Vec<ArrayInfo>,
    pub inputs: Vec<ArrayId>,
    pub outputs: Vec<ArrayId>,
    /// Arrays that no output needs, but whose evaluation can fail: a program fails if any part of it does.
    pub fallible: Vec<ArrayId>,
    /// Arrays of a chain of statements that define disjoint parts of the elements. Elements that a statement reaches
    /// are undefined before it, and no other statement reads them before the chain ends.
    pub partial: BTreeSet<ArrayId>,
    /// Arrays whose elements are their own indices.
    pub numbers: BTreeSet<ArrayId>,
    /// Statements, producers before consumers; each array but inputs is defined by one.
    pub statements: Vec<Stmt>,
    /// Disables reassociation; see [`Layout`](crate::Layout).
    pub strict: bool,
    /// Strides of inputs and outputs that are not in C order.
    pub strides: BTreeMap<ArrayId, Vec<isize>>,
}

#[derive(Clone, Debug)]
pub(crate) struct ArrayInfo {
    pub dtype: DType,
    pub shape: Vec<u64>,
}

#[derive(Clone, Debug)]
pub(crate) struct Stmt {
    pub out: ArrayId,
    pub axes: Vec<Axis>,
    pub out_index: Vec<IndexExpr>,
    pub init: Init,
    pub reduce: Option<Reducer>,
    pub value: Expr,
    /// Points at which one of these conditions fails are skipped; other indices need not be in bounds there. Without
    /// guards, all indices are. Elements that an index reads are guarded before it.
    pub guards: Vec<Guard>,
    /// The axis of an inclusive scan: each element combines all values up to its own position. The output is injective
    /// in all axes, and the value is an access; a node before it is the access to the [levels](crate::plan::Levels).
    pub scan: Option<AxisId>,
    pub span: Span,
}

/// Condition `0 <= index < extent`: points where it fails are skipped.
pub(crate) type Guard = (IndexExpr, u64);

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Axis {
    pub name: String,
    pub extent: u64,
}

/// A list with an item per axis of a domain, or per node of a value. Short lists are stored inline.
pub(crate) type Few<T> = SmallVec<[T; 8]>;

/// Nodes in post-order; the last one is the value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expr {
    pub nodes: Vec<ExprNode>,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprNode {
    Access(ArrayId, Vec<IndexExpr>),
    Const(Scalar),
    Index(IndexExpr),
    Unary(UnaryOp, u32),
    Binary(BinaryOp, u32, u32),
    Select(u32, u32, u32),
    /// A uniform random number, as [`ScalarNode::Random`].
    Random {
        key: u64,
        counter: IndexExpr,
        lo: u32,
        hi: u32,
    },
}

impl Graph {
    pub(crate) fn new(
        program: &Program,
        instance: &Instance,
        strict: bool,
    ) -> Result<Self, PlanError> {
        let arrays = instance
            .dtypes
            .iter()
            .zip(&instance.shapes)
            .map(|(&dtype, shape)| ArrayInfo { dtype, shape: shape.clone() })
            .collect();
        let mut graph = Self {
            arrays,
            inputs: program.inputs.clone(),
            outputs: program.outputs.clone(),
            fallible: Vec::new(),
            partial: BTreeSet::new(),
            numbers: BTreeSet::new(),
            statements: Vec::with_capacity(program.statements.len()),
            strict,
            strides: BTreeMap::new(),
        };
        let variables = type_variables(program, instance);
        for (statement, extents) in program.statements.iter().zip(&instance.extents) {
            let stmt = graph.statement(statement, extents, &variables)?;
            graph.statements.push(stmt);
        }
        Ok(graph)
    }

    fn statement(
        &self,
        statement: &core::Statement,
        extents: &[u64],
        variables: &[DType],
    ) -> Result<Stmt, PlanError> {
        if extents.contains(&0) {
            let core::Statement { out, init, reduce, span, .. } = *statement;
            return Ok(self.initial(out, init, reduce, span));
        }
        let axes = statement.domain.iter().zip(extents);
        Ok(Stmt {
            out: statement.out,
            axes: axes.map(|(a, &extent)| Axis { name: a.name.clone(), extent }).collect(),
            out_index: statement.out_index.iter().map(index::without_spans).collect(),
            init: statement.init,
            reduce: statement.reduce,
            value: self.import(&statement.value, variables)?,
            guards: statement
                .guards
                .iter()
                .map(|(e, extent)| (index::without_spans(e), *extent))
                .collect(),
            scan: None,
            span: statement.span,
        })
    }

    /// The statement that stores the initial value everywhere.
    pub(crate) fn initial(
        &self,
        out: ArrayId,
        init: Init,
        reduce: Option<Reducer>,
        span: Span,
    ) -> Stmt {
        let info = self.array(out);
        let axes: Vec<_> = (0..info.shape.len()).map(|a| axis_named(a, info.shape[a])).collect();
        let value = match init {
            Init::From(source) => ExprNode::Access(source, index::of_axes(0..axes.len())),
            init => ExprNode::Const(self.initial_value(out, init, reduce)),
        };
        Stmt::map(out, axes, vec![value], span)
    }

    /// Initial value of an array's elements, unless it is another array. Positions of extremes start from 0.
    pub(crate) fn initial_value(
        &self,
        out: ArrayId,
        init: Init,
        reduce: Option<Reducer>,
    ) -> Scalar {
        let dtype = self.array(out).dtype;
        match (init, reduce) {
            (Init::Identity(monoid), None | Some(Reducer::Monoid(_))) => {
                scalar::identity(monoid, dtype)
            }
            _ => zero(dtype),
        }
    }

    pub(crate) fn array(&self, id: ArrayId) -> &ArrayInfo {
        &self.arrays[id.0 as usize]
    }

    /// The graph with the strides of inputs and outputs.
    pub(crate) fn with_strides(mut self, inputs: &[Vec<isize>], outputs: &[Vec<isize>]) -> Self {
        let inputs = self.inputs.iter().zip(inputs);
        for (&array, strides) in inputs.chain(self.outputs.iter().zip(outputs)) {
            let several = strides.iter().zip(&self.arrays[array.0 as usize].shape);
            let several = several.filter(|(step, extent)| **extent > 1 && **step != 0);
            if !several.is_sorted_by_key(|(step, _)| Reverse(step.unsigned_abs())) {
                self.strides.insert(array, strides.clone());
            }
        }
        self
    }

    /// Axes of an array by descending stride. Axes of one element or of stride 0 come first.
    pub(crate) fn axes_by_stride(&self, array: ArrayId) -> Vec<usize> {
        let shape = &self.array(array).shape;
        let mut axes: Vec<usize> = (0..shape.len()).collect();
        match self.strides.get(&array) {
            Some(strides) => axes.sort_by_key(|&axis| match strides[axis].unsigned_abs() {
                step if step > 0 && shape[axis] > 1 => Reverse(step),
                _ => Reverse(usize::MAX),
            }),
            None => axes.sort_by_key(|&axis| shape[axis] > 1),
        }
        axes
    }

    /// A new array for a statement that a pass adds.
    pub(crate) fn new_array(&mut self, dtype: DType, shape: Vec<u64>) -> ArrayId {
        self.arrays.push(ArrayInfo { dtype, shape });
        ArrayId((self.arrays.len() - 1) as u32)
    }

    /// For each array, the index of the statement that defines it.
    pub(crate) fn definitions(&self) -> Vec<Option<u32>> {
        let mut definitions = vec![None; self.arrays.len()];
        for (at, stmt) in self.statements.iter().enumerate() {
            definitions[stmt.out.0 as usize] = Some(at as u32);
        }
        definitions
    }

    /// For each array, the number of its reads, outputs and initial values included.
    pub(crate) fn uses(&self) -> Vec<u32> {
        let mut uses = vec![0; self.arrays.len()];
        for output in &self.outputs {
            uses[output.0 as usize] += 1;
        }
        for stmt in &self.statements {
            stmt.for_each_read(|array| uses[array.0 as usize] += 1);
        }
        uses
    }

    /// Tells whether evaluating a statement can fail.
    pub(crate) fn can_fail(&self, stmt: &Stmt) -> bool {
        self.can_fail_in(&stmt.value)
    }

    /// Tells whether evaluating an expression can fail.
    pub(crate) fn can_fail_in(&self, value: &Expr) -> bool {
        let partial = |node: &ExprNode| match node {
            ExprNode::Binary(op, ..) => is_partial(*op),
            ExprNode::Unary(op, _) => *op == UnaryOp::Recip,
            ExprNode::Random { .. } => true,
            _ => false,
        };
        if !value.nodes.iter().any(partial) {
            return false;
        }
        let types = self.node_types(value);
        let constant = |at: u32| match value.nodes[at as usize] {
            ExprNode::Const(value) => Some(value),
            _ => None,
        };
        value.nodes.iter().any(|node| match node {
            ExprNode::Binary(op, x, y) => can_fail(*op, types[*x as usize], constant(*y)),
            ExprNode::Unary(op, x) => *op == UnaryOp::Recip && types[*x as usize].is_integer(),
            ExprNode::Random { lo, hi, .. } => random_can_fail(constant(*lo), constant(*hi)),
            _ => false,
        })
    }

    /// Element types of all nodes.
    pub(crate) fn node_types(&self, value: &Expr) -> Few<DType> {
        let mut types: Few<DType> = Few::with_capacity(value.nodes.len());
        for node in &value.nodes {
            types.push(self.node_type(node, &types));
        }
        types
    }

    /// Element type of a node, given those of the nodes before it.
    fn node_type(&self, node: &ExprNode, types: &[DType]) -> DType {
        match node {
            ExprNode::Access(array, _) => self.array(*array).dtype,
            ExprNode::Const(value) => value.dtype(),
            ExprNode::Index(_) => DType::I64,
            ExprNode::Unary(op, x) => op.result().of(types[*x as usize]),
            ExprNode::Binary(op, x, _) => op.result().of(types[*x as usize]),
            ExprNode::Select(_, x, _) | ExprNode::Random { lo: x, .. } => types[*x as usize],
        }
    }

    /// The expression with element types filled in, without casts to the type that a value has.
    fn import(&self, value: &core::ScalarExpr, variables: &[DType]) -> Result<Expr, PlanError> {
        let count = value.nodes.len();
        let (mut nodes, mut types) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut places: Vec<u32> = Vec::with_capacity(count);
        for node in &value.nodes {
            let node = imported(node, variables)?.map_children(|child| places[child as usize]);
            if let ExprNode::Unary(UnaryOp::Cast(to), x) = node
                && types[x as usize] == to
            {
                places.push(x);
                continue;
            }
            types.push(self.node_type(&node, &types));
            nodes.push(node);
            places.push(nodes.len() as u32 - 1);
        }
        let root = places.last().copied().unwrap_or(0);
        if root as usize + 1 == nodes.len() {
            Ok(Expr { nodes })
        } else {
            Ok(extract(&nodes, root))
        }
    }
}

impl Stmt {
    /// A map over a whole array.
    pub(crate) fn map(out: ArrayId, axes: Vec<Axis>, nodes: Vec<ExprNode>, span: Span) -> Self {
        let out_index = index::of_axes(0..axes.len());
        Self {
            out,
            axes,
            out_index,
            init: Init::Zero,
            reduce: None,
            value: Expr { nodes },
            guards: Vec::new(),
            scan: None,
            span,
        }
    }

    pub(crate) fn extents(&self) -> Few<u64> {
        let mut extents = Few::new();
        self.axes.iter().for_each(|axis| extents.push(axis.extent));
        extents
    }

    /// Number of points of the domain, saturating.
    pub(crate) fn points(&self) -> u64 {
        self.axes.iter().fold(1, |n: u64, a| n.saturating_mul(a.extent))
    }

    /// Calls `f` with every array that an access, an index or the initial value reads.
    pub(crate) fn for_each_read(&self, mut f: impl FnMut(ArrayId)) {
        if let Init::From(array) = self.init {
            f(array);
        }
        self.for_each_point_read(f);
    }

    /// Like [`Self::for_each_read`], without the initial value.
    pub(crate) fn for_each_point_read(&self, mut f: impl FnMut(ArrayId)) {
        for node in &self.value.nodes {
            if let ExprNode::Access(array, _) = node {
                f(*array);
            }
        }
        self.for_each_index(|e| {
            if !e.is_affine() {
                index::for_each_element(e, &mut |access| f(access.array));
            }
        });
    }

    /// For each axis, tells whether the output depends on it.
    pub(crate) fn kept_axes(&self) -> Few<bool> {
        let mut kept = Few::from_elem(false, self.axes.len());
        for e in &self.out_index {
            index::for_each_axis(e, &mut |axis| kept[axis.0 as usize] = true);
        }
        kept
    }

    /// Axes that the output depends on, in the order of its index.
    pub(crate) fn kept_by_output(&self) -> Vec<usize> {
        let mut kept = Vec::new();
        for e in &self.out_index {
            index::for_each_axis(e, &mut |axis| {
                if !kept.contains(&(axis.0 as usize)) {
                    kept.push(axis.0 as usize);
                }
            });
        }
        kept
    }

    /// Orders the kept axes as the output has them, before the reduced ones, whose order stays: blocks of rows are cut
    /// along the first axis. Statements with colliding points or composite output indices stay as they are.
    pub(crate) fn in_output_order(self) -> Self {
        let kept = match index::plain_axes(&self.out_index) {
            Some(kept) if kept.len() == self.out_index.len() => kept,
            _ => return self,
        };
        let reduced = (0..self.axes.len()).filter(|axis| !kept.contains(axis));
        let order: Vec<usize> = kept.iter().copied().chain(reduced).collect();
        let place = |axis: usize| order.iter().position(|&other| other == axis);
        let map = index::of_axes((0..order.len()).filter_map(place));
        let axes = order.iter().map(|&axis| self.axes[axis].clone()).collect();
        self.substitute(&map, axes).unwrap_or(self)
    }

    /// Calls `f` with every index expression of the output, the value and the guards.
    pub(crate) fn for_each_index(&self, mut f: impl FnMut(&IndexExpr)) {
        self.out_index.iter().for_each(&mut f);
        for node in &self.value.nodes {
            node.indices().iter().for_each(&mut f);
        }
        self.guards.iter().for_each(|(e, _)| f(e));
    }

    /// Replaces axis `a` by `map[a]`, over the new axes. `None` on overflow.
    pub(crate) fn substitute(&self, map: &[IndexExpr], axes: Vec<Axis>) -> Option<Self> {
        let extents: Few<u64> = axes.iter().map(|a| a.extent).collect();
        let replace = |e: &IndexExpr| index::substitute(e, map, &extents);
        let out_index = self.out_index.iter().map(replace).collect::<Option<_>>()?;
        let value = self.value.map_indices(replace)?;
        let guard = |(e, extent): &Guard| Some((replace(e)?, *extent));
        let guards = self.guards.iter().map(guard).collect::<Option<_>>()?;
        let scan = match self.scan {
            Some(axis) => Some(index::plain_axis(&map[axis.0 as usize])?),
            None => None,
        };
        let (out, init, reduce, span) = (self.out, self.init, self.reduce, self.span);
        Some(Self { out, axes, out_index, init, reduce, value, guards, scan, span })
    }

    /// The value, if it is a bare access or constant.
    pub(crate) fn as_leaf(&self) -> Option<&ExprNode> {
        match &self.value.nodes[..] {
            [leaf @ (ExprNode::Access(..) | ExprNode::Const(_))] => Some(leaf),
            _ => None,
        }
    }
}

impl ExprNode {
    /// Operands of the node.
    pub(crate) fn children(&self) -> impl Iterator<Item = u32> + use<> {
        let children = match *self {
            Self::Unary(_, x) => [Some(x), None, None],
            Self::Binary(_, x, y) => [Some(x), Some(y), None],
            Self::Select(c, x, y) => [Some(c), Some(x), Some(y)],
            Self::Random { lo, hi, .. } => [Some(lo), Some(hi), None],
            _ => [None; 3],
        };
        children.into_iter().flatten()
    }

    /// Replaces every operand.
    pub(crate) fn map_children(&self, mut f: impl FnMut(u32) -> u32) -> Self {
        match self {
            Self::Unary(op, x) => Self::Unary(*op, f(*x)),
            Self::Binary(op, x, y) => Self::Binary(*op, f(*x), f(*y)),
            Self::Select(c, x, y) => Self::Select(f(*c), f(*x), f(*y)),
            Self::Random { key, counter, lo, hi } => {
                Self::Random { key: *key, counter: counter.clone(), lo: f(*lo), hi: f(*hi) }
            }
            leaf => leaf.clone(),
        }
    }

    /// Index expressions of the node.
    pub(crate) fn indices(&self) -> &[IndexExpr] {
        match self {
            Self::Access(_, index) => index,
            Self::Index(e) | Self::Random { counter: e, .. } => std::slice::from_ref(e),
            _ => &[],
        }
    }

    /// Replaces every index expression.
    pub(crate) fn map_indices(&self, f: impl Fn(&IndexExpr) -> Option<IndexExpr>) -> Option<Self> {
        Some(match self {
            Self::Access(array, index) => {
                Self::Access(*array, index.iter().map(f).collect::<Option<_>>()?)
            }
            Self::Index(e) => Self::Index(f(e)?),
            Self::Random { key, counter, lo, hi } => {
                Self::Random { key: *key, counter: f(counter)?, lo: *lo, hi: *hi }
            }
            other => other.clone(),
        })
    }
}

impl Expr {
    /// Replaces every index expression.
    pub(crate) fn map_indices(&self, f: impl Fn(&IndexExpr) -> Option<IndexExpr>) -> Option<Self> {
        let nodes = self.nodes.iter().map(|node| node.map_indices(&f)).collect::<Option<_>>()?;
        Some(Self { nodes })
    }
}

/// Zero of an element type; `false` for booleans.
pub(crate) fn zero(dtype: DType) -> Scalar {
    match dtype {
        DType::Bool => Scalar::Bool(false),
        DType::I32 => Scalar::I32(0),
        DType::I64 => Scalar::I64(0),
        DType::F32 => Scalar::F32(0.0),
        DType::F64 => Scalar::F64(0.0),
        DType::C64 => Scalar::C64(Default::default()),
        DType::C128 => Scalar::C128(Default::default()),
    }
}

fn axis_named(number: usize, extent: u64) -> Axis {
    Axis { name: format!("i{number}"), extent }
}

/// Element types of the program's type variables, taken from its arrays.
fn type_variables(program: &Program, instance: &Instance) -> Vec<DType> {
    let mut variables = vec![DType::F64; program.types.len()];
    for (array, &dtype) in program.arrays.iter().zip(&instance.dtypes) {
        if let core::TypeTerm::Var(v) = array.dtype {
            variables[v as usize] = dtype;
        }
    }
    variables
}

fn imported(node: &ScalarNode, variables: &[DType]) -> Result<ExprNode, PlanError> {
    Ok(match node {
        ScalarNode::Access(Access { array, index, .. }) => {
            ExprNode::Access(*array, index.iter().map(index::without_spans).collect())
        }
        ScalarNode::Const(literal, t) => ExprNode::Const(literal.to_scalar(t.resolve(variables))?),
        ScalarNode::Index(e) => ExprNode::Index(index::without_spans(e)),
        ScalarNode::Unary(op, x) => ExprNode::Unary(*op, x.0),
        ScalarNode::Binary(op, x, y) => ExprNode::Binary(*op, x.0, y.0),
        ScalarNode::Select(c, x, y) => ExprNode::Select(c.0, x.0, y.0),
        ScalarNode::Random { key, counter, lo, hi } => {
            ExprNode::Random { key: *key, counter: counter.clone(), lo: lo.0, hi: hi.0 }
        }
    })
}
