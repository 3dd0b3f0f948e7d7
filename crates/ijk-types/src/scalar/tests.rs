use super::*;

fn samples(t: DType) -> Vec<Scalar> {
    let literals = [0, 1, -1, 2, 3, -7].map(Literal::Integer);
    let floats = [0.5, -2.5, f64::NAN, f64::INFINITY, -0.0].map(Literal::Float);
    literals.into_iter().chain(floats).filter_map(|l| l.to_scalar(t).ok()).collect()
}

/// Every operator on every type: a value of the declared type exactly where it is accepted.
#[test]
fn operators_accept_and_give_the_types_they_say() {
    for t in DType::ALL {
        for x in samples(t) {
            for op in UnaryOp::ALL {
                check(unary(op, x), op.accepts().contains(t), op.result().of(t));
            }
            for y in samples(t) {
                for op in BinaryOp::ALL {
                    check(binary(op, x, y), op.accepts().contains(t), op.result().of(t));
                }
            }
        }
    }
}

fn check(value: Result<Scalar, ScalarError>, accepted: bool, t: DType) {
    match value {
        Ok(value) => assert!(accepted && value.dtype() == t),
        Err(error) => assert_eq!(accepted, !matches!(error, ScalarError::Type(_)), "{error}"),
    }
}

#[test]
fn identities_are_neutral() {
    for t in DType::ALL {
        for monoid in Monoid::ALL.into_iter().filter(|m| m.op().accepts().contains(t)) {
            for x in samples(t) {
                if t.is_complex() && x.as_f64().is_infinite() {
                    continue; // 1 * (inf + 0i) is (inf + nan i), as in NumPy
                }
                let sum = binary(monoid.op(), identity(monoid, t), x).unwrap();
                let nan = x.as_f64().is_nan() && sum.as_f64().is_nan();
                assert!(nan || sum == x, "{monoid:?} {x} {sum}");
            }
        }
    }
}

#[test]
fn literals_take_only_values_the_type_has() {
    use LiteralError::*;
    let int = |n, t| Literal::Integer(n).to_scalar(t);
    let float = |x, t| Literal::Float(x).to_scalar(t);
    assert_eq!(int(3_000_000_000, DType::I32), Err(OutOfRange(3_000_000_000, DType::I32)));
    assert_eq!(int(2, DType::Bool), Err(OutOfRange(2, DType::Bool)));
    assert_eq!(int(1, DType::Bool), Ok(Scalar::Bool(true)));
    assert_eq!(float(0.5, DType::I64), Err(Fractional(0.5, DType::I64)));
    assert_eq!(float(1e30, DType::I64), Err(Fractional(1e30, DType::I64)));
    assert_eq!(float(1e6, DType::I32), Ok(Scalar::I32(1_000_000)));
    assert!(float(f64::INFINITY, DType::I32).is_err() && float(f64::NAN, DType::Bool).is_err());
    assert_eq!(int(2, DType::C64), Ok(Scalar::C64(C64::new(2.0, 0.0))));
}

#[test]
fn maximum_and_minimum_propagate_nan() {
    for op in [BinaryOp::Max, BinaryOp::Min] {
        for (x, y) in [(f64::NAN, 1.0), (1.0, f64::NAN), (f64::NAN, f64::NAN)] {
            assert!(binary(op, Scalar::F64(x), Scalar::F64(y)).unwrap().as_f64().is_nan());
        }
    }
}

#[test]
fn remainders_have_the_sign_of_the_divisor() {
    let inf = f64::INFINITY;
    for (x, y, rest) in [
        (5.5, 2.0, 1.5),
        (-5.5, 2.0, 0.5),
        (5.5, -2.0, -0.5),
        (-5.5, -2.0, -1.5),
        (-4.0, 2.0, 0.0),
        (4.0, -2.0, -0.0),
        (1.0, inf, 1.0),
        (-1.0, inf, inf),
        (1.0, -inf, -inf),
        (-0.0, 3.0, 0.0),
        (1.0, 0.0, f64::NAN),
        (inf, 2.0, f64::NAN),
    ] {
        let got = binary(BinaryOp::Mod, Scalar::F64(x), Scalar::F64(y)).unwrap();
        let same = got.same_bits(Scalar::F64(rest)) || rest.is_nan() && got.as_f64().is_nan();
        assert!(same, "{x} mod {y} = {got}");
    }
}

#[test]
fn casts_are_those_of_as() {
    let cast = |t, x| unary(UnaryOp::Cast(t), x).unwrap();
    assert_eq!(cast(DType::I32, Scalar::F64(3e9)), Scalar::I32(i32::MAX));
    assert_eq!(cast(DType::I32, Scalar::I64(1 << 32 | 5)), Scalar::I32(5));
    assert_eq!(cast(DType::I64, Scalar::F32(f32::NAN)), Scalar::I64(0));
    assert_eq!(cast(DType::I32, Scalar::F32(-2.9)), Scalar::I32(-2));
    assert_eq!(cast(DType::Bool, Scalar::F32(f32::NAN)), Scalar::Bool(true));
    assert_eq!(cast(DType::F64, Scalar::Bool(true)), Scalar::F64(1.0));
}

#[test]
fn rounding_and_signs() {
    let f = |op, x| unary(op, Scalar::F32(x)).unwrap();
    assert_eq!(f(UnaryOp::Round, 2.5), Scalar::F32(2.0));
    assert_eq!(f(UnaryOp::Round, -3.5), Scalar::F32(-4.0));
    assert_eq!(f(UnaryOp::Sign, -3.5), Scalar::F32(-1.0));
    assert!(f(UnaryOp::Sign, -0.0).same_bits(Scalar::F32(-0.0)));
    assert!(f(UnaryOp::Neg, 0.0).same_bits(Scalar::F32(-0.0)));
}

#[test]
fn operands_of_two_types_are_refused() {
    let sum = binary(BinaryOp::Add, Scalar::F32(1.0), Scalar::F64(1.0));
    assert_eq!(sum, Err(ScalarError::Type(DType::F64)));
}

#[test]
fn casts_to_complex_types_take_anything() {
    use crate::{C64, C128};
    let cast = |t, x| unary(UnaryOp::Cast(t), x).unwrap();
    let one = Scalar::C64(C64::new(1.0, 0.0));
    for x in [Scalar::Bool(true), Scalar::I32(1), Scalar::I64(1), Scalar::F32(1.0), one] {
        assert_eq!(cast(DType::C64, x), one);
        assert_eq!(cast(DType::C128, x), Scalar::C128(C128::new(1.0, 0.0)));
    }
    let i = Scalar::C128(C128::new(0.0, 1.0));
    assert_eq!(cast(DType::C64, i), Scalar::C64(C64::new(0.0, 1.0)));
}
