//! Location of an array: no URL, in no other array, perhaps in a group.

use super::document::{self, Document};
use super::error::ZarrError;
use super::files::{Files, OWN};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Component, Path, PathBuf};

/// Kind of a directory with a `zarr.json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    Array,
    Group,
}

/// The metadata of a group.
const GROUP: &str =
    "{\n  \"zarr_format\": 3,\n  \"node_type\": \"group\",\n  \"attributes\": {}\n}\n";

/// Most members of a group that are looked at.
const MEMBERS: usize = 4096;

/// Checks that a path is one of this machine.
pub(super) fn check_path(path: &Path) -> Result<(), ZarrError> {
    match crate::url_scheme(path) {
        Some(scheme) => Err(ZarrError::Url { scheme: scheme.into() }),
        None => Ok(()),
    }
}

/// Checks that an array at a path would not be inside another one.
pub(super) fn check_place(path: &Path) -> Result<(), ZarrError> {
    check_path(path)?;
    match enclosing_array(path) {
        Some(array) => Err(ZarrError::InArray { array }),
        None if is_in_old_group(path) => Err(ZarrError::OldGroup),
        None => Ok(()),
    }
}

/// The array in whose directory a path is, if any. What is beneath `.ijk` is ours.
pub(super) fn enclosing_array(path: &Path) -> Option<PathBuf> {
    let path = resolved(path);
    let mut within = path.as_path();
    for above in path.ancestors().skip(1) {
        let is_ours = within.file_name().is_some_and(|name| name == OWN);
        if !is_ours && node(above) == Some(NodeKind::Array) {
            return Some(above.into());
        }
        within = above;
    }
    None
}

/// Returns true if a path is, or would be, that of a member of a group: missing directories between become groups.
pub(super) fn is_in_group(path: &Path) -> bool {
    nearest(path).is_some_and(|above| node(&above) == Some(NodeKind::Group))
        || is_in_old_group(path)
}

fn is_in_old_group(path: &Path) -> bool {
    nearest(path)
        .is_some_and(|above| !above.join("zarr.json").exists() && above.join(".zgroup").exists())
}

/// The nearest directory above a path that is there.
fn nearest(path: &Path) -> Option<PathBuf> {
    let path = resolved(path);
    path.ancestors().skip(1).find(|above| above.exists()).map(Path::to_path_buf)
}

/// Makes groups of the directories between a group and a path that are not there.
pub(super) fn make_groups(path: &Path) -> Result<(), ZarrError> {
    if !is_in_group(path) {
        return Ok(());
    }
    let path = resolved(path);
    let missing: Vec<&Path> =
        path.ancestors().skip(1).take_while(|above| !above.exists()).collect();
    for group in missing.into_iter().rev() {
        fs::create_dir_all(group)?;
        fs::File::create_new(group.join("zarr.json"))?.write_all(GROUP.as_bytes())?;
    }
    Ok(())
}

/// Adds an array that was made at a path to the consolidated metadata of the groups that it is in, and groups between
/// with it.
pub(super) fn consolidate(path: &Path, metadata: &str) -> Result<(), ZarrError> {
    let path = resolved(path);
    let groups = path.ancestors().skip(1).take_while(|above| node(above) == Some(NodeKind::Group));
    for group in groups {
        let text = String::from_utf8_lossy(&Files::new(group).metadata()?).into_owned();
        let Ok(key) = path.strip_prefix(group) else { continue };
        let key: Vec<_> = key.iter().map(|part| part.to_string_lossy()).collect();
        let Some(mut changed) = document::consolidated(&text, &key.join("/"), metadata) else {
            continue;
        };
        let known = Document::parse(text.as_bytes())?.json;
        for count in 1..key.len() {
            let between = key[..count].join("/");
            if known["consolidated_metadata"]["metadata"].get(&between).is_none() {
                changed = document::consolidated(&changed, &between, GROUP).unwrap_or(changed);
            }
        }
        if changed != text {
            replace(&group.join("zarr.json"), &changed)?;
        }
    }
    Ok(())
}

/// Replaces a file at once.
fn replace(file: &Path, text: &str) -> Result<(), ZarrError> {
    let directory = file.parent().unwrap_or(Path::new("."));
    let mut new = tempfile::NamedTempFile::new_in(directory)?;
    new.write_all(text.as_bytes())?;
    new.as_file().set_permissions(fs::metadata(file)?.permissions())?;
    new.persist(file).map_err(|error| error.error)?;
    Ok(())
}

/// Kind of the node at a path.
pub(super) fn node(path: &Path) -> Option<NodeKind> {
    match document(path)?.json.get("node_type")?.as_str()? {
        "array" => Some(NodeKind::Array),
        "group" => Some(NodeKind::Group),
        _ => None,
    }
}

fn document(path: &Path) -> Option<Document> {
    path.join("zarr.json").is_file().then_some(())?;
    Document::parse(&Files::new(path).metadata().ok()?).ok()
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

/// Arrays in a group and in the groups in it, by their paths from there; some of them, if there are many.
pub(super) fn arrays_in(group: &Path) -> Vec<String> {
    /// Greatest number for a message.
    const NAMED: usize = 8;
    let (mut found, mut left) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(next) = left.pop() {
        let mut members: Vec<PathBuf> =
            members(&group.join(&next)).map(|(name, _)| next.join(name)).collect();
        members.sort();
        for member in members.into_iter().rev() {
            match node(&group.join(&member)) {
                Some(NodeKind::Array) => found.push(member.to_string_lossy().into_owned()),
                Some(NodeKind::Group) => left.push(member),
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

/// Names and paths of directories in a group.
fn members(group: &Path) -> impl Iterator<Item = (std::ffi::OsString, PathBuf)> {
    let entries = fs::read_dir(group).into_iter().flatten().flatten().take(MEMBERS);
    let members = entries.map(|entry| (entry.file_name(), entry.path()));
    members.filter(|(_, path)| path.is_dir())
}

/// Names for the axes of an array at a path, if any has one. xarray takes a name for one axis of a whole group: an
/// axis of another length gets a name of its own, and so do axes without a name and those that are there twice.
pub(super) fn named(
    path: &Path,
    dims: &[usize],
    names: Vec<Option<String>>,
) -> Option<Vec<Option<String>>> {
    if names.len() != dims.len() || names.iter().all(Option::is_none) {
        return None;
    }
    let own = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = own.strip_suffix(".zarr").unwrap_or(&own);
    let beside = dimensions_beside(path);
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
fn dimensions_beside(path: &Path) -> HashMap<String, u64> {
    let path = resolved(path);
    let mut all = HashMap::new();
    let Some(group) = path.parent().filter(|parent| node(parent) == Some(NodeKind::Group)) else {
        return all;
    };
    for (_, member) in members(group).filter(|(_, member)| *member != path) {
        let Some(Document { json, .. }) = document(&member) else { continue };
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
            let named = named(&group.join(path), dims, names)?;
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
