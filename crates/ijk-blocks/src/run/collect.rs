//! Aggregation into the list of the values of all pairs of a fibre.

use crate::aggregation::{Contracts, Extents, fibres};
use crate::{Block, ElementType, Error, Formula, Problem, Value};
use ijk_types::DType;

/// Collects the values of a formula.
pub(super) struct Collect<'a> {
    pub(super) formula: &'a Formula,
}

impl Contracts for Collect<'_> {
    fn name(&self) -> String {
        format!("collect({})", self.formula.display(&["l", "r"]))
    }

    fn result(&self, left: &ElementType, right: &ElementType) -> Result<ElementType, Problem> {
        let number = |of: &ElementType| of.number().unwrap_or(DType::F64);
        let pairs =
            self.formula.result(&[number(left), number(right)]).map_err(Problem::Formula)?;
        Ok(ElementType::array(pairs.into()))
    }

    fn identity(&self) -> Option<Value> {
        None
    }

    fn contract(
        &self,
        _: Option<Block>,
        left: &Block,
        right: &Block,
        extents: Extents,
        shape: &[usize],
    ) -> Result<Block, Error> {
        let types = (left.dtype().unwrap_or(DType::F64), right.dtype().unwrap_or(DType::F64));
        let of = self.formula.result(&[types.0, types.1]).unwrap_or(DType::F64);
        let mut wrong = None;
        let failed = std::cell::RefCell::new(&mut wrong);
        let pair = |l: &Value, r: &Value| {
            let numbers =
                [l.as_number(), r.as_number()].map(|n| n.unwrap_or(ijk_types::Scalar::zero(of)));
            match self.formula.evaluate(&numbers) {
                Ok(value) => Value::Number(value),
                Err(error) => {
                    failed.borrow_mut().get_or_insert(error);
                    Value::Number(ijk_types::Scalar::zero(of))
                }
            }
        };
        let items = fibres(left, right, extents, &pair, |_, values| {
            Value::list_of(of.into(), values)
                .unwrap_or_else(|| Value::zero(&ElementType::array(of.into())))
        });
        match wrong {
            Some(error) => Err(error.into()),
            None => Ok(Block::from_values(&ElementType::array(of.into()), shape, items)?),
        }
    }
}
