//! Formulas of pairs of elements that are lists.

use super::closures::{Contracts, Extents, fibres_of};
use super::folded;
use crate::formula::{self, Fold, fold_name};
use crate::{Block, ElementType, Error, Formula, Problem, Value};
use ijk_types::{Reducer, scalar};
use std::sync::Arc;

/// A fold of a formula of `l` and `r`, of which one or both are lists.
pub(super) struct ListContraction {
    pub(super) fold: Fold,
    pub(super) formula: Arc<Formula>,
    pub(super) from: [ElementType; 2],
}

impl ListContraction {
    /// The element type that the map gives for a pair.
    fn pairs(&self) -> ElementType {
        // Types were checked when the term was built.
        self.formula.result_of(&self.from).unwrap_or_else(|_| self.from[0].clone())
    }

    fn pair(&self, l: &Value, r: &Value) -> Result<Value, Error> {
        self.formula.evaluate_lists(&[l, r], &self.from)
    }

    /// Folds the values of a fibre into the accumulator.
    fn folded(
        &self,
        before: Option<Value>,
        values: &mut dyn Iterator<Item = Result<Value, Error>>,
    ) -> Result<Value, Error> {
        let pairs = self.pairs();
        let wrong = || Error::Lists(format!("{} gives no {pairs}", self.name()));
        let Fold::Reduce(reducer) = self.fold else {
            let values = values.collect::<Result<Vec<_>, _>>()?;
            return Value::list_of(pairs.clone(), values).ok_or_else(wrong);
        };
        let dtype = pairs.number().ok_or_else(wrong)?;
        let number = |value: Result<Value, Error>| value?.as_number().ok_or_else(wrong);
        let all = before.into_iter().map(Ok).chain(values).map(number);
        Ok(Value::Number(formula::folded(reducer, all, dtype)?))
    }
}

impl Contracts for ListContraction {
    fn name(&self) -> String {
        format!("{}({})", fold_name(self.fold), self.formula.display(&["l", "r"]))
    }

    fn result(&self, left: &ElementType, right: &ElementType) -> Result<ElementType, Problem> {
        let pairs = self.formula.result_of(&[left.clone(), right.clone()]);
        let pairs = pairs.map_err(Problem::Formula)?;
        folded(self.fold, &pairs).ok_or_else(|| super::takes(&self.name(), "numbers", &pairs))
    }

    fn identity(&self) -> Option<Value> {
        let Fold::Reduce(Reducer::Monoid(monoid)) = self.fold else { return None };
        self.pairs().number().map(|dtype| Value::Number(scalar::identity(monoid, dtype)))
    }

    fn contract(
        &self,
        before: Option<Block>,
        left: &Block,
        right: &Block,
        extents: Extents,
        shape: &[usize],
    ) -> Result<Block, Error> {
        let before = before.map(|block| block.values());
        let start = |at: usize| before.as_ref().map(|values| values[at].clone());
        let values = fibres_of(
            left,
            right,
            extents,
            |l, r| self.pair(l, r),
            |at, pairs| self.folded(start(at), pairs),
        );
        let values = values.into_iter().collect::<Result<Vec<_>, _>>()?;
        let to = folded(self.fold, &self.pairs()).unwrap_or_else(|| self.pairs());
        Ok(Block::from_values(&to, shape, values)?)
    }
}
