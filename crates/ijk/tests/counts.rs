//! Counts of what holds, against loops: along rows and down columns, of comparisons and of bools as they are stored.

use crate::common::programs;
use ijk::Tensor;

/// Numbers of both signs, of which runs hold.
fn numbers(n: usize) -> Vec<f32> {
    (0..n).map(|i| if i % 7 < 3 || i % 1000 > 600 { 1.0 } else { -1.0 }).collect()
}

/// The elements of the result `y` of a program.
fn run(source: &str, bound: &[(&str, &Tensor)]) -> Vec<i64> {
    let found = programs::run(source, bound, false);
    let wide = found.as_slice::<i64>().map(<[i64]>::to_vec);
    wide.unwrap_or_else(|| found.as_slice::<i32>().unwrap().iter().map(|&n| n.into()).collect())
}

#[test]
fn what_holds_is_counted() {
    for [a, b] in [[5, 700], [300, 131], [3, 1], [1000, 40], [2, 70_000], [70_000, 3], [600, 256]] {
        let values = numbers(a * b);
        let bools: Vec<bool> = values.iter().map(|&x| x > 0.0).collect();
        let x = Tensor::from_vec(values.clone(), &[a, b]).unwrap();
        let m = Tensor::from_vec(bools.clone(), &[a, b]).unwrap();
        let bound = [("x", &x), ("m", &m)];
        let (mut rows, mut columns) = (vec![0; a], vec![0; b]);
        for at in (0..a * b).filter(|&at| bools[at]) {
            rows[at / b] += 1;
            columns[at % b] += 1;
        }
        let total = vec![rows.iter().sum()];
        for condition in ["GT(x[a,b], 0)", "m[a,b]", "AND(GT(x[a,b], 0), LT(x[a,b], 2))"] {
            for counted in ["WHERE(CONDITION, 1, 0)", "I64(CONDITION)", "I32(CONDITION)"] {
                let value = counted.replace("CONDITION", condition);
                for (out, expected) in [("y[a]", &rows), ("y[b]", &columns), ("y[]", &total)] {
                    let source = format!("{out} = {value}\n\ny\n");
                    let used =
                        |(name, _): &&(&str, &Tensor)| condition.contains(&format!("{name}["));
                    let bound: Vec<_> = bound.iter().filter(used).copied().collect();
                    assert_eq!(&run(&source, &bound), expected, "{source} {a} {b}");
                }
            }
        }
        let source = "y[b] = 7\ny[b] += WHERE(GT(x[a,b], 0), 1, 0)\n\ny\n";
        let more: Vec<i64> = columns.iter().map(|n| n + 7).collect();
        assert_eq!(run(source, &[("x", &x)]), more);
    }
}
