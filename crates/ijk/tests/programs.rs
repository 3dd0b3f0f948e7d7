//! Programs in i at run time: applied, composed, refused.

use ijk::ndarray::{Array1, Array2, Array3, ArrayView1, ShapeBuilder, array, s};
use ijk::{DType, Engine, Error, Program, Tensor, TensorView, TensorViewMut, i};

fn floats(tensor: &Tensor) -> Vec<f64> {
    tensor.as_slice::<f64>().unwrap().to_vec()
}

#[test]
fn any_layout_goes() {
    let product = i("+(ik*kj)~ij").unwrap();
    let a = Array2::from_shape_fn((6, 8), |(x, y)| (x * 8 + y) as f64);
    let b = Array2::from_shape_fn((4, 10), |(x, y)| (x + 3 * y) as f64);
    let expected = a.slice(s![..;2, ..;-2]).dot(&b.slice(s![.., 1..;3]));
    let (left, right) = (a.slice(s![..;2, ..;-2]), b.slice(s![.., 1..;3]));
    let c: Array2<f64> = product.apply_one((&left, &right)).unwrap();
    assert_eq!(c, expected);
    let transposed: Array2<f64> = product.apply_one((&right.t(), &left.t())).unwrap();
    assert_eq!(transposed, expected.t());
}

#[test]
fn larger_products_agree() {
    let product = i("ik*kj~ijk . +ijk~ij").unwrap();
    let a = Array2::from_shape_fn((37, 41), |(x, y)| ((x * 5 + y * 3) % 7) as f32);
    let b = Array2::from_shape_fn((41, 43), |(x, y)| ((x * 2 + y) % 5) as f32);
    let c: Array2<f32> = product.apply_one((&a, &b)).unwrap();
    assert_eq!(c, a.dot(&b));
}

#[test]
fn few_long_rows_are_summed_once() {
    let sums = i("+ik~i").unwrap();
    for length in [40_000, 87_000, 98_144, 122_142, 131_072, 200_000] {
        let x = Array2::<i64>::ones((3, length));
        let found: Array1<i64> = sums.apply_one(&[TensorView::from_array(&x)][..]).unwrap();
        assert_eq!(found, Array1::from_elem(3, length as i64));
    }
}

/// A large value rounds away what is added to it one by one, at most a run of values: docs/design/order.md has the bound.
#[test]
fn runs_of_sequential_additions_are_short() {
    let large = 2f32.powi(25);
    for (rows, columns) in
        [(4_000, 1), (4_000, 2), (4_000, 7), (70_000, 3), (70_000, 17), (9_000, 600)]
    {
        let x = Array2::from_shape_fn((rows, columns), |(x, _)| if x == 0 { large } else { 1.0 });
        let least = large + rows as f32 - 512.0;
        for (source, x) in [("+ij~j", x.view()), ("+ji~j", x.t())] {
            let sums: Array1<f32> =
                i(source).unwrap().apply_one(&[TensorView::from_array(&x)][..]).unwrap();
            assert!(sums.iter().all(|&y| y >= least), "{source} of {rows}×{columns}: {sums}");
        }
    }
}

#[test]
fn long_correlations_agree() {
    let correlate = i("[i+k]*k~ik . +ik~i").unwrap();
    let x = Array1::from_shape_fn(5000, |n| ((n * 7) % 13) as f32);
    let w = Array1::from_shape_fn(64, |n| ((n * 3) % 5) as f32);
    let sums: Array1<f32> = correlate.apply_one((&x, &w)).unwrap();
    let expected = x.windows(64).into_iter().map(|window| window.dot(&w));
    assert_eq!(sums, Array1::from_iter(expected));
}

#[test]
fn products_with_vectors_agree() {
    let a = Array2::from_shape_fn((70, 90), |(x, y)| ((x * 5 + y * 3) % 7) as f64);
    let v = Array1::from_shape_fn(90, |x| (x % 4) as f64);
    let right: Array1<f64> = i("+(ij*j)~i").unwrap().apply_one((&a, &v)).unwrap();
    assert_eq!(right, a.dot(&v));
    let left: Array1<f64> = i("+(j*ji)~i").unwrap().apply_one((&v, &a.t())).unwrap();
    assert_eq!(left, a.dot(&v));
}

#[test]
fn broadcast_views_are_arguments() {
    let row = array![1.0, 2.0, 3.0];
    let wide = row.broadcast((2, 3)).unwrap();
    let sums = i("+ij~i").unwrap().apply((&wide,)).unwrap();
    assert_eq!(floats(&sums[0]), [6.0, 6.0]);
}

#[test]
fn operators_compose() {
    let (m, a) = (i("ik*kj~ijk").unwrap(), i("+ijk~ij").unwrap());
    let chained = (&m >> &a).unwrap();
    let composed = (&a << &m).unwrap();
    let x = array![[1.0, 2.0], [3.0, 4.0]];
    let twice = chained.apply((&x, &x)).unwrap();
    assert_eq!(floats(&twice[0]), [7.0, 10.0, 15.0, 22.0]);
    assert_eq!(floats(&composed.apply((&x, &x)).unwrap()[0]), floats(&twice[0]));
    let identity = Program::identity();
    let normalise = ((identity & i("+i~.").unwrap()) >> i("i/.~i").unwrap()).unwrap();
    assert_eq!(floats(&normalise.apply((&array![1.0, 3.0],)).unwrap()[0]), [0.25, 0.75]);
    let both = (i("+i~.").unwrap() | i("-i~i").unwrap()).unwrap();
    assert_eq!(both.arity(), 2);
    let swapped = (!i("i-i~i").unwrap()).unwrap();
    assert_eq!(floats(&swapped.apply((&array![1.0], &array![3.0])).unwrap()[0]), [2.0]);
    let whole = (&m >> &a >> i("ij+j~ij").unwrap()).unwrap();
    assert_eq!(whole.arity(), 3);
}

#[test]
fn what_does_not_fit_is_told() {
    let error = (i("+i~.").unwrap() >> i("+ij~i").unwrap()).unwrap_err();
    assert!(matches!(error, Error::Program(_)), "{error}");
    assert!(!i("+i~.").unwrap().swap().unwrap_err().diagnostics().is_empty());
    let product = i("+(ik*kj)~ij").unwrap();
    let (a, b) = (Array2::<f32>::zeros((2, 3)), Array2::<f32>::zeros((4, 2)));
    let error = product.apply((&a, &b)).unwrap_err().to_string();
    assert!(error.contains("letter `k` is 3 on axis 1 of argument 1 but 4 on axis 0"), "{error}");
    assert!(product.apply((&a,)).unwrap_err().to_string().contains("argument"));
    let doubles = Array2::<f64>::zeros((3, 2));
    let error = product.apply((&a, &doubles)).unwrap_err().to_string();
    assert!(error.contains("f32") && error.contains("f64"), "{error}");
}

#[test]
fn outputs_may_lie_anywhere() {
    let product = i("+(ik*kj)~ij").unwrap();
    let (a, b) = (array![[1, 2], [3, 4]], array![[1, 0], [0, 1]]);
    let mut out = Array2::<i32>::zeros((4, 4));
    let mut part = out.slice_mut(s![..;2, ..;-2]);
    product.apply_into((&a, &b), &mut [TensorViewMut::from_array(&mut part)]).unwrap();
    assert_eq!(part, a);
    let mut wrong = Array2::<i32>::zeros((2, 3));
    let error = product.apply_into((&a, &b), &mut [TensorViewMut::from_array(&mut wrong)]);
    assert!(matches!(error, Err(Error::Output { position: 1, .. })));
    let error = product.apply_into((&a, &b), &mut []);
    assert!(matches!(error, Err(Error::OutputCount { expected: 1, found: 0 })));
}

#[test]
fn outputs_are_untouched_when_anything_fails() {
    let divide = i("i/i~i").unwrap();
    let mut out = array![7, 7, 7];
    let (x, zero) = (array![6, 6, 6], array![1, 2, 0]);
    let views = &mut [TensorViewMut::from_array(&mut out)];
    let error = divide.apply_into((&x, &zero), views).unwrap_err();
    assert!(error.to_string().contains("division by zero"), "{error}");
    assert_eq!(out, array![7, 7, 7]);
    let views = &mut [TensorViewMut::from_array(&mut out)];
    divide.apply_into((&x, &array![1, 2, 3]), views).unwrap();
    assert_eq!(out, array![6, 3, 2]);
}

#[test]
fn several_results() {
    let both = i("(I & +ij~i) & ij~ji").unwrap();
    let x = array![[1.0, 2.0], [3.0, 4.0]];
    let results = both.apply((&x,)).unwrap();
    assert_eq!(results.len(), 3);
    assert_eq!(floats(&results[0]), [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(floats(&results[1]), [3.0, 7.0]);
    assert_eq!(floats(&results[2]), [1.0, 3.0, 2.0, 4.0]);
    let one: Result<Array1<f64>, _> = both.apply_one((&x,));
    assert!(matches!(one, Err(Error::OutputCount { .. })));
}

#[test]
fn arguments_as_views() {
    let x = Tensor::from_vec(vec![1i64, 2, 3], &[3]).unwrap();
    let views: Vec<TensorView<'_>> = vec![x.view(), x.view()];
    let add = i("i+i~i").unwrap();
    for results in [add.apply(&views), add.apply(&views[..]), add.apply([&x, &x])] {
        assert_eq!(results.unwrap()[0].as_slice::<i64>(), Some(&[2, 4, 6][..]));
    }
}

#[test]
fn empty_arrays() {
    let product = i("+(ik*kj)~ij").unwrap();
    let c: Array2<f32> =
        product.apply_one((&Array2::<f32>::zeros((2, 0)), &Array2::<f32>::zeros((0, 3)))).unwrap();
    assert_eq!(c, Array2::<f32>::zeros((2, 3)));
    let none = product.apply((&Array2::<f32>::zeros((0, 5)), &Array2::<f32>::zeros((5, 3))));
    assert_eq!(none.unwrap()[0].shape(), [0, 3]);
}

#[test]
fn views_of_many_steps_are_arguments() {
    let cube = Array3::<f64>::ones((2, 3, 4));
    let sum = i("+ijk~.").unwrap().apply((&cube.slice(s![.., ..;-1, ..;3]),)).unwrap();
    assert_eq!(floats(&sum[0]), [12.0]);
}

#[test]
fn irregular_strides_are_copied() {
    let x: Vec<f64> = (0..6).map(f64::from).collect();
    let view = ijk::ndarray::ArrayView2::from_shape((2, 2).strides((2, 3)), &x);
    let Ok(view) = view else { return };
    let rows = i("+ij~i").unwrap().apply((&view,)).unwrap();
    assert_eq!(floats(&rows[0]), [3.0, 7.0]);
}

#[test]
fn shapes_and_types_without_data() {
    let where_ = i("@where(i,i,i)~i").unwrap();
    assert_eq!(where_.shapes(&[&[3], &[3], &[3]]).unwrap(), [[3]]);
    let modulus = i("@abs ij~ij").unwrap();
    let result = modulus.results(&[(DType::C64, &[2, 2])]).unwrap();
    assert_eq!(result, [(DType::F32, vec![2, 2])]);
}

#[test]
fn limits_are_told_before_anything_is_allocated() {
    let engine = Engine::builder().threads(1).memory_limit(1 << 20).build();
    let outer = i("i*j~ij").unwrap();
    let x = Array1::<f64>::zeros(100_000);
    let error = engine.apply(&outer, (&x, &x)).unwrap_err();
    assert!(error.to_string().contains("80000000000 bytes"), "{error}");
    assert!(engine.apply(&outer, (&array![1.0], &array![2.0])).is_ok());
    let sum = i("+(i*j)~.").unwrap();
    let tenth = x.slice(s![..100]);
    assert_eq!(floats(&engine.apply(&sum, (&tenth, &tenth)).unwrap()[0]), [0.0]);
}

#[test]
fn a_limit_does_not_show_in_results_of_sweeps() {
    let softmax = i("(I & >ij~i) . ij-i~ij . ^ij~ij . (I & +ij~i) . ij/i~ij").unwrap();
    let x = Array2::from_shape_fn((1000, 500), |(i, j)| ((i * 31 + j * 17) % 101) as f64 / 7.0);
    let arguments = [(DType::F64, x.shape())];
    let least = softmax.explain(&arguments).unwrap().plan().temporary_bytes();
    assert!(least > 0);
    let run = |threads, bytes| {
        let engine = Engine::builder().threads(threads).memory_limit(bytes).build();
        engine.apply(&softmax, (&x,))
    };
    let results = 8 * x.len() as u64;
    let one = run(1, u64::MAX).unwrap();
    for (threads, blocks) in [(1, 1), (7, 1), (7, 2), (7, 100)] {
        assert_eq!(run(threads, results + blocks * least).unwrap(), one);
    }
    // Blocks of one row are the smallest.
    assert_eq!(run(7, results + least - 1).unwrap(), one);
    let error = run(7, results).unwrap_err().to_string();
    assert!(error.contains(&format!("memory limit is {results} bytes")), "{error}");
}

#[test]
fn sweeps_over_arrays_that_come_from_memory() {
    let programs = [
        "(I & >ij~i) . ij-i~ij . ^ij~ij . (I & +ij~i) . ij/i~ij . +ij~i",
        "(I & >ij~i) . ij-i~ij . ^ij~ij . +ij~i",
    ];
    let x = Array2::from_shape_fn((701, 1531), |(i, j)| ((i * 31 + j * 17) % 101) as f64 / 7.0);
    let exponentials = |row: ArrayView1<'_, f64>| {
        let most = row.fold(f64::NEG_INFINITY, |a, &b| a.max(b));
        row.mapv(|x| (x - most).exp()).sum()
    };
    let sums = x.rows().into_iter().map(exponentials);
    let expected = [Array1::from_elem(701, 1.0), sums.collect::<Array1<f64>>()];
    for (program, expected) in programs.into_iter().zip(expected) {
        for threads in [1, 3] {
            let engine = Engine::builder().threads(threads).build();
            let result = engine.apply(&i(program).unwrap(), (&x,)).unwrap().swap_remove(0);
            let result: Array1<f64> = result.into_array().unwrap();
            for (a, b) in result.iter().zip(&expected) {
                assert!((a - b).abs() <= 1e-12 * b, "{program}: {a} {b}");
            }
        }
    }
}

#[test]
fn a_limit_does_not_show_in_what_blocks_share() {
    let attention = i("
        scores: +(qd*kd)~qk
        softmax: (I & >ij~i) . ij-i~ij . ^ij~ij . (I & +ij~i) . ij/i~ij
        scores . softmax . +(qk*kd)~qd
    ");
    let attention = attention.unwrap();
    let matrix =
        |seed| Array2::from_shape_fn((700, 32), |(i, j)| ((i * 31 + j * seed) % 101) as f32 / 90.0);
    let [q, k, v] = [13, 17, 19].map(matrix);
    let arguments = [(DType::F32, q.shape()); 3];
    let least = attention.explain(&arguments).unwrap().plan().temporary_bytes();
    let run = |threads, bytes| {
        let engine = Engine::builder().threads(threads).memory_limit(bytes).build();
        engine.apply(&attention, (&q, &k, &v)).unwrap()
    };
    let (results, packed) = (4 * q.len() as u64, 8 * q.len() as u64);
    let one = run(1, u64::MAX);
    for threads in [1, 2, 7] {
        for spare in [0, packed / 2, packed, 2 * packed, 20 * packed] {
            assert_eq!(run(threads, results + least + spare), one, "{threads} {spare}");
        }
    }
}

#[test]
fn memory_of_dropped_results_is_used_again() {
    let next = i("i+1~i").unwrap();
    let x = Array1::<f32>::zeros(1 << 20);
    let engine = Engine::builder().threads(1).build();
    let apply = |engine: &Engine| engine.apply(&next, (&x,)).unwrap().swap_remove(0);
    let at = |tensor: &Tensor| tensor.view().as_ptr() as usize;
    let first = apply(&engine);
    let address = at(&first);
    let other = apply(&engine);
    assert_ne!(at(&other), address);
    drop(first);
    let again = apply(&engine);
    assert_eq!(at(&again), address);
    assert_eq!(again, other);
    // Memory that ndarray owns does not return to the pool; memory that outlives its engine is freed.
    let array: Array1<f32> = again.into_array().unwrap();
    let third = apply(&engine);
    drop(engine);
    assert_eq!(array, Array1::<f32>::ones(1 << 20));
    assert_eq!(third, other);
    let engine = Engine::builder().keep(0).build();
    drop(apply(&engine));
    engine.release_memory();
    assert_eq!(apply(&engine), other);
}

#[test]
fn an_explanation_shows_the_plan() {
    let product = i("ik*kj~ijk . +ijk~ij").unwrap();
    let arguments: [(DType, &[usize]); 2] = [(DType::F32, &[64, 32]), (DType::F32, &[32, 16])];
    let text = product.explain(&arguments).unwrap().to_string();
    for part in ["contract", "M(i=64) N(j=16) K(k=32)", "65536", "f32 [64, 16]"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
}

#[test]
fn programs_are_shared_between_threads() {
    let product = i("+(ik*kj)~ij").unwrap();
    let a = Array2::<f32>::ones((20, 20));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let c: Array2<f32> = product.apply_one((&a, &a)).unwrap();
                    assert_eq!(c[(3, 4)], 20.0);
                }
            });
        }
    });
}

#[test]
fn thousands_of_programs_are_put_together() {
    let add = ijk::i("i+1~i").unwrap();
    let (mut left, mut right) = (add.clone(), add.clone());
    for _ in 1..3000 {
        left = left.chain(&add).unwrap();
        right = add.chain(&right).unwrap();
    }
    for chain in [&left, &right] {
        assert_eq!(chain.arity(), 1);
        assert!(chain.to_string().starts_with("(T[1]) -> T[1]"));
        assert_eq!(chain.lowered().statements.len(), 3000);
        let result = chain.apply((&array![0i64, 5],)).unwrap();
        assert_eq!(result[0].as_slice::<i64>(), Some(&[3000, 3005][..]));
    }
    let (mut beside, mut both) = (add.clone(), add.clone());
    for _ in 1..3000 {
        beside = beside.pair(&add).unwrap();
        both = both.fanout(&add).unwrap();
    }
    assert_eq!((beside.arity(), beside.signature().outputs.len()), (3000, 3000));
    assert_eq!((both.arity(), both.signature().outputs.len()), (1, 3000));
    let results = both.apply((&array![1.0],)).unwrap();
    assert!(results.iter().all(|result| result.as_slice::<f64>() == Some(&[2.0][..])));
    let error = beside.chain(&add).unwrap_err().to_string();
    assert!(error.contains("3000 outputs"), "{error}");
}

#[test]
fn deep_programs_are_checked_printed_and_dropped() {
    let negate = ijk::i("-i~i").unwrap();
    let mut deep = negate.clone();
    for n in 0..200_000 {
        deep = if n % 2 == 0 { deep.chain(&negate) } else { negate.chain(&deep) }.unwrap();
    }
    assert!(format!("{deep} {:?}", deep.signature()).starts_with("(T[1]) -> T[1]"));
    assert!(deep.chain(&ijk::i("+ij~.").unwrap()).is_err());
    drop(deep);
    let mut doubled = negate;
    let error = loop {
        match doubled.chain(&doubled) {
            Ok(next) => doubled = next,
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("more than 1000000 index expressions"), "{error}");
}

#[test]
fn warnings_of_parts_point_into_the_whole() {
    let named = ijk::i("f: i~i; -i~i").unwrap();
    let whole = ijk::i("+i~.").unwrap().pair(&named).unwrap();
    let [warning] = whole.warnings() else { panic!("{:?}", whole.warnings()) };
    let span = warning.span.start as usize..warning.span.end as usize;
    assert_eq!(&whole.source()[span], "f");
}

#[test]
#[allow(deprecated)]
fn the_former_name_is_an_alias() {
    let sum: ijk::Component = i("+i~.").unwrap();
    let sum: Program = sum;
    assert_eq!(sum.arity(), 1);
}

#[test]
fn plain_numbers_take_the_type_of_arrays() {
    let scale = i("ij*.~ij").unwrap();
    let single = array![[1.5f32, -2.0]];
    for result in
        [scale.apply((&single, 2)), scale.apply((&single, 2.0)), scale.apply((&single, 2u8))]
    {
        assert_eq!(result.unwrap()[0].as_slice::<f32>(), Some(&[3.0, -4.0][..]));
    }
    let bytes: Array2<u8> = scale.apply_one((&array![[1u8, 2]], 3)).unwrap();
    assert_eq!(bytes, array![[3u8, 6]]);
    let first: Array2<f32> = i(".-ij~ij").unwrap().apply_one((0.5, &single)).unwrap();
    assert_eq!(first, array![[-1.0f32, 2.5]]);
    let both = i("ij*.~ij . ij+.~ij").unwrap();
    assert_eq!(both.apply_one::<f32, _, _>((&single, 2, 0.5)).unwrap(), array![[3.5f32, -3.5]]);
    let chosen = i("@where(ij,ij,.)~ij").unwrap();
    let positive: Array2<f32> = chosen.apply_one((&single.mapv(|x| x > 0.0), &single, 0)).unwrap();
    assert_eq!(positive, array![[1.5f32, 0.0]]);
    let mut out = Array2::<f32>::zeros((1, 2));
    scale.apply_into((&single, 4), &mut [TensorViewMut::from_array(&mut out)]).unwrap();
    assert_eq!(out, array![[6.0f32, -8.0]]);
    // Numbers alone are INTs and FLOATs of 64 bits.
    assert_eq!(i(".*.~.").unwrap().apply((2, 3)).unwrap()[0].as_slice::<i64>(), Some(&[6][..]));
    let scaled = ijk::einsum("ij,->ij", (&single, 2)).unwrap();
    assert_eq!(scaled.as_slice::<f32>(), Some(&[3.0, -4.0][..]));
}

#[test]
fn plain_numbers_without_a_value_of_the_type_are_refused() {
    let scale = i("i*.~i").unwrap();
    for (number, of) in [(2.5, "2.5"), (300.0, "300")] {
        let error = scale.apply((&array![1u8, 2], number)).unwrap_err();
        assert!(matches!(&error, Error::Number { position: 2, dtype: DType::U8, .. }), "{error}");
        assert!(error.to_string().contains(&format!("is the number {of}")), "{error}");
    }
    let error = scale.apply((&array![1.0, 2.0], 2, 3)).unwrap_err();
    assert!(matches!(error, Error::Program(_)), "{error}");
}
