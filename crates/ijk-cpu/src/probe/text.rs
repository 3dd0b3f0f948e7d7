//! Probes as text: a line for the machine, and one for each number.

use super::{Bandwidth, FOOTPRINTS, Probe, Rates, TYPES};
use crate::Level;
use std::collections::HashMap;
use std::fmt::Write;

impl Probe {
    /// The probe of a machine as text.
    ///
    /// ```
    /// use ijk_cpu::probe::Probe;
    /// use ijk_cpu::Level;
    /// let probe = Probe::typical(Level::best(), 2);
    /// let text = probe.to_text("my machine");
    /// assert_eq!(Probe::parse(&text, "my machine"), Some(probe));
    /// assert_eq!(Probe::parse(&text, "another"), None);
    /// ```
    pub fn to_text(&self, machine: &str) -> String {
        let mut text = format!("machine {machine}\n");
        for (name, value) in self.numbers() {
            let _ = writeln!(text, "{name} {value:e}");
        }
        text
    }

    /// The probe of that machine, if the text is a complete one.
    pub fn parse(text: &str, machine: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next()?.strip_prefix("machine ")? != machine {
            return None;
        }
        let mut found = HashMap::new();
        for line in lines {
            let (name, value) = line.split_once(' ')?;
            let value = value.parse::<f64>().ok()?;
            found.insert(name, value);
        }
        let mut probe = Self::typical(Level::best(), 1);
        let threads = *found.get("threads")?;
        probe.threads = ((1.0..=1e6).contains(&threads)).then_some(threads as usize)?;
        for (name, place) in probe.places() {
            *place = found.get(&name[..]).copied().filter(|x| x.is_finite() && *x > 0.0)?;
        }
        Some(probe)
    }

    /// All numbers with their names.
    fn numbers(&self) -> Vec<(String, f64)> {
        let mut copy = self.clone();
        let rates = copy.places().into_iter().map(|(name, place)| (name, *place));
        [("threads".to_string(), self.threads as f64)].into_iter().chain(rates).collect()
    }

    /// References to all numbers except `threads`, with their names.
    fn places(&mut self) -> Vec<(String, &mut f64)> {
        let mut places = vec![("fork.seconds".to_string(), &mut self.fork)];
        for (who, Rates { peak, bandwidth }) in [("one", &mut self.one), ("all", &mut self.all)] {
            for (dtype, rate) in TYPES.iter().zip(peak) {
                places.push((format!("{who}.{dtype}"), rate));
            }
            for (bytes, Bandwidth { read, copy }) in FOOTPRINTS.iter().zip(bandwidth) {
                places.push((format!("{who}.read.{bytes}"), read));
                places.push((format!("{who}.copy.{bytes}"), copy));
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_whole_is_refused() {
        let text = Probe::typical(Level::best(), 4).to_text("m");
        assert!(Probe::parse(&text, "m").is_some());
        let lines: Vec<_> = text.lines().collect();
        for n in 0..lines.len() {
            let without = [&lines[..n], &lines[n + 1..]].concat().join("\n");
            assert_eq!(Probe::parse(&without, "m"), None, "without {}", lines[n]);
            let (name, _) = lines[n].split_once(' ').unwrap();
            for wrong in ["", "x", "-1", "inf", "nan", "0"] {
                let broken = text.replace(lines[n], &format!("{name} {wrong}"));
                assert_eq!(Probe::parse(&broken, "m"), None, "{name} {wrong}");
            }
        }
        assert_eq!(Probe::parse("", "m"), None);
        assert_eq!(Probe::parse(&text[..text.len() / 2], "m"), None);
    }
}
