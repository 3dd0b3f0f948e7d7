//! Codes of errors in checking and solving Einsum Tuple.

ijk_syntax::codes! {
    ALONG_IN_LOOP = "along-in-loop";
    AMBIGUOUS = "ambiguous";
    ARRAY_WITHOUT_BRACKETS = "array-without-brackets";
    BINDING_CONFLICT = "binding-conflict";
    BINDING_RANK = "binding-rank";
    BOTH_ARRAY_AND_TUPLE = "both-array-and-tuple";
    COMPONENT_AS_INDEX = "component-as-index";
    COMPONENT_INDEX = "component-index";
    CONSTRAINT_CYCLE = "constraint-cycle";
    CONSTRAINT_FAILS = "constraint-fails";
    CONSTRAINT_OVERFLOWS = "constraint-overflows";
    CONSTRAINT_TWICE = "constraint-twice";
    DECLARED_LATE = "declared-late";
    DIMS_IN_RANK = "dims-in-rank";
    EMPTY_RANGE = "empty-range";
    EXTENTS_OF_DATA = "extents-of-data";
    INDEX_COUNT = "index-count";
    INDEX_TOO_LARGE = "index-too-large";
    LOOP_TWICE = "loop-twice";
    NEGATIVE_EXTENT = "negative-extent";
    NEGATIVE_RANGE = "negative-range";
    NOT_STATIC = "not-static";
    NO_RANKS = "no-ranks";
    OUTPUT_NOT_ASSIGNED = "output-not-assigned";
    OUTPUT_TWICE = "output-twice";
    RANKS_DIFFER = "ranks-differ";
    RANK_RANGE = "rank-range";
    READ_BEFORE = "read-before";
    STAR_EXTENT = "star-extent";
    STAR_IN_DIMS = "star-in-dims";
    STAR_OUTSIDE = "star-outside";
    TOO_MANY_POINTS = "too-many-points";
    TWO_STARS = "two-stars";
    UNCONSTRAINED = "unconstrained";
    UNKNOWN_ARRAY = "unknown-array";
    UNKNOWN_OVERRIDE = "unknown-override";
    UNKNOWN_ELEMENT = "unknown-element";
    UNKNOWN_TUPLE = "unknown-tuple";
    UNUSED_ARRAY = "unused-array";
    UNUSED_TUPLE = "unused-tuple";
    UNTIL_RANDOM = "until-random";
    UNTIL_RANGE = "until-range";
    WRITE_DROPPED = "write-dropped";
    ZERO_DIVISOR = "zero-divisor";
}
