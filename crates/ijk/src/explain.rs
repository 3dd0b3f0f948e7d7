//! Explanations of an application for people: types, domains, plan, cost, and the engine's choices for each step.

use crate::numbers::with_numbers;
use crate::prepared::{extents, instantiate};
use crate::{Arguments, Engine, Error, Program, StepExplanation, staged};
use ijk_cpu::RunError;
use ijk_cpu::explain::Explainer;
use ijk_ir::core::{self as ir, Instance};
use ijk_plan::plan::Plan;
use ijk_plan::{Bytes, Cost, Layout, c_strides};
use ijk_types::DType;
use std::fmt;

/// Types, domains, plan and cost of one application, and the [choices](Self::steps) of the engine. Displays as text of
/// several lines: under each step of the plan are its kernel, its blocking, and the reasons for both.
#[derive(Clone, Debug)]
pub struct Explanation {
    signature: String,
    program: ir::Program,
    instance: Instance,
    /// One plan, or of a program with loops one for each of its steps and updates.
    parts: Vec<ExplainedPlan>,
    explainer: Explainer,
    threads: usize,
}

/// A plan of an application.
#[derive(Clone, Debug)]
pub(crate) struct ExplainedPlan {
    /// The loops that it is in, each with its passes and their order; empty outside of loops.
    pub(crate) heading: String,
    /// Number of times that it runs.
    pub(crate) passes: u64,
    pub(crate) plan: Plan,
    pub(crate) temporaries: u64,
}

impl Program {
    /// Explains an application to arguments of these element types and shapes, in C order.
    ///
    /// # Errors
    /// As for [`apply`](Program::apply), before anything is computed.
    ///
    /// ```
    /// use ijk::DType;
    /// let product = ijk::i("ik*kj~ijk . +ijk~ij")?;
    /// let explanation = product.explain(&[(DType::F32, &[64, 32]), (DType::F32, &[32, 16])])?;
    /// assert_eq!(explanation.cost().operations, 2 * 64 * 32 * 16);
    /// assert!(explanation.to_string().contains("contract"));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn explain(&self, arguments: &[(DType, &[usize])]) -> Result<Explanation, Error> {
        Engine::global().explain(self, arguments)
    }
}

impl Engine {
    /// As [`Program::explain`], with this engine's threads and within its memory limit.
    ///
    /// # Errors
    /// As for [`Program::explain`].
    pub fn explain(
        &self,
        program: &Program,
        arguments: &[(DType, &[usize])],
    ) -> Result<Explanation, Error> {
        let strides = |shape: &&[usize]| c_strides(&extents(shape));
        let strides = arguments.iter().map(|(_, shape)| strides(shape)).collect();
        self.explain_strides(program, arguments, strides)
    }

    /// As [`explain`](Self::explain), for these arrays: with their strides.
    ///
    /// # Errors
    /// As for [`Program::explain`].
    ///
    /// ```
    /// use ijk::{Engine, ndarray::Array2};
    /// let x = Array2::<f32>::zeros((500, 300));
    /// let sums = ijk::i("+ij~i")?;
    /// let (rows, columns) = (Engine::global().explain_arrays(&sums, (&x,))?, Engine::global().explain_arrays(&sums, (&x.t(),))?);
    /// assert_ne!(rows.to_string(), columns.to_string());
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn explain_arrays<'a, Kind>(
        &self,
        program: &Program,
        arguments: impl Arguments<'a, Kind>,
    ) -> Result<Explanation, Error> {
        arguments.with_views(|views, numbers| {
            let wanted = |number| program.type_of_number(views, numbers, number);
            with_numbers(views, numbers, wanted, |inputs| {
                let outlines: Vec<_> = inputs.iter().map(|x| (x.dtype(), x.shape())).collect();
                let strides = inputs.iter().map(|x| x.strides().to_vec()).collect();
                self.explain_strides(program, &outlines, strides)
            })
        })
    }

    fn explain_strides(
        &self,
        program: &Program,
        arguments: &[(DType, &[usize])],
        strides: Vec<Vec<isize>>,
    ) -> Result<Explanation, Error> {
        let arguments: Vec<_> = arguments.iter().map(|(t, s)| (*t, extents(s))).collect();
        let (lowered, signature) = (program.lowered(), program.signature().to_string());
        let instance = instantiate(lowered, &arguments)?;
        let parts = match lowered.loops.is_empty() {
            true => vec![self.explained(lowered, &instance, Some(strides))?],
            false => staged::explain(self, lowered, &instance, &strides)?,
        };
        Ok(self.explanation(signature, lowered, &instance, parts))
    }

    /// Explains an instance of a program without loops, for inputs of these strides, or in C order.
    pub(crate) fn explain_instance(
        &self,
        signature: String,
        program: &ir::Program,
        instance: &Instance,
        strides: Option<Vec<Vec<isize>>>,
    ) -> Result<Explanation, Error> {
        let parts = vec![self.explained(program, instance, strides)?];
        Ok(self.explanation(signature, program, instance, parts))
    }

    fn explanation(
        &self,
        signature: String,
        program: &ir::Program,
        instance: &Instance,
        parts: Vec<ExplainedPlan>,
    ) -> Explanation {
        let (program, instance) = (program.clone(), instance.clone());
        let (explainer, threads) = (self.cpu().explainer(), self.threads());
        Explanation { signature, program, instance, parts, explainer, threads }
    }

    /// The plan of an instance of a program, for inputs of these strides.
    pub(crate) fn explained(
        &self,
        program: &ir::Program,
        instance: &Instance,
        strides: Option<Vec<Vec<isize>>>,
    ) -> Result<ExplainedPlan, Error> {
        let mut layout = Layout::contiguous(program, instance);
        layout.memory_limit = self.memory_limit();
        layout.strict = self.is_strict();
        if let Some(inputs) = strides {
            layout.inputs = inputs;
        }
        let plan = ijk_plan::plan(program, instance, &layout)?;
        Ok(self.explained_plan(plan))
    }

    /// A plan that runs once.
    pub(crate) fn explained_plan(&self, plan: Plan) -> ExplainedPlan {
        let temporaries = self.temporary_bytes(&plan);
        ExplainedPlan { heading: String::new(), passes: 1, plan, temporaries }
    }
}

impl Explanation {
    /// The plan; of a program with loops, the first one.
    #[doc(hidden)]
    pub fn plan(&self) -> &Plan {
        &self.parts[0].plan
    }

    /// The engine's choices for each executable step, in order of execution: kernel, algorithm, blocking, the sizes and
    /// thresholds that decided, and the estimated time. The steps of a block follow those of their sweep.
    ///
    /// # Errors
    /// [`Error::Run`] if the engine refuses the plan.
    ///
    /// ```
    /// use ijk::DType;
    /// let product = ijk::i("ik*kj~ijk . +ijk~ij")?;
    /// let algorithm = |n: usize| {
    ///     let steps = product.explain(&[(DType::F32, &[n, n]), (DType::F32, &[n, n])])?.steps()?;
    ///     Ok::<_, ijk::Error>((steps[0].algorithm, steps[0].reasons[0].to_string()))
    /// };
    /// assert_eq!(algorithm(64)?, ("small matrices, read in place", "k = 64 is at most 256".to_owned()));
    /// assert_eq!(algorithm(512)?.1, "k = 512 is above 256: loops are blocked");
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn steps(&self) -> Result<Vec<StepExplanation>, Error> {
        let mut steps = Vec::new();
        for part in &self.parts {
            steps.extend(self.explainer.explain(&part.plan).map_err(RunError::from)?);
        }
        Ok(steps)
    }

    /// Bytes of the temporaries, including those of all blocks of a sweep that run concurrently on the
    /// threads of the engine.
    ///
    /// ```
    /// use ijk::{DType, Engine};
    /// let softmax = ijk::i("(I & >ij~i) . ij-i~ij . ^ij~ij . (I & +ij~i) . ij/i~ij")?;
    /// let bytes = |threads| {
    ///     let engine = Engine::builder().threads(threads).build();
    ///     Ok::<_, ijk::Error>(engine.explain(&softmax, &[(DType::F32, &[4096, 4096])])?.temporary_bytes())
    /// };
    /// assert_eq!(bytes(3)?, 3 * bytes(1)?);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn temporary_bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.temporaries).max().unwrap_or(0)
    }

    /// Operations, and bytes read and written, in all passes of loops.
    pub fn cost(&self) -> Cost {
        let costs = self.parts.iter().map(|part| part.plan.cost().times(part.passes));
        costs.fold(Cost::default(), |sum, cost| sum + cost)
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "signature: {}", self.signature)?;
        for (n, id) in self.program.inputs.iter().enumerate() {
            writeln!(f, "argument {}: {}", n + 1, array(&self.instance, *id))?;
        }
        for (n, id) in self.program.outputs.iter().enumerate() {
            writeln!(f, "result {}: {}", n + 1, array(&self.instance, *id))?;
        }
        for (stmt, extents) in self.program.statements.iter().zip(&self.instance.extents) {
            let span = stmt.span.start as usize..stmt.span.end as usize;
            let text = self.program.source.get(span).unwrap_or("?");
            write!(f, "domain of {text}:")?;
            for (axis, extent) in stmt.domain.iter().zip(extents) {
                write!(f, " {}={extent}", axis.name)?;
            }
            writeln!(f)?;
        }
        for (n, part) in self.parts.iter().enumerate() {
            write!(f, "{}", if n > 0 { "\n\n" } else { "\n" })?;
            if !part.heading.is_empty() {
                writeln!(f, "{}", part.heading)?;
            }
            let steps = self.explainer.explain(&part.plan).unwrap_or_default();
            write_plan(f, &part.plan.to_string(), &steps)?;
            if part.temporaries != part.plan.temporary_bytes() {
                let (threads, temporaries) = (self.threads, Bytes(part.temporaries));
                write!(
                    f,
                    "\ntemporaries {temporaries} with {threads} threads, whose blocks have their own"
                )?;
            }
        }
        Ok(())
    }
}

/// Writes the table of a plan, with the explanations of each step under its row.
fn write_plan(f: &mut fmt::Formatter<'_>, table: &str, steps: &[StepExplanation]) -> fmt::Result {
    for (n, row) in table.lines().enumerate() {
        write!(f, "{}{row}", if n > 0 { "\n" } else { "" })?;
        // Rows begin with the number of their step.
        let number = row.split_whitespace().next();
        for step in steps.iter().filter(|step| Some(&step.step[..]) == number) {
            for line in step.to_string().lines() {
                write!(f, "\n      {line}")?;
            }
        }
    }
    Ok(())
}

fn array(instance: &Instance, id: ir::ArrayId) -> String {
    let extents = instance.shapes[id.0 as usize].iter().map(u64::to_string);
    format!("{} [{}]", instance.dtypes[id.0 as usize], extents.collect::<Vec<_>>().join(", "))
}
