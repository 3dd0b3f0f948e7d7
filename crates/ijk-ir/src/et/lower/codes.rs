//! Codes of errors in lowering Einsum Tuple.

ijk_syntax::codes! {
    ALONG_NOTHING = "along-nothing";
    ARRAY_TOO_LARGE = "array-too-large";
    DECLARED_TYPE = "declared-type";
    DOMAIN_TOO_LARGE = "domain-too-large";
    INDEX_NESTED = "index-nested";
    INDEX_OVERFLOW = "index-overflow";
    INDEX_TYPE = "index-type";
    LATER_PASS = "later-pass";
    LITERAL_TYPE = "literal-type";
    LOOP_EXTENT = "loop-extent";
    LOOP_TYPE = "loop-type";
    NOT_ORDERED = "not-ordered";
    NOT_WITHIN = "not-within";
    OPERAND_TYPE = "operand-type";
    PLACES = "places";
    RANDOM_BOUNDS = "random-bounds";
    STAR_EXTENT = "star-extent";
    TOO_MANY_AXES = "too-many-axes";
    UNBOUND = "unbound";
    UNTIL_TYPE = "until-type";
    VALUE_TOO_LONG = "value-too-long";
}
