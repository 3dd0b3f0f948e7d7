//! One statement as each pass sees it: windows of arrays in the place of arrays, coordinates in the place of axes.

use super::LoopArrays;
use crate::core::{Access, ArrayId, Atom, AxisId, IndexExpr, UpdateInput, Window};
use crate::et::lower::known::ArrayState;
use crate::interval::{Interval, range};
use ijk_types::DType;

/// Something that a statement reads in a pass.
#[derive(Clone, Debug, PartialEq)]
pub struct PassInput {
    pub source: UpdateInput,
    pub dtype: DType,
    pub shape: Vec<u64>,
}

/// Replaces what the loops around a statement fix.
pub struct PassView<'v, 'a> {
    pub known: &'v ArrayState<'a>,
    pub found: &'v mut LoopArrays,
    /// For each array of the lowered statement which of the program's it is.
    pub surface: &'v [usize],
    /// Number of leading axes that loops fix.
    pub fixed: usize,
    /// Extents of all axes.
    pub extents: &'v [u64],
    pub inputs: Vec<PassInput>,
    pub lookups: Vec<Window>,
    /// Positions of windows that are out of bounds in some pass, with the extents.
    pub bounds: Vec<(IndexExpr, u64)>,
    /// Other positions that are out of bounds at some point: as lowered, and as a pass sees them.
    pub open: Vec<OpenIndex>,
}

/// An index that may be out of bounds at some point.
pub struct OpenIndex {
    pub lowered: IndexExpr,
    pub seen: IndexExpr,
    pub extent: u64,
}

impl<'v, 'a> PassView<'v, 'a> {
    /// A view of a statement of which nothing has been replaced yet.
    pub fn new(
        known: &'v ArrayState<'a>,
        found: &'v mut LoopArrays,
        surface: &'v [usize],
        fixed: usize,
        extents: &'v [u64],
    ) -> Self {
        let (inputs, lookups, bounds, open) = Default::default();
        Self { known, found, surface, fixed, extents, inputs, lookups, bounds, open }
    }
}

impl PassView<'_, '_> {
    /// An access as an access of a window: axes at positions that a pass fixes are left out.
    pub fn access(&mut self, access: &Access) -> Option<Access> {
        let array = self.array(access.array)?;
        let shape = self.found.arrays[array].shape.clone();
        let mut window = Window::whole(array, shape.len());
        let mut index = Vec::new();
        for (axis, (e, &extent)) in access.index.iter().zip(&shape).enumerate() {
            match self.fixes(e) {
                true => window.fixed[axis] = Some(self.position(e, extent)?),
                false => {
                    let seen = self.seen(e)?;
                    self.note_open(e, &seen, extent);
                    index.push(seen);
                }
            }
        }
        let array = self.window(window);
        Some(Access { array, index, span: access.span })
    }

    /// The position in the loop of an array of the lowered statement.
    fn array(&mut self, id: ArrayId) -> Option<usize> {
        let surface = *self.surface.get(id.0 as usize)?;
        let version = self.known.versions[surface].clone()?;
        Some(self.found.of(surface, &version))
    }

    /// The input that is this window.
    pub fn window(&mut self, window: Window) -> ArrayId {
        let array = &self.found.arrays[window.array];
        let (dtype, shape) = (array.dtype, window.shape(&array.shape));
        self.input(PassInput { source: UpdateInput::Window(window), dtype, shape })
    }

    fn input(&mut self, input: PassInput) -> ArrayId {
        let at = self.inputs.iter().position(|own| *own == input);
        let at = at.unwrap_or_else(|| {
            self.inputs.push(input);
            self.inputs.len() - 1
        });
        ArrayId(at as u32)
    }

    /// Returns true if an index depends on axes that loops fix, and on no others.
    pub fn fixes(&self, e: &IndexExpr) -> bool {
        let (mut fixed, mut other) = (false, false);
        e.for_each_axis(&mut |axis| {
            let own = (axis.0 as usize) < self.fixed;
            fixed |= own;
            other |= !own;
        });
        fixed && !other
    }

    /// A position that a pass fixes, as a function of its coordinates; noted if it may be out of bounds.
    pub fn position(&mut self, e: &IndexExpr, extent: u64) -> Option<IndexExpr> {
        let position = self.coordinates(e)?;
        let bound = (position.clone(), extent);
        if !self.position_within(&position, extent) && !self.bounds.contains(&bound) {
            self.bounds.push(bound);
        }
        Some(position)
    }

    /// An index without axes that vary in a pass, where elements of arrays are lookups.
    fn coordinates(&mut self, e: &IndexExpr) -> Option<IndexExpr> {
        let mut sum = IndexExpr::constant(e.constant);
        for (coefficient, atom) in &e.terms {
            let value = match atom {
                Atom::Axis(axis) => IndexExpr::axis(*axis),
                Atom::FloorDiv(e, divisor) => self.coordinates(e)?.floor_div(*divisor),
                Atom::Mod(e, divisor) => self.coordinates(e)?.modulo(*divisor),
                Atom::Product(left, right) => {
                    self.coordinates(left)?.product(&self.coordinates(right)?)?
                }
                Atom::Abs(e) => self.coordinates(e)?.magnitude()?,
                Atom::Max(left, right) => self.coordinates(left)?.maximum(self.coordinates(right)?),
                Atom::Min(left, right) => self.coordinates(left)?.minimum(self.coordinates(right)?),
                Atom::Element(access) => self.lookup(access)?,
            };
            sum = sum.plus(&value.times(*coefficient)?)?;
        }
        Some(sum)
    }

    /// The coordinate that an element of an array is in a pass.
    fn lookup(&mut self, access: &Access) -> Option<IndexExpr> {
        let array = self.array(access.array)?;
        let shape = self.found.arrays[array].shape.clone();
        let mut window = Window::whole(array, shape.len());
        for (axis, (e, &extent)) in access.index.iter().zip(&shape).enumerate() {
            window.fixed[axis] = Some(self.position(e, extent)?);
        }
        let at = self.lookups.iter().position(|own| *own == window);
        let at = at.unwrap_or_else(|| {
            self.lookups.push(window);
            self.lookups.len() - 1
        });
        Some(IndexExpr::axis(AxisId((self.fixed + at) as u32)))
    }

    /// An index as a pass sees it: fixed axes are elements that hold the coordinates.
    pub fn seen(&mut self, e: &IndexExpr) -> Option<IndexExpr> {
        let mut sum = IndexExpr::constant(e.constant);
        for (coefficient, atom) in &e.terms {
            let value = match atom {
                Atom::Axis(axis) => self.axis(*axis),
                Atom::FloorDiv(e, divisor) => self.seen(e)?.floor_div(*divisor),
                Atom::Mod(e, divisor) => self.seen(e)?.modulo(*divisor),
                Atom::Product(left, right) => self.seen(left)?.product(&self.seen(right)?)?,
                Atom::Abs(e) => self.seen(e)?.magnitude()?,
                Atom::Max(left, right) => self.seen(left)?.maximum(self.seen(right)?),
                Atom::Min(left, right) => self.seen(left)?.minimum(self.seen(right)?),
                Atom::Element(access) => IndexExpr::element(self.access(access)?),
            };
            sum = sum.plus(&value.times(*coefficient)?)?;
        }
        Some(sum)
    }

    fn axis(&mut self, axis: AxisId) -> IndexExpr {
        match (axis.0 as usize).checked_sub(self.fixed) {
            Some(own) => IndexExpr::axis(AxisId(own as u32)),
            None => {
                let (source, dtype) = (UpdateInput::Coordinate(axis), DType::I64);
                let array = self.input(PassInput { source, dtype, shape: Vec::new() });
                let span = crate::core::Span::default();
                IndexExpr::element(Access { array, index: Vec::new(), span })
            }
        }
    }

    /// Notes an index that may be out of bounds.
    pub fn note_open(&mut self, lowered: &IndexExpr, seen: &IndexExpr, extent: u64) {
        if !self.within(lowered, extent) {
            self.open.push(OpenIndex { lowered: lowered.clone(), seen: seen.clone(), extent });
        }
    }

    /// Returns true if an index is in bounds at all points of all passes.
    fn within(&self, e: &IndexExpr, extent: u64) -> bool {
        is_within(e, extent, self.extents)
    }

    /// The same for a position: coordinates behind those of the pass are lookups, which have any value.
    fn position_within(&self, position: &IndexExpr, extent: u64) -> bool {
        is_within(position, extent, &self.extents[..self.fixed])
    }
}

/// Returns true if an index is in bounds for axes of these extents, and any value of others.
fn is_within(e: &IndexExpr, extent: u64, extents: &[u64]) -> bool {
    let any = Interval { least: i64::MIN.into(), greatest: i64::MAX.into() };
    let of = |axis: AxisId| {
        extents.get(axis.0 as usize).map_or(any, |&extent| Interval::of_extent(extent))
    };
    let range = range(e, &of);
    range.least >= 0 && range.greatest < i128::from(extent)
}
