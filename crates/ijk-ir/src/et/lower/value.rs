//! The right side of a statement as a scalar expression, with the casts that its types ask for.

use super::kind::Kind;
use super::messages;
use super::scope::Scope;
use crate::core::{Access, IndexExpr, ScalarExpr, ScalarId, ScalarNode, TypeTerm};
use ijk_syntax::Span;
use ijk_syntax::ast::Number;
use ijk_syntax::et::ast::{self, Index, Value, ValueOp};
use ijk_types::{BinaryOp, DType, Literal, UnaryOp, random};

/// Operations of one right side.
const MAX_NODES: usize = 1 << 16;

/// A node, and what it holds.
#[derive(Clone, Copy, Debug)]
pub struct Operand {
    /// The node.
    pub id: ScalarId,
    /// Its element type.
    pub kind: Kind,
    /// Where it stands in the source.
    pub span: Span,
}

/// Builds the value of a statement, operands before what uses them.
pub struct ValueBuilder<'b, 's, 'a> {
    /// The statement.
    pub scope: &'b mut Scope<'s, 'a>,
    nodes: Vec<ScalarNode>,
    pub(super) seed: u64,
    /// The ordinal of the next `RANDOM` in the program's text.
    pub(super) site: u64,
    /// An error about too many operations was reported.
    too_long: bool,
}

impl<'b, 's, 'a> ValueBuilder<'b, 's, 'a> {
    /// With nothing built. The program runs with `seed`; `site` is the ordinal of the statement's
    /// first `RANDOM` in the program.
    pub fn new(scope: &'b mut Scope<'s, 'a>, seed: u64, site: u64) -> Self {
        Self { scope, nodes: Vec::new(), seed, site, too_long: false }
    }

    /// The finished expression.
    pub fn finish(self) -> ScalarExpr {
        ScalarExpr { nodes: self.nodes }
    }

    /// Says once that there are too many operations.
    fn too_long<T>(&mut self, span: Span) -> Option<T> {
        if !std::mem::replace(&mut self.too_long, true) {
            self.scope.errors.push(messages::too_long(span));
        }
        None
    }

    /// A value; nothing after an error, or where what it reads is unknown since another.
    pub fn value(&mut self, value: &Value) -> Option<Operand> {
        let span = value.span();
        if self.nodes.len() > MAX_NODES {
            return self.too_long(span);
        }
        match value {
            Value::Number(number, _) => Some(self.number(*number, span)),
            Value::Element(access) => self.element(access),
            Value::Tuple(name) => {
                let axes = self.scope.axes(&name.text);
                let axes = axes.or_else(|| self.scope.fail(messages::unknown(name)))?;
                self.only(&axes, span)
            }
            Value::Dims { of, coord, .. } => self.dims(of, coord.as_deref(), span),
            Value::Rank(of, _) => {
                self.scope.integers(of)?;
                let rank = self.scope.known.extents(|extents| Ok(extents.total_rank(of)));
                let rank = self.scope.check(rank)?;
                Some(self.constant(rank.into(), span))
            }
            Value::Random { lo, hi, float, .. } => self.random(lo, hi, *float, span),
            Value::Call { function, name, args, .. } => {
                let args: Vec<_> = args.iter().map(|arg| self.value(arg)).collect();
                let args = args.into_iter().collect::<Option<Vec<_>>>()?;
                self.call(*function, *name, &args, span)
            }
            Value::Along(along) => self.along(along),
            Value::Sum(terms, _) => self.sum(terms, span),
            Value::Product(first, rest, _) => self.product(first, rest),
        }
    }

    /// Adds a node.
    pub fn push(&mut self, node: ScalarNode, kind: Kind, span: Span) -> Operand {
        self.nodes.push(node);
        Operand { id: ScalarId(self.nodes.len() as u32 - 1), kind, span }
    }

    fn number(&mut self, number: Number, span: Span) -> Operand {
        match number {
            Number::Integer(n) => self.constant(n, span),
            Number::Float(x) => {
                let node = ScalarNode::Const(Literal::Float(x), TypeTerm::Fixed(DType::F64));
                self.push(node, Kind::Float, span)
            }
        }
    }

    fn constant(&mut self, n: i64, span: Span) -> Operand {
        let node = ScalarNode::Const(Literal::Integer(n), TypeTerm::Fixed(DType::I64));
        self.push(node, Kind::Integer, span)
    }

    fn index(&mut self, e: &IndexExpr, span: Span) -> Operand {
        match e.as_constant() {
            Some(value) => self.constant(value, span),
            None => self.push(ScalarNode::Index(e.clone()), Kind::Integer, span),
        }
    }

    /// The one component.
    fn only(&mut self, components: &[IndexExpr], span: Span) -> Option<Operand> {
        match components {
            [e] => Some(self.index(e, span)),
            _ => {
                let found = components.len() as u64;
                let source = self.scope.source();
                let message = messages::component_count(source, span, found);
                self.scope.fail(message)
            }
        }
    }

    /// An element of an array, or a component of an eintup.
    fn element(&mut self, access: &ast::Access) -> Option<Operand> {
        let Some(array) = self.scope.known.checked.array(&access.array.text) else {
            let axes = self.scope.axes(&access.array.text);
            let axes = axes.or_else(|| self.scope.fail(messages::unknown(&access.array)))?;
            let [coord] = &access.indices[..] else {
                let message = messages::unknown(&access.array);
                return self.scope.fail(message);
            };
            return self.component(&axes, coord, access.span);
        };
        let places = self.scope.known.places(array);
        let index = self.scope.indices(&access.indices, places);
        let version = self.scope.known.versions[array].clone();
        let version = version.or_else(|| self.scope.fail(messages::unknown(&access.array)))?;
        let (kind, _) = (version.kind?, version.shape?);
        let id = self.scope.stage.read(array, self.scope.known);
        let node = Access { array: id, index: index?, span: access.span.into() };
        Some(self.push(ScalarNode::Access(node), kind, access.span))
    }

    fn dims(&mut self, of: &[Index], coord: Option<&Index>, span: Span) -> Option<Operand> {
        self.scope.integers(of)?;
        let dims = self.scope.known.extents(|extents| extents.all_dims(of));
        let dims = self.scope.check(dims)?;
        let dims: Vec<IndexExpr> =
            dims.into_iter().map(|n| IndexExpr::constant(n.min(i64::MAX as u64) as i64)).collect();
        match coord {
            Some(coord) => self.component(&dims, coord, span),
            None => self.only(&dims, span),
        }
    }

    /// One of some components: that of number `coord`. Points where there is none are skipped.
    fn component(
        &mut self,
        components: &[IndexExpr],
        coord: &Index,
        span: Span,
    ) -> Option<Operand> {
        let coord = self.scope.place(coord, 1)?.pop()?;
        self.scope.guard(&coord, components.len() as u64);
        let chosen = coord.as_constant().and_then(|at| components.get(usize::try_from(at).ok()?));
        if let Some(chosen) = chosen {
            return Some(self.index(chosen, span));
        }
        let (Some((last, others)), None) = (components.split_last(), coord.as_constant()) else {
            return Some(self.constant(0, span));
        };
        // One component is no number of the program either: a number that its type does not have is an error.
        let mut value = match others.is_empty() {
            true => self.push(ScalarNode::Index(last.clone()), Kind::Integer, span),
            false => self.index(last, span),
        };
        for (n, e) in others.iter().enumerate().rev() {
            let at = self.index(&coord, span);
            let number = self.constant(n as i64, span);
            let here = ScalarNode::Binary(BinaryOp::Eq, at.id, number.id);
            let here = self.push(here, Kind::Of(DType::Bool), span);
            let component = self.index(e, span);
            let node = ScalarNode::Select(here.id, component.id, value.id);
            value = self.push(node, Kind::Integer, span);
        }
        Some(value)
    }

    fn random(&mut self, lo: &Value, hi: &Value, float: bool, span: Span) -> Option<Operand> {
        let key = random::key(self.seed, self.site);
        self.site += 1;
        let (lo, hi) = (self.value(lo), self.value(hi));
        let (lo, hi) = (self.bound(lo?, float), self.bound(hi?, float));
        let (lo, hi) = (lo?.id, hi?.id);
        let counter = self.scope.counter();
        let kind = Kind::Of(if float { DType::F64 } else { DType::I64 });
        Some(self.push(ScalarNode::Random { key, counter, lo, hi }, kind, span))
    }

    fn bound(&mut self, bound: Operand, float: bool) -> Option<Operand> {
        let t = bound.kind.dtype();
        if float {
            return self.convert(bound, DType::F64, "RANDOM");
        }
        if !t.is_integer() {
            let message = messages::random_bound(self.scope.source(), bound.span, t);
            return self.scope.fail(message);
        }
        self.convert(bound, DType::I64, "RANDOM")
    }

    fn sum(&mut self, terms: &[(bool, Value)], span: Span) -> Option<Operand> {
        let mut sum: Option<Operand> = None;
        let mut failed = false;
        for (negated, term) in terms {
            let Some(term) = self.value(term) else {
                failed = true;
                continue;
            };
            let next = match (sum, negated) {
                (None, false) => Some(term),
                (None, true) => {
                    let term = self.number_of(term, "-")?;
                    self.negate(term, span)
                }
                (Some(sum), false) => self.binary(BinaryOp::Add, sum, term, "+"),
                (Some(sum), true) => {
                    let (sum, term) = (self.number_of(sum, "-"), self.number_of(term, "-"));
                    self.binary(BinaryOp::Sub, sum?, term?, "-")
                }
            };
            match next {
                Some(next) => sum = Some(next),
                None => failed = true,
            }
        }
        sum.filter(|_| !failed)
    }

    /// The negated value; of a number in the program, a number, which has to fit the type that it takes.
    fn negate(&mut self, operand: Operand, span: Span) -> Option<Operand> {
        if let (ScalarNode::Const(Literal::Integer(n), _), Kind::Integer) =
            (&mut self.nodes[operand.id.0 as usize], operand.kind)
        {
            *n = n.wrapping_neg();
            return Some(Operand { span, ..operand });
        }
        self.unary(UnaryOp::Neg, operand, "-", span)
    }

    fn product(&mut self, first: &Value, rest: &[(ValueOp, Value)]) -> Option<Operand> {
        let mut product = self.value(first);
        for (op, factor) in rest {
            let factor = self.value(factor);
            product = match (product, factor) {
                (Some(left), Some(right)) => self.multiply(*op, left, right),
                _ => None,
            };
        }
        product
    }

    fn multiply(&mut self, op: ValueOp, left: Operand, right: Operand) -> Option<Operand> {
        let whole = left.kind.with(right.kind).is_whole();
        match op {
            ValueOp::Mul => self.binary(BinaryOp::Mul, left, right, "*"),
            ValueOp::Div if whole => {
                let (left, right) = (self.inexact(left, "/"), self.inexact(right, "/"));
                self.binary(BinaryOp::Div, left?, right?, "/")
            }
            ValueOp::Div => self.binary(BinaryOp::Div, left, right, "/"),
            ValueOp::FloorDiv if whole => {
                let (left, right) = (self.number_of(left, "//"), self.number_of(right, "//"));
                self.binary(BinaryOp::Div, left?, right?, "//")
            }
            ValueOp::FloorDiv => self.binary(BinaryOp::FloorDiv, left, right, "//"),
        }
    }

    /// Takes what is wrong with an operand's type.
    fn refuse<T>(
        &mut self,
        operand: Operand,
        name: &str,
        accepts: ijk_types::TypeSet,
    ) -> Option<T> {
        let (source, t) = (self.scope.source(), operand.kind.dtype());
        let message = messages::operand(source, name, operand.span, t, accepts);
        self.scope.fail(message)
    }

    /// A function of one operand, of the types it is for.
    pub fn unary(
        &mut self,
        op: UnaryOp,
        operand: Operand,
        name: &str,
        span: Span,
    ) -> Option<Operand> {
        let t = operand.kind.dtype();
        if !op.accepts().contains(t) {
            return self.refuse(operand, name, op.accepts());
        }
        let result = op.result().of(t);
        let kind = if result == t { operand.kind } else { Kind::Of(result) };
        Some(self.push(ScalarNode::Unary(op, operand.id), kind, span))
    }

    /// A function of two operands, in the type they have in common.
    pub fn binary(
        &mut self,
        op: BinaryOp,
        left: Operand,
        right: Operand,
        name: &str,
    ) -> Option<Operand> {
        let common = left.kind.with(right.kind);
        let t = common.dtype();
        if !op.accepts().contains(t) {
            let culprit = if left.kind.dtype() == t { left } else { right };
            return self.refuse(culprit, name, op.accepts());
        }
        let (left, right) = (self.convert(left, t, name), self.convert(right, t, name));
        let (left, right) = (left?, right?);
        let result = op.result().of(t);
        let kind = if result == t && result != DType::Bool { common } else { Kind::Of(result) };
        let span = left.span.to(right.span);
        Some(self.push(ScalarNode::Binary(op, left.id, right.id), kind, span))
    }

    /// The same, an INT where it is a bool.
    fn number_of(&mut self, operand: Operand, name: &str) -> Option<Operand> {
        let kind = operand.kind.number();
        Some(Operand { kind, ..self.convert(operand, kind.dtype(), name)? })
    }

    /// The same, a FLOAT where it is an INT or bool.
    pub fn inexact(&mut self, operand: Operand, name: &str) -> Option<Operand> {
        let kind = operand.kind.inexact();
        Some(Operand { kind, ..self.convert(operand, kind.dtype(), name)? })
    }

    /// Comparison of a value with 0.
    pub fn truth(&mut self, operand: Operand, name: &str) -> Option<Operand> {
        self.convert(operand, DType::Bool, name)
    }

    /// The value in another type. Numbers of the program become numbers of that type.
    pub fn convert(&mut self, operand: Operand, to: DType, name: &str) -> Option<Operand> {
        let from = operand.kind.dtype();
        if from == to {
            return Some(operand);
        }
        let cast = UnaryOp::Cast(to);
        if !cast.accepts().contains(from) {
            return self.refuse(operand, name, cast.accepts());
        }
        let kind = Kind::Of(to);
        let adapts = match operand.kind {
            Kind::Integer | Kind::Integers => to != DType::Bool,
            Kind::Float => !to.is_integer() && to != DType::Bool,
            Kind::Of(t) => t.promoted(to) == to,
        };
        if let ScalarNode::Const(literal, term) = &mut self.nodes[operand.id.0 as usize]
            && adapts
        {
            if literal.to_scalar(to).is_err() {
                let message = messages::literal(self.scope.source(), operand.span, to);
                return self.scope.fail(message);
            }
            *term = TypeTerm::Fixed(to);
            return Some(Operand { kind, ..operand });
        }
        Some(self.push(ScalarNode::Unary(cast, operand.id), kind, operand.span))
    }
}
