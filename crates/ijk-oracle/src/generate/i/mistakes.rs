//! Programs with mistakes that random mutation rarely makes: at least one for each diagnostic of i.

use super::data::{self, Flavour, Input};
use super::{Case, Rng};
use ijk_types::DType;

/// The expected diagnostic, a program, and the ranks of its arguments.
type Mistake = (&'static str, &'static str, &'static [usize]);

const MISTAKES: &[Mistake] = &[
    // The grammar.
    ("assignment", "c = a", &[]),
    ("bound-twice", "f: i~i; f: j~j; f", &[1]),
    ("called-with-commas", "+(i,j)~ij", &[1, 1]),
    ("einsum", "ij,jk->ik", &[2, 2]),
    ("empty-brackets", "i[]~i", &[1]),
    ("empty-parentheses", "+()~.", &[]),
    ("empty-parentheses", "() . i~i", &[1]),
    ("empty-program", "  # nothing but words", &[]),
    ("expected-brace", "i{2 3}~i", &[1]),
    ("expected-close", "+(i*j])~ij", &[1, 1]),
    ("expected-combinator", "(i~i]", &[1]),
    ("expected-operator", "[i j]~i", &[1]),
    ("function-apart", "@ tanh i~i", &[1]),
    ("function-around", "-i*j~ij", &[1, 1]),
    ("goes-on", "i\n-i~i", &[1, 1]),
    ("group-behind", "i~i (j~j)", &[1]),
    ("identity-as-index", "I~i", &[1]),
    ("identity-bound", "I: i~i; I", &[1]),
    ("integer-too-large", "i{99999999999999999999}~i", &[1]),
    ("loop-braces", "@repeat i~i", &[1]),
    ("loop-count", "@fold(i~i, i)", &[1]),
    ("loop-count", "@repeat{2}(i*i~i, 1)", &[1, 1]),
    ("not-a-letter", "i_j~i", &[1]),
    ("not-closed", "(i~i", &[1]),
    ("not-closed", "+(i*j", &[1, 1]),
    ("not-closed", "[i", &[1]),
    ("not-closed", "i{2", &[1]),
    ("not-one-letter", "[ij]~ij", &[1]),
    ("not-whole", "i{2.5}~i", &[1]),
    ("no-component", "i~i . ", &[1]),
    ("no-extent", "i{+}~i", &[1]),
    ("no-function-name", "@+i~i", &[1]),
    ("no-index", "1+2~.", &[]),
    ("no-operand", "i*~i", &[1]),
    ("no-output", "i*j", &[1, 1]),
    ("no-output-index", "i*j~", &[1, 1]),
    ("no-term", "[i+]~i", &[1]),
    ("number-range", "i*1e999~i", &[1]),
    ("number-touched", "2i~i", &[1]),
    ("operands-listed", "ij,jk~ik", &[2, 2]),
    ("operand-count", "i @tanh j~ij", &[1, 1]),
    ("output-arrow", "i*j->ij", &[1, 1]),
    ("output-before-close", "(i~i . i*j)~ij", &[1, 1]),
    ("output-equals", "i*j=ij", &[1, 1]),
    ("output-inside", "+(i*j~ij)", &[1, 1]),
    ("output-number", "i*j~2", &[1, 1]),
    ("parts-apart", "i [j]~ij", &[2]),
    ("rank-zero-part", ".[i]~i", &[1]),
    ("second-expression", "i~i; j~j", &[1]),
    ("second-output", "i~i~i", &[1]),
    ("stray-braces", "[i]{2}~i", &[1]),
    ("swap-behind-group", "(i~i)~i", &[1]),
    ("three-operands", "i*j*k~ijk", &[1, 1, 1]),
    ("unexpected", "i~i )", &[1]),
    ("unknown-function", "@zebra i~i", &[1]),
    // Names, letters, types.
    ("arg-dropped", "@argmax i~i", &[1]),
    ("arg-dropped", "@argmin ijk~i", &[3]),
    ("arg-folds", "@argmax ij~[i/2]", &[2]),
    ("order-letters", "@sort ij~ij", &[2]),
    ("argument-count", "i*j~ij", &[1]),
    ("argument-rank", "ij~ji", &[3]),
    ("argument-type", "@where(i,i,i)~i", &[1, 1, 1]),
    ("brackets-only", "[i+k]~ik", &[1]),
    ("cancelled", "i~[i-i]", &[1]),
    ("chain-arity", "i~i . (I & I) . i~i", &[1]),
    ("chain-arity", "i~i << (I & I)", &[1]),
    ("cycle", "a: b; b: a; a", &[1]),
    ("cycle", "f: i~i . g; g: -i~i . f; f", &[1]),
    ("division-by-letter", "[i/j]~ij", &[1]),
    ("divisor", "[i{4}%0]~i", &[1]),
    ("dropped", "ik*kj~ij", &[2, 2]),
    ("extent-of-nothing", "i*{j}~i", &[1]),
    ("index-of-value", "@index(i-1)~i", &[1]),
    ("index-operand", "@index ij~ij", &[2]),
    ("index-overflow", "[99999999*i*999999999999]~i", &[1]),
    ("loop-condition", "@until{3} (>i~.)", &[1]),
    ("loop-inputs", "@repeat{2} (I & I)", &[1]),
    ("loop-passes", "@fold i~i", &[1]),
    ("loop-passes", "@scan(i*i~i, 0)", &[1, 1]),
    ("loop-rank", "@scan{2} I", &[1]),
    ("loop-swept", "@fold{2}(i*i~i, 2)", &[1, 2]),
    ("no-type", "@repeat{2} (i*0.5~i . @i32 i~i)", &[1]),
    ("no-type", "@lt(i,j)~ij . -ij~ij", &[1, 1]),
    ("open-type", "@where(i,1,2)~i", &[1]),
    ("product-of-letters", "[i*j]~ij", &[1]),
    ("ranks-differ", "@repeat{2} (+ij~i)", &[2]),
    ("ranks-differ", "i~i . ij~ij", &[1]),
    ("reducer-inside", "-(@argmax ij)~i", &[2]),
    ("swap-of-one", "~i~i", &[1]),
    ("type-outside", "@where(i @gt 0, <5, 1*i)~i", &[1, 1]),
    ("type-outside", "@argmax ij~i", &[2]),
    ("type-outside", "@argmin ij~j", &[2]),
    ("type-outside", "@argmax(i-i)~.", &[1, 1]),
    ("two-extents", "i{3}i{4}~i", &[2]),
    ("types-differ", "i*j~ij", &[1, 1]),
    ("undetermined-name", "i~ij{n}", &[1]),
    ("unknown-name", "i~i . missing", &[1]),
    ("chain-order", "p: ik*kj~ijk; a: +ijk~ij; a . p", &[3, 2]),
    ("schedule", "ik*kj~ijk | i:16,j:16 | jii'j'k", &[2, 2]),
    ("schedule", "(-ij~ij | i:4) . ij~ji | j':2:2", &[2]),
    ("unused", "f: i~i; j~j", &[1]),
    // Extents.
    ("array-too-large", "i~ij{4611686018427387904} . ij~ijk{8}", &[1]),
    ("domain-too-large", "+[0*j{4611686018427387904}][0*k{8}]~.", &[2]),
    ("empty-position", "@argmax ij~i", &[2]),
    ("order-places", "@topk i{3}~k{4}", &[1]),
    ("order-places", "@sort [0*i{3}]~k{4}", &[1]),
    ("order-places", "@argtopk [0*i{5}]~k{9}", &[1]),
    // Of types that do not hold the extent.
    ("extent-value", "i*{j}~ij{300}", &[1]),
    ("extent-value", "@u8 i~i . i*{j}~ij{256}", &[1]),
    ("extent-value", "@i8 i~i . i+{j}~ij{128}", &[1]),
    ("extent-value", "@i8 i~i . {j}-i~ij{200}", &[1]),
    ("huge-output", "+i~[9223372036854775807*i]", &[1]),
    ("letter-conflict", "ii~i", &[2]),
    ("letter-conflict", "i{3}~i . i{4}~i", &[1]),
    ("loop-extents", "@fold{3} (i+i~i)", &[1, 2]),
    ("loop-extents", "@scan (i+i~i . i*i~i)", &[1, 2, 2]),
    ("state-shape", "@repeat{2} i~[i+1]", &[1]),
    ("state-shape", "@fold (i*j~[i+j])", &[1, 2]),
    ("negative-output", "i~[i-1]", &[1]),
    ("out-of-bounds", "[i+2]*i~i", &[1, 1]),
    ("stores-meet", "i*j~[i+j]", &[1, 1]),
];

/// The diagnostic of a limit, and a program that exceeds it.
type Beyond = (&'static str, fn() -> String);

const BEYOND: &[Beyond] = &[
    ("loops-too-deep", || {
        let line = |n: usize| format!("a{}: @repeat{{1}} a{n}\n", n + 1);
        format!("a0: -i~i\n{}a17", (0..17).map(line).collect::<String>())
    }),
    ("more", || "i~i . (a".to_owned() + &" & a".repeat(600) + ")"),
    ("more-errors", || "i~; ".repeat(120)),
    ("more-warnings", || (0..120).map(|n| format!("a{n}: i\n-i~i; ")).collect()),
    ("rank-too-large", || format!("+{}~.", "i".repeat(65))),
    ("too-deep", || format!("{}i~i{}", "(".repeat(300), ")".repeat(300))),
    ("too-many-components", || doubling("I", ".")),
    ("too-many-functions", || format!("+(i{})~.", "+i".repeat(300))),
    ("too-many-letters", || format!("+i~[{}]", many_letters().join("+"))),
    ("too-many-ports", || doubling("I", "&")),
    ("too-many-statements", || doubling("-i~i", ".")),
    ("too-many-terms", || format!("+i~[i{}]", "+i".repeat(1100))),
    ("names-too-large", || {
        let uses = (0..620).map(|n| format!("a{n}: w\n")).collect::<String>();
        format!("w: {}\n{uses}i~i", vec!["I"; 4096].join(" | "))
    }),
    ("stores-untold", || "i~i[j{900000001}/4][j%6]".into()),
];

/// A program that combines a component with itself, that with itself, and so on.
fn doubling(first: &str, combinator: &str) -> String {
    let line = |n: usize| format!("a{}: a{n} {combinator} a{n}\n", n + 1);
    format!("a0: {first}\n{}a30", (0..30).map(line).collect::<String>())
}

fn many_letters() -> Vec<String> {
    ('\u{4e00}'..).take(300).map(|letter| letter.to_string()).collect()
}

/// One of the mistakes, with arguments.
pub(super) fn mistake(rng: &mut Rng) -> Case {
    let &(_, source, ranks) = rng.pick(MISTAKES);
    let first = if source.contains("where") { DType::Bool } else { *rng.pick(&DType::ALL) };
    let other = if rng.chance(0.7) { first } else { *rng.pick(&DType::ALL) };
    let mut input = |(at, &rank): (usize, &usize)| -> Input {
        let shape = (0..rank).map(|_| rng.below(5)).collect();
        data::input(rng, &(if at == 0 { first } else { other }, shape), Flavour::Small)
    };
    let inputs = ranks.iter().enumerate().map(&mut input).collect();
    Case { source: spelled(rng, source), inputs }
}

/// One of the programs that exceed a limit.
pub(super) fn beyond(rng: &mut Rng) -> Case {
    let (_, source) = rng.pick(BEYOND);
    let shape = vec![rng.between(2, 4)];
    let input = data::input(rng, &(DType::F32, shape), Flavour::Small);
    Case { source: source(), inputs: vec![input] }
}

/// The same program, spelled differently or with another item.
fn spelled(rng: &mut Rng, source: &str) -> String {
    match rng.below(6) {
        0 => format!("# {}\n{source}", rng.below(1000)),
        1 => format!("other{}: ik*kj~ijk . +ijk~ij\n{source}", rng.below(100)),
        2 => format!("{source}\n"),
        3 => format!("{source} # and no more"),
        _ => source.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coverage::i::codes;

    #[test]
    fn mistakes_get_their_diagnostics() {
        let mut wrong = Vec::new();
        for (code, source, ranks) in MISTAKES {
            let found = (0..20_000).any(|seed| {
                let mut rng = Rng::new(seed);
                let input = |rank: &usize| {
                    let (t, n) = (*rng.pick(&DType::ALL), rng.between(0, 4));
                    let shape = (0..*rank).map(|_| rng.between(0, n)).collect();
                    data::input(&mut rng, &(t, shape), Flavour::Small)
                };
                let inputs = ranks.iter().map(input).collect();
                let case = Case { source: (*source).into(), inputs };
                codes(&case).iter().any(|found| found.name() == *code)
            });
            if !found {
                wrong.push((code, source, ijk_ir::compile_source(source).diagnostics));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn what_is_beyond_a_limit_is_refused_for_it() {
        let mut rng = Rng::new(1);
        for (code, source) in BEYOND {
            let inputs = vec![data::input(&mut rng, &(DType::F32, vec![3]), Flavour::Small)];
            let found = codes(&Case { source: source(), inputs });
            assert!(found.iter().any(|found| found.name() == *code), "{code}: {found:?}");
        }
    }
}
