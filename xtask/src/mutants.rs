//! `cargo xtask mutants`: plants bugs in a copy of the workspace and has the random programs find
//! them, one at a time.
//!
//! All bugs go into one build, each behind a question for the environment variable `IJK_PLANTED`,
//! so that the copy is compiled once.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

const LIST: &str = "crates/ijk-oracle/mutants/list.txt";
/// The tests that are to find the bugs that name none: crate and test.
const TEST: &str = "ijk-cpu random_programs";
/// The crate that all others with bugs use, and what is added to it.
const HOME: &str = "crates/ijk-types/src/lib.rs";
const QUESTION: &str = r#"
extern crate self as ijk_types;

/// Returns true if the bug of that number is planted.
#[doc(hidden)]
pub fn planted(bug: usize) -> bool {
    static PLANTED: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    let read = || std::env::var("IJK_PLANTED").ok()?.parse().ok();
    bug == *PLANTED.get_or_init(|| read().unwrap_or(usize::MAX))
}
"#;

/// A bug to plant.
#[derive(Clone, Debug, Default, PartialEq)]
struct Mutant {
    name: String,
    /// The crate and the test that is to find it, where that is not [`TEST`].
    test: Option<String>,
    file: PathBuf,
    /// Texts before, of, and after the expression in the line.
    before: String,
    expression: String,
    after: String,
    replacement: String,
}

/// Plants every bug whose name holds `filter`, and says which were found by how many programs.
pub fn run(root: &Path, filter: &str) -> ExitCode {
    match try_run(root, filter) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(survivors) => {
            eprintln!("mutants: {survivors} survived");
            ExitCode::FAILURE
        }
        Err(problem) => {
            eprintln!("mutants: {problem}");
            ExitCode::from(2)
        }
    }
}

fn try_run(root: &Path, filter: &str) -> io::Result<usize> {
    let mutants = parse(&fs::read_to_string(root.join(LIST))?);
    let place = root.join("target/mutants");
    let copy = place.join("workspace");
    copy_sources(root, &copy)?;
    fs::write(copy.join(HOME), fs::read_to_string(copy.join(HOME))? + QUESTION)?;
    for (number, mutant) in mutants.iter().enumerate() {
        plant(mutant, number, &copy)?;
    }
    let mut programs: BTreeMap<&str, Found> = BTreeMap::new();
    for mutant in mutants.iter().filter(|mutant| mutant.name.contains(filter)) {
        if programs.contains_key(mutant.test()) {
            continue;
        }
        let program = build(mutant.test(), &copy, &place)?;
        let (_, module) = package_and_module(mutant.test());
        let module = (module != "lib").then(|| format!("{module}::"));
        let begin = Instant::now();
        let sound = Command::new(&program).args(&module).output()?;
        if !sound.status.success() {
            let said = String::from_utf8_lossy(&sound.stderr).into_owned();
            return Err(io::Error::other(format!("the tests fail without any bug:\n{said}")));
        }
        let limit = begin.elapsed() * SLOWER + LEAST_LIMIT;
        programs.insert(mutant.test(), Found { program, module, limit });
    }
    let chosen: Vec<usize> =
        (0..mutants.len()).filter(|&number| mutants[number].name.contains(filter)).collect();
    let (next, survivors) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || -> io::Result<()> {
        while let Some(&number) = chosen.get(next.fetch_add(1, Relaxed)) {
            let verdict = verdict(test(&programs[mutants[number].test()], number, &place)?);
            survivors.fetch_add(usize::from(verdict == SURVIVED), Relaxed);
            println!("{verdict:>32}  {}", mutants[number].name);
        }
        Ok(())
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| -> io::Result<()> {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    Ok(survivors.into_inner())
}

fn parse(list: &str) -> Vec<Mutant> {
    let mut mutants: Vec<Mutant> = Vec::new();
    for line in list.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            mutants.push(Mutant { name: name.into(), ..Mutant::default() });
        }
        let Some(mutant) = mutants.last_mut() else { continue };
        if let Some(text) = line.strip_prefix("- ") {
            let (before, rest) = text.split_once('⟦').unwrap_or((text, ""));
            let (expression, after) = rest.split_once('⟧').unwrap_or((rest, ""));
            mutant.before = before.into();
            mutant.expression = expression.into();
            mutant.after = after.into();
        } else if let Some(text) = line.strip_prefix("+ ") {
            mutant.replacement = text.into();
        } else if let Some(test) = line.strip_prefix("? ") {
            mutant.test = Some(test.into());
        } else if !line.is_empty() && !line.starts_with('#') {
            mutant.file = line.into();
        }
    }
    mutants
}

impl Mutant {
    /// The crate and the test that is to find it.
    fn test(&self) -> &str {
        self.test.as_deref().unwrap_or(TEST)
    }

    fn line(&self) -> String {
        format!("{}{}{}", self.before, self.expression, self.after)
    }
}

/// Copies what differs, so that what was built before need not be built again, and removes what is
/// gone.
fn copy_sources(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if from.join(entry.file_name()).exists() {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "target" || name == ".git" {
            continue;
        }
        let (source, target) = (entry.path(), to.join(&name));
        if entry.file_type()?.is_dir() {
            copy_sources(&source, &target)?;
        } else if fs::read(&source)? != fs::read(&target).unwrap_or_default() {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

/// Puts the bug beside the expression that it replaces.
fn plant(mutant: &Mutant, number: usize, copy: &Path) -> io::Result<()> {
    let file = copy.join(&mutant.file);
    let text = fs::read_to_string(&file)?;
    let Some(planted) = planted(mutant, number, &text) else {
        let problem = format!("{}: `{}` does not stand there", mutant.name, mutant.line());
        return Err(io::Error::other(problem));
    };
    fs::write(&file, planted)
}

/// The text with the bug. Another one may be planted in the same line already, so it is enough that
/// the expression stands somewhere after what comes before it.
fn planted(mutant: &Mutant, number: usize, text: &str) -> Option<String> {
    let Mutant { before, expression, replacement, .. } = mutant;
    let line = match text.find(&mutant.line()) {
        Some(at) => at,
        None => text.find(before.split('⟦').next()?)?,
    };
    let start = line + text[line..].find(expression.as_str())?;
    let start = match text[line..].starts_with(before.as_str()) {
        true if text[line + before.len()..].starts_with(expression.as_str()) => line + before.len(),
        _ => start,
    };
    let end = start + expression.len();
    let choice =
        format!("(if ijk_types::planted({number}) {{ {replacement} }} else {{ {expression} }})");
    Some(format!("{}{choice}{}", &text[..start], &text[end..]))
}

/// Compiles a test of the copy, and says which program it is.
fn build(test: &str, copy: &Path, place: &Path) -> io::Result<PathBuf> {
    let (package, module) = package_and_module(test);
    let output = Command::new(env!("CARGO"))
        .args(["test", "--no-run", "-p", package])
        .args(if module == "lib" { vec!["--lib"] } else { vec!["--test", "all"] })
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", place.join("target"))
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let program = said.lines().find_map(|line| {
        let (_, path) = line.trim().strip_prefix("Executable ")?.rsplit_once('(')?;
        Some(PathBuf::from(path.trim_end_matches(')')))
    });
    program.ok_or_else(|| io::Error::other(format!("the tests do not compile:\n{said}")))
}

/// Splits the name of a test in [`LIST`].
fn package_and_module(test: &str) -> (&str, &str) {
    test.split_once(' ').unwrap_or((test, "random_programs"))
}

/// A test with bugs in it.
struct Found {
    program: PathBuf,
    /// The prefix of the tests' names; `None` for all of them.
    module: Option<String>,
    /// Time limit of a test with a planted bug.
    limit: Duration,
}

/// A test may take so many times what it takes without a bug (side by side with others),
const SLOWER: u32 = 4;
/// and so much more.
const LEAST_LIMIT: Duration = Duration::from_secs(60);

/// Result of a test with a planted bug, and its output.
struct Run {
    /// None where it had not ended when its time was over.
    success: Option<bool>,
    said: String,
}

fn test(found: &Found, number: usize, place: &Path) -> io::Result<Run> {
    let said = place.join(format!("said-{number}"));
    let mut child = Command::new(&found.program)
        .arg("--nocapture")
        .args(&found.module)
        .env("IJK_PLANTED", number.to_string())
        .stdout(fs::File::create(&said)?)
        .stderr(Stdio::null())
        .spawn()?;
    let begin = Instant::now();
    let success = loop {
        match child.try_wait()? {
            Some(status) => break Some(status.success()),
            None if begin.elapsed() > found.limit => {
                child.kill()?;
                child.wait()?;
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    let text = String::from_utf8_lossy(&fs::read(&said)?).into_owned();
    fs::remove_file(&said)?;
    Ok(Run { success, said: text })
}

const SURVIVED: &str = "SURVIVED";

fn verdict(run: Run) -> String {
    let found = run.said.lines().find(|line| line.contains("programs disagree"));
    match (run.success, found) {
        (None, _) => "found by not ending".into(),
        (Some(true), _) => SURVIVED.into(),
        (_, Some(line)) => line.trim().into(),
        (_, None) => "found by a crash or a panic".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read() {
        let list = "# x\n\n## one\na/b.rs\n- if ⟦x < y⟧ {\n+ x > y\n\n## two\nc.rs\n- ⟦1⟧\n+ 2\n";
        let mutants = parse(list);
        assert_eq!(mutants.len(), 2);
        assert_eq!(mutants[0].file, PathBuf::from("a/b.rs"));
        let bug = planted(&mutants[0], 7, "a\nif x < y {\n").unwrap();
        assert_eq!(bug, "a\nif (if ijk_types::planted(7) { x > y } else { x < y }) {\n");
    }

    #[test]
    fn every_place_of_the_list_stands_once() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mutants = parse(&fs::read_to_string(root.join(LIST)).unwrap());
        assert!(mutants.len() >= 20);
        for mutant in mutants {
            let text = fs::read_to_string(root.join(&mutant.file)).unwrap();
            assert_eq!(text.matches(&mutant.line()).count(), 1, "{}", mutant.name);
            assert_ne!(mutant.expression, mutant.replacement, "{}", mutant.name);
        }
    }
}
