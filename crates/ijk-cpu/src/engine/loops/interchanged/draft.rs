//! The elements that the updates of a pass read and write, row by row.

use super::super::address::may_overlap;
use super::access::{RowAccess, RowAxes, StreamDraft};
use ijk_plan::plan::loops::{FixedAxis, LoopBuffer, PassRange, PassSource, PassUpdate, PassWindow};
use ijk_plan::plan::{Base, BufferId, Load, Nest, NestAxis, Node, Place, Start, Step};
use ijk_types::Reducer;
use smallvec::SmallVec;
use std::collections::HashMap;

/// Streams of a loop, before they have addresses.
pub(super) struct Draft<'p> {
    arrays: &'p [LoopBuffer],
    written: &'p [usize],
    /// Extents of the axes of rows.
    pub rows: Option<SmallVec<[usize; 4]>>,
    pub streams: Vec<StreamDraft>,
    /// For each array that is written the axes that rows go along.
    axes: HashMap<usize, RowAxes>,
    /// Positions that must be in bounds in a pass.
    pub ranges: Vec<PassRange>,
    /// Streams in the order in which a pass reads or writes them.
    pub uses: Vec<Use>,
}

/// A read or write of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Read(usize),
    Write(usize),
}

/// The target of a load or store.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RowElement {
    Stream(usize),
    /// A temporary at this offset and these strides.
    Temporary(BufferId, isize, SmallVec<[isize; 4]>),
    /// The coordinate of that number.
    Coordinate(usize),
}

/// Axes of a nest with more than one value, in the order of the output's strides: the axes of rows.
pub(super) struct RowOrder(SmallVec<[usize; 4]>);

impl RowOrder {
    /// Of a nest that computes each element by itself.
    pub fn of(nest: &Nest) -> Option<Self> {
        let alone = match nest.reduce {
            None => true,
            Some(Reducer::Monoid(_)) => nest.start == Start::Existing,
            Some(_) => false,
        };
        let own = |axis: &NestAxis| !axis.reduced && !axis.collides && axis.extent > 0;
        let stores = nest.store.offset.is_none() && nest.axes.iter().all(own);
        if !stores || !alone {
            return None;
        }
        let known = |node: &Node| {
            matches!(
                node,
                Node::Load(_)
                    | Node::Const(_)
                    | Node::Unary(..)
                    | Node::Binary(..)
                    | Node::Select(..)
            )
        };
        let mut axes: SmallVec<[usize; 4]> =
            (0..nest.axes.len()).filter(|&a| nest.axes[a].extent > 1).collect();
        axes.sort_by_key(|&a| std::cmp::Reverse(nest.store.strides[a].unsigned_abs()));
        nest.body.iter().all(known).then_some(Self(axes))
    }

    fn extents(&self, nest: &Nest) -> SmallVec<[usize; 4]> {
        self.0.iter().map(|&a| nest.axes[a].extent).collect()
    }

    fn strides(&self, strides: &[isize]) -> SmallVec<[isize; 4]> {
        self.0.iter().map(|&a| strides[a]).collect()
    }
}

impl<'p> Draft<'p> {
    pub fn new(arrays: &'p [LoopBuffer], written: &'p [usize]) -> Self {
        Self {
            arrays,
            written,
            rows: None,
            streams: Vec::new(),
            axes: HashMap::new(),
            ranges: Vec::new(),
            uses: Vec::new(),
        }
    }

    /// Adds the streams of an update; none unless all its steps compute rows by themselves.
    pub fn add(&mut self, update: &PassUpdate) -> Option<()> {
        self.add_ranges(update)?;
        let mut stored: Vec<&PassWindow> = Vec::new();
        for step in &update.plan.steps {
            let nest = elementwise(step)?;
            let order = RowOrder::of(nest)?;
            let extents = order.extents(nest);
            if *self.rows.get_or_insert_with(|| extents.clone()) != extents {
                return None;
            }
            for load in &nest.loads {
                if let Some(read) = input(update, load.base)
                    && stored.iter().any(|own| may_overlap(own, read, 1))
                {
                    return None;
                }
                let read = self.load(update, load, &order)?;
                self.note(&read, Use::Read);
            }
            let store = self.store(update, nest, &order)?;
            if nest.reduce.is_some() {
                self.note(&store, Use::Read);
            }
            self.note(&store, Use::Write);
            if let Place::Output(n) = update.plan.buffers[nest.store.base.buffer.0 as usize].place {
                stored.push(&update.outputs.get(n)?.window);
            }
        }
        Some(())
    }

    /// The arrays of the loop.
    pub fn arrays(&self) -> &'p [LoopBuffer] {
        self.arrays
    }

    /// Returns true unless two streams have no element in common in any pass.
    pub fn meet(&self, a: usize, b: usize) -> bool {
        let [a, b] = [a, b].map(|n| &self.streams[n]);
        may_overlap(&a.window, &b.window, 1)
    }

    fn note(&mut self, element: &RowElement, of: fn(usize) -> Use) {
        if let RowElement::Stream(stream) = element {
            self.uses.push(of(*stream));
        }
    }

    /// Adds the positions that must be in bounds; none unless all are affine.
    fn add_ranges(&mut self, update: &PassUpdate) -> Option<()> {
        let inputs = update.inputs.iter().filter_map(|input| match input {
            PassSource::Window(window) => Some(window),
            PassSource::Coordinate(_) => None,
        });
        let mut ranges = update.conditions.clone();
        for window in inputs.chain(update.outputs.iter().map(|output| &output.window)) {
            let array = self.arrays.get(window.array)?;
            for FixedAxis { axis, position, .. } in &window.fixed {
                let extent = i64::try_from(*array.shape.get(*axis)?).ok()?;
                ranges.push(PassRange {
                    least: position.clone(),
                    greatest: position.clone(),
                    extent,
                });
            }
        }
        for range in ranges {
            range.least.affine().and(range.greatest.affine())?;
            if !self.ranges.contains(&range) {
                self.ranges.push(range);
            }
        }
        Some(())
    }

    /// The target of a nest's store.
    pub fn store(
        &mut self,
        update: &PassUpdate,
        nest: &Nest,
        order: &RowOrder,
    ) -> Option<RowElement> {
        self.element(update, nest.store.base, order.strides(&nest.store.strides))
    }

    /// The source of a nest's load.
    pub fn load(
        &mut self,
        update: &PassUpdate,
        load: &Load,
        order: &RowOrder,
    ) -> Option<RowElement> {
        self.element(update, load.base, order.strides(&load.strides))
    }

    fn element(
        &mut self,
        update: &PassUpdate,
        base: Base,
        strides: SmallVec<[isize; 4]>,
    ) -> Option<RowElement> {
        let buffer = update.plan.buffers.get(base.buffer.0 as usize)?;
        let window = match buffer.place {
            Place::Temporary(_) => {
                return Some(RowElement::Temporary(base.buffer, base.offset, strides));
            }
            Place::Input(n) => match update.inputs.get(n)? {
                PassSource::Coordinate(n) => return Some(RowElement::Coordinate(*n)),
                PassSource::Window(window) => window,
            },
            Place::Output(n) => &update.outputs.get(n)?.window,
        };
        let access = RowAccess { window, buffer: &buffer.strides, offset: base.offset, strides };
        self.stream(access).map(RowElement::Stream)
    }

    /// The stream of an access to an array.
    fn stream(&mut self, access: RowAccess<'_>) -> Option<usize> {
        let window = access.window;
        let array = self.arrays.get(window.array)?;
        let size = array.dtype.size() as isize;
        let written = self.written.contains(&window.array);
        let strides = if written {
            let axes = access.axes(array, self.rows.as_deref()?)?;
            let strides = axes.strides(window, array);
            if *self.axes.entry(window.array).or_insert_with(|| axes.clone()) != axes {
                return None;
            }
            strides
        } else {
            access.strides.iter().map(|stride| stride * size).collect()
        };
        let draft = StreamDraft {
            window: window.clone(),
            dtype: array.dtype,
            offset: access.offset * size,
            strides,
            written,
        };
        let known = self.streams.iter().position(|own| *own == draft);
        known.or_else(|| {
            self.streams.push(draft);
            Some(self.streams.len() - 1)
        })
    }
}

/// The nest of a step.
pub(super) fn elementwise(step: &Step) -> Option<&Nest> {
    match step {
        Step::Nest(nest) => Some(nest),
        _ => None,
    }
}

/// The window that a buffer is, if it is an input.
fn input(update: &PassUpdate, base: Base) -> Option<&PassWindow> {
    match update.plan.buffers.get(base.buffer.0 as usize)?.place {
        Place::Input(n) => match update.inputs.get(n)? {
            PassSource::Window(window) => Some(window),
            PassSource::Coordinate(_) => None,
        },
        _ => None,
    }
}
