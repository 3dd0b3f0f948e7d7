//! Plans of convolutions: contractions without copies or tests per element.

use ijk_ir::core::*;
use ijk_plan::plan::{Place, Plan, Step};
use ijk_plan::{Kernel, Layout, plan};
use ijk_types::{BinaryOp, DType, Monoid, Reducer};

/// Of images of `side` in each of `rank` axes, by filters of 3, padded by `pad` at each end.
struct Convolution {
    rank: u32,
    side: u64,
    pad: i64,
    linear_in_filter: bool,
}

const CHANNELS: u64 = 8;
const FILTER: u64 = 3;

impl Convolution {
    /// `output[b, p, o] = filters[f, i, o] * input[b, p + f - pad, i]`, or with `q` for
    /// `p + f - pad`.
    fn plan(&self) -> Plan {
        let rank = self.rank;
        let axis = |n: u32| IndexExpr::axis(AxisId(n));
        let positions = self.side + 2 * self.pad as u64 + 1 - FILTER;
        let last = if self.linear_in_filter { self.side } else { FILTER };
        let times = |n: u64| vec![n; rank as usize];
        let of =
            |first: u64, middle: Vec<u64>, last: u64| [vec![first], middle, vec![last]].concat();
        let (mut filter, mut input) = (vec![], vec![axis(0)]);
        for n in 0..rank {
            let (p, f) = (axis(2 + n), axis(2 + rank + n));
            let start = p.plus(&IndexExpr::constant(-self.pad)).unwrap();
            if self.linear_in_filter {
                filter.push(f.plus(&negated(&start)).unwrap());
                input.push(f);
            } else {
                filter.push(f.clone());
                input.push(start.plus(&f).unwrap());
            }
        }
        let (o, i) = (axis(1), axis(2 + 2 * rank));
        filter.extend([i.clone(), o.clone()]);
        input.push(i);
        let out_index = [axis(0)].into_iter().chain((2..2 + rank).map(axis)).chain([o]).collect();
        let shapes = vec![
            [times(FILTER), vec![CHANNELS, CHANNELS]].concat(),
            of(2, times(self.side), CHANNELS),
            of(2, times(positions), CHANNELS),
        ];
        let extents = [vec![2, CHANNELS], times(positions), times(last), vec![CHANNELS]].concat();
        program(shapes, extents, [filter, input], out_index)
    }
}

fn negated(e: &IndexExpr) -> IndexExpr {
    let terms = e.terms.iter().map(|(c, atom)| (-c, atom.clone())).collect();
    IndexExpr { constant: -e.constant, terms }
}

/// The plan of a sum of products of two arrays in a third.
fn program(
    shapes: Vec<Vec<u64>>,
    extents: Vec<u64>,
    [left, right]: [Vec<IndexExpr>; 2],
    out_index: Vec<IndexExpr>,
) -> Plan {
    let span = Span::default();
    let access = |n, index| ScalarNode::Access(Access { array: ArrayId(n), index, span });
    let product = ScalarNode::Binary(BinaryOp::Mul, ScalarId(0), ScalarId(1));
    let axis = |n: usize| Axis { name: format!("x{n}"), dims: vec![], pins: vec![] };
    let statement = Statement {
        out: ArrayId(2),
        domain: (0..extents.len()).map(axis).collect(),
        out_index,
        init: Init::Identity(Monoid::Add),
        reduce: Some(Reducer::Monoid(Monoid::Add)),
        value: ScalarExpr { nodes: vec![access(0, left), access(1, right), product] },
        guards: vec![],
        span,
    };
    let dtype = TypeTerm::Fixed(DType::F32);
    let array = |shape: &Vec<u64>| Array { rank: Some(shape.len() as u32), dtype, span };
    let program = Program {
        arrays: shapes.iter().map(array).collect(),
        inputs: vec![ArrayId(0), ArrayId(1)],
        outputs: vec![ArrayId(2)],
        statements: vec![statement],
        ..Program::default()
    };
    let instance =
        Instance { dtypes: vec![DType::F32; 3], shapes, extents: vec![extents], passes: vec![] };
    plan(&program, &instance, &Layout::contiguous(&program, &instance)).unwrap()
}

fn kernels(plan: &Plan) -> Vec<Kernel> {
    plan.steps.iter().map(Step::kernel).collect()
}

#[test]
fn valid_convolutions_are_one_contraction_in_both_forms() {
    for rank in 1..=3 {
        for linear_in_filter in [false, true] {
            let plan = Convolution { rank, side: 12, pad: 0, linear_in_filter }.plan();
            assert_eq!(kernels(&plan), [Kernel::Contract], "{plan}");
            assert_eq!((plan.arena, plan.temporaries()), (0, 0));
        }
    }
}

#[test]
fn padded_convolutions_are_contractions_into_one_array() {
    for rank in 1..=3 {
        for linear_in_filter in [false, true] {
            let plan = Convolution { rank, side: 12, pad: 1, linear_in_filter }.plan();
            let kernels = kernels(&plan);
            assert_eq!(kernels.len(), 1 + 3usize.pow(rank), "{plan}");
            let small = |kernel: &Kernel| matches!(kernel, Kernel::Contract | Kernel::Reduce);
            assert!(kernels[0] == Kernel::Fill && kernels[1] == Kernel::Contract, "{plan}");
            assert!(kernels[1..].iter().all(small), "{plan}");
            assert!(!plan.choices().any(|choice| choice.contains("gather")), "{plan}");
            assert_eq!((plan.arena, plan.temporaries()), (0, 0));
            assert!(plan.buffers.iter().all(|b| !matches!(b.place, Place::Temporary(_))));
        }
    }
}
