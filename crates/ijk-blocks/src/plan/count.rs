//! Number of operations of a plan, and the text that identifies it.

use super::{BlockPlan, Expr, From, Kernel, Stage};
use crate::StoreError;
use crate::aggregation::Kind;
use crate::formula::{Formula, FormulaNode};
use crate::store::together;
use std::fmt::Write;
use std::ops::Range;

impl BlockPlan {
    /// Blocks of all stages.
    pub(crate) fn blocks(&self) -> u64 {
        self.stages.iter().fold(0, |sum: u64, stage| sum.saturating_add(stage.blocks() as u64))
    }

    /// Scalar operations of all stages.
    pub(crate) fn operations(&self) -> u64 {
        self.stages.iter().fold(0, |sum: u64, stage| sum.saturating_add(stage.all_operations()))
    }

    /// Function or aggregation of a closure in the plan, as printed.
    pub(crate) fn closure(&self) -> Option<String> {
        self.stages.iter().find_map(|stage| match &stage.kernel {
            Kernel::Contract(by) if matches!(by.kind, Kind::Closures(_)) => Some(by.to_string()),
            _ => stage.operands.iter().find_map(|operand| closure(&operand.expr)),
        })
    }

    /// Text that identifies the plan: its stages, then its inputs, then a digest of all that neither shows.
    ///
    /// # Errors
    /// If the identity of a source cannot be determined.
    pub(crate) fn identity(&self) -> Result<String, StoreError> {
        let mut text = self.to_string();
        for ((n, array), identity) in self.arrays.iter().enumerate().zip(self.identities()?) {
            let from = match &array.from {
                From::Source(source) => {
                    format!("{}, {}", source.name(), identity.unwrap_or_default())
                }
                From::Stage(stage) => format!("s{stage}"),
            };
            // Writing to text cannot fail.
            write!(text, "\na{n} = {from} : {}", array.ty).unwrap_or_default();
        }
        let all = blake3::hash(format!("{:?}", self.stages).as_bytes());
        write!(text, "\n{}", all.to_hex()).unwrap_or_default();
        Ok(text)
    }

    /// The identities of the arrays that are sources.
    ///
    /// # Errors
    /// If one cannot be determined.
    pub(crate) fn identities(&self) -> Result<Vec<Option<String>>, StoreError> {
        let sources = self.arrays.iter().map(|array| match &array.from {
            From::Source(source) => Some(source),
            From::Stage(_) => None,
        });
        let sources: Vec<_> = sources.collect();
        let is_far = sources.iter().flatten().any(|source| source.is_far());
        let identities = together::each(is_far, &sources, |source| {
            source.map(|source| source.identity()).transpose()
        });
        identities.into_iter().collect()
    }
}

impl Stage {
    /// Scalar operations of all blocks of the output.
    pub(crate) fn all_operations(&self) -> u64 {
        let points = product(self.axes.iter().enumerate().map(|(n, axis)| {
            match self.points.writes(n) {
                // Every block of it visits all points.
                true => axis.blocks(),
                false if self.parts() == Some(n) => 1,
                false => axis.extent,
            }
        }));
        points.saturating_mul(self.operations_of_point())
    }

    /// Scalar operations of a block of the output.
    pub(crate) fn operations(&self, at: &[usize]) -> u64 {
        let (kept, folded) = self.axes.split_at(self.kept());
        let kept = kept.iter().zip(at).enumerate();
        let kept = kept.map(|(n, (axis, &block))| self.extent(n, axis.range(block).len()));
        let folded = folded.iter().enumerate().map(|(n, axis)| match (self.split, at.last()) {
            (Some(each), Some(part)) if n == 0 => {
                axis.range(part * each).start..axis.range((part + 1) * each - 1).end
            }
            _ => 0..axis.extent,
        });
        let points = product(kept.chain(folded.map(|range| range.len())));
        points.saturating_mul(self.operations_of_point())
    }

    /// Scalar operations at these positions of the axes.
    pub(crate) fn operations_at(&self, ranges: &[Range<usize>]) -> u64 {
        let points = ranges.iter().enumerate().map(|(n, range)| self.extent(n, range.len()));
        product(points).saturating_mul(self.operations_of_point())
    }

    fn operations_of_point(&self) -> u64 {
        match &self.kernel {
            Kernel::Copy => self.operands.iter().map(|operand| of_expr(&operand.expr)).sum(),
            Kernel::Map(formula) => of_formula(formula),
            Kernel::Contract(by) => match &by.kind {
                Kind::Fold(_, formula) => of_formula(formula) + 1,
                Kind::Closures(_) => 2,
            },
        }
    }
}

fn of_expr(expr: &Expr) -> u64 {
    match expr {
        Expr::Leaf(_) => 0,
        Expr::Formula { formula, operands, .. } => {
            of_formula(formula) + operands.iter().map(of_expr).sum::<u64>()
        }
        Expr::Closure { operand, .. } => 1 + of_expr(operand),
    }
}

fn of_formula(formula: &Formula) -> u64 {
    let is_leaf =
        |node: &&FormulaNode| matches!(node, FormulaNode::Variable(_) | FormulaNode::Number(_));
    formula.nodes.iter().filter(|node| !is_leaf(node)).count() as u64
}

fn product(extents: impl Iterator<Item = usize>) -> u64 {
    extents.fold(1, |product: u64, extent| product.saturating_mul(extent as u64))
}

fn closure(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Leaf(_) => None,
        Expr::Formula { operands, .. } => operands.iter().find_map(closure),
        Expr::Closure { closure, .. } => Some(closure.0.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BigTensor, Function};

    fn plan(f: impl Fn(&BigTensor) -> BigTensor) -> BlockPlan {
        let u = BigTensor::lit((0..35).map(f64::from), [5, 7], [Some(2), Some(3)]).unwrap();
        BlockPlan::new(&f(&u))
    }

    #[test]
    fn operations_of_blocks_are_those_of_the_plan() {
        let plan = plan(|u| u.contract(u, 1, 1).unwrap().map("x * x + 1").unwrap());
        assert_eq!(plan.operations(), 2 * 5 * 5 * 7 + 2 * 5 * 5);
        let of = |stage: &Stage| -> u64 {
            let grid = stage.out.grid();
            (0..stage.blocks())
                .map(|n| stage.operations(&crate::domain::Coordinates::of(&grid, n)))
                .sum()
        };
        assert_eq!(plan.stages.iter().map(of).sum::<u64>(), plan.operations());
        assert_eq!(plan.blocks(), 18);
    }

    #[test]
    fn plans_of_other_programs_have_other_identities() {
        let first = plan(|u| u.map("x + 1").unwrap()).identity().unwrap();
        assert_eq!(first, plan(|u| u.map("x + 1").unwrap()).identity().unwrap());
        assert_ne!(first, plan(|u| u.map("x + 2").unwrap()).identity().unwrap());
        // Selected positions are not part of the displayed plan.
        let taken = |n: usize| plan(|u| u.select([vec![0, n].into(), (..).into()]).unwrap());
        assert_eq!(taken(2).to_string(), taken(3).to_string());
        assert_ne!(taken(2).identity().unwrap(), taken(3).identity().unwrap());
    }

    #[test]
    fn closures_are_found_wherever_they_are() {
        let closure = || Function::closure(|x: f64| x + 1.0);
        let plain = plan(|u| u.map("x + 1").unwrap());
        assert_eq!(plain.closure(), None);
        let map = plan(|u| u.map(closure()).unwrap().contract(u, 1, 1).unwrap());
        assert!(map.closure().is_some());
        let by = crate::Aggregation::closures(0.0, |x: f64, y| x + y, |x: f64, y: f64| x * y);
        let fold = plan(|u| u.contract_by(u, 1, 1, by.clone()).unwrap());
        assert!(fold.closure().is_some());
    }
}
