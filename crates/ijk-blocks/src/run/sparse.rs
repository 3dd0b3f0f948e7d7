//! Sparse work list of a stage whose arrays lack blocks: derived from the blocks that exist, so that missing blocks
//! cost nothing.
//!
//! A panel of a block of the output adds nothing where all of its parts are missing, if the fill values annihilate. So
//! the candidates are the panels with a block of some operand. If a panel adds nothing without a certain operand,
//! whatever the others hold, the candidates are those of this operand alone.

use super::compute::Computer;
use super::skips::{PartState, Verdict};
use crate::Error;
use crate::domain::{Affine, Coordinates};
use crate::plan::{Leaf, Operand, Run, Stage};
use std::collections::HashMap;
use std::ops::Range;

/// Blocks and panels of a stage that may have to be computed.
#[derive(Debug)]
pub(crate) struct Sparse {
    /// Existing panels of the operands that decide.
    lines: Vec<OperandPanels>,
    /// The blocks of the output that have such a panel, in ascending order.
    pub(crate) blocks: Vec<Vec<usize>>,
}

/// Existing panels of an operand.
#[derive(Debug)]
struct OperandPanels {
    operand: usize,
    /// The axes of the output that it depends on.
    axes: Vec<usize>,
    /// For each position along these, panels in ascending order.
    panels: HashMap<Vec<usize>, Vec<usize>>,
}

/// Greatest number of candidates that are listed.
const MOST: usize = 1 << 24;

/// With so few panels each block is looked up.
const FEW: usize = 16;

/// With more panels than this, an operand of one block is read and examined first.
const MANY: usize = 1024;

/// Greatest number of operands for which required ones are determined.
const OPERANDS: usize = 6;

impl Sparse {
    /// Work list of a stage; none where all panels are computed, or there are too many to list.
    pub(crate) fn new(computer: &Computer) -> Result<Option<Self>, Error> {
        let stage = computer.stage;
        let points = stage.blocks().saturating_mul(stage.panels());
        let count = stage.operands.len();
        let nothing = vec![PartState::Missing; count];
        if points <= FEW || computer.skips.verdict(&nothing) != Verdict::Always {
            return Ok(None);
        }
        computer.reader.list(stage.operands.iter().map(|operand| &operand.expr))?;
        // An operand of one block exists for all panels. It is excluded if it adds nothing alone; the candidates then
        // follow from the other operands.
        let mut apart = None;
        if points > MANY && count > 1 {
            for operand in 0..count {
                if computer.is_harmless(operand)? {
                    apart = Some(operand);
                    break;
                }
            }
        }
        let others = (0..count).filter(|&n| Some(n) != apart);
        let lines: Vec<Option<OperandPanels>> =
            others.map(|n| OperandPanels::new(computer, n)).collect::<Result<_, _>>()?;
        let cost = |line: &OperandPanels| line.blocks(stage);
        // Returns true if no panel adds anything without this operand.
        let needed = |operand: usize| {
            let other = |n: usize, bits: usize| match bits >> n & 1 {
                1 if n != operand => PartState::Present,
                _ => PartState::Missing,
            };
            let states = |bits: usize| (0..count).map(|n| other(n, bits)).collect::<Vec<_>>();
            count <= OPERANDS
                && (0..1usize << count)
                    .all(|bits| computer.skips.verdict(&states(bits)) == Verdict::Always)
        };
        let one =
            lines.iter().flatten().filter(|line| needed(line.operand)).min_by_key(|l| cost(l));
        let lines = match one.map(|line| line.operand) {
            Some(operand) => lines.into_iter().flatten().filter(|l| l.operand == operand).collect(),
            None => match lines.into_iter().collect::<Option<Vec<OperandPanels>>>() {
                Some(lines) => lines,
                None => return Ok(None),
            },
        };
        let listed = lines.iter().fold(0usize, |sum, line| sum.saturating_add(cost(line)));
        if listed > MOST {
            return Ok(None);
        }
        let grid = stage.out.grid();
        let mut blocks: Vec<Vec<usize>> =
            lines.iter().flat_map(|line| line.places(&grid)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        Ok(Some(Self { lines, blocks }))
    }

    /// The panels of a block of the output that may add something, in ascending order.
    pub(crate) fn panels(&self, at: &[usize]) -> Vec<usize> {
        let mut all: Vec<usize> =
            self.lines.iter().filter_map(|line| line.at(at)).flatten().copied().collect();
        if self.lines.len() > 1 {
            all.sort_unstable();
            all.dedup();
        }
        all
    }

    /// The panels for which an operand exists, if it is one that decides.
    pub(crate) fn of(&self, operand: usize, at: &[usize]) -> Option<&[usize]> {
        let line = self.lines.iter().find(|line| line.operand == operand)?;
        Some(line.at(at).map_or(&[], Vec::as_slice))
    }
}

impl OperandPanels {
    /// Existing panels of an operand; none where they are not known, or all exist.
    fn new(computer: &Computer, number: usize) -> Result<Option<Self>, Error> {
        let (stage, operand) = (computer.stage, &computer.stage.operands[number]);
        let axes: Vec<usize> = (0..stage.kept()).filter(|&n| stage.reads(number, n)).collect();
        let mut panels: HashMap<Vec<usize>, Vec<usize>> = HashMap::new();
        let leaves = operand.expr.leaves();
        if leaves.is_empty() || operand.expr.fill().is_none() {
            return Ok(None);
        }
        let mut left = MOST;
        for leaf in leaves {
            let Some(present) = computer.reader.present(leaf.array)? else { return Ok(None) };
            let Some(maps) = Maps::new(computer, operand, leaf, &axes) else { return Ok(None) };
            for block in present {
                let Some(places) = maps.places(block) else { continue };
                let counts: Vec<usize> = places.iter().map(|places| places.len()).collect();
                left = match left.checked_sub(Coordinates::count(&counts)) {
                    Some(left) => left,
                    None => return Ok(None),
                };
                for n in Coordinates::all(&counts) {
                    let point: Vec<usize> = n.iter().zip(&places).map(|(&n, p)| p.get(n)).collect();
                    let (at, panel) = place_of(stage, &point);
                    let key = axes.iter().map(|&axis| at[axis]).collect();
                    panels.entry(key).or_default().push(panel);
                }
            }
        }
        for panels in panels.values_mut() {
            panels.sort_unstable();
            panels.dedup();
        }
        Ok(Some(Self { operand: number, axes, panels }))
    }

    fn at(&self, at: &[usize]) -> Option<&Vec<usize>> {
        let key: Vec<usize> = self.axes.iter().map(|&axis| at[axis]).collect();
        self.panels.get(&key)
    }

    /// Number of blocks of the output that have a panel of it.
    fn blocks(&self, stage: &Stage) -> usize {
        let grid = stage.out.grid();
        let others = (0..grid.len()).filter(|axis| !self.axes.contains(axis));
        let each = others.fold(1usize, |n, axis| n.saturating_mul(grid[axis]));
        self.panels.len().saturating_mul(each)
    }

    fn places<'a>(&'a self, grid: &'a [usize]) -> impl Iterator<Item = Vec<usize>> + 'a {
        let others: Vec<usize> = (0..grid.len()).filter(|axis| !self.axes.contains(axis)).collect();
        let counts: Vec<usize> = others.iter().map(|&axis| grid[axis]).collect();
        self.panels.keys().flat_map(move |key| {
            let mut at = vec![0; grid.len()];
            self.axes.iter().zip(key).for_each(|(&axis, &place)| at[axis] = place);
            let (others, counts) = (others.clone(), counts.clone());
            (0..Coordinates::count(&counts)).map(move |number| {
                let mut at = at.clone();
                let places = Coordinates::of(&counts, number);
                others.iter().zip(places).for_each(|(&axis, place)| at[axis] = place);
                at
            })
        })
    }
}

/// The block of the output and the panel at a point of the blocks of a stage's axes.
fn place_of(stage: &Stage, point: &[usize]) -> (Vec<usize>, usize) {
    let (mut at, mut folded) = (point[..stage.kept()].to_vec(), point[stage.kept()..].to_vec());
    let grid = stage.folded();
    if let (Some(each), Some(part), Some(first)) = (stage.split, at.last_mut(), folded.first_mut())
    {
        (*part, *first) = (*first / each, *first % each);
    }
    // A fold that needs all pairs at once has one panel.
    let panel = folded.iter().zip(&grid).fold(0, |panel, (&n, &blocks)| panel * blocks + n);
    (at, if stage.panels() == 1 { 0 } else { panel })
}

/// Blocks along an axis of a stage.
#[derive(Clone, Debug)]
enum PositionSet {
    All(Range<usize>),
    These(Vec<usize>),
}

impl PositionSet {
    fn len(&self) -> usize {
        match self {
            Self::All(range) => range.len(),
            Self::These(places) => places.len(),
        }
    }

    fn get(&self, n: usize) -> usize {
        match self {
            Self::All(range) => range.start + n,
            Self::These(places) => places[n],
        }
    }

    fn and(self, other: Self) -> Self {
        let within = |places: Vec<usize>, by: &dyn Fn(&usize) -> bool| {
            Self::These(places.into_iter().filter(|place| by(place)).collect())
        };
        match (self, other) {
            (Self::All(l), Self::All(r)) => Self::All(l.start.max(r.start)..l.end.min(r.end)),
            (Self::These(places), Self::All(range)) | (Self::All(range), Self::These(places)) => {
                within(places, &|place| range.contains(place))
            }
            (Self::These(l), Self::These(r)) => within(l, &|place| r.binary_search(place).is_ok()),
        }
    }
}

/// Map of the blocks of an array to those of the stage that read them.
struct Maps {
    /// The blocks of each axis of the stage.
    all: Vec<Range<usize>>,
    /// For each axis of the array.
    axes: Vec<Map>,
}

/// Map along one axis of an array.
enum Map {
    /// To the block of that number of an axis of the stage.
    Same(usize),
    /// To those blocks of an axis of the stage.
    ValueSet(usize, HashMap<usize, Vec<usize>>),
    /// To all of them.
    Fixed(Vec<usize>),
}

/// Longer axes are followed block by block only.
const LONGEST: usize = 1 << 21;

impl Maps {
    /// None where positions depend on more than one axis that has several blocks.
    fn new(computer: &Computer, operand: &Operand, leaf: &Leaf, own: &[usize]) -> Option<Self> {
        let stage = computer.stage;
        let ty = &computer.reader.arrays[leaf.array].ty;
        let whole: Vec<Range<usize>> = stage.axes.iter().map(|axis| 0..axis.extent).collect();
        let is_cut = |axis: usize| stage.axes[axis].blocks() > 1;
        let map = |(n, (place, along)): (usize, &(usize, crate::plan::AxisMap))| {
            let affine: &Affine = &operand.index[*place];
            let (extent, block) = (ty.dims[n], ty.blocks[n]);
            let runs = |ranges: &[Range<usize>]| -> Vec<Run> {
                along.runs(affine.range(ranges), extent, block)
            };
            let mut along_axes =
                (0..stage.axes.len()).filter(|&axis| is_cut(axis) && affine.has(axis));
            let Some(axis) = along_axes.next() else {
                let mut fixed: Vec<usize> = match extent.div_ceil(block.unwrap_or(extent).max(1)) {
                    1 => vec![0],
                    _ => runs(&whole).iter().map(|run| run.block).collect(),
                };
                fixed.sort_unstable();
                return Some(Map::Fixed(fixed));
            };
            if along_axes.next().is_some() {
                return None;
            }
            let cut = &stage.axes[axis];
            let as_it_is = affine.as_axis() == Some(axis) && along.is_identity();
            if as_it_is && cut.extent == extent && cut.block == block {
                return Some(Map::Same(axis));
            }
            if cut.blocks() > LONGEST {
                return None;
            }
            let mut blocks: HashMap<usize, Vec<usize>> = HashMap::new();
            let mut ranges = whole.clone();
            for number in 0..cut.blocks() {
                ranges[axis] = cut.range(number);
                for run in runs(&ranges) {
                    let here = blocks.entry(run.block).or_default();
                    if here.last() != Some(&number) {
                        here.push(number);
                    }
                }
            }
            Some(Map::ValueSet(axis, blocks))
        };
        let axes = leaf.axes.iter().enumerate().map(map).collect::<Option<_>>()?;
        // One position stands for all along axes of the output on which the operand does not depend; its part follows
        // from the block of the split axis.
        let all = stage.axes.iter().enumerate().map(|(n, axis)| {
            let one = n < stage.kept() && !own.contains(&n) || stage.parts() == Some(n);
            0..if one { axis.blocks().min(1) } else { axis.blocks() }
        });
        let all = all.collect();
        Some(Self { all, axes })
    }

    /// The blocks of each axis of the stage where a block of the array is read; none where it is not.
    fn places(&self, block: &[usize]) -> Option<Vec<PositionSet>> {
        let mut places: Vec<PositionSet> = self.all.iter().cloned().map(PositionSet::All).collect();
        for (map, &number) in self.axes.iter().zip(block) {
            let (axis, here) = match map {
                Map::Fixed(fixed) => {
                    fixed.binary_search(&number).ok()?;
                    continue;
                }
                Map::Same(axis) => (*axis, PositionSet::All(number..number + 1)),
                Map::ValueSet(axis, blocks) => {
                    (*axis, PositionSet::These(blocks.get(&number)?.clone()))
                }
            };
            places[axis] = places[axis].clone().and(here);
        }
        Some(places)
    }
}
