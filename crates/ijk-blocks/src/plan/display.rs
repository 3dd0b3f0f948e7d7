//! Block plans as text.

use super::{BlockPlan, Expr, From, Kernel, Stage};
use std::fmt;

impl fmt::Display for BlockPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = (0..self.stages.len()).map(|n| self.line(n)).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl BlockPlan {
    /// A stage: its kernel, operands, output and number of blocks.
    pub(super) fn line(&self, n: usize) -> String {
        let stage = &self.stages[n];
        let kernel = match &stage.kernel {
            Kernel::Copy => "copy".to_owned(),
            Kernel::Map(formula) => formula.display(&["l", "r"]).to_string(),
            Kernel::Contract(by) if by.is_product() => "multiply".into(),
            Kernel::Contract(by) => by.to_string(),
        };
        let operands: Vec<String> =
            stage.operands.iter().map(|operand| self.expr(&operand.expr)).collect();
        let (axes, out) = (axes(stage), &stage.out);
        format!("s{n} = {kernel} {} : {out}; {axes}", operands.join(", "))
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Leaf(leaf) => match &self.arrays[leaf.array].from {
                From::Source(source) => source.name(),
                From::Stage(stage) => format!("s{stage}"),
            },
            Expr::Formula { formula, operands, .. } => {
                let names: Vec<String> =
                    operands.iter().map(|operand| self.expr(operand)).collect();
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                formula.display(&names).to_string()
            }
            Expr::Closure { closure, operand, .. } => {
                format!("{}({})", closure.0.name(), self.expr(operand))
            }
        }
    }
}

/// Number of blocks along each axis, and number of panels.
fn axes(stage: &Stage) -> String {
    let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let blocks = plural(stage.blocks(), "block");
    match stage.kernel {
        Kernel::Copy | Kernel::Map(_) => blocks,
        Kernel::Contract(_) => {
            let parts = stage.parts().map(|axis| format!(" in {} parts", stage.axes[axis].extent));
            let panels = plural(stage.panels(), "panel");
            format!("{blocks} of {panels}{}", parts.unwrap_or_default())
        }
    }
}
