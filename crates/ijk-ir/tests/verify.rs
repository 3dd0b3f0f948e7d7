//! The verifier finds errors in programs that were broken on purpose, and accepts the output of lowering.

use ijk_ir::core::{Atom, AxisId, IndexExpr, Init, Program, ScalarNode, TypeTerm};
use ijk_ir::{VerifyError, compile_source, verify};
use ijk_types::{DType, TypeSet};

fn program(source: &str) -> Program {
    compile_source(source).program.unwrap_or_else(|| panic!("{source}"))
}

fn broken(source: &str, spoil: impl Fn(&mut Program)) -> Vec<VerifyError> {
    let mut program = program(source);
    spoil(&mut program);
    verify(&program).unwrap_err()
}

#[test]
fn lowered_programs_pass() {
    for source in [
        "ik*kj~ijk . +ijk~ij",
        "(I & +i~.) . i/.~i",
        "(@abs i~i | I) . i+j~ij",
        "(@abs i~i | @abs i~i) . i+j~ij . +ij~.",
        "@where(i,j,0.5)~ij . @argmax ij~i . @f32 i~i . @tanh i~i",
        "+(@abs i)~. . .+1~.",
        "i~[i/2][i%2]",
        "[2*i+k]*k~ik",
        "@index i~i . i @lt 3~i",
        "+@abs(i)~i",
        "*i~ii . +ij~.",
    ] {
        let compiled = compile_source(source);
        if let Some(program) = compiled.program {
            assert_eq!(verify(&program), Ok(()), "{source}\n{program}");
        } else {
            assert_eq!(source, "+@abs(i)~i", "{:?}", compiled.diagnostics);
        }
    }
}

#[test]
fn each_breakage_is_named() {
    use VerifyError as E;
    let found =
        |errors: Vec<E>, wanted: fn(&E) -> bool| assert!(errors.iter().any(wanted), "{errors:?}");
    let s = "ik*kj~ijk . +ijk~ij";
    found(broken(s, |p| p.outputs[0].0 = 99), |e| matches!(e, E::NoArray { .. }));
    found(broken(s, |p| p.statements.swap(0, 1)), |e| matches!(e, E::Undefined { .. }));
    found(broken(s, |p| p.statements[1].out = p.statements[0].out), |e| {
        matches!(e, E::DefinedTwice { .. })
    });
    found(broken(s, |p| p.arrays[0].rank = Some(3)), |e| matches!(e, E::Rank { .. }));
    found(broken(s, |p| p.statements[0].out_index[0].terms[0].0 = 0), |e| {
        matches!(e, E::Index { .. })
    });
    let lost = Atom::Axis(AxisId(9));
    found(broken(s, |p| p.statements[0].out_index[0].terms[0].1 = lost.clone()), |e| {
        matches!(e, E::Index { .. })
    });
    found(broken(s, |p| p.statements[0].value.nodes.swap(1, 2)), |e| matches!(e, E::Order { .. }));
    found(broken(s, |p| p.statements[0].value.nodes.clear()), |e| matches!(e, E::Order { .. }));
    found(broken(s, |p| p.arrays[1].dtype = TypeTerm::Fixed(DType::F32)), |e| {
        matches!(e, E::Type { .. })
    });
    found(broken(s, |p| p.arrays[1].dtype = TypeTerm::Var(7)), |e| {
        matches!(e, E::NoVariable { .. })
    });
    found(broken(s, |p| p.types[0] = TypeSet::NONE), |e| matches!(e, E::Type { .. }));
    found(broken("-i~i", |p| p.types[0] = TypeSet::ALL), |e| matches!(e, E::Type { .. }));
    found(broken(s, |p| p.statements[1].reduce = None), |e| matches!(e, E::Collides { .. }));
    found(broken("@argmax ij~i", |p| p.statements[0].domain.truncate(1)), |e| {
        matches!(e, E::Positions { .. } | E::Index { .. })
    });
    found(broken(s, |p| p.statements[0].init = Init::From(ijk_ir::core::ArrayId(50))), |e| {
        matches!(e, E::NoArray { .. })
    });
    found(
        broken("i+0.5~i", |p| {
            p.types[0] = TypeSet::ALL;
            p.statements[0]
                .value
                .nodes
                .iter()
                .for_each(|n| assert!(!matches!(n, ScalarNode::Index(_))));
        }),
        |e| matches!(e, E::Type { .. }),
    );
    found(broken("i{n}j{n}~ij", |p| p.extent_names.clear()), |e| matches!(e, E::NoVariable { .. }));
}

#[test]
fn programs_show_as_text() {
    let text = program("m: ik*kj~ijk; a: +ijk~ij; m.a").to_string();
    let expected = "\
program (T[2], T[2]) -> T[2] where T: bool int float complex
  for i k j: t2[i, j, k]: T = (in0[i, k] * in1[k, j])
  for i j k: t3[i, j]: T from identity(+) += t2[i, j, k]
  return t3";
    assert_eq!(text, expected);
    let text = program("i{10}+[2*k-1]~[i/2]k").to_string();
    assert!(text.contains("for i{10} k: t2[(i/2), k]: T = (in0[i] + in1[2*k - 1])"), "{text}");
}

struct Random(u64);

impl Random {
    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        choices[((self.0 >> 33) % choices.len() as u64) as usize]
    }
}

/// Whatever pieces of programs are strung together: no panic; what is lowered passes the verifier;
/// whatever the arguments, there is an instance or an error.
#[test]
fn random_pieces_are_answered() {
    let mut random = Random(1);
    let operands = [
        "i", "ij", "ji", "ii", ".", "[i+j]", "[2*i-1]j", "i{3}", "j{n}", "[i/2]", "2", "0.5", "-1",
        "@inf",
    ];
    let outers = [
        "", "", "+", "*", "-", "/", ">", "<", "^", "$", "@abs ", "@argmax ", "@not ", "@index ",
        "@f32 ", "@and ",
    ];
    let infix = ["+", "*", "-", "/", ">", "^", "$", " @lt ", " @and ", " @mod ", " @hypot "];
    let outputs = ["i", "ij", "ji", ".", "[i+j]", "[i%2]", "ik{n}", "ii", "[3*i+j]", "[i-1]"];
    let (mut lowered, mut fitted) = (0, 0);
    for _ in 0..20_000 {
        let mut parts: Vec<String> = Vec::new();
        for _ in 0..random.pick(&["1", "2", "3"]).parse().unwrap() {
            let a = random.pick(&operands);
            let out = random.pick(&outputs);
            let outer = random.pick(&outers);
            parts.push(match random.pick(&["unary", "binary", "fused", "where", "I"]) {
                "unary" => format!("{outer}{a}~{out}"),
                "binary" => format!("{a}{}{}~{out}", random.pick(&infix), random.pick(&operands)),
                "fused" => format!(
                    "{}({a}{}{})~{out}",
                    outer.trim(),
                    random.pick(&infix),
                    random.pick(&operands)
                ),
                "where" => format!(
                    "@where({a},{},{})~{out}",
                    random.pick(&operands),
                    random.pick(&operands)
                ),
                _ => "I".into(),
            });
        }
        let source = parts.join(random.pick(&[" . ", " & ", " | ", " << "]));
        let Some(program) = compile_source(&source).program else { continue };
        lowered += 1;
        assert_eq!(verify(&program), Ok(()), "{source}\n{program}");
        for (t, n) in [(DType::F32, 3u64), (DType::Bool, 0), (DType::I64, 2), (DType::C64, 1)] {
            let shapes: Vec<Vec<u64>> = (program.inputs.iter())
                .map(|id| vec![n; program.arrays[id.0 as usize].rank.unwrap_or(1) as usize])
                .collect();
            let arguments: Vec<(DType, &[u64])> = shapes.iter().map(|s| (t, &s[..])).collect();
            fitted += usize::from(ijk_ir::instantiate(&program, &arguments).is_ok());
        }
    }
    assert!(lowered > 1000 && fitted > 500, "{lowered} {fitted}");
}

/// Characters at random, most of which parse to something in part.
#[test]
fn random_characters_are_answered() {
    let mut random = Random(5);
    let pieces = [
        "i",
        "j",
        "k",
        "n",
        "I",
        "a",
        "b",
        ":",
        ";",
        "\n",
        "~",
        "~",
        "+",
        "*",
        "-",
        "/",
        ">",
        "<",
        "%",
        "^",
        "$",
        "@abs",
        "@where",
        "@argmax",
        "@index",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ".",
        " . ",
        " & ",
        " | ",
        "2",
        "0",
        "9223372036854775807",
        "-1",
        "0.5",
        "1e400",
        "é",
        "∀",
        "\u{0}",
        "a: i~i\n",
        "+(ik*kj)~ij",
    ];
    for _ in 0..20_000 {
        let length = random.pick(&["3", "6", "12", "24"]).parse().unwrap();
        let source: String = (0..length).map(|_| random.pick(&pieces)).collect();
        let compiled = compile_source(&source);
        assert_eq!(compiled.program.is_none(), compiled.has_errors(), "{source:?} {compiled:?}");
        for d in &compiled.diagnostics {
            let spans = d.related.iter().map(|(span, _)| *span).chain([d.span]);
            spans.for_each(|s| assert!(source.get(s.start as usize..s.end as usize).is_some()));
        }
        let Some(program) = compiled.program else { continue };
        assert_eq!(verify(&program), Ok(()), "{source:?}");
        let shape = [3u64; 8];
        let arguments: Vec<(DType, &[u64])> = (program.inputs.iter())
            .map(|id| {
                (DType::F64, &shape[..program.arrays[id.0 as usize].rank.unwrap_or(2) as usize])
            })
            .collect();
        let _ = ijk_ir::instantiate(&program, &arguments);
    }
}

#[test]
fn guards_are_shown_and_checked() {
    let mut program = ijk_ir::compile_source("i~i").program.unwrap();
    let axis = IndexExpr::axis(AxisId(0));
    program.statements[0].guards.push((axis.plus(&IndexExpr::constant(-1)).unwrap(), 4));
    assert!(ijk_ir::verify(&program).is_ok());
    assert!(program.to_string().contains("for i where 0 <= i - 1 < 4: "), "{program}");
    program.statements[0].guards[0].0 = IndexExpr::axis(AxisId(1));
    assert!(ijk_ir::verify(&program).is_err());
}
