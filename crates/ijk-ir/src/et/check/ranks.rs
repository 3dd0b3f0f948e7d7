//! Equalities of ranks that follow from statements.

use super::super::arith;
use super::super::codes;
use super::super::extent::{is_static, not_static, spelling};
use super::super::system::{CountedQuantity, Link, RankNode, Tie, Total};
use super::super::walk::Role;
use super::super::{Origin, ShapeId};
use super::Symbols;
use crate::sink::Sink;
use crate::text::quote;
use ijk_syntax::Span;
use ijk_syntax::et::ast::{Access, Index, IndexOp, Name, Statement, Value};

/// Collects ties and links.
pub struct Ranker<'a> {
    pub source: &'a str,
    pub found: &'a Symbols,
    pub sink: &'a mut Sink,
    pub ties: Vec<Tie>,
    pub links: Vec<Link>,
    /// Arrays whose size is known from an earlier access.
    sized: Vec<bool>,
    /// Inputs' places at which only scalars have stood.
    scalar_places: Vec<Vec<Option<Span>>>,
}

/// The rank of an index expression.
enum IndexRank {
    /// It takes that of its place.
    Scalar,
    /// The rank of its place, for an array with `:`.
    Star,
    Of(Total, Span),
}

/// Context of an index expression.
#[derive(Clone, Copy)]
enum Around {
    /// A place or something else of that rank.
    Place(RankNode),
    /// `RANK`, `FLAT` or a value, for which an array with `:` has as many components as there are.
    Free,
    /// `DIMS` of several expressions, whose ranks add up to that of a place.
    Added,
}

impl<'a> Ranker<'a> {
    pub fn new(source: &'a str, found: &'a Symbols, sink: &'a mut Sink) -> Self {
        let arrays = &found.arrays.infos;
        let scalar_places = arrays.iter().map(|a| vec![None; a.places]).collect();
        let (ties, links) = (Vec::new(), Vec::new());
        Self { source, found, sink, ties, links, sized: vec![false; arrays.len()], scalar_places }
    }

    pub fn statement(&mut self, statement: &Statement) {
        self.access(&statement.left, Role::Left, None);
        self.value(&statement.value);
    }

    /// The condition of a loop.
    pub fn condition(&mut self, condition: &Value) {
        self.value(condition);
    }

    /// Gives rank 1 to places of inputs where only scalars stand.
    pub fn finish(&mut self) {
        let known: std::collections::HashSet<RankNode> =
            self.ties.iter().flat_map(|t| t.left.nodes.clone()).collect();
        let places = std::mem::take(&mut self.scalar_places);
        for (array, places) in places.into_iter().enumerate() {
            for (place, span) in places.into_iter().enumerate() {
                let node = self.found.place(array, place);
                if let Some(span) = span
                    && !known.contains(&node)
                {
                    self.is_one(node, span, "has rank 1 where no eintup says otherwise");
                }
            }
        }
    }

    fn tie(&mut self, left: Total, right: Total, span: Span, why: String) {
        if left != right {
            self.ties.push(Tie { left, right, span, why });
        }
    }

    fn is_one(&mut self, node: RankNode, span: Span, why: &str) {
        let why = format!("{}: it {why}", quote(self.source, span, "this"));
        self.tie(Total::of(node), self.found.one(), span, why);
    }

    /// Checks an access; the rank is [`IndexRank::Star`] with a `:` among its indices.
    fn access(&mut self, access: &Access, role: Role, around: Option<RankNode>) -> IndexRank {
        let name = &access.array;
        if let Some(shape) = self.found.shape(&name.text) {
            self.component(access, role, shape);
            return IndexRank::Of(self.found.one(), access.span);
        }
        let Some(array) = self.found.arrays.get(&name.text) else {
            return IndexRank::Of(self.found.one(), access.span);
        };
        let first = !std::mem::replace(&mut self.sized[array], true);
        let stars: Vec<Span> = access.indices.iter().filter_map(star).collect();
        self.judge_stars(access, role, &stars);
        for (place, index) in access.indices.iter().enumerate() {
            if place < self.found.arrays.infos[array].places {
                self.place(array, place, index, first);
            }
        }
        if stars.is_empty() || role != Role::Nested {
            return IndexRank::Of(self.found.one(), access.span);
        }
        if let Some(outer) = around {
            self.link_star(array, access, outer);
        }
        IndexRank::Star
    }

    fn judge_stars(&mut self, access: &Access, role: Role, stars: &[Span]) {
        let name = &access.array.text;
        if role != Role::Nested {
            for span in stars {
                let message = format!(
                    "`:` stands only among the indices of an array that is itself an index, and `{name}[…]` is not"
                );
                self.sink.push(codes::STAR_OUTSIDE.error(*span, message));
            }
        } else if let [first, second, ..] = stars {
            let message = format!("`{name}[…]` has two `:`, of which one can count its components");
            let error = codes::TWO_STARS.error(*second, message).with_related(*first, "the first");
            self.sink.push(error);
        }
    }

    fn place(&mut self, array: usize, place: usize, index: &Index, first: bool) {
        let node = self.found.place(array, place);
        let info = &self.found.arrays.infos[array];
        let name = format!("place {place} of `{}`", info.name);
        if let Index::Star(span) = index {
            return self.is_one(node, *span, "has rank 1");
        }
        match self.index(index, Around::Place(node)) {
            IndexRank::Of(total, span) => {
                let why = format!("{} indexes {name}", quote(self.source, span, "this"));
                self.tie(Total::of(node), total, span, why);
            }
            IndexRank::Star => {
                self.scalar_places[array][place] = None;
            }
            IndexRank::Scalar if first && info.origin != Origin::Input => {
                let why = format!("sizes {name} with rank 1");
                self.is_one(node, index.span(), &why);
            }
            IndexRank::Scalar if first => self.scalar_places[array][place] = Some(index.span()),
            IndexRank::Scalar => {}
        }
    }

    fn link_star(&mut self, array: usize, access: &Access, outer: RankNode) {
        let Some(place) = access.indices.iter().position(|i| star(i).is_some()) else { return };
        if place >= self.found.arrays.infos[array].places {
            return;
        }
        let counts = match self.found.place_shape(array, place) {
            Some(shape) => CountedQuantity::Shape(shape),
            None => CountedQuantity::Place { array, place },
        };
        let span = access.indices[place].span();
        self.links.push(Link { counts, rank: Total::of(outer), strict: true, span });
    }

    /// `pos[coord]`.
    fn component(&mut self, access: &Access, role: Role, shape: ShapeId) {
        let name = &access.array.text;
        if role == Role::Nested {
            let message =
                format!("`{name}` is an eintup, whose components are values, not indices");
            let error = codes::COMPONENT_AS_INDEX.error(access.span, message).with_hint(format!(
                "an array `x[k] = {name}[k]` of an earlier statement can be an index"
            ));
            self.sink.push(error);
        }
        let [coord] = &access.indices[..] else {
            let found = access.indices.len();
            let message =
                format!("`{name}` is an eintup: one index selects a component, not {found}");
            self.sink.push(codes::COMPONENT_INDEX.error(access.span, message));
            return;
        };
        if let Index::Tuple(at) = coord
            && at.text == *name
        {
            let this = quote(self.source, access.span, "this");
            let message = format!(
                "{this} is the component of the eintup `{name}` at its own position, not an element of an array"
            );
            let hint =
                format!("the position is `{name}`; an array needs a name that is no eintup's");
            self.sink
                .push(codes::COMPONENT_OF_ITSELF.warning(access.span, message).with_hint(hint));
        }
        self.coordinate(coord, Some(Total::of(RankNode(shape.0))));
    }

    /// The index of a component of something of rank `total`, where that is known.
    fn coordinate(&mut self, coord: &Index, total: Option<Total>) {
        let one = self.found.one_node();
        if let Index::Star(span) = coord {
            let message = "`:` cannot select a component";
            self.sink.push(codes::STAR_OUTSIDE.error(*span, message));
        } else if let IndexRank::Of(rank, span) = self.index(coord, Around::Place(one)) {
            let why = format!("{} selects one component", quote(self.source, span, "this"));
            self.tie(rank, self.found.one(), span, why);
        }
        if let (Index::Tuple(name), Some(rank)) = (coord, total)
            && let Some(shape) = self.found.shape(&name.text)
        {
            let counts = CountedQuantity::Shape(shape);
            self.links.push(Link { counts, rank, strict: false, span: name.span });
        }
    }

    fn index(&mut self, index: &Index, around: Around) -> IndexRank {
        match index {
            Index::Integer(..) => IndexRank::Scalar,
            Index::Rank(of, _) => {
                self.total(of, Around::Free);
                IndexRank::Scalar
            }
            Index::Tuple(name) => self.tuple(name),
            Index::Dims(of, span) => self.extents(of, *span, around),
            Index::Flat(of, span) => {
                self.total(of, Around::Free);
                IndexRank::Of(self.found.one(), *span)
            }
            Index::Array(nested) => self.nested(nested, around),
            Index::Star(span) => {
                let message = "`:` stands alone as an index of a nested array";
                self.sink.push(codes::STAR_OUTSIDE.error(*span, message));
                IndexRank::Scalar
            }
            Index::Call(_, of, _) => self.meet(of.iter(), around),
            Index::Sum(terms, _) => self.meet(terms.iter().map(|(_, term)| term), around),
            Index::Product(first, rest, _) => {
                rest.iter().for_each(|(op, factor)| self.divisor(*op, factor));
                let factors = rest.iter().map(|(_, factor)| factor);
                self.meet(std::iter::once(&**first).chain(factors), around)
            }
        }
    }

    fn tuple(&mut self, name: &Name) -> IndexRank {
        match self.found.shape(&name.text) {
            Some(shape) => IndexRank::Of(Total::of(RankNode(shape.0)), name.span),
            None => IndexRank::Scalar,
        }
    }

    fn nested(&mut self, access: &Access, around: Around) -> IndexRank {
        let place = match around {
            Around::Place(node) => Some(node),
            Around::Free | Around::Added => None,
        };
        let rank = self.access(access, Role::Nested, place);
        if let (IndexRank::Star, Around::Added) = (&rank, around) {
            let text = quote(self.source, access.span, "it");
            let message =
                format!("{text} stands beside others in `DIMS(…)`: nothing tells its rank");
            let error = codes::STAR_IN_DIMS.error(access.span, message);
            self.sink.push(error.with_hint(format!(
                "`DIMS({})` has the rank of its place",
                text.trim_matches('`')
            )));
        }
        rank
    }

    /// `DIMS(…)`.
    fn extents(&mut self, of: &[Index], span: Span, around: Around) -> IndexRank {
        let around = match around {
            Around::Place(_) if of.len() > 1 => Around::Added,
            around => around,
        };
        self.total(of, around).map_or(IndexRank::Star, |total| IndexRank::Of(total, span))
    }

    /// Equates the ranks of operands.
    fn meet<'b>(&mut self, operands: impl Iterator<Item = &'b Index>, around: Around) -> IndexRank {
        let mut met = IndexRank::Scalar;
        for operand in operands {
            match (self.index(operand, around), &met) {
                (IndexRank::Of(total, span), IndexRank::Of(before, at)) => {
                    let (this, that) =
                        (quote(self.source, span, "this"), quote(self.source, *at, "that"));
                    let why = format!("{this} and {that} are in one index expression");
                    self.tie(before.clone(), total, span, why);
                }
                (IndexRank::Of(total, span), _) => met = IndexRank::Of(total, span),
                (IndexRank::Star, IndexRank::Scalar) => met = IndexRank::Star,
                _ => {}
            }
        }
        met
    }

    /// The sum of the ranks of the arguments of `DIMS`, `RANK` or `FLAT`; none with a `:` among them.
    fn total(&mut self, of: &[Index], around: Around) -> Option<Total> {
        let mut sum = Total::default();
        let mut known = true;
        for e in of {
            match self.index(e, around) {
                IndexRank::Of(total, _) => sum.add(&total),
                IndexRank::Scalar => sum.add(&Total { nodes: vec![], constant: 1 }),
                IndexRank::Star => known = false,
            }
        }
        known.then(|| sum.simplified(self.found.one_node()))
    }

    fn divisor(&mut self, op: IndexOp, factor: &Index) {
        if op == IndexOp::Mul {
            return;
        }
        if !is_static(factor) {
            self.sink.push(not_static(self.source, op, factor.span()));
        } else if constant(factor) == Some(0) {
            let message = format!("the right operand of `{}` is 0", spelling(op));
            self.sink.push(codes::ZERO_DIVISOR.error(factor.span(), message));
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Number(..) => {}
            Value::Element(access) => {
                self.access(access, Role::Right, None);
            }
            Value::Tuple(name) => {
                self.bare(name, "is a value, as only an eintup of rank 1 can be without `[…]`");
            }
            Value::Dims { of, coord, span } => self.dims(of, coord.as_deref(), *span),
            Value::Rank(of, _) => {
                self.total(of, Around::Free);
            }
            Value::Random { lo, hi, .. } => {
                self.value(lo);
                self.value(hi);
            }
            Value::Call { args, .. } => args.iter().for_each(|a| self.value(a)),
            Value::Along(along) => {
                self.value(&along.of);
                self.bare(
                    &along.tuple,
                    "is what values are taken along, as only an eintup of rank 1 can be",
                );
                if let Some(place) = &along.place {
                    self.coordinate(place, None);
                }
            }
            Value::Sum(terms, _) => terms.iter().for_each(|(_, t)| self.value(t)),
            Value::Product(first, rest, _) => {
                self.value(first);
                rest.iter().for_each(|(_, f)| self.value(f));
            }
        }
    }

    fn bare(&mut self, name: &Name, why: &str) {
        match self.found.shape(&name.text) {
            Some(shape) => {
                self.is_one(RankNode(shape.0), name.span, why);
            }
            None => {
                let text = &name.text;
                let message = format!("`{text}` is an array: its elements are `{text}[…]`");
                self.sink.push(codes::ARRAY_WITHOUT_BRACKETS.error(name.span, message));
            }
        }
    }

    fn dims(&mut self, of: &[Index], coord: Option<&Index>, span: Span) {
        let total = self.total(of, Around::Free);
        match (coord, total) {
            (Some(coord), total) => self.coordinate(coord, total),
            (None, None) => {}
            (None, Some(total)) => {
                let text = quote(self.source, span, "this");
                let why = format!("{text} is a value, which is one extent");
                self.tie(total, self.found.one(), span, why);
            }
        }
    }
}

fn star(index: &Index) -> Option<Span> {
    match index {
        Index::Star(span) => Some(*span),
        _ => None,
    }
}

/// The value of an expression of integers alone.
fn constant(index: &Index) -> Option<i128> {
    match index {
        Index::Integer(value, _) => Some((*value).into()),
        Index::Call(function, of, _) => {
            let operands = of.iter().map(constant).collect::<Option<Vec<_>>>()?;
            arith::call(*function, operands.into_iter())
        }
        Index::Sum(terms, _) => terms.iter().try_fold(0i128, |sum, (negated, term)| {
            let value = constant(term)?;
            if *negated { sum.checked_sub(value) } else { sum.checked_add(value) }
        }),
        Index::Product(first, rest, _) => {
            rest.iter().try_fold(constant(first)?, |a, (op, b)| arith::apply(*op, a, constant(b)?))
        }
        _ => None,
    }
}
