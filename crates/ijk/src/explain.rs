//! Explanations of an application for people: types, domains, plan, cost, and the engine's choices for each step.

use crate::prepared::{extents, instantiate};
use crate::{Engine, Error, Program, StepExplanation};
use ijk_cpu::RunError;
use ijk_cpu::explain::Explainer;
use ijk_ir::core::{self as ir, Instance};
use ijk_plan::plan::Plan;
use ijk_plan::{Bytes, Cost, Layout};
use ijk_types::DType;
use std::fmt;

/// Types, domains, plan and cost of one application, and the [choices](Self::steps) of the engine. Displays as text of
/// several lines: under each step of the plan are its kernel, its blocking, and the reasons for both.
#[derive(Clone, Debug)]
pub struct Explanation {
    signature: String,
    program: ir::Program,
    instance: Instance,
    plan: Plan,
    explainer: Explainer,
    threads: usize,
    temporaries: u64,
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
        let arguments: Vec<_> = arguments.iter().map(|(t, s)| (*t, extents(s))).collect();
        let instance = instantiate(program.lowered(), &arguments)?;
        self.explain_instance(program.signature().to_string(), program.lowered(), &instance)
    }

    /// Explains an instance of a program.
    pub(crate) fn explain_instance(
        &self,
        signature: String,
        program: &ir::Program,
        instance: &Instance,
    ) -> Result<Explanation, Error> {
        let mut layout = Layout::contiguous(program, instance);
        layout.memory_limit = self.memory_limit();
        layout.strict = self.is_strict();
        let plan = ijk_plan::plan(program, instance, &layout)?;
        let (threads, temporaries) = (self.threads(), self.temporary_bytes(&plan));
        let (program, instance) = (program.clone(), instance.clone());
        let explainer = self.cpu().explainer();
        Ok(Explanation { signature, program, instance, plan, explainer, threads, temporaries })
    }
}

impl Explanation {
    /// The plan.
    #[doc(hidden)]
    pub fn plan(&self) -> &Plan {
        &self.plan
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
        Ok(self.explainer.explain(&self.plan).map_err(RunError::from)?)
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
        self.temporaries
    }

    /// Operations, and bytes read and written.
    pub fn cost(&self) -> Cost {
        self.plan.cost()
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
        writeln!(f)?;
        write_plan(f, &self.plan.to_string(), &self.steps().unwrap_or_default())?;
        if self.temporaries == self.plan.temporary_bytes() {
            return Ok(());
        }
        let (threads, temporaries) = (self.threads, Bytes(self.temporaries));
        write!(f, "\ntemporaries {temporaries} with {threads} threads, whose blocks have their own")
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
