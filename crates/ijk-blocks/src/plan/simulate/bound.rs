//! Lower bound of the bytes that any algorithm moves for a contraction.

use super::super::stage::{Kernel, Stage};

/// Lower bounds of the bytes that the machine with most traffic receives, sends, reads and writes, for any algorithm
/// that multiplies elements one by one.
///
/// `by_memory`: with M elements of memory, F multiplications on P machines take 2·F/(P·√M) − 2·M elements
/// (Irony, Toledo & Tiskin, Communication lower bounds for distributed-memory matrix multiplication, 2004, by the
/// inequality of Loomis and Whitney; the constant is that of Smith, Lowery, Langou & van de Geijn, A tight I/O
/// lower bound for matrix multiplication, 2019).
///
/// `by_work`: the least number of elements of operands and result that F/P multiplications access, whatever the memory:
/// 3·(m·n·k/P)^⅔ where no side is short (Al Daas, Ballard, Grigori, Kumar & Rouse, Tight memory-independent parallel
/// matrix multiplication communication lower bounds, 2022).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Bytes by the machine's memory.
    pub by_memory: f64,
    /// Bytes by its share of the work.
    pub by_work: f64,
    /// The greater bound: bytes received, read and written by the machine with most.
    pub ratio: f64,
}

/// The bound of a contraction of two operands; none of other stages.
pub(super) fn bound(stage: &Stage, machines: usize, memory: f64, moved: f64) -> Option<Bound> {
    let (Kernel::Contract(by), [left, right]) = (&stage.kernel, &stage.operands[..]) else {
        return None;
    };
    let plain =
        [left, right].iter().all(|operand| operand.index.iter().all(|e| e.as_axis().is_some()));
    if !plain || !by.is_engine() || !stage.points.are_plain() {
        return None;
    }
    // Batches, rows, columns, pairs.
    let [mut b, mut m, mut n, mut k] = [1.0; 4];
    let parts = stage.parts();
    for (axis, of) in stage.axes.iter().enumerate().filter(|(axis, _)| Some(*axis) != parts) {
        let extent = of.extent as f64;
        match (left.has(axis), right.has(axis), of.folded) {
            (true, true, false) => b *= extent,
            (true, false, false) => m *= extent,
            (false, true, false) => n *= extent,
            (true, true, true) => k *= extent,
            // An axis folded in one operand alone, or repeated, allows cheaper algorithms.
            _ => return None,
        }
    }
    let elements = [&left.expr.element(), &right.expr.element(), &stage.out.element];
    let sizes: Option<Vec<usize>> =
        elements.iter().map(|element| Some(element.number()?.size())).collect();
    let size = *sizes?.iter().min()? as f64;
    let machines = machines.max(1) as f64;
    let (memory, work) = (memory / size, b * m * n * k / machines);
    let by_memory = (2.0 * work / memory.max(1.0).sqrt() - 2.0 * memory).max(0.0) * size;
    let by_work = met(b, [m, n, k], machines) * size;
    let least = by_memory.max(by_work);
    Some(Bound { by_memory, by_work, ratio: if least > 0.0 { moved / least } else { 1.0 } })
}

/// The elements that a machine's share of the work accesses.
fn met(batches: f64, [m, n, k]: [f64; 3], machines: f64) -> f64 {
    let whole = m * n + n * k + m * k;
    if machines <= batches {
        return batches / machines * whole;
    }
    let each = machines / batches;
    let mut sides = [m, n, k];
    sides.sort_unstable_by(f64::total_cmp);
    let [short, middle, long] = sides;
    if each * middle <= long {
        (long * middle + long * short) / each + middle * short
    } else if each * short * short <= long * middle {
        2.0 * (long * middle * short * short / each).sqrt() + long * middle / each
    } else {
        3.0 * (m * n * k / each).powf(2.0 / 3.0)
    }
}

#[cfg(test)]
mod tests {
    use super::met;

    #[test]
    fn cases_meet_at_their_borders() {
        // One machine accesses everything; more of them access less, without a jump.
        let sides = [1000.0, 200.0, 50.0];
        assert_eq!(met(1.0, sides, 1.0), 1000.0 * 200.0 + 1000.0 * 50.0 + 200.0 * 50.0);
        for border in [5.0, 80.0] {
            let [before, after] = [0.999, 1.001].map(|by| met(1.0, sides, border * by));
            assert!(after < before && after > 0.99 * before, "{border}: {before} {after}");
        }
        assert_eq!(met(8.0, sides, 8.0), met(1.0, sides, 1.0));
    }
}
