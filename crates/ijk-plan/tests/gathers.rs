//! Rows at computed places: parts that are named, and rows that are read often.

use crate::support::stage::{argument, staged};
use ijk_plan::Layout;
use ijk_plan::plan::{self, Node, Plan};
use ijk_types::{DType, Scalar};

/// The kernels of a program's plan, which computes what the program says.
fn kernels(source: &str, arguments: &[(&str, DType, &[usize])]) -> (Vec<String>, Plan) {
    let staged = staged(source, arguments, argument);
    let layout = Layout::contiguous(&staged.program, &staged.instance);
    let plan = ijk_plan::plan(&staged.program, &staged.instance, &layout).unwrap();
    for (expected, found) in
        staged.expected.iter().zip(crate::support::run_plan(&plan, &staged.inputs))
    {
        let close = |(x, y): (&Scalar, &Scalar)| match (x, y) {
            (Scalar::F64(x), Scalar::F64(y)) => {
                x == y || (x - y).abs() <= 1e-12 * x.abs() || x.is_nan() && y.is_nan()
            }
            (x, y) => x == y,
        };
        assert!(expected.data.iter().zip(&found).all(close), "{source}\n{plan}");
    }
    (plan.steps.iter().map(|step| step.kernel().name().to_owned()).collect(), plan)
}

const X: (&str, DType, &[usize]) = ("x", DType::F64, &[40, 64]);
const C: (&str, DType, &[usize]) = ("c", DType::I64, &[60]);
const W: (&str, DType, &[usize]) = ("w", DType::F64, &[64, 24]);
const B: (&str, DType, &[usize]) = ("b", DType::F64, &[50, 64]);

/// Each part, and the same in place, have the same kernels.
#[test]
fn parts_that_gather_are_read_where_they_are_used() {
    let pairs: [(&str, &str, &[_]); 4] = [
        (
            "t[z,d,o] = x[c[z],d] * w[d,o]\ny[z,o] = t[z,d,o]\n\ny",
            "y[z,o] = x[c[z],d] * w[d,o]\n\ny",
            &[X, C, W],
        ),
        (
            "t[z,d] = x[c[z],d] / 2\ny[z] = 3 * t[z,d]\n\ny",
            "y[z] = 3 * (x[c[z],d] / 2)\n\ny",
            &[X, C],
        ),
        ("t[z,d] = -x[c[z],d]\ny[z,d] = t[z,d] * 2\n\ny", "y[z,d] = -x[c[z],d] * 2\n\ny", &[X, C]),
        (
            "t[z,o,d] = x[c[z],d] * w[d,o]\ns[z,o] = t[z,o,d]\ny[z] = s[z,o] / 5\n\ny",
            "y[z] = x[c[z],d] * w[d,o] / 5\n\ny",
            &[X, C, W],
        ),
    ];
    for (apart, joined, arguments) in pairs {
        let (parts, plan) = kernels(apart, arguments);
        assert_eq!(parts, kernels(joined, arguments).0, "{apart}\n{plan}");
    }
}

#[test]
fn distances_to_rows_are_distances_of_copies() {
    for value in ["POW(x[c[z],d] - b[j,d], 2)", "ABS(x[c[z],d] - b[j,d])"] {
        for sign in ["=", "=max", "=min"] {
            let source = format!("y[z,j] {sign} {value}\n\ny");
            let (found, plan) = kernels(&source, &[X, C, B]);
            assert!(found.contains(&"contract-semiring".to_owned()), "{source}\n{plan}");
        }
    }
}

#[test]
fn rows_that_several_statements_read_are_copied_once() {
    let source = "m[z] =max x[c[z],d]\nw[z,d] = EXP(x[c[z],d] - m[z])\nt[z] = w[z,d]\n\
                  y[z,d] = w[z,d] / t[z]\n\ny,m";
    let (_, plan) = kernels(source, &[("x", DType::F64, &[80, 64]), C]);
    let copies = plan.choices().filter(|choice| choice.contains("gather")).count();
    // Those of the rows.
    assert!(copies <= 2, "{plan}");
}

#[test]
fn maps_across_rows_are_of_copies() {
    let x = ("x", DType::F64, &[40usize, 80][..]);
    let (found, plan) = kernels("y[d,z] = x[c[z],d] * 2\n\ny", &[x, C]);
    assert_eq!(found, ["map", "copy"], "{plan}");
    let (found, plan) = kernels("y[z,d] = x[c[z],d] * 2\n\ny", &[X, C]);
    assert_eq!(found, ["map"], "{plan}");
}

#[test]
fn sums_of_sums_are_sums() {
    let (found, plan) = kernels("s[j] = b[j,d]\ny[] = s[j] / 2\n\ny", &[B]);
    assert!(found.len() <= 2, "{plan}");
    let (found, plan) = kernels("s[j] =max b[j,d]\ny[] =max s[j]\n\ny", &[B]);
    assert!(found.len() <= 2, "{plan}");
}

#[test]
fn numbers_that_cancel_are_no_factors_of_what_is_scattered() {
    let s = ("s", DType::F64, &[44usize, 64][..]);
    for (value, count) in [("x[c[z],d] * 2 / 2", 0), ("4 * -x[c[z],d] / 2", 1)] {
        let source = format!("y[n,d] = s[n,d]\ny[c[z],d] += {value}\n\ny");
        let (_, plan) = kernels(&source, &[s, X, C]);
        let numbers = plan.steps.iter().flat_map(|step| match step {
            plan::Step::Nest(nest) => nest.body.clone(),
            _ => Vec::new(),
        });
        let numbers =
            numbers.filter(|n| matches!(n, Node::Const(Scalar::F64(x)) if *x != 0.0)).count();
        assert_eq!(numbers, count, "{source}\n{plan}");
    }
}

#[test]
fn what_is_reduced_across_rows_is_copied_across() {
    let source = "y[d,z] = x[z,d+k] / 2\n\ny\n\nDIMS(k) = 4\nDIMS(d) = 61";
    let (found, plan) = kernels(source, &[("x", DType::F64, &[40, 64])]);
    assert_eq!(found, ["reduce", "map"], "{plan}");
    let source = "y[d,z] =max x[z,d+k]\n\ny\n\nDIMS(k) = 4\nDIMS(d) = 61";
    let (found, plan) = kernels(source, &[("x", DType::F64, &[40, 64])]);
    assert_eq!(found, ["reduce", "copy"], "{plan}");
}

#[test]
fn batches_stay_outermost() {
    let arguments = [("a", DType::F64, &[20usize, 18, 16][..]), ("b", DType::F64, &[20, 16, 17])];
    let (found, plan) = kernels("y[i,j,z] = a[z,i,k] * b[z,k,j]\n\ny", &arguments);
    assert_eq!(found, ["contract", "copy"], "{plan}");
    let (found, plan) = kernels("y[z,i,j] = a[z,i,k] * b[z,k,j]\n\ny", &arguments);
    assert_eq!(found, ["contract"], "{plan}");
    // What is stored for a map of it, too.
    let (found, plan) = kernels(
        "y[i,j,z] = a[z,i,k] * b[z,k,j] * v[z]\n\ny",
        &[arguments[0], arguments[1], ("v", DType::F64, &[20])],
    );
    assert_eq!(found, ["contract", "map"], "{plan}");
    let plan::Step::Contract(product) = &plan.steps[0] else { panic!("{plan}") };
    let [batches, others]: [Vec<_>; 2] = [true, false]
        .map(|is| product.axes.iter().filter(|a| (a.role == plan::Role::Batch) == is).collect());
    assert!(batches.iter().all(|batch| others.iter().all(|other| other.c < batch.c)), "{plan}");
}

#[test]
fn doubled_values_are_squares_times_a_number() {
    let doubled = "y[z] = POW((x[z,d] + x[z,d]) * 0.5, 2)\n\ny";
    let (found, plan) = kernels(doubled, &[X]);
    assert_eq!(found, kernels("y[z] = POW(x[z,d], 2)\n\ny", &[X]).0, "{plan}");
}

/// A zero's sign in an array that sums alone read.
#[test]
fn signs_go_from_statement_to_statement() {
    let source = "t[d,o] = 0 - w[d,o]\nv[d,o] = -t[d,o]\ny[z,o] = x[z,d] * v[d,o]\n\ny";
    let (found, plan) = kernels(source, &[X, W]);
    assert_eq!(found, ["contract"], "{plan}");
    let (found, plan) = kernels(&source.replace("\n\ny", "\n\ny,v"), &[X, W]);
    assert_eq!(found, ["map", "map", "contract", "map"], "{plan}");
}

#[test]
fn filters_go_along_signals() {
    let arguments = [("x", DType::F64, &[32usize, 1031][..]), ("w", DType::F64, &[16])];
    let source = "y[t,b] = x[b,t+k] * w[k] / 2\n\ny\n\nDIMS(t) = 1016";
    let (found, plan) = kernels(source, &arguments);
    assert_eq!(found, ["contract", "map"], "{plan}");
}

/// Operands contiguous along the result's rows are not transposed.
#[test]
fn storage_tells_what_is_along() {
    let letters = [('t', 100), ('b', 32), ('k', 8)];
    let plan_of = |strides: [isize; 2]| {
        let mut p = crate::support::Builder::new(DType::F64, &letters);
        let x = p.input_shape(vec![107, 32]);
        let y = p.reduce(ijk_types::Monoid::Max, (x, "[t+k]b"), "bt");
        p.output(y);
        let layout = Layout {
            inputs: vec![strides.to_vec()],
            ..Layout::contiguous(&p.program, &p.instance)
        };
        ijk_plan::plan(&p.program, &p.instance, &layout).unwrap()
    };
    assert_eq!(plan_of([32, 1]).steps.len(), 2);
    assert_eq!(plan_of([1, 107]).steps.len(), 1);
}

/// A factor that compares with a reduced index leaves what it selects.
#[test]
fn comparisons_with_a_reduced_index_select() {
    let q = ("q", DType::F64, &[60usize, 64][..]);
    let w = ("w", DType::F64, &[40usize, 64, 5][..]);
    let experts = "a[z,e,h] = q[z,d] * w[e,d,h]\ny[z,h] = k[z,e] * MAX(a[z,e,h], 0) / 3\n\ny";
    let gathered =
        "a[z,h] = q[z,d] * w[c[z],d,h]\ny[z,h] = WHERE(c[z] < 40, MAX(a[z,h], 0) / 3, 0)\n\ny";
    let gathered = gathered.replace("c[z] < 40", "LT(c[z], 40)");
    let pairs: [(&str, &str, &[_]); 7] = [
        ("y[z,d] = F64(EQ(c[z], n)) * x[n,d]\n\ny", "y[z,d] = 0 + x[c[z],d]\n\ny", &[X, C]),
        ("y[z,d] = F32(EQ(c[z], n)) * x[n,d]\n\ny", "y[z,d] = 0 + x[c[z],d]\n\ny", &[X, C]),
        ("y[z,d] = x[n,d] * WHERE(EQ(c[z], n), 1, 0)\n\ny", "y[z,d] = 0 + x[c[z],d]\n\ny", &[X, C]),
        (
            "y[z,o] = x[n,d] * F64(EQ(n, c[z])) * w[d,o]\n\ny",
            "y[z,o] = x[c[z],d] * w[d,o]\n\ny",
            &[X, C, W],
        ),
        ("y[z] = WHERE(EQ(c[z] + 1, n), x[n,d], 0)\n\ny", "y[z] = x[c[z]+1,d]\n\ny", &[X, C]),
        ("y[d] = F64(EQ(n, 3)) * x[n,d]\n\ny", "y[d] = 0 + x[3,d]\n\ny", &[X]),
        ("y[n] = F64(EQ(n, d - 2)) * x[n,d]\n\ny", "y[n] = 0 + x[n,n+2]\n\ny", &[X]),
    ];
    for (compared, selected, arguments) in pairs {
        let (found, plan) = kernels(compared, arguments);
        let points = |plan: &Plan| plan.cost().operations;
        let (wanted, other) = kernels(selected, arguments);
        assert_eq!(found, wanted, "{compared}\n{plan}");
        assert!(points(&plan) <= 2 * points(&other), "{compared}\n{plan}");
    }
    let (_, other) = kernels(&gathered, &[q, C, w]);
    for one in ["F64(EQ(c[z], e))", "F32(EQ(c[z], e))", "WHERE(EQ(c[z], e), 1, 0)"] {
        let (_, plan) = kernels(&format!("k[z,e] = {one}\n{experts}"), &[q, C, w]);
        assert!(plan.cost().operations <= 2 * other.cost().operations, "{one}\n{plan}");
    }
}

/// A function of the other factor is evaluated before.
#[test]
fn functions_beside_a_lookup_are_stored() {
    let lookup = [("r", DType::F64, &[60usize, 64][..]), C, ("u", DType::F64, &[8, 64, 80])];
    let joined = "y[z,o] = MAX(r[z,h], 0) * u[c[z],h,o]\n\ny";
    let apart = "b[z,h] = MAX(r[z,h], 0)\ny[z,o] = b[z,h] * u[c[z],h,o]\n\ny";
    let (found, plan) = kernels(joined, &lookup);
    assert_eq!(found, kernels(apart, &lookup).0, "{plan}");
}

const ROWS: (&str, DType, &[usize]) = ("a", DType::F64, &[80, 64]);
const TURNED: (&str, DType, &[usize]) = ("b", DType::F64, &[64, 80]);

#[test]
fn maps_go_along_what_they_read() {
    let other = ("e", DType::F64, &[80usize, 64][..]);
    let cases: [(&str, &[_], &[&str]); 6] = [
        // A nest reads one operand by tiles that it transposes in cache.
        ("y[d,z] = 2 * a[z,d]\n\ny", &[ROWS], &["map"]),
        ("y[z,d] = a[z,d] * b[d,z]\n\ny", &[ROWS, TURNED], &["map"]),
        (
            "y[d,z] = a[z,d] * w[d] / v[z]\n\ny",
            &[ROWS, ("w", DType::F64, &[64]), ("v", DType::F64, &[80])],
            &["map"],
        ),
        ("y[d,z] = a[z,d] * e[z,d]\n\ny", &[ROWS, other], &["map", "copy"]),
        // Short or small arrays are in cache whatever their layout.
        ("y[d,z] = 2 * s[z,d]\n\ny", &[("s", DType::F64, &[1000, 5])], &["map"]),
        ("y[d,z] = 2 * s[z,d]\n\ny", &[("s", DType::F64, &[40, 50])], &["map"]),
    ];
    for (source, arguments, expected) in cases {
        let (found, plan) = kernels(source, arguments);
        assert_eq!(found, expected, "{source}\n{plan}");
    }
}

#[test]
fn windows_and_scatters_read_and_write_rows() {
    let s = ("s", DType::F64, &[100usize, 64][..]);
    let c = ("c", DType::I64, &[80usize][..]);
    let cases: [(&str, &[_], &[&str]); 4] = [
        (
            "y[d,t] = b[t+k,d] * w[k]\n\ny\n\nDIMS(t) = 61",
            &[TURNED, ("w", DType::F64, &[4])],
            &["copy", "reduce"],
        ),
        (
            "y[n,d] = s[n,d]\ny[c[z],d] max= b[d,z] * 2\n\ny",
            &[s, c, TURNED],
            &["copy", "copy", "scatter"],
        ),
        ("y[d,n] = s[n,d]\ny[d,c[z]] += a[z,d]\n\ny", &[s, c, ROWS], &["copy", "scatter", "copy"]),
        (
            "y[d,n] = s[n,d]\ny[d,c[z]] max= b[d,z]\n\ny",
            &[s, c, TURNED],
            &["copy", "copy", "scatter", "copy"],
        ),
    ];
    for (source, arguments, expected) in cases {
        let (found, plan) = kernels(source, arguments);
        assert_eq!(found, expected, "{source}\n{plan}");
    }
}

#[test]
fn rows_that_are_normalised_are_read_as_they_are_stored() {
    let norm = |x: &str, y: &str| {
        format!(
            "m[z] = {x} / DIMS(d)\nv[z] = POW({x} - m[z], 2) / DIMS(d)\n{y} = ({x} - m[z]) / SQRT(v[z] + 1)\n\ny"
        )
    };
    for (x, y, argument) in [("a[z,d]", "y[d,z]", ROWS), ("b[d,z]", "y[z,d]", TURNED)] {
        let (_, plan) = kernels(&norm(x, y), &[argument]);
        let copies = plan.choices().filter(|choice| choice.starts_with("copy")).count();
        assert_eq!(copies, 0, "{plan}");
    }
}

#[test]
fn batches_that_are_neighbours_in_an_operand_are_taken_apart() {
    let arguments = [("a", DType::F64, &[20usize, 18, 16][..]), ("b", DType::F64, &[16, 17, 20])];
    let (found, plan) = kernels("y[z,i,j] = a[z,i,k] * b[k,j,z]\n\ny", &arguments);
    assert_eq!(found, ["copy", "contract"], "{plan}");
}

/// Statements that say the same in other words have the same steps.
#[test]
fn choices_sides_and_terms_apart_are_what_they_compute() {
    const A: (&str, DType, &[usize]) = ("a", DType::F64, &[30, 20]);
    const E: (&str, DType, &[usize]) = ("e", DType::F64, &[40, 20]);
    const T: (&str, DType, &[usize]) = ("t", DType::F64, &[40]);
    const S: (&str, DType, &[usize]) = ("s", DType::F64, &[100, 64]);
    const R: (&str, DType, &[usize]) = ("r", DType::I64, &[80]);
    let distance = "contract-semiring";
    let cases: [(&str, &[_], &[&str]); 6] = [
        (
            "y[i,j] = WHERE(GT(a[i,d] - e[j,d], -(a[i,d] - e[j,d])), a[i,d] - e[j,d], e[j,d] - a[i,d])\n\ny",
            &[A, E],
            &[distance],
        ),
        (
            "y[i,j] = WHERE(LE(a[i,d] - e[j,d], 0), e[j,d] - a[i,d], a[i,d] - e[j,d])\n\ny",
            &[A, E],
            &[distance],
        ),
        ("y[i,j] = ABS(a[i,d] * 3 - e[j,d] / t[j])\n\ny", &[A, E, T], &["map", "map", distance]),
        (
            "u[z,d,o] = x[c[z],d] * w[d,o]\nu[z,d,o] += -0\ny[z,o] = u[z,d,o]\n\ny",
            &[X, C, W],
            &["contract", "map"],
        ),
        ("y[i,d] = a[i,d]\ny[i,d] += a[i,d]\n\ny", &[A], &["map"]),
        (
            "y[n,d] = s[n,d]\ny[r[z],d] += a[z,d] * 2 + 0\n\ny",
            &[S, R, ("a", DType::F64, &[80, 64])],
            &["copy", "scatter"],
        ),
    ];
    for (source, arguments, expected) in cases {
        let (found, plan) = kernels(source, arguments);
        assert_eq!(found, expected, "{source}\n{plan}");
    }
}

/// Sums of no integers stay 0 behind any factor, so nothing looks for elements without points.
#[test]
fn factors_of_integers_need_no_mask() {
    let e = ("e", DType::I64, &[40, 32][..]);
    let arguments = [e, ("p", DType::I64, &[50, 20]), ("t", DType::I64, &[50])];
    let (_, plan) = kernels("y[b,d] = e[p[b,l],d] * t[b]\n\ny", &arguments);
    let masks = plan.buffers.iter().filter(|buffer| buffer.dtype == DType::Bool).count();
    assert_eq!(masks, 0, "{plan}");
}

/// A sum of no rows is 0, even where its divisor is 0.
#[test]
fn sums_of_no_rows_stay_zero() {
    let e = ("e", DType::F64, &[4, 64][..]);
    let arguments = [e, ("p", DType::I64, &[60, 5]), ("t", DType::F64, &[60])];
    let (_, plan) = kernels("y[b,d] = e[p[b,l],d] / t[b]\n\ny", &arguments);
    assert!(plan.buffers.iter().any(|buffer| buffer.dtype == DType::Bool), "{plan}");
}
