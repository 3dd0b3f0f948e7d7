//! `ijk verify` with Pythons that misbehave, and the library of operations against NumPy and SciPy.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

const PRODUCT: &str = "\
a[i,k] = RANDOM(-1, 1, FLOAT)
b[k,j] = RANDOM(-1, 1, FLOAT)
c[i,j] = a[i,k] * b[k,j]

np.matmul(a, b)

c

DIMS(i) IN [1,4]
DIMS(j) IN [1,4]
DIMS(k) IN [1,4]
";

fn ijk(args: &[&str], python: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ijk"));
    command.args(args).env("IJK_PYTHON", python).stdin(Stdio::null());
    command.output().unwrap()
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// A program in a directory of its own.
fn program(text: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("program.et");
    fs::write(&path, text).unwrap();
    (directory, path)
}

/// An executable that stands for Python.
#[cfg(unix)]
fn impostor(directory: &Path, script: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let path = directory.join("impostor");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Exit code and message of `ijk verify` where a script stands for Python.
#[cfg(unix)]
fn with_impostor(script: &str, args: &[&str]) -> (Option<i32>, String) {
    let (directory, path) = program(PRODUCT);
    let python = impostor(directory.path(), script);
    let output = ijk(&[&["verify", path.to_str().unwrap()], args].concat(), &python);
    (output.status.code(), texts(&output).1)
}

#[cfg(unix)]
#[test]
fn a_child_that_dies_is_reported() {
    let (code, said) = with_impostor("echo out of luck >&2; exit 3", &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("exit status: 3") && said.contains("out of luck"), "{said}");
    let (code, said) = with_impostor("kill -SEGV $$", &[]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("signal: 11"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_child_that_is_silent_is_ended() {
    let (code, said) = with_impostor("exec sleep 60", &["--timeout", "1"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no answer in 1 s") && said.contains("--timeout"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_child_that_talks_nonsense_is_refused() {
    for script in ["yes", "printf '\\001\\000\\000\\000\\000\\000\\000\\000Z'; cat >/dev/null"] {
        let (code, said) = with_impostor(script, &[]);
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("makes no sense"), "{said}");
    }
}

#[test]
fn no_interpreter_is_an_environment_error() {
    let (_directory, path) = program(PRODUCT);
    let output = ijk(&["verify", path.to_str().unwrap()], Path::new("no-such-python"));
    assert_eq!(output.status.code(), Some(2));
    assert!(texts(&output).1.contains("cannot start `no-such-python`"));
}

#[test]
fn without_a_call_the_oracle_judges() {
    let (_directory, path) = program(&PRODUCT.replace("np.matmul(a, b)\n\n", ""));
    let output = ijk(&["verify", path.to_str().unwrap()], Path::new("no-such-python"));
    let (table, said) = texts(&output);
    assert!(output.status.success(), "{table}{said}");
    assert!(table.contains("5 cases passed"), "{table}");
}

#[test]
fn inputs_can_not_be_verified() {
    let (_directory, path) = program("y[i] = x[i-1] * w[k]\n");
    let output = ijk(&["verify", path.to_str().unwrap()], Path::new("no-such-python"));
    let (table, said) = texts(&output);
    assert_eq!((output.status.code(), &table[..]), (Some(1), ""), "{said}");
    assert!(said.contains("`w[k] = RANDOM(-1, 1, FLOAT)`"), "{said}");
    assert!(said.contains("`x[…] = RANDOM(-1, 1, FLOAT)`") && said.contains(":1:17"), "{said}");
}

#[test]
fn nothing_to_verify_is_a_wrong_command() {
    let (_directory, path) = program(PRODUCT);
    let output = ijk(&["verify", path.to_str().unwrap(), "--reps", "0"], Path::new("python3"));
    assert_eq!(output.status.code(), Some(2));
    assert!(texts(&output).1.contains("--reps"));
}

#[test]
fn missing_packages_are_named() {
    let Some(python) = python() else { return };
    let is_missing = |package: &&(&str, &str)| {
        let output = Command::new(python).args(["-c", &format!("import {}", package.0)]).output();
        !output.unwrap().status.success()
    };
    let frameworks = [("tensorflow", "tf.abs"), ("torch", "torch.abs"), ("jax", "jnp.abs")];
    for (package, function) in frameworks.iter().filter(is_missing) {
        for call in [format!("{function}(a)"), format!("np.matmul(a, {function}(b))")] {
            let (_directory, path) = program(&PRODUCT.replace("np.matmul(a, b)", &call));
            let output = ijk(&["verify", path.to_str().unwrap()], python);
            let said = texts(&output).1;
            assert_eq!(output.status.code(), Some(2), "{said}");
            assert!(said.contains(&format!("no package `{package}`")), "{said}");
            assert!(said.contains(&format!("| {call}\n")), "{said}");
        }
    }
}

#[test]
fn functions_that_reach_the_system_are_not_called() {
    let marks = ["os.system(L('touch MARK'))", "np.ravel(os.system(L('touch MARK')))"];
    let calls =
        ["subprocess.run(L(['touch', 'MARK']))", "builtins.eval(L('1'))", "np.save(L('MARK'), a)"];
    let walks = [
        "np.lib.npyio.os.system(L('touch MARK'))",
        "np.matmul.__class__(a)",
        "no_such_package.f(a)",
    ];
    for call in marks.into_iter().chain(calls).chain(walks) {
        let (directory, path) = program(&PRODUCT.replace("np.matmul(a, b)", call));
        let mark = directory.path().join("mark");
        let text = fs::read_to_string(&path).unwrap().replace("MARK", mark.to_str().unwrap());
        fs::write(&path, text).unwrap();
        // Before any Python is started.
        let output = ijk(&["verify", path.to_str().unwrap()], Path::new("no-such-python"));
        let said = texts(&output).1;
        assert_eq!(output.status.code(), Some(1), "{call}: {said}");
        assert!(said.contains("` is not called: ") && said.contains("= help: "), "{call}: {said}");
        assert!(!mark.exists(), "{call}");
    }
    let help = texts(&ijk(&["verify", "--help"], Path::new(""))).0;
    assert!(help.contains(" torch.nn.functional") && help.contains("--module"), "{help}");
}

#[test]
fn what_names_do_not_tell_objects_do() {
    let Some(python) = python() else { return };
    for (call, said) in [
        // Modules that modules import, classes, and what steers a framework or gives functions.
        ("scipy.linalg.blas(a)", "it is no function of scipy"),
        ("np.ndarray(L([2]))", "it is no function of numpy"),
        ("np.vectorize(L('x'))", "it is no function of numpy"),
        ("np.poly1d(a)", "it is no function of numpy"),
        ("scipy.interpolate.interp1d(a, a)", "it is no function of scipy"),
    ] {
        let (_directory, path) = program(&PRODUCT.replace("np.matmul(a, b)", call));
        let output = ijk(&["verify", path.to_str().unwrap(), "--reps", "1"], python);
        let (table, errors) = texts(&output);
        assert_eq!(output.status.code(), Some(1), "{call}: {table}{errors}");
        assert!((table + &errors).contains(said), "{call}: {errors}");
    }
}

/// A function that is named like one of a framework, and does what it should not, is not found where
/// the command is run, nor beside the program.
#[test]
fn modules_that_lie_about_are_not_imported() {
    let Some(python) = python() else { return };
    let (directory, path) = program(PRODUCT);
    for name in ["numpy", "ast", "struct", "inspect", "math"] {
        fs::write(directory.path().join(format!("{name}.py")), "raise SystemExit(9)").unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_ijk"));
    command.args(["verify", path.to_str().unwrap(), "--reps", "1"]).env("IJK_PYTHON", python);
    let output = command.current_dir(directory.path()).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{:?}", texts(&output));
}

#[test]
fn modules_are_trusted_by_name() {
    let (_directory, path) = program(&PRODUCT.replace("np.matmul", "rude.product"));
    let output = ijk(&["verify", path.to_str().unwrap()], Path::new("no-such-python"));
    assert!(texts(&output).1.contains("`--module rude` trusts"), "{:?}", texts(&output));
    for module in ["rude", "os", "../rude", ""] {
        let args = ["verify", path.to_str().unwrap(), "--module", module];
        let output = ijk(&args, Path::new("no-such-python"));
        assert_eq!(output.status.code(), Some(1), "{module}");
        assert!(texts(&output).1.contains("there is no "), "{module}: {:?}", texts(&output));
    }
}

/// A module beside the program that does all a function should not do.
const RUDE: &str = r#"
import os, sys, numpy as np
print("printed while importing")
calls = 0
def product(a, b):
    global calls
    calls += 1
    print("printed")
    os.write(1, b"written")
    if calls == 3:
        raise ValueError("not the third time")
    if calls == 4:
        os._exit(7)
    return np.asfortranarray(a @ b) + (1e-9 if calls == 2 else 0)
"#;

#[test]
fn what_functions_do_is_told_case_by_case() {
    let Some(python) = python() else { return };
    let (directory, path) = program(&PRODUCT.replace("np.matmul", "rude.product"));
    fs::write(directory.path().join("rude.py"), RUDE).unwrap();
    let args = ["verify", path.to_str().unwrap(), "--reps", "9", "--module", "rude"];
    let output = ijk(&args, python);
    let (table, said) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let rows: Vec<_> = table.lines().collect();
    assert!(rows[1].contains("pass"), "{table}");
    assert!(rows[2].contains("FAIL") && table.contains("differ"), "{table}");
    assert!(table.contains("ValueError: not the third time"), "{table}");
    assert!(said.contains("exit status: 7"), "{said}");
}

#[test]
fn results_must_be_as_many_and_as_large() {
    let Some(python) = python() else { return };
    for (call, said) in [
        ("np.ravel(np.matmul(a, b))", "the shape is"),
        ("np.divmod(a, a)", "gives 2 results, the program has 1"),
        ("np.float16(np.matmul(a, b))", "float16 are not supported"),
        ("np.no_such_function(a)", "no_such_function"),
        ("np.multiply(np.matmul(a, b), L(1.000001))", "here and"),
    ] {
        let (_directory, path) = program(&PRODUCT.replace("np.matmul(a, b)", call));
        let output = ijk(&["verify", path.to_str().unwrap(), "--reps", "1"], python);
        let (table, errors) = texts(&output);
        assert_eq!(output.status.code(), Some(1), "{call}: {table}{errors}");
        assert!((table + &errors).contains(said), "{call}: {errors}");
    }
}

#[test]
fn the_last_place_is_rounding() {
    let Some(python) = python() else { return };
    let call = "np.nextafter(np.matmul(a, b), L(9))";
    let (_directory, path) = program(&PRODUCT.replace("np.matmul(a, b)", call));
    let output = ijk(&["verify", path.to_str().unwrap(), "--json"], python);
    let (rows, said) = texts(&output);
    assert!(output.status.success(), "{rows}{said}");
    let row: serde_json::Value = serde_json::from_str(rows.lines().next().unwrap()).unwrap();
    let error = row["error"].as_f64().unwrap();
    assert!(row["pass"] == true && error > 0.0 && error <= 1.0, "{row}");
    assert_eq!(row["dims"].as_object().unwrap().len(), 3);
}

#[test]
fn the_library_agrees_with_numpy_and_scipy() {
    let Some(python) = python() else { return };
    let programs = programs(&examples());
    assert!(programs.len() >= 27, "{programs:?}");
    for path in programs {
        let args = ["verify", path.to_str().unwrap(), "--reps", "2", "--points", "50000"];
        let output = ijk(&args, python);
        let (table, said) = texts(&output);
        assert!(output.status.success(), "{}\n{table}{said}", path.display());
    }
}

/// The programs that call frameworks are the same as those that call NumPy.
#[test]
fn frameworks_verify_the_same_statements() {
    let statements = |path: &Path| -> String {
        let text = fs::read_to_string(path).unwrap();
        text.split("\n\n").next().unwrap().into()
    };
    let mut count = 0;
    for folder in ["tensorflow", "pytorch", "jax"] {
        for path in programs(&examples().join(folder)) {
            let original = examples().join(path.file_name().unwrap());
            assert_eq!(statements(&path), statements(&original), "{}", path.display());
            let output = ijk(&["check", path.to_str().unwrap()], Path::new(""));
            assert!(output.status.success(), "{}", texts(&output).1);
            count += 1;
        }
    }
    assert!(count >= 54);
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/et")
}

fn programs(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = paths.filter(|p| p.extension().is_some_and(|e| e == "et")).collect();
    found.sort();
    found
}

/// A Python with NumPy and SciPy: that of the environment if it has them, else one in a virtual
/// environment made for these tests. Tests that need it are skipped where there is none.
fn python() -> Option<&'static Path> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    let python = PYTHON.get_or_init(|| {
        let own = std::env::var_os("IJK_PYTHON").map(PathBuf::from);
        let found = own.filter(|python| has_packages(python)).map_or_else(environment, Ok);
        found.inspect_err(|why| eprintln!("skipped, there is no NumPy and SciPy: {why}")).ok()
    });
    python.as_deref()
}

fn has_packages(python: &Path) -> bool {
    let output = Command::new(python).args(["-c", "import numpy, scipy"]).output();
    output.is_ok_and(|output| output.status.success())
}

fn environment() -> Result<PathBuf, String> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("numpy");
    let python = home.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if has_packages(&python) {
        return Ok(python);
    }
    let run = |command: &mut Command| match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_string()),
        Err(error) => Err(error.to_string()),
    };
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home))?;
    let install = ["-m", "pip", "install", "--disable-pip-version-check", "numpy", "scipy"];
    run(Command::new(&python).args(install))?;
    if has_packages(&python) { Ok(python) } else { Err("they do not import".into()) }
}

#[test]
fn declared_inputs_are_drawn() {
    let text = "INPUT x[n], c[z]: INT\ny[z] = x[MIN(c[z], 2)]\n\ny\n\nDIMS(n) IN [1,4]\nDIMS(z) IN [0,9]\n";
    let (_directory, path) = program(text);
    let output = ijk(&["verify", path.to_str().unwrap(), "--reps", "3"], Path::new("python3"));
    let (said, told) = texts(&output);
    assert_eq!(output.status.code(), Some(0), "{said}\n{told}");
}
