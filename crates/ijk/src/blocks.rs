//! Block tensors: larger than memory, on any number of workers. [`BigTensor`] tells all of it.
//!
//! [`Component`]s are functions and aggregations of block tensors, too:
//!
//! ```
//! use ijk::blocks::BigTensor;
//! let u = BigTensor::lit([0.0, 1.0, 2.0, 3.0], [2, 2], [Some(1), None])?;
//! let (roots, longest) = (ijk::i("@sqrt .~.").unwrap(), ijk::i(">(i+i)~.").unwrap());
//! let paths = u.map(&roots)?.contract_by(&u, 1, 0, &longest)?;
//! assert_eq!(paths.ty().to_string(), "([2, 2], [1, ⊥], f64)");
//! # Ok::<(), ijk::blocks::Error>(())
//! ```

use crate::Component;
pub use ijk_blocks::*;

impl IntoFunction for &Component {
    fn into_function(self) -> Result<Function, TextError> {
        Function::of_program(self.program())
    }
}

impl IntoAggregation for &Component {
    fn into_aggregation(self) -> Result<Aggregation, TextError> {
        Aggregation::of_program(self.program())
    }
}
