//! Arithmetic on index expressions, simplified by ranges of axes.
//!
//! Functions return `None` on overflow; a pass then leaves the statement alone.

use ijk_ir::core::{Access, Atom, AxisId, IndexExpr};

/// `left + right`.
pub(crate) fn add(left: &IndexExpr, right: &IndexExpr) -> Option<IndexExpr> {
    let mut sum = left.clone();
    accumulate(&mut sum, 1, right)?;
    Some(sum)
}

/// `factor · e`.
pub(crate) fn scale(e: &IndexExpr, factor: i64) -> Option<IndexExpr> {
    let mut product = IndexExpr::default();
    accumulate(&mut product, factor, e)?;
    Some(product)
}

/// `sum += factor · e`.
fn accumulate(sum: &mut IndexExpr, factor: i64, e: &IndexExpr) -> Option<()> {
    sum.constant = sum.constant.checked_add(factor.checked_mul(e.constant)?)?;
    for (coefficient, atom) in &e.terms {
        push_term(sum, factor.checked_mul(*coefficient)?, atom)?;
    }
    Some(())
}

/// `sum += coefficient · atom`, keeping the normal form.
fn push_term(sum: &mut IndexExpr, coefficient: i64, atom: &Atom) -> Option<()> {
    if coefficient == 0 {
        return Some(());
    }
    match sum.terms.iter().position(|(_, a)| a == atom) {
        Some(at) => {
            let merged = sum.terms[at].0.checked_add(coefficient)?;
            if merged == 0 {
                sum.terms.remove(at);
            } else {
                sum.terms[at].0 = merged;
            }
        }
        None => sum.terms.insert(place_of(sum, atom), (coefficient, atom.clone())),
    }
    Some(())
}

/// Insertion position of an atom: axes come first, ascending.
fn place_of(sum: &IndexExpr, atom: &Atom) -> usize {
    let Atom::Axis(axis) = atom else { return sum.terms.len() };
    sum.terms
        .iter()
        .position(|(_, a)| !matches!(a, Atom::Axis(other) if other < axis))
        .unwrap_or(sum.terms.len())
}

/// Replaces axis `a` by `map[a]`, an expression over axes of `extents`.
pub(crate) fn substitute(e: &IndexExpr, map: &[IndexExpr], extents: &[u64]) -> Option<IndexExpr> {
    mapped(e, extents, &|axis| map[axis.0 as usize].clone(), &IndexExpr::element)
}

/// Replaces each axis, and each array element after the expressions in its own index. New expressions are over axes of
/// `extents`.
pub(crate) fn mapped(
    e: &IndexExpr,
    extents: &[u64],
    axis: &impl Fn(AxisId) -> IndexExpr,
    element: &impl Fn(Access) -> IndexExpr,
) -> Option<IndexExpr> {
    let inner = |e: &IndexExpr| mapped(e, extents, axis, element);
    let mut sum = IndexExpr::constant(e.constant);
    for (coefficient, atom) in &e.terms {
        let replaced = match atom {
            Atom::Axis(own) => axis(*own),
            Atom::FloorDiv(e, d) => floor_div(&inner(e)?, *d, extents)?,
            Atom::Mod(e, d) => modulo(&inner(e)?, *d, extents)?,
            Atom::Product(left, right) => inner(left)?.product(&inner(right)?)?,
            Atom::Abs(e) => magnitude(inner(e)?, extents)?,
            Atom::Max(left, right) => maximum(inner(left)?, inner(right)?, extents),
            Atom::Min(left, right) => minimum(inner(left)?, inner(right)?, extents),
            Atom::Element(access) => {
                let index = access.index.iter().map(inner).collect::<Option<_>>()?;
                element(Access { index, ..(**access).clone() })
            }
        };
        accumulate(&mut sum, *coefficient, &replaced)?;
    }
    Some(sum)
}

/// `⌊e / d⌋` for `d > 0`.
pub(crate) fn floor_div(e: &IndexExpr, d: i64, extents: &[u64]) -> Option<IndexExpr> {
    let (mut quotient, rest) = divide_terms(e, d);
    let (least, greatest) = range(&rest, extents);
    let (low, high) = (least.div_euclid(d.into()), greatest.div_euclid(d.into()));
    if low == high {
        quotient.constant = quotient.constant.checked_add(i64::try_from(low).ok()?)?;
        return Some(quotient);
    }
    let (rest, d) = reduce_fraction(rest, d)?;
    push_term(&mut quotient, 1, &Atom::FloorDiv(Box::new(rest), d))?;
    Some(quotient)
}

/// `e mod d`, the remainder of [`floor_div`].
pub(crate) fn modulo(e: &IndexExpr, d: i64, extents: &[u64]) -> Option<IndexExpr> {
    let (_, rest) = divide_terms(e, d);
    let (least, greatest) = range(&rest, extents);
    let (low, high) = (least.div_euclid(d.into()), greatest.div_euclid(d.into()));
    if low == high {
        let shift = i64::try_from(low).ok()?.checked_mul(d)?;
        return add(&rest, &IndexExpr::constant(shift.checked_neg()?));
    }
    if let [(1, Atom::Mod(inner, m))] = &rest.terms[..]
        && rest.constant == 0
        && m % d == 0
    {
        return modulo(inner, d, extents);
    }
    let factor = common_factor(&rest, d);
    if factor > 1 && rest.constant % factor == 0 {
        let inner = modulo(&divide_exactly(rest, factor), d / factor, extents)?;
        return scale(&inner, factor);
    }
    Some(IndexExpr::atom(Atom::Mod(Box::new(rest), d)))
}

/// The magnitude: an expression that has one sign over the domain is that or its negation.
fn magnitude(e: IndexExpr, extents: &[u64]) -> Option<IndexExpr> {
    match range(&e, extents) {
        (0.., _) => Some(e),
        (_, ..=0) if !reads(&e) => scale(&e, -1),
        _ => e.magnitude(),
    }
}

/// The greater of two: one of them if it is that over the whole domain.
fn maximum(left: IndexExpr, right: IndexExpr, extents: &[u64]) -> IndexExpr {
    match exceeds(&left, &right, extents) {
        Some(true) => left,
        Some(false) => right,
        None => left.maximum(right),
    }
}

/// The lesser of two: one of them if it is that over the whole domain.
fn minimum(left: IndexExpr, right: IndexExpr, extents: &[u64]) -> IndexExpr {
    match exceeds(&left, &right, extents) {
        Some(true) => right,
        Some(false) => left,
        None => left.minimum(right),
    }
}

/// Tells whether one expression is at least as great as another, if that is the same over the whole domain.
fn exceeds(left: &IndexExpr, right: &IndexExpr, extents: &[u64]) -> Option<bool> {
    let ((a, b), (c, d)) = (range(left, extents), range(right, extents));
    if a >= d || b <= c {
        return Some(a >= d);
    }
    // Terms may cancel, but for elements of arrays, whose differences may wrap.
    let difference = sign_of(left, right).filter(|e| !reads(e))?;
    match range(&difference, extents) {
        (0.., _) => Some(true),
        (_, ..=0) => Some(false),
        _ => None,
    }
}

/// The expression whose sign tells which of two is greater.
pub(crate) fn sign_of(left: &IndexExpr, right: &IndexExpr) -> Option<IndexExpr> {
    add(left, &scale(right, -1)?)
}

/// Splits `e = d · quotient + rest`, where `d` divides no term or constant of `rest`.
fn divide_terms(e: &IndexExpr, d: i64) -> (IndexExpr, IndexExpr) {
    let mut quotient = IndexExpr::constant(e.constant.div_euclid(d));
    let mut rest = IndexExpr::constant(e.constant.rem_euclid(d));
    for (coefficient, atom) in &e.terms {
        if coefficient % d == 0 {
            quotient.terms.push((coefficient / d, atom.clone()));
        } else {
            rest.terms.push((*coefficient, atom.clone()));
        }
    }
    (quotient, rest)
}

/// Reduces `⌊rest / d⌋` to lower terms: cancels common factors, merges nested divisions.
fn reduce_fraction(rest: IndexExpr, d: i64) -> Option<(IndexExpr, i64)> {
    if let [(1, Atom::FloorDiv(inner, inner_d))] = &rest.terms[..] {
        let shift = IndexExpr::constant(inner_d.checked_mul(rest.constant)?);
        return Some((add(inner, &shift)?, inner_d.checked_mul(d)?));
    }
    let factor = common_factor(&rest, d);
    if factor <= 1 {
        return Some((rest, d));
    }
    Some((divide_exactly(rest, factor), d / factor))
}

/// Greatest common divisor of the coefficients and `d`.
fn common_factor(e: &IndexExpr, d: i64) -> i64 {
    e.terms.iter().fold(d, |g, (c, _)| gcd(g, *c))
}

fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(1)
}

/// Divides coefficients and constant by a common factor of the coefficients; the constant rounds down.
fn divide_exactly(mut e: IndexExpr, factor: i64) -> IndexExpr {
    e.constant = e.constant.div_euclid(factor);
    for (coefficient, _) in &mut e.terms {
        *coefficient /= factor;
    }
    e
}

/// Least and greatest value over a nonempty domain, saturating.
pub(crate) fn range(e: &IndexExpr, extents: &[u64]) -> (i128, i128) {
    let constant = i128::from(e.constant);
    e.terms.iter().fold((constant, constant), |(least, greatest), (coefficient, atom)| {
        let (low, high) = atom_range(atom, extents);
        let (x, y) = (times(low, *coefficient), times(high, *coefficient));
        (least.saturating_add(x.min(y)), greatest.saturating_add(x.max(y)))
    })
}

/// Least and greatest product of two numbers with these least and greatest values, saturating.
pub(crate) fn product_range((a, b): (i128, i128), (c, d): (i128, i128)) -> (i128, i128) {
    let corners = [(a, c), (a, d), (b, c), (b, d)].map(|(x, y)| x.saturating_mul(y));
    corners.into_iter().fold((i128::MAX, i128::MIN), |(low, high), x| (low.min(x), high.max(x)))
}

fn times(x: i128, coefficient: i64) -> i128 {
    x.saturating_mul(coefficient.into())
}

fn atom_range(atom: &Atom, extents: &[u64]) -> (i128, i128) {
    match atom {
        Atom::Axis(axis) => (0, i128::from(extents[axis.0 as usize].max(1)) - 1),
        Atom::FloorDiv(e, d) => {
            let (low, high) = range(e, extents);
            (low.div_euclid((*d).into()), high.div_euclid((*d).into()))
        }
        Atom::Mod(e, d) => {
            let (low, high) = range(e, extents);
            let d = i128::from(*d);
            if low.div_euclid(d) == high.div_euclid(d) {
                (low.rem_euclid(d), high.rem_euclid(d))
            } else {
                (0, d - 1)
            }
        }
        Atom::Product(left, right) => product_range(range(left, extents), range(right, extents)),
        Atom::Element(_) => (i64::MIN.into(), i64::MAX.into()),
        Atom::Abs(e) => {
            let (low, high) = range(e, extents);
            // The magnitude of the least integer wraps to itself.
            let least = if low <= i64::MIN.into() { low } else { low.max(-high).max(0) };
            (least, low.saturating_neg().max(high))
        }
        Atom::Max(left, right) => {
            let ((a, b), (c, d)) = (range(left, extents), range(right, extents));
            (a.max(c), b.max(d))
        }
        Atom::Min(left, right) => {
            let ((a, b), (c, d)) = (range(left, extents), range(right, extents));
            (a.min(c), b.min(d))
        }
    }
}

/// Calls `f` with every axis of the expression.
pub(crate) fn for_each_axis(e: &IndexExpr, f: &mut impl FnMut(AxisId)) {
    for (_, atom) in &e.terms {
        match atom {
            Atom::Axis(axis) => f(*axis),
            Atom::FloorDiv(inner, _) | Atom::Mod(inner, _) | Atom::Abs(inner) => {
                for_each_axis(inner, f)
            }
            Atom::Product(left, right) | Atom::Max(left, right) | Atom::Min(left, right) => {
                for_each_axis(left, f);
                for_each_axis(right, f);
            }
            Atom::Element(access) => access.index.iter().for_each(|e| for_each_axis(e, f)),
        }
    }
}

/// True if a step of the axis is a step of 1 of the index.
pub(crate) fn steps_with(e: &IndexExpr, axis: usize) -> bool {
    e.terms.iter().any(|term| matches!(term, (1, Atom::Axis(a)) if a.0 as usize == axis))
}

/// True if the index depends on an axis, directly or through elements of arrays.
pub(crate) fn depends(e: &IndexExpr, axis: usize) -> bool {
    let mut found = false;
    for_each_axis(e, &mut |a| found |= a.0 as usize == axis);
    found
}

/// Calls `f` with every array element in the expression, inner ones first.
pub(crate) fn for_each_element(e: &IndexExpr, f: &mut impl FnMut(&Access)) {
    for (_, atom) in &e.terms {
        match atom {
            Atom::Axis(_) => {}
            Atom::FloorDiv(inner, _) | Atom::Mod(inner, _) | Atom::Abs(inner) => {
                for_each_element(inner, f)
            }
            Atom::Product(left, right) | Atom::Max(left, right) | Atom::Min(left, right) => {
                for_each_element(left, f);
                for_each_element(right, f);
            }
            Atom::Element(access) => {
                access.index.iter().for_each(|e| for_each_element(e, f));
                f(access);
            }
        }
    }
}

/// Calls `f` with every element of an array in the expression, those in indices of others first.
pub(crate) fn for_each_element_mut(e: &mut IndexExpr, f: &mut impl FnMut(&mut Access)) {
    for (_, atom) in e.terms.iter_mut() {
        match atom {
            Atom::Axis(_) => {}
            Atom::FloorDiv(inner, _) | Atom::Mod(inner, _) | Atom::Abs(inner) => {
                for_each_element_mut(inner, f);
            }
            Atom::Product(left, right) | Atom::Max(left, right) | Atom::Min(left, right) => {
                for_each_element_mut(left, f);
                for_each_element_mut(right, f);
            }
            Atom::Element(access) => {
                access.index.iter_mut().for_each(|e| for_each_element_mut(e, f));
                f(access);
            }
        }
    }
}

/// The axis, if the expression is a bare axis.
pub(crate) fn plain_axis(e: &IndexExpr) -> Option<AxisId> {
    match e.terms[..] {
        [(1, Atom::Axis(axis))] if e.constant == 0 => Some(axis),
        _ => None,
    }
}

/// The axes of an index of distinct bare axes.
pub(crate) fn plain_axes(index: &[IndexExpr]) -> Option<Vec<usize>> {
    let mut axes = Vec::with_capacity(index.len());
    for e in index {
        let axis = plain_axis(e)?.0 as usize;
        (!axes.contains(&axis)).then(|| axes.push(axis))?;
    }
    Some(axes)
}

/// The index of these bare axes.
pub(crate) fn of_axes(axes: impl IntoIterator<Item = usize>) -> Vec<IndexExpr> {
    axes.into_iter().map(|axis| IndexExpr::axis(AxisId(axis as u32))).collect()
}

/// Tells whether the expression depends on an array element.
pub(crate) fn reads(e: &IndexExpr) -> bool {
    let mut found = false;
    for_each_element(e, &mut |_| found = true);
    found
}

/// Number of divisions, remainders, magnitudes and extremes: what is affine in parts of a domain only.
pub(crate) fn divisions(e: &IndexExpr) -> usize {
    let of = |atom: &Atom| match atom {
        Atom::Axis(_) => 0,
        Atom::FloorDiv(inner, _) | Atom::Mod(inner, _) | Atom::Abs(inner) => 1 + divisions(inner),
        Atom::Max(left, right) | Atom::Min(left, right) => 1 + divisions(left) + divisions(right),
        Atom::Product(left, right) => divisions(left) + divisions(right),
        Atom::Element(access) => access.index.iter().map(divisions).sum(),
    };
    e.terms.iter().map(|(_, atom)| of(atom)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ijk_ir::core::Terms;

    fn axis(coefficient: i64, a: u32) -> (i64, Atom) {
        (coefficient, Atom::Axis(AxisId(a)))
    }

    fn points(extents: &[u64]) -> Vec<Vec<i64>> {
        extents.iter().fold(vec![vec![]], |all, &n| {
            all.iter()
                .flat_map(|p: &Vec<i64>| {
                    (0..n as i64).map(move |x| p.iter().copied().chain([x]).collect())
                })
                .collect()
        })
    }

    #[test]
    fn division_and_remainder_keep_their_values() {
        let extents = [4, 3, 6];
        for (c0, c1, c2, k) in [(8, 2, 1, 0), (6, 2, 1, 5), (-4, 12, 3, -7), (3, 0, 6, 1)] {
            let terms = [axis(c0, 0), axis(c1, 1), axis(c2, 2)];
            let terms = terms.into_iter().filter(|t| t.0 != 0).collect();
            let e = IndexExpr { constant: k, terms };
            for d in [1, 2, 3, 4, 6, 8, 12] {
                let q = floor_div(&e, d, &extents).unwrap();
                let r = modulo(&e, d, &extents).unwrap();
                let nested = floor_div(&q, 3, &extents).unwrap();
                let again = modulo(&r, 2, &extents).unwrap();
                let (low, high) = range(&r, &extents);
                for p in points(&extents) {
                    let value = e.eval(&p);
                    assert_eq!(q.eval(&p), value.div_euclid(d), "{e:?} / {d} at {p:?}");
                    assert_eq!(r.eval(&p), value.rem_euclid(d), "{e:?} % {d} at {p:?}");
                    assert_eq!(nested.eval(&p), value.div_euclid(d).div_euclid(3));
                    assert_eq!(again.eval(&p), value.rem_euclid(d).rem_euclid(2));
                    assert!((low..=high).contains(&r.eval(&p).into()));
                }
            }
        }
    }

    #[test]
    fn mixed_radix_digits_come_apart() {
        let e = IndexExpr { constant: 0, terms: vec![axis(4, 0), axis(1, 1)].into() };
        assert_eq!(floor_div(&e, 4, &[5, 4]), Some(IndexExpr::axis(AxisId(0))));
        assert_eq!(modulo(&e, 4, &[5, 4]), Some(IndexExpr::axis(AxisId(1))));
    }

    #[test]
    fn overflow_is_none() {
        let e = IndexExpr { constant: i64::MAX, terms: Terms::new() };
        assert_eq!(add(&e, &IndexExpr::constant(1)), None);
        assert_eq!(scale(&e, 2), None);
    }
}
