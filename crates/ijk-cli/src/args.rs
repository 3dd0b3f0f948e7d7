//! The arguments of every command.

use crate::size::size;
use clap::{Args, Parser, Subcommand};
use ijk::DType;
use std::num::IntErrorKind;
use std::path::PathBuf;

/// Index expressions on files of arrays.
#[derive(Debug, Parser)]
#[command(name = "ijk", version, about, long_about = LONG, propagate_version = true)]
pub struct Cli {
    /// Subcommand.
    #[command(subcommand)]
    pub command: Command,
}

const LONG: &str = "Index expressions on files of arrays.

Arrays are .npy files, members of .npz archives (data.npz:member), or directories of Zarr 3 (data.zarr). Programs on
Zarr arrays run block by block, in as much memory as some blocks take.
Exit codes: 0 done; 1 the program or the data is wrong; 2 the command line or the machine is.
Inputs and outputs are named 0, 1, … in order; messages count arguments and results from 1.
The environment variable IJK_LEVEL (portable, avx2, avx512, neon) forces a level of SIMD instructions; without it
the widest of the machine is used.

  ijk eval 'ik*kj~ijk . +ijk~ij' a.npy b.npy -o c.npy";

const RUN: &str = "Example:
  ijk run softmax.ijk --bind 0=scores.npy --out 0=weights.npy
  ijk run product.ijk --bind 0=a.zarr --bind 1=b.zarr --out 0=c.zarr --memory 2GiB
  ijk run convolution.et --bind image=image.zarr --bind filter=filter.npy --out result=result.zarr --dims stride=2,2

The same command continues a result in a Zarr array that it did not complete. Until then it is no argument of
others, unless they say --partial.";

const EVAL: &str = "Examples:
  ijk eval '+ij~j' table.npy                  sums of the columns, printed
  ijk eval 'ij+j~ij' table.npz:rows shift.npy -o shifted.npy
  ijk eval 'ij~ij' table.npy --block 1024 -o table.zarr     a copy in blocks";

const EINSUM: &str = "Examples:
  ijk einsum 'ij,jk->ik' a.npy b.npy -o product.npy
  ijk einsum 'ij,jk,kl->il' a.npy b.npy c.npy --path      in which order, and what that costs; nothing is computed

Subscripts have NumPy's meaning. All arguments have one element type: --dtype converts them.";

const CHECK: &str = "Example:
  ijk check 'ik*kj~ijk . +ijk~ij'";

const EXPLAIN: &str = "Examples:
  ijk explain '+(ik*kj)~ij' --shape 512x512 --shape 512x512 --dtype f32
  ijk explain convolution.et --shape 1x64x64x8 --shape 3x3x8x16 --dims stride=2,2
  ijk explain '+(ik*kj)~ij' --shape 1000000x1000000 --shape 1000000x1000000 --dtype f32 \\
      --block 4096 --machines 1000 --memory 64GiB

With --machines, the plan for arrays cut into blocks runs on paper, without data: what moves between machines,
what is read, written and held, how long it takes if nothing but those numbers counts, and what the best
algorithm could not do with less than.";

const DEPS: &str = "Examples:
  ijk deps '+(ik*kj)~ij' --shape 4x3 --shape 3x5 --at 1,2
  ijk deps '+(ik*kj)~ij' --shape 4x3 --shape 3x5 --at 1,2 --input 0    the other way round
  ijk deps product.ijk --shape 4x3 --shape 3x5 --from 'mm.m[2,1,0]' --to 'mm.a[2,1]'
  ijk deps product.ijk --shape 4x3 --shape 3x5 --to 'a[2,1]'           all that it depends on
  ijk deps blur.et --shape 9 --from 'x[4]' --to y

--from and --to name operations: an element of what a binding gives, in its place: mm.m[2,1,0] is element [2,1,0] of
what m gives in mm. The last names are enough where only one operation has them; several of one name are a#1, a#2.
Arguments are 0, 1, …; in .et, arrays and statements are named by their arrays. One of the two without indices
stands for all elements of that operation.";

const BENCH: &str = "Examples:
  ijk bench '+(ik*kj)~ij' --shape 1024x1024 --shape 1024x1024 --dtype f32 --threads 1,2
  ijk bench softmax.ijk --bind 0=scores.npy --fresh

The first run, which plans, is not counted. Runs of less than 20 µs are timed several at a time.
Operations are the scalar operations of the plan; bytes are those of the arguments and results.
The bound is the least time in which the machine can do so many operations, or move so many bytes, if that
takes longer. What it can do is measured once, and kept in the user's cache folder, or the one that the
environment variable IJK_CACHE names.

--json prints an object on a line for each number of threads, with these members:
  threads, simd               number of threads, and the instructions used
  outputs                     \"reused\" or \"fresh\"
  repetitions                 how many times were measured
  median_seconds, best_seconds, first_quartile_seconds, third_quartile_seconds
  operations                  null where they are not known (.et)
  bytes, bytes_read, bytes_written
  giga_operations_per_second, gigabytes_per_second        by the median
  probe                       \"kept\", \"measured\", \"unkept\" (measured, but not kept) or \"typical\" (neither)
  peak_giga_operations_per_second, read_gigabytes_per_second, copy_gigabytes_per_second
                              what the machine can do with these threads; null for truth values
  bound, bound_seconds        \"compute\" or \"memory\", and the least time by it
  fraction_of_bound           the least time by the median

--paced prints an object with those members that are known before a run, then waits
for lines such as `reused 0.05` or `fresh 0.05`. For each it runs that many seconds, at least once, and
prints {\"outputs\": …, \"repetitions\": …, \"seconds\": median}; so a script measures it in turn with others.";

const VERIFY: &str = "Examples:
  ijk verify examples/et/gather_nd.et
  ijk verify convolution.et --reps 20 --seed 7 --python ~/tensorflow/bin/python

Exit codes: 0 all cases agree; 1 some do not, or the program is wrong; 2 Python or a package is missing.

The program need not be trusted. Of these modules, functions that compute may be called; nothing that reaches
files, other programs or the network:";

/// The help of `ijk verify`, with the modules whose functions it calls.
fn verify_help() -> String {
    let mut text = VERIFY.to_string();
    let mut width = usize::MAX;
    for module in ijk::verify::MODULES {
        if width.saturating_add(module.len()) > 100 {
            text.push_str("\n ");
            width = 1;
        }
        text.push(' ');
        text.push_str(module);
        width += 1 + module.len();
    }
    text + "\n(np, tf and jnp are numpy, tensorflow and jax.numpy; reference is brought along.) --module adds one of your own."
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
    pub how: How,
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
    pub how: How,
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
    pub how: How,
}

/// Options of `run` and `eval`.
#[derive(Debug, Args)]
pub struct How {
    /// Number of threads; results do not depend on it
    #[arg(long, value_name = "N", value_parser = threads)]
    pub threads: Option<usize>,
    /// Most memory that results and temporaries may take, such as 512MiB or 2GB
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// Compute values as they are written: multiply and divide before reducing, at every point. Factors of what is
    /// reduced are else taken in any order, which only NaN, infinities and what over- or underflows can tell
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
    pub zarr: Zarr,
}

/// Options of programs on Zarr arrays.
#[derive(Debug, Args)]
pub struct Zarr {
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
    /// Zarr: read arguments though they are results that are not finished; blocks that are not there are the fill value
    #[arg(long)]
    pub partial: bool,
    /// Zarr: products skip chunks that are not there, or hold only the fill value, without looking whether the others
    /// hold infinities or NaN
    #[arg(long)]
    pub assume_finite: bool,
    /// On several processes
    #[command(flatten)]
    pub processes: Processes,
}

/// Other processes that compute the same program.
#[derive(Debug, Args)]
pub struct Processes {
    /// Zarr: compute on so many processes of this machine, which are started
    #[arg(long, value_name = "N", value_parser = threads, conflicts_with = "hosts")]
    pub processes: Option<usize>,
    /// Zarr: compute together with the processes of a list, which has one host:port a line
    #[arg(long, value_name = "FILE", requires = "process")]
    pub hosts: Option<PathBuf>,
    /// Zarr: which process of the list this is, from 0
    #[arg(long, value_name = "I", requires = "hosts")]
    pub process: Option<usize>,
    /// Zarr: what the processes of a list have to know [default: the environment variable IJK_SECRET]
    #[arg(long, value_name = "FILE", requires = "hosts")]
    pub secret_file: Option<PathBuf>,
    /// Zarr: how long processes wait for each other [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub wait: Option<u64>,
}

impl Zarr {
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
    /// On machines, on paper
    #[command(flatten)]
    pub paper: Paper,
}

/// Machines that need not be there.
#[derive(Debug, Args)]
pub struct Paper {
    /// Plan for so many machines, and for arrays that are cut into blocks
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

/// A program may start with `-`, but none starts with two: that is an option misspelt.
fn program(text: &str) -> Result<String, String> {
    match text.strip_prefix("--") {
        Some(name) => Err(format!("there is no option --{name}")),
        None => Ok(text.into()),
    }
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

/// A shape or a point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extents(pub Vec<usize>);

fn shape(text: &str) -> Result<Extents, String> {
    extents(text, 'x', "a shape is written 8x8, or . for a single number")
}

/// Blocks of an argument: one number for all axes, or one for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocks(pub Vec<Option<usize>>);

fn blocks(text: &str) -> Result<Blocks, String> {
    let form = "blocks are written 1024x1024, 1024x. where the last axis is not cut, or 1024";
    let block = |text: &str| match text.trim() {
        "." => Ok(None),
        text => match text.parse::<usize>() {
            Ok(block @ 1..) => Ok(Some(block)),
            Ok(0) => Err("a block has 1 element or more".into()),
            Err(_) => Err(form.to_owned()),
        },
    };
    text.split('x').map(block).collect::<Result<_, _>>().map(Blocks)
}

/// Compression of chunks: zstd at a level, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compress(pub Option<u8>);

fn compress(text: &str) -> Result<Compress, String> {
    let level = |text: &str| text.parse().ok().filter(|level| (1..=22).contains(level));
    match text.split_once(':') {
        None if text == "none" => Ok(Compress(None)),
        None if text == "zstd" => Ok(Compress(Some(3))),
        Some(("zstd", text)) if level(text).is_some() => Ok(Compress(level(text))),
        _ => Err("none, zstd, or zstd:LEVEL with a level from 1 to 22".into()),
    }
}

impl Blocks {
    /// The blocks of an array of so many axes.
    ///
    /// # Errors
    /// If there are more or fewer.
    pub fn of(&self, rank: usize) -> Result<Vec<Option<usize>>, String> {
        match &self.0[..] {
            [one] => Ok(vec![*one; rank]),
            all if all.len() == rank => Ok(all.to_vec()),
            all => Err(format!("--block names {} axes, but the argument has {rank}", all.len())),
        }
    }
}

/// A speed.
fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if rate > 0.0 && rate.is_finite() => Ok(rate),
        _ => Err("a number greater than 0".into()),
    }
}

fn point(text: &str) -> Result<Extents, String> {
    extents(text, ',', "a point is written 1,2, or . where there is no index")
}

/// Numbers between separators; `form` says how they are written.
fn extents(text: &str, separator: char, form: &str) -> Result<Extents, String> {
    if matches!(text, "." | "") {
        return Ok(Extents(Vec::new()));
    }
    let number = |n: &str| match n.trim().parse::<usize>() {
        Ok(n) => Ok(n),
        Err(e) if *e.kind() == IntErrorKind::PosOverflow => {
            Err(format!("{} is too large", n.trim()))
        }
        Err(_) => Err(form.into()),
    };
    text.split(separator).map(number).collect::<Result<_, _>>().map(Extents)
}

fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=4096) => Ok(n),
        _ => Err("a number from 1 to 4096".into()),
    }
}

fn dtype(text: &str) -> Result<DType, String> {
    DType::from_name(text).ok_or_else(|| {
        let names: Vec<_> = DType::ALL.iter().map(|t| t.name()).collect();
        format!("element types are {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn shapes_and_points() {
        assert_eq!(shape("8x16"), Ok(Extents(vec![8, 16])));
        assert_eq!(shape("."), Ok(Extents(vec![])));
        assert_eq!(point("1, 2"), Ok(Extents(vec![1, 2])));
        assert_eq!(
            shape("99999999999999999999x1").unwrap_err(),
            "99999999999999999999 is too large"
        );
        assert!(shape("8x").is_err() && shape("-1").is_err() && point("a").is_err());
    }

    #[test]
    fn compressions() {
        assert_eq!(compress("none"), Ok(Compress(None)));
        assert_eq!(compress("zstd"), Ok(Compress(Some(3))));
        assert_eq!(compress("zstd:22"), Ok(Compress(Some(22))));
        assert!(["zstd:0", "zstd:23", "gzip", "zstd:", ""].iter().all(|t| compress(t).is_err()));
    }

    #[test]
    fn blocks_of_axes() {
        assert_eq!(blocks("16").unwrap().of(2), Ok(vec![Some(16); 2]));
        assert_eq!(blocks("16x.").unwrap().of(2), Ok(vec![Some(16), None]));
        assert_eq!(blocks(".").unwrap().of(3), Ok(vec![None; 3]));
        let error = blocks("4x4").unwrap().of(3).unwrap_err();
        assert_eq!(error, "--block names 2 axes, but the argument has 3");
        assert_eq!(blocks("0").unwrap_err(), "a block has 1 element or more");
        assert!(blocks("4x").is_err() && blocks("-1").is_err() && rate("0").is_err());
    }
}
