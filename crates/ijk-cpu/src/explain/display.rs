//! Explanations as text.

use super::{BlockSize, Reason, Resident, StepExplanation};
use std::fmt;

/// Width of lines of text.
const WIDTH: usize = 112;

/// Reasons of a step in a text.
const SHOWN: usize = 3;

/// Indentation of the continuation of a line.
const INDENT: &str = "  ";

/// A number of bytes: `96 KiB`.
pub(super) struct Size(pub(super) u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
        let (mut value, mut unit) = (self.0 as f64, 0);
        while value >= 1024.0 && unit + 1 < UNITS.len() {
            value /= 1024.0;
            unit += 1;
        }
        let whole = (10.0 * value).round() % 10.0 == 0.0;
        let digits = usize::from(value < 10.0 && !whole);
        write!(f, "{value:.digits$} {}", UNITS[unit])
    }
}

/// A number of nanoseconds: `12 µs`.
pub(super) struct Time(pub(super) f64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            ns if ns < 1e3 => (ns, "ns"),
            ns if ns < 1e6 => (ns / 1e3, "µs"),
            ns if ns < 1e9 => (ns / 1e6, "ms"),
            ns => (ns / 1e9, "s"),
        };
        let digits = usize::from(value < 9.95);
        write!(f, "{value:.digits$} {unit}")
    }
}

impl fmt::Display for BlockSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.size)?;
        match &self.resident {
            Some(Resident { data, bytes, memory }) => {
                write!(f, " ({data} {} in {memory})", Size(*bytes))
            }
            None => Ok(()),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for StepExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = if self.threads == 1 {
            "1 thread".to_owned()
        } else {
            format!("{} threads", self.threads)
        };
        let bound = self.bound.map_or(String::new(), |bound| {
            let by = if bound.limit() == "compute" { "operations" } else { "bytes" };
            format!(" (bound {} by {by})", Time(bound.seconds() * 1e9))
        });
        let time = Time(self.nanoseconds);
        let head = format!("{}: {}; {threads}; {time} on one{bound}", self.kernel, self.algorithm);
        write!(f, "{}", wrapped(&[head], ""))?;
        if !self.blocking.is_empty() {
            let blocking: Vec<String> = self.blocking.iter().map(BlockSize::to_string).collect();
            write!(f, "\n{}", wrapped(&blocking, ", "))?;
        }
        let shown = self.reasons.iter().take(SHOWN);
        let mut reasons: Vec<String> = shown.map(Reason::to_string).collect();
        if let Some(first) = reasons.first_mut() {
            first.insert_str(0, "since ");
            write!(f, "\n{}", wrapped(&reasons, "; "))?;
        }
        Ok(())
    }
}

/// Parts joined by a separator, in lines of at most [`WIDTH`] characters that are broken between words.
fn wrapped(parts: &[String], separator: &str) -> String {
    let (mut text, mut column) = (String::new(), 0);
    for word in parts.join(separator).split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            text.push('\n');
            text.push_str(INDENT);
            column = INDENT.len();
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times() {
        let size = |bytes| Size(bytes).to_string();
        assert_eq!(
            [size(0), size(1000), size(1536), size(2 << 20), size((4 << 20) - 100)],
            ["0 bytes", "1000 bytes", "1.5 KiB", "2 MiB", "4 MiB"]
        );
        let time = |nanoseconds| Time(nanoseconds).to_string();
        assert_eq!(
            [time(0.4), time(12_345.0), time(3.21e6), time(5e10)],
            ["0.4 ns", "12 µs", "3.2 ms", "50 s"]
        );
    }

    #[test]
    fn long_lines_are_wrapped() {
        let parts: Vec<String> = (0..40).map(|n| format!("part number {n}")).collect();
        let text = wrapped(&parts, ", ");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(text.split_whitespace().count(), 120);
    }
}
