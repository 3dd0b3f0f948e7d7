//! Output of commands: dependencies of operations, plans of Einsum Tuple, and no escapes for the terminal.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

fn run_in(directory: &Path, args: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ijk"));
    let output = command.args(args).current_dir(directory).stdin(Stdio::null()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

fn workdir(files: &[(&str, &str)]) -> TempDir {
    let workdir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(workdir.path().join(name), text).unwrap();
    }
    workdir
}

const PRODUCT: &str = "mm: m.a\nm: ik*kj~ijk\na: +ijk~ij\nmm\n";

#[test]
fn any_two_operations_of_a_program() {
    let workdir = workdir(&[("mm.ijk", PRODUCT)]);
    let shapes = ["deps", "mm.ijk", "--shape", "4x3", "--shape", "3x5"];
    let run = |args: &[&str]| run_in(workdir.path(), &[&shapes[..], args].concat());
    let (code, said, errors) = run(&["--from", "mm.m[2,1,2]", "--to", "a[2,1]"]);
    assert_eq!(code, 0, "{errors}");
    assert!(
        said.starts_with("mm.m[2,1,2] reaches mm.a[2,1]\nmm.a: {(2, 1)}, 1 of 20 elements\n"),
        "{said}"
    );
    assert!(said.contains("\n  . # . . .\n"), "{said}");
    let (_, said, _) = run(&["--from", "mm.m[2,3,1]", "--to", "a[2,1]"]);
    assert!(said.starts_with("mm.m[2,3,1] does not reach mm.a[2,1]\n"), "{said}");
    // Backwards, too.
    let (_, said, _) = run(&["--from", "a[2,1]", "--to", "m"]);
    assert!(said.starts_with("mm.a[2,1] depends on mm.m at {(2, 1, k) : k in 0..3}\n"), "{said}");
    let (_, said, _) = run(&["--from", "0", "--to", "a[2,1]", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(told["set"]["points"], serde_json::json!([[2, 0], [2, 1], [2, 2]]), "{said}");
    let (_, said, _) = run(&["--to", "a[0,0]"]);
    for name in ["\n0: {(0, k)", "\n1: {(k, 0)", "\nmm.m: {(0, 0, k)"] {
        assert!(said.contains(name), "{said}");
    }
    let (_, said, _) = run(&["--from", "a[0,0]"]);
    assert_eq!(said, "a[0,0] reaches nothing\n");
    for (args, error) in [
        (
            &["--from", "b[0]"][..],
            "there is no operation `b`; the program's are `0`, `1`, `mm.m`, `mm.a`",
        ),
        (&["--from", "a[4,0]", "--to", "m"], "`a[4,0]` is outside of the result"),
        (&["--from", "a", "--to", "m"], "add an index, such as mm.a[0,1]"),
        (&["--from", "a[0"], "an operation is written mm.m[2,3,1]"),
    ] {
        let (code, _, said) = run(args);
        assert!(code == 1 && said.contains(error), "{args:?}: {said}");
    }
    assert_eq!(run(&[]).0, 2);
    assert_eq!(run(&["--at", "0,0", "--from", "a[0,0]"]).0, 2);
    assert_eq!(run(&["--at", "0,0", "--output", "x"]).0, 1);
    assert_eq!(run(&["--at", "0,0", "--dims", "i=2"]).0, 1);
}

const BLUR: &str = "y[i] = (x[i] + x[i-1] + x[i+1]) / 3\nz[i] = y[i] * y[DIMS(i) - 1 - i]\n\nz\n";

#[test]
fn programs_in_einsum_tuple_are_explained_and_asked() {
    let workdir = workdir(&[("blur.et", BLUR)]);
    let run = |args: &[&str]| run_in(workdir.path(), args);
    let (code, said, errors) = run(&["deps", "blur.et", "--shape", "9", "--at", "2"]);
    assert_eq!(code, 0, "{errors}");
    assert!(said.starts_with("z[2] depends on\nx: ") && said.contains("\ny: "), "{said}");
    assert!(said.contains("6 of 9 elements") && said.contains("2 of 8 elements"), "{said}");
    let (_, said, _) = run(&["deps", "blur.et", "--shape", "9", "--from", "x[0]", "--to", "y"]);
    assert!(said.contains("1 of 8 elements"), "the first is out of bounds: {said}");
    let (_, said, _) = run(&["deps", "blur.et", "--shape", "9", "--at", "4", "--input", "x"]);
    assert!(said.starts_with("x[4] reaches\ny: "), "{said}");
    let (code, said, errors) = run(&["explain", "blur.et", "--shape", "9"]);
    assert_eq!(code, 0, "{errors}");
    assert!(said.contains("signature: input x[i]; output z[i]"), "{said}");
    assert!(said.contains("argument 1: f64 [9]"), "{said}");
    let (code, said, _) = run(&["explain", "blur.et", "--shape", "9", "--dtype", "f32", "--json"]);
    assert!(code == 0 && serde_json::from_str::<serde_json::Value>(&said).is_ok(), "{said}");
    let (code, _, errors) = run(&["explain", "blur.et"]);
    assert!(code == 1 && errors.contains("1 inputs have no shape yet: x"), "{errors}");
    let (code, _, errors) = run(&["explain", "nowhere.et", "--shape", "9"]);
    assert!(code == 1 && errors.contains("nowhere.et: no such file"), "{errors}");
}

/// Returns true if a text would control a terminal.
#[cfg(unix)]
fn steers(text: &str) -> bool {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().any(|c| (c.is_control() && c != '\n') || turns(c))
}

/// A .npy file with an element type of that name.
#[cfg(unix)]
fn npy(descr: &str) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1,), }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &[0; 8]].concat()
}

#[cfg(unix)]
#[test]
fn names_reach_no_terminal_raw() {
    let hostile = "\x1b]0;owned\x07\u{9b}2J\u{202e}\r";
    let file = format!("{hostile}.npy");
    let workdir = workdir(&[(&file, "nothing"), ("hostile.ijk", &format!("a: ij~{hostile}ji\nb"))]);
    let program = format!("{hostile}.et");
    fs::write(workdir.path().join(&program), format!("x[{hostile}] = 3\n")).unwrap();
    fs::write(workdir.path().join("dtype.npy"), npy(&format!("<{hostile}"))).unwrap();
    let run = |args: &[&str]| run_in(workdir.path(), args);
    for args in [
        &["eval", "I", &file][..],
        &["eval", "I", "dtype.npy"],
        &["eval", "I", &format!("{hostile}.zarr")],
        &["eval", "I", &format!("missing.npz:{hostile}")],
        &["eval", &format!("ij~{hostile}"), "dtype.npy"],
        &["check", "hostile.ijk"],
        &["check", &program],
        &["check", &format!("{hostile}.ijk")],
        &["verify", &format!("no{hostile}.et")],
        &["run", "hostile.ijk", "--bind", &format!("{hostile}=a.npy")],
        &["deps", "ij~ji", "--shape", "2x2", "--from", hostile],
        &["explain", "ij~ji", &format!("--{hostile}")],
        &["einsum", &format!("ij->{hostile}"), "dtype.npy"],
    ] {
        let (code, printed, said) = run(args);
        assert!(code != 0 && !said.is_empty(), "{args:?}");
        assert!(!steers(&printed) && !steers(&said), "{args:?}: {said:?}");
    }
    // File names are escaped in successful output, too.
    let good = format!("good{hostile}.npy");
    let (code, printed, errors) = run(&["eval", "i~i", "zeros.npy", "-o", &good]);
    assert!(code == 1 && !steers(&printed) && !steers(&errors));
    fs::write(workdir.path().join("zeros.npy"), npy("<f8")).unwrap();
    let (code, printed, errors) = run(&["eval", "i~i", "zeros.npy", "-o", &good]);
    assert!(code == 0 && workdir.path().join(&good).exists(), "{errors}");
    assert!(
        printed.is_empty()
            && !steers(&errors)
            && errors.contains(r"good\x1b]0;owned\x07\x9b2J\u{202e}\r.npy"),
        "{errors:?}"
    );
    let (_, json, _) = run(&["eval", "i~i", "zeros.npy", "--json", "-o", &good]);
    assert!(!steers(&json), "{json:?}");
    let told: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(told["results"][0]["file"], good);
}
