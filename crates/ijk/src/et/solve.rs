//! Ranks and extents of eintups.

use super::Program;
use super::bindings::Choices;
use crate::Error;
use crate::prepared::extents;
use ijk_ir::et::{self, Checked, Overrides, Solution};
use ijk_syntax::Diagnostic;
use ijk_tensor::TensorView;
use std::fmt;
use std::sync::Arc;

/// Default upper bound of the points of a statement when extents are drawn at random.
pub(super) const POINTS: u64 = 1_000_000;

/// The ranks and extents that the eintups of a program have in one run.
///
/// ```
/// let program = ijk::et("y[a,b] = x[a] * x[b]\n\nDIMS(a) = 3")?;
/// let shapes = program.solve(&ijk::et::Bindings::new().bind("x", &ijk::ndarray::array![1, 2, 3]))?;
/// assert_eq!(shapes.to_string(), "a 3, b 3");
/// assert_eq!(shapes.rank("b"), Some(1));
/// # Ok::<(), ijk::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Shapes {
    program: Program,
    answer: Arc<SolvedShapes>,
}

/// Ranks and extents, and what is probably not meant about them.
#[derive(Debug)]
pub(super) struct SolvedShapes {
    solution: Arc<Solution>,
    /// Warnings, besides those of the program.
    warnings: Arc<[Diagnostic]>,
}

impl Shapes {
    pub(super) fn new(program: Program, solution: Solution) -> Self {
        let answer = SolvedShapes { solution: Arc::new(solution), warnings: Arc::default() };
        Self { program, answer: Arc::new(answer) }
    }

    pub(super) fn solve(
        program: &Program,
        bound: &[Option<&TensorView<'_>>],
        choices: &Choices,
    ) -> Result<Self, Error> {
        let shapes = bound.iter().enumerate();
        let shapes = shapes.filter_map(|(n, b)| Some((n, extents(b.as_ref()?.shape()))));
        let question = Question { shapes: shapes.collect(), choices: choices.clone() };
        let answer = program.inner.solutions.get(&question, || {
            let answer = question.answer(program);
            answer.map_err(|diagnostics| Error::program(program.source(), diagnostics))
        })?;
        Ok(Self { program: program.clone(), answer })
    }

    /// Warnings that follow from the shapes of bound arrays: accesses that are never in bounds. Those of the program as
    /// such are [`Program::warnings`].
    ///
    /// ```
    /// use ijk::{et::Bindings, ndarray::Array1};
    /// let program = ijk::et("y[i] = x[i + 1000]\n\nDIMS(i) = 3")?;
    /// let x = Array1::<f32>::zeros(10);
    /// let shapes = program.solve(&Bindings::new().bind("x", &x))?;
    /// assert!(shapes.warnings()[0].message.starts_with("`x[i + 1000]` is never in bounds"));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.answer.warnings
    }

    /// The extents of an eintup; `None` for any other name.
    pub fn dims(&self, tuple: &str) -> Option<&[u64]> {
        self.program.checked().tuple(tuple).map(|tuple| self.answer.solution.of(tuple))
    }

    /// The rank of an eintup; `None` for any other name.
    pub fn rank(&self, tuple: &str) -> Option<usize> {
        self.dims(tuple).map(<[u64]>::len)
    }

    /// Eintups with their extents, in the order of their first appearance.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u64])> {
        let tuples = self.program.checked().tuples.iter();
        tuples.map(|tuple| (&tuple.name[..], self.answer.solution.of(tuple)))
    }

    /// Extents by shape, as lowering takes them.
    #[doc(hidden)]
    pub fn solution(&self) -> &Solution {
        &self.answer.solution
    }

    pub(super) fn into_solution(self) -> Arc<Solution> {
        Arc::clone(&self.answer.solution)
    }

    pub(super) fn shared_warnings(&self) -> Arc<[Diagnostic]> {
        Arc::clone(&self.answer.warnings)
    }
}

/// Everything that ranks and extents are solved from.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct Question {
    /// The shapes of bound arrays.
    shapes: Vec<(usize, Vec<u64>)>,
    choices: Choices,
}

impl Question {
    fn answer(&self, program: &Program) -> Result<SolvedShapes, Vec<Diagnostic>> {
        let solution = self.solution(program.checked())?;
        let told = |warning: &Diagnostic| {
            let mut own = program.warnings().iter();
            own.any(|known| known.span == warning.span && known.code == warning.code)
        };
        let mut warnings = et::unreached(program.checked(), &self.shapes, &solution);
        warnings.retain(|warning| !told(warning));
        Ok(SolvedShapes { solution: Arc::new(solution), warnings: warnings.into() })
    }

    fn solution(&self, checked: &Checked) -> Result<Solution, Vec<Diagnostic>> {
        let overrides = self.choices.overrides();
        let points = self.choices.points.unwrap_or(POINTS);
        match (&self.shapes[..], self.choices.seed) {
            ([], None) => et::first(checked, &overrides),
            ([], Some(seed)) => et::random(checked, &overrides, seed, points),
            (shapes, _) => et::infer(checked, shapes, &overrides),
        }
    }
}

impl Choices {
    fn overrides(&self) -> Overrides {
        Overrides {
            ranks: self.ranks.iter().cloned().collect(),
            dims: self.dims.iter().cloned().collect(),
        }
    }
}

/// Every eintup with its extents: `batch 8, ipos 20 30`; `()` for rank 0.
impl fmt::Display for Shapes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (name, dims)) in self.iter().enumerate() {
            let dims: Vec<String> = dims.iter().map(u64::to_string).collect();
            let dims = if dims.is_empty() { "()".to_string() } else { dims.join(" ") };
            write!(f, "{}{name} {dims}", if n == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
