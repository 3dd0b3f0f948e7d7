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
fn printed_formulas_parse_back() {
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
        ("sum(l)", "stands outermost"),
        ("foo(l)", "there is no function `foo`"),
        ("max(l)", "takes 2 operands, not 1"),
        ("l r", "`r` is left over"),
        ("exp l", "a function is called"),
        ("(l", "expected `)`, found the end"),
        ("99999999999999999999", "out of range"),
        ("2l", "expected a value, found `2l`"),
    ] {
        assert!(refused(text).contains(part), "{text}: {}", refused(text));
    }
    assert!(refused(&"(".repeat(10_000)).contains("nests deeper"));
    assert!(Formula::parse(&format!("l{}", " + l".repeat(1000)), &["l"]).is_ok());
}
