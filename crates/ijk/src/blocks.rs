//! Block tensors: larger than memory, on any number of workers. Start at [`BigTensor`].
//!
//! [`Program`]s are functions and aggregations of block tensors, too:
//!
//! ```
//! use ijk::blocks::BigTensor;
//! let u = BigTensor::lit([0.0, 1.0, 2.0, 3.0], [2, 2], [Some(1), None])?;
//! let (roots, longest) = (ijk::i("@sqrt .~.").unwrap(), ijk::i(">(i+i)~.").unwrap());
//! let paths = u.map(&roots)?.contract_by(&u, 1, 0, &longest)?;
//! assert_eq!(paths.ty().to_string(), "([2, 2], [1, ⊥], f64)");
//! # Ok::<(), ijk::blocks::Error>(())
//! ```

use crate::Program;
pub use ijk_blocks::{
    Aggregation, Annotations, BigTensor, Block, BlockPlan, Bound, Counts, ElementType, Error,
    Executor, Formula, FormulaError, Function, Grid, IntoAggregation, IntoFunction, List, Lists,
    Machines, MemoryStore, Outline, Positions, Problem, Progress, RecutCost, Scratch, Semiring,
    Simulated, Simulation, Sink, Site, Source, Spread, Store, StoreError, TextError, Type,
    TypeError, Value, Zip, apply, cluster,
};
#[cfg(feature = "zarr")]
pub use ijk_blocks::{Compression, Saved, StoreOptions, ZarrOptions, ZarrScratch, ZarrStore};
#[doc(hidden)]
pub use ijk_blocks::{apply_instance, apply_program, url_scheme};
pub use ijk_types::{BinaryOp, UnaryOp};

impl IntoFunction for &Program {
    fn into_function(self) -> Result<Function, TextError> {
        Function::of_program(self.lowered())
    }
}

impl IntoAggregation for &Program {
    fn into_aggregation(self) -> Result<Aggregation, TextError> {
        Aggregation::of_program(self.lowered())
    }
}

impl Program {
    /// Applies the program to block tensors: see [`apply`]. A number is a tensor of rank 0.
    ///
    /// # Errors
    /// As for [`apply`].
    ///
    /// ```
    /// use ijk::blocks::BigTensor;
    /// let u = BigTensor::lit([1, 2, 3, 4], [2, 2], [Some(1), None])?;
    /// let sums = ijk::i("+ij~i").unwrap().apply_blocks(&[&u])?.remove(0);
    /// assert_eq!(sums.ty().to_string(), "([2], [1], i32)");
    /// let two = BigTensor::lit([2], [], [])?;
    /// let doubled = ijk::i("i*.~i").unwrap().apply_blocks(&[&sums, &two])?.remove(0);
    /// assert_eq!(doubled.collect()?.as_numbers().unwrap().as_slice::<i32>(), Some(&[6, 14][..]));
    /// # Ok::<(), ijk::blocks::Error>(())
    /// ```
    pub fn apply_blocks(&self, operands: &[&BigTensor]) -> Result<Vec<BigTensor>, Error> {
        apply_program(self.lowered(), operands)
    }
}
