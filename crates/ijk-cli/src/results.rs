//! Results as they are printed.

use crate::files::Place;
use crate::{json, layout, output};
use ijk::{DType, Tensor};
use serde_json::json;
use std::path::Path;

/// Results of a program.
pub struct Results<'a> {
    /// Their names.
    pub names: &'a [String],
    /// The results.
    pub outcomes: &'a [Outcome<'a>],
    /// Places of those that were written, by their positions.
    pub outputs: &'a [(usize, Place)],
    /// Duration of the computation.
    pub seconds: f64,
}

/// A result: an array, or a summary of one that was never whole in memory.
pub enum Outcome<'a> {
    /// The whole array.
    Array(&'a Tensor),
    /// Written block by block.
    Stored {
        /// Its element type.
        dtype: DType,
        /// Its shape.
        shape: &'a [usize],
    },
}

impl Outcome<'_> {
    fn dtype(&self) -> DType {
        match self {
            Self::Array(array) => array.dtype(),
            Self::Stored { dtype, .. } => *dtype,
        }
    }

    fn shape(&self) -> &[usize] {
        match self {
            Self::Array(array) => array.shape(),
            Self::Stored { shape, .. } => shape,
        }
    }

    /// The elements as text; nothing where they are not in memory.
    fn text(&self) -> String {
        match self {
            Self::Array(array) => layout::array(&array.view()),
            Self::Stored { .. } => String::new(),
        }
    }
}

impl Results<'_> {
    /// Place of a written result.
    fn written(&self, n: usize) -> Option<&Path> {
        self.outputs.iter().find(|(output, _)| *output == n).map(|(_, place)| &*place.path)
    }

    /// The arrays or their places; several with their names.
    pub fn as_text(&self) -> String {
        let mut text = String::new();
        for (n, (name, outcome)) in self.names.iter().zip(self.outcomes).enumerate() {
            let head = if self.outcomes.len() > 1 { format!("{name}: ") } else { String::new() };
            let line = match self.written(n) {
                Some(path) => {
                    let time = output::seconds(self.seconds);
                    let shape = layout::shape(outcome.shape());
                    format!("{head}{} {shape} in {time} -> {}\n", outcome.dtype(), path.display())
                }
                None if outcome.shape().len() < 2 => format!("{head}{}\n", outcome.text()),
                None => format!("{}{}\n", head.replace(": ", ":\n"), outcome.text()),
            };
            text.push_str(&line);
        }
        text
    }

    /// A JSON object on one line.
    pub fn as_json(&self, threads: usize) -> String {
        let results =
            self.names.iter().zip(self.outcomes).enumerate().map(|(n, (name, outcome))| {
                let mut object = json!({
                    "name": name,
                    "dtype": outcome.dtype().name(),
                    "shape": outcome.shape(),
                });
                match (self.written(n), outcome) {
                    (Some(path), _) => object["file"] = json!(path.to_string_lossy()),
                    (None, Outcome::Array(array)) => {
                        object["data"] = array.view().iter_scalars().map(json::scalar).collect();
                    }
                    (None, Outcome::Stored { .. }) => {}
                }
                object
            });
        let results: Vec<_> = results.collect();
        json::text(&json!({ "results": results, "seconds": self.seconds, "threads": threads }))
    }
}
