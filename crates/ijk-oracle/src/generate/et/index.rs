//! Random index expressions: every kind of arithmetic, gathers, digits of numbers.

use super::build::{SPAN, access, dims, function as call, integer, product, rank, sum};
use super::world::{ArrayPlace, EtArray, Kind, Tuple, World};
use crate::generate::{Input, data_input};
use ijk_syntax::et::ast::{Assign, AssignOp, Index, IndexFunction, IndexOp, Statement, Value};
use ijk_types::DType;

/// Form of an index expression.
#[derive(Clone, Copy, Debug)]
enum IndexForm {
    Plain,
    Sum,
    WithStatic,
    StaticMinus,
    Negated,
    ByStatic(IndexOp),
    StaticTimes,
    Product,
    Gather,
    Nested,
    Lost,
    Flat,
    Magnitude,
    Extreme(IndexFunction),
    Clamp,
    Static,
}

const FORMS: [(u32, IndexForm); 20] = [
    (46, IndexForm::Plain),
    (8, IndexForm::Sum),
    (8, IndexForm::WithStatic),
    (5, IndexForm::StaticMinus),
    (1, IndexForm::Negated),
    (5, IndexForm::ByStatic(IndexOp::Mul)),
    (5, IndexForm::ByStatic(IndexOp::FloorDiv)),
    (4, IndexForm::ByStatic(IndexOp::CeilDiv)),
    (5, IndexForm::ByStatic(IndexOp::Mod)),
    (3, IndexForm::StaticTimes),
    (3, IndexForm::Product),
    (9, IndexForm::Gather),
    (5, IndexForm::Nested),
    (2, IndexForm::Lost),
    (5, IndexForm::Flat),
    (4, IndexForm::Magnitude),
    (3, IndexForm::Extreme(IndexFunction::Max)),
    (3, IndexForm::Extreme(IndexFunction::Min)),
    (3, IndexForm::Clamp),
    (3, IndexForm::Static),
];

impl World<'_> {
    /// An index expression for a place of rank `r`. It has that rank itself if `anchored`; otherwise it may be a
    /// scalar.
    pub fn index(&mut self, r: usize, depth: u32, anchored: bool) -> Index {
        let form = if depth == 0 { IndexForm::Plain } else { self.rng.weighted(&FORMS) };
        let inner = depth.saturating_sub(1);
        match form {
            IndexForm::Plain => self.some_tuple(r),
            IndexForm::Sum => {
                let left = self.index(r, inner, true);
                let mut terms = vec![(false, left)];
                for _ in 0..self.rng.between(1, 2) {
                    let minus = self.rng.chance(0.4);
                    terms.push((minus, self.index(r, inner, false)));
                }
                Index::Sum(terms, SPAN)
            }
            IndexForm::WithStatic => {
                let (left, right) = (self.index(r, inner, true), self.statics(r));
                sum(left, self.rng.chance(0.5), right)
            }
            IndexForm::StaticMinus => {
                let left = self.statics(r);
                sum(left, self.rng.chance(0.8), self.index(r, inner, true))
            }
            IndexForm::Negated => {
                let negated = self.rng.chance(0.6);
                Index::Sum(vec![(negated, self.index(r, inner, true))], SPAN)
            }
            IndexForm::ByStatic(op) => self.by_static(r, inner, op),
            IndexForm::StaticTimes => {
                let left = self.statics(r);
                product(left, IndexOp::Mul, self.index(r, inner, true))
            }
            IndexForm::Product => {
                let left = self.index(r, inner, true);
                product(left, IndexOp::Mul, self.index(r, 0, true))
            }
            IndexForm::Gather if r < 4 => self.gather(r, inner),
            IndexForm::Lost if r < 4 => self.lost(r, inner),
            IndexForm::Nested if r == 1 => self.nested(inner),
            IndexForm::Flat if r == 1 => self.flat(inner),
            IndexForm::Magnitude => self.magnitude(r, inner),
            IndexForm::Extreme(function) => self.extreme(r, inner, function),
            IndexForm::Clamp => self.clamp(r, inner),
            IndexForm::Static if !anchored => self.statics(r),
            _ => self.some_tuple(r),
        }
    }

    /// `ABS(e - static)`: reflected at a position.
    fn magnitude(&mut self, r: usize, depth: u32) -> Index {
        let inner = self.index(r, depth, true);
        let inner = match self.rng.below(4) {
            0 => inner,
            1 => sum(self.statics(r), true, inner),
            _ => sum(inner, true, self.statics(r)),
        };
        call(IndexFunction::Abs, vec![inner])
    }

    /// The greater or lesser of an index and of a number, or of another index.
    fn extreme(&mut self, r: usize, depth: u32, function: IndexFunction) -> Index {
        let left = self.index(r, depth, true);
        let right = match self.rng.chance(0.3) {
            true => self.index(r, depth, false),
            false => self.statics(r),
        };
        let swapped = self.rng.chance(0.3);
        call(function, if swapped { vec![right, left] } else { vec![left, right] })
    }

    /// `MIN(MAX(e - 1, 0), DIMS(f) - 1)`: the nearest position within an extent.
    fn clamp(&mut self, r: usize, depth: u32) -> Index {
        let inner = self.index(r, depth, true);
        let shifted = sum(inner, self.rng.chance(0.5), integer(self.rng.between(0, 2) as i64));
        let least = call(IndexFunction::Max, vec![shifted, integer(0)]);
        let most = sum(self.some_dims(r), true, integer(1));
        call(IndexFunction::Min, vec![least, most])
    }

    fn by_static(&mut self, r: usize, depth: u32, op: IndexOp) -> Index {
        let left = self.index(r, depth, true);
        let right = match self.rng.below(6) {
            0 => self.statics(r),
            1 if op != IndexOp::Mul => integer(-(self.rng.between(1, 3) as i64)),
            _ => integer(self.rng.between(1, 4) as i64),
        };
        let mut rest = vec![(op, right)];
        if self.rng.chance(0.15) {
            rest.push((IndexOp::Mod, integer(self.rng.between(1, 5) as i64)));
        }
        Index::Product(Box::new(left), rest, SPAN)
    }

    /// An eintup of some rank; if none fits, an extent.
    fn some_tuple(&mut self, r: usize) -> Index {
        match self.pick_tuple(r) {
            Some(at) => self.plain(at),
            None => self.some_dims(r),
        }
    }

    /// An eintup of some rank that fits into the statement.
    pub fn pick_tuple(&mut self, r: usize) -> Option<usize> {
        let own = |world: &Self, at: &usize| world.tuples[*at].rank == r;
        let pooled: Vec<usize> = self.pool.iter().copied().filter(|at| own(self, at)).collect();
        if !pooled.is_empty() && self.rng.chance(0.7) {
            return Some(*self.rng.pick(&pooled));
        }
        let usable = |at: &usize| own(self, at) && self.tuples[*at].kind != Kind::Inferred;
        let mut all: Vec<usize> = (0..self.tuples.len()).filter(usable).collect();
        self.rng.shuffle(&mut all);
        let found = all.into_iter().find(|&at| self.admit(at));
        found.or_else(|| pooled.first().copied())
    }

    /// `DIMS` of an eintup of some rank, or of the elements of an index array.
    fn some_dims(&mut self, r: usize) -> Index {
        if r == 1 && self.rng.chance(0.06) {
            return dims(vec![self.nested(0)]);
        }
        let usable = |t: &Tuple| t.rank == r && t.kind != Kind::Inferred;
        let at = self.tuples.iter().position(usable);
        let at = at.unwrap_or_else(|| self.tuple(r, Kind::Pinned));
        dims(vec![self.plain(at)])
    }

    /// A number that is known before the statement runs.
    fn statics(&mut self, r: usize) -> Index {
        match self.rng.below(9) {
            0..=3 => integer(self.rng.between(0, 4) as i64),
            4 | 8 => {
                let several = usize::from(self.rng.chance(0.3));
                let list = (0..=several).map(|_| self.rng.below(self.tuples.len()));
                let list: Vec<usize> = list.collect();
                rank(list.into_iter().map(|at| self.plain(at)).collect())
            }
            5 | 6 => self.some_dims(r),
            _ => {
                let left = self.some_dims(r);
                let one = integer(self.rng.between(0, 2) as i64);
                match self.rng.below(3) {
                    0 => sum(left, true, one),
                    1 => product(left, IndexOp::FloorDiv, integer(2)),
                    _ => sum(one, false, left),
                }
            }
        }
    }

    fn flat(&mut self, depth: u32) -> Index {
        let ranks: Vec<usize> = self.tuples.iter().map(|t| t.rank).collect();
        let mut list = Vec::new();
        for _ in 0..self.rng.between(1, 3) {
            let r = *self.rng.pick(&ranks);
            let depth = if self.rng.chance(0.4) { depth.max(1) } else { depth };
            list.push(match self.rng.below(32) {
                0 | 1 => self.some_dims(r),
                2 => self.nested(0),
                3 => self.gather(2, 0),
                _ => self.index(r, depth, true),
            });
        }
        Index::Flat(list, SPAN)
    }

    /// An element of an index array as an index.
    fn nested(&mut self, depth: u32) -> Index {
        let at = self.index_array(None);
        self.index_of(at, depth)
    }

    /// A tuple of elements of an index array.
    fn gather(&mut self, r: usize, depth: u32) -> Index {
        let at = self.index_array(Some(r));
        self.index_of(at, depth)
    }

    /// An index with an element that has no effect, unless it is out of bounds itself.
    fn lost(&mut self, r: usize, depth: u32) -> Index {
        let (left, lost) = (self.index(r, 0, true), self.gather(r, depth.max(1)));
        let lost = match self.rng.chance(0.5) {
            true => product(lost, IndexOp::Mul, integer(0)),
            false => sum(lost.clone(), true, lost),
        };
        sum(left, false, lost)
    }

    fn index_of(&mut self, at: usize, depth: u32) -> Index {
        let EtArray { name, places, star, .. } = self.arrays[at].clone();
        let mut indices = Vec::new();
        for (number, place) in places.iter().enumerate() {
            indices.push(match star {
                Some((star, _)) if star == number => Index::Star(SPAN),
                _ => match self.rng.below(20) {
                    0 => self.some_dims(place.rank),
                    1 if place.rank == 1 => self.flat(0),
                    _ => self.place_index(at, place, depth),
                },
            });
        }
        Index::Array(access(&name, indices))
    }

    /// An index at a place of an existing array.
    pub fn place_index(&mut self, array: usize, place: &ArrayPlace, depth: u32) -> Index {
        let Some(stood) = place.tuple else {
            let e = self.index(place.rank, depth, false);
            return self.not_plain(array, e);
        };
        let shared = if self.rng.chance(0.12) { self.share(stood) } else { None };
        if let Some(shared) = shared {
            return self.plain(shared);
        }
        if self.rng.chance(0.5) && self.admit(stood) {
            return self.plain(stood);
        }
        match self.index(place.rank, depth, false) {
            Index::Tuple(own) if own.text == self.tuples[stood].name => Index::Tuple(own),
            e => self.not_plain(array, e),
        }
    }

    /// An index that does not determine the extents of a bound array, as a plain eintup would.
    fn not_plain(&mut self, array: usize, e: Index) -> Index {
        match e {
            Index::Tuple(other) if self.arrays[array].bound && self.rng.chance(0.99) => {
                let one = integer(self.rng.below(2) as i64);
                sum(Index::Tuple(other), self.rng.chance(0.5), one)
            }
            e => e,
        }
    }

    /// A new eintup with the shape of the previous one at its place.
    fn share(&mut self, stood: usize) -> Option<usize> {
        if self.pool_points().saturating_mul(self.points(stood)) > self.budget {
            return None;
        }
        let name = self.fresh_tuple();
        let tuple = Tuple { name, kind: Kind::Inferred, ..self.tuples[stood].clone() };
        self.tuples.push(tuple);
        self.pool.push(self.tuples.len() - 1);
        Some(self.tuples.len() - 1)
    }

    /// An array of valid indices with a `:` of the given number of components, or without `:`.
    fn index_array(&mut self, components: Option<usize>) -> usize {
        let fits = |a: &EtArray| a.dtype.is_integer() && a.star.map(|s| s.1) == components;
        let good = |a: &EtArray| fits(a) && (components.is_some() || a.name.starts_with("idx"));
        let known: Vec<usize> =
            (0..self.arrays.len()).filter(|&at| good(&self.arrays[at])).collect();
        if !known.is_empty() && self.rng.chance(0.5) {
            return *self.rng.pick(&known);
        }
        let pool = std::mem::take(&mut self.pool);
        let at = match self.rng.chance(0.6) {
            true => self.drawn_indices(components),
            false => self.bound_indices(components),
        };
        self.pool = pool;
        at
    }

    /// `idx[a, c] = RANDOM(-1, 4, INT)`.
    fn drawn_indices(&mut self, components: Option<usize>) -> usize {
        let mut tuples = self.tuples_of_places();
        let star = components.map(|extent| {
            let place = self.rng.below(tuples.len() + 1);
            tuples.insert(place, self.coordinate(extent));
            (place, extent)
        });
        let name = self.fresh_array(Some("idx"));
        let lo = if self.rng.chance(0.3) { -1 } else { 0 };
        let hi = self.rng.between(1, 5) as i64;
        let value = Value::Random {
            lo: Box::new(super::build::whole(lo)),
            hi: Box::new(super::build::whole(hi)),
            float: false,
            span: SPAN,
        };
        let left = self.plain_access(&name, &tuples);
        let assign = Assign { op: AssignOp::Add, accumulate: false };
        self.push(Statement { left, assign, symbol: SPAN, value, declared: None, span: SPAN });
        self.add_array(name, DType::I64, &tuples, star, false)
    }

    fn tuples_of_places(&mut self) -> Vec<usize> {
        let count = self.rng.weighted(&[(2, 0), (5, 1), (4, 2)]);
        let mut tuples = Vec::new();
        for _ in 0..count {
            let usable = |at: &usize| {
                matches!(self.tuples[*at].kind, Kind::Pinned | Kind::Ranged | Kind::Derived)
            };
            let all: Vec<usize> = (0..self.tuples.len()).filter(usable).collect();
            let at = *self.rng.pick(&all);
            if self.points(at) <= 64 {
                tuples.push(at);
            }
        }
        tuples
    }

    /// The eintup of a `:` with the given number of components.
    fn coordinate(&mut self, extent: usize) -> usize {
        let kind = if self.rng.chance(0.6) { Kind::Inferred } else { Kind::Pinned };
        let at = self.tuple(1, kind);
        let (lo, hi) = (extent as u64, extent as u64);
        self.tuples[at] = Tuple { lo, hi, ..self.tuples[at].clone() };
        at
    }

    /// An input of integers.
    fn bound_indices(&mut self, components: Option<usize>) -> usize {
        let tuples = self.tuples_of_places();
        let mut ranks: Vec<(usize, Option<usize>)> =
            tuples.iter().map(|&at| (self.tuples[at].rank, None)).collect();
        let star = components.map(|extent| {
            let place = self.rng.below(ranks.len() + 1);
            ranks.insert(place, (1, Some(extent)));
            (place, extent)
        });
        let mut shape = Vec::new();
        for (rank, extent) in &ranks {
            match extent {
                Some(extent) => shape.push(*extent),
                None => (0..*rank).for_each(|_| shape.push(self.rng.between(1, 4))),
            }
        }
        let dtype = *self.rng.pick(&[DType::I64, DType::I32, DType::U8, DType::I16, DType::U64]);
        let name = self.fresh_array(Some("idx"));
        let flavour = crate::generate::Flavour::Positive;
        let mut input = data_input(self.rng, &(dtype, shape), flavour);
        shift(&mut input, self.rng.between(0, 2) as i64);
        if self.rng.chance(0.3) && !input.layout.steps.contains(&0) {
            count(&mut input);
        }
        self.bound.insert(name.clone(), input);
        let places = ranks.iter().map(|&(rank, _)| ArrayPlace { rank, tuple: None }).collect();
        self.arrays.push(EtArray { name, dtype, places, star, bound: true });
        self.arrays.len() - 1
    }

    pub fn add_array(
        &mut self,
        name: String,
        dtype: DType,
        tuples: &[usize],
        star: Option<(usize, usize)>,
        bound: bool,
    ) -> usize {
        let place = |&at: &usize| ArrayPlace { rank: self.tuples[at].rank, tuple: Some(at) };
        let places = tuples.iter().map(place).collect();
        self.arrays.push(EtArray { name, dtype, places, star, bound });
        self.arrays.len() - 1
    }

    /// Approximate maximum of a component.
    pub fn most(&self, e: &Index) -> u64 {
        match e {
            Index::Integer(n, _) => n.unsigned_abs(),
            Index::Tuple(name) => {
                self.tuples.iter().find(|t| t.name == name.text).map_or(6, |t| t.hi)
            }
            Index::Dims(list, _) => {
                list.iter().map(|e| self.most(e).saturating_add(1)).max().unwrap_or(0)
            }
            Index::Rank(list, _) => 4 * list.len() as u64,
            Index::Flat(list, _) => list
                .iter()
                .map(|e| self.most(e).saturating_add(1).saturating_pow(3))
                .fold(1, u64::saturating_mul),
            Index::Call(IndexFunction::Min, list, _) => {
                list.iter().map(|e| self.most(e)).min().unwrap_or(0)
            }
            Index::Call(_, list, _) => list.iter().map(|e| self.most(e)).max().unwrap_or(0),
            Index::Array(_) | Index::Star(_) => 6,
            Index::Sum(terms, _) => {
                terms.iter().map(|(_, term)| self.most(term)).fold(0, u64::saturating_add)
            }
            Index::Product(first, rest, _) => {
                let factors = rest.iter().filter(|(op, _)| *op == IndexOp::Mul);
                factors.fold(self.most(first), |most, (_, e)| most.saturating_mul(self.most(e)))
            }
        }
    }
}

/// Replaces the elements by 0, 1, 2, ….
fn count(input: &mut Input) {
    use ijk_types::Scalar;
    for (place, element) in input.value.data.iter_mut().enumerate() {
        *element = match *element {
            Scalar::I32(_) => Scalar::I32(place as i32),
            Scalar::I64(_) => Scalar::I64(place as i64),
            other => other,
        };
    }
}

/// Subtracts a number from the elements.
fn shift(input: &mut Input, by: i64) {
    use ijk_types::Scalar;
    for element in &mut input.value.data {
        *element = match *element {
            Scalar::I32(x) => Scalar::I32(x - by as i32),
            Scalar::I64(x) => Scalar::I64(x - by),
            other => other,
        };
    }
}
