//! Einsums: subscripts with the shapes of their operands, as a product of tensors, and as a program.
//!
//! ```
//! use ijk_ir::einsum::Product;
//! use ijk_syntax::einsum::Subscripts;
//! use ijk_types::DType;
//!
//! let subscripts = Subscripts::parse("ij,jk,kl").unwrap();
//! let product = Product::new(&subscripts, &[&[2, 3], &[3, 4], &[4, 5]]).unwrap();
//! assert_eq!(product.result_shape(), [2, 5]);
//! let (program, instance) = product.lower(DType::F64, &[vec![1, 2], vec![0, 1]]);
//! assert_eq!(program.statements.len(), 2);
//! assert_eq!(instance.shapes.last().unwrap(), &[2, 5]);
//! ```

pub mod codes;
mod layout;
mod lower;
mod messages;
mod resolve;
mod steps;
mod symbolic;

pub use lower::sums;
pub use steps::Multiplication;
pub use symbolic::symbolic;

use ijk_syntax::Diagnostic;
use ijk_syntax::einsum::Subscripts;
use ijk_types::{BinaryOp, DType, Monoid};

/// Multiplication and addition of a type.
///
/// ```
/// use ijk_ir::einsum::operators;
/// use ijk_types::{BinaryOp, DType, Monoid};
/// assert_eq!(operators(DType::F32), (BinaryOp::Mul, Monoid::Add));
/// assert_eq!(operators(DType::Bool), (BinaryOp::And, Monoid::Or));
/// ```
pub fn operators(dtype: DType) -> (BinaryOp, Monoid) {
    match dtype {
        DType::Bool => (BinaryOp::And, Monoid::Or),
        _ => (BinaryOp::Mul, Monoid::Add),
    }
}

/// A product of tensors, summed over the indices that the result lacks.
///
/// Indices of extent 1 are left out: an axis of one element is read at 0 whatever the others' extents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    /// Subscripts as text, for messages.
    pub source: String,
    /// The extent of each index.
    pub extents: Vec<u64>,
    /// The name of each index.
    pub names: Vec<String>,
    /// For each operand, the index of each of its axes.
    pub operands: Vec<Vec<Option<u32>>>,
    /// The index of each axis of the result.
    pub result: Vec<Option<u32>>,
    /// The shapes of the operands.
    pub shapes: Vec<Vec<u64>>,
}

impl Product {
    /// The different indices of an operand, in the order of its axes.
    pub fn indices(&self, operand: usize) -> Vec<u32> {
        distinct(&self.operands[operand])
    }

    /// Returns true if some index has extent 0: then every element of the result is an empty sum.
    pub fn is_empty(&self) -> bool {
        self.empty_operand().is_some()
    }

    /// The first operand that has an index without a value.
    fn empty_operand(&self) -> Option<usize> {
        let is_empty = |index: &u32| self.extents[*index as usize] == 0;
        self.operands.iter().position(|axes| axes.iter().flatten().any(is_empty))
    }

    /// The product of what the operands have at one value of some indices: without them.
    #[must_use]
    pub fn without(&self, sliced: &[u32]) -> Self {
        let mut product = self.clone();
        let axes = product.operands.iter_mut().zip(&mut product.shapes);
        for (axes, shape) in axes {
            let is_kept = |index: &Option<u32>| index.is_none_or(|index| !sliced.contains(&index));
            let kept: Vec<bool> = axes.iter().map(is_kept).collect();
            let mut of = kept.iter();
            axes.retain(|_| *of.next().unwrap_or(&true));
            let mut of = kept.iter();
            shape.retain(|_| *of.next().unwrap_or(&true));
        }
        product.result.retain(|index| index.is_none_or(|index| !sliced.contains(&index)));
        product
    }

    /// The result's shape.
    pub fn result_shape(&self) -> Vec<u64> {
        let extent = |index: &Option<u32>| index.map_or(1, |index| self.extents[index as usize]);
        self.result.iter().map(extent).collect()
    }
}

/// Checks that there are as many operands as subscripts.
///
/// # Errors
/// Diagnostics, if they do not fit.
pub fn check_count(subscripts: &Subscripts, operands: usize) -> Result<(), Diagnostic> {
    match operands == subscripts.operands.len() {
        true => Ok(()),
        false => Err(messages::operands(subscripts, operands)),
    }
}

/// Indices, each once, in order.
fn distinct(axes: &[Option<u32>]) -> Vec<u32> {
    let mut indices = Vec::with_capacity(axes.len());
    for index in axes.iter().flatten() {
        if !indices.contains(index) {
            indices.push(*index);
        }
    }
    indices
}
