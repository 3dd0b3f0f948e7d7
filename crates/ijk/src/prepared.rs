//! Plans compiled for element types, shapes and strides.

use crate::Error;
use ijk_cpu::{Compiled, CompiledLoop};
use ijk_ir::core::{self as ir, ArrayId, Instance};
use ijk_plan::plan::Plan;
use ijk_plan::{Facts, Layout, LoopOptions, PlanError, c_strides};
use ijk_tensor::{TensorView, TensorViewMut};
use ijk_types::DType;
use smallvec::SmallVec;

/// Settings of the user that a plan obeys.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    /// Upper bound, in bytes, of results and temporaries.
    pub(crate) memory_limit: Option<u64>,
    /// True if factors of reduced values are not reassociated.
    pub(crate) strict: bool,
}

/// A compiled plan, with the figures that every call needs.
#[derive(Debug)]
pub(crate) struct Prepared {
    compiled: Compiled,
    /// Number of steps.
    steps: usize,
    /// Bytes of temporaries, without scratch memory of kernels.
    temporaries: u64,
    fallible: bool,
    cost: f64,
}

impl Prepared {
    /// Plans and compiles a program for arguments; results are in C order unless outputs are given.
    pub(crate) fn new(
        program: &ir::Program,
        engine: &ijk_cpu::Engine,
        rules: Rules,
        inputs: &[TensorView<'_>],
        outputs: Option<&[TensorViewMut<'_>]>,
        facts: Facts,
    ) -> Result<Self, Error> {
        let shapes: SmallVec<[SmallVec<[u64; 8]>; 4]> =
            inputs.iter().map(|i| i.shape().iter().map(|&n| n as u64).collect()).collect();
        let arguments =
            inputs.iter().zip(&shapes).map(|(input, shape)| (input.dtype(), &shape[..]));
        let arguments: SmallVec<[(DType, &[u64]); 4]> = arguments.collect();
        let instance = ijk_ir::instantiate(program, &arguments)
            .map_err(|diagnostics| Error::program(&program.source, diagnostics))?;
        if let Some(outputs) = outputs {
            check_outputs(program, &instance, outputs)?;
        }
        let outputs = outputs.map(strides);
        Self::of(program, &instance, engine, rules, inputs, outputs, facts)
    }

    /// Plans and compiles an instance of a program; results are in C order unless their strides are given.
    pub(crate) fn of(
        program: &ir::Program,
        instance: &Instance,
        engine: &ijk_cpu::Engine,
        rules: Rules,
        inputs: &[TensorView<'_>],
        outputs: Option<Vec<Vec<isize>>>,
        facts: Facts,
    ) -> Result<Self, Error> {
        let contiguous = |id: &ArrayId| c_strides(&instance.shapes[id.0 as usize]);
        let outputs = outputs.unwrap_or_else(|| program.outputs.iter().map(contiguous).collect());
        let inputs = inputs.iter().map(|input| input.strides().to_vec()).collect();
        let layout = Layout::new(inputs, outputs, rules.memory_limit);
        let layout = Layout { strict: rules.strict, facts, ..layout };
        naming_the_least(rules.memory_limit, |memory_limit| {
            let plan = match memory_limit == layout.memory_limit {
                true => ijk_plan::plan(program, instance, &layout),
                false => {
                    let layout = Layout { memory_limit, ..layout.clone() };
                    ijk_plan::plan(program, instance, &layout)
                }
            };
            Self::planned(plan?, engine, memory_limit)
        })
    }

    /// Compiles a plan, if it fits in a memory limit with the scratch memory of its kernels.
    pub(crate) fn planned(
        plan: Plan,
        engine: &ijk_cpu::Engine,
        memory_limit: Option<u64>,
    ) -> Result<Self, Error> {
        let compiled = engine.compile(&plan).map_err(ijk_cpu::RunError::from)?;
        let (fallible, cost) = (plan.is_fallible(), compiled.cost());
        let (steps, temporaries) = (plan.steps.len(), plan.temporary_bytes());
        let prepared = Self { compiled, steps, temporaries, fallible, cost };
        let (results, temporaries) = (plan.result_bytes(), prepared.temporary_bytes());
        let needed = results.saturating_add(temporaries);
        match memory_limit.filter(|&limit| needed > limit) {
            None => Ok(prepared),
            Some(limit) => {
                Err(PlanError::MemoryLimit { needed, results, temporaries, limit }.into())
            }
        }
    }

    /// Bytes of temporaries and scratch memory on one thread.
    pub(crate) fn temporary_bytes(&self) -> u64 {
        self.temporaries.saturating_add(self.compiled.scratch_bytes(1))
    }

    /// The same with other bytes that count against the memory limit while it runs.
    pub(crate) fn beside(self, bytes: u64) -> Self {
        Self { compiled: self.compiled.beside(bytes), ..self }
    }

    /// Number of steps.
    pub(crate) fn steps(&self) -> usize {
        self.steps
    }

    pub(crate) fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// Estimated work, in nanoseconds on one thread.
    pub(crate) fn cost(&self) -> f64 {
        self.cost
    }

    /// True if a run can fail after it has begun to write.
    pub(crate) fn is_fallible(&self) -> bool {
        self.fallible
    }
}

/// A compiled loop.
#[derive(Debug)]
pub(crate) struct PreparedLoop {
    compiled: CompiledLoop,
}

impl PreparedLoop {
    /// Plans and compiles a loop for arrays of these strides.
    pub(crate) fn new(
        program: &ir::LoopProgram,
        engine: &ijk_cpu::Engine,
        rules: Rules,
        strides: &[Vec<isize>],
    ) -> Result<Self, Error> {
        let Rules { memory_limit, strict } = rules;
        let plan = ijk_plan::plan_loop(program, strides, LoopOptions { memory_limit, strict })?;
        let compiled = engine.compile_loop(&plan).map_err(ijk_cpu::RunError::from)?;
        Ok(Self { compiled })
    }

    pub(crate) fn compiled(&self) -> &CompiledLoop {
        &self.compiled
    }
}

/// Attempts to find a sufficient limit.
const ATTEMPTS: usize = 8;

/// Calls `attempt` within a memory limit. If that fails for memory, the error names a limit that suffices, found by
/// further attempts: scratch memory is known only after compilation, and a larger limit may lead to another plan.
pub(crate) fn naming_the_least<T>(
    limit: Option<u64>,
    attempt: impl Fn(Option<u64>) -> Result<T, Error>,
) -> Result<T, Error> {
    let refused = |result| match result {
        Err(Error::Plan(PlanError::MemoryLimit { needed, results, temporaries, .. })) => {
            Err((needed, results, temporaries))
        }
        result => Ok(result),
    };
    let (mut least, limit) = match (refused(attempt(limit)), limit) {
        (Err(least), Some(limit)) => (least, limit),
        (Err(_), None) => unreachable!("without a limit nothing is beyond it"),
        (Ok(result), _) => return result,
    };
    for _ in 0..ATTEMPTS {
        let Err(more) = refused(attempt(Some(least.0))) else { break };
        least = more;
    }
    let (needed, results, temporaries) = least;
    Err(PlanError::MemoryLimit { needed, results, temporaries, limit }.into())
}

/// Strides of outputs.
pub(crate) fn strides(outputs: &[TensorViewMut<'_>]) -> Vec<Vec<isize>> {
    outputs.iter().map(|output| output.strides().to_vec()).collect()
}

pub(crate) fn extents(shape: &[usize]) -> Vec<u64> {
    shape.iter().map(|&n| n as u64).collect()
}

/// Element types and extents of all arrays of a program, from those of its arguments.
pub(crate) fn instantiate(
    program: &ir::Program,
    arguments: &[(DType, Vec<u64>)],
) -> Result<Instance, Error> {
    let arguments: Vec<_> = arguments.iter().map(|(dtype, shape)| (*dtype, &shape[..])).collect();
    ijk_ir::instantiate(program, &arguments).map_err(|d| Error::program(&program.source, d))
}

pub(crate) fn check_outputs(
    program: &ir::Program,
    instance: &Instance,
    outputs: &[TensorViewMut<'_>],
) -> Result<(), Error> {
    let expected = program.outputs.len();
    if expected != outputs.len() {
        return Err(Error::OutputCount { expected, found: outputs.len() });
    }
    for (n, (output, id)) in outputs.iter().zip(&program.outputs).enumerate() {
        check_output(n, output, instance.dtypes[id.0 as usize], &instance.shapes[id.0 as usize])?;
    }
    Ok(())
}

/// Checks that the output at a position has the element type and the shape of the result.
pub(crate) fn check_output(
    position: usize,
    output: &TensorViewMut<'_>,
    dtype: DType,
    shape: &[u64],
) -> Result<(), Error> {
    let shape: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
    if output.dtype() == dtype && output.shape() == shape {
        return Ok(());
    }
    Err(Error::Output {
        position: position + 1,
        expected_dtype: dtype,
        expected: shape,
        found_dtype: output.dtype(),
        found: output.shape().to_vec(),
    })
}
