//! Random subscripts and operands: properties of `common/einsum.rs`.
//!
//! `IJK_SOUPS` is their number, `IJK_SEED` the first seed.

#[path = "common/einsum.rs"]
mod checks;

use checks::check;
use ijk_oracle::random::Rng;

/// Characters of random subscripts; few letters, so that they repeat.
const PIECES: [&str; 28] = [
    "i", "j", "k", "i", "j", "k", "ij", "jk", "ki", "ii", "l", "Z", "é", "µ", ",", ",", ",", ",",
    "->", "...", "...", " ", ".", "-", ">", "1", "\t", "\u{301}",
];

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn soups() {
    let (first, count) = (number("IJK_SEED", 0), number("IJK_SOUPS", 3000));
    let mut computed = 0;
    for seed in first..first + count {
        let mut rng = Rng::new(seed);
        // Half of them from characters that are always valid.
        let pieces = if seed % 2 == 0 { &PIECES[..18] } else { &PIECES[..] };
        let length = rng.below(10);
        let mut text: String = (0..length).map(|_| *rng.pick(pieces)).collect();
        if seed % 4 == 0 {
            let outputs = ["->", "->i", "->ji", "->...", "->i...j"];
            text += outputs[rng.below(outputs.len())];
        }
        let bytes: Vec<u8> = (0..rng.below(60)).map(|_| rng.below(256) as u8).collect();
        println!("{seed}: {text}");
        computed += usize::from(check(&text, &bytes));
    }
    println!("{computed} of {count} were computed");
    assert!(count < 1000 || computed * 4 > count as usize);
}
