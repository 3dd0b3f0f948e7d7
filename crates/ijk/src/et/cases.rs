//! All combinations of ranks that the constraints allow.

use super::solve::{POINTS, Shapes};
use super::{Bindings, Outputs, Program};
use crate::{Engine, Error};
use ijk_ir::et::{RankCombinations, Ranks, draw, rank_combinations};

/// The cases of [`Program::cases`]: an iterator over ranks and extents to run the program with.
#[derive(Debug)]
pub struct Cases<'a> {
    program: &'a Program,
    seed: u64,
    reps: u32,
    points: u64,
    free: bool,
    combinations: Option<RankCombinations<'a>>,
    /// The current ranks, and the number of extents drawn for them.
    current: Option<(Ranks, u32)>,
    /// Number of cases so far.
    count: u64,
}

/// Ranks and extents of one run, and the seed of its random numbers.
#[derive(Clone, Debug)]
pub struct Case {
    program: Program,
    shapes: Shapes,
    seed: u64,
}

impl<'a> Cases<'a> {
    pub(super) fn new(program: &'a Program, seed: u64, reps: u32) -> Self {
        Self {
            program,
            seed,
            reps,
            points: POINTS,
            free: false,
            combinations: None,
            current: None,
            count: 0,
        }
    }

    /// Upper bound of the points of a statement; 10⁶ by default.
    #[must_use]
    pub fn points(mut self, points: u64) -> Self {
        self.points = points;
        self
    }

    /// Gives unconstrained eintups any rank instead of rank 1. To be set before the first case is
    /// drawn.
    #[must_use]
    pub fn free_ranks(mut self, free: bool) -> Self {
        self.free = free;
        self
    }

    /// The ranks of the next case.
    fn ranks(&mut self) -> Option<Ranks> {
        if let Some((ranks, times)) = self.current.as_mut().filter(|(_, times)| *times < self.reps)
        {
            *times += 1;
            return Some(ranks.clone());
        }
        let (program, free) = (self.program, self.free);
        let combinations =
            self.combinations.get_or_insert_with(|| rank_combinations(program.checked(), free));
        let ranks = combinations.next()?;
        self.current = Some((ranks.clone(), 1));
        Some(ranks)
    }
}

/// The next case; an error where no extents fit the constraints for its ranks.
impl Iterator for Cases<'_> {
    type Item = Result<Case, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.reps == 0 {
            return None;
        }
        let ranks = self.ranks()?;
        let seed = ijk_types::random::key(self.seed, self.count);
        self.count += 1;
        let program = self.program;
        Some(match draw(program.checked(), &ranks, seed, self.points) {
            Ok(solution) => {
                let shapes = Shapes::new(program.clone(), solution);
                Ok(Case { program: program.clone(), shapes, seed })
            }
            Err(diagnostics) => Err(Error::program(program.source(), diagnostics)),
        })
    }
}

impl Case {
    /// The ranks and extents.
    pub fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// The seed of the case's random numbers.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Runs the program with these ranks and extents on the [global engine](Engine::global). Bound
    /// arrays must have fitting shapes; `rank`, `dims` and `seed` of bindings are ignored.
    ///
    /// # Errors
    /// As for [`Program::run`].
    ///
    /// ```
    /// use ijk::et::Bindings;
    /// let program = ijk::et("x[i] = RANDOM(0, 9, INT)\ny[i] = 2 * x[i]\n\ny\n\nRANK(i) IN [1,2]")?;
    /// for case in program.cases(1, 3) {
    ///     let outputs = case?.run(Bindings::new().keep("x"))?;
    ///     assert_eq!(outputs["x"].shape(), outputs["y"].shape());
    /// }
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn run<'a>(&self, bindings: impl Into<Bindings<'a>>) -> Result<Outputs, Error> {
        self.run_on(Engine::global(), bindings)
    }

    /// Runs the program on an engine, as [`run`](Self::run) does.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn run_on<'a>(
        &self,
        engine: &Engine,
        bindings: impl Into<Bindings<'a>>,
    ) -> Result<Outputs, Error> {
        self.program.run_solved(engine, &bindings.into(), self.shapes.clone(), self.seed)
    }
}
