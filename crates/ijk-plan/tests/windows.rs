//! Plans of statements that read windows: maps that define a part of an array, functions of elements that windows
//! share, temporaries with a row per window, and sweeps over rows of windows.

use ijk_plan::plan::{Plan, Step};
use ijk_plan::{Kernel, Layout, plan};
use ijk_types::DType;

/// The plan of a program in i on `f32`, which computes what the program says, where so many bytes stay near.
fn planned(source: &str, shapes: &[&[u64]], near: u64) -> Plan {
    let arguments: Vec<_> = shapes.iter().map(|&shape| (DType::F32, shape)).collect();
    crate::support::checked_source(source, &arguments);
    let program = ijk_ir::compile_source(source).program.expect("a program");
    let instance = ijk_ir::instantiate(&program, &arguments).expect("it fits");
    let layout = Layout { near, ..Layout::contiguous(&program, &instance) };
    plan(&program, &instance, &layout).expect("small")
}

fn kernels(plan: &Plan) -> Vec<Kernel> {
    plan.steps.iter().map(Step::kernel).collect()
}

#[test]
fn a_part_of_an_array_is_evaluated_where_it_is_read() {
    let image: &[u64] = &[160, 150];
    for (source, boxes) in [
        // Zeros before the first row and column, and numbers elsewhere.
        ("ij*3~[i+1][j+1] . ^ij~ij", 3),
        // Of every second element nothing is a box.
        ("ij*3~[2*i][j] . ^ij~ij", 0),
        // Another order of axes.
        ("ij*3~[j+2][i] . ^ij~ij", 2),
        // Its consumer is a reduction.
        ("ij*3~[i+1][j+1] . ^ij~ij . +ij~i", 4),
    ] {
        let plan = planned(source, &[image], 1 << 30);
        if boxes > 0 {
            assert_eq!((plan.arena, plan.steps.len()), (0, boxes), "{source}\n{plan}");
            assert!(!kernels(&plan).contains(&Kernel::Copy), "{source}\n{plan}");
        }
    }
}

#[test]
fn a_region_that_is_read_twice_is_stored() {
    let plan = planned("^ij~[i+1][j+1] . (I & I) . ij-[160-i]j~ij", &[&[160, 150]], 1 << 30);
    assert!(plan.arena > 0, "{plan}");
}

#[test]
fn functions_of_shared_elements_are_evaluated_once() {
    let plan = planned("@sin[i{9000}+k{30}]~ik . +ik~i", &[&[9029]], 1 << 30);
    let [Step::Nest(sines), Step::Nest(sums)] = &plan.steps[..] else { panic!("{plan}") };
    assert_eq!((sines.points(), sums.points()), (9029, 9000 * 30));
}

#[test]
fn temporaries_lie_along_long_rows() {
    let source = "[i{200}+k{5}]~ik . (I & >ik~i) . ^(ik-i)~ik . (I & +ik~i) . ik/i~ik";
    let plan = planned(source, &[&[204]], 1 << 30);
    let shapes: Vec<&[usize]> = plan.buffers.iter().map(|buffer| &buffer.shape[..]).collect();
    assert!(shapes.contains(&&[5, 200][..]), "{plan}");
    // The result has the axes that its caller asked for.
    assert!(shapes.contains(&&[200, 5][..]), "{plan}");
}

#[test]
fn rows_of_windows_sweep() {
    let source = "(^[i{90}+r{3}][j{80}+s{3}]~irjs) . (I & +irjs~ij) . irjs/ij~irjs . >irjs~ij";
    let plan = planned(source, &[&[92, 82]], 10_000);
    let Some(Step::Sweep(sweep)) = plan.steps.last() else { panic!("{plan}") };
    assert_eq!((&sweep.axes[0].name[..], sweep.axes[0].extent), ("i", 90));
    let block = sweep.axes[0].block;
    let window = &sweep.body.buffers[0];
    assert_eq!(window.shape[0], block + 2, "{plan}");
}

#[test]
fn two_axes_of_one_place_are_no_rows_of_a_sweep() {
    let source = "^[i{60}+j{50}]~ij . (I & >ij~i) . ij-i~ij . (I & +ij~j) . ij/j~ij";
    planned(source, &[&[109]], 1000);
}
