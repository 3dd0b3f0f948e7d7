//! What a half-written array is part of: the computation, so that the same one continues, and no other.

use super::files::{Files, OWN};
use super::problem::Problem;
use crate::plan::{BlockPlan, From};
use crate::store::Digest;
use crate::{BigTensor, StoreError};
use serde::{Deserialize, Serialize};
use std::fs;

/// Raised by whatever changes the bits of a result: the order of summation, a function's approximation.
const ORDER: u32 = 2;

/// The file beside the chunks.
const FILE: &str = ".ijk/manifest.json";

/// The name of the file that holds the lock.
const LOCK: &str = ".ijk/lock";

/// A computation, as far as its result depends on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// Which bits its sums have.
    order: u32,
    /// The level of instructions, which they depend on, too.
    simd: String,
    /// The term, for people.
    program: String,
    /// A digest of the block plan: the same for all spellings of one program.
    plan: String,
    inputs: Vec<Input>,
    /// Whether the result is there.
    pub(super) complete: bool,
}

/// What a computation reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Input {
    name: String,
    identity: String,
}

impl Manifest {
    /// The manifest of a tensor, computed with instructions of a level.
    pub(super) fn new(tensor: &BigTensor, simd: &str) -> Result<Self, StoreError> {
        let plan = BlockPlan::new(tensor);
        let mut digest = Digest::new();
        let mut inputs = Vec::new();
        for array in &plan.arrays {
            digest.add(array.ty.to_string().as_bytes());
            if let From::Source(source) = &array.from {
                inputs.push(Input { name: source.name(), identity: source.identity()? });
            }
        }
        for stage in &plan.stages {
            digest.add(format!("{stage:?}").as_bytes());
        }
        let (simd, program, plan) = (simd.into(), tensor.to_string(), digest.finish());
        Ok(Self { order: ORDER, simd, program, plan, inputs, complete: false })
    }

    /// The manifest in an array's directory, if there is one.
    pub(super) fn read(files: &Files) -> Result<Option<Self>, Problem> {
        let text = match fs::read(files.path(FILE)) {
            Ok(text) => text,
            Err(_) if !files.path(FILE).exists() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let wrong = |error: serde_json::Error| Problem::Manifest(error.to_string());
        Ok(Some(serde_json::from_slice(&text).map_err(wrong)?))
    }

    pub(super) fn write(&self, files: &Files) -> Result<(), Problem> {
        let text = serde_json::to_string_pretty(self);
        let text = text.map_err(|error| Problem::Manifest(error.to_string()))?;
        files.write(FILE, text.as_bytes())
    }

    /// What makes this another computation than that of a store, if anything does.
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
        let version = || {
            format!(
                "it was computed by a version with another order of summation ({}, this is {})",
                there.order, self.order
            )
        };
        (self.order != there.order).then(version)
    }
}

/// Keeps others from writing an array, as long as it lives.
#[derive(Debug)]
pub(super) struct Lock(#[allow(dead_code, reason = "held, not read")] fs::File);

impl Lock {
    pub(super) fn new(files: &Files) -> Result<Self, Problem> {
        fs::create_dir_all(files.path(OWN))?;
        let options = fs::File::options().create(true).truncate(false).write(true).to_owned();
        let file = options.open(files.path(LOCK))?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(fs::TryLockError::WouldBlock) => Err(Problem::Locked),
            // Some file systems have no locks.
            Err(fs::TryLockError::Error(_)) => Ok(Self(file)),
        }
    }
}
