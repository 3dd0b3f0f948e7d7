//! Facts about the arguments of a call besides types and layouts, which let plans omit work.

use ijk_plan::Facts;
use ijk_tensor::TensorView;

/// Facts of arguments, `None` for those that are not bound: index arrays that contain 0, 1, 2, …, and arguments that are
/// the same array.
pub(crate) fn of<'v, 'a: 'v>(
    arguments: impl Iterator<Item = Option<&'v TensorView<'a>>> + Clone,
    in_indices: &[usize],
) -> Facts {
    let mut facts = Facts::default();
    for &at in in_indices {
        let argument = arguments.clone().nth(at).flatten();
        if argument.is_some_and(TensorView::counts) {
            facts.counting.push(at as u32);
        }
    }
    for (at, argument) in arguments.clone().enumerate().skip(1) {
        let Some(argument) = argument else { continue };
        let mut earlier = arguments.clone().take(at);
        if let Some(earlier) = earlier.position(|other| other.is_some_and(|o| one(o, argument))) {
            facts.same.push((at as u32, earlier as u32));
        }
    }
    facts
}

/// True if two views have the same elements in the same order.
fn one(x: &TensorView<'_>, y: &TensorView<'_>) -> bool {
    let place = |view: &TensorView<'_>| (view.as_ptr(), view.dtype());
    place(x) == place(y) && x.shape() == y.shape() && x.strides() == y.strides()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{array, s};

    #[test]
    fn what_counts_and_what_is_one_array_is_found() {
        let (numbers, others) = (array![0i64, 1, 2], array![0i64, 1, 2]);
        let [x, y] = [&numbers, &others].map(|a| TensorView::from_array(a));
        let views = [Some(&x), None, Some(&y), Some(&x)];
        let facts = of(views.into_iter(), &[1, 2]);
        assert_eq!((&facts.counting[..], &facts.same[..]), (&[2][..], &[(3, 0)][..]));
        assert!(of([Some(&x), Some(&y)].into_iter(), &[]).is_empty());
        let part = numbers.slice(s![..2]);
        let part = TensorView::from_array(&part);
        assert!(of([Some(&x), Some(&part)].into_iter(), &[]).is_empty());
    }
}
