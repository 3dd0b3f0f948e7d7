//! Files after a signal has ended the command.
#![cfg(unix)]

use ijk::TensorView;
use ijk::file::npy;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SIGNALS: [(&str, i32); 3] = [("HUP", 1), ("INT", 2), ("TERM", 15)];

/// Those that this process heeds, and so the commands that it starts: under nohup SIGHUP is ignored.
fn heeded() -> Vec<(&'static str, i32)> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    SIGNALS.into_iter().filter(|(_, number)| ignored & 1 << (number - 1) == 0).collect()
}

/// Nothing here takes so long.
const PATIENCE: Duration = Duration::from_secs(90);

fn matrix(workdir: &TempDir, name: &str, n: usize) {
    let values: Vec<f64> = (0..n * n).map(|at| (at * 7919 % 1000) as f64 / 7.0).collect();
    npy::write(workdir.path().join(name), &TensorView::from_slice(&values, &[n, n]).unwrap())
        .unwrap();
}

fn start(workdir: &TempDir, args: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ijk"));
    spawned(command.args(args), workdir)
}

fn spawned(command: &mut Command, workdir: &TempDir) -> Child {
    command.current_dir(workdir.path()).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn send(signal: &str, child: &Child) {
    // It may have ended.
    let mut kill = Command::new("kill");
    kill.args([format!("-{signal}"), child.id().to_string()]);
    kill.stderr(Stdio::null()).status().unwrap();
}

fn ended(mut child: Child) -> Output {
    let by = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > by {
            child.kill().unwrap();
            panic!("it hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait_with_output().unwrap()
}

/// All files and folders below a folder.
fn all(directory: &Path) -> Vec<PathBuf> {
    let (mut all, mut left) = (Vec::new(), vec![directory.to_path_buf()]);
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path.clone());
            }
            all.push(path);
        }
    }
    all
}

fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(".tmp") || name.starts_with("scratch-") || name.ends_with("-lock")
}

#[test]
fn no_temporary_file_stays() {
    let workdir = tempfile::tempdir().unwrap();
    // Large enough that writing takes a while wherever it is.
    matrix(&workdir, "a.npy", 2500);
    let (signals, mut ends) = (heeded(), [0, 0]);
    for n in 0..24 {
        let (signal, number) = signals[n % signals.len()];
        let outputs: &[&str] = match n % 2 {
            0 => &["eval", "ij+1~ij", "a.npy", "-o", "o.npy"],
            _ => &["eval", "ij+1~ij & ij*2~ij", "a.npy", "-o", "o.npz:x", "-o", "p.npy"],
        };
        let mut child = start(&workdir, outputs);
        // At some time before, while or after it writes.
        while n % 4 > 0
            && child.try_wait().unwrap().is_none()
            && !all(workdir.path()).iter().any(|path| is_temporary(path))
        {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(3 * n as u64));
        send(signal, &child);
        let output = ended(child);
        let by_signal = output.status.signal() == Some(number);
        assert!(by_signal || output.status.success(), "{output:?}");
        ends[usize::from(by_signal)] += 1;
        let left: Vec<_> =
            all(workdir.path()).into_iter().filter(|path| is_temporary(path)).collect();
        assert!(left.is_empty(), "SIG{signal} leaves {left:?}");
        for name in ["o.npy", "o.npz", "p.npy"] {
            let _ = fs::remove_file(workdir.path().join(name));
        }
    }
    assert!(ends[1] > 5, "most had ended before: {ends:?}");
}

#[cfg(feature = "zarr")]
#[test]
fn finished_blocks_stay_and_the_same_command_goes_on() {
    let workdir = tempfile::tempdir().unwrap();
    matrix(&workdir, "a.npy", 200);
    let cut = start(&workdir, &["eval", "ij~ij", "a.npy", "--block", "8", "-o", "a.zarr"]);
    assert!(ended(cut).status.success());
    let run = ["einsum", "ij,jk,kl->il", "a.zarr", "a.zarr", "a.zarr", "--workers", "1"];
    let run = [&run[..], &["--memory", "100kB", "-o"]].concat();
    assert!(ended(start(&workdir, &[&run[..], &["whole.zarr"]].concat())).status.success());
    let chunks = |name: &str| all(&workdir.path().join(name).join("c"));
    for (n, (signal, number)) in heeded().into_iter().enumerate() {
        let out = format!("{n}.zarr");
        let command = [&run[..], &[&out]].concat();
        let child = start(&workdir, &command);
        let by = Instant::now() + PATIENCE;
        while !workdir.path().join(&out).join("c/0").exists() {
            assert!(Instant::now() < by, "nothing is written");
            std::thread::sleep(Duration::from_millis(1));
        }
        send(signal, &child);
        let output = ended(child);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(number), "{said}");
        let kept =
            "interrupted: finished blocks are kept, and the same command goes on from there\n";
        assert_eq!(said, kept);
        let left: Vec<_> =
            all(workdir.path()).into_iter().filter(|path| is_temporary(path)).collect();
        assert!(left.is_empty(), "SIG{signal} leaves {left:?}");
        let there = chunks(&out).into_iter().filter(|path| path.is_file()).count();
        let output = ended(start(&workdir, &command));
        let said = String::from_utf8_lossy(&output.stderr);
        let kept =
            format!("({there} block{} from earlier runs)", if there == 1 { "" } else { "s" });
        assert!(said.contains(&kept), "{there}: {said}");
        let found = chunks(&out).into_iter().filter(|path| path.is_file());
        for path in found {
            let chunk = path.strip_prefix(workdir.path().join(&out)).unwrap();
            let expected = fs::read(workdir.path().join("whole.zarr").join(chunk)).unwrap();
            assert!(fs::read(&path).unwrap() == expected, "{chunk:?}");
        }
    }
}

#[cfg(feature = "zarr")]
#[test]
fn nothing_is_left_of_an_archive() {
    let workdir = tempfile::tempdir().unwrap();
    matrix(&workdir, "a.npy", 200);
    let cut = start(&workdir, &["eval", "ij~ij", "a.npy", "--block", "8", "-o", "a.zarr"]);
    assert!(ended(cut).status.success());
    let before = all(workdir.path());
    let command = ["einsum", "ij,jk,kl->il", "a.zarr", "a.zarr", "a.zarr", "--workers", "1"];
    let command = [&command[..], &["--memory", "100kB", "-o", "c.zarr.zip"]].concat();
    let child = start(&workdir, &command);
    let is_begun = |path: &std::path::PathBuf| {
        path.extension().is_some_and(|e| e == "ijk-new")
            && fs::metadata(path).is_ok_and(|meta| meta.len() > 4000)
    };
    let by = Instant::now() + PATIENCE;
    while !all(workdir.path()).iter().any(is_begun) {
        assert!(Instant::now() < by, "nothing is written");
        std::thread::sleep(Duration::from_millis(1));
    }
    send("TERM", &child);
    let output = ended(child);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.starts_with("interrupted: nothing is kept of an archive that is not finished"),
        "{said}"
    );
    assert_eq!(all(workdir.path()), before);
    assert!(ended(start(&workdir, &command)).status.success());
    assert!(workdir.path().join("c.zarr.zip").is_file());
}

#[test]
fn who_is_to_ignore_a_signal_does() {
    let workdir = tempfile::tempdir().unwrap();
    matrix(&workdir, "a.npy", 1000);
    let script = r#"trap "" HUP; exec "$0" eval 'ij+1~ij' a.npy -o o.npy"#;
    let mut command = Command::new("sh");
    let child = spawned(command.args(["-c", script, env!("CARGO_BIN_EXE_ijk")]), &workdir);
    for _ in 0..10 {
        std::thread::sleep(Duration::from_millis(10));
        send("HUP", &child);
    }
    let output = ended(child);
    assert!(output.status.success(), "{output:?}");
    assert!(workdir.path().join("o.npy").exists());
}
