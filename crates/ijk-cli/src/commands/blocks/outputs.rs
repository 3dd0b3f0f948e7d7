//! Results that are stored in blocks, and results that are collected.

#[cfg(feature = "zarr")]
use crate::args::Compress;
use crate::args::RunOptions;
use crate::failure::{Failure, of_blocks};
use crate::files::{self, Place};
use crate::results::Outcome;
use crate::{memory, output};
use ijk::blocks::{Executor, Progress};
use ijk::{BigTensor, DType, Tensor};

/// Results, split by destination.
pub struct SplitOutputs<'a> {
    /// Those that are printed or written as one array, with their numbers and places.
    pub collected: Vec<(usize, &'a BigTensor, Option<&'a Place>)>,
    /// Those that are written to Zarr arrays.
    pub stored: Vec<(&'a BigTensor, &'a Place)>,
}

/// Splits results by destination, and checks that collected ones fit in memory.
///
/// # Errors
/// If they do not.
pub fn split_outputs<'a>(
    results: &'a [BigTensor],
    outputs: &'a [(usize, Place)],
) -> Result<SplitOutputs<'a>, Failure> {
    let (mut collected, mut stored, mut needed) = (Vec::new(), Vec::new(), 0u64);
    for (n, result) in results.iter().enumerate() {
        let place = outputs.iter().find(|(output, _)| *output == n).map(|(_, place)| place);
        match place {
            Some(place) if place.is_zarr() => stored.push((result, place)),
            place => {
                needed = needed.saturating_add(memory::bytes(dtype(result), result.dims()));
                collected.push((n, result, place));
            }
        }
    }
    // Results that are printed or written as one array must fit in memory.
    memory::fits(needed).map_err(|_| {
        let available = memory::available().unwrap_or_default();
        Failure::Environment(format!(
            "results of {needed} bytes would be collected, but {available} are available: write them to Zarr arrays"
        ))
    })?;
    Ok(SplitOutputs { collected, stored })
}

impl SplitOutputs<'_> {
    /// Checks that each result fits in the memory limit, beside those that are collected.
    ///
    /// # Errors
    /// If one does not. Nothing is written.
    pub fn check(&self, executor: &Executor, options: &RunOptions) -> Result<(), Failure> {
        let all = total(&self.collected);
        for (_, tensor, _) in &self.collected {
            let others = all.saturating_sub(memory::bytes(dtype(tensor), tensor.dims()));
            executor.clone().beside(others).check_collect(tensor).map_err(of_blocks)?;
        }
        let executor = executor.clone().beside(all);
        self.stored.iter().try_for_each(|(tensor, _)| check_save(&executor, tensor, options))
    }
}

/// Bytes of results that are collected.
pub fn total(collected: &[(usize, &BigTensor, Option<&Place>)]) -> u64 {
    let bytes = collected.iter().map(|(_, of, _)| memory::bytes(dtype(of), of.dims()));
    bytes.fold(0, u64::saturating_add)
}

fn dtype(tensor: &BigTensor) -> DType {
    // Programs and einsums yield numbers.
    tensor.element_type().number().unwrap_or(DType::F64)
}

/// Summary of all results.
pub struct Summary<'a> {
    progress: &'a Progress,
    blocks: u64,
    operations: u64,
    moved: u64,
    sent: u64,
    earlier: u64,
    damaged: u64,
}

impl<'a> Summary<'a> {
    pub fn new(progress: &'a Progress) -> Self {
        Self { progress, blocks: 0, operations: 0, moved: 0, sent: 0, earlier: 0, damaged: 0 }
    }

    /// Adds a computation.
    fn add(&mut self) {
        let counts = self.progress.counts();
        self.blocks += counts.blocks;
        self.operations = self.operations.saturating_add(counts.operations);
        self.moved += counts.shared;
        self.sent += counts.sent;
    }

    /// One line: blocks, time, speed, bytes.
    pub fn summary(&self, seconds: f64) -> String {
        let plural = |n: u64| if n == 1 { "" } else { "s" };
        let damaged = match self.damaged {
            0 => String::new(),
            1 => "; 1 was gone or damaged, and computed again".into(),
            n => format!("; {n} were gone or damaged, and computed again"),
        };
        let earlier = match self.earlier {
            0 if self.damaged == 0 => String::new(),
            n => format!(" ({n} block{} from earlier runs{damaged})", plural(n)),
        };
        if self.blocks == 0 {
            return format!("nothing to do: all results are complete{earlier}");
        }
        let rate = self.operations as f64 / seconds.max(1e-9) / 1e9;
        let sent = match self.sent {
            0 => String::new(),
            n => format!(", {} between processes", bytes(n)),
        };
        format!(
            "{} block{} in {}{earlier}: {rate:.3} GF/s, {} moved between workers{sent}",
            self.blocks,
            plural(self.blocks),
            output::seconds(seconds),
            bytes(self.moved),
        )
    }
}

pub fn bytes(n: u64) -> String {
    for (unit, scale) in [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)] {
        if n as f64 >= scale {
            return format!("{:.1} {unit}", n as f64 / scale);
        }
    }
    format!("{n} bytes")
}

/// Computes the collected results.
///
/// # Errors
/// Errors of the computation.
pub fn collect(
    executor: &Executor,
    collected: &[(usize, &BigTensor, Option<&Place>)],
    summary: &mut Summary,
) -> Result<Vec<Tensor>, Failure> {
    // `memory::fits` has checked the size already.
    let (executor, all) = (executor.clone().collect_limit(u64::MAX), total(collected));
    let mut arrays = Vec::with_capacity(collected.len());
    for (_, tensor, _) in collected {
        let others = all.saturating_sub(memory::bytes(dtype(tensor), tensor.dims()));
        let executor = executor.clone().beside(others);
        let block = executor.collect(tensor).map_err(of_blocks)?;
        summary.add();
        match block {
            ijk::blocks::Block::Numbers(array) => arrays.push(array),
            ijk::blocks::Block::Lists(_) => {
                return Err(Failure::wrong("a result of lists cannot be printed"));
            }
        }
    }
    Ok(arrays)
}

/// Computes a result into a Zarr array.
///
/// # Errors
/// Errors of the computation; finished blocks stay.
#[cfg(feature = "zarr")]
pub fn save(
    executor: &Executor,
    tensor: &BigTensor,
    place: &Place,
    options: &RunOptions,
    summary: &mut Summary,
) -> Result<(), Failure> {
    let zarr = zarr_options(tensor, options);
    let saved = executor
        .save(tensor, &place.path, &zarr)
        .map_err(|error| of_blocks(error).offering("start afresh", "add --fresh"))?;
    if saved.computed > 0 {
        summary.add();
    }
    summary.earlier += (saved.blocks - saved.computed) as u64;
    summary.damaged += saved.damaged as u64;
    Ok(())
}

/// This command as a shell reads it, without `--fresh`.
#[cfg(feature = "zarr")]
fn command_line() -> String {
    let arguments = std::env::args_os().skip(1).filter(|argument| argument != "--fresh");
    let quoted: Vec<String> =
        arguments.map(|argument| quoted(&argument.to_string_lossy())).collect();
    format!("ijk {}", quoted.join(" "))
}

/// An argument as a shell reads it.
fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_@%+=:,./-".contains(c);
    match argument {
        "" => "''".into(),
        _ if argument.chars().all(is_plain) => argument.into(),
        _ => format!("'{}'", argument.replace('\'', r"'\''")),
    }
}

/// Options of a stored result.
#[cfg(feature = "zarr")]
fn zarr_options(tensor: &BigTensor, options: &RunOptions) -> ijk::blocks::ZarrOptions {
    use ijk::blocks::{Compression, ZarrOptions};
    let zarr = ZarrOptions::new().fresh(options.zarr.fresh);
    let zarr = match options.zarr.compress {
        Some(Compress::Zstd(level)) => zarr.compression(Compression::Zstd(level)),
        Some(Compress::Same) => zarr.like_inputs(tensor),
        Some(Compress::None) | None => zarr,
    };
    let zarr = match &options.zarr.shards {
        Some(inner) => zarr.shards(inner.0.clone()),
        None => zarr,
    };
    let zarr = zarr.command(format!("`{}`", command_line()));
    // Blocks to which nothing was added need no chunk.
    match tensor.fill().and_then(|fill| fill.as_number()) {
        Some(fill) => zarr.fill(fill),
        None => zarr,
    }
}

/// Checks that a result can be stored within the memory limit.
#[cfg(feature = "zarr")]
fn check_save(
    executor: &Executor,
    tensor: &BigTensor,
    options: &RunOptions,
) -> Result<(), Failure> {
    executor.check_save(tensor, &zarr_options(tensor, options)).map_err(of_blocks)
}

#[cfg(not(feature = "zarr"))]
fn check_save(_: &Executor, _: &BigTensor, _: &RunOptions) -> Result<(), Failure> {
    Ok(())
}

#[cfg(not(feature = "zarr"))]
pub fn save(
    _: &Executor,
    _: &BigTensor,
    _: &Place,
    _: &RunOptions,
    _: &mut Summary,
) -> Result<(), Failure> {
    Err(Failure::Environment("this `ijk` was built without Zarr".into()))
}

/// Writes the collected results that have a place.
///
/// # Errors
/// If that fails.
pub fn write(
    arrays: &[Tensor],
    collected: &[(usize, &BigTensor, Option<&Place>)],
) -> Result<(), Failure> {
    let place = |(at, (_, _, place)): (usize, &(usize, &BigTensor, Option<&Place>))| {
        place.map(|place| (at, place.clone()))
    };
    let places: Vec<(usize, Place)> = collected.iter().enumerate().filter_map(place).collect();
    files::write_all(arrays, &places)
}

/// Summary of each result.
pub fn outcomes<'a>(
    results: &'a [BigTensor],
    arrays: &'a [Tensor],
    collected: &[(usize, &BigTensor, Option<&Place>)],
) -> Vec<Outcome<'a>> {
    let outcome = |(n, result): (usize, &'a BigTensor)| match collected
        .iter()
        .position(|(number, ..)| *number == n)
    {
        Some(at) => Outcome::Array(&arrays[at]),
        None => Outcome::Stored { dtype: dtype(result), shape: result.dims() },
    };
    results.iter().enumerate().map(outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted_for_a_shell() {
        let quotes = ["ij,jk->ik", "a.zarr", "", "it's", "+ij~j", "α b"].map(quoted);
        assert_eq!(quotes, ["'ij,jk->ik'", "a.zarr", "''", r"'it'\''s'", "'+ij~j'", "'α b'"]);
    }
}
