//! The arguments of every command.

mod help;
mod values;

use crate::size::size;
use clap::{Args, Parser, Subcommand, ValueHint};
use help::{BENCH, CHECK, COMPLETIONS, DEPS, EINSUM, EVAL, EXPLAIN, LONG, MAN, RUN, verify_help};
use ijk::DType;
use std::path::PathBuf;
pub use values::{Blocks, Compress, Extents};
use values::{blocks, compress, dtype, point, program, rate, shape, threads};

/// Index expressions on files of arrays.
#[derive(Debug, Parser)]
#[command(name = "ijk", version, about, long_about = LONG, propagate_version = true)]
pub struct Cli {
    /// Subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program on files
    #[command(after_help = RUN)]
    Run(Run),
    /// Evaluate an expression on files, given in the order of its arguments
    #[command(after_help = EVAL)]
    Eval(Eval),
    /// Multiply arrays by subscripts, as numpy.einsum does
    #[command(after_help = EINSUM)]
    Einsum(Einsum),
    /// Check a program without data: print its signature
    #[command(after_help = CHECK)]
    Check(Check),
    /// Print types, shapes, plan and cost for arguments of given shapes, and how the engine computes each step
    #[command(after_help = EXPLAIN)]
    Explain(Explain),
    /// Print and draw the elements of the inputs that one element of an output depends on
    #[command(after_help = DEPS)]
    Deps(Deps),
    /// Measure the speed of an expression on arguments of given shapes
    #[command(after_help = BENCH)]
    Bench(Bench),
    /// Compare a .et program with its framework call, for every combination of ranks
    #[command(after_help = verify_help())]
    Verify(Verify),
    /// Print completions for a shell
    #[command(after_help = COMPLETIONS)]
    Completions(Completions),
    /// Write the manual pages
    #[command(after_help = MAN)]
    Man(Man),
}

/// `ijk run`.
#[derive(Debug, Args)]
pub struct Run {
    /// The program, a .ijk or .et file
    pub file: PathBuf,
    /// Write output NAME (0, 1, … in .ijk) to a file; outputs without one are printed
    #[arg(long, value_name = "NAME=FILE")]
    pub out: Vec<String>,
    /// Arrays of inputs
    #[command(flatten)]
    pub given: Given,
    /// Options of the run
    #[command(flatten)]
    pub options: RunOptions,
}

/// Arrays of files, and further ranks and extents of a `.et` program.
#[derive(Debug, Args)]
pub struct Given {
    /// Input NAME (0, 1, … in .ijk) is the array of a .npy file or of a member of an archive
    #[arg(long, value_name = "NAME=FILE[:MEMBER]")]
    pub bind: Vec<String>,
    /// In .et: the rank of an eintup, if neither arrays nor constraints determine it
    #[arg(long, value_name = "TUPLE=N")]
    pub rank: Vec<String>,
    /// In .et: the extents of an eintup, such as stride=2,2
    #[arg(long, value_name = "TUPLE=N,…")]
    pub dims: Vec<String>,
    /// In .et: seed of random numbers, and of extents that nothing else determines
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
}

/// `ijk eval`.
#[derive(Debug, Args)]
pub struct Eval {
    /// The expression, in i
    #[arg(allow_hyphen_values = true, value_parser = program)]
    pub expression: String,
    /// The arguments
    #[arg(value_name = "FILE[:MEMBER]", value_hint = ValueHint::FilePath)]
    pub inputs: Vec<String>,
    /// Write the first output to a file, a second -o the second, and so on; outputs without one are printed
    #[arg(short, long = "out", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Vec<String>,
    /// Options of the run
    #[command(flatten)]
    pub options: RunOptions,
}

/// `ijk einsum`.
#[derive(Debug, Args)]
pub struct Einsum {
    /// The subscripts, such as ij,jk->ik
    #[arg(allow_hyphen_values = true)]
    pub subscripts: String,
    /// The arguments
    #[arg(value_name = "FILE[:MEMBER]", value_hint = ValueHint::FilePath)]
    pub inputs: Vec<String>,
    /// Write the result to a file instead of printing it
    #[arg(short, long = "out", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<String>,
    /// Print the order of multiplications and its cost, and compute nothing
    #[arg(long, conflicts_with = "out")]
    pub path: bool,
    /// Options of the run
    #[command(flatten)]
    pub options: RunOptions,
}

/// Options of `run` and `eval`.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// Number of threads; results do not depend on it
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Memory limit of results and temporaries, such as 512MiB or 2GB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// Evaluate as written: multiply and divide at every point, then reduce. By default factors behind a reduction are
    /// reassociated, which makes a difference beyond rounding only for NaN, infinities, overflow and underflow
    #[arg(long)]
    pub strict: bool,
    /// Convert every argument to this element type
    #[arg(long, value_name = "TYPE", value_parser = dtype)]
    pub dtype: Option<DType>,
    /// Print a JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Options for Zarr arrays
    #[command(flatten)]
    pub zarr: ZarrArgs,
}

/// Options of programs on Zarr arrays.
#[derive(Debug, Args)]
pub struct ZarrArgs {
    /// Zarr: number of workers, each with a thread of its own [default: as many as threads]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub workers: Option<usize>,
    /// Zarr: the blocks of the next argument, such as 1024x1024, `.` for an axis that is not cut, or one number for
    /// all its axes; the last --block counts for all later ones, too. By default the blocks of a Zarr array are its
    /// chunks, re-cut if they do not fit those of others. Results have the blocks of arguments
    #[arg(long, value_name = "NxM", value_parser = blocks)]
    pub block: Vec<Blocks>,
    /// Zarr: compression of results: none, zstd, zstd:LEVEL with a level from 1 to 22, or same: as the first stored
    /// argument, in shards if that is [default: none]
    #[arg(long, value_name = "CODEC", value_parser = compress)]
    pub compress: Option<Compress>,
    /// Zarr: make each chunk of a result a shard of smaller chunks of these extents, which divide its blocks
    #[arg(long, value_name = "NxM", value_parser = shape)]
    pub shards: Option<Extents>,
    /// Zarr: start over, instead of continuing an incomplete result, or of refusing to replace another one
    #[arg(long)]
    pub fresh: bool,
    /// Zarr: accept unfinished results as arguments; missing blocks have the fill value
    #[arg(long)]
    pub partial: bool,
    /// Zarr: assume that arguments hold no infinities or NaN: products skip chunks that are missing, or hold only the
    /// fill value, without reading the others
    #[arg(long)]
    pub assume_finite: bool,
    /// Options for several processes
    #[command(flatten)]
    pub processes: Processes,
}

/// Other processes that compute the same program.
#[derive(Debug, Args)]
pub struct Processes {
    /// Zarr: start this number of processes on this machine, and compute on all of them
    #[arg(long, value_name = "N", value_parser = threads, conflicts_with = "hosts")]
    pub processes: Option<usize>,
    /// Zarr: compute together with the processes of a list, which has one host:port a line
    #[arg(long, value_name = "FILE", requires = "process")]
    pub hosts: Option<PathBuf>,
    /// Zarr: number of this process in the list, from 0
    #[arg(long, value_name = "I", requires = "hosts")]
    pub process: Option<usize>,
    /// Zarr: file with the secret that the processes of a list share [default: the environment variable IJK_SECRET]
    #[arg(long, value_name = "FILE", requires = "hosts")]
    pub secret_file: Option<PathBuf>,
    /// Zarr: time for which processes wait for each other [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub wait: Option<u64>,
}

impl ZarrArgs {
    /// An option that was given, if one was.
    pub fn given(&self) -> Option<&'static str> {
        [
            ("--workers", self.workers.is_some()),
            ("--block", !self.block.is_empty()),
            ("--compress", self.compress.is_some()),
            ("--shards", self.shards.is_some()),
            ("--fresh", self.fresh),
            ("--partial", self.partial),
            ("--assume-finite", self.assume_finite),
            ("--processes", self.processes.processes.is_some()),
            ("--hosts", self.processes.hosts.is_some()),
            ("--wait", self.processes.wait.is_some()),
        ]
        .into_iter()
        .find_map(|(option, given)| given.then_some(option))
    }
}

/// `ijk check`.
#[derive(Debug, Args)]
pub struct Check {
    /// A .ijk or .et file, or an expression
    #[arg(value_name = "FILE|EXPR", allow_hyphen_values = true, value_parser = program)]
    pub program: String,
    /// Print a JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// A program with the shapes of its arguments.
#[derive(Debug, Args)]
pub struct Applied {
    /// A .ijk or .et file, or an expression
    #[arg(value_name = "FILE|EXPR", allow_hyphen_values = true, value_parser = program)]
    pub program: String,
    /// The shape of the next argument, such as 8x8 or 5; `.` for a single number
    #[arg(long, value_name = "NxM", value_parser = shape)]
    pub shape: Vec<Extents>,
    /// Element type of the arguments; several --dtype: of the first, the second, …
    #[arg(long, value_name = "TYPE", value_parser = dtype)]
    pub dtype: Vec<DType>,
    /// Print a JSON object instead of text
    #[arg(long)]
    pub json: bool,
}

/// `ijk explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// Program and shapes to explain
    #[command(flatten)]
    pub applied: Applied,
    /// Further ranks and extents of a .et program
    #[command(flatten)]
    pub given: Given,
    /// Number of threads to plan for
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Memory limit of results and temporaries, such as 512MiB or 2GB; with --machines, of the blocks on each
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// Plan an evaluation as written
    #[arg(long)]
    pub strict: bool,
    /// Simulation on machines
    #[command(flatten)]
    pub simulate: SimulateOptions,
}

/// Machines of a simulation.
#[derive(Debug, Args)]
pub struct SimulateOptions {
    /// Plan for this number of machines, and for arrays in blocks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub machines: Option<u32>,
    /// Workers of each machine
    #[arg(long, value_name = "N", value_parser = threads, requires = "machines")]
    pub workers: Option<usize>,
    /// The blocks of the next argument, such as 1024x1024, `.` for an axis that is not cut, or one number for
    /// all its axes; the last --block counts for all later arguments, too
    #[arg(long, value_name = "NxM", value_parser = blocks, requires = "machines")]
    pub block: Vec<Blocks>,
    /// Speed of a worker in 10⁹ operations per second [default: 100]
    #[arg(long, value_name = "GF", value_parser = rate, requires = "machines")]
    pub gflops: Option<f64>,
    /// Bandwidth into a machine in GB per second [default: 1.25, which is 10 Gbit/s]
    #[arg(long, value_name = "GB", value_parser = rate, requires = "machines")]
    pub bandwidth: Option<f64>,
    /// Bandwidth of the disk of a machine in GB per second [default: 1]
    #[arg(long, value_name = "GB", value_parser = rate, requires = "machines")]
    pub disk: Option<f64>,
}

/// `ijk deps`.
#[derive(Debug, Args)]
pub struct Deps {
    /// Program and shapes
    #[command(flatten)]
    pub applied: Applied,
    /// The element, such as 1,2; `.` for a result of rank 0
    #[arg(long, value_name = "I,J", value_parser = point, required_unless_present_any = ["from", "to"])]
    pub at: Option<Extents>,
    /// Output of the element: 0, 1, …; in .et its name [default: the first]
    #[arg(long, value_name = "N")]
    pub output: Option<String>,
    /// The element is of this input: print the elements of the outputs that it reaches
    #[arg(long, value_name = "N", conflicts_with = "output")]
    pub input: Option<String>,
    /// An operation, such as mm.m[2,3,1]: print the elements that it reaches, or if it reaches that of --to
    #[arg(long, value_name = "OP[I,J]", conflicts_with_all = ["at", "output", "input"])]
    pub from: Option<String>,
    /// An operation: print the elements that it depends on, or if it depends on that of --from
    #[arg(long, value_name = "OP[I,J]", conflicts_with_all = ["at", "output", "input"])]
    pub to: Option<String>,
    /// Further ranks and extents of a .et program
    #[command(flatten)]
    pub given: Given,
}

/// `ijk bench`.
#[derive(Debug, Args)]
pub struct Bench {
    /// Program and shapes to measure
    #[command(flatten)]
    pub applied: Applied,
    /// Arrays of inputs, instead of random arrays of given shapes
    #[command(flatten)]
    pub given: Given,
    /// Number of threads; several, such as 1,2, are measured in turn
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = threads)]
    pub threads: Vec<usize>,
    /// Memory limit of results and temporaries, such as 512MiB or 2GB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// Allocate the results of each run, instead of reusing memory [always in .et]
    #[arg(long)]
    pub fresh: bool,
    /// Number of measured runs [default: as many as take about a second]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub reps: Option<usize>,
    /// Write output NAME (0, 1, …) to a file, too
    #[arg(long, value_name = "NAME=FILE")]
    pub out: Vec<String>,
    /// Measure the rates of the machine again, instead of using the stored ones
    #[arg(long)]
    pub probe: bool,
    /// Run on request: see below
    #[arg(long, conflicts_with_all = ["reps", "fresh"])]
    pub paced: bool,
}

/// `ijk verify`.
#[derive(Debug, Args)]
pub struct Verify {
    /// The program, a .et file
    pub file: PathBuf,
    /// Cases for each combination of ranks, with different extents and data
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub reps: u32,
    /// Seed of extents and data
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub seed: u64,
    /// Give unconstrained eintups every rank from 0 to 9, not only 1
    #[arg(long)]
    pub free_ranks: bool,
    /// Upper bound of the points of a statement when extents are drawn
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub points: u64,
    /// Python interpreter with the framework [default: $IJK_PYTHON, or python3]
    #[arg(long, value_name = "PATH")]
    pub python: Option<String>,
    /// Trust a module in the directory of the program, NAME.py or NAME/: its functions may be called, and may do anything
    #[arg(long, value_name = "NAME")]
    pub module: Vec<String>,
    /// Time limit in seconds for all imports in Python, and for each call
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: u64,
    /// Number of threads; results do not depend on it
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Print a JSON object for each case, on one line, instead of a table
    #[arg(long)]
    pub json: bool,
}

/// `ijk completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `ijk man`.
#[derive(Debug, Args)]
pub struct Man {
    /// The folder that the pages are written to, which is made if need be
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
