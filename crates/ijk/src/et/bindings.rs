//! What a program is run on.

use ijk_tensor::TensorView;
use ijk_types::DType;
use ndarray::{ArrayView, IxDyn, ShapeBuilder};
use num_complex::{Complex32, Complex64};

/// Arrays bound to names of a program, and what else decides a run: ranks and extents that the
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
#[derive(Clone, Debug)]
pub struct Bindings<'a>(Held<'a>);

/// What is bound: a reference to bindings stands for them, so that they can be made once and used many
/// times.
#[derive(Clone, Debug)]
enum Held<'a> {
    Owned(Bound<'a>),
    Lent(&'a Bound<'a>),
}

/// What is bound, and what the user decides.
#[derive(Clone, Debug, Default)]
pub(super) struct Bound<'a> {
    pub arrays: Vec<(String, TensorView<'a>)>,
    pub choices: Choices,
    pub kept: Vec<String>,
    pub memory: Option<u64>,
}

/// Ranks and extents that the user decides, and the seed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Choices {
    pub ranks: Vec<(String, u32)>,
    pub dims: Vec<(String, Vec<u64>)>,
    pub seed: Option<u64>,
    pub points: Option<u64>,
}

impl<'a> Bindings<'a> {
    /// Nothing bound.
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds an array to a name; the last binding of a name counts.
    #[must_use]
    pub fn bind(mut self, name: impl Into<String>, array: impl Into<TensorView<'a>>) -> Self {
        let name = name.into();
        let arrays = &mut self.own().arrays;
        arrays.retain(|(own, _)| *own != name);
        arrays.push((name, array.into()));
        self
    }

    /// Binds no more than an element type and a shape to a name, for what needs no elements:
    /// [`solve`](super::Program::solve), [`explain`](super::Program::explain),
    /// [`operations`](super::Program::operations). A run would find zeros.
    ///
    /// # Panics
    /// If the shape has more elements than can be counted.
    #[must_use]
    pub fn outline(self, name: impl Into<String>, dtype: DType, shape: &[usize]) -> Self {
        match outline(dtype, shape) {
            Some(view) => self.bind(name, view),
            None => panic!("{shape:?} has more elements than can be counted"),
        }
    }

    /// What is bound.
    pub(super) fn held(&self) -> &Bound<'a> {
        match &self.0 {
            Held::Owned(own) => own,
            Held::Lent(lent) => lent,
        }
    }

    /// What is bound, to be changed.
    fn own(&mut self) -> &mut Bound<'a> {
        if let Held::Lent(lent) = self.0 {
            self.0 = Held::Owned(lent.clone());
        }
        match &mut self.0 {
            Held::Owned(own) => own,
            Held::Lent(_) => unreachable!("a copy was just made"),
        }
    }

    /// Decides the rank of an eintup.
    #[must_use]
    pub fn rank(mut self, tuple: impl Into<String>, rank: u32) -> Self {
        self.own().choices.ranks.push((tuple.into(), rank));
        self
    }

    /// Decides the extents of an eintup, and so its rank.
    #[must_use]
    pub fn dims(mut self, tuple: impl Into<String>, dims: impl Into<Vec<u64>>) -> Self {
        self.own().choices.dims.push((tuple.into(), dims.into()));
        self
    }

    /// Seeds random numbers; where no array is bound, ranks and extents are drawn from it, too.
    /// Without a seed random numbers are those of seed 0, and ranks and extents the first that fit.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.own().choices.seed = Some(seed);
        self
    }

    /// Most points that a statement may have with extents that are drawn at random; 10⁶ by default.
    #[must_use]
    pub fn points(mut self, points: u64) -> Self {
        self.own().choices.points = Some(points);
        self
    }

    /// Most bytes that the arrays which a run makes may take together; what would need more is an
    /// error that names the greatest of them, before it is allocated. No limit by default.
    ///
    /// Results do not depend on it, as they may on an engine's
    /// [limit](crate::EngineBuilder::memory_limit).
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

    /// Gives the last version of an array, too, though it is no result of the program.
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

/// A view of some type and shape all of whose elements are one zero.
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
        DType::F32 => view!(&[0f32]),
        DType::F64 => view!(&[0f64]),
        DType::C64 => view!(&[const { Complex32::new(0.0, 0.0) }]),
        DType::C128 => view!(&[const { Complex64::new(0.0, 0.0) }]),
    }
}
