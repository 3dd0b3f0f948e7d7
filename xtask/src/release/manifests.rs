//! Versions, and what a registry shows of packages.

use super::{Release, passed};
use crate::workspace::{list, text};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The licences that every package contains.
const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Most keywords and categories of a crate, and most characters of a keyword, that crates.io takes.
const MOST: usize = 5;
const LONGEST: usize = 20;

/// Checks every manifest, the changelog and the files for forges.
pub fn check(release: &Release) -> Result<(), String> {
    let mut problems: Vec<String> = Vec::new();
    for package in &release.packages {
        let name = text(&package["name"]);
        let found = shown(package).into_iter().chain(versions(package, &release.version));
        problems.extend(found.map(|what| format!("{name}: {what}")));
    }
    problems.extend(changelog(&release.root, &release.version));
    problems.extend(minimum(&release.root, &release.packages));
    if !problems.is_empty() {
        return Err(problems.join("\n  "));
    }
    passed(&format!("manifests of {} crates at {}", release.packages.len(), release.version));
    Ok(())
}

/// Parts that a registry shows, and that the package lacks.
fn shown(package: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    for key in ["description", "license", "repository", "readme", "rust_version"] {
        if text(&package[key]).is_empty() {
            problems.push(format!("its manifest has no `{key}`"));
        }
    }
    for key in ["keywords", "categories"] {
        if !(1..=MOST).contains(&list(&package[key]).len()) {
            problems.push(format!("it has 1 to {MOST} `{key}`"));
        }
    }
    let long = list(&package["keywords"]).iter().map(text).filter(|word| word.len() > LONGEST);
    problems.extend(long.map(|word| format!("the keyword {word} has more than {LONGEST} letters")));
    let manifest = text(&package["manifest_path"]);
    let folder = Path::new(&manifest).parent().unwrap_or(Path::new("."));
    let needed = LICENSES.into_iter().chain(["README.md"]);
    let absent = needed.filter(|name| !folder.join(name).is_file());
    problems.extend(absent.map(|name| format!("there is no {name}")));
    problems
}

/// Parts of another version than the release.
fn versions(package: &Value, version: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let own = text(&package["version"]);
    if own != version {
        problems.push(format!("its version is {own}, that of ijk is {version}"));
    }
    let ours = list(&package["dependencies"]).iter().filter(|d| d["path"].is_string());
    for dependency in ours {
        let (name, wanted) = (text(&dependency["name"]), text(&dependency["req"]));
        if wanted != format!("^{version}") {
            problems.push(format!("it depends on {name} {wanted}, whose version is {version}"));
        }
    }
    problems
}

/// Checks that the changelog begins with the version.
fn changelog(root: &Path, version: &str) -> Option<String> {
    let text = fs::read_to_string(root.join("CHANGELOG.md")).unwrap_or_default();
    let heading = text.lines().find_map(|line| line.strip_prefix("## ")).unwrap_or_default();
    if heading.split([',', ' ']).next() != Some(version) {
        return Some(format!("CHANGELOG.md begins with `{heading}`, not with {version}"));
    }
    if heading.contains("not yet released") {
        passed("CHANGELOG.md gives the version no date yet");
    }
    None
}

/// Checks that the forge builds with the oldest compiler that manifests promise.
fn minimum(root: &Path, packages: &[Value]) -> Option<String> {
    let version = text(&packages.first()?["rust_version"]);
    let ci = ".github/workflows/ci.yml";
    let text = fs::read_to_string(root.join(ci)).unwrap_or_default();
    let names = text.lines().any(|line| line.contains(&format!("\"{version}\"")));
    (!names).then(|| format!("{ci} does not build with Rust {version}, the least that is promised"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn versions_that_differ() {
        let package = json!({ "version": "0.2.0", "dependencies": [
            { "name": "ijk-ir", "req": "^0.1.0", "path": "/x" },
            { "name": "ijk-plan", "req": "^0.2.0", "path": "/y" },
            { "name": "libc", "req": "^0.2", "path": null },
        ] });
        let found = versions(&package, "0.2.0");
        assert_eq!(found, ["it depends on ijk-ir ^0.1.0, whose version is 0.2.0"]);
        assert_eq!(versions(&package, "0.3.0").len(), 3);
    }

    #[test]
    fn what_a_registry_shows() {
        let folder = std::env::temp_dir().join("ijk-no-such-folder");
        let package = json!({
            "description": "d", "license": "MIT", "repository": "r", "readme": null,
            "rust_version": "1.95", "keywords": ["a-keyword-of-many-letters"], "categories": [],
            "manifest_path": folder.join("Cargo.toml"),
        });
        let found = shown(&package).join("\n");
        for part in ["no `readme`", "5 `categories`", "a-keyword", "no LICENSE-MIT", "no README.md"]
        {
            assert!(found.contains(part), "{found}");
        }
    }
}
