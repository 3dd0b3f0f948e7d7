//! Every block of i in the book, the specification and the README is a program without errors or warnings.

use std::path::Path;

const PAGES: [&str; 4] =
    ["book/src/afternoon.md", "book/src/reference.md", "docs/language/i.md", "README.md"];

/// The blocks fenced as `ijk`, with the lines where they start.
fn blocks(page: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if line.trim() == "```ijk" {
            let block =
                lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim() != "```");
            blocks.push((number + 1, block.collect::<Vec<_>>().join("\n")));
        }
    }
    blocks
}

#[test]
fn blocks_of_i_are_programs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut count = 0;
    for page in PAGES {
        let text = std::fs::read_to_string(root.join(page)).expect(page);
        for (line, source) in blocks(&text) {
            let compiled = ijk_ir::compile_source(&source);
            assert!(compiled.program.is_some(), "{page}:{line}: {:?}", compiled.diagnostics);
            assert!(compiled.diagnostics.is_empty(), "{page}:{line}: {:?}", compiled.diagnostics);
            count += 1;
        }
    }
    assert!(count > 10, "only {count} blocks found");
}
