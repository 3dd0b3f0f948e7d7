//! Long, deep and exploding programs are answered, and fast.

use ijk_ir::{compile_source, instantiate};
use ijk_types::DType;
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Time limit: above that of an unoptimised run beside other work, far below that of an exponential search.
const SOON: Duration = Duration::from_secs(60);

fn answered<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let answer = work();
    assert!(start.elapsed() < SOON, "{what} took {:?}", start.elapsed());
    eprintln!("{what}: {:?}", start.elapsed());
    answer
}

fn first_error(source: &str) -> String {
    let compiled = compile_source(source);
    let is_error = |d: &ijk_syntax::Diagnostic| d.severity == ijk_syntax::Severity::Error;
    let mut errors = compiled.diagnostics.into_iter().filter(is_error);
    errors.next().map(|d| d.message).unwrap_or_default()
}

#[test]
fn ten_thousand_bindings_in_one_chain() {
    let mut source = String::from("a0: -i~i\n");
    for n in 1..10_000 {
        let _ = writeln!(source, "a{n}: a{} . -i~i", n - 1);
    }
    let compiled = answered("10,000 bindings", || compile_source(&source));
    let program = compiled.program.expect("it is well-formed");
    assert_eq!(program.statements.len(), 10_000);
    let instance = answered("instantiate", || instantiate(&program, &[(DType::F32, &[5])]));
    assert_eq!(instance.unwrap().shapes[10_000], [5]);
    let reversed: Vec<&str> = source.lines().rev().collect();
    let source = format!("{}\na9999", reversed.join("\n"));
    let compiled = answered("10,000 bindings backwards", || compile_source(&source));
    assert_eq!(compiled.program.unwrap().statements.len(), 10_000);
}

#[test]
fn a_cycle_of_ten_thousand() {
    let mut source = String::new();
    for n in 0..10_000 {
        let _ = writeln!(source, "a{n}: a{}", (n + 1) % 10_000);
    }
    let message = answered("cycle", || first_error(&source));
    assert!(message.starts_with("`a0` is defined by itself: a0 → a1 →"), "{message}");
    assert!(message.len() < 200);
}

#[test]
fn a_chain_of_a_hundred_thousand_nodes() {
    let source = vec!["-i~i"; 100_000].join(" . ");
    answered("parsing a long chain", || ijk_syntax::parse(&source));
    let compiled = answered("long chain", || compile_source(&source));
    assert_eq!(compiled.program.unwrap().statements.len(), 100_000);
    let source = vec!["-i~i"; 100_000].join(" << ");
    assert!(answered("long composition", || compile_source(&source)).program.is_some());
}

#[test]
fn doubling_programs_are_refused() {
    let double = |first: &str, step: &dyn Fn(usize) -> String| {
        let mut source = format!("a0: {first}\n");
        for n in 1..60 {
            let _ = writeln!(source, "a{n}: {}", step(n - 1));
        }
        source
    };
    let chain = double("-i~i", &|n| format!("a{n} . a{n}"));
    let message = answered("doubling chain", || first_error(&chain));
    assert_eq!(message, "the program expands to more than 1000000 index expressions");
    let identity = double("I", &|n| format!("a{n} . a{n}"));
    let message = answered("doubling identity", || first_error(&identity));
    assert_eq!(message, "the program expands to more than 8000000 components");
    let fanout = double("I", &|n| format!("a{n} & a{n}"));
    let message = answered("doubling fan-out", || first_error(&fanout));
    assert_eq!(message, "this has 8192 outputs; at most 4096 are allowed");
    let pair = double("I", &|n| format!("a{n} | a{n}"));
    assert!(answered("doubling pair", || first_error(&pair)).starts_with("this has 8192"));
}

#[test]
fn many_uses_of_a_wide_binding() {
    let mut source = format!("w: {}\n", vec!["I"; 4096].join(" | "));
    for n in 0..30_000 {
        let _ = writeln!(source, "b{n}: w");
    }
    let message = answered("wide", || first_error(&source));
    assert!(message.starts_with("the program is too large"), "{message}");
}

#[test]
fn many_errors() {
    let mut source = String::new();
    for n in 0..20_000 {
        let _ = writeln!(source, "a{n}: unknown{n} . ij~i");
    }
    let (tree, _) = answered("parsing errors", || ijk_syntax::parse(&source));
    answered("checking errors", || ijk_ir::compile(&tree, &source));
    let compiled = answered("errors", || compile_source(&source));
    assert!(compiled.has_errors() && compiled.diagnostics.len() < 2000);
}

#[test]
fn nested_groups_and_swaps() {
    let source = format!("{}i*j~ij{}", "(".repeat(1000), ")".repeat(1000));
    answered("groups", || compile_source(&source));
    let swaps = format!("{}(i*j~ij)", "~".repeat(1000));
    answered("swaps", || compile_source(&swaps));
}

#[test]
fn names_known_in_reverse_order() {
    let count = 2000;
    let mut lines: Vec<String> =
        (0..count).map(|n| format!("i{{n{n}}}*j{{n{}}}~i", n + 1)).collect();
    lines.iter_mut().for_each(|line| line.insert_str(0, "+("));
    let lines: Vec<String> = lines.iter().map(|l| l.replace("~i", ")~i")).collect();
    let source = lines.join(" | ");
    let compiled = answered("names", || compile_source(&source));
    let program = compiled.program.expect("well-formed");
    let arguments = vec![(DType::F32, &[3u64][..]); 2 * count];
    answered("instantiate names", || instantiate(&program, &arguments)).unwrap();
    let unsqueezed: Vec<String> =
        (0..count).map(|n| format!("i~ij{{n{n}}}j{{n{}}}", n + 1)).collect();
    let last = format!("{} | i{{n{count}}}~i", unsqueezed.join(" | "));
    let program = answered("chained names", || compile_source(&last)).program.expect("well-formed");
    let arguments = vec![(DType::F32, &[3u64][..]); count + 1];
    assert!(answered("waiting", || instantiate(&program, &arguments)).is_ok());
}

#[test]
fn huge_indices() {
    let source = format!("+{}~.", "i".repeat(100_000));
    let message = answered("rank", || first_error(&source));
    assert!(message.contains("at most 64 axes"), "{message}");
    let terms = vec!["i/2"; 50_000].join("+");
    assert!(answered("terms", || first_error(&format!("[{terms}]*i~i"))).contains("1024 terms"));
    let letters: String = ('\u{4e00}'..'\u{9000}').collect();
    answered("letters", || first_error(&format!("i~{letters}")));
    let sum: Vec<String> = ('\u{4e00}'..'\u{5100}').map(String::from).collect();
    assert!(
        answered("letters", || first_error(&format!("+i~[{}]", sum.join("+")))).contains("256")
    );
}
