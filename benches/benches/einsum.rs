//! Einsum beside that of other crates, interleaved in one run, on one thread:
//! `cargo bench -p ijk-benches --features rust-peers --bench einsum`.
//!
//! * *ndarray*: `ndarray-einsum`, which contracts in the written order; its search for a path is not timed;
//! * *strided*: `strided-opteinsum`, which searches for an order and multiplies with faer.
//!
//! All take `f64` and allocate results. Each line has the best time of each, and the speed of ijk relative to the faster of
//! the others. Results are compared first.
//!
//! Argument: least seconds for each case (0.3).

use ijk::ndarray::ArrayD;
use ijk::{Engine, TensorView};
use ndarray_einsum::{ArrayLike, OptimizationMethod, einsum_path};
use std::hint::black_box;
use std::time::{Duration, Instant};
use strided_opteinsum::{EinsumOperand, StridedData, parse_einsum};
use strided_view::{StridedView, row_major_strides};

/// Subscripts, and the extents of their letters.
const CASES: [(&str, &str); 15] = [
    ("ij,jk->ik", "i=64 j=64 k=64"),
    ("ij,jk->ik", "i=512 j=512 k=512"),
    ("ji,jk->ik", "i=400 j=300 k=500"),
    ("ij,j->i", "i=2000 j=1500"),
    ("bij,bjk->bik", "b=64 i=64 j=64 k=64"),
    ("bij,bjk->bik", "b=4000 i=4 j=4 k=4"),
    ("bhid,bhjd->bhij", "b=2 h=8 i=256 j=256 d=64"),
    ("abcd,dbea->ec", "a=24 b=20 c=30 d=16 e=28"),
    ("abcd,be->aecd", "a=20 b=40 c=20 d=20 e=40"),
    ("i,j->ij", "i=1500 j=1200"),
    ("ij,ij->i", "i=4000 j=300"),
    ("ij,ij->", "i=1500 j=1500"),
    ("ij,jk,kl->il", "i=300 j=30 k=400 l=20"),
    ("ijk,jr,kr->ir", "i=120 j=80 k=60 r=16"),
    ("ijk,il,jm,kn->lmn", "i=48 j=48 k=48 l=24 m=24 n=24"),
];

fn main() {
    let seconds = std::env::args().skip(1).find_map(|text| text.parse().ok()).unwrap_or(0.3);
    let engine = Engine::builder().threads(1).build();
    println!("{:<20} {:<32} {:>10} {:>10} {:>10}  times", "", "", "ijk", "ndarray", "strided");
    let mut logs = Vec::new();
    for (subscripts, extents) in CASES {
        let case = Case::new(subscripts, extents);
        let times = case.race(&engine, Duration::from_secs_f64(seconds));
        let [ours, others @ ..] = times;
        let best = others.into_iter().min().unwrap_or(ours);
        let ratio = best.as_secs_f64() / ours.as_secs_f64();
        logs.push(ratio.ln());
        let [a, b, c] = times.map(|time| format!("{time:.1?}"));
        println!("{subscripts:<20} {extents:<32} {a:>10} {b:>10} {c:>10}  {ratio:.2}");
    }
    let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
    println!("geometric mean: {mean:.2}");
}

/// A contraction and its operands.
struct Case {
    subscripts: &'static str,
    operands: Vec<ArrayD<f64>>,
}

impl Case {
    fn new(subscripts: &'static str, extents: &str) -> Self {
        let extent = |letter: char| {
            let own =
                extents.split(' ').find_map(|one| one.strip_prefix(letter)?.strip_prefix('='));
            own.and_then(|text| text.parse::<usize>().ok()).expect("an extent for each letter")
        };
        let (inputs, _) = subscripts.split_once("->").expect("an arrow");
        let operand = |(n, letters): (usize, &str)| {
            let shape: Vec<usize> = letters.chars().map(extent).collect();
            let count = shape.iter().product::<usize>();
            let number = |m: usize| ((m * 7919 + n * 31) % 1000) as f64 / 1000.0 - 0.4;
            ArrayD::from_shape_vec(shape, (0..count).map(number).collect()).expect("as many")
        };
        Self { subscripts, operands: inputs.split(',').enumerate().map(operand).collect() }
    }

    /// The best time of each, interleaved.
    fn race(&self, engine: &Engine, least: Duration) -> [Duration; 3] {
        let views: Vec<TensorView<'_>> =
            self.operands.iter().map(|operand| TensorView::from_array(operand)).collect();
        let ours = || engine.einsum(self.subscripts, &views[..]).expect("it runs");
        let alike: Vec<&dyn ArrayLike<f64>> =
            self.operands.iter().map(|operand| operand as &dyn ArrayLike<f64>).collect();
        let path = einsum_path(self.subscripts, &alike, OptimizationMethod::Naive).expect("a path");
        let ndarray = || path.contract_operands(&alike);
        let code = parse_einsum(self.subscripts).expect("subscripts");
        let operands = || self.operands.iter().map(strided).collect();
        let strided = || code.evaluate(operands(), None).expect("it runs");
        compare(&ours().into_array().expect("f64"), &ndarray(), self.subscripts);
        let mut best = [Duration::MAX; 3];
        let begin = Instant::now();
        while begin.elapsed() < least {
            let ways: [&dyn Fn(); 3] =
                [&|| drop(black_box(ours())), &|| drop(black_box(ndarray())), &|| {
                    drop(black_box(strided()))
                }];
            for (way, best) in ways.into_iter().zip(&mut best) {
                let start = Instant::now();
                way();
                *best = (*best).min(start.elapsed());
            }
        }
        best
    }
}

/// An operand as a view of the other crate.
fn strided(operand: &ArrayD<f64>) -> EinsumOperand<'_> {
    let shape = operand.shape();
    let data = operand.as_slice().expect("contiguous");
    let view = StridedView::new(data, shape, &row_major_strides(shape), 0);
    EinsumOperand::F64(StridedData::View(view.expect("it fits")))
}

/// Panics where two results differ by more than rounding.
fn compare(ours: &ArrayD<f64>, theirs: &ArrayD<f64>, subscripts: &str) {
    assert_eq!(ours.shape(), theirs.shape(), "{subscripts}");
    let largest = theirs.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let near = |(x, y): (&f64, &f64)| (x - y).abs() <= 1e-10 * largest;
    assert!(ours.iter().zip(theirs).all(near), "{subscripts}: results differ");
}
