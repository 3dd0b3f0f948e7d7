//! Einsums of any number of operands, with NumPy's meaning.

mod apply;
mod codes;
mod path;
mod planned;
mod slices;
mod steps;

use crate::cache::PlanCache;
use crate::{Engine, Error};
use ijk_plan::order::{Options, Path};
use ijk_syntax::Diagnostic;
use ijk_syntax::einsum::{Index, Subscripts, Term};
use std::fmt;
use std::sync::Arc;

pub use ijk_syntax::einsum::Label;
pub use path::EinsumPath;
use planned::Planned;
pub use steps::{EinsumStep, EinsumSteps};

/// An einsum: `ij,jk->ik`, say. Cheap to clone; clones share their plans.
///
/// Subscripts have NumPy's meaning: letters of any script, in both cases, are indices, and so is every
/// character from `À` on, as for opt_einsum; spaces are ignored; `...` stands for axes without names;
/// without `->` the result has the indices that occur once, in alphabetical order; an axis of extent 1
/// fits any other. Operands are multiplied two at a time, in an order of few multiplications, each pair
/// by a kernel that needs no transposition before. For `bool`, sums are *or* and products *and*.
///
/// ```
/// use ijk::{Einsum, ndarray::array};
/// let chain = Einsum::new("ij,jk,kl->il")?;
/// let x = array![[1.0, 2.0], [3.0, 4.0]];
/// let product = chain.apply((&x, &x, &x))?;
/// assert_eq!(product.as_slice::<f64>(), Some(&[37.0, 54.0, 81.0, 118.0][..]));
/// # Ok::<(), ijk::Error>(())
/// ```
#[derive(Clone)]
pub struct Einsum {
    inner: Arc<EinsumData>,
}

/// State that the clones of an einsum share.
struct EinsumData {
    subscripts: Subscripts,
    /// A given path, instead of a search.
    path: Option<Path>,
    options: Options,
    /// Bytes of the caller that count against the memory limit.
    beside: u64,
    plans: PlanCache<Planned>,
}

impl Einsum {
    /// An einsum of subscripts as text.
    ///
    /// # Errors
    /// [`Error::Program`] with all mistakes in the text.
    ///
    /// ```
    /// let error = ijk::Einsum::new("ij,jk->iz").unwrap_err();
    /// assert!(error.to_string().contains("index `z` of the output occurs in no operand"));
    /// ```
    pub fn new(subscripts: &str) -> Result<Self, Error> {
        let parsed = Subscripts::parse(subscripts).map_err(|e| Error::program(subscripts, e))?;
        Ok(Self::from_subscripts(parsed))
    }

    /// An einsum of subscripts as lists, one for each operand and one for the output unless that is
    /// implicit: NumPy's second form, for more indices than there are letters.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    ///
    /// ```
    /// use ijk::{Einsum, Label::Index, ndarray::array};
    /// let (i, j) = (Index(100), Index(200));
    /// let sums = Einsum::from_lists(&[vec![i, j]], Some(&[i]))?;
    /// assert_eq!(sums.apply((&array![[1, 2], [3, 4]],))?.as_slice::<i32>(), Some(&[3, 7][..]));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn from_lists(operands: &[Vec<Label>], output: Option<&[Label]>) -> Result<Self, Error> {
        let parsed = Subscripts::from_lists(operands, output);
        let parsed = parsed.map_err(|errors| Error::program("", errors))?;
        Ok(Self::from_subscripts(parsed))
    }

    /// The same with a given path, in opt_einsum's format: each step removes the operands at its
    /// positions from the list and appends their product. Operands that remain at the end are multiplied
    /// together. The path is checked when the einsum is applied.
    ///
    /// ```
    /// use ijk::{Einsum, ndarray::array};
    /// let x = array![[1.0, 2.0], [3.0, 4.0]];
    /// let chain = Einsum::new("ij,jk,kl->il")?.with_path([vec![1, 2], vec![0, 1]]);
    /// assert_eq!(chain.apply((&x, &x, &x))?.get(&[0, 0]), ijk::Scalar::F64(37.0));
    ///
    /// let wrong = chain.with_path([vec![1, 7]]).apply((&x, &x, &x)).unwrap_err();
    /// assert!(wrong.to_string().contains('7'));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    #[must_use]
    pub fn with_path(&self, path: impl Into<Vec<Vec<usize>>>) -> Self {
        let mut path: Vec<Vec<usize>> = path.into();
        path.iter_mut().for_each(|step| step.sort_unstable());
        let taken: usize = path.iter().map(|step| step.len().saturating_sub(1)).sum();
        let left = self.arity().saturating_sub(taken);
        if left > 1 || path.is_empty() {
            path.push((0..left).collect());
        }
        self.with(|inner| inner.path = Some(Path(path)))
    }

    /// The same with other options of the search for a path.
    #[must_use]
    pub fn with_options(&self, options: Options) -> Self {
        self.with(|inner| (inner.path, inner.options) = (None, options))
    }

    /// The same with bytes of the caller that count against the engine's
    /// [memory limit](crate::EngineBuilder::memory_limit): copies of operands in one element type, say.
    ///
    /// ```
    /// use ijk::{Einsum, Engine, ndarray::array};
    /// let engine = Engine::builder().memory_limit(100).build();
    /// let (outer, x) = (Einsum::new("i,j->ij")?, array![1.0, 2.0, 3.0]);
    /// assert!(engine.apply_einsum(&outer.beside(28), (&x, &x)).is_ok());
    /// let error = engine.apply_einsum(&outer.beside(29), (&x, &x)).unwrap_err();
    /// assert!(error.to_string().contains("needs 101 bytes"));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    #[must_use]
    pub fn beside(&self, bytes: u64) -> Self {
        self.with(|inner| inner.beside = bytes)
    }

    /// An einsum of parsed subscripts.
    pub(crate) fn from_subscripts(subscripts: Subscripts) -> Self {
        let (path, options, plans) = (None, Options::default(), PlanCache::default());
        Self { inner: Arc::new(EinsumData { subscripts, path, options, beside: 0, plans }) }
    }

    /// A changed copy, which shares no plans.
    fn with(&self, change: impl FnOnce(&mut EinsumData)) -> Self {
        let EinsumData { subscripts, path, options, beside, .. } = &*self.inner;
        let mut inner = EinsumData {
            subscripts: subscripts.clone(),
            path: path.clone(),
            options: options.clone(),
            beside: *beside,
            plans: PlanCache::default(),
        };
        change(&mut inner);
        Self { inner: Arc::new(inner) }
    }

    /// Number of operands.
    pub fn arity(&self) -> usize {
        self.inner.subscripts.operands.len()
    }

    /// The subscripts as lists, of each operand and of the output: the arguments of
    /// [`from_lists`](Self::from_lists) for the same einsum.
    ///
    /// ```
    /// use ijk::Label::{Ellipsis, Index};
    /// let (operands, output) = ijk::Einsum::new("z...,za->a")?.labels();
    /// assert_eq!(operands, [vec![Index(1), Ellipsis], vec![Index(1), Index(0)]]);
    /// assert_eq!(output, [Index(0)]);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn labels(&self) -> (Vec<Vec<Label>>, Vec<Label>) {
        let labels = |term: &Term| {
            let each = term.indices.iter().map(|index| Label::Index(index.number.into()));
            let mut labels: Vec<Label> = each.collect();
            if let Some(ellipsis) = term.ellipsis {
                labels.insert(ellipsis.at, Label::Ellipsis);
            }
            labels
        };
        let Subscripts { operands, output, .. } = &self.inner.subscripts;
        (operands.iter().map(labels).collect(), labels(output))
    }

    /// True if the only operand, of this shape, is not summed over, so that the result is a view of it.
    ///
    /// # Errors
    /// As for [`einsum`].
    pub fn is_view(&self, shape: &[usize]) -> Result<bool, Error> {
        let Subscripts { operands, output, .. } = &self.inner.subscripts;
        let [operand] = &operands[..] else { return Ok(false) };
        self.result_shape(&[shape])?;
        let kept = |index: &Index| output.indices.iter().any(|other| other.number == index.number);
        Ok(operand.indices.iter().all(kept))
    }

    /// An error with the subscripts of this einsum.
    fn error(&self, diagnostics: Vec<Diagnostic>) -> Error {
        Error::program(&self.inner.subscripts.source, diagnostics)
    }
}

impl fmt::Debug for Einsum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Einsum").field(&self.inner.subscripts.source).finish()
    }
}

impl fmt::Display for Einsum {
    /// The subscripts with the output written out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subscripts = &self.inner.subscripts;
        match subscripts.explicit {
            true => f.write_str(&subscripts.source),
            false => write!(f, "{}->{}", subscripts.source, subscripts.output_text()),
        }
    }
}

/// The einsum of some arrays: `einsum("ij,jk->ik", [&a, &b])`. Operands are [`Arguments`](crate::Arguments): a tuple, a
/// slice, or an iterator of arrays and views. See [`Einsum`].
///
/// Parsed subscripts and plans are cached.
///
/// # Errors
/// [`Error::Program`] where the subscripts are wrong or the arrays do not fit them: number, element
/// types (one for all), ranks, extents. [`Error::Plan`] if the result or an intermediate would be too
/// large.
///
/// ```
/// use ijk::{einsum, ndarray::{Array2, array}};
/// let (a, b) = (array![[1.0, 2.0], [3.0, 4.0]], array![[0.0, 1.0], [1.0, 0.0]]);
/// let product: Array2<f64> = einsum("ij,jk->ik", [&a, &b])?.into_array()?;
/// assert_eq!(product, array![[2.0, 1.0], [4.0, 3.0]]);
/// # Ok::<(), ijk::Error>(())
/// ```
pub fn einsum<'a, Kind>(
    subscripts: &str,
    operands: impl crate::Arguments<'a, Kind>,
) -> Result<crate::Tensor, Error> {
    Engine::global().einsum(subscripts, operands)
}
