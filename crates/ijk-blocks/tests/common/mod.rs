//! Random terms, built and compared.

use ijk_blocks::{Aggregation, BigTensor, Block, Error, Formula, Function, MemoryStore, Sink, Zip};
use ijk_oracle::blocks::{BlockCase, BlockMap, BlockTerm, Fold, Times};
use ijk_oracle::{Value, same_bits};
use ijk_tensor::Tensor;
use ijk_types::{BinaryOp, Monoid, Scalar, UnaryOp};
use std::sync::Arc;

/// The term, built.
pub fn build(term: &BlockTerm, seed: u64) -> Result<BigTensor, Error> {
    let of = |term: &BlockTerm| build(term, seed.wrapping_add(1));
    match term {
        BlockTerm::Lit { value, blocks, missing } => literal(value, blocks, *missing),
        BlockTerm::Zip(op, u, v) => {
            let zip = Zip::ALL.into_iter().find(|zip| zip.operator() == *op).unwrap();
            of(u)?.zip(zip, &of(v)?)
        }
        BlockTerm::Broadcast(u, d, b) => of(u)?.bc(d, b),
        BlockTerm::Select(u, positions) => {
            of(u)?.select(positions.iter().map(|e| e.clone().into()))
        }
        BlockTerm::Map(f, u) => of(u)?.map(function(*f, seed)),
        BlockTerm::Contract { u, v, i, j, plus, times } => {
            of(u)?.contract_by(&of(v)?, *i, *j, aggregation(*plus, *times, seed))
        }
        BlockTerm::Product(u, v) => of(u)?.matmul(&of(v)?),
        BlockTerm::Reblock(u, b) => of(u)?.reblock(b),
    }
}

fn literal(
    value: &Value,
    blocks: &[Option<usize>],
    missing: Option<Scalar>,
) -> Result<BigTensor, Error> {
    let tensor = Tensor::from_scalars(value.dtype, &value.shape, value.data.iter().copied())?;
    let whole = BigTensor::from_tensor(tensor, blocks)?;
    let Some(fill) = missing else { return Ok(whole) };
    let ty = whole.ty().clone();
    let blocks = Arc::new(MemoryStore::new(ty.clone()));
    whole.write(Arc::<MemoryStore>::clone(&blocks))?;
    let stored = MemoryStore::with_fill(ty.clone(), fill.into());
    let grid = ty.grid();
    for number in 0..grid.iter().product() {
        let mut rest = number;
        let mut at: Vec<usize> = grid.iter().rev().map(|&n| (rest % n, rest /= n).0).collect();
        at.reverse();
        let block = ijk_blocks::Source::read(&*blocks, &at)?.expect("a block of a literal");
        let is_missing =
            block.values().iter().all(|x| x.as_number().is_some_and(|x| x.same_bits(fill)));
        if !is_missing {
            stored.write(&at, Some(block))?;
        }
    }
    BigTensor::from_source(stored)
}

/// A function, spelled in one of its ways.
fn function(f: BlockMap, seed: u64) -> Function {
    match (f, seed % 3) {
        (BlockMap::Op(op), 0) => op.into(),
        (BlockMap::Op(UnaryOp::Neg), _) => Function::parse("-.~.").unwrap(),
        (BlockMap::Op(op), 1) => Function::parse(&format!("{}(x)", name(op))).unwrap(),
        (BlockMap::Op(op), _) => Function::parse(&format!("@{} .~.", name(op))).unwrap(),
        (BlockMap::Above(n), 0) => Function::parse(&format!("gt(x, {n})")).unwrap(),
        (BlockMap::Above(n), 1) => Function::parse(&format!("{n} < x")).unwrap(),
        (BlockMap::Above(n), _) => Function::parse(&format!("x > {n} and x == x")).unwrap(),
        (BlockMap::Affine { scale, shift }, 0) => {
            Function::parse(&format!("{scale}*.~. . .+{shift}~.")).unwrap()
        }
        (BlockMap::Affine { scale, shift }, 1) => {
            Function::parse(&format!("{scale} * x + {shift}")).unwrap()
        }
        (BlockMap::Affine { scale, shift }, _) => {
            Formula::trace(|x| scale as f64 * x + shift as f64).into()
        }
    }
}

fn name(op: UnaryOp) -> String {
    match op {
        UnaryOp::Cast(to) => to.name().into(),
        op => format!("{op:?}").to_lowercase(),
    }
}

/// An aggregation, spelled in one of its ways.
fn aggregation(plus: Fold, times: Times, seed: u64) -> Aggregation {
    let fold = match plus {
        Fold::Monoid(Monoid::Add) => "sum",
        Fold::Monoid(Monoid::Max) => "max",
        Fold::Monoid(Monoid::Min) => "min",
        Fold::Monoid(_) => unreachable!("not made"),
        Fold::ArgMax => "argmax",
    };
    let (text, symbol) = match times {
        Times::Op(BinaryOp::Mul) => ("r * l", "i*i"),
        Times::Op(BinaryOp::Add) => ("l + r", "i+i"),
        Times::Op(BinaryOp::Sub) => ("l - r", "i-i"),
        Times::Op(BinaryOp::Max) => ("max(l, r)", "i>i"),
        Times::Op(_) => ("lt(l, r)", "i @lt i"),
        Times::SquareLess => ("l * l - r", "(^, I) is not spelled"),
    };
    let reducer = match plus {
        Fold::Monoid(Monoid::Add) => "+",
        Fold::Monoid(Monoid::Max) => ">",
        Fold::Monoid(_) => "<",
        Fold::ArgMax => "@argmax ",
    };
    match (plus, times, seed % 3) {
        (_, Times::Op(_), 1) => Aggregation::parse(&format!("{symbol}~i . {reducer}i~.")).unwrap(),
        (Fold::Monoid(monoid), Times::Op(op), 2) => Aggregation::new(monoid, op),
        _ => Aggregation::parse(&format!("{fold}({text})")).unwrap(),
    }
}

/// Asserts that a result is the expected one.
pub fn compare(seed: u64, case: &BlockCase, expected: &Value, found: &Block) {
    let tensor = found.as_numbers().expect("numbers");
    let shown = || build(&case.term, seed).map_or(String::new(), |tensor| tensor.to_string());
    assert_eq!((tensor.dtype(), tensor.shape()), (expected.dtype, &expected.shape[..]));
    for (n, (found, &expected)) in tensor.view().iter_scalars().zip(&expected.data).enumerate() {
        // Zeros of either sign are one: a missing block has no sign.
        let same = found == expected || same_bits(found, expected);
        assert!(same, "{seed}: element {n} is {found}, not {expected}\n{}\n{case:?}", shown());
    }
}
