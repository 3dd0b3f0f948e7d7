//! Decides if the points of a domain fall on distinct elements.
//!
//! First by form: a letter alone in a position (with a factor and a constant), and sums of letters
//! whose factors count like the digits of a number. Then two letters are looked for that can make
//! up for each other. What is left is tried out on a bitmap.

use super::messages;
use crate::core::{Atom, AxisId, IndexExpr, Program, Statement};
use crate::limits::MAX_MARKED_POINTS;
use ijk_syntax::Diagnostic;

/// An error if two points of the domain fall on one element, or if that cannot be decided.
pub fn check(
    program: &Program,
    statement: &Statement,
    extents: &[u64],
    shape: &[u64],
) -> Option<Diagnostic> {
    if each_alone(statement, extents) {
        return None;
    }
    let mut told: Vec<bool> = extents.iter().map(|n| *n <= 1).collect();
    if told.iter().all(|told| *told) {
        return None;
    }
    let forms = forms(&statement.out_index);
    while forms.iter().any(|form| tell(form, extents, &mut told)) {}
    if told.iter().all(|told| *told) {
        return None;
    }
    if let Some((a, b)) = making_up(statement, extents) {
        return Some(messages::stores_meet(program, statement, &a, &b));
    }
    try_out(program, statement, extents, shape)
}

/// Returns true if each letter of extent above 1 is alone in a position.
fn each_alone(statement: &Statement, extents: &[u64]) -> bool {
    let alone = |axis: usize| {
        let is_own = |atom: &Atom| matches!(atom, Atom::Axis(own) if own.0 as usize == axis);
        statement.out_index.iter().any(|e| matches!(&e.terms[..], [(_, atom)] if is_own(atom)))
    };
    (0..extents.len()).all(|axis| extents[axis] <= 1 || alone(axis))
}

/// Two points that differ in at most two letters and fall on one element, where all is affine.
fn making_up(statement: &Statement, extents: &[u64]) -> Option<Points> {
    let index = &statement.out_index;
    if !index.iter().all(IndexExpr::is_affine) {
        return None;
    }
    let factors = |axis: usize| -> Vec<i128> {
        let axis = AxisId(axis as u32);
        let is_own = |(_, atom): &&(i64, Atom)| *atom == Atom::Axis(axis);
        let factor = |e: &IndexExpr| e.terms.iter().find(is_own).map_or(0, |(c, _)| (*c).into());
        index.iter().map(factor).collect()
    };
    let open: Vec<usize> = (0..extents.len()).filter(|a| extents[*a] > 1).collect();
    let all: Vec<Vec<i128>> = open.iter().map(|a| factors(*a)).collect();
    for (n, first) in all.iter().enumerate() {
        if first.iter().all(|c| *c == 0) {
            return Some(two_points(extents, &[(open[n], 1)]));
        }
        for (m, second) in all.iter().enumerate().skip(n + 1) {
            if let Some((x, y)) = exchange(first, second)
                && x.unsigned_abs() < u128::from(extents[open[n]])
                && y.unsigned_abs() < u128::from(extents[open[m]])
            {
                return Some(two_points(extents, &[(open[n], x), (open[m], y)]));
            }
        }
    }
    None
}

/// The least steps of two letters, by their factors in each position, that change none.
fn exchange(first: &[i128], second: &[i128]) -> Option<(i128, i128)> {
    let (a, b) = first.iter().zip(second).find(|(a, b)| **a != 0 || **b != 0)?;
    let divisor = gcd(*a, *b);
    let (x, y) = (b / divisor, -a / divisor);
    let unchanged = first.iter().zip(second).all(|(a, b)| {
        let (Some(p), Some(q)) = (a.checked_mul(x), b.checked_mul(y)) else { return false };
        p.checked_add(q) == Some(0)
    });
    unchanged.then_some((x, y))
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

/// Points that differ by these steps, near the origin; the lexicographically less one first.
fn two_points(extents: &[u64], steps: &[(usize, i128)]) -> Points {
    let mut points = (vec![0i64; extents.len()], vec![0i64; extents.len()]);
    for (axis, step) in steps {
        points.0[*axis] = (-step).max(0) as i64;
        points.1[*axis] = (*step).max(0) as i64;
    }
    if points.0 <= points.1 { points } else { (points.1, points.0) }
}

/// Linear forms that an element's position determines: positions, and what a quotient and a
/// remainder by one divisor together give.
fn forms(index: &[IndexExpr]) -> Vec<IndexExpr> {
    let mut forms: Vec<IndexExpr> = index.to_vec();
    let lone = |e: &IndexExpr| match &e.terms[..] {
        [(_, atom)] => Some(atom.clone()),
        _ => None,
    };
    let atoms: Vec<Atom> = index.iter().filter_map(lone).collect();
    for atom in &atoms {
        if let Atom::FloorDiv(e, d) = atom
            && atoms.contains(&Atom::Mod(e.clone(), *d))
        {
            forms.push((**e).clone());
        }
    }
    forms
}

/// Marks the axes that the form determines, given those already determined; returns true if there are any.
fn tell(form: &IndexExpr, extents: &[u64], told: &mut [bool]) -> bool {
    let mut open: Vec<(u64, AxisId)> = Vec::new();
    for (coefficient, atom) in &form.terms {
        match atom {
            Atom::Axis(axis) if told[axis.0 as usize] => {}
            Atom::Axis(axis) => open.push((coefficient.unsigned_abs(), *axis)),
            other => {
                let mut all = true;
                let e = IndexExpr::atom(other.clone());
                e.for_each_axis(&mut |axis| all &= told[axis.0 as usize]);
                if !all {
                    return false;
                }
            }
        }
    }
    open.sort_unstable();
    let mut reach: u128 = 0;
    for (step, axis) in &open {
        if u128::from(*step) <= reach {
            return false;
        }
        let steps = u128::from(extents[axis.0 as usize].saturating_sub(1));
        reach = reach.saturating_add(u128::from(*step).saturating_mul(steps));
    }
    for (_, axis) in &open {
        told[axis.0 as usize] = true;
    }
    !open.is_empty()
}

/// Marks the elements that points fall on, as far as the limit allows.
fn try_out(
    program: &Program,
    statement: &Statement,
    extents: &[u64],
    shape: &[u64],
) -> Option<Diagnostic> {
    let (limited, whole) = limit(extents, max_points(shape));
    match first_meeting(statement, &limited, shape) {
        Some((a, b)) => Some(messages::stores_meet(program, statement, &a, &b)),
        None if whole => None,
        None => Some(messages::stores_untold(program, statement)),
    }
}

/// The domain, cut down to what may be tried out; whether that is all of it.
fn limit(extents: &[u64], max_points: u64) -> (Vec<u64>, bool) {
    let mut limited = extents.to_vec();
    let product = |e: &[u64]| e.iter().fold(1u64, |p, n| p.saturating_mul(*n));
    while product(&limited) > max_points {
        if let Some(greatest) = limited.iter_mut().max() {
            *greatest = greatest.div_ceil(2);
        }
    }
    let whole = limited == extents;
    (limited, whole)
}

/// Greatest number of elements that are marked in a bitmap; more are kept in a set.
const MAX_BITS: u128 = 8 * MAX_MARKED_POINTS as u128;

fn size(shape: &[u64]) -> u128 {
    shape.iter().fold(1u128, |p, n| p.saturating_mul(u128::from(*n)))
}

/// Number of points that may be enumerated: fewer where a set is needed, which is slower.
fn max_points(shape: &[u64]) -> u64 {
    if size(shape) <= MAX_BITS { MAX_MARKED_POINTS } else { MAX_MARKED_POINTS / 32 }
}

type Points = (Vec<i64>, Vec<i64>);

/// Two points that fall on one element.
fn first_meeting(statement: &Statement, extents: &[u64], shape: &[u64]) -> Option<Points> {
    let mut seen: std::collections::HashMap<u128, u32> = std::collections::HashMap::new();
    let size = size(shape);
    let mut bits = (size <= MAX_BITS).then(|| vec![0u64; (size as usize).div_ceil(64)]);
    let mut point = vec![0i64; extents.len()];
    let mut number = 0u32;
    loop {
        let element = element(statement, shape, &point);
        let again = match &mut bits {
            Some(bits) => mark(bits, element as usize),
            None => seen.insert(element, number).is_some(),
        };
        if again {
            return Some((find(statement, extents, shape, element), point));
        }
        number = number.wrapping_add(1);
        if !advance(&mut point, extents) {
            return None;
        }
    }
}

fn mark(bits: &mut [u64], n: usize) -> bool {
    let (word, bit) = (n / 64, 1u64 << (n % 64));
    let before = bits[word] & bit != 0;
    bits[word] |= bit;
    before
}

/// The row-major number of the element a point falls on.
fn element(statement: &Statement, shape: &[u64], point: &[i64]) -> u128 {
    let positions = statement.out_index.iter().zip(shape);
    positions.fold(0, |number, (e, n)| number * u128::from(*n) + e.eval(point) as u128)
}

/// The first point that falls on an element.
fn find(statement: &Statement, extents: &[u64], shape: &[u64], wanted: u128) -> Vec<i64> {
    let mut point = vec![0i64; extents.len()];
    while element(statement, shape, &point) != wanted && advance(&mut point, extents) {}
    point
}

/// The next point in lexicographic order.
fn advance(point: &mut [i64], extents: &[u64]) -> bool {
    for (x, n) in point.iter_mut().zip(extents).rev() {
        *x += 1;
        if (*x as u64) < *n {
            return true;
        }
        *x = 0;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compile_source;
    use std::collections::HashSet;

    fn meets(statement: &Statement, extents: &[u64]) -> bool {
        let mut seen = HashSet::new();
        let mut point = vec![0; extents.len()];
        loop {
            let at: Vec<i64> = statement.out_index.iter().map(|e| e.eval(&point)).collect();
            if !seen.insert(at) {
                return true;
            }
            if !advance(&mut point, extents) {
                return false;
            }
        }
    }

    #[test]
    fn agrees_with_trying_every_point() {
        let outputs = [
            "ijk",
            "[i+j]k",
            "[2*i+j]k",
            "[2*i+j][k+j]",
            "[i+3*j+6*k]",
            "[i/2][i%2]jk",
            "[i/2]jk",
            "[i%3]jk",
            "[i+j][j+k][i+k]",
            "[2*i+3*j]k",
            "[(i+2*j)/4][(i+2*j)%4]k",
            "[6*i+4*j]k",
            "[i+j][i+2*j]k",
            "[3-i]jk",
            "[i/2+j]k",
            "i[j+(k+i)%2]",
            "ij[k/2][k%2]",
        ];
        let mut wrong = 0;
        for output in outputs {
            let program = compile_source(&format!("i{{4}}*jk~{output}")).program;
            let program = program.unwrap_or_else(|| panic!("{output}"));
            let statement = &program.statements[0];
            for n in 0..64u64 {
                let extents = [n % 4 + 1, n / 4 % 4 + 1, n / 16 + 1];
                let shape = [40; 4][..statement.out_index.len()].to_vec();
                let found = check(&program, statement, &extents, &shape).is_some();
                assert_eq!(found, meets(statement, &extents), "{output} {extents:?}");
                wrong += usize::from(found);
            }
        }
        assert!(wrong > 100);
    }
}
