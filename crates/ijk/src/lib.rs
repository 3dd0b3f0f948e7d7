//! Index expressions for Rust: arrays defined by what happens at every point of a domain of
//! indices.
//!
//! ```
//! use ijk::{i, ndarray::array};
//!
//! let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![[0.0, 1.0], [1.0, 0.0]]);
//!
//! // Checked at compile time: a function of references to ndarray's arrays.
//! let product = i!(ik*kj~ijk . +ijk~ij);
//! assert_eq!(product(&a, &b), array![[2.0, 1.0], [4.0, 3.0]]);
//!
//! // The same as text at run time: of any element type and layout.
//! let product = i("ik*kj~ijk . +ijk~ij")?;
//! let results = product.apply((&a, &b))?;
//! assert_eq!(results[0].as_slice::<f64>(), Some(&[2.0, 1.0, 4.0, 3.0][..]));
//! # Ok::<(), ijk::Error>(())
//! ```
//!
//! # You have → use
//!
//! | you have | use | result |
//! |---|---|---|
//! | a program in i, in Rust code | [`i!`], [`try_i!`], [`into_i!`] | a function of ndarray's arrays; mistakes are compile errors |
//! | a program in i, as text | [`i()`] | a [`Program`], which is applied, composed and explained |
//! | subscripts such as `ij,jk->ik`, in Rust code | [`einsum!`](macro@einsum), [`try_einsum!`], [`into_einsum!`] | an array |
//! | subscripts as text, or as lists of numbers | [`einsum()`], [`Einsum`] | a [`Tensor`] |
//! | a program in Einsum Tuple, for arrays of any rank | [`et!`](macro@et), [`et()`] | an [`et::Program`] |
//! | arrays larger than memory, Zarr arrays, several processes | `blocks::BigTensor` (feature `blocks`) | a term, computed block by block |
//! | an array of ndarray | a reference to it: all [`Arguments`] take one | no copy |
//! | a matrix of faer or nalgebra | `TensorView::from` its view (features `faer`, `nalgebra`) | no copy |
//! | an array whose element type is known at run time | [`TensorView`], [`TensorViewMut`], [`Tensor`] | conversion from and to ndarray without a copy |
//! | a `.npy` or `.npz` file | [`file`](mod@file) | a [`Tensor`] |
//! | threads, a memory limit, SIMD instructions or exact order of operations to set | [`Engine::builder`] | an [`Engine`] to apply programs on |
//! | a question before running | [`shapes`](Program::shapes), [`explain`](Program::explain), [`dependencies`](Program::dependencies), [`operations`](Program::operations) | shapes, plan and cost, sets of elements |
//! | an einsum of many operands, and doubts about its order | [`Einsum::path`], [`Einsum::with_options`], [`order`] | steps with their costs |
//! | a program in Einsum Tuple that should equal a framework's function | `verify::Verifier` (feature `verify`) | a comparison for every combination of ranks |
//!
//! # From a program to numbers
//!
//! ```text
//!   i!, einsum!, et!            i(), einsum(), et()
//!   at compile time             at run time
//!         └────────────┬────────────────┘
//!                      │  names, ranks, element types       fails with Error::Program
//!                      ▼
//!         Program, Einsum, et::Program ──── chain, fanout, … compose programs
//!                      │  apply(arguments)
//!                      │  extents of all indices            fails with Error::Program
//!                      │  passes, order of products, fusion fails with Error::Plan
//!                      ▼
//!                    plan ──── explain() shows it; kept by types, shapes, strides:
//!                      │       a repeated call is a lookup
//!                      │  kernels on the engine's threads   fails with Error::Run
//!                      ▼
//!            Tensor, ndarray's arrays
//! ```
//!
//! # Features
//!
//! None is enabled by default.
//!
//! | feature | adds |
//! |---|---|
//! | `blocks` | the module `blocks`: tensors in blocks, in memory or on disk, on threads and processes |
//! | `zarr` | `blocks::ZarrStore`: block tensors in Zarr arrays, in directories and archives; implies `blocks` |
//! | `object-store` | Zarr arrays at `s3://…`, `https://…`; implies `zarr` |
//! | `faer` | faer's `MatRef` and others as arguments, [`TensorView::to_faer`](TensorView) |
//! | `nalgebra` | nalgebra's matrices, vectors and views as arguments, `TensorView::to_nalgebra` |
//! | `verify` | the module `verify`: programs in Einsum Tuple compared with NumPy, SciPy, PyTorch, JAX and TensorFlow |
//!
//! # What is stable
//!
//! All that these pages show. Hidden items serve the macros, the command `ijk` and the Python package; they change
//! without notice, and so do the crates `ijk-plan`, `ijk-cpu`, `ijk-ir` and others behind this one.

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod arguments;
#[cfg(feature = "blocks")]
pub mod blocks;
mod cache;
mod combine;
mod depend;
mod einsum;
mod engine;
mod error;
pub mod et;
mod explain;
mod facts;
mod loops;
mod lru;
mod numbers;
mod operations;
mod operators;
pub mod order;
mod prepared;
pub mod probe;
mod program;
mod recent;
mod staged;
#[cfg(feature = "verify")]
pub mod verify;

// Programs and how they run.
pub use arguments::{Argument, Arguments, AsView};
#[doc(hidden)]
pub use arguments::{Iterated, Listed, OfArray, OfNumber, PlainNumbers, Views};
#[cfg(feature = "blocks")]
pub use blocks::BigTensor;
pub use einsum::{Einsum, EinsumPath, EinsumStep, EinsumSteps, Label, einsum};
pub use engine::{Engine, EngineBuilder};
pub use explain::Explanation;
pub use ijk_cpu::explain::{BlockSize, Reason, Resident, StepExplanation, Threshold};
pub use ijk_cpu::{Level, LevelError};
pub use ijk_ir::{Port, Rank, Signature};
pub use ijk_plan::Cost;
pub use ijk_syntax::ast::LoopForm;
pub use loops::LoopSummary;
#[doc(hidden)]
pub use numbers::PlainNumber;
pub use numbers::ScalarArgument;
pub use program::Program;

// Dependencies.
pub use ijk_ir::{Piece, PointSet, Range};
pub use operations::{Operations, Relation};

// Errors and diagnostics.
pub use error::{Error, Operation, Report};
pub use ijk_cpu::RunError;
pub use ijk_plan::PlanError;
#[doc(hidden)]
pub use ijk_syntax::visible;
pub use ijk_syntax::{Diagnostic, Hint, Severity, Span, render};

// Arrays and their elements.
pub use half;
pub use ijk_tensor::reserve::WithReserve;
pub use ijk_tensor::{Tensor, TensorError, TensorView, TensorViewMut, file};
pub use ijk_types::{
    DType, Element, Inexact, Number, Ordered, OrderedNumber, Real, Scalar, TypeSet,
};
pub use ndarray;
pub use num_complex;

/// The former name of [`Program`].
#[deprecated(since = "0.1.0", note = "the name is `Program`")]
pub type Component = Program;

/// A program in i, checked and lowered at compile time: a function from references to arrays and views
/// of ndarray to owned arrays, several as a tuple.
///
/// ```
/// use ijk::i;
/// use ijk::ndarray::array;
///
/// let mm = i!(
///     m: ik*kj~ijk
///     a: +ijk~ij
///     m.a
/// );
/// let (x, y) = (array![[1.0, 2.0], [3.0, 4.0]], array![[0.0, 1.0], [1.0, 0.0]]);
/// assert_eq!(mm(&x, &y), array![[2.0, 1.0], [4.0, 3.0]]);
/// assert_eq!(mm(&x.t(), &y.view()), array![[3.0, 1.0], [4.0, 2.0]]);
///
/// let (total, greatest) = i!(+i~. & >i~.)(&array![1, 5, 2]);
/// assert_eq!((total[()], greatest[()]), (8, 5));
/// ```
///
/// Mistakes in a program are compile errors on the tokens concerned; ranks and element types are in
/// the function's signature, so arguments of other ranks do not compile. One `let` is one
/// element type; a generic function is declared as an item, with a doc comment if you like, and
/// `file "…"` embeds a file, whose path starts from the crate's root:
///
/// ```
/// ijk::i!(
///     /// The product of two matrices.
///     pub fn product: +(ik*kj)~ij
/// );
/// let (x, y) = (ijk::ndarray::array![[2]], ijk::ndarray::array![[3]]);
/// assert_eq!(product(&x, &y)[[0, 0]], 6);
/// assert_eq!(product(&x.mapv(f64::from), &y.mapv(f64::from))[[0, 0]], 6.0);
/// ```
///
/// An argument of rank 0 may also be a plain number. It is weak: it takes the element type of the arrays that share it
/// ([`ScalarArgument`]); where no array does, the result's type decides. One `let` takes numbers or arrays there, not
/// both.
///
/// ```
/// use ijk::ndarray::{Array0, array};
/// let axpy = ijk::i!(.*i~i . i+i~i);
/// assert_eq!(axpy(2, &array![1f32, 2.0], &array![10.0, 10.0]), array![12.0, 14.0]);
/// assert_eq!(ijk::i!(i/.~i)(&array![7i64, 8], 2), array![3, 4]);
/// let sum: Array0<f64> = ijk::i!(.+.~.)(1, 0.5);
/// assert_eq!(sum[()], 1.5);
/// ```
///
/// Statements whose domains have at most 256 points run as inline loops, which sum in the order of
/// the engine.
///
/// # Panics
/// The function panics if extents do not fit, quoting the program, if a number is no value of the element type that it
/// takes, and on integer division by zero; [`try_i!`] returns a `Result` instead.
#[doc(inline)]
#[cfg(feature = "macros")]
pub use ijk_macros::i;

/// Like [`i!`](macro@i), but the function returns a `Result`.
///
/// ```
/// use ijk::ndarray::array;
/// let mm = ijk::try_i!(ik*kj~ijk . +ijk~ij);
/// let error = mm(&array![[1.0, 2.0, 3.0]], &array![[1.0], [2.0]]).unwrap_err();
/// assert!(error.to_string().contains("letter `k` is 3 on axis 1 of argument 1"));
/// # assert!(mm(&array![[1.0, 2.0]], &array![[1.0], [2.0]]).is_ok());
/// ```
#[doc(inline)]
#[cfg(feature = "macros")]
pub use ijk_macros::try_i;

/// Like [`i!`](macro@i), but the function writes its results into further arguments: mutable
/// references to arrays or views of the results' shapes, after the others. If a shape differs, the
/// function panics and writes nothing.
///
/// ```
/// use ijk::ndarray::{Array2, array, s};
/// let transpose = ijk::into_i!(ij~ji);
/// let mut out = Array2::zeros((2, 4));
/// transpose(&array![[1, 2], [3, 4]], &mut out.slice_mut(s![.., 1..3]));
/// assert_eq!(out, array![[0, 1, 3, 0], [0, 2, 4, 0]]);
/// ```
#[doc(inline)]
#[cfg(feature = "macros")]
pub use ijk_macros::into_i;

/// An einsum whose subscripts are checked at compile time: `einsum!("ij,jk->ik", &a, &b)`. Operands are
/// references to ndarray's arrays and views, of one element type; the result is an owned array.
///
/// ```
/// use ijk::{einsum, ndarray::{Array3, array}};
/// let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![[0.0, 1.0], [1.0, 0.0]]);
/// assert_eq!(einsum!("ij,jk->ik", &a, &b), array![[2.0, 1.0], [4.0, 3.0]]);
/// assert_eq!(einsum!("ij,jk,lk->", &a, &b.t(), &a)[()], 48.0);
///
/// // With `...` in the output, the rank follows from the type of the result.
/// let cube: Array3<f32> = einsum!("...i->i...", &Array3::zeros((2, 3, 4)));
/// assert_eq!(cube.dim(), (4, 2, 3));
/// ```
///
/// Mistakes in subscripts are compile errors, and so are a wrong number of operands, and ranks and
/// element types that do not fit. The meaning is that of [`einsum()`]; einsums of one or two operands
/// run as inline loops if all indices together have at most 256 values.
///
/// ```compile_fail
/// # let (a, b) = (ijk::ndarray::array![[1.0]], ijk::ndarray::array![[1.0]]);
/// ijk::einsum!("ij,jk->iz", &a, &b); // index `z` of the output occurs in no operand
/// ```
///
/// # Panics
/// If extents do not fit, quoting the subscripts; [`try_einsum!`] returns a `Result` instead.
#[cfg(feature = "macros")]
#[macro_export]
macro_rules! einsum {
    ($subscripts:expr $(, $operand:expr)* $(,)?) => {
        $crate::__private::einsum!($subscripts $($operand)*)
    };
}

/// Like [`einsum!`](macro@einsum), but returns a `Result`.
///
/// ```
/// use ijk::{ndarray::array, try_einsum};
/// let error = try_einsum!("ij,j->i", &array![[1, 2, 3]], &array![1, 2]).unwrap_err();
/// assert!(error.to_string().contains("index `j` is 3 on axis 1 of operand 1"));
/// assert_eq!(try_einsum!("ij->i", &array![[1, 2, 3]])?, array![6]);
/// # Ok::<(), ijk::Error>(())
/// ```
#[cfg(feature = "macros")]
#[macro_export]
macro_rules! try_einsum {
    ($subscripts:expr $(, $operand:expr)* $(,)?) => {
        $crate::__private::try_einsum!($subscripts $($operand)*)
    };
}

/// Like [`einsum!`](macro@einsum), but writes the result into a further argument: a mutable reference to
/// an array or view of the result's shape, after the operands. If its shape differs, the macro panics
/// and writes nothing.
///
/// ```
/// use ijk::{into_einsum, ndarray::{Array2, array, s}};
/// let mut out = Array2::zeros((2, 4));
/// into_einsum!("ij->ji", &array![[1, 2], [3, 4]], &mut out.slice_mut(s![.., 1..3]));
/// assert_eq!(out, array![[0, 1, 3, 0], [0, 2, 4, 0]]);
/// ```
#[cfg(feature = "macros")]
#[macro_export]
macro_rules! into_einsum {
    ($subscripts:expr $(, $operand:expr)* $(,)?) => {
        $crate::__private::into_einsum!($subscripts $($operand)*)
    };
}

/// A program in i.
///
/// # Errors
/// [`Error::Program`] with all mistakes in the program, each with its place.
///
/// ```
/// let softmax = ijk::i(
///     "m: >ij~i
///      e: (I & m) . ij-i~ij . ^ij~ij
///      e . (I & +ij~i) . ij/i~ij",
/// )?;
/// assert_eq!(softmax.shapes(&[&[3, 4]])?, [[3, 4]]);
///
/// let error = ijk::i("ik*kj~ij").unwrap_err();
/// assert!(error.to_string().contains("+(ik*kj)~ij"));
/// # Ok::<(), ijk::Error>(())
/// ```
pub fn i(source: &str) -> Result<Program, Error> {
    Program::parse(source)
}

/// A program in Einsum Tuple, checked at compile time: a `&'static` [`et::Program`].
///
/// The program is a string literal, or `file "…"`, whose path starts from the crate's root. It is
/// not bare text as in [`i!`](macro@i), since Rust's tokens omit parts of the language: empty lines
/// separate sections, ends of lines end statements, `#` starts a comment, and `L('VALID')` holds
/// Python.
///
/// ```
/// use ijk::{et, ndarray::array};
/// let reverse = et!("out[DIMS(x) - 1 - x] = in[x]");
/// let out = reverse.run([("in", &array![1, 2, 3])])?;
/// assert_eq!(out["out"].as_slice::<i32>(), Some(&[3, 2, 1][..]));
/// # Ok::<(), ijk::Error>(())
/// ```
///
/// Mistakes in a program are compile errors on the literal; the message quotes the line with a caret,
/// as a line of the Rust file if the literal has no escapes:
///
/// ```compile_fail
/// ijk::et!("out[x] = in[y");
/// ```
///
/// The program is parsed and checked again at first use; this does not fail.
/// [`run`](et::Program::run) and the other methods return errors for data that does not fit, and never
/// panic.
#[doc(inline)]
#[cfg(feature = "macros")]
pub use ijk_macros::et;

/// A program in Einsum Tuple.
///
/// # Errors
/// [`Error::Program`] with all mistakes in the program, each with its place.
///
/// ```
/// use ijk::{et::Bindings, ndarray::array};
/// // "Valid" convolution, for any number of spatial dimensions.
/// let convolve = ijk::et(
///     "input[ipos]  = RANDOM(0, 1, FLOAT)
///      filter[fpos] = RANDOM(0, 1, FLOAT)
///      output[opos] = filter[fpos] * input[opos+fpos]
///
///      output
///
///      RANK(ipos) IN [1,3]
///      DIMS(opos) = DIMS(ipos) - DIMS(fpos) + 1",
/// )?;
/// let (input, filter) = (array![1.0, 2.0, 4.0, 8.0], array![1.0, -1.0]);
/// let bindings = Bindings::new().bind("input", &input).bind("filter", &filter);
/// let output = convolve.run(bindings)?;
/// assert_eq!(output["output"].as_slice::<f64>(), Some(&[-1.0, -2.0, -4.0][..]));
/// # Ok::<(), ijk::Error>(())
/// ```
pub fn et(source: &str) -> Result<et::Program, Error> {
    et::Program::parse(source)
}

/// The Rust of the book and the README, as tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../book/src/afternoon.md")]
    mod afternoon {}
    #[doc = include_str!("../../../book/src/einsum_tuple.md")]
    mod einsum_tuple {}
    #[doc = include_str!("../../../README.md")]
    mod readme {}
}
