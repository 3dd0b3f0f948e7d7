//! A program made ready for certain element types, shapes and strides.

use crate::Error;
use ijk_cpu::Compiled;
use ijk_ir::core::{self as ir, ArrayId, Instance};
use ijk_plan::plan::Plan;
use ijk_plan::{Facts, Layout, PlanError, c_strides};
use ijk_tensor::{TensorView, TensorViewMut};
use ijk_types::DType;
use smallvec::SmallVec;

/// What a plan keeps to besides the program and its arguments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rules {
    /// Most bytes of results and temporaries.
    pub(crate) memory_limit: Option<u64>,
    /// True if factors of reduced values are not reassociated.
    pub(crate) strict: bool,
}

/// What the engine made of a plan.
#[derive(Debug)]
pub(crate) struct Prepared {
    compiled: Compiled,
    /// Steps of the plan,
    steps: usize,
    /// and bytes of its temporaries.
    temporaries: u64,
    fallible: bool,
    cost: f64,
}

impl Prepared {
    /// Plans and compiles a program for arguments; results in C order unless outputs are given.
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

    /// Plans and compiles an instance of a program; results in C order unless their strides are given.
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

    /// Compiles a plan, unless it needs more than a limit together with what kernels take.
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

    /// Bytes of temporaries, and of what kernels take besides, on one thread.
    pub(crate) fn temporary_bytes(&self) -> u64 {
        self.temporaries.saturating_add(self.compiled.scratch_bytes(1))
    }

    /// The same, run while so many other bytes count against the memory limit.
    pub(crate) fn beside(self, bytes: u64) -> Self {
        Self { compiled: self.compiled.beside(bytes), ..self }
    }

    /// How many steps the plan has.
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

    /// Whether running it can fail after it has begun to write.
    pub(crate) fn is_fallible(&self) -> bool {
        self.fallible
    }
}

/// Plans that are made to find a limit that suffices.
const ATTEMPTS: usize = 8;

/// What an attempt within a memory limit gives. Where it is refused, the error names a limit with which it
/// is not: plans do not know what kernels take, and may be others with more memory.
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

/// The strides of places for results.
pub(crate) fn strides(outputs: &[TensorViewMut<'_>]) -> Vec<Vec<isize>> {
    outputs.iter().map(|output| output.strides().to_vec()).collect()
}

pub(crate) fn extents(shape: &[usize]) -> Vec<u64> {
    shape.iter().map(|&n| n as u64).collect()
}

/// Element types and extents of everything in a program, given its arguments'.
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

/// The output at a position has the element type and the shape of the result.
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
