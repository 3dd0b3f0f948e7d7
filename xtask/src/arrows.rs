//! Allowed dependencies between crates: the map of `docs/ARCHITECTURE.md` as data.
//!
//! Test-only dependencies are free: a test may compare anything with anything.

use crate::workspace::Workspace;

/// For each crate, the crates it may use.
const ARROWS: &[(&str, &[&str])] = &[
    ("ijk-types", &[]),
    ("ijk-syntax", &[]),
    ("ijk-tensor", &["ijk-types"]),
    ("ijk-ir", &["ijk-syntax", "ijk-types"]),
    ("ijk-oracle", &["ijk-syntax", "ijk-types", "ijk-tensor", "ijk-ir"]),
    ("ijk-plan", &["ijk-ir", "ijk-types"]),
    ("ijk-kernels", &["ijk-types"]),
    ("ijk-cpu", &["ijk-kernels", "ijk-plan", "ijk-tensor", "ijk-types"]),
    ("ijk-blocks", &["ijk-types", "ijk-syntax", "ijk-tensor", "ijk-ir", "ijk-plan", "ijk-cpu"]),
    ("ijk-macros", &["ijk-syntax", "ijk-ir", "ijk-types"]),
    (
        "ijk",
        &[
            "ijk-types",
            "ijk-syntax",
            "ijk-tensor",
            "ijk-ir",
            "ijk-plan",
            "ijk-cpu",
            "ijk-macros",
            // Behind the feature `blocks`.
            "ijk-blocks",
            // Behind the feature `verify`: programs are verified against it.
            "ijk-oracle",
        ],
    ),
    ("ijk-cli", &["ijk"]),
    ("ijk-py", &["ijk"]),
    ("ijk-benches", &["ijk", "ijk-cpu", "ijk-plan", "ijk-ir", "ijk-tensor", "ijk-types"]),
    ("macro-tests", &[]),
    ("xtask", &[]),
    ("examples", &["ijk"]),
];

/// A sentence for every use that has no arrow, and for every crate that is not on the map.
pub fn check(workspace: &Workspace) -> Vec<String> {
    let mut problems = Vec::new();
    for krate in &workspace.crates {
        let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == krate.name) else {
            problems.push(format!(
                "{} is not on the map: add it to docs/ARCHITECTURE.md and xtask/src/arrows.rs",
                krate.name
            ));
            continue;
        };
        for used in krate.uses.iter().filter(|used| !allowed.contains(&used.as_str())) {
            problems.push(format!("{} must not use {used} (xtask/src/arrows.rs)", krate.name));
        }
    }
    problems
}
