//! Codes of diagnostics about operands of einsums, besides their shapes.

ijk_syntax::codes! {
    TYPES = "einsum-types";
}
