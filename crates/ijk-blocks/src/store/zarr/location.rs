//! Location of an array: in no other array, perhaps in a group.

use super::document::{self, Document};
use super::error::ZarrError;
use super::storage::{Files, METADATA, OWN};
use super::v2;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// Kind of a place with a `zarr.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    Array,
    Group,
}

/// The metadata of a group.
const GROUP: &str =
    "{\n  \"zarr_format\": 3,\n  \"node_type\": \"group\",\n  \"attributes\": {}\n}\n";

/// Attempts to change the metadata of a group that others change, too.
const ATTEMPTS: usize = 8;

/// Checks that an array at a place would not be inside another one.
pub(super) fn check_place(files: &Files) -> Result<(), ZarrError> {
    match enclosing_array(files) {
        Some(array) => Err(ZarrError::InArray { array: array.path().into() }),
        None if is_in_old_group(files) => Err(ZarrError::OldGroup),
        None => Ok(()),
    }
}

/// The places above one, from the nearest on, each with the key of the first one in it.
fn places_above(files: &Files) -> impl Iterator<Item = (Files, String)> + use<> {
    let first = files.above();
    std::iter::successors(first, |(files, key)| {
        let (above, name) = files.above()?;
        Some((above, format!("{name}/{key}")))
    })
}

/// The array in which a place is, if any. What is beneath `.ijk` is ours.
pub(super) fn enclosing_array(files: &Files) -> Option<Files> {
    let is_ours = |key: &str| key.split('/').next() == Some(OWN);
    let mut above = places_above(files).filter(|(_, key)| !is_ours(key));
    above.find_map(|(above, _)| (node(&above) == Some(NodeKind::Array)).then_some(above))
}

/// Returns true if a place is, or would be, a member of a group: missing places between become groups.
pub(super) fn is_in_group(files: &Files) -> bool {
    nearest(files).is_some_and(|above| node(&above) == Some(NodeKind::Group))
        || is_in_old_group(files)
}

fn is_in_old_group(files: &Files) -> bool {
    let has = |files: &Files, key| matches!(files.length(key), Ok(Some(_)));
    nearest(files).is_some_and(|above| !has(&above, METADATA) && has(&above, v2::GROUP))
}

/// The nearest place above one where there is something.
fn nearest(files: &Files) -> Option<Files> {
    places_above(files).map(|(above, _)| above).find(|above| above.exists())
}

/// Makes groups of the places between a group and one in it where there is nothing.
pub(super) fn make_groups(files: &Files) -> Result<(), ZarrError> {
    if !is_in_group(files) {
        return Ok(());
    }
    let above = places_above(files).map(|(above, _)| above);
    let missing: Vec<Files> = above.take_while(|above| !above.exists()).collect();
    for group in missing.into_iter().rev() {
        group.writer()?.write_new(METADATA, GROUP.as_bytes())?;
    }
    Ok(())
}

/// Adds an array that was made to the consolidated metadata of the groups that it is in, and groups between with it.
pub(super) fn consolidate(files: &Files, metadata: &str) -> Result<(), ZarrError> {
    let groups = places_above(files).take_while(|(above, _)| node(above) == Some(NodeKind::Group));
    for (group, key) in groups {
        for _ in 0..ATTEMPTS {
            let old = group.metadata()?;
            let text = String::from_utf8_lossy(&old).into_owned();
            let Some(changed) = consolidated(&text, &key, metadata)? else { break };
            if group.writer()?.replace(METADATA, &old, changed.as_bytes())? {
                break;
            }
        }
    }
    Ok(())
}

/// The text of a group whose consolidated metadata have those of an array, if it has such and they are others.
fn consolidated(text: &str, key: &str, metadata: &str) -> Result<Option<String>, ZarrError> {
    let Some(mut changed) = document::consolidated(text, key, metadata) else { return Ok(None) };
    let known = Document::parse(text.as_bytes())?.json;
    for (end, _) in key.match_indices('/') {
        let between = &key[..end];
        if known["consolidated_metadata"]["metadata"].get(between).is_none() {
            changed = document::consolidated(&changed, between, GROUP).unwrap_or(changed);
        }
    }
    Ok((changed != text).then_some(changed))
}

/// Kind of the node at a place.
pub(super) fn node(files: &Files) -> Option<NodeKind> {
    match document(files)?.json.get("node_type")?.as_str()? {
        "array" => Some(NodeKind::Array),
        "group" => Some(NodeKind::Group),
        _ => None,
    }
}

/// Kind of the node at a place, format 2 included.
fn any_node(files: &Files) -> Option<NodeKind> {
    let has = |key| matches!(files.length(key), Ok(Some(_)));
    node(files).or_else(|| match (has(v2::ARRAY), has(v2::GROUP)) {
        (true, _) => Some(NodeKind::Array),
        (_, true) => Some(NodeKind::Group),
        _ => None,
    })
}

fn document(files: &Files) -> Option<Document> {
    Document::parse(&files.text(METADATA).ok()??).ok()
}

/// The path without links, and without `..`, as far as there is something.
pub(super) fn resolved(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let (mut there, mut rest) = (absolute.as_path(), Vec::new());
    let found = loop {
        if let Ok(found) = there.canonicalize() {
            break found;
        }
        match (there.components().next_back(), there.parent()) {
            (Some(last), Some(parent)) => {
                rest.push(last);
                there = parent;
            }
            _ => return absolute,
        }
    };
    rest.iter().rev().fold(found, |mut path, part| {
        match part {
            Component::ParentDir => drop(path.pop()),
            part => path.push(part),
        }
        path
    })
}

/// Arrays in a group and in the groups in it, by their keys; some of them, if there are many.
pub(super) fn arrays_in(group: &Files) -> Vec<String> {
    /// Greatest number for a message.
    const NAMED: usize = 8;
    let (mut found, mut left) = (Vec::new(), vec![(group.clone(), String::new())]);
    while let Some((next, prefix)) = left.pop() {
        let mut members = next.members();
        members.sort();
        for name in members.into_iter().rev() {
            let (member, key) = (next.member(&name), format!("{prefix}{name}"));
            match any_node(&member) {
                Some(NodeKind::Array) => found.push(key),
                Some(NodeKind::Group) => left.push((member, key + "/")),
                None => {}
            }
        }
        if found.len() > NAMED {
            break;
        }
    }
    found.sort();
    found.truncate(NAMED);
    found
}

/// Names for the axes of an array at a place, if any has one. xarray takes a name for one axis of a whole group: an
/// axis of another length gets a name of its own, and so do axes without a name and those that are there twice.
pub(super) fn named(
    files: &Files,
    dims: &[usize],
    names: Vec<Option<String>>,
) -> Option<Vec<Option<String>>> {
    if names.len() != dims.len() || names.iter().all(Option::is_none) {
        return None;
    }
    let own = files.path().file_name().unwrap_or_default().to_string_lossy();
    let stem = own.strip_suffix(".zarr").unwrap_or(&own);
    let beside = dimensions_beside(files);
    let mut taken: Vec<String> = Vec::new();
    for (axis, (name, &extent)) in names.into_iter().zip(dims).enumerate() {
        let name = name.unwrap_or_else(|| format!("dim_{axis}"));
        let is_free = |name: &String| {
            let is_other = beside.get(name).is_some_and(|&other| other != extent as u64);
            // An array of the name of an axis holds that axis's coordinates.
            let is_coordinate = *name == own && dims.len() > 1;
            !is_other && !is_coordinate && !taken.contains(name)
        };
        let qualified = format!("{stem}_{name}");
        let numbered = (0..).map(|n| format!("{qualified}_{n}"));
        let mut candidates = [name, qualified.clone()].into_iter().chain(numbered);
        taken.extend(candidates.find(is_free));
    }
    Some(taken.into_iter().map(Some).collect())
}

/// Names and extents of the axes of other arrays in the same group.
fn dimensions_beside(files: &Files) -> HashMap<String, u64> {
    let mut all = HashMap::new();
    let above = files.above().filter(|(above, _)| node(above) == Some(NodeKind::Group));
    let Some((group, own)) = above else { return all };
    for member in group.members().into_iter().filter(|name| *name != own) {
        let Some(Document { json, .. }) = document(&group.member(&member)) else { continue };
        let list = |name: &str| json.get(name).and_then(Value::as_array).cloned();
        let (names, shape) = (list("dimension_names"), list("shape"));
        for (name, extent) in names.into_iter().flatten().zip(shape.into_iter().flatten()) {
            if let (Some(name), Some(extent)) = (name.as_str(), extent.as_u64()) {
                all.entry(name.to_owned()).or_insert(extent);
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn paths_are_resolved_as_far_as_they_exist() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir(root.join("a")).unwrap();
        for (path, expected) in
            [("a", "a"), ("a/../b", "b"), ("b/../a/./c", "a/c"), ("b/c/../../d/e", "d/e")]
        {
            assert_eq!(resolved(&root.join(path)), root.join(expected), "{path}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(root.join("a"), root.join("link")).unwrap();
            assert_eq!(resolved(&root.join("link/x")), root.join("a/x"));
        }
    }

    #[test]
    fn names_are_unique_in_an_array_and_fit_its_group() {
        let directory = tempfile::tempdir().unwrap();
        let group = directory.path();
        fs::write(group.join("zarr.json"), GROUP).unwrap();
        fs::create_dir(group.join("t")).unwrap();
        let t = r#"{"node_type": "array", "shape": [2, 3], "dimension_names": ["time", null],
            "attributes": {"a": NaN}}"#;
        fs::write(group.join("t/zarr.json"), t).unwrap();
        let named = |path: &str, dims: &[usize], names: &[&str]| {
            let names =
                names.iter().map(|name| (!name.is_empty()).then(|| (*name).to_owned())).collect();
            let named = named(&Files::new(&group.join(path)), dims, names)?;
            Some(named.into_iter().flatten().collect::<Vec<_>>().join(" "))
        };
        let check = |path, dims: &[usize], names: &[&str], expected: &str| {
            assert_eq!(named(path, dims, names).as_deref(), Some(expected));
        };
        check("y", &[2, 5], &["time", "x"], "time x");
        check("y.zarr", &[4, 5], &["time", "x"], "y_time x");
        check("y", &[2, 2, 2], &["i", "i", ""], "i y_i dim_2");
        check("y", &[2, 2], &["y", "x"], "y_y x");
        check("y", &[2], &["y"], "y");
        check("t", &[9], &["time"], "time");
        check("elsewhere/y", &[9], &["time"], "time");
        assert_eq!(named("y", &[2, 2], &["", ""]), None);
        assert_eq!(named("y", &[2, 2], &[]), None);
    }
}
