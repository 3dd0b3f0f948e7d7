//! Simulated annealing of a tree, by rotations (Kalachev, Panteleev and Yung 2021).
//!
//! If one factor of a product is itself a product, (A·B)·C equals (A·C)·B and (B·C)·A. A rotation changes two products
//! only, so it is accepted by their costs before and after.

use super::logs::log2;
use super::measured::Measured;
use super::random::Random;
use super::stop::Stop;

/// Annealing schedule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    /// Number of attempted rotations.
    pub(super) steps: u64,
    /// First and last temperature, in powers of two of the cost of two products.
    pub(super) hot: f64,
    pub(super) cold: f64,
}

/// Rotations between two polls of the stop flag.
const BRIEF: u64 = 512;

/// Temperatures of a schedule.
const STAGES: u64 = 64;

/// Anneals a tree; returns the best one found at the end of a stage.
pub(super) fn anneal<'a>(
    tree: Measured<'a>,
    schedule: Schedule,
    random: &mut Random,
    stop: &Stop<'_>,
) -> Measured<'a> {
    let mut best = tree.clone();
    let mut least = tree.total();
    let mut rotor = Rotor::new(tree);
    let cooling = log2(schedule.cold / schedule.hot) / (STAGES - 1) as f64;
    for stage in 0..STAGES {
        let temperature = schedule.hot * super::logs::exp2(cooling * stage as f64);
        for step in 0..schedule.steps / STAGES {
            if step % BRIEF == 0 && stop.is_set() {
                return best;
            }
            rotor.rotate(temperature, random);
        }
        let total = rotor.tree.total();
        if total < least {
            least = total;
            best.clone_from(&rotor.tree);
        }
    }
    best
}

/// A tree that is being rotated.
struct Rotor<'a> {
    tree: Measured<'a>,
    /// Indices of the product that a rotation creates.
    made: Vec<u64>,
}

impl<'a> Rotor<'a> {
    fn new(tree: Measured<'a>) -> Self {
        let made = vec![0; tree.weights.words];
        Self { tree, made }
    }

    /// Attempts one rotation.
    fn rotate(&mut self, temperature: f64, random: &mut Random) {
        let bits = random.bits();
        let (leaves, products) = (self.tree.tree.leaves(), self.tree.costs.len() as u64);
        let top = (((bits >> 32) * products) >> 32) as usize + leaves;
        let top = top as u32;
        let Some(factors) = self.tree.tree.factors(top) else { return };
        let side = (bits & 1) as usize;
        let (inner, c) = (factors[side], factors[1 - side]);
        let Some(pair) = self.tree.tree.factors(inner) else { return };
        let turn = (bits >> 1 & 1) as usize;
        let (a, b) = (pair[turn], pair[1 - turn]);
        let [first, second] = self.costs(top, a, b, c);
        let before = *self.tree.cost_of(top) + *self.tree.cost_of(inner);
        let after = first + second;
        if after <= before || log2(after / before) < -temperature * log2(random.unit()) {
            self.tree.bits_mut(inner).copy_from_slice(&self.made);
            self.tree.tree.set_factors(inner, [a, c]);
            self.tree.tree.set_factors(top, [inner, b]);
            *self.tree.cost_of(inner) = first;
            *self.tree.cost_of(top) = second;
        }
    }

    /// Costs of A·C and (A·C)·B; sets `made` to the indices of A·C.
    fn costs(&mut self, top: u32, a: u32, b: u32, c: u32) -> [f64; 2] {
        let (tree, weights) = (&self.tree, self.tree.weights);
        let (x, y, z, kept) = (tree.bits(a), tree.bits(b), tree.bits(c), tree.bits(top));
        for (w, made) in self.made.iter_mut().enumerate() {
            *made = (x[w] | z[w]) & (y[w] | kept[w]);
        }
        let points = weights.elements(x.iter().zip(z).map(|(x, z)| x | z));
        let rest = weights.elements(self.made.iter().zip(y).map(|(made, y)| made | y));
        let made = match weights.limit {
            f64::INFINITY => 0.0,
            _ => weights.elements(self.made.iter().copied()),
        };
        [weights.cost(points, made), weights.cost(rest, tree.elements(top))]
    }
}
