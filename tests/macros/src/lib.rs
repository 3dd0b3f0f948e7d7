//! Compile errors of the macros of `ijk`: `tests/compile_fail`.
