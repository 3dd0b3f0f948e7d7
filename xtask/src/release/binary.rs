//! The command as it is shipped.

use super::{Release, passed};
use crate::venv::succeed;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The profile, and its folder.
const SHIPPED: (&str, &str) = ("dist", "dist");

/// Most bytes of the command, without object stores and with them.
const MOST: u64 = 30_000_000;
const MOST_WITH_STORES: u64 = 45_000_000;

/// Builds the command with and without object stores; checks its sizes and its version, and makes its completions and
/// manual pages.
pub fn check(release: &Release) -> Result<(), String> {
    let (_, with_stores) = built(release, &["object-store"], MOST_WITH_STORES)?;
    let (ijk, size) = built(release, &[], MOST)?;
    let version = printed(&ijk, &["--version"])?;
    if version != format!("ijk {}\n", release.version) {
        return Err(format!("its --version prints {version:?}, not {}", release.version));
    }
    let share = release.folder("share")?;
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&ijk, &["completions", shell])?;
        let path = share.join(format!("ijk.{shell}"));
        fs::write(&path, script).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    succeed(Command::new(&ijk).arg("man").arg(share.join("man1")))?;
    let share = share.display();
    passed(&format!(
        "the command has {size} bytes, {with_stores} with object stores; its pages are in {share}"
    ));
    Ok(())
}

/// Builds the command with some features; its path and its size, which must not be more than `most`.
fn built(release: &Release, features: &[&str], most: u64) -> Result<(PathBuf, u64), String> {
    let ijk = crate::frameworks::build(&release.root, SHIPPED, features)?;
    let size = fs::metadata(&ijk).map_err(|error| error.to_string())?.len();
    match size > most {
        true => Err(format!("{} has {size} bytes: {most} is the most", ijk.display())),
        false => Ok((ijk, size)),
    }
}

/// Output of a command that must succeed.
pub fn printed(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let name = program.display();
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("`{name}` does not start: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("`{name}` failed: {}", String::from_utf8_lossy(&output.stderr))),
    }
}
