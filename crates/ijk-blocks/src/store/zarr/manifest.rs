//! Manifest of an unfinished array: identity of the computation, so that only the same one continues it.

use super::ZarrOptions;
use super::error::ZarrError;
use super::storage::Files;
use crate::plan::{BlockPlan, From};
use crate::store::Digest;
use crate::{BigTensor, Executor, StoreError};
use serde::{Deserialize, Serialize};

/// Raised by whatever changes the bits of a result: the order of summation, a function's approximation.
const ORDER: u32 = 25;

/// The file beside the chunks.
pub(super) const FILE: &str = ".ijk/manifest.json";

/// A computation, as far as its result depends on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// Version of the order of summation, which determines the bits of sums.
    order: u32,
    /// The level of instructions, which they depend on, too.
    simd: String,
    /// Elements were assumed to be finite, so that missing blocks annihilate them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    finite: bool,
    /// True if factors of reduced values were not reassociated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
    /// The term, for people.
    program: String,
    /// A digest of the block plan: the same for all spellings of one program.
    plan: String,
    inputs: Vec<ManifestInput>,
    /// Command that finishes the array, for messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) command: Option<String>,
    /// The result is complete.
    pub(super) complete: bool,
}

/// Input of the computation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ManifestInput {
    name: String,
    identity: String,
}

impl Manifest {
    /// The manifest of a tensor, computed with instructions of a level.
    pub(super) fn new(tensor: &BigTensor, simd: &str) -> Result<Self, StoreError> {
        let plan = BlockPlan::new(tensor);
        let mut digest = Digest::new();
        let mut inputs = Vec::new();
        for (array, identity) in plan.arrays.iter().zip(plan.identities()?) {
            digest.add(array.ty.to_string().as_bytes());
            if let (From::Source(source), Some(identity)) = (&array.from, identity) {
                inputs.push(ManifestInput { name: source.name(), identity });
            }
        }
        for stage in &plan.stages {
            digest.add(format!("{stage:?}").as_bytes());
        }
        let (simd, program, plan) = (simd.into(), tensor.to_string(), digest.finish());
        let (order, finite, strict, command, complete) = (ORDER, false, false, None, false);
        Ok(Self { order, simd, finite, strict, program, plan, inputs, command, complete })
    }

    /// The same with what an executor assumes of elements, and the command that finishes the array.
    #[must_use]
    pub(super) fn of_run(self, executor: &Executor, options: &ZarrOptions) -> Self {
        let (finite, strict) = (executor.is_finite(), executor.is_strict());
        Self { finite, strict, command: options.finished_by(), ..self }
    }

    /// The manifest in an array's directory, if there is one.
    pub(super) fn read(files: &Files) -> Result<Option<Self>, ZarrError> {
        let Some(text) = files.text(FILE)? else { return Ok(None) };
        let wrong = |error: serde_json::Error| ZarrError::Manifest(error.to_string());
        let mut there: Self = serde_json::from_slice(&text).map_err(wrong)?;
        // Messages quote it, and it may come from anywhere.
        there.program = printable(&there.program);
        there.command = there.command.as_deref().map(printable);
        there.inputs.iter_mut().for_each(|input| input.identity = printable(&input.identity));
        Ok(Some(there))
    }

    pub(super) fn is_there(files: &Files) -> Result<bool, ZarrError> {
        Ok(files.length(FILE)?.is_some())
    }

    pub(super) fn write(&self, files: &Files) -> Result<(), ZarrError> {
        files.writer()?.write(FILE, self.text()?.as_bytes())
    }

    /// Writes it, so that it outlasts a loss of power.
    pub(super) fn write_through(&self, files: &Files) -> Result<(), ZarrError> {
        files.writer()?.write_through(FILE, self.text()?.as_bytes())
    }

    /// The text of the file.
    pub(super) fn text(&self) -> Result<String, ZarrError> {
        let text = serde_json::to_string_pretty(self);
        text.map_err(|error| ZarrError::Manifest(error.to_string()))
    }

    /// Difference between this computation and that of a store, if there is one.
    pub(super) fn difference(&self, there: &Self) -> Option<String> {
        if self.plan != there.plan {
            return Some(match self.program == there.program {
                true => "its blocks were planned otherwise".into(),
                false => {
                    format!("its program was\n{}\nand this is\n{}", there.program, self.program)
                }
            });
        }
        let pairs = self.inputs.iter().zip(&there.inputs);
        let changed = pairs.enumerate().find(|(_, (now, then))| now.identity != then.identity);
        if let Some((n, (now, then))) = changed {
            let (name, now, then) = (&now.name, &now.identity, &then.identity);
            return Some(format!("input {n}, {name}, has changed: it was {then}, and is {now}"));
        }
        if self.simd != there.simd {
            let (now, then) = (&self.simd, &there.simd);
            return Some(format!(
                "it was computed with {then} instructions, and this is {now}: sums would differ in their last bits"
            ));
        }
        if self.finite != there.finite {
            let [now, then] = [self, there].map(|of| if of.finite { "are" } else { "are not" });
            return Some(format!(
                "its elements {then} assumed to be finite there, and {now} here: NaN and infinities that meet missing blocks would differ"
            ));
        }
        if self.strict != there.strict {
            let [now, then] = [self, there].map(|of| if of.strict { "was" } else { "was not" });
            return Some(format!(
                "it {then} computed strictly as it is written, and this {}: sums would differ in their last bits",
                now.replace("was", "is")
            ));
        }
        let version = || {
            format!(
                "it was computed by a version with another order of summation ({}, this is {})",
                there.order, self.order
            )
        };
        (self.order != there.order).then(version)
    }
}

/// A text without characters that a terminal takes for commands.
fn printable(text: &str) -> String {
    let is_command = |c: char| c.is_control() && c != '\n';
    let escaped = text.chars().map(|c| match is_command(c) {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    });
    escaped.collect()
}
