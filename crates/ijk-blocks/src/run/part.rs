//! Regions of expressions, computed or read.

use super::facts::Origin;
use crate::domain::Coordinates;
use crate::formula::ValueSet;
use crate::value::Lists;
use crate::{Block, Value};
use ijk_tensor::{Tensor, TensorError, TensorView};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// View of some elements of a block, as the elements of an expression, which is constant along the axes that the block
/// does not have.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    block: Arc<Block>,
    /// Positions of each axis of the block.
    window: Vec<Range<usize>>,
    /// For each axis of the block, the expression's.
    pub(crate) axes: Vec<usize>,
    /// Origin, if its elements are an array's.
    origin: Option<Arc<Origin>>,
    /// Value set of its elements, computed on demand.
    value_set: Arc<OnceLock<ValueSet>>,
    doubtful: bool,
}

impl Part {
    pub(crate) fn new(block: Arc<Block>, window: Vec<Range<usize>>, axes: Vec<usize>) -> Self {
        let (origin, value_set, doubtful) = (None, Arc::default(), false);
        Self { block, window, axes, origin, value_set, doubtful }
    }

    /// The same, with the origin.
    #[must_use]
    pub(crate) fn from(mut self, origin: Origin) -> Self {
        self.origin = Some(Arc::new(origin));
        self
    }

    /// The same, computed from operands some of which are missing: it may add nothing.
    #[must_use]
    pub(crate) fn doubted(mut self) -> Self {
        self.doubtful = true;
        self
    }

    pub(crate) fn is_doubtful(&self) -> bool {
        self.doubtful
    }

    pub(crate) fn origin(&self) -> Option<&Origin> {
        self.origin.as_deref()
    }

    /// Value set of its elements, computed once by `look`.
    pub(crate) fn value_set(&self, look: impl FnOnce() -> ValueSet) -> ValueSet {
        *self.value_set.get_or_init(look)
    }

    /// The block, and the range of its elements.
    pub(crate) fn stored(&self) -> (&Block, &[Range<usize>]) {
        (&self.block, &self.window)
    }

    /// Bytes of its elements.
    pub(crate) fn bytes(&self) -> usize {
        let count = |shape: &mut dyn Iterator<Item = usize>| shape.product::<usize>();
        let all = count(&mut self.block.shape().iter().copied()).max(1);
        let own = count(&mut self.window.iter().map(Range::len));
        (self.block.bytes() as u128 * own as u128 / all as u128) as usize
    }

    /// All elements of a block.
    pub(crate) fn whole(block: Block, axes: Vec<usize>) -> Self {
        let window = crate::wire::whole(block.shape());
        Self::new(Arc::new(block), window, axes)
    }

    /// One element, constant along every axis.
    pub(crate) fn everywhere(value: &Value) -> Result<Self, TensorError> {
        Ok(Self::whole(Block::full(value, &[])?, Vec::new()))
    }

    /// The elements of numbers, with the block's axes.
    pub(crate) fn numbers(&self) -> Option<TensorView<'_>> {
        Some(self.block.as_numbers()?.view().part(&self.window))
    }

    /// The elements as a block with the block's axes.
    pub(crate) fn dense(&self) -> Result<Arc<Block>, TensorError> {
        if self.is_whole() {
            return Ok(Arc::clone(&self.block));
        }
        Ok(Arc::new(match &*self.block {
            Block::Numbers(tensor) => Block::Numbers(tensor.view().part(&self.window).to_tensor()?),
            Block::Lists(lists) => {
                let shape: Vec<usize> = self.window.iter().map(Range::len).collect();
                let order: Vec<usize> = (0..shape.len()).collect();
                Block::Lists(self.lists(lists, &order, &shape))
            }
        }))
    }

    /// The block, if the part is all of it, in the order of these axes.
    pub(crate) fn as_block(&self, axes: &[usize]) -> Option<Arc<Block>> {
        (self.is_whole() && self.axes == axes).then(|| Arc::clone(&self.block))
    }

    fn is_whole(&self) -> bool {
        let shape = self.block.shape();
        self.window.iter().zip(shape).all(|(range, &extent)| *range == (0..extent))
    }

    /// Lists at all points of a shape, of which `order` are the block's axes.
    pub(crate) fn arranged_lists(&self, order: &[usize], shape: &[usize]) -> Option<Lists> {
        match &*self.block {
            Block::Lists(lists) => Some(self.lists(lists, order, shape)),
            Block::Numbers(_) => None,
        }
    }

    /// Lists at all points of a shape, of which `order` are the block's axes.
    fn lists(&self, lists: &Lists, order: &[usize], shape: &[usize]) -> Lists {
        let items = Coordinates::all(shape).map(|at| {
            let axes = order.iter().zip(&self.window).zip(&lists.shape);
            let place = axes.fold(0, |place, ((&axis, range), &extent)| {
                place * extent + range.start + at[axis]
            });
            lists.items[place].clone()
        });
        Lists { of: lists.of.clone(), shape: shape.to_vec(), items: items.collect() }
    }
}

/// Writes a part of a block into another, from these positions on.
pub(crate) fn assign(to: &mut Block, at: &[usize], from: &Block, window: &[Range<usize>]) {
    match (to, from) {
        (Block::Numbers(to), Block::Numbers(from)) => {
            let place: Vec<_> = at.iter().zip(window).map(|(&at, w)| at..at + w.len()).collect();
            assign_numbers(to, &place, from, window);
        }
        (Block::Lists(to), Block::Lists(from)) => {
            let shape: Vec<usize> = window.iter().map(Range::len).collect();
            for point in Coordinates::all(&shape) {
                let index = |starts: &mut dyn Iterator<Item = usize>, extents: &[usize]| {
                    let axes = starts.zip(&point).zip(extents);
                    axes.fold(0, |place, ((start, &n), &extent)| place * extent + start + n)
                };
                let into = index(&mut at.iter().copied(), &to.shape);
                let out = index(&mut window.iter().map(|range| range.start), &from.shape);
                to.items[into] = from.items[out].clone();
            }
        }
        _ => unreachable!("blocks of one array have one type"),
    }
}

fn assign_numbers(to: &mut Tensor, place: &[Range<usize>], from: &Tensor, window: &[Range<usize>]) {
    to.view_mut().part(place).assign(&from.view().part(window));
}
