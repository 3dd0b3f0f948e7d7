//! Programs in Einsum Tuple as values: checked, solved, run.

use super::memory::Most;
use super::ready::{Call, Ready};
use super::segments::{Segment, SegmentKey};
use super::solve::{Question, Shapes, SolvedShapes};
use super::{Bindings, Cases, Outputs, Signature, run};
use crate::cache::Key;
use crate::engine::planning;
use crate::error::has_errors;
use crate::facts;
use crate::recent::Recent;
use crate::{Engine, Error};
use ijk_ir::et::{Checked, Origin};
use ijk_syntax::Diagnostic;
use ijk_tensor::TensorView;
use ijk_types::DType;
use smallvec::{SmallVec, smallvec};
use std::fmt;
use std::sync::Arc;

/// A program in Einsum Tuple: statements over named tuples of indices of any rank. Cheap to clone;
/// clones share their plans. [`et()`](crate::et()) parses one.
///
/// ```
/// use ijk::ndarray::{Array2, array};
/// let program = ijk::et("total[batch] = x[batch,other]")?;
/// let sums = program.run([("x", &array![[1.0, 2.0], [3.0, 4.0]])])?;
/// assert_eq!(sums["total"].as_slice::<f64>(), Some(&[3.0, 7.0][..]));
///
/// let error = program.run(()).unwrap_err();
/// assert!(error.to_string().contains("`x` is not bound"));
/// # Ok::<(), ijk::Error>(())
/// ```
#[derive(Clone)]
pub struct Program {
    pub(super) inner: Arc<CheckedProgram>,
}

/// A checked program with its caches, which clones share.
pub(super) struct CheckedProgram {
    pub checked: Checked,
    /// Arrays whose elements are used in indices.
    pub in_indices: Vec<usize>,
    warnings: Vec<Diagnostic>,
    pub calls: Recent<Call, Ready>,
    pub segments: Recent<SegmentKey, Segment>,
    pub solutions: Recent<Question, SolvedShapes>,
}

/// For each array of a program the view that is bound to it.
pub(super) type Arrays<'b, 'a> = SmallVec<[Option<&'b TensorView<'a>>; 8]>;

impl Program {
    /// Parses and checks a program: see [`et()`](crate::et()).
    ///
    /// # Errors
    /// [`Error::Program`] with all mistakes.
    pub fn parse(source: &str) -> Result<Self, Error> {
        let (program, diagnostics) = ijk_syntax::et::parse(source);
        match has_errors(&diagnostics) {
            true => Err(Error::program(source, diagnostics)),
            false => Self::checked_from(source, program, diagnostics),
        }
    }

    /// Checks the tree of a program with this text.
    pub(super) fn checked_from(
        source: &str,
        program: ijk_syntax::et::ast::Program,
        mut diagnostics: Vec<Diagnostic>,
    ) -> Result<Self, Error> {
        let (checked, more) = ijk_ir::et::check(source, program);
        diagnostics.extend(more);
        match checked {
            Some(checked) if !has_errors(&diagnostics) => Ok(Self {
                inner: Arc::new(CheckedProgram {
                    in_indices: checked.in_indices(),
                    checked,
                    warnings: diagnostics,
                    calls: Recent::default(),
                    segments: Recent::default(),
                    solutions: Recent::default(),
                }),
            }),
            _ => Err(Error::program(source, diagnostics)),
        }
    }

    /// Arrays that must or may be bound, and the results.
    pub fn signature(&self) -> Signature {
        Signature::of(&self.inner.checked)
    }

    /// The text.
    pub fn source(&self) -> &str {
        &self.inner.checked.source
    }

    /// Warnings: parts of the program that are valid but probably not meant.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.inner.warnings
    }

    /// The program as checked.
    #[doc(hidden)]
    pub fn checked(&self) -> &Checked {
        &self.inner.checked
    }

    /// The ranks and extents of every eintup, from bound arrays and constraints. If no array is bound,
    /// they are drawn from the seed.
    ///
    /// # Errors
    /// [`Error::Binding`] for names that nothing can be bound to. [`Error::Program`] where an input
    /// is not bound, and where there is no solution or more than one.
    ///
    /// ```
    /// use ijk::{et::Bindings, ndarray::Array4};
    /// let program = ijk::et("y[b,o] = x[b,i] * m[i,o]\n\nRANK(b) IN [0,5]")?;
    /// let x = Array4::<f32>::zeros((2, 3, 4, 5));
    /// let m = ijk::ndarray::Array2::<f32>::zeros((5, 6));
    /// let bindings = Bindings::new().bind("x", &x).bind("m", &m);
    /// let shapes = program.solve(&bindings)?;
    /// assert_eq!(shapes.dims("b"), Some(&[2, 3, 4][..]));
    /// assert_eq!(shapes.dims("o"), Some(&[6][..]));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn solve(&self, bindings: &Bindings<'_>) -> Result<Shapes, Error> {
        let numbers = bindings.numbers(self)?;
        let bindings = bindings.with_numbers(&numbers);
        let bound = self.bound(&bindings)?;
        Shapes::solve(self, &bound, &bindings.held().choices)
    }

    /// Runs the program on the [global engine](Engine::global): on bound arrays, with ranks and extents
    /// [solved](Self::solve) from them.
    ///
    /// Arrays are bound by name: `[("x", &x), ("y", &y)]` if they have one Rust type, otherwise by
    /// [`Bindings`]; `()` binds nothing.
    ///
    /// # Errors
    /// As for [`solve`](Self::solve); [`Error::Program`] where element types do not fit, or sizes
    /// are too large, and where an integer is divided by zero or raised to a negative power, or a
    /// range of `RANDOM` is empty; [`Error::Plan`] and [`Error::Run`] as for
    /// [`Program::apply`](crate::Program::apply).
    ///
    /// ```
    /// use ijk::{et::Bindings, ndarray::array};
    /// let gather = ijk::et("out[slice,rest] = x[idx[slice,:],rest]")?;
    /// let x = array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
    /// let idx = array![[2], [0]];
    /// let out = gather.run(Bindings::new().bind("x", &x).bind("idx", &idx))?;
    /// assert_eq!(out["out"].as_slice::<f64>(), Some(&[5.0, 6.0, 1.0, 2.0][..]));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn run<'a>(&self, bindings: impl Into<Bindings<'a>>) -> Result<Outputs, Error> {
        self.run_on(Engine::global(), bindings)
    }

    /// Runs the program on an engine, as [`run`](Self::run) does.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    ///
    /// ```
    /// let engine = ijk::Engine::builder().threads(1).build();
    /// let outputs = ijk::et("x[i] = RANDOM(0, 9, INT)\n\nDIMS(i) = 4")?.run_on(&engine, ())?;
    /// assert_eq!(outputs["x"].shape(), [4]);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn run_on<'a>(
        &self,
        engine: &Engine,
        bindings: impl Into<Bindings<'a>>,
    ) -> Result<Outputs, Error> {
        let bindings = bindings.into();
        let numbers = bindings.numbers(self)?;
        let bindings = bindings.with_numbers(&numbers);
        let bound = self.bound(&bindings)?;
        let facts = facts::of(bound.iter().copied(), &self.inner.in_indices);
        let key = Key::of_bound(engine.context(), &bound, &facts);
        let most = Most::of(bindings.held().memory, engine.memory_limit());
        let hash = key.hash();
        let ready = self.inner.calls.find(hash, |call| call.is(&key, bindings.held()));
        if let Some(outputs) =
            ready.as_ref().and_then(|r| r.run(engine, self.checked(), &bound, most))
        {
            return outputs;
        }
        let choices = &bindings.held().choices;
        let solve = || Shapes::solve(self, &bound, choices);
        let shapes = engine.at_length(planning(self.checked().arrays.len()), solve)?;
        let warnings = shapes.shared_warnings();
        let case = self.case(&bindings, &bound, shapes, choices.seed.unwrap_or(0))?;
        let (mut outputs, made) = run::run(engine, &self.inner, &bound, case, most)?;
        outputs.warnings = warnings;
        if let (None, Some(made)) = (ready, made) {
            self.inner.calls.insert(hash, Call::new(key, bindings.held()), Arc::new(made));
        }
        Ok(outputs)
    }

    /// Runs the program with given ranks and extents.
    pub(super) fn run_solved(
        &self,
        engine: &Engine,
        bindings: &Bindings<'_>,
        shapes: Shapes,
        seed: u64,
    ) -> Result<Outputs, Error> {
        let numbers = bindings.numbers(self)?;
        let bindings = bindings.with_numbers(&numbers);
        let bound = self.bound(&bindings)?;
        let case = self.case(&bindings, &bound, shapes, seed)?;
        let most = Most::of(bindings.held().memory, engine.memory_limit());
        run::run(engine, &self.inner, &bound, case, most).map(|(outputs, _)| outputs)
    }

    /// The key of a lowered program.
    pub(super) fn case(
        &self,
        bindings: &Bindings<'_>,
        bound: &Arrays<'_, '_>,
        shapes: Shapes,
        seed: u64,
    ) -> Result<SegmentKey, Error> {
        let kept = bindings.held().kept.iter().map(|name| self.array(name));
        let kept = kept.collect::<Result<Vec<_>, _>>()?;
        let weak = bindings.held().weak.iter().map(|name| self.array(name));
        let weak = weak.collect::<Result<Vec<_>, _>>()?;
        let (solution, bound) = (shapes.into_solution(), described(bound));
        Ok(SegmentKey { solution, bound, weak, seed, kept, ranges: Vec::new() })
    }

    /// All combinations of ranks that the constraints allow, each with `reps` choices of extents drawn
    /// from the seed. Lazy.
    ///
    /// ```
    /// let program = ijk::et("y[i] = x[i]\n\nRANK(i) IN [0,2]\nDIMS(i) IN [1,3]")?;
    /// let ranks = program.cases(0, 2).map(|case| Ok(case?.shapes().rank("i").unwrap()));
    /// assert_eq!(ranks.collect::<Result<Vec<_>, ijk::Error>>()?, [0, 0, 1, 1, 2, 2]);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn cases(&self, seed: u64, reps: u32) -> Cases<'_> {
        Cases::new(self, seed, reps)
    }

    /// The position of an array.
    pub(super) fn array(&self, name: &str) -> Result<usize, Error> {
        let found = self.inner.checked.array(name);
        found.ok_or_else(|| self.unbindable(name, "is not an array of the program"))
    }

    /// Checks that an array can be given by a name.
    ///
    /// # Errors
    /// [`Error::Program`] for the name of an eintup, [`Error::Binding`] for other names that nothing can be bound to.
    ///
    /// ```
    /// let program = ijk::et("y[time] = x[time] * DIMS(time)[0]")?;
    /// assert!(program.check_input("x").is_ok());
    /// let error = program.check_input("time").unwrap_err();
    /// assert!(error.to_string().contains("`time`, which is an eintup"));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn check_input(&self, name: &str) -> Result<(), Error> {
        self.input(name).map(|_| ())
    }

    /// Returns true if the program reads components of the eintup of that name as values.
    ///
    /// ```
    /// let program = ijk::et("y[time,c] = time[c] * x[time]")?;
    /// assert!(program.reads_component("time") && !program.reads_component("x"));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn reads_component(&self, tuple: &str) -> bool {
        ijk_ir::et::reads_component(self.checked(), tuple)
    }

    /// The position of an array that can be bound.
    pub(super) fn input(&self, name: &str) -> Result<usize, Error> {
        let checked = &self.inner.checked;
        // Arrays are looked up before eintups, which only a wrong name can be.
        let Some(at) = checked.array(name) else {
            let error = ijk_ir::et::given_as_array(checked, name);
            return Err(match error {
                Some(error) => Error::program(self.source(), vec![error]),
                None => self.unbindable(name, "is not an array of the program"),
            });
        };
        match checked.arrays[at].origin {
            Origin::Computed => Err(self.unbindable(name, "is computed by the program")),
            Origin::Input | Origin::Random { .. } => Ok(at),
        }
    }

    /// The element type that a declaration gives to an array which can be bound.
    pub(super) fn declared(&self, name: &str) -> Result<Option<DType>, Error> {
        let checked = self.checked();
        Ok(match checked.arrays[self.input(name)?].origin {
            Origin::Random { statement } => {
                ijk_ir::et::declared_type(&checked.program.statements[statement])
            }
            Origin::Input | Origin::Computed => None,
        })
    }

    fn unbindable(&self, name: &str, reason: &'static str) -> Error {
        let bindable = self.signature().bindable().map(str::to_string).collect();
        Error::Binding { name: name.into(), reason, bindable }
    }

    /// For each array the view that is bound to it.
    pub(super) fn bound<'b, 'a>(
        &self,
        bindings: &'b Bindings<'a>,
    ) -> Result<Arrays<'b, 'a>, Error> {
        let checked = &self.inner.checked;
        let mut bound: Arrays<'b, 'a> = smallvec![None; checked.arrays.len()];
        for (name, view) in &bindings.held().arrays {
            bound[self.input(name)?] = Some(view);
        }
        let missing: Vec<Diagnostic> = (checked.arrays.iter().zip(&bound).enumerate())
            .filter(|(at, (_, bound))| checked.must_be_bound(*at) && bound.is_none())
            .map(|(_, (array, _))| {
                let message = format!("`{}` is not bound, and nothing assigns it", array.name);
                Diagnostic::error(array.span, message)
                    .with_label("an input")
                    .with_hint(format!("bind an array to the name `{}`", array.name))
            })
            .collect();
        if missing.is_empty() { Ok(bound) } else { Err(Error::program(self.source(), missing)) }
    }
}

/// Element types and shapes of bound views.
fn described(bound: &[Option<&TensorView<'_>>]) -> Vec<Option<(DType, Vec<u64>)>> {
    let describe = |view: &TensorView<'_>| (view.dtype(), crate::prepared::extents(view.shape()));
    bound.iter().map(|view| view.map(describe)).collect()
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
        f.debug_struct("Program").field("source", &self.source()).finish_non_exhaustive()
    }
}
