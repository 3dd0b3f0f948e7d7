//! Orders of contraction: valid, the same every time, and as good as exhaustive search where that is
//! possible.

use ijk_plan::order::{
    Effort, Measure, Network, Options, Order, OrderError, Path, cost, order, order_until,
};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % bound
    }
}

/// A network with everything that may be in one: indices of one, two or more operands, in the
/// output or not, extents of 0 and 1, scalars, and parts that have nothing in common.
fn network(random: &mut Random, operands: u64) -> Network {
    let indices = 1 + random.below(2 * operands);
    let most = [2, 5, 30][random.below(3) as usize];
    let mut extents: Vec<u64> = (0..indices).map(|_| 1 + random.below(most)).collect();
    if random.below(20) == 0 {
        extents[0] = 0;
    }
    let mut network =
        Network { operands: vec![Vec::new(); operands as usize], ..Network::default() };
    for index in 0..indices as u32 {
        let holders = [1, 2, 2, 2, 3, operands][random.below(6) as usize];
        for _ in 0..holders {
            let operand = &mut network.operands[random.below(operands) as usize];
            if !operand.contains(&index) {
                operand.push(index);
            }
        }
        if random.below(4) == 0 {
            network.output.push(index);
        }
    }
    Network { extents, ..network }
}

/// The fewest multiplications of all orders of two operands each, by trying them all.
fn fewest(network: &Network) -> f64 {
    let mut known = HashMap::new();
    fewest_of(network, (1 << network.operands.len()) - 1, &mut known)
}

fn fewest_of(network: &Network, set: usize, known: &mut HashMap<usize, f64>) -> f64 {
    if set.is_power_of_two() {
        return 0.0;
    }
    if let Some(&best) = known.get(&set) {
        return best;
    }
    let mut best = f64::INFINITY;
    let mut part = (set - 1) & set;
    while part > 0 {
        let (p, q) = (part, set & !part);
        let union = outside(network, p) | outside(network, q);
        let points = (0..network.extents.len()).filter(|&index| union >> index & 1 == 1);
        let points: f64 = points.map(|index| network.extents[index] as f64).product();
        best = best.min(points + fewest_of(network, p, known) + fewest_of(network, q, known));
        part = (part - 1) & set;
    }
    known.insert(set, best);
    best
}

/// The indices of the product of some operands.
fn outside(network: &Network, set: usize) -> u64 {
    let bits = |indices: &[u32]| indices.iter().fold(0u64, |bits, &index| bits | 1 << index);
    let (mut inner, mut outer) = (0, bits(&network.output));
    for (operand, indices) in network.operands.iter().enumerate() {
        if set >> operand & 1 == 1 { inner |= bits(indices) } else { outer |= bits(indices) }
    }
    inner & outer
}

fn efforts() -> [Effort; 4] {
    [Effort::Greedy, Effort::Normal, Effort::High, Effort::Steps(3000)]
}

#[test]
fn every_path_is_one_and_is_found_again() {
    let mut random = Random(1);
    for _ in 0..2000 {
        let operands = [1, 2, 3, 8, 20, 60][random.below(6) as usize];
        let operands = 1 + random.below(operands);
        let network = network(&mut random, operands);
        let effort = efforts()[[0, 1, 1, 1, 3][random.below(5) as usize]];
        let measure = [Measure::Multiplications, Measure::Time][random.below(2) as usize];
        let options = Options { measure, effort, seed: random.below(9), ..Options::default() };
        let found = order(&network, &options).unwrap();
        assert_eq!(cost(&network, &found.path, &found.sliced), Ok(found.cost), "{network:?}");
        assert_eq!(order(&network, &options).as_ref(), Ok(&found));
        assert!(found.sliced.is_empty());
    }
}

#[test]
fn nothing_is_not_a_product() {
    let found = order(&Network::default(), &Options::default());
    assert_eq!(found, Err(OrderError::NoOperands));
    assert_eq!(found.unwrap_err().to_string(), "a product needs at least one operand");
}

fn small() -> Network {
    Network {
        operands: vec![vec![0, 1], vec![1, 2], vec![2, 3], vec![3, 4]],
        output: vec![0],
        extents: vec![2, 3, 4, 5, 6],
    }
}

#[test]
fn wrong_networks_are_refused() {
    let wrong = |change: fn(&mut Network)| {
        let mut network = small();
        change(&mut network);
        let error = order(&network, &Options::default()).unwrap_err();
        assert_eq!(cost(&network, &Path::default(), &[]), Err(error.clone()));
        error.to_string()
    };
    let said = [
        wrong(|n| n.operands[2].push(9)),
        wrong(|n| n.operands[1].push(2)),
        wrong(|n| n.output.push(0)),
        wrong(|n| n.output.push(7)),
    ];
    assert_eq!(
        said,
        [
            "operand 2 has index 9, but only 5 indices have an extent",
            "operand 1 has index 2 twice",
            "the output has index 0 twice",
            "the output has index 7, which no operand has",
        ]
    );
}

#[test]
fn wrong_paths_are_refused() {
    let said = |steps: &[&[usize]], sliced: &[u32]| {
        let path = Path(steps.iter().map(|step| step.to_vec()).collect());
        cost(&small(), &path, sliced).map_err(|error| error.to_string())
    };
    let wrong = |steps: &[&[usize]]| said(steps, &[]).unwrap_err();
    assert_eq!(wrong(&[&[0, 1], &[]]), "step 1 of the path takes no operand");
    assert_eq!(
        wrong(&[&[0, 1], &[1, 3]]),
        "step 1 of the path takes operand 3, but only 3 are left then"
    );
    assert_eq!(
        wrong(&[&[1, 0]]),
        "step 0 of the path takes operand 0 after operand 1: positions ascend"
    );
    assert_eq!(
        wrong(&[&[1, 1]]),
        "step 0 of the path takes operand 1 after operand 1: positions ascend"
    );
    assert_eq!(
        wrong(&[&[0, 1], &[0, 1]]),
        "after the 2 steps of the path 2 operands are left, not one result"
    );
    assert_eq!(wrong(&[]), "after the 0 steps of the path 4 operands are left, not one result");
    let all: &[&[usize]] = &[&[3], &[0, 1, 2, 3]];
    let fits = said(all, &[]).unwrap();
    assert_eq!((fits.multiplications, fits.largest, fits.written), (360.0, 5.0, 7.0));
    let fits = said(all, &[3]).unwrap();
    assert_eq!((fits.multiplications, fits.largest, fits.written), (360.0, 2.0, 15.0));
    let twice = "index 3 cannot be sliced: no operand has it, or it is sliced already";
    assert_eq!(said(all, &[3, 3]).unwrap_err(), twice);
}

#[test]
fn few_operands_are_multiplied_in_the_best_order() {
    let mut random = Random(2);
    for _ in 0..3000 {
        let operands = 1 + random.below(6);
        let mut network = network(&mut random, operands);
        // Where an extent is 0 there is nothing to compute, in whatever order.
        network.extents[0] = network.extents[0].max(1);
        let found = order(&network, &Options::default()).unwrap().cost.multiplications;
        let best = fewest(&network);
        assert!(found <= best * (1.0 + 1e-9), "{found} > {best}: {network:?}");
    }
}

#[test]
fn few_operands_are_ordered_by_time() {
    // As many multiplications in both: rows of `bc` fill lanes where `a` is a column beside them, and would
    // have to be packed where they are summed.
    let network = Network {
        operands: vec![vec![0, 1], vec![1, 2], vec![2, 0]],
        output: vec![0],
        extents: vec![5, 100, 1000],
    };
    let timed = |network: &Network| {
        let options = Options { measure: Measure::Time, ..Options::default() };
        order(network, &options).unwrap().path.0[0].clone()
    };
    assert_eq!(timed(&network), [0, 1]);
    // The other way round where it lies so.
    let operands = vec![vec![0, 1], vec![2, 1], vec![2, 0]];
    assert_eq!(timed(&Network { operands, ..network }), [1, 2]);
}

#[test]
fn more_are_too_if_there_is_time() {
    let mut random = Random(3);
    for _ in 0..20 {
        let mut network = network(&mut random, 9);
        network.extents[0] = network.extents[0].max(1);
        let options = Options { effort: Effort::High, ..Options::default() };
        let found = order(&network, &options).unwrap().cost.multiplications;
        assert!(found <= fewest(&network) * (1.0 + 1e-9), "{network:?}");
    }
}

/// A ring of tensors, each with one more index that it shares with a random other, and one of the
/// output now and then.
fn ring(random: &mut Random, operands: u32, extent: u64) -> Network {
    let mut sets: Vec<Vec<u32>> = (0..operands).map(|at| vec![at, (at + 1) % operands]).collect();
    let mut places: Vec<u32> = (0..operands).collect();
    for at in (1..places.len()).rev() {
        places.swap(at, random.below(at as u64 + 1) as usize);
    }
    let mut extents = vec![extent; operands as usize];
    for pair in places.chunks(2) {
        pair.iter().for_each(|&place| sets[place as usize].push(extents.len() as u32));
        extents.push(1 + random.below(extent));
    }
    Network { operands: sets, output: vec![random.below(u64::from(operands)) as u32], extents }
}

/// The elements of the largest intermediate: not those of the result.
fn largest(network: &Network, found: &Order) -> u64 {
    let mut left = network.operands.clone();
    let mut largest = 0;
    for (at, step) in found.path.0.iter().enumerate() {
        let mut union = Vec::new();
        step.iter().rev().for_each(|&position| union.extend(left.remove(position)));
        union.sort_unstable();
        union.dedup();
        union.retain(|i| network.output.contains(i) || left.iter().any(|o| o.contains(i)));
        let kept = union.iter().filter(|i| !found.sliced.contains(i));
        let elements: u64 = kept.map(|&i| network.extents[i as usize]).product();
        largest = if at + 1 < found.path.0.len() { largest.max(elements) } else { largest };
        left.push(union);
    }
    largest
}

#[test]
fn limits_are_obeyed() {
    let mut random = Random(4);
    let mut sliced = 0;
    for round in 0..600 {
        let network = match round % 3 {
            0 => ring(&mut random, 8 + round % 17 * 2, 3),
            _ => {
                let operands = 1 + random.below(12);
                network(&mut random, operands)
            }
        };
        let most = [1, 2, 8, 9, 50][random.below(5) as usize];
        let effort = efforts()[[0, 1, 3][random.below(3) as usize]];
        let options = Options { effort, most_elements: Some(most), ..Options::default() };
        let found = order(&network, &options).unwrap();
        assert!(largest(&network, &found) <= most, "{found:?} {network:?}");
        assert_eq!(cost(&network, &found.path, &found.sliced), Ok(found.cost));
        assert_eq!(order(&network, &options), Ok(found.clone()));
        sliced += usize::from(!found.sliced.is_empty());
    }
    assert!(sliced > 200, "{sliced}");
    let none = Options { most_elements: Some(0), ..Options::default() };
    assert_eq!(order(&small(), &none), Err(OrderError::NoElements));
}

#[test]
fn searches_end_when_they_are_told_to() {
    // Each search would go on for seconds.
    let mut random = Random(5);
    for most_elements in [None, Some(1 << 20)] {
        let network = network(&mut random, 400);
        let options = Options { effort: Effort::High, most_elements, ..Options::default() };
        assert_eq!(order_until(&network, &options, &|| true), Err(OrderError::Interrupted));
    }
}

#[test]
fn slices_cost_little_while_there_is_room() {
    let network = ring(&mut Random(5), 60, 2);
    let cost = |most_elements| {
        let options = Options { effort: Effort::High, most_elements, ..Options::default() };
        order(&network, &options).unwrap().cost
    };
    let free = cost(None);
    assert!(cost(Some(free.largest as u64)).multiplications <= free.multiplications * 1.01);
    let half = cost(Some(free.largest as u64 / 2));
    assert!(half.multiplications < free.multiplications * 2.5, "{half:?} {free:?}");
}

#[test]
fn thousands_of_operands_are_ordered() {
    let mut random = Random(6);
    let everywhere = Network {
        operands: (0..5000).map(|at| vec![0, 1 + at / 2]).collect(),
        output: vec![0],
        extents: vec![3; 2501],
    };
    let apart = Network {
        operands: (0..5000).map(|at| vec![at]).collect(),
        output: (0..5000).collect(),
        extents: vec![2; 5000],
    };
    // Without optimisation everything takes twenty times as long.
    let effort = if cfg!(debug_assertions) { Effort::Steps(1 << 15) } else { Effort::Normal };
    let options = Options { effort, ..Options::default() };
    for network in [ring(&mut random, 5000, 2), everywhere, apart, network(&mut random, 5000)] {
        let found = order(&network, &options).unwrap();
        assert!(found.path.0.len() >= 4999);
    }
    let options = Options { effort: Effort::Greedy, most_elements: Some(4), ..options };
    let found = order(&ring(&mut random, 700, 2), &options).unwrap();
    assert!(found.sliced.len() > 50, "{}", found.sliced.len());
}

#[test]
fn a_time_is_kept() {
    let network = ring(&mut Random(7), 100, 3);
    let time = Duration::from_millis(200);
    let start = Instant::now();
    let found = order(&network, &Options { time: Some(time), ..Options::default() }).unwrap();
    // Far less than a search without a limit takes, and far more than a busy machine adds.
    assert!(start.elapsed() < 100 * time, "{:?}", start.elapsed());
    assert_eq!(cost(&network, &found.path, &[]), Ok(found.cost));
}
