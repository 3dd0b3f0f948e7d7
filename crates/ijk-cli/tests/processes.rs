//! One program on several processes, from outside.
#![cfg(feature = "zarr")]

use ijk::Tensor;
use ijk::blocks::{BigTensor, Executor, ZarrOptions};
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Nothing here takes so long.
const PATIENCE: Duration = Duration::from_secs(90);

/// A directory with a matrix in blocks.
struct Workdir(TempDir);

const N: usize = 60;

impl Workdir {
    fn new() -> Self {
        let workdir = Self(tempfile::tempdir().unwrap());
        let values = (0..N * N).map(|n| (n * 7919 % 1000) as f32 / 7.0 - 60.0);
        let a = BigTensor::lit(values, [N, N], [Some(8), Some(8)]).unwrap();
        Executor::new().save(&a, workdir.path("a.zarr"), &ZarrOptions::new()).unwrap();
        workdir
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file that only its owner can read.
    fn secret(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    fn start(&self, args: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ijk"));
        command.args(args).current_dir(self.0.path()).stdin(Stdio::null());
        command.env("IJK_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
        command.env_remove("IJK_SECRET");
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs commands at the same time.
    fn together(&self, commands: &[&[&str]]) -> Vec<Output> {
        let by = Instant::now() + PATIENCE;
        let started: Vec<Child> = commands.iter().map(|args| self.start(args)).collect();
        started.into_iter().map(|child| ended(child, by)).collect()
    }

    fn run(&self, args: &[&str]) -> (i32, String, String) {
        said(&self.together(&[args])[0])
    }

    fn hosts(&self, processes: usize) {
        let bound: Vec<TcpListener> =
            (0..processes).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let line = |listener: &TcpListener| format!("{}\n", listener.local_addr().unwrap());
        fs::write(self.path("hosts"), bound.iter().map(line).collect::<String>()).unwrap();
    }

    fn array(&self, name: &str) -> Tensor {
        let block = BigTensor::open(self.path(name)).unwrap().collect().unwrap();
        block.as_numbers().unwrap().clone()
    }
}

fn ended(mut child: Child, by: Instant) -> Output {
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > by {
            child.kill().unwrap();
            panic!("it hangs: {:?}", said(&child.wait_with_output().unwrap()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

/// The exit code, and what was printed and said.
fn said(output: &Output) -> (i32, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

const PRODUCT: [&str; 4] = ["einsum", "ij,jk->ik", "a.zarr", "a.zarr"];

#[test]
fn started_processes_give_the_bits_of_one() {
    let workdir = Workdir::new();
    assert_eq!(workdir.run(&[&PRODUCT[..], &["-o", "one.zarr"]].concat()).0, 0);
    let expected = workdir.array("one.zarr");
    for processes in ["2", "3"] {
        let out = format!("{processes}.zarr");
        let options = ["-o", &out, "--processes", processes, "--workers", "1"];
        let (code, printed, errors) = workdir.run(&[&PRODUCT[..], &options].concat());
        assert_eq!(code, 0, "{errors}");
        assert_eq!(printed, "");
        assert!(errors.contains("64 blocks in ") && errors.lines().count() == 2, "{errors}");
        assert!(workdir.array(&out) == expected, "{processes} processes");
        // Nothing is left to do.
        let (code, _, errors) = workdir.run(&[&PRODUCT[..], &options].concat());
        assert!(code == 0 && errors.contains("nothing to do"), "{errors}");
    }
    // Results are printed once.
    let sum = ["eval", "+ij~i", "a.zarr"];
    let (code, once, _) = workdir.run(&sum);
    assert!(code == 0 && !once.is_empty());
    let (code, printed, errors) = workdir.run(&[&sum[..], &["--processes", "2"]].concat());
    assert_eq!((code, printed), (0, once), "{errors}");
}

#[test]
fn errors_are_said_once() {
    let workdir = Workdir::new();
    let missing = ["einsum", "ij,jk->ik", "a.zarr", "b.zarr", "--processes", "3"];
    let (code, printed, errors) = workdir.run(&missing);
    assert_eq!((code, printed.as_str()), (1, ""), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
    fs::write(workdir.path("a.zarr/c/4/5"), b"short").unwrap();
    let options = ["-o", "b.zarr", "--processes", "3"];
    let (code, _, errors) = workdir.run(&[&PRODUCT[..], &options].concat());
    assert_eq!(code, 1, "{errors}");
    assert!(errors.contains("file c/4/5: it is truncated"), "{errors}");
    assert_eq!(errors.lines().count(), 1, "{errors}");
}

#[test]
fn hosts_share_a_secret() {
    let workdir = Workdir::new();
    workdir.hosts(2);
    workdir.secret("secret", "correct horse battery staple");
    workdir.secret("other", "staple battery horse correct");
    let with = |process, secret, wait| {
        let options = ["-o", "c.zarr", "--hosts", "hosts", "--process", process];
        [&PRODUCT[..], &options, &["--secret-file", secret, "--wait", wait]].concat()
    };
    let outputs = workdir.together(&[&with("0", "secret", "2"), &with("1", "other", "2")]);
    for (n, output) in outputs.iter().enumerate() {
        let (code, _, errors) = said(output);
        assert_eq!(code, 2, "{errors}");
        let text = format!("error: process {} (127.0.0.1:", 1 - n);
        let error = errors.lines().last().unwrap();
        assert!(
            error.starts_with(&text) && error.contains(" did not come within 2 s: "),
            "{errors}"
        );
        assert!(error.contains("it has another secret than process "), "{errors}");
    }
    let outputs = workdir.together(&[&with("0", "secret", "30"), &with("1", "secret", "30")]);
    let [first, second] = [0, 1].map(|n| said(&outputs[n]));
    assert_eq!((first.0, second.0), (0, 0), "{first:?} {second:?}");
    assert!(first.2.contains("-> c.zarr") && second.2.is_empty(), "{first:?} {second:?}");
    assert!(first.1.is_empty() && second.1.is_empty(), "{first:?} {second:?}");
    assert_eq!(workdir.array("c.zarr").shape(), [N, N]);
}

#[test]
fn secrets_that_can_be_known_are_told() {
    let workdir = Workdir::new();
    workdir.hosts(2);
    let options = ["--hosts", "hosts", "--process", "1", "--wait", "1", "--secret-file", "secret"];
    let command = [&PRODUCT[..], &options].concat();
    workdir.secret("secret", "correct horse\n");
    let (code, _, errors) = workdir.run(&command);
    assert_eq!(code, 2, "{errors}");
    assert!(errors.contains("has 13 bytes, and needs 16 or more"), "{errors}");
    workdir.secret("secret", "correct horse battery staple");
    let (code, _, errors) = workdir.run(&command);
    assert!(code == 2 && !errors.contains("warning"), "{errors}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(workdir.path("secret"), fs::Permissions::from_mode(0o640)).unwrap();
        let (_, _, errors) = workdir.run(&command);
        assert!(errors.starts_with("warning: others can read the secret in secret"), "{errors}");
        assert!(errors.contains("`chmod 600 secret`"), "{errors}");
    }
}

#[test]
fn one_may_wait_for_ever() {
    let workdir = Workdir::new();
    workdir.hosts(2);
    let most = u64::MAX.to_string();
    let with = |process| -> Vec<&str> {
        let options = ["-o", "c.zarr", "--hosts", "hosts", "--process", process, "--wait", &most];
        [&PRODUCT[..], &options].concat()
    };
    for output in workdir.together(&[&with("0"), &with("1")]) {
        let (code, _, errors) = said(&output);
        assert_eq!(code, 0, "{errors}");
    }
}

#[test]
fn who_is_not_there_is_named() {
    let workdir = Workdir::new();
    workdir.hosts(2);
    let options = ["--hosts", "hosts", "--process", "1", "--wait", "1"];
    let (code, _, errors) = workdir.run(&[&PRODUCT[..], &options].concat());
    assert_eq!(code, 2, "{errors}");
    assert!(errors.contains("error: process 0 (127.0.0.1:"), "{errors}");
    assert!(errors.contains(") did not come within 1 s: "), "{errors}");
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let workdir = Workdir::new();
    workdir.hosts(2);
    for options in [
        &["--process", "1"][..],
        &["--hosts", "hosts"],
        &["--hosts", "hosts", "--process", "0", "--processes", "2"],
        &["--processes", "0"],
        &["--processes", "2", "--secret-file", "secret"],
    ] {
        let (code, _, errors) = workdir.run(&[&PRODUCT[..], options].concat());
        assert_eq!(code, 2, "{options:?}: {errors}");
    }
    fs::write(workdir.path("hosts"), "blue").unwrap();
    let (code, _, errors) =
        workdir.run(&[&PRODUCT[..], &["--hosts", "hosts", "--process", "0"]].concat());
    assert!(code == 2 && errors.contains("line 1 of the host list is `blue`"), "{errors}");
}
