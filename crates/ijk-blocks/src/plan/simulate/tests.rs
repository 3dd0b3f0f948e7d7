//! Simulations compared with counts of all blocks, panel by panel, in the order of the dataflow.

use super::*;
use crate::domain::Coordinates;
use crate::plan::Need;
use crate::plan::stage::Kernel;
use crate::{BigTensor, Outline, apply};
use ijk_types::DType;

fn outline(dims: &[usize], blocks: &[usize]) -> BigTensor {
    let blocks: Vec<Option<usize>> = blocks.iter().map(|&b| (b > 0).then_some(b)).collect();
    BigTensor::from_source(Outline::new("u", dims, blocks, DType::F32)).unwrap()
}

/// Terms of one stage each, with blocks that are shorter at the ends.
fn cases() -> Vec<(&'static str, BigTensor)> {
    let matrix = |rows, columns| outline(&[rows, columns], &[3, 4]);
    let vector = |n| outline(&[n], &[4]);
    let (batches, others) = (outline(&[5, 9, 8], &[1, 3, 4]), outline(&[5, 8, 7], &[1, 4, 3]));
    let einsum = |text, all: &[&BigTensor]| BigTensor::einsum(text, all).unwrap();
    let i = |text, all: &[&BigTensor]| apply(text, all).unwrap().remove(0);
    vec![
        ("product", matrix(20, 18).matmul(&outline(&[18, 15], &[4, 4])).unwrap()),
        ("tall", matrix(40, 4).matmul(&outline(&[4, 3], &[4, 3])).unwrap()),
        ("batches", einsum("bij,bjk->bik", &[&batches, &others])),
        (
            "batches last",
            einsum(
                "ijb,jbk->ikb",
                &[&outline(&[9, 8, 5], &[3, 4, 2]), &outline(&[8, 5, 7], &[4, 2, 3])],
            ),
        ),
        (
            "outer",
            einsum(
                "aij,amn->ijmn",
                &[&outline(&[4, 5, 6], &[2, 2, 3]), &outline(&[4, 5, 4], &[2, 2, 4])],
            ),
        ),
        ("sums", einsum("ij->i", &[&matrix(14, 20)])),
        (
            "three",
            i("i*j~ij . ij*ij~ij . +ij~i", &[&outline(&[14], &[3]), &vector(20), &matrix(14, 20)]),
        ),
        ("neighbours", i("+([i+k]*k)~i", &[&vector(30), &outline(&[6], &[3])])),
        ("sums of maps", i("i*j~ij . +ij~i", &[&vector(22), &vector(9)])),
        ("copy", matrix(11, 13).reblock([Some(4), Some(2)]).unwrap()),
    ]
}

/// Bytes of a part, element by element axis.
fn part_bytes(stage: &Stage, need: &Need, panel: usize) -> f64 {
    let operand = &stage.operands[need.operand];
    let ranges = operand.ranges(&stage.ranges(&need.at, panel));
    // Every operand of the cases is one array whose axes are all different, or whole.
    let own = operand.expr.leaves()[0].axes.iter().map(|(axis, _)| ranges[*axis].len() as f64);
    own.product::<f64>() * 4.0
}

/// Bytes that workers read for each other, that are sent to other machines, and that are read from stores.
fn counted(stage: &Stage, on: &Machines) -> [f64; 3] {
    let team = Team { processes: on.machines, workers: on.workers }.of(stage);
    let schedule = Schedule::new(stage, team, crate::run::WINDOW, on.memory);
    let [mut shared, mut moved, mut read] = [0.0; 3];
    for time in 0..schedule.times() {
        let Some(panel) = schedule.panel(time) else { continue };
        let round = schedule.round(time);
        for (number, need) in round.needs.iter().enumerate() {
            let bytes = part_bytes(stage, need, panel);
            let reader = need.reader(number, panel);
            assert!(need.workers.contains(&reader));
            read += bytes;
            shared += bytes * (need.workers.len() - 1) as f64;
            let receivers = schedule.receivers(need, schedule.process(reader), number);
            assert!(receivers.iter().all(|worker| need.workers.contains(worker)));
            moved += bytes * receivers.len() as f64;
        }
    }
    [shared, moved, read]
}

/// Terms of two stages each: parts of a long axis are folded, then these.
fn long() -> Vec<(&'static str, BigTensor)> {
    let einsum = |text, all: &[&BigTensor]| BigTensor::einsum(text, all).unwrap();
    let (tall, wide) = (outline(&[5, 70], &[3, 4]), outline(&[70, 3], &[4, 0]));
    vec![
        ("long", tall.matmul(&wide).unwrap()),
        ("in whole parts", outline(&[5, 96], &[3, 4]).matmul(&outline(&[96, 3], &[4, 2])).unwrap()),
        ("dot", einsum("i,i->", &[&outline(&[1000], &[9]), &outline(&[1000], &[9])])),
        (
            "two axes",
            einsum(
                "aij,jib->ab",
                &[&outline(&[4, 40, 6], &[2, 2, 4]), &outline(&[6, 40, 3], &[4, 2, 2])],
            ),
        ),
        ("one without it", einsum("ik,j->ij", &[&tall, &outline(&[9], &[4])])),
    ]
}

#[test]
fn simulations_count_what_schedules_move() {
    let one = cases().into_iter().map(|case| (1, case));
    for (stages, (name, term)) in one.chain(long().into_iter().map(|case| (2, case))) {
        let plan = BlockPlan::new(&term);
        assert_eq!(plan.stages.len(), stages, "{name}");
        for (machines, workers, memory) in [
            (2, 1, None),
            (4, 1, None),
            (4, 1, Some(200)),
            (6, 1, Some(1000)),
            (2, 3, None),
            (3, 2, Some(300)),
            (5, 4, None),
        ] {
            let stage = &plan.stages[0];
            let on = Machines { machines, workers, memory, ..Machines::default() };
            let simulated = &plan.simulate(&on).unwrap().stages[0];
            let [shared, moved, read] = counted(stage, &on);
            let what = format!("{name} on {on:?}");
            let all = |spread: Spread| spread.mean * machines as f64;
            let same =
                |l: f64, r: f64| assert!((l - r).abs() <= 1e-9 * l.max(r), "{what}: {l} {r}");
            same(simulated.exchanged, shared);
            same(all(simulated.moved), moved);
            same(all(simulated.read), read);
            same(all(simulated.written), stage.out.len().unwrap() as f64 * 4.0);
        }
    }
}

#[test]
fn workers_of_a_machine_send_nothing_through_the_network() {
    let (_, product) = cases().swap_remove(0);
    let plan = BlockPlan::new(&product);
    let on = |machines, workers| {
        let on = Machines { machines, workers, ..Machines::default() };
        plan.simulate(&on).unwrap().stages.remove(0)
    };
    let (one, two, four) = (on(1, 4), on(2, 2), on(4, 1));
    assert_eq!(one.exchanged, four.exchanged);
    assert_eq!(one.moved.most, 0.0);
    let all = |of: &Simulated, machines: f64| of.moved.mean * machines;
    assert!(0.0 < all(&two, 2.0) && all(&two, 2.0) < all(&four, 4.0));
    assert_eq!(one.operations, 2.0 * 20.0 * 18.0 * 15.0);
    assert_eq!(one.operations, four.operations);
}

#[test]
fn nothing_moves_less_than_the_bounds() {
    for side in [24, 100] {
        for machines in [1, 2, 3, 8, 16, 36] {
            for memory in [None, Some(4000), Some(20_000)] {
                let u = outline(&[side, side], &[2, 2]);
                let plan = BlockPlan::new(&u.matmul(&u).unwrap());
                let on = Machines { machines, memory, ..Machines::default() };
                let simulated = plan.simulate(&on).unwrap().stages.remove(0);
                let bound = simulated.bound.unwrap();
                assert!(bound.ratio >= 1.0, "{side} {machines} {memory:?}: {simulated}");
            }
        }
    }
}

#[test]
fn memory_is_within_the_limit_where_it_can_be() {
    let u = outline(&[400, 400], &[10, 10]);
    let plan = BlockPlan::new(&u.matmul(&u).unwrap());
    for memory in [20_000, 50_000, 1_000_000] {
        let on = Machines { machines: 4, memory: Some(memory), ..Machines::default() };
        let simulation = plan.simulate(&on).unwrap();
        assert!(simulation.memory() <= memory as f64, "{memory}: {simulation}");
    }
}

#[test]
fn stages_are_counted_with_what_they_leave() {
    let u = outline(&[40, 40], &[10, 10]);
    let square = u.matmul(&u).unwrap();
    let plan = BlockPlan::new(&square.matmul(&square).unwrap());
    let on = Machines { machines: 4, ..Machines::default() };
    let simulation = plan.simulate(&on).unwrap();
    let [first, second] = &simulation.stages[..] else { panic!("{simulation}") };
    assert!(matches!(plan.stages[1].kernel, Kernel::Contract(_)));
    // The square is held on the machines, and read from there.
    assert_eq!(second.read.most, 0.0);
    assert_eq!(second.memory.mean - first.memory.mean, 40.0 * 40.0 * 4.0 / 4.0);
    assert!(second.moved.mean > first.moved.mean);
}

#[test]
fn sizes_beyond_all_machines_are_refused_or_planned() {
    let side = 1 << 50;
    let u = outline(&[side, side], &[1, 1]);
    let error = BlockPlan::new(&u.matmul(&u).unwrap()).simulate(&Machines::default()).unwrap_err();
    assert!(error.to_string().contains("blocks side by side"), "{error}");
    let v = outline(&[1 << 32, 1 << 32], &[1 << 14, 1 << 14]);
    let on =
        Machines { machines: 10_000, workers: 4, memory: Some(1 << 38), ..Machines::default() };
    let simulation = BlockPlan::new(&v.matmul(&v).unwrap()).simulate(&on).unwrap();
    assert_eq!(simulation.stages[0].operations, 2f64.powi(97));
    let empty = outline(&[0, 4], &[2, 2]);
    let plan = BlockPlan::new(&outline(&[4, 0], &[2, 2]).matmul(&empty).unwrap());
    let nothing = plan.simulate(&Machines { machines: 2, ..Machines::default() }).unwrap();
    assert_eq!(nothing.stages[0].operations, 0.0);
    assert!(Coordinates::of(&[], 0).is_empty());
}
