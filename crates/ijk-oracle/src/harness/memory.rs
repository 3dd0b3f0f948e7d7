//! Arguments and results in memory of any layout, as views for an engine.

use crate::Value;
use crate::generate::{Input, Layout};
use ijk_tensor::{TensorView, TensorViewMut};
use ijk_types::{C64, C128, DType, Element, Scalar, bf16, f16};
use ndarray::{ArrayViewD, ArrayViewMutD, Axis, IxDyn, ShapeBuilder};

/// An array in its memory.
#[derive(Clone, Debug)]
pub struct Placed {
    memory: Storage,
    shape: Vec<usize>,
    /// Absolute strides.
    steps: Vec<usize>,
    /// Reversed axes.
    reversed: Vec<usize>,
}

macro_rules! by_type {
    ($($variant:ident $element:ty;)*) => {
        #[derive(Clone, Debug)]
        enum Storage { $($variant(Vec<$element>),)* }

        /// A view of a [`Placed`] array.
        #[derive(Debug)]
        #[allow(missing_docs)]
        pub enum View<'a> { $($variant(ArrayViewD<'a, $element>),)* }

        /// A mutable view of a [`Placed`] array.
        #[derive(Debug)]
        #[allow(missing_docs)]
        pub enum ViewMut<'a> { $($variant(ArrayViewMutD<'a, $element>),)* }

        impl Storage {
            fn of(dtype: DType, elements: &[Scalar]) -> Self {
                match dtype { $(DType::$variant => Self::$variant(typed(elements)),)* }
            }

            fn scalars(&self) -> Vec<Scalar> {
                match self { $(Self::$variant(x) => x.iter().map(|x| x.into_scalar()).collect(),)* }
            }

            fn dtype(&self) -> DType {
                match self { $(Self::$variant(_) => DType::$variant,)* }
            }
        }

        impl Placed {
            /// A view of the array.
            pub fn view(&self) -> View<'_> {
                match &self.memory { $(Storage::$variant(x) => View::$variant(self.view_of(x)),)* }
            }

            /// A mutable view of the array, whose elements are distinct.
            pub fn view_mut(&mut self) -> ViewMut<'_> {
                let Self { memory, shape, steps, reversed } = self;
                match memory {
                    $(Storage::$variant(x) => ViewMut::$variant(view_mut(x, shape, steps, reversed)),)*
                }
            }
        }

        impl View<'_> {
            /// The view as the engine's type.
            pub fn tensor(&self) -> TensorView<'_> {
                match self { $(Self::$variant(view) => TensorView::from_array(view),)* }
            }
        }

        impl ViewMut<'_> {
            /// The view as the engine's type.
            pub fn tensor(&mut self) -> TensorViewMut<'_> {
                match self { $(Self::$variant(view) => TensorViewMut::from_array(view),)* }
            }
        }
    };
}

by_type! {
    Bool bool;
    I32 i32;
    I64 i64;
    U8 u8;
    U16 u16;
    U32 u32;
    U64 u64;
    I8 i8;
    I16 i16;
    F16 f16;
    BF16 bf16;
    F32 f32;
    F64 f64;
    C64 C64;
    C128 C128;
}

fn typed<T: Element>(elements: &[Scalar]) -> Vec<T> {
    elements.iter().map(|&x| T::from_scalar(x).expect("of the array's type")).collect()
}

fn view_mut<'a, T>(
    memory: &'a mut [T],
    shape: &[usize],
    steps: &[usize],
    reversed: &[usize],
) -> ArrayViewMutD<'a, T> {
    let shape = IxDyn(shape).strides(IxDyn(steps));
    let mut view = ArrayViewMutD::from_shape(shape, memory).expect("elements apart");
    reversed.iter().for_each(|&axis| view.invert_axis(Axis(axis)));
    view
}

impl Placed {
    /// An argument in its layout.
    pub fn input(input: &Input) -> Self {
        Self::value(&input.value, &input.layout)
    }

    /// An array in a layout, with foreign elements between its own.
    pub fn value(value: &Value, layout: &Layout) -> Self {
        let strided = layout.lay_out(value);
        let strides = strided.strides.iter();
        Self {
            memory: Storage::of(value.dtype, &strided.memory),
            shape: value.shape.clone(),
            steps: strides.clone().map(|s| s.unsigned_abs()).collect(),
            reversed: strides.enumerate().filter(|(_, s)| **s < 0).map(|(axis, _)| axis).collect(),
        }
    }

    /// The elements.
    pub fn to_value(&self) -> Value {
        let dtype = self.memory.dtype();
        let data = self.view().tensor().iter_scalars().collect();
        Value { dtype, shape: self.shape.clone(), data }
    }

    /// All memory, including foreign elements.
    pub fn all_memory(&self) -> Vec<Scalar> {
        self.memory.scalars()
    }

    /// Checks that memory between the elements is unchanged.
    ///
    /// # Errors
    /// If an element outside of the array was written.
    pub fn check_gaps(&self, before: &[Scalar]) -> Result<(), String> {
        let own = self.own_places();
        let now = self.all_memory();
        let changed = (0..now.len()).find(|&at| !own[at] && !crate::same_bits(now[at], before[at]));
        changed
            .map_or(Ok(()), |at| Err(format!("place {at}, no element of the result, was written")))
    }

    /// For each position in memory, true if it has an element.
    fn own_places(&self) -> Vec<bool> {
        let mut own = vec![false; self.all_memory().len()];
        let mut index = vec![0; self.shape.len()];
        if self.shape.contains(&0) {
            return own;
        }
        loop {
            own[index.iter().zip(&self.steps).map(|(i, step)| i * step).sum::<usize>()] = true;
            if !crate::reference::surface::advance(&mut index, &self.shape) {
                return own;
            }
        }
    }

    fn view_of<'a, T>(&self, memory: &'a [T]) -> ArrayViewD<'a, T> {
        let shape = IxDyn(&self.shape).strides(IxDyn(&self.steps));
        let mut view = ArrayViewD::from_shape(shape, memory).expect("elements in bounds");
        self.reversed.iter().for_each(|&axis| view.invert_axis(Axis(axis)));
        view
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Rng, i::Case};

    #[test]
    fn placed_arrays_keep_their_elements() {
        for seed in 0..100 {
            for input in Case::random(seed).inputs {
                assert!(Placed::input(&input).to_value().same(&input.value));
            }
        }
    }

    #[test]
    fn results_can_be_written_in_place() {
        let mut rng = Rng::new(1);
        for _ in 0..100 {
            let shape = vec![rng.below(4), rng.below(4), rng.below(4)];
            let value = Value::full(DType::I32, &shape, Scalar::I32(1));
            let mut placed = Placed::value(&value, &Layout::random_apart(&mut rng, 3));
            placed.view_mut().tensor();
            assert!(placed.to_value().same(&value));
        }
    }
}
