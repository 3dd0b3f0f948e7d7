//! What the compiler says of wrong programs, and on which tokens.

#[test]
fn compile_errors() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
