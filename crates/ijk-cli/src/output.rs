//! What goes to the terminal.

use crate::failure::Failure;
use std::io::{self, Write};

/// Prints a text to the standard output.
///
/// # Errors
/// If that fails. A reader that has seen enough (`ijk … | head`) is no error to speak of.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
        _ => Failure::Environment(format!("cannot print: {error}")),
    })
}

/// Prints a message to the standard error output, as far as that is possible.
pub fn complain(message: &str) {
    let mut err = io::stderr().lock();
    let _ = writeln!(err, "{}", message.trim_end());
}

/// A time in a unit that fits: `1.53 ms`.
pub fn seconds(seconds: f64) -> String {
    for (unit, scale) in [("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)] {
        if seconds >= scale {
            return format!("{} {unit}", three_digits(seconds / scale));
        }
    }
    format!("{:.0} ns", seconds * 1e9)
}

/// Rounded to about three significant digits.
fn three_digits(x: f64) -> f64 {
    match x {
        x if x >= 100.0 => x.round(),
        x if x >= 10.0 => (x * 10.0).round() / 10.0,
        x => (x * 100.0).round() / 100.0,
    }
}
