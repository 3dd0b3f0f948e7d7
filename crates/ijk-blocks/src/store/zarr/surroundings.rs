//! Places above an array: groups that it becomes a member of, or an array that it must not be a part of.

use super::document::{self, Document};
use super::error::ZarrError;
use super::location::{NodeKind, kind};
use super::storage::{Files, METADATA, OWN};
use super::v2;
use crate::store::together;

/// The metadata of a group.
const GROUP: &str =
    "{\n  \"zarr_format\": 3,\n  \"node_type\": \"group\",\n  \"attributes\": {}\n}\n";

/// Attempts to change the metadata of a group that others change, too.
const ATTEMPTS: usize = 8;

/// The places above one, from the nearest on.
#[derive(Clone, Debug)]
pub(super) struct Surroundings(Vec<Above>);

/// A place above another one.
#[derive(Clone, Debug)]
struct Above {
    files: Files,
    /// Key of the lower place in this one.
    key: String,
    /// Kind by its `zarr.json`.
    node: Option<NodeKind>,
    /// A group of format 2, and none of format 3.
    is_old_group: bool,
    is_there: bool,
}

impl Surroundings {
    /// Those of a place; servers are asked once, for all at a time.
    pub(super) fn of(files: &Files) -> Self {
        let first = files.above();
        let places: Vec<_> = std::iter::successors(first, |(files, key)| {
            let (above, name) = files.above()?;
            Some((above, format!("{name}/{key}")))
        })
        .collect();
        Self(together::each(files.is_far(), &places, |(files, key)| Above::look(files, key)))
    }

    /// The array in which the place is, if any. What is beneath `.ijk` is ours.
    pub(super) fn enclosing_array(&self) -> Option<&Files> {
        let is_ours = |key: &str| key.split('/').next() == Some(OWN);
        let mut others = self.0.iter().filter(|above| !is_ours(&above.key));
        Some(&others.find(|above| above.node == Some(NodeKind::Array))?.files)
    }

    /// The nearest place where there is something.
    fn nearest(&self) -> Option<&Above> {
        self.0.iter().find(|above| above.is_there)
    }

    /// Returns true if the place is, or would be, a member of a group: missing places between become groups.
    pub(super) fn is_in_group(&self) -> bool {
        let is_group = |above: &Above| above.node == Some(NodeKind::Group) || above.is_old_group;
        self.nearest().is_some_and(is_group)
    }

    /// Checks that an array would not be inside another one.
    pub(super) fn check(&self) -> Result<(), ZarrError> {
        match self.enclosing_array() {
            Some(array) => Err(ZarrError::InArray { array: array.path().into() }),
            None if self.nearest().is_some_and(|above| above.is_old_group) => {
                Err(ZarrError::OldGroup)
            }
            None => Ok(()),
        }
    }

    /// Makes groups of the places between a group and one in it where there is nothing.
    pub(super) fn make_groups(&mut self) -> Result<(), ZarrError> {
        if !self.is_in_group() {
            return Ok(());
        }
        let missing = self.0.iter().take_while(|above| !above.is_there).count();
        for group in self.0[..missing].iter_mut().rev() {
            group.files.writer()?.write_new(METADATA, GROUP.as_bytes())?;
            (group.node, group.is_there) = (Some(NodeKind::Group), true);
        }
        Ok(())
    }

    /// Adds an array that was made to the consolidated metadata of the groups that it is in, and groups between with it.
    pub(super) fn consolidate(&self, metadata: &str) -> Result<(), ZarrError> {
        let groups = self.0.iter().take_while(|above| above.node == Some(NodeKind::Group));
        for Above { files: group, key, .. } in groups {
            for _ in 0..ATTEMPTS {
                let old = group.metadata()?;
                let text = String::from_utf8_lossy(&old).into_owned();
                let Some(changed) = consolidated(&text, key, metadata)? else { break };
                if group.writer()?.replace(METADATA, &old, changed.as_bytes())? {
                    break;
                }
            }
        }
        Ok(())
    }
}

impl Above {
    fn look(files: &Files, key: &str) -> Self {
        let has = |key| matches!(files.length(key), Ok(Some(_)));
        let metadata = || files.text(METADATA).ok().flatten();
        let is_far = files.is_far();
        let old = || together::both(is_far, || has(v2::GROUP), || has(v2::ARRAY));
        let (text, (is_old_group, is_old_array)) = together::both(is_far, metadata, old);
        // A directory is there without metadata, too.
        let is_there = text.is_some() || is_old_group || is_old_array || !is_far && files.exists();
        let is_old_group = is_old_group && text.is_none();
        let node = text.and_then(|text| kind(&Document::parse(&text).ok()?));
        Self { files: files.clone(), key: key.into(), node, is_old_group, is_there }
    }
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
