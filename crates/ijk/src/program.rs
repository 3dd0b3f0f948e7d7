//! Programs in i as values: applied, composed, inspected.

use crate::cache::PlanCache;
use crate::error::has_errors;
use crate::prepared::{extents, instantiate};
use crate::staged::StagedCache;
use crate::{Arguments, Engine, Error};
use ijk_ir::Signature;
use ijk_ir::compose::Composed;
use ijk_ir::core as ir;
use ijk_syntax::Diagnostic;
use ijk_tensor::fork::RaceCell;
use ijk_tensor::{Tensor, TensorError, TensorViewMut};
use ijk_types::{DType, Element};
use ndarray::{Array, Dimension};
use std::fmt;
use std::sync::Arc;

/// A program in i: a pure function from arrays to arrays. Cheap to clone; clones share their plans.
///
/// [`i()`](crate::i()) parses one. Programs are composed by methods or by operators; both return a
/// `Result`:
///
/// ```
/// let multiply = ijk::i("ik*kj~ijk")?;
/// let sum = ijk::i("+ijk~ij")?;
/// let product = multiply.chain(&sum)?;
/// let same = (&multiply >> &sum)?;
/// assert_eq!(product.to_string(), same.to_string());
/// assert_eq!(product.shapes(&[&[2, 3], &[3, 4]])?, [[2, 4]]);
/// # Ok::<(), ijk::Error>(())
/// ```
///
/// | method | operator | i |
/// |---|---|---|
/// | [`f.chain(&g)`](Self::chain) | `f >> g` | `f . g` |
/// | [`f.compose(&g)`](Self::compose) | `f << g` | `f << g` |
/// | [`f.fanout(&g)`](Self::fanout) | `f & g` | `f & g` |
/// | [`f.pair(&g)`](Self::pair) | `f \| g` | `f \| g` |
/// | [`f.swap()`](Self::swap) | `!f` | `~f` |
/// | [`f.repeat(10)`](Self::repeat) | | `@repeat{10} f` |
/// | [`f.fold()`](Self::fold) | | `@fold f` |
/// | [`f.scan()`](Self::scan) | | `@scan f` |
/// | [`f.looped(…)`](Self::looped) | | `@scan{10}(f, 1)` |
#[derive(Clone)]
pub struct Program {
    inner: Arc<ProgramData>,
}

/// State that the clones of a program share.
struct ProgramData {
    composed: Composed,
    /// The lowered statements of a composition, written at first use.
    program: RaceCell<ir::Program>,
    signature: RaceCell<Signature>,
    warnings: RaceCell<Vec<Diagnostic>>,
    /// For each statement the path of bindings that it is in.
    paths: RaceCell<Vec<String>>,
    plans: PlanCache,
    /// The steps of a program with loops.
    staged: StagedCache,
}

impl Program {
    /// A program that has been checked and lowered.
    pub(crate) fn from_program(program: ir::Program, warnings: Vec<Diagnostic>) -> Self {
        Self::with_paths(program, warnings, Vec::new())
    }

    /// The same with the paths of bindings of its statements; missing paths are empty.
    pub(crate) fn with_paths(
        program: ir::Program,
        warnings: Vec<Diagnostic>,
        mut paths: Vec<String>,
    ) -> Self {
        paths.resize(program.statements.len(), String::new());
        Self::from_composed(Composed::new(program, warnings, paths))
    }

    /// A composition of programs.
    pub(crate) fn from_composed(composed: Composed) -> Self {
        let (program, signature, warnings, paths) = Default::default();
        let (plans, staged) = Default::default();
        let inner = ProgramData { composed, program, signature, warnings, paths, plans, staged };
        Self { inner: Arc::new(inner) }
    }

    /// Parses and checks a program in i: see [`i()`](crate::i()).
    ///
    /// # Errors
    /// [`Error::Program`] with all mistakes.
    pub fn parse(source: &str) -> Result<Self, Error> {
        let compiled = ijk_ir::compile_source(source);
        match compiled.program {
            Some(program) if !has_errors(&compiled.diagnostics) => {
                Ok(Self::with_paths(program, compiled.diagnostics, compiled.paths))
            }
            _ => Err(Error::program(source, compiled.diagnostics)),
        }
    }

    /// `I`, of any rank and element type.
    ///
    /// ```
    /// let identity = ijk::Program::identity();
    /// assert_eq!(identity.apply((&ijk::ndarray::array![1, 2],))?[0].shape(), [2]);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn identity() -> &'static Self {
        static IDENTITY: RaceCell<Program> = RaceCell::new();
        IDENTITY.get_or_init(|| Self::from_program(ijk_ir::compose::identity(), Vec::new()))
    }

    /// Applies the program to arguments, on the [global engine](Engine::global).
    ///
    /// Arguments are a tuple of references to arrays, a slice of arrays or views, or an iterator: see [`Arguments`].
    ///
    /// # Errors
    /// [`Error::Program`] where arguments do not fit: number, element types, ranks, extents.
    /// [`Error::Plan`] where results would be too large. [`Error::Run`] on integer division by
    /// zero, and where memory runs out.
    ///
    /// ```
    /// use ijk::ndarray::array;
    /// let normalise = ijk::i("(I & +i~.) . i/.~i")?;
    /// let parts = normalise.apply((&array![1.0, 3.0],))?;
    /// assert_eq!(parts[0].as_slice::<f64>(), Some(&[0.25, 0.75][..]));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn apply<'a, Kind>(
        &self,
        arguments: impl Arguments<'a, Kind>,
    ) -> Result<Vec<Tensor>, Error> {
        Engine::global().apply(self, arguments)
    }

    /// Applies a program of one result to arguments, and returns the result as an array of ndarray
    /// without a copy.
    ///
    /// # Errors
    /// As for [`apply`](Self::apply); [`Error::Tensor`] if the result has another element type or
    /// rank, [`Error::OutputCount`] if there are more results than one.
    ///
    /// ```
    /// use ijk::ndarray::{Array2, array};
    /// let product = ijk::i("ik*kj~ijk . +ijk~ij")?;
    /// let c: Array2<f32> = product.apply_one((&array![[1f32, 2.0]], &array![[3f32], [4.0]]))?;
    /// assert_eq!(c, array![[11.0]]);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn apply_one<'a, T: Element, D: Dimension, Kind>(
        &self,
        arguments: impl Arguments<'a, Kind>,
    ) -> Result<Array<T, D>, Error> {
        if self.lowered().outputs.len() != 1 {
            return Err(Error::OutputCount { expected: self.lowered().outputs.len(), found: 1 });
        }
        let mut results = self.apply(arguments)?;
        let wrong = TensorError::Rank { expected: D::NDIM.unwrap_or(0), found: 0 };
        Ok(results.pop().ok_or(wrong)?.into_array()?)
    }

    /// Applies the program to arguments and writes the results to `outputs`, of any layout.
    ///
    /// If anything fails, the outputs are unchanged.
    ///
    /// # Errors
    /// As for [`apply`](Self::apply); [`Error::OutputCount`] and [`Error::Output`] where number, types
    /// or shapes of outputs are not those of the results.
    ///
    /// ```
    /// use ijk::{TensorViewMut, ndarray::{Array2, array}};
    /// let transpose = ijk::i("ij~ji")?;
    /// let mut out = Array2::<i32>::zeros((2, 1));
    /// transpose.apply_into((&array![[1, 2]],), &mut [TensorViewMut::from_array(&mut out)])?;
    /// assert_eq!(out, array![[1], [2]]);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn apply_into<'a, Kind>(
        &self,
        arguments: impl Arguments<'a, Kind>,
        outputs: &mut [TensorViewMut<'_>],
    ) -> Result<(), Error> {
        Engine::global().apply_into(self, arguments, outputs)
    }

    /// The shapes of the results for arguments of these shapes.
    ///
    /// # Errors
    /// [`Error::Program`] where the arguments' number, ranks or extents do not fit.
    ///
    /// ```
    /// let correlate = ijk::i("[i+k]*k~ik . +ik~i")?;
    /// assert_eq!(correlate.shapes(&[&[10], &[3]])?, [[8]]);
    /// assert!(correlate.shapes(&[&[10, 1], &[3]]).is_err());
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn shapes(&self, arguments: &[&[usize]]) -> Result<Vec<Vec<usize>>, Error> {
        let types = self.default_types();
        let f64s = std::iter::repeat(DType::F64);
        let typed: Vec<_> = types.into_iter().chain(f64s).zip(arguments.iter().copied()).collect();
        Ok(self.results(&typed)?.into_iter().map(|(_, shape)| shape).collect())
    }

    /// Element types and shapes of the results for arguments of these types and shapes.
    ///
    /// # Errors
    /// [`Error::Program`] where the arguments do not fit.
    ///
    /// ```
    /// use ijk::DType;
    /// let largest = ijk::i("@argmax ij~i")?;
    /// assert_eq!(largest.results(&[(DType::F32, &[3, 4])])?, [(DType::I64, vec![3])]);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn results(
        &self,
        arguments: &[(DType, &[usize])],
    ) -> Result<Vec<(DType, Vec<usize>)>, Error> {
        let program = self.lowered();
        let arguments: Vec<_> = arguments.iter().map(|(t, s)| (*t, extents(s))).collect();
        let instance = instantiate(program, &arguments)?;
        let result = |id: &ir::ArrayId| {
            let shape = instance.shapes[id.0 as usize].iter().map(|&n| n as usize);
            (instance.dtypes[id.0 as usize], shape.collect())
        };
        Ok(program.outputs.iter().map(result).collect())
    }

    /// An accepted element type for each argument: `f64` where that is possible.
    ///
    /// ```
    /// use ijk::DType;
    /// assert_eq!(ijk::i("@where(i,i,i)~i")?.default_types(), [DType::Bool, DType::F64, DType::F64]);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn default_types(&self) -> Vec<DType> {
        const PREFERRED: [DType; 7] =
            [DType::F64, DType::C128, DType::I64, DType::Bool, DType::F32, DType::C64, DType::I32];
        let program = self.lowered();
        let choose = |set: &ijk_types::TypeSet| {
            let first = PREFERRED.into_iter().find(|&t| set.contains(t));
            first.or(set.iter().next()).unwrap_or(DType::F64)
        };
        let variables: Vec<DType> = program.types.iter().map(choose).collect();
        let inputs = program.inputs.iter();
        inputs.map(|id| program.arrays[id.0 as usize].dtype.resolve(&variables)).collect()
    }

    /// Ranks and element types of arguments and results.
    ///
    /// ```
    /// let trace = ijk::i("+ii~.")?;
    /// assert!(trace.signature().to_string().starts_with("(T[2]) -> T[0]"));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn signature(&self) -> &Signature {
        self.inner.signature.get_or_init(|| self.composed().signature())
    }

    /// Number of arguments.
    pub fn arity(&self) -> usize {
        self.composed().arity()
    }

    /// The text of the program.
    pub fn source(&self) -> &str {
        &self.lowered().source
    }

    /// Warnings: parts of the program that are valid but probably not meant.
    pub fn warnings(&self) -> &[Diagnostic] {
        self.inner.warnings.get_or_init(|| self.composed().warnings())
    }

    /// Warnings of letters that only an output has, whose extent is 1. They are often slips in an expression that is
    /// typed for arrays at hand, so `ijk eval` prints them.
    ///
    /// ```
    /// assert_eq!(ijk::i("ij~ijk")?.new_letters().len(), 1);
    /// assert_eq!(ijk::i("ij~ijk{1}")?.new_letters().len(), 0);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn new_letters(&self) -> Vec<Diagnostic> {
        ijk_ir::new_letters(self.lowered())
    }

    /// The program lowered to core IR. The statements of a composition are written at first use.
    #[doc(hidden)]
    pub fn lowered(&self) -> &ir::Program {
        let composed = self.composed();
        match composed.leaf() {
            Some(program) => program,
            None => self.inner.program.get_or_init(|| composed.program().into_owned()),
        }
    }

    /// True if some part of the program runs once for each pass of a loop.
    pub(crate) fn has_loops(&self) -> bool {
        !self.lowered().loops.is_empty()
    }

    pub(crate) fn composed(&self) -> &Composed {
        &self.inner.composed
    }

    /// For each statement the path of bindings that it is in.
    pub(crate) fn paths(&self) -> &[String] {
        self.inner.paths.get_or_init(|| self.composed().paths())
    }

    pub(crate) fn staged(&self) -> &StagedCache {
        &self.inner.staged
    }

    pub(crate) fn plans(&self) -> &PlanCache {
        &self.inner.plans
    }
}

impl std::str::FromStr for Program {
    type Err = Error;

    fn from_str(source: &str) -> Result<Self, Error> {
        Self::parse(source)
    }
}

/// The signature.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.signature().fmt(f)
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("source", &self.source())
            .field("signature", &self.signature().to_string())
            .finish_non_exhaustive()
    }
}
