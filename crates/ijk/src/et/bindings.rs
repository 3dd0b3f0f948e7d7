//! Bindings of arrays, ranks and extents to names of a program.

use super::Program;
use crate::arguments::{Argument, PlainNumbers, Views};
use crate::{Error, Tensor};
use ijk_tensor::TensorView;
use ijk_types::{DType, Literal, Scalar, bf16, f16};
use ndarray::{ArrayView, IxDyn, ShapeBuilder};
use num_complex::{Complex32, Complex64};

/// Arrays bound to names of a program, and all else that determines a run: ranks and extents that the
/// arrays leave open, the seed of random numbers.
///
/// Anything that converts to a [`TensorView`] is bound as it is, without a copy: references to
/// ndarray's arrays and views of any layout, to [`Tensor`](crate::Tensor)s.
///
/// ```
/// use ijk::{et::Bindings, ndarray::array};
/// let program = ijk::et("y[i] = 2 * x[i]\nz[i,j] = y[i] * RANDOM(0, 9, INT)")?;
/// let x = array![1.0, 2.0];
/// let outputs = program.run(Bindings::new().bind("x", &x).dims("j", [3]).seed(1))?;
/// assert_eq!(outputs["y"].as_slice::<f64>(), Some(&[2.0, 4.0][..]));
/// assert_eq!(outputs["z"].shape(), [2, 3]);
/// # Ok::<(), ijk::Error>(())
/// ```
///
/// A plain number is an array of rank 0. It is weak, as numbers of the program are: it takes the element type of what it
/// is combined with, or that of a declaration.
///
/// ```
/// use ijk::{et::Bindings, ndarray::array};
/// let program = ijk::et("y[i] = scale[] * x[i]")?;
/// let x = array![1f32, 2.0];
/// let outputs = program.run(Bindings::new().bind("x", &x).bind("scale", 2))?;
/// assert_eq!(outputs["y"].as_slice::<f32>(), Some(&[2.0, 4.0][..]));
/// # Ok::<(), ijk::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bindings<'a>(Held<'a>);

/// Bindings, or a reference to bindings that are used several times.
#[derive(Clone, Debug)]
enum Held<'a> {
    Owned(Bound<'a>),
    Lent(&'a Bound<'a>),
}

/// Bound arrays and choices of the user.
#[derive(Clone, Debug, Default)]
pub(super) struct Bound<'a> {
    pub arrays: Vec<(String, TensorView<'a>)>,
    /// Plain numbers, until they are arrays.
    pub numbers: Vec<(String, Literal)>,
    /// Names of arrays that hold plain numbers without a declared type.
    pub weak: Vec<String>,
    pub choices: Choices,
    pub kept: Vec<String>,
    pub memory: Option<u64>,
}

/// A plain number as an array.
pub(super) struct BoundNumber {
    name: String,
    array: Tensor,
    /// True if nothing declares its type.
    weak: bool,
}

/// Ranks and extents that the user fixes, and the seed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Choices {
    pub ranks: Vec<(String, u32)>,
    pub dims: Vec<(String, Vec<u64>)>,
    pub seed: Option<u64>,
    pub points: Option<u64>,
}

impl<'a> Bindings<'a> {
    /// No bindings.
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds an array or a plain number to a name; the last binding of a name counts.
    #[must_use]
    pub fn bind<Kind>(mut self, name: impl Into<String>, array: impl Argument<'a, Kind>) -> Self {
        let name = name.into();
        let (mut views, mut numbers) = (Views::new(), PlainNumbers::new());
        array.add(&mut views, &mut numbers);
        let own = self.own();
        own.arrays.retain(|(own, _)| *own != name);
        own.numbers.retain(|(own, _)| *own != name);
        own.numbers.extend(numbers.into_iter().map(|number| (name.clone(), number.value)));
        own.arrays.extend(views.into_iter().map(|view| (name.clone(), view)));
        self
    }

    /// Plain numbers as arrays of their declared types, or of their own.
    pub(super) fn numbers(&self, program: &Program) -> Result<Vec<BoundNumber>, Error> {
        let array = |(name, value): &(String, Literal)| {
            let declared = program.declared(name)?;
            let typed = declared.and_then(|dtype| value.to_scalar(dtype).ok());
            let weak = declared.is_none();
            let scalar = typed.unwrap_or(match *value {
                Literal::Integer(n) => Scalar::I64(n),
                Literal::Float(x) => Scalar::F64(x),
            });
            let array = Tensor::from_scalars(scalar.dtype(), &[], [scalar])?;
            Ok(BoundNumber { name: name.clone(), array, weak })
        };
        self.held().numbers.iter().map(array).collect()
    }

    /// The same bindings with arrays in place of plain numbers.
    pub(super) fn with_numbers<'b>(&'b self, numbers: &'b [BoundNumber]) -> Bindings<'b> {
        if numbers.is_empty() {
            return Bindings(Held::Lent(self.held()));
        }
        let mut bound: Bound<'b> = self.held().clone();
        bound.numbers.clear();
        for BoundNumber { name, array, weak } in numbers {
            bound.arrays.push((name.clone(), array.view()));
            bound.weak.extend(weak.then(|| name.clone()));
        }
        Bindings(Held::Owned(bound))
    }

    /// Binds only an element type and a shape to a name, for methods that read no elements:
    /// [`solve`](super::Program::solve), [`explain`](super::Program::explain),
    /// [`operations`](super::Program::operations). In a run all elements are zero.
    ///
    /// # Panics
    /// If the number of elements overflows.
    #[must_use]
    pub fn outline(self, name: impl Into<String>, dtype: DType, shape: &[usize]) -> Self {
        match outline(dtype, shape) {
            Some(view) => self.bind(name, view),
            None => panic!("{shape:?} has more elements than can be counted"),
        }
    }

    /// The bindings.
    pub(super) fn held(&self) -> &Bound<'a> {
        match &self.0 {
            Held::Owned(own) => own,
            Held::Lent(lent) => lent,
        }
    }

    /// The bindings for a change, copied if they are borrowed.
    fn own(&mut self) -> &mut Bound<'a> {
        if let Held::Lent(lent) = self.0 {
            self.0 = Held::Owned(lent.clone());
        }
        match &mut self.0 {
            Held::Owned(own) => own,
            Held::Lent(_) => unreachable!("a copy was just made"),
        }
    }

    /// Fixes the rank of an eintup.
    #[must_use]
    pub fn rank(mut self, tuple: impl Into<String>, rank: u32) -> Self {
        self.own().choices.ranks.push((tuple.into(), rank));
        self
    }

    /// Fixes the extents of an eintup, and so its rank.
    #[must_use]
    pub fn dims(mut self, tuple: impl Into<String>, dims: impl Into<Vec<u64>>) -> Self {
        self.own().choices.dims.push((tuple.into(), dims.into()));
        self
    }

    /// Seeds random numbers, and ranks and extents, too, if no array is bound. Without a seed, random
    /// numbers are those of seed 0, and ranks and extents the first ones that fit.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.own().choices.seed = Some(seed);
        self
    }

    /// Upper bound of the points of a statement when extents are drawn at random; 10⁶ by default.
    #[must_use]
    pub fn points(mut self, points: u64) -> Self {
        self.own().choices.points = Some(points);
        self
    }

    /// Upper bound, in bytes, of all arrays that a run allocates; a run that needs more fails before the
    /// allocation, with an error that names the largest array. No limit by default.
    ///
    /// Results do not depend on this limit, but may on that of an
    /// [engine](crate::EngineBuilder::memory_limit).
    ///
    /// ```
    /// use ijk::et::Bindings;
    /// let program = ijk::et("x[i,j] = RANDOM(0, 1, FLOAT)")?;
    /// let square = Bindings::new().dims("i", [100]).dims("j", [100]);
    /// let error = program.run(square.clone().memory(10_000)).unwrap_err();
    /// assert!(error.to_string().contains("f64 of shape [100, 100]: 80000 bytes"));
    /// assert!(program.run(square.memory(1_000_000)).is_ok());
    /// # Ok::<(), ijk::Error>(())
    /// ```
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.own().memory = Some(bytes);
        self
    }

    /// Adds the last version of an array to the outputs, though it is no result of the program.
    #[must_use]
    pub fn keep(mut self, array: impl Into<String>) -> Self {
        self.own().kept.push(array.into());
        self
    }
}

/// Bindings of names only.
impl<'a, N: Into<String>, T: Into<TensorView<'a>>, const C: usize> From<[(N, T); C]>
    for Bindings<'a>
{
    fn from(arrays: [(N, T); C]) -> Self {
        arrays.into_iter().fold(Self::new(), |bindings, (name, array)| bindings.bind(name, array))
    }
}

/// No bindings.
impl From<()> for Bindings<'_> {
    fn from((): ()) -> Self {
        Self::new()
    }
}

/// The same bindings, which are not copied.
impl<'a> From<&'a Bindings<'a>> for Bindings<'a> {
    fn from(bindings: &'a Bindings<'a>) -> Self {
        Self(Held::Lent(bindings.held()))
    }
}

impl Default for Bindings<'_> {
    fn default() -> Self {
        Self(Held::Owned(Bound::default()))
    }
}

/// A view of a type and shape whose elements are all the same zero.
pub(super) fn outline(dtype: DType, shape: &[usize]) -> Option<TensorView<'static>> {
    macro_rules! view {
        ($zero:expr) => {{
            let strides = IxDyn(&vec![0; shape.len()]);
            ArrayView::from_shape(IxDyn(shape).strides(strides), $zero).ok().map(TensorView::from)
        }};
    }
    match dtype {
        DType::Bool => view!(&[false]),
        DType::I32 => view!(&[0i32]),
        DType::I64 => view!(&[0i64]),
        DType::U8 => view!(&[0u8]),
        DType::U16 => view!(&[0u16]),
        DType::U32 => view!(&[0u32]),
        DType::U64 => view!(&[0u64]),
        DType::I8 => view!(&[0i8]),
        DType::I16 => view!(&[0i16]),
        DType::F16 => view!(&[const { f16::ZERO }]),
        DType::BF16 => view!(&[const { bf16::ZERO }]),
        DType::F32 => view!(&[0f32]),
        DType::F64 => view!(&[0f64]),
        DType::C64 => view!(&[const { Complex32::new(0.0, 0.0) }]),
        DType::C128 => view!(&[const { Complex64::new(0.0, 0.0) }]),
    }
}
