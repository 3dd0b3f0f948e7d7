//! The memory limit of a run: bytes of a stage, and errors that name its largest array.

use crate::Error;
use crate::error::Report;
use ijk_ir::core::ArrayId;
use ijk_ir::et::{LoopStage, Stage};
use ijk_syntax::{Diagnostic, Span};
use ijk_tensor::Tensor;

/// Checks that a stage's results and temporaries fit in addition to `held` bytes.
///
/// # Errors
/// If not, one that quotes the largest array.
pub(crate) fn fits(
    stage: &Stage,
    temporaries: u64,
    held: u64,
    most: Option<Most>,
) -> Result<(), Error> {
    let Some(most) = most else { return Ok(()) };
    let needed = needed(stage, temporaries, held);
    if most.suffices(needed) {
        return Ok(());
    }
    let message = too_much(stage, temporaries, needed, most);
    Err(Error::Memory(Box::new(Report::new(&stage.program.source, vec![message]))))
}

/// Checks that what a loop takes fits in addition to `held` bytes, among them its arrays.
///
/// # Errors
/// If not, one that quotes its header.
pub(crate) fn loop_fits(
    stage: &LoopStage,
    temporaries: u64,
    held: u64,
    most: Option<Most>,
) -> Result<(), Error> {
    let needed = temporaries.saturating_add(held);
    let Some(most) = most.filter(|most| !most.suffices(needed)) else { return Ok(()) };
    let message = most.message(needed);
    let diagnostic = Diagnostic::error(stage.program.root.span.into(), message)
        .with_label(format!("{temporaries} bytes besides its arrays"));
    Err(Error::Memory(Box::new(Report::new(&stage.program.source, vec![diagnostic]))))
}

/// Checks that a copy of an array fits if `needed` bytes do.
///
/// # Errors
/// If not, one that quotes what the array is.
pub(crate) fn copy_fits(
    source: &str,
    span: Span,
    needed: u64,
    most: Option<Most>,
) -> Result<(), Error> {
    let Some(most) = most.filter(|most| !most.suffices(needed)) else { return Ok(()) };
    let diagnostic =
        Diagnostic::error(span, most.message(needed)).with_label("copied before a loop");
    Err(Error::Memory(Box::new(Report::new(source, vec![diagnostic]))))
}

/// Bytes of a stage's results and temporaries, and `held` bytes.
pub(super) fn needed(stage: &Stage, temporaries: u64, held: u64) -> u64 {
    let results = stage.program.outputs.iter().map(|&id| bytes(stage, id));
    results.fold(temporaries.saturating_add(held), u64::saturating_add)
}

/// Upper bound, in bytes, of the arrays of a run.
#[derive(Clone, Copy)]
pub(crate) struct Most {
    bytes: u64,
    /// True for the limit of the engine, false for the memory available to the run.
    limit: bool,
}

impl Most {
    /// The smaller of the memory available to the run and the limit of the engine.
    pub fn of(available: Option<u64>, limit: Option<u64>) -> Option<Self> {
        let available = available.map(|bytes| Self { bytes, limit: false });
        let limit = limit.map(|bytes| Self { bytes, limit: true });
        limit.into_iter().chain(available).min_by_key(|most| most.bytes)
    }

    fn message(self, needed: u64) -> String {
        let Self { bytes: most, limit } = self;
        match limit {
            true => {
                format!("the program needs {needed} bytes, but the memory limit is {most} bytes")
            }
            false => format!("not enough memory: {needed} bytes are needed, {most} are available"),
        }
    }

    /// True if a run that needs some bytes may start.
    pub fn suffices(self, needed: u64) -> bool {
        needed <= self.bytes
    }
}

#[cold]
fn too_much(stage: &Stage, temporaries: u64, needed: u64, most: Most) -> Diagnostic {
    let message = most.message(needed);
    let Some(id) = greatest(stage, temporaries) else {
        return Diagnostic::error(Span::default(), message);
    };
    let (dtype, shape) =
        (stage.instance.dtypes[id.0 as usize], &stage.instance.shapes[id.0 as usize]);
    let own = bytes(stage, id);
    Diagnostic::error(stage.program.arrays[id.0 as usize].span.into(), message)
        .with_label(format!("{dtype} of shape {shape:?}: {own} bytes"))
        .with_hint("make its extents smaller")
}

/// The largest array that the stage allocates: a result, or an intermediate array that is not larger than all
/// temporaries together, and so may be one of them.
fn greatest(stage: &Stage, temporaries: u64) -> Option<ArrayId> {
    let program = &stage.program;
    let own = program.statements.iter().map(|statement| statement.out);
    own.filter(|id| program.outputs.contains(id) || bytes(stage, *id) <= temporaries)
        .max_by_key(|&id| bytes(stage, id))
}

/// Bytes of an array, saturating.
fn bytes(stage: &Stage, id: ArrayId) -> u64 {
    let size = stage.instance.dtypes[id.0 as usize].size() as u64;
    stage.instance.shapes[id.0 as usize].iter().fold(size, |n, &extent| n.saturating_mul(extent))
}

/// Bytes of a tensor.
pub(crate) fn taken(tensor: &Tensor) -> u64 {
    let size = tensor.dtype().size() as u64;
    tensor.shape().iter().fold(size, |n, &extent| n.saturating_mul(extent as u64))
}
