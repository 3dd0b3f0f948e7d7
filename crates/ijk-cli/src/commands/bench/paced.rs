//! `ijk bench --paced`: rounds controlled by another program.

use super::report::Setting;
use super::{Memory, Subject, measure};
use crate::failure::Failure;
use crate::{json, output};
use ijk::Engine;
use ijk::probe::Probed;
use serde_json::json;
use std::io::{self, BufRead};

/// Greatest length of a round.
const LONGEST: f64 = 3600.0;

/// Prints the setting, then a line for each line of the standard input, up to its end.
///
/// # Errors
/// If a line cannot be read, or a run fails.
pub fn serve(engine: &Engine, probed: &Probed, subject: &mut dyn Subject) -> Result<(), Failure> {
    let mut batches = [0; 2];
    for memory in memories(subject) {
        batches[memory as usize] = measure::batch(|| subject.run(engine, memory))?;
    }
    let setting = Setting { engine, work: subject.work(), probed };
    output::print(&json::text(&setting.as_json()))?;
    for line in io::stdin().lock().lines() {
        let unread =
            |error| Failure::Environment(format!("cannot read the standard input: {error}"));
        let (memory, seconds) = round(&line.map_err(unread)?, subject.reuses())?;
        let batch = batches[memory as usize];
        let times = measure::during(seconds, batch, || subject.run(engine, memory))?;
        output::print(&json::text(&json!({
            "outputs": memory.name(),
            "repetitions": times.count(),
            "seconds": times.median(),
        })))?;
    }
    Ok(())
}

fn memories(subject: &dyn Subject) -> impl Iterator<Item = Memory> + use<> {
    let reuses = subject.reuses();
    [Memory::Fresh, Memory::Reused].into_iter().filter(move |&m| reuses || m == Memory::Fresh)
}

/// `reused 0.05`.
fn round(line: &str, reuses: bool) -> Result<(Memory, f64), Failure> {
    let (word, seconds) = line.trim().split_once(' ').unwrap_or((line, ""));
    let memory = [Memory::Reused, Memory::Fresh].into_iter().find(|m| m.name() == word);
    let seconds = seconds.trim().parse().ok().filter(|s| (0.0..=LONGEST).contains(s));
    match memory.zip(seconds) {
        Some((Memory::Reused, _)) if !reuses => {
            Err(Failure::wrong("results of a .et program are always fresh: ask for `fresh`"))
        }
        Some(round) => Ok(round),
        None => Err(Failure::wrong(format!(
            "cannot read `{line}`: a line says `reused` or `fresh` and a number of seconds, such as `reused 0.05`"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        assert_eq!(round("reused 0.05", true).unwrap(), (Memory::Reused, 0.05));
        assert_eq!(round(" fresh  2\r", false).unwrap(), (Memory::Fresh, 2.0));
        let wrong = ["", "fresh", "fresh x", "old 1", "fresh -1", "fresh nan", "fresh inf"];
        assert!(wrong.iter().all(|line| round(line, true).is_err()));
        assert!(round("reused 1", false).is_err());
    }
}
