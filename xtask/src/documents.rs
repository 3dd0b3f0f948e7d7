//! Documents: what they cite exists, and the map stays a map.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Component, Path};
use std::{fs, io};

/// The map of the crates.
const MAP: &str = "docs/ARCHITECTURE.md";

/// Most lines and words of the map: what can be read at one sitting.
const MAP_LINES: usize = 250;
const MAP_WORDS: usize = 1300;

/// Documents whose names of types, functions and constants are those of the code.
const NAMES: &[&str] = &[MAP, "docs/glossary.md", "docs/design/"];

/// Names of folders that hold no sources.
const SKIPPED: &[&str] = &["target", "corpus", "artifacts", "__pycache__"];

/// Documents of the past, whose files of sources may be gone.
const DATED: &[&str] = &["docs/performance/", "CHANGELOG.md"];

/// Endings of sources whose comments may cite documents, with what begins a comment.
const COMMENTS: &[(&str, &str)] =
    &[("rs", "//"), ("py", "#"), ("toml", "#"), ("et", "#"), ("ijk", "#"), ("sh", "#")];

/// A sentence for every finding.
pub fn check(root: &Path) -> Vec<String> {
    match Repository::read(root) {
        Ok(repository) => repository.check(),
        Err(error) => vec![format!("{}: {error}", root.display())],
    }
}

/// The files of the repository, by their paths from its root with `/` between names.
struct Repository {
    /// All of them.
    files: BTreeSet<String>,
    /// The texts of those that are documents or have comments.
    texts: BTreeMap<String, String>,
}

impl Repository {
    fn read(root: &Path) -> io::Result<Self> {
        let mut repository = Self { files: BTreeSet::new(), texts: BTreeMap::new() };
        repository.add(root, "")?;
        Ok(repository)
    }

    fn add(&mut self, folder: &Path, path: &str) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let (at, path) = (entry.path(), format!("{path}{name}"));
            if at.is_dir() {
                if !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) && !is_venv(&at) {
                    self.add(&at, &format!("{path}/"))?;
                }
                continue;
            }
            if path.ends_with(".md") || comment(&path).is_some() {
                self.texts.insert(path.clone(), fs::read_to_string(&at)?);
            }
            self.files.insert(path);
        }
        Ok(())
    }

    fn check(&self) -> Vec<String> {
        let mut problems = match self.texts.get(MAP) {
            Some(map) => check_map(map),
            None => vec![format!("{MAP} is missing")],
        };
        self.check_names(&mut problems);
        for (path, text) in &self.texts {
            match comment(path) {
                Some(begin) => self.check_comments(path, text, begin, &mut problems),
                None => self.check_document(path, text, &mut problems),
            }
        }
        problems
    }

    /// Documents that comments cite.
    fn check_comments(&self, path: &str, text: &str, begin: &str, problems: &mut Vec<String>) {
        for (number, line) in text.lines().enumerate() {
            let Some((_, said)) = line.split_once(begin) else { continue };
            for cited in cited_documents(said).filter(|cited| !self.has(path, cited)) {
                problems.push(format!("{path}:{}: there is no document {cited}", number + 1));
            }
        }
    }

    /// Documents, headings and sources that a document cites.
    fn check_document(&self, path: &str, text: &str, problems: &mut Vec<String>) {
        let dated = DATED.iter().any(|part| path.starts_with(part));
        for (number, line) in prose(text) {
            let mut report = |what: String| problems.push(format!("{path}:{number}: {what}"));
            for link in links(line) {
                if let Err(what) = self.follow(path, link) {
                    report(what);
                }
            }
            for source in sources(line).filter(|source| !dated && !self.has(path, source)) {
                report(format!("there is no source {source}"));
            }
        }
    }

    /// Names of the code that documents cite.
    fn check_names(&self, problems: &mut Vec<String>) {
        let code = self.texts.iter().filter(|(path, _)| path.ends_with(".rs"));
        let known: HashSet<&str> = code.flat_map(|(_, text)| words(text)).collect();
        let is_checked = |path: &str| NAMES.iter().any(|part| path.starts_with(part));
        for (path, text) in self.texts.iter().filter(|(path, _)| is_checked(path)) {
            for (number, line) in prose(text) {
                let gone = |name: &&str| words(name).any(|word| !known.contains(word));
                for name in names(line).filter(gone) {
                    problems.push(format!("{path}:{number}: the code has no name {name}"));
                }
            }
        }
    }

    /// Checks that a link leads to a file, a folder, or a heading of a document.
    fn follow(&self, from: &str, link: &str) -> Result<(), String> {
        let (file, heading) = link.split_once('#').unwrap_or((link, ""));
        let to = match file {
            "" => Some(from.to_owned()),
            _ => joined(from, file).filter(|to| self.is_there(to)),
        };
        let Some(to) = to else { return Err(format!("the link {link} leads nowhere")) };
        let has_heading = |text: &String| prose(text).any(|(_, line)| slug(line) == heading);
        match heading.is_empty() || self.texts.get(&to).is_some_and(has_heading) {
            true => Ok(()),
            false => Err(format!("{to} has no heading for the link {link}")),
        }
    }

    /// Returns true if there is a file or a folder of that path.
    fn is_there(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        self.files.contains(path) || self.files.iter().any(|file| file.starts_with(&folder))
    }

    /// Returns true if some file has a path that ends with `cited`; paths from the folder of the citing file count,
    /// too.
    fn has(&self, from: &str, cited: &str) -> bool {
        let end = format!("/{cited}");
        let near = joined(from, cited).is_some_and(|path| self.files.contains(&path));
        near || self.files.iter().any(|file| file == cited || file.ends_with(&end))
    }
}

/// A virtual environment of Python, wherever it is.
fn is_venv(folder: &Path) -> bool {
    folder.join("pyvenv.cfg").exists()
}

/// Beginning of comments in a source.
fn comment(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit_once('.')?;
    COMMENTS.iter().find(|(known, _)| *known == ending).map(|&(_, begin)| begin)
}

/// Checks the map itself.
fn check_map(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let (lines, words) = (text.lines().count(), text.split_whitespace().count());
    if lines > MAP_LINES {
        problems.push(format!("{MAP} has {lines} lines: {MAP_LINES} is the most"));
    }
    if words > MAP_WORDS {
        problems.push(format!("{MAP} has {words} words: {MAP_WORDS} is the most"));
    }
    for (number, line) in text.lines().enumerate() {
        if has_decimal(line) {
            let what = "a measured figure belongs in docs/performance";
            problems.push(format!("{MAP}:{}: {what}", number + 1));
        }
    }
    problems
}

/// Returns true if a number has a fraction.
fn has_decimal(line: &str) -> bool {
    let bytes = line.as_bytes();
    let fraction = |w: &[u8]| w[0].is_ascii_digit() && w[1] == b'.' && w[2].is_ascii_digit();
    bytes.windows(3).any(fraction)
}

/// The lines of a document outside of code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((number + 1, line))
    })
}

/// The paths of documents that a comment names.
fn cited_documents(said: &str) -> impl Iterator<Item = &str> {
    let is_path = |c: char| c.is_alphanumeric() || "._-/".contains(c);
    let words = said.split(move |c: char| !is_path(c)).map(|word| word.trim_end_matches('.'));
    words.filter(|word| word.len() > ".md".len() && word.ends_with(".md"))
}

/// Where the links of a line lead, but those to other places than this repository.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://") && !target.contains(' '))
}

/// The Rust sources that a line names in code: those with a wildcard or alternatives are left out.
fn sources(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split('`').skip(1).step_by(2);
    let is_path = |c: char| c.is_alphanumeric() || "._-/".contains(c);
    code.filter(move |code| code.ends_with(".rs") && code.len() > 3 && code.chars().all(is_path))
}

/// The names of types, functions and constants in a line: code with a capital letter, and nothing but words and `::`.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let is_name = |code: &&str| {
        let name = code.strip_suffix("()").unwrap_or(code);
        let name = name.strip_suffix('!').unwrap_or(name);
        let is_word = |part: &str| !part.is_empty() && words(part).next() == Some(part);
        name.split("::").all(is_word) && name.contains(|c: char| c.is_ascii_uppercase())
    };
    line.split('`').skip(1).step_by(2).filter(is_name)
}

/// Words as programs have them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

/// A path from the root, of one that starts at the folder of a file.
fn joined(from: &str, path: &str) -> Option<String> {
    let mut names: Vec<&str> = from.split('/').collect();
    names.pop();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => names.push(name.to_str()?),
            Component::ParentDir => drop(names.pop()?),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(names.join("/"))
}

/// Anchor of a heading; empty for another line.
fn slug(line: &str) -> String {
    let heading = line.trim_start_matches('#');
    if heading.len() == line.len() {
        return String::new();
    }
    let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
    let text = heading.trim().to_lowercase();
    text.chars().filter(kept).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(files: &[(&str, &str)]) -> Repository {
        let texts: BTreeMap<String, String> =
            files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect();
        Repository { files: texts.keys().cloned().collect(), texts }
    }

    #[test]
    fn what_is_cited_exists() {
        let found = repository(&[
            (MAP, "[design](design/plan.md#the-passes) [code](../crates) `core.rs` `Graph::new`"),
            ("docs/design/plan.md", "# Plan\n\n## The passes\n\n[map](../ARCHITECTURE.md)\n"),
            ("crates/a/core.rs", "//! See docs/design/plan.md 3.2.\nimpl Graph { fn new() {} }\n"),
        ]);
        assert_eq!(found.check(), Vec::<String>::new());
    }

    #[test]
    fn what_is_not_there_is_found() {
        let found = repository(&[
            (MAP, "[a](gone.md)\n[b](#gone)\n`src/gone.rs` `*.rs` `x.rs y.rs`\n`Gone` `a + B`\n"),
            ("docs/performance/old.md", "`src/gone.rs`\n```text\n[c](gone.md)\n```\n"),
            ("src/core.rs", concat!("let a = \"gone.md\"; // in language", ".md 1.2\n")),
        ]);
        let expected = [
            "docs/ARCHITECTURE.md:4: the code has no name Gone",
            "docs/ARCHITECTURE.md:1: the link gone.md leads nowhere",
            "docs/ARCHITECTURE.md:2: docs/ARCHITECTURE.md has no heading for the link #gone",
            "docs/ARCHITECTURE.md:3: there is no source src/gone.rs",
            "src/core.rs:1: there is no document language.md",
        ];
        assert_eq!(found.check(), expected);
    }

    #[test]
    fn the_map_stays_short_and_has_no_figures() {
        assert_eq!(check_map("threads: 1, 2 and 7. More.\n"), Vec::<String>::new());
        let long = "word ".repeat(MAP_WORDS + 1) + &"\n".repeat(MAP_LINES) + "0.9 of the time";
        let problems = check_map(&long);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(problems[2].ends_with("a measured figure belongs in docs/performance"));
    }
}
