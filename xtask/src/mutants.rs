//! `cargo xtask mutants`: plants bugs, one at a time, in a copy of the workspace, and has the random
//! programs find them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output};

const LIST: &str = "crates/ijk-oracle/mutants/list.txt";
/// The tests that are to find the bugs.
const TEST: [&str; 6] = ["test", "--offline", "-p", "ijk-cpu", "--test", "random_programs"];

/// A bug to plant.
#[derive(Clone, Debug, Default, PartialEq)]
struct Mutant {
    name: String,
    file: PathBuf,
    search: String,
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
    if copy.exists() {
        fs::remove_dir_all(&copy)?;
    }
    copy_sources(root, &copy)?;
    if !test(&copy, &place)?.status.success() {
        return Err(io::Error::other("the tests fail without any bug"));
    }
    let mut survivors = 0;
    for mutant in mutants.iter().filter(|mutant| mutant.name.contains(filter)) {
        let verdict = verdict(mutant, &copy, &place)?;
        survivors += usize::from(verdict == "survived");
        println!("{verdict:>24}  {}", mutant.name);
    }
    Ok(survivors)
}

fn parse(list: &str) -> Vec<Mutant> {
    let mut mutants: Vec<Mutant> = Vec::new();
    for line in list.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            mutants.push(Mutant { name: name.into(), ..Mutant::default() });
        }
        let Some(mutant) = mutants.last_mut() else { continue };
        match line.split_at_checked(2) {
            Some(("- ", text)) => mutant.search.push_str(text),
            Some(("+ ", text)) => mutant.replacement.push_str(text),
            Some((first, _)) if !first.starts_with('#') => mutant.file = line.into(),
            _ => {}
        }
    }
    mutants
}

fn copy_sources(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "target" || name == ".git" {
            continue;
        }
        let (source, target) = (entry.path(), to.join(&name));
        if entry.file_type()?.is_dir() {
            copy_sources(&source, &target)?;
        } else {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

fn test(copy: &Path, place: &Path) -> io::Result<Output> {
    Command::new(env!("CARGO"))
        .args(TEST)
        .args(["--", "--nocapture"])
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", place.join("target"))
        .output()
}

/// Plants one bug and takes it out again.
fn verdict(mutant: &Mutant, copy: &Path, place: &Path) -> io::Result<String> {
    let file = copy.join(&mutant.file);
    let text = fs::read_to_string(&file)?;
    if text.matches(&mutant.search).count() != 1 {
        let problem = format!("{}: {:?} does not stand there once", mutant.name, mutant.search);
        return Err(io::Error::other(problem));
    }
    fs::write(&file, text.replacen(&mutant.search, &mutant.replacement, 1))?;
    let output = test(copy, place)?;
    fs::write(&file, text)?;
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    let found = said.lines().find(|line| line.contains("programs disagree"));
    Ok(match found {
        _ if output.status.success() => "survived".into(),
        Some(line) => line.trim().into(),
        None if complaint.contains("could not compile") => "does not compile".into(),
        None => "a crash or a panic".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read() {
        let mutants = parse("# x\n\n## one\na/b.rs\n- x < y\n+ x > y\n\n## two\nc.rs\n- 1\n+ 2\n");
        assert_eq!(mutants.len(), 2);
        assert_eq!(mutants[0].file, PathBuf::from("a/b.rs"));
        assert_eq!((&mutants[0].search[..], &mutants[0].replacement[..]), ("x < y", "x > y"));
    }

    #[test]
    fn every_place_of_the_list_stands_once() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mutants = parse(&fs::read_to_string(root.join(LIST)).unwrap());
        assert!(mutants.len() >= 20);
        for mutant in mutants {
            let text = fs::read_to_string(root.join(&mutant.file)).unwrap();
            assert_eq!(text.matches(&mutant.search).count(), 1, "{}", mutant.name);
            assert_ne!(mutant.search, mutant.replacement, "{}", mutant.name);
        }
    }
}
