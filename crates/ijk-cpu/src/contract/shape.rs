//! How wide panels are, and which way a problem goes through the blocked loops.

use super::KC;
use super::across::Across;
use super::bundle::Operand;
use super::panel;
use super::problem::Problem;
use super::side::Lies;
use super::stage::LONG_RUN;
use super::steps::even;
use super::tasks;
use super::tile::{Entry, smallest};

/// Bytes of a left panel, or of its rows of the output, that stay in L1 while right panels pass.
const NEAREST_BYTES: usize = 32 << 10;

/// A left operand of more bytes does not stay near.
const FAR_BYTES: usize = 384 << 10;

/// Bytes of left that are read where they lie even for many columns.
const NEAR_BYTES: usize = 32 << 10;

/// Left panels for which right is not worth packing.
const ACROSS_PANELS: usize = 6;

/// Bytes of right for a block of k, or of left, that stay in L2 where they lie, for many panels of the other.
const LYING_BYTES: usize = 5 << 18;

/// Fewest right panels of a range of columns, since left is packed for each; the same where left comes from memory.
const RANGE_PANELS: usize = 32;
const FAR_RANGE_PANELS: usize = 64;

/// Bytes of a left operand that does not come from memory for each range: where it would be packed for each, it is
/// read where it lies.
const WITHIN_BYTES: usize = 4 << 20;

/// Where more columns meet a left panel, it takes no time to pack it.
const LYING_COLUMNS: usize = 2048;

/// Left panels that meet a right one in turn, where the output is written along rows.
pub(crate) const GROUP: usize = 8;

/// Fewest right panels, and bytes of the output, where it is; outputs of tests have fewer.
const GROUP_COLUMNS: usize = 6;
const GROUP_BYTES: usize = if cfg!(test) { 64 << 10 } else { 16 << 20 };

/// Columns that are a multiple of so many bytes apart have their lines in few sets of L2.
const SET_BYTES: usize = 4096;

/// A left operand that is near is packed for so many times as many columns as it has rows, where they are not.
const PACKED_COLUMNS: usize = 4;

/// Most steps of a block of k.
pub(super) const LONGEST: usize = 2 * KC;

/// So many steps take far longer than what surrounds a tile.
const MANY_STEPS: usize = 128;

/// The size of panels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Rows of a left panel.
    pub(crate) rows: usize,
    /// Columns of a right panel.
    pub(crate) columns: usize,
    /// Whether left is read where it lies.
    pub(crate) direct: bool,
    /// How whole panels of right are read where they lie.
    pub(crate) across: Option<Across>,
    /// Whether rows of left are read where they lie for many columns, and how they are.
    pub(crate) lying: Option<Lying>,
    /// Whether left is the side that threads share.
    pub(crate) resident: bool,
    /// Whether left is too large to stay near, so that later rows are worth fetching ahead.
    pub(crate) far: bool,
    /// Into how many ranges columns are cut, whose panels stay with the threads that packed them.
    pub(crate) ranges: usize,
    /// How many left panels meet a right one in turn.
    pub(crate) group: usize,
    /// Which blocks of k.
    length: Length,
}

/// Rows of left that microkernels for panels read where they lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lying {
    /// Elements from a step to the next.
    pub(crate) step: usize,
    /// Rows that are read so come in multiples of it.
    pub(crate) unit: usize,
}

/// How long blocks of k are: a tile is added to what the output holds once for each.
#[derive(Clone, Copy, Debug)]
enum Length {
    /// At most KC steps, whose left panel stays in L1.
    Whole,
    /// Half as many, so that it does, as do its rows of the output.
    Half,
    /// Twice as many: neither stays, and a panel that comes from L2 for each tile takes less than another block.
    Double,
}

impl Lying {
    /// Of a problem's left operand, if all of its rows are neighbours, and steps are equally far apart, but not so
    /// that they share few sets of L2.
    fn of(problem: &Problem, rows: usize, columns: usize) -> Option<Self> {
        let Problem { algebra, m, n, k, .. } = problem;
        let keeps = algebra.left == panel::Prepare::Keep
            && algebra.split == panel::Split::None
            && !algebra.guarded;
        let step = usize::try_from(k.step(Operand::Left)?).ok()?;
        let near = !(step * algebra.size).is_multiple_of(SET_BYTES) && n.len() <= LYING_COLUMNS;
        // Fewer rows than a panel has are not followed by zeros here.
        let fits = |groups| {
            let exact = |e: &Entry| e.groups == groups && e.columns == columns;
            algebra.tiles.packed.iter().any(exact)
        };
        let exact = n.len().is_multiple_of(columns) && (1..=rows / algebra.lanes).all(fits);
        let unit = if exact { algebra.lanes } else { rows };
        let lies = keeps && near && m.run(Operand::Left) == m.len();
        lies.then_some(Self { step, unit })
    }

    /// For panels of any of those rows, which are all neighbours.
    pub(crate) fn lies(&self) -> Lies {
        Lies { unit: self.unit, run: usize::MAX, by_offsets: false }
    }
}

impl Length {
    /// For left panels of so many rows, beside so many columns.
    fn of(rows: usize, columns: usize, size: usize) -> Self {
        let near = |count: usize| rows.saturating_mul(count).saturating_mul(size) <= NEAREST_BYTES;
        match (near(KC), near(columns)) {
            (true, _) => Self::Whole,
            (_, true) => Self::Half,
            _ => Self::Double,
        }
    }
}

impl Shape {
    /// That of a problem for so many threads.
    pub(crate) fn of(problem: &Problem, threads: usize) -> Self {
        let (algebra, n) = (&problem.algebra, problem.n.len());
        let wide = algebra.tiles.wide(n);
        let full = wide.unwrap_or(algebra.tiles.packed[0]);
        let groups = groups(problem, full.groups);
        let widths = algebra.tiles.direct.iter().map(|e| e.columns);
        let widest = widths.filter(|&columns| columns <= full.columns).max().unwrap_or(0);
        let long = problem.m.run(Operand::Left) >= 2 * algebra.lanes;
        let left_len = problem.m.len().saturating_mul(problem.k.len());
        let left_bytes = left_len.saturating_mul(algebra.size);
        let packed = smallest(algebra.tiles.packed, groups..=groups, n.min(full.columns)..).columns;
        let few = problem.m.len() <= ACROSS_PANELS * groups * algebra.lanes;
        let across = Across::of(problem, packed);
        let straight = across.is_some_and(|across| !across.windows);
        let pays = few && straight && n / PACKED_COLUMNS >= problem.m.len();
        let once = n <= widest || (widest > 0 && left_bytes <= NEAR_BYTES && !pays);
        let direct = once && long && algebra.left == panel::Prepare::Keep;
        // What is left of rows where they lie is a panel for the columns that microkernels of all groups have.
        let (groups, columns) = match direct {
            true => (full.groups, smallest(algebra.tiles.direct, .., n.min(widest)..).columns),
            false => (groups, packed),
        };
        let rows = groups * algebra.lanes;
        let resident = !direct && problem.shares_left();
        let fewest = if left_bytes <= WITHIN_BYTES { RANGE_PANELS } else { FAR_RANGE_PANELS };
        let packs = !(direct || resident);
        let ranges = match packs && has_ranges(problem) {
            true => tasks::ranges(n.div_ceil(columns), fewest, threads),
            false => 1,
        };
        let lies =
            |across: &Across| across.windows || few || lies_near(problem, across.apart, ranges);
        let across = across.filter(|across| !direct && lies(across));
        let columns = across.map_or(columns, |across| across.columns(problem, columns));
        let far = left_bytes > FAR_BYTES;
        let length = Length::of(rows, n, algebra.size);
        let group = if packs && writes_rows(problem, rows, columns) { GROUP } else { 1 };
        let most = if ranges > 1 { WITHIN_BYTES } else { LYING_BYTES };
        let near = (NEAREST_BYTES + 1..=most).contains(&left_bytes);
        let lies = packs && group == 1 && near;
        let lying = if lies { Lying::of(problem, rows, columns) } else { None };
        Self { rows, columns, direct, across, lying, resident, far, ranges, group, length }
    }

    /// Steps of a block of k where there are so many in all. There are as many blocks as `2 · steps / KC`
    /// says, or fewer, and none is longer than [`LONGEST`].
    pub(crate) fn block(&self, steps: usize) -> usize {
        match self.length {
            Length::Half if !self.direct => steps.div_ceil((2 * steps / KC).max(1)).max(1),
            Length::Double if !self.direct => even(steps, LONGEST, 1),
            _ => even(steps, KC, 1),
        }
    }

    /// That of a problem where panels of an operand are there already.
    pub(crate) fn with_panels(problem: &Problem, operand: Operand) -> Self {
        let shape = Self::of(problem, 1);
        match operand {
            Operand::Left => {
                Self { direct: false, resident: true, far: false, lying: None, ..shape }
            }
            _ => Self { resident: false, across: None, ..shape },
        }
    }

    /// The same for columns that one thread has to itself.
    pub(crate) fn in_one_range(self) -> Self {
        Self { ranges: 1, ..self }
    }
}

/// Whether columns may be cut into ranges: rounds and parts of a stage depend on how many columns there are at a
/// time, and where steps are few, it is left and the output that take time.
fn has_ranges(problem: &Problem) -> bool {
    let Problem { m, k, tile, .. } = problem;
    tile.is_none() && m.run(Operand::Out) >= LONG_RUN && k.len() >= MANY_STEPS
}

/// Whether a large output is written for few steps, whose rows are neighbours and columns far apart: by one tile after
/// another along rows then, since memory takes and gives long runs faster, though left panels come from L2.
fn writes_rows(problem: &Problem, rows: usize, columns: usize) -> bool {
    let Problem { algebra, m, n, k, .. } = problem;
    let bytes = problem.outputs().saturating_mul(algebra.size);
    let long = m.run(Operand::Out) >= GROUP * rows;
    let apart = n.inner(Operand::Out).1.unsigned_abs() >= GROUP * rows;
    let many = n.len() >= GROUP_COLUMNS * columns;
    bytes >= GROUP_BYTES && k.len() < MANY_STEPS && long && apart && many
}

/// Whether the columns of a range stay in L2 where they lie so many elements apart, while left panels pass them.
fn lies_near(problem: &Problem, apart: isize, ranges: usize) -> bool {
    let Problem { algebra, n, k, .. } = problem;
    let apart = apart.unsigned_abs().saturating_mul(algebra.size);
    let block = k.len().min(LONGEST) * algebra.size;
    let each = if apart.is_multiple_of(SET_BYTES) { apart.max(block) } else { block };
    k.len() >= MANY_STEPS && (n.len() / ranges).saturating_mul(each) <= LYING_BYTES
}

/// Groups of rows of a panel where the widest microkernel takes `most`: two, with steps enough to
/// make up for more tiles, where three would leave one over, whose microkernel waits for its own
/// sums.
fn groups(problem: &Problem, most: usize) -> usize {
    let Problem { algebra, m, k, .. } = problem;
    let pairs = |e: &Entry| e.groups == 2 && e.columns == algebra.tiles.packed[0].columns;
    let rest = most == 3 && m.len().div_ceil(algebra.lanes) == 4 && k.len() >= MANY_STEPS;
    if rest && algebra.tiles.packed.iter().any(pairs) { 2 } else { most }
}

/// How wide the panels of an operand are that is packed for many problems.
pub(crate) fn width(problem: &Problem, operand: Operand) -> usize {
    let shape = Shape::with_panels(problem, operand);
    if operand == Operand::Left { shape.rows } else { shape.columns }
}
