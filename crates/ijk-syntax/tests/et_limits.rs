//! Texts of Einsum Tuple at and beyond the limits answer quickly, with a result or an error, on a
//! small stack.

use ijk_syntax::et::parse;
use ijk_syntax::{Diagnostic, MAX_NESTING, render};
use std::time::{Duration, Instant};

/// Parses, prints and renders on a thread with a stack of 1 MiB.
fn parse_within(source: String, limit: Duration) -> Vec<Diagnostic> {
    let work = move || {
        let start = Instant::now();
        let (program, diagnostics) = parse(&source);
        let _ = program.clone().to_string();
        let _ = render(&source, "origin", &diagnostics, true);
        let took = start.elapsed();
        if std::env::var_os("IJK_TIMES").is_some() {
            eprintln!("{took:?} {:?}", source.chars().take(20).collect::<String>());
        }
        assert!(took < limit, "took {took:?}");
        diagnostics
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(work).expect("a thread");
    thread.join().expect("no panic")
}

const SECONDS: Duration = Duration::from_secs(20);

#[test]
fn long_texts() {
    let bytes = 1 << 19;
    for piece in [
        "a",
        "a[i] = x[i]\n",
        "\na[",
        "\na[i",
        "\na[i]",
        ")",
        "(",
        "[",
        "-",
        "a(",
        "\na(",
        "\nL(",
        "\nnp.f(L(",
        "'",
        "\"\n",
        "#",
        "é",
        "\n",
        "a,",
        "\na",
        "a.",
        "1",
        "2i ",
        "{",
        ": ",
        "=",
        "\nRANK(",
        "\nDIMS(i) =",
        "\nDIMS(i) IN [",
        "//",
        "a[i] = EXPP(",
        "\na[i] = TANHH(x[i])",
        "y[i] = (a + ",
        "?",
        "\nf(\na[",
        "RANDOM(0, 1, ",
        "\nx[i] = x[i] ? (",
    ] {
        parse_within(piece.repeat(bytes / piece.len()), SECONDS);
        parse_within(format!("np.f(L({}", piece.repeat(bytes / piece.len())), SECONDS);
    }
}

#[test]
fn ten_megabytes() {
    let source = "out[i, j + 1] += MAX(x[2 * i, idx[j, :]], 0)\n".repeat((10 << 20) / 45);
    assert_eq!(parse_within(source, SECONDS).len(), 0);
}

#[test]
fn long_statements() {
    for operator in [" + ", " - ", " * ", " // "] {
        let terms = vec!["x[i]"; 300_000].join(operator);
        assert_eq!(parse_within(format!("y[i] = {terms}"), SECONDS).len(), 0);
        let terms = vec!["i"; 300_000].join(operator);
        assert_eq!(parse_within(format!("y[i] = x[{terms}]"), SECONDS).len(), 0);
    }
    let names = vec!["i"; 300_000].join(",");
    assert_eq!(parse_within(format!("y[{names}] = 1"), SECONDS).len(), 0);
}

#[test]
fn many_keywords() {
    let args: String = (0..300_000).map(|n| format!("k{n}=x, ")).collect();
    assert_eq!(parse_within(format!("y[] = 1\nf({args}l=x)"), SECONDS).len(), 0);
}

#[test]
fn nesting() {
    let forms = [
        ("y[] = ", "(", "x", ")"),
        ("y[] = ", "-", "x", ""),
        ("y[] = ", "EXP(", "x", ")"),
        ("y[] = ", "1 + 2 * (", "x", ")"),
        ("y[", "idx[", "i", "]"),
        ("y[", "FLAT(i + 2 * ", "i", ")"),
        ("y[] = 1\nf(", "[", "1", "]"),
        ("y[] = 1\nf(", "g(k=", "1", ")"),
        ("y[] = 1\nf(", "TENSOR(1 + ", "1", ")"),
        ("y[] = 1\nRANK(i) = ", "min(1, 2 * ", "3", ")"),
    ];
    for (before, open, inner, close) in forms {
        let outer = before.matches(['[', '(']).count() - before.matches([']', ')']).count();
        let after = match before.chars().last() {
            Some('[') => "] = 1",
            Some('(') => ")",
            _ => "",
        };
        let nested =
            |n: usize| format!("{before}{}{inner}{}{after}", open.repeat(n), close.repeat(n));
        let most = MAX_NESTING - outer;
        assert_eq!(parse_within(nested(most), SECONDS).len(), 0, "{open}");
        for more in [most + 1, 100_000] {
            let diagnostics = parse_within(nested(more), SECONDS);
            assert_eq!(diagnostics.len(), 1, "{open}");
            assert!(diagnostics[0].message.contains("nest deeper than 256"), "{diagnostics:?}");
        }
    }
}

#[test]
fn nested_literals() {
    let nested = |n: usize| format!("y[] = 1\nf(L({}1{}))", "[".repeat(n), "]".repeat(n));
    assert_eq!(parse_within(nested(MAX_NESTING - 2), SECONDS).len(), 0);
    assert_eq!(parse_within(nested(1_000_000), SECONDS).len(), 1);
}

#[test]
fn many_errors_are_counted() {
    let diagnostics = parse_within("y[i] = ?\n".repeat(1000), SECONDS);
    assert_eq!(diagnostics.len(), 101);
    assert_eq!(diagnostics[100].message, "and 900 more errors");
}
