//! Coverage and injectivity of affine maps from domains to positions of arrays.

use crate::graph::{Few, Graph, Stmt};
use ijk_ir::core::{Atom, AxisId, IndexExpr, Init};
use ijk_types::Reducer;
use smallvec::SmallVec;
use std::borrow::Cow;

/// Inverse of one axis: `⌊position[dim] / divisor⌋ mod modulus`, without the remainder if `modulus` is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digit {
    pub dim: usize,
    pub divisor: i64,
    pub modulus: Option<i64>,
}

/// Digit of each axis of a domain; `None` if no position depends on it.
pub(crate) type Digits = SmallVec<[Option<Digit>; 4]>;

/// Digits of all axes, if the positions cover an array of shape `shape`: each element is reached, and only by points
/// that differ in axes without a digit.
pub(crate) fn digits(places: &[IndexExpr], shape: &[u64], extents: &[u64]) -> Option<Digits> {
    let mut digits = Digits::from_elem(None, extents.len());
    for (dim, (place, &extent)) in places.iter().zip(shape).enumerate() {
        place_digits(place, dim, extent, extents, &mut digits)?;
    }
    Some(digits)
}

/// Tells whether a statement defines every element regardless of initial values.
pub(crate) fn covers(graph: &Graph, stmt: &Stmt) -> bool {
    let own_start = match (stmt.reduce, stmt.init) {
        (Some(Reducer::Monoid(monoid)), init) => init == Init::Identity(monoid),
        _ => true,
    };
    let (shape, extents) = (&graph.array(stmt.out).shape, stmt.extents());
    own_start && digits(&forwards(&stmt.out_index, &extents), shape, &extents).is_some()
}

/// Positions with axes of negative coefficient reversed, which have the same image.
fn forwards<'p>(places: &'p [IndexExpr], extents: &[u64]) -> Cow<'p, [IndexExpr]> {
    let steps_back = |e: &IndexExpr| e.terms.iter().any(|(step, _)| *step < 0);
    if !places.iter().any(steps_back) {
        return Cow::Borrowed(places);
    }
    let mut places = places.to_vec();
    for (axis, &extent) in extents.iter().enumerate() {
        let own = Atom::Axis(AxisId(axis as u32));
        let mut steps: Vec<(&mut i64, &mut i64)> = Vec::new();
        for IndexExpr { constant, terms } in &mut places {
            let terms = terms.iter_mut().filter(|(_, atom)| *atom == own);
            steps.extend(terms.map(|(step, _)| &mut *step).next().map(|step| (step, constant)));
        }
        let ends = |(step, constant): &(&mut i64, &mut i64)| {
            let last = i64::try_from(extent).ok()?.checked_sub(1)?;
            constant.checked_add(step.checked_mul(last)?)
        };
        let ends: Option<Vec<i64>> = steps.iter().map(ends).collect();
        if let Some(ends) = ends
            && steps.iter().any(|(step, _)| **step < 0)
        {
            for ((step, constant), end) in steps.into_iter().zip(ends) {
                (*step, *constant) = (-*step, end);
            }
        }
    }
    Cow::Owned(places)
}

/// Adds the digits of one position's axes, if it is their mixed-radix number.
fn place_digits(
    place: &IndexExpr,
    dim: usize,
    extent: u64,
    extents: &[u64],
    digits: &mut [Option<Digit>],
) -> Option<()> {
    let extent = i64::try_from(extent).ok()?;
    if place.constant != 0 {
        return None;
    }
    let mut weight = 1i64;
    for (coefficient, axis) in by_weight(place, extents)? {
        let n = i64::try_from(extents[axis]).ok()?;
        if coefficient != weight || digits[axis].is_some() {
            return None;
        }
        let next = weight.checked_mul(n)?;
        let modulus = (next != extent).then_some(n);
        digits[axis] = Some(Digit { dim, divisor: weight, modulus });
        weight = next;
    }
    (weight == extent).then_some(())
}

/// Coefficients and axes of extent other than 1, by ascending coefficient; `None` unless affine.
fn by_weight(place: &IndexExpr, extents: &[u64]) -> Option<Few<(i64, usize)>> {
    let mut terms = Few::new();
    for (coefficient, atom) in &place.terms {
        let Atom::Axis(axis) = atom else { return None };
        if extents[axis.0 as usize] != 1 {
            terms.push((*coefficient, axis.0 as usize));
        }
    }
    terms.sort_unstable_by_key(|(coefficient, _)| *coefficient);
    Some(terms)
}

/// For each axis, tells whether points that differ in it have different positions. Axes of one value count as
/// determined.
pub(crate) fn determined(places: &[IndexExpr], extents: &[u64]) -> Few<bool> {
    let mut known = Few::new();
    extents.iter().for_each(|&n| known.push(n < 2));
    loop {
        let before = known.iter().filter(|k| **k).count();
        for place in places {
            determine(place, extents, &mut known);
        }
        if known.iter().filter(|k| **k).count() == before {
            return known;
        }
    }
}

/// Marks the undetermined axes of a position if each coefficient exceeds the span of all smaller ones.
fn determine(place: &IndexExpr, extents: &[u64], known: &mut [bool]) {
    let mut terms = Few::new();
    for (coefficient, atom) in &place.terms {
        match atom {
            Atom::Axis(axis) if known[axis.0 as usize] => {}
            Atom::Axis(axis) => terms.push((coefficient.unsigned_abs(), axis.0 as usize)),
            _ => return,
        }
    }
    terms.sort_unstable();
    let mut reach = 0u128;
    for &(step, axis) in &terms {
        if u128::from(step) <= reach {
            return;
        }
        reach += u128::from(step) * u128::from(extents[axis].saturating_sub(1));
    }
    terms.iter().for_each(|&(_, axis)| known[axis] = true);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(terms: &[(i64, u32)]) -> IndexExpr {
        let terms = terms.iter().map(|&(c, a)| (c, Atom::Axis(AxisId(a)))).collect();
        IndexExpr { constant: 0, terms }
    }

    #[test]
    fn a_merge_covers() {
        let digits = digits(&[sum(&[(4, 0), (1, 1)])], &[20], &[5, 4]).unwrap();
        assert_eq!(digits[0], Some(Digit { dim: 0, divisor: 4, modulus: None }));
        assert_eq!(digits[1], Some(Digit { dim: 0, divisor: 1, modulus: Some(4) }));
    }

    #[test]
    fn gaps_overlaps_and_diagonals_do_not_cover() {
        assert_eq!(digits(&[sum(&[(2, 0)])], &[9], &[5]), None);
        assert_eq!(digits(&[sum(&[(1, 0), (1, 1)])], &[8], &[5, 4]), None);
        assert_eq!(digits(&[sum(&[(1, 0)]), sum(&[(1, 0)])], &[5, 5], &[5]), None);
    }

    #[test]
    fn backwards_covers_what_forwards_does() {
        let place = |constant, terms: &[(i64, u32)]| IndexExpr { constant, ..sum(terms) };
        let covers = |place, shape, extents: &[u64]| {
            digits(&forwards(&[place], extents), &[shape], extents).is_some()
        };
        assert!(covers(place(4, &[(-1, 0)]), 5, &[5]));
        assert!(!covers(place(5, &[(-1, 0)]), 6, &[5]));
        assert!(covers(place(16, &[(-4, 0), (1, 1)]), 20, &[5, 4]));
        assert!(covers(place(19, &[(-4, 0), (-1, 1)]), 20, &[5, 4]));
        assert!(!covers(place(i64::MAX, &[(i64::MIN, 0)]), 5, &[5]));
    }

    #[test]
    fn a_sum_of_two_letters_is_not_injective() {
        assert_eq!(determined(&[sum(&[(1, 0), (1, 1)])], &[5, 4])[..], [false, false]);
        assert_eq!(determined(&[sum(&[(4, 0), (-1, 1)])], &[5, 4])[..], [true, true]);
        let both = [sum(&[(1, 0), (1, 1)]), sum(&[(1, 1)])];
        assert_eq!(determined(&both, &[5, 4])[..], [true, true]);
        assert_eq!(determined(&[sum(&[(1, 0), (1, 1)])], &[5, 1])[..], [true, true]);
    }
}
