//! Random terms, most of them well-typed.

use crate::Value;
use crate::generate::Rng;
use crate::reference::blocks::{BlockMap, BlockTerm, Fold, Times};
use ijk_types::{BinaryOp, DType, Literal, Monoid, Scalar, UnaryOp};
use std::sync::Arc;

/// Terms made from one seed.
#[derive(Clone, Debug)]
pub struct BlockCase {
    /// A well-typed term.
    pub term: Arc<BlockTerm>,
    /// Ill-typed terms.
    pub wrong: Vec<BlockTerm>,
}

const TYPES: [DType; 12] = [
    DType::I32,
    DType::F64,
    DType::F32,
    DType::I64,
    DType::F64,
    DType::Bool,
    DType::C128,
    DType::U8,
    DType::I16,
    DType::U64,
    DType::F16,
    DType::BF16,
];
const MONOIDS: [Monoid; 4] = [Monoid::Add, Monoid::Max, Monoid::Min, Monoid::Add];
const TIMES: [BinaryOp; 6] =
    [BinaryOp::Mul, BinaryOp::Add, BinaryOp::Mul, BinaryOp::Sub, BinaryOp::Max, BinaryOp::Lt];
const ZIPS: [BinaryOp; 6] =
    [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Max, BinaryOp::Min, BinaryOp::Div];
const MAPS: [BlockMap; 10] = [
    BlockMap::Above(1),
    BlockMap::Op(UnaryOp::Neg),
    BlockMap::Op(UnaryOp::Abs),
    BlockMap::Op(UnaryOp::Sign),
    BlockMap::Op(UnaryOp::Not),
    BlockMap::Op(UnaryOp::Cast(DType::F64)),
    BlockMap::Op(UnaryOp::Cast(DType::I32)),
    BlockMap::Affine { scale: 2, shift: 1 },
    BlockMap::Affine { scale: 0, shift: 1 },
    BlockMap::Affine { scale: -1, shift: 3 },
];

/// Floats whose sums do not depend on the order, and elements of missing blocks.
const SPECIAL: [f64; 4] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0];
const FILLS: [f64; 8] = [0.0, 0.0, 1.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.0];

/// Sums of integers up to this are exact in every type.
const EXACT: f64 = 16_000_000.0;

/// Most elements of a term.
const MOST: usize = 4000;

impl BlockCase {
    /// The case of a seed.
    pub fn random(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0xb10c);
        let mut maker = TermGenerator { rng: &mut rng, wrong: Vec::new() };
        let mut term = maker.literal(None);
        for _ in 0..maker.rng.between(1, 7) {
            let next = maker.step(&term);
            match next.ty() {
                None => maker.wrong.push(next),
                Some((d, ..))
                    if d.iter().product::<usize>() <= MOST && d.len() <= 5 && exact(&next) =>
                {
                    term = Arc::new(next);
                }
                Some(_) => {}
            }
        }
        Self { term, wrong: maker.wrong }
    }
}

/// Returns true if sums of the term are equal in every order.
fn exact(term: &BlockTerm) -> bool {
    let greatest = |term: &BlockTerm| -> f64 {
        let Ok(value) = term.evaluate() else { return 0.0 };
        // Sums with infinities or NaN are equal in every order, too.
        let finite = value.data.iter().map(|x| x.as_f64().abs()).filter(|x| x.is_finite());
        finite.fold(0.0, f64::max)
    };
    match term {
        BlockTerm::Contract { u, v, i, .. } => {
            let length = u.ty().map_or(0, |(d, ..)| d[*i]) as f64;
            let (u, v) = (greatest(u), greatest(v));
            length * (u * v + u * u + v + u) < EXACT
        }
        BlockTerm::Product(u, v) => {
            let length = u.ty().and_then(|(d, ..)| d.last().copied()).unwrap_or(0) as f64;
            length * greatest(u) * greatest(v) < EXACT
        }
        // Quotients would be rounded, and sums of them depend on the order.
        BlockTerm::Zip(BinaryOp::Div, u, _) => u.ty().is_some_and(|(_, _, t)| t.is_integer()),
        _ => greatest(term) < EXACT,
    }
}

struct TermGenerator<'a> {
    rng: &'a mut Rng,
    wrong: Vec<BlockTerm>,
}

impl TermGenerator<'_> {
    fn block(&mut self) -> Option<usize> {
        *self.rng.pick(&[None, None, Some(1), Some(2), Some(2), Some(3), Some(5)])
    }

    fn blocks(&mut self, rank: usize) -> Vec<Option<usize>> {
        let wrong = usize::from(self.rng.chance(0.02));
        let zero = self.rng.chance(0.01);
        let mut blocks: Vec<_> = (0..rank + wrong).map(|_| self.block()).collect();
        if let (true, Some(first)) = (zero, blocks.first_mut()) {
            *first = Some(0);
        }
        blocks
    }

    fn extent(&mut self) -> usize {
        // Occasionally a fibre that is reduced in parts.
        if self.rng.chance(0.03) {
            return self.rng.between(32, 40);
        }
        *self.rng.pick(&[0, 1, 1, 2, 3, 4, 5, 6, 7, 9])
    }

    fn element(&mut self, dtype: DType) -> Scalar {
        let n = self.rng.between(0, 6) as i64 - 3;
        let n = match dtype {
            DType::Bool => n & 1,
            _ if dtype.is_unsigned() => n.abs(),
            _ => n,
        };
        Literal::Integer(n).to_scalar(dtype).expect("a small whole number")
    }

    /// A literal of these extents and type, or of random ones.
    fn literal(&mut self, of: Option<(Vec<usize>, DType)>) -> Arc<BlockTerm> {
        let (shape, dtype) = of.unwrap_or_else(|| {
            let rank = *self.rng.pick(&[0, 1, 1, 2, 2, 2, 3]);
            ((0..rank).map(|_| self.extent()).collect(), *self.rng.pick(&TYPES))
        });
        let count = shape.iter().product();
        let mut data: Vec<Scalar> = (0..count).map(|_| self.element(dtype)).collect();
        let mut blocks = self.blocks(shape.len());
        blocks.resize(shape.len(), None);
        blocks.iter_mut().for_each(|block| *block = block.filter(|&b| b > 0));
        let is_real = matches!(dtype, DType::F32 | DType::F64);
        let missing = self.rng.chance(0.4).then(|| match is_real && self.rng.chance(0.5) {
            true => Literal::Float(*self.rng.pick(&FILLS)).to_scalar(dtype).expect("a float"),
            false => {
                let n = i64::from(self.rng.chance(0.3));
                Literal::Integer(n).to_scalar(dtype).expect("0 or 1")
            }
        });
        if is_real && self.rng.chance(0.3) {
            for element in &mut data {
                if self.rng.chance(0.1) {
                    let special = Literal::Float(*self.rng.pick(&SPECIAL));
                    *element = special.to_scalar(dtype).expect("a float");
                }
            }
        }
        if let Some(fill) = missing {
            self.leave_out(&mut data, &shape, &blocks, fill);
        }
        Arc::new(BlockTerm::Lit { value: Value { dtype, shape, data }, blocks, missing })
    }

    /// Sets most blocks to the fill value.
    fn leave_out(
        &mut self,
        data: &mut [Scalar],
        shape: &[usize],
        blocks: &[Option<usize>],
        fill: Scalar,
    ) {
        let key = self.rng.bits();
        for (n, element) in data.iter_mut().enumerate() {
            let (mut rest, mut hash) = (n, key);
            for (&extent, &block) in shape.iter().zip(blocks).rev() {
                let at = rest % extent / block.unwrap_or(extent);
                rest /= extent;
                hash = (hash ^ at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
            }
            if hash % 3 > 0 {
                *element = fill;
            }
        }
    }

    /// A term over another one, possibly ill-typed.
    fn step(&mut self, u: &Arc<BlockTerm>) -> BlockTerm {
        let (dims, blocks, dtype) = u.ty().expect("a term that has a type");
        let u = Arc::clone(u);
        match self.rng.below(10) {
            0 => BlockTerm::Map(*self.rng.pick(&MAPS), u),
            1 | 2 => {
                let v = match self.rng.chance(0.5) {
                    true => Arc::new(BlockTerm::Map(*self.rng.pick(&MAPS), Arc::clone(&u))),
                    false => self.partner((dims, dtype)),
                };
                let v = if v.ty().is_some() { v } else { Arc::clone(&u) };
                let v = if self.rng.chance(0.6) { reblocked(v, &blocks) } else { v };
                let op = *self.rng.pick(&ZIPS);
                if self.rng.chance(0.5) {
                    BlockTerm::Zip(op, v, u)
                } else {
                    BlockTerm::Zip(op, u, v)
                }
            }
            3 => self.broadcast(u, &dims, &blocks),
            4 => {
                let positions = dims.iter().map(|&extent| self.positions(extent)).collect();
                BlockTerm::Select(u, positions)
            }
            5 => {
                let blocks = self.blocks(dims.len());
                BlockTerm::Reblock(u, blocks)
            }
            6 => {
                let mut shape = vec![dims.last().copied().unwrap_or(2)];
                shape.extend((0..self.rng.below(3)).map(|_| self.extent()));
                let v = self.partner((shape, dtype));
                let blocks: Vec<_> = blocks.last().copied().into_iter().collect();
                let v = if self.rng.chance(0.7) { reblocked(v, &blocks) } else { v };
                BlockTerm::Product(u, v)
            }
            _ => self.contract(u, (&dims, &blocks, dtype)),
        }
    }

    /// A literal that usually matches.
    fn partner(&mut self, (mut dims, mut dtype): (Vec<usize>, DType)) -> Arc<BlockTerm> {
        if self.rng.chance(0.05) {
            dtype = *self.rng.pick(&TYPES);
        }
        if let (true, Some(last)) = (self.rng.chance(0.05), dims.last_mut()) {
            *last += 1;
        }
        self.literal(Some((dims, dtype)))
    }

    fn contract(
        &mut self,
        u: Arc<BlockTerm>,
        (dims, blocks, dtype): (&[usize], &[Option<usize>], DType),
    ) -> BlockTerm {
        let i = self.rng.below(dims.len().max(1));
        let rank = self.rng.between(1, 3);
        let j = self.rng.below(rank);
        let mut shape: Vec<usize> = (0..rank).map(|_| self.extent()).collect();
        shape[j] = dims.get(i).copied().unwrap_or(1);
        let v = self.partner((shape, dtype));
        let v = match self.rng.chance(0.7) {
            true => {
                let mut own = v.ty().map_or(Vec::new(), |(_, b, _)| b);
                own[j] = blocks.get(i).copied().flatten();
                Arc::new(BlockTerm::Reblock(v, own))
            }
            false => v,
        };
        let plus = match self.rng.chance(0.1) {
            true => Fold::ArgMax,
            false => Fold::Monoid(*self.rng.pick(&MONOIDS)),
        };
        let times = match self.rng.chance(0.1) {
            true => Times::SquareLess,
            false => Times::Op(*self.rng.pick(&TIMES)),
        };
        let beyond = usize::from(self.rng.chance(0.02));
        BlockTerm::Contract { u, v, i: i + beyond, j, plus, times }
    }

    fn broadcast(
        &mut self,
        u: Arc<BlockTerm>,
        dims: &[usize],
        blocks: &[Option<usize>],
    ) -> BlockTerm {
        let new = self.rng.below(2);
        let mut d: Vec<usize> = (0..new).map(|_| self.rng.between(1, 3)).collect();
        let mut b: Vec<Option<usize>> = (0..new).map(|_| self.block()).collect();
        for (&extent, &block) in dims.iter().zip(blocks) {
            d.push(extent * self.rng.between(1, 3) + usize::from(self.rng.chance(0.03)));
            b.push(if self.rng.chance(0.8) { block.or(self.block()) } else { self.block() });
        }
        BlockTerm::Broadcast(u, d, b)
    }

    fn positions(&mut self, extent: usize) -> Vec<usize> {
        let keep = *self.rng.pick(&[0.3, 0.7, 1.0]);
        let mut positions: Vec<usize> = (0..extent).filter(|_| self.rng.chance(keep)).collect();
        match self.rng.below(40) {
            0 => positions.push(extent),
            1 => positions.reverse(),
            _ => {}
        }
        positions
    }
}

/// The term with the given blocks along its first axes.
fn reblocked(term: Arc<BlockTerm>, blocks: &[Option<usize>]) -> Arc<BlockTerm> {
    let Some((dims, mut own, _)) = term.ty() else { return term };
    let count = blocks.len().min(dims.len());
    own[..count].copy_from_slice(&blocks[..count]);
    Arc::new(BlockTerm::Reblock(term, own))
}
