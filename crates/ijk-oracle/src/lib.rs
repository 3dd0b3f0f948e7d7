//! Literal evaluators of the ijk languages, and random programs to compare against them.
//!
//! * [`evaluate`] runs surface trees of i literally: letters, domains, combinators. It shares nothing with the
//!   lowering, so a wrong lowering cannot agree with itself.
//! * [`et::evaluate_et`] runs surface trees of Einsum Tuple by the rules of its statements.
//! * [`blocks`] has terms of block tensors, their types and their values.
//! * [`interpret`] runs the core IR by the one sentence that defines it.
//! * [`random`] makes programs and data for property tests, from a seed, and counts what they cover.
//! * [`harness`] compares evaluations of one program.
//!
//! | room | content |
//! |---|---|
//! | `reference` | the evaluators: the specification, executable |
//! | `generate` | random programs, terms and data; shrinking; mistakes |
//! | `harness` | comparison of several evaluations |
//! | `coverage` | features that random programs must reach |
//!
//! A room uses only the rooms above it, but for tests. Clarity has priority over speed everywhere.

mod coverage;
mod generate;
pub mod harness;
mod reference;

pub use harness::turns;
pub use reference::{
    Bounded, Cell, EvalError, Evaluation, Value, evaluate, evaluate_bounded, evaluate_einsum,
    interpret, interpret_loop, same_bits,
};

/// Random programs in i and einsums, their data, and their coverage.
pub mod random {
    pub use crate::coverage::Coverage;
    pub use crate::coverage::i::{expected, expected_of_mistakes};
    pub use crate::generate::einsum::EinsumCase;
    pub use crate::generate::i::{Case, print};
    pub use crate::generate::{Flavour, Input, Layout, Rng, Strided};
    pub use crate::harness::memory::{Placed, View, ViewMut};
}

/// The literal evaluator of Einsum Tuple, random programs for it, and comparison of evaluations.
pub mod et {
    pub use crate::harness::et as harness;
    pub use crate::reference::et::{
        EtError, EtEvaluation, PointCount, Shapes, broken, evaluate_et,
    };

    /// Random programs of Einsum Tuple, and their coverage.
    pub mod random {
        pub use crate::coverage::et::{expected_of_et, expected_of_et_mistakes, note};
        pub use crate::generate::et::{EtCase, print_et};
    }
}

/// Terms of block tensors read literally, and random terms.
pub mod blocks {
    pub use crate::generate::blocks::BlockCase;
    pub use crate::reference::blocks::{BlockMap, BlockTerm, BlockType, Fold, Times};
}
