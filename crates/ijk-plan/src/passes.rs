//! The passes in their order: each is a mechanism that rewrites a [`Graph`], not a list of spellings.

use crate::algebra::{extremes, hoist, log_products, log_sums, prefix, product, scales, scatter};
use crate::canonical::{equal, exact, fuse, lanes, overlaps, regions, selections, signs, simplify};
use crate::domain::{bounds, distances, peel, placements, positions, quotients, split};
use crate::graph::Graph;
use crate::graph::verify::verify;
use crate::layout::{Layout, argreduce, axis_order, gathered, rows, tables};
use crate::layout::{reversed, transposed_reductions, transposes};

/// A pass over a graph.
pub(crate) struct Pass {
    name: &'static str,
    run: fn(&mut Graph),
    /// The memory pressure from which on the pass is skipped.
    skipped_from: Option<Pressure>,
}

impl Pass {
    const fn new(name: &'static str, run: fn(&mut Graph)) -> Self {
        Self { name, run, skipped_from: None }
    }

    /// Skips the pass from a memory pressure on.
    const fn skipped_from(self, pressure: Pressure) -> Self {
        Self { skipped_from: Some(pressure), ..self }
    }
}

/// Memory pressure: passes that store intermediates for speed only are skipped if a plan exceeds the memory limit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pressure {
    /// No pass is skipped.
    Low,
    /// Passes are skipped that store what is scattered, or copy borders.
    High,
    /// All passes are skipped that store intermediates for speed.
    Highest,
}

/// The passes in their order. The graph starts as the core IR with facts about arguments substituted; after each pass,
/// the invariants of `verify` hold.
pub(crate) const PASSES: [Pass; 32] = [
    // Needs nothing. Leaves the fewest guards; all other indices are in bounds.
    Pass::new("bounds", bounds::bound),
    // Needs guards to be explicit. Leaves no arithmetic on types that are only stored.
    Pass::new("lanes", lanes::widen),
    // Needs guards to be explicit. Leaves no view whose inlining adds no division, and no dead statement.
    Pass::new("simplify", simplify::simplify),
    // Needs nothing. Leaves comparisons of positions in place of those of distances.
    Pass::new("distances", distances::compare_ends),
    // Needs guards to be explicit. Leaves boxes of outputs that choose by a position; what is chosen can be fused.
    Pass::new("positions", positions::cut),
    // Needs views to be gone. Leaves maps that have several uses, or are evaluated more than once per element.
    Pass::new("fuse", fuse::fuse),
    // Needs casts and their consumers in one expression. Leaves no cast to a narrow type that nothing distinguishes.
    Pass::new("narrowings", lanes::drop_narrowings),
    // Needs comparisons inlined. Leaves gathers in place of sums that select one term.
    Pass::new("selections", selections::select),
    // Needs what no sum selects. Leaves maps without the test, and stores to the places where it holds.
    Pass::new("placements", placements::place),
    // Needs what `fuse` could not inline as a whole. Leaves boxes that evaluate such maps in place.
    Pass::new("regions", regions::fuse),
    // Needs that. Leaves boxes that add all values of an element at once.
    Pass::new("overlaps", overlaps::fuse),
    // Needs operators and their consumers in one expression. Leaves no sign that is not demanded.
    Pass::new("signs", signs::drop_signs),
    // Needs signs to be gone. Leaves maxima and minima without monotone functions, before products take them apart.
    Pass::new("extremes", extremes::move_functions_out),
    // Needs the final set of temporaries of the program itself. Leaves them contiguous along long axes.
    Pass::new("axis order", axis_order::choose),
    // Needs the axis order, since it splits axes. Leaves strides in place of divisions of whole axes.
    Pass::new("split", split::split_axes),
    // Needs divisions that no split removes. Leaves boxes with affine indices, for scans, peeling and contractions.
    Pass::new("quotients", quotients::cut).skipped_from(Pressure::High),
    // Needs values whole. Leaves maxima of prefixes, and of what they would otherwise choose.
    Pass::new("prefix choices", prefix::take_apart),
    // Needs affine guards of prefixes. Leaves prefix reductions whose value does not depend on the position.
    Pass::new("prefix factors", prefix::move_factors_out),
    // Needs that, and comes before products, which would contract n² points. Leaves scans.
    Pass::new("prefixes", prefix::scan_prefixes),
    // Needs scans to be found, and values whole. Leaves sums of products, and what is too small for them.
    Pass::new("log products", log_products::factor).skipped_from(Pressure::High),
    // Needs that. Leaves no log-add-exp that reduces or scans.
    Pass::new("log sums", log_sums::lower),
    // Needs scans to be found. Leaves scatters without reduced axes; the reductions may be contractions.
    Pass::new("scatters", scatter::reduce_first).skipped_from(Pressure::High),
    // Needs guards that no earlier pass consumed. Leaves boxes, most of them without guards.
    Pass::new("peel", peel::cut),
    // Needs all factors of a value in one statement. Leaves contractions of two accesses, and epilogues.
    Pass::new("products", product::order_products).skipped_from(Pressure::Highest),
    // Needs gathers that products did not move. Leaves copies of rows that are read often, and masks.
    Pass::new("gathered", gathered::copy_rows).skipped_from(Pressure::Highest),
    // Needs reductions in their final form. Leaves them in the order of their input, and transposing copies.
    Pass::new("transposed reductions", transposed_reductions::transpose_outputs)
        .skipped_from(Pressure::Highest),
    // Needs the epilogues of the passes before. Leaves one map for each chain of them.
    Pass::new("fuse maps", fuse::fuse_maps),
    // Needs what no kernel of integers multiplies. Leaves no arithmetic on integers that floats hold exactly.
    Pass::new("exact", exact::convert_operands),
    // Needs what remains a loop nest. Leaves slow functions of few axes, and those of positions, in arrays.
    Pass::new("hoist", hoist::evaluate_before).skipped_from(Pressure::Highest),
    // Needs nothing. Leaves argmax and argmin with dense outputs, and orders of elements, as their kernels require.
    Pass::new("argreduce", argreduce::densify_outputs),
    // Needs epilogues that are a power of two alone. Leaves them on the smaller operand; no dead statements.
    Pass::new("scales", scales::hoist_scales),
    // Needs all temporaries. Leaves one of those that are equal.
    Pass::new("equal", equal::share),
];

/// Applies the passes that are not skipped under a memory pressure.
pub(crate) fn apply(mut graph: Graph, pressure: Pressure) -> Graph {
    let is_skipped = |pass: &Pass| pass.skipped_from.is_some_and(|from| pressure >= from);
    for pass in PASSES.iter().filter(|pass| !is_skipped(pass)) {
        (pass.run)(&mut graph);
        verify(&graph, pass.name);
    }
    graph
}

/// A pass that copies strided operands, given the layout of inputs and outputs; `None` if there is nothing to copy.
type CopyPass = fn(&Graph, &Layout) -> Option<Graph>;

/// The passes that copy operands, in their order, after all others: their copies are dropped first under memory
/// pressure.
const COPY_PASSES: [(&str, CopyPass); 4] = [
    // Needs statements in their final form. Leaves operands of reductions in one direction.
    ("reversed", reversed::copied),
    // Needs what is gathered to be final. Leaves gathered tables with contiguous rows, and reductions in their order.
    ("tables", tables::copied),
    // Needs statements in their final form. Leaves operands and outputs contiguous along the same axis.
    ("transposes", transposes::copied),
    // Needs contractions to be final. Leaves their operands in the order of packing.
    ("rows", rows::copied),
];

/// The graph with copies of strided operands; `None` if there is nothing to copy.
pub(crate) fn with_copies(graph: &Graph, layout: &Layout) -> Option<Graph> {
    let mut copied: Option<Graph> = None;
    for (name, pass) in COPY_PASSES {
        if let Some(next) = pass(copied.as_ref().unwrap_or(graph), layout) {
            verify(&next, name);
            copied = Some(next);
        }
    }
    copied
}
