//! Codes of errors in checking, lowering and instantiation.

ijk_syntax::codes! {
    ARGUMENT_COUNT = "argument-count";
    ARGUMENT_RANK = "argument-rank";
    ARGUMENT_TYPE = "argument-type";
    ARG_DROPPED = "arg-dropped";
    ARG_FOLDS = "arg-folds";
    ARRAY_TOO_LARGE = "array-too-large";
    BRACKETS_ONLY = "brackets-only";
    CANCELLED = "cancelled";
    CHAIN_ARITY = "chain-arity";
    CHAIN_ORDER = "chain-order";
    CYCLE = "cycle";
    DIVISION_BY_LETTER = "division-by-letter";
    DIVISOR = "divisor";
    DOMAIN_TOO_LARGE = "domain-too-large";
    DROPPED = "dropped";
    EMPTY_POSITION = "empty-position";
    EXTENT_OF_NOTHING = "extent-of-nothing";
    EXTENT_TOO_LARGE = "extent-too-large";
    EXTENT_VALUE = "extent-value";
    HUGE_OUTPUT = "huge-output";
    INDEX_OF_VALUE = "index-of-value";
    INDEX_OPERAND = "index-operand";
    INDEX_OVERFLOW = "index-overflow";
    LETTER_CONFLICT = "letter-conflict";
    LOOPS_TOO_DEEP = "loops-too-deep";
    LOOP_CONDITION = "loop-condition";
    LOOP_EXTENTS = "loop-extents";
    LOOP_INPUTS = "loop-inputs";
    LOOP_PASSES = "loop-passes";
    LOOP_RANK = "loop-rank";
    LOOP_SWEPT = "loop-swept";
    MORE = "more";
    NAMES_TOO_LARGE = "names-too-large";
    NEGATIVE_OUTPUT = "negative-output";
    NEW_LETTER = "new-letter";
    NO_TYPE = "no-type";
    OPEN_TYPE = "open-type";
    ORDER_LETTERS = "order-letters";
    ORDER_PLACES = "order-places";
    OUT_OF_BOUNDS = "out-of-bounds";
    PRODUCT_OF_LETTERS = "product-of-letters";
    RANKS_DIFFER = "ranks-differ";
    RANK_TOO_LARGE = "rank-too-large";
    REDUCER_INSIDE = "reducer-inside";
    STATE_SHAPE = "state-shape";
    STORES_MEET = "stores-meet";
    STORES_UNTOLD = "stores-untold";
    SWAP_OF_ONE = "swap-of-one";
    TOO_MANY_COMPONENTS = "too-many-components";
    TOO_MANY_LETTERS = "too-many-letters";
    TOO_MANY_PORTS = "too-many-ports";
    TOO_MANY_STATEMENTS = "too-many-statements";
    TOO_MANY_TERMS = "too-many-terms";
    TWO_EXTENTS = "two-extents";
    TYPES_DIFFER = "types-differ";
    TYPE_OUTSIDE = "type-outside";
    TYPE_REJECTED = "type-rejected";
    UNDETERMINED = "undetermined";
    UNDETERMINED_NAME = "undetermined-name";
    UNKNOWN_NAME = "unknown-name";
    UNSOLVED = "unsolved";
    UNUSED = "unused";
}

/// Those of programs that are refused for what they expand to, not for what they mean.
pub const LIMITS: &[ijk_syntax::Code] = &[
    LOOPS_TOO_DEEP,
    LOOP_RANK,
    NAMES_TOO_LARGE,
    RANK_TOO_LARGE,
    STORES_UNTOLD,
    TOO_MANY_COMPONENTS,
    TOO_MANY_LETTERS,
    TOO_MANY_PORTS,
    TOO_MANY_STATEMENTS,
    TOO_MANY_TERMS,
];

/// Those of sizes that no memory holds.
pub const SIZES: &[ijk_syntax::Code] = &[ARRAY_TOO_LARGE, DOMAIN_TOO_LARGE, HUGE_OUTPUT];
