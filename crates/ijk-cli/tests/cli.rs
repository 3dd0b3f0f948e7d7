//! The commands from outside: what they print, where they write, how they fail.

use ijk::file::{npy, npz};
use ijk::{Tensor, TensorView};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A directory with some arrays and programs, where commands run.
struct Workdir(TempDir);

impl Workdir {
    fn new() -> Self {
        let workdir = Self(tempfile::tempdir().unwrap());
        workdir.save("a.npy", vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0], &[2, 3]);
        workdir.save("b.npy", vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0], &[3, 2]);
        workdir.save("v.npy", vec![1.0, 3.0], &[2]);
        fs::write(workdir.path("mm.ijk"), "mm: m.a\nm: ik*kj~ijk\na: +ijk~ij\nmm\n").unwrap();
        fs::write(workdir.path("two.ijk"), "I & +i~.").unwrap();
        workdir
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn save<T: ijk::Element>(&self, name: &str, elements: Vec<T>, shape: &[usize]) {
        let view = TensorView::from_slice(&elements, shape).unwrap();
        npy::write(self.path(name), &view).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ijk"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        command.env("IJK_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
        command
    }

    fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// Output of a command that must succeed.
    fn prints(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Messages of a command that must succeed.
    fn says(&self, args: &[&str]) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.prints(args)).unwrap()
    }

    /// Asserts that a command fails with code 1 and that message, and leaves the directory unchanged.
    fn refuses(&self, args: &[&str], said: &[&str]) {
        let before = self.files();
        let output = self.run(args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {errors}");
        assert!(output.stdout.is_empty());
        said.iter().for_each(|said| assert!(errors.contains(said), "{args:?}: {errors}"));
        assert_eq!(self.files(), before);
    }

    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let entries = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().path());
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        let mut files: Vec<_> =
            entries.map(|path| (name(&path), fs::read(&path).unwrap_or_default())).collect();
        files.sort();
        files
    }
}

const PRODUCT: &str = "ik*kj~ijk . +ijk~ij";

fn product() -> Tensor {
    Tensor::from_vec(vec![10.0, 13.0, 28.0, 40.0], &[2, 2]).unwrap()
}

#[test]
fn eval_prints() {
    let workdir = Workdir::new();
    assert_eq!(workdir.prints(&["eval", PRODUCT, "a.npy", "b.npy"]), "[[10. 13.]\n [28. 40.]]\n");
    assert_eq!(workdir.prints(&["eval", "+i~.", "v.npy"]), "4.0\n");
    assert_eq!(workdir.prints(&["eval", "i>2~i", "v.npy", "--dtype", "i32"]), "[2 3]\n");
    assert_eq!(workdir.prints(&["eval", "I & +i~.", "v.npy"]), "0: [1. 3.]\n1: 4.0\n");
}

#[test]
fn eval_warns_of_letters_that_only_the_output_has() {
    let workdir = Workdir::new();
    let warning = workdir.says(&["eval", "ij~ijk", "a.npy"]);
    assert!(warning.contains("only the output has the letter `k`: its extent is 1"), "{warning}");
    assert!(workdir.says(&["eval", "ij~ijk{1}", "a.npy"]).is_empty());
}

#[test]
fn eval_writes() {
    let workdir = Workdir::new();
    let said = workdir.says(&["eval", PRODUCT, "a.npy", "b.npy", "-o", "c.npy"]);
    assert!(said.starts_with("f64 (2, 2) in ") && said.ends_with(" -> c.npy\n"), "{said}");
    assert_eq!(npy::read(workdir.path("c.npy")).unwrap(), product());
    workdir.prints(&["eval", "I & +i~.", "v.npy", "-o", "x.npy", "-o", "y.npz"]);
    assert_eq!(
        npy::read(workdir.path("x.npy")).unwrap(),
        npy::read(workdir.path("v.npy")).unwrap()
    );
    assert_eq!(npz::read(workdir.path("y.npz")).unwrap()[0].0, "1");
    workdir.prints(&["eval", "-i~i", "v.npy", "-o", "v.npy"]);
    assert_eq!(npy::read(workdir.path("v.npy")).unwrap().as_slice(), Some(&[-1.0, -3.0][..]));
}

#[test]
fn members_of_archives() {
    let workdir = Workdir::new();
    let two = "I & +i~.";
    workdir.prints(&["eval", two, "v.npy", "-o", "z.npz:all", "-o", "z.npz:sum"]);
    assert_eq!(workdir.prints(&["eval", "i~i", "z.npz:all"]), "[1. 3.]\n");
    workdir.refuses(&["eval", "i~i", "z.npz"], &["z.npz: the archive has 2 arrays", "`z.npz:all`"]);
    workdir.refuses(&["eval", "i~i", "z.npz:none"], &["has no array `none`; it has `all`, `sum`"]);
    workdir.refuses(&["eval", two, "v.npy", "-o", "q.npz:x", "-o", "q.npz:x"], &["both go there"]);
}

#[test]
fn members_are_put_into_an_archive_that_is_there() {
    let workdir = Workdir::new();
    let names = || {
        let all = npz::read(workdir.path("z.npz")).unwrap();
        all.into_iter().map(|(name, array)| (name, array.len())).collect::<Vec<_>>()
    };
    let named = |all: &[(&str, usize)]| {
        all.iter().map(|(name, count)| (name.to_string(), *count)).collect::<Vec<_>>()
    };
    workdir.prints(&["eval", "I & +i~.", "v.npy", "-o", "z.npz:all", "-o", "z.npz:sum"]);
    workdir.prints(&["eval", "I & +i~.", "v.npy", "-o", "z.npz:new", "-o", "z.npz:all"]);
    assert_eq!(names(), named(&[("sum", 1), ("new", 2), ("all", 1)]));
    // An argument of the same archive.
    workdir.prints(&["eval", "i+1~i", "z.npz:new", "-o", "./z.npz:new"]);
    assert_eq!(names(), named(&[("sum", 1), ("all", 1), ("new", 2)]));
    // An output without a member replaces the archive.
    workdir.prints(&["eval", "I", "v.npy", "-o", "z.npz"]);
    assert_eq!(names(), named(&[("0", 2)]));
    // Several commands at once.
    let adds = |n: usize| {
        let out = format!("z.npz:m{n}");
        workdir.prints(&["eval", "I", "v.npy", "-o", &out]);
    };
    std::thread::scope(|scope| {
        (0..6).for_each(|n| {
            drop(scope.spawn({
                let adds = &adds;
                move || adds(n)
            }))
        })
    });
    let mut all = names();
    all.sort();
    let expected = ["0", "m0", "m1", "m2", "m3", "m4", "m5"].map(|name| (name.to_string(), 2));
    assert_eq!(all, expected);
    for bad in ["zip?", ""] {
        std::fs::write(workdir.path("bad.npz"), bad).unwrap();
        let said = ["bad.npz: not a readable .npz archive"];
        workdir.refuses(&["eval", "I", "v.npy", "-o", "bad.npz:x"], &said);
        assert_eq!(std::fs::read(workdir.path("bad.npz")).unwrap(), bad.as_bytes());
    }
}

#[test]
fn run_binds_by_position() {
    let workdir = Workdir::new();
    let bound = ["run", "mm.ijk", "--bind", "1=b.npy", "--bind", "0=a.npy"];
    assert_eq!(workdir.prints(&bound), "[[10. 13.]\n [28. 40.]]\n");
    workdir.prints(&[&bound[..], &["--out", "0=c.npy", "--threads", "1"]].concat());
    assert_eq!(npy::read(workdir.path("c.npy")).unwrap(), product());
    let two = ["run", "two.ijk", "--bind", "0=v.npy", "--out", "1=s.npy"];
    assert_eq!(workdir.prints(&two), "0: [1. 3.]\n");
    assert!(workdir.says(&two).starts_with("1: f64 () in "));
}

#[test]
fn json() {
    let workdir = Workdir::new();
    let value = workdir.json(&["eval", PRODUCT, "a.npy", "b.npy", "--json"]);
    let result = &value["results"][0];
    assert_eq!(result["data"], serde_json::json!([10.0, 13.0, 28.0, 40.0]));
    assert_eq!((&result["dtype"], &result["shape"]), (&"f64".into(), &serde_json::json!([2, 2])));
    assert!(value["seconds"].as_f64().is_some());
    let value = workdir.json(&["check", "mm.ijk", "--json"]);
    assert_eq!(value["inputs"][1]["rank"], 2);
    let shapes = ["--shape", "8x4", "--shape", "4x2"];
    let value = workdir.json(&[&["explain", PRODUCT, "--json"][..], &shapes].concat());
    assert_eq!(value["operations"], 2 * 8 * 4 * 2);
    assert_eq!((&value["bytes_read"], &value["bytes_written"]), (&320.into(), &128.into()));
}

#[test]
fn check_prints_the_signature() {
    let workdir = Workdir::new();
    let said = workdir.prints(&["check", "mm.ijk"]);
    assert!(said.starts_with("input 0 (argument 1): rank 2, T\ninput 1 (argument 2): rank 2, T\noutput 0 (result 1): rank 2, T"));
    assert!(
        workdir.prints(&["check", "@argmax ij~i"]).contains("output 0 (result 1): rank 1, i64")
    );
    assert!(workdir.prints(&["check", "I"]).contains("input 0 (argument 1): any rank, T"));
}

#[test]
fn explain_plans_for_machines_on_paper() {
    let workdir = Workdir::new();
    let side = "--shape=1000000x1000000";
    let base = ["explain", "+(ik*kj)~ij", side, side, "--dtype=f32", "--machines=1000"];
    let with =
        |more: &[&str]| workdir.json(&[&base[..], &["--block=4096", "--json"], more].concat());
    let plain = with(&[]);
    let stage = &plain["results"][0]["stages"][0];
    assert_eq!(stage["operations"], 2e18);
    assert_eq!(stage["grid"], serde_json::json!({ "machines": [31, 31], "workers": [1, 1] }));
    // Workers of a machine share what comes to it.
    let workers = with(&["--workers=8"]);
    let eight = &workers["results"][0]["stages"][0];
    assert_eq!(eight["grid"]["machines"], stage["grid"]["machines"]);
    let moved = |stage: &Value| stage["moved"]["most"].as_f64().unwrap();
    assert!((moved(eight) / moved(stage) - 1.0).abs() < 1e-9);
    assert!(eight["bound"]["ratio"].as_f64().unwrap() < 3.0);
    // Twice the network speed halves the time; less memory means more traffic.
    let seconds = |of: &Value| of["results"][0]["stages"][0]["network_seconds"].as_f64().unwrap();
    let fast = with(&["--bandwidth=2.5"]);
    assert!((seconds(&plain) / seconds(&fast) - 2.0).abs() < 1e-9);
    let small = with(&["--memory=2GiB"]);
    assert!(seconds(&small) > 1.5 * seconds(&plain));
    assert!(small["results"][0]["memory"].as_f64().unwrap() <= 2.0 * 1024f64.powi(3));

    let said = workdir.prints(&[&base[..], &["--block=4096x.", "--block=.x4096"]].concat());
    assert!(said.contains("60025 blocks of 1 panel"), "{said}");
    assert!(said.contains("times that"), "{said}");
    workdir.refuses(&base, &["no --block is given"]);
    workdir
        .refuses(&[&base[..], &["--block=4x4x4"]].concat(), &["argument 1: --block names 3 axes"]);
    let clash = [&base[..], &["--block=4096", "--block=1000"]].concat();
    workdir.refuses(
        &clash,
        &["index `k` has blocks of 4096 on axis 1 of u but of 1000 on axis 0 of v"],
    );
    let odd = ["explain", "+(ik*kj)~ij", side, "--shape=9x9", "--machines=2", "--block=4"];
    workdir.refuses(&odd, &["letter `k` is 1000000 on axis 1"]);
}

#[test]
fn explain_prints_the_plan() {
    let workdir = Workdir::new();
    let shapes = ["--shape", "64x64", "--shape", "64x64"];
    let said = workdir.prints(&[&["explain", "mm.ijk", "--dtype", "f32"][..], &shapes].concat());
    for part in ["contract", "f32", "524288 operations"] {
        assert!(said.contains(part), "{said}");
    }
    let one = ["explain", "mm.ijk", "--shape", "8x4"];
    workdir.refuses(&one, &["2 arguments, but --shape is given 1 time"]);
    let clash = ["explain", PRODUCT, "--shape", "8x4", "--shape", "5x2"];
    let said = "letter `k` is 4 on axis 1 of argument 1 but 5 on axis 0 of argument 2";
    workdir.refuses(&clash, &[said]);
    let pick = ["explain", "@where(i,i,i)~i", "--shape=2", "--shape=2", "--shape=2", "--dtype=f64"];
    let fitting = "`--dtype bool --dtype f64 --dtype f64` would fit";
    workdir.refuses(&pick, &["argument 1 is f64, but must be bool", fitting]);
}

#[test]
fn deps_draws_sets() {
    let workdir = Workdir::new();
    let product = ["deps", PRODUCT, "--shape", "2x3", "--shape", "3x4", "--at"];
    let at = |point: &'static str| [&product[..], &[point]].concat();
    let expected = "output 0 (result 1) at (1, 2) depends on\n\
                    input 0 (argument 1): {(1, k) : k in 0..3}, 3 of 6 elements\n  . . .\n  # # #\n\
                    input 1 (argument 2): {(k, 2) : k in 0..3}, 3 of 12 elements\n\
                    \x20 . . # .\n  . . # .\n  . . # .\n";
    assert_eq!(workdir.prints(&at("1,2")), expected);
    let value = workdir.json(&[&at("0,0")[..], &["--json"]].concat());
    assert_eq!(value["inputs"][1]["points"], serde_json::json!([[0, 0], [1, 0], [2, 0]]));
    let reached = workdir.prints(&[&at("1,0")[..], &["--input", "0"]].concat());
    assert!(
        reached.starts_with("input 0 (argument 1) at (1, 0) reaches\noutput 0 (result 1): "),
        "{reached}"
    );
    assert!(reached.ends_with("4 of 8 elements\n  . . . .\n  # # # #\n"), "{reached}");
    workdir.refuses(&at("1,4"), &["--at is 4 on axis 1, where output 0 (result 1) has extent 4"]);
    workdir.refuses(
        &at("1"),
        &["output 0 (result 1) has rank 2 (shape (2, 4)), but --at has 1 index"],
    );
    workdir.refuses(&[&at("0,0")[..], &["--output", "1"]].concat(), &["there is no output 1"]);
    let sum = workdir.prints(&["deps", "+i~.", "--shape", "3", "--at", "."]);
    assert!(sum.ends_with("  # # #\n"), "{sum}");
}

#[test]
fn programs_that_are_wrong() {
    let workdir = Workdir::new();
    workdir.refuses(&["eval", "ij~i", "a.npy"], &["`j`", "^", "+ij~i"]);
    workdir.refuses(&["eval", "@nope i~i", "v.npy"], &["@nope", " --> expression:1:1"]);
    fs::write(workdir.path("bad.ijk"), "m: ij~ji\nm . q\n").unwrap();
    workdir.refuses(&["check", "bad.ijk"], &["bad.ijk:2:5", "`q`"]);
    fs::write(workdir.path("long.ijk"), "a".repeat(10_000_000)).unwrap();
    workdir.refuses(&["check", "long.ijk"], &["unknown name `aaa"]);
    let said = workdir.run(&["check", "long.ijk"]).stderr.len();
    assert!(said < 10_000, "{said} bytes");
    fs::write(workdir.path("latin.ijk"), b"\xe9~\xe9").unwrap();
    workdir.refuses(&["check", "latin.ijk"], &["latin.ijk: is not text in UTF-8"]);
    workdir.refuses(&["check", "absent.ijk"], &["absent.ijk: no such file"]);
    fs::create_dir(workdir.path("dir.ijk")).unwrap();
    workdir.refuses(&["run", "dir.ijk"], &["dir.ijk: is a directory"]);
}

#[test]
fn arguments_that_do_not_fit() {
    let workdir = Workdir::new();
    workdir.save("f.npy", vec![1f32; 6], &[3, 2]);
    let types = "argument 1 is f64 but argument 2 is f32";
    workdir.refuses(&["eval", PRODUCT, "a.npy", "f.npy"], &[types]);
    workdir.refuses(&["eval", PRODUCT, "a.npy", "a.npy"], &["letter `k` is 3 on axis 1"]);
    workdir.refuses(&["eval", PRODUCT, "a.npy", "v.npy"], &["rank"]);
    workdir.refuses(&["eval", PRODUCT, "a.npy"], &["has 2 arguments, but 1 file is given"]);
    workdir.refuses(&["eval", "i~i"], &["has 1 argument, but no files are given"]);
    workdir.refuses(&["eval", "i~i", "v.npy", "-o", "x", "-o", "y"], &["1 result, but 2 -o are"]);
    workdir.refuses(
        &["run", "mm.ijk", "--bind", "0=a.npy"],
        &["input 1 (argument 2) of", "--bind 1=FILE"],
    );
    workdir.refuses(&["run", "mm.ijk", "--bind", "x=a.npy"], &["no input `x`", "named 0, 1"]);
    workdir.save("n.npy", vec![1, 0], &[2]);
    workdir.refuses(&["eval", "1/i~i", "n.npy", "-o", "q.npy"], &["division by zero"]);
}

#[test]
fn files_that_are_wrong() {
    let workdir = Workdir::new();
    let eval = |file: &str, said: &[&str]| workdir.refuses(&["eval", "i~i", file], said);
    fs::write(workdir.path("empty.npy"), "").unwrap();
    eval("empty.npy", &["empty.npy: not a .npy file: it is empty"]);
    eval("none.npy", &["none.npy: cannot read: no such file"]);
    fs::create_dir(workdir.path("dir.npy")).unwrap();
    eval("dir.npy", &["dir.npy: is a directory"]);
    fs::write(workdir.path("text.npy"), "1,2,3").unwrap();
    eval("text.npy", &["text.npy: not a .npy file", "byte 0"]);
    let mut bytes = fs::read(workdir.path("v.npy")).unwrap();
    fs::write(workdir.path("cut.npy"), &bytes[..bytes.len() - 3]).unwrap();
    eval("cut.npy", &["cut.npy: truncated: 16 bytes of data", "13 follow", "byte 141"]);
    let at = bytes.windows(3).position(|w| w == b"<f8").unwrap();
    bytes[at..at + 3].copy_from_slice(b"<M8");
    fs::write(workdir.path("times.npy"), bytes).unwrap();
    eval("times.npy", &["\"<M8\" are not supported"]);
    fs::write(workdir.path("bad.npz"), "zip?").unwrap();
    eval("bad.npz", &["bad.npz: not a readable .npz archive"]);
}

#[test]
fn outputs_are_all_or_none() {
    let workdir = Workdir::new();
    let two = ["eval", "I & +i~.", "v.npy", "-o", "x.npy", "-o"];
    let into = |file: &'static str| [&two[..], &[file]].concat();
    workdir.refuses(&into("x.npy"), &["x.npy: outputs 0 and 1 both go there"]);
    workdir.refuses(&into("./x.npy"), &["both go there"]);
    workdir.refuses(&into("none/y.npy"), &["none/y.npy: cannot write: no such file or directory"]);
    fs::create_dir(workdir.path("dir")).unwrap();
    workdir.refuses(&into("dir"), &["dir: is a directory"]);
}

#[test]
fn the_command_line_itself() {
    let workdir = Workdir::new();
    for args in [&["frob"][..], &[], &["eval"], &["eval", "i~i", "--dtype", "u7"]] {
        assert_eq!(workdir.run(args).status.code(), Some(2), "{args:?}");
    }
    assert!(workdir.prints(&["--help"]).contains("Exit codes"));
    for command in ["run", "eval", "check", "explain", "deps", "bench"] {
        let help = workdir.prints(&[command, "--help"]);
        assert!(help.contains(&format!("\n  ijk {command} ")), "{help}");
        assert_eq!(workdir.run(&[command, "--frob"]).status.code(), Some(2), "{command}");
    }
    assert!(workdir.prints(&["--version"]).starts_with("ijk "));
}

#[test]
fn more_than_there_is_of_memory() {
    let workdir = Workdir::new();
    let huge = "i~ij{99999999999}";
    for args in [["eval", huge, "v.npy"], ["bench", huge, "--shape=2"]] {
        let output = workdir.run(&args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains("not enough memory"), "{errors}");
    }
}

#[test]
fn memory_is_limited() {
    let workdir = Workdir::new();
    workdir.save("row.npy", vec![1.0; 1000], &[1000]);
    fs::write(workdir.path("outer.ijk"), "(I & I) . i*j~ij").unwrap();
    fs::write(workdir.path("outer.et"), "x[i] = RANDOM(0, 1, FLOAT)\ny[i,j] = x[i] * x[j]\n\ny\n")
        .unwrap();
    let shape = "--shape=1000";
    let dims = ["run", "outer.et", "--dims=i=1000", "--dims=j=1000", "--out=y=y.npy"];
    let commands = [
        &["eval", "(I & I) . i*j~ij", "row.npy", "-o", "y.npy"][..],
        &["run", "outer.ijk", "--bind=0=row.npy", "--out=0=y.npy"],
        &["bench", "(I & I) . i*j~ij", shape, "--reps=1"],
        &["explain", "(I & I) . i*j~ij", shape],
        &dims,
    ];
    for command in commands {
        let limited = |limit: &str| {
            let args: Vec<&str> = [command, &["--memory", limit]].concat();
            workdir.run(&args)
        };
        let output = limited("5MB");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {errors}");
        assert!(errors.contains("the memory limit is 5000000 bytes"), "{command:?}: {errors}");
        let needed = errors.split("needs ").nth(1).and_then(|text| text.split(' ').next());
        let needed: u64 = needed.and_then(|n| n.parse().ok()).expect("a number");
        assert!((8_000_000..9_000_000).contains(&needed), "{errors}");
        assert!(!workdir.path("y.npy").exists());
        let output = limited(&needed.to_string());
        assert!(output.status.success(), "{output:?}");
        let output = limited("12MiB");
        assert!(output.status.success(), "{output:?}");
        let _ = fs::remove_file(workdir.path("y.npy"));
        let output = limited("5 lots");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
}

#[test]
fn blocks_are_counted_for_each_thread() {
    let workdir = Workdir::new();
    let softmax = "(I & >ij~i) . ij-i~ij . ^ij~ij . (I & +ij~i) . ij/i~ij";
    let explain = |more: &[&str]| {
        workdir.prints(&[&["explain", softmax, "--shape=4096x4096"][..], more].concat())
    };
    let bytes = |more: &[&str]| {
        let said: Value = serde_json::from_str(&explain(&[more, &["--json"]].concat())).unwrap();
        said["bytes_of_temporaries"].as_u64().unwrap()
    };
    let one = bytes(&["--threads=1"]);
    assert_eq!(bytes(&["--threads=3"]), 3 * one);
    assert!(explain(&["--threads=3"]).contains(" with 3 threads, whose blocks have their own"));
    assert!(!explain(&["--threads=1"]).contains("have their own"));
    // A limit leaves room for fewer.
    let results = 8 * 4096 * 4096;
    let limit = format!("{}", results + 2 * one);
    assert_eq!(bytes(&["--threads=3", "--memory", &limit]), 2 * one);
}

#[test]
fn the_environment_chooses_the_instructions() {
    let workdir = Workdir::new();
    let level = |level: &str, args: &[&str]| {
        workdir.command(args).env("IJK_LEVEL", level).output().unwrap()
    };
    for name in ijk::Level::available().iter().map(|level| level.name()) {
        let output = level(name, &["eval", "+ij~j", "a.npy"]);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "[3. 5. 7.]\n", "{name}: {output:?}");
    }
    fs::write(workdir.path("x.et"), "x[i] = RANDOM(0, 1, FLOAT)\n").unwrap();
    for wrong in ["avx1024", "AVX2", ""] {
        for args in [
            &["eval", "+ij~j", "a.npy"][..],
            &["bench", "i~i", "--shape=2"],
            &["run", "two.ijk", "--bind", "0=v.npy"],
            &["run", "x.et"],
        ] {
            let output = level(wrong, args);
            let errors = String::from_utf8_lossy(&output.stderr);
            let said = format!("IJK_LEVEL: `{wrong}` is no SIMD level: this machine has portable");
            assert_eq!(output.status.code(), Some(2), "{errors}");
            assert!(errors.contains(&said), "{errors}");
        }
    }
    assert!(workdir.prints(&["--help"]).contains("IJK_LEVEL"));
}

#[test]
fn nobody_reads_the_output() {
    let workdir = Workdir::new();
    workdir.save("big.npy", vec![1.0; 200_000], &[200_000]);
    let mut command = workdir.command(&["eval", "i~i", "big.npy", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}
