//! Arrays of numbers that count.

use crate::TensorView;
use ijk_types::{DType, Element};

/// Elements that are looked at before it is asked again whether to go on.
const BLOCK: usize = 256;

impl TensorView<'_> {
    /// True if it holds the integers 0, 1, 2, … along its one axis of more than one element.
    ///
    /// The first two elements rule most arrays out.
    ///
    /// ```
    /// use ijk_tensor::TensorView;
    /// use ndarray::array;
    /// assert!(TensorView::from_array(&array![0, 1, 2]).counts());
    /// assert!(!TensorView::from_array(&array![0, 1, 3]).counts());
    /// assert!(!TensorView::from_array(&array![0.0, 1.0]).counts());
    /// ```
    pub fn counts(&self) -> bool {
        match self.dtype() {
            DType::I32 => self.holds_places::<i32>(|x| x as usize),
            DType::I64 => self.holds_places::<i64>(|x| x as usize),
            _ => false,
        }
    }

    fn holds_places<T: Element + Copy>(&self, number: impl Fn(T) -> usize + Copy) -> bool {
        let several = |&axis: &usize| self.shape()[axis] != 1;
        let mut axes = (0..self.rank()).filter(several);
        let (Some(axis), None) = (axes.next(), axes.next()) else { return false };
        let (extent, step) = (self.shape()[axis], self.strides()[axis]);
        if extent < 2 {
            return false;
        }
        let first = self.as_ptr().cast::<T>();
        // SAFETY: the place is one along the axis, and that on the others: by the contract of `from_raw_parts` an
        // initialised element of this type lies there.
        let at = |place: usize| unsafe { number(*first.wrapping_offset(place as isize * step)) };
        if at(0) != 0 || at(1) != 1 {
            return false;
        }
        if let Some(elements) = self.as_slice::<T>() {
            let counts = |(block, elements): (usize, &[T])| {
                let own = elements.iter().zip(block * BLOCK..);
                own.fold(true, |all, (&x, place)| all & (number(x) == place))
            };
            return elements.chunks(BLOCK).enumerate().all(counts);
        }
        (2..extent).all(|place| at(place) == place)
    }
}

#[cfg(test)]
mod tests {
    use crate::TensorView;
    use ndarray::{Array1, array, s};

    #[test]
    fn numbers_that_count_are_told_from_others_however_they_lie() {
        let mut numbers = Array1::from_iter(0..1000i64);
        assert!(TensorView::from_array(&numbers).counts());
        let backwards = Array1::from_iter((0..1000i32).rev());
        assert!(!TensorView::from_array(&backwards).counts());
        assert!(TensorView::from_array(&backwards.slice(s![..;-1])).counts());
        let column = numbers.view().insert_axis(ndarray::Axis(1));
        assert!(TensorView::from_array(&column).counts());
        assert!(!TensorView::from_array(&numbers.slice(s![..;2])).counts());
        let twice = Array1::from_iter((0..2000i64).map(|x| x / 2));
        assert!(TensorView::from_array(&twice.slice(s![..;2])).counts());
        numbers[999] = 998;
        assert!(!TensorView::from_array(&numbers).counts());
    }

    #[test]
    fn arrays_of_fewer_than_two_elements_or_more_axes_do_not() {
        let zero = Array1::from_elem(1, 0i64);
        assert!(!TensorView::from_array(&zero).counts());
        assert!(!TensorView::from_array(&zero.slice(s![..0])).counts());
        assert!(!TensorView::from_array(&array![[0, 1], [2, 3]]).counts());
        assert!(!TensorView::from_array(&array![-1, 0]).counts());
        let same = zero.broadcast(5).unwrap();
        assert!(!TensorView::from_array(&same).counts());
    }
}
