//! Random einsums.

use super::data::{Flavour, Input, input};
use super::rng::Rng;
use ijk_types::DType;

/// Subscripts, and operands that usually match them.
#[derive(Clone, Debug)]
pub struct EinsumCase {
    /// The subscripts.
    pub subscripts: String,
    /// The operands.
    pub inputs: Vec<Input>,
    /// A valid contraction path.
    pub path: Vec<Vec<usize>>,
}

/// Most points of all indices, so that sums of small numbers are exact.
const MOST_POINTS: usize = 4096;

impl EinsumCase {
    /// The einsum of a seed.
    pub fn random(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let count = rng.weighted(&[(2, 1), (5, 2), (4, 3), (2, 4), (1, 6)]);
        // A typographic space is an index like others.
        let letters = &['i', 'j', 'k', 'l', 'M', '\u{2003}', 'α'][..rng.between(1, 7)];
        let mut extents: Vec<usize> =
            letters.iter().map(|_| *rng.pick(&[0, 1, 2, 2, 3, 3, 4, 5, 7])).collect();
        shrink(&mut extents);
        let unnamed: Vec<usize> = (0..rng.below(3)).map(|_| *rng.pick(&[1, 2, 3])).collect();
        let dtype = match count {
            0..=3 => *rng.pick(&DType::ALL),
            _ => *rng.pick(&[DType::Bool, DType::I32, DType::I64, DType::F32, DType::F64]),
        };
        let (mut terms, mut inputs, mut dots) = (Vec::new(), Vec::new(), false);
        for _ in 0..count {
            let rank = rng.weighted(&[(1, 0), (4, 1), (6, 2), (4, 3), (1, 5)]);
            let indices: Vec<usize> = (0..rank).map(|_| rng.below(letters.len())).collect();
            let mut term: Vec<String> = indices.iter().map(|&n| letters[n].to_string()).collect();
            let mut shape: Vec<usize> = indices.iter().map(|&n| extents[n]).collect();
            for (at, extent) in shape.iter_mut().enumerate() {
                let once = indices.iter().filter(|&&n| n == indices[at]).count() == 1;
                *extent = if once && rng.chance(0.07) { 1 } else { *extent };
            }
            if rng.chance(0.2) {
                let at = rng.below(term.len() + 1);
                let axes = rng.below(unnamed.len() + 1);
                term.insert(at, "...".into());
                shape.splice(at..at, unnamed[unnamed.len() - axes..].iter().copied());
                dots = true;
            }
            if rng.chance(0.01) {
                shape.push(2);
            }
            terms.push(term.concat());
            inputs.push(input(&mut rng, &(dtype, shape), Flavour::Small));
        }
        let output = rng.chance(0.7).then(|| output(&mut rng, &terms, dots));
        let subscripts = match output {
            Some(output) => format!("{}->{output}", terms.join(",")),
            None => terms.join(","),
        };
        Self { subscripts, inputs, path: path(&mut rng, count) }
    }
}

/// Reduces extents until they are small enough.
fn shrink(extents: &mut [usize]) {
    let size = |extents: &[usize]| extents.iter().map(|&n| n.max(1)).product::<usize>();
    while 6 * size(extents) > MOST_POINTS {
        let Some(largest) = extents.iter_mut().max() else { return };
        *largest = *largest / 2 + 1;
        if *largest <= 2 {
            *largest = 1;
        }
    }
}

/// Some of the letters, in any order, and `...` if it occurs.
fn output(rng: &mut Rng, terms: &[String], dots: bool) -> String {
    let mut letters: Vec<char> = terms.concat().chars().filter(|&c| c != '.').collect();
    letters.sort_unstable();
    letters.dedup();
    letters.retain(|_| rng.chance(0.5));
    rng.shuffle(&mut letters);
    let mut words: Vec<String> = letters.iter().map(char::to_string).collect();
    if dots && rng.chance(0.95) {
        words.insert(rng.below(words.len() + 1), "...".into());
    }
    words.concat()
}

/// Steps that multiply `left` operands.
fn path(rng: &mut Rng, mut left: usize) -> Vec<Vec<usize>> {
    let mut path = Vec::new();
    while left > 1 && rng.chance(0.9) {
        let take = rng.weighted(&[(1, 1), (8, 2), (1, 3)]).min(left);
        let mut positions: Vec<usize> = (0..left).collect();
        rng.shuffle(&mut positions);
        positions.truncate(take);
        positions.sort_unstable();
        path.push(positions);
        left = left + 1 - take;
    }
    path
}
