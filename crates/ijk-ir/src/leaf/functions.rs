//! Lowering of the functions of programs to the core IR.

use ijk_syntax::Function;
use ijk_types::{BinaryOp, DType, Literal, Monoid, Order, Reducer, TypeSet, UnaryOp};

/// Lowered form of a function of one operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UnaryForm {
    /// A scalar function.
    Op(UnaryOp),
    /// An operator with its default left operand, `0 + x`.
    Default(BinaryOp, Literal),
    /// The operand itself, of the types the operator accepts: `max(-inf, x)`.
    Same(BinaryOp),
    /// The value of the index.
    Index,
}

/// The function as one of one operand that does not reduce.
pub fn unary(function: Function) -> Option<UnaryForm> {
    use UnaryForm::{Default, Op, Same};
    Some(match function {
        Function::Add => Default(BinaryOp::Add, Literal::Integer(0)),
        Function::Mul => Default(BinaryOp::Mul, Literal::Integer(1)),
        Function::Max => Same(BinaryOp::Max),
        Function::Min => Same(BinaryOp::Min),
        Function::And => Same(BinaryOp::And),
        Function::Or => Same(BinaryOp::Or),
        Function::LogAddExp => Same(BinaryOp::LogAddExp),
        Function::Index => UnaryForm::Index,
        other => Op(unary_op(other)?),
    })
}

fn unary_op(function: Function) -> Option<UnaryOp> {
    Some(match function {
        Function::Sub => UnaryOp::Neg,
        Function::Div => UnaryOp::Recip,
        Function::Pow => UnaryOp::Exp,
        Function::Log => UnaryOp::Ln,
        Function::Sqrt => UnaryOp::Sqrt,
        Function::Abs => UnaryOp::Abs,
        Function::Sign => UnaryOp::Sign,
        Function::Floor => UnaryOp::Floor,
        Function::Ceil => UnaryOp::Ceil,
        Function::Round => UnaryOp::Round,
        Function::Sin => UnaryOp::Sin,
        Function::Cos => UnaryOp::Cos,
        Function::Tan => UnaryOp::Tan,
        Function::Tanh => UnaryOp::Tanh,
        Function::Sinh => UnaryOp::Sinh,
        Function::Cosh => UnaryOp::Cosh,
        Function::Erf => UnaryOp::Erf,
        Function::Sigmoid => UnaryOp::Sigmoid,
        Function::Gelu => UnaryOp::Gelu,
        Function::Log1p => UnaryOp::Log1p,
        Function::Expm1 => UnaryOp::Expm1,
        Function::Not => UnaryOp::Not,
        Function::Conj => UnaryOp::Conj,
        Function::Re => UnaryOp::Re,
        Function::Im => UnaryOp::Im,
        Function::CastF32 => UnaryOp::Cast(DType::F32),
        Function::CastF64 => UnaryOp::Cast(DType::F64),
        Function::CastI32 => UnaryOp::Cast(DType::I32),
        Function::CastI64 => UnaryOp::Cast(DType::I64),
        Function::CastBool => UnaryOp::Cast(DType::Bool),
        Function::CastU8 => UnaryOp::Cast(DType::U8),
        Function::CastU16 => UnaryOp::Cast(DType::U16),
        Function::CastU32 => UnaryOp::Cast(DType::U32),
        Function::CastU64 => UnaryOp::Cast(DType::U64),
        Function::CastI8 => UnaryOp::Cast(DType::I8),
        Function::CastI16 => UnaryOp::Cast(DType::I16),
        Function::CastF16 => UnaryOp::Cast(DType::F16),
        Function::CastBf16 => UnaryOp::Cast(DType::BF16),
        _ => return None,
    })
}

/// The function as one of two operands.
pub fn binary(function: Function) -> Option<BinaryOp> {
    Some(match function {
        Function::Add => BinaryOp::Add,
        Function::Mul => BinaryOp::Mul,
        Function::Sub => BinaryOp::Sub,
        Function::Div => BinaryOp::Div,
        Function::Max => BinaryOp::Max,
        Function::Min => BinaryOp::Min,
        Function::Pow => BinaryOp::Pow,
        Function::Log => BinaryOp::Log,
        Function::Eq => BinaryOp::Eq,
        Function::Ne => BinaryOp::Ne,
        Function::Lt => BinaryOp::Lt,
        Function::Le => BinaryOp::Le,
        Function::Gt => BinaryOp::Gt,
        Function::Ge => BinaryOp::Ge,
        Function::And => BinaryOp::And,
        Function::Or => BinaryOp::Or,
        Function::Mod => BinaryOp::Mod,
        Function::Atan2 => BinaryOp::Atan2,
        Function::Hypot => BinaryOp::Hypot,
        Function::LogAddExp => BinaryOp::LogAddExp,
        _ => return None,
    })
}

/// Reducer that folds dropped letters by the function, if there is one.
pub fn reducer(function: Function) -> Option<Reducer> {
    match function {
        Function::ArgMax => Some(Reducer::ArgMax),
        Function::ArgMin => Some(Reducer::ArgMin),
        Function::Sort => Some(order(false, false)),
        Function::ArgSort => Some(order(false, true)),
        Function::TopK => Some(order(true, false)),
        Function::ArgTopK => Some(order(true, true)),
        _ if function.reduces() => Monoid::from_op(binary(function)?).map(Reducer::Monoid),
        _ => None,
    }
}

fn order(descending: bool, positions: bool) -> Reducer {
    Reducer::Order(Order { descending, positions })
}

/// The element types in which a literal has a value.
pub fn literal_types(literal: Literal) -> TypeSet {
    TypeSet::ALL.filter(|t| literal.to_scalar(t).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_has_the_forms_its_arities_promise() {
        for &function in Function::ALL {
            let (least, most) = function.operands();
            assert_eq!(binary(function).is_some(), (least..=most).contains(&2), "{function:?}");
            let alone = unary(function).is_some() || reducer(function).is_some();
            assert_eq!(alone, least == 1, "{function:?}");
            assert_eq!(reducer(function).is_some(), function.reduces(), "{function:?}");
        }
    }

    #[test]
    fn literals_fit_types() {
        assert_eq!(literal_types(Literal::Float(0.5)), TypeSet::INEXACT);
        assert_eq!(literal_types(Literal::Float(100.0)), TypeSet::NUMBER);
        assert_eq!(literal_types(Literal::Integer(1)), TypeSet::ALL);
        assert_eq!(literal_types(Literal::Integer(2)), TypeSet::NUMBER);
        assert!(!literal_types(Literal::Integer(3_000_000_000)).contains(DType::I32));
        assert!(!literal_types(Literal::Float(1e6)).contains(DType::U16));
    }
}
