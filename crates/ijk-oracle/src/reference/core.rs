//! The literal interpreter of the core IR: for every point of a statement's domain, if every index is in bounds and
//! every guard holds, the value is combined with the element.

use crate::EvalError;
use crate::reference::order;
use crate::reference::surface::advance;
use crate::reference::value::{Value, as_i64, zero};
use ijk_ir::core::{
    Access, Axis, IndexExpr, Init, Instance, Program, ProgramItem, ScalarNode, Statement,
};
use ijk_types::{DType, Literal, Monoid, Order, Reducer, Scalar, random, scalar};

/// The results of a core program for some arguments, combined in lexicographic order of the points of each domain with
/// separate rounding of each operation.
///
/// # Errors
/// If a scalar operation fails, or the program violates a rule of the core IR.
pub fn interpret(
    program: &Program,
    instance: &Instance,
    inputs: &[Value],
) -> Result<Vec<Value>, EvalError> {
    let mut memory = Memory::new(program, instance, inputs)?;
    memory.items(&program.items())?;
    let output = |id: &ijk_ir::core::ArrayId| memory.get(id.0).cloned();
    program.outputs.iter().map(output).collect()
}

struct Memory<'a> {
    program: &'a Program,
    instance: &'a Instance,
    arrays: Vec<Option<Value>>,
}

impl<'a> Memory<'a> {
    fn new(
        program: &'a Program,
        instance: &'a Instance,
        inputs: &[Value],
    ) -> Result<Self, EvalError> {
        let mut arrays = vec![None; program.arrays.len()];
        for (id, value) in program.inputs.iter().zip(inputs) {
            let at = id.0 as usize;
            let same_shape = instance.shapes[at].iter().eq(value
                .shape
                .iter()
                .map(|&n| n as u64)
                .collect::<Vec<_>>()
                .iter());
            if instance.dtypes[at] != value.dtype || !same_shape {
                return Err(EvalError::Core("an input differs from its instance"));
            }
            arrays[at] = Some(value.clone());
        }
        Ok(Self { program, instance, arrays })
    }

    /// Runs statements and loops in order.
    fn items(&mut self, items: &[ProgramItem]) -> Result<(), EvalError> {
        let mut at = 0;
        while let Some(item) = items.get(at) {
            match *item {
                ProgramItem::Statement(n) => {
                    let statement = &self.program.statements[n];
                    let result = self.run(statement, &self.instance.extents[n])?;
                    self.arrays[statement.out.0 as usize] = Some(result);
                }
                ProgramItem::Begin(n) => {
                    let end = items.iter().position(|item| *item == ProgramItem::End(n));
                    let end = end.ok_or(EvalError::Core("a loop has no end"))?;
                    self.passes(n, &items[at + 1..end])?;
                    at = end;
                }
                ProgramItem::End(_) => return Err(EvalError::Core("a loop has no beginning")),
            }
            at += 1;
        }
        Ok(())
    }

    /// Runs a loop: every pass reads the states of the pass before, and a row of each swept array.
    fn passes(&mut self, n: usize, body: &[ProgramItem]) -> Result<(), EvalError> {
        let own = &self.program.loops[n];
        let mut states: Vec<Value> = Vec::new();
        for state in &own.states {
            states.push(self.get(state.before.0)?.clone());
        }
        let passes = self.instance.passes[n] as usize;
        let kept = if own.all { passes } else { 0 };
        let mut all: Vec<Vec<Vec<Scalar>>> = vec![vec![Vec::new(); kept]; states.len()];
        for number in 0..passes {
            let pass = if own.descending { passes - 1 - number } else { number };
            for (state, value) in own.states.iter().zip(&states) {
                self.arrays[state.current.0 as usize] = Some(value.clone());
            }
            for swept in &own.swept {
                let Value { dtype, shape, data } = self.get(swept.of.0)?;
                let shape = shape[1..].to_vec();
                let size: usize = shape.iter().product();
                let data = data[pass * size..(pass + 1) * size].to_vec();
                let row = Value { dtype: *dtype, shape, data };
                self.arrays[swept.row.0 as usize] = Some(row);
            }
            self.items(body)?;
            for ((state, value), all) in own.states.iter().zip(&mut states).zip(&mut all) {
                *value = self.get(state.next.0)?.clone();
                if own.all {
                    all[pass].extend_from_slice(&value.data);
                }
            }
            if let Some(until) = own.until
                && self.get(until.0)?.data.first() == Some(&Scalar::Bool(true))
            {
                break;
            }
        }
        for ((state, value), all) in own.states.iter().zip(states).zip(all) {
            let at = state.result.0 as usize;
            let shape = self.instance.shapes[at].iter().map(|&n| n as usize).collect();
            let data = if own.all { all.concat() } else { value.data };
            self.arrays[at] = Some(Value { dtype: value.dtype, shape, data });
        }
        Ok(())
    }

    fn get(&self, id: u32) -> Result<&Value, EvalError> {
        self.arrays[id as usize]
            .as_ref()
            .ok_or(EvalError::Core("an array is read before it is defined"))
    }

    fn run(&self, statement: &Statement, extents: &[u64]) -> Result<Value, EvalError> {
        let mut out = self.initial(statement)?;
        let extents: Vec<usize> = extents.iter().map(|&n| n as usize).collect();
        if let Some(Reducer::Order(order)) = statement.reduce {
            return self.ordered(statement, &extents, order, out);
        }
        let mut combiner = Combiner::new(statement, out.data.len())?;
        let mut formula = Formula::new(self, statement);
        let mut point = vec![0; extents.len()];
        let mut indices = vec![0; extents.len()];
        if extents.contains(&0) {
            return Ok(out);
        }
        loop {
            indices.iter_mut().zip(&point).for_each(|(to, &i)| *to = i as i64);
            self.visit(&mut formula, &indices, &mut combiner, &mut out)?;
            if !advance(&mut point, &extents) {
                return Ok(out);
            }
        }
    }

    /// Every value along the reduced axis, at the place that counts the values before it.
    fn ordered(
        &self,
        statement: &Statement,
        extents: &[usize],
        order: Order,
        mut out: Value,
    ) -> Result<Value, EvalError> {
        let axis = reduced_axis(statement)?;
        let last = extents.len() - 1;
        let mut formula = Formula::new(self, statement);
        let mut point = vec![0; extents.len()];
        if out.data.is_empty() {
            return Ok(out);
        }
        loop {
            let at = |n: usize, place: usize| -> Vec<i64> {
                let mut at: Vec<i64> = point.iter().map(|&i| i as i64).collect();
                (at[axis], at[last]) = (n as i64, place as i64);
                at
            };
            let value = |n| formula.value(self, &at(n, 0))?.ok_or(EvalError::Core("a skip"));
            let values = (0..extents[axis]).map(value).collect::<Result<Vec<_>, _>>()?;
            for (n, place) in order::places(&values, order.descending).into_iter().enumerate() {
                if place < extents[last] {
                    let to = self.place(&out.shape, &statement.out_index, &at(n, place));
                    let to = to.ok_or(EvalError::Core("a place is out of bounds"))?;
                    out.data[to] = if order.positions { Scalar::I64(n as i64) } else { values[n] };
                }
            }
            (point[axis], point[last]) = (extents[axis].saturating_sub(1), extents[last] - 1);
            if !advance(&mut point, extents) {
                return Ok(out);
            }
        }
    }

    /// Initial value of a statement's array, before its points update it.
    fn initial(&self, statement: &Statement) -> Result<Value, EvalError> {
        let at = statement.out.0 as usize;
        let dtype = self.instance.dtypes[at];
        let shape: Vec<usize> = self.instance.shapes[at].iter().map(|&n| n as usize).collect();
        match statement.init {
            Init::Zero => Ok(Value::full(dtype, &shape, zero(dtype))),
            Init::Identity(monoid) => {
                Ok(Value::full(dtype, &shape, scalar::identity(monoid, dtype)))
            }
            Init::From(array) => self.get(array.0).cloned(),
        }
    }

    fn visit(
        &self,
        formula: &mut Formula,
        point: &[i64],
        combiner: &mut Combiner,
        out: &mut Value,
    ) -> Result<(), EvalError> {
        let Statement { out_index, guards, .. } = formula.statement;
        let Some(to) = self.place(&out.shape, out_index, point) else { return Ok(()) };
        let inside = |e, extent: u64| {
            self.index(e, point).and_then(|i| u64::try_from(i).ok()).is_some_and(|i| i < extent)
        };
        if !guards.iter().all(|(e, extent)| inside(e, *extent)) {
            return Ok(());
        }
        let Some(value) = formula.value(self, point)? else { return Ok(()) };
        if value.dtype() != out.dtype && !combiner.gives_positions() {
            return Err(EvalError::Core("a value has another type than its array"));
        }
        combiner.combine(&mut out.data[to], to, value, point)
    }

    /// The value of a number or an extent, which is the same at all points; none for other nodes.
    fn constant(
        &self,
        node: &ScalarNode,
        statement: &Statement,
    ) -> Option<Result<Scalar, EvalError>> {
        let (literal, t) = match node {
            ScalarNode::Const(literal, t) => (*literal, *t),
            ScalarNode::Extent(axis, t) => {
                let n = self.program.statements.iter().position(|s| s.out == statement.out);
                let Some(n) = n else {
                    return Some(Err(EvalError::Core("a statement of another program")));
                };
                let extent = self.instance.extents[n][axis.0 as usize];
                (Literal::Integer(extent as i64), *t)
            }
            _ => return None,
        };
        Some(self.resolve(t).and_then(|t| Ok(literal.to_scalar(t)?)))
    }

    fn element(&self, access: &Access, point: &[i64]) -> Result<Option<Scalar>, EvalError> {
        let array = self.get(access.array.0)?;
        Ok(self.place(&array.shape, &access.index, point).map(|at| array.data[at]))
    }

    /// The value of an index, if every element that it reads is in bounds.
    fn index(&self, e: &IndexExpr, point: &[i64]) -> Option<i64> {
        e.eval_with(point, &|access| match self.element(access, point).ok()?? {
            element if element.dtype().is_integer() => as_i64(element),
            _ => None,
        })
    }

    /// Position of an index, if it is in bounds.
    fn place(&self, shape: &[usize], index: &[IndexExpr], point: &[i64]) -> Option<usize> {
        let mut at = 0;
        for (&extent, e) in shape.iter().zip(index) {
            let i = usize::try_from(self.index(e, point)?).ok()?;
            if i >= extent {
                return None;
            }
            at = at * extent + i;
        }
        (shape.len() == index.len()).then_some(at)
    }

    /// The element type of a term, found among the arrays that have it.
    fn resolve(&self, term: ijk_ir::core::TypeTerm) -> Result<DType, EvalError> {
        use ijk_ir::core::TypeTerm;
        let known = |wanted: TypeTerm| {
            let at = self.program.arrays.iter().position(|a| a.dtype == wanted)?;
            Some(self.instance.dtypes[at])
        };
        let found = match term {
            TypeTerm::Fixed(t) => Some(t),
            TypeTerm::Var(_) => known(term),
            TypeTerm::RealOf(v) => known(term).or(known(TypeTerm::Var(v)).map(DType::real)),
        };
        found.ok_or(EvalError::Core("a number has an unknown type"))
    }
}

/// The value of a statement, point by point. Numbers are converted once, since a loop runs a statement in every pass.
struct Formula<'a> {
    statement: &'a Statement,
    constants: Vec<Option<Result<Scalar, EvalError>>>,
    /// Values of the nodes at a point.
    values: Vec<Scalar>,
}

impl<'a> Formula<'a> {
    fn new(memory: &Memory, statement: &'a Statement) -> Self {
        let nodes = &statement.value.nodes;
        let constants = nodes.iter().map(|node| memory.constant(node, statement)).collect();
        Self { statement, constants, values: Vec::with_capacity(nodes.len()) }
    }

    /// The value at a point, if every index is in bounds. Everything is read before anything is computed: a skipped
    /// point has no faults.
    fn value(&mut self, memory: &Memory, point: &[i64]) -> Result<Option<Scalar>, EvalError> {
        match self.read(memory, point)? {
            true => self.compute(memory, point),
            false => Ok(None),
        }
    }

    /// Reads elements and indices; false if one is out of bounds.
    fn read(&mut self, memory: &Memory, point: &[i64]) -> Result<bool, EvalError> {
        self.values.clear();
        for node in &self.statement.value.nodes {
            let found = match node {
                ScalarNode::Access(access) => memory.element(access, point)?,
                ScalarNode::Index(e) => memory.index(e, point).map(Scalar::I64),
                // Computed later.
                _ => Some(Scalar::Bool(false)),
            };
            let Some(found) = found else { return Ok(false) };
            self.values.push(found);
        }
        Ok(true)
    }

    fn compute(&mut self, memory: &Memory, point: &[i64]) -> Result<Option<Scalar>, EvalError> {
        for (n, node) in self.statement.value.nodes.iter().enumerate() {
            let of = |id: &ijk_ir::core::ScalarId| self.values[id.0 as usize];
            self.values[n] = match node {
                ScalarNode::Access(_) | ScalarNode::Index(_) => continue,
                ScalarNode::Const(..) | ScalarNode::Extent(..) => match &self.constants[n] {
                    Some(constant) => constant.clone()?,
                    None => return Err(EvalError::Core("a number has no value")),
                },
                ScalarNode::Unary(op, x) => scalar::unary(*op, of(x))?,
                ScalarNode::Binary(op, x, y) => scalar::binary(*op, of(x), of(y))?,
                ScalarNode::Select(c, x, y) => match of(c) == Scalar::Bool(true) {
                    true => of(x),
                    false => of(y),
                },
                ScalarNode::Random { key, counter, lo, hi } => {
                    let Some(counter) = memory.index(counter, point) else { return Ok(None) };
                    drawn(random::bits(*key, counter as u64), of(lo), of(hi))?
                }
            };
        }
        let value = self.values.last().copied();
        value.map(Some).ok_or(EvalError::Core("a statement has no value"))
    }
}

/// A random number between two bounds.
fn drawn(bits: u64, lo: Scalar, hi: Scalar) -> Result<Scalar, EvalError> {
    match (lo, hi) {
        (Scalar::I64(lo), Scalar::I64(hi)) => Ok(Scalar::I64(random::uniform_i64(bits, lo, hi)?)),
        (Scalar::F64(lo), Scalar::F64(hi)) => Ok(Scalar::F64(random::uniform_f64(bits, lo, hi)?)),
        _ => Err(EvalError::Core("RANDOM of other types than i64 and f64")),
    }
}

/// Combination of values of one element.
enum Combiner {
    Store {
        stored: Vec<bool>,
    },
    Monoid(Monoid),
    /// The best value so far of each element, and the axis of positions.
    Position {
        greatest: bool,
        axis: usize,
        best: Vec<Option<Scalar>>,
    },
}

impl Combiner {
    fn new(statement: &Statement, size: usize) -> Result<Self, EvalError> {
        Ok(match statement.reduce {
            None => Self::Store { stored: vec![false; size] },
            Some(Reducer::Monoid(monoid)) => Self::Monoid(monoid),
            Some(arg) => Self::Position {
                greatest: arg == Reducer::ArgMax,
                axis: reduced_axis(statement)?,
                best: vec![None; size],
            },
        })
    }

    fn gives_positions(&self) -> bool {
        matches!(self, Self::Position { .. })
    }

    fn combine(
        &mut self,
        element: &mut Scalar,
        at: usize,
        value: Scalar,
        point: &[i64],
    ) -> Result<(), EvalError> {
        match self {
            Self::Store { stored } => {
                if std::mem::replace(&mut stored[at], true) {
                    return Err(EvalError::Core("two points store one element"));
                }
                *element = value;
            }
            Self::Monoid(monoid) => *element = scalar::binary(monoid.op(), *element, value)?,
            Self::Position { greatest, axis, best } => {
                if best[at].is_none_or(|best| beats(*greatest, value, best)) {
                    best[at] = Some(value);
                    *element = Scalar::I64(point[*axis]);
                }
            }
        }
        Ok(())
    }
}

/// The one axis that the output does not depend on.
fn reduced_axis(statement: &Statement) -> Result<usize, EvalError> {
    let used = |axis: usize, e: &IndexExpr| {
        e.terms
            .iter()
            .any(|(_, atom)| *atom == ijk_ir::core::Atom::Axis(ijk_ir::core::AxisId(axis as u32)))
    };
    let free = |(axis, _): &(usize, &Axis)| !statement.out_index.iter().any(|e| used(*axis, e));
    let mut reduced = statement.domain.iter().enumerate().filter(free).map(|(axis, _)| axis);
    match (reduced.next(), reduced.next()) {
        (Some(axis), None) => Ok(axis),
        _ => Err(EvalError::Core("a position needs exactly one reduced axis")),
    }
}

/// Returns true if a later value replaces the best: it is greater (less), or the first NaN.
fn beats(greatest: bool, value: Scalar, best: Scalar) -> bool {
    use ijk_types::BinaryOp;
    let holds = |op, x, y| scalar::binary(op, x, y) == Ok(Scalar::Bool(true));
    let nan = |x| holds(BinaryOp::Ne, x, x);
    let better = if greatest { BinaryOp::Gt } else { BinaryOp::Lt };
    !nan(best) && (nan(value) || holds(better, value, best))
}
