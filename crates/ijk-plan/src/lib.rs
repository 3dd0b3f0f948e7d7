//! From the core IR to a plan: fusion, classification, memory.
//!
//! A plan is plain printable data. It knows no threads and no SIMD.
//!
//! [`plan()`] runs these passes in this order, each in its own file, the result of each verified in debug builds:
//!
//! 0. *facts* replaces elements and arguments by what is known of them, *bounds* narrows domains to points whose indices
//!    are in bounds;
//! 1. *simplify* folds constants and views, and drops what nobody needs;
//! 2. *fuse* evaluates elementwise producers where they are used;
//! 3. *regions* does so with maps that define a part of an array, in the box of it that a consumer reads,
//!    and *lines* gives temporaries of short rows another order of axes;
//! 4. *signs* drops those that nobody sees;
//! 5. *extremes* applies monotone functions to what is the greatest or least instead of to all;
//! 6. *split* turns divisions and remainders of indices into axes of their own;
//! 7. *quotients* cuts domains where divisions and remainders that are left change their quotient;
//! 8. *prefix factors* takes factors of the position out of reductions over all points up to one;
//! 9. *prefixes* turns such reductions into scans;
//! 10. *scatters* reduces before it scatters;
//! 11. *pieces* cuts domains where points are skipped, so that most need no test;
//! 12. *products* are taken apart: what does not depend on a reduced axis comes behind, and what is left
//!     becomes contractions of two accesses, in a good order;
//! 13. *gathered* copies rows at computed places that are read often, *across* reduces along what is read, and *fuse
//!     maps* joins what these put behind reductions with what was there;
//! 14. *hoist* evaluates functions of few axes before;
//! 15. *arg* stores positions of extremes that do not cover their output apart;
//! 16. *turned* copies operands and results that a statement would go across, *tables* arrays that are read at computed
//!     places and *rows* operands of contractions, both where rows lie apart;
//! 17. *emit* gives arrays their memory and statements their kernels;
//! 18. *forward* goes through axes in the order that neighbours have in memory.

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

/// A statement of at most this many points is evaluated point by point, in the order of its
/// domain, with one rounding for each operation.
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
    // Slower, but its temporaries are as large as a block of rows wherever that is possible.
    let blocks = Layout { near: 0, ..layout.clone() };
    let smaller = emit::plan(&graph, &blocks)?;
    if fits(&smaller).is_ok() {
        return Ok(smaller);
    }
    // Slower still: what is scattered, and factors of what is reduced, are never stored, and no border copied.
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

/// The graph with copies of arrays whose rows lie apart, if there is anything to copy.
fn copied(graph: &Graph, layout: &Layout) -> Option<Graph> {
    let turned = turned::copied(graph, layout);
    let tables = tables::copied(turned.as_ref().unwrap_or(graph), layout).or(turned);
    let rows = rows::copied(tables.as_ref().unwrap_or(graph), layout);
    let copied = rows.or(tables)?;
    verify(&copied, "copies");
    Some(copied)
}

/// The graph after all passes that are wanted.
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
