//! The arguments of every command.

mod help;
mod values;

use crate::size::size;
use clap::{Args, Parser, Subcommand};
use help::{BENCH, CHECK, DEPS, EINSUM, EVAL, EXPLAIN, LONG, RUN, verify_help};
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
    /// Print types, shapes, plan and cost for arguments of given shapes
    #[command(after_help = EXPLAIN)]
    Explain(Explain),
    /// Print and draw the elements of the inputs that one element of an output depends on
    #[command(after_help = DEPS)]
    Deps(Deps),
    /// Measure how fast an expression runs on arguments of given shapes
    #[command(after_help = BENCH)]
    Bench(Bench),
    /// Compare a .et program with the framework call it names, for every combination of ranks
    #[command(after_help = verify_help())]
    Verify(Verify),
}

/// `ijk run`.
#[derive(Debug, Args)]
pub struct Run {
    /// The program, a .ijk or .et file
    pub file: PathBuf,
    /// Write output NAME (0, 1, … in .ijk) to a file; outputs without one are printed
    #[arg(long, value_name = "NAME=FILE")]
    pub out: Vec<String>,
    /// On what
    #[command(flatten)]
    pub given: Given,
    /// Options of the run
    #[command(flatten)]
    pub options: RunOptions,
}

/// Arrays of files, and what else decides ranks and extents of a `.et` program.
#[derive(Debug, Args)]
pub struct Given {
    /// Input NAME (0, 1, … in .ijk) is the array of a .npy file or of a member of an archive
    #[arg(long, value_name = "NAME=FILE[:MEMBER]")]
    pub bind: Vec<String>,
    /// In .et: the rank of an eintup, where neither arrays nor constraints decide
    #[arg(long, value_name = "TUPLE=N")]
    pub rank: Vec<String>,
    /// In .et: the extents of an eintup, such as stride=2,2
    #[arg(long, value_name = "TUPLE=N,…")]
    pub dims: Vec<String>,
    /// In .et: other random numbers, and random extents where nothing decides them
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
    #[arg(value_name = "FILE[:MEMBER]")]
    pub inputs: Vec<String>,
    /// Write the first output to a file, a second -o the second, and so on; without, print them
    #[arg(short, long = "out", value_name = "FILE")]
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
    #[arg(value_name = "FILE[:MEMBER]")]
    pub inputs: Vec<String>,
    /// Write the result to a file; without, print it
    #[arg(short, long = "out", value_name = "FILE")]
    pub out: Option<String>,
    /// Print the order in which the arguments would be multiplied, and what it costs, instead
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
    /// Most memory that results and temporaries may take, such as 512MiB or 2GB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// Compute values as they are written: multiply and divide before reducing, at every point. Otherwise factors of
    /// reduced values are taken in any order, which makes a difference only for NaN, infinities, overflow and underflow
    #[arg(long)]
    pub strict: bool,
    /// Convert every argument to this element type
    #[arg(long, value_name = "TYPE", value_parser = dtype)]
    pub dtype: Option<DType>,
    /// Print a JSON object instead of text
    #[arg(long)]
    pub json: bool,
    /// Where arguments or results are Zarr arrays
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
    /// all its axes; the last --block counts for all after, too. A Zarr array has the blocks of its chunks otherwise,
    /// and is re-cut where they do not fit others. Results have the blocks of arguments
    #[arg(long, value_name = "NxM", value_parser = blocks)]
    pub block: Vec<Blocks>,
    /// Zarr: how results are compressed: none, zstd, or zstd:LEVEL with a level from 1 to 22 [default: none]
    #[arg(long, value_name = "HOW", value_parser = compress)]
    pub compress: Option<Compress>,
    /// Zarr: start over, instead of continuing a result that is not complete, or refusing to replace another
    #[arg(long)]
    pub fresh: bool,
    /// Zarr: read arguments that are unfinished results; missing blocks have the fill value
    #[arg(long)]
    pub partial: bool,
    /// Zarr: assume that arguments hold no infinities or NaN: products skip chunks that are missing, or hold only the
    /// fill value, without reading the others
    #[arg(long)]
    pub assume_finite: bool,
    /// On several processes
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
    /// Zarr: which process of the list this is, from 0
    #[arg(long, value_name = "I", requires = "hosts")]
    pub process: Option<usize>,
    /// Zarr: file with the secret that the processes of a list share [default: the environment variable IJK_SECRET]
    #[arg(long, value_name = "FILE", requires = "hosts")]
    pub secret_file: Option<PathBuf>,
    /// Zarr: how long processes wait for each other [default: 60]
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
    /// Values that decide further extents of a .et program
    #[command(flatten)]
    pub given: Given,
    /// Number of threads to plan for
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Most memory that results and temporaries may take, such as 512MiB or 2GB; with --machines, that blocks
    /// may take on each
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// Plan to compute values as they are written
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
    /// all its axes; the last --block counts for all arguments after, too
    #[arg(long, value_name = "NxM", value_parser = blocks, requires = "machines")]
    pub block: Vec<Blocks>,
    /// Operations of a worker: 10⁹ a second [default: 100]
    #[arg(long, value_name = "GF", value_parser = rate, requires = "machines")]
    pub gflops: Option<f64>,
    /// Bytes that come into a machine: GB a second [default: 1.25, which is 10 Gbit/s]
    #[arg(long, value_name = "GB", value_parser = rate, requires = "machines")]
    pub bandwidth: Option<f64>,
    /// Bytes that a machine reads and writes: GB a second [default: 1]
    #[arg(long, value_name = "GB", value_parser = rate, requires = "machines")]
    pub disk: Option<f64>,
}

/// `ijk deps`.
#[derive(Debug, Args)]
pub struct Deps {
    /// Of what
    #[command(flatten)]
    pub applied: Applied,
    /// The element, such as 1,2; `.` for a result of rank 0
    #[arg(long, value_name = "I,J", value_parser = point, required_unless_present_any = ["from", "to"])]
    pub at: Option<Extents>,
    /// Output of the element: 0, 1, …; in .et its name [default: the first]
    #[arg(long, value_name = "N")]
    pub output: Option<String>,
    /// The element is of this input: print which elements of the outputs it reaches
    #[arg(long, value_name = "N", conflicts_with = "output")]
    pub input: Option<String>,
    /// An operation, such as mm.m[2,3,1]: print what it reaches, or whether it reaches that of --to
    #[arg(long, value_name = "OP[I,J]", conflicts_with_all = ["at", "output", "input"])]
    pub from: Option<String>,
    /// An operation: print what it depends on, or whether it depends on that of --from
    #[arg(long, value_name = "OP[I,J]", conflicts_with_all = ["at", "output", "input"])]
    pub to: Option<String>,
    /// Values that decide further extents of a .et program
    #[command(flatten)]
    pub given: Given,
}

/// `ijk bench`.
#[derive(Debug, Args)]
pub struct Bench {
    /// Program and shapes to measure
    #[command(flatten)]
    pub applied: Applied,
    /// On what, instead of made-up arrays of given shapes; a .et program is given nothing else
    #[command(flatten)]
    pub given: Given,
    /// Number of threads; several, such as 1,2, are measured in turn
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = threads)]
    pub threads: Vec<usize>,
    /// Most memory that results and temporaries may take, such as 512MiB or 2GB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// New memory for the results of each run, instead of the same again [always so in .et]
    #[arg(long)]
    pub fresh: bool,
    /// Runs that are counted [default: about a second's worth]
    #[arg(long, value_name = "N", value_parser = threads)]
    pub reps: Option<usize>,
    /// Write output NAME (0, 1, …) to a file, too
    #[arg(long, value_name = "NAME=FILE")]
    pub out: Vec<String>,
    /// Measure anew what the machine can do, which is otherwise done once
    #[arg(long)]
    pub probe: bool,
    /// Run when told: see below
    #[arg(long, conflicts_with_all = ["reps", "fresh"])]
    pub paced: bool,
}

/// `ijk verify`.
#[derive(Debug, Args)]
pub struct Verify {
    /// The program, a .et file
    pub file: PathBuf,
    /// Cases for each combination of ranks, each with other extents and data
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub reps: u32,
    /// Another seed is other extents and data
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub seed: u64,
    /// Let eintups whose rank nothing constrains have any rank from 0 to 9, not only 1
    #[arg(long)]
    pub free_ranks: bool,
    /// Draw extents so that no statement has more points
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pub points: u64,
    /// The Python that has the framework [default: $IJK_PYTHON, or python3]
    #[arg(long, value_name = "PATH")]
    pub python: Option<String>,
    /// Trust a module of your own beside the program, NAME.py or NAME/: its functions may be called, and may do anything
    #[arg(long, value_name = "NAME")]
    pub module: Vec<String>,
    /// Seconds that Python may take to import, and for each call
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..))]
    pub timeout: u64,
    /// Number of threads; results do not depend on it
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Print a JSON object for each case, on one line, instead of a table
    #[arg(long)]
    pub json: bool,
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
