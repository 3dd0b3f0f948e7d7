//! Orders of contraction: valid, the same every time, and as good as exhaustive search where that is
//! possible.

use ijk_plan::order::{Effort, Network, Options, OrderError, Path, cost, order};

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

fn efforts() -> [Effort; 4] {
    [Effort::Greedy, Effort::Normal, Effort::High, Effort::Steps(3000)]
}

#[test]
fn every_path_is_one_and_is_found_again() {
    let mut random = Random(1);
    for _ in 0..4000 {
        let operands = [1, 2, 3, 8, 20, 60][random.below(6) as usize];
        let operands = 1 + random.below(operands);
        let network = network(&mut random, operands);
        let effort = efforts()[[0, 1, 1, 1, 3][random.below(5) as usize]];
        let options = Options { effort, seed: random.below(9), ..Options::default() };
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
