//! Ranks and extents from the shapes of bound arrays.
//!
//! Ranks first: those for which every bound array has as many axes as its places have together. For
//! each combination, extents are taken from axes, flags and counted components; constraints are
//! applied forwards and, where one quantity is unknown, backwards; what is left is searched.

mod in_bounds;
mod invert;
mod messages;
mod read;
mod search;
mod shifts;

use super::checked::{Checked, Solution};
use super::first::first;
use super::overrides::{Given, Overrides};
use super::ranks::{Problem, Ranks};
use super::space::{Kind, Space, failed, star_extent};
use super::system::{CountedQuantity, Link};
use super::{Origin, ShapeId};
use ijk_syntax::Diagnostic;
use ijk_syntax::et::ast::Access;
pub(super) use in_bounds::is_replaced;
use search::Search;
pub(super) use shifts::shifted;

/// Combinations of ranks that are tried.
const MAX_COMBINATIONS: usize = 4096;

/// The shapes of bound arrays, by their position in [`Checked::arrays`].
pub type Bound = [(usize, Vec<u64>)];

/// The ranks and extents that fit the bound arrays and the constraints; without bound arrays the
/// [`first`] solution.
///
/// A place takes the extents of its axes where a plain eintup sizes it, in an input where one stands
/// at all; other places only have to have as many axes as their rank.
///
/// # Errors
/// No solution: the contradiction with both its places and values. Several solutions: some of them,
/// and the flags that decide. Overrides of unknown eintups.
///
/// # Panics
/// If a bound array is none of the program's.
pub fn infer(
    checked: &Checked,
    bound: &Bound,
    overrides: &Overrides,
) -> Result<Solution, Vec<Diagnostic>> {
    if bound.is_empty() {
        return first(checked, overrides);
    }
    let given = Given::new(checked, overrides)?;
    let Candidates { ranks: candidates, unfit } = candidates(checked, bound, &given)?;
    let mut solutions = Vec::new();
    let (mut unknown, mut errors) = (Vec::new(), None);
    for ranks in &candidates {
        match Inference::new(checked, ranks, bound, &given).run() {
            Ok(outcome) => {
                unknown.extend(outcome.unknown);
                solutions.extend(outcome.solutions);
            }
            Err(found) => {
                errors.get_or_insert(found);
            }
        }
        if !unknown.is_empty() || solutions.len() > messages::SHOWN {
            break;
        }
    }
    if !unknown.is_empty() || solutions.len() > 1 {
        return Err(vec![messages::ambiguous(checked, &solutions, &unknown)]);
    }
    let errors = || messages::of_all(errors.unwrap_or_default(), candidates.len());
    solutions.pop().ok_or_else(|| unfit.unwrap_or_else(errors))
}

/// Ranks that may do.
struct Candidates {
    ranks: Vec<Ranks>,
    /// Errors if all eintups have the default rank.
    unfit: Option<Vec<Diagnostic>>,
}

/// The ranks with which every bound array has as many axes as its places have together.
///
/// Where the default rank 1 does not fit an array, it yields in that array; where that does not do, in all.
fn candidates(
    checked: &Checked,
    bound: &Bound,
    given: &Given,
) -> Result<Candidates, Vec<Diagnostic>> {
    let all: Vec<usize> = bound.iter().map(|(array, _)| *array).collect();
    let mut alone = alone(checked, bound, given, &[])?;
    let mut unfit = None;
    for yielding in [Vec::new(), messages::unfit(&alone, bound), all] {
        if !yielding.is_empty() {
            alone = self::alone(checked, bound, given, &yielding)?;
        }
        let mut problem = alone.clone();
        bound.iter().for_each(|(array, shape)| problem.bind(*array, shape.len()));
        let found: Vec<Ranks> = problem.solutions().take(MAX_COMBINATIONS).collect();
        if !found.is_empty() {
            return Ok(Candidates { ranks: found, unfit });
        }
        unfit.get_or_insert_with(|| messages::no_ranks(checked, &alone, bound));
    }
    Err(unfit.unwrap_or_default())
}

/// Inference from the program and the flags, with the default overridden for some arrays.
fn alone<'a>(
    checked: &'a Checked,
    bound: &Bound,
    given: &Given,
    yielding: &[usize],
) -> Result<Problem<'a>, Vec<Diagnostic>> {
    let mut problem = Problem::new(checked, false);
    problem.count(bound);
    problem.yield_to(yielding);
    given.fix(&mut problem)?;
    Ok(problem)
}

/// Where a known extent comes from.
#[derive(Clone, Copy)]
enum From<'a> {
    Axis {
        array: usize,
        place: usize,
        axis: usize,
    },
    Flag,
    Counted(&'a Link),
    /// The constraint on a shape.
    Rule(ShapeId),
    /// A read that goes to the end of its array.
    InBounds(&'a Access),
    /// Nothing reads it.
    Unread,
}

#[derive(Clone, Copy)]
struct KnownExtent<'a> {
    value: u64,
    from: From<'a>,
}

/// Result for one combination of ranks.
struct RankOutcome {
    /// One, or some of several; none where too many would have to be tried.
    solutions: Vec<Solution>,
    /// The shapes whose extents there may be others of.
    unknown: Vec<ShapeId>,
}

/// The search for extents with given ranks.
struct Inference<'a> {
    space: Space<'a>,
    bound: &'a Bound,
    given: &'a Given,
    known: Vec<Vec<Option<KnownExtent<'a>>>>,
    /// Values that constraints leave for unknown extents.
    several: Vec<Vec<Option<invert::Preimage>>>,
    /// Shapes that places of inputs do not decide, though they stand there by themselves.
    shifted: Vec<bool>,
    /// Constraints with a reported error.
    reported: Vec<bool>,
    errors: Vec<Diagnostic>,
}

impl<'a> Inference<'a> {
    fn new(checked: &'a Checked, ranks: &'a Ranks, bound: &'a Bound, given: &'a Given) -> Self {
        let space = Space::new(checked, ranks);
        let known = ranks.shapes.iter().map(|r| vec![None; *r as usize]).collect();
        let several = ranks.shapes.iter().map(|r| (0..*r).map(|_| None).collect()).collect();
        let (shifted, reported) = (shifted(checked), vec![false; ranks.shapes.len()]);
        Self { space, bound, given, known, several, shifted, reported, errors: Vec::new() }
    }

    fn run(mut self) -> Result<RankOutcome, Vec<Diagnostic>> {
        self.flags();
        self.axes();
        self.counted();
        self.propagate();
        self.later();
        self.propagate();
        self.in_bounds();
        self.unread();
        self.propagate();
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        self.rest()
    }

    fn get(&self, shape: ShapeId, component: usize) -> Option<u64> {
        self.known[shape.0 as usize].get(component).copied().flatten().map(|k| k.value)
    }

    /// Records a value, or reports a conflict with a known one.
    fn set(&mut self, shape: ShapeId, component: usize, value: u64, from: From<'a>) {
        let place = &mut self.known[shape.0 as usize][component];
        match *place {
            None => *place = Some(KnownExtent { value, from }),
            Some(known) if known.value == value => {}
            Some(known) => {
                let new = KnownExtent { value, from };
                if !std::mem::replace(&mut self.reported[shape.0 as usize], true) {
                    let error = messages::conflict(&self.space, shape, component, known, new);
                    self.errors.push(error);
                }
            }
        }
    }

    fn flags(&mut self) {
        for shape in 0..self.given.dims.len() {
            let Some(dims) = &self.given.dims[shape] else { continue };
            for (component, extent) in dims.iter().enumerate() {
                self.set(ShapeId(shape as u32), component, *extent, From::Flag);
            }
        }
    }

    fn axes(&mut self) {
        for (array, extents) in self.bound {
            let mut axis = 0;
            for place in 0..self.space.checked.arrays[*array].places {
                let rank = self.space.ranks.places[*array][place] as usize;
                let here = &extents[axis..axis + rank];
                self.place(*array, place, axis, here);
                axis += rank;
            }
        }
    }

    fn place(&mut self, array: usize, place: usize, axis: usize, extents: &[u64]) {
        if let Some(shape) = self.space.checked.place_shape(array, place) {
            let decides = !self.shifted[shape.0 as usize];
            for (component, extent) in extents.iter().enumerate().filter(|_| decides) {
                let from = From::Axis { array, place, axis: axis + component };
                self.set(shape, component, *extent, from);
            }
            return;
        }
        let counts = CountedQuantity::Place { array, place };
        let links = self.space.checked.system.links.iter();
        for link in links.filter(|link| link.strict && link.counts == counts) {
            let rank = self.space.ranks.total(self.space.checked, &link.rank);
            if extents != [rank.into()] {
                self.errors.push(star_extent(link.span, extents[0], rank));
            }
        }
    }

    /// Takes extents from places where another eintup stood first, for those that nothing else determines.
    fn later(&mut self) {
        for (array, extents) in self.bound {
            let mut axis = 0;
            for place in 0..self.space.checked.arrays[*array].places {
                let rank = self.space.ranks.places[*array][place] as usize;
                let plain = self.space.checked.system.plain[*array].get(place);
                for &shape in plain.into_iter().flatten() {
                    let defined = matches!(self.space.kinds[shape.0 as usize], Kind::Equals(_))
                        || self.shifted[shape.0 as usize];
                    for component in (0..rank).filter(|_| !defined) {
                        if self.get(shape, component).is_none() {
                            let axis = axis + component;
                            let from = From::Axis { array: *array, place, axis };
                            self.set(shape, component, extents[axis], from);
                        }
                    }
                }
                axis += rank;
            }
        }
    }

    /// Gives some extents to eintups whose extents nothing reads.
    fn unread(&mut self) {
        let read = read::shapes(self.space.checked, self.bound);
        for (n, read) in read.into_iter().enumerate() {
            let extent = match self.space.kinds[n] {
                _ if read => continue,
                Kind::Open => 1,
                Kind::In(lo, hi) => lo.max(hi.min(1)),
                Kind::Equals(_) | Kind::Counted(..) => continue,
            };
            for known in &mut self.known[n] {
                known.get_or_insert(KnownExtent { value: extent, from: From::Unread });
            }
        }
    }

    fn counted(&mut self) {
        for link in &self.space.checked.system.links {
            let CountedQuantity::Shape(shape) = link.counts else { continue };
            let open = self.space.checked.system.dims_rules[shape.0 as usize].is_none();
            let told = self.get(shape, 0).is_some() || self.shifted[shape.0 as usize];
            let unknown = open && !told;
            if link.strict || unknown {
                let rank = self.space.ranks.total(self.space.checked, &link.rank);
                self.set(shape, 0, rank.into(), From::Counted(link));
            }
        }
    }

    /// Applies constraints until nothing more follows.
    fn propagate(&mut self) {
        let order = self.space.order.clone();
        let defined: Vec<ShapeId> = order
            .into_iter()
            .filter(|s| matches!(self.space.kinds[s.0 as usize], Kind::Equals(_)))
            .collect();
        let mut changed = true;
        while changed {
            changed = false;
            for &shape in &defined {
                for component in 0..self.space.rank(shape) {
                    changed |= self.apply(shape, component);
                }
            }
        }
    }

    /// Applies one constraint to one component; whether an extent became known.
    fn apply(&mut self, shape: ShapeId, component: usize) -> bool {
        let Kind::Equals(expr) = self.space.kinds[shape.0 as usize] else { return false };
        if self.reported[shape.0 as usize] {
            return false;
        }
        let mut unknown = expr.dims().into_iter().filter(|s| self.get(*s, component).is_none());
        let (first, second) = (unknown.next(), unknown.next());
        drop(unknown);
        match (first, second, self.get(shape, component)) {
            (None, _, before) => self.forwards(shape, component, before.is_none()),
            (Some(of), None, Some(value)) => self.backwards(shape, component, of, value),
            _ => false,
        }
    }

    fn forwards(&mut self, shape: ShapeId, component: usize, new: bool) -> bool {
        let Kind::Equals(expr) = self.space.kinds[shape.0 as usize] else { return false };
        let of = |s: ShapeId, c: usize| self.get(s, c);
        let value = self.space.defined(expr, component, &of);
        let extent = value.ok().and_then(|v| i64::try_from(v).ok()).filter(|v| *v >= 0);
        let Some(extent) = extent else {
            let terms = self.space.terms(shape, component, &of);
            self.reported[shape.0 as usize] = true;
            self.errors.push(failed(self.space.checked, shape, value, &terms));
            return false;
        };
        self.set(shape, component, extent as u64, From::Rule(shape));
        new
    }

    fn backwards(&mut self, shape: ShapeId, component: usize, of: ShapeId, value: u64) -> bool {
        let Some(found) = invert::values(self, shape, component, of, value) else { return false };
        match found.extents[..] {
            [extent] if found.all => {
                self.set(of, component, extent, From::Rule(shape));
                true
            }
            [] if found.all => {
                self.reported[shape.0 as usize] = true;
                let error = messages::unsatisfied(self, shape, component, Some(of));
                self.errors.push(error);
                false
            }
            _ => {
                self.several[of.0 as usize][component] = Some(found);
                false
            }
        }
    }

    /// Finds what is not known.
    fn rest(self) -> Result<RankOutcome, Vec<Diagnostic>> {
        let most = self.space.ranks.shapes.iter().copied().max().unwrap_or(0) as usize;
        let mut chosen: Vec<Search> = Vec::with_capacity(most);
        for component in 0..most {
            let found = search::search(&self, component);
            if found.solutions.is_empty() && !found.open {
                return Err(vec![self.nothing(component, &found)]);
            }
            chosen.push(found);
        }
        let undecided = chosen.iter().position(|c| c.open || c.solutions.len() > 1);
        let varied = undecided.map_or(1, |c| chosen[c].solutions.len());
        let dims = |which: usize| {
            let extent = |s: usize, c: usize| {
                let shape = ShapeId(s as u32);
                let n = if Some(c) == undecided { which } else { 0 };
                self.get(shape, c).or_else(|| chosen[c].get(n, shape)).unwrap_or(0)
            };
            let all = |s: usize| (0..self.known[s].len()).map(|c| extent(s, c)).collect();
            (0..self.known.len()).map(all).collect::<Vec<Vec<u64>>>()
        };
        if let Some(component) = undecided {
            let places = &self.space.ranks.places;
            let solution = |n| Solution { dims: dims(n), places: places.clone() };
            let solutions = (0..varied).map(solution).collect();
            let unknown = chosen.swap_remove(component).unknown;
            return Ok(RankOutcome { solutions, unknown });
        }
        let solution = self.space.solution(dims(0))?;
        Ok(RankOutcome { solutions: vec![solution], unknown: Vec::new() })
    }

    fn nothing(&self, component: usize, found: &Search) -> Diagnostic {
        let tied = self.space.order.iter().find(|shape| {
            self.get(**shape, component).is_some()
                && matches!(self.space.kinds[shape.0 as usize], Kind::Equals(expr)
                    if expr.dims().iter().any(|s| self.get(*s, component).is_none()))
        });
        match tied.or(found.unknown.first()) {
            Some(shape) => messages::unsatisfied(self, *shape, component, None),
            None => messages::ambiguous(self.space.checked, &[], &found.unknown),
        }
    }
}

impl Checked {
    /// The shape that has the extents of a place: that of the plain eintup which sizes it, for an
    /// input of the first that stands there.
    pub(super) fn place_shape(&self, array: usize, place: usize) -> Option<ShapeId> {
        use ijk_syntax::et::ast::Index;
        let standing = || self.system.standing[array].get(place).copied().flatten();
        match (self.arrays[array].origin, self.system.sizing[array].indices.get(place)?) {
            (Origin::Input, _) => standing().map(|t| self.tuples[t].shape),
            (_, Index::Tuple(name)) => self.tuple(&name.text).map(|t| t.shape),
            _ => None,
        }
    }
}
