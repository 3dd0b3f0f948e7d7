//! What lowering Einsum Tuple complains of.

ijk_syntax::codes! {
    BINDING_SHAPE = "binding-shape";
    COMPONENT_COUNT = "component-count";
    DOMAIN_TOO_LARGE = "domain-too-large";
    FUNCTION_OPERANDS = "function-operands";
    INDEX_NESTED = "index-nested";
    INDEX_OVERFLOW = "index-overflow";
    INDEX_TYPE = "index-type";
    LITERAL_TYPE = "literal-type";
    NOT_ORDERED = "not-ordered";
    OPERAND_TYPE = "operand-type";
    RANDOM_BOUNDS = "random-bounds";
    ARRAY_TOO_LARGE = "array-too-large";
    STAR_EXTENT = "star-extent";
    TOO_MANY_AXES = "too-many-axes";
    UNKNOWN_NAME = "unknown-name";
    VALUE_TOO_LONG = "value-too-long";
}
