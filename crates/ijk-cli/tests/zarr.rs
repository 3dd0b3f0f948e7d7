//! Programs on Zarr arrays, from outside.
#![cfg(feature = "zarr")]

use ijk::blocks::{BigTensor, Executor, ZarrOptions};
use ijk::file::npy;
use ijk::{Tensor, TensorView};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A directory with a matrix as `a.npy`, and as `a.zarr` in blocks.
struct Workdir(TempDir);

const N: usize = 20;

impl Workdir {
    fn new() -> Self {
        let workdir = Self(tempfile::tempdir().unwrap());
        let values: Vec<f64> = (0..N * N).map(|n| (n * 7 % 11) as f64 - 5.0).collect();
        let view = TensorView::from_slice(&values, &[N, N]).unwrap();
        npy::write(workdir.path("a.npy"), &view).unwrap();
        let a = BigTensor::lit(values, [N, N], [Some(8), Some(8)]).unwrap();
        Executor::new().save(&a, workdir.path("a.zarr"), &ZarrOptions::new()).unwrap();
        fs::write(workdir.path("mm.ijk"), "ik*kj~ijk . +ijk~ij\n").unwrap();
        fs::write(workdir.path("two.ijk"), "I & +ij~i").unwrap();
        workdir
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ijk"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        command.env("IJK_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
        command.output().unwrap()
    }

    /// Output and messages of a command that must succeed.
    fn prints(&self, args: &[&str]) -> (String, String) {
        let output = self.run(args);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{args:?}: {errors}");
        (String::from_utf8(output.stdout).unwrap(), errors)
    }

    /// Asserts that a command fails with that message and changes nothing.
    fn refuses(&self, args: &[&str], said: &str) {
        let before = files(self.0.path());
        let output = self.run(args);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{args:?}: {errors}");
        assert!(errors.contains(said), "{args:?}: {errors}");
        assert!(files(self.0.path()) == before, "{args:?} changed files");
    }

    fn array(&self, name: &str) -> Tensor {
        match name.ends_with("zarr") {
            true => {
                let block = BigTensor::open(self.path(name)).unwrap().collect().unwrap();
                block.as_numbers().unwrap().clone()
            }
            false => npy::read(self.path(name)).unwrap(),
        }
    }
}

/// All files with their bytes.
fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut all, mut left) = (Vec::new(), vec![directory.to_path_buf()]);
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => left.push(path),
                false => all.push((path.clone(), fs::read(&path).unwrap())),
            }
        }
    }
    all.sort();
    all
}

#[test]
fn commands_run_on_zarr_arrays() {
    let workdir = Workdir::new();
    workdir.prints(&["einsum", "ik,kj->ij", "a.npy", "a.npy", "-o", "c.npy"]);
    let expected = workdir.array("c.npy");
    let product = "ik*kj~ijk . +ijk~ij";
    let commands: [&[&str]; 6] = [
        &[
            "run",
            "mm.ijk",
            "--bind",
            "0=a.zarr",
            "--bind",
            "1=a.zarr",
            "--out",
            "0=r.zarr",
            "--workers",
            "2",
        ],
        &["eval", product, "a.zarr", "a.npy", "-o", "r.zarr", "--memory", "10kB"],
        &["eval", product, "a.npy", "a.npy", "-o", "r.zarr", "--block", "8x.", "--block", ".x8"],
        &[
            "einsum",
            "ik,kj->ij",
            "a.zarr",
            "a.zarr",
            "-o",
            "r.zarr",
            "--compress",
            "zstd",
            "--threads",
            "2",
        ],
        &["eval", product, "a.zarr", "a.zarr", "-o", "r.npy"],
        &["einsum", "ik,kj->ij", "a.zarr", "a.npy", "-o", "r.npy", "--workers", "3"],
    ];
    for command in commands {
        let (printed, said) = workdir.prints(command);
        let result = if command.contains(&"r.npy") { "r.npy" } else { "r.zarr" };
        assert_eq!(workdir.array(result), expected, "{command:?}");
        assert_eq!(printed, "");
        assert!(said.contains(" blocks in ") && said.contains(" GF/s, "), "{said}");
        assert!(said.contains("\nf64 (20, 20) in ") && said.ends_with(&format!("-> {result}\n")));
        let _ = fs::remove_dir_all(workdir.path("r.zarr"));
    }
}

#[test]
fn results_are_printed_and_written_side_by_side() {
    let workdir = Workdir::new();
    let (printed, said) =
        workdir.prints(&["run", "two.ijk", "--bind", "0=a.zarr", "--out", "0=copy.zarr"]);
    assert!(said.contains("\n0: f64 (20, 20) in "), "{said}");
    assert!(printed.starts_with("1: ["), "{printed}");
    assert_eq!(workdir.array("copy.zarr"), workdir.array("a.npy"));
    let (printed, _) = workdir.prints(&["eval", "+ij~.", "a.zarr", "--dtype", "f32", "--json"]);
    let sum: f64 = workdir.array("a.npy").as_slice::<f64>().unwrap().iter().sum();
    let json: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(
        (&json["results"][0]["dtype"], &json["results"][0]["data"][0]),
        (&"f32".into(), &sum.into())
    );
    let (path, _) =
        workdir.prints(&["einsum", "ij,jk,kl->il", "a.zarr", "a.zarr", "a.zarr", "--path"]);
    assert!(path.contains("as written        3.200e5 multiplications"), "{path}");
}

#[test]
fn the_same_command_continues() {
    let workdir = Workdir::new();
    let command = ["einsum", "ik,kj->ij", "a.zarr", "a.zarr", "-o", "r.zarr"];
    let (_, said) = workdir.prints(&command);
    assert!(said.starts_with("9 blocks in "), "{said}");
    let expected = workdir.array("r.zarr");
    let (_, said) = workdir.prints(&command);
    let nothing = "nothing to do: all results are complete (9 blocks from earlier runs)\n";
    assert!(said.starts_with(nothing), "{said}");
    // As if it had been stopped.
    let manifest = workdir.path("r.zarr/.ijk/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"complete\": true", "\"complete\": false")).unwrap();
    fs::remove_file(workdir.path("r.zarr/c/0/2")).unwrap();
    fs::remove_file(workdir.path("r.zarr/c/2/2")).unwrap();
    let other = ["einsum", "ik,jk->ij", "a.zarr", "a.zarr", "-o", "r.zarr"];
    workdir.refuses(&other, "it holds another computation's result: its program was");
    workdir.refuses(&other, "to replace it, add --fresh");
    let (_, said) = workdir.prints(&[&command[..], &["--workers", "2"]].concat());
    assert!(
        said.contains("(7 blocks from earlier runs; 2 were gone or damaged, and computed again)")
            && said.starts_with("2 blocks in "),
        "{said}"
    );
    assert_eq!(workdir.array("r.zarr"), expected);
    workdir.prints(&[&other[..], &["--fresh"]].concat());
    assert!(workdir.array("r.zarr") != expected);
}

#[test]
fn a_complete_result_is_looked_at_again() {
    let workdir = Workdir::new();
    let command = ["eval", "ij*2~ij", "a.zarr", "-o", "r.zarr", "--compress", "zstd"];
    workdir.prints(&command);
    let expected = files(&workdir.path("r.zarr/c"));
    for processes in [&[][..], &["--processes", "2", "--workers", "1"]] {
        for damage in [0, 7] {
            let chunk = workdir.path("r.zarr/c/1/1");
            fs::write(&chunk, vec![0; damage]).unwrap();
            let (_, said) = workdir.prints(&[&command[..], processes].concat());
            let text = "(8 blocks from earlier runs; 1 was gone or damaged, and computed again)";
            assert!(said.starts_with("1 block in ") && said.contains(text), "{said}");
            assert!(files(&workdir.path("r.zarr/c")) == expected);
        }
    }
}

#[test]
fn results_that_are_not_finished_are_no_arguments() {
    let workdir = Workdir::new();
    let command = ["einsum", "ik,kj->ij", "a.zarr", "a.zarr", "-o", "r.zarr", "--fresh"];
    workdir.prints(&command);
    let manifest = workdir.path("r.zarr/.ijk/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"complete\": true", "\"complete\": false")).unwrap();
    let said = "r.zarr: it is not finished: 9 of 9 blocks are written; \
                `ijk einsum 'ik,kj->ij' a.zarr a.zarr -o r.zarr` finishes it; \
                to read what there is, add --partial";
    for reads in [
        &["eval", "+ij~.", "r.zarr"][..],
        &["einsum", "ij,jk->ik", "a.zarr", "r.zarr"],
        &["eval", "ij~ij", "r.zarr", "-o", "copy.zarr"],
    ] {
        workdir.refuses(reads, said);
        workdir.prints(&[reads, &["--partial"]].concat());
    }
    workdir.prints(&command[..6]);
    workdir.prints(&["eval", "+ij~.", "r.zarr"]);
    workdir.refuses(&["eval", "+ij~.", "a.npy", "--partial"], "--partial is for Zarr arrays");
}

#[cfg(unix)]
#[test]
fn inputs_behind_links_are_known_again_and_their_changes_noticed() {
    use std::os::unix::fs::symlink;
    let workdir = Workdir::new();
    fs::rename(workdir.path("a.zarr/c"), workdir.path("data")).unwrap();
    symlink(workdir.path("data"), workdir.path("a.zarr/c")).unwrap();
    let command = ["eval", "ij*2~ij", "a.zarr", "-o", "r.zarr"];
    workdir.prints(&command);
    let (_, said) = workdir.prints(&command);
    assert!(said.starts_with("nothing to do"), "{said}");
    let chunk = workdir.path("data/1/1");
    fs::write(&chunk, fs::read(&chunk).unwrap()).unwrap();
    workdir.refuses(&command, "input 0, a.zarr, has changed");
}

#[test]
fn what_cannot_be_done_is_said_and_nothing_is_touched() {
    let workdir = Workdir::new();
    fs::create_dir(workdir.path("other.zarr")).unwrap();
    fs::write(workdir.path("other.zarr/file"), "mine").unwrap();
    let cases: [(&[&str], &str); 10] = [
        (&["eval", "ij~ji", "none.zarr"], "none.zarr: no such directory"),
        (&["eval", "ij~ji", "other.zarr"], "other.zarr: it is no Zarr array: it has no zarr.json"),
        (
            &["eval", "ij~ji", "a.zarr", "-o", "other.zarr"],
            "other.zarr: it exists already; to replace it, add --fresh",
        ),
        (
            &["eval", "ij~ji", "a.zarr", "-o", "other.zarr", "--fresh"],
            "other.zarr: it is no Zarr array",
        ),
        (
            &["eval", "ij~ji", "a.zarr", "-o", "a.zarr", "--fresh"],
            "a.zarr: it is an input of the computation",
        ),
        (
            &["eval", "ij~ji", "a.npy", "--block", "4"],
            "--block is for Zarr arrays, but no argument or result is one",
        ),
        (
            &["eval", "ij~ji", "a.npy", "-o", "r.zarr", "--block", "4x4x4"],
            "argument 1: --block names 3 axes, but the argument has 2",
        ),
        (
            &["eval", "ii~i", "a.zarr", "a.zarr"],
            "the expression has 1 argument, but 2 files are given",
        ),
        (&["einsum", "ij,jk->ik", "a.zarr"], "expected"),
        (
            &["run", "two.ijk", "--bind", "0=a.zarr", "--out", "0=r.zarr", "--out", "1=./r.zarr"],
            "outputs 0 and 1 both go there",
        ),
    ];
    for (args, said) in cases {
        let said = if args[0] == "einsum" { "" } else { said };
        workdir.refuses(args, said);
    }
    fs::write(workdir.path("a.zarr/c/0/1"), "short").unwrap();
    let output = workdir.run(&["eval", "+ij~i", "a.zarr"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("block [0, 1] of a.zarr, file c/0/1: it is truncated"), "{errors}");
}

#[test]
fn tuple_programs_run_on_zarr_arrays() {
    let workdir = Workdir::new();
    workdir.write("mm.et", "c[i,j] = a[i,k] * b[k,j]\n");
    workdir.prints(&["run", "mm.et", "--bind", "a=a.npy", "--bind", "b=a.npy", "--out", "c=c.npy"]);
    let expected = workdir.array("c.npy");
    let mixed = ["run", "mm.et", "--bind", "a=a.zarr", "--bind", "b=a.npy", "--out", "c=r.zarr"];
    for more in [
        &["--workers", "2", "--memory", "10kB"][..],
        &["--block", ".x5", "--compress", "zstd:3", "--threads", "2"],
        &["--processes", "2", "--workers", "1", "--wait", "60"],
    ] {
        let (printed, said) = workdir.prints(&[&mixed[..], more].concat());
        assert_eq!(workdir.array("r.zarr"), expected, "{more:?}");
        assert_eq!(printed, "");
        assert!(said.contains(" blocks in ") && said.ends_with("-> r.zarr\n"), "{said}");
        let (_, said) = workdir.prints(&[&mixed[..], more].concat());
        assert!(said.contains("nothing to do: all results are complete"), "{said}");
        fs::remove_dir_all(workdir.path("r.zarr")).unwrap();
    }
    workdir.prints(&mixed);
    let other = ["run", "mm.et", "--bind", "a=a.zarr", "--bind", "b=a.zarr", "--out", "c=r.zarr"];
    workdir.refuses(&other, "it holds another computation's result");
    workdir.prints(&[&other[..], &["--fresh"]].concat());
}

#[test]
fn tuple_programs_have_windows_and_several_results() {
    let workdir = Workdir::new();
    let source = "x[ipos] = RANDOM(0, 1, FLOAT)\nbox[opos] = x[opos+fpos]\ntotal[] = box[opos]\n\
                  \nbox, total\n\nDIMS(opos) = DIMS(ipos) - DIMS(fpos) + 1\n";
    workdir.write("box.et", source);
    let run = |array: &str, out: &str| {
        let (bind, out) = (format!("x={array}"), format!("box={out}"));
        let more = ["--dims", "fpos=3,2", "--out", "total=total.npy"];
        workdir.prints(&[&["run", "box.et", "--bind", &bind, "--out", &out], &more[..]].concat())
    };
    run("a.npy", "box.npy");
    let total = workdir.array("total.npy");
    let (printed, said) = run("a.zarr", "box.zarr");
    assert_eq!(printed, "");
    assert!(said.contains("\nbox: f64 (18, 19) in ") && said.contains("\ntotal: f64 () in "));
    assert_eq!(
        (workdir.array("box.zarr"), workdir.array("total.npy")),
        (workdir.array("box.npy"), total)
    );
    let (printed, _) =
        workdir.prints(&["run", "box.et", "--bind", "x=a.zarr", "--dims", "fpos=20,20", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(json["results"][1]["name"], "total");
    // Random numbers are the same in blocks.
    workdir.write("noise.et", "y[i,j] = x[i,j] + RANDOM(0, 1, FLOAT)\n");
    let noise = ["run", "noise.et", "--seed", "7", "--bind"];
    workdir.prints(&[&noise[..], &["x=a.npy", "--out", "y=y.npy"]].concat());
    workdir.prints(&[&noise[..], &["x=a.zarr", "--out", "y=y.zarr", "--workers", "3"]].concat());
    assert_eq!(workdir.array("y.zarr"), workdir.array("y.npy"));
}

#[test]
fn mistakes_in_blocks_are_quoted_with_the_files_name() {
    let workdir = Workdir::new();
    workdir.write("mm.et", "c[i,j] = a[i,k] * b[k,j]\n");
    workdir.write("cut.ijk", "ik*kj~ijk . +ijk~ij\n");
    workdir.write("sized.et", "y[i[a]] = 1\n");
    let values: Vec<f64> = vec![1.0; 3 * 20];
    npy::write(workdir.path("b.npy"), &TensorView::from_slice(&values, &[3, 20]).unwrap()).unwrap();
    let i = BigTensor::lit([1i64, 2, 3], [3], [Some(2)]).unwrap();
    Executor::new().save(&i, workdir.path("i.zarr"), &ZarrOptions::new()).unwrap();
    let tuples = |b: &'static str, more: &[&'static str]| {
        let run = ["run", "mm.et", "--bind", "a=a.zarr", "--bind", b, "--out", "c=r.zarr"];
        [&run[..], more].concat()
    };
    let cases: [(Vec<&str>, [&str; 3]); 3] = [
        (tuples("b=b.npy", &[]), ["`k`", "mm.et:1:", "20"]),
        (
            vec!["run", "cut.ijk", "--bind", "0=a.zarr", "--bind", "1=b.npy", "--out", "0=r.zarr"],
            ["letter `k`", "--> cut.ijk:1:", "20"],
        ),
        (
            vec!["run", "sized.et", "--bind", "i=i.zarr"],
            ["elements of i", "--> sized.et:1:", "decide the extents"],
        ),
    ];
    for (args, said) in cases {
        said.iter().for_each(|said| workdir.refuses(&args, said));
    }
    workdir.refuses(&tuples("b=a.npy", &["--block", "5x5x5"]), "input `a`: --block names 3 axes");
    workdir.refuses(&["run", "mm.et", "--block", "5"], "--block is for Zarr arrays");
}

#[test]
fn block_recuts_and_says_what_it_costs() {
    let workdir = Workdir::new();
    let chunks = |name: &str| {
        let blocks = BigTensor::open(workdir.path(name)).unwrap().ty().blocks.clone();
        blocks.into_iter().map(|block| block.unwrap_or(N)).collect::<Vec<_>>()
    };
    for (block, expected) in [("3", [3, 3]), ("16x.", [16, 20]), (".", [20, 20]), ("1x13", [1, 13])]
    {
        let copy = ["eval", "ij~ij", "a.zarr", "--block", block, "-o", "r.zarr", "--fresh"];
        let (_, said) = workdir.prints(&copy);
        assert_eq!(chunks("r.zarr"), expected);
        assert_eq!(workdir.array("r.zarr"), workdir.array("a.npy"), "{block}");
        let line = said.lines().next().unwrap();
        assert!(line.starts_with("a.zarr is re-cut from chunks of 8x8 to "), "{said}");
        assert!(
            line.contains("a pass reads 3.2 kB and keeps ") && line.ends_with("writes nothing")
        );
    }
    // Existing blocks cost nothing and are not reported.
    let (_, said) = workdir.prints(&["eval", "ij~ij", "a.zarr", "--block", "8", "-o", "same.zarr"]);
    assert!(!said.contains("re-cut"), "{said}");
    let (_, said) = workdir.prints(&["eval", "+ij~i", "a.zarr", "--block", "5", "--dtype", "f32"]);
    assert!(said.starts_with("a.zarr is re-cut from chunks of 8x8 to 5x5: "), "{said}");
    // With a small limit chunks are read again.
    let small = ["eval", "+ij~i", "a.zarr", "--block", "3", "--memory", "4kB"];
    let (_, said) = workdir.prints(&small);
    assert!(said.contains(" for 3.2 kB, as chunks are read again, keeps "), "{said}");
}

#[test]
fn chunks_that_do_not_fit_are_recut() {
    let workdir = Workdir::new();
    let copy = |block: &str, name: &str| {
        workdir.prints(&["eval", "ij~ij", "a.npy", "--block", block, "-o", name]);
    };
    copy("6x7", "b.zarr");
    copy("5", "d.zarr");
    let commands: [(&[&str], &[&str]); 7] = [
        (&["einsum", "ij,jk->ik"], &["a", "b"]),
        (&["einsum", "ij,ij->"], &["a", "b"]),
        (&["einsum", "ij,jk,kl->il"], &["a", "b", "d"]),
        (&["eval", "ik*kj~ijk . +ijk~ij"], &["b", "d"]),
        (&["eval", "ij*ji~ij"], &["a", "b"]),
        (&["eval", "@argmax ij~i"], &["a"]),
        (&["run", "mm.et"], &["a", "b"]),
    ];
    workdir.write("mm.et", "c[i,j] = a[i,k] * b[k,j]\n");
    for (command, arrays) in commands {
        let with = |extension: &str| {
            let name = |name: &&str| match extension {
                "npy" => "a.npy".to_owned(),
                _ => format!("{name}.zarr"),
            };
            let files: Vec<String> = arrays.iter().map(name).collect();
            match command[0] {
                "run" => {
                    let bind = |(name, file)| ["--bind".into(), format!("{name}={file}")];
                    ["a", "b"].into_iter().zip(files).flat_map(bind).collect::<Vec<String>>()
                }
                _ => files,
            }
        };
        let run = |extension: &str, out: &str| {
            let (files, flag) = (with(extension), if command[0] == "run" { "--out" } else { "-o" });
            let place = if command[0] == "run" { format!("c={out}") } else { out.into() };
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            workdir.prints(&[command, &files, &[flag, &place]].concat())
        };
        run("npy", "whole.npy");
        let (_, said) = run("zarr", "cut.npy");
        assert_eq!(workdir.array("cut.npy"), workdir.array("whole.npy"), "{command:?}");
        assert!(said.contains(" is re-cut from chunks of "), "{command:?}: {said}");
        run("zarr", "cut.zarr");
        assert_eq!(workdir.array("cut.zarr"), workdir.array("whole.npy"), "{command:?}");
        let (_, again) = run("zarr", "cut.zarr");
        assert!(again.contains("nothing to do"), "{again}");
        fs::remove_dir_all(workdir.path("cut.zarr")).unwrap();
    }
}

#[cfg(not(feature = "object-store"))]
#[test]
fn urls_are_refused() {
    let workdir = Workdir::new();
    for url in [
        "s3://bucket/r.zarr",
        "gs://b/r.npy",
        "https://h/r.npz:x",
        "s3:/bucket/r.zarr",
        "file:///r.npy",
    ] {
        let scheme = url.split(':').next().unwrap();
        let said = format!("{url}: it is a URL of the scheme `{scheme}`");
        let (out, bind) = (format!("0={url}"), format!("0={url}"));
        workdir.refuses(&["eval", "ij~ij", "a.npy", "-o", url], &said);
        workdir.refuses(&["eval", "ij~ij", "a.zarr", "-o", url, "--block", "2"], &said);
        workdir.refuses(&["eval", "ij~ij", url], &said);
        workdir.refuses(&["einsum", "ij->ji", url, "-o", "r.npy"], &said);
        workdir.refuses(&["run", "two.ijk", "--bind", "0=a.zarr", "--out", &out], &said);
        workdir.refuses(&["run", "two.ijk", "--bind", &bind], &said);
    }
    let open = |path: &str| BigTensor::open(path).unwrap_err().to_string();
    assert!(
        open("s3://bucket/a.zarr")
            .ends_with("only files and directories of this machine are read and written")
    );
    let a = BigTensor::open(workdir.path("a.zarr")).unwrap();
    let error = Executor::new().save(&a, "s3://bucket/a.zarr", &ZarrOptions::new()).unwrap_err();
    assert!(error.to_string().contains("it is a URL of the scheme `s3`"), "{error}");
    assert!(!Path::new("s3:").exists());
}

/// A group in a workdir's directory.
fn group(workdir: &Workdir, name: &str) {
    fs::create_dir(workdir.path(name)).unwrap();
    let text = r#"{"zarr_format": 3, "node_type": "group", "attributes": {"x": NaN}}"#;
    fs::write(workdir.path(name).join("zarr.json"), text).unwrap();
}

#[test]
fn results_become_members_of_groups() {
    let workdir = Workdir::new();
    group(&workdir, "g");
    for name in ["g/y", "g/y.v1", "g/sub/deep/y", "g/z.zarr"] {
        workdir.prints(&["eval", "ij~ij", "a.npy", "-o", name]);
        let found = BigTensor::open(workdir.path(name)).unwrap().collect().unwrap();
        assert_eq!(*found.as_numbers().unwrap(), workdir.array("a.npy"), "{name}");
        workdir.prints(&["eval", "+ij~.", name]);
    }
    for between in ["g/sub", "g/sub/deep"] {
        let text = fs::read_to_string(workdir.path(between).join("zarr.json")).unwrap();
        assert!(text.contains("\"node_type\": \"group\""), "{text}");
    }
    let (_, said) = workdir.prints(&["eval", "ij~ij", "a.npy", "-o", "g/y"]);
    assert!(said.contains("nothing to do"), "{said}");
    // Files are files, and so are names elsewhere.
    workdir.prints(&["eval", "ij~ij", "a.npy", "-o", "g/y.npy"]);
    workdir.prints(&["eval", "ij~ij", "a.npy", "-o", "plain"]);
    assert!(workdir.path("g/y.npy").is_file() && workdir.path("plain").is_file());
    fs::create_dir(workdir.path("old")).unwrap();
    fs::write(workdir.path("old/.zgroup"), "{}").unwrap();
    workdir.refuses(&["eval", "ij~ij", "a.npy", "-o", "old/y"], "in a Zarr group of format 2");
    workdir.refuses(
        &["eval", "ij~ij", "g"],
        "it is a group, no array; it holds sub/deep/y, y, y.v1, z.zarr: open one",
    );
}

#[test]
fn results_are_no_part_of_arrays() {
    let workdir = Workdir::new();
    fs::create_dir(workdir.path("d")).unwrap();
    let said = "it would be part of the Zarr array ";
    for out in [
        "a.zarr/r.zarr",
        "a.zarr/c/r.npy",
        "a.zarr/r",
        "d/../a.zarr/x/r.zarr",
        "none/../a.zarr/r.npz",
    ] {
        workdir.refuses(&["eval", "ij~ji", "a.zarr", "-o", out], said);
        workdir.refuses(&["eval", "ij~ji", "a.npy", "-o", out], said);
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(workdir.path("a.zarr"), workdir.path("link")).unwrap();
        workdir.refuses(&["eval", "ij~ji", "a.npy", "-o", "link/r.zarr"], said);
        workdir.refuses(
            &["eval", "ij~ji", "a.zarr", "-o", "link", "--fresh"],
            "it is an input of the computation",
        );
    }
    // Nor do they replace what holds an input.
    fs::create_dir_all(workdir.path("r.zarr/c")).unwrap();
    fs::write(
        workdir.path("r.zarr/c/zarr.json"),
        fs::read(workdir.path("a.zarr/zarr.json")).unwrap(),
    )
    .unwrap();
    workdir.refuses(
        &["eval", "ij~ji", "r.zarr/c", "-o", "r.zarr", "--fresh"],
        "it is an input of the computation",
    );
}

/// The metadata of an array.
fn metadata(workdir: &Workdir, name: &str) -> serde_json::Value {
    let text = fs::read_to_string(workdir.path(name).join("zarr.json")).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn results_have_names_of_axes_and_copies_attributes() {
    let workdir = Workdir::new();
    let a = BigTensor::lit((0..6).map(f64::from), [2, 3], [Some(1), Some(2)]).unwrap();
    let options = |names: [&str; 2]| ZarrOptions::new().names(names.map(|name| Some(name.into())));
    let save = |name: &str, options: &ZarrOptions| {
        Executor::new().save(&a, workdir.path(name), options).unwrap();
    };
    let units = r#"{"units": "m", "n": 12345678901234567890123}"#;
    save("t.zarr", &options(["time", "x"]).attributes(units));
    save("u.zarr", &options(["time", "y"]));
    let cases: [(&[&str], &[&str], bool); 10] = [
        (&["eval", "ij~ij", "t.zarr"], &["time", "x"], true),
        (&["eval", "ij~ji", "t.zarr"], &["x", "time"], true),
        (&["eval", "I", "t.zarr", "--block", "2", "--compress", "zstd"], &["time", "x"], true),
        (&["eval", "ij*2~ij", "t.zarr"], &["time", "x"], false),
        (&["eval", "ij~ij", "t.zarr", "--dtype", "f32"], &["time", "x"], false),
        (&["eval", "ij+ij~ij", "t.zarr", "u.zarr"], &["time", "j"], false),
        (&["einsum", "ij,kj->ik", "t.zarr", "t.zarr"], &["time", "k"], false),
        (&["einsum", "ij,kj->ik", "t.zarr", "t.zarr", "--block", "2"], &["time", "k"], false),
        (&["eval", "+ij~j", "t.zarr"], &["x"], false),
        (&["eval", "ij~ij", "a.npy"], &["i", "j"], false),
    ];
    for (command, names, is_copy) in cases {
        workdir.prints(&[command, &["-o", "r.zarr"]].concat());
        let found = metadata(&workdir, "r.zarr");
        assert_eq!(found["dimension_names"], serde_json::json!(names), "{command:?}");
        let text = fs::read_to_string(workdir.path("r.zarr/zarr.json")).unwrap();
        assert_eq!(text.contains(units), is_copy, "{command:?}: {text}");
        fs::remove_dir_all(workdir.path("r.zarr")).unwrap();
    }
    workdir.write("shift.et", "y[pos] = x[pos] + 1\n\ny\n\nRANK(pos) = 2\n");
    workdir.prints(&["run", "shift.et", "--bind", "x=a.zarr", "--out", "y=r.zarr"]);
    assert_eq!(
        metadata(&workdir, "r.zarr")["dimension_names"],
        serde_json::json!(["pos0", "pos1"])
    );
    // In a group a name is one length.
    group(&workdir, "g");
    for (program, input, out, names) in [
        ("ij~ij", "t.zarr", "g/t", ["time", "x"]),
        ("ij~ij", "a.npy", "g/a", ["i", "j"]),
        ("ij~ij", "t.zarr", "g/i", ["time", "x"]),
        ("ij*1~ji", "u.zarr", "g/v", ["y", "time"]),
    ] {
        workdir.prints(&["eval", program, input, "-o", out]);
        assert_eq!(metadata(&workdir, out)["dimension_names"], serde_json::json!(names), "{out}");
    }
    let b = BigTensor::lit((0..6).map(f64::from), [3, 2], [None, None]).unwrap();
    Executor::new().save(&b, workdir.path("b.zarr"), &options(["time", "x"])).unwrap();
    workdir.prints(&["eval", "ij~ij", "b.zarr", "-o", "g/b"]);
    assert_eq!(metadata(&workdir, "g/b")["dimension_names"], serde_json::json!(["b_time", "b_x"]));
}

#[test]
fn results_go_to_archives() {
    let workdir = Workdir::new();
    let command = ["einsum", "ik,kj->ij", "a.zarr", "a.zarr", "-o", "r.zarr.zip"];
    let (_, said) = workdir.prints(&command);
    assert!(said.starts_with("9 blocks in "), "{said}");
    let (_, said) = workdir.prints(&command);
    assert!(said.contains("nothing to do"), "{said}");
    let (printed, _) = workdir.prints(&["eval", "+ij~.", "r.zarr.zip"]);
    let (expected, _) = workdir.prints(&["eval", "+(ik*kj)~ij . +ij~.", "a.npy", "a.npy"]);
    assert_eq!(printed, expected);
    workdir.refuses(&["eval", "ij~ij", "a.zarr", "-o", "r.zarr.zip"], "add --fresh");
    workdir.prints(&["eval", "ij~ij", "a.zarr", "-o", "r.zarr.zip", "--fresh"]);
    let many = ["eval", "ij~ij", "a.zarr", "-o", "s.zip", "--processes", "2"];
    workdir.refuses(&many, "an archive is written by one process");
}

#[test]
fn what_others_add_to_a_result_leaves_it_the_same() {
    let workdir = Workdir::new();
    let command = ["eval", "ij*2~ij", "a.zarr", "-o", "r.zarr"];
    workdir.prints(&command);
    let path = workdir.path("r.zarr/zarr.json");
    let text = fs::read_to_string(&path).unwrap();
    let added = r#""attributes": {"units": "m", "max": -Infinity}, "storage_transformers": [], "extra": {"must_understand": false}"#;
    fs::write(&path, text.replace("\"attributes\": {}", added).replace("0.0", "0")).unwrap();
    let (_, said) = workdir.prints(&command);
    assert!(said.contains("nothing to do"), "{said}");
    let (printed, _) = workdir.prints(&["eval", "+ij~.", "r.zarr"]);
    let (expected, _) = workdir.prints(&["eval", "ij*2~ij . +ij~.", "a.npy"]);
    assert_eq!(printed, expected);
    fs::write(&path, text.replace("0.0", "1.0")).unwrap();
    workdir.refuses(&command, "it is stored otherwise");
}

/// On a file system in memory that is too small at first, where one can be mounted.
#[test]
fn a_full_disk_leaves_what_the_next_run_continues() {
    let workdir = Workdir::new();
    fs::create_dir(workdir.path("disk")).unwrap();
    let script = r#"
        mount -t tmpfs -o size=24k tmpfs disk || exit 99
        "$0" einsum 'ik,kj->ij' a.zarr a.zarr -o disk/r.zarr && exit 98
        test $? = 2 || exit 97
        find disk/r.zarr/c -type f | wc -l
        test -z "$(find disk/r.zarr -name '*.tmp')" || exit 96
        mount -o remount,size=1m disk || exit 99
        "$0" einsum 'ik,kj->ij' a.zarr a.zarr -o disk/r.zarr --workers 2 || exit 95
        cp -r disk/r.zarr r.zarr
    "#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "--map-root-user", "sh", "-c", script, env!("CARGO_BIN_EXE_ijk")]);
    let output = match command.current_dir(workdir.0.path()).output() {
        Ok(output) if !matches!(output.status.code(), Some(1 | 99)) => output,
        _ => return eprintln!("skipped: no file system can be mounted here"),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {said}", output.status);
    assert!(said.contains("of disk/r.zarr, file c/") && said.contains("No space left"), "{said}");
    assert!(said.contains(" blocks from earlier runs): "), "{said}");
    workdir.prints(&["einsum", "ik,kj->ij", "a.npy", "a.npy", "-o", "c.npy"]);
    assert_eq!(workdir.array("r.zarr"), workdir.array("c.npy"));
}

/// A vector as `NAME.npy`, and as `NAME.zarr` in blocks of one element, of which zeros are not there.
fn vector(workdir: &Workdir, name: &str, values: &[f64]) {
    let view = TensorView::from_slice(values, &[values.len()]).unwrap();
    npy::write(workdir.path(&format!("{name}.npy")), &view).unwrap();
    let tensor = BigTensor::lit(values.to_vec(), [values.len()], [Some(1)]).unwrap();
    let path = workdir.path(&format!("{name}.zarr"));
    Executor::new().save(&tensor, path, &ZarrOptions::new()).unwrap();
}

#[test]
fn values_do_not_depend_on_which_chunks_are_there() {
    let workdir = Workdir::new();
    vector(&workdir, "x", &[f64::NAN, 1.0, f64::INFINITY, -3.0, 0.0]);
    vector(&workdir, "y", &[0.0, 0.0, 0.0, 0.0, 7.0]);
    for subscripts in ["i,i->i", "i,i->", "i,j->ij", "i,j->j"] {
        let whole = workdir.prints(&["einsum", subscripts, "x.npy", "y.npy"]).0;
        for workers in ["1", "2"] {
            let arguments = ["einsum", subscripts, "x.zarr", "y.zarr", "--workers", workers];
            assert_eq!(workdir.prints(&arguments).0, whole, "{subscripts} by {workers} workers");
        }
    }
    let finite = ["einsum", "i,i->", "x.zarr", "y.zarr", "--assume-finite"];
    assert_eq!(workdir.prints(&finite).0.trim(), "0.0");
    workdir.refuses(
        &["einsum", "i,i->", "x.npy", "y.npy", "--assume-finite"],
        "--assume-finite is for Zarr",
    );
}

#[test]
fn memory_is_a_limit() {
    let workdir = Workdir::new();
    let product = ["einsum", "ij,jk->ik", "a.zarr", "a.zarr", "-o", "c.zarr"];
    let with = |memory: &str| workdir.run(&[&product[..], &["--memory", memory]].concat());
    let refused = with("1");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(!workdir.path("c.zarr").exists());
    let least = said.split("at least ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert!(said.contains("raise --memory"), "{said}");
    assert_eq!(with(&(least.parse::<u64>().unwrap() - 1).to_string()).status.code(), Some(2));
    assert!(with(least).status.success());
    // Collected results count as memory.
    let collected = workdir.run(&["eval", "ij~ij", "a.zarr", "-o", "c.npy", "--memory", "3kB"]);
    assert_eq!(collected.status.code(), Some(2));
    workdir.prints(&["eval", "ij~ij", "a.zarr", "-o", "c.npy", "--memory", "8kB"]);
}
