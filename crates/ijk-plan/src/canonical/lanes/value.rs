//! Expressions over narrow types, rewritten to wide ones.

use super::casts::{bounds, integer};
use super::is_narrow;
use crate::graph::expr::Builder;
use crate::graph::{Expr, ExprNode, Few, Graph};
use ijk_types::{BinaryOp, DType, Scalar, UnaryOp};

/// Knowledge of a rewritten node of a narrow type.
#[derive(Clone, Copy, PartialEq)]
enum LaneForm {
    /// The node has the narrow type, or a type that is no narrow one.
    Stored,
    /// The node has the wide type, and a value that the narrow type has.
    Exact,
    /// The node has type `f32`, and was not rounded to the narrow type.
    Unrounded,
    /// The node has the wide integer type; its low bits are those of the value.
    Wrapped,
}

/// A rewritten node.
#[derive(Clone, Copy)]
struct Lane {
    at: u32,
    dtype: DType,
    form: LaneForm,
}

/// An expression during its rewriting; nodes are numbered as in the original.
pub(super) struct Lanes {
    builder: Builder,
    lanes: Few<Lane>,
    /// Operations on floating-point numbers are rounded to the narrow type; otherwise only what is converted.
    rounds: bool,
}

impl Lanes {
    pub(super) fn new(graph: &Graph, value: &Expr, rounds: bool) -> Self {
        let types = graph.node_types(value);
        let mut lanes = Self { builder: Builder::default(), lanes: Few::new(), rounds };
        for (node, &dtype) in value.nodes.iter().zip(&types) {
            let lane = lanes.rewrite(node, dtype);
            lanes.lanes.push(lane);
        }
        lanes
    }

    /// The nodes of a function of one access.
    pub(super) fn of_access(
        graph: &Graph,
        access: ExprNode,
        function: impl FnOnce(&mut Self) -> u32,
    ) -> Vec<ExprNode> {
        let mut lanes = Self::new(graph, &Expr { nodes: vec![access] }, true);
        let root = function(&mut lanes);
        lanes.finish(root).nodes
    }

    /// The expression whose value is a rewritten node.
    pub(super) fn finish(self, root: u32) -> Expr {
        self.builder.finish(root)
    }

    /// The node in its own type.
    pub(super) fn stored(&mut self, n: u32) -> u32 {
        let Lane { at, dtype, form } = self.lane(n);
        if form == LaneForm::Stored { at } else { self.narrowed(at, dtype) }
    }

    /// The node in the wide type; integers may be wrapped.
    pub(super) fn wide(&mut self, n: u32) -> u32 {
        match self.lane(n) {
            Lane { at, dtype, form: LaneForm::Stored } if is_narrow(dtype) => {
                self.widened(at, dtype)
            }
            Lane { at, .. } => at,
        }
    }

    /// The node in the wide type, with its exact value (of `u64`, its bits).
    pub(super) fn exact(&mut self, n: u32) -> u32 {
        let Lane { dtype, form, .. } = self.lane(n);
        match form {
            LaneForm::Wrapped if dtype != DType::U64 => {
                let narrow = self.stored(n);
                self.widened(narrow, dtype)
            }
            _ => self.wide(n),
        }
    }

    /// The node in the wide type, in which values have the order that they have in the narrow one.
    pub(super) fn ordered(&mut self, n: u32) -> u32 {
        let at = self.exact(n);
        if self.lane(n).dtype == DType::U64 { self.flipped(at) } else { at }
    }

    /// A `u64` as an `i64`, with the order preserved; and back.
    pub(super) fn flipped(&mut self, at: u32) -> u32 {
        let least = self.constant(Scalar::I64(i64::MIN));
        self.binary(BinaryOp::Add, at, least)
    }

    /// The maximum or minimum of a rewritten node and a number.
    pub(super) fn bounded(&mut self, op: BinaryOp, at: u32, bound: Scalar) -> u32 {
        let bound = self.constant(bound);
        self.binary(op, at, bound)
    }

    /// A rewritten node of the wide type, in the narrow one.
    pub(super) fn narrowed(&mut self, at: u32, narrow: DType) -> u32 {
        self.unary(UnaryOp::Cast(narrow), at)
    }

    /// A cast of a node.
    pub(super) fn cast_to(&mut self, n: u32, to: DType) -> u32 {
        let lane = self.cast(n, to);
        debug_assert!(lane.form == LaneForm::Stored, "only to types that are no narrow ones");
        lane.at
    }

    fn lane(&self, n: u32) -> Lane {
        self.lanes[n as usize]
    }

    /// A rewritten node of the narrow type, in the wide one.
    fn widened(&mut self, at: u32, narrow: DType) -> u32 {
        self.unary(UnaryOp::Cast(narrow.lanes()), at)
    }

    fn constant(&mut self, value: Scalar) -> u32 {
        self.builder.push(ExprNode::Const(value))
    }

    fn unary(&mut self, op: UnaryOp, x: u32) -> u32 {
        self.builder.push(ExprNode::Unary(op, x))
    }

    fn binary(&mut self, op: BinaryOp, x: u32, y: u32) -> u32 {
        self.builder.push(ExprNode::Binary(op, x, y))
    }

    fn rewrite(&mut self, node: &ExprNode, dtype: DType) -> Lane {
        let operand = |x: &u32| self.lanes[*x as usize].dtype;
        match node {
            ExprNode::Unary(UnaryOp::Cast(to), x) => self.cast(*x, *to),
            ExprNode::Unary(op, x) if is_narrow(operand(x)) => match dtype.is_integer() {
                true => self.integer_function(*op, *x),
                false => self.float_function(*op, *x),
            },
            ExprNode::Binary(op, x, y) if is_narrow(operand(x)) => {
                if dtype == DType::Bool {
                    return self.comparison(*op, *x, *y);
                }
                match dtype.is_integer() {
                    true => self.integer_operator(*op, *x, *y),
                    false => self.float_operator(*op, *x, *y),
                }
            }
            ExprNode::Select(c, x, y) if is_narrow(dtype) => self.select(*c, *x, *y),
            other => {
                let node = other.map_children(|n| self.lanes[n as usize].at);
                Lane { at: self.builder.push(node), dtype, form: LaneForm::Stored }
            }
        }
    }

    fn comparison(&mut self, op: BinaryOp, x: u32, y: u32) -> Lane {
        let [x, y] = match op {
            BinaryOp::Eq | BinaryOp::Ne => [self.exact(x), self.exact(y)],
            _ => [self.ordered(x), self.ordered(y)],
        };
        Lane { at: self.binary(op, x, y), dtype: DType::Bool, form: LaneForm::Stored }
    }

    fn select(&mut self, c: u32, x: u32, y: u32) -> Lane {
        let (condition, [left, right]) = (self.lane(c).at, [x, y].map(|n| self.lane(n)));
        let form = match (left.form, right.form) {
            (LaneForm::Stored, LaneForm::Stored) => LaneForm::Stored,
            (LaneForm::Wrapped, _) | (_, LaneForm::Wrapped) => LaneForm::Wrapped,
            (LaneForm::Unrounded, _) | (_, LaneForm::Unrounded) => LaneForm::Unrounded,
            _ => LaneForm::Exact,
        };
        let [yes, no] = match form {
            LaneForm::Stored => [left.at, right.at],
            _ => [self.wide(x), self.wide(y)],
        };
        let at = self.builder.push(ExprNode::Select(condition, yes, no));
        Lane { at, dtype: left.dtype, form }
    }

    /// A function of one integer.
    fn integer_function(&mut self, op: UnaryOp, x: u32) -> Lane {
        let lane = self.lane(x);
        let dtype = lane.dtype;
        let (at, form) = match op {
            UnaryOp::Conj | UnaryOp::Re => return lane,
            UnaryOp::Abs if dtype.is_unsigned() => return lane,
            UnaryOp::Neg => (self.wide(x), LaneForm::Wrapped),
            UnaryOp::Sign if dtype.is_unsigned() => {
                let at = self.exact(x);
                let some = self.unary(UnaryOp::Cast(DType::Bool), at);
                return Lane { at: self.widened(some, dtype), dtype, form: LaneForm::Exact };
            }
            UnaryOp::Recip if dtype == DType::U64 => {
                let (one, at) = (self.constant(Scalar::U64(1)), self.stored(x));
                let at = self.binary(BinaryOp::Div, one, at);
                return Lane { at, dtype, form: LaneForm::Stored };
            }
            // The least integer has no opposite.
            UnaryOp::Abs => (self.exact(x), LaneForm::Wrapped),
            _ => (self.exact(x), LaneForm::Exact),
        };
        Lane { at: self.unary(op, at), dtype, form }
    }

    /// An operator on two integers.
    fn integer_operator(&mut self, op: BinaryOp, x: u32, y: u32) -> Lane {
        use BinaryOp::{Add, Div, Max, Min, Mod, Mul, Pow, Sub};
        let dtype = self.lane(x).dtype;
        let (at, form) = match op {
            Add | Sub | Mul => {
                let [x, y] = [self.wide(x), self.wide(y)];
                (self.binary(op, x, y), LaneForm::Wrapped)
            }
            Max | Min if dtype == DType::U64 => {
                let [x, y] = [self.ordered(x), self.ordered(y)];
                let at = self.binary(op, x, y);
                (self.flipped(at), LaneForm::Exact)
            }
            Div | Mod | Pow if dtype == DType::U64 => {
                let [x, y] = [self.stored(x), self.stored(y)];
                (self.binary(op, x, y), LaneForm::Stored)
            }
            Pow => {
                let [x, y] = [self.wide(x), self.exact(y)];
                (self.binary(op, x, y), LaneForm::Wrapped)
            }
            _ => {
                let [x, y] = [self.exact(x), self.exact(y)];
                // The quotient of the least integer and -1 is beyond the type.
                let leaves = op == Div && dtype.is_signed_integer();
                (self.binary(op, x, y), if leaves { LaneForm::Wrapped } else { LaneForm::Exact })
            }
        };
        Lane { at, dtype, form }
    }

    /// A function of one floating-point number.
    fn float_function(&mut self, op: UnaryOp, x: u32) -> Lane {
        use UnaryOp::{Abs, Ceil, Conj, Floor, Im, Neg, Re, Round, Sign};
        let lane = self.lane(x);
        let dtype = lane.dtype;
        match op {
            Conj | Re => lane,
            _ => {
                let x = self.exact(x);
                let at = self.unary(op, x);
                let exact = matches!(op, Im | Neg | Abs | Sign | Floor | Ceil | Round);
                self.rounded(at, dtype, exact && lane.form != LaneForm::Unrounded)
            }
        }
    }

    /// An operator on two floating-point numbers.
    fn float_operator(&mut self, op: BinaryOp, x: u32, y: u32) -> Lane {
        let dtype = self.lane(x).dtype;
        let exact = matches!(op, BinaryOp::Max | BinaryOp::Min)
            && [x, y].into_iter().all(|n| self.lane(n).form != LaneForm::Unrounded);
        let [x, y] = [self.exact(x), self.exact(y)];
        let at = self.binary(op, x, y);
        self.rounded(at, dtype, exact)
    }

    /// The result of an operation in `f32`, which is rounded to the narrow type unless it has the value.
    fn rounded(&mut self, at: u32, dtype: DType, exact: bool) -> Lane {
        match (exact, self.rounds) {
            (true, _) => Lane { at, dtype, form: LaneForm::Exact },
            (false, false) => Lane { at, dtype, form: LaneForm::Unrounded },
            (false, true) => Lane { at: self.narrowed(at, dtype), dtype, form: LaneForm::Stored },
        }
    }

    /// A cast.
    fn cast(&mut self, n: u32, to: DType) -> Lane {
        let lane = self.lane(n);
        if lane.dtype == to || lane.form != LaneForm::Unrounded {
            return self.cast_as_it_is(n, to);
        }
        let rounded = Lane { at: self.stored(n), form: LaneForm::Stored, ..lane };
        self.lanes[n as usize] = rounded;
        let cast = self.cast_as_it_is(n, to);
        self.lanes[n as usize] = lane;
        cast
    }

    fn cast_as_it_is(&mut self, n: u32, to: DType) -> Lane {
        let from = self.lane(n).dtype;
        match to {
            _ if from == to => self.lane(n),
            DType::Bool => {
                let at = self.exact(n);
                Lane { at: self.unary(UnaryOp::Cast(to), at), dtype: to, form: LaneForm::Stored }
            }
            _ if to.is_integer() && from.is_float() => self.float_to_integer(n, to),
            _ if to.is_integer() => self.integer_to_integer(n, to),
            _ => self.cast_to_inexact(n, to),
        }
    }

    /// A cast between integers, or of a bool.
    fn integer_to_integer(&mut self, n: u32, to: DType) -> Lane {
        let from = self.lane(n).dtype;
        let whole = from.size() >= to.size();
        let at = if whole { self.wide(n) } else { self.exact(n) };
        let at = match from.lanes() == to.lanes() {
            true => at,
            false => self.unary(UnaryOp::Cast(to.lanes()), at),
        };
        let within =
            |[least, most]: [i128; 2], [low, high]: [i128; 2]| low <= least && most <= high;
        if !is_narrow(to) {
            return self.settled(at, to);
        }
        let exact =
            within(bounds(from), bounds(to)) && (!whole || self.lane(n).form != LaneForm::Wrapped);
        Lane { at, dtype: to, form: if exact { LaneForm::Exact } else { LaneForm::Wrapped } }
    }

    /// A value in a type that is no narrow one.
    fn settled(&mut self, at: u32, to: DType) -> Lane {
        Lane { at, dtype: to, form: LaneForm::Stored }
    }

    /// A cast of a floating-point number to an integer, which saturates.
    fn float_to_integer(&mut self, n: u32, to: DType) -> Lane {
        let x = self.exact(n);
        if !is_narrow(to) || to == DType::U64 {
            return Lane {
                at: self.unary(UnaryOp::Cast(to), x),
                dtype: to,
                form: LaneForm::Stored,
            };
        }
        let whole = self.unary(UnaryOp::Cast(to.lanes()), x);
        let [least, most] = bounds(to).map(|bound| integer(bound, to));
        let above = self.bounded(BinaryOp::Max, whole, least);
        Lane { at: self.bounded(BinaryOp::Min, above, most), dtype: to, form: LaneForm::Exact }
    }

    /// A cast to a floating-point or complex type.
    fn cast_to_inexact(&mut self, n: u32, to: DType) -> Lane {
        let Lane { at, dtype: from, form } = self.lane(n);
        let short = from.is_integer() && from.size() <= 2;
        if short && form == LaneForm::Stored && matches!(to, DType::F32 | DType::F64) {
            // Chains start with such conversions.
            let at = self.unary(UnaryOp::Cast(to), at);
            return self.settled(at, to);
        }
        let wide = if to == DType::F64 || to == DType::C128 { DType::F64 } else { DType::F32 };
        let at = match from {
            DType::U64 => {
                let bits = self.stored(n);
                self.unary(UnaryOp::Cast(wide), bits)
            }
            _ => self.exact(n),
        };
        let own = if from == DType::U64 { wide } else { from.lanes() };
        if is_narrow(to) {
            let whole = if own.is_float() { at } else { self.unary(UnaryOp::Cast(wide), at) };
            if matches!(from, DType::Bool | DType::U8 | DType::I8) {
                return Lane { at: whole, dtype: to, form: LaneForm::Exact };
            }
            return Lane { at: self.narrowed(whole, to), dtype: to, form: LaneForm::Stored };
        }
        if own == to {
            return self.settled(at, to);
        }
        Lane { at: self.unary(UnaryOp::Cast(to), at), dtype: to, form: LaneForm::Stored }
    }
}
