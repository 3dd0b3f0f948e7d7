//! Lists existing chunks: one listing of each directory or prefix, not a lookup of each possible chunk.

use super::error::ZarrError;
use super::metadata::Layout;
use super::storage::Files;

/// The places of all chunks of an array that are there; none if they cannot be listed.
pub(super) fn chunks(files: &Files, layout: &Layout) -> Result<Option<Vec<Vec<usize>>>, ZarrError> {
    let grid = layout.ty.grid();
    let keys = KeyFormat::of(layout, grid.len());
    let mut found = Vec::new();
    let listed = files.visit(&keys.under, keys.depth, &mut |key| {
        let places: Option<Vec<usize>> = keys.numbers(key).map(number).collect();
        if let Some(at) = places
            && at.len() == grid.len()
            && at.iter().zip(&grid).all(|(n, blocks)| n < blocks)
        {
            found.push(at);
        }
    })?;
    Ok(listed.then_some(found))
}

/// The form of an array's keys: numbers between separators, perhaps after a `c`.
struct KeyFormat {
    /// Prefix of all keys, as far as it is a directory.
    under: String,
    /// Names after that.
    depth: usize,
    /// The text before the numbers.
    before: String,
    separator: char,
}

impl KeyFormat {
    fn of(layout: &Layout, rank: usize) -> Self {
        let first = layout.key(&vec![0; rank]);
        let (prefix, numbers) = match first.strip_prefix('c') {
            Some(rest) => ("c", rest.get(1..).unwrap_or_default()),
            None => ("", &first[..]),
        };
        let separator =
            if prefix.is_empty() { numbers.chars().nth(1) } else { first.chars().nth(1) };
        match (rank, separator) {
            // There is one chunk, if any.
            (0, _) => Self { under: first, depth: 0, before: String::new(), separator: '/' },
            (_, Some('.')) => {
                let before = if prefix.is_empty() { "" } else { "c." };
                Self { under: String::new(), depth: 1, before: before.into(), separator: '.' }
            }
            _ => {
                let before = if prefix.is_empty() { "" } else { "c/" };
                Self { under: prefix.into(), depth: rank, before: before.into(), separator: '/' }
            }
        }
    }

    /// The numbers of a key as text.
    fn numbers<'a>(&self, key: &'a str) -> impl Iterator<Item = &'a str> + use<'a> {
        let rest = if self.depth == 0 { None } else { key.strip_prefix(&*self.before) };
        let separator = self.separator;
        rest.into_iter().flat_map(move |rest| rest.split(separator))
    }
}

/// A number as keys have it.
fn number(text: &str) -> Option<usize> {
    let plain =
        text.bytes().all(|c| c.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn chunks_are_found_whatever_separates_numbers() {
        for (encoding, separator) in [("default", "/"), ("default", "."), ("v2", "."), ("v2", "/")]
        {
            let text = format!(
                r#"{{"zarr_format": 3, "node_type": "array", "shape": [40, 6], "data_type": "float64",
                "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [2, 2]}}}},
                "chunk_key_encoding": {{"name": "{encoding}", "configuration": {{"separator": "{separator}"}}}},
                "fill_value": 0.0, "codecs": [{{"name": "bytes", "configuration": {{"endian": "little"}}}}],
                "attributes": {{}}}}"#
            );
            let layout = Layout::parse(text.as_bytes()).unwrap();
            let directory = tempfile::tempdir().unwrap();
            let files = Files::new(directory.path());
            assert!(chunks(&files, &layout).unwrap().unwrap().is_empty());
            let there = [vec![0, 0], vec![3, 2], vec![19, 1]];
            for at in &there {
                let path = files.path().join(layout.key(at));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, b"").unwrap();
            }
            // Beyond the grid, no number, and no directory.
            for name in ["c.20.0", "20.0", "c.1", "1.01", "c.x.0", "zarr.json"] {
                fs::write(files.path().join(name), b"").unwrap();
            }
            let nested = if encoding == "v2" { "7" } else { "c/7" };
            fs::create_dir_all(files.path().join("c")).unwrap();
            fs::write(files.path().join(nested), b"").unwrap();
            let mut found = chunks(&files, &layout).unwrap().unwrap();
            found.sort();
            assert_eq!(found, there, "{encoding} {separator}");
        }
    }
}
