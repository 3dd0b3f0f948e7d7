//! The workspace as cargo sees it.

use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;

/// The crates of this repository.
pub struct Workspace {
    /// The repository.
    pub root: PathBuf,
    /// Its crates.
    pub crates: Vec<Crate>,
}

/// A crate of this repository.
pub struct Crate {
    /// Its name.
    pub name: String,
    /// The folder of its manifest.
    pub folder: PathBuf,
    /// The crates of this repository that it uses outside tests.
    pub uses: Vec<String>,
}

impl Workspace {
    /// Asks cargo.
    pub fn load() -> Result<Self, String> {
        let metadata = metadata()?;
        let root = PathBuf::from(text(&metadata["workspace_root"]));
        let crates = list(&metadata["packages"]).iter().map(Crate::from_metadata).collect();
        Ok(Self { root, crates })
    }
}

impl Crate {
    fn from_metadata(package: &Value) -> Self {
        let mut folder = PathBuf::from(text(&package["manifest_path"]));
        folder.pop();
        let uses = list(&package["dependencies"])
            .iter()
            .filter(|dependency| dependency["kind"].as_str() != Some("dev"))
            .filter(|dependency| dependency["path"].is_string())
            .map(|dependency| text(&dependency["name"]))
            .collect();
        Self { name: text(&package["name"]), folder, uses }
    }
}

/// The packages of this repository, as `cargo metadata` describes them.
pub fn metadata() -> Result<Value, String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

/// A string, or nothing.
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The elements of an array, or none.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
