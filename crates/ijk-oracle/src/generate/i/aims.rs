//! Programs aimed at cases that random programs rarely reach: boundaries of kernels and of the planner's rules, where a
//! bug would show only for certain extents, types or data.

use super::data::Flavour;
use super::expression::Array;
use super::idioms::{COMPLEX_TOO, INTEGER, NUMBER, ORDERED, REAL, shape};
use super::{Rng, data};
use crate::generate::i::Case;
use ijk_types::DType;

/// A program, the axes of its arguments, its types, the range of extents of its letters (`i2-9 k16-40`), and the
/// numbers in its arguments.
struct Aim {
    source: &'static str,
    arguments: &'static [&'static str],
    types: &'static [DType],
    extents: &'static str,
    numbers: Flavour,
}

const fn aim(
    source: &'static str,
    arguments: &'static [&'static str],
    types: &'static [DType],
    extents: &'static str,
    numbers: Flavour,
) -> Aim {
    Aim { source, arguments, types, extents, numbers }
}

use Flavour::{Small, Uniform};

/// Small programs.
const AIMS: &[Aim] = &[
    // Panels that start inside a run of rows.
    aim("+(akb*kj)~abj", &["a k b", "k j"], REAL, "a6-9 b13-23 k4-8 j5-10", Small),
    aim("+(akb*kj)~jab", &["a k b", "k j"], REAL, "a6-9 b13-23 k4-8 j5-10", Uniform),
    // Dot products over several runs of steps.
    aim("+(jik*jk)~i", &["j i k", "j k"], REAL, "i16-30 j2-4 k40-90", Small),
    aim("+(jik*jk)~i", &["j i k", "j k"], REAL, "i16-24 j2-4 k40-70", Uniform),
    // Small contractions, whose order is specified.
    aim("+(ik*kj)~ij", &["i k", "k j"], REAL, "i2-4 j2-4 k5-16", Uniform),
    aim("+(ki*kj)~ij", &["k i", "k j"], REAL, "i2-4 j2-4 k5-16", Uniform),
    // Factors of contractions.
    aim("+(ik*jk)~ij . ij*0.25~ij", &["i k", "j k"], REAL, "i17-40 j17-40 k2-4", Uniform),
    aim("+(ik*jk)~ji . ij/8~ij", &["i k", "j k"], REAL, "i17-40 j17-40 k2-4", Uniform),
    aim("+(ik*jk)~ji . ij/7~ji", &["i k", "j k"], REAL, "i17-40 j17-40 k2-4", Small),
    aim(
        "+(id*jd)~ij . 0.5*ij~ij . (I & >ij~i) . ij-i~ij . ^ij~ij . (I & +ij~i) . ij/i~ij . +(ij*je)~ie",
        &["i d", "j d", "j e"],
        REAL,
        "i9-20 j20-40 d2-4 e2-5",
        Uniform,
    ),
    aim(
        "(I & >ij~j) . ij-j~ij . ^ij~ij . (I & +ij~j) . ij/j~ij . +(ij*ie)~ej",
        &["i j", "i e"],
        REAL,
        "i20-40 j9-20 e2-5",
        Uniform,
    ),
    // Distances.
    aim("ik-jk~ijk . ijk^2~ijk . +ijk~ij", &["i k", "j k"], REAL, "i7-30 j7-30 k6-12", Uniform),
    aim("ik-kj~ijk . ijk^2~ijk . >ijk~ji", &["i k", "k j"], REAL, "i7-30 j7-30 k6-12", Small),
    aim("ik+kj~ijk . @abs ijk~ijk . <ijk~ji", &["i k", "k j"], REAL, "i7-20 j7-20 k6-12", Small),
    aim("ik-jk~ijk . @abs ijk~ijk . +ijk~ij", &["i k", "j k"], REAL, "i7-20 j7-20 k6-12", Uniform),
    // Buffers that are filled before they are written in part.
    aim(
        "(I & +ij~i) . ij-i~ij . (I & +ij~j) . ij*j~ij . 2*ii~ii . (I & +ij~j) . ij-j~ij",
        &["i i"],
        REAL,
        "i17-30",
        Small,
    ),
    // Faults of elements that are never read.
    aim("i/i~i . [2*i+1]~i", &["i", "i"], INTEGER, "i2-7", Small),
    aim("i @mod i~i . [2*i]~i", &["i", "i"], INTEGER, "i2-7", Small),
    // Extents bounded by several brackets.
    aim("[2*i]*[i]~i", &["i", "j"], NUMBER, "i1-9 j1-9", Small),
    aim("[i+1][i]~i", &["i j"], NUMBER, "i1-9 j1-9", Small),
    aim("[i][i+k]~ik", &["i j"], NUMBER, "i1-4 j3-9", Small),
    aim("[2*i]*[i+k]~ik", &["i", "j"], NUMBER, "i1-5 j3-9", Small),
    aim("+([i/2]*[3-i])~i", &["i", "j"], NUMBER, "i1-4 j4-4", Small),
    // Nested divisions and remainders.
    aim("[i/3]~i . [i/2+1]~i", &["i"], NUMBER, "i2-9", Small),
    aim("[i/2]j~ij . -[i/3+2]j~ji", &["i j"], NUMBER, "i2-6 j1-3", Small),
    aim("[i{6}%4]~i . [i{20}%6]~i", &["i"], NUMBER, "i4-4", Small),
    aim("[i{9}%6]~i . [i{40}%9]~i", &["i"], NUMBER, "i6-6", Small),
    aim("[(i+7)/3]~i . i+[i+1]~i", &["i", "j"], NUMBER, "i4-9 j30-40", Small),
    // Quotients that change inside an axis: rolled, periodic, repeated, tiled.
    aim("[(i{40}+3)%37][(j{23}+50)%19]~ij", &["i j"], NUMBER, "i37-37 j19-19", Small),
    aim("[(99-i{70})%37]j~ji", &["i j"], NUMBER, "i37-37 j5-19", Small),
    aim("i~[(i+30)%37]", &["i"], NUMBER, "i37-37", Small),
    aim("ij~[(i+30)%37][(j+1)%19]", &["i j"], NUMBER, "i37-37 j19-19", Small),
    aim("+ij~[(i+30)%19]j", &["i j"], NUMBER, "i37-90 j5-9", Small),
    aim("[(i{31}+1)%31]j-[(i+30)%31]j~ij", &["i j", "i j"], NUMBER, "i31-31 j9-20", Small),
    aim("[i{301}%4][j{9}/2]~ij", &["i j"], NUMBER, "i4-4 j5-5", Small),
    aim("[(i{301}+2)%4]*[(3*i+1)%7]~i", &["i", "j"], NUMBER, "i4-4 j7-7", Small),
    aim("[i{43}/6][j{19}/5]*[i%6][j%5]~ij", &["i j", "k l"], NUMBER, "i8-8 j4-4 k6-6 l5-5", Small),
    aim(
        "[i{300}/6][j{280}/5]*[i%6][j%5]~ij",
        &["i j", "k l"],
        REAL,
        "i50-50 j56-56 k6-6 l5-5",
        Small,
    ),
    aim("+([(i{61}+k+60)%61]*k)~i", &["i", "k"], NUMBER, "i61-61 k2-9", Small),
    aim(
        "+([(i{21}+k+20)%21][(j{17}+l-1+17)%17]*kl)~ij",
        &["i j", "k l"],
        NUMBER,
        "i21-21 j17-17 k3-5 l2-4",
        Small,
    ),
    aim("+([(i{61}-k{61}+61)%61]*kj)~ij", &["i", "k j"], NUMBER, "i61-61 j2-9 k61-61", Small),
    aim("+(i[(k{40}+7)%40]*kj)~ij", &["i k", "k j"], NUMBER, "i9-20 j9-20 k40-40", Small),
    aim("+([(2*i{50}+k)/3]*k)~i", &["i", "k"], NUMBER, "i40-40 k3-9", Small),
    aim("+(i*k)~[(i+k)%50]", &["i", "k"], NUMBER, "i50-60 k3-9", Small),
    aim("[(i{50}+k{4})%50]~ik", &["i"], NUMBER, "i50-50", Small),
    // Sums long enough to carry, and positions beyond the first block.
    aim("+(ki-ki)~i", &["k i", "k i"], REAL, "i1-5 k600-2500", Uniform),
    aim("+(ik-ik)~i", &["i k", "i k"], REAL, "i1-2 k17000-19000", Uniform),
    aim("@argmax(ik-k)~i", &["i k", "k"], ORDERED, "i1-3 k1100-3000", Uniform),
    aim("@argmin(k-k)~.", &["k", "k"], REAL, "k1100-3000", Uniform),
];

/// Reductions of several chunks, whose results are combined; and long loops.
const LONG: &[Aim] = &[
    aim("+k~.", &["k"], COMPLEX_TOO, "k270000-330000", Uniform),
    aim("+k~.", &["k"], INTEGER, "k270000-330000", Small),
    aim("+(k-k)~.", &["k", "k"], NUMBER, "k270000-330000", Small),
    aim("@argmin k~.", &["k"], REAL, "k270000-330000", Uniform),
    // Loops of many passes, each of which does little.
    aim("@repeat{40000} (i*3~i . i+1~i)", &["i"], INTEGER, "i1-2", Small),
    aim("@fold i+i~i", &["i", "t i"], NUMBER, "i1-2 t9000-40000", Small),
    aim("@scan (i>i~i)", &["i", "t i"], ORDERED, "i1-2 t9000-40000", Small),
    aim("@until{65536} (i+1~i . (I & (>i~. . .@gt 30000~.)))", &["i"], FOUR_BYTES, "i1-2", Small),
];

/// Arrays out of cache, whose rows are processed by sweeps.
const WIDE: &[Aim] = &[
    aim("(I & >ij~i) . ^(ij-i)~ij . (I & +ij~i) . ij/i~ij", &["i j"], REAL, ROWS, Uniform),
    aim("(I & +ij~i) . ij/i~ij . (I & <ij~i) . ij-i~ji", &["i j"], REAL, ROWS, Uniform),
    aim("(I & +ij~i) . ij-i~ij . (I & >ij~i) . ij*i~ij", &["i j"], ORDERED, ROWS, Small),
    // Contractions with operands that all blocks of rows share, or those of a head.
    aim(ATTENTION, &["i d", "j d", "j k"], REAL, "i500-530 j270-300 d4-9 k3-40", Uniform),
    aim(HEADS, &["h i d", "j h d", "h k j"], REAL, "h2-3 i170-190 j300-330 d4-9 k3-9", Uniform),
    aim(SCALED, &["i d", "d j", "k j"], REAL, "i300-340 j400-420 d2-9 k18-40", Small),
    // One axis is along the rows of one square and the columns of the other.
    aim("ij*ij~ij & [i][0]-[0][i]~i", &["i i", "i i"], FOUR_BYTES, "i330-360", Small),
];

const ATTENTION: &str =
    "+(id*jd)~ij . (I & >ij~i) . ^(ij-i)~ij . (I & +ij~i) . ij/i~ij . +(ij*jk)~ik";
const HEADS: &str =
    "+(hid*jhd)~hij . (I & >hij~hi) . hij-hi~hij . (I & +hij~hi) . hij*hi~hij . +(hij*hkj)~hik";
const SCALED: &str = ">(id+dj)~ij . (I & <ij~i) . ij-i~ij . +(ij*kj)~ki";

/// Types for which one of those squares is in cache, but not both.
const FOUR_BYTES: &[DType] = &[DType::F32, DType::I32];

const ROWS: &str = "i150-180 j900-1000";

/// One of the small programs.
pub(crate) fn small(rng: &mut Rng) -> Case {
    rng.pick(AIMS).case(rng)
}

/// One of the long programs.
pub(crate) fn long(rng: &mut Rng) -> Case {
    rng.pick(LONG).case(rng)
}

/// One of the wide programs.
pub(crate) fn wide(rng: &mut Rng) -> Case {
    rng.pick(WIDE).case(rng)
}

impl Aim {
    fn case(&self, rng: &mut Rng) -> Case {
        let dtype = *rng.pick(self.types);
        let extents = self.draw(rng);
        let arrays: Vec<Array> =
            self.arguments.iter().map(|axes| (dtype, shape(axes, &extents))).collect();
        let inputs = arrays.iter().map(|array| data::input(rng, array, self.numbers)).collect();
        Case { source: self.source.into(), inputs }
    }

    /// An extent for each letter.
    fn draw(&self, rng: &mut Rng) -> Vec<usize> {
        let mut extents = vec![0; 26];
        for range in self.extents.split_whitespace() {
            let (letter, range) = range.split_at(1);
            let (least, most) = range.split_once('-').expect("a range");
            let number = |text: &str| text.parse().expect("a number");
            let at = letter.as_bytes()[0] - b'a';
            extents[usize::from(at)] = rng.between(number(least), number(most));
        }
        extents
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::i::{Agreement, compare};

    #[test]
    fn aims_are_programs() {
        for aim in AIMS {
            let mut rng = Rng::new(5);
            let agreement = compare(&aim.case(&mut rng), &mut []).expect(aim.source);
            let means = matches!(agreement, Agreement::Value(..) | Agreement::NoValue(_));
            assert!(means, "{}: {agreement:?}", aim.source);
        }
    }
}
