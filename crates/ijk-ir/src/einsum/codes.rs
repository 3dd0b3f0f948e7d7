//! Codes of errors of an einsum and the shapes of its operands.

ijk_syntax::codes! {
    AXES = "einsum-axes";
    DIAGONAL = "einsum-diagonal";
    EXTENTS = "einsum-extents";
    OPERANDS = "einsum-operands";
    OUTPUT_ELLIPSIS = "einsum-output-ellipsis";
}
