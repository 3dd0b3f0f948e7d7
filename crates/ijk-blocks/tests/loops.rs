//! Loops of programs in i over blocks: written out, or refused.

use ijk_blocks::{BigTensor, apply};

fn numbers(tensor: &BigTensor) -> Vec<f64> {
    let found = tensor.collect().expect("a value");
    found.as_numbers().expect("numbers").as_slice::<f64>().expect("f64").to_vec()
}

#[test]
fn passes_become_terms() {
    let v = BigTensor::lit([1.0, 2.0, 3.0], [3], [Some(2)]).unwrap();
    let m = BigTensor::lit((0..9).map(f64::from), [3, 3], [Some(2), Some(2)]).unwrap();
    let looped = apply("@repeat{2} (+(j*ij)~i)", &[&v, &m]).unwrap();
    let twice = apply("+(j*ij)~i . +(j*ij)~i", &[&v, &m, &m]).unwrap();
    assert_eq!(looped[0].ty(), twice[0].ty());
    assert_eq!(numbers(&looped[0]), numbers(&twice[0]));
    let x = BigTensor::lit((0..12).map(f64::from), [4, 3], [Some(3), Some(2)]).unwrap();
    let sums = apply("@fold i+i~i", &[&v, &x]).unwrap();
    assert_eq!(numbers(&sums[0]), [19.0, 24.0, 29.0]);
}

#[test]
fn scans_and_long_loops_are_refused() {
    let v = BigTensor::lit([1.0, 2.0], [2], [None]).unwrap();
    let x = BigTensor::lit((0..6).map(f64::from), [3, 2], [Some(2), None]).unwrap();
    let message = |program: &str| apply(program, &[&v, &x]).unwrap_err().to_string();
    let scan = message("@scan i+i~i");
    assert!(scan.contains("a scan does not run in blocks") && scan.contains("collect()"), "{scan}");
    let long = apply("@repeat{1000} (i/2~i)", &[&v]).unwrap_err().to_string();
    assert!(long.contains("more than 256 index expressions in all passes"), "{long}");
}
