//! Progress bars for long computations; nothing in a pipe.

use ijk::visible;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Delay before a bar appears.
const PATIENCE: Duration = Duration::from_millis(500);
/// Interval between updates of a bar.
const TICK: Duration = Duration::from_millis(100);
/// Size of steps in which files are read and written, for the bar to move.
const STEP: usize = 4 << 20;

const BYTES: &str = "{msg} [{bar:30}] {bytes}/{total_bytes} ({bytes_per_sec}, {eta} left)";
const STEPS: &str = "{msg} [{bar:30}] {pos}/{len} ({elapsed})";
const LOOKED_AT: &str = "{msg} [{bar:30}] {prefix} ({elapsed})";
const UNKNOWN: &str = "{spinner} {msg} ({elapsed})";

/// A task in progress; the bar is removed when this is dropped.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    painter: Option<(Sender<()>, JoinHandle<()>)>,
}

/// State of a computation that a bar shows.
#[derive(Debug)]
pub struct Seen {
    /// Work done.
    pub done: u64,
    /// Total work.
    pub of: u64,
    /// Text behind the bar.
    pub note: String,
}

impl Progress {
    /// A task of a number of bytes, if that is known.
    pub fn bytes(what: String, length: Option<u64>) -> Self {
        Self::new(what, length, BYTES)
    }

    /// A task of a number of steps, if that is known.
    pub fn steps(what: &str, length: Option<u64>) -> Self {
        Self::new(what.into(), length, STEPS)
    }

    /// A task whose state is polled.
    pub fn looked_at(what: &str, look: impl Fn() -> Seen + Send + 'static) -> Self {
        Self::painted(what.into(), Some(0), LOOKED_AT, move |bar| {
            let Seen { done, of, note } = look();
            bar.set_length(of);
            bar.set_position(done);
            bar.set_prefix(visible(&note).into_owned());
        })
    }

    fn new(what: String, length: Option<u64>, template: &str) -> Self {
        Self::painted(what, length, template, |_| ())
    }

    fn painted(
        what: String,
        length: Option<u64>,
        template: &str,
        before: impl Fn(&ProgressBar) + Send + 'static,
    ) -> Self {
        let template = if length.is_some() { template } else { UNKNOWN };
        let style = ProgressStyle::with_template(template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::hidden());
        bar.set_style(style.progress_chars("=> "));
        bar.set_message(visible(&what).into_owned());
        let painter = io::stderr().is_terminal().then(|| paint(bar.clone(), before));
        Self { bar, painter }
    }

    /// Sets the bytes or steps done so far.
    pub fn at(&self, position: u64) {
        self.bar.set_position(position);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((done, painter)) = self.painter.take() {
            drop(done);
            let _ = painter.join();
        }
    }
}

/// Draws a bar periodically, on a thread of its own.
fn paint(
    bar: ProgressBar,
    before: impl Fn(&ProgressBar) + Send + 'static,
) -> (Sender<()>, JoinHandle<()>) {
    let (done, waiting) = mpsc::channel();
    let over = move |time| waiting.recv_timeout(time) != Err(RecvTimeoutError::Timeout);
    let painter = thread::spawn(move || {
        if over(PATIENCE) {
            return;
        }
        bar.set_draw_target(ProgressDrawTarget::stderr());
        loop {
            before(&bar);
            bar.tick();
            if over(TICK) {
                return bar.finish_and_clear();
            }
        }
    });
    (done, painter)
}

/// A file that reports its position.
#[derive(Debug)]
pub struct ProgressFile<F> {
    file: F,
    progress: Progress,
    position: u64,
}

impl<F> ProgressFile<F> {
    /// A file at its beginning.
    pub fn new(file: F, progress: Progress) -> Self {
        Self { file, progress, position: 0 }
    }

    fn moved(&mut self, position: u64) -> u64 {
        self.position = position;
        self.progress.at(position);
        position
    }
}

impl<F: Read> Read for ProgressFile<F> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let step = bytes.len().min(STEP);
        let count = self.file.read(&mut bytes[..step])?;
        self.moved(self.position + count as u64);
        Ok(count)
    }
}

impl<F: Write> Write for ProgressFile<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(&bytes[..bytes.len().min(STEP)])?;
        self.moved(self.position + count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl<F: Seek> Seek for ProgressFile<F> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = self.file.seek(to)?;
        Ok(self.moved(position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn tracked<F>(file: F) -> ProgressFile<F> {
        ProgressFile::new(file, Progress::bytes("copying".into(), Some(3 * STEP as u64)))
    }

    #[test]
    fn files_pass_through() {
        let bytes: Vec<u8> = (0..2 * STEP + 5).map(|n| n as u8).collect();
        let mut copy = tracked(Cursor::new(Vec::new()));
        copy.write_all(&bytes).unwrap();
        assert_eq!(copy.progress.bar.position(), bytes.len() as u64);
        copy.rewind().unwrap();
        assert_eq!(copy.progress.bar.position(), 0);
        let mut again = Vec::new();
        copy.read_to_end(&mut again).unwrap();
        assert!(again == bytes);
        assert_eq!(copy.position, bytes.len() as u64);
    }

    #[test]
    fn templates_are_well_formed() {
        for length in [None, Some(2)] {
            let bar = Progress::steps("waiting", length);
            bar.at(1);
            assert_eq!((bar.bar.position(), bar.bar.message()), (1, "waiting".to_string()));
        }
        assert!(
            [BYTES, STEPS, LOOKED_AT, UNKNOWN]
                .iter()
                .all(|t| ProgressStyle::with_template(t).is_ok())
        );
    }
}
