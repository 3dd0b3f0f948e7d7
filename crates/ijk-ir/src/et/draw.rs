//! Random extents that satisfy a program's constraints, few enough points to compute them all.

use super::checked::{Checked, Solution};
use super::points::{points, variables};
use super::ranks::Ranks;
use super::space::{Kind, Space};
use super::{ShapeId, codes};
use crate::text::quote;
use ijk_syntax::Diagnostic;
use ijk_types::random;

/// Draws before a program whose constraints keep failing is given up.
pub const MAX_TRIES: u64 = 100;
/// Extents of an eintup without constraint are drawn from 0 to this.
const MOST: u64 = 100;
/// Shares of the way from the least extents to the drawn ones, in 64ths, that are tried.
const SHARES: [u64; 14] = [64, 52, 40, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1, 0];

/// Draws extents for the ranks: uniformly from the range of an `IN` constraint, and from `[0, 100]`
/// where there is none. Where a statement would have more than `points` points, the extents that it
/// depends on are moved towards the least ones, those without constraint first.
///
/// The same arguments give the same extents.
///
/// # Errors
/// After [`MAX_TRIES`] draws whose constraints give negative extents or whose statements have too
/// many points even with the least extents: what was wrong with the last.
pub fn draw(
    checked: &Checked,
    ranks: &Ranks,
    seed: u64,
    points: u64,
) -> Result<Solution, Vec<Diagnostic>> {
    drawn(checked, ranks, seed, points, (&[], Beyond::Refused))
}

/// As [`draw`], with extents that are given: one entry for each shape, or none at all. A statement has more points if it
/// does so with the least extents.
pub(super) fn draw_for_run(
    checked: &Checked,
    ranks: &Ranks,
    seed: u64,
    points: u64,
    given: &[Option<Vec<u64>>],
) -> Result<Solution, Vec<Diagnostic>> {
    drawn(checked, ranks, seed, points, (given, Beyond::Least))
}

/// Response to statements that have too many points with the least extents.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beyond {
    /// An error.
    Refused,
    /// The least extents are drawn all the same.
    Least,
}

fn drawn(
    checked: &Checked,
    ranks: &Ranks,
    seed: u64,
    points: u64,
    (given, beyond): (&[Option<Vec<u64>>], Beyond),
) -> Result<Solution, Vec<Diagnostic>> {
    let space = Space::new(checked, ranks);
    let variables = variables(checked);
    let mut last = Vec::new();
    for attempt in 0..MAX_TRIES {
        let wishes = wishes(&space, seed, attempt);
        let variables = &variables;
        let drawing = Drawing { space: &space, variables, wishes, points, given, beyond };
        match drawing.settle() {
            Ok(dims) => return space.solution(dims),
            Err(diagnostic) => last = vec![*diagnostic],
        }
    }
    Err(last)
}

/// Extents drawn for each shape that has a choice.
fn wishes(space: &Space<'_>, seed: u64, attempt: u64) -> Vec<Vec<u64>> {
    let wish = |shape: usize| {
        let key = random::key(seed, shape as u64);
        let (lo, hi) = match space.kinds[shape] {
            Kind::In(lo, hi) => (lo, hi),
            _ => (0, MOST),
        };
        let extent = |component: usize| {
            let bits = random::bits(key, attempt * 64 + component as u64);
            let end = i64::try_from(hi).unwrap_or(i64::MAX).saturating_add(1);
            random::uniform_i64(bits, lo as i64, end).map_or(lo, |extent| extent as u64)
        };
        (0..space.ranks.shapes[shape] as usize).map(extent).collect()
    };
    (0..space.kinds.len()).map(wish).collect()
}

/// One draw.
struct Drawing<'s, 'a> {
    space: &'s Space<'a>,
    /// The shapes of each statement's variables.
    variables: &'s [Vec<ShapeId>],
    wishes: Vec<Vec<u64>>,
    points: u64,
    given: &'s [Option<Vec<u64>>],
    beyond: Beyond,
}

/// Shares of the range between least and greatest extent, in 64ths.
#[derive(Clone, Copy)]
struct Shares {
    open: u64,
    ranged: u64,
}

impl Drawing<'_, '_> {
    /// The extents, moved as far as needed.
    fn settle(&self) -> Result<Vec<Vec<u64>>, Box<Diagnostic>> {
        let full = Shares { open: 64, ranged: 64 };
        let everywhere = vec![true; self.space.kinds.len()];
        let wished = self.extents(full, &everywhere)?;
        let over: Vec<usize> = self.over(&wished).collect();
        if over.is_empty() {
            return Ok(wished);
        }
        let least = self.extents(Shares { open: 0, ranged: 0 }, &everywhere);
        let many = least.as_ref().ok().and_then(|dims| Some((dims, self.over(dims).next()?)));
        if let Some((dims, statement)) = many {
            return match self.beyond {
                Beyond::Refused => Err(Box::new(self.too_many(dims, statement))),
                Beyond::Least => Ok(dims.clone()),
            };
        }
        let involved = self.involved(&over);
        let found = self.shrunk(&involved).or_else(|| self.shrunk(&everywhere));
        found.or(least.ok()).ok_or_else(|| Box::new(self.too_many(&wished, over[0])))
    }

    /// The greatest extents found that fit, moving those of the marked shapes.
    fn shrunk(&self, marked: &[bool]) -> Option<Vec<Vec<u64>>> {
        let fit = |shares: Shares| {
            let dims = self.extents(shares, marked).ok()?;
            let fits = self.over(&dims).next().is_none();
            fits.then_some(dims)
        };
        let open = |ranged| SHARES.iter().find_map(|open| fit(Shares { open: *open, ranged }));
        open(64).or_else(|| {
            let ranged = SHARES.iter().find(|r| fit(Shares { open: 0, ranged: **r }).is_some())?;
            open(*ranged)
        })
    }

    fn extents(&self, shares: Shares, marked: &[bool]) -> Result<Vec<Vec<u64>>, Box<Diagnostic>> {
        let choose =
            |shape: ShapeId, component: usize| self.choose(shape, component, shares, marked);
        self.space.extents(&choose).map_err(|failure| Box::new(failure.diagnostic()))
    }

    fn choose(&self, shape: ShapeId, component: usize, shares: Shares, marked: &[bool]) -> u64 {
        let s = shape.0 as usize;
        if let Some(Some(dims)) = self.given.get(s) {
            return dims.get(component).copied().unwrap_or(0);
        }
        let wish = self.wishes[s][component];
        let (lo, share) = match self.space.kinds[s] {
            Kind::In(lo, _) => (lo, shares.ranged),
            _ => (0, shares.open),
        };
        let base = lo.max(wish.min(1));
        let share = if marked[s] { share } else { 64 };
        base + (u128::from(wish - base) * u128::from(share) / 64) as u64
    }

    /// Statements with too many points.
    fn over<'d>(&'d self, dims: &'d [Vec<u64>]) -> impl Iterator<Item = usize> + 'd {
        let many = |n: &usize| points(&self.variables[*n], dims) > self.points.into();
        (0..self.variables.len()).filter(many)
    }

    /// The shapes that the statements' variables have or are defined by.
    fn involved(&self, statements: &[usize]) -> Vec<bool> {
        let mut marked = vec![false; self.space.kinds.len()];
        let mut ahead: Vec<ShapeId> =
            statements.iter().flat_map(|n| self.variables[*n].clone()).collect();
        while let Some(shape) = ahead.pop() {
            if !std::mem::replace(&mut marked[shape.0 as usize], true)
                && let Kind::Equals(expr) = self.space.kinds[shape.0 as usize]
            {
                ahead.extend(expr.dims());
            }
        }
        marked
    }

    fn too_many(&self, dims: &[Vec<u64>], statement: usize) -> Diagnostic {
        let checked = self.space.checked;
        let span = checked.program.statements[statement].span;
        let (found, most) = (points(&self.variables[statement], dims), self.points);
        let array = quote(&checked.source, checked.program.statements[statement].left.span, "this");
        let message = format!(
            "the statement of {array} has {found} points with the least extents, more than {most}"
        );
        codes::TOO_MANY_POINTS
            .error(span, message)
            .with_hint("`--points` sets how many it may have")
    }
}
