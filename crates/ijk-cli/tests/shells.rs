//! Completions, manual pages, and the version.

use std::fs;
use std::process::{Command, Output};

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ijk")).args(args).output().unwrap()
}

/// Output of a command that must succeed without a message.
fn prints(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = prints(&["completions", shell]);
        for word in ["einsum", "completions", "memory", "assume-finite"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        assert!(!script.contains('\x1b') && !script.contains("\\x"), "{shell}");
    }
    assert_eq!(run(&["completions", "tcl"]).status.code(), Some(2));
    assert_eq!(run(&["completions"]).status.code(), Some(2));
}

#[test]
fn bash_completes_commands() {
    let script = prints(&["completions", "bash"]);
    let ask = format!(
        "{script}\nCOMP_WORDS=(ijk ei) COMP_CWORD=1\n_ijk ijk ei ijk\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n"
    );
    let Ok(output) = Command::new("bash").args(["--norc", "-c", &ask]).output() else { return };
    assert_eq!(String::from_utf8_lossy(&output.stdout), "einsum\n", "{output:?}");
}

#[test]
fn manual_pages() {
    let workdir = tempfile::tempdir().unwrap();
    let folder = workdir.path().join("share/man1");
    let output = run(&["man", folder.to_str().unwrap()]);
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    assert!(names.len() > 8 && names.iter().all(|name| name.ends_with(".1")), "{names:?}");
    let eval = fs::read_to_string(folder.join("ijk-eval.1")).unwrap();
    let title = format!("\"ijk {}\"", env!("CARGO_PKG_VERSION"));
    assert!(eval.replace('\\', "").contains(&title), "{eval}");
    assert!(eval.contains("\n\\&  ijk eval 'ij+j~ij' table.npz:rows"), "{eval}");
    // A file in the place of the folder.
    fs::write(workdir.path().join("file"), "").unwrap();
    let output = run(&["man", workdir.path().join("file").to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write manual pages"));
}

#[test]
fn versions_are_one() {
    let version = format!("ijk {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(prints(&["--version"]), version);
    assert_eq!(prints(&["-V"]), version);
}
