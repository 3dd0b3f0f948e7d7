//! Arguments of a program.

use ijk_tensor::{Tensor, TensorView};
use ndarray::{ArrayBase, ArrayRef, Data, Dimension};
use smallvec::SmallVec;

/// Views of the arguments of one application.
pub type Views<'a> = SmallVec<[TensorView<'a>; 4]>;

/// Arguments of a program: a tuple, a slice, an array, a vector or an iterator of anything that is an array, such as
/// references to ndarray's arrays and views, [`TensorView`]s and [`Tensor`]s. `Kind` tells iterators from the others; it
/// is always inferred.
///
/// ```
/// use ijk::{AsView, Tensor, einsum, ndarray::{Array2, array}};
/// let add = ijk::i("ij+j~ij")?;
/// let sum = add.apply((&array![[1.0, 2.0], [3.0, 4.0]], &array![10.0, 20.0]))?;
/// assert_eq!(sum[0].view().to_ndarray::<f64>()?, array![[11.0, 22.0], [13.0, 24.0]].into_dyn());
///
/// // As many as there are: in a slice, or from an iterator.
/// let links: Vec<Array2<f64>> = (0..3).map(|n| array![[1.0, f64::from(n)], [0.0, 1.0]]).collect();
/// let product = einsum("ij,jk,kl->il", &links)?;
/// assert_eq!(product.as_slice::<f64>(), Some(&[1.0, 3.0, 0.0, 1.0][..]));
/// assert_eq!(einsum("ij,jk,kl->il", links.iter().rev())?, product);
///
/// // Owned tensors and views side by side.
/// let (tensor, view) = (Tensor::from_array(array![[2.0, 0.0], [0.0, 2.0]]), links[1].t());
/// let mixed: [&dyn AsView; 2] = [&tensor, &view];
/// assert_eq!(einsum("ij,jk->ik", &mixed)?.as_slice::<f64>(), Some(&[2.0, 0.0, 2.0, 2.0][..]));
/// # Ok::<(), ijk::Error>(())
/// ```
pub trait Arguments<'a, Kind = Listed> {
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

/// The kind of arguments that are tuples, slices, arrays and vectors.
#[doc(hidden)]
#[derive(Debug)]
pub enum Listed {}

/// The kind of arguments that are iterators.
#[doc(hidden)]
#[derive(Debug)]
pub enum Iterated {}

/// Arrays that lend a view of their elements: ndarray's arrays and views of any layout, [`Tensor`]s, [`TensorView`]s,
/// and references to all of them. Slices of these are [`Arguments`], and so are slices of `&dyn AsView`.
pub trait AsView {
    /// A view of the elements.
    fn as_view(&self) -> TensorView<'_>;

    /// The slice itself, if it is one of views.
    #[doc(hidden)]
    fn slice_of_views(_: &[Self]) -> Option<&[TensorView<'_>]>
    where
        Self: Sized,
    {
        None
    }
}

impl AsView for TensorView<'_> {
    fn as_view(&self) -> TensorView<'_> {
        self.clone()
    }

    fn slice_of_views(slice: &[Self]) -> Option<&[TensorView<'_>]> {
        Some(slice)
    }
}

impl AsView for Tensor {
    fn as_view(&self) -> TensorView<'_> {
        self.view()
    }
}

impl<S: Data<Elem: ijk_types::Element>, D: Dimension> AsView for ArrayBase<S, D> {
    fn as_view(&self) -> TensorView<'_> {
        TensorView::from_array(self)
    }
}

impl<T: ijk_types::Element, D: Dimension> AsView for ArrayRef<T, D> {
    fn as_view(&self) -> TensorView<'_> {
        TensorView::from_array(self)
    }
}

impl<T: AsView + ?Sized> AsView for &T {
    fn as_view(&self) -> TensorView<'_> {
        (**self).as_view()
    }
}

/// For what is borrowed as a slice: one of views is not copied.
macro_rules! borrowed {
    () => {
        fn views(self) -> Views<'a> {
            self.iter().map(AsView::as_view).collect()
        }

        fn with_views<R>(self, use_views: impl FnOnce(&[TensorView<'a>]) -> R) -> R {
            match T::slice_of_views(self) {
                Some(views) => use_views(views),
                None => use_views(&self.views()),
            }
        }
    };
}

impl<'a, T: AsView> Arguments<'a> for &'a [T] {
    borrowed!();
}

impl<'a, T: AsView> Arguments<'a> for &'a Vec<T> {
    borrowed!();
}

impl<'a, T: AsView, const N: usize> Arguments<'a> for &'a [T; N] {
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

impl<'a, I: Iterator<Item: Into<TensorView<'a>>>> Arguments<'a, Iterated> for I {
    fn views(self) -> Views<'a> {
        self.map(Into::into).collect()
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
