//! Every file of `examples/et` on data of ordinary size: photographs, signals, batches of vectors. The ranges of
//! their constraints are for the small cases of `ijk verify`.

use ijk::DType;
use ijk::et::Bindings;
use ijk::ndarray::{ArrayD, IxDyn};
use std::path::Path;

/// The shapes of arrays, which eintups they leave open, and the shapes of the results.
struct Case {
    file: &'static str,
    inputs: &'static [(&'static str, &'static [usize])],
    dims: &'static [(&'static str, &'static [u64])],
    outputs: &'static [&'static [usize]],
}

const PHOTO: &[usize] = &[1, 192, 256, 3];

const CASES: &[Case] = &[
    Case {
        file: "attention",
        inputs: &[("query", &[2, 128, 64]), ("key", &[2, 160, 64]), ("value", &[2, 160, 64])],
        dims: &[],
        outputs: &[&[2, 128, 64]],
    },
    Case {
        file: "batch_norm",
        inputs: &[("input", &[4, 128, 96, 3]), ("scale", &[3]), ("offset", &[3])],
        dims: &[],
        outputs: &[&[4, 128, 96, 3]],
    },
    Case {
        file: "convolution_depthwise",
        inputs: &[("input", PHOTO), ("filters", &[5, 5, 3, 2])],
        dims: &[],
        outputs: &[&[1, 188, 252, 6]],
    },
    Case {
        file: "convolution_dilated",
        inputs: &[("input", PHOTO), ("filters", &[3, 3, 3, 8])],
        dims: &[("dilation", &[4, 6])],
        outputs: &[&[1, 184, 244, 8]],
    },
    Case {
        file: "convolution_same",
        inputs: &[("input", PHOTO), ("filters", &[5, 5, 3, 8])],
        dims: &[],
        outputs: &[&[1, 192, 256, 8]],
    },
    Case {
        file: "convolution_same_by_filter",
        inputs: &[("input", &[1, 512, 2]), ("filters", &[9, 2, 8])],
        dims: &[],
        outputs: &[&[1, 512, 8]],
    },
    Case {
        file: "convolution_separable",
        inputs: &[("input", PHOTO), ("depthwise", &[5, 5, 3, 2]), ("pointwise", &[16, 6])],
        dims: &[],
        outputs: &[&[1, 188, 252, 16]],
    },
    Case {
        file: "convolution_strided",
        inputs: &[("input", PHOTO), ("filters", &[7, 7, 3, 8])],
        dims: &[("stride", &[4, 4])],
        outputs: &[&[1, 47, 63, 8]],
    },
    Case {
        file: "convolution_transposed",
        inputs: &[("input", &[1, 64, 96, 8]), ("filters", &[5, 5, 3, 8])],
        dims: &[("stride", &[4, 4])],
        outputs: &[&[1, 257, 385, 3]],
    },
    Case {
        file: "convolution_transposed_by_filter",
        inputs: &[("input", &[2, 128, 8]), ("filters", &[9, 3, 8])],
        dims: &[("stride", &[4])],
        outputs: &[&[2, 517, 3]],
    },
    Case {
        file: "convolution_valid",
        inputs: &[("input", PHOTO), ("filters", &[5, 5, 3, 8])],
        dims: &[],
        outputs: &[&[1, 188, 252, 8]],
    },
    Case {
        file: "convolution_valid_by_filter",
        inputs: &[("input", &[1, 512, 2]), ("filters", &[9, 2, 8])],
        dims: &[],
        outputs: &[&[1, 504, 8]],
    },
    Case {
        file: "cumulative_sum",
        inputs: &[("input", &[64, 512])],
        dims: &[],
        outputs: &[&[64, 512]],
    },
    Case {
        file: "depth_to_space",
        inputs: &[("input", &[1, 64, 96, 48])],
        dims: &[("block", &[4, 4]), ("chan", &[3])],
        outputs: &[&[1, 256, 384, 3]],
    },
    Case {
        file: "edit_distance",
        inputs: &[("left", &[40]), ("right", &[50])],
        dims: &[],
        outputs: &[&[]],
    },
    Case { file: "flatten", inputs: &[("input", &[64, 96, 3])], dims: &[], outputs: &[&[18432]] },
    Case {
        file: "game_of_life",
        inputs: &[("start", &[64, 96])],
        dims: &[],
        outputs: &[&[64, 96]],
    },
    Case {
        file: "gather_nd",
        inputs: &[("params", &[192, 256, 3]), ("indices", &[512, 2])],
        dims: &[("batch", &[]), ("slice", &[3])],
        outputs: &[&[512, 3]],
    },
    Case {
        file: "hidden_markov",
        inputs: &[("begin", &[8]), ("change", &[8, 8]), ("seen", &[100, 8])],
        dims: &[],
        outputs: &[&[100], &[]],
    },
    Case {
        file: "layer_norm",
        inputs: &[("input", &[128, 512]), ("scale", &[512]), ("offset", &[512])],
        dims: &[],
        outputs: &[&[128, 512]],
    },
    Case {
        file: "linear_recurrence",
        inputs: &[("input", &[4, 32]), ("decay", &[4, 32])],
        dims: &[],
        outputs: &[&[4, 32]],
    },
    Case {
        file: "matmul",
        inputs: &[("left", &[3, 128, 192]), ("right", &[3, 192, 64])],
        dims: &[],
        outputs: &[&[3, 128, 64]],
    },
    Case {
        file: "meshgrid",
        inputs: &[("x", &[64]), ("y", &[96]), ("z", &[32])],
        dims: &[],
        outputs: &[&[64, 96, 32], &[64, 96, 32], &[64, 96, 32]],
    },
    Case {
        file: "one_hot",
        inputs: &[("labels", &[512])],
        dims: &[("class", &[100])],
        outputs: &[&[512, 100]],
    },
    Case {
        file: "pool_average",
        inputs: &[("input", PHOTO)],
        dims: &[("window", &[8, 8]), ("stride", &[8, 8])],
        outputs: &[&[1, 24, 32, 3]],
    },
    Case {
        file: "pool_max",
        inputs: &[("input", PHOTO)],
        dims: &[("window", &[5, 5]), ("stride", &[4, 4])],
        outputs: &[&[1, 47, 63, 3]],
    },
    Case { file: "reverse", inputs: &[("input", &[192, 256])], dims: &[], outputs: &[&[192, 256]] },
    Case {
        file: "scatter_nd",
        inputs: &[("indices", &[512, 2]), ("updates", &[512, 3])],
        dims: &[("elem", &[192, 256])],
        outputs: &[&[192, 256, 3]],
    },
    Case {
        file: "shortest_paths",
        inputs: &[("length", &[60, 60])],
        dims: &[],
        outputs: &[&[60, 60]],
    },
    Case {
        file: "slice",
        inputs: &[("input", &[192, 256])],
        dims: &[("begin", &[40, 60]), ("pos", &[100, 128])],
        outputs: &[&[100, 128]],
    },
    Case {
        file: "space_to_depth",
        inputs: &[("input", PHOTO)],
        dims: &[("block", &[8, 8])],
        outputs: &[&[1, 24, 32, 192]],
    },
    Case {
        file: "tile",
        inputs: &[("input", &[64, 96])],
        dims: &[("copy", &[5, 7])],
        outputs: &[&[320, 672]],
    },
    Case {
        file: "triangular_solve",
        inputs: &[("matrix", &[8, 8]), ("right", &[8, 3])],
        dims: &[],
        outputs: &[&[8, 3]],
    },
    Case {
        file: "upsample",
        inputs: &[("input", &[2, 128, 3])],
        dims: &[("factor", &[4])],
        outputs: &[&[2, 512, 3]],
    },
];

fn program(file: &str) -> ijk::et::Program {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/et").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    ijk::et(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn every_file_of_the_library_runs_on_data_of_ordinary_size() {
    for case in CASES {
        let program = program(&format!("{}.et", case.file));
        // Some index with these arrays: small integers suit all of them.
        let whole = |name: &str| ["labels", "indices"].contains(&name);
        let shape = |shape: &[usize]| IxDyn(shape);
        let element = |n: usize| ((n * 7919 + 13) % 64) as f64;
        let arrays: Vec<(&str, ArrayD<f64>)> = case
            .inputs
            .iter()
            .map(|(name, dims)| {
                let count = dims.iter().product();
                let elements = (0..count).map(element).collect();
                (*name, ArrayD::from_shape_vec(shape(dims), elements).unwrap())
            })
            .collect();
        let positions: Vec<ArrayD<i64>> =
            arrays.iter().map(|(_, array)| array.mapv(|x| x as i64)).collect();
        let mut bindings = Bindings::new();
        for ((name, array), positions) in arrays.iter().zip(&positions) {
            bindings = match whole(name) {
                true => bindings.bind(*name, positions),
                false => bindings.bind(*name, array),
            };
        }
        for (tuple, dims) in case.dims {
            bindings = bindings.dims(*tuple, *dims);
        }
        let outputs = program.run(bindings).unwrap_or_else(|e| panic!("{}: {e}", case.file));
        let found: Vec<Vec<usize>> =
            outputs.iter().map(|(_, array)| array.shape().to_vec()).collect();
        assert_eq!(found, case.outputs, "{}", case.file);
        for (name, array) in outputs.iter() {
            let finite = array.view().iter_scalars().all(|x| x.as_f64().is_finite());
            assert!(finite || array.dtype() == DType::Bool, "{}: {name}", case.file);
        }
    }
}

#[test]
fn every_file_of_the_library_has_a_case() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/et");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|of| of == "et"))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, CASES.iter().map(|case| case.file).collect::<Vec<_>>());
}

/// The convolution of a photograph, element by element.
#[test]
fn a_photograph_is_convolved() {
    let program = program("convolution_same.et");
    let photo = ArrayD::from_shape_fn(IxDyn(&[1, 128, 96, 1]), |at| (at[1] * 3 + at[2] * 5) as f64);
    let filters = ArrayD::from_shape_fn(IxDyn(&[3, 3, 1, 1]), |at| (at[0] * 3 + at[1]) as f64);
    let bindings = Bindings::new().bind("input", &photo).bind("filters", &filters);
    let outputs = program.run(bindings).unwrap();
    let found = outputs["output"].as_slice::<f64>().unwrap();
    for (y, x) in [(0, 0), (127, 95), (64, 33), (1, 94)] {
        let mut sum = 0.0;
        for (i, j) in (0..3).flat_map(|i| (0..3).map(move |j| (i, j))) {
            let (row, column) = (y as i64 + i - 1, x as i64 + j - 1);
            if (0..128).contains(&row) && (0..96).contains(&column) {
                sum += photo[[0, row as usize, column as usize, 0]] * (i * 3 + j) as f64;
            }
        }
        assert_eq!(found[y * 96 + x], sum, "{y} {x}");
    }
}
