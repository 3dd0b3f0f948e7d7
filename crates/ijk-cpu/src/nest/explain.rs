//! Variant and tiles of a nest, with reasons.

use super::TileNest;
use super::program::{Instruction, LoadMode, OffsetCheck, ReduceKernels, ReduceSpec, Sink};
use crate::explain::{KernelChoice, Reason, Relation, limit};
use ijk_kernels::tuning::order::{REDUCTION_CHUNK_POINTS, UNCHUNKED_BLOCKS};

impl TileNest {
    /// Its algorithm and blocking, with reasons.
    pub(crate) fn explain(&self) -> KernelChoice {
        let inner = &self.geometry.inner;
        let tile: usize = inner.iter().map(|&a| self.geometry.loops[a].tile).product();
        let row = inner.last().map_or(1, |&a| self.geometry.loops[a].tile);
        let extents = |reduced: bool| {
            let loops = self.geometry.loops.iter().filter(|each| each.axis.reduced == reduced);
            loops.map(|each| each.axis.extent).product()
        };
        let choice = KernelChoice::new(self.algorithm())
            .extent("outputs", extents(false))
            .extent("values of an output", extents(true))
            .block("tile", tile, "points");
        let choice = match self.registers.len() {
            0 => choice,
            n => choice.holding("values of each function", self.scratch / n.max(1)),
        };
        let choice = choice.block("row", row, "points").block(
            "tiles",
            self.blocks.iter().product(),
            "tiles",
        );
        let choice = self.sink_blocks(choice);
        choice
            .because(self.function_reason())
            .because(self.reduction_reason())
            .because(self.order_reason())
            .because(self.store_reason())
    }

    /// Name of the variant.
    fn algorithm(&self) -> &'static str {
        let chains = self.chains() > 0;
        match &self.sink {
            Sink::Store { moved: true, .. } => self.copy_name(),
            Sink::Stream(_) if self.instructions.is_empty() && !self.is_constant() => {
                self.copy_name()
            }
            Sink::Direct | Sink::Store { .. } | Sink::StoreRows | Sink::Stream(_) => match () {
                () if self.is_constant() => "fill",
                () if chains => "tiles with chains",
                () => "tiles, one kernel for each function",
            },
            Sink::Combine { .. } => "tiles combined with the output",
            Sink::Scatter { fold: Some(_), .. } => "elements combined one by one",
            Sink::Scatter { fold: None, .. } => "elements stored one by one",
            Sink::Rows(rows) if rows.accumulates() => "rows combined at computed positions",
            Sink::Rows(_) => "rows moved between computed positions",
            Sink::Reduce(spec) => reduction_name(spec, chains),
        }
    }

    /// Returns true if all points have one value.
    fn is_constant(&self) -> bool {
        let varies = |each: &Instruction| {
            !matches!(
                each,
                Instruction::Map(_) | Instruction::Select { .. } | Instruction::Chain(_)
            )
        };
        self.loads.is_empty() && !self.instructions.iter().any(varies)
    }

    /// Name of a copy, by the strides of the load along the innermost axis of a tile.
    fn copy_name(&self) -> &'static str {
        let [load] = &self.loads[..] else { return "copy" };
        let unit = load.size as isize;
        match load.place.inner.last() {
            Some(0) => "broadcasting copy",
            Some(&step) if step == unit => "copy of contiguous rows",
            Some(_) if load.place.inner.contains(&unit) => "transposing copy",
            Some(_) => "strided copy",
            None => "copy",
        }
    }

    /// Number of chains.
    fn chains(&self) -> usize {
        let chain = |each: &&Instruction| matches!(each, Instruction::Chain(_));
        self.instructions.iter().filter(chain).count()
    }

    /// Returns true if a chain folds its values into the results.
    fn folds_chain(&self) -> bool {
        matches!(&self.sink, Sink::Reduce(spec) if spec.chain.is_some())
    }

    /// Adds the blocks that depend on the sink.
    fn sink_blocks(&self, choice: KernelChoice) -> KernelChoice {
        match &self.sink {
            Sink::Rows(rows) => choice.extent("elements of a row", rows.length),
            Sink::Reduce(spec) => {
                let choice = match &spec.rows {
                    Some(rows) => choice.extent("elements of a row", rows.length),
                    None => choice,
                };
                let choice = choice
                    .block("outputs", spec.outputs, "sums")
                    .holding("partial results", spec.levels * spec.stride);
                if spec.chunks > 1 { choice.block("chunks", spec.chunks, "chunks") } else { choice }
            }
            _ => choice,
        }
    }

    /// The reason for chains, or for values in registers of a tile.
    fn function_reason(&self) -> Option<Reason> {
        let (all, chains) = (self.instructions.len(), self.chains());
        let links: usize = self.instructions.iter().map(links).sum();
        let packed =
            self.loads.iter().filter(|load| !matches!(load.mode, LoadMode::Direct)).count();
        let mut text = match (all, chains) {
            (0, _) => return None,
            _ if self.is_constant() => return None,
            (_, 0) => format!("a tile takes {all} kernel{}, whose values stay in L1", plural(all)),
            (_, _) => format!(
                "{links} function{} form {chains} chain{}, whose values {} in registers{}",
                plural(links),
                plural(chains),
                if self.folds_chain() { "stay and are folded" } else { "stay" },
                if all > chains {
                    format!(", beside {} kernels", all - chains)
                } else {
                    String::new()
                }
            ),
        };
        if packed > 0 {
            text += &format!(
                "; {packed} operand{} packed for each tile",
                if packed == 1 { " is" } else { "s are" }
            );
        }
        Some(Reason::plain(text))
    }

    /// The reason for chunks of a reduction, or against them.
    fn reduction_reason(&self) -> Option<Reason> {
        let Sink::Reduce(spec) = &self.sink else { return None };
        let kept: usize = self.geometry.kept.iter().map(|&a| self.blocks[a]).product();
        if kept >= UNCHUNKED_BLOCKS {
            let then = "blocks of outputs are divided among threads, and sums are not cut";
            let blocks = ("blocks of outputs", kept);
            return Some(Reason::compared(
                blocks,
                Relation::AtLeast,
                limit!(UNCHUNKED_BLOCKS),
                then,
            ));
        }
        let length = spec.rows.as_ref().map_or(1, |rows| rows.length);
        let points =
            self.geometry.loops.iter().enumerate().map(|(a, each)| each.tile * self.blocks[a]);
        let points = ("points", points.product::<usize>().saturating_mul(length));
        let limit = ("2·REDUCTION_CHUNK_POINTS", 2 * REDUCTION_CHUNK_POINTS);
        Some(match spec.chunks {
            1 if points.1 >= limit.1 => {
                Reason::plain("sums of one block of tiles are not cut into chunks")
            }
            1 => Reason::compared(points, Relation::Below, limit, "sums are not cut into chunks"),
            _ => {
                let then = "chunks of each sum are divided among threads and combined pairwise";
                Reason::compared(points, Relation::AtLeast, limit, then)
            }
        })
    }

    /// The reason for the order in which points are processed.
    fn order_reason(&self) -> Option<Reason> {
        let text = match &self.sink {
            Sink::Scatter { range: None, .. } => {
                "values that meet in one element are combined in the order of the domain"
            }
            Sink::Scatter {
                range: Some(OffsetCheck::Range { .. } | OffsetCheck::Sparse { .. }),
                ..
            } => "positions in the output are computed, and each is checked",
            Sink::Store { moved: true, .. } if self.copy_name() == "transposing copy" => {
                "each side is contiguous along another axis: blocks of cache lines are transposed in registers"
            }
            Sink::Store { moved: true, .. } => {
                "axes that are contiguous to each other are copied as one"
            }
            Sink::Reduce(spec) if spec.needed.is_some() => {
                "a block of outputs that all lack the condition is not reduced"
            }
            Sink::Rows(rows) if rows.has_parts() => {
                "positions are computed once for a row; unless they ascend, sums are added up in copies of the output"
            }
            Sink::Rows(_) => "positions are computed once for a row, and rows are prefetched",
            _ => return None,
        };
        Some(Reason::plain(text))
    }

    /// The reason for non-temporal stores.
    fn store_reason(&self) -> Option<Reason> {
        let streams = match &self.sink {
            Sink::Stream(_) => true,
            Sink::Rows(rows) => rows.stream.is_some(),
            _ => false,
        };
        let text = "the result is out of cache before it is complete, and written with non-temporal stores";
        streams.then(|| Reason::plain(text))
    }
}

/// Name of a reduction.
fn reduction_name(spec: &ReduceSpec, chains: bool) -> &'static str {
    match (&spec.reducer, &spec.rows, spec.chunks > 1) {
        (ReduceKernels::Arg(_), ..) => "positions of extremes in tiles",
        (_, Some(_), _) => "reduction of rows at computed positions",
        (_, None, true) if chains => "reduction in chunks of tiles with chains",
        (_, None, true) => "reduction in chunks of tiles",
        (_, None, false) if chains => "reduction of tiles with chains",
        (_, None, false) => "reduction of tiles",
    }
}

/// Number of functions of an instruction.
fn links(instruction: &Instruction) -> usize {
    match instruction {
        Instruction::Chain(chain) => {
            chain.links.iter().filter(|link| link.code.is_function()).count()
        }
        _ => 0,
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
