//! Paths of arrays, and the members of groups.

use super::document::Document;
use super::storage::{Files, METADATA};
use super::v2;
use crate::store::together;
use serde_json::Value;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// Kind of a place with a `zarr.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    Array,
    Group,
}

/// Kind of the node at a place.
fn node(files: &Files) -> Option<NodeKind> {
    kind(&document(files)?)
}

/// Kind of the node that a document describes.
pub(super) fn kind(document: &Document) -> Option<NodeKind> {
    match document.json.get("node_type")?.as_str()? {
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
        let kinds = together::each(next.is_far(), &members, |name| any_node(&next.member(name)));
        for (name, kind) in members.iter().zip(kinds).rev() {
            let (member, key) = (next.member(name), format!("{prefix}{name}"));
            match kind {
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
    let members: Vec<_> = group.members().into_iter().filter(|name| *name != own).collect();
    let read = |name: &String| document(&group.member(name));
    let documents = together::each(group.is_far(), &members, read);
    for Document { json, .. } in documents.into_iter().flatten() {
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
        let metadata = r#"{"zarr_format": 3, "node_type": "group", "attributes": {}}"#;
        fs::write(group.join("zarr.json"), metadata).unwrap();
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
