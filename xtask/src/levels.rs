//! Checks that kernels call no function that is compiled for the baseline instruction set.
//!
//! A kernel exists once for each SIMD level: one function with the instructions of the level, into which its callees
//! are inlined. A callee that the compiler does not inline, such as a closure or a method of an iterator, becomes a
//! function without these instructions, which moves vectors through memory: correct, but many times slower. Tests do
//! not detect that; the machine code shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

/// Ends of the names of functions that have the instructions of a level.
const KERNELS: [&str; 4] = ["::avx2", "::avx512", "avx2::vectorize", "avx512::vectorize"];

/// Allowed callees: strips of a transposition, which call kernels in turn, and functions of complex numbers, whose
/// steps depend on each other.
const ALLOWED: [&str; 2] = ["copy::kernel::transpose::{{closure}}", "::complex::"];

/// Builds the program as it is released, and prints what kernels call.
pub fn run(root: &Path) -> ExitCode {
    let built = crate::frameworks::build(root, ("release", "release"), &[]);
    let calls = match built.and_then(|program| calls(&program).map_err(|error| error.to_string())) {
        Ok(calls) => calls,
        Err(problem) => {
            eprintln!("levels: {problem}");
            return ExitCode::from(2);
        }
    };
    for (kernel, callee) in &calls {
        eprintln!("levels: {kernel} calls {callee}");
    }
    if calls.is_empty() {
        println!("levels: no kernel calls what does not have its instructions");
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The calls of kernels, as pairs of kernel and callee, except allowed ones.
fn calls(program: &Path) -> std::io::Result<BTreeSet<(String, String)>> {
    let mut child = Command::new("objdump")
        .args(["-d", "-C", "--no-show-raw-insn"])
        .arg(program)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| std::io::Error::other(format!("`objdump`: {error}")))?;
    let code = child.stdout.take().expect("its output is piped");
    let found = calls_in(BufReader::new(code))?;
    if !child.wait()?.success() {
        return Err(std::io::Error::other(format!("cannot read {}", program.display())));
    }
    Ok(found)
}

/// The same from disassembled code.
fn calls_in(code: impl BufRead) -> std::io::Result<BTreeSet<(String, String)>> {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut calls = BTreeSet::new();
    let mut kernel: Option<String> = None;
    for line in code.split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        if let Some((address, name)) = function(&line) {
            kernel = is_kernel(name).then(|| name.to_owned());
            names.insert(address.trim_start_matches('0').to_owned(), name.to_owned());
        } else if let (Some(kernel), Some(address)) = (&kernel, called(&line)) {
            calls.insert((kernel.clone(), address.to_owned()));
        }
    }
    // Without names, nothing would be found in any program.
    if !names.values().any(|name| is_kernel(name)) {
        return Err(std::io::Error::other("the program names no kernels of AVX2 or AVX-512"));
    }
    let named = calls.into_iter().filter_map(|(kernel, address)| {
        let callee = names.get(&address)?;
        let allowed = ALLOWED.iter().any(|part| callee.contains(part));
        (!allowed).then(|| (kernel, callee.clone()))
    });
    Ok(named.collect())
}

fn is_kernel(name: &str) -> bool {
    KERNELS.iter().any(|end| name.ends_with(end))
}

/// The address and the name of a function that begins with this line.
fn function(line: &str) -> Option<(&str, &str)> {
    line.strip_suffix(">:")?.split_once(" <")
}

/// The address of what a line calls.
fn called(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("\tcall ")?;
    rest.trim_start().split_once(" <").map(|(address, _)| address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_kernels_are_found() {
        let code = "\
0000000000001000 <ijk::scan::rows_at::avx512>:
    1000:\tcall   2000 <core::array::try_map>
    1005:\tcall   *0x9(%rip)        # 3000 <_DYNAMIC>
    100a:\tcall   2100 <ijk::complex::exp>

0000000000002000 <core::array::try_map>:
    2000:\tcall   2100 <ijk::complex::exp>

0000000000002100 <ijk::complex::exp>:
    2100:\tret
";
        let found = calls_in(code.as_bytes()).unwrap();
        let expected = ("ijk::scan::rows_at::avx512".into(), "core::array::try_map".into());
        assert_eq!(found, BTreeSet::from([expected]));
    }

    #[test]
    fn a_program_without_names_is_refused() {
        let code = "0000000000001000 <.text>:\n    1000:\tcall   2000 <.text+0x1000>\n";
        assert!(calls_in(code.as_bytes()).is_err());
    }
}
