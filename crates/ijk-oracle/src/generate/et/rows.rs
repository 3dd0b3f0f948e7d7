//! Loops of which every row computes from itself alone: with rows and passes enough for blocks and packed elements,
//! recurrences with any lag, and state.

use crate::generate::Rng;

/// A random program of such a loop.
pub(crate) fn rows(rng: &mut Rng) -> String {
    let few = rng.between(1, 4);
    let (some, many, blocks) = (rng.between(5, 20), rng.between(21, 40), rng.between(60, 140));
    let rows = rng.weighted(&[(2, few), (4, some), (2, many), (2, blocks)]);
    let long = rng.between(60, 150);
    let passes = match rows {
        41.. => rng.weighted(&[(2, few), (6, some)]),
        _ => rng.weighted(&[(1, few), (5, some), (3, many), (1, long)]),
    };
    rows_of(rng, rows, passes)
}

/// A random program of a loop with these numbers of rows, roughly, and passes.
pub(crate) fn rows_of(rng: &mut Rng, rows: usize, passes: usize) -> String {
    let rank = rng.weighted(&[(8, 1), (2, 2), (1, 0)]);
    let (descending, whole) = (rng.chance(0.4), rng.chance(0.5));
    let (places, readable) = (Vec::new(), Vec::new());
    let text = RowLoop { rng, descending, whole, places, readable }.text();
    let rows = if rank == 2 { rows.isqrt() } else { rows };
    format!("{text}\nRANK(b) = {rank}\nDIMS(b) = {rows}\nDIMS(t) = {passes}\n")
}

/// A loop as it is made.
struct RowLoop<'r> {
    rng: &'r mut Rng,
    descending: bool,
    /// Elements are integers.
    whole: bool,
    /// Arrays with an axis of passes, and whether that is their last.
    places: Vec<(&'static str, bool)>,
    /// Arrays that the loop assigns, which may be read, and whether they have elements before it.
    readable: Vec<(&'static str, bool)>,
}

impl RowLoop<'_> {
    fn text(&mut self) -> String {
        let kind = if self.whole { "INT" } else { "FLOAT" };
        let casts: &[&str] = if self.whole { &["", "I32", "I8", "F64"] } else { &["", "F32"] };
        let cast = *self.rng.pick(casts);
        let range = if self.whole { "-3, 4" } else { "-1, 1" };
        let mut before = String::new();
        for name in ["x", "a"] {
            let access = self.array(name);
            before.push_str(&format!("{access} = {cast}(RANDOM({range}, {kind}))\n"));
        }
        before.push_str(&format!("w[b] = {cast}(RANDOM({range}, {kind}))\n"));
        for name in ["y", "z"] {
            let access = self.array(name);
            if self.rng.chance(0.4) {
                let from = self.at("x", 0);
                before.push_str(&format!("{access} = {from}\n"));
                self.readable.push((name, true));
            }
        }
        before.push_str("s[b] = w[b]\n");
        self.readable.push(("s", true));
        let statements: Vec<String> =
            (0..self.rng.between(1, 4)).map(|_| self.statement()).collect();
        let sign = if self.descending { "-" } else { "" };
        match self.rng.chance(0.1) {
            true => {
                let body = statements.join("\n        ");
                let again = "\nDIMS(again) = 2";
                format!("{before}LOOP again\n    LOOP {sign}t\n        {body}\n{again}")
            }
            false => format!("{before}LOOP {sign}t\n    {}\n", statements.join("\n    ")),
        }
    }

    /// An access of an array of all rows and passes, which gets its order of axes.
    fn array(&mut self, name: &'static str) -> String {
        let last = self.rng.chance(0.5);
        self.places.push((name, last));
        self.at(name, 0)
    }

    /// An element of a pass further on.
    fn at(&self, name: &str, further: i64) -> String {
        let further = if self.descending { -further } else { further };
        let pass = match further {
            0 => "t".to_owned(),
            1.. => format!("t+{further}"),
            _ => format!("t-{}", -further),
        };
        match self.places.iter().find(|(own, _)| *own == name) {
            Some((_, true)) => format!("{name}[b,{pass}]"),
            Some((_, false)) => format!("{name}[{pass},b]"),
            None => format!("{name}[b]"),
        }
    }

    fn statement(&mut self) -> String {
        let name = self.rng.weighted(&[(5, "y"), (3, "z"), (3, "s")]);
        let known = self.readable.iter().any(|(own, _)| *own == name);
        let assign = match known {
            true => self.rng.weighted(&[(5, "="), (5, "+="), (1, "max="), (1, "*=")]),
            false => "=",
        };
        let depth = self.rng.between(1, 3);
        let value = self.value(depth);
        if !known {
            self.readable.push((name, false));
        }
        format!("{} {assign} {value}", self.at(name, 0))
    }

    fn value(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.leaf();
        }
        let [one, other] = [0, 1].map(|_| self.value(depth - 1));
        match self.rng.below(9) {
            0..3 => format!("{one} + {other}"),
            3 => format!("{one} - ({other})"),
            4 => format!("({one}) * ({other})"),
            5 => format!("MAX({one}, {other})"),
            6 => format!("WHERE(GT({one}, {other}), {other}, {one})"),
            7 => format!("ABS({one})"),
            _ => one,
        }
    }

    fn leaf(&mut self) -> String {
        let far = self.rng.between(40, 80) as i64;
        let lag = self.rng.weighted(&[(6, 1), (4, 2), (3, 3), (2, 7), (1, far)]);
        match self.rng.below(12) {
            0..3 => self.at("x", 0),
            3 => self.at("a", 0),
            4 => self.at("x", -lag),
            5 => self.at("a", lag),
            6 => "w[b]".to_owned(),
            7 => if self.whole { "2" } else { "0.5" }.to_owned(),
            8 if self.whole => "t".to_owned(),
            _ => self.written(lag),
        }
    }

    /// An element of an array that the loop assigns.
    fn written(&mut self, lag: i64) -> String {
        let readable = self.readable.clone();
        let (name, before) = *self.rng.pick(&readable);
        let ahead = before && self.rng.chance(0.2);
        let further = match self.rng.below(4) {
            0 => 0,
            _ if ahead => lag,
            _ => -lag,
        };
        self.at(name, further)
    }
}

#[cfg(test)]
mod tests {
    use super::rows;
    use crate::generate::Rng;
    use crate::generate::et::EtCase;
    use crate::harness::et::{EtAgreement, compare, solve};

    #[test]
    fn nearly_all_programs_have_a_value() {
        let mut values = 0;
        for seed in 0..100 {
            let case = EtCase::unbound(rows(&mut Rng::new(seed)));
            match compare(&case, &mut |case, checked| solve(case, checked, 40_000), &mut []) {
                Ok(EtAgreement::Value(..)) => values += 1,
                Ok(other) => println!("{case}{:.300}", format!("{other:?}")),
                Err(other) => panic!("{other}\n{case}"),
            }
        }
        assert!(values >= 97, "{values}");
    }
}
