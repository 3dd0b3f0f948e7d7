//! The kernels of a pass.

use super::draft::{Draft, RowElement, RowOrder, elementwise};
use super::layout::BlockLayout;
use super::{Call, Interchanged, PassOperand, peephole};
use crate::nest::{TileKernel, binary, moves, scalar_bits, takes_splat, unary};
use ijk_kernels::simd::Level;
use ijk_kernels::tuning::time::{INTERCHANGED_CALL, INTERCHANGED_VALUE};
use ijk_plan::plan::loops::PassUpdate;
use ijk_plan::plan::{BufferId, Nest, Node, NodeId};
use ijk_types::{BinaryOp, DType, Reducer, UnaryOp};
use smallvec::SmallVec;
use std::collections::HashMap;

/// Bytes of a constant or a coordinate.
const SPLAT_BYTES: usize = 64;

/// Kernels of a pass as they are found.
pub(super) struct CallBuilder<'d, 'p> {
    draft: &'d mut Draft<'p>,
    layout: BlockLayout,
    level: Level,
    values: Vec<ValueDraft>,
    constants: Vec<(usize, [u64; 2])>,
    cells: Vec<(usize, usize)>,
    calls: Vec<Call>,
    /// Temporaries of the update: value, offset and strides.
    stored: HashMap<BufferId, (Typed, isize, SmallVec<[isize; 4]>)>,
    /// Values of streams that the pass has written.
    current: HashMap<usize, Typed>,
}

/// A value of a block.
#[derive(Clone, Copy, Debug)]
struct ValueDraft {
    size: usize,
    splat: bool,
}

/// An operand with its element type.
#[derive(Clone, Copy, Debug)]
struct Typed {
    operand: PassOperand,
    dtype: DType,
}

impl<'d, 'p> CallBuilder<'d, 'p> {
    pub fn new(draft: &'d mut Draft<'p>, layout: BlockLayout, level: Level) -> Self {
        Self {
            draft,
            layout,
            level,
            values: Vec::new(),
            constants: Vec::new(),
            cells: Vec::new(),
            calls: Vec::new(),
            stored: HashMap::new(),
            current: HashMap::new(),
        }
    }

    /// Adds the kernels of an update; none if a kernel or an access is not known.
    pub fn add(&mut self, update: &PassUpdate) -> Option<()> {
        self.stored.clear();
        update.plan.steps.iter().try_for_each(|step| self.nest(update, elementwise(step)?))
    }

    fn nest(&mut self, update: &PassUpdate, nest: &Nest) -> Option<()> {
        let order = RowOrder::of(nest)?;
        let mut known: Vec<Typed> = Vec::new();
        for node in &nest.body {
            let of = |id: NodeId| known[id.0 as usize];
            let value = match *node {
                Node::Load(load) => {
                    let load = &nest.loads[load as usize];
                    let element = self.draft.load(update, load, &order)?;
                    self.read(element, load.dtype)?
                }
                Node::Const(scalar) => {
                    let operand = self.value(scalar.dtype(), true);
                    self.constants.push((operand.index(), scalar_bits(scalar)));
                    Typed { operand, dtype: scalar.dtype() }
                }
                Node::Unary(op, a) => self.unary(op, of(a))?,
                Node::Binary(op, a, b) => self.binary(op, of(a), of(b))?,
                Node::Select(c, a, b) => {
                    let [c, a, b] = [of(c), of(a), of(b)].map(|operand| self.whole(operand));
                    let kernel = moves(a.dtype, self.level).select;
                    self.call(kernel, a.dtype, [c, a, b])
                }
                _ => return None,
            };
            known.push(value);
        }
        let value = *known.last()?;
        let to = self.draft.store(update, nest, &order)?;
        self.store(nest, to, value)
    }

    /// The operand that a load reads.
    fn read(&mut self, element: RowElement, dtype: DType) -> Option<Typed> {
        Some(match element {
            RowElement::Stream(stream) => match self.current.get(&stream) {
                Some(value) => *value,
                None => Typed { operand: PassOperand::Stream(stream), dtype },
            },
            RowElement::Coordinate(n) => {
                let known = self.cells.iter().find(|(own, _)| *own == n);
                let value = known.map(|(_, value)| *value).unwrap_or_else(|| {
                    let value = self.value(DType::I64, true).index();
                    self.cells.push((n, value));
                    value
                });
                Typed { operand: PassOperand::Value(value), dtype }
            }
            RowElement::Temporary(buffer, offset, strides) => {
                let (value, own, along) = self.stored.get(&buffer)?;
                (*own == offset && *along == strides).then_some(*value)?
            }
        })
    }

    /// Stores the value of a nest.
    fn store(&mut self, nest: &Nest, to: RowElement, value: Typed) -> Option<()> {
        let value = match nest.reduce {
            None => value,
            Some(Reducer::Monoid(monoid)) => {
                let former = self.read(to.clone(), nest.store.dtype)?;
                self.binary(monoid.op(), former, value)?
            }
            _ => return None,
        };
        match to {
            RowElement::Temporary(buffer, offset, strides) => {
                // Loads follow later writes of the same array.
                let value = match value.operand {
                    PassOperand::Stream(_) => self.copied(value),
                    PassOperand::Value(_) => value,
                };
                self.stored.insert(buffer, (value, offset, strides));
            }
            RowElement::Stream(stream) => self.write(stream, value),
            RowElement::Coordinate(_) => return None,
        }
        Some(())
    }

    /// Writes a value to a stream. What follows in the pass reads the value itself.
    fn write(&mut self, stream: usize, value: Typed) {
        if value.operand == PassOperand::Stream(stream) {
            return;
        }
        let kernel = self.copy_of(value);
        let (to, from) = (PassOperand::Stream(stream), [value.operand; 3]);
        self.calls.push(Call { kernel, to, from, copies: true });
        let draft = &*self.draft;
        self.current.retain(|&other, kept| {
            let changes = matches!(kept.operand, PassOperand::Stream(n) if draft.meet(n, stream));
            !draft.meet(other, stream) && !changes
        });
        self.current.insert(stream, value);
    }

    fn is_splat(&self, value: Typed) -> bool {
        match value.operand {
            PassOperand::Stream(stream) => self.layout.splats[stream],
            PassOperand::Value(value) => self.values[value].splat,
        }
    }

    fn value(&mut self, dtype: DType, splat: bool) -> PassOperand {
        self.values.push(ValueDraft { size: dtype.size(), splat });
        PassOperand::Value(self.values.len() - 1)
    }

    fn call(&mut self, kernel: TileKernel, dtype: DType, from: [Typed; 3]) -> Typed {
        let to = self.value(dtype, false);
        self.calls.push(Call { kernel, to, from: from.map(|own| own.operand), copies: false });
        Typed { operand: to, dtype }
    }

    /// The value with one element for each row.
    fn whole(&mut self, value: Typed) -> Typed {
        if self.is_splat(value) { self.copied(value) } else { value }
    }

    /// The kernel that copies a value to one element for each row.
    fn copy_of(&self, value: Typed) -> TileKernel {
        let moves = moves(value.dtype, self.level);
        if self.is_splat(value) { moves.splat } else { moves.copy }
    }

    fn copied(&mut self, value: Typed) -> Typed {
        let kernel = self.copy_of(value);
        self.call(kernel, value.dtype, [value; 3])
    }

    fn unary(&mut self, op: UnaryOp, a: Typed) -> Option<Typed> {
        let kernel = unary(op, a.dtype, self.level)?;
        let a = self.whole(a);
        Some(self.call(kernel, op.result().of(a.dtype), [a; 3]))
    }

    fn binary(&mut self, op: BinaryOp, a: Typed, b: Typed) -> Option<Typed> {
        let (op, mut a, mut b) = match op {
            BinaryOp::Gt => (BinaryOp::Lt, b, a),
            BinaryOp::Ge => (BinaryOp::Le, b, a),
            _ => (op, a, b),
        };
        if !takes_splat(op, a.dtype) {
            b = self.whole(b);
            a = self.whole(a);
        } else if self.is_splat(b) {
            a = self.whole(a);
        }
        let splats = (self.is_splat(a), self.is_splat(b));
        let kernel = binary(op, a.dtype, self.level, splats.0, splats.1)?;
        Some(self.call(kernel, op.result().of(a.dtype), [a, b, b]))
    }

    /// The program of the loop with this coordinate.
    pub fn finish(self, coordinate: usize) -> Interchanged {
        let Self { draft, layout, values, constants, cells, mut calls, .. } = self;
        peephole::save_copies(&mut calls, |a, b| draft.meet(a, b));
        let mut scratch = layout.bytes();
        let mut places = Vec::new();
        for value in &values {
            places.push(scratch);
            let bytes = if value.splat { SPLAT_BYTES } else { layout.width * value.size };
            scratch += bytes.next_multiple_of(SPLAT_BYTES);
        }
        let call = INTERCHANGED_CALL / layout.width as f64 + INTERCHANGED_VALUE;
        Interchanged {
            coordinate,
            cost: calls.len() as f64 * call,
            outer: layout.outer,
            rows: layout.rows,
            width: layout.width,
            streams: layout.streams,
            packs: layout.packs,
            depth: layout.depth,
            scratch,
            values: places,
            constants,
            cells,
            calls,
            ranges: std::mem::take(&mut draft.ranges),
        }
    }
}

impl PassOperand {
    fn index(self) -> usize {
        match self {
            Self::Stream(n) | Self::Value(n) => n,
        }
    }
}
