//! A literal interpreter of plans, which defines what each step means.

use super::{Cell, combine, for_points, from_zero, places};
use ijk_plan::plan::{self, Node, Place, Plan, Start, Step, Then};
use ijk_types::{BinaryOp, Monoid, Reducer, Scalar, UnaryOp, random, scalar};
use std::collections::BTreeMap;

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
        Step::Contract(c) => run_contraction(memory, c),
        Step::Grouped(grouped) => run_grouped(memory, grouped),
        Step::Scan(scan) => run_scan(memory, scan),
        Step::Sort(sort) => run_sort(memory, sort),
        Step::Nest(nest) => run_nest(memory, nest),
        Step::Sweep(sweep) => {
            let counts: Vec<u64> = sweep.axes.iter().map(|a| a.blocks() as u64).collect();
            for_points(&counts, |block| run_block(memory, sweep, block));
        }
    }
}

fn run_contraction(memory: &mut Memory<'_>, c: &plan::Contraction) {
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

/// Orders each row.
fn run_sort(memory: &mut Memory<'_>, sort: &plan::Sort) {
    let extents: Vec<u64> = sort.rows.iter().map(|a| a.extent as u64).collect();
    let strides = |f: fn(&plan::ScanAxis) -> isize| sort.rows.iter().map(f).collect::<Vec<_>>();
    let (from, to) = (strides(|a| a.from), strides(|a| a.to));
    for_points(&extents, |row| {
        let at = |n: usize| sort.from.offset + dot(row, &from) + n as isize * sort.values.from;
        let values: Vec<Scalar> =
            (0..sort.values.extent).map(|n| memory.read(sort.from.buffer, at(n))).collect();
        for (n, place) in places(&values, sort.order.descending).into_iter().enumerate() {
            if place < sort.places.extent {
                let value = if sort.order.positions { Scalar::I64(n as i64) } else { values[n] };
                let at = sort.to.offset + dot(row, &to) + place as isize * sort.places.to;
                memory.write(sort.to.buffer, at, value);
            }
        }
    });
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
        let values = body_values(memory, nest, point);
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

/// Values of all nodes of a nest's body at a point.
fn body_values(memory: &Memory<'_>, nest: &plan::Nest, point: &[i64]) -> Vec<Scalar> {
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
                uniform(random::bits(*key, counter as u64), v(lo), v(hi))
            }
            Node::Select(c, x, _) if v(c) == Scalar::Bool(true) => v(x),
            Node::Select(_, _, y) => v(y),
        };
        values.push(value);
    }
    values
}

/// The uniform random number in `[lo, hi)` made of random bits.
fn uniform(bits: u64, lo: Scalar, hi: Scalar) -> Scalar {
    match (lo, hi) {
        (Scalar::I64(lo), Scalar::I64(hi)) => {
            Scalar::I64(random::uniform_i64(bits, lo, hi).unwrap())
        }
        (Scalar::F64(lo), Scalar::F64(hi)) => {
            Scalar::F64(random::uniform_f64(bits, lo, hi).unwrap())
        }
        _ => panic!("bounds"),
    }
}
