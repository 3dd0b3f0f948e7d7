//! Virtual environments of Python, below `target`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The interpreter of an environment with some packages, which is made if there is none.
pub fn environment<'a>(
    home: &Path,
    packages: impl Iterator<Item = &'a str>,
) -> Result<PathBuf, String> {
    let python = home.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !python.is_file() {
        succeed(Command::new(base_python()).args(["-m", "venv"]).arg(home))?;
    }
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    succeed(pip.args(packages))?;
    Ok(python)
}

/// The Python that environments are made with.
pub fn base_python() -> String {
    std::env::var("IJK_PYTHON").unwrap_or_else(|_| "python3".into())
}

/// Runs a command that must succeed.
pub fn succeed(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{name}` failed: {status}")),
        Err(error) => Err(format!("`{name}` does not start: {error}")),
    }
}
