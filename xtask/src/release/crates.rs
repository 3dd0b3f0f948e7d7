//! `cargo publish --dry-run` of every crate.

use super::{Release, packages, passed};
use crate::venv::succeed;
use std::process::Command;

/// Packages all crates and builds each package, with the packages of the others as its dependencies. Cargo keeps those in
/// a registry of its own meanwhile, so the first version of a crate is verified like any other.
pub fn check(release: &Release) -> Result<(), String> {
    let mut publish = Command::new(env!("CARGO"));
    publish.args(["publish", "--dry-run", "--locked"]).current_dir(&release.root);
    publish.arg("--target-dir").arg(release.folder("crates")?);
    for name in packages::names(&release.packages) {
        publish.args(["--package", &name]);
    }
    if release.allow_dirty {
        publish.arg("--allow-dirty");
    }
    // Only that packages compile is asked: without optimisation, and without files for debuggers.
    publish.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
    succeed(publish.env("CARGO_INCREMENTAL", "0"))?;
    passed(&format!("{} crates would be published", release.packages.len()));
    Ok(())
}
