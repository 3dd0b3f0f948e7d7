//! The types of block tensors: dimensions, blocks, elements.

use ijk_types::DType;
use std::fmt;

/// The type of an element: a number (or bool), or a list of elements of one type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// `bool`, `i32`, … `c128`.
    Number(DType),
    /// `array(t)`: a list of any length.
    Array(Box<ElementType>),
}

impl ElementType {
    /// `array(t)`.
    ///
    /// ```
    /// use ijk_blocks::ElementType;
    /// use ijk_types::DType;
    /// let lists = ElementType::array(ElementType::Number(DType::I32));
    /// assert_eq!(lists.to_string(), "array(i32)");
    /// ```
    pub fn array(of: ElementType) -> Self {
        Self::Array(Box::new(of))
    }

    /// The numbers' type; `None` for lists.
    pub fn number(&self) -> Option<DType> {
        match self {
            Self::Number(dtype) => Some(*dtype),
            Self::Array(_) => None,
        }
    }
}

impl From<DType> for ElementType {
    fn from(dtype: DType) -> Self {
        Self::Number(dtype)
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(dtype) => dtype.fmt(f),
            Self::Array(of) => write!(f, "array({of})"),
        }
    }
}

/// The type of a block tensor.
///
/// Displays as `([4, 6], [2, ⊥], f64)`: dimensions, blocks, type of an element. A block of `⊥`
/// (`None`) is a dimension that is not cut.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// Elements along each axis.
    pub dims: Vec<usize>,
    /// Extent of a block along each axis, at least 1; the last block may be shorter.
    pub blocks: Vec<Option<usize>>,
    /// Type of its elements.
    pub element: ElementType,
}

impl Type {
    /// A type whose lists have equal lengths, and no block is 0.
    pub(crate) fn new(
        dims: impl Into<Vec<usize>>,
        blocks: impl Into<Vec<Option<usize>>>,
        element: impl Into<ElementType>,
    ) -> Self {
        let (dims, blocks, element) = (dims.into(), blocks.into(), element.into());
        debug_assert_eq!(dims.len(), blocks.len());
        Self { dims, blocks, element }
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The number of elements, if it can be counted.
    pub fn len(&self) -> Option<usize> {
        match self.dims.contains(&0) {
            true => Some(0),
            false => self.dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d)),
        }
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.dims.contains(&0)
    }

    /// Number of blocks along each axis.
    ///
    /// ```
    /// # use ijk_blocks::BigTensor;
    /// let u = BigTensor::lit([1, 2, 3, 4, 5, 6], [2, 3], [None, Some(2)])?;
    /// assert_eq!(u.ty().grid(), [1, 2]);
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    pub fn grid(&self) -> Vec<usize> {
        self.dims.iter().zip(&self.blocks).map(|(&d, &b)| block_count(d, b)).collect()
    }

    /// The extents of the block at a place of the grid.
    pub fn block_shape(&self, at: &[usize]) -> Vec<usize> {
        let axes = self.dims.iter().zip(&self.blocks).zip(at);
        axes.map(|((&d, &b), &at)| block_range(d, b, at).len()).collect()
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({:?}, {}, {})", self.dims, Blocks(&self.blocks), self.element)
    }
}

/// Blocks as messages show them: `[2, ⊥]`.
pub(crate) struct Blocks<'a>(pub(crate) &'a [Option<usize>]);

impl fmt::Display for Blocks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<String> = self.0.iter().map(|&block| block_text(block)).collect();
        write!(f, "[{}]", shown.join(", "))
    }
}

/// One block as messages show it.
pub(crate) fn block_text(block: Option<usize>) -> String {
    block.map_or("⊥".into(), |block| block.to_string())
}

/// The blocks of an axis that has these in one tensor and those in another, if they are compatible:
/// `⊥ ~ ⊥`, `⊥ ~ x`, `x ~ ⊥`, `x ~ x`.
pub(crate) fn compatible(left: Option<usize>, right: Option<usize>) -> Option<Option<usize>> {
    match (left, right) {
        (None, block) | (block, None) => Some(block),
        (Some(l), Some(r)) => (l == r).then_some(left),
    }
}

/// Number of blocks along an axis; none if the extent is 0.
pub(crate) fn block_count(extent: usize, block: Option<usize>) -> usize {
    extent.div_ceil(block.unwrap_or(extent).max(1))
}

/// The positions of a block of an axis.
pub(crate) fn block_range(
    extent: usize,
    block: Option<usize>,
    at: usize,
) -> std::ops::Range<usize> {
    let size = block.unwrap_or(extent);
    let start = at.saturating_mul(size).min(extent);
    start..start.saturating_add(size).min(extent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compatibility_is_that_of_the_seed() {
        assert_eq!(compatible(None, None), Some(None));
        assert_eq!(compatible(None, Some(3)), Some(Some(3)));
        assert_eq!(compatible(Some(3), None), Some(Some(3)));
        assert_eq!(compatible(Some(3), Some(3)), Some(Some(3)));
        assert_eq!(compatible(Some(3), Some(4)), None);
    }

    #[test]
    fn blocks_cover_an_axis() {
        assert_eq!(
            (block_count(7, Some(3)), block_count(7, None), block_count(0, None)),
            (3, 1, 0)
        );
        let ranges: Vec<_> = (0..3).map(|at| block_range(7, Some(3), at)).collect();
        assert_eq!(ranges, [0..3, 3..6, 6..7]);
        assert_eq!(block_range(7, None, 0), 0..7);
        assert_eq!(block_range(3, Some(usize::MAX), 0), 0..3);
    }
}
