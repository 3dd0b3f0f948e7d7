use super::*;
use ijk_types::DType;

fn parse(text: &str) -> Formula {
    Formula::parse(text, &["x"]).unwrap_or_else(|error| panic!("{error}"))
}

fn at(text: &str, x: f64) -> f64 {
    parse(text).evaluate(&[Scalar::F64(x)]).unwrap().as_f64()
}

#[test]
fn operators_bind_as_in_mathematics() {
    assert_eq!(at("1 + 2 * x ^ 2 ** 1 - 4 / 2", 3.0), 17.0);
    assert_eq!(at("-x ^ 2", 3.0), -9.0);
    assert_eq!(at("2 ^ -x", 1.0), 0.5);
    assert_eq!(at("10 - x - 1", 3.0), 6.0);
    assert_eq!(at("where(lt(x, 0), -x, max(x, 7 % 4))", 2.0), 3.0);
}

#[test]
fn conditions_are_written_as_in_python() {
    let holds = |text: &str, x: f64| {
        let value = parse(text).evaluate(&[Scalar::F64(x)]).unwrap();
        value == Scalar::Bool(true)
    };
    for (text, holds_at, fails_at) in [
        ("x > 0.5", 1.0, 0.5),
        ("x >= 0.5", 0.5, 0.0),
        ("x < 0.5", 0.0, 0.5),
        ("x<=-0.5", -0.5, 0.0),
        ("x == 2", 2.0, 3.0),
        ("x != 2", 3.0, 2.0),
        ("0 < x and x < 1", 0.5, 1.0),
        ("x < 0 or x > 1 and x < 2", -1.0, 1.0),
        ("not x > 1 and x > 0", 0.5, 2.0),
        ("not (x > 1 or x < 0)", 0.5, 2.0),
        ("(x > 1) == (x > 2)", 3.0, 2.0),
        ("2 * x + 1 > 3 - x", 1.0, 0.5),
        ("bool(x)", 1.0, 0.0),
        ("and(x > 0, or(x < 1, x > 2))", 3.0, 1.5),
    ] {
        assert!(holds(text, holds_at), "{text} at {holds_at}");
        assert!(!holds(text, fails_at), "{text} at {fails_at}");
        assert_eq!(parse(text).result(&[DType::F64]), Ok(DType::Bool), "{text}");
    }
}

#[test]
fn lists_are_folded_and_mapped() {
    use crate::{ElementType, Error, Value};
    let of = ElementType::array(DType::F64.into());
    let at = |text: &str, list: &[f64]| {
        let list = Value::list(list.iter().copied());
        parse(text).evaluate_lists(&[&list], std::slice::from_ref(&of))
    };
    for (text, list, expected) in [
        ("sum(x)", &[1.0, 2.0][..], Value::number(3.0)),
        ("sum(x)", &[], Value::number(0.0)),
        ("max(x)", &[], Value::number(f64::NEG_INFINITY)),
        ("len(x)", &[4.0, 5.0], Value::number(2i64)),
        ("len(x) > 1", &[4.0], Value::number(false)),
        ("argmin(x * x)", &[-4.0, 1.0, 1.0], Value::number(1i64)),
        ("prod(x + 1)", &[1.0, 2.0], Value::number(6.0)),
        ("sum(x) / f64(len(x))", &[1.0, 2.0], Value::number(1.5)),
        ("x + 1", &[1.0, 2.0], Value::list([2.0, 3.0])),
        ("2 * x - x", &[1.0, 2.0], Value::list([1.0, 2.0])),
        ("x", &[1.0], Value::list([1.0])),
        ("x > 1", &[], Value::list::<bool>([])),
        ("any(x > 1)", &[0.0, 2.0], Value::number(true)),
        ("where(x > 1, x, 0)", &[0.5, 2.0], Value::list([0.0, 2.0])),
        ("x - max(x)", &[1.0, 3.0], Value::list([-2.0, 0.0])),
    ] {
        assert_eq!(at(text, list).unwrap(), expected, "{text} of {list:?}");
        let found = parse(text).result_of(std::slice::from_ref(&of));
        assert_eq!(found, Ok(expected.element_type()), "{text}");
    }
    assert!(matches!(at("argmax(x)", &[]), Err(Error::Lists(_))));
    let nested = ElementType::array(of.clone());
    let refused = |text: &str, of: &ElementType| {
        parse(text).result_of(std::slice::from_ref(of)).unwrap_err().to_string()
    };
    assert!(refused("sum(x)", &DType::F64.into()).contains("folds a list, but its operand is f64"));
    assert!(refused("len(sum(x))", &of).contains("`len` folds a list"));
    assert!(
        refused("sum(x)", &nested).contains("a list of numbers, but its operand is array(array")
    );
    assert_eq!(parse("len(x)").result_of(&[nested]), Ok(DType::I64.into()));
    let pair = Formula::parse("l * r", &["l", "r"]).unwrap();
    let (l, r) = (Value::list([1.0, 2.0]), Value::list([1.0]));
    let error = pair.evaluate_lists(&[&l, &r], &[of.clone(), of.clone()]).unwrap_err();
    assert_eq!(error.to_string(), "`*` of lists of 2 and 1 elements");
    let scaled = pair.evaluate_lists(&[&l, &Value::number(3.0)], &[of, DType::F64.into()]);
    assert_eq!(scaled.unwrap(), Value::list([3.0, 6.0]));
}

#[test]
fn printed_formulas_parse_back() {
    for text in [
        "x > 1 and not x < 2 or x == 3",
        "not (x > 1) == (x > 2)",
        "(x > 1 or x < 0) and x != 2",
        "sum(x) / f64(len(x))",
        "not (x > 1 and x < 2)",
        "(x > 0) == (x > 1)",
    ] {
        let formula = parse(text);
        let printed = formula.display(&["x"]).to_string();
        assert_eq!(parse(&printed), formula, "{text} {printed}");
    }
    for text in ["1 + 2 * x", "(1 + x) * x", "-x ^ 2", "x - (x - 1)", "where(lt(x, 0), x, -2)"] {
        let formula = parse(text);
        let printed = formula.display(&["x"]).to_string();
        assert_eq!(parse(&printed), formula, "{text} {printed}");
    }
}

#[test]
fn numbers_take_the_type_of_what_they_meet() {
    assert_eq!(parse("2 * x").result(&[DType::I32]), Ok(DType::I32));
    assert_eq!(parse("lt(x, 1 + 1)").result(&[DType::F32]), Ok(DType::Bool));
    assert_eq!(parse("lt(2, 1)").result(&[DType::F32]), Ok(DType::Bool));
    assert_eq!(parse("f64(x) + 0.5").result(&[DType::I32]), Ok(DType::F64));
    assert_eq!(parse("1").result(&[DType::I32]), Ok(DType::I32));
    assert!(parse("x + 0.5").result(&[DType::I32]).is_err());
    assert!(parse("exp(x)").result(&[DType::I32]).unwrap_err().to_string().contains("`exp`"));
    assert!(parse("x + f32(x)").result(&[DType::F64]).unwrap_err().to_string().contains("cast"));
    assert!(parse("where(x, x, x)").result(&[DType::F64]).is_err());
}

#[test]
fn substitution_keeps_the_value() {
    let pair = Formula::trace_pair(|l, r| l.clone() * r - l);
    let both = pair.with(&[parse("x + 1"), parse("2 * x")]);
    assert_eq!(both.evaluate(&[Scalar::F64(3.0)]).unwrap().as_f64(), 20.0);
    let first = Formula::variable(0).with(&[parse("x + 1"), parse("x")]);
    assert_eq!(first.evaluate(&[Scalar::F64(3.0)]).unwrap().as_f64(), 4.0);
}

#[test]
fn bad_text_is_refused_with_its_place() {
    let refused = |text: &str| Formula::parse(text, &["l", "r"]).unwrap_err().to_string();
    for (text, part) in [
        ("", "expected a value, found the end"),
        ("l *", "the elements are `l` and `r`"),
        ("l * x", "there is no variable `x`"),
        ("EXP(l)", "did you mean `exp`"),
        ("sum(l, r)", "takes 1 operand, not 2"),
        ("collect(l)", "stands outermost"),
        ("0 < l < 1", "comparisons do not chain"),
        ("l == r == 1", "comparisons do not chain"),
        ("l = r", "`==` compares"),
        ("(l > 0) & (r > 0)", "`and`, `or` and `not` combine conditions"),
        ("l > ", "expected a value"),
        ("not", "expected a value"),
        ("foo(l)", "there is no function `foo`"),
        ("max(l, r, l)", "takes 2 operands, not 3"),
        ("l r", "`r` is left over"),
        ("exp l", "a function is called"),
        ("(l", "expected `)`, found the end"),
        ("99999999999999999999", "out of range"),
        ("2l", "expected a value, found `2l`"),
    ] {
        assert!(refused(text).contains(part), "{text}: {}", refused(text));
    }
    assert!(refused(&"(".repeat(10_000)).contains("nests deeper"));
    assert!(refused(&"not ".repeat(10_000)).contains("nests deeper"));
    assert!(Formula::parse(&format!("l{}", " + l".repeat(1000)), &["l"]).is_ok());
}
