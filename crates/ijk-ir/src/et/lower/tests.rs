//! Programs lowered under solutions made by hand.

use super::{Lowering, Stage, Step, Wanted};
use crate::et::lower::variables::variables;
use crate::et::{ArrayInfo, Checked, Extents, Origin, ShapeId, Solution, Tuple};
use ijk_syntax::et::ast::{Index, Value};
use ijk_syntax::{Diagnostic, Span};
use ijk_types::DType;

/// A program whose eintups have these extents.
fn solved(source: &str, dims: &[(&str, &[u64])]) -> (Checked, Solution) {
    let (program, diagnostics) = ijk_syntax::et::parse(source);
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let tuple = |(n, (name, _)): (usize, &(&str, &[u64]))| Tuple {
        name: (*name).into(),
        span: Span::default(),
        shape: ShapeId(n as u32),
    };
    let mut checked = Checked {
        source: source.into(),
        tuples: dims.iter().enumerate().map(tuple).collect(),
        shapes: dims.len() as u32,
        program,
        ..Checked::default()
    };
    let mut solution =
        Solution { dims: dims.iter().map(|(_, dims)| dims.to_vec()).collect(), places: Vec::new() };
    let program = checked.program.clone();
    for (n, statement) in program.statements.iter().enumerate() {
        super::accesses::for_each(statement, false, &mut |access, _| {
            array(&mut checked, &mut solution, access, Origin::Input);
        });
        let random = matches!(statement.value, Value::Random { .. });
        let origin = if random { Origin::Random { statement: n } } else { Origin::Computed };
        let at = array(&mut checked, &mut solution, &statement.left, origin);
        checked.outputs.retain(|&output| Some(output) != at);
        checked.outputs.extend(at);
    }
    (checked, solution)
}

/// The position of an array, which is new where it is not known.
fn array(
    checked: &mut Checked,
    solution: &mut Solution,
    access: &ijk_syntax::et::ast::Access,
    origin: Origin,
) -> Option<usize> {
    let name = &access.array.text;
    if checked.tuple(name).is_some() {
        return None;
    }
    if let Some(at) = checked.array(name) {
        return Some(at);
    }
    let extents = Extents::new(checked, solution);
    let rank = |e: &Index| match e {
        Index::Array(nested) if nested.indices.iter().any(|e| matches!(e, Index::Star(_))) => 2,
        e => extents.rank(e).unwrap_or(1),
    };
    let places = access.indices.iter().map(rank).collect();
    solution.places.push(places);
    checked.arrays.push(ArrayInfo {
        name: name.clone(),
        span: access.array.span,
        places: access.indices.len(),
        origin,
    });
    Some(checked.arrays.len() - 1)
}

type BoundArray<'a> = (&'a str, DType, &'a [u64]);

fn bound(checked: &Checked, arrays: &[BoundArray]) -> Vec<Option<(DType, Vec<u64>)>> {
    let of = |name: &str| arrays.iter().find(|(own, ..)| *own == name);
    let names = checked.arrays.iter().map(|array| of(&array.name));
    names.map(|found| found.map(|(_, t, shape)| (*t, shape.to_vec()))).collect()
}

fn stage(
    source: &str,
    dims: &[(&str, &[u64])],
    arrays: &[BoundArray],
) -> Result<Stage, Vec<Diagnostic>> {
    let (checked, solution) = solved(source, dims);
    let mut lowering = Lowering::new(&checked, &solution, &bound(&checked, arrays), 7)?;
    let Some(Step::Run(stage)) = lowering.step()? else { panic!("a stage") };
    assert_eq!(lowering.step()?, None);
    Ok(*stage)
}

fn lines(source: &str, dims: &[(&str, &[u64])], arrays: &[BoundArray]) -> Vec<String> {
    let stage = stage(source, dims, arrays).unwrap_or_else(|e| panic!("{e:?}"));
    let text = stage.program.to_string();
    let statements = text.lines().skip(1).map(|line| line.trim().to_string());
    statements.filter(|line| !line.starts_with("return")).collect()
}

fn messages(source: &str, dims: &[(&str, &[u64])], arrays: &[BoundArray]) -> Vec<String> {
    let errors = stage(source, dims, arrays).unwrap_err();
    errors.into_iter().map(|error| error.message).collect()
}

#[test]
fn a_convolution_is_one_statement_over_affine_accesses() {
    let source = "out[b,o] = x[b,f+2*o] * w[f]";
    let dims: &[(&str, &[u64])] = &[("b", &[8]), ("o", &[3, 4]), ("f", &[2, 2])];
    let arrays: &[BoundArray] = &[("x", DType::F32, &[8, 6, 8]), ("w", DType::F32, &[2, 2])];
    let found = lines(source, dims, arrays);
    assert_eq!(
        found,
        ["for b o.0 o.1 f.0 f.1: t2[b, o.0, o.1]: f32 from identity(+) += \
          (in0[b, 2*o.0 + f.0, 2*o.1 + f.1] * in1[f.0, f.1])"]
    );
    let stage = stage(source, dims, arrays).unwrap();
    assert_eq!(stage.instance.shapes[2], [8, 3, 4]);
    assert_eq!(stage.instance.extents, [[8, 3, 4, 2, 2]]);
    assert_eq!(stage.inputs.len(), 2);
}

#[test]
fn accumulating_starts_from_the_version_before_in_the_common_type() {
    let dims: &[(&str, &[u64])] = &[("a", &[3])];
    let found = lines("y[a] = 1\ny[a] += x[a]\ny[a] max= 0.5", dims, &[("x", DType::F32, &[3])]);
    assert_eq!(
        found,
        [
            "for a: t0[a]: i64 from identity(+) = 1",
            "for i0: t2[i0]: f32 = @f32(t0[i0])",
            "for a: t3[a]: f32 from t2 += in0[a]",
            "for a: t4[a]: f32 from t3 >= 0.5",
        ]
    );
}

#[test]
fn flat_and_components_guard_points() {
    let dims: &[(&str, &[u64])] = &[("a", &[2, 3]), ("c", &[2])];
    let flat = lines("y[FLAT(a - 1)] = x[a]", dims, &[("x", DType::I64, &[2, 3])]);
    assert_eq!(
        flat,
        ["for a.0 a.1 where 0 <= a.1 - 1 < 2, 0 <= a.0 - 1 < 1: \
          t1[2*a.0 + a.1 - 3]: i64 from identity(+) += in0[a.0, a.1]"]
    );
    let component = lines("y[a,c] = a[c + 1] + DIMS(a)[c]", dims, &[]);
    assert_eq!(
        component,
        ["for a.0 a.1 c where 0 <= c + 1 < 2: t0[a.0, a.1, c]: i64 from identity(+) = \
          (@where((index(c + 1) @eq 0), index(a.0), index(a.1)) + \
          @where((index(c) @eq 0), 2, 3))"]
    );
}

#[test]
fn nested_arrays_are_elements_for_each_component() {
    let dims: &[(&str, &[u64])] = &[("s", &[5]), ("e", &[4, 4])];
    let arrays: &[BoundArray] = &[("x", DType::F32, &[4, 4]), ("idx", DType::I32, &[5, 2])];
    let (checked, mut solution) = solved("y[s] = x[idx[s,:]]", dims);
    solution.places[checked.array("x").unwrap()] = vec![2];
    let bound = bound(&checked, arrays);
    let mut lowering = Lowering::new(&checked, &solution, &bound, 0).unwrap();
    let Some(Step::Run(stage)) = lowering.step().unwrap() else { panic!() };
    let text = stage.program.to_string();
    assert!(text.contains("in1[array 0[s, 0], array 0[s, 1]]"), "{text}");
}

#[test]
fn random_numbers_count_the_points_of_the_domain() {
    let dims: &[(&str, &[u64])] = &[("a", &[2, 3]), ("b", &[5])];
    let (checked, _) = solved("y[a,b] = 2 * RANDOM(0, b + 1, INT)", dims);
    let statement = &checked.program.statements[0];
    assert_eq!(variables(&checked, statement), ["a", "b"]);
    let stage = stage("y[a,b] = 2 * RANDOM(0, b + 1, INT)", dims, &[]).unwrap();
    let random = stage.program.statements[0].value.nodes.iter().find_map(|node| match node {
        crate::core::ScalarNode::Random { counter, key, .. } => Some((counter.clone(), *key)),
        _ => None,
    });
    let (counter, key) = random.unwrap();
    assert_eq!(counter.eval(&[1, 2, 3]), (3 + 2) * 5 + 3);
    assert_eq!(key, ijk_types::random::key(7, 0));
}

#[test]
fn an_array_sized_by_data_starts_a_stage() {
    let source = "idx[s] = 3 * s\nout[idx[s]] = x[s]\nsum[] = out[o]";
    let dims: &[(&str, &[u64])] = &[("s", &[4]), ("o", &[9])];
    let (checked, solution) = solved(source, dims);
    let (idx, x) = (checked.array("idx").unwrap(), checked.array("x").unwrap());
    let bound = bound(&checked, &[("x", DType::F64, &[4])]);
    let mut lowering = Lowering::new(&checked, &solution, &bound, 0).unwrap();
    let Some(Step::Run(first)) = lowering.step().unwrap() else { panic!() };
    assert_eq!((first.inputs.len(), &first.outputs[..]), (0, &[idx][..]));
    let wanted = Wanted { array: idx, axis: None };
    assert_eq!(lowering.step().unwrap(), Some(Step::Tell(wanted)));
    lowering.tell(wanted, &[Some((0, 9))]);
    let Some(Step::Run(second)) = lowering.step().unwrap() else { panic!() };
    assert_eq!(second.inputs, [idx, x]);
    assert_eq!(second.instance.shapes[2], [10]);
    assert_eq!(second.outputs.len(), 2);
    assert_eq!(lowering.step().unwrap(), None);
}

#[test]
fn bound_arrays_replace_random_statements_and_keep_the_ordinals() {
    let source = "x[a] = RANDOM(0, 9, INT)\ny[a] = x[a] + RANDOM(0, 1, FLOAT)";
    let dims: &[(&str, &[u64])] = &[("a", &[2])];
    let stage = stage(source, dims, &[("x", DType::I32, &[2])]).unwrap();
    assert_eq!(stage.program.statements.len(), 1);
    let key = ijk_types::random::key(7, 1);
    let nodes = &stage.program.statements[0].value.nodes;
    let has = |node: &crate::core::ScalarNode| matches!(node, crate::core::ScalarNode::Random { key: k, .. } if *k == key);
    assert!(nodes.iter().any(has));
}

#[test]
fn what_is_wrong_with_types_is_told_at_once() {
    let source = "a[i] = x[i] < z[i]\nb[i] =max z[i]\nc[i] = x[f[i]]\nd[i] = RANDOM(0, 0.5, INT)\ne[i] = c[i] + 1";
    let source = source.replace("x[i] < z[i]", "LT(x[i], z[i])");
    let arrays: &[BoundArray] =
        &[("x", DType::F32, &[2]), ("z", DType::C64, &[2]), ("f", DType::F64, &[2])];
    let found = messages(&source, &[("i", &[2])], arrays);
    assert_eq!(
        found,
        [
            "`LT` is for bool, integers, floating-point numbers, but `z[i]` is c64",
            "`b` would be c64, for which `=max` means nothing",
            "`f[i]` is an index, but `f` holds f64: an index is an integer",
            "bounds of RANDOM(…, INT) are integers, but `0.5` is f64",
        ]
    );
}

#[test]
fn sizes_beyond_memory_are_told() {
    let dims: &[(&str, &[u64])] = &[("i", &[1 << 40]), ("j", &[1 << 40])];
    let found = messages("y[i,j] = 1\nz[] = i * j", dims, &[]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[1].contains("too many points: `i` 1099511627776"), "{found:?}");
    let empty: &[(&str, &[u64])] = &[("i", &[0]), ("j", &[1 << 60]), ("k", &[1 << 60])];
    assert!(stage("z[] = i * j * k", empty, &[]).is_ok());
}
