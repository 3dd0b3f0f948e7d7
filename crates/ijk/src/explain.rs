//! Explanations of an application for people: types, domains, plan, cost.

use crate::prepared::{extents, instantiate};
use crate::{Engine, Error, Program};
use ijk_ir::core::{self as ir, Instance};
use ijk_plan::plan::Plan;
use ijk_plan::{Bytes, Cost, Layout};
use ijk_types::DType;
use std::fmt;

/// Types, domains, plan and cost of one application. Displays as text of several lines.
#[derive(Clone, Debug)]
pub struct Explanation {
    signature: String,
    program: ir::Program,
    instance: Instance,
    plan: Plan,
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
        Ok(Explanation { signature, program, instance, plan, threads, temporaries })
    }
}

impl Explanation {
    /// The plan.
    #[doc(hidden)]
    pub fn plan(&self) -> &Plan {
        &self.plan
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
        write!(f, "\n{}", self.plan)?;
        if self.temporaries == self.plan.temporary_bytes() {
            return Ok(());
        }
        let (threads, temporaries) = (self.threads, Bytes(self.temporaries));
        write!(f, "\ntemporaries {temporaries} with {threads} threads, whose blocks have their own")
    }
}

fn array(instance: &Instance, id: ir::ArrayId) -> String {
    let extents = instance.shapes[id.0 as usize].iter().map(u64::to_string);
    format!("{} [{}]", instance.dtypes[id.0 as usize], extents.collect::<Vec<_>>().join(", "))
}
