//! Random core programs whose indices leave bounds, read arrays, multiply and divide.

use ijk_ir::core::*;
use ijk_oracle::Value;
use ijk_types::{BinaryOp, C64, C128, DType, Literal, Monoid, Reducer, Scalar, UnaryOp, scalar};

/// A program with its arguments.
pub struct Case {
    pub program: Program,
    pub instance: Instance,
    pub inputs: Vec<Value>,
}

/// A generator of numbers, the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }

    fn between(&mut self, from: i64, to: i64) -> i64 {
        from + self.below((to - from + 1) as usize) as i64
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

struct Maker {
    random: Random,
    case: Case,
    dtype: DType,
    /// True if domains are larger than those evaluated point by point.
    large: bool,
    /// Arrays of integers to index with.
    tables: Vec<ArrayId>,
    /// Arrays of the case's type, as those statements define.
    data: Vec<ArrayId>,
}

/// A convolution's filter, and the longer of its other two arrays.
struct Taps {
    filter: Vec<IndexExpr>,
    far: Vec<IndexExpr>,
    filter_shape: Vec<u64>,
    far_shape: Vec<u64>,
}

/// The case of a seed.
pub fn case(seed: u64) -> Case {
    use DType::*;
    let mut random = Random(seed);
    random.below(2);
    let dtype = random.pick(&[F64, F64, F32, I64, I64, I32, Bool, C64, C128]);
    let large = random.one_in(3);
    let case = Case {
        program: Program::default(),
        instance: Instance { dtypes: vec![], shapes: vec![], extents: vec![], passes: vec![] },
        inputs: vec![],
    };
    let mut maker = Maker { random, case, dtype, large, tables: vec![], data: vec![] };
    for _ in 0..1 + maker.random.below(2) {
        let shape = maker.shape();
        let id = maker.input(dtype, shape);
        maker.data.push(id);
        let (t, shape) = (maker.random.pick(&[I64, I64, I32]), maker.shape());
        let id = maker.input(t, shape);
        maker.tables.push(id);
    }
    for _ in 0..1 + maker.random.below(4) {
        match maker.random.below(6) {
            0 | 1 if maker.large => maker.convolution(),
            2 if maker.large => maker.prefix(),
            _ => maker.statement(),
        }
    }
    let last = *maker.data.last().unwrap();
    maker.case.program.outputs = vec![last];
    if maker.random.one_in(3) {
        let other = maker.random.pick(&maker.data);
        maker.case.program.outputs.push(other);
    }
    maker.case
}

impl Maker {
    fn extent(&mut self) -> u64 {
        match (self.large, self.random.below(12)) {
            (_, 0) => self.random.below(2) as u64,
            (false, _) => 1 + self.random.below(5) as u64,
            (true, _) => 3 + self.random.below(12) as u64,
        }
    }

    fn shape(&mut self) -> Vec<u64> {
        (0..self.random.below(4)).map(|_| self.extent()).collect()
    }

    fn array(&mut self, dtype: DType, shape: Vec<u64>) -> ArrayId {
        let Case { program, instance, .. } = &mut self.case;
        let (rank, dtype_term) = (Some(shape.len() as u32), TypeTerm::Fixed(dtype));
        program.arrays.push(Array { rank, dtype: dtype_term, span: Span::default() });
        instance.dtypes.push(dtype);
        instance.shapes.push(shape);
        ArrayId(program.arrays.len() as u32 - 1)
    }

    fn input(&mut self, dtype: DType, shape: Vec<u64>) -> ArrayId {
        let id = self.array(dtype, shape.clone());
        let shape: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
        let table = dtype != self.dtype || dtype.is_integer();
        let data = (0..shape.iter().product()).map(|_| self.number(dtype, table)).collect();
        self.case.inputs.push(Value { dtype, shape, data });
        self.case.program.inputs.push(id);
        id
    }

    /// Small whole numbers, so that no order of combination shows; others where it is stated.
    fn number(&mut self, dtype: DType, table: bool) -> Scalar {
        let x = if table { self.random.between(-2, 9) } else { self.random.between(-3, 3) };
        let special = !self.large && self.random.one_in(8);
        let f = match special {
            true => self.random.pick(&[-0.0, 0.1, f64::INFINITY, f64::NAN, -0.3]),
            false => x as f64,
        };
        match dtype {
            DType::Bool => Scalar::Bool(x > 0),
            DType::I32 => Scalar::I32(x as i32),
            DType::I64 => Scalar::I64(x),
            DType::F32 => Scalar::F32(f as f32),
            DType::F64 => Scalar::F64(f),
            DType::C64 => Scalar::C64(C64::new(f as f32, self.random.between(-2, 2) as f32)),
            DType::C128 => Scalar::C128(C128::new(f, self.random.between(-2, 2) as f64)),
            _ => scalar::unary(UnaryOp::Cast(dtype), Scalar::I64(x)).expect("a cast"),
        }
    }

    fn shape_of(&self, id: ArrayId) -> Vec<u64> {
        self.case.instance.shapes[id.0 as usize].clone()
    }

    fn statement(&mut self) {
        let most = if self.large { 5000 } else { 256 };
        let extents: Vec<u64> = (0..self.random.below(5)).map(|_| self.extent()).collect();
        if extents.iter().product::<u64>() > most {
            return;
        }
        let previous = self.random.pick(&self.data);
        let accumulates = self.random.one_in(3);
        let shape = if accumulates { self.shape_of(previous) } else { self.shape() };
        if shape.iter().product::<u64>() > 2000 {
            return;
        }
        let monoid = self.monoid();
        let value = self.value(&extents);
        let out_index = self.index_of(&shape, &extents);
        let guards = match self.random.one_in(6) {
            true => vec![(self.index(3, &extents, 1), 1 + self.random.below(4) as u64)],
            false => vec![],
        };
        let out = self.array(self.dtype, shape);
        let init = match accumulates {
            true => Init::From(previous),
            false => Init::Identity(monoid),
        };
        let axis = |n: usize| Axis { name: format!("x{n}"), dims: vec![], pins: vec![] };
        self.case.program.statements.push(Statement {
            out,
            domain: (0..extents.len()).map(axis).collect(),
            out_index,
            init,
            reduce: Some(Reducer::Monoid(monoid)),
            value,
            guards,
            span: Span::default(),
        });
        self.case.instance.extents.push(extents);
        self.data.push(out);
    }

    /// A convolution, transposed or not, linear in the input or in the filter, padded or not.
    fn convolution(&mut self) {
        let rank = 1 + self.random.below(2);
        let (transposed, in_filter) = (self.random.one_in(2), self.random.one_in(2));
        // Axes: batch, output channel, input channel, then positions, then those of the filter
        // (or, linear in the filter, of what is read or written).
        let mut extents: Vec<u64> = (0..3).map(|_| 1 + self.random.below(5) as u64).collect();
        let axis = |n: usize| IndexExpr::axis(AxisId(n as u32));
        let Taps { filter, far, filter_shape, far_shape } =
            self.taps(rank, in_filter, &mut extents);
        if extents.iter().product::<u64>() > 40_000 {
            return;
        }
        let near: Vec<IndexExpr> = (0..rank).map(|n| axis(3 + n)).collect();
        let near_shape = extents[3..3 + rank].to_vec();
        let with = |first: usize, of: &[IndexExpr], last: usize| -> Vec<IndexExpr> {
            [axis(first)].into_iter().chain(of.iter().cloned()).chain([axis(last)]).collect()
        };
        let sized = |first: usize, of: &[u64], last: usize| -> Vec<u64> {
            [extents[first]].into_iter().chain(of.iter().copied()).chain([extents[last]]).collect()
        };
        let ((read, read_shape), (written, out_shape)) = match transposed {
            true => ((&near, &near_shape), (&far, &far_shape)),
            false => ((&far, &far_shape), (&near, &near_shape)),
        };
        let filter_array = self.input(self.dtype, sized(2, &filter_shape, 1));
        let input = self.input(self.dtype, sized(0, read_shape, 2));
        let access =
            |array, index| ScalarNode::Access(Access { array, index, span: Span::default() });
        let op = match self.dtype {
            DType::Bool => BinaryOp::And,
            _ => BinaryOp::Mul,
        };
        let nodes = vec![
            access(filter_array, with(2, &filter, 1)),
            access(input, with(0, read, 2)),
            ScalarNode::Binary(op, ScalarId(0), ScalarId(1)),
        ];
        let monoid = if self.dtype == DType::Bool { Monoid::Or } else { Monoid::Add };
        let (out_index, shape) = (with(0, written, 1), sized(0, out_shape, 1));
        let out = self.array(self.dtype, shape);
        self.reduce(extents, (out, out_index), (Init::Identity(monoid), monoid), nodes);
    }

    /// Index expressions of a convolution's filter and of its longer operand, one for each dimension; adds the extents of
    /// positions and of filters.
    fn taps(&mut self, rank: usize, in_filter: bool, extents: &mut Vec<u64>) -> Taps {
        let axis = |n: usize| IndexExpr::axis(AxisId(n as u32));
        let (mut filter, mut far) = (vec![], vec![]);
        let (mut filter_shape, mut far_shape) = (vec![], vec![]);
        for n in 0..rank {
            let (p, f) = (axis(3 + n), axis(3 + rank + n));
            let positions = 2 + self.random.below(14 / rank) as u64;
            let size = 1 + self.random.below(4) as u64;
            let (stride, pad) = (1 + self.random.below(2) as i64, self.random.between(0, 2));
            let mut strided = IndexExpr::constant(-pad);
            (0..stride).for_each(|_| strided = strided.plus(&p).unwrap());
            let reach = stride * (positions as i64 - 1) + size as i64 - 2 * pad;
            let reach = (reach + self.random.between(-1, 2)).max(1) as u64;
            extents.insert(3 + n, positions);
            if in_filter {
                extents.push(reach);
                filter.push(f.plus(&negated(&strided)).unwrap());
                far.push(f);
            } else {
                extents.push(size + self.random.below(2) as u64);
                far.push(strided.plus(&f).unwrap());
                filter.push(f);
            }
            filter_shape.push(size);
            far_shape.push(reach);
        }
        Taps { filter, far, filter_shape, far_shape }
    }

    /// Adds a reduction of a value over axes of some extents.
    fn reduce(
        &mut self,
        extents: Vec<u64>,
        (out, out_index): (ArrayId, Vec<IndexExpr>),
        (init, monoid): (Init, Monoid),
        nodes: Vec<ScalarNode>,
    ) {
        let axis = |n: usize| Axis { name: format!("x{n}"), dims: vec![], pins: vec![] };
        self.case.program.statements.push(Statement {
            out,
            domain: (0..extents.len()).map(axis).collect(),
            out_index,
            init,
            reduce: Some(Reducer::Monoid(monoid)),
            value: ScalarExpr { nodes },
            guards: vec![],
            span: Span::default(),
        });
        self.case.instance.extents.push(extents);
        self.data.push(out);
    }

    /// All values up to each position, or from each on, along one or two axes; sometimes not quite.
    fn prefix(&mut self) {
        let rank = 1 + self.random.below(2);
        // Axes: one of the output, one that is reduced, positions, and distances from them.
        let mut extents: Vec<u64> = (0..2).map(|_| 1 + self.random.below(4) as u64).collect();
        let axis = |n: usize| IndexExpr::axis(AxisId(n as u32));
        let (mut read, mut read_shape, mut distances) = (vec![], vec![], vec![]);
        for n in 0..rank {
            let (p, k) = (axis(2 + n), axis(2 + rank + n));
            let positions = 2 + self.random.below(40 / rank) as i64;
            let distance = positions + self.random.between(-1, 2);
            let start = match self.random.below(4) {
                0 => p.plus(&k).unwrap(),
                1 => negated(&p).plus(&k).unwrap(),
                _ => p.plus(&negated(&k)).unwrap(),
            };
            let shift = self.random.pick(&[0, 0, 0, 1, -1, positions / 2]);
            read.push(start.plus(&IndexExpr::constant(shift)).unwrap());
            read_shape.push((positions + self.random.pick(&[0, 0, 0, 1, -1])).max(1) as u64);
            extents.push(positions as u64);
            distances.push(distance.max(1) as u64);
        }
        let positions = extents[2..].to_vec();
        extents.extend(distances);
        // Some arrays have the axis of the output, some the reduced one.
        for n in [0, 1] {
            if self.random.one_in(2) {
                let at = self.random.below(read.len() + 1);
                read.insert(at, axis(n));
                read_shape.insert(at, extents[n]);
            }
        }
        let source = self.input(self.dtype, read_shape.clone());
        let access =
            |array, index| ScalarNode::Access(Access { array, index, span: Span::default() });
        let mut nodes = vec![access(source, read.clone())];
        if self.random.one_in(3) {
            let other = self.input(self.dtype, read_shape);
            nodes.push(access(other, read));
            nodes.push(ScalarNode::Binary(self.operator(), ScalarId(0), ScalarId(1)));
        }
        let mut out_index: Vec<IndexExpr> = (2..2 + rank).map(axis).collect();
        let mut shape: Vec<u64> =
            positions.iter().map(|n| n + self.random.pick(&[0, 0, 0, 1])).collect();
        let at = self.random.below(rank + 1);
        out_index.insert(at, axis(0));
        shape.insert(at, extents[0]);
        let monoid = self.monoid();
        let previous = self.input(self.dtype, shape.clone());
        let out = self.array(self.dtype, shape);
        let init = match self.random.below(4) {
            0 => Init::From(previous),
            _ => Init::Identity(monoid),
        };
        self.reduce(extents, (out, out_index), (init, monoid), nodes);
    }

    fn monoid(&mut self) -> Monoid {
        use Monoid::*;
        match (self.dtype, self.large) {
            (DType::Bool, _) => self.random.pick(&[Or, And, Add, Mul, Max, Min]),
            (DType::I32 | DType::I64, _) => self.random.pick(&[Add, Add, Max, Min, Mul]),
            (DType::C64 | DType::C128, _) => Add,
            (_, true) => self.random.pick(&[Add, Add, Add, Max, Min]),
            (_, false) => self.random.pick(&[Add, Add, Add, Max, Min, Mul]),
        }
    }

    fn index_of(&mut self, shape: &[u64], extents: &[u64]) -> Vec<IndexExpr> {
        shape.iter().map(|&n| self.index(n, extents, 2)).collect()
    }

    /// An index for an axis of `n` elements, in bounds now and then.
    fn index(&mut self, n: u64, extents: &[u64], depth: usize) -> IndexExpr {
        let k = self.random.between(-2, 2);
        let kind = if extents.is_empty() { 0 } else { self.random.below(14) };
        let atom = IndexExpr::atom;
        let shift = |e: IndexExpr, k: i64| e.plus(&IndexExpr::constant(k)).unwrap();
        match kind {
            0 => IndexExpr::constant(self.random.between(-1, n as i64)),
            1..=4 => self.axis(extents),
            5 => shift(self.axis(extents), k),
            6 | 7 => shift(self.affine(extents), k),
            8 => {
                let e = Box::new(shift(self.affine(extents), k));
                shift(atom(Atom::FloorDiv(e, self.random.between(1, 4))), k)
            }
            9 => {
                let e = Box::new(shift(self.affine(extents), k));
                atom(Atom::Mod(e, self.random.between(1, n.max(1) as i64 + 1)))
            }
            10 if depth > 0 => {
                let (left, right) = (self.affine(extents), self.axis(extents));
                shift(shift(left, k).product(&right).unwrap(), k)
            }
            11..=13 if depth > 0 => {
                let array = self.random.pick(&self.tables);
                let shape = self.shape_of(array);
                let index = shape.iter().map(|&n| self.index(n, extents, depth - 1)).collect();
                let access = Access { array, index, span: Span::default() };
                let e = IndexExpr::element(access);
                if self.random.one_in(3) { e.plus(&self.axis(extents)).unwrap() } else { e }
            }
            _ => self.axis(extents),
        }
    }

    fn axis(&mut self, extents: &[u64]) -> IndexExpr {
        IndexExpr::axis(AxisId(self.random.below(extents.len()) as u32))
    }

    fn affine(&mut self, extents: &[u64]) -> IndexExpr {
        let mut sum = IndexExpr::constant(0);
        for _ in 0..1 + self.random.below(2) {
            let coefficient = self.random.pick(&[1, 1, 1, -1, 2, 3, -2]);
            let axis = self.axis(extents);
            for _ in 0..i64::abs(coefficient) {
                let term = if coefficient < 0 { negated(&axis) } else { axis.clone() };
                sum = sum.plus(&term).unwrap();
            }
        }
        sum
    }

    fn value(&mut self, extents: &[u64]) -> ScalarExpr {
        let mut nodes = vec![];
        let mut left = self.operand(extents, &mut nodes);
        for _ in 0..self.random.below(3) {
            let right = self.operand(extents, &mut nodes);
            let op = self.operator();
            nodes.push(ScalarNode::Binary(op, ScalarId(left), ScalarId(right)));
            left = nodes.len() as u32 - 1;
        }
        if self.random.one_in(8) && self.dtype.is_integer() {
            nodes.push(ScalarNode::Unary(UnaryOp::Recip, ScalarId(left)));
        }
        ScalarExpr { nodes }
    }

    fn operator(&mut self) -> BinaryOp {
        use BinaryOp::*;
        match self.dtype {
            DType::Bool => self.random.pick(&[And, Or, Add, Mul]),
            DType::I32 | DType::I64 => self.random.pick(&[Mul, Mul, Add, Sub, Max, Div, Mod]),
            DType::C64 | DType::C128 => self.random.pick(&[Mul, Mul, Add, Sub]),
            _ => self.random.pick(&[Mul, Mul, Mul, Add, Sub, Max, Min]),
        }
    }

    /// Adds an operand; gives its node.
    fn operand(&mut self, extents: &[u64], nodes: &mut Vec<ScalarNode>) -> u32 {
        match self.random.below(12) {
            0 => nodes.push(ScalarNode::Const(
                Literal::Integer(self.random.below(2) as i64),
                TypeTerm::Fixed(self.dtype),
            )),
            1 if !self.dtype.is_complex() => {
                nodes.push(ScalarNode::Index(self.index(4, extents, 1)));
                let at = ScalarId(nodes.len() as u32 - 1);
                if self.dtype != DType::I64 {
                    nodes.push(ScalarNode::Unary(UnaryOp::Cast(self.dtype), at));
                }
            }
            2 if matches!(self.dtype, DType::F64 | DType::I64) => self.draw(extents, nodes),
            _ => {
                let array = self.random.pick(&self.data);
                let index = self.index_of(&self.shape_of(array), extents);
                nodes.push(ScalarNode::Access(Access { array, index, span: Span::default() }));
            }
        }
        nodes.len() as u32 - 1
    }

    /// A random number; where order does not show, a whole one.
    fn draw(&mut self, extents: &[u64], nodes: &mut Vec<ScalarNode>) {
        let mut counter = IndexExpr::constant(0);
        for (axis, &extent) in extents.iter().enumerate() {
            let mut grown = IndexExpr::constant(0);
            (0..extent).for_each(|_| grown = grown.plus(&counter).unwrap());
            counter = grown.plus(&IndexExpr::axis(AxisId(axis as u32))).unwrap();
        }
        let lo = self.random.between(-3, 2);
        let whole = self.dtype == DType::F64 && self.large;
        let t = if whole { DType::I64 } else { self.dtype };
        let mut bound = |x: i64| {
            nodes.push(ScalarNode::Const(Literal::Integer(x), TypeTerm::Fixed(t)));
            ScalarId(nodes.len() as u32 - 1)
        };
        let (lo, hi) = (bound(lo), bound(3));
        let key = self.random.below(1 << 30) as u64;
        nodes.push(ScalarNode::Random { key, counter, lo, hi });
        if whole {
            let at = ScalarId(nodes.len() as u32 - 1);
            nodes.push(ScalarNode::Unary(UnaryOp::Cast(DType::F64), at));
        }
    }
}

fn negated(e: &IndexExpr) -> IndexExpr {
    let terms = e.terms.iter().map(|(c, atom)| (-c, atom.clone())).collect();
    IndexExpr { constant: -e.constant, terms }
}

/// Tells whether two results are equal; if no order is fixed, zeros of either sign are.
pub fn agree(case: &Case, expected: &Value, found: &Value) -> bool {
    let small = case.instance.extents.iter().all(|e| e.iter().product::<u64>() <= 256);
    let same = |x: Scalar, y: Scalar| {
        let equal = || scalar::binary(BinaryOp::Eq, x, y) == Ok(Scalar::Bool(true));
        ijk_oracle::same_bits(x, y) || (!small && equal())
    };
    expected.shape == found.shape
        && expected.dtype == found.dtype
        && expected.data.iter().zip(&found.data).all(|(&x, &y)| same(x, y))
}
