//! Programs of Einsum Tuple with mistakes that random mutation rarely makes: at least one for each diagnostic.

use super::EtCase;
use crate::generate::{Flavour, Rng, data_input};
use ijk_types::DType;

/// The expected diagnostic, and the program. `<n>` is replaced by a number from 2 to 5.
type EtMistake = (&'static str, &'static str);

const MISTAKES: &[EtMistake] = &[
    // The grammar.
    ("argument-count", "y[a] = EXP(x[a], <n>)"),
    ("argument-count", "y[a] = RANDOM(0, <n>)"),
    ("array-indexed", "y[a] = 1\n\nnp.abs(y[a])"),
    ("array-indexed", "y[a] = 1\n\nnp.tile(y, DIMS(a)[0])"),
    ("assign-spelling", "y[a] -= <n>"),
    ("assign-spelling", "y[a] max = x[a]"),
    ("binding-of-i", "m: ik*kj~ijk"),
    ("capitals", "y[a] = exp(x[a])"),
    ("capitals", "y[a] = 1\n\ndims(a) = <n>"),
    ("empty-list", "y[FLAT()] = <n>"),
    ("empty-list", "y[a] = RANK()"),
    ("empty-program", "# nothing but words"),
    ("expected-assignment", "y[a] x[a]"),
    ("expected-close", "y[a b] = <n>"),
    ("expected-end", "y[a] = x[a] z[a] = <n>"),
    ("expected-index", "y[a,] = <n>"),
    ("expected-item", "y[a] = 1\n? <n>"),
    ("expected-name", "y[a] = 1\n\nnp."),
    ("expected-open", "y[a] = RANDOM"),
    ("expected-open", "y[a] = 1\n\nRANK(a) IN (1, <n>)"),
    ("expected-relation", "y[a] = 1\n\nDIMS(a) <n>"),
    ("expected-term", "y[a] ="),
    ("expected-term", "y[a] = 1\n\nDIMS(a) = <n> +"),
    ("argument-count", "y[a] = x[MAX(a, 0, <n>)]"),
    ("function-in-index", "y[a] = x[SIGN(a - <n>)]"),
    ("indentation", "LOOP a\n  y[a] = <n>\n   z[a] = 1"),
    ("input-in-loop", "LOOP a\n  INPUT x[a]\n  y[a] = x[a] + <n>"),
    ("declared-late", "y[a] = 1\nINPUT y[a]\nz[a] = y[a] + <n>"),
    ("unknown-element", "INPUT x[a]: F3<n>\ny[a] = x[a]"),
    ("keyword-as-name", "RANDOM[a] = <n>"),
    ("keyword-twice", "y[a] = 1\n\nnp.f(k=y, k=<n>)"),
    ("loop-empty", "LOOP a\ny[a] = <n>"),
    ("loop-header", "LOOP <n>\n  y[a] = 1"),
    ("loop-item", "LOOP a\n  y[a] = <n>\n\n  y"),
    ("no-brackets", "total = <n>"),
    ("not-an-argument", "y[a] = 1\n\nnp.f(y, None)"),
    ("not-closed", "y[a] = (x[a] + <n>"),
    ("not-whole", "y[a] = 1\n\nDIMS(a) = <n>.5"),
    ("number-range", "y[a] = x[99999999999999999999]"),
    ("number-touched", "y[a] = <n>x[a]"),
    ("number-type", "y[a] = RANDOM(0, <n>, F64)"),
    ("operator", "y[a] = x[a] ^ <n>"),
    ("operator", "y[a] = x[a / <n>]"),
    ("positional-last", "y[a] = 1\n\nnp.f(k=y, <n>)"),
    ("quote-open", "y[a] = 1\n\nnp.f(L('VALID))"),
    ("second-call", "y[a] = 1\n\nnp.abs(y)\n\nnp.sqrt(y)"),
    ("section-order", "y[a] = 1\n\ny\n\nz[a] = <n>"),
    ("star-outside", "y[a] = x[:, a]"),
    ("unexpected", "y[a] = 1\n)"),
    ("until-of-several", "LOOP a, b UNTIL LT(y[a], <n>)\n  y[a] = 1"),
    ("unknown-function", "y[a] = TANNH(a)"),
    // Names, ranks, constraints.
    ("along-in-loop", "LOOP a\n  y[a] = SORT(x[b], b, <n>)"),
    ("star-in-dims", "q[a,b] = RANDOM(0, <n>, INT)\ny[a] = x[DIMS(a, q[a,:])]\n\nDIMS(b) = 2"),
    ("array-without-brackets", "x[a] = 1\ny[a] = <n> * x"),
    ("both-array-and-tuple", "x[a] = 1\ny[x] = <n>"),
    ("component-as-index", "q[a] = 1\ny[a] = q[a[0]]\n\nDIMS(a) = <n>"),
    ("component-index", "y[a] = a[0,1]\n\nDIMS(a) = <n>"),
    ("component-of-itself", "y[a] = <n> * a[a]\n\nDIMS(a) = <n>"),
    ("constraint-cycle", "y[a,b] = 1\n\nDIMS(a) = DIMS(b) + 1\nDIMS(b) = DIMS(a) * <n>"),
    ("constraint-cycle", "x[a] = 1\ny[a,b] = x[b]\n\nDIMS(a) = DIMS(b)"),
    (
        "constraint-overflows",
        "y[a] = 1\n\nDIMS(a) = 4611686018427387904 * 4611686018427387904 * <n>",
    ),
    (
        "constraint-overflows",
        "y[a,b] = 1\n\nDIMS(a) = <n>\nDIMS(b) = DIMS(a) * 4611686018427387904",
    ),
    ("constraint-twice", "y[a] = 1\n\nDIMS(a) = <n>\nDIMS(a) IN [<n>, 5]"),
    ("dims-in-rank", "y[a,b] = 1\n\nRANK(a) = DIMS(b)"),
    ("empty-range", "y[a] = 1\n\nDIMS(a) IN [<n>, 1]"),
    ("index-count", "x[a,b] = <n>\ny[a] = x[a]"),
    ("loop-twice", "LOOP a\n  LOOP a\n    y[a] = <n>"),
    ("negative-extent", "y[a,b] = 1\n\nDIMS(a) IN [<n>, 5]\nDIMS(b) = DIMS(a) - 7"),
    ("negative-range", "y[a] = 1\n\nDIMS(a) IN [-<n>, 3]"),
    ("negative-range", "y[a] = 1\n\nDIMS(a) = 1 - <n>"),
    ("no-ranks", "y[a,b] = 1\n\nRANK(b) = RANK(a) + 9"),
    ("not-static", "y[a] = b[0] + a\nz[a // b] = 1\n\nDIMS(a) = <n>"),
    ("output-not-assigned", "y[a] = z[a] + <n>\n\ny, z"),
    ("output-twice", "y[a] = 1\n\ny, y\n\nDIMS(a) = <n>"),
    ("rank-range", "y[a] = 1\n\nRANK(a) IN [0, 1<n>]"),
    ("rank-range", "y[a] = 1\n\nRANK(a) = 10 + <n>"),
    ("never-in-bounds", "y[a] = 1\nz[a] = y[a + <n> + 9]\n\nDIMS(a) = 2"),
    ("never-in-bounds", "y[a] = <n>\nz[] = y[-1]\n\nDIMS(a) = 2"),
    ("ranks-differ", "x[a,b] = 1\ny[a + c] = x[b,a]\n\nRANK(a) = 1\nRANK(c) = <n>"),
    ("ranks-differ", "x[a] = 1\ny[b] = x[b]\n\nRANK(a) = 1\nRANK(b) = <n>"),
    ("ranks-differ", "x[a,b] = 1\n\nRANK(a) = <n>\nRANK(b) = 1\nDIMS(b) = DIMS(a) + DIMS(a)"),
    ("read-before", "y[a] = y[a] + <n>"),
    (
        "star-extent",
        "i[s,c] = RANDOM(0, 2, INT)\nx[e] = 1\ny[s] = x[i[s,:]]\n\nRANK(e) = 1\nDIMS(c) = DIMS(d)\nDIMS(d) = <n>",
    ),
    (
        "star-extent",
        "q[t] = 0 * t + <n>\ni[s,q[t]] = 0 * s\nx[e] = 1\ny[s] = x[i[s,:]]\n\nDIMS(s) = 2\nDIMS(t) = 1",
    ),
    ("two-stars", "q[a,b] = RANDOM(0, <n>, INT)\nx[a] = 1\ny[a] = x[q[:,:]]"),
    ("unconstrained", "y[a] = DIMS(b)[0] + <n>\n\nDIMS(a) = 2"),
    ("unknown-array", "y[a] = <n>\n\nz"),
    ("unknown-tuple", "y[a] = 1\n\nDIMS(a) = DIMS(other) + <n>"),
    ("unused-array", "x[a] = <n>\ny[a] = 1\n\ny"),
    ("unused-tuple", "y[a] = 1\n\nRANK(b) = <n>"),
    ("until-random", "LOOP a UNTIL LT(RANDOM(0, <n>, INT), 1)\n  y[a] = 1"),
    ("until-range", "LOOP a UNTIL LT(y[b], <n>)\n  y[b] = a"),
    ("write-dropped", "y[2*a] = <n>\ny[2*a+1] += a\n\nDIMS(a) = 2"),
    ("zero-divisor", "y[a] = 1\n\nDIMS(a) = <n> // 0"),
    ("zero-divisor", "y[a] = 1\nz[a] = y[a % (<n> - <n>)]"),
    // Types and sizes.
    ("array-too-large", "y[3000000000*a,4000000000] = 1\n\nDIMS(a) = <n>"),
    ("index-overflow", "y[4000000000*a*4000000000] = 1\n\nDIMS(a) = 1"),
    ("index-too-large", "y[9223372036854775807 * (a + <n>)] = 1\n\nDIMS(a) = 2"),
    ("index-type", "q[a] = RANDOM(0, <n>, FLOAT)\nx[b] = 1\ny[a] = x[q[a]]"),
    ("later-pass", "LOOP a\n  y[a] = 1\n  y[a] += y[a + 1]\n\nDIMS(a) = <n>"),
    ("later-pass", "LOOP a\n  y[a] = y[a] + 1\n\nDIMS(a) = <n>"),
    (
        "loop-extent",
        "q[b] = b\nLOOP a\n  q[b] = q[b] + 1\n  y[a,FLAT(q[b],b)] = 1\n\nDIMS(a) = <n>\nDIMS(b) = 2",
    ),
    ("loop-type", "y[] = <n>\nLOOP a\n  y[] or= 1\n\nDIMS(a) = 2"),
    ("operand-type", "y[a] = SQRT(LT(a, <n>)) // ABS(EQ(a, a))\n\nDIMS(a) = 2"),
    ("random-bounds", "y[a] = RANDOM(0.5, <n>, INT)\n\nDIMS(a) = 1"),
    ("until-type", "LOOP a UNTIL y[a]\n  y[a] = <n>\n\nDIMS(a) = 2"),
    (
        "too-many-axes",
        "y[a,b,c,d,e,f,g,h] = 1\n\nRANK(a) = 9\nRANK(b) = 9\nRANK(c) = 9\nRANK(d) = 9\nRANK(e) = 9\nRANK(f) = 9\nRANK(g) = 9\nRANK(h) = 9\nDIMS(a) = 1\nDIMS(b) = 1\nDIMS(c) = 1\nDIMS(d) = 1\nDIMS(e) = 1\nDIMS(f) = 1\nDIMS(g) = 1\nDIMS(h) = 1",
    ),
];

/// Arrays to bind: their names, element types and shapes.
type Inputs = &'static [(&'static str, DType, &'static [usize])];
/// Extents that are given with the program.
type Dims = &'static [(&'static str, &'static [u64])];

/// Mistakes in bound arrays, or in given extents.
const GIVEN: &[(&str, &str, Inputs, Dims)] = &[
    ("along-nothing", "y[] = ARGMAX(x[a], a)", &[("x", DType::F32, &[0])], &[]),
    ("ambiguous", "y[a] = x[b + 1] * a", &[("x", DType::F32, &[3])], &[]),
    ("not-within", "y[a] = SORT(x[a + <n>], a)\n\nDIMS(a) = 3", &[("x", DType::F32, &[3])], &[]),
    ("places", "y[b] = TOPK(x[a], a, b)\n\nDIMS(b) = 4", &[("x", DType::I64, &[3])], &[]),
    (
        "ambiguous",
        "y[a,b] = x[a,b]\n\nRANK(a) IN [0, 3]\nRANK(b) IN [0, 3]",
        &[("x", DType::I64, &[2, 1])],
        &[],
    ),
    (
        "binding-conflict",
        "y[a] = x[a] + z[a]",
        &[("x", DType::F32, &[3]), ("z", DType::F32, &[4])],
        &[],
    ),
    ("binding-conflict", "y[a] = x[a]\n\nDIMS(a) = <n>", &[("x", DType::F32, &[60])], &[]),
    ("binding-conflict", "y[a] = 1\n\nDIMS(a) IN [4, 5]", &[], &[("a", &[3])]),
    ("binding-rank", "y[a] = x[a] * a", &[("x", DType::I32, &[3, 1])], &[]),
    (
        "constraint-fails",
        "y[a] = x[b] * z[c]\n\nDIMS(b) = 2 * DIMS(d)\nDIMS(c) = DIMS(d) + 1",
        &[("x", DType::I32, &[3]), ("z", DType::I32, &[2])],
        &[("a", &[1])],
    ),
    (
        "domain-too-large",
        "y[] = a * b * x[c]",
        &[("x", DType::F32, &[2])],
        &[("a", &[9_000_000_000]), ("b", &[9_000_000_000])],
    ),
    ("array-too-large", "y[3000000000*a,4000000000] = 1", &[], &[("a", &[2])]),
    ("declared-type", "INPUT x[a]: F64\ny[a] = x[a] * <n>", &[("x", DType::F32, &[3])], &[]),
    ("unbound", "INPUT x[a]\ny[a] = x[a] + <n>", &[], &[]),
    ("index-type", "y[a] = x[q[a]]", &[("x", DType::C64, &[3]), ("q", DType::F64, &[2])], &[]),
    ("literal-type", "y[a] = x[a] + 3000000000", &[("x", DType::I32, &[3])], &[]),
    ("not-ordered", "m[] =max x[a]", &[("x", DType::C64, &[3])], &[]),
    ("not-ordered", "m[a] min= x[a]", &[("x", DType::C128, &[2])], &[]),
    ("operand-type", "y[a] = FLOOR(x[a])", &[("x", DType::C128, &[2])], &[]),
    ("unknown-override", "y[a] = x[a]", &[("x", DType::F64, &[2])], &[("b", &[2])]),
    ("unknown-override", "y[a] = 1", &[], &[("aa", &[2, 2])]),
];

/// Well-formed programs that fail: invalid bounds of `RANDOM`.
const NO_VALUE: &[&str] = &[
    "y[a] = RANDOM(<n>, a, INT)\n\nDIMS(a) = 3",
    "y[a] = RANDOM(0, INF, FLOAT)\n\nDIMS(a) = <n>",
    "y[a] = RANDOM(a - 1, DIMS(a)[0] - <n>, FLOAT)\n\nDIMS(a) = <n>",
];

/// The diagnostic of a limit, and a program that exceeds it.
type EtBeyond = (&'static str, fn() -> String);

const BEYOND: &[EtBeyond] = &[
    ("index-nested", || {
        let (open, close) = ("(".repeat(70), " // 2 + a) // 3 + 1".repeat(70));
        format!("x[a] = 1\ny[a] = x[{}a{}]\n\nDIMS(a) = 2", open, close.replace("3 + 1", "3"))
    }),
    ("more-errors", || "y[a] = ?\n".repeat(120)),
    ("too-deep", || format!("y[a] = {}a{}", "(".repeat(300), ")".repeat(300))),
    ("value-too-long", || {
        let group = format!("(a{})", "+a*a".repeat(200));
        format!("y[a] = {}\n\nDIMS(a) = 1", vec![group; 120].join("+"))
    }),
];

/// One of the mistakes.
pub(super) fn mistake(rng: &mut Rng) -> EtCase {
    if rng.chance(0.02) {
        let source = *rng.pick(NO_VALUE);
        return EtCase::unbound(spelled(rng, source));
    }
    let at = rng.below(MISTAKES.len() + GIVEN.len());
    match MISTAKES.get(at) {
        Some((_, source)) => EtCase::unbound(spelled(rng, source)),
        None => given(rng, &GIVEN[at - MISTAKES.len()]),
    }
}

/// One of the programs that exceed a limit.
pub(super) fn beyond(rng: &mut Rng) -> EtCase {
    EtCase::unbound((rng.pick(BEYOND).1)())
}

fn given(rng: &mut Rng, (_, source, inputs, dims): &(&str, &str, Inputs, Dims)) -> EtCase {
    let mut case = EtCase::unbound(spelled(rng, source));
    for (name, dtype, shape) in *inputs {
        let input = data_input(rng, &(*dtype, shape.to_vec()), Flavour::Small);
        case.bound.insert((*name).into(), input);
    }
    case.dims = dims.iter().map(|(name, dims)| ((*name).into(), dims.to_vec())).collect();
    case
}

/// The same program with its numbers, spelled differently or after another statement.
fn spelled(rng: &mut Rng, source: &str) -> String {
    let source = source.replace("<n>", &rng.between(2, 5).to_string());
    match rng.below(6) {
        0 => format!("# {}\n{source}", rng.below(1000)),
        1 => format!("other{}[] = {}\n{source}", rng.below(100), rng.below(9)),
        2 => format!("{source}\n"),
        3 => format!("\n\n{source}\n\n"),
        _ => source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::et::codes;

    fn wrong(code: &str, cases: impl Iterator<Item = EtCase>) -> Option<String> {
        let mut last = String::new();
        for case in cases {
            let found = codes(&case);
            if found.contains(&code) {
                return None;
            }
            last = format!("{code}: {found:?} of\n{case}");
        }
        Some(last)
    }

    #[test]
    fn mistakes_get_their_diagnostics() {
        let seeds = || (0..8).map(Rng::new);
        let mut all: Vec<String> = Vec::new();
        for (code, source) in MISTAKES {
            all.extend(wrong(
                code,
                seeds().map(|mut rng| EtCase::unbound(spelled(&mut rng, source))),
            ));
        }
        for mistake in GIVEN {
            all.extend(wrong(mistake.0, seeds().map(|mut rng| given(&mut rng, mistake))));
        }
        for (code, source) in BEYOND {
            all.extend(wrong(code, std::iter::once(EtCase::unbound(source()))));
        }
        assert!(all.is_empty(), "{}", all.join("\n"));
    }

    #[test]
    fn every_diagnostic_has_a_mistake_or_another_test() {
        let has = |code: &str| {
            MISTAKES.iter().any(|m| m.0 == code)
                || GIVEN.iter().any(|m| m.0 == code)
                || BEYOND.iter().any(|m| m.0 == code)
        };
        let expected = crate::coverage::et::expected_of_et_mistakes();
        let codes = expected.iter().filter_map(|what| what.strip_prefix("diagnostic: "));
        let none: Vec<&str> = codes.filter(|code| !has(code)).collect();
        assert!(none.is_empty(), "no mistake for {none:?}");
    }
}
