//! Compile errors of wrong programs, and their tokens.

#[test]
fn compile_errors() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
