//! Programs that people write, with random extents: they reach the planner's special cases more often than random
//! programs do.

use super::Rng;
use super::expression::Array;
use crate::reference::surface::shapes;
use ijk_types::DType;

/// A program, the axes of its arguments as sums of letters (`i+k-1`), and its element types.
struct Idiom {
    source: &'static str,
    arguments: &'static [&'static str],
    types: &'static [DType],
}

pub(super) const REAL: &[DType] = &[DType::F32, DType::F64, DType::BF16];
pub(super) const ORDERED: &[DType] =
    &[DType::F32, DType::F64, DType::I32, DType::I64, DType::U64, DType::I8, DType::F16];
pub(super) const INTEGER: &[DType] = &[DType::I32, DType::I64, DType::U8, DType::U32];
pub(super) const COMPLEX_TOO: &[DType] = &[DType::F32, DType::F64, DType::C64, DType::C128];
pub(super) const NUMBER: &[DType] =
    &[DType::F32, DType::F64, DType::I32, DType::I64, DType::C64, DType::C128, DType::U16];
const ANY: &[DType] = &DType::ALL;

const IDIOMS: &[Idiom] = &[
    Idiom { source: "ik*kj~ijk . +ijk~ij", arguments: &["i k", "k j"], types: ANY },
    Idiom { source: "+(ik*kj)~ij", arguments: &["i k", "k j"], types: ANY },
    Idiom { source: "+(ki*jk)~ji", arguments: &["k i", "j k"], types: ANY },
    Idiom { source: "+(bik*bkj)~bij", arguments: &["b i k", "b k j"], types: ANY },
    Idiom { source: "<(ik+kj)~ij", arguments: &["i k", "k j"], types: ORDERED },
    Idiom { source: "@logaddexp(ik+kj)~ij", arguments: &["i k", "k j"], types: REAL },
    Idiom { source: ">(ik*kj)~ij", arguments: &["i k", "k j"], types: ORDERED },
    Idiom { source: ">(ik<kj)~ij", arguments: &["i k", "k j"], types: ORDERED },
    Idiom { source: "ik-jk~ijk . ijk^2~ijk . +ijk~ij", arguments: &["i k", "j k"], types: NUMBER },
    Idiom {
        source: "ik*kj~ijk . +ijk~ij . ij+j~ij . ij>0~ij",
        arguments: &["i k", "k j", "j"],
        types: ORDERED,
    },
    Idiom { source: "(+(ik*k)~i) . i*i~i", arguments: &["i k", "k", "i"], types: ANY },
    Idiom { source: "[i+k]*k~ik . +ik~i", arguments: &["i+k", "k"], types: ANY },
    Idiom { source: "+([2*i+k]*k)~i", arguments: &["i+i+k", "k"], types: ANY },
    Idiom {
        source: "+(b[h+y][w+x]c*yxcd)~bhwd",
        arguments: &["b h+y w+x c", "y x c d"],
        types: ANY,
    },
    Idiom { source: "(I & +i~.) . i/.~i", arguments: &["i"], types: REAL },
    Idiom { source: "(I & +ij~i) . ij/i~ij", arguments: &["i j"], types: REAL },
    Idiom {
        source: "(I & >ij~i) . ij-i~ij . ^ij~ij . (I & +ij~i) . ij/i~ij",
        arguments: &["i j"],
        types: REAL,
    },
    Idiom {
        source: "softmax: (I & >ij~i) . ij-i~ij . ^ij~ij . (I & +ij~i) . ij/i~ij\n\
                 +(id*jd)~ij . softmax . +(ij*jd)~id",
        arguments: &["i d", "j d", "j e"],
        types: REAL,
    },
    Idiom {
        source: "(I & +ij~i) . ij-i~ij . (I & (ij^2~ij . +ij~i . @sqrt i~i)) . ij/i~ij",
        arguments: &["i j"],
        types: REAL,
    },
    Idiom { source: "+ij~i . (I & I) . i*i~i", arguments: &["i j"], types: ANY },
    Idiom { source: "+ijk~ij . +ij~.", arguments: &["i j k"], types: ANY },
    Idiom { source: "@argmax ij~i", arguments: &["i j"], types: ORDERED },
    Idiom { source: "+ii~.", arguments: &["i i"], types: ANY },
    Idiom { source: "i~ii", arguments: &["i"], types: ANY },
    Idiom { source: "ij~ji . ij~ji", arguments: &["i j"], types: ANY },
    Idiom { source: "+(i*j)~[i+j]", arguments: &["i", "j"], types: ANY },
    Idiom { source: "+i~[i%3]", arguments: &["i"], types: ANY },
    Idiom { source: "ij~[4*i+j{4}]", arguments: &["i 4"], types: ANY },
    Idiom { source: "[4*i+j{4}]~ij", arguments: &["4i"], types: ANY },
    Idiom {
        source: "ij @lt j~ij . @where(ij,ij,ij)~ij",
        arguments: &["i j", "j", "i j", "i j"],
        types: ORDERED,
    },
    Idiom { source: "abcd*eb~abcde . +abcde~aecd", arguments: &["a b c d", "e b"], types: ANY },
    Idiom { source: "+(ik*kj)~ij . +(ik*kj)~ij", arguments: &["i k", "k j", "j l"], types: ANY },
    Idiom {
        source: "ik*jk~ijk . +ijk~ij . ij/10~ij . ^ij~ij",
        arguments: &["i k", "j k"],
        types: REAL,
    },
    Idiom {
        source: "@tanh ij~ij . @gelu ij~ij . @sigmoid ij~ij",
        arguments: &["i j"],
        types: REAL,
    },
    Idiom { source: "ij-j~ij . @abs ij~ij . +ij~i", arguments: &["i j", "j"], types: REAL },
    Idiom {
        source: "ij+j~ij . (@tanh ij~ij & I) . ij*ij~ij",
        arguments: &["i j", "j"],
        types: REAL,
    },
    Idiom { source: "ij*ij~ij . +ij~j", arguments: &["i j", "i j"], types: ANY },
    Idiom { source: "+(ijk*jk)~i", arguments: &["i j k", "j k"], types: ANY },
    Idiom { source: "+(kji*jk)~i", arguments: &["k j i", "j k"], types: NUMBER },
    Idiom {
        source: "ab*bc~abc . abc*cd~abcd . +abcd~ad",
        arguments: &["a b", "b c", "c d"],
        types: INTEGER,
    },
    Idiom {
        source: "ab<bc~abc . abc<cd~abcd . >abcd~ad",
        arguments: &["a b", "b c", "c d"],
        types: ORDERED,
    },
    Idiom {
        source: "ab*bc~abc . abc*ac~abc . +abc~a",
        arguments: &["a b", "b c", "a c"],
        types: INTEGER,
    },
    Idiom {
        source: "ik*kj~ijk . ijk/3~ijk . +ijk~ij",
        arguments: &["i k", "k j"],
        types: COMPLEX_TOO,
    },
    Idiom {
        source: "ik*kj~ijk . 2*ijk~ijk . -ijk~ijk . +ijk~ij",
        arguments: &["i k", "k j"],
        types: NUMBER,
    },
    Idiom {
        source: "ik*kj~ijk . ijk*i~ijk . ijk/j~ijk . +ijk~ij",
        arguments: &["i k", "k j", "i", "j"],
        types: COMPLEX_TOO,
    },
    Idiom {
        source: "ik/k~ik . ik*kj~ijk . 0-ijk~ijk . +ijk~ij",
        arguments: &["i k", "k", "k j"],
        types: REAL,
    },
    Idiom {
        source: "ab*bc~abc . abc*ca~abc . +abc~.",
        arguments: &["a b", "b c", "c a"],
        types: NUMBER,
    },
    Idiom {
        source: "te*teh~teh . teh*eho~teho . +teho~to",
        arguments: &["t e", "t e h", "e h o"],
        types: COMPLEX_TOO,
    },
    Idiom {
        source: "ik+kj~ijk . ijk-i~ijk . 3+ijk~ijk . >ijk~ij",
        arguments: &["i k", "k j", "i"],
        types: REAL,
    },
    Idiom { source: "ij/j~ij . +ij~j", arguments: &["i j", "j"], types: COMPLEX_TOO },
    Idiom { source: "ij*3~ij . +ij~i", arguments: &["i j"], types: NUMBER },
    Idiom {
        source: "ij-i~ij . ij*ij~ij . ij/7~ij . +ij~i",
        arguments: &["i j", "i", "i j"],
        types: REAL,
    },
    Idiom {
        source: "^ij~ij . (I & +ij~i) . ij/i~ij . +(ij*jk)~ik",
        arguments: &["i j", "j k"],
        types: REAL,
    },
    Idiom { source: "+(i*i)~.", arguments: &["i", "i"], types: ANY },
    Idiom { source: "+i~.", arguments: &["i"], types: ANY },
    Idiom { source: "+ij~i", arguments: &["i j"], types: ANY },
    Idiom { source: "+ij~j", arguments: &["i j"], types: ANY },
    Idiom { source: ">ij~i", arguments: &["i j"], types: ORDERED },
    Idiom { source: "@argmax i~.", arguments: &["i"], types: ORDERED },
    Idiom { source: "@argmin ij~j", arguments: &["i j"], types: ORDERED },
    Idiom { source: "i/i~i . [2*i+1]~i", arguments: &["i", "i"], types: INTEGER },
    Idiom { source: "i/i~i . @index i~i", arguments: &["i", "i"], types: INTEGER },
    Idiom { source: ">ij~j . @index(i)~i", arguments: &["i j"], types: ORDERED },
    Idiom { source: "@index(i)~i . +i~.", arguments: &["i"], types: ANY },
    Idiom {
        source: "ij*i~ij . (+ij~i & >ij~i) . @index i~i",
        arguments: &["i j", "i"],
        types: NUMBER,
    },
    Idiom { source: "@scan (i*i~i . i+i~i)", arguments: &["d", "t d", "t d"], types: ANY },
    Idiom { source: "@fold (i*i~i . i+i~i)", arguments: &["d", "t d", "t d"], types: ANY },
    Idiom { source: "@scanback (i*i~i . i+i~i)", arguments: &["d", "t d", "t d"], types: ANY },
    Idiom { source: "@foldback (i*i~i . i+i~i)", arguments: &["d", "t d", "t d"], types: ANY },
    Idiom { source: "@scanback{4}(~(I | i+i~i), 1)", arguments: &["i", "i", "4 i"], types: ANY },
    Idiom { source: "@until{9} (i/2~i . (I & (>i~. . .@lt 1~.)))", arguments: &["i"], types: REAL },
    Idiom {
        source: "@until{6} (+(j*ij)~i . (I & (+i~. . .@gt 9~.)))",
        arguments: &["i", "i i"],
        types: ORDERED,
    },
    Idiom {
        source: "@scan (i+i~i . @until{5} (i+1~i . (I & (>i~. . .@gt 2~.))))",
        arguments: &["i", "t i"],
        types: ORDERED,
    },
    Idiom { source: "@repeat{4} (+(j*ij)~i)", arguments: &["i", "i i"], types: NUMBER },
    Idiom {
        source: "@fold((I | ~(I | I)) . (+(j*ij)~i . i+i~i . @tanh i~i), 1)",
        arguments: &["i", "t i", "i i"],
        types: REAL,
    },
    Idiom {
        source: "@scan (>(j+ij)~i . i+i~i)",
        arguments: &["i", "t i i", "t i"],
        types: ORDERED,
    },
    Idiom { source: "@scan (@logaddexp(j+ij)~i)", arguments: &["i", "t i i"], types: REAL },
    Idiom {
        source: "@scan (bj*bj~bj . +bj~b . b*bj~bj)",
        arguments: &["b j", "t b j", "t b j"],
        types: REAL,
    },
    Idiom { source: "@fold (@repeat{3} (i+i~i))", arguments: &["i", "t i"], types: ANY },
    Idiom { source: "@scan (@fold i+i~i)", arguments: &["i", "t s i"], types: ANY },
    Idiom { source: "@scan (@scan i>i~i . +si~i)", arguments: &["i", "t s i"], types: ORDERED },
    Idiom { source: "@repeat{4} (I & i+i~i)", arguments: &["i", "i"], types: ANY },
    Idiom { source: "@scan{4}(~(I | i+i~i), 1)", arguments: &["i", "i", "4 i"], types: ANY },
    Idiom {
        source: "x: i+1~i; i*i~i . @repeat{n} (x . -i~i) . i{n}~i",
        arguments: &["i", "i"],
        types: NUMBER,
    },
    Idiom { source: "i{n}~i . @fold{n} (i+i~i)", arguments: &["i", "i i"], types: NUMBER },
    Idiom { source: "i{n}+i~i . @repeat{n} (i*2~i)", arguments: &["i", "i"], types: NUMBER },
    Idiom { source: "-(i-j)~ij . @abs ij~ij . <ij~i", arguments: &["i", "j"], types: ORDERED },
];

/// A random idiom with its arguments.
pub(crate) fn idiom(rng: &mut Rng, most_points: usize) -> Option<(&'static str, Vec<Array>)> {
    let idiom = rng.pick(IDIOMS);
    let t = *rng.pick(idiom.types);
    let letters = letters(idiom);
    let extents = extents(rng, &letters, most_points);
    let product: usize = letters.iter().map(|&l| extents[l].max(1)).product();
    let mut arguments: Vec<Array> =
        idiom.arguments.iter().map(|axes| (t, shape(axes, &extents))).collect();
    if idiom.source.starts_with("ij~[4") {
        arguments[0].1[1] = 4;
    }
    let fits = |(_, shape): &Array| shape.iter().product::<usize>() <= most_points;
    let (program, _) = ijk_syntax::parse(idiom.source);
    let results = shapes(&program, &arguments).ok()?;
    let all_fit = product <= most_points && arguments.iter().chain(&results).all(fits);
    all_fit.then_some((idiom.source, arguments))
}

/// Extents of all letters: equal or a few large ones, with a product near the maximum.
fn extents(rng: &mut Rng, letters: &[usize], most_points: usize) -> Vec<usize> {
    let mut shares: Vec<f64> = (0..26).map(|_| 0.15 + rng.unit()).collect();
    if rng.chance(0.5) {
        shares.fill(1.0);
    }
    let total: f64 = letters.iter().map(|&l| shares[l]).sum();
    let room = (most_points as f64).ln();
    let extent = |share: &f64| (room * share / total).exp() as usize;
    shares.iter().map(extent).map(|most| below(rng, most)).collect()
}

fn below(rng: &mut Rng, most: usize) -> usize {
    match rng.below(20) {
        0 => 0,
        1 | 2 => 1,
        3..=7 => rng.between(1, most.max(1)),
        _ => rng.between(most / 2 + 1, most.max(2)),
    }
}

fn letters(idiom: &Idiom) -> Vec<usize> {
    let letter = |c: char| c.is_ascii_lowercase().then(|| c as usize - 'a' as usize);
    let mut all: Vec<usize> =
        idiom.arguments.iter().flat_map(|a| a.chars().filter_map(letter)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The shape of an argument with those axes, given the extents of all letters.
pub(super) fn shape(axes: &str, extents: &[usize]) -> Vec<usize> {
    axes.split_whitespace().map(|axis| axis_extent(axis, extents)).collect()
}

/// `i+k` is an axis over which a window of `k` slides to give `i`; `4i` is four times `i`.
fn axis_extent(axis: &str, extents: &[usize]) -> usize {
    let of = |c: char| extents[c as usize - 'a' as usize];
    if let Some(rest) = axis.strip_prefix('4') {
        return rest.chars().next().map_or(4, |c| 4 * of(c));
    }
    let terms: Vec<usize> = axis.split('+').filter_map(|t| t.chars().next()).map(of).collect();
    (terms.iter().sum::<usize>() + 1).saturating_sub(terms.len())
}
