//! Quality of orders of contraction: `cargo bench -p ijk-benches --bench orders`.
//!
//! Three tensors can be multiplied in three orders. All of them are timed, interleaved, and the order with the
//! least estimated time (`ijk-plan/src/order/time.rs`) is compared with the fastest. Estimates use fixed
//! numbers, so that bits are the same on every machine; this bench checks them. The order of the fewest
//! multiplications is compared, too.
//!
//! Shapes are drawn at random for each product of the list, from extents that are short (at most a vector
//! register) or long. The summary has the shares of cases near the fastest order, and the geometric mean and
//! the maximum of the ratios.
//!
//! Arguments: rounds (9), shapes of each product (6), a seed (1).

use ijk::{Einsum, Engine, TensorView};
use ijk_benches::numbers;
use std::hint::black_box;
use std::time::Instant;

const PRODUCTS: [&str; 12] = [
    "ij,jk,kl->il",
    "ij,jk,ki->",
    "ij,jk,kl->ijl",
    "ijk,jr,kr->ir",
    "te,teh,eho->to",
    "bi,oij,bj->bo",
    "bi,ij,bj->b",
    "hid,hjd,hij->hi",
    "ijk,il,jm->lmk",
    "ir,jr,kr->ijk",
    "ab,bc,ca->a",
    "bij,bjk,kl->bil",
];
const SIDES: [u64; 8] = [2, 5, 16, 32, 100, 128, 300, 1000];
/// Multiplications of the cheapest order.
const WORK: std::ops::Range<f64> = 1e5..4e8;
/// Upper bounds of the elements of a tensor and of the multiplications of an order, so that the bench ends.
const MOST_ELEMENTS: f64 = 2e7;
const MOST_WORK: f64 = 4e9;

fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|text| text.parse::<usize>().ok());
    let rounds = arguments.next().unwrap_or(9).max(1);
    let shapes = arguments.next().unwrap_or(6);
    let mut random = Random(arguments.next().unwrap_or(1) as u64);
    let engine = Engine::builder().threads(2).build();
    let mut ratios = [Vec::new(), Vec::new()];
    for product in PRODUCTS {
        for _ in 0..shapes {
            if let Some(case) = Case::draw(product, &mut random) {
                let both = case.race(&engine, rounds);
                ratios.iter_mut().zip(both).for_each(|(ratios, ratio)| ratios.push(ratio));
            }
        }
    }
    let [mut timed, mut multiplied] = ratios;
    summary("the order that is found", &mut timed);
    summary("the fewest multiplications", &mut multiplied);
}

fn summary(what: &str, ratios: &mut [f64]) {
    ratios.sort_by(f64::total_cmp);
    let within = |most: f64| ratios.iter().filter(|&&ratio| ratio <= most).count();
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    println!(
        "{what}: {} cases, {} within 1.25 and {} within 1.5 times the fastest order; mean {mean:.2}, worst {:.2}",
        ratios.len(),
        within(1.25),
        within(1.5),
        ratios.last().unwrap_or(&1.0),
    );
}

/// Pseudorandom numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((self.0 >> 33) % bound as u64) as usize
    }
}

/// A product with its shapes.
struct Case {
    text: &'static str,
    extents: Vec<(char, u64)>,
    shapes: Vec<Vec<usize>>,
}

const ORDERS: [[usize; 2]; 3] = [[0, 1], [0, 2], [1, 2]];

impl Case {
    /// Shapes of products that take neither too little time nor too much.
    fn draw(text: &'static str, random: &mut Random) -> Option<Self> {
        (0..200).find_map(|_| {
            let mut extents: Vec<(char, u64)> = Vec::new();
            for name in text.chars().filter(char::is_ascii_lowercase) {
                if extents.iter().all(|(known, _)| *known != name) {
                    extents.push((name, SIDES[random.below(SIDES.len())]));
                }
            }
            let of = |name: char| extents.iter().find(|e| e.0 == name).map_or(1, |e| e.1);
            let operands = text.split("->").next().unwrap_or_default().split(',');
            let shapes = operands.map(|names| names.chars().map(|n| of(n) as usize).collect());
            let case = Self { text, shapes: shapes.collect(), extents };
            let costs = ORDERS.map(|pair| case.cost(pair));
            let least = costs.iter().map(|c| c[0]).fold(f64::INFINITY, f64::min);
            let most = costs.iter().fold([0.0f64; 2], |m, c| [m[0].max(c[0]), m[1].max(c[1])]);
            (WORK.contains(&least) && most[0] < MOST_WORK && most[1] < MOST_ELEMENTS)
                .then_some(case)
        })
    }

    fn einsum(&self, pair: [usize; 2]) -> Einsum {
        let einsum = Einsum::new(self.text).expect("subscripts");
        einsum.with_path([pair.to_vec(), vec![0, 1]])
    }

    /// The multiplications of an order, and the elements of its largest tensor.
    fn cost(&self, pair: [usize; 2]) -> [f64; 2] {
        let shapes: Vec<&[usize]> = self.shapes.iter().map(|shape| &shape[..]).collect();
        let path = self.einsum(pair).path(&shapes).expect("a path of two steps");
        let elements = |shape: &Vec<usize>| shape.iter().product::<usize>() as f64;
        let largest = self.shapes.iter().map(elements).fold(0.0, f64::max);
        [path.multiplications(), path.largest().max(largest)]
    }

    /// Times of the order that is found, and of that of the fewest multiplications, relative to the fastest.
    fn race(&self, engine: &Engine, rounds: usize) -> [f64; 2] {
        let data: Vec<Vec<f32>> =
            self.shapes.iter().map(|shape| numbers(shape.iter().product())).collect();
        let views = || -> Vec<TensorView<'_>> {
            let both = data.iter().zip(&self.shapes);
            both.map(|(data, shape)| TensorView::from_slice(data, shape).expect("it fits"))
                .collect()
        };
        let shapes: Vec<&[usize]> = self.shapes.iter().map(|shape| &shape[..]).collect();
        let found = Einsum::new(self.text).expect("subscripts");
        let path = found.path(&shapes).expect("an order");
        let first = &path.steps()[0];
        let mut best = [f64::INFINITY; 3];
        for _ in 0..rounds {
            for (pair, best) in ORDERS.iter().zip(&mut best) {
                let einsum = self.einsum(*pair);
                let once = || black_box(engine.apply_einsum(&einsum, &views()[..])).map(drop);
                once().expect("it runs");
                let start = Instant::now();
                once().expect("it runs");
                *best = best.min(start.elapsed().as_secs_f64());
            }
        }
        let at = ORDERS.iter().position(|pair| first[..] == pair[..]).unwrap_or(0);
        let costs = ORDERS.map(|pair| self.cost(pair)[0]);
        let fewest = (0..3).min_by(|&x, &y| costs[x].total_cmp(&costs[y])).unwrap_or(0);
        let least = best.iter().copied().fold(f64::INFINITY, f64::min);
        let ratios = [at, fewest].map(|order| best[order] / least);
        let extents: String = self.extents.iter().map(|(c, n)| format!(" {c}={n}")).collect();
        let times: String = best.iter().map(|t| format!(" {:>9.1}", t * 1e6)).collect();
        println!(
            "{:>5.2} {:>5.2}  {:<16} takes {first:?} of{times} µs  {extents}",
            ratios[0], ratios[1], self.text
        );
        ratios
    }
}
