//! Arguments that lie otherwise than kernels want them: what is copied, and what is gone through from its end.

use ijk_plan::plan::{Plan, Step};
use ijk_plan::{Kernel, Layout, c_strides, plan};
use ijk_types::DType;

/// The plan of a program in i on `f32` arguments of these shapes and strides.
fn planned(source: &str, arguments: &[(&[u64], &[isize])]) -> Plan {
    let program = ijk_ir::compile_source(source).program.expect("a program");
    let shapes: Vec<_> = arguments.iter().map(|&(shape, _)| (DType::F32, shape)).collect();
    let instance = ijk_ir::instantiate(&program, &shapes).expect("it fits");
    let strides = arguments.iter().map(|(_, strides)| strides.to_vec()).collect();
    let of = |&id: &ijk_ir::core::ArrayId| c_strides(&instance.shapes[id.0 as usize]);
    let layout = Layout::new(strides, program.outputs.iter().map(of).collect(), None);
    plan(&program, &instance, &layout).expect("small")
}

#[test]
fn a_reversed_argument_is_reduced_along_memory() {
    let plan = planned("+ij~i", &[(&[300, 400], &[400, -1])]);
    let [Step::Nest(nest)] = &plan.steps[..] else { panic!("{plan}") };
    let load = &nest.loads[0];
    assert_eq!((load.base.offset, &load.strides[..]), (-399, &[400, 1][..]), "{plan}");
    let plan = planned("ik*kj~ijk . +ijk~ij", &[(&[64, 32], &[-32, -1]), (&[32, 64], &[64, 1])]);
    let [Step::Contract(product)] = &plan.steps[..] else { panic!("{plan}") };
    // Where one operand goes either way, the larger one decides; rows of the result are written as they lie.
    assert!(product.axes.iter().all(|axis| axis.c >= 0), "{product:?}");
}

#[test]
fn thin_operands_are_made_alike() {
    let kernels = |n: u64, a: &[isize], b: &[isize]| {
        let shape: &[u64] = &[5000, n];
        let plan = planned("ki*kj~kij . +kij~ij", &[(shape, a), (shape, b)]);
        plan.steps.iter().map(Step::kernel).collect::<Vec<_>>()
    };
    let columns: &[isize] = &[1, 5000];
    for n in [4, 12] {
        let rows: &[isize] = &[n as isize, 1];
        assert_eq!(kernels(n, rows, rows).len(), 1);
        assert_eq!(kernels(n, columns, columns).len(), 1);
        for (a, b) in [(rows, columns), (columns, rows)] {
            // Up to eight rows are read as they are.
            let copies = [Kernel::Copy, Kernel::Contract];
            assert_eq!(kernels(n, a, b), if n > 8 { &copies[..] } else { &copies[1..] });
        }
    }
}

#[test]
fn matrices_of_a_batch_are_whole_in_temporaries() {
    let source = "((+(bif*bjf)~ijb . ^ijb~ijb) | I) . +(ijb*bjg)~big";
    let (shape, strides): (&[u64], &[isize]) = (&[4, 128, 32], &[4096, 32, 1]);
    let plan = planned(source, &[(shape, strides); 3]);
    let kernels: Vec<Kernel> = plan.steps.iter().map(Step::kernel).collect();
    assert_eq!(kernels, [Kernel::Contract, Kernel::Map, Kernel::Contract], "{plan}");
}
