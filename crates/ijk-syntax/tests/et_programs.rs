//! Whole programs of Einsum Tuple parse to the trees they mean.

use ijk_syntax::et::ast::{Assign, AssignOp, CallArg, Index, IndexOp, Value};
use ijk_syntax::et::parse;

#[allow(dead_code)]
use crate::support::without_span_texts;

const CONVOLUTION: &str = r#"
# strided "valid" convolution, for any number of spatial dimensions
input[batch,ipos,ichan]    = RANDOM(0, 10, FLOAT)
filters[fpos,ichan,ochan]  = RANDOM(0, 1, FLOAT)

output[batch,opos,ochan]   = filters[fpos,ichan,ochan] * input[batch,fpos+DIMS(stride)*opos,ichan]

tf.nn.convolution(input=input, filters=filters, strides=DIMS(stride), padding=L('VALID'))

output

RANK(ipos) IN [1,3]
DIMS(stride) IN [1,3]
DIMS(fpos) IN [2,5]
DIMS(ipos) IN [15,24]
DIMS(opos) = (DIMS(ipos) - DIMS(fpos) + 1) //^ DIMS(stride)
"#;

#[test]
fn convolution() {
    let (program, diagnostics) = parse(CONVOLUTION);
    assert_eq!(diagnostics, []);
    assert_eq!(program.statements.len(), 3);
    assert_eq!(program.constraints.len(), 5);
    let call = program.call.expect("a call");
    assert_eq!(call.path.len(), 3);
    assert!(matches!(&call.args[3].1, CallArg::Literal(text, _) if text == "'VALID'"));
}

/// The right side of `y[] = …`.
fn value(text: &str) -> Value {
    let (program, diagnostics) = parse(&format!("y[] = {text}"));
    assert_eq!(diagnostics, [], "{text}");
    program.statements.into_iter().next().expect("a statement").value
}

#[test]
fn signs() {
    let shape = |text: &str| match value(text) {
        Value::Sum(terms, _) => terms.iter().map(|t| (t.0, t.1.to_string())).collect(),
        other => vec![(false, format!("{other}"))],
    };
    let terms = |terms: &[(bool, &str)]| -> Vec<(bool, String)> {
        terms.iter().map(|t| (t.0, t.1.to_owned())).collect()
    };
    assert_eq!(shape("a[] -b[]"), terms(&[(false, "a[]"), (true, "b[]")]));
    assert_eq!(shape("a[] - -b[]"), terms(&[(false, "a[]"), (true, "-b[]")]));
    assert_eq!(shape("-a[] * b[]"), terms(&[(false, "-a[] * b[]")]));
    assert_eq!(shape("-a[] + b[]"), terms(&[(true, "a[]"), (false, "b[]")]));
    assert_eq!(shape("(a[]\n-b[])"), terms(&[(false, "a[]"), (true, "b[]")]));
    assert_eq!(shape("a[]\n-b[]"), terms(&[(false, "a[]"), (true, "b[]")]));
    assert_eq!(shape("+a[]"), terms(&[(false, "a[]")]));
    assert!(matches!(value("-1"), Value::Number(ijk_syntax::ast::Number::Integer(-1), _)));
    assert!(matches!(value("-1 // 2"), Value::Product(..)));
}

/// Where a sign stands is kept when a program is printed and parsed again.
#[test]
fn printed_signs_stay_where_they_stand() {
    let table = [
        ("-(a[] * b[]) * c[]", "-(a[] * b[]) * c[]"),
        ("((-a[]) * b[]) * c[]", "(-a[] * b[]) * c[]"),
        ("(-a[]) * b[]", "-a[] * b[]"),
        ("-(a[] * b[])", "-(a[] * b[])"),
        ("-(a[] * b[]) + c[]", "-(a[] * b[]) + c[]"),
        ("-a[] * b[] + c[]", "-a[] * b[] + c[]"),
        ("a[] - -(b[] * -c[])", "a[] - -(b[] * -c[])"),
        ("-(3) + -(-3) - -3", "-(3) + --3 - -3"),
        ("-(-(a[] + b[]))", "--(a[] + b[])"),
        ("+(-a[]) * +b[]", "+-a[] * +b[]"),
        ("-(2.5) * -INF", "-(2.5) * -INF"),
    ];
    for (text, printed) in table {
        let tree = value(text);
        assert_eq!(tree.to_string(), printed, "{text}");
        let trees = [&tree, &value(printed)].map(|tree| without_span_texts(&format!("{tree:?}")));
        assert_eq!(trees[0], trees[1], "{text}");
    }
}

#[test]
fn signs_in_an_index_bind_before_division() {
    let (program, _) = parse("y[i] = x[-1 // 2 + -i % 3]");
    let Value::Element(access) = &program.statements[0].value else { panic!("an element") };
    let Index::Sum(terms, _) = &access.indices[0] else { panic!("a sum") };
    let Index::Product(first, factors, _) = &terms[0].1 else { panic!("a product") };
    assert!(matches!(**first, Index::Integer(-1, _)));
    assert_eq!(factors[0].0, IndexOp::FloorDiv);
    assert!(
        matches!(&terms[1].1, Index::Product(first, _, _) if matches!(**first, Index::Sum(..)))
    );
}

#[test]
fn assignments() {
    let table = [
        ("=", AssignOp::Add, false),
        ("+=", AssignOp::Add, true),
        ("=*", AssignOp::Mul, false),
        ("*=", AssignOp::Mul, true),
        ("=max", AssignOp::Max, false),
        ("max=", AssignOp::Max, true),
        ("=min", AssignOp::Min, false),
        ("min=", AssignOp::Min, true),
        ("=and", AssignOp::And, false),
        ("and=", AssignOp::And, true),
        ("=or", AssignOp::Or, false),
        ("or=", AssignOp::Or, true),
        ("=logaddexp", AssignOp::LogAddExp, false),
        ("logaddexp=", AssignOp::LogAddExp, true),
    ];
    for (symbol, op, accumulate) in table {
        let (program, diagnostics) = parse(&format!("y[i] {symbol} x[i]"));
        assert_eq!(diagnostics, [], "{symbol}");
        assert_eq!(program.statements[0].assign, Assign { op, accumulate });
        let span = program.statements[0].symbol;
        assert_eq!((span.start, span.end), (5, 5 + symbol.len() as u32));
    }
    let (program, diagnostics) = parse("y[i] =max[i]\nz[i] = max\nw[i] =max\n-x[i]");
    assert_eq!(diagnostics, []);
    let ops: Vec<AssignOp> = program.statements.iter().map(|s| s.assign.op).collect();
    assert_eq!(ops, [AssignOp::Add, AssignOp::Add, AssignOp::Max]);
}
