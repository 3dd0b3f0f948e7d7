//! Rooms of a crate: files of a folder that import each other in no circle, and rooms that import only earlier ones.
//!
//! Imports are what `use` names, and paths that begin with `crate`, `super` or `self`; methods that a file adds to a
//! type of another one are not seen.

use crate::sources;
use crate::workspace::Workspace;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A folder, and its rooms in an order in which each imports only itself and earlier ones.
struct House {
    /// The sources of the crate.
    sources: &'static str,
    /// The folder in them.
    folder: &'static str,
    rooms: &'static [&'static str],
}

const HOUSES: &[House] = &[
    House {
        sources: "crates/ijk-cpu/src",
        folder: "contract",
        rooms: &["canonical", "select", "run"],
    },
    House { sources: "crates/ijk-cpu/src", folder: "runtime", rooms: &[] },
];

/// For each module of a folder, as a path from the crate's root, the modules of the folder that it imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// A sentence for every finding.
pub fn check(workspace: &Workspace) -> Vec<String> {
    let mut problems = Vec::new();
    for house in HOUSES {
        let sources = Path::new(house.sources);
        match sources::texts(&workspace.root, &sources.join(house.folder)) {
            Ok(files) if files.is_empty() => {
                problems.push(format!("{}/{} has no files", house.sources, house.folder));
            }
            Ok(files) => {
                let module = |path: &Path| module_of(path.strip_prefix(sources).unwrap_or(path));
                let files: Vec<_> =
                    files.iter().map(|(path, text)| (module(path), text.as_str())).collect();
                check_house(house, &files, &mut problems);
            }
            Err(error) => problems.push(format!("{}/{}: {error}", house.sources, house.folder)),
        }
    }
    problems
}

fn check_house(house: &House, files: &[(String, &str)], problems: &mut Vec<String>) {
    let imports = imports(files);
    for circle in circles(&imports) {
        problems.push(format!("{} has a circle of imports: {}", house.sources, circle.join(" → ")));
    }
    let room = |module: &str| {
        let name = module.split("::").nth(1)?;
        house.rooms.iter().position(|room| *room == name)
    };
    for (module, imported) in &imports {
        for other in imported.iter().filter(|other| room(other) > room(module)) {
            if let Some(own) = room(module) {
                let own = house.rooms[own];
                problems.push(format!("{module} of the room {own} must not import {other}"));
            }
        }
    }
}

/// The module of a file, by its path from the crate's sources.
fn module_of(path: &Path) -> String {
    let path = path.with_extension("");
    let mut names: Vec<_> = path.iter().map(|name| name.to_string_lossy()).collect();
    if names.last().is_some_and(|name| name == "mod") {
        names.pop();
    }
    names.join("::")
}

fn imports(files: &[(String, &str)]) -> Imports {
    let modules: BTreeSet<&str> = files.iter().map(|(module, _)| module.as_str()).collect();
    let each = |(module, text): &(String, &str)| {
        let found = paths(&code_of(text));
        let resolved = found.iter().filter_map(|path| resolve(module, path, &modules));
        (module.clone(), resolved.filter(|other| other != module).collect())
    };
    files.iter().map(each).collect()
}

/// The text without comments and without the tests at its end.
fn code_of(text: &str) -> String {
    let tests = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let code = |line: &str| line.split("//").next().unwrap_or_default().to_owned() + "\n";
    text[..tests].lines().map(code).collect()
}

/// Paths that `use` names, and those in the code that begin with `crate`, `super` or `self`.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for statement in code.split(';') {
        let line = |at: usize| statement[..at].ends_with([' ', '\n']) || at == 0;
        match statement.rfind("use ").filter(|&at| line(at)) {
            Some(at) => {
                found.extend(mentions(&statement[..at]));
                let tree: String = statement[at + 4..].split_whitespace().collect();
                expand("", &tree, &mut found);
            }
            None => found.extend(mentions(statement)),
        }
    }
    found
}

/// Paths of a piece of code that begin with `crate`, `super` or `self`.
fn mentions(code: &str) -> impl Iterator<Item = String> + '_ {
    let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = code.split(move |c| !is_path(c));
    let begins = |word: &&str| ["crate::", "super::", "self::"].iter().any(|b| word.starts_with(b));
    words.filter(begins).map(|word| word.trim_end_matches(':').to_owned())
}

/// The paths of a tree of imports: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(before: &str, tree: &str, found: &mut Vec<String>) {
    let Some((path, inner)) = tree.split_once('{') else {
        return found.push(format!("{before}{tree}"));
    };
    let inner = inner.strip_suffix('}').unwrap_or(inner);
    let (mut depth, mut start) = (0, 0);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if start < at {
                    expand(&format!("{before}{path}"), &inner[start..at], found);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// The module of the folder that a path in `module` leads to or into.
fn resolve(module: &str, path: &str, modules: &BTreeSet<&str>) -> Option<String> {
    let mut base: Vec<&str> = module.split("::").collect();
    let mut names = path.split("::").peekable();
    if names.next_if_eq(&"crate").is_some() {
        base.clear();
    } else if names.peek() == Some(&"super") {
        while names.next_if_eq(&"super").is_some() {
            base.pop();
        }
    } else if names.next_if_eq(&"self").is_none() {
        let child = format!("{module}::{}", names.peek()?);
        modules.get(child.as_str())?;
    }
    base.extend(names);
    let prefixes = (1..=base.len()).rev().map(|count| base[..count].join("::"));
    prefixes.into_iter().find(|prefix| modules.contains(prefix.as_str()))
}

/// Circles of imports, each from its first module in the order of names; those that share a module with one already
/// found may be left out.
fn circles(imports: &Imports) -> Vec<Vec<String>> {
    let (mut done, mut found) = (BTreeSet::new(), Vec::new());
    for module in imports.keys() {
        visit(module, imports, &mut Vec::new(), &mut done, &mut found);
    }
    found
}

fn visit<'a>(
    module: &'a str,
    imports: &'a Imports,
    path: &mut Vec<&'a str>,
    done: &mut BTreeSet<&'a str>,
    found: &mut Vec<Vec<String>>,
) {
    if let Some(at) = path.iter().position(|earlier| *earlier == module) {
        let circle = path[at..].iter().chain([&module]);
        found.push(circle.map(|module| (*module).to_owned()).collect());
        return;
    }
    if done.contains(module) {
        return;
    }
    path.push(module);
    for other in imports.get(module).into_iter().flatten() {
        visit(other, imports, path, done, found);
    }
    path.pop();
    done.insert(module);
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUSE: House = House { sources: "src", folder: "a", rooms: &["low", "high"] };

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|&(path, text)| (module_of(Path::new(path)), text)).collect();
        let mut problems = Vec::new();
        check_house(&HOUSE, &files, &mut problems);
        problems
    }

    #[test]
    fn circles_are_found() {
        let files = [
            ("a/mod.rs", "mod low;\npub(crate) use low::x::X;\n"),
            ("a/low/mod.rs", "pub(crate) mod x;\npub(crate) mod y;\n"),
            ("a/low/x.rs", "use super::{y::Y, z};\nuse crate::b::B;\n"),
            ("a/low/y.rs", "fn f() {\n    crate::a::low::x::g();\n}\n"),
        ];
        let expected = ["src has a circle of imports: a::low::x → a::low::y → a::low::x"];
        assert_eq!(found(&files), expected);
    }

    #[test]
    fn comments_and_tests_import_nothing() {
        let x = "// use super::y::Y;\nuse super::y::Z; // crate::a::low::x\n";
        let y = "/// [`X`](super::x)\nstruct Y;\n\n#[cfg(test)]\nmod tests {\n    use super::super::x;\n}\n";
        assert!(found(&[("a/low/x.rs", x), ("a/low/y.rs", y)]).is_empty());
    }

    #[test]
    fn rooms_import_earlier_ones() {
        let up = "use crate::a::{\n    high::{Y},\n};\n";
        let files = [("a/low/x.rs", up), ("a/high.rs", "pub struct Y;\n")];
        let expected = ["a::low::x of the room low must not import a::high"];
        assert_eq!(found(&files), expected);
        let down = [("a/low/x.rs", "struct X;\n"), ("a/high.rs", "use super::low::x::X;\n")];
        assert!(found(&down).is_empty());
    }
}
