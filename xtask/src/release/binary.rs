//! The command as it is shipped.

use super::{Release, passed};
use crate::venv::succeed;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The profile, and its folder.
const SHIPPED: (&str, &str) = ("dist", "dist");

/// Most bytes of the command.
const MOST: u64 = 30_000_000;

/// Builds the command; checks its size and version, and makes its completions and manual pages.
pub fn check(release: &Release) -> Result<(), String> {
    let ijk = crate::frameworks::build(&release.root, SHIPPED)?;
    let size = fs::metadata(&ijk).map_err(|error| error.to_string())?.len();
    if size > MOST {
        return Err(format!("{} has {size} bytes: {MOST} is the most", ijk.display()));
    }
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
    passed(&format!("the command has {size} bytes; its pages are in {}", share.display()));
    Ok(())
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
