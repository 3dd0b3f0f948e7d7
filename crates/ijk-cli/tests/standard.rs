//! Arrays through the standard input and output, and what else is printed there.
#![cfg(unix)]

use ijk::Tensor;
use ijk::file::npy;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A directory with the arrays `a.npy` of shape (2, 3) and `v.npy` of shape (2,).
struct Workdir(TempDir);

impl Workdir {
    fn new() -> Self {
        let workdir = Self(tempfile::tempdir().unwrap());
        npy::write(workdir.path("a.npy"), &matrix().view()).unwrap();
        npy::write(workdir.path("v.npy"), &vector(&[1.0, 3.0]).view()).unwrap();
        fs::write(workdir.path("two.ijk"), "I & +i~.").unwrap();
        fs::write(workdir.path("turn.et"), "y[p,q] = x[q,p]\n").unwrap();
        workdir
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Output of a command whose standard input is a file.
    fn run(&self, args: &[&str], input: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ijk"));
        command.args(args).current_dir(self.0.path());
        command.stdin(File::open(self.path(input)).unwrap()).output().unwrap()
    }

    /// The array that a command writes to its standard output.
    fn array(&self, args: &[&str]) -> Tensor {
        let output = self.run(args, "a.npy");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {said}");
        npy::decode(&output.stdout[..], Some(output.stdout.len() as u64)).unwrap()
    }

    /// Output of a line of a shell, in which `$IJK` is the command.
    fn shell(&self, line: &str) -> Output {
        let mut shell = Command::new("sh");
        shell.args(["-c", line]).current_dir(self.0.path()).stdin(Stdio::null());
        shell.env("IJK", env!("CARGO_BIN_EXE_ijk")).output().unwrap()
    }

    /// Asserts that a command fails with code 1 and that message, and makes no file.
    fn refuses(&self, args: &[&str], said: &str) {
        let count = || fs::read_dir(self.0.path()).unwrap().count();
        let before = count();
        let output = self.run(args, "a.npy");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {errors}");
        assert!(errors.contains(said), "{args:?}: {errors}");
        assert!(output.stdout.is_empty() && count() == before);
    }
}

fn matrix() -> Tensor {
    Tensor::from_vec(vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0], &[2, 3]).unwrap()
}

fn vector(elements: &[f64]) -> Tensor {
    Tensor::from_vec(elements.to_vec(), &[elements.len()]).unwrap()
}

#[test]
fn arrays_come_and_go() {
    let workdir = Workdir::new();
    assert_eq!(workdir.array(&["eval", "+ij~j", "-", "-o", "-"]), vector(&[3.0, 5.0, 7.0]));
    assert_eq!(workdir.array(&["einsum", "ij,i->j", "-", "v.npy", "-o", "-"]).shape(), [3]);
    let run = ["run", "two.ijk", "--bind", "0=-", "--out", "0=s.npy", "--out", "1=-"];
    let output = workdir.run(&run, "v.npy");
    let sum = npy::decode(&output.stdout[..], None).unwrap();
    assert_eq!((sum.shape(), sum.as_slice()), (&[][..], Some(&[4.0][..])));
    assert_eq!(npy::read(workdir.path("s.npy")).unwrap(), vector(&[1.0, 3.0]));
    let turned = workdir.array(&["run", "turn.et", "--bind", "x=-", "--out", "y=-"]);
    assert_eq!(turned.shape(), [3, 2]);
    let shown = workdir.run(&["eval", "+ij~j", "-"], "a.npy");
    assert_eq!(shown.stdout, b"[3. 5. 7.]\n");
}

#[test]
fn pipes() {
    let workdir = Workdir::new();
    let two = "\"$IJK\" eval ij~ji a.npy -o - | \"$IJK\" eval +ij~j - -o - | \"$IJK\" eval i+1~i -";
    let output = workdir.shell(two);
    assert_eq!(output.stdout, b"[ 4. 13.]\n", "{output:?}");
    // Each says in one line what it wrote.
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.lines().count() == 2 && said.lines().all(|line| line.ends_with(" -> -")),
        "{said}"
    );
}

#[test]
fn the_device_of_the_output_is_the_output() {
    let workdir = Workdir::new();
    for name in ["-", "/dev/stdout", "/dev/fd/1"] {
        for line in ["> out.npy", "| cat > out.npy", ">> out.npy"] {
            fs::remove_file(workdir.path("out.npy")).unwrap_or_default();
            let output = workdir.shell(&format!("\"$IJK\" eval ij~ji a.npy -o {name} {line}"));
            assert!(output.status.success(), "{output:?}");
            assert_eq!(
                npy::read(workdir.path("out.npy")).unwrap().shape(),
                [3, 2],
                "{name} {line}"
            );
        }
    }
    let output = workdir.shell("\"$IJK\" eval ij~ji /dev/stdin -o out.npy < a.npy");
    assert!(output.status.success(), "{output:?}");
    let output = workdir.shell("\"$IJK\" eval ij~ji a.npy -o ./-");
    assert!(output.status.success() && workdir.path("-").is_file(), "{output:?}");
}

#[test]
fn status_is_no_output() {
    let workdir = Workdir::new();
    let output = workdir.run(&["eval", "ij~ji", "a.npy", "-o", "b.npy"], "a.npy");
    assert!(output.stdout.is_empty());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("f64 (3, 2) in ") && said.ends_with(" -> b.npy\n"), "{said}");
}

#[test]
fn nothing_is_mixed_with_an_array() {
    let workdir = Workdir::new();
    workdir.refuses(&["eval", "ij~ij", "-", "-o", "-", "--json"], "leave out --json");
    workdir.refuses(&["einsum", "ij->ji", "-", "-o", "-", "--json"], "leave out --json");
    let two = ["eval", "I & +i~.", "v.npy", "-o", "-"];
    workdir.refuses(&two, "where output 1 would be printed among its bytes");
    workdir.refuses(&[&two[..], &["-o", "/dev/stdout"]].concat(), "outputs 0 and 1 both go there");
    let bench = ["bench", "two.ijk", "--shape", "4", "--out", "0=-", "--reps", "1"];
    workdir.refuses(&bench, "where the measurements would be printed");
}

#[test]
fn an_input_holds_one_array() {
    let workdir = Workdir::new();
    let twice = "2 arguments are read from the standard input (`-`), which holds one array";
    workdir.refuses(&["eval", "ij+ij~ij", "-", "-"], twice);
    workdir.refuses(&["einsum", "ij,ij->", "-", "/dev/stdin"], twice);
    fs::write(workdir.path("sum.ijk"), "ij+ij~ij").unwrap();
    workdir.refuses(&["run", "sum.ijk", "--bind", "0=-", "--bind", "1=-"], twice);
    for (bytes, said) in [
        (&b""[..], "<stdin>: "),
        (b"PK\x03\x04", "<stdin>: not a .npy file"),
        (&[fs::read(workdir.path("a.npy")).unwrap(), b"more".to_vec()].concat(), "but goes on"),
        (&fs::read(workdir.path("a.npy")).unwrap()[..150], "<stdin>: truncated"),
    ] {
        fs::write(workdir.path("in"), bytes).unwrap();
        let output = workdir.run(&["eval", "ij~ji", "-", "-o", "-"], "in");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && errors.contains(said), "{said}: {errors}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn formats_have_names() {
    let workdir = Workdir::new();
    let csv = "x.csv: `.csv` names no format that results are written in, which are .npy, .npz and .zarr; name it x.npy";
    // Before anything is read or computed.
    workdir.refuses(&["eval", "ij~ji", "absent.npy", "-o", "x.csv"], csv);
    workdir.refuses(&["einsum", "ij->ji", "absent.npy", "-o", "x.csv"], csv);
    workdir.refuses(&["run", "two.ijk", "--bind", "0=v.npy", "--out", "1=x.csv"], csv);
    workdir.refuses(&["run", "turn.et", "--bind", "x=a.npy", "--out", "y=x.csv"], csv);
    workdir.refuses(&["bench", "two.ijk", "--shape", "4", "--out", "0=x.csv"], csv);
}

#[cfg(feature = "zarr")]
#[test]
fn blocks_take_and_give_streams() {
    let workdir = Workdir::new();
    let copy = workdir.run(&["eval", "ij~ij", "-", "--block", "1", "-o", "a.zarr"], "a.npy");
    assert!(copy.status.success() && copy.stdout.is_empty(), "{copy:?}");
    assert_eq!(workdir.array(&["eval", "ij~ij", "a.zarr", "-o", "-"]), matrix());
    let shared = ["eval", "ij~ij", "-", "--processes", "2", "-o", "b.zarr"];
    workdir.refuses(&shared, "which --processes cannot share");
}

#[test]
fn readers_that_have_enough() {
    let workdir = Workdir::new();
    npy::write(workdir.path("big.npy"), &vector(&[1.0; 300_000]).view()).unwrap();
    let line = "\"$IJK\" eval 'I & +i~.' big.npy -o - -o sum.npy | head -c 6 | tail -c 5";
    let output = workdir.shell(line);
    assert_eq!(output.stdout, b"NUMPY", "{output:?}");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("error"), "{output:?}");
    assert_eq!(npy::read(workdir.path("sum.npy")).unwrap().as_slice(), Some(&[300_000.0][..]));
}
