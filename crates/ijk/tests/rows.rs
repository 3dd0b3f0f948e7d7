//! Rows that are gathered and scattered, with arithmetic, against the rules, for any number of threads.

use ijk::et::{Bindings, Program};
use ijk::{DType, Engine, Error, Level, Tensor, TensorView};
use ijk_oracle::Value;
use ijk_oracle::et::harness::{Arrays, EtAgreement, EtContender, compare, solve};
use ijk_oracle::et::random::EtCase;
use ijk_oracle::random::{Input, Layout, Placed, Rng, View};
use ijk_types::{C64, C128, Scalar};

/// Operations on rows: maps, sums of rows and of elements, and combinations at computed positions.
const NUMBERS: &[&str] = &[
    "y[z,d] = x[c[z],d]",
    "y[z,d] = x[c[z],d] * v[z]",
    "y[z,d] = v[z] * x[c[z],d] * b[d]",
    "y[c[z],d] += v[z] * (x[e[z],d] - b[d]) * b[d]",
    "y[g,d] += h[g,l] * x[f[g,l],d] * b[d] + b[d]",
    "y[c[z],d] += b[d]",
    "y[z] = (v[z] - x[c[z],d] * v[z]) * b[d]",
    "y[z,d] = 2 * x[c[z],d]",
    "y[z,d] = -x[c[z],d] + x[e[z],d] * b[d]",
    "y[z,d] = ABS(x[c[z] - 1,d] - x[c[z] + 1,d])",
    "y[z,d] = WHERE(EQ(v[z], w[z]), x[c[z],d], x[e[z],d] * v[z])",
    "y[z,d] = WHERE(EQ(x[c[z],d], x[e[z],d]), b[d], v[z])",
    "y[z,d] = x[c[z],d] * z + x[e[z],d] * 3",
    "y[d] = x[c[z],d]",
    "y[d] = x[c[z],d] * v[z]",
    "y[d] = (x[c[z],d] + b[d]) * x[e[z],d]",
    "y[g,d] = x[f[g,l],d]",
    "y[g,d] = x[f[g,l],d] * h[g,l]",
    "y[g,d] += x[f[g,l],d] * x[f[g,l] + 1,d]",
    "y[z] = x[c[z],d] * x[e[z],d]",
    "y[z] = x[c[z],d]",
    "y[] = v[c[z]] * h[g,l]",
    "y[g] = x[f[g,l],d] * b[d]",
    "y[g,o] = x[f[g,l],d] * m[d,o]",
    "y[z,o] = x[c[z],d] * m[d,o]",
    "y[z,o] = 2 * x[c[z],d] * m[d,o] / 4 * v[z]",
    "y[o,z] = v[z] - x[c[z],d] * m[d,o] * v[c[z]]",
    "y[z,g] = x[c[z],d] * x[c[z] + 1,d] * h[g,l]",
    "y[z] += x[c[z],d] * x[e[z],d]",
    "r[z,d] = x[c[z],d]\ny[z,o] = r[z,d] * m[d,o] * v[z]",
    "r[d,z] = x[c[z],d]\ny[z,o] = m[d,o] / 2 * r[d,z]\n\nr, y",
    "r[z,d] += x[c[z] + 1,d]\ny[e[z],o] += r[z,d] * m[d,o]",
    "y[c[z],o] += x[e[z],d] * m[d,o] * v[z]",
    "y[c[z],d] += x[e[z],d]",
    "y[c[z],d] += x[e[z],d] * v[z]",
    "y[c[z],d] += v[z] * p[z,d] + b[d]",
    "y[c[z],d] += 2 * p[z,d]",
    "y[c[z],d] *= p[z,d] * v[z]",
    "y[d,z] = t[d,c[z],e[z]] * v[z] + t[d,c[z] + 1,e[z]]",
    "y[c[z]] += v[z] * w[z]",
    "y[c[z]] += 1",
    "y[c[z] + d] += p[z,d]",
    "y[c[z],e[z],d] += p[z,d]",
    "y[z,d] = x[c[z],d]\nx2[c[z],d] = y[z,d]\nq[z,d] = x2[e[z],d] + 1\n\ny, x2, q",
];

/// Functions that need an order.
const ORDERED: &[&str] = &[
    "y[z,d] = MAX(x[c[z],d], 0)",
    "y[z,d] = MIN(x[c[z],d], x[e[z],d] * v[z])",
    "y[d] =max x[c[z],d] * v[z]",
    "y[g,d] =min x[f[g,l],d]",
    "y[z] =max x[c[z],d] + b[d]",
    "y[c[z],d] max= p[z,d]",
    "y[c[z],d] min= p[z,d] * v[z]",
    "y[c[z]] max= v[z] - w[z]",
    "y[z,o] =max x[c[z],d] + m[d,o] - v[z]",
    "y[z] =min ABS(x[c[z],d]) * b[d]",
];

/// Functions that round, or are undefined for some integers.
const REAL: &[&str] = &[
    "y[z,d] = EXP(x[c[z],d]) / v[z]",
    "y[z,d] = TANH(x[c[z],d] + b[d])",
    "y[g,d] = EXP(x[f[g,l],d] - h[g,l])",
    "y[z] = POW(x[c[z],d], b[d])",
    "y[c[z],d] += SIGMOID(p[z,d])",
];

const LOGIC: &[&str] =
    &["y[z,d] = EQ(x[c[z],d], v[z])", "y[c[z],d] or= p[z,d]", "y[g,d] =and x[f[g,l],d]"];

/// Extents of a case.
#[derive(Clone, Copy)]
struct Sizes {
    /// Rows of the table, gathered rows, elements of each.
    table: usize,
    points: usize,
    row: usize,
}

/// Distribution of indices.
#[derive(Clone, Copy)]
enum Indices {
    /// Some out of bounds.
    Wild,
    Inside,
    Sorted,
    /// All equal.
    One,
}

fn scalar(t: DType, rng: &mut Rng) -> Scalar {
    let x = rng.below(9) as i32 - 4;
    let (x, half) = (f64::from(x), f64::from(x) / 2.0);
    match t {
        DType::Bool => Scalar::Bool(x > 0.0),
        DType::I32 => Scalar::I32(x as i32),
        DType::I64 => Scalar::I64(x as i64),
        DType::F32 => Scalar::F32(half as f32),
        DType::F64 => Scalar::F64(half),
        DType::C64 => Scalar::C64(C64::new(half as f32, 1.0)),
        DType::C128 => Scalar::C128(C128::new(half, -1.0)),
        _ => ijk_types::scalar::unary(ijk_types::UnaryOp::Cast(t), Scalar::F64(half)).unwrap(),
    }
}

fn input(dtype: DType, shape: &[usize], data: Vec<Scalar>) -> Input {
    let value = Value { dtype, shape: shape.to_vec(), data };
    Input { value, layout: Layout::contiguous(shape.len()) }
}

fn indices(t: DType, shape: &[usize], table: usize, how: Indices, rng: &mut Rng) -> Input {
    let mut drawn: Vec<i64> = (0..shape.iter().product())
        .map(|_| match how {
            Indices::Wild => rng.below(table + 4) as i64 - 2,
            Indices::Inside | Indices::Sorted => rng.below(table) as i64,
            Indices::One => table as i64 / 2,
        })
        .collect();
    if let Indices::Sorted = how {
        drawn.sort_unstable();
    }
    let of = |n: i64| if t == DType::I32 { Scalar::I32(n as i32) } else { Scalar::I64(n) };
    input(t, shape, drawn.into_iter().map(of).collect())
}

/// A case of a program: its arrays, with elements and indices of some types.
fn case(source: &str, t: DType, index: DType, how: Indices, sizes: Sizes, rng: &mut Rng) -> EtCase {
    let Sizes { table, points, row } = sizes;
    let (groups, long) = (points.div_ceil(5), 5);
    let numbers: [(&str, &[usize]); 8] = [
        ("t", &[row, table, table]),
        ("x", &[table, row]),
        ("v", &[points]),
        ("w", &[points]),
        ("b", &[row]),
        ("h", &[groups, long]),
        ("p", &[points, row]),
        ("m", &[row, 9]),
    ];
    let places: [(&str, &[usize]); 3] =
        [("c", &[points]), ("e", &[points]), ("f", &[groups, long])];
    let names = |name: &str| source_names(source, name);
    let mut bound = std::collections::BTreeMap::new();
    for (name, shape) in numbers.into_iter().filter(|(name, _)| names(name)) {
        let data = (0..shape.iter().product()).map(|_| scalar(t, rng)).collect();
        bound.insert(name.to_owned(), input(t, shape, data));
    }
    for (name, shape) in places.into_iter().filter(|(name, _)| names(name)) {
        bound.insert(name.to_owned(), indices(index, shape, table, how, rng));
    }
    let (dims, ranks) = Default::default();
    EtCase { source: source.to_owned(), bound, dims, ranks, seed: 0 }
}

fn run(engine: &Engine, case: &EtCase) -> Result<Arrays, String> {
    let error = |error: Error| error.to_string();
    let program = Program::parse(&case.source).map_err(error)?;
    let placed: Vec<(&String, Placed)> =
        case.bound.iter().map(|(name, input)| (name, Placed::input(input))).collect();
    let views: Vec<(&String, View)> =
        placed.iter().map(|(name, placed)| (*name, placed.view())).collect();
    let mut bindings = Bindings::new();
    for (name, view) in &views {
        bindings = bindings.bind(name.as_str(), view.tensor());
    }
    let outputs = program.run_on(engine, &bindings).map_err(error)?;
    Ok(outputs.iter().map(|(name, tensor)| (name.to_owned(), value(tensor))).collect())
}

fn value(tensor: &Tensor) -> Value {
    let data = tensor.view().iter_scalars().collect();
    Value { dtype: tensor.dtype(), shape: tensor.shape().to_vec(), data }
}

fn engines() -> Vec<(u64, Engine)> {
    let of = |(n, level)| {
        [1, 2, 7].map(|threads| (n, Engine::builder().level(level).threads(threads).build()))
    };
    (0..).zip(Level::available()).flat_map(of).collect()
}

fn check(engines: &[(u64, Engine)], case: &EtCase) {
    let mut contenders: Vec<EtContender<'_>> = Vec::new();
    for (group, engine) in engines {
        contenders.push(EtContender::new("an engine", *group, |case| run(engine, case)));
    }
    let mut solve = |case: &EtCase, checked: &ijk_ir::et::Checked| solve(case, checked, 1 << 40);
    match compare(case, &mut solve, &mut contenders) {
        Ok(EtAgreement::Value(..) | EtAgreement::NoValue(..)) => {}
        Ok(other) => panic!("{}\n{other:?}", case.source),
        Err(disagreement) => {
            let signature = |(name, input): (&String, &Input)| {
                format!("{name}: {:?} {:?}", input.value.dtype, input.value.shape)
            };
            let bound: Vec<String> = case.bound.iter().map(signature).collect();
            panic!("{disagreement}\n{}\n{}", case.source, bound.join("\n"))
        }
    }
}

/// Programs for an element type.
fn programs(t: DType) -> Vec<&'static str> {
    let (ordered, real) = (!t.is_complex(), t.is_float());
    match t {
        DType::Bool => LOGIC.to_vec(),
        _ => {
            let of =
                |wanted: bool, some: &'static [&'static str]| some.iter().filter(move |_| wanted);
            of(true, NUMBERS).chain(of(ordered, ORDERED)).chain(of(real, REAL)).copied().collect()
        }
    }
}

const TYPES: [DType; 7] =
    [DType::F32, DType::F64, DType::I32, DType::I64, DType::Bool, DType::C64, DType::C128];

#[test]
fn all_programs_and_types() {
    let (engines, mut rng) = (engines(), Rng::new(1));
    let shapes = [(11, 45, 8), (40, 100, 37), (3, 6, 130), (1, 25, 16), (9, 50, 7)];
    for (n, t) in TYPES.into_iter().enumerate() {
        for (k, program) in programs(t).into_iter().enumerate() {
            let (table, points, row) = shapes[(n + k) % shapes.len()];
            let index = if (n + k) % 2 == 0 { DType::I64 } else { DType::I32 };
            let how = [Indices::Wild, Indices::Sorted, Indices::Inside][(n * 5 + k) % 3];
            let sizes = Sizes { table, points, row };
            check(&engines, &case(program, t, index, how, sizes, &mut rng));
        }
    }
}

#[test]
fn no_points_no_rows_and_one_place() {
    let (engines, mut rng) = (engines(), Rng::new(2));
    for program in programs(DType::F32) {
        for (table, points, row) in [(5, 0, 12), (0, 20, 12), (5, 20, 0), (7, 90, 33)] {
            let how = if table == 7 { Indices::One } else { Indices::Wild };
            let sizes = Sizes { table, points, row };
            check(&engines, &case(program, DType::F32, DType::I64, how, sizes, &mut rng));
        }
    }
}

#[test]
fn enough_for_several_threads() {
    let (engines, mut rng) = (engines(), Rng::new(3));
    let programs = [
        "y[z,d] = x[c[z],d] * v[z]",
        "y[g,d] = x[f[g,l],d] * h[g,l]",
        "y[d] = x[c[z],d] * x[e[z],d]",
        "y[z] = x[c[z],d] * x[e[z],d]",
        "y[c[z],d] += x[e[z],d] * v[z]",
        "y[c[z],d] max= p[z,d]",
        "y[c[z],d] += p[z,d] * p[z,d]",
    ];
    for (n, program) in programs.into_iter().enumerate() {
        for how in [Indices::Wild, Indices::Sorted, Indices::One] {
            let sizes = Sizes { table: 900 + n, points: 6000, row: 20 };
            check(&engines, &case(program, DType::F32, DType::I64, how, sizes, &mut rng));
        }
    }
}

/// Values and rows that threads sort by position, select, or combine in copies.
#[test]
fn what_threads_divide() {
    let (engines, mut rng) = (engines(), Rng::new(7));
    let programs = [
        ("y[c[z]] += v[z] * w[z]", 1),
        ("y[c[z]] += v[e[z]]", 1),
        ("y[c[z]] max= v[z]", 1),
        ("y[c[z]] += 1", 1),
        ("y[c[z] + d] += p[z,d]", 16),
        ("y[c[z],d] += x[e[z],d] * v[z]", 16),
        ("y[c[z],d] += x[e[z],d]", 33),
        ("y[c[z],d] max= p[z,d]", 32),
    ];
    for (n, (program, row)) in programs.into_iter().enumerate() {
        for (table, how) in
            [(3000, Indices::Wild), (700, Indices::Sorted), (40, Indices::Wild), (7, Indices::One)]
        {
            let t = if n % 3 == 2 { DType::F64 } else { DType::F32 };
            let sizes = Sizes { table, points: if row == 1 { 50_000 } else { 8000 }, row };
            check(&engines, &case(program, t, DType::I64, how, sizes, &mut rng));
        }
    }
}

/// Elements at computed places in a row of their own, which threads divide by rows.
#[test]
fn places_within_rows() {
    let (engines, mut rng) = (engines(), Rng::new(8));
    let programs = [
        "y[g,f[g,l]] += h[g,l]",
        "y[2 * g + 1,f[g,l]] += h[g,l] * h[g,l]",
        "y[g,f[g,l]] max= h[g,l]",
        "y[z,c[z]] = v[z]",
        "y[z,c[z] + z % 7] += v[z]",
        "y[g,f[g,l],f[g,l] % 3] += h[g,l]",
        "y[c[z],z] += v[z]",
        "y[c[z],z % 5] += v[z]",
    ];
    for (n, program) in programs.into_iter().enumerate() {
        for (table, points) in [(9, 20_000), (40, 6000)] {
            let how = if n % 2 == 0 { Indices::Inside } else { Indices::Wild };
            let sizes = Sizes { table, points, row: 1 };
            check(&engines, &case(program, DType::F32, DType::I64, how, sizes, &mut rng));
        }
    }
}

/// Sums that round have the same bits for any number of threads, and places without values keep the sign of zero.
#[test]
fn sums_at_unordered_places() {
    const PLACES: usize = 1000;
    let program = Program::parse("y[n] = s[n]\ny[c[z]] += v[z] * 3").unwrap();
    for (points, descends) in [(40_000, false), (40_000, true), (123_457, false)] {
        let place = |z: usize| match descends {
            true => (points - 1 - z) * (PLACES - 1) / points,
            // None is at the last place.
            false => z * 7919 % (PLACES - 1),
        };
        let (c, v): (Vec<i64>, Vec<f32>) =
            (0..points).map(|z| (place(z) as i64, 0.1 + (z * 31 % 97) as f32 / 7.0)).unzip();
        let s = [-0f32; PLACES];
        let mut expected = [0f64; PLACES];
        (0..points).for_each(|z| expected[place(z)] += f64::from(v[z] * 3.0));
        let view = |data: &[f32]| Tensor::from_vec(data.to_vec(), &[data.len()]).unwrap();
        let (c, v, s) = (Tensor::from_vec(c, &[points]).unwrap(), view(&v), view(&s));
        let bindings = Bindings::new().bind("s", s.view()).bind("c", c.view()).bind("v", v.view());
        for level in Level::available() {
            let results = [1, 2, 7].map(|threads| {
                let engine = Engine::builder().level(level).threads(threads).build();
                let outputs = program.run_on(&engine, &bindings).unwrap();
                let (_, y) = outputs.iter().next().unwrap();
                let bits = |scalar: Scalar| match scalar {
                    Scalar::F32(x) => x.to_bits(),
                    other => panic!("{other:?}"),
                };
                y.view().iter_scalars().map(bits).collect::<Vec<u32>>()
            });
            assert!(results.iter().all(|result| *result == results[0]), "{level:?}");
            for (&bits, &expected) in results[0].iter().zip(&expected) {
                let got = f64::from(f32::from_bits(bits));
                assert!((got - expected).abs() <= 1e-5 * expected.abs(), "{got} for {expected}");
            }
            assert_eq!(results[0][PLACES - 1], (-0f32).to_bits());
        }
    }
}

/// So many rows that they are sorted by region of the table.
#[test]
fn regions() {
    let (engines, mut rng) = (engines(), Rng::new(4));
    let sizes = Sizes { table: 4300, points: 7000, row: 64 };
    for program in ["y[c[z],d] += x[e[z],d] * v[z]", "y[c[z],d] += x[e[z],d] * x[c[z],d]"] {
        check(&engines, &case(program, DType::F64, DType::I32, Indices::Wild, sizes, &mut rng));
    }
}

/// Rows longer than a tile, and arrays of other layouts.
#[test]
fn long_rows_and_other_layouts() {
    let (engines, mut rng) = (engines(), Rng::new(5));
    for (n, program) in programs(DType::F64).into_iter().enumerate() {
        let sizes = Sizes { table: 4, points: 10, row: 1500 };
        check(&engines, &case(program, DType::F64, DType::I64, Indices::Wild, sizes, &mut rng));
        let sizes = Sizes { table: 12, points: 45, row: 24 };
        let mut other = case(program, DType::F64, DType::I64, Indices::Inside, sizes, &mut rng);
        for (k, input) in other.bound.values_mut().enumerate() {
            let rank = input.value.shape.len();
            match (n + k) % 4 {
                3 => {}
                0 => input.layout.order.reverse(),
                1 => input.layout.steps[rank - 1] = -1,
                _ => input.layout.steps[0] = 2,
            }
        }
        check(&engines, &other);
    }
}

/// Rows of positions that are computed once for many rows of values.
#[test]
fn places_that_stand() {
    let (engines, mut rng) = (engines(), Rng::new(6));
    let programs = [
        "y[d,z] = t[d,c[z],e[z]] * v[z] + t[d,c[z] + 1,e[z]]",
        "y[d,z] = t[d,c[z],e[z]]",
        "y[z,d] = t[d,c[z],e[z]] - t[d,e[z],c[z]]",
    ];
    for program in programs {
        for how in [Indices::Wild, Indices::Inside] {
            let sizes = Sizes { table: 20, points: 2500, row: 7 };
            check(&engines, &case(program, DType::F32, DType::I64, how, sizes, &mut rng));
        }
    }
}

/// Positions that are computed once, from indices of short rows that are packed for each tile.
#[test]
fn places_that_stand_beside_packed_indices() {
    let [u, f, i] = [512, 8, 5];
    let x: Vec<f32> = (0..u * f * i).map(|n| n as f32).collect();
    let [c, e] = [u, f].map(|count| (0..count as i64).rev().collect::<Vec<i64>>());
    let view = TensorView::from_slice(&x, &[u, f, i]).unwrap();
    let [places, others] = [&c, &e].map(|all| TensorView::from_slice(all, &[all.len()]).unwrap());
    let bindings = Bindings::new().bind("x", view).bind("c", places).bind("e", others);
    let program = Program::parse("y[i,u,f] = x[c[u],e[f],i]").unwrap();
    for (threads, engine) in engines() {
        let outputs = program.run_on(&engine, &bindings).unwrap();
        let y = outputs["y"].view();
        let expected = (0..i).flat_map(|i| (0..u * f).rev().map(move |row| row * 5 + i));
        let expected: Vec<Scalar> = expected.map(|n| Scalar::F32(n as f32)).collect();
        assert_eq!(y.iter_scalars().collect::<Vec<_>>(), expected, "{threads} threads");
    }
}

/// The kernels of a program whose arrays have these types and shapes.
fn kernels(source: &str, arrays: &[(&str, DType, &[usize])], strict: bool) -> Vec<&'static str> {
    let mut bindings = Bindings::new();
    for (name, t, shape) in arrays {
        bindings = bindings.outline(*name, *t, shape);
    }
    let engine = Engine::builder().strict(strict).build();
    let explained = ijk::et(source).unwrap().explain(&engine, &bindings).unwrap();
    explained[0].plan().steps.iter().map(|step| step.kernel().name()).collect()
}

#[test]
fn few_rows_are_multiplied_before_they_are_gathered() {
    let (few, many): (&[usize], &[usize]) = (&[100, 64], &[5000, 64]);
    let (points, matrix): (&[usize], &[usize]) = (&[3000], &[64, 32]);
    let of = |source, table, strict| {
        let arrays = [
            ("x", DType::F32, table),
            ("c", DType::I64, points),
            ("v", DType::F32, points),
            ("m", DType::F32, matrix),
        ];
        let names = |(name, ..): &&(&str, DType, &[usize])| source_names(source, name);
        kernels(source, &arrays.iter().filter(names).copied().collect::<Vec<_>>(), strict)
    };
    let plain = "y[z,o] = x[c[z],d] * m[d,o]";
    assert_eq!(of(plain, few, false), ["contract", "map"]);
    assert_eq!(of("y[z,o] = 3 * x[c[z],d] * v[z] / m[d,o]", few, false)[1..], ["contract", "map"]);
    assert_eq!(of("y[z] = x[c[z],d]", few, false), ["reduce", "map"]);
    let apart = "r[z,d] = x[c[z],d]\ny[z,o] = r[z,d] * m[d,o]\n\ny";
    assert_eq!(of(apart, few, false), ["contract", "map"]);
    assert_eq!(of(apart, few, true), ["map", "contract"]);
    assert_ne!(of(plain, many, false), ["contract", "map"]);
    assert_ne!(of(plain, few, true), ["contract", "map"]);
    // The reduced value depends on the row and on its destination.
    assert_ne!(of("y[z,o] = EXP(x[c[z],d] - v[z]) * m[d,o]", few, false), ["contract", "map"]);
}

fn source_names(source: &str, name: &str) -> bool {
    source.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == name)
}
