//! Results as they are printed.

use crate::files::Place;
use crate::{json, layout, output};
use ijk::Tensor;
use serde_json::json;
use std::path::Path;

/// What a program gave.
pub struct Results<'a> {
    /// What each is called.
    pub names: &'a [String],
    /// The arrays.
    pub arrays: &'a [Tensor],
    /// Where some of them were written, by their positions.
    pub outputs: &'a [(usize, Place)],
    /// How long it took to compute them.
    pub seconds: f64,
}

impl Results<'_> {
    /// Where a result was written.
    fn written(&self, n: usize) -> Option<&Path> {
        self.outputs.iter().find(|(output, _)| *output == n).map(|(_, place)| &*place.path)
    }

    /// The arrays, or where they went; several with their names.
    pub fn as_text(&self) -> String {
        let mut text = String::new();
        for (n, (name, array)) in self.names.iter().zip(self.arrays).enumerate() {
            let head = if self.arrays.len() > 1 { format!("{name}: ") } else { String::new() };
            let line = match self.written(n) {
                Some(path) => {
                    let time = output::seconds(self.seconds);
                    let shape = layout::shape(array.shape());
                    format!("{head}{} {shape} in {time} -> {}\n", array.dtype(), path.display())
                }
                None if array.rank() < 2 => format!("{head}{}\n", layout::array(&array.view())),
                None => format!("{}{}\n", head.replace(": ", ":\n"), layout::array(&array.view())),
            };
            text.push_str(&line);
        }
        text
    }

    /// A JSON object on one line.
    pub fn as_json(&self, threads: usize) -> String {
        let results = self.names.iter().zip(self.arrays).enumerate().map(|(n, (name, array))| {
            let mut object = json!({
                "name": name,
                "dtype": array.dtype().name(),
                "shape": array.shape(),
            });
            match self.written(n) {
                Some(path) => object["file"] = json!(path.to_string_lossy()),
                None => object["data"] = array.view().iter_scalars().map(json::scalar).collect(),
            }
            object
        });
        let results: Vec<_> = results.collect();
        json::text(&json!({ "results": results, "seconds": self.seconds, "threads": threads }))
    }
}
