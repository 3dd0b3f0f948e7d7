//! Every block of Einsum Tuple in the book, the specification and the README is a program without errors or
//! warnings that runs for every combination of ranks.

use std::path::Path;

const PAGES: [&str; 5] = [
    "book/src/einsum_tuple.md",
    "book/src/loops.md",
    "book/src/einsum_tuple_reference.md",
    "docs/language/einsum-tuple.md",
    "README.md",
];

/// The blocks fenced as `et`.
fn blocks(page: &str) -> Vec<String> {
    let fences = page.split("```et\n").skip(1);
    fences.map(|rest| rest.split("```").next().unwrap_or_default().into()).collect()
}

#[test]
fn blocks_are_programs_that_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    for page in PAGES {
        let text = std::fs::read_to_string(root.join(page)).expect(page);
        for source in blocks(&text) {
            let program = ijk::et(&source).unwrap_or_else(|error| panic!("{page}: {error}"));
            assert!(program.warnings().is_empty(), "{page}: {source}{:?}", program.warnings());
            for case in program.cases(1, 1).points(20_000) {
                let run = case.and_then(|case| case.run(()));
                run.unwrap_or_else(|error| panic!("{page}: {source}{error}"));
            }
            count += 1;
        }
    }
    assert!(count >= 12, "only {count} blocks found");
}
