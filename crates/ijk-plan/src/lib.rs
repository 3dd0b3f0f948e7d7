//! The planner: from the core IR to a plan.
//!
//! A plan is plain printable data. It knows no threads and no SIMD.
//!
//! [`plan()`] builds a graph, applies the passes, and lowers the graph to steps. Each room holds one kind of work:
//!
//! | room | work |
//! |---|---|
//! | `graph` | the IR of the passes: statements, expressions, index arithmetic, invariants |
//! | `passes` | the passes in their order, each with what it needs and leaves |
//! | `canonical` | canonical form: facts, folding, fusion, signs |
//! | `domain` | bounds, splits of axes, cuts into boxes |
//! | `algebra` | factors and functions moved out of reductions; products, scans, scatters |
//! | `layout` | axis order of temporaries, copies of strided and gathered operands |
//! | `select` | statements that contraction kernels compute |
//! | `lower` | buffers, steps, loop nests; sweeps over blocks of rows |
//! | [`plan`](mod@plan) | plans, their cost and display |
//! | [`order`] | the order in which many tensors are multiplied |

mod algebra;
mod canonical;
mod domain;
mod error;
mod graph;
mod layout;
mod lower;
pub mod order;
mod passes;
pub mod plan;
mod select;

pub use canonical::facts::Facts;
pub use error::PlanError;
pub use layout::{Layout, c_strides};
pub use lower::network::plan_product;
pub use plan::cost::{Cost, Kernel};
pub use plan::display::Bytes;
pub use plan::loops::{LoopOptions, plan_loop};

use canonical::facts;
use graph::Graph;
use ijk_ir::core::{Instance, Program};
use lower::{buffers, emit};
use passes::Pressure;
use plan::Plan;

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
    let lowered = |pressure| -> Result<Graph, PlanError> {
        let graph = Graph::new(program, instance, layout.strict)?
            .with_strides(&layout.inputs, &layout.outputs);
        Ok(passes::apply(facts::substitute(graph, &layout.facts), pressure))
    };
    let graph = lowered(Pressure::Low)?;
    let fits = |plan: &Plan| check_memory(&graph, plan.temporary_bytes(), layout);
    if let Some(copied) = passes::with_copies(&graph, layout) {
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
    for pressure in [Pressure::High, Pressure::Highest] {
        smallest = emit::plan(&lowered(pressure)?, &blocks)?;
        if fits(&smallest).is_ok() {
            break;
        }
    }
    fits(&smallest).map(|()| smallest)
}

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
