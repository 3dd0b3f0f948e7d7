//! Ranks that the `:` of a bound index array decides.

use ijk_ir::et::{Checked, Overrides, Solution, check, infer};

fn solve(source: &str, bound: &[(&str, &[u64])]) -> (Checked, Solution) {
    let (tree, diagnostics) = ijk_syntax::et::parse(source);
    assert!(diagnostics.is_empty());
    let (checked, diagnostics) = check(source, tree);
    let checked = checked.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let at = |name: &str| checked.array(name).expect("an array");
    let bound: Vec<(usize, Vec<u64>)> =
        bound.iter().map(|(name, shape)| (at(name), shape.to_vec())).collect();
    let solution = infer(&checked, &bound, &Overrides::default());
    let solution = solution.unwrap_or_else(|errors| panic!("{errors:?}"));
    (checked, solution)
}

fn places(source: &str, bound: &[(&str, &[u64])], array: &str) -> Vec<u32> {
    let (checked, solution) = solve(source, bound);
    solution.places[checked.array(array).expect("an array")].clone()
}

#[test]
fn of_an_input() {
    let source = "out[slice,rest] = x[idx[slice,:],rest]\n";
    assert_eq!(places(source, &[("x", &[4, 5, 6]), ("idx", &[7, 2])], "x"), [2, 1]);
    assert_eq!(places(source, &[("x", &[4, 5]), ("idx", &[7, 1])], "x"), [1, 1]);
    assert_eq!(places(source, &[("x", &[4]), ("idx", &[7, 0])], "x"), [0, 1]);
}

#[test]
fn of_indices_that_are_drawn() {
    let source =
        "idx[slice,c] = RANDOM(0, 3, INT)\nout[slice] = x[idx[slice,:]]\n\nDIMS(slice) = 4\n";
    let (checked, solution) = solve(source, &[("x", &[4, 5])]);
    assert_eq!(solution.of(checked.tuple("c").expect("an eintup")), [2]);
}

#[test]
fn of_a_scatter() {
    let source = "out[idx[slice,:]] = v[slice]\n";
    assert_eq!(places(source, &[("v", &[7]), ("idx", &[7, 3])], "out"), [3]);
}
