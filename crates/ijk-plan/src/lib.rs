//! The planner: from the core IR to a plan.
//!
//! A plan is plain printable data. It knows no threads and no SIMD.
//!
//! [`plan()`] applies these passes in this order, each in its own file; debug builds verify the graph after each:
//!
//! 0. *facts* substitutes known argument values, *bounds* narrows domains to points whose indices are in bounds;
//! 1. *simplify* folds constants and views, and drops dead statements;
//! 2. *fuse* inlines elementwise producers;
//! 3. *selections* rewrites sums with comparisons as gathers;
//! 4. *regions* inlines maps that define a box of an array;
//! 5. *signs* removes sign operations that no consumer distinguishes;
//! 6. *extremes* moves monotone functions out of maxima and minima;
//! 7. *lines* orders the axes of temporaries;
//! 8. *split* turns divisions and remainders of indices into axes of their own;
//! 9. *quotients* cuts domains at changes of the quotients that remain;
//! 10. *prefix factors* moves factors of the position out of prefix reductions;
//! 11. *prefixes* rewrites such reductions as scans;
//! 12. *scatters* splits reductions off scatters;
//! 13. *pieces* cuts guarded domains into boxes, most of which need no guard;
//! 14. *products* moves factors without reduced axes behind reductions, and orders the others as contractions;
//! 15. *gathered* copies gathered rows that are read often, *across* stores reductions in the order of their input, and
//!     *fuse maps* joins the epilogues that these added;
//! 16. *hoist* evaluates slow functions of few axes once;
//! 17. *arg* gives argmax and argmin a dense output;
//! 18. *factors* moves scales of contractions to the smaller operand;
//! 19. *turned*, *tables* and *rows* copy strided operands;
//! 20. *emit* assigns memory to arrays and kernels to statements;
//! 21. *forward* reverses axes of negative stride.

mod across;
mod arg;
mod axes;
mod bounds;
mod buffers;
mod contraction;
mod copies;
mod cost;
mod coverage;
mod display;
mod emit;
mod error;
mod expr;
mod extremes;
mod factors;
mod facts;
mod forward;
mod fuse;
mod gathered;
mod graph;
mod grouped;
mod hoist;
mod index;
mod layout;
mod lines;
mod memory;
mod nest;
mod network;
pub mod order;
mod pieces;
pub mod plan;
mod prefix;
mod product;
mod quotients;
mod regions;
mod rows;
mod scatter;
mod selections;
mod signs;
mod simplify;
mod split;
mod sweep;
mod tables;
mod turned;
mod verify;

pub use cost::{Cost, Kernel};
pub use display::Bytes;
pub use error::PlanError;
pub use facts::Facts;
pub use layout::{Layout, c_strides};
pub use network::plan_product;

use graph::Graph;
use ijk_ir::core::{Instance, Program};
use plan::Plan;
use verify::verify;

/// A statement of at most this many points is evaluated point by point, in the order of its domain, with one rounding
/// per operation.
pub const SMALL_DOMAIN: u64 = 256;

/// Plans a program for element types and shapes, and the memory layout of its inputs and outputs.
///
/// # Errors
/// [`PlanError`] if arrays are too large, or larger than the memory limit, or the layout does not
/// fit the program.
pub fn plan(program: &Program, instance: &Instance, layout: &Layout) -> Result<Plan, PlanError> {
    layout.check(program, instance)?;
    let graph = || -> Result<Graph, PlanError> {
        let graph = Graph::new(program, instance, layout.strict)?.lying(layout);
        Ok(facts::told(graph, layout))
    };
    let (graph, anew) = (passed(graph()?, |_| true), graph);
    let fits = |plan: &Plan| check_memory(&graph, plan.temporary_bytes(), layout);
    if let Some(copied) = copied(&graph, layout) {
        let plan = emit::plan(&copied, layout)?;
        if fits(&plan).is_ok() {
            return Ok(plan);
        }
    }
    let plan = emit::plan(&graph, layout)?;
    if fits(&plan).is_ok() {
        return Ok(plan);
    }
    // Slower, but temporaries have the size of a block of rows where possible.
    let blocks = Layout { near: 0, ..layout.clone() };
    let smaller = emit::plan(&graph, &blocks)?;
    if fits(&smaller).is_ok() {
        return Ok(smaller);
    }
    // Slower still: without the passes that store intermediates for speed only.
    let mut smallest = smaller;
    for left_out in
        [&[SCATTERS, QUOTIENTS][..], &[SCATTERS, QUOTIENTS, PRODUCTS, GATHERED, ACROSS, HOIST]]
    {
        smallest = emit::plan(&passed(anew()?, |pass| !left_out.contains(&pass)), &blocks)?;
        if fits(&smallest).is_ok() {
            break;
        }
    }
    fits(&smallest).map(|()| smallest)
}

/// The graph with copies of strided arrays; `None` if there is nothing to copy.
fn copied(graph: &Graph, layout: &Layout) -> Option<Graph> {
    let turned = turned::copied(graph, layout);
    let tables = tables::copied(turned.as_ref().unwrap_or(graph), layout).or(turned);
    let rows = rows::copied(tables.as_ref().unwrap_or(graph), layout);
    let copied = rows.or(tables)?;
    verify(&copied, "copies");
    Some(copied)
}

/// Applies the passes that are `wanted`.
fn passed(mut graph: Graph, wanted: impl Fn(&str) -> bool) -> Graph {
    for (name, pass) in PASSES.into_iter().filter(|(name, _)| wanted(name)) {
        pass(&mut graph);
        verify(&graph, name);
    }
    graph
}

type Pass = fn(&mut Graph);

const SCATTERS: &str = "scatters";
const PRODUCTS: &str = "products";
const ACROSS: &str = "across";
const GATHERED: &str = "gathered";
const HOIST: &str = "hoist";
const QUOTIENTS: &str = "quotients";

const PASSES: [(&str, Pass); 21] = [
    ("bounds", bounds::bound),
    ("simplify", simplify::simplify),
    ("fuse", fuse::fuse),
    ("selections", selections::select),
    ("regions", regions::fuse),
    ("signs", signs::drop_signs),
    ("extremes", extremes::take_out),
    ("lines", lines::lengthen),
    ("split", split::split_axes),
    (QUOTIENTS, quotients::cut),
    ("prefix factors", prefix::take_out),
    ("prefixes", prefix::scan_prefixes),
    (SCATTERS, scatter::reduce_first),
    ("pieces", pieces::cut),
    (PRODUCTS, product::order_products),
    (GATHERED, gathered::copy_rows),
    (ACROSS, across::store_along),
    ("fuse maps", fuse::fuse_maps),
    (HOIST, hoist::evaluate_before),
    ("arg", arg::cover_arg),
    ("factors", factors::apply_to_fewer),
];

fn check_memory(graph: &Graph, temporaries: u64, layout: &Layout) -> Result<(), PlanError> {
    let Some(limit) = layout.memory_limit else { return Ok(()) };
    let results = graph.outputs.iter().try_fold(0u64, |sum, &output| {
        Ok::<_, PlanError>(sum.saturating_add(buffers::bytes(graph.array(output))?))
    })?;
    let needed = results.saturating_add(temporaries);
    if needed <= limit {
        return Ok(());
    }
    Err(PlanError::MemoryLimit { needed, results, temporaries, limit })
}
