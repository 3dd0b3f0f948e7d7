//! The solver of Einsum Tuple against brute force, on random programs.

use ijk_ir::et::{self, Checked, Overrides, Ranks, Solution};
use ijk_syntax::et::ast::{Bound, IndexOp, Quantity, Relation};
use ijk_types::random;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// A source of choices.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 += 1;
        random::uniform_i64(random::bits(3, self.0), 0, n as i64).unwrap() as usize
    }

    fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

fn check(source: &str) -> (Option<Checked>, Vec<ijk_syntax::Diagnostic>) {
    let (tree, errors) = ijk_syntax::et::parse(source);
    assert!(errors.is_empty(), "{source}\n{errors:?}");
    et::check(source, tree)
}

/// An expression over quantities of the first `known` names.
fn expr(dice: &mut Dice, function: &str, known: usize, depth: usize) -> String {
    if depth == 0 || dice.below(3) == 0 {
        return match dice.below(3) {
            0 => format!("{}", dice.below(5)),
            _ if known == 0 => format!("{}", dice.below(5)),
            _ => format!("{function}({})", NAMES[dice.below(known)]),
        };
    }
    let (x, y) = (expr(dice, function, known, depth - 1), expr(dice, function, known, depth - 1));
    match dice.below(8) {
        0 => format!("min({x}, {y})"),
        1 => format!("max({x}, {y})"),
        _ => format!("({x} {} {y})", dice.of(&["+", "-", "*", "//", "//^", "%"])),
    }
}

/// Equations of a program of random ranks: pairs, and sums `c = a + b`.
#[derive(Default)]
struct Equations {
    pairs: Vec<(usize, usize)>,
    sums: Vec<(usize, usize, usize)>,
}

fn rank_program(dice: &mut Dice) -> (String, Equations) {
    let mut source = String::from("x[a,b,c,d] = 1\n");
    let mut equations = Equations::default();
    for n in 0..dice.below(3) {
        let (p, q, r) = (dice.below(4), dice.below(4), dice.below(4));
        let (a, b, c) = (NAMES[p], NAMES[q], NAMES[r]);
        if dice.below(2) == 0 {
            source += &format!("y{n}[{a} + {b}] = 1\n");
            equations.pairs.push((p, q));
        } else {
            source += &format!("y{n}[{c} + DIMS({a},{b})] = 1\n");
            equations.sums.push((p, q, r));
        }
    }
    source.push('\n');
    for (n, name) in NAMES.iter().enumerate() {
        match dice.below(4) {
            0 => {
                let lo = dice.below(5);
                let hi = lo + dice.below(6);
                source += &format!("RANK({name}) IN [{lo},{}]\n", hi.min(9));
            }
            1 | 2 => source += &format!("RANK({name}) = {}\n", expr(dice, "RANK", n, 2)),
            _ => {}
        }
    }
    (source, equations)
}

fn value(bound: &Bound, ranks: &[i64]) -> Option<i64> {
    let index = |name: &str| NAMES.iter().position(|n| *n == name).unwrap();
    Some(match bound {
        Bound::Integer(n, _) => *n,
        Bound::Of(Quantity::Rank, name, _) => ranks[index(&name.text)],
        Bound::Of(Quantity::Dims, ..) => unreachable!("ranks only"),
        Bound::Min(a, b, _) => value(a, ranks)?.min(value(b, ranks)?),
        Bound::Max(a, b, _) => value(a, ranks)?.max(value(b, ranks)?),
        Bound::Sum(terms, _) => {
            let mut sum = 0;
            for (negated, term) in terms {
                let term = value(term, ranks)?;
                sum += if *negated { -term } else { term };
            }
            sum
        }
        Bound::Product(first, rest, _) => {
            let mut product = value(first, ranks)?;
            for (op, factor) in rest {
                let by = value(factor, ranks)?;
                product = match op {
                    IndexOp::Mul => product * by,
                    _ if by == 0 => return None,
                    IndexOp::FloorDiv => (product as f64 / by as f64).floor() as i64,
                    IndexOp::CeilDiv => (product as f64 / by as f64).ceil() as i64,
                    IndexOp::Mod => product - by * (product as f64 / by as f64).floor() as i64,
                };
            }
            product
        }
    })
}

/// All vectors of ranks that satisfy everything, where the marked eintups have any rank.
fn brute_force(
    source: &str,
    equations: &Equations,
    free: impl Fn(usize) -> bool,
) -> BTreeSet<Vec<u32>> {
    let (tree, _) = ijk_syntax::et::parse(source);
    let satisfies = |ranks: &[i64]| {
        let constraints = tree.constraints.iter().all(|c| {
            let n = NAMES.iter().position(|n| *n == c.tuple.text).unwrap();
            match &c.relation {
                Relation::In((lo, _), (hi, _)) => (*lo..=*hi).contains(&ranks[n]),
                Relation::Equals(bound) => value(bound, ranks) == Some(ranks[n]),
            }
        });
        let pairs = equations.pairs.iter().all(|(a, b)| ranks[*a] == ranks[*b]);
        let sums = equations.sums.iter().all(|(a, b, c)| ranks[*a] + ranks[*b] == ranks[*c]);
        constraints && pairs && sums
    };
    let mut found = BTreeSet::new();
    for n in 0..10_000i64 {
        let ranks = [n / 1000, n / 100 % 10, n / 10 % 10, n % 10];
        let fits = (0..4).all(|e| free(e) || ranks[e] == 1);
        if fits && satisfies(&ranks) {
            found.insert(ranks.iter().map(|r| *r as u32).collect());
        }
    }
    found
}

fn of_names(checked: &Checked, ranks: &Ranks) -> Vec<u32> {
    let rank = |name: &&str| ranks.shapes[checked.tuple(name).unwrap().shape.0 as usize];
    NAMES.iter().map(rank).collect()
}

#[test]
fn rank_combinations_are_those_of_brute_force() {
    let mut dice = Dice(0);
    let (mut solved, mut refused, mut defaulted) = (0, 0, 0);
    for _ in 0..400 {
        let (source, equations) = rank_program(&mut dice);
        let (checked, diagnostics) = check(&source);
        let Some(checked) = checked else {
            let code = diagnostics.iter().find_map(|d| d.code).unwrap().name();
            if code == "ranks-differ" {
                assert!(brute_force(&source, &equations, |_| true).is_empty(), "{source}");
                refused += 1;
            }
            continue;
        };
        let all: Vec<Vec<u32>> =
            et::rank_combinations(&checked, true).map(|r| of_names(&checked, &r)).collect();
        let found: BTreeSet<Vec<u32>> = all.iter().cloned().collect();
        assert_eq!(all.len(), found.len(), "each once: {source}");
        assert_eq!(found, brute_force(&source, &equations, |_| true), "{source}");
        solved += 1;
        if equations.pairs.is_empty() && equations.sums.is_empty() {
            let constrained = |n: usize| source.contains(&format!("\nRANK({})", NAMES[n]));
            let found: BTreeSet<Vec<u32>> =
                et::rank_combinations(&checked, false).map(|r| of_names(&checked, &r)).collect();
            assert_eq!(found, brute_force(&source, &equations, constrained), "{source}");
            defaulted += 1;
        }
    }
    assert!(solved > 100 && refused > 3 && defaulted > 30, "{solved} {refused} {defaulted}");
}

/// A program whose eintups all stand plainly in arrays that can be bound.
fn dims_program(dice: &mut Dice) -> String {
    let mut source = String::from("x[a,b] = RANDOM(0, 1, INT)\ny[c,d] = RANDOM(0, 1, INT)\n");
    source += "z[a,b,c,d] = x[a,b] * y[c,d]\n\nz\n\n";
    let first = dice.of(&["RANK(a) IN [0,2]\n", "RANK(a) = 2\n", ""]);
    source += first;
    for (n, name) in NAMES.iter().enumerate() {
        match dice.below(4) {
            0 => source += &format!("DIMS({name}) IN [{},{}]\n", dice.below(4), 4 + dice.below(9)),
            1 | 2 => source += &format!("DIMS({name}) = {}\n", expr(dice, "DIMS", n, 2)),
            _ => {}
        }
    }
    source
}

/// The shape of an array whose places are plain.
fn shape(checked: &Checked, solution: &Solution, names: [&str; 2]) -> Vec<u64> {
    names.iter().flat_map(|n| solution.of(checked.tuple(n).unwrap()).to_vec()).collect()
}

#[test]
fn drawn_extents_are_inferred_from_their_arrays() {
    let mut dice = Dice(1 << 40);
    let (mut inferred, mut partly) = (0, 0);
    for seed in 0..600 {
        let source = dims_program(&mut dice);
        let Some(checked) = check(&source).0 else { continue };
        let combinations: Vec<Ranks> = et::rank_combinations(&checked, false).collect();
        for ranks in combinations {
            let Ok(solution) = et::draw(&checked, &ranks, seed, 1_000_000) else { continue };
            assert_eq!(et::draw(&checked, &ranks, seed, 1_000_000).as_ref(), Ok(&solution));
            assert!(solution.dims.iter().flatten().product::<u64>() <= 1_000_000, "{source}");
            let x = (checked.array("x").unwrap(), shape(&checked, &solution, ["a", "b"]));
            let y = (checked.array("y").unwrap(), shape(&checked, &solution, ["c", "d"]));
            let mut overrides = Overrides::default();
            for (name, rank) in NAMES.iter().zip(of_names(&checked, &ranks)) {
                overrides.ranks.insert((*name).to_owned(), rank);
            }
            let found = et::infer(&checked, &[x.clone(), y], &overrides);
            assert_eq!(found.as_ref(), Ok(&solution), "{source}");
            inferred += 1;
            match et::infer(&checked, &[x], &overrides) {
                Ok(found) => {
                    partly += 1;
                    assert_eq!(found, solution, "{source}");
                }
                Err(errors) => {
                    assert_eq!(errors[0].code.unwrap().name(), "ambiguous", "{source}\n{errors:?}");
                }
            }
        }
    }
    assert!(inferred > 200 && partly > 10, "{inferred} {partly}");
}

fn quick<T>(what: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let value = what();
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    value
}

#[test]
fn many_eintups_are_instant() {
    let names: Vec<String> = (0..20).map(|n| format!("e{n}")).collect();
    let free = format!("x[{}] = 1\n", names.join(","));
    let ranges: String = names.iter().map(|n| format!("RANK({n}) IN [0,9]\n")).collect();
    let sum = names.iter().map(|n| format!("RANK({n})")).collect::<Vec<_>>().join(" + ");
    let summed = format!("{free}y[sum] = 1\n\n{ranges}RANK(sum) = {sum}\n");

    let checked = quick(|| check(&free)).0.unwrap();
    assert_eq!(quick(|| et::rank_combinations(&checked, true).take(2000).count()), 2000);
    let checked = quick(|| check(&summed)).0.unwrap();
    let found: Vec<Ranks> = quick(|| et::rank_combinations(&checked, false).take(2000).collect());
    assert_eq!(found.len(), 2000);
    for ranks in found {
        let sum = checked.tuple("sum").unwrap().shape.0 as usize;
        assert_eq!(ranks.shapes[sum], ranks.shapes.iter().sum::<u32>() - ranks.shapes[sum]);
    }
}

#[test]
fn long_programs_are_quick() {
    let count = 3000;
    let mut source = String::from("x0[e0] = RANDOM(0, 1, INT)\n");
    for n in 1..count {
        source += &format!("x{n}[e{n}] = x{}[e{}+1]\n", n - 1, n - 1);
    }
    source += &format!("\nx{}\n\nDIMS(e0) = 3\n", count - 1);
    for n in 1..count {
        source += &format!("DIMS(e{n}) = DIMS(e{}) + 1\nRANK(e{n}) = RANK(e{})\n", n - 1, n - 1);
    }
    let checked = quick(|| check(&source)).0.unwrap();
    let solution = quick(|| et::first(&checked, &Overrides::default())).unwrap();
    assert_eq!(solution.dims.last().unwrap(), &[count + 2]);
    let x0 = checked.array("x0").unwrap();
    let found = quick(|| et::infer(&checked, &[(x0, vec![3])], &Overrides::default())).unwrap();
    assert_eq!(found, solution);
    let ranks = et::rank_combinations(&checked, false).next().unwrap();
    assert!(quick(|| et::draw(&checked, &ranks, 1, 1000)).is_err());
}
