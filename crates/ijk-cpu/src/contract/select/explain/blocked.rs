//! Reasons for the blocking of GEMM.

use super::{gemv, small};
use crate::Level;
use crate::contract::canonical::bundle::TensorId;
use crate::contract::canonical::problem::Problem;
use crate::contract::select::blocking::{Blocking, LhsAccess, lhs_bytes};
use crate::contract::select::in_place::UnpackedRhs;
use crate::contract::select::shared_block::SharedBlock;
use crate::contract::select::staged::StagedOutput;
use crate::contract::select::streamed::StreamedOutput;
use crate::explain::{KernelChoice, Reason, Relation, level_of, limit};
use ijk_kernels::tuning::order::{
    KC, L1_PANEL_BYTES, RESIDENT_LHS_BYTES, UNPACKED_LHS_BYTES, UNPACKED_RHS_PANELS,
};
use ijk_kernels::tuning::time::{
    RANGE_LHS_BYTES, SET_STRIDE_BYTES, STREAMED_OUTPUT_BYTES, UNPACKED_BLOCK_BYTES,
    UNPACKED_LHS_COLUMNS,
};

/// The choice of blocked loops.
pub(super) fn explain(problem: &Problem, level: Level, threads: usize) -> KernelChoice {
    let blocking = Blocking::of(problem, threads);
    sizes(KernelChoice::new(name(problem, &blocking)), problem, &blocking)
        .because(small::obstacle(problem, level))
        .because(gemv::obstacle(problem))
        .because(lhs_reason(problem, &blocking))
        .because(rhs_reason(problem, &blocking))
        .because(sharing_reason(problem, &blocking))
        .because(k_reason(problem, &blocking))
        .because(output_reason(problem, &blocking, level, threads))
}

/// Name of the variant.
fn name(problem: &Problem, blocking: &Blocking) -> &'static str {
    match (blocking.lhs, blocking.unpacked_rhs) {
        (_, Some(rhs)) if rhs.windows => "GEMM, windows of rhs in place (implicit im2col)",
        (LhsAccess::Packed, Some(_)) => "GEMM, rhs in place",
        (_, Some(_)) => "GEMM, both operands in place",
        (LhsAccess::Packed, None) if problem.k.len() == 1 => "packed GEMM of an outer product",
        (LhsAccess::Packed, None) => "packed GEMM",
        (_, None) => "GEMM, lhs in place",
    }
}

/// Adds mr, nr, kc, nc and mc, and the levels of memory of the panels that they bound.
fn sizes(choice: KernelChoice, problem: &Problem, blocking: &Blocking) -> KernelChoice {
    let (size, k) = (problem.algebra.size, problem.k.len());
    let [m, n] = [problem.m.len(), problem.n.len()];
    let (mr, nr, kc) = (blocking.mr, blocking.nr, blocking.block(k).min(k));
    let shared = if blocking.shares_lhs { m } else { n };
    let room = SharedBlock::of(problem, blocking, shared, k, size);
    let wide = room.widest.min(shared);
    let other = if blocking.shares_lhs { nr } else { mr };
    let tasks = blocking.task_panels(other, wide, kc, size);
    let rows = tasks.saturating_mul(other).min(if blocking.shares_lhs { n } else { m });
    let [nc, mc] = if blocking.shares_lhs { [rows, wide] } else { [wide, rows] };
    let choice = choice
        .block("mr", mr, "rows")
        .block("nr", nr, "columns")
        .holding_in("tile of the output", mr * nr * size, "registers")
        .block("kc", kc, "steps");
    let panel = mr * kc * size;
    let choice = match blocking.lhs {
        LhsAccess::Direct => choice.holding("rows of a tile, read in place,", panel),
        _ => choice.holding("lhs panel", panel),
    };
    let columns = nc.min(n) * kc * size;
    let choice = choice.block("nc", nc, "columns");
    let choice = match blocking.unpacked_rhs {
        Some(_) => choice.holding_in("columns, read in place,", columns, level_of(columns)),
        None => choice.holding("rhs panels", columns),
    };
    let choice = choice.block("mc", mc, "rows");
    if blocking.shares_lhs { choice.holding("lhs panels", mc * kc * size) } else { choice }
}

/// The reason for packing lhs or reading it in place.
fn lhs_reason(problem: &Problem, blocking: &Blocking) -> Option<Reason> {
    let bytes = lhs_bytes(problem);
    let lhs = ("lhs", bytes);
    match blocking.lhs {
        LhsAccess::Direct if bytes <= UNPACKED_LHS_BYTES => {
            let then = "it stays in L1, and packing it does not pay";
            Some(Reason::sized(lhs, Relation::AtMost, limit!(UNPACKED_LHS_BYTES), then))
        }
        LhsAccess::Direct => {
            let columns = ("nr", problem.algebra.tiles.widest());
            let then = "lhs is read only once, and not packed";
            Some(Reason::compared(("n", problem.n.len()), Relation::AtMost, columns, then))
        }
        LhsAccess::InPlace(_) => {
            let then = "it stays in cache, and is read in place";
            Some(Reason::sized(lhs, Relation::AtMost, in_place_limit(blocking), then))
        }
        LhsAccess::Packed if blocking.shares_lhs => None,
        LhsAccess::Packed => Some(packed_lhs(problem, blocking)),
    }
}

/// Limit of the size of an lhs that is read in place.
fn in_place_limit(blocking: &Blocking) -> (&'static str, usize) {
    if blocking.ranges > 1 { limit!(RANGE_LHS_BYTES) } else { limit!(UNPACKED_BLOCK_BYTES) }
}

/// The reason for packing an lhs that threads do not share.
fn packed_lhs(problem: &Problem, blocking: &Blocking) -> Reason {
    let Problem { algebra, m, n, k, .. } = problem;
    let (bytes, most) = (lhs_bytes(problem), in_place_limit(blocking));
    if bytes > most.1 {
        let then = "it would not stay in L2, so its panels are packed one at a time";
        return Reason::sized(("lhs", bytes), Relation::Above, most, then);
    }
    if n.len() > UNPACKED_LHS_COLUMNS {
        let then = "the time to pack lhs panels is negligible";
        let limit = limit!(UNPACKED_LHS_COLUMNS);
        return Reason::compared(("n", n.len()), Relation::Above, limit, then);
    }
    let step = k.step(TensorId::Left).map_or(0, isize::unsigned_abs) * algebra.size;
    match m.run(TensorId::Left) == m.len() {
        false => Reason::plain("rows of lhs are not contiguous, so its panels are packed"),
        true if step > 0 && step.is_multiple_of(SET_STRIDE_BYTES) => Reason::plain(format!(
            "steps of lhs are a multiple of {SET_STRIDE_BYTES} bytes apart, which map to few sets of a cache: \
             its panels are packed"
        )),
        true => Reason::plain("lhs panels are packed"),
    }
}

/// The reason for packing rhs or reading it in place.
fn rhs_reason(problem: &Problem, blocking: &Blocking) -> Option<Reason> {
    let panels = ("m/mr", problem.m.len().div_ceil(blocking.mr));
    let limit = limit!(UNPACKED_RHS_PANELS);
    let few = panels.1 <= limit.1;
    match blocking.unpacked_rhs {
        _ if blocking.is_direct() => None,
        Some(rhs) if rhs.windows => Some(Reason::plain(
            "columns are overlapping windows with contiguous runs, which would be larger if they were packed",
        )),
        Some(_) if few => {
            let then = "each column is read by few panels, so that packing rhs does not pay";
            Some(Reason::compared(panels, Relation::AtMost, limit, then))
        }
        Some(_) => Some(Reason::plain("columns of rhs stay in L2 without packing")),
        None if UnpackedRhs::of(problem, blocking.nr).is_none() => {
            Some(Reason::plain("k is not contiguous in rhs, so its panels are packed"))
        }
        None => {
            let then = "panels of rhs are packed once and read by all of them";
            Some(Reason::compared(panels, Relation::Above, limit, then))
        }
    }
}

/// The reason for threads that share lhs panels.
fn sharing_reason(problem: &Problem, blocking: &Blocking) -> Option<Reason> {
    blocking.shares_lhs.then(|| {
        let bytes = problem.m.len().saturating_mul(KC * problem.algebra.size);
        let then = "all lhs panels of a block of k stay in L2, and panels of rhs are streamed";
        let what = ("lhs of one block of k", bytes);
        Reason::sized(what, Relation::AtMost, limit!(RESIDENT_LHS_BYTES), then)
    })
}

/// The reason for the length of blocks of a long k.
fn k_reason(problem: &Problem, blocking: &Blocking) -> Option<Reason> {
    if problem.k.len() <= KC || blocking.is_direct() {
        return None;
    }
    let bytes = blocking.mr * KC * problem.algebra.size;
    let kc = blocking.block(problem.k.len());
    let relation = Relation::to_most(bytes, L1_PANEL_BYTES);
    let rows = blocking.mr.saturating_mul(problem.n.len()) * problem.algebra.size;
    let then = match relation {
        Relation::AtMost => format!("blocks of k have at most {KC} steps"),
        _ if rows <= L1_PANEL_BYTES => {
            format!("blocks of k have {kc} steps, so that it stays in L1 beside rows of the output")
        }
        _ => format!("panels come from L2 in any case, so that blocks of k have {kc} steps"),
    };
    let what = format!("an lhs panel of {KC} steps");
    Some(Reason::sized((&what, bytes), relation, limit!(L1_PANEL_BYTES), &then))
}

/// The reason for an output that is written by way of scratch memory.
fn output_reason(
    problem: &Problem,
    blocking: &Blocking,
    level: Level,
    threads: usize,
) -> Option<Reason> {
    if StreamedOutput::of(problem, blocking).is_some() {
        let bytes = problem.outputs().saturating_mul(problem.algebra.size);
        let then = "its short runs are joined and written with non-temporal stores";
        let limit = limit!(STREAMED_OUTPUT_BYTES);
        return Some(Reason::sized(("the output", bytes), Relation::AtLeast, limit, then));
    }
    let columns = 0..problem.n.len();
    StagedOutput::of(problem, &columns, (threads, level)).map(|_| {
        Reason::plain("rows are not contiguous in the output: parts of it are computed in L2 and moved from there")
    })
}
