//! Long help texts of the commands.

pub(super) const LONG: &str = "Index expressions on files of arrays.

Arrays are .npy files, members of .npz archives (data.npz:member), or Zarr arrays: directories (data.zarr), zip archives
(data.zarr.zip), and URLs (s3://bucket/data.zarr; https://host/data.zarr is read only), with credentials and endpoint
from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL, AWS_REGION, AWS_PROFILE. Programs on
Zarr arrays run block by block, in the memory of a few blocks. `-` is the standard input or output, with one array in
.npy format; messages go to the standard error output.
Exit codes: 0 done; 1 error in the program or the data; 2 error in the command line, or of the machine.
Inputs and outputs are named 0, 1, … in order; messages count arguments and results from 1.
The environment variable IJK_LEVEL (portable, avx2, avx512, neon) selects a SIMD level; the default is the widest of
the machine.

  ijk eval 'ik*kj~ijk . +ijk~ij' a.npy b.npy -o c.npy";

pub(super) const RUN: &str = "Example:
  ijk run softmax.ijk --bind 0=scores.npy --out 0=weights.npy
  ijk run product.ijk --bind 0=a.zarr --bind 1=b.zarr --out 0=c.zarr --memory 2GiB
  ijk run convolution.et --bind image=image.zarr --bind filter=filter.npy --out result=result.zarr --dims stride=2,2

The same command continues an incomplete result in a Zarr array. Other commands refuse an incomplete result as an
argument, unless --partial is given.";

pub(super) const EVAL: &str = "Examples:
  ijk eval '+ij~j' table.npy                  sums of the columns, printed
  ijk eval 'ij+j~ij' table.npz:rows shift.npy -o shifted.npy
  ijk eval 'ij~ij' table.npy --block 1024 -o table.zarr     a copy in blocks
  ijk eval 'ij~ji' table.npy -o - | ijk eval '+ij~j' -      from command to command";

pub(super) const EINSUM: &str = "Examples:
  ijk einsum 'ij,jk->ik' a.npy b.npy -o product.npy
  ijk einsum 'ij,jk,kl->il' a.npy b.npy c.npy --path      the order and its cost; nothing is computed

Subscripts have NumPy's meaning. All arguments have one element type: --dtype converts them.";

pub(super) const CHECK: &str = "Example:
  ijk check 'ik*kj~ijk . +ijk~ij'";

pub(super) const EXPLAIN: &str = "Examples:
  ijk explain '+(ik*kj)~ij' --shape 512x512 --shape 512x512 --dtype f32
  ijk explain convolution.et --shape 1x64x64x8 --shape 3x3x8x16 --dims stride=2,2
  ijk explain '+(ik*kj)~ij' --shape 1000000x1000000 --shape 1000000x1000000 --dtype f32 \\
      --block 4096 --machines 1000 --memory 64GiB

Under each step are its kernel and algorithm, the estimated time, a lower bound by operations and bytes, the blocking,
and the sizes and thresholds that decided; --json has them as fields.

With --machines, the plan for arrays in blocks is simulated without data: bytes moved between machines, read, written
and kept in memory, the time that follows from these numbers alone, and a lower bound of the bytes moved by any
algorithm.";

pub(super) const DEPS: &str = "Examples:
  ijk deps '+(ik*kj)~ij' --shape 4x3 --shape 3x5 --at 1,2
  ijk deps '+(ik*kj)~ij' --shape 4x3 --shape 3x5 --at 1,2 --input 0    the inverse
  ijk deps product.ijk --shape 4x3 --shape 3x5 --from 'mm.m[2,1,0]' --to 'mm.a[2,1]'
  ijk deps product.ijk --shape 4x3 --shape 3x5 --to 'a[2,1]'           all its dependencies
  ijk deps blur.et --shape 9 --from 'x[4]' --to y

--from and --to name operations, by a path of bindings and an index: mm.m[2,1,0] is element [2,1,0] of the result of m
within mm. The last names of a path suffice if they are unambiguous; several operations of one name are a#1, a#2.
Arguments are 0, 1, …; in .et, arrays and statements have the names of their arrays. An operation without indices
stands for all its elements.";

pub(super) const BENCH: &str = "Examples:
  ijk bench '+(ik*kj)~ij' --shape 1024x1024 --shape 1024x1024 --dtype f32 --threads 1,2
  ijk bench softmax.ijk --bind 0=scores.npy --fresh

The first run, which plans, is not counted. Runs of less than 20 µs are timed in groups.
Operations are the scalar operations of the plan; bytes are those of the arguments and results.
The bound is the least time in which the machine can do these operations, or move these bytes if that takes
longer. The rates of the machine are measured once, and stored in the user's cache folder, or in the folder of
the environment variable IJK_CACHE.

--json prints an object on a line for each number of threads, with these members:
  threads, simd               number of threads, SIMD level
  outputs                     \"reused\" or \"fresh\"
  repetitions                 number of measurements
  median_seconds, best_seconds, first_quartile_seconds, third_quartile_seconds
  operations                  null if they are not known (.et)
  bytes, bytes_read, bytes_written
  giga_operations_per_second, gigabytes_per_second        by the median
  probe                       \"kept\", \"measured\", \"unkept\" (measured, but not stored) or \"typical\" (neither)
  peak_giga_operations_per_second, read_gigabytes_per_second, copy_gigabytes_per_second
                              rates of the machine with these threads; null for bool
  bound, bound_seconds        \"compute\" or \"memory\", and the least time by it
  fraction_of_bound           the least time by the median

--paced prints an object with the members that are known before a run, then waits for lines such as
`reused 0.05` or `fresh 0.05`. For each it runs for that number of seconds, at least once, and prints
{\"outputs\": …, \"repetitions\": …, \"seconds\": median}; so a script can interleave it with others.";

pub(super) const COMPLETIONS: &str = "Examples:
  ijk completions bash > ~/.local/share/bash-completion/completions/ijk
  ijk completions zsh > ~/.zfunc/_ijk                  a folder of $fpath
  ijk completions fish > ~/.config/fish/completions/ijk.fish";

pub(super) const MAN: &str = "Examples:
  ijk man ~/.local/share/man/man1                      then: man ijk, man ijk-eval
  ijk man pages && man ./pages/ijk-run.1";

const VERIFY: &str = "Examples:
  ijk verify examples/et/gather_nd.et
  ijk verify convolution.et --reps 20 --seed 7 --python ~/tensorflow/bin/python

Exit codes: 0 all cases agree; 1 some do not, or the program is wrong; 2 Python or a package is missing.

The program need not be trusted. Functions of these modules may be called, but none that accesses files, other
programs or the network:";

/// The help of `ijk verify`, with the modules whose functions it calls.
pub(super) fn verify_help() -> String {
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
    text + "\n(np, tf and jnp are numpy, tensorflow and jax.numpy; reference comes with ijk.) --module adds one of your own."
}
