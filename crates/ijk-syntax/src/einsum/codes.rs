//! Codes of errors in the subscripts of an einsum.

crate::codes! {
    ARROW = "einsum-arrow";
    DOTS = "einsum-dots";
    NOT_AN_INDEX = "einsum-not-an-index";
    OUTPUT_ABSENT = "einsum-output-absent";
    OUTPUT_OPERANDS = "einsum-output-operands";
    OUTPUT_TWICE = "einsum-output-twice";
    TWO_ELLIPSES = "einsum-two-ellipses";
}
