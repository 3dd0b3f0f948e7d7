//! Dependencies in Einsum Tuple against the effect of a changed element.

use ijk::et::Bindings;
use ijk::ndarray::{ArrayD, IxDyn};
use ijk::{DType, Tensor};

/// Every index of a shape.
fn points(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![Vec::new()], |prefixes: Vec<Vec<usize>>, &extent| {
        let longer = |prefix: Vec<usize>| (0..extent).map(move |n| [&prefix[..], &[n]].concat());
        prefixes.into_iter().flat_map(longer).collect()
    })
}

fn element(name: &str, at: &[usize]) -> String {
    let at: Vec<String> = at.iter().map(usize::to_string).collect();
    format!("{name}[{}]", at.join(","))
}

/// The elements of `y` that change with an element of `x` are in the sets; all elements of exact sets change.
fn compare(source: &str, shape: &[usize], indices: Option<&[i64]>) {
    let program = ijk::et(source).unwrap();
    let count = shape.iter().product::<usize>();
    let values: Vec<f64> = (0..count).map(|n| 1.0 + (n * 37 % 101) as f64 / 7.0).collect();
    let x = ArrayD::from_shape_vec(IxDyn(shape), values).unwrap();
    let idx = indices.map(|of| Tensor::from_vec(of.to_vec(), &[of.len()]).unwrap());
    let run = |x: &ArrayD<f64>| {
        let mut bindings = Bindings::new().bind("x", x);
        if let Some(idx) = &idx {
            bindings = bindings.bind("idx", idx.view());
        }
        program.run(bindings).unwrap()["y"].clone()
    };
    let mut outlined = Bindings::new().outline("x", DType::F64, shape);
    if let Some(idx) = &idx {
        outlined = outlined.outline("idx", DType::I64, idx.shape());
    }
    let operations = program.operations(&outlined).unwrap();
    let last =
        operations.names().filter(|name| name.split('#').next() == Some("y")).last().unwrap();
    let before = run(&x);
    for p in points(shape) {
        let mut other = x.clone();
        other[IxDyn(&p)] += 1000.0;
        let after = run(&other);
        let relation = operations.relation(&element("x", &p), last).unwrap();
        for q in points(before.shape()) {
            let changed = before.view().get(&q) != after.view().get(&q);
            let at: Vec<u64> = q.iter().map(|&n| n as u64).collect();
            let said = relation.set().contains(&at);
            assert!(said || !changed, "{source}: x{p:?} reaches {last}{q:?}, too: {relation}");
            assert!(
                changed || !said || !relation.set().is_exact(),
                "{source}: x{p:?}, {last}{q:?}"
            );
            let back = operations.relation("x", &element(last, &q)).unwrap();
            let from: Vec<u64> = p.iter().map(|&n| n as u64).collect();
            assert!(
                back.set().contains(&from) || !changed,
                "{source}: {last}{q:?}, x{p:?}: {back}"
            );
        }
    }
}

#[test]
fn what_changes_is_said() {
    compare("y[i] = x[i] - x[i-1]", &[5], None);
    compare("y[i] = x[i+2] + x[2*i]\n\nDIMS(i) = 5", &[5], None);
    compare("y[i,j] = x[j,i] * 2\n\nDIMS(i) = 3\nDIMS(j) = 4", &[4, 3], None);
    compare("z[i] = x[i,j]\ny[i] = z[DIMS(i) - 1 - i]", &[3, 4], None);
    compare("y[i] = x[i]\ny[i] += x[i+1]\ny[i] = 3 * y[i]", &[4], None);
    compare("y[a,b] = x[2*a+b]\n\nDIMS(a) = 3\nDIMS(b) = 2", &[6], None);
    compare("y[a] = x[a//2]\n\nDIMS(a) = 6", &[3], None);
}

#[test]
fn gathers_are_supersets() {
    compare("y[a] = x[idx[a]]", &[4], Some(&[2, 0, 3]));
    compare("y[b] = 0 * x[b]\ny[idx[a]] += x[a]", &[4], Some(&[1, 1, 0, 3]));
    let program = ijk::et("y[a] = x[idx[a]]").unwrap();
    let outlined = Bindings::new().outline("x", DType::F64, &[4]).outline("idx", DType::I64, &[3]);
    let operations = program.operations(&outlined).unwrap();
    let relation = operations.relation("x", "y[1]").unwrap();
    assert!(!relation.set().is_exact());
    assert_eq!(relation.to_string(), "y[1] may depend on x at ⊆ {(v) : v in 0..4}");
    // Computed positions; points with a position out of bounds are skipped.
    let relation = operations.relation("idx", "y[1]").unwrap();
    assert_eq!(relation.to_string(), "y[1] may depend on idx at ⊆ {(1)}");
}

#[test]
fn what_is_wrong_is_named() {
    let program = ijk::i("mm: m.a; m: ik*kj~ijk; a: +ijk~ij; mm | mm").unwrap();
    let shapes: [(DType, &[usize]); 4] = [
        (DType::F64, &[2, 3]),
        (DType::F64, &[3, 4]),
        (DType::F64, &[1, 1]),
        (DType::F64, &[1, 1]),
    ];
    let operations = program.operations(&shapes).unwrap();
    let names: Vec<&str> = operations.names().collect();
    assert_eq!(names, ["0", "1", "2", "3", "mm.m#1", "mm.a#1", "mm.m#2", "mm.a#2"]);
    let said = |of: &str| operations.dependencies(of).unwrap_err().to_string();
    assert_eq!(
        said("a[0,0]"),
        "there is no operation `a`; the program's are `0`, `1`, `2`, `3`, `mm.m#1`, `mm.a#1`, `mm.m#2`, `mm.a#2`"
    );
    assert_eq!(said("a#1[0,9]"), "`a#1[0,9]` is outside of the result, which has the shape (2, 4)");
    assert_eq!(
        said("a#1[0,0"),
        "`a#1[0,0`: an operation is written mm.m[2,3,1], by its name and its indices"
    );
    assert_eq!(
        said("a#1"),
        "`a#1` names all elements of an operation: add an index, such as a#1[0,1]"
    );
    assert!(!operations.relation("m#1[0,0,0]", "a#2[0,0]").unwrap().is_related());
}
