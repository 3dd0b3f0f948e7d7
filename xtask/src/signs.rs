//! Signs in the sources: how comments begin, names of types, and lengths of files.

use crate::sources;
use crate::workspace::Workspace;
use std::collections::BTreeMap;
use std::path::Path;

/// Words that no comment begins with: its first line is a noun phrase or a verb phrase.
const BEGINNINGS: &[&str] = &["What", "Whether", "Who", "Whose", "Whom", "Which", "How"];

/// Names that a crate may use for several types, each private to its module.
const COMMON_NAMES: &[&str] = &["Error", "Kind", "Iter"];

/// Public names that several languages share: `ijk::Program` and `ijk::et::Program`, and their syntax trees.
const LANGUAGE_NAMES: &[(&str, &str)] =
    &[("ijk", "Program"), ("ijk-syntax", "Index"), ("ijk-syntax", "Program")];

/// Keywords that define a type.
const DEFINITIONS: &[&str] = &["struct", "enum", "union", "trait", "type"];

/// Greatest number of lines of a file.
const LINES: usize = 600;

/// A sentence for every finding.
pub fn check(workspace: &Workspace) -> Vec<String> {
    let mut problems = Vec::new();
    for krate in &workspace.crates {
        match sources::texts(&workspace.root, &krate.folder.join("src")) {
            Ok(files) => {
                check_comments(&files, &mut problems);
                check_names(&krate.name, &files, &mut problems);
            }
            Err(error) => problems.push(format!("{}: {error}", krate.folder.display())),
        }
    }
    problems
}

fn check_comments(files: &[(impl AsRef<Path>, String)], problems: &mut Vec<String>) {
    for (path, text) in files {
        let path = path.as_ref().display();
        for (number, line) in text.lines().enumerate() {
            if let Some(word) = beginning(line) {
                let remedy = "begin with a noun phrase or a verb phrase";
                problems
                    .push(format!("{path}:{}: a comment begins with {word}: {remedy}", number + 1));
            }
        }
    }
}

/// Checks the names of types, and the lengths of files.
fn check_names(name: &str, files: &[(impl AsRef<Path>, String)], problems: &mut Vec<String>) {
    let mut types: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, text) in files {
        let path = path.as_ref().display();
        let lines = text.lines().count();
        if lines > LINES {
            problems.push(format!("{path} has {lines} lines: {LINES} is the most"));
        }
        for (number, defined) in defined_types(text) {
            types.entry(defined).or_default().push(format!("{path}:{number}"));
        }
    }
    for (defined, places) in types.iter().filter(|(_, places)| places.len() > 1) {
        if !COMMON_NAMES.contains(defined) && !LANGUAGE_NAMES.contains(&(name, defined)) {
            let (count, places) = (places.len(), places.join(", "));
            problems.push(format!("{name} has {count} types {defined}: {places}"));
        }
    }
}

/// The word of [`BEGINNINGS`] that a comment begins with.
fn beginning(line: &str) -> Option<&'static str> {
    let comment = line.trim_start().strip_prefix("//")?;
    let first = comment.trim_start_matches(['/', '!']).strip_prefix(' ')?;
    let first = first.split(|c: char| !c.is_alphanumeric()).next()?;
    BEGINNINGS.iter().find(|word| **word == first).copied()
}

/// The types that a file defines, with their lines. Those behind `#[cfg(…)]` are alternatives, and are left out; so are
/// associated types, which are indented.
fn defined_types(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_alternative = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        let code = line.trim_start();
        let is_attribute = code.starts_with("#[") || code.starts_with("//");
        let skipped = is_alternative && !is_attribute;
        is_alternative = code.starts_with("#[cfg(") || is_alternative && is_attribute;
        let name = defined_type(code)?;
        let is_associated = code.len() < line.len() && code.contains("type ");
        (!skipped && !is_associated).then_some((number + 1, name))
    })
}

/// The type that a line defines.
fn defined_type(code: &str) -> Option<&str> {
    let code = match code.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.strip_prefix(' ')?,
        None => code,
    };
    let code = code.strip_prefix("unsafe ").unwrap_or(code);
    let (keyword, rest) = code.split_once(' ')?;
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    (DEFINITIONS.contains(&keyword) && end > 0).then_some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(&str, String)> =
            files.iter().map(|&(path, text)| (path, text.to_owned())).collect();
        let mut problems = Vec::new();
        check_comments(&files, &mut problems);
        check_names("ijk-a", &files, &mut problems);
        problems
    }

    #[test]
    fn comments_begin_with_a_phrase() {
        let text =
            "//! How it is.\n/// Number of axes.\n    // Whatever.\nlet a = 1; // What\n/// Who\n";
        let expected = [
            "a.rs:1: a comment begins with How: begin with a noun phrase or a verb phrase",
            "a.rs:5: a comment begins with Who: begin with a noun phrase or a verb phrase",
        ];
        assert_eq!(found(&[("a.rs", text)]), expected);
    }

    #[test]
    fn names_of_types_are_unique() {
        let first = "pub(super) struct Place<'a> {\nstruct Error;\n    type Out = u8;\n";
        let second = "pub enum Place {\n#[cfg(unix)]\ntype Waker = A;\n#[cfg(not(unix))]\n/// B.\ntype Waker = B;\n\
                      pub unsafe trait Error {}\nimpl A {\n    type Out = u8;\n}\n";
        let expected = ["ijk-a has 2 types Place: a.rs:1, b.rs:1"];
        assert_eq!(found(&[("a.rs", first), ("b.rs", second)]), expected);
    }

    #[test]
    fn long_files_are_found() {
        let expected = ["a.rs has 601 lines: 600 is the most"];
        assert_eq!(
            found(&[("a.rs", &"\n".repeat(LINES + 1)), ("b.rs", &"\n".repeat(LINES))]),
            expected
        );
    }
}
