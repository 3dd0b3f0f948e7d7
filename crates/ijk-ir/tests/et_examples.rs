//! The library of operations: checked without diagnostics, and drawn for all its ranks.

use ijk_ir::et::{self, Overrides, Ranks};
use std::path::{Path, PathBuf};

/// Points of a statement.
const POINTS: u64 = 100_000;

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder of examples") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "et") {
            found.push(path);
        }
    }
}

#[test]
fn operations_are_drawn_for_all_ranks() {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/et"), &mut found);
    assert!(found.len() >= 20);
    for path in found {
        let source = std::fs::read_to_string(&path).expect("an example");
        let path = path.display();
        let (tree, errors) = ijk_syntax::et::parse(&source);
        assert!(errors.is_empty(), "{path}: {errors:?}");
        let (checked, diagnostics) = et::check(&source, tree);
        assert!(diagnostics.is_empty(), "{path}: {diagnostics:#?}");
        let checked = checked.expect("no errors");
        let all: Vec<Ranks> = et::rank_combinations(&checked, false).collect();
        assert!((1..1000).contains(&all.len()), "{path}: {} combinations of ranks", all.len());
        let first = et::first(&checked, &Overrides::default());
        assert!(first.is_ok(), "{path}: {first:?}");
        for ranks in &all {
            for seed in 0..3 {
                let drawn = et::draw(&checked, ranks, seed, POINTS);
                assert!(drawn.is_ok(), "{path}: {drawn:?}");
            }
        }
    }
}
