//! One solution where nothing is bound.

use super::checked::{Checked, Solution};
use super::draw::{MAX_TRIES, draw_for_run};
use super::overrides::{Given, Overrides};
use super::ranks::{Problem, Ranks};
use super::space::{Kind, Space};
use super::{ShapeId, judge, report};
use ijk_syntax::Diagnostic;
use ijk_types::random;

/// Combinations of ranks that are tried.
const MAX_COMBINATIONS: usize = 1000;
/// Shapes whose extents are tried before further attempts are left out.
const MAX_WORK: usize = 5_000_000;
/// Combinations of ranks for which extents are drawn.
const MAX_DRAWN: usize = 16;
/// Points that a statement may have in a solution that is drawn because the first extents fail.
const POINTS: u64 = 1_000_000;
/// The steps in which the extents of an `IN` range are tried, from its least to its greatest.
const STEPS: u64 = 64;

/// The first solution: the first ranks for which there are extents, of those the least, but for 1
/// instead of 0 where both are possible; an eintup without constraint has extents 1.
///
/// # Errors
/// Overrides of unknown eintups, and constraints that cannot hold with the overrides.
pub fn first(checked: &Checked, overrides: &Overrides) -> Result<Solution, Vec<Diagnostic>> {
    let given = Given::new(checked, overrides)?;
    let (mut work, mut first) = (0, None);
    for ranks in combinations(checked, &given)? {
        match extents(checked, &ranks, &given.dims, &mut work) {
            Ok(solution) => return Ok(solution),
            Err(errors) => {
                first.get_or_insert(errors);
            }
        }
        if work > MAX_WORK {
            break;
        }
    }
    Err(first.unwrap_or_default())
}

/// A random solution: random ranks of the first thousand combinations, and extents drawn as by
/// [`draw`](super::draw()).
///
/// # Errors
/// As of [`first`] and [`draw`](super::draw()), but for the number of points: extents that are given, or that
/// constraints leave no choice for, are taken however large they are.
pub fn random(
    checked: &Checked,
    overrides: &Overrides,
    seed: u64,
    points: u64,
) -> Result<Solution, Vec<Diagnostic>> {
    let given = Given::new(checked, overrides)?;
    let all: Vec<Ranks> = combinations(checked, &given)?.collect();
    let bits = random::bits(random::key(seed, u64::MAX), 0);
    let start = random::uniform_i64(bits, 0, all.len() as i64).unwrap_or(0) as usize;
    let turned = all[start..].iter().chain(&all[..start]).take(MAX_DRAWN);
    let mut errors = Vec::new();
    for ranks in turned {
        let drawn = draw_for_run(checked, ranks, seed, points, &given.dims)
            .and_then(|solution| judge::solution(checked, ranks, solution, &given.dims));
        match drawn {
            Ok(solution) => return Ok(solution),
            Err(found) => errors = found,
        }
    }
    Err(errors)
}

fn combinations<'a>(
    checked: &'a Checked,
    given: &Given,
) -> Result<impl Iterator<Item = Ranks> + use<'a>, Vec<Diagnostic>> {
    let mut problem = Problem::new(checked, false);
    given.fix(&mut problem)?;
    let mut solutions = problem.clone().solutions().peekable();
    if solutions.peek().is_none() {
        return Err(vec![report::explain(checked, &problem)]);
    }
    Ok(solutions.take(MAX_COMBINATIONS))
}

fn extents(
    checked: &Checked,
    ranks: &Ranks,
    given: &[Option<Vec<u64>>],
    work: &mut usize,
) -> Result<Solution, Vec<Diagnostic>> {
    let space = Space::new(checked, ranks);
    let mut first = None;
    for step in steps(&space) {
        let choose = |shape: ShapeId, component: usize| match &given[shape.0 as usize] {
            Some(dims) => dims.get(component).copied().unwrap_or(0),
            None => step.of(&space, shape),
        };
        let found = space.extents(&choose).map_err(|failure| vec![failure.diagnostic()]);
        let found = found.and_then(|dims| space.solution(dims));
        match found.and_then(|s| judge::solution(checked, ranks, s, given)) {
            Ok(solution) => return Ok(solution),
            Err(errors) => {
                first.get_or_insert(errors);
            }
        }
        *work += space.kinds.len();
        if *work > MAX_WORK {
            return Err(first.unwrap_or_default());
        }
    }
    *work += space.kinds.len() * MAX_TRIES as usize;
    draw_for_run(checked, ranks, 0, POINTS, given)
        .and_then(|s| judge::solution(checked, ranks, s, given))
        .map_err(|errors| first.unwrap_or(errors))
}

/// A choice of extents.
#[derive(Clone, Copy)]
struct ExtentChoice {
    /// The one shape that is moved; all of them where there is none.
    shape: Option<ShapeId>,
    /// Share of the way, in [`STEPS`].
    share: u64,
}

impl ExtentChoice {
    fn of(self, space: &Space<'_>, shape: ShapeId) -> u64 {
        let Kind::In(lo, hi) = space.kinds[shape.0 as usize] else { return 1 };
        let base = lo.max(hi.min(1));
        let share = if self.shape.is_none_or(|s| s == shape) { self.share } else { 0 };
        base + (u128::from(hi - base) * u128::from(share) / u128::from(STEPS)) as u64
    }
}

/// The least extents; then those of one shape larger and larger; then of all.
fn steps<'s>(space: &'s Space<'_>) -> impl Iterator<Item = ExtentChoice> + 's {
    let ranged = (0..space.kinds.len() as u32)
        .filter(|s| matches!(space.kinds[*s as usize], Kind::In(lo, hi) if lo < hi))
        .take(64);
    let one = ranged.flat_map(|s| {
        (1..=STEPS).map(move |share| ExtentChoice { shape: Some(ShapeId(s)), share })
    });
    let all = (1..=STEPS).map(|share| ExtentChoice { shape: None, share });
    std::iter::once(ExtentChoice { shape: None, share: 0 }).chain(one).chain(all)
}
