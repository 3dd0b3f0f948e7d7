//! Checking and solving answer whatever the program: cases with their words exchanged.

use ijk_ir::et::{self, Overrides};
use ijk_types::random;

/// Programs for each seed.
const PROGRAMS: u64 = 3000;

fn below(counter: &mut u64, n: usize) -> usize {
    *counter += 1;
    random::uniform_i64(random::bits(11, *counter), 0, n as i64).unwrap() as usize
}

/// The programs of all cases.
fn programs() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/suite/et/check");
    let files = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let text: String = files.map(|f| std::fs::read_to_string(f).unwrap()).collect();
    let cases = text.split("--- ").filter(|c| c.contains('='));
    let plain = |line: &&str| !line.starts_with('#') && !line.ends_with("---");
    cases.map(|c| c.lines().filter(plain).collect::<Vec<_>>().join("\n") + "\n").collect()
}

fn words(program: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for c in program.chars() {
        match words.last_mut() {
            Some(word) if c.is_alphanumeric() && word.chars().all(char::is_alphanumeric) => {
                word.push(c);
            }
            _ => words.push(c.to_string()),
        }
    }
    words
}

#[test]
fn mutants_are_answered() {
    let programs = programs();
    let pool: Vec<String> = programs.iter().flat_map(|p| words(p)).collect();
    let (mut counter, mut checked_programs, mut solved) = (0, 0, 0);
    for _ in 0..PROGRAMS {
        let mut text = words(&programs[below(&mut counter, programs.len())]);
        for _ in 0..=below(&mut counter, 4) {
            let at = below(&mut counter, text.len());
            let word = pool[below(&mut counter, pool.len())].clone();
            match below(&mut counter, 4) {
                0 => drop(text.remove(at)),
                1 => text.insert(at, word),
                2 => text[at] = text[below(&mut counter, at + 1)].clone(),
                _ => text[at] = word,
            }
            if text.is_empty() {
                text.push("x".to_owned());
            }
        }
        let source = text.concat();
        let (tree, _) = ijk_syntax::et::parse(&source);
        let Some(checked) = et::check(&source, tree).0 else { continue };
        checked_programs += 1;
        assert!(checked.to_string().contains("extents"));
        for free in [false, true] {
            for (n, ranks) in et::rank_combinations(&checked, free).take(5).enumerate() {
                solved += usize::from(et::draw(&checked, &ranks, n as u64, 10_000).is_ok());
            }
        }
        let first = et::first(&checked, &Overrides::default());
        let axes = |array: usize| match &first {
            Ok(solution) => solution.places[array].iter().sum::<u32>() as usize,
            Err(_) => checked.arrays[array].places,
        };
        let bound: Vec<(usize, Vec<u64>)> =
            (0..checked.arrays.len()).step_by(2).map(|a| (a, vec![3; axes(a)])).collect();
        let _ = et::infer(&checked, &bound, &Overrides::default());
    }
    assert!(checked_programs > 300 && solved > 300, "{checked_programs} {solved}");
}
