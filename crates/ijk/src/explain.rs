//! What a component does with arguments of certain types and shapes, told to people.

use crate::prepared::{extents, instantiate};
use crate::{Component, Engine, Error};
use ijk_ir::core::{Instance, Program};
use ijk_plan::plan::Plan;
use ijk_plan::{Cost, Layout};
use ijk_types::DType;
use std::fmt;

/// Types, domains, plan and cost of one application. Displays as text of several lines.
#[derive(Clone, Debug)]
pub struct Explanation {
    signature: String,
    program: Program,
    instance: Instance,
    plan: Plan,
}

impl Component {
    /// What the component does with arguments of these element types and shapes, in C order.
    ///
    /// # Errors
    /// As for [`apply`](Component::apply), before anything is computed.
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
    /// As [`Component::explain`], within this engine's memory limit.
    ///
    /// # Errors
    /// As for [`Component::explain`].
    pub fn explain(
        &self,
        component: &Component,
        arguments: &[(DType, &[usize])],
    ) -> Result<Explanation, Error> {
        let program = component.program();
        let arguments: Vec<_> = arguments.iter().map(|(t, s)| (*t, extents(s))).collect();
        let instance = instantiate(program, &arguments)?;
        let mut layout = Layout::contiguous(program, &instance);
        layout.memory_limit = self.memory_limit();
        let plan = ijk_plan::plan(program, &instance, &layout)?;
        let signature = component.signature().to_string();
        Ok(Explanation { signature, program: program.clone(), instance, plan })
    }
}

impl Explanation {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What it costs.
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
        write!(f, "\n{}", self.plan)
    }
}

fn array(instance: &Instance, id: ijk_ir::core::ArrayId) -> String {
    let extents = instance.shapes[id.0 as usize].iter().map(u64::to_string);
    format!("{} [{}]", instance.dtypes[id.0 as usize], extents.collect::<Vec<_>>().join(", "))
}
