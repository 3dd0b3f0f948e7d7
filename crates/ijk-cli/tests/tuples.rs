//! `ijk run` and `ijk check` of Einsum Tuple programs.

use ijk::file::npy;
use ijk::{Tensor, TensorView};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const VALID: &str = "\
input[ipos]  = RANDOM(0, 1, FLOAT)
filter[fpos] = RANDOM(0, 1, FLOAT)
output[opos] = filter[fpos] * input[opos+fpos]

output

RANK(ipos) IN [1,3]
DIMS(fpos) IN [1,3]
DIMS(ipos) IN [2,6]
DIMS(opos) = DIMS(ipos) - DIMS(fpos) + 1
";

struct Workdir(TempDir);

impl Workdir {
    fn new() -> Self {
        let workdir = Self(tempfile::tempdir().unwrap());
        workdir.write("valid.et", VALID);
        workdir.save("image.npy", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
        workdir.save("edge.npy", &[1.0, -1.0], &[1, 2]);
        workdir
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn save(&self, name: &str, elements: &[f64], shape: &[usize]) {
        npy::write(self.path(name), &TensorView::from_slice(elements, shape).unwrap()).unwrap();
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ijk"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null()).output().unwrap()
    }

    fn prints(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Message of a command that must fail with code 1 and write nothing.
    fn refuses(&self, args: &[&str]) -> String {
        self.ends_with(1, args)
    }

    /// Message of a command that must end with a code, print nothing and leave no file.
    fn ends_with(&self, code: i32, args: &[&str]) -> String {
        let files = || fs::read_dir(self.0.path()).unwrap().count();
        let before = files();
        let output = self.run(args);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {errors}");
        assert!(output.stdout.is_empty() && files() == before);
        errors
    }
}

#[test]
fn names_of_eintups_are_no_inputs() {
    let workdir = Workdir::new();
    workdir.write("late.et", "y[time] = time[c] * x[time]\n");
    let bound = ["late.et", "--bind", "x=edge.npy", "--bind", "time=edge.npy"];
    for command in ["run", "explain", "bench"] {
        let message = workdir.refuses(&[&[command], &bound[..]].concat());
        assert!(message.contains("`time[c]` is a component of that"), "{message}");
        assert!(message.contains("late.et:1:11"), "{message}");
    }
}

#[test]
fn ranks_follow_from_bound_arrays() {
    let workdir = Workdir::new();
    let run = ["run", "valid.et", "--bind", "input=image.npy", "--bind", "filter=edge.npy"];
    assert_eq!(workdir.prints(&run), "[[-1. -1.]\n [-1. -1.]]\n");
    let written = workdir.prints(&[&run[..], &["--out", "output=out.npy"]].concat());
    assert_eq!(written, "");
    let out = npy::read(workdir.path("out.npy")).unwrap();
    assert_eq!(out, Tensor::from_vec(vec![-1.0; 4], &[2, 2]).unwrap());
    let single = workdir.prints(&[&run[..], &["--dtype", "f32", "--json"]].concat());
    let single: serde_json::Value = serde_json::from_str(&single).unwrap();
    assert_eq!(single["results"][0]["name"], "output");
    assert_eq!(single["results"][0]["dtype"], "f32");
}

#[test]
fn random_data_is_that_of_the_seed() {
    let workdir = Workdir::new();
    let run = |more: &[&str]| workdir.prints(&[&["run", "valid.et"], more].concat());
    assert_eq!(run(&[]), run(&[]));
    assert_eq!(run(&["--seed", "7"]), run(&["--seed", "7", "--threads", "1"]));
    assert_ne!(run(&["--seed", "7"]), run(&["--seed", "8"]));
    let sized = ["--dims", "ipos=3,4", "--dims", "fpos=2,2", "--json"];
    let sized: serde_json::Value = serde_json::from_str(&run(&sized)).unwrap();
    assert_eq!(sized["results"][0]["shape"], serde_json::json!([2, 3]));
    let cube: serde_json::Value =
        serde_json::from_str(&run(&["--rank", "ipos=3", "--json"])).unwrap();
    assert_eq!(cube["results"][0]["shape"].as_array().unwrap().len(), 3);
}

#[test]
fn several_outputs_have_their_names() {
    let workdir = Workdir::new();
    workdir.write("two.et", "a[i] = i\nb[] = a[i]\n\na, b\n\nDIMS(i) = 3\n");
    assert_eq!(workdir.prints(&["run", "two.et"]), "a: [0 1 2]\nb: 3\n");
    workdir.prints(&["run", "two.et", "--out", "a=out.npz", "--out", "b=out.npz"]);
    let members = ijk::file::npz::read(workdir.path("out.npz")).unwrap();
    let names: Vec<_> = members.iter().map(|(name, _)| &name[..]).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn check_tells_what_it_found() {
    let workdir = Workdir::new();
    let text = workdir.prints(&["check", "valid.et"]);
    for said in ["input[ipos]", "output[opos]", "RANK(ipos) IN [1,3]", "DIMS(opos) ="] {
        assert!(text.contains(said), "{text}");
    }
    let json: serde_json::Value =
        serde_json::from_str(&workdir.prints(&["check", "valid.et", "--json"])).unwrap();
    assert_eq!(json["outputs"], serde_json::json!(["output"]));
    assert_eq!(json["arrays"][0]["bindable"], true);
}

#[test]
fn more_than_there_is_of_memory() {
    let workdir = Workdir::new();
    workdir.write("big.et", "x[i,j] = RANDOM(0, 1, FLOAT)\ny[i] = x[i,j]\n\ny\n");
    workdir.write("all.et", "x[i,j] = RANDOM(0, 1, FLOAT)\n");
    workdir.write("late.et", "n[i] = 3000000\nx[n[i],n[i]] = 1\n\nDIMS(i) = 2\n");
    let dims = ["--dims", "i=1000000", "--dims", "j=1000000", "--out"];
    let all = workdir.ends_with(2, &[&["run", "all.et"], &dims[..], &["x=x.npy"]].concat());
    assert!(all.contains("not enough memory: 8000000000000 bytes are needed"), "{all}");
    assert!(all.contains("all.et:1:1") && all.contains("[1000000, 1000000]"), "{all}");
    let late = workdir.ends_with(2, &["run", "late.et"]);
    assert!(late.contains("late.et:2:1") && late.contains("[3000001, 3000001]"), "{late}");
    let case = workdir.run(&["verify", "late.et"]);
    assert_eq!(case.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&case.stdout).contains("not enough memory"), "{case:?}");
}

#[test]
fn mistakes_are_quoted() {
    let workdir = Workdir::new();
    workdir.write("wrong.et", "x[i] = RANDOM(0, 1, FLOAT)\ny[i] = x[i,j]\n");
    for command in ["check", "run", "verify"] {
        let said = workdir.refuses(&[command, "wrong.et"]);
        assert!(said.contains("wrong.et:2") && said.contains("x[i,j]"), "{said}");
    }
    workdir.save("line.npy", &[1.0, 2.0], &[2]);
    let valid = |more: &[&str]| workdir.refuses(&[&["run", "valid.et"], more].concat());
    let conflict = valid(&["--bind", "input=image.npy", "--bind", "filter=line.npy"]);
    assert!(conflict.contains("valid.et:"), "{conflict}");
    assert!(valid(&["--bind", "nothing=image.npy"]).contains("input, filter"));
    assert!(valid(&["--bind", "input=image.npy", "--bind", "input=edge.npy"]).contains("twice"));
    assert!(valid(&["--bind", "input=missing.npy"]).contains("missing.npy"));
    assert!(valid(&["--out", "filter=f.npy"]).contains("named output"));
    assert!(valid(&["--rank", "ipos"]).contains("ipos=2"));
    assert!(valid(&["--dims", "ipos=x"]).contains("stride=2,2"));
    let rank = valid(&["--rank", "ipos=7"]);
    assert!(rank.contains("valid.et:1:7") && rank.contains("| RANK(ipos) IN [1,3]"), "{rank}");
    assert!(valid(&["--rank", "ipos=17"]).contains("ranks go up to 9"));
    assert!(valid(&["--rank", "ipos=1", "--rank", "ipos=2"]).contains("`ipos` twice"));
    assert!(valid(&["--dims", "ipos=9", "--dims", "ipos=9"]).contains("`ipos` twice"));
    workdir.write("three.et", "\u{feff}x[a] = a\n\nDIMS(a) = 3\n");
    assert_eq!(workdir.prints(&["run", "three.et"]), "[0 1 2]\n");
    let fixed = workdir.refuses(&["run", "three.et", "--dims", "a=4"]);
    assert!(fixed.contains("`DIMS(a) = 3` gives 3\n"), "{fixed}");
    assert!(valid(&["--dims", "nobody=3"]).contains("nobody"));
}
