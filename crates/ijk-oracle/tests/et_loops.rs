//! Loops of Einsum Tuple: the evaluator by hand-computed results, and the lowering by the evaluator.

use ijk_oracle::Value;
use ijk_oracle::et::harness::{EtAgreement, compare, solve};
use ijk_oracle::et::random::EtCase;
use ijk_types::Scalar;
use std::collections::BTreeMap;

fn case(source: &str) -> EtCase {
    let (bound, dims, ranks) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    EtCase { source: source.into(), bound, dims, ranks, seed: 3 }
}

/// The outcome on which all evaluations agree.
fn agreed(source: &str) -> EtAgreement {
    let case = case(source);
    let agreement = compare(&case, &mut |case, checked| solve(case, checked, 100_000), &mut []);
    agreement.unwrap_or_else(|error| panic!("{source}\n{error:?}"))
}

/// The elements of the last result.
fn last(source: &str) -> Vec<f64> {
    let found = agreed(source);
    let EtAgreement::Value(evaluation, _) = &found else { panic!("{source}\n{found:?}") };
    let (_, array) = evaluation.results().last().expect("a result");
    let Value { data, .. } = array.value();
    let number = |x: &Scalar| match x {
        Scalar::Bool(x) => f64::from(u8::from(*x)),
        x => x.as_f64(),
    };
    data.iter().map(number).collect()
}

#[test]
fn a_recurrence_starts_with_its_first_statement() {
    let source =
        "x[t] = t + 1\nLOOP t\n    h[t]  = x[t]\n    h[t] += 2 * h[t-1]\n\nh\n\nDIMS(t) = 4";
    assert_eq!(last(source), [1.0, 4.0, 11.0, 26.0]);
}

#[test]
fn one_statement_may_read_the_pass_before() {
    let source = "x[t] = t + 1\nLOOP t\n    h[t] = x[t] + 2 * h[t-1]\n\nh\n\nDIMS(t) = 4";
    assert_eq!(last(source), [0.0, 2.0, 7.0, 18.0]);
}

#[test]
fn decreasing_loops_run_from_the_end() {
    let source = "x[t] = t + 1\nLOOP -t\n  h[t] = x[t]\n  h[t] += h[t+1]\n\nh\n\nDIMS(t) = 4";
    assert_eq!(last(source), [10.0, 9.0, 7.0, 4.0]);
}

#[test]
fn state_is_updated_pass_by_pass() {
    let source = "s[] = 1\nLOOP t\n    s[] = s[] * 2\n\ns\n\nDIMS(t) = 10";
    assert_eq!(last(source), [1024.0]);
    let shifted = "s[d] = d\nLOOP t\n    s[d] = s[d-1] + 1\n\ns\n\nDIMS(t) = 2\nDIMS(d) = 4";
    assert_eq!(last(shifted), [0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn until_ends_after_the_pass() {
    let source =
        "s[] = 1\nLOOP t UNTIL GT(s[], 50)\n    s[] = s[] * 2\n    h[t] = s[]\n\nh\n\nDIMS(t) = 8";
    assert_eq!(last(source), [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 0.0, 0.0]);
    let nan = "s[] = NAN\nLOOP t UNTIL GT(s[], 50)\n    n[t] = t\n\nn\n\nDIMS(t) = 3";
    assert_eq!(last(nan), [0.0, 1.0, 2.0]);
}

#[test]
fn a_base_case_before_the_loop_stays() {
    let source = "h[t] = 7\nLOOP t\n    h[t] = h[t-1] + 1\n\nh\n\nDIMS(t) = 4";
    assert_eq!(last(source), [7.0, 8.0, 9.0, 10.0]);
}

#[test]
fn edit_distance() {
    let source = "
a[i] = MOD(i * 7, 5)
b[j] = MOD(j * 3, 5)
d[i,j] = i + j
LOOP i, j
    d[i,j]    = d[i-1,j-1] + I64(NE(a[i-1], b[j-1]))
    d[i,j] min= d[i-1,j] + 1
    d[i,j] min= d[i,j-1] + 1

d

DIMS(i) = 6
DIMS(j) = 5";
    let a: Vec<i64> = (0..6).map(|i| i * 7 % 5).collect();
    let b: Vec<i64> = (0..5).map(|j| j * 3 % 5).collect();
    let mut d = vec![vec![0i64; 5]; 6];
    for i in 0..6 {
        for j in 0..5 {
            d[i][j] = match (i, j) {
                (0, _) | (_, 0) => (i + j) as i64,
                _ => (d[i - 1][j - 1] + i64::from(a[i - 1] != b[j - 1]))
                    .min(d[i - 1][j] + 1)
                    .min(d[i][j - 1] + 1),
            };
        }
    }
    // Row 0 takes d[0,j-1] + 1 too, which is the same.
    assert_eq!(last(source), d.concat().iter().map(|&x| x as f64).collect::<Vec<_>>());
}

/// Programs of many kinds, of which all evaluations must agree.
const PROGRAMS: [&str; 24] = [
    "x[t,d] = RANDOM(-1, 1, FLOAT)\na[t,d] = RANDOM(-1, 1, FLOAT)\nLOOP t\n    h[t,d] = x[t,d]\n    h[t,d] += a[t,d] * h[t-1,d]\n\nRANK(t) IN [0,2]\nDIMS(t) IN [0,4]\nDIMS(d) IN [0,3]",
    // A state in a matrix product.
    "w[d,e] = RANDOM(-1, 1, FLOAT)\nx[t,d] = RANDOM(-1, 1, FLOAT)\ns[d] = 0\nLOOP t\n    s[d] = TANH(w[d,e] * s[e])\n    s[d] += x[t,d]\n    y[t,d] = s[d]\n\nDIMS(t) = 5\nDIMS(d) IN [1,4]",
    // Reads mixed with other indices.
    "x[t,d] = RANDOM(-9, 9, INT)\nLOOP t\n    y[t,d] = x[t-k,d] * (k + 1)\n    z[t] = y[t-k,d] + t\n\nDIMS(t) = 5\nDIMS(d) = 3\nDIMS(k) = 3",
    "x[n] = RANDOM(-9, 9, INT)\nLOOP t\n    y[t] = x[2*t-k] * k\n\nDIMS(t) = 6\nDIMS(n) = 7\nDIMS(k) = 3",
    // Positions from arrays.
    "idx[t] = RANDOM(-1, 6, INT)\nx[t,d] = RANDOM(-9, 9, INT)\nacc[n,d] = 1\nLOOP t\n    acc[idx[t],d] += x[t,d]\n    acc[idx[t],d] = acc[idx[t],d] * 2 + t\n\nDIMS(t) = 6\nDIMS(n) = 5\nDIMS(d) = 2",
    "idx[t,k] = RANDOM(-1, 6, INT)\nx[n] = RANDOM(-9, 9, INT)\nLOOP t\n    y[t,k] = x[idx[t,k]] + t\n    z[idx[t,k]] = x[k]\n\nDIMS(t) = 4\nDIMS(n) = 5\nDIMS(k) = 3",
    // FLAT and divisions.
    "x[n] = RANDOM(-9, 9, INT)\nLOOP t\n    y[t,d] = x[FLAT(t,d)]\n    z[t//2] += y[t,d] * 3\n    w[t%3,d] = y[t,d] - z[t//2]\n\nDIMS(t) = 6\nDIMS(d) = 2\nDIMS(n) = 11",
    // Random numbers differ from pass to pass.
    "s[d] = 0\nLOOP t\n    s[d] = s[d] + RANDOM(0, 10, INT)\n    r[t,d] = RANDOM(0, 1, FLOAT)\n\nDIMS(t) = 4\nDIMS(d) = 3",
    // Loops in loops.
    "d[i,j] = RANDOM(1, 20, INT)\nLOOP k\n    d[i,j] min= d[i,k] + d[k,j]\n\nDIMS(i) = 4",
    "a[i,j] = RANDOM(-2, 2, INT)\nLOOP i\n    s[] = 0\n    LOOP j UNTIL GT(s[], 3)\n        s[] += a[i,j]\n        p[i,j] = s[]\n    r[i] = s[]\n\nDIMS(i) = 4\nDIMS(j) = 5",
    "LOOP i, -j\n    c[i,j] = i * 10 + j\n    c[i,j] += c[i-1,j]\n    c[i,j] += c[i,j+1]\n\nDIMS(i) = 3\nDIMS(j) = 4",
    // Types that passes agree on.
    "s[] = 1\nLOOP t\n    s[] = s[] / 2\n    h[t] = s[] * t\n\nDIMS(t) = 3",
    "x[t] = RANDOM(0, 2, INT)\nany[] = GT(x[t], 5)\nLOOP t\n    any[] or= x[t]\n    all[t] =and GT(x[t], 0)\n    b[t] = any[]\n\nDIMS(t) = 4",
    "x[t] = F32(RANDOM(-1, 1, FLOAT))\nLOOP t\n    h[t] = 0.5 * h[t-1] + x[t]\n    m[t] =max h[t]\n    m[t] max= m[t-1]\n\nDIMS(t) = 5",
    // Empty and single axes.
    "x[t,k] = RANDOM(-9, 9, INT)\nh[t] = 5\nLOOP t\n    h[t] = x[t-1,k]\n    h[t] += x[t,k]\n\nDIMS(t) IN [0,2]\nDIMS(k) IN [0,1]",
    // The game of life.
    "b[p] = RANDOM(0, 2, INT)\nLOOP t\n    n[p] = b[p+k-1]\n    b[p] = WHERE(OR(EQ(n[p], 3), AND(EQ(n[p], 4), EQ(b[p], 1))), 1, 0)\n\nRANK(p) = 2\nDIMS(p) = 5\nDIMS(k) = 3\nDIMS(t) = 3",
    // Triangular solve.
    "l[i,j] = RANDOM(1, 2, FLOAT)\nb[i] = RANDOM(-1, 1, FLOAT)\nx[i] = 0\nLOOP i\n    x[i] = (b[i] - 0)\n    x[i] += -l[i,i-1-k] * x[i-1-k]\n    x[i] = x[i] / l[i,i]\n\nDIMS(i) = 5\nDIMS(k) = 5",
    // Gauss–Seidel.
    "u[i] = RANDOM(-1, 1, FLOAT)\nLOOP t\n    LOOP i\n        u[i] = (u[i-1] + u[i+1]) / 2\n\nDIMS(i) = 6\nDIMS(t) = 3",
    // Places that a pass addresses whole.
    "LOOP t\n    g[FLAT(t,d)] = t + d\n    q[t+0*d,d] = t\n    c[0,t] = t\n\nDIMS(t) = 3\nDIMS(d) = 2",
    // Components as values and coordinates.
    "LOOP p\n    y[p] = p[0] * 10 + p[1]\n    z[p,c] = p[c]\n\nRANK(p) = 2\nDIMS(p) = 3",
    // Statements that skip every point of a pass.
    "x[t,d] = RANDOM(-9, 9, INT)\nh[t,d] = 3\nLOOP t\n    h[t,d] = x[t+d+2,d]\n    h[t,d] = x[t-1,d] * x[t-2,d]\n\nDIMS(t) = 5\nDIMS(d) = 2",
    // A sum over all passes before.
    "x[t] = RANDOM(-9, 9, INT)\ny[t] = 0\nLOOP t\n    y[t] = y[s] + x[t]\n\nDIMS(t) = 5",
    // Two loops, one after another.
    "x[t] = RANDOM(-9, 9, INT)\nLOOP t\n    a[t] = x[t]\n    a[t] += a[t-1]\nLOOP -t\n    b[t] = a[t]\n    b[t] += b[t+1]\nc[t] = a[t] * b[t]\n\nc\n\nDIMS(t) = 5",
    // Viterbi: from the end back.
    "e[t,s] = RANDOM(0, 9, INT)\nq[s,r] = RANDOM(0, 9, INT)\nLOOP t\n    m[t,s] =max e[t,s]\n    m[t,s] =max e[t,s] + m[t-1,r] + q[r,s]\n    k[t,s] =max WHERE(EQ(m[t,s], e[t,s] + m[t-1,r] + q[r,s]), r, -1)\ntop[] =max m[DIMS(t)-1,s]\nlast[] =max WHERE(EQ(m[DIMS(t)-1,s], top[]), s, -1)\nLOOP -t\n    path[t] = last[]\n    path[t] = k[t+1,path[t+1]]\n\npath\n\nDIMS(t) = 6\nDIMS(s) = 3",
];

#[test]
fn lowered_programs_agree() {
    for source in PROGRAMS {
        let found = agreed(source);
        assert!(matches!(found, EtAgreement::Value(..)), "{source}\n{found:?}");
    }
}
