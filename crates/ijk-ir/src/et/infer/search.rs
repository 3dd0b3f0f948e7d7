//! Search for extents by trial, one component at a time: components do not depend on each other.

use super::Inference;
use crate::et::ShapeId;
use crate::et::space::Kind;
use crate::et::system::Expr;
use crate::interval::Interval;
use ijk_syntax::et::ast::Quantity;

/// Solutions that are looked for.
const WANTED: usize = 4;
/// Operands of constraints that are looked at before the search gives up.
const MAX_STEPS: usize = 1_000_000;
/// Unknown extents of one component with which the search is not begun.
const MAX_UNKNOWN: usize = 64;
/// Extents of an eintup without constraint go from 0 to this.
const MOST: u64 = 100;

/// Solutions of one component.
pub struct Search {
    /// The shapes whose extents are looked for, the defined after the defining.
    pub unknown: Vec<ShapeId>,
    /// Their extents.
    pub solutions: Vec<Vec<u64>>,
    /// There are, or may be, other solutions.
    pub open: bool,
}

impl Search {
    /// The extent of a shape in a solution.
    pub fn get(&self, solution: usize, shape: ShapeId) -> Option<u64> {
        let n = self.unknown.iter().position(|s| *s == shape)?;
        self.solutions.get(solution)?.get(n).copied()
    }
}

/// Looks for the unknown extents of a component.
pub fn search(inference: &Inference<'_>, component: usize) -> Search {
    let space = &inference.space;
    let unknown =
        |s: &ShapeId| component < space.rank(*s) && inference.get(*s, component).is_none();
    let unknown: Vec<ShapeId> = space.order.iter().copied().filter(unknown).collect();
    let found = Search { unknown, solutions: Vec::new(), open: false };
    let mut positions = vec![None; space.kinds.len()];
    for (n, shape) in found.unknown.iter().enumerate() {
        positions[shape.0 as usize] = Some(n);
    }
    let watching = watching(inference, component, &found.unknown);
    let values = Vec::new();
    let mut trial =
        Trial { inference, component, found, positions, watching, values, steps: 0, beyond: false };
    if trial.found.unknown.len() > MAX_UNKNOWN {
        trial.found.open = true;
        trial.found.solutions.push(vec![1; trial.found.unknown.len()]);
        return trial.found;
    }
    trial.descend();
    // Ranges choose among extents; where none of them fits, others may.
    if trial.found.solutions.is_empty() && !trial.found.open && trial.has_ranges() {
        trial.beyond = true;
        trial.descend();
    }
    trial.found
}

/// For each unknown shape the constraints on known extents that it takes part in, with the extent.
type Watching<'i> = Vec<Vec<(&'i Expr, u64)>>;

fn watching<'i>(
    inference: &'i Inference<'_>,
    component: usize,
    unknown: &[ShapeId],
) -> Watching<'i> {
    let mut watching: Watching<'i> = vec![Vec::new(); unknown.len()];
    for target in &inference.space.order {
        let Kind::Equals(expr) = inference.space.kinds[target.0 as usize] else { continue };
        let Some(value) = inference.get(*target, component) else { continue };
        for shape in expr.dims() {
            if let Some(n) = unknown.iter().position(|s| *s == shape) {
                watching[n].push((expr, value));
            }
        }
    }
    watching
}

struct Trial<'i, 'a> {
    inference: &'i Inference<'a>,
    component: usize,
    found: Search,
    /// Where each shape stands among the unknown.
    positions: Vec<Option<usize>>,
    watching: Watching<'i>,
    values: Vec<u64>,
    steps: usize,
    /// Extents outside of their ranges are tried.
    beyond: bool,
}

impl Trial<'_, '_> {
    fn has_ranges(&self) -> bool {
        let ranged = |s: &ShapeId| matches!(self.inference.space.kinds[s.0 as usize], Kind::In(..));
        self.found.unknown.iter().any(ranged)
    }

    /// Tries the extents of the next unknown; as deep as there are unknown, at most
    /// [`MAX_UNKNOWN`].
    fn descend(&mut self) {
        let n = self.values.len();
        let Some(shape) = self.found.unknown.get(n).copied() else {
            self.found.solutions.push(self.values.clone());
            return;
        };
        let (lo, hi) = match self.inference.space.kinds[shape.0 as usize] {
            Kind::Equals(_) => match self.defined(shape) {
                Some(extent) => (extent, extent),
                None => return,
            },
            Kind::In(_, hi) if self.beyond => {
                let several = &self.inference.several[shape.0 as usize][self.component];
                if let Some(several) = several {
                    self.found.open |= !several.all;
                    return self.each(n, several.extents.iter().copied());
                }
                self.found.open = true;
                (0, hi.max(MOST))
            }
            Kind::In(lo, hi) => (lo, hi),
            Kind::Open | Kind::Counted(..) => {
                self.found.open = true;
                (0, MOST)
            }
        };
        self.each(n, lo..=hi);
    }

    /// Tries these extents of the unknown of a number.
    fn each(&mut self, n: usize, extents: impl Iterator<Item = u64>) {
        for extent in extents {
            if self.found.solutions.len() >= WANTED {
                return;
            }
            self.steps += self.watching[n].iter().map(|(expr, _)| expr.size()).sum::<usize>() + 1;
            if self.steps > MAX_STEPS {
                self.found.open = true;
                return;
            }
            self.values.push(extent);
            if self.possible(n) {
                self.descend();
            }
            self.values.pop();
        }
    }

    fn value(&self, shape: ShapeId) -> Option<u64> {
        let known = self.inference.get(shape, self.component);
        known.or_else(|| self.values.get(self.positions[shape.0 as usize]?).copied())
    }

    fn defined(&self, shape: ShapeId) -> Option<u64> {
        let space = &self.inference.space;
        let Kind::Equals(expr) = space.kinds[shape.0 as usize] else { return None };
        let value = space.defined(expr, self.component, &|s, _| self.value(s)).ok()?;
        i64::try_from(value).ok().and_then(|v| u64::try_from(v).ok())
    }

    /// Returns true if known extents that depend on an unknown one are still possible.
    fn possible(&self, n: usize) -> bool {
        let of = |quantity, shape| match quantity {
            Quantity::Rank => Interval::point(self.inference.space.rank(shape) as i128),
            Quantity::Dims => self.range(shape),
        };
        self.watching[n].iter().all(|(expr, value)| {
            expr.range(&of).is_some_and(|r| (r.least..=r.greatest).contains(&(*value).into()))
        })
    }

    fn range(&self, shape: ShapeId) -> Interval {
        match (self.value(shape), self.inference.space.kinds[shape.0 as usize]) {
            (Some(value), _) => Interval::point(value.into()),
            (None, Kind::In(lo, hi)) if !self.beyond => {
                Interval { least: lo.into(), greatest: hi.into() }
            }
            (None, _) => Interval { least: 0, greatest: i64::MAX.into() },
        }
    }
}
