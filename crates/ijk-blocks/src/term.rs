//! Terms: what a block tensor is computed from.

use crate::statement::Statement;
use crate::store::Source;
use crate::types::Blocks;
use crate::{Aggregation, Function, Type};
use ijk_types::BinaryOp;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// A tensor cut into blocks, as a term that is not computed before it is collected or written. Cheap to
/// clone.
///
/// A term is checked when it is built: see the [rules](crate#terms).
///
/// ```
/// use ijk_blocks::BigTensor;
/// let u = BigTensor::lit([1.0, 2.0, 3.0, 4.0], [2, 2], [Some(1), None])?;
/// let product = u.matmul(&u.map("x + 1")?)?;
/// assert_eq!(product.ty().to_string(), "([2, 2], [1, ⊥], f64)");
/// let sums = product.collect()?;
/// assert_eq!(sums.as_numbers().unwrap().as_slice::<f64>(), Some(&[10.0, 13.0, 22.0, 29.0][..]));
///
/// assert_eq!(product.to_string(), "\
/// t0 = lit(4 elements) : ([2, 2], [1, ⊥], f64)
/// t1 = map(x + 1, t0) : ([2, 2], [1, ⊥], f64)
/// t2 = contract(t0, t1, 1, 0, sum(l * r)) : ([2, 2], [1, ⊥], f64)");
/// # Ok::<(), ijk_blocks::Error>(())
/// ```
#[derive(Clone)]
pub struct BigTensor {
    pub(crate) term: Arc<Term>,
}

/// A term with its type, which fits its operands'.
pub(crate) struct Term {
    pub(crate) kind: Kind,
    pub(crate) operands: Vec<BigTensor>,
    pub(crate) ty: Type,
    /// Blocks may be re-cut where they do not fit; the value is the limit of bytes kept for that.
    pub(crate) recuts: Option<u64>,
}

/// Operation of a term on its operands.
#[derive(Clone)]
pub(crate) enum Kind {
    /// Reads blocks.
    Source(Arc<dyn Source>),
    /// Combines two tensors element by element.
    Zip(BinaryOp),
    /// Repeats along each axis, and along new ones before.
    Broadcast,
    /// Keeps positions of each axis.
    Select(Vec<Positions>),
    /// Applies a function to each element.
    Map(Function),
    /// Folds pairs of elements along an axis of each operand.
    Contract { i: usize, j: usize, aggregation: Aggregation },
    /// Changes the blocks; the number limits the bytes of stored blocks that are cached.
    Reblock { keep: u64 },
    /// Any index statement.
    Statement(Arc<Statement>),
}

/// Positions of an axis, ascending.
///
/// ```
/// use ijk_blocks::{BigTensor, Positions};
/// let u = BigTensor::lit(0..12, [3, 4], [Some(2), None])?;
/// let part = u.select([Positions::from([0, 2]), (1..3).into()])?;
/// assert_eq!(part.collect()?.as_numbers().unwrap().as_slice::<i32>(), Some(&[1, 2, 9, 10][..]));
/// # Ok::<(), ijk_blocks::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Positions {
    /// All.
    All,
    /// From the first to before the last.
    Range(std::ops::Range<usize>),
    /// These, which ascend.
    At(Arc<[usize]>),
}

impl From<std::ops::RangeFull> for Positions {
    fn from(_: std::ops::RangeFull) -> Self {
        Self::All
    }
}

impl From<std::ops::Range<usize>> for Positions {
    fn from(range: std::ops::Range<usize>) -> Self {
        Self::Range(range)
    }
}

impl From<Vec<usize>> for Positions {
    fn from(at: Vec<usize>) -> Self {
        Self::At(at.into())
    }
}

impl<const N: usize> From<[usize; N]> for Positions {
    fn from(at: [usize; N]) -> Self {
        Self::At(Arc::new(at))
    }
}

impl Positions {
    /// Number of blocks along an axis of that extent.
    pub(crate) fn count(&self, extent: usize) -> usize {
        match self {
            Self::All => extent,
            Self::Range(range) => range.len(),
            Self::At(at) => at.len(),
        }
    }
}

impl BigTensor {
    pub(crate) fn new(kind: Kind, operands: Vec<BigTensor>, ty: Type) -> Self {
        let recuts = operands.iter().filter_map(|operand| operand.term.recuts).max();
        Self { term: Arc::new(Term { kind, operands, ty, recuts }) }
    }

    /// Its type.
    pub fn ty(&self) -> &Type {
        &self.term.ty
    }

    /// The extent of each axis.
    pub fn dims(&self) -> &[usize] {
        &self.term.ty.dims
    }

    /// Identity of the term, unique while it lives.
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.term) as usize
    }

    /// All terms that this one is made of, operands before users, itself last.
    pub(crate) fn terms(&self) -> Vec<BigTensor> {
        let mut order = Vec::new();
        let mut seen = std::collections::HashSet::new();
        let mut stack = vec![(self.clone(), false)];
        while let Some((term, ready)) = stack.pop() {
            if ready {
                order.push(term);
            } else if seen.insert(term.id()) {
                let operands = term.term.operands.clone();
                stack.push((term, true));
                stack.extend(operands.into_iter().rev().map(|operand| (operand, false)));
            }
        }
        order
    }
}

impl Drop for Term {
    /// Long chains of terms are dropped iteratively, so as not to overflow the stack.
    fn drop(&mut self) {
        let mut rest = std::mem::take(&mut self.operands);
        while let Some(tensor) = rest.pop() {
            if let Some(mut term) = Arc::into_inner(tensor.term) {
                rest.append(&mut term.operands);
            }
        }
    }
}

/// One line for each term, with its type; operands have their numbers.
impl fmt::Display for BigTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms = self.terms();
        let numbers: HashMap<usize, usize> =
            terms.iter().enumerate().map(|(n, term)| (term.id(), n)).collect();
        for (n, tensor) in terms.iter().enumerate() {
            let name = |operand: &BigTensor| format!("t{}", numbers[&operand.id()]);
            let names: Vec<String> = tensor.term.operands.iter().map(name).collect();
            let end = if n + 1 == terms.len() { "" } else { "\n" };
            write!(f, "t{n} = {} : {}{end}", rule(&tensor.term, &names), tensor.ty())?;
        }
        Ok(())
    }
}

/// A term with names for its operands.
fn rule(term: &Term, names: &[String]) -> String {
    let (u, v) = (names.first().map_or("", |n| n), names.get(1).map_or("", |n| n));
    match &term.kind {
        Kind::Source(source) => source.name(),
        Kind::Zip(op) => zip_rule(*op, u, v),
        Kind::Broadcast => format!("bc({u}, {:?}, {})", term.ty.dims, Blocks(&term.ty.blocks)),
        Kind::Select(positions) => {
            let shown: Vec<String> = positions.iter().map(positions_text).collect();
            format!("select({u}, {{{}}})", shown.join(", "))
        }
        Kind::Map(function) => format!("map({function}, {u})"),
        Kind::Contract { i, j, aggregation } => {
            format!("contract({u}, {v}, {i}, {j}, {aggregation})")
        }
        Kind::Reblock { .. } => format!("reblock({u}, {})", Blocks(&term.ty.blocks)),
        Kind::Statement(statement) => format!("{} of {}", statement.name, names.join(", ")),
    }
}

/// `u + v`, `max(u, v)`.
pub(crate) fn zip_rule(op: BinaryOp, u: &str, v: &str) -> String {
    match op {
        BinaryOp::Max => format!("max({u}, {v})"),
        BinaryOp::Min => format!("min({u}, {v})"),
        BinaryOp::Add => format!("{u} + {v}"),
        BinaryOp::Sub => format!("{u} - {v}"),
        BinaryOp::Mul => format!("{u} * {v}"),
        BinaryOp::Div => format!("{u} / {v}"),
        _ => format!("{op:?}({u}, {v})"),
    }
}

fn positions_text(positions: &Positions) -> String {
    match positions {
        Positions::All => "..".into(),
        Positions::Range(range) => format!("{}..{}", range.start, range.end),
        Positions::At(at) if at.len() <= 6 => format!("{at:?}"),
        Positions::At(at) => format!("[{}, {}, … {} positions]", at[0], at[1], at.len()),
    }
}

impl fmt::Debug for BigTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BigTensor {}", self.ty())
    }
}
