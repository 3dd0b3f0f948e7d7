//! Random token soups, random programs and mutated programs of Einsum Tuple: the parser keeps its
//! promises.
//!
//! `IJK_SOUPS` is how many of each; `IJK_SEED` starts elsewhere.

#[allow(dead_code)]
#[path = "support/et.rs"]
mod texts;

use crate::support::{Random, for_each_seed, mutate};
use texts::check_text;

const PIECES: [&str; 92] = [
    "i",
    "x",
    "y",
    "idx",
    "max",
    "and",
    "a[i]",
    "x[",
    "y[i] = ",
    "y[i] = x[i]",
    "RANK",
    "DIMS",
    "RANK(i)",
    "DIMS(i) = ",
    "dims(",
    "FLAT",
    "FLAT(",
    "RANDOM(",
    "RANDOM(0, 1, INT)",
    "IN",
    "INT",
    "FLOAT",
    "L(",
    "L('x')",
    "TENSOR(",
    "MAX(",
    "exp(",
    "WHERE(",
    "TANHH(",
    "INF",
    "PI",
    "np.f(",
    "f(",
    "k=",
    ".",
    ".",
    "~",
    "+",
    "-",
    "*",
    "/",
    "//",
    "//^",
    "%",
    "^",
    "=",
    "=",
    "+=",
    "*=",
    "=max",
    "max=",
    "=or",
    "==",
    ":=",
    "-=",
    "<",
    ">",
    ">>",
    "&",
    "|",
    "@",
    "(",
    ")",
    "(",
    ")",
    "[",
    "]",
    "[",
    "]",
    "{",
    "}",
    ",",
    ",",
    ":",
    ":",
    ";",
    "1",
    "2.5",
    "1e9",
    "2i",
    "-1",
    " ",
    "\n",
    "\n",
    "\n\n",
    "# c\n",
    "'",
    "\"",
    "'#('",
    "\\",
    "é",
    "×",
];

#[test]
fn token_soups() {
    for_each_seed(|random| {
        let length = 1 + random.below(32);
        let soup: String = (0..length).map(|_| random.pick(&PIECES)).collect();
        check_text(&soup);
    });
}

/// Grows well-formed programs, so that trees of every form are printed and parsed again.
#[test]
fn programs() {
    for_each_seed(|random| {
        let text = program(random);
        let diagnostics = check_text(&text);
        assert!(diagnostics.is_empty(), "{text}\n{diagnostics:?}");
        check_text(&mutate(random, &text, &PIECES));
    });
}

fn program(random: &mut Random) -> String {
    let mut text = String::new();
    for _ in 0..1 + random.below(3) {
        let assign = random.pick(&[
            "=", "+=", "=*", "*=", "=max", "max=", "=min", "min=", "=and", "and=", "=or", "or=",
        ]);
        text += &format!("{} {assign} {}\n", access(random, 2, false), value(random, 3));
    }
    if random.below(2) == 0 {
        text += &format!("\n{}\n", call(random, 3));
    }
    text += random.pick(&["", "y\n", "\ny, z\nx\n", "y,\nz\n"]);
    for _ in 0..random.below(3) {
        text += &format!("{}({}) {}\n", quantity(random), name(random), relation(random));
    }
    text
}

fn name(random: &mut Random) -> &'static str {
    random.pick(&["i", "j", "pos", "x", "max", "L", "é_1", "dims"])
}

fn quantity(random: &mut Random) -> &'static str {
    random.pick(&["RANK", "DIMS"])
}

fn list(random: &mut Random, least: usize, item: impl Fn(&mut Random) -> String) -> String {
    let count = least + random.below(3);
    (0..count).map(|_| item(random)).collect::<Vec<_>>().join(random.pick(&[", ", ",", ",\n  "]))
}

fn access(random: &mut Random, depth: usize, nested: bool) -> String {
    let indices = list(random, 0, |random| match nested && random.below(4) == 0 {
        true => ":".to_owned(),
        false => index(random, depth),
    });
    format!("{}[{indices}]", name(random))
}

/// Sums and products of what `leaf` makes.
fn arithmetic(
    random: &mut Random,
    depth: usize,
    operators: &[&'static str],
    leaf: &dyn Fn(&mut Random, usize) -> String,
) -> String {
    if depth == 0 {
        return leaf(random, 0);
    }
    let part = |random: &mut Random| arithmetic(random, depth - 1, operators, leaf);
    match random.below(6) {
        0 => format!("{} + {}", part(random), part(random)),
        1 => format!("{} - {}", part(random), part(random)),
        2 => format!("{}{}", random.pick(&["-", "+", "- "]), part(random)),
        3 => format!("({})", part(random)),
        4 => format!("{} {} {}", part(random), random.pick(operators), part(random)),
        _ => leaf(random, depth),
    }
}

const OF_INTEGERS: [&str; 4] = ["*", "//", "//^", "%"];

fn index(random: &mut Random, depth: usize) -> String {
    arithmetic(random, depth, &OF_INTEGERS, &|random, depth| match random.below(6) {
        0 if depth > 0 => format!("DIMS({})", list(random, 1, |r| index(r, depth - 1))),
        1 if depth > 0 => format!("RANK({})", list(random, 1, |r| index(r, depth - 1))),
        2 if depth > 0 => format!("FLAT({})", list(random, 1, |r| index(r, depth - 1))),
        3 if depth > 0 => access(random, depth - 1, true),
        4 => random.pick(&["0", "1", "-3", "9223372036854775807"]).to_owned(),
        _ => name(random).to_owned(),
    })
}

fn value(random: &mut Random, depth: usize) -> String {
    arithmetic(random, depth, &["*", "/", "//"], &|random, depth| match random.below(12) {
        0 if depth > 0 => format!("DIMS({})", list(random, 1, |r| index(r, depth - 1))),
        1 if depth > 0 => format!("DIMS({})[{}]", name(random), index(random, depth - 1)),
        2 if depth > 0 => format!("RANK({})", list(random, 1, |r| index(r, depth - 1))),
        3 if depth > 0 => {
            let (lo, hi) = (value(random, depth - 1), value(random, depth - 1));
            format!("RANDOM({lo}, {hi}, {})", random.pick(&["INT", "FLOAT"]))
        }
        4 if depth > 0 => {
            let function = random.pick(&["EXP", "LOG", "TANH", "NOT", "I64"]);
            format!("{function}({})", value(random, depth - 1))
        }
        5 if depth > 0 => {
            let function = random.pick(&["MAX", "POW", "AND", "LT", "MOD"]);
            format!("{function}({}, {})", value(random, depth - 1), value(random, depth - 1))
        }
        6 => random.pick(&["0", "2.5", "-1e-7", "-9223372036854775808", "3.0"]).to_owned(),
        7 => random.pick(&["INF", "NAN", "PI", "-INF"]).to_owned(),
        8 => name(random).to_owned(),
        _ => access(random, depth.min(2), false),
    })
}

fn relation(random: &mut Random) -> String {
    match random.below(3) {
        0 => format!("IN [{}, {}]", random.pick(&["0", "-2"]), random.pick(&["3", "+1"])),
        _ => format!("= {}", bound(random, 3)),
    }
}

fn bound(random: &mut Random, depth: usize) -> String {
    arithmetic(random, depth, &OF_INTEGERS, &|random, depth| match random.below(4) {
        0 if depth > 0 => {
            let function = random.pick(&["min", "max"]);
            format!("{function}({}, {})", bound(random, depth - 1), bound(random, depth - 1))
        }
        1 => random.pick(&["0", "7", "-1"]).to_owned(),
        _ => format!("{}({})", quantity(random), name(random)),
    })
}

fn call(random: &mut Random, depth: usize) -> String {
    let path = random.pick(&["f", "np.abs", "tf.nn.convolution"]);
    let args = list(random, 0, |random| argument(random, depth));
    let comma = if args.is_empty() { "" } else { ", " };
    let keyword = match random.below(2) {
        0 => format!("{comma}RANK={}", argument(random, depth)),
        _ => String::new(),
    };
    format!("{path}({args}{keyword})")
}

fn argument(random: &mut Random, depth: usize) -> String {
    arithmetic(random, depth, &OF_INTEGERS, &|random, depth| match random.below(9) {
        0 if depth > 0 => format!("DIMS({})", list(random, 1, |r| index(r, depth - 1))),
        1 if depth > 0 => format!("RANK({})", list(random, 1, |r| index(r, depth - 1))),
        2 if depth > 0 => format!("TENSOR({})", argument(random, depth - 1)),
        3 if depth > 0 => format!("[{}]", list(random, 0, |r| argument(r, depth - 1))),
        4 if depth > 0 => call(random, depth - 1),
        5 => format!("L({})", random.pick(&["'#('", "{'a': [1, # c\n 2]}", "-1", "( 1,)"])),
        6 => random.pick(&["0", "7", "-1"]).to_owned(),
        _ => name(random).to_owned(),
    })
}
