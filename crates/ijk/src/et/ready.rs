//! Cached runs: solved, lowered, planned and compiled.

use super::bindings::{Bound, Choices};
use super::memory::{self, Most};
use super::program::Arrays;
use super::segments::{Segment, SegmentStage};
use super::{Outputs, faults};
use crate::cache::Key;
use crate::prepared::Prepared;
use crate::{Engine, Error};
use ijk_cpu::Results;
use ijk_ir::et::Checked;
use ijk_tensor::{Tensor, TensorView};
use smallvec::SmallVec;
use std::sync::Arc;

/// Key of a run: everything that determines it but the elements of arrays.
#[derive(PartialEq)]
pub(super) struct Call {
    key: Key,
    choices: Choices,
    kept: Vec<String>,
    weak: Vec<String>,
}

impl Call {
    pub fn new(key: Key, bindings: &Bound<'_>) -> Self {
        let Bound { choices, kept, weak, .. } = bindings;
        Self { key, choices: choices.clone(), kept: kept.clone(), weak: weak.clone() }
    }

    /// True if a run with these bindings, and `key` for their layouts, is of this kind.
    pub fn is(&self, key: &Key, bindings: &Bound<'_>) -> bool {
        let Bound { choices, kept, weak, .. } = bindings;
        self.key == *key && self.choices == *choices && self.kept == *kept && self.weak == *weak
    }
}

/// A run of one stage, in which no extent depends on elements.
pub(super) struct Ready {
    segment: Arc<Segment>,
    prepared: Arc<Prepared>,
    /// Bytes of results and temporaries.
    needed: u64,
    names: Arc<[String]>,
    /// For each name the position of its array among the results of the stage.
    results: SmallVec<[usize; 1]>,
}

impl Ready {
    /// A finished run for the cache, if it has one stage and no extent that depends on elements; `given` are its
    /// results.
    pub fn new(
        checked: &Checked,
        segment: &Arc<Segment>,
        prepared: &Arc<Prepared>,
        given: &[usize],
    ) -> Option<Self> {
        let [SegmentStage::Run(stage, _)] = &segment.stages[..] else { return None };
        if segment.then.is_some() {
            return None;
        }
        let place = |at: &usize| stage.outputs.iter().rposition(|own| own == at);
        let results = given.iter().map(place).collect::<Option<_>>()?;
        let needed = memory::needed(stage, prepared.temporary_bytes(), 0);
        let names = given.iter().map(|&at| checked.arrays[at].name.clone()).collect();
        let (segment, prepared) = (Arc::clone(segment), Arc::clone(prepared));
        Some(Self { segment, prepared, needed, names, results })
    }

    /// Runs the stage; `None` if it needs more memory than allowed.
    pub fn run(
        &self,
        engine: &Engine,
        checked: &Checked,
        bound: &Arrays<'_, '_>,
        most: Option<Most>,
    ) -> Option<Result<Outputs, Error>> {
        if most.is_some_and(|most| !most.suffices(self.needed)) {
            return None;
        }
        let SegmentStage::Run(stage, _) = self.segment.stages.first()? else { return None };
        let inputs: SmallVec<[&TensorView<'_>; 8]> =
            stage.inputs.iter().filter_map(|&at| bound[at]).collect();
        let results = engine.run_prepared(&self.prepared, &inputs);
        let located = |error| faults::located(checked, stage, error);
        Some(results.map(|results| self.outputs(results)).map_err(located))
    }

    /// The named results.
    fn outputs(&self, results: Results) -> Outputs {
        let mut results: SmallVec<[Option<Tensor>; 1]> = results.into_iter().map(Some).collect();
        let arrays = match &self.results[..] {
            [0] => results,
            places => places.iter().map(|&at| results[at].take()).collect(),
        };
        Outputs { names: Arc::clone(&self.names), arrays, warnings: Arc::default() }
    }
}
