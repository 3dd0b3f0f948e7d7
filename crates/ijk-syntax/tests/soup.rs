//! Random token soups, random programs and mutated programs: the parser keeps its promises.
//!
//! `IJK_SOUPS` is how many of each; `IJK_SEED` starts elsewhere.

use crate::support::{Random, check_text, check_tokens, for_each_seed, mutate};

const PIECES: [&str; 64] = [
    "i", "ij", "ik", "j", "k", "I", "m", "a", "n", "ijk", ".", ".", "~", "~", "~", "+", "*", "-",
    "/", ">", "<", "^", "$", "@tanh", "@lt", "@where", "@argmax", "@and", "@pi", "@inf", "@", "@x",
    "(", ")", "(", ")", "[", "]", "{", "}", "[2*i]", "[i+k]", "{3}", "{n}", "&", "|", ">>", "<<",
    ":", ";", ",", "=", "%", "->", "1", "2.5", "1e9", "2i", "-1", " ", "\n", "# c\n", "é", "×",
];

#[test]
fn token_soups() {
    for_each_seed(|random| {
        let length = 1 + random.below(24);
        let soup: String = (0..length).map(|_| random.pick(&PIECES)).collect();
        check_text(&soup);
    });
}

/// Tokens whose neighbourhood no text could have: what a macro may hand over.
#[test]
fn tokens_with_any_neighbourhood() {
    for_each_seed(|random| {
        let soup: String = (0..12).map(|_| random.pick(&PIECES)).collect();
        let mut tokens = ijk_syntax::lex(&soup);
        for token in &mut tokens {
            token.touches_previous ^= random.below(4) == 0;
            token.after_newline ^= random.below(8) == 0;
        }
        check_tokens(&soup, &tokens);
    });
}

/// Grows well-formed programs, so that trees of every form are printed and parsed again.
#[test]
fn programs() {
    for_each_seed(|random| {
        let mut text = String::new();
        for n in 0..random.below(3) {
            text += &format!("b{n}: {}{}", component(random, 3), random.pick(&[";\n", " ; "]));
        }
        text += &component(random, 4);
        let (_, diagnostics) = ijk_syntax::parse(&text);
        let errors = diagnostics.iter().filter(|d| d.severity == ijk_syntax::Severity::Error);
        assert_eq!(errors.count(), 0, "{text}\n{diagnostics:?}");
        check_text(&text);
        check_text(&mutate(random, &text, &PIECES));
    });
}

fn component(random: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return index(random);
    }
    let left = component(random, depth - 1);
    match random.below(8) {
        0 => format!("~({left})"),
        1 => format!("({left}) {} ({})", random.pick(&[".", ">>", "<<", "&", "|"]), index(random)),
        2 => format!("{left} {} {}", random.pick(&[".", ">>", "<<", "&", "|"]), index(random)),
        3 => format!("~({left} & I)"),
        4 => format!("m | ({left})"),
        _ => left,
    }
}

fn index(random: &mut Random) -> String {
    let body = match random.below(12) {
        0 => compound(random),
        1 => format!("{}{}", random.pick(&["+", "-", "@tanh ", "@argmax "]), compound(random)),
        2 => {
            format!("{}{}{}", compound(random), random.pick(&["+", ">", "@lt "]), compound(random))
        }
        3 => {
            format!("{}{}{}", literal(random), random.pick(&["*", "-", " @mod "]), compound(random))
        }
        4 => {
            format!("{}{}{}", compound(random), random.pick(&["<", "^", " @eq "]), literal(random))
        }
        5 => format!("+({}*{})", compound(random), compound(random)),
        8 => format!("({}*{})", scalar(random, 3), compound(random)),
        9 => format!(
            "({}-1){}(0*{})",
            scalar(random, 2),
            random.pick(&["*", " @eq "]),
            compound(random)
        ),
        10 => format!("{}({})", random.pick(&["+", "-", "@sqrt"]), scalar(random, 3)),
        6 => format!(">(@abs {})", compound(random)),
        7 => format!("@where({}, {} ,{})", compound(random), literal(random), compound(random)),
        _ => format!("*(-{})", compound(random)),
    };
    format!("{body}~{}", compound(random))
}

/// A scalar expression as it may stand in parentheses, with an index in it.
fn scalar(random: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return compound(random);
    }
    let inner = scalar(random, depth - 1);
    match random.below(9) {
        0 => format!("({inner})"),
        1 => format!("- {inner}"),
        2 => format!("{}({inner})", random.pick(&["@tanh", "@abs ", ">", "^", "$"])),
        3 => format!("@where({inner}, {}, {})", literal(random), scalar(random, depth - 1)),
        4 => {
            format!("{inner} {} {}", random.pick(&["@lt", "@and", "@or", "@mod"]), literal(random))
        }
        5 => format!("@tanh {}", compound(random)),
        _ => {
            let symbol = random.pick(&["+", " - ", "*", "/", " > ", " < ", "^", "$", " @hypot "]);
            format!("{inner}{symbol}{}", scalar(random, depth - 1))
        }
    }
}

fn literal(random: &mut Random) -> &'static str {
    random.pick(&["0", "1", "-1", "2.5", "-2.5e-7", "1e300", "@pi", "-@inf", "@nan", "@e", "+3"])
}

fn compound(random: &mut Random) -> String {
    if random.below(8) == 0 {
        return ".".to_owned();
    }
    (0..1 + random.below(3)).map(|_| position(random)).collect()
}

fn position(random: &mut Random) -> String {
    match random.below(6) {
        0 => format!("[{}]", arith(random, 3)),
        1 => format!("{}{{{}}}", random.pick(&["i", "j"]), random.pick(&["3", "n", "0"])),
        _ => random.pick(&["i", "j", "k", "é"]).to_owned(),
    }
}

fn arith(random: &mut Random, depth: usize) -> String {
    match random.below(7) {
        _ if depth == 0 => random.pick(&["i", "j", "2"]).to_owned(),
        0 => format!("({})", arith(random, depth - 1)),
        1 => format!("{}+{}", arith(random, depth - 1), arith(random, depth - 1)),
        2 => format!("{} - ({})", arith(random, depth - 1), arith(random, depth - 1)),
        3 => format!("(-{})*{}", arith(random, depth - 1), random.pick(&["3", "i", "(i+j)"])),
        4 => format!("({})/2", arith(random, depth - 1)),
        5 => format!("({})%4{}", arith(random, depth - 1), random.pick(&["", "*k", "+k{2}"])),
        _ => random.pick(&["i", "j{4}", "0"]).to_owned(),
    }
}
