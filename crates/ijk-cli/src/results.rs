//! Results as they are printed.

use crate::failure::Failure;
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

    /// Prints the results without a place to the standard output, or all as JSON, and a line for each of the others to
    /// the standard error output.
    ///
    /// # Errors
    /// If that fails.
    pub fn print(&self, json: bool, threads: usize) -> Result<(), Failure> {
        if json {
            return output::print(&self.as_json(threads));
        }
        let status = self.status();
        if !status.is_empty() {
            output::message(&status);
        }
        output::print(&self.as_text())
    }

    /// The results with their names, if there are several.
    fn named(&self) -> impl Iterator<Item = (usize, String, &Outcome<'_>)> {
        self.names.iter().zip(self.outcomes).enumerate().map(|(n, (name, outcome))| {
            let head = if self.outcomes.len() > 1 { format!("{name}: ") } else { String::new() };
            (n, head, outcome)
        })
    }

    /// A line for each result that has a place.
    fn status(&self) -> String {
        let time = output::seconds(self.seconds);
        let line = |(n, head, outcome): (usize, String, &Outcome<'_>)| {
            let (path, shape) = (self.written(n)?.display(), layout::shape(outcome.shape()));
            Some(format!("{head}{} {shape} in {time} -> {path}\n", outcome.dtype()))
        };
        self.named().filter_map(line).collect()
    }

    /// The arrays without a place.
    fn as_text(&self) -> String {
        let unplaced = self.named().filter(|(n, ..)| self.written(*n).is_none());
        let text = unplaced.map(|(_, head, outcome)| match outcome.shape().len() {
            0 | 1 => format!("{head}{}\n", outcome.text()),
            _ => format!("{}{}\n", head.replace(": ", ":\n"), outcome.text()),
        });
        text.collect()
    }

    /// A JSON object on one line.
    fn as_json(&self, threads: usize) -> String {
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
