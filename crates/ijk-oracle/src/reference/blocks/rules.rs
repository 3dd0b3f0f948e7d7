//! The type rules of docs/language/blocks.md, section 2.

use super::{BlockMap, BlockTerm, BlockType, Fold, Times};
use ijk_types::{BinaryOp, DType, Literal};

impl BlockTerm {
    /// The type, if the term is well-typed.
    pub fn ty(&self) -> Option<BlockType> {
        match self {
            Self::Lit { value, blocks, .. } => {
                let fits = value.shape.len() == blocks.len() && !blocks.contains(&Some(0));
                fits.then(|| (value.shape.clone(), blocks.clone(), value.dtype))
            }
            Self::Zip(op, u, v) => zip(*op, u.ty()?, v.ty()?),
            Self::Broadcast(u, d, b) => broadcast(u.ty()?, d, b),
            Self::Select(u, positions) => select(u.ty()?, positions),
            Self::Map(f, u) => {
                let (d, b, t) = u.ty()?;
                Some((d, b, mapped(*f, t)?))
            }
            Self::Contract { u, v, i, j, plus, times } => {
                contract(u.ty()?, v.ty()?, (*i, *j), *plus, *times)
            }
            Self::Product(u, v) => {
                let (u, v) = (u.ty()?, v.ty()?);
                let i = u.0.len().checked_sub(1)?;
                let plus = Fold::Monoid(ijk_types::Monoid::Add);
                contract(u, v, (i, 0), plus, Times::Op(BinaryOp::Mul))
            }
            Self::Reblock(u, b) => {
                let (d, _, t) = u.ty()?;
                (d.len() == b.len() && !b.contains(&Some(0))).then(|| (d, b.clone(), t))
            }
        }
    }
}

/// `⊥ ~ ⊥`, `⊥ ~ x`, `x ~ ⊥`, `x ~ x`, and the common block size.
fn compatible(l: Option<usize>, r: Option<usize>) -> Option<Option<usize>> {
    (l.is_none() || r.is_none() || l == r).then(|| l.or(r))
}

fn zip(op: BinaryOp, u: BlockType, v: BlockType) -> Option<BlockType> {
    let same = u.0 == v.0 && u.2 == v.2 && op.accepts().contains(u.2);
    let blocks = u.1.iter().zip(&v.1).map(|(&l, &r)| compatible(l, r)).collect::<Option<_>>();
    blocks.filter(|_| same).map(|blocks| (u.0, blocks, u.2))
}

fn broadcast(u: BlockType, d: &[usize], b: &[Option<usize>]) -> Option<BlockType> {
    let new = d.len().checked_sub(u.0.len())?;
    let fits = |n: usize| match n.checked_sub(new) {
        None => true,
        Some(old) => {
            let multiple = match u.0[old] {
                0 => d[n] == 0,
                extent => d[n].is_multiple_of(extent),
            };
            multiple && compatible(u.1[old], b[n]).is_some()
        }
    };
    let whole = d.len() == b.len() && !b.contains(&Some(0));
    (whole && (0..d.len()).all(fits)).then(|| (d.to_vec(), b.to_vec(), u.2))
}

fn select(u: BlockType, positions: &[Vec<usize>]) -> Option<BlockType> {
    let ascends = |e: &Vec<usize>| e.windows(2).all(|pair| pair[0] < pair[1]);
    let within = |(e, d): (&Vec<usize>, &usize)| e.iter().all(|position| position < d);
    let fits = positions.len() == u.0.len()
        && positions.iter().all(ascends)
        && positions.iter().zip(&u.0).all(within);
    fits.then(|| (positions.iter().map(Vec::len).collect(), u.1, u.2))
}

fn mapped(f: BlockMap, t: DType) -> Option<DType> {
    match f {
        BlockMap::Op(op) => op.accepts().contains(t).then(|| op.result().of(t)),
        BlockMap::Affine { scale, shift } => {
            let fits = |n: i64| Literal::Integer(n).to_scalar(t).is_ok();
            (fits(scale) && fits(shift)).then_some(t)
        }
        BlockMap::Above(n) => {
            let fits = Literal::Integer(n).to_scalar(t).is_ok();
            (fits && BinaryOp::Gt.accepts().contains(t)).then_some(DType::Bool)
        }
    }
}

fn contract(
    u: BlockType,
    v: BlockType,
    (i, j): (usize, usize),
    plus: Fold,
    times: Times,
) -> Option<BlockType> {
    let fits = i < u.0.len() && j < v.0.len() && u.0[i] == v.0[j] && u.2 == v.2;
    let block = if fits { compatible(u.1[i], v.1[j])? } else { return None };
    let pairs = match times {
        Times::Op(op) => op.accepts().contains(u.2).then(|| op.result().of(u.2))?,
        Times::SquareLess => BinaryOp::Sub.accepts().contains(u.2).then_some(u.2)?,
    };
    let mut d = [&u.0[..], &v.0[..]].concat();
    let mut b = [&u.1[..], &v.1[..]].concat();
    for at in [u.0.len() + j, i] {
        d.remove(at);
        b.remove(at);
    }
    let t = match plus {
        Fold::Monoid(monoid) => monoid.op().accepts().contains(pairs).then_some(pairs)?,
        Fold::ArgMax => {
            let empty = u.0[i] == 0 && !d.contains(&0);
            let ordered = BinaryOp::Max.accepts().contains(pairs);
            (block.is_none() && ordered && !empty).then_some(DType::I64)?
        }
    };
    Some((d, b, t))
}
