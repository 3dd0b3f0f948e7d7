//! What is told of an einsum's operands besides their shapes.

ijk_syntax::codes! {
    TYPES = "einsum-types";
}
