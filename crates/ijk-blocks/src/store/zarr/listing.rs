//! Lists existing chunks: one listing of each directory, not a lookup of each possible chunk.

use super::error::ZarrError;
use super::files::Files;
use super::metadata::Layout;
use std::fs;
use std::io::{Error, ErrorKind};
use std::path::Path;

/// The places of all chunks of an array that have a file.
pub(super) fn chunks(files: &Files, layout: &Layout) -> Result<Vec<Vec<usize>>, ZarrError> {
    let grid = layout.ty.grid();
    let first = layout.key(&vec![0; grid.len()]);
    let mut found = Vec::new();
    if grid.is_empty() {
        // There is one chunk, if any.
        found.push(Vec::new());
        return Ok(found);
    }
    // Keys are numbers between separators, perhaps after a `c`.
    let (prefix, numbers) = match first.strip_prefix('c') {
        Some(rest) => (true, &rest[1..]),
        None => (false, &first[..]),
    };
    let separator = if prefix { first.chars().nth(1) } else { numbers.chars().nth(1) };
    if separator == Some('/') {
        let root = if prefix { files.path("c") } else { files.root().to_path_buf() };
        walk(&root, &grid, &mut Vec::new(), &mut found)?;
        return Ok(found);
    }
    let start = if prefix { "c." } else { "" };
    each(files.root(), &mut |name| {
        let places = name.strip_prefix(start).map(|rest| rest.split('.'));
        let places: Option<Vec<usize>> = places.and_then(|places| places.map(number).collect());
        if let Some(at) = places
            && at.len() == grid.len()
            && at.iter().zip(&grid).all(|(n, blocks)| n < blocks)
        {
            found.push(at);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Chunks below a directory that is at a place.
fn walk(
    directory: &Path,
    grid: &[usize],
    at: &mut Vec<usize>,
    found: &mut Vec<Vec<usize>>,
) -> Result<(), ZarrError> {
    each(directory, &mut |name| {
        let Some(place) = number(name).filter(|&n| n < grid[at.len()]) else { return Ok(()) };
        at.push(place);
        if at.len() == grid.len() {
            found.push(at.clone());
        } else {
            walk(&directory.join(name), grid, at, found)?;
        }
        at.pop();
        Ok(())
    })
}

/// Visits the names of a directory, of which there are none where it is none.
fn each(
    directory: &Path,
    visit: &mut dyn FnMut(&str) -> Result<(), ZarrError>,
) -> Result<(), ZarrError> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if is_none(&error) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for entry in entries {
        let name = entry?.file_name();
        name.to_str().map_or(Ok(()), &mut *visit)?;
    }
    Ok(())
}

fn is_none(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
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
            assert!(chunks(&files, &layout).unwrap().is_empty());
            let there = [vec![0, 0], vec![3, 2], vec![19, 1]];
            for at in &there {
                let path = files.path(&layout.key(at));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, b"").unwrap();
            }
            // Beyond the grid, no number, and no directory.
            for name in ["c.20.0", "20.0", "c.1", "1.01", "c.x.0", "zarr.json"] {
                fs::write(files.path(name), b"").unwrap();
            }
            let nested = if encoding == "v2" { "7" } else { "c/7" };
            fs::create_dir_all(files.path("c")).unwrap();
            fs::write(files.path(nested), b"").unwrap();
            let mut found = chunks(&files, &layout).unwrap();
            found.sort();
            assert_eq!(found, there, "{encoding} {separator}");
        }
    }
}
