//! Arguments of a program.

use crate::Error;
use crate::numbers::{PlainNumber, ScalarArgument, held};
use ijk_tensor::{Tensor, TensorView};
use ijk_types::{Literal, Number};
use ndarray::{Array0, ArrayBase, ArrayRef, Data, Dimension};
use smallvec::SmallVec;

/// Views of the arguments of one application.
pub type Views<'a> = SmallVec<[TensorView<'a>; 4]>;

/// Plain numbers among the arguments of one application, in order.
#[doc(hidden)]
pub type PlainNumbers = SmallVec<[PlainNumber; 4]>;

/// Arguments of a program: a tuple, a slice, an array, a vector or an iterator of anything that is an array, such as
/// references to ndarray's arrays and views, [`TensorView`]s and [`Tensor`]s. `Kind` tells these from one another; it
/// is always inferred.
///
/// A plain number in a tuple is an array of rank 0 that takes the element type of the arguments which share it:
///
/// ```
/// use ijk::ndarray::array;
/// let double = ijk::i("ij*.~ij")?.apply((&array![[1.5f32, 2.0]], 2))?;
/// assert_eq!(double[0].as_slice::<f32>(), Some(&[3.0, 4.0][..]));
/// let error = ijk::i("i*.~i")?.apply((&array![1, 2], 0.5)).unwrap_err();
/// assert!(error.to_string().starts_with("argument 2 is the number 0.5"));
/// # Ok::<(), ijk::Error>(())
/// ```
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
    /// The views of arrays, in order; plain numbers are added to `numbers`.
    #[doc(hidden)]
    fn views(self, numbers: &mut PlainNumbers) -> Views<'a>;

    /// Calls `use_views` with the views of arrays, and the numbers among them. A slice of views is passed on without a
    /// copy.
    #[doc(hidden)]
    fn with_views<R>(self, use_views: impl FnOnce(&[TensorView<'a>], &[PlainNumber]) -> R) -> R
    where
        Self: Sized,
    {
        let mut numbers = PlainNumbers::new();
        let views = self.views(&mut numbers);
        use_views(&views, &numbers)
    }
}

/// An item of a tuple of arguments: an array, or a plain number. `Kind` tells which; it is always inferred.
pub trait Argument<'a, Kind> {
    /// Adds the view of an array, or the number.
    #[doc(hidden)]
    fn add(self, views: &mut Views<'a>, numbers: &mut PlainNumbers);
}

/// The kind of an argument that is an array.
#[doc(hidden)]
#[derive(Debug)]
pub enum OfArray {}

/// The kind of an argument that is a number.
#[doc(hidden)]
#[derive(Debug)]
pub enum OfNumber {}

impl<'a, T: Into<TensorView<'a>>> Argument<'a, OfArray> for T {
    fn add(self, views: &mut Views<'a>, _: &mut PlainNumbers) {
        views.push(self.into());
    }
}

macro_rules! numbers {
    ($($number:ty: $value:ident => $literal:expr;)+) => {$(
        impl<'a> Argument<'a, OfNumber> for $number {
            fn add(self, views: &mut Views<'a>, numbers: &mut PlainNumbers) {
                let ($value, position) = (self, views.len() + numbers.len());
                numbers.push(PlainNumber { position, value: $literal });
            }
        }

        impl<T: Number> ScalarArgument<T> for $number {
            type Held = Array0<T>;

            fn hold(self, position: usize) -> Result<Array0<T>, Error> {
                let $value = self;
                held($literal, position)
            }
        }
    )+};
}

numbers! {
    i8: x => Literal::Integer(x.into());
    i16: x => Literal::Integer(x.into());
    i32: x => Literal::Integer(x.into());
    i64: x => Literal::Integer(x);
    u8: x => Literal::Integer(x.into());
    u16: x => Literal::Integer(x.into());
    u32: x => Literal::Integer(x.into());
    u64: x => i64::try_from(x).map_or(Literal::Float(x as f64), Literal::Integer);
    usize: x => i64::try_from(x).map_or(Literal::Float(x as f64), Literal::Integer);
    f32: x => Literal::Float(x.into());
    f64: x => Literal::Float(x);
}

/// The kind of arguments that are slices, arrays and vectors.
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
        fn views(self, _: &mut PlainNumbers) -> Views<'a> {
            self.iter().map(AsView::as_view).collect()
        }

        fn with_views<R>(
            self,
            use_views: impl FnOnce(&[TensorView<'a>], &[PlainNumber]) -> R,
        ) -> R {
            match T::slice_of_views(self) {
                Some(views) => use_views(views, &[]),
                None => use_views(&self.views(&mut PlainNumbers::new()), &[]),
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
    fn views(self, _: &mut PlainNumbers) -> Views<'a> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<'a, T: Into<TensorView<'a>>> Arguments<'a> for Vec<T> {
    fn views(self, _: &mut PlainNumbers) -> Views<'a> {
        self.into_iter().map(Into::into).collect()
    }
}

impl<'a, I: Iterator<Item: Into<TensorView<'a>>>> Arguments<'a, Iterated> for I {
    fn views(self, _: &mut PlainNumbers) -> Views<'a> {
        self.map(Into::into).collect()
    }
}

impl<'a> Arguments<'a> for () {
    fn views(self, _: &mut PlainNumbers) -> Views<'a> {
        Views::new()
    }
}

macro_rules! tuples {
    ($($name:ident $kind:ident),+) => {
        impl<'a, $($name: Argument<'a, $kind>, $kind),+> Arguments<'a, ($($kind,)+)> for ($($name,)+) {
            #[allow(non_snake_case)]
            fn views(self, numbers: &mut PlainNumbers) -> Views<'a> {
                let ($($name,)+) = self;
                let mut views = Views::new();
                $($name.add(&mut views, numbers);)+
                views
            }
        }
    };
}

tuples!(A KA);
tuples!(A KA, B KB);
tuples!(A KA, B KB, C KC);
tuples!(A KA, B KB, C KC, D KD);
tuples!(A KA, B KB, C KC, D KD, E KE);
tuples!(A KA, B KB, C KC, D KD, E KE, F KF);
tuples!(A KA, B KB, C KC, D KD, E KE, F KF, G KG);
tuples!(A KA, B KB, C KC, D KD, E KE, F KF, G KG, H KH);
