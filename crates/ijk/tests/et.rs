//! The API of Einsum Tuple.

use ijk::et::{Bindings, Source};
use ijk::ndarray::{Array, Array1, Array2, Array3, Axis, array};
use ijk::{DType, Engine, Error, Tensor, TensorView, et};
use ijk_types::Literal;

const CONVOLUTION: &str = "\
input[batch,ipos,ichan]    = RANDOM(0, 10, FLOAT)
filters[fpos,ichan,ochan]  = RANDOM(0, 1, FLOAT)
output[batch,opos,ochan]   = filters[fpos,ichan,ochan] * input[batch,fpos+DIMS(stride)*opos,ichan]

output

RANK(ipos) IN [1,3]
DIMS(stride) IN [1,3]
DIMS(fpos) IN [2,5]
DIMS(ipos) IN [15,24]
DIMS(opos) = (DIMS(ipos) - DIMS(fpos) + 1) //^ DIMS(stride)
";

fn numbers(tensor: &Tensor) -> &[f64] {
    tensor.as_slice().expect("f64")
}

#[test]
fn a_convolution_runs_for_every_rank() {
    let program = et(CONVOLUTION).unwrap();
    let cases: Vec<_> = program.cases(3, 2).points(20_000).map(Result::unwrap).collect();
    let ranks: Vec<_> = cases.iter().map(|case| case.shapes().rank("ipos").unwrap()).collect();
    assert_eq!(ranks, [1, 1, 2, 2, 3, 3]);
    for case in &cases {
        let shapes = case.shapes();
        let outputs = case.run(Bindings::new().keep("input").keep("filters")).unwrap();
        assert_eq!(outputs.names().collect::<Vec<_>>(), ["output", "input", "filters"]);
        let dims = [shapes.dims("batch"), shapes.dims("opos"), shapes.dims("ochan")];
        let expected: Vec<usize> =
            dims.into_iter().flat_map(Option::unwrap).map(|&n| n as usize).collect();
        assert_eq!(outputs["output"].shape(), expected);
        assert_eq!(outputs["input"].rank(), 2 + shapes.rank("ipos").unwrap());
    }
}

#[test]
fn bound_arrays_decide_ranks_and_extents() {
    let program = et(CONVOLUTION).unwrap();
    let input = Array::from_elem((1, 15, 16, 1), 1f32);
    let filters = Array::from_elem((2, 3, 1, 4), 2f32);
    let bindings = Bindings::new().bind("input", &input).bind("filters", &filters);
    let error = program.solve(&bindings).unwrap_err();
    assert!(error.to_string().contains("stride"), "{error}");
    let bindings = bindings.dims("stride", [2, 3]);
    let shapes = program.solve(&bindings).unwrap();
    assert_eq!(shapes.dims("opos"), Some(&[7, 5][..]));
    let outputs = program.run(bindings).unwrap();
    assert_eq!(outputs["output"].shape(), [1, 7, 5, 4]);
    assert_eq!(outputs["output"].dtype(), DType::F32);
    assert!(outputs["output"].as_slice::<f32>().unwrap().iter().all(|&x| x == 12.0));
}

#[test]
fn random_numbers_depend_on_the_seed_alone() {
    let program = et("x[i,j] = RANDOM(0, 1, FLOAT)\ny[i] = x[i,j]\n\nx, y").unwrap();
    let run = |threads: usize, seed: u64| {
        let engine = Engine::builder().threads(threads).build();
        let bindings = Bindings::new().dims("i", [300]).dims("j", [40]).seed(seed);
        let outputs = program.run_on(&engine, bindings).unwrap();
        [numbers(&outputs["x"]).to_vec(), numbers(&outputs["y"]).to_vec()]
    };
    assert_eq!(run(1, 5), run(2, 5));
    assert_ne!(run(1, 5)[0], run(1, 6)[0]);
    assert!(run(1, 5)[0].iter().all(|x| (0.0..1.0).contains(x)));
}

#[test]
fn drawn_ranks_and_extents_depend_on_the_seed() {
    let program = et("x[i] = 1\n\nRANK(i) IN [0,4]\nDIMS(i) IN [1,4]").unwrap();
    let shape = |seed: u64| program.run(Bindings::new().seed(seed)).unwrap()["x"].shape().to_vec();
    assert_eq!(shape(1), shape(1));
    let shapes: std::collections::HashSet<_> = (0..20).map(shape).collect();
    assert!(shapes.len() > 5);
}

#[test]
fn views_of_any_layout_are_bound_without_a_copy() {
    let program = et!("y[i,j] = x[j,i] - m[i]");
    let x = Array2::from_shape_fn((3, 2), |(j, i)| (10 * i + j) as f64);
    let m = array![0.5, 9.0, 1.5, 9.0];
    let (x, m) = (x.t(), m.slice(ijk::ndarray::s![..;2]));
    let x = x.t();
    let outputs = program.run(Bindings::new().bind("x", x).bind("m", m)).unwrap();
    assert_eq!(outputs["y"].shape(), [2, 3]);
    assert_eq!(numbers(&outputs["y"]), [-0.5, 0.5, 1.5, 8.5, 9.5, 10.5]);
}

#[test]
fn programs_are_reused_for_other_shapes_and_types() {
    let program = et!("s[b] = x[b,k]\n\nRANK(b) IN [0,3]");
    for n in 0..4usize {
        let x = Array3::<f64>::ones((2, n, 3));
        let outputs = program.run([("x", &x)]).unwrap();
        assert_eq!(outputs["s"].shape(), [2, n]);
        assert!(numbers(&outputs["s"]).iter().all(|&s| s == 3.0));
        let whole = Array::from_elem(n, 1i32);
        let outputs = program.run([("x", &whole)]).unwrap();
        assert_eq!(outputs["s"].as_slice::<i32>(), Some(&[n as i32][..]));
    }
}

#[test]
fn data_sizes_arrays_anew_at_every_run() {
    let program = et("h[idx[s]] = 1\ntotal[] = h[o]\n\nh, total\n\nDIMS(o) = 100").unwrap();
    for greatest in [3i64, 7, 0, 3] {
        let idx = array![0, greatest, greatest];
        let outputs = program.run([("idx", &idx)]).unwrap();
        assert_eq!(outputs["h"].shape(), [greatest as usize + 1]);
        assert_eq!(outputs["total"].as_slice::<i64>(), Some(&[3][..]));
    }
}

#[test]
fn threads_share_a_program() {
    let program = et!("h[idx[s] + 1] = x[s]\nsum[] = h[FLAT(k)]\n\nsum\n\nDIMS(k) = 9");
    std::thread::scope(|scope| {
        for n in 1..5i64 {
            scope.spawn(move || {
                for _ in 0..20 {
                    let (idx, x) =
                        (Array::from_iter(0..n), Array::from_iter((0..n).map(|i| i * i)));
                    let outputs = program.run([("idx", &idx), ("x", &x)]).unwrap();
                    let expected: i64 = (0..n).map(|i| i * i).sum();
                    assert_eq!(outputs["sum"].as_slice::<i64>(), Some(&[expected][..]));
                }
            });
        }
    });
}

#[test]
fn a_signature_tells_what_can_be_bound() {
    let program = et(CONVOLUTION).unwrap();
    let signature = program.signature();
    assert_eq!(signature.bindable().collect::<Vec<_>>(), ["input", "filters"]);
    assert_eq!(signature.outputs().collect::<Vec<_>>(), ["output"]);
    assert_eq!(signature.arrays[0].source, Source::Default);
    assert_eq!(signature.arrays[0].places, ["batch", "ipos", "ichan"]);
    assert!(program.to_string().starts_with("input or random input[batch,ipos,ichan]\n"));
}

#[test]
fn wrong_names_list_those_that_can_be_bound() {
    let program = et("y[i] = x[i] * w[i]").unwrap();
    let x = array![1.0];
    let error = program.run([("z", &x)]).unwrap_err();
    assert!(matches!(&error, Error::Binding { name, .. } if name == "z"));
    assert!(error.to_string().ends_with("can be bound: `x`, `w`"), "{error}");
    let error = program.run([("y", &x)]).unwrap_err();
    assert!(error.to_string().contains("`y` is computed by the program"), "{error}");
    let error = program.run([("x", &x)]).unwrap_err();
    assert!(error.to_string().contains("`w` is not bound"), "{error}");
    assert!(program.run(Bindings::from([("x", &x), ("w", &x)]).keep("v")).is_err());
}

#[test]
fn names_of_eintups_are_no_inputs() {
    let program = et("y[time] = time[time] + x[time]").unwrap();
    assert!(program.warnings()[0].message.contains("at its own position"));
    let x = array![1.0, 2.0];
    let error = program.run([("x", &x), ("time", &x)]).unwrap_err().to_string();
    assert!(error.contains("`time[time]` is a component of that, not an element"), "{error}");
    assert!(error.contains("an eintup here"), "{error}");
    assert!(
        error.contains("read `time_values[time]`, and give the array as `time_values`"),
        "{error}"
    );
    assert!(program.run([("x", &x)]).is_ok());
}

#[test]
fn wrong_programs_and_sizes_are_errors() {
    for source in ["y[i] = ", "y[i] = x[i", "y[i,i2] = x[i] + x[i,i2]", "", "y[i] = 1 // %"] {
        assert!(!matches!(et(source).map(|p| p.run(())), Ok(Ok(outputs)) if !outputs.is_empty()));
    }
    let huge = et("y[i,j] = i\n\nDIMS(i) = 4000000000000\nDIMS(j) = 4000000").unwrap();
    assert!(huge.run(()).unwrap_err().to_string().contains("too many points"));
    let large = et("y[i] = 0\n\nDIMS(i) = 1000000000").unwrap();
    let engine = Engine::builder().memory_limit(1 << 20).build();
    let error = large.run_on(&engine, ()).unwrap_err();
    assert!(matches!(error, Error::Memory(_)), "{error:?}");
    let said = ["needs 8000000000 bytes, but the memory limit is 1048576", "[1000000000]"];
    assert!(said.iter().all(|said| error.to_string().contains(said)), "{error}");
    // Arrays of other stages count, too: 640 kB and 640 kB.
    let two = "n[i] = 399\nx[n[i],n[i]] = i\ny[n[i],n[i]] = x[n[i],n[i]]\n\nDIMS(i) = 2";
    let two = et(two).unwrap();
    let limited = |bytes| two.run_on(&Engine::builder().memory_limit(bytes).build(), ());
    assert!(limited(8 << 20).is_ok());
    assert!(matches!(limited(1_000_000).unwrap_err(), Error::Memory(_)));
    let factors = vec!["(i % 7)"; 2000].join("*");
    let product = et(&format!("y[{factors}] = 1\n\nDIMS(i) = 2")).unwrap();
    assert!(product.run(()).unwrap_err().to_string().contains("nests too many"));
    let terms: String = (2..3000).map(|n| format!(" + i//{n}")).collect();
    let sum = et(&format!("y[i{terms}] = 1\n\nDIMS(i) = 2")).unwrap();
    assert!(sum.run(()).unwrap_err().to_string().contains("too many terms"));
}

#[test]
fn long_values_are_answered() {
    let terms = vec!["x[i]"; 5000].join(" + ");
    let program = et(&format!("y[i] = {terms}")).unwrap();
    let outputs = program.run([("x", &array![1i64, 2])]).unwrap();
    assert_eq!(outputs["y"].as_slice::<i64>(), Some(&[5000, 10_000][..]));
    let terms = vec!["x[i]"; 50_000].join(" + ");
    let program = et(&format!("y[i] = {terms}")).unwrap();
    let error = program.run([("x", &array![1i64, 2])]).unwrap_err();
    assert!(error.to_string().contains("too many operations"), "{error}");
}

#[test]
fn a_program_in_a_file() {
    let program = et!(file "tests/transpose.et");
    let outputs = program.run([("x", &array![[1, 2], [3, 4]])]).unwrap();
    assert_eq!(outputs["y"].as_slice::<i32>(), Some(&[1, 3, 2, 4][..]));
}

/// A cached plan for index arrays 0, 1, 2, … is not used for others, nor one for two names of the same array.
#[test]
fn what_is_known_of_arguments_is_looked_at_in_every_call() {
    let rows = et("y[z,d] = x[c[z],d] - w[z,d]").unwrap();
    let x = Array2::from_shape_fn((40, 30), |(z, d)| (31 * z + d) as f64);
    let mut c = Array1::from_iter(0..40i64);
    let other = &x + 1.0;
    for changed in [None, Some((7, 9)), Some((7, 7)), Some((0, 39)), Some((0, 0))] {
        if let Some((at, value)) = changed {
            c[at] = value;
        }
        for w in [&x, &other, &x] {
            let bindings = Bindings::new().bind("x", &x).bind("c", &c).bind("w", w);
            let expected = x.select(Axis(0), &c.mapv(|at| at as usize).to_vec()) - w;
            let y = rows.run(&bindings).unwrap();
            assert_eq!(y["y"].as_slice::<f64>(), expected.as_slice(), "{changed:?}");
        }
    }
}

#[test]
fn runs_with_a_seed_take_extents_that_are_given() {
    let program =
        et("x[a,b] = RANDOM(0, 1, FLOAT)\nm[] =max x[a,b]\n\nm\n\nDIMS(a) = 1500").unwrap();
    let shapes = program.solve(&Bindings::new().seed(1).dims("b", [1000])).unwrap();
    assert_eq!(shapes.to_string(), "a 1500, b 1000");
    let most = program.run(Bindings::new().seed(1).dims("b", [1000])).unwrap();
    assert!(numbers(&most["m"])[0] > 0.99);
}

#[test]
fn warnings_for_the_shapes_of_bound_arrays() {
    let program = et("y[i] = x[i + 1000] * w[i]").unwrap();
    let (short, long, w) = (Array1::<f32>::zeros(10), Array1::ones(1002), Array1::<f32>::ones(2));
    let bound = |x| Bindings::new().bind("x", x).bind("w", &w);
    let outputs = program.run(bound(&short)).unwrap();
    let [warning] = outputs.warnings() else { panic!("{:?}", outputs.warnings()) };
    assert!(warning.message.contains("the array bound to `x` has 10 positions"), "{warning:?}");
    assert_eq!(program.solve(&bound(&short)).unwrap().warnings().len(), 1);
    assert!(program.run(bound(&long)).unwrap().warnings().is_empty());
    // What the program itself is warned of is not said again.
    let program = et("y[i] = x[i] + x[-1]").unwrap();
    assert_eq!(program.warnings().len(), 1);
    let outputs = program.run(Bindings::new().bind("x", &short)).unwrap();
    assert!(outputs.warnings().is_empty());
}

#[test]
fn declared_inputs_are_drawn_for_verification() {
    let program = et(
        "INPUT x[n,d]: F32, c[z], on[z]: BOOL\ny[z,d] = WHERE(on[z], x[c[z],d], 0)\n\nDIMS(n) = 4",
    );
    let program = program.unwrap();
    assert!(program.run(()).is_err());
    let drawn = program.with_drawn_inputs().unwrap();
    assert!(drawn.signature().arrays.iter().all(|array| array.source != Source::Input));
    for case in drawn.cases(1, 3).points(1000) {
        let outputs = case.unwrap().run(Bindings::new().keep("x").keep("c").keep("on")).unwrap();
        let types = ["x", "c", "on", "y"].map(|name| outputs[name].dtype());
        assert_eq!(types, [DType::F32, DType::I64, DType::Bool, DType::F32]);
        assert!(outputs["c"].as_slice::<i64>().unwrap().iter().all(|c| (0..10).contains(c)));
    }
}

/// A bound number is what an array of that number alone is in the program.
#[test]
fn bound_numbers_are_weak() {
    let (small, single) = (array![1i8, 2], array![1f32, 2.0]);
    let run = |text: &str, bindings: Bindings<'_>| {
        ijk::et(text).unwrap().run(bindings).map(|outputs| outputs["y"].clone())
    };
    for (value, number) in [("2", Literal::Integer(2)), ("0.5", Literal::Float(0.5))] {
        let bind = |bindings: Bindings<'static>| match number {
            Literal::Integer(n) => bindings.bind("k", n),
            Literal::Float(x) => bindings.bind("k", x),
        };
        let same = |statement: &str, x: TensorView<'_>| {
            let written = format!("k[] = {value}\n{statement}\n\ny");
            let bound = bind(Bindings::new());
            let found = run(statement, bound.bind("x", x.clone())).unwrap();
            assert_eq!(found, run(&written, Bindings::new().bind("x", x)).unwrap(), "{written}");
        };
        for statement in ["y[i] = k[] * x[i]", "y[i] = k[]\ny[i] += x[i]", "y[i] = MAX(x[i], k[])"]
        {
            same(statement, (&small).into());
            same(statement, (&single).into());
        }
    }
    let declared = "INPUT k[]: F32\ny[i] = k[] * x[i]";
    let found = run(declared, Bindings::new().bind("k", 2).bind("x", &single)).unwrap();
    assert_eq!(found.as_slice::<f32>(), Some(&[2.0, 4.0][..]));
    let whole = "INPUT k[]: I64\ny[i] = k[] * x[i]";
    let error = run(whole, Bindings::new().bind("k", 0.5).bind("x", &single)).unwrap_err();
    assert!(error.to_string().contains("declared i64, but the array that is bound is f64"));
    let gather = run("y[] = x[k[]]", Bindings::new().bind("k", 1).bind("x", &single)).unwrap();
    assert_eq!(gather.as_slice::<f32>(), Some(&[2.0][..]));
    let one = array![2.0];
    let again = Bindings::new().bind("k", 1).bind("k", &one);
    assert!(run("y[i] = k[i] * x[j]", again.bind("x", &single)).is_ok());
    let unknown = ijk::et("y[i] = x[i]").unwrap().run(Bindings::new().bind("z", 2)).unwrap_err();
    assert!(unknown.to_string().contains("`z`"), "{unknown}");
    // The cache of runs tells numbers from arrays.
    let program = ijk::et("y[i] = k[] * x[i]").unwrap();
    let (two, x) = (ijk::ndarray::arr0(2.0), &single);
    let of = |bindings: Bindings<'_>| program.run(bindings.bind("x", x)).unwrap()["y"].dtype();
    for _ in 0..2 {
        assert_eq!(of(Bindings::new().bind("k", 2.0)), DType::F32);
        assert_eq!(of(Bindings::new().bind("k", &two)), DType::F64);
    }
}
