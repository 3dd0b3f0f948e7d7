//! Output to the terminal.

use crate::failure::Failure;
use ijk::visible;
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

/// Prints a text to the standard output; characters that would control a terminal are escaped.
///
/// # Errors
/// If that fails. A reader that closes the pipe (`ijk … | head`) is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(visible(text).as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::BrokenPipe,
        _ => Failure::Environment(format!("cannot print: {error}")),
    })
}

/// Prints a message to the standard error output, if that is possible; characters that would control a terminal are
/// escaped, except for colours of diagnostics where they are enabled.
pub fn message(message: &str) {
    let message = if colors() { colored(message) } else { visible(message) };
    let mut err = io::stderr().lock();
    let _ = writeln!(err, "{}", message.trim_end());
}

/// Returns true if messages may have colours.
pub fn colors() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

/// Prints errors of the command line, or the requested help.
pub fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    match visible(&text) {
        Cow::Borrowed(_) => {
            // The output may be closed.
            error.print().unwrap_or_default();
        }
        Cow::Owned(shown) => message(&shown),
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Text without escape sequences other than those for colours.
fn colored(text: &str) -> Cow<'_, str> {
    let Some((first, rest)) = text.split_once('\x1b') else { return visible(text) };
    let mut shown = visible(first).into_owned();
    for piece in rest.split('\x1b') {
        shown.push_str(if chooses_color(piece) { "\x1b" } else { r"\x1b" });
        shown.push_str(&visible(piece));
    }
    Cow::Owned(shown)
}

/// Returns true if the text behind an escape character is `[…m`.
fn chooses_color(text: &str) -> bool {
    let codes = text.strip_prefix('[').and_then(|text| text.split_once('m'));
    codes.is_some_and(|(codes, _)| codes.bytes().all(|b| b.is_ascii_digit() || b == b';'))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_reach_a_terminal() {
        let text = "\x1b[1m\x1b[91merror\x1b[0m: \x1b]0;owned\x07 \x1b[2J \u{9b}31m";
        let shown = "\x1b[1m\x1b[91merror\x1b[0m: \\x1b]0;owned\\x07 \\x1b[2J \\x9b31m";
        assert_eq!(colored(text), shown);
        assert_eq!(colored("plain\r"), "plain\\r");
    }
}
