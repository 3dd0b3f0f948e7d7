//! Functions of links, dispatched once for several vectors.

use super::fetch::{Each, Fetch, One, Rounded, Times, Value};
use super::link::{Code, EACH, EACH_TIMES_EACH, EACH_TIMES_ONE, Link, LinkOp, ONE, ONE_TIMES_ONE};
use super::spots::Spots;
use crate::simd::Float;
use std::marker::PhantomData;

/// Replaces each value by a function of it and of an operand's vector.
macro_rules! each {
    ($values:ident, $value:ident, $x:ident = $operand:expr => $new:expr) => {{
        let operand = $operand;
        for k in 0..K {
            // SAFETY: guaranteed by the caller of `linked`.
            let ($value, $x): (V, V) = unsafe { ($values[k], operand.get(k)) };
            $values[k] = $new;
        }
    }};
}

/// Replaces each value by a function of it.
macro_rules! own {
    ($values:ident, $value:ident => $new:expr) => {
        for value in &mut $values {
            let $value = *value;
            *value = $new;
        }
    };
}

/// The values after a link, for vectors at `spots`; with `PART`, of `count` elements.
///
/// # Safety
/// Operands have these elements, or one for each row; that of a store may be written.
#[inline(always)]
pub(super) unsafe fn linked<V: Value, S: Spots, const K: usize, const PART: bool>(
    simd: V::Simd,
    link: &Link,
    (spots, count): (S, usize),
    mut values: [V; K],
) -> [V; K] {
    let ([a, b, c], [rows_a, rows_b, rows_c]) = (link.operands, link.rows);
    let each = |operand, step| Each::<S, PART> { operand, step, spots, count };
    let one = |operand: *const u8, step: isize| {
        // SAFETY: operands have an element in each row.
        unsafe { One::of(simd, operand, step, spots) }
    };
    macro_rules! rounded {
        ($t:ty) => {
            Rounded::<$t, S, PART>(each(a, rows_a), PhantomData)
        };
    }
    // One dispatch for each link, by function and kind of operand.
    macro_rules! functions {
        ($($op:ident: $value:ident, $x:ident => $new:expr;)*) => {
            match link.code.code {
                $(Code::<{ LinkOp::$op as u8 }, EACH>::IS => each!(values, $value, $x = each(a, rows_a) => $new),
                Code::<{ LinkOp::$op as u8 }, ONE>::IS => each!(values, $value, $x = one(a, rows_a) => $new),
                Code::<{ LinkOp::$op as u8 }, EACH_TIMES_EACH>::IS => {
                    each!(values, $value, $x = Times(each(a, rows_a), each(b, rows_b)) => $new)
                }
                Code::<{ LinkOp::$op as u8 }, EACH_TIMES_ONE>::IS => {
                    each!(values, $value, $x = Times(each(a, rows_a), one(b, rows_b)) => $new)
                }
                Code::<{ LinkOp::$op as u8 }, ONE_TIMES_ONE>::IS => {
                    each!(values, $value, $x = Times(one(a, rows_a), one(b, rows_b)) => $new)
                })*
                Code::<{ LinkOp::StartI32 as u8 }, EACH>::IS => each!(values, _v, x = rounded!(i32) => x),
                Code::<{ LinkOp::StartI64 as u8 }, EACH>::IS => each!(values, _v, x = rounded!(i64) => x),
                Code::<{ LinkOp::StartU8 as u8 }, EACH>::IS => each!(values, _v, x = rounded!(u8) => x),
                Code::<{ LinkOp::StartI8 as u8 }, EACH>::IS => each!(values, _v, x = rounded!(i8) => x),
                Code::<{ LinkOp::StartU16 as u8 }, EACH>::IS => each!(values, _v, x = rounded!(u16) => x),
                Code::<{ LinkOp::StartI16 as u8 }, EACH>::IS => each!(values, _v, x = rounded!(i16) => x),
                Code::<{ LinkOp::DivShort as u8 }, ONE>::IS => {
                    let (divisor, inverse) = (one(a, rows_a), one(b, rows_b));
                    for k in 0..K {
                        // SAFETY: operands have an element in each row.
                        let (divisor, inverse): (V, V) = unsafe { (divisor.get(k), inverse.get(k)) };
                        // The nearest quotient but for an ulp, what is left of the value, and the correction.
                        let quotient = values[k].mul(inverse);
                        let rest = quotient.neg_mul_add(divisor, values[k]);
                        values[k] = rest.mul_add(inverse, quotient);
                    }
                }
                // SAFETY: guaranteed by the caller.
                Code::<{ LinkOp::Store as u8 }, EACH>::IS => unsafe {
                    store::<V, S, K, PART>(link, (spots, count), &values)
                },
                Code::<{ LinkOp::Square as u8 }, ONE>::IS => own!(values, v => v.mul(v)),
                Code::<{ LinkOp::Cube as u8 }, ONE>::IS => own!(values, v => v.mul(v).mul(v)),
                Code::<{ LinkOp::Neg as u8 }, ONE>::IS => {
                    let zero = V::splat(simd, -V::Element::from(0));
                    own!(values, v => zero.sub(v))
                }
                Code::<{ LinkOp::Abs as u8 }, ONE>::IS => own!(values, v => v.abs()),
                Code::<{ LinkOp::Sqrt as u8 }, ONE>::IS => own!(values, v => v.sqrt()),
                Code::<{ LinkOp::Floor as u8 }, ONE>::IS => own!(values, v => v.floor()),
                Code::<{ LinkOp::Ceil as u8 }, ONE>::IS => own!(values, v => v.ceil()),
                Code::<{ LinkOp::Round as u8 }, ONE>::IS => own!(values, v => v.round()),
                // SAFETY: guaranteed by the caller.
                code if link.code.is_condition(1) => values = unsafe {
                    let (zero, first) = (V::splat(simd, 0.into()), (each(a, rows_a), one(a, rows_a)));
                    match link.code.ones[1] {
                        true => selected(code, values, first, (zero, One::of_bool(simd, b, rows_b, spots))),
                        false => {
                            let bools = Rounded::<u8, S, PART>(each(b, rows_b), PhantomData);
                            selected(code, values, first, (zero, bools))
                        }
                    }
                },
                // SAFETY: guaranteed by the caller.
                code => values = unsafe {
                    let first = (each(a, rows_a), one(a, rows_a));
                    match (link.code.ones[1], link.code.ones[2]) {
                        (true, true) => chosen(code, values, first, one(b, rows_b), one(c, rows_c)),
                        (true, false) => chosen(code, values, first, one(b, rows_b), each(c, rows_c)),
                        (false, true) => chosen(code, values, first, each(b, rows_b), one(c, rows_c)),
                        (false, false) => chosen(code, values, first, each(b, rows_b), each(c, rows_c)),
                    }
                },
            }
        };
    }
    functions! {
        Start: _value, x => x;
        Add: value, x => value.add(x);
        Sub: value, x => value.sub(x);
        SubFrom: value, x => x.sub(value);
        Mul: value, x => value.mul(x);
        Div: value, x => value.div(x);
        DivInto: value, x => x.div(value);
        Max: value, x => value.max_nan(x);
        MaxOf: value, x => x.max_nan(value);
        Min: value, x => value.min_nan(x);
        MinOf: value, x => x.min_nan(value);
    }
    values
}

/// Writes the values to the operand of a link.
///
/// # Safety
/// The operand has room for them, and may be written.
#[inline(always)]
unsafe fn store<V: Value, S: Spots, const K: usize, const PART: bool>(
    link: &Link,
    (spots, count): (S, usize),
    values: &[V; K],
) {
    for (k, value) in values.iter().enumerate() {
        let to = spots.place::<V::Element>(link.operands[0], link.rows[0], k).cast_mut();
        // SAFETY: guaranteed by the caller.
        unsafe {
            match PART {
                true => value.store_partial(to, count),
                false => value.store(to),
            }
        }
    }
}

/// The values after a link that compares `x` and `y`, given the first operand as both kinds.
///
/// # Safety
/// Operands have a vector for each value; of the first operand, the kind of the link has.
#[inline(always)]
unsafe fn chosen<V: Float, const K: usize>(
    code: u8,
    mut values: [V; K],
    (each, one): (impl Fetch<V>, impl Fetch<V>),
    x: impl Fetch<V>,
    y: impl Fetch<V>,
) -> [V; K] {
    macro_rules! functions {
        ($($op:ident: $value:ident, $other:ident => $compare:ident($yes:ident, $no:ident);)*) => {
            match code {
                $(Code::<{ LinkOp::$op as u8 }, EACH>::IS => {
                    functions!(@ each, $value, $other, $compare($yes, $no))
                }
                Code::<{ LinkOp::$op as u8 }, ONE>::IS => {
                    functions!(@ one, $value, $other, $compare($yes, $no))
                })*
                _ => {}
            }
        };
        (@ $operand:ident, $value:ident, $other:ident, $compare:ident($yes:ident, $no:ident)) => {
            for k in 0..K {
                let $value = values[k];
                // SAFETY: guaranteed by the caller.
                let ($other, x, y) = unsafe { ($operand.get(k), x.get(k), y.get(k)) };
                values[k] = x.$compare(y, $yes, $no);
            }
        };
    }
    functions! {
        KeepLt: value, other => where_lt(value, other);
        KeepLe: value, other => where_le(value, other);
        KeepEq: value, other => where_eq(value, other);
        TakeLt: value, other => where_lt(other, value);
        TakeLe: value, other => where_le(other, value);
        TakeEq: value, other => where_eq(other, value);
    }
    values
}

/// The values after a link that chooses where `bools` are 1, given the first operand as both kinds.
///
/// # Safety
/// As for [`chosen`].
#[inline(always)]
unsafe fn selected<V: Float, const K: usize>(
    code: u8,
    mut values: [V; K],
    (each, one): (impl Fetch<V>, impl Fetch<V>),
    (zero, bools): (V, impl Fetch<V>),
) -> [V; K] {
    macro_rules! choose {
        ($operand:ident, $value:ident, $other:ident => ($yes:ident, $no:ident)) => {
            for k in 0..K {
                let $value = values[k];
                // SAFETY: guaranteed by the caller.
                let ($other, bool): (V, V) = unsafe { ($operand.get(k), bools.get(k)) };
                values[k] = zero.where_lt(bool, $yes, $no);
            }
        };
    }
    match code {
        Code::<{ LinkOp::KeepIf as u8 }, EACH>::IS => choose!(each, value, x => (value, x)),
        Code::<{ LinkOp::KeepIf as u8 }, ONE>::IS => choose!(one, value, x => (value, x)),
        Code::<{ LinkOp::TakeIf as u8 }, EACH>::IS => choose!(each, value, x => (x, value)),
        Code::<{ LinkOp::TakeIf as u8 }, ONE>::IS => choose!(one, value, x => (x, value)),
        _ => {}
    }
    values
}
