//! From operators as values to the methods of the element traits.
//!
//! One function for each trait; what it does not know it hands to the trait above.

use super::{Scalar, ScalarError};
use crate::{BinaryOp, DType, Element, Inexact, Number, Ordered, OrderedNumber, Real, UnaryOp};

type Value = Result<Scalar, ScalarError>;

fn value<T: Element>(x: T) -> Value {
    Ok(x.into_scalar())
}

fn refuse<T: Element>() -> Value {
    Err(ScalarError::Type(T::DTYPE))
}

pub fn unary_bool(op: UnaryOp, x: bool) -> Value {
    match op {
        UnaryOp::Not => value(!x),
        _ => unary_ordered(op, x),
    }
}

fn unary_ordered<T: Ordered>(op: UnaryOp, x: T) -> Value {
    match op {
        UnaryOp::Cast(DType::Bool) => value(x.to_bool()),
        UnaryOp::Cast(DType::I32) => value(x.to_i32()),
        UnaryOp::Cast(DType::I64) => value(x.to_i64()),
        UnaryOp::Cast(DType::F32) => value(x.to_f32()),
        UnaryOp::Cast(DType::U8) => value(x.to_u8()),
        UnaryOp::Cast(DType::U16) => value(x.to_u16()),
        UnaryOp::Cast(DType::U32) => value(x.to_u32()),
        UnaryOp::Cast(DType::U64) => value(x.to_u64()),
        UnaryOp::Cast(DType::I8) => value(x.to_i8()),
        UnaryOp::Cast(DType::I16) => value(x.to_i16()),
        UnaryOp::Cast(DType::F16) => value(x.to_f16()),
        UnaryOp::Cast(DType::BF16) => value(x.to_bf16()),
        UnaryOp::Cast(DType::F64) => value(x.to_f64()),
        _ => refuse::<T>(),
    }
}

fn unary_number<T: Number>(op: UnaryOp, x: T) -> Value {
    match op {
        UnaryOp::Neg => value(x.neg()),
        UnaryOp::Recip => value(x.recip()?),
        UnaryOp::Abs => value(x.abs()),
        UnaryOp::Conj => value(x.conj()),
        UnaryOp::Re => value(x.re()),
        UnaryOp::Im => value(x.im()),
        _ => refuse::<T>(),
    }
}

pub fn unary_ordered_number<T: OrderedNumber>(op: UnaryOp, x: T) -> Value {
    match op {
        UnaryOp::Sign => value(x.sign()),
        UnaryOp::Cast(_) => unary_ordered(op, x),
        _ => unary_number(op, x),
    }
}

pub fn unary_inexact<T: Inexact>(op: UnaryOp, x: T) -> Value {
    match op {
        UnaryOp::Exp => value(x.exp()),
        UnaryOp::Ln => value(x.ln()),
        UnaryOp::Sqrt => value(x.sqrt()),
        UnaryOp::Sin => value(x.sin()),
        UnaryOp::Cos => value(x.cos()),
        UnaryOp::Tan => value(x.tan()),
        UnaryOp::Tanh => value(x.tanh()),
        UnaryOp::Sinh => value(x.sinh()),
        UnaryOp::Cosh => value(x.cosh()),
        _ => unary_number(op, x),
    }
}

pub fn unary_real<T: Real>(op: UnaryOp, x: T) -> Value {
    match op {
        UnaryOp::Floor => value(x.floor()),
        UnaryOp::Ceil => value(x.ceil()),
        UnaryOp::Round => value(x.round()),
        UnaryOp::Erf => value(x.erf()),
        UnaryOp::Sigmoid => value(x.sigmoid()),
        UnaryOp::Gelu => value(x.gelu()),
        UnaryOp::Log1p => value(x.log1p()),
        UnaryOp::Expm1 => value(x.expm1()),
        UnaryOp::Sign | UnaryOp::Cast(_) => unary_ordered_number(op, x),
        _ => unary_inexact(op, x),
    }
}

fn binary_element<T: Element>(op: BinaryOp, x: T, y: T) -> Value {
    match op {
        BinaryOp::Add => value(x.add(y)),
        BinaryOp::Mul => value(x.mul(y)),
        BinaryOp::Eq => value(x == y),
        BinaryOp::Ne => value(x != y),
        _ => refuse::<T>(),
    }
}

pub fn binary_bool(op: BinaryOp, x: bool, y: bool) -> Value {
    match op {
        BinaryOp::And => value(x & y),
        BinaryOp::Or => value(x | y),
        _ => binary_ordered(op, x, y),
    }
}

fn binary_ordered<T: Ordered>(op: BinaryOp, x: T, y: T) -> Value {
    match op {
        BinaryOp::Max => value(x.max(y)),
        BinaryOp::Min => value(x.min(y)),
        BinaryOp::Lt => value(x.lt(y)),
        BinaryOp::Le => value(x.le(y)),
        BinaryOp::Gt => value(y.lt(x)),
        BinaryOp::Ge => value(y.le(x)),
        _ => binary_element(op, x, y),
    }
}

fn binary_number<T: Number>(op: BinaryOp, x: T, y: T) -> Value {
    match op {
        BinaryOp::Sub => value(x.sub(y)),
        BinaryOp::Div => value(x.div(y)?),
        BinaryOp::Pow => value(x.pow(y)?),
        _ => binary_element(op, x, y),
    }
}

pub fn binary_ordered_number<T: OrderedNumber>(op: BinaryOp, x: T, y: T) -> Value {
    match op {
        BinaryOp::Mod => value(x.modulo(y)?),
        BinaryOp::Sub | BinaryOp::Div | BinaryOp::Pow => binary_number(op, x, y),
        _ => binary_ordered(op, x, y),
    }
}

pub fn binary_inexact<T: Inexact>(op: BinaryOp, x: T, y: T) -> Value {
    match op {
        BinaryOp::Log => value(x.log(y)),
        _ => binary_number(op, x, y),
    }
}

pub fn binary_real<T: Real>(op: BinaryOp, x: T, y: T) -> Value {
    match op {
        BinaryOp::Log => value(x.log(y)),
        BinaryOp::Atan2 => value(x.atan2(y)),
        BinaryOp::Hypot => value(x.hypot(y)),
        BinaryOp::LogAddExp => value(x.log_add_exp(y)),
        BinaryOp::FloorDiv => value(x.floor_div(y)),
        _ => binary_ordered_number(op, x, y),
    }
}
