//! Available memory. A command that needs more ends with an error instead of being killed.

use crate::failure::Failure;
use ijk::{DType, Engine, Error, Program};
use std::fs;

/// Checks that results and temporaries of an application fit in the available memory.
///
/// The engine has no limit set instead: results may depend on a limit, and must not depend on the memory that is free
/// now.
///
/// # Errors
/// If they do not fit, or the program does not fit the arguments: `fail` makes that a failure.
pub fn check(
    engine: &Engine,
    program: &Program,
    arguments: &[(DType, &[usize])],
    fail: impl Fn(Error) -> Failure,
) -> Result<(), Failure> {
    let temporaries = engine.explain(program, arguments).map_err(&fail)?.temporary_bytes();
    let results = program.results(arguments).map_err(&fail)?;
    let results = results.iter().map(|(dtype, shape)| bytes(*dtype, shape));
    fits(results.fold(temporaries, u64::saturating_add))
}

/// Checks that `bytes` bytes are available.
///
/// # Errors
/// If not.
pub fn fits(needed: u64) -> Result<(), Failure> {
    match available() {
        Some(available) if needed > available => Err(Failure::Environment(format!(
            "not enough memory: {needed} bytes are needed, {available} are available"
        ))),
        _ => Ok(()),
    }
}

/// The size of an array; the greatest number where it overflows.
pub fn bytes(dtype: DType, shape: &[usize]) -> u64 {
    shape.iter().fold(dtype.size() as u64, |n, &extent| n.saturating_mul(extent as u64))
}

/// Bytes that can still be allocated and used; `None` where the system does not report them.
///
/// Linux overcommits memory, and ends processes that use it.
pub fn available() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| of_machine(&text));
    let group = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok();
    let group = group("memory.max").zip(group("memory.current"));
    let group = group.and_then(|(most, used)| left(&most, &used));
    machine.into_iter().chain(group).min()
}

/// `MemAvailable` of `/proc/meminfo`, which counts in KiB.
fn of_machine(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Free part of a control group's limit, if it has one.
fn left(most: &str, used: &str) -> Option<u64> {
    let (most, used): (u64, u64) = (most.trim().parse().ok()?, used.trim().parse().ok()?);
    Some(most.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats() {
        let text = "MemTotal:  100 kB\nMemFree:   10 kB\nMemAvailable:      50 kB\n";
        assert_eq!(of_machine(text), Some(51200));
        assert_eq!(of_machine("MemTotal: 1 kB"), None);
        assert_eq!(left("max\n", "5\n"), None);
        assert_eq!(left("7\n", "5\n"), Some(2));
    }
}
