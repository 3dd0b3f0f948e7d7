//! The Python package: a source distribution, a wheel that is built from it, and checks of both.

use super::{Release, passed, pythons};
use crate::venv::{environment, succeed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages that build and check distributions. The package itself needs none of them.
const TOOLS: [&str; 5] = ["abi3audit", "maturin>=1.9,<2", "mypy", "numpy>=2.0", "twine>=6.1"];

/// A program that every installation must run.
const SMOKE: &str = include_str!("smoke.py");

/// Builds and checks both distributions, and installs the wheel for each Python.
pub fn check(release: &Release) -> Result<(), String> {
    let tools = environment(&release.folder("tools")?, TOOLS.into_iter())?;
    let folder = release.folder("dist")?;
    empty(&folder)?;
    let source = sdist(release, &tools, &folder)?;
    let wheel = build(release, &tools, &source, &folder)?;
    let tool = |name: &str, arguments: &[&str]| {
        let mut tool = Command::new(&tools);
        tool.args(["-m", name]).args(arguments);
        tool
    };
    succeed(tool("twine", &["check", "--strict"]).args([&source, &wheel]))?;
    succeed(tool("abi3audit", &["--strict", "--summary"]).arg(&wheel))?;
    passed("twine and abi3audit accept the distributions");
    smoke(release, &wheel)?;
    install(&tools, &wheel)?;
    let mut stubtest = tool("mypy.stubtest", &["ijk", "--concise", "--ignore-unused-allowlist"]);
    stubtest.arg("--mypy-config-file").arg(release.root.join("pyproject.toml"));
    stubtest.arg("--allowlist").arg(release.root.join("python/stubtest.txt"));
    succeed(stubtest.current_dir(&folder))?;
    passed("stubtest finds what stubs say in the package");
    Ok(())
}

/// The source distribution.
fn sdist(release: &Release, python: &Path, to: &Path) -> Result<PathBuf, String> {
    let mut maturin = Command::new(python);
    maturin.args(["-m", "maturin", "sdist", "--out"]).arg(to).current_dir(&release.root);
    succeed(&mut maturin)?;
    only(to, ".tar.gz", &release.version)
}

/// The wheel, from the unpacked source distribution as `pip` builds it: what that lacks is found.
fn build(release: &Release, python: &Path, source: &Path, to: &Path) -> Result<PathBuf, String> {
    let unpacked = release.folder("source")?;
    empty(&unpacked)?;
    succeed(
        Command::new(python)
            .args(["-m", "tarfile", "--filter", "data", "-e"])
            .args([source, &unpacked]),
    )?;
    let mut maturin = Command::new(python);
    maturin.args(["-m", "maturin", "build", "--out"]).arg(to);
    // Dependencies that the command has built are not built again.
    maturin.env("CARGO_TARGET_DIR", release.root.join("target"));
    succeed(maturin.current_dir(unpacked.join(format!("ijk-{}", release.version))))?;
    only(to, ".whl", &release.version)
}

/// Installs the wheel for each Python in an environment that has nothing else, and uses it.
fn smoke(release: &Release, wheel: &Path) -> Result<(), String> {
    let pythons = pythons::all();
    if pythons.is_empty() {
        return Err("there is no Python 3.11 or newer: name some in IJK_PYTHONS".into());
    }
    for (minor, base) in &pythons {
        let home = release.folder(&format!("smoke-3.{minor}"))?;
        succeed(Command::new(base).args(["-m", "venv", "--clear"]).arg(&home))?;
        let python = home.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
        install(&python, wheel)?;
        let mut used = Command::new(&python);
        succeed(used.args(["-c", SMOKE, &release.version]).current_dir(&home))?;
        passed(&format!("the wheel works with Python 3.{minor}"));
    }
    Ok(())
}

/// Installs the wheel, in place of another build of the same version.
fn install(python: &Path, wheel: &Path) -> Result<(), String> {
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    succeed(pip.arg("--force-reinstall").arg(wheel))
}

/// Empties a folder.
fn empty(folder: &Path) -> Result<(), String> {
    let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::remove_dir_all(folder).and_then(|()| fs::create_dir_all(folder)).map_err(fail)
}

/// The one file of a folder with that ending, which has the version in its name.
fn only(folder: &Path, ending: &str, version: &str) -> Result<PathBuf, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let is_it = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&format!("ijk-{version}")) && name.ends_with(ending)
    };
    let found = paths.iter().find(is_it).cloned();
    found.ok_or_else(|| format!("no ijk-{version}…{ending} was built in {}", folder.display()))
}
