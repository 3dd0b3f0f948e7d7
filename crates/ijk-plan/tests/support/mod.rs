//! Programs written by hand, and literal interpreters of programs and of plans to compare.

#![allow(dead_code, unused_imports)]

mod build;
mod interpreter;
mod program;
pub mod stage;

pub use build::{Builder, binary};
pub use interpreter::run_plan;
pub use program::run_program;

use ijk_ir::core::*;
use ijk_plan::plan::Plan;
use ijk_plan::{Layout, c_strides, plan};
use ijk_types::{BinaryOp, DType, Reducer, Scalar, UnaryOp, scalar};

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

pub fn from_int(x: i64, t: DType) -> Scalar {
    match t {
        DType::Bool => Scalar::Bool(x & 1 == 1),
        DType::I32 => Scalar::I32(x as i32),
        DType::I64 => Scalar::I64(x),
        DType::F32 => Scalar::F32(x as f32),
        DType::F64 => Scalar::F64(x as f64),
        DType::C64 => Scalar::C64(ijk_types::C64::new(x as f32, 1.0)),
        DType::C128 => Scalar::C128(ijk_types::C128::new(x as f64, 1.0)),
        _ => scalar::unary(UnaryOp::Cast(t), Scalar::I64(x)).expect("a cast of an integer"),
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
        other => other.as_f64(),
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

/// For each value its place in a stable order, NaN last.
pub fn places(values: &[Scalar], descending: bool) -> Vec<usize> {
    let is = |op, x: Scalar, y: Scalar| scalar::binary(op, x, y) == Ok(Scalar::Bool(true));
    let op = if descending { BinaryOp::Gt } else { BinaryOp::Lt };
    let first = |x, y| is(BinaryOp::Eq, x, x) && (is(BinaryOp::Ne, y, y) || is(op, x, y));
    let before =
        |m: usize, n: usize| first(values[m], values[n]) || (m < n && !first(values[n], values[m]));
    let count = |n: usize| (0..values.len()).filter(|&m| before(m, n)).count();
    (0..values.len()).map(count).collect()
}

/// Combines values on one element; positions keep the best value beside.
struct Cell {
    value: Scalar,
    best: Option<Scalar>,
}

fn combine(cell: &mut Cell, reduce: Option<Reducer>, value: Scalar, position: i64) {
    match reduce {
        None => cell.value = value,
        // Bits of points that are skipped; a product of complex numbers has no neutral value.
        Some(Reducer::Monoid(m)) if value.same_bits(scalar::neutral(m, value.dtype())) => {}
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

fn uses(e: &IndexExpr, axis: usize) -> bool {
    e.terms.iter().any(|(_, atom)| match atom {
        Atom::Axis(a) => a.0 as usize == axis,
        Atom::FloorDiv(e, _) | Atom::Mod(e, _) | Atom::Abs(e) => uses(e, axis),
        Atom::Product(left, right) | Atom::Max(left, right) | Atom::Min(left, right) => {
            uses(left, axis) || uses(right, axis)
        }
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
