//! What a program is run on.

use ijk_tensor::TensorView;

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
#[derive(Clone, Debug, Default)]
pub struct Bindings<'a> {
    pub(super) arrays: Vec<(String, TensorView<'a>)>,
    pub(super) choices: Choices,
    pub(super) kept: Vec<String>,
}

/// Ranks and extents that the user decides, and the seed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
        self.arrays.retain(|(own, _)| *own != name);
        self.arrays.push((name, array.into()));
        self
    }

    /// Decides the rank of an eintup.
    #[must_use]
    pub fn rank(mut self, tuple: impl Into<String>, rank: u32) -> Self {
        self.choices.ranks.push((tuple.into(), rank));
        self
    }

    /// Decides the extents of an eintup, and so its rank.
    #[must_use]
    pub fn dims(mut self, tuple: impl Into<String>, dims: impl Into<Vec<u64>>) -> Self {
        self.choices.dims.push((tuple.into(), dims.into()));
        self
    }

    /// Seeds random numbers; where no array is bound, ranks and extents are drawn from it, too.
    /// Without a seed random numbers are those of seed 0, and ranks and extents the first that fit.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.choices.seed = Some(seed);
        self
    }

    /// Most points that a statement may have with extents that are drawn at random; 10⁶ by default.
    #[must_use]
    pub fn points(mut self, points: u64) -> Self {
        self.choices.points = Some(points);
        self
    }

    /// Gives the last version of an array, too, though it is no result of the program.
    #[must_use]
    pub fn keep(mut self, array: impl Into<String>) -> Self {
        self.kept.push(array.into());
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

impl<'a> From<&Self> for Bindings<'a> {
    fn from(bindings: &Self) -> Self {
        bindings.clone()
    }
}
