//! Codes of syntax errors of Einsum Tuple, besides those that both languages share.

crate::codes! {
    ARGUMENT_COUNT = "argument-count";
    ARRAY_INDEXED = "array-indexed";
    ASSIGN_SPELLING = "assign-spelling";
    BINDING_OF_I = "binding-of-i";
    CAPITALS = "capitals";
    EMPTY_LIST = "empty-list";
    EMPTY_PROGRAM = "empty-program";
    EXPECTED_ASSIGNMENT = "expected-assignment";
    EXPECTED_CLOSE = "expected-close";
    EXPECTED_END = "expected-end";
    EXPECTED_INDEX = "expected-index";
    EXPECTED_ITEM = "expected-item";
    EXPECTED_NAME = "expected-name";
    EXPECTED_OPEN = "expected-open";
    EXPECTED_RELATION = "expected-relation";
    EXPECTED_TERM = "expected-term";
    FUNCTION_IN_INDEX = "function-in-index";
    INDENTATION = "indentation";
    INPUT_IN_LOOP = "input-in-loop";
    KEYWORD_AS_NAME = "keyword-as-name";
    KEYWORD_TWICE = "keyword-twice";
    LOOP_EMPTY = "loop-empty";
    LOOP_HEADER = "loop-header";
    LOOP_ITEM = "loop-item";
    NOT_AN_ARGUMENT = "not-an-argument";
    NO_BRACKETS = "no-brackets";
    NUMBER_TYPE = "number-type";
    OPERATOR = "operator";
    POSITIONAL_LAST = "positional-last";
    QUOTE_OPEN = "quote-open";
    SECOND_CALL = "second-call";
    SECTION_ORDER = "section-order";
    STAR_OUTSIDE = "star-outside";
    UNKNOWN_FUNCTION = "unknown-function";
    UNTIL_OF_SEVERAL = "until-of-several";
}
