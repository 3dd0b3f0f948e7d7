//! Arguments of a program.

use ijk_tensor::TensorView;
use smallvec::SmallVec;

/// Views of the arguments of one application.
pub type Views<'a> = SmallVec<[TensorView<'a>; 4]>;

/// Arguments of a program: a tuple of anything that is an array, such as references to
/// ndarray's arrays and views, or a slice of [`TensorView`]s.
///
/// ```
/// use ijk::ndarray::array;
/// let add = ijk::i("ij+j~ij")?;
/// let sum = add.apply((&array![[1.0, 2.0], [3.0, 4.0]], &array![10.0, 20.0]))?;
/// assert_eq!(sum[0].view().to_ndarray::<f64>()?, array![[11.0, 22.0], [13.0, 24.0]].into_dyn());
/// # Ok::<(), ijk::Error>(())
/// ```
pub trait Arguments<'a> {
    /// The views, in order.
    #[doc(hidden)]
    fn views(self) -> Views<'a>;

    /// Calls `use_views` with the views. A slice of views is passed on without a copy.
    #[doc(hidden)]
    fn with_views<R>(self, use_views: impl FnOnce(&[TensorView<'a>]) -> R) -> R
    where
        Self: Sized,
    {
        use_views(&self.views())
    }
}

/// For slices of views, which are not copied.
macro_rules! borrowed {
    () => {
        fn views(self) -> Views<'a> {
            self.iter().cloned().collect()
        }

        fn with_views<R>(self, use_views: impl FnOnce(&[TensorView<'a>]) -> R) -> R {
            use_views(self)
        }
    };
}

impl<'a> Arguments<'a> for &[TensorView<'a>] {
    borrowed!();
}

impl<'a> Arguments<'a> for &Vec<TensorView<'a>> {
    borrowed!();
}

impl<'a, const N: usize> Arguments<'a> for &[TensorView<'a>; N] {
    borrowed!();
}

impl<'a, T: Into<TensorView<'a>>, const N: usize> Arguments<'a> for [T; N] {
    fn views(self) -> Views<'a> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<'a, T: Into<TensorView<'a>>> Arguments<'a> for Vec<T> {
    fn views(self) -> Views<'a> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<'a> Arguments<'a> for () {
    fn views(self) -> Views<'a> {
        Views::new()
    }
}

macro_rules! tuples {
    ($($name:ident)+) => {
        impl<'a, $($name: Into<TensorView<'a>>),+> Arguments<'a> for ($($name,)+) {
            #[allow(non_snake_case)]
            fn views(self) -> Views<'a> {
                let ($($name,)+) = self;
                let mut views = Views::new();
                $(views.push($name.into());)+
                views
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
tuples!(A B C D E F G);
tuples!(A B C D E F G H);
