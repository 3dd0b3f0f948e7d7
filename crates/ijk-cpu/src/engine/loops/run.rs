//! Passes.

use super::LoopArgument;
use super::address::{MovingWindow, holds};
use super::compile::{
    CompiledLoop, Input, Output, PassBody, PassProgram, StepProgram, UpdateProgram,
};
use super::standing::StandingBody;
use super::waves::WaveRun;
use crate::check::Layout;
use crate::engine::{Engine, check_count, check_view, fault_error};
use crate::error::{RunError, Side};
use crate::runtime::cancel::CancelToken;
use crate::runtime::scratch::{Scratch, ScratchPool};
use crate::runtime::threads::Workers;
use ijk_plan::plan::loops::{LoopBuffer, Written};
use ijk_tensor::reserve;
use ijk_types::DType;
use smallvec::SmallVec;
use std::ops::Range;

/// Number of short passes between two checks for cancellation.
const PASSES_PER_QUESTION: u32 = 16;

/// Estimated nanoseconds from which a pass is long.
const LONG_PASS: f64 = 2000.0;

/// Runs a loop.
pub(super) fn execute(
    engine: &Engine,
    compiled: &CompiledLoop,
    arguments: &mut [LoopArgument<'_, '_>],
) -> Result<(), RunError> {
    engine.check_level()?;
    if !reserve::is_there() {
        return Err(RunError::OutOfMemory(reserve::BYTES));
    }
    let own = compiled.arrays.iter().filter(|array| !array.local).count();
    check_count(Side::Argument, own, arguments.len())?;
    let places = &compiled.memory;
    let bytes = places.memory.bytes();
    let block = engine.scratch.try_take(bytes).ok_or(RunError::OutOfMemory(bytes))?;
    let mut arrays: SmallVec<[*mut u8; 16]> = SmallVec::new();
    let mut arguments = arguments.iter_mut().enumerate();
    for (array, place) in compiled.arrays.iter().zip(&places.locals) {
        arrays.push(match place {
            Some(at) => block.as_ptr().wrapping_add(*at),
            None => match arguments.next() {
                Some((position, argument)) => address(array, position, argument)?,
                None => return Err(RunError::Layout { side: Side::Argument, position: 0 }),
            },
        });
    }
    let seconds = places.seconds.iter();
    let seconds = seconds.map(|at| at.map(|at| block.as_ptr().wrapping_add(at))).collect();
    let watched =
        engine.interrupt.map(|ask| engine.workers.watched(CancelToken::new(Some(ask), None)));
    let workers = watched.as_ref().unwrap_or(&engine.workers);
    let spare = engine.memory_limit.map(|limit| limit.saturating_sub(bytes as u64));
    let mut run = LoopRun {
        engine,
        workers,
        spare,
        compiled,
        block: block.as_ptr(),
        firsts: arrays.clone(),
        arrays,
        seconds,
        coordinates: SmallVec::new(),
        standing: (0..compiled.plans()).map(|_| None).collect(),
        passes: 0,
    };
    // SAFETY: the block has the places of the loop; arrays are borrowed for the call and have the layouts that it was
    // checked against.
    unsafe {
        run.clear_locals();
        run.passes(&compiled.root)?;
        run.settle();
    }
    // A plan that was cancelled has not written all elements.
    if workers.have_ended() { Err(RunError::Interrupted) } else { Ok(()) }
}

/// Address of an array, after checking its layout.
fn address(
    array: &LoopBuffer,
    position: usize,
    argument: &mut LoopArgument<'_, '_>,
) -> Result<*mut u8, RunError> {
    let layout = Layout::of_array(array.dtype, &array.shape, &array.strides);
    match argument {
        LoopArgument::Read(view) => {
            if array.changes {
                return Err(RunError::Layout { side: Side::Result, position });
            }
            let found = (view.dtype(), view.shape(), view.strides());
            check_view(&layout, Side::Argument, position, found)?;
            Ok(view.as_ptr().cast_mut())
        }
        LoopArgument::Changed(tensor) => {
            let mut view = tensor.view_mut();
            let found = (view.dtype(), view.shape(), view.strides());
            check_view(&layout, Side::Result, position, found)?;
            Ok(view.as_mut_ptr())
        }
    }
}

pub(super) struct LoopRun<'r> {
    engine: &'r Engine,
    pub(super) workers: &'r Workers,
    spare: Option<u64>,
    compiled: &'r CompiledLoop,
    /// Memory besides the arrays.
    block: *mut u8,
    /// Addresses of the arrays before the first pass.
    firsts: SmallVec<[*mut u8; 16]>,
    /// Addresses of the arrays now.
    pub(super) arrays: SmallVec<[*mut u8; 16]>,
    /// Addresses of second arrays.
    seconds: SmallVec<[Option<*mut u8>; 16]>,
    pub(super) coordinates: SmallVec<[i64; 8]>,
    /// Plans that have run, by their numbers.
    standing: Vec<Option<Box<StandingBody<'r>>>>,
    passes: u32,
}

/// Outcome of an update.
pub(super) enum Outcome {
    Ran,
    LeftOut,
}

impl<'r> LoopRun<'r> {
    /// Sets the loop's own arrays to zero.
    ///
    /// # Safety
    /// `block` has their places.
    unsafe fn clear_locals(&mut self) {
        for (array, place) in self.compiled.arrays.iter().zip(&self.compiled.memory.locals) {
            if let Some(at) = place {
                // SAFETY: the place has the bytes of the array.
                unsafe { self.block.add(*at).write_bytes(0, bytes(array)) };
            }
        }
    }

    /// Copies arrays back that are in the place of the second one.
    ///
    /// # Safety
    /// All addresses are those of whole arrays.
    unsafe fn settle(&mut self) {
        for (n, array) in self.compiled.arrays.iter().enumerate() {
            if self.arrays[n] != self.firsts[n] {
                // SAFETY: both have the bytes of the array, and are different memory.
                unsafe {
                    std::ptr::copy_nonoverlapping(self.arrays[n], self.firsts[n], bytes(array));
                }
            }
        }
    }

    /// Runs all passes of a loop in the present pass of those around it.
    ///
    /// # Safety
    /// Addresses are those of the arrays that the loop was checked against, whose elements are initialised.
    unsafe fn passes(&mut self, own: &'r PassProgram) -> Result<(), RunError> {
        let flag = own.until.map(|at| self.arrays[at]);
        if let Some(flag) = flag {
            // SAFETY: compilation checked that it is an array of one bool.
            unsafe { flag.write(0) };
        }
        if own.extents.contains(&0) {
            return Ok(());
        }
        if let (Some(wave), [StepProgram::Loop(inner)]) = (&own.wave, &own.steps[..]) {
            let loops = WaveRun { wave, outer: own, inner, around: self.coordinates.len() };
            // SAFETY: guaranteed by the caller.
            return unsafe { self.diagonals(&loops) };
        }
        if let Some(program) = &own.interchanged {
            let range = program.range(&self.coordinates, own);
            // SAFETY: guaranteed by the caller.
            unsafe {
                self.each(own, 0..range.start)?;
                if !self.interchanged(program, own, &range)? {
                    self.each(own, range.clone())?;
                }
                return self.each(own, range.end..own.extents[0]);
            }
        }
        let (around, last) = (self.coordinates.len(), |n: &i64| n - 1);
        match own.descending {
            true => self.coordinates.extend(own.extents.iter().map(last)),
            false => self.coordinates.extend(own.extents.iter().map(|_| 0)),
        }
        loop {
            // SAFETY: guaranteed by the caller.
            unsafe { self.pass(own, around) }?;
            // SAFETY: as above.
            let ends = flag.is_some_and(|flag| unsafe { flag.read() } != 0);
            if ends || !advance(&mut self.coordinates[around..], &own.extents, own.descending) {
                break;
            }
        }
        self.coordinates.truncate(around);
        Ok(())
    }

    /// Runs a range of passes of a loop with one axis, one after another.
    ///
    /// # Safety
    /// As for [`Self::passes`].
    unsafe fn each(&mut self, own: &'r PassProgram, range: Range<i64>) -> Result<(), RunError> {
        let around = self.coordinates.len();
        for pass in range {
            self.coordinates.push(own.coordinate(pass));
            // SAFETY: guaranteed by the caller.
            unsafe { self.pass(own, around) }?;
            self.coordinates.truncate(around);
        }
        Ok(())
    }

    /// Runs the steps of a pass, whose own coordinates follow those of `around` axes; an error if the run has been
    /// cancelled.
    ///
    /// # Safety
    /// As for [`Self::passes`].
    unsafe fn pass(&mut self, own: &'r PassProgram, around: usize) -> Result<(), RunError> {
        (around..self.coordinates.len()).for_each(|n| self.set_cell(n));
        // SAFETY: guaranteed by the caller.
        own.steps.iter().try_for_each(|step| unsafe { self.step(step) })?;
        self.passes = self.passes.wrapping_add(1);
        match self.passes.is_multiple_of(PASSES_PER_QUESTION) && self.workers.have_ended() {
            true => Err(RunError::Interrupted),
            false => Ok(()),
        }
    }

    /// Memory for the passes of another thread; none if there is none within the limit.
    pub(super) fn pass_memory(&self) -> Option<Scratch<'r>> {
        let bytes = self.compiled.memory.of_pass;
        let fits = self
            .spare
            .is_none_or(|spare| self.engine.workers.threads() as u64 * bytes as u64 <= spare);
        fits.then(|| self.engine.scratch.try_take(bytes)).flatten()
    }

    /// The memory of this run's passes.
    pub(super) fn memory(&self) -> *mut u8 {
        self.block
    }

    /// The same run at the same coordinates for passes of another thread, which have memory of their own.
    pub(super) fn with_memory(&self, block: *mut u8) -> Self {
        let mut other = Self {
            block,
            firsts: self.firsts.clone(),
            arrays: self.arrays.clone(),
            seconds: self.seconds.clone(),
            coordinates: self.coordinates.clone(),
            standing: (0..self.compiled.plans()).map(|_| None).collect(),
            ..*self
        };
        (0..other.coordinates.len()).for_each(|n| other.set_cell(n));
        other
    }

    /// Scratch memory for tasks of a pass.
    pub(super) fn scratch(&self) -> &ScratchPool {
        &self.engine.scratch
    }

    /// Stores a coordinate where plans read it.
    pub(super) fn set_cell(&mut self, n: usize) {
        let value = self.coordinates[n];
        // SAFETY: the block has a cell of 8 aligned bytes for each coordinate.
        unsafe { self.cell(n).cast::<i64>().write(value) };
    }

    fn cell(&self, n: usize) -> *mut u8 {
        self.block.wrapping_add(self.compiled.memory.cells + 8 * n)
    }

    /// # Safety
    /// As for [`Self::passes`].
    pub(super) unsafe fn step(&mut self, step: &'r StepProgram) -> Result<(), RunError> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match step {
                StepProgram::Update(update) => self.update(update).map(|_| ()),
                StepProgram::Fused(all, parts) => match self.update(all)? {
                    Outcome::Ran => Ok(()),
                    Outcome::LeftOut => parts.iter().try_for_each(|part| self.step(part)),
                },
                StepProgram::Loop(inner) => self.passes(inner),
            }
        }
    }

    /// # Safety
    /// As for [`Self::passes`].
    pub(super) unsafe fn update(&mut self, update: &'r UpdateProgram) -> Result<Outcome, RunError> {
        let own = self.coordinates.len();
        // SAFETY: guaranteed by the caller.
        let outcome = unsafe { self.looked_up(update) };
        self.coordinates.truncate(own);
        outcome
    }

    /// Runs an update, with lookups as further coordinates.
    ///
    /// # Safety
    /// As for [`Self::passes`].
    unsafe fn looked_up(&mut self, update: &'r UpdateProgram) -> Result<Outcome, RunError> {
        for (window, dtype) in &update.lookups {
            let Some(at) = self.address(window) else { return Ok(Outcome::LeftOut) };
            // SAFETY: all axes are fixed in bounds, so this is an element, of that type.
            let value = unsafe { integer(at, *dtype) };
            self.coordinates.push(value);
            self.set_cell(self.coordinates.len() - 1);
        }
        if !update.conditions.iter().all(|range| holds(range, &self.coordinates)) {
            return Ok(Outcome::LeftOut);
        }
        let mut targets: SmallVec<[*mut u8; 4]> = SmallVec::new();
        if !self.targets(update, &mut targets) {
            return Ok(Outcome::LeftOut);
        }
        if let Some(probe) = &update.probe {
            let mut found = [0u8; 64];
            // SAFETY: the probe has one result of one bool; the rest is guaranteed by the caller.
            let ran = unsafe { self.body(probe, &[found.as_mut_ptr()]) }?;
            if !ran || found[0] == 0 {
                return Ok(Outcome::LeftOut);
            }
        }
        // SAFETY: guaranteed by the caller; results are windows in bounds that the update does not read, second arrays
        // or staged memory.
        if !unsafe { self.body(&update.body, &targets) }? {
            return Ok(Outcome::LeftOut);
        }
        for (output, &target) in update.outputs.iter().zip(&targets) {
            match output.written {
                Written::InPlace => {}
                Written::Swapped => {
                    let array = output.window.array;
                    self.seconds[array] = Some(std::mem::replace(&mut self.arrays[array], target));
                }
                Written::Copied => {
                    let Some(window) = self.address(&output.window) else { continue };
                    // SAFETY: both have the layout of the window.
                    unsafe { copy(output, target, window) };
                }
            }
        }
        if update.cost >= LONG_PASS && self.workers.have_ended() {
            return Err(RunError::Interrupted);
        }
        Ok(Outcome::Ran)
    }

    /// Adds for each output where it is written; returns false if a window is out of bounds.
    #[inline]
    fn targets(&self, update: &UpdateProgram, targets: &mut SmallVec<[*mut u8; 4]>) -> bool {
        let staged = self.block.wrapping_add(self.compiled.memory.staged);
        for output in &update.outputs {
            let Some(window) = self.address(&output.window) else { return false };
            targets.push(match (output.written, self.seconds[output.window.array]) {
                (Written::InPlace, _) => window,
                (Written::Swapped, Some(second)) => second,
                (Written::Swapped, None) => return false,
                (Written::Copied, _) => staged.wrapping_add(output.staged),
            });
        }
        true
    }

    /// Address of a window; none where a position is out of bounds.
    fn address(&self, window: &MovingWindow) -> Option<*mut u8> {
        let offset = window.offset(&self.coordinates)?;
        Some(self.arrays[window.array].wrapping_offset(offset))
    }

    /// Runs a plan, unless an input is out of bounds; returns true if it ran.
    ///
    /// # Safety
    /// As for [`Self::passes`]; `outputs` are the addresses of its results.
    unsafe fn body(&mut self, body: &'r PassBody, outputs: &[*mut u8]) -> Result<bool, RunError> {
        // Questions of short plans would take as long as the plans; passes ask.
        let workers = if body.compiled.is_long { self.workers } else { &self.engine.workers };
        let mut standing = match self.standing[body.number].take() {
            Some(standing) => standing,
            None => {
                let arena = self.block.wrapping_add(self.compiled.memory.arena);
                Box::new(StandingBody::new(body, self.engine, workers, arena))
            }
        };
        let address = |input: &Input| match input {
            Input::Cell(n) => Some(self.cell(*n)),
            Input::Window(window) => self.address(window),
        };
        let moved = standing.move_to(address, outputs);
        let faults = match moved {
            // SAFETY: guaranteed by the caller; compilation checked that the buffers are the windows.
            true => unsafe { standing.run(self.engine, workers, self.spare) }?,
            false => 0,
        };
        self.standing[body.number] = Some(standing);
        fault_error(faults).map(|()| moved)
    }
}

/// An integer as a position. One above all i64 is out of bounds, as the greatest is.
///
/// # Safety
/// It is an element of that type.
unsafe fn integer(at: *const u8, dtype: DType) -> i64 {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match dtype {
            DType::Bool | DType::U8 => i64::from(at.read()),
            DType::I8 => i64::from(at.cast::<i8>().read()),
            DType::U16 => i64::from(at.cast::<u16>().read_unaligned()),
            DType::I16 => i64::from(at.cast::<i16>().read_unaligned()),
            DType::U32 => i64::from(at.cast::<u32>().read_unaligned()),
            DType::I32 => i64::from(at.cast::<i32>().read_unaligned()),
            DType::U64 => at.cast::<u64>().read_unaligned().try_into().unwrap_or(i64::MAX),
            _ => at.cast::<i64>().read_unaligned(),
        }
    }
}

/// Next coordinates of a loop; false after the last.
fn advance(coordinates: &mut [i64], extents: &[i64], descending: bool) -> bool {
    for (at, &extent) in coordinates.iter_mut().zip(extents).rev() {
        let (end, step) = if descending { (0, -1) } else { (extent - 1, 1) };
        if *at != end {
            *at += step;
            return true;
        }
        *at = extent - 1 - end;
    }
    false
}

/// Bytes of an array.
fn bytes(array: &LoopBuffer) -> usize {
    array.shape.iter().product::<usize>() * array.dtype.size()
}

/// Copies the elements of an output from staged memory, in C order, to its window.
///
/// # Safety
/// `from` is the address of as many elements as the window has, `to` of the window's first.
unsafe fn copy(output: &Output, from: *mut u8, to: *mut u8) {
    if output.shape.contains(&0) {
        return;
    }
    let (run, axes) = contiguous(output);
    let mut index: SmallVec<[usize; 8]> = SmallVec::from_elem(0, axes);
    let mut from = from;
    loop {
        let offset: isize = index.iter().zip(&output.strides).map(|(&i, s)| i as isize * s).sum();
        let offset = offset * output.size as isize;
        // SAFETY: `run` bytes from an element on are elements of the window, one after another.
        unsafe {
            std::ptr::copy_nonoverlapping(from, to.offset(offset), run);
            from = from.add(run);
        }
        let axis = (0..axes).rev().find(|&axis| index[axis] + 1 < output.shape[axis]);
        let Some(axis) = axis else { return };
        index[axis] += 1;
        index[axis + 1..].fill(0);
    }
}

/// Bytes of the elements that are one after another, and the number of the axes before those.
fn contiguous(output: &Output) -> (usize, usize) {
    let (mut run, mut axes) = (1usize, output.shape.len());
    while axes > 0 {
        let (extent, stride) = (output.shape[axes - 1], output.strides[axes - 1]);
        if extent != 1 && stride != run as isize {
            break;
        }
        run *= extent;
        axes -= 1;
    }
    (run * output.size, axes)
}
