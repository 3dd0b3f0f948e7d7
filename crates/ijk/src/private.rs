//! Functions that macros call, and types for bindings to other languages. Not part of the public interface.

use crate::{Einsum, Engine, Error, Program};
pub use ijk_ir::core;
#[cfg(feature = "macros")]
pub use ijk_macros::{einsum, into_einsum, try_einsum};
use ijk_tensor::fork::RaceCell;
pub use ijk_tensor::{Footprint, Overlap, Tensor, TensorView, TensorViewMut, foreign};
pub use ijk_types::{
    BinaryOp, DType, Element, Inexact, Literal, Monoid, Number, Ordered, OrderedNumber, Real,
    Reducer,
};
pub use ndarray;
use ndarray::{Array, Dimension};

/// A program that was checked and lowered at compile time.
#[derive(Debug)]
pub struct Recipe {
    /// A [`Program`](ijk_ir::core::Program), encoded by postcard.
    bytes: &'static [u8],
    program: RaceCell<Program>,
}

impl Recipe {
    /// A recipe from a program encoded by postcard.
    pub const fn new(bytes: &'static [u8]) -> Self {
        Self { bytes, program: RaceCell::new() }
    }

    /// The program, decoded at first use.
    ///
    /// # Panics
    /// If the bytes were not written by the macros of this version.
    pub fn program(&self) -> &Program {
        self.program.get_or_init(|| {
            let program = postcard::from_bytes(self.bytes).expect("a recipe of this version");
            Program::from_program(program, Vec::new())
        })
    }

    /// The results of the program.
    ///
    /// # Errors
    /// As for [`Program::apply`].
    pub fn apply(&self, inputs: &[TensorView<'_>]) -> Result<Vec<Tensor>, Error> {
        Engine::global().apply(self.program(), inputs)
    }

    /// The results of the program, written to `outputs`.
    ///
    /// # Errors
    /// As for [`Program::apply_into`].
    pub fn call(
        &self,
        inputs: &[TensorView<'_>],
        outputs: &mut [TensorViewMut<'_>],
    ) -> Result<(), Error> {
        Engine::global().apply_into(self.program(), inputs, outputs)
    }
}

/// A program in Einsum Tuple that was checked at compile time.
#[derive(Debug)]
pub struct EtRecipe {
    source: &'static str,
    program: RaceCell<crate::et::Program>,
}

impl EtRecipe {
    /// A recipe from the text of a program.
    pub const fn new(source: &'static str) -> Self {
        Self { source, program: RaceCell::new() }
    }

    /// The program, parsed at first use.
    ///
    /// # Panics
    /// If the text was not checked by the macro of this version.
    pub fn program(&self) -> &crate::et::Program {
        self.program.get_or_init(|| {
            crate::et::Program::parse(self.source).unwrap_or_else(|error| fail(error))
        })
    }
}

/// Subscripts that were parsed at compile time.
#[derive(Debug)]
pub struct EinsumRecipe {
    /// [`Subscripts`](ijk_syntax::einsum::Subscripts), encoded by postcard.
    bytes: &'static [u8],
    einsum: RaceCell<Einsum>,
}

impl EinsumRecipe {
    /// A recipe from subscripts encoded by postcard.
    pub const fn new(bytes: &'static [u8]) -> Self {
        Self { bytes, einsum: RaceCell::new() }
    }

    /// The einsum, decoded at first use.
    ///
    /// # Panics
    /// If the bytes were not written by the macros of this version.
    pub fn einsum(&self) -> &Einsum {
        self.einsum.get_or_init(|| {
            let subscripts = postcard::from_bytes(self.bytes).expect("a recipe of this version");
            Einsum::from_subscripts(subscripts)
        })
    }

    /// The result.
    ///
    /// # Errors
    /// As for [`Einsum::apply`].
    pub fn apply(&self, inputs: &[TensorView<'_>]) -> Result<[Tensor; 1], Error> {
        Ok([Engine::global().apply_einsum(self.einsum(), inputs)?])
    }

    /// The result, written to the one output.
    ///
    /// # Errors
    /// As for [`Einsum::apply_into`].
    pub fn call(
        &self,
        inputs: &[TensorView<'_>],
        outputs: &mut [TensorViewMut<'_>; 1],
    ) -> Result<(), Error> {
        Engine::global().apply_einsum_into(self.einsum(), inputs, outputs[0].reborrow())
    }
}

/// The next of several results, as an array.
///
/// # Errors
/// If it has another rank or element type.
pub fn take<T: Element, D: Dimension>(
    results: &mut impl Iterator<Item = Tensor>,
) -> Result<Array<T, D>, Error> {
    let missing = Error::OutputCount { expected: 0, found: 1 };
    Ok(results.next().ok_or(missing)?.into_array()?)
}

/// Panics with an error's text, as `i!` does.
///
/// # Panics
/// Always.
#[cold]
#[track_caller]
pub fn fail(error: Error) -> ! {
    panic!("{error}")
}
