//! `ijk bench` from outside.

use ijk::TensorView;
use ijk::file::npy;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const PRODUCT: &str = "ik*kj~ijk . +ijk~ij";

struct Workdir(TempDir);

impl Workdir {
    fn new() -> Self {
        let workdir = Self(tempfile::tempdir().unwrap());
        workdir.save("a.npy", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
        workdir.save("b.npy", &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0], &[3, 2]);
        fs::write(workdir.path("mm.et"), "c[i,j] = a[i,k] * b[k,j]\n").unwrap();
        workdir
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn save(&self, name: &str, elements: &[f64], shape: &[usize]) {
        npy::write(self.path(name), &TensorView::from_slice(elements, shape).unwrap()).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ijk"));
        command.arg("bench").args(args).current_dir(self.0.path()).stdin(Stdio::null());
        // Rates of the machine are measured once for all tests.
        command.env("IJK_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn prints(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, args: &[&str]) -> Vec<Value> {
        let said = self.prints(&[args, &["--json"]].concat());
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn refuses(&self, args: &[&str], said: &str) {
        let output = self.run(args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {errors}");
        assert!(errors.contains(said), "{args:?}: {errors}");
    }
}

#[test]
fn rates() {
    let workdir = Workdir::new();
    let args = ["ij/ij~ij", "--shape", "3x2", "--shape", "3x2", "--dtype", "i32", "--reps", "3"];
    let said = workdir.prints(&args);
    assert!(said.starts_with("i32 (3, 2), i32 (3, 2); threads: "), "{said}");
    for part in [
        "results: reused",
        "median ",
        "quartiles ",
        "best ",
        " of 3\n",
        "6 operations, 72 bytes",
        " % of the bound, ",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(workdir.prints(&[&args[..], &["--fresh"]].concat()).contains("results: fresh"));
}

#[test]
fn json_of_each_number_of_threads() {
    let workdir = Workdir::new();
    let args = [PRODUCT, "--shape=8x4", "--shape=4x2", "--reps=2", "--threads=1,2", "--fresh"];
    let values = workdir.json(&args);
    assert_eq!(values.len(), 2);
    for (value, threads) in values.iter().zip(1..) {
        assert_eq!((&value["threads"], &value["outputs"]), (&threads.into(), &"fresh".into()));
        assert_eq!((&value["repetitions"], &value["operations"]), (&2.into(), &128.into()));
        assert_eq!((&value["bytes_read"], &value["bytes_written"]), (&320.into(), &128.into()));
        let seconds = |name: &str| value[name].as_f64().unwrap();
        let median = seconds("median_seconds");
        assert!(seconds("best_seconds") <= median && median <= seconds("third_quartile_seconds"));
        assert!((seconds("gigabytes_per_second") * median * 1e9 - 448.0).abs() < 1e-6);
        let fraction = seconds("bound_seconds") / median;
        assert!((seconds("fraction_of_bound") - fraction).abs() < 1e-9 && fraction > 0.0);
        assert!(["compute", "memory"].contains(&value["bound"].as_str().unwrap()));
        assert!(seconds("peak_giga_operations_per_second") > 0.0);
    }
}

#[test]
fn given_arrays() {
    let workdir = Workdir::new();
    let bound = [PRODUCT, "--bind", "0=a.npy", "--bind", "1=b.npy", "--reps", "1"];
    let said = workdir.prints(&[&bound[..], &["--dtype", "f32", "--out", "0=c.npy"]].concat());
    assert!(said.starts_with("f32 (2, 3), f32 (3, 2); "), "{said}");
    let result = npy::read(workdir.path("c.npy")).unwrap();
    assert_eq!(result.as_slice::<f32>(), Some(&[4.0, 5.0, 10.0, 11.0][..]));
    workdir.refuses(&[&bound[..], &["--shape", "2x3"]].concat(), "by --shape or by --bind");
    workdir.refuses(&[PRODUCT, "--bind", "0=a.npy"], "add --bind 1=FILE");
    workdir.refuses(&["I", "--shape=2", "--dims", "i=2"], "are for .et programs");
}

#[test]
fn tuples() {
    let workdir = Workdir::new();
    let bound = ["mm.et", "--bind", "a=a.npy", "--bind", "b=b.npy", "--reps", "1"];
    let values = workdir.json(&[&bound[..], &["--out", "c=c.npy", "--threads", "1"]].concat());
    let value = &values[0];
    assert_eq!((&value["outputs"], &value["operations"]), (&"fresh".into(), &Value::Null));
    assert_eq!((&value["bytes"], &value["bytes_written"]), (&128.into(), &32.into()));
    let result = npy::read(workdir.path("c.npy")).unwrap();
    assert_eq!(result.as_slice::<f64>(), Some(&[4.0, 5.0, 10.0, 11.0][..]));
    assert!(workdir.prints(&bound).starts_with("a: f64 (2, 3), b: f64 (3, 2); "));
    workdir.refuses(&["mm.et", "--shape", "2x3"], "no --shape");
    workdir.refuses(&["mm.et"], "`a`");
}

/// Output for the lines of the standard input.
fn paced(workdir: &Workdir, args: &[&str], lines: &[&str]) -> (Vec<Value>, Option<i32>) {
    let mut command = workdir.command(&[args, &["--paced"]].concat());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut values = Vec::new();
    let mut next =
        || said.next().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    values.extend(next());
    for line in lines {
        writeln!(input, "{line}").unwrap();
        values.extend(next());
    }
    drop(input);
    (values, child.wait().unwrap().code())
}

#[test]
fn rounds_at_command() {
    let workdir = Workdir::new();
    let args = ["+i~.", "--shape", "100", "--dtype", "f32", "--threads", "1"];
    let (values, code) = paced(&workdir, &args, &["reused 0.001", "fresh 0", "reused 0"]);
    assert_eq!((values.len(), code), (4, Some(0)));
    assert_eq!((&values[0]["bytes"], &values[0]["threads"]), (&404.into(), &1.into()));
    assert_eq!((&values[1]["outputs"], &values[2]["outputs"]), (&"reused".into(), &"fresh".into()));
    assert!(values[1]["repetitions"].as_u64() >= values[2]["repetitions"].as_u64());
    assert!(values[1..].iter().all(|value| value["seconds"].as_f64().unwrap() > 0.0));
    let (values, code) = paced(&workdir, &args, &["soon"]);
    assert_eq!((values.len(), code), (1, Some(1)));
}

#[test]
fn the_machine_is_measured_once() {
    let workdir = Workdir::new();
    let origin = |cache: &str, more: &[&str]| {
        let args = [&["+i~.", "--shape", "9", "--reps", "1", "--json"][..], more].concat();
        let output = workdir.command(&args).env("IJK_CACHE", workdir.path(cache)).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let value: Value = serde_json::from_slice(&output.stdout).unwrap();
        value["probe"].as_str().unwrap().to_string()
    };
    assert_eq!(origin("cache", &[]), "measured");
    assert_eq!(origin("cache", &[]), "kept");
    assert_eq!(origin("cache", &["--probe"]), "measured");
    assert_eq!(origin("a.npy", &[]), "unkept");
}

#[test]
fn truth_values_have_no_peak() {
    let workdir = Workdir::new();
    let values = workdir.json(&["+i~.", "--shape=9", "--dtype=bool", "--reps=1"]);
    let value = &values[0];
    assert_eq!(
        (&value["peak_giga_operations_per_second"], &value["bound"]),
        (&Value::Null, &"memory".into())
    );
}
