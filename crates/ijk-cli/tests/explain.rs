//! `ijk explain`: the kernel, algorithm, blocking and reasons of each step, as text and as JSON.

use serde_json::Value;
use std::cmp::Ordering;
use std::path::Path;
use std::process::{Command, Stdio};

/// Output of `ijk explain` with an engine of two threads.
fn explain(program: &str, options: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ijk"));
    command.args(["explain", program, "--threads=2"]).args(options);
    // Without a stored probe, estimates are typical ones.
    command.env("IJK_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("no probe here"));
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The objects of all steps for arguments of these shapes.
fn steps(program: &str, dtype: &str, shapes: &[&str]) -> Vec<Value> {
    let shapes: Vec<String> = shapes.iter().map(|shape| format!("--shape={shape}")).collect();
    let mut options = vec!["--json", "--dtype", dtype];
    options.extend(shapes.iter().map(String::as_str));
    let value: Value = serde_json::from_str(&explain(program, &options)).unwrap();
    value["steps"].as_array().unwrap().clone()
}

/// A program, shapes of its arguments, and steps with their algorithms.
type Case = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

/// The reason of a step that names a threshold.
fn reason<'a>(step: &'a Value, threshold: &str) -> &'a Value {
    let reasons = step["reasons"].as_array().unwrap();
    let found = reasons.iter().find(|reason| reason["threshold"] == threshold);
    found.unwrap_or_else(|| panic!("{threshold} is no reason in {step}"))
}

#[test]
fn every_kind_of_step_names_its_kernel() {
    let softmax = "(I & >ij~i) . ij-i~ij . ^ij~ij . (I & +ij~i) . ij/i~ij";
    let cases: &[Case] = &[
        ("+(ik*kj)~ij", &["64x64", "64x64"], &[("contraction", "small matrices, read in place")]),
        ("+(ik*kj)~ij", &["3000x3000", "3000x3000"], &[("contraction", "packed GEMM")]),
        (
            "+(ik*kj)~ij",
            &["1000x1000", "1000x2"],
            &[("contraction", "dot products|small matrices, read in place")],
        ),
        (
            "+(ik*k)~i",
            &["1000x1000", "1000"],
            &[("row fold", "folds of two operands in registers")],
        ),
        ("+(ki*k)~i", &["1000x1000", "1000"], &[("contraction", "axpy")]),
        (
            "+(nc[h+r][w+s]*fcrs)~nfhw",
            &["2x16x34x34", "32x16x3x3"],
            &[("contraction", "GEMM, windows of rhs in place (implicit im2col)")],
        ),
        (
            ">nc[2*h+r{2}][2*w+s{2}]~nchw",
            &["2x3x64x66"],
            &[("windows", "taps combined in registers")],
        ),
        ("+ij~i", &["1000x500"], &[("row fold", "folds in registers")]),
        ("+ij~i", &["10x500000"], &[("row fold", "folds in registers")]),
        ("@sin ij~ij . +ij~i", &["10x500000"], &[("nest", "reduction in chunks of tiles")]),
        ("@argmax ij~i", &["100x100"], &[("nest", "positions of extremes in tiles")]),
        ("ij~ji", &["700x700"], &[("nest", "transposing copy")]),
        ("ij~ij", &["700x700"], &[("nest", "copy of contiguous rows")]),
        ("ijkl~lkji", &["8x8x8x64"], &[("permutation", "copy by blocks of whole cache lines")]),
        (
            "+ik~[i+k]",
            &["9000x7"],
            &[("nest", "fill"), ("scatter", "rows combined in place, one after another")],
        ),
        (
            "+(abk*ack)~abc",
            &["300x4x8", "300x6x8"],
            &[(
                "short axes|nest",
                "sums over tables of offsets, operands copied|reduction of tiles",
            )],
        ),
        (
            softmax,
            &["4096x4096"],
            &[
                ("sweep", "blocks of rows"),
                ("row fold", "folds in registers"),
                ("nest", "tiles, one kernel for each function"),
                ("row fold", "folds in registers"),
                ("nest", "tiles with chains|tiles, one kernel for each function"),
            ],
        ),
    ];
    for (program, shapes, expected) in cases {
        let steps = steps(program, "f32", shapes);
        assert_eq!(steps.len(), expected.len(), "{program} {shapes:?}: {steps:?}");
        for (step, (kernel, algorithm)) in steps.iter().zip(*expected) {
            // Narrower vectors have alternatives after a bar.
            let is = |name: &str, any: &str| any.split('|').any(|one| step[name] == one);
            let found = is("kernel", kernel) && is("algorithm", algorithm);
            assert!(found, "{program} {shapes:?}: {step} is no {kernel}: {algorithm}");
        }
        for step in &steps {
            assert!(step["microseconds"].as_f64().unwrap() > 0.0);
            assert!(step["bound"]["microseconds"].as_f64().unwrap() >= 0.0);
            assert!(matches!(step["bound"]["limit"].as_str(), Some("compute" | "memory")));
            assert!(matches!(step["threads"].as_u64(), Some(1 | 2)));
            assert!(step["reasons"].as_array().unwrap().iter().all(|r| r["text"].is_string()));
        }
    }
}

#[test]
fn steps_of_a_block_have_its_number() {
    let softmax = "(I & >ij~i) . ij-i~ij . ^ij~ij . (I & +ij~i) . ij/i~ij";
    let steps = steps(softmax, "f32", &["4096x4096"]);
    let numbers: Vec<_> = steps.iter().map(|step| step["step"].as_str().unwrap()).collect();
    assert_eq!(numbers, ["1", "1.1", "1.2", "1.3", "1.4"]);
    assert!(steps[1..].iter().all(|step| step["threads"] == 1));
    assert_eq!(steps[0]["blocking"][0]["memory"], "L2");
}

#[test]
fn blocking_of_a_contraction() {
    let step = &steps("+(ik*kj)~ij", "f64", &["3000x2000", "2000x1000"])[0];
    let extents = ["m", "n", "k"].map(|name| step["extents"][name].as_u64().unwrap());
    assert_eq!(extents.iter().product::<u64>(), 3000 * 2000 * 1000);
    let blocking = step["blocking"].as_array().unwrap();
    let names: Vec<_> = blocking.iter().map(|block| block["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["mr", "nr", "kc", "nc", "mc"]);
    let tile = &blocking[1];
    assert_eq!((&tile["unit"], &tile["memory"]), (&"columns".into(), &"registers".into()));
    let [mr, nr] = [0, 1].map(|at: usize| blocking[at]["size"].as_u64().unwrap());
    assert_eq!(tile["bytes"], 8 * mr * nr);
}

#[test]
fn both_sides_of_a_threshold_have_their_reasons() {
    // Program, shapes and value on one side and on the other.
    type Side<'a> = (&'a str, &'a [&'a str], u64);
    let product = "+(ik*kj)~ij";
    let cases: &[(&str, u64, [Side<'_>; 2])] = &[
        ("KC", 256, [(product, &["32x256", "256x32"], 256), (product, &["32x257", "257x32"], 257)]),
        (
            "PERMUTE_POINTS",
            1024,
            [("ijkl~lkji", &["4x4x4x8"], 512), ("ijkl~lkji", &["4x4x4x16"], 1024)],
        ),
        (
            "WINDOW_TAPS",
            256,
            [
                (">[h+r{16}][w+s{16}]~hw", &["60x600"], 256),
                (">[h+r{16}][w+s{17}]~hw", &["60x600"], 272),
            ],
        ),
        (
            "ROW_FOLD_LENGTH",
            131_072,
            [("+ij~i", &["9x131072"], 131_072), ("+ij~i", &["9x131073"], 131_073)],
        ),
    ];
    for (threshold, limit, sides) in cases {
        let texts = sides.map(|(program, shapes, value)| {
            let steps = steps(program, "f32", shapes);
            let reason = reason(steps.last().unwrap(), threshold);
            assert_eq!((&reason["value"], &reason["limit"]), (&value.into(), &(*limit).into()));
            let words = match value.cmp(limit) {
                Ordering::Less => ["below", "at most"],
                Ordering::Equal => ["at least", "at most"],
                Ordering::Greater => ["above", "at least"],
            };
            let text = reason["text"].as_str().unwrap().to_owned();
            assert!(words.iter().any(|word| text.contains(word)), "{text}");
            text
        });
        assert_ne!(texts[0], texts[1]);
    }
}

#[test]
fn text_stays_within_a_line() {
    let text = explain("+(ik*kj)~ij", &["--dtype=f32", "--shape=3000x3000", "--shape=3000x3000"]);
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
    let parts = [
        "contraction: packed GEMM; 2 threads; ",
        " by operations)",
        "since k = 3000 is above 256",
        "in registers",
    ];
    parts.iter().for_each(|part| assert!(text.contains(part), "{part} is missing:\n{text}"));
    let row = text.lines().position(|line| line.starts_with("1 ")).unwrap();
    assert!(text.lines().nth(row + 1).unwrap().starts_with("      contraction: "));
}

#[test]
fn short_work_names_the_time_from_which_threads_help() {
    let few = &steps("ij+ij~ij", "f32", &["30x30", "30x30"])[0];
    assert_eq!(few["threads"], 1);
    assert!(reason(few, "HAND_OFFS")["text"].as_str().unwrap().contains("another thread pays"));
    let many = &steps("ij+ij~ij", "f32", &["3000x3000", "3000x3000"])[0];
    assert_eq!(many["threads"], 2);
}

#[test]
fn steps_of_tuples() {
    let folder = tempfile::tempdir().unwrap();
    let program = |name: &str, source: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, source).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let experts = program("experts.et", "y[b,o] = x[b,i] * w[e[b],i,o]\n");
    let shapes = ["--shape=512x64", "--shape=8x64x32", "--shape=512"];
    let types = ["--dtype=f32", "--dtype=f32", "--dtype=i64"];
    let text = explain(&experts, &[&shapes[..], &types].concat());
    assert!(
        text.contains("grouped contraction: tiles of rows of one group; 2 threads; "),
        "{text}"
    );
    assert!(text.contains("a tile of 64 rows is computed as a contraction: "), "{text}");
    let sums = program("sums.et", "y[b,pos] = x[b,pos-back]\nDIMS(back) = DIMS(pos)\n");
    for (rows, length, reason) in [
        (100, 1000, "strands = 100 is at least 16: whole rows are divided among threads"),
        (1, 1_000_000, "values of a strand = 1000000 is at least 131072: rows are cut into chunks"),
        (1, 1000, "values of a strand = 1000 is below 131072: rows are not cut into chunks"),
    ] {
        let shape = format!("--shape={rows}x{length}");
        let extent = format!("--dims=pos={length}");
        let text = explain(&sums, &["--dtype=f32", &shape, &extent]);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains("scan: row by row") && text.contains(reason), "{text}");
    }
}
