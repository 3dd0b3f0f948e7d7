//! Programs written by hand, and literal interpreters of programs and of plans to compare.

#![allow(dead_code)]

pub mod stage;

use ijk_ir::core::*;
use ijk_plan::plan::{Node, Place, Plan, Start, Step, Then};
use ijk_plan::{Layout, c_strides, plan};
use ijk_types::{
    BinaryOp, DType, Literal, Monoid, Reducer, Scalar, TypeSet, UnaryOp, random, scalar,
};
use std::collections::BTreeMap;

/// A program under construction; every letter has one extent.
pub struct Builder {
    pub program: Program,
    pub instance: Instance,
    letters: BTreeMap<char, u64>,
    dtype: DType,
}

impl Builder {
    pub fn new(dtype: DType, letters: &[(char, u64)]) -> Self {
        let program = Program { types: vec![TypeSet::ALL], ..Program::default() };
        let instance = Instance { dtypes: vec![], shapes: vec![], extents: vec![] };
        Self { program, instance, letters: letters.iter().copied().collect(), dtype }
    }

    fn array(&mut self, dtype: DType, shape: Vec<u64>) -> ArrayId {
        let term = if dtype == self.dtype { TypeTerm::Var(0) } else { TypeTerm::Fixed(dtype) };
        let span = Span::default();
        self.program.arrays.push(Array { rank: Some(shape.len() as u32), dtype: term, span });
        self.instance.dtypes.push(dtype);
        self.instance.shapes.push(shape);
        ArrayId(self.program.arrays.len() as u32 - 1)
    }

    /// An input with these letters' extents.
    pub fn input(&mut self, letters: &str) -> ArrayId {
        let shape = letters.chars().map(|c| self.letters[&c]).collect();
        self.input_shape(shape)
    }

    pub fn input_shape(&mut self, shape: Vec<u64>) -> ArrayId {
        let id = self.array(self.dtype, shape);
        self.program.inputs.push(id);
        id
    }

    pub fn output(&mut self, id: ArrayId) {
        self.program.outputs.push(id);
    }

    /// `reduce(value over operands)~out`; `build` makes nodes after the operands' accesses.
    pub fn statement(
        &mut self,
        operands: &[(ArrayId, &str)],
        build: impl FnOnce(&mut Vec<ScalarNode>),
        out: &str,
        reduce: Option<Reducer>,
    ) -> ArrayId {
        let mut domain: Vec<char> = Vec::new();
        let texts = operands.iter().map(|o| o.1).chain([out]);
        for c in texts.flat_map(str::chars).filter(|c| c.is_alphabetic()) {
            if !domain.contains(&c) {
                domain.push(c);
            }
        }
        let span = Span::default();
        let access = |&(array, text): &(ArrayId, &str)| {
            ScalarNode::Access(Access { array, index: indices(text, &domain), span })
        };
        let mut nodes: Vec<ScalarNode> = operands.iter().map(access).collect();
        build(&mut nodes);
        let value = ScalarExpr { nodes };
        let extents: Vec<u64> = domain.iter().map(|c| self.letters[c]).collect();
        let out_index = indices(out, &domain);
        let shape = out_index.iter().map(|e| extent(e, &extents)).collect();
        let dtype = match reduce {
            Some(Reducer::ArgMax | Reducer::ArgMin) => DType::I64,
            _ => self.type_of(&value),
        };
        let out = self.array(dtype, shape);
        let axis = |c: &char| Axis { name: c.to_string(), dims: vec![], pins: vec![] };
        let init = match reduce {
            Some(Reducer::Monoid(m)) => Init::Identity(m),
            _ => Init::Zero,
        };
        let domain = domain.iter().map(axis).collect();
        self.program.statements.push(Statement {
            out,
            domain,
            out_index,
            init,
            reduce,
            value,
            guards: vec![],
            span,
        });
        self.instance.extents.push(extents);
        out
    }

    fn type_of(&self, value: &ScalarExpr) -> DType {
        let mut types: Vec<DType> = vec![];
        for node in &value.nodes {
            types.push(match node {
                ScalarNode::Access(a) => self.instance.dtypes[a.array.0 as usize],
                ScalarNode::Const(_, t) => t.resolve(&[self.dtype]),
                ScalarNode::Index(_) => DType::I64,
                ScalarNode::Unary(op, x) => op.result().of(types[x.0 as usize]),
                ScalarNode::Binary(op, x, _) => op.result().of(types[x.0 as usize]),
                ScalarNode::Select(_, x, _) | ScalarNode::Random { lo: x, .. } => {
                    types[x.0 as usize]
                }
            });
        }
        types[types.len() - 1]
    }

    pub fn binary(
        &mut self,
        op: BinaryOp,
        a: (ArrayId, &str),
        b: (ArrayId, &str),
        out: &str,
    ) -> ArrayId {
        self.statement(&[a, b], |n| n.push(binary(op, 0, 1)), out, None)
    }

    pub fn fused(
        &mut self,
        m: Monoid,
        op: BinaryOp,
        a: (ArrayId, &str),
        b: (ArrayId, &str),
        out: &str,
    ) -> ArrayId {
        let reduce = Some(Reducer::Monoid(m));
        self.statement(&[a, b], |n| n.push(binary(op, 0, 1)), out, reduce)
    }

    pub fn reduce(&mut self, m: Monoid, a: (ArrayId, &str), out: &str) -> ArrayId {
        self.statement(&[a], |_| {}, out, Some(Reducer::Monoid(m)))
    }

    pub fn view(&mut self, a: (ArrayId, &str), out: &str) -> ArrayId {
        self.statement(&[a], |_| {}, out, None)
    }

    pub fn unary(&mut self, op: UnaryOp, a: (ArrayId, &str), out: &str) -> ArrayId {
        self.statement(&[a], |n| n.push(ScalarNode::Unary(op, ScalarId(0))), out, None)
    }

    /// `literal op operand`.
    pub fn with_number(&mut self, op: BinaryOp, x: i64, a: (ArrayId, &str), out: &str) -> ArrayId {
        let build = |n: &mut Vec<ScalarNode>| {
            n.push(ScalarNode::Const(Literal::Integer(x), TypeTerm::Var(0)));
            n.push(binary(op, 1, 0));
        };
        self.statement(&[a], build, out, None)
    }

    pub fn plan(&self) -> Plan {
        let layout = Layout::contiguous(&self.program, &self.instance);
        plan(&self.program, &self.instance, &layout).unwrap()
    }

    /// The plan, after it was found to compute what the program says, for several layouts.
    pub fn checked(&self) -> Plan {
        checked(&self.program, &self.instance)
    }
}

/// The plan of a program in i for arguments of a type and shapes, found to be right.
pub fn checked_source(source: &str, arguments: &[(DType, &[u64])]) -> Plan {
    let compiled = ijk_ir::compile_source(source);
    let Some(program) = compiled.program else { panic!("{source}: {:?}", compiled.diagnostics) };
    let instance = ijk_ir::instantiate(&program, arguments);
    let instance = instance.unwrap_or_else(|errors| panic!("{source}: {errors:?}"));
    checked(&program, &instance)
}

/// The plan of a program, found to compute what that says, for several layouts.
pub fn checked(program: &Program, instance: &Instance) -> Plan {
    let contiguous = Layout::contiguous(program, instance);
    let (strided, inputs) = strided(program, instance);
    let expected = run_program(program, instance, &inputs);
    let strided = Layout { inputs: strided, ..contiguous.clone() };
    let sweeping = Layout { near: 100, ..contiguous.clone() };
    for layout in [contiguous.clone(), strided, sweeping] {
        let plan = plan(program, instance, &layout).unwrap();
        let got = run_plan(&plan, &inputs);
        for (n, (e, g)) in expected.iter().zip(&got).enumerate() {
            close(e, g, &format!("result {n} of\n{plan}\n{plan:#?}"));
        }
    }
    plan(program, instance, &contiguous).unwrap()
}

/// Reversed, transposed strides for every input, and its elements in C order.
fn strided(program: &Program, instance: &Instance) -> (Vec<Vec<isize>>, Vec<Vec<Scalar>>) {
    let (mut all, mut data) = (vec![], vec![]);
    for (n, input) in program.inputs.iter().enumerate() {
        let shape = &instance.shapes[input.0 as usize];
        let dtype = instance.dtypes[input.0 as usize];
        let reversed: Vec<u64> = shape.iter().rev().copied().collect();
        all.push(c_strides(&reversed).into_iter().rev().map(|s| -2 * s).collect());
        let len = shape.iter().product::<u64>();
        let value = |x: u64| (x * 7 + 3 * n as u64 + 1) % 11;
        data.push((0..len).map(|x| from_int(value(x) as i64 - 4, dtype)).collect());
    }
    (all, data)
}

pub fn binary(op: BinaryOp, x: u32, y: u32) -> ScalarNode {
    ScalarNode::Binary(op, ScalarId(x), ScalarId(y))
}

fn extent(e: &IndexExpr, extents: &[u64]) -> u64 {
    let mut greatest = -1;
    let at_least_one: Vec<u64> = extents.iter().map(|&n| n.max(1)).collect();
    for_points(&at_least_one, |p| greatest = greatest.max(e.eval(p)));
    let empty = (0..extents.len()).any(|a| extents[a] == 0 && uses(e, a));
    if empty { 0 } else { (greatest + 1) as u64 }
}

/// `ij`, `[4*i+j]k`, `[i/2][i%2]`.
fn indices(text: &str, domain: &[char]) -> Vec<IndexExpr> {
    let axis = |c: char| AxisId(domain.iter().position(|d| *d == c).unwrap() as u32);
    let mut result = vec![];
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c != '[' {
            if c != '.' {
                result.push(IndexExpr::axis(axis(c)));
            }
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let end = rest.find(']').unwrap();
        let mut e = IndexExpr::default();
        for term in rest[1..end].split('+') {
            let letter = term.chars().find(|c| c.is_alphabetic());
            match letter {
                None => e.constant += term.parse::<i64>().unwrap(),
                Some(c) => {
                    let (before, after) = term.split_once(c).unwrap();
                    let k = before.trim_end_matches('*').parse().unwrap_or(1);
                    let inner = Box::new(IndexExpr::axis(axis(c)));
                    let atom = match after.split_at_checked(1) {
                        Some(("/", d)) => Atom::FloorDiv(inner, d.parse().unwrap()),
                        Some(("%", d)) => Atom::Mod(inner, d.parse().unwrap()),
                        _ => Atom::Axis(axis(c)),
                    };
                    e.terms.push((k, atom));
                }
            }
        }
        e.terms.sort_by_key(|(_, a)| match a {
            Atom::Axis(a) => a.0,
            _ => u32::MAX,
        });
        result.push(e);
        rest = &rest[end + 1..];
    }
    result
}

pub fn from_int(x: i64, t: DType) -> Scalar {
    match t {
        DType::Bool => Scalar::Bool(x & 1 == 1),
        DType::I32 => Scalar::I32(x as i32),
        DType::I64 => Scalar::I64(x),
        DType::F32 => Scalar::F32(x as f32),
        DType::F64 => Scalar::F64(x as f64),
        DType::C64 => Scalar::C64(ijk_types::C64::new(x as f32, 1.0)),
        DType::C128 => Scalar::C128(ijk_types::C128::new(x as f64, 1.0)),
    }
}

fn as_float(x: Scalar) -> f64 {
    match x {
        Scalar::Bool(b) => f64::from(u8::from(b)),
        Scalar::I32(x) => x.into(),
        Scalar::I64(x) => x as f64,
        Scalar::F32(x) => x.into(),
        Scalar::F64(x) => x,
        Scalar::C64(z) => f64::from(z.re + 3.0 * z.im),
        Scalar::C128(z) => z.re + 3.0 * z.im,
    }
}

fn close(expected: &[Scalar], got: &[Scalar], what: &str) {
    assert_eq!(expected.len(), got.len());
    for (at, (e, g)) in expected.iter().zip(got).enumerate() {
        let (x, y) = (as_float(*e), as_float(*g));
        let near = x == y || (x - y).abs() <= 1e-5 * x.abs().max(1.0) || (x.is_nan() && y.is_nan());
        assert!(near && e.dtype() == g.dtype(), "{e:?} but {g:?} at {at} in {what}");
    }
}

pub fn for_points(extents: &[u64], mut f: impl FnMut(&[i64])) {
    if extents.contains(&0) {
        return;
    }
    let mut point = vec![0i64; extents.len()];
    loop {
        f(&point);
        let Some(axis) = (0..extents.len()).rev().find(|&a| point[a] + 1 < extents[a] as i64)
        else {
            return;
        };
        point[axis] += 1;
        point[axis + 1..].fill(0);
    }
}

/// Combines values on one element; positions keep the best value beside.
struct Cell {
    value: Scalar,
    best: Option<Scalar>,
}

fn combine(cell: &mut Cell, reduce: Option<Reducer>, value: Scalar, position: i64) {
    match reduce {
        None => cell.value = value,
        Some(Reducer::Monoid(m)) => {
            cell.value = scalar::binary(m.op(), cell.value, value).unwrap();
        }
        Some(arg) => {
            let op = if arg == Reducer::ArgMax { BinaryOp::Gt } else { BinaryOp::Lt };
            let holds = |op, x, y| scalar::binary(op, x, y) == Ok(Scalar::Bool(true));
            let is_nan = |x| holds(BinaryOp::Ne, x, x);
            let beats = |best| !is_nan(best) && (is_nan(value) || holds(op, value, best));
            if cell.best.is_none_or(beats) {
                cell.best = Some(value);
                cell.value = Scalar::I64(position);
            }
        }
    }
}

pub fn run_program(p: &Program, i: &Instance, inputs: &[Vec<Scalar>]) -> Vec<Vec<Scalar>> {
    let mut arrays: Vec<Vec<Scalar>> = vec![vec![]; p.arrays.len()];
    for (id, data) in p.inputs.iter().zip(inputs) {
        arrays[id.0 as usize] = data.clone();
    }
    let mut variables = vec![DType::F64; p.types.len()];
    for (array, &dtype) in p.arrays.iter().zip(&i.dtypes) {
        if let TypeTerm::Var(v) = array.dtype {
            variables[v as usize] = dtype;
        }
    }
    let linear = |id: ArrayId, index: &[IndexExpr], point: &[i64]| {
        let strides = c_strides(&i.shapes[id.0 as usize]);
        index.iter().zip(strides).map(|(e, s)| e.eval(point) as isize * s).sum::<isize>() as usize
    };
    for (s, extents) in p.statements.iter().zip(&i.extents) {
        let shape = &i.shapes[s.out.0 as usize];
        let t = i.dtypes[s.out.0 as usize];
        let start = match (s.init, s.reduce) {
            (Init::Identity(m), Some(Reducer::Monoid(_))) => scalar::identity(m, t),
            _ => from_zero(t),
        };
        let len = shape.iter().product::<u64>() as usize;
        let mut out: Vec<Cell> = (0..len).map(|_| Cell { value: start, best: None }).collect();
        let kept: Vec<bool> =
            (0..extents.len()).map(|a| s.out_index.iter().any(|e| uses(e, a))).collect();
        let inside = |id: ArrayId, index: &[IndexExpr], point: &[i64]| {
            let mut places = index.iter().zip(&i.shapes[id.0 as usize]);
            places.all(|(e, &n)| (0..n as i64).contains(&e.eval(point)))
        };
        for_points(extents, |point| {
            let mut values: Vec<Scalar> = vec![];
            let counts = |node: &ScalarNode| match node {
                ScalarNode::Access(a) => inside(a.array, &a.index, point),
                _ => true,
            };
            if !inside(s.out, &s.out_index, point) || !s.value.nodes.iter().all(counts) {
                return;
            }
            for node in &s.value.nodes {
                let v = |x: &ScalarId| values[x.0 as usize];
                let value = match node {
                    ScalarNode::Access(a) => {
                        arrays[a.array.0 as usize][linear(a.array, &a.index, point)]
                    }
                    ScalarNode::Const(l, t) => l.to_scalar(t.resolve(&variables)).unwrap(),
                    ScalarNode::Index(e) => Scalar::I64(e.eval(point)),
                    ScalarNode::Unary(op, x) => scalar::unary(*op, v(x)).unwrap(),
                    ScalarNode::Binary(op, x, y) => scalar::binary(*op, v(x), v(y)).unwrap(),
                    ScalarNode::Random { .. } => unreachable!("i has no random numbers"),
                    ScalarNode::Select(c, x, y) => {
                        if v(c) == Scalar::Bool(true) {
                            v(x)
                        } else {
                            v(y)
                        }
                    }
                };
                values.push(value);
            }
            let position = kept.iter().position(|k| !k).map_or(0, |a| point[a]);
            let cell = &mut out[linear(s.out, &s.out_index, point)];
            combine(cell, s.reduce, values[values.len() - 1], position);
        });
        arrays[s.out.0 as usize] = out.into_iter().map(|c| c.value).collect();
    }
    p.outputs.iter().map(|o| arrays[o.0 as usize].clone()).collect()
}

fn uses(e: &IndexExpr, axis: usize) -> bool {
    e.terms.iter().any(|(_, atom)| match atom {
        Atom::Axis(a) => a.0 as usize == axis,
        Atom::FloorDiv(e, _) | Atom::Mod(e, _) => uses(e, axis),
        Atom::Product(left, right) => uses(left, axis) || uses(right, axis),
        Atom::Element(access) => access.index.iter().any(|e| uses(e, axis)),
    })
}

fn from_zero(t: DType) -> Scalar {
    match t {
        DType::C64 => Scalar::C64(Default::default()),
        DType::C128 => Scalar::C128(Default::default()),
        t => from_int(0, t),
    }
}

/// Memory of a plan: elements by address; temporaries share theirs by bytes.
struct Memory<'a> {
    plan: &'a Plan,
    own: Vec<BTreeMap<isize, Scalar>>,
    arena: BTreeMap<usize, Scalar>,
}

impl Memory<'_> {
    fn read(&self, buffer: plan::BufferId, at: isize) -> Scalar {
        let b = &self.plan.buffers[buffer.0 as usize];
        let found = match b.place {
            Place::Temporary(start) => self.arena.get(&(start + at as usize * b.dtype.size())),
            _ => self.own[buffer.0 as usize].get(&at),
        };
        let value = *found.unwrap_or_else(|| panic!("{buffer:?} at {at} is not initialised"));
        assert_eq!(value.dtype(), b.dtype);
        value
    }

    fn values(&self, buffer: plan::BufferId) -> Vec<Scalar> {
        let b = &self.plan.buffers[buffer.0 as usize];
        let shape: Vec<u64> = b.shape.iter().map(|&x| x as u64).collect();
        let mut all = vec![];
        for_points(&shape, |p| all.push(self.read(buffer, dot(p, &b.strides))));
        all
    }

    fn write(&mut self, buffer: plan::BufferId, at: isize, value: Scalar) {
        let b = &self.plan.buffers[buffer.0 as usize];
        assert_eq!(value.dtype(), b.dtype);
        match b.place {
            Place::Temporary(start) => {
                let address = start + usize::try_from(at).unwrap() * b.dtype.size();
                assert!(address + b.dtype.size() <= self.plan.arena);
                let end = address + b.dtype.size();
                let gone: Vec<usize> = self
                    .arena
                    .range(address.saturating_sub(15)..end)
                    .filter(|(a, v)| **a + v.dtype().size() > address)
                    .map(|(a, _)| *a)
                    .collect();
                gone.iter().for_each(|a| _ = self.arena.remove(a));
                self.arena.insert(address, value);
            }
            Place::Output(_) => _ = self.own[buffer.0 as usize].insert(at, value),
            Place::Input(_) => panic!("an input is written"),
        }
    }
}

fn dot(point: &[i64], strides: &[isize]) -> isize {
    point.iter().zip(strides).map(|(p, s)| *p as isize * s).sum()
}

pub fn run_plan(plan: &Plan, inputs: &[Vec<Scalar>]) -> Vec<Vec<Scalar>> {
    let own = vec![BTreeMap::new(); plan.buffers.len()];
    let mut memory = Memory { plan, own, arena: BTreeMap::new() };
    for (n, buffer) in plan.buffers.iter().enumerate() {
        let Place::Input(input) = buffer.place else { continue };
        let shape: Vec<u64> = buffer.shape.iter().map(|&x| x as u64).collect();
        let mut values = inputs[input].iter();
        for_points(&shape, |p| {
            memory.own[n].insert(dot(p, &buffer.strides), *values.next().unwrap());
        });
    }
    for step in &plan.steps {
        run_step(&mut memory, step);
    }
    let outputs =
        plan.buffers.iter().enumerate().filter(|(_, b)| matches!(b.place, Place::Output(_)));
    outputs
        .map(|(n, b)| {
            let shape: Vec<u64> = b.shape.iter().map(|&x| x as u64).collect();
            let mut values = vec![];
            for_points(&shape, |p| {
                values.push(memory.read(plan::BufferId(n as u32), dot(p, &b.strides)));
            });
            values
        })
        .collect()
}

fn run_step(memory: &mut Memory<'_>, step: &Step) {
    match step {
        Step::Fill(buffer, value) => {
            let b = &memory.plan.buffers[buffer.0 as usize];
            let shape: Vec<u64> = b.shape.iter().map(|&x| x as u64).collect();
            for_points(&shape, |p| memory.write(*buffer, dot(p, &b.strides), *value));
        }
        Step::Contract(c) => {
            let strides = |f: fn(&plan::ContractionAxis) -> isize| c.axes.iter().map(f).collect();
            let (a, b, out): (Vec<_>, Vec<_>, Vec<_>) =
                (strides(|x| x.a), strides(|x| x.b), strides(|x| x.c));
            let extents: Vec<u64> = c.axes.iter().map(|x| x.extent as u64).collect();
            let mut sums: BTreeMap<isize, Scalar> = BTreeMap::new();
            for_points(&extents, |p| {
                let x = memory.read(c.a.buffer, c.a.offset + dot(p, &a));
                let y = memory.read(c.b.buffer, c.b.offset + dot(p, &b));
                let value = scalar::binary(c.map, x, y).unwrap();
                let value = match c.then {
                    None => value,
                    Some(Then::Square) => scalar::binary(BinaryOp::Mul, value, value).unwrap(),
                    Some(Then::Abs) => scalar::unary(UnaryOp::Abs, value).unwrap(),
                };
                let sum = sums.entry(c.c.offset + dot(p, &out));
                let sum = sum.or_insert_with(|| match c.accumulate {
                    true => memory.read(c.c.buffer, c.c.offset + dot(p, &out)),
                    false => scalar::identity(c.reduce, c.dtype),
                });
                *sum = scalar::binary(c.reduce.op(), *sum, value).unwrap();
            });
            for (at, value) in sums {
                memory.write(c.c.buffer, at, value);
            }
        }
        Step::Grouped(grouped) => run_grouped(memory, grouped),
        Step::Scan(scan) => run_scan(memory, scan),
        Step::Nest(nest) => run_nest(memory, nest),
        Step::Sweep(sweep) => {
            let counts: Vec<u64> = sweep.axes.iter().map(|a| a.blocks() as u64).collect();
            for_points(&counts, |block| run_block(memory, sweep, block));
        }
    }
}

/// Each row by the operand of its group.
fn run_grouped(memory: &mut Memory<'_>, grouped: &plan::Grouped) {
    let c = &grouped.each;
    let extents: Vec<u64> = c.axes.iter().map(|a| a.extent as u64).collect();
    let steps = |f: fn(&plan::ContractionAxis) -> isize| c.axes.iter().map(f).collect::<Vec<_>>();
    let (a, b, out) = (steps(|x| x.a), steps(|x| x.b), steps(|x| x.c));
    assert!(!c.accumulate && c.then.is_none());
    let mut sums: BTreeMap<isize, Scalar> = BTreeMap::new();
    for_points(&extents, |p| {
        let at = grouped.index.offset + dot(p, &grouped.index_steps);
        let number = match memory.read(grouped.index.buffer, at) {
            Scalar::I32(x) => x.into(),
            Scalar::I64(x) => x,
            other => panic!("{other:?} as an index"),
        };
        let sum = sums.entry(c.c.offset + dot(p, &out));
        let sum = sum.or_insert(scalar::identity(c.reduce, c.dtype));
        let group = i128::from(number) - i128::from(grouped.first);
        if (0..grouped.groups as i128).contains(&group) {
            let x = memory.read(c.a.buffer, c.a.offset + dot(p, &a));
            let y = c.b.offset + group as isize * grouped.step + dot(p, &b);
            let value = scalar::binary(c.map, x, memory.read(c.b.buffer, y)).unwrap();
            *sum = scalar::binary(c.reduce.op(), *sum, value).unwrap();
        }
    });
    for (at, value) in sums {
        memory.write(c.c.buffer, at, value);
    }
}

/// Scans each row from its start.
fn run_scan(memory: &mut Memory<'_>, scan: &plan::Scan) {
    let extents: Vec<u64> = scan.rows.iter().map(|a| a.extent as u64).collect();
    let strides = |f: fn(&plan::ScanAxis) -> isize| scan.rows.iter().map(f).collect::<Vec<_>>();
    let (from, to) = (strides(|a| a.from), strides(|a| a.to));
    if let Some(levels) = &scan.levels {
        return run_relative(memory, scan, levels);
    }
    for_points(&extents, |row| {
        let mut sum = scalar::identity(scan.reduce, scan.dtype);
        for n in 0..scan.along.extent as isize {
            let at = scan.from.offset + dot(row, &from) + n * scan.along.from;
            sum = scalar::binary(scan.reduce.op(), sum, memory.read(scan.from.buffer, at)).unwrap();
            let at = scan.to.offset + dot(row, &to) + n * scan.along.to;
            memory.write(scan.to.buffer, at, sum);
        }
    });
}

/// The sums of all up to each value, as they are defined.
fn run_relative(memory: &mut Memory<'_>, scan: &plan::Scan, levels: &plan::Levels) {
    let extents: Vec<u64> = scan.rows.iter().map(|a| a.extent as u64).collect();
    let strides = |f: fn(&plan::ScanAxis) -> isize| scan.rows.iter().map(f).collect::<Vec<_>>();
    let (from, to) = (strides(|a| a.from), strides(|a| a.to));
    let binary = |op, x, y| scalar::binary(op, x, y).unwrap();
    for_points(&extents, |row| {
        let level = |memory: &Memory<'_>, n: isize| {
            let at = levels.base.offset + dot(row, &levels.rows) + n * levels.along;
            memory.read(levels.base.buffer, at)
        };
        for n in 0..scan.along.extent as isize {
            let mut sum = scalar::identity(Monoid::Add, scan.dtype);
            for k in 0..=n {
                let at = scan.from.offset + dot(row, &from) + k * scan.along.from;
                let rise = binary(BinaryOp::Sub, level(memory, k), level(memory, n));
                let left = scalar::unary(UnaryOp::Exp, rise).unwrap();
                let value = binary(BinaryOp::Mul, memory.read(scan.from.buffer, at), left);
                sum = binary(BinaryOp::Add, sum, value);
            }
            let at = scan.to.offset + dot(row, &to) + n * scan.along.to;
            memory.write(scan.to.buffer, at, sum);
        }
    });
}

/// Runs one block of a sweep, in memory of its own.
fn run_block(memory: &mut Memory<'_>, sweep: &plan::Sweep, block: &[i64]) {
    let first: Vec<i64> =
        block.iter().zip(&sweep.axes).map(|(n, axis)| n * axis.block as i64).collect();
    let mut axes = sweep.axes.iter().zip(&first);
    let short = axes.any(|(a, n)| *n as usize + a.block > a.extent);
    let body = if short { sweep.rest.as_ref().unwrap() } else { &sweep.body };
    let finite = |memory: &Memory<'_>, window: &plan::Window| {
        memory.values(window.buffer).into_iter().all(is_finite)
    };
    let narrow = sweep.narrow.as_ref().and_then(|narrow| {
        let at = narrow.of_blocks[*block.last().unwrap() as usize]?;
        let all = narrow.finite_inputs.iter().all(|&n| finite(memory, &sweep.inputs[n]));
        all.then(|| (&narrow.bodies[at], &narrow.finite_outputs[..]))
    });
    if let Some((part, outputs)) = narrow {
        let results = run_body(memory, sweep, part, &first);
        if outputs.iter().all(|&n| results[n].iter().copied().all(is_finite)) {
            return;
        }
    }
    run_body(memory, sweep, body, &first);
}

fn is_finite(value: Scalar) -> bool {
    match value {
        Scalar::F32(x) => x.is_finite(),
        Scalar::F64(x) => x.is_finite(),
        _ => true,
    }
}

/// Runs the steps of one block, and gives what it writes.
fn run_body(
    memory: &mut Memory<'_>,
    sweep: &plan::Sweep,
    body: &Plan,
    first: &[i64],
) -> Vec<Vec<Scalar>> {
    let elements = |place: Place| {
        let window = match place {
            Place::Input(n) => &sweep.inputs[n],
            Place::Output(n) => &sweep.outputs[n],
            Place::Temporary(_) => unreachable!(),
        };
        let buffer = body.buffers.iter().find(|b| b.place == place).unwrap();
        let shape: Vec<u64> = buffer.shape.iter().map(|&x| x as u64).collect();
        let mut all = vec![];
        for_points(&shape, |p| {
            all.push(dot(first, &window.strides) + dot(p, &buffer.strides));
        });
        (window.buffer, all)
    };
    let read = |n: usize| {
        let (buffer, all) = elements(Place::Input(n));
        all.into_iter().map(|at| memory.read(buffer, at)).collect()
    };
    let inputs: Vec<Vec<Scalar>> = (0..sweep.inputs.len()).map(read).collect();
    let results = run_plan(body, &inputs);
    for (n, values) in results.iter().enumerate() {
        let (buffer, all) = elements(Place::Output(n));
        all.into_iter().zip(values).for_each(|(at, &value)| memory.write(buffer, at, value));
    }
    results
}

fn run_nest(memory: &mut Memory<'_>, nest: &plan::Nest) {
    let extents: Vec<u64> = nest.axes.iter().map(|a| a.extent as u64).collect();
    let mut cells: BTreeMap<isize, (Cell, Vec<i64>)> = BTreeMap::new();
    for_points(&extents, |point| {
        let mut values: Vec<Scalar> = vec![];
        for node in &nest.body {
            let v = |x: &plan::NodeId| values[x.0 as usize];
            let value = match node {
                Node::Load(l) => {
                    let l = &nest.loads[*l as usize];
                    memory.read(l.base.buffer, l.base.offset + dot(point, &l.strides))
                }
                Node::Const(value) => *value,
                Node::Index { constant, coefficients } => {
                    let terms = point.iter().zip(coefficients).map(|(p, c)| p.wrapping_mul(*c));
                    Scalar::I64(terms.fold(*constant, i64::wrapping_add))
                }
                Node::Gather { base, offset, strides, .. } => {
                    let Scalar::I64(offset) = v(offset) else { panic!("offset") };
                    memory.read(base.buffer, base.offset + dot(point, strides) + offset as isize)
                }
                Node::Unary(op, x) => scalar::unary(*op, v(x)).unwrap(),
                Node::Binary(op, x, y) => scalar::binary(*op, v(x), v(y)).unwrap(),
                Node::Random { key, counter, lo, hi } => {
                    let Scalar::I64(counter) = v(counter) else { panic!("counter") };
                    let bits = random::bits(*key, counter as u64);
                    match (v(lo), v(hi)) {
                        (Scalar::I64(lo), Scalar::I64(hi)) => {
                            Scalar::I64(random::uniform_i64(bits, lo, hi).unwrap())
                        }
                        (Scalar::F64(lo), Scalar::F64(hi)) => {
                            Scalar::F64(random::uniform_f64(bits, lo, hi).unwrap())
                        }
                        _ => panic!("bounds"),
                    }
                }
                Node::Select(c, x, y) => {
                    if v(c) == Scalar::Bool(true) {
                        v(x)
                    } else {
                        v(y)
                    }
                }
            };
            values.push(value);
        }
        let mut at = nest.store.base.offset + dot(point, &nest.store.strides);
        if let Some(offset) = nest.store.offset {
            let Scalar::I64(offset) = values[offset.0 as usize] else { panic!("offset") };
            at += offset as isize;
        }
        let kept: Vec<i64> = (0..extents.len())
            .filter(|&a| !nest.axes[a].reduced && !nest.axes[a].collides)
            .map(|a| point[a])
            .collect();
        let (cell, first) = cells.entry(at).or_insert_with(|| {
            let value = match (nest.start, nest.reduce) {
                (Start::Existing, _) => memory.read(nest.store.base.buffer, at),
                (_, Some(Reducer::Monoid(m))) => scalar::identity(m, nest.store.dtype),
                _ => from_zero(nest.store.dtype),
            };
            (Cell { value, best: None }, kept.clone())
        });
        assert_eq!(*first, kept, "points collide along axes that say they do not");
        let position = nest.axes.iter().position(|a| a.reduced).map_or(0, |a| point[a]);
        combine(cell, nest.reduce, values[values.len() - 1], position);
    });
    for (at, (cell, _)) in cells {
        memory.write(nest.store.base.buffer, at, cell.value);
    }
}
