//! Wavefronts: two loops whose passes depend on neighbours run along diagonals.
//!
//! The passes of a diagonal do not depend on one another if every pass that one depends on is on a diagonal before. So
//! a number of them is one update, with an axis along the diagonal: windows become strided rows.

use super::LoopBuffer;
use ijk_ir::core::{
    Access, ArrayId, Atom, Axis, AxisId, IndexExpr, Instance, Loop, LoopStep, PassCondition,
    Program, ScalarNode, Statement, Update, UpdateInput, Window,
};

/// Passes of a diagonal that run as one, largest first.
const COUNTS: [u64; 7] = [256, 128, 64, 32, 16, 8, 4];

/// Steepness of diagonals: passes `(i, j)` with equal `skew · i + j`.
const SKEWS: [i64; 2] = [1, 2];

/// Two loops that run along diagonals.
pub(super) struct Wavefront<'p> {
    pub(super) skew: i64,
    /// Number of the outer loop's coordinate; the inner one's is the next.
    outer: usize,
    update: &'p Update,
    /// Steps of the two coordinates from a pass of a diagonal to the next.
    steps: [i64; 2],
    /// Most passes of a diagonal.
    longest: u64,
    /// The passes of an update count from the last to the first.
    pub(super) reversed: bool,
}

/// The wavefront of a loop with `around` coordinates of loops around it, if it has one.
pub(super) fn wavefront<'p>(
    own: &'p Loop,
    around: usize,
    arrays: &[LoopBuffer],
) -> Option<Wavefront<'p>> {
    let [LoopStep::Loop(inner)] = &own.steps[..] else { return None };
    let ([outer_axis], [inner_axis]) = (&own.axes[..], &inner.axes[..]) else { return None };
    let update = match &inner.steps[..] {
        [LoopStep::Update(update)] | [LoopStep::Fused(update, _)] => &**update,
        _ => return None,
    };
    let plain = update.lookups.is_empty() && update.probe.is_none();
    if !plain || own.until.is_some() || inner.until.is_some() {
        return None;
    }
    let sign = |descending: bool| if descending { -1 } else { 1 };
    let signs = [sign(own.descending), sign(inner.descending)];
    let distances = Distances { outer: around, signs, arrays }.of(update)?;
    let legal = |skew: &&i64| distances.iter().all(|d| is_legal(*d, **skew));
    let skew = *SKEWS.iter().find(legal)?;
    let longest = outer_axis.extent.min(inner_axis.extent.div_ceil(skew.unsigned_abs()));
    let steps = [signs[0], -skew * signs[1]];
    let found = Wavefront { skew, outer: around, update, steps, longest, reversed: false };
    let found = found.ascending(arrays)?;
    (longest >= COUNTS[COUNTS.len() - 1] && found.is_affine()).then_some(found)
}

/// Returns true if passes at this distance come in the same order along diagonals as in the loops.
fn is_legal([outer, inner]: [i64; 2], skew: i64) -> bool {
    let order = if outer == 0 { inner } else { outer };
    order.signum() == (skew * outer + inner).signum()
}

/// Distances of passes that share elements.
struct Distances<'p> {
    outer: usize,
    signs: [i64; 2],
    arrays: &'p [LoopBuffer],
}

impl Distances<'_> {
    /// Distances between the pass that writes an element and others that read or write it, in units of passes; none if
    /// that is not known.
    fn of(&self, update: &Update) -> Option<Vec<[i64; 2]>> {
        let mut distances = Vec::new();
        let reads = update.inputs.iter().filter_map(|input| match input {
            UpdateInput::Window(window) if self.arrays[window.array].changes => Some(window),
            _ => None,
        });
        for write in &update.outputs {
            self.addressed(write)?;
            let touching = reads.clone().chain(&update.outputs);
            for other in touching.filter(|window| window.array == write.array) {
                distances.extend(self.distance(write, other)?);
            }
        }
        // Arrays that the update reads must not change elsewhere in the loops.
        let written = |window: &&Window| update.outputs.iter().any(|w| w.array == window.array);
        reads.clone().all(|window| written(&window)).then_some(distances)
    }

    /// The axes at which a window has the two coordinates, with the constants.
    fn addressed(&self, window: &Window) -> Option<[(usize, i64); 2]> {
        let at = |coordinate: usize| {
            let mut found = window.fixed.iter().enumerate().filter_map(|(axis, e)| {
                let e = e.as_ref()?;
                match &e.terms[..] {
                    [(1, Atom::Axis(own))] if own.0 as usize == coordinate => {
                        Some((axis, e.constant))
                    }
                    _ => None,
                }
            });
            found.next()
        };
        Some([at(self.outer)?, at(self.outer + 1)?])
    }

    /// The distance of two passes that share an element; none inside if no pass shares one.
    fn distance(&self, write: &Window, other: &Window) -> Option<Option<[i64; 2]>> {
        let (own, theirs) = (self.addressed(write)?, self.addressed(other)?);
        let same_axes = own.iter().zip(&theirs).all(|(a, b)| a.0 == b.0);
        if !same_axes {
            return None;
        }
        for (axis, (a, b)) in write.fixed.iter().zip(&other.fixed).enumerate() {
            if own.iter().any(|(at, _)| *at == axis) || a == b {
                continue;
            }
            let apart = a.as_ref().zip(b.as_ref());
            let apart = apart.and_then(|(a, b)| a.plus(&b.times(-1)?)?.as_constant());
            return if apart.is_some_and(|by| by != 0) { Some(None) } else { None };
        }
        let between = |n: usize| (theirs[n].1 - own[n].1) * self.signs[n];
        Some(Some([between(0), between(1)]))
    }
}

impl Wavefront<'_> {
    /// The same with passes in the order in which outputs ascend in memory; none if there is no such order.
    fn ascending(self, arrays: &[LoopBuffer]) -> Option<Self> {
        let windows = self.update.outputs.iter();
        let own = windows.map(|window| self.stride(window, arrays));
        let own = own.collect::<Option<Vec<isize>>>()?;
        if own.iter().all(|&stride| stride > 0) {
            return Some(self);
        }
        let steps = self.steps.map(|step| -step);
        own.iter().all(|&stride| stride < 0).then_some(Self { steps, reversed: true, ..self })
    }

    /// The numbers of passes that run as one, largest first.
    pub(super) fn counts(&self) -> impl Iterator<Item = u64> {
        let longest = self.longest;
        COUNTS.into_iter().filter(move |count| *count <= longest)
    }

    /// Change of a position from a pass of a diagonal to the next.
    pub(super) fn slope(&self, e: &IndexExpr) -> i64 {
        let own = e.terms.iter().map(|(coefficient, atom)| match atom {
            Atom::Axis(axis) => coefficient * self.step(*axis),
            _ => 0,
        });
        own.sum()
    }

    fn step(&self, axis: AxisId) -> i64 {
        match (axis.0 as usize).checked_sub(self.outer) {
            Some(n) if n < 2 => self.steps[n],
            _ => 0,
        }
    }

    /// Returns true if a window moves along a diagonal.
    fn moves(&self, window: &Window) -> bool {
        window.fixed.iter().flatten().any(|e| self.slope(e) != 0)
    }

    /// Stride of a window along a diagonal; none if it does not move.
    pub(super) fn stride(&self, window: &Window, arrays: &[LoopBuffer]) -> Option<isize> {
        let strides = &arrays[window.array].strides;
        let axes = window.fixed.iter().zip(strides);
        let stride = axes.filter_map(|(e, stride)| Some(self.slope(e.as_ref()?) as isize * stride));
        self.moves(window).then(|| stride.sum())
    }

    /// Returns true if all positions are sums of multiples of coordinates.
    fn is_affine(&self) -> bool {
        let windows = self.update.inputs.iter().filter_map(|input| match input {
            UpdateInput::Window(window) => Some(window),
            UpdateInput::Coordinate(_) => None,
        });
        let positions = windows.chain(&self.update.outputs).flat_map(|w| w.fixed.iter().flatten());
        let conditions = self.update.conditions.iter().flat_map(|c| [&c.least, &c.greatest]);
        positions.chain(conditions).all(IndexExpr::is_affine)
    }

    /// The update of `count` passes at once; `None` if an index overflows.
    pub(super) fn lifted(&self, count: u64) -> Option<Update> {
        let Update { program, instance, inputs, outputs, conditions, .. } = self.update;
        let lift = Lift::new(self, count, program, inputs);
        let (program, instance) = lift.program(program, instance)?;
        let last = i64::try_from(count).ok()? - 1;
        let mut both = Vec::new();
        for condition in conditions {
            both.push(condition.clone());
            let end =
                |e: &IndexExpr| e.plus(&IndexExpr::constant(self.slope(e).checked_mul(last)?));
            let (least, greatest) = (end(&condition.least)?, end(&condition.greatest)?);
            both.push(PassCondition { least, greatest, extent: condition.extent });
        }
        let (inputs, outputs) = (inputs.clone(), outputs.clone());
        let (lookups, probe) = (Vec::new(), None);
        Some(Update { program, instance, lookups, inputs, outputs, conditions: both, probe })
    }
}

/// A program with one more axis, the first of every domain.
struct Lift<'w, 'p> {
    wave: &'w Wavefront<'p>,
    count: u64,
    /// For each array whether it has the axis, and which coordinate it is.
    arrays: Vec<(bool, Option<AxisId>)>,
}

impl<'w, 'p> Lift<'w, 'p> {
    fn new(wave: &'w Wavefront<'p>, count: u64, program: &Program, inputs: &[UpdateInput]) -> Self {
        let mut arrays = vec![(true, None); program.arrays.len()];
        for (id, source) in program.inputs.iter().zip(inputs) {
            arrays[id.0 as usize] = match source {
                UpdateInput::Window(window) => (wave.moves(window), None),
                UpdateInput::Coordinate(axis) => (false, Some(*axis)),
            };
        }
        Self { wave, count, arrays }
    }

    fn program(&self, program: &Program, instance: &Instance) -> Option<(Program, Instance)> {
        let (mut program, mut instance) = (program.clone(), instance.clone());
        for (n, (lifted, _)) in self.arrays.iter().enumerate().filter(|(_, (lifted, _))| *lifted) {
            debug_assert!(lifted);
            instance.shapes[n].insert(0, self.count);
            program.arrays[n].rank = program.arrays[n].rank.map(|rank| rank + 1);
        }
        for (statement, extents) in program.statements.iter_mut().zip(&mut instance.extents) {
            extents.insert(0, self.count);
            *statement = self.statement(statement)?;
        }
        Some((program, instance))
    }

    fn statement(&self, statement: &Statement) -> Option<Statement> {
        let mut done = statement.clone();
        let along = Axis { name: "diagonal".into(), dims: Vec::new(), pins: Vec::new() };
        done.domain.insert(0, along);
        done.out_index = self.index(statement.out, &statement.out_index)?;
        for (e, _) in &mut done.guards {
            *e = self.expression(e)?;
        }
        for node in &mut done.value.nodes {
            match node {
                ScalarNode::Access(access) => *access = self.access(access)?,
                ScalarNode::Index(e) | ScalarNode::Random { counter: e, .. } => {
                    *e = self.expression(e)?;
                }
                _ => {}
            }
        }
        Some(done)
    }

    fn access(&self, access: &Access) -> Option<Access> {
        Some(Access { index: self.index(access.array, &access.index)?, ..access.clone() })
    }

    fn index(&self, array: ArrayId, index: &[IndexExpr]) -> Option<Vec<IndexExpr>> {
        let along = self.arrays[array.0 as usize].0.then(|| IndexExpr::axis(AxisId(0)));
        let own = index.iter().map(|e| self.expression(e));
        along.into_iter().map(Some).chain(own).collect()
    }

    /// An index over the axes of before, which are one further; coordinates step along the diagonal.
    fn expression(&self, e: &IndexExpr) -> Option<IndexExpr> {
        let mut sum = IndexExpr::constant(e.constant);
        for (coefficient, atom) in &e.terms {
            let value = match atom {
                Atom::Axis(axis) => IndexExpr::axis(AxisId(axis.0 + 1)),
                Atom::FloorDiv(e, divisor) => self.expression(e)?.floor_div(*divisor),
                Atom::Mod(e, divisor) => self.expression(e)?.modulo(*divisor),
                Atom::Product(left, right) => {
                    self.expression(left)?.product(&self.expression(right)?)?
                }
                Atom::Abs(e) => self.expression(e)?.magnitude()?,
                Atom::Max(left, right) => self.expression(left)?.maximum(self.expression(right)?),
                Atom::Min(left, right) => self.expression(left)?.minimum(self.expression(right)?),
                Atom::Element(access) => self.element(access)?,
            };
            sum = sum.plus(&value.times(*coefficient)?)?;
        }
        Some(sum)
    }

    fn element(&self, access: &Access) -> Option<IndexExpr> {
        let own = IndexExpr::element(self.access(access)?);
        match self.arrays[access.array.0 as usize].1 {
            Some(coordinate) => {
                let step = self.wave.step(coordinate);
                own.plus(&IndexExpr::axis(AxisId(0)).times(step)?)
            }
            None => Some(own),
        }
    }
}
