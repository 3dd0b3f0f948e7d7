//! Simulations as text.

use super::{Grid, Machines, Simulated, Simulation, Spread};
use ijk_plan::Bytes;
use std::fmt;

impl fmt::Display for Machines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, each of {}",
            plural(self.machines as u64, "machine"),
            plural(self.workers as u64, "worker")
        )?;
        write!(f, " at {} GF/s, ", round(self.operations / 1e9))?;
        write!(
            f,
            "network {} GB/s, disk {} GB/s",
            round(self.network / 1e9),
            round(self.disk / 1e9)
        )?;
        match self.memory {
            Some(memory) => write!(f, ", blocks in {}", Bytes(memory)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Simulation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.machines)?;
        for stage in &self.stages {
            writeln!(f, "{stage}")?;
        }
        write!(
            f,
            "in all      {}, at most {} on a machine",
            Seconds(self.seconds()),
            bytes(self.memory())
        )
    }
}

impl fmt::Display for Simulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.stage)?;
        let rounds = plural(self.rounds, "round");
        match self.grid {
            Some(grid) => writeln!(f, "  {grid}, {rounds}")?,
            None => writeln!(f, "  workers   all on one block after another, {rounds}")?,
        }
        writeln!(f, "  moved     {} into a machine from others", self.moved)?;
        writeln!(f, "  read      {} by a machine from stores", self.read)?;
        writeln!(f, "  written   {} by a machine", self.written)?;
        writeln!(f, "  memory    {} on a machine", self.memory)?;
        let [compute, network, disk] =
            [self.compute_seconds, self.network_seconds, self.disk_seconds].map(Seconds);
        writeln!(
            f,
            "  time      {}: compute {compute}, network {network}, disk {disk}",
            Seconds(self.seconds)
        )?;
        let Some(bound) = &self.bound else { return Ok(()) };
        let least = bytes(bound.by_memory.max(bound.by_work));
        let why = if bound.by_memory > bound.by_work { "memory" } else { "work" };
        writeln!(
            f,
            "  bound     {least} in and out of a machine at least, by its {why}; this is {:.2} times that",
            bound.ratio
        )
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by = |[rows, columns]: [usize; 2]| format!("{rows} × {columns}");
        let (machines, workers) = (by(self.processes), by(self.workers));
        match (self.processes, self.workers) {
            ([1, 1], _) => write!(f, "workers   {workers}"),
            (_, [1, 1]) => write!(f, "machines  {machines}"),
            _ => write!(f, "machines  {machines}, each of {workers} workers"),
        }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at most, {} on average", bytes(self.most), bytes(self.mean))
    }
}

fn bytes(bytes: f64) -> Bytes {
    Bytes(bytes.round() as u64)
}

fn plural(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// At most three digits after the point.
fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

/// A time, in the unit that suits it.
struct Seconds(f64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0;
        let (value, unit) = match seconds {
            0.0 => return f.write_str("0 s"),
            ..1e-3 => (seconds * 1e6, "µs"),
            ..1.0 => (seconds * 1e3, "ms"),
            ..120.0 => (seconds, "s"),
            ..7200.0 => (seconds / 60.0, "min"),
            ..172_800.0 => (seconds / 3600.0, "h"),
            _ => (seconds / 86_400.0, "days"),
        };
        write!(f, "{value:.1} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::Seconds;

    #[test]
    fn times_have_units() {
        for (seconds, text) in [
            (0.0, "0 s"),
            (2e-5, "20.0 µs"),
            (0.25, "250.0 ms"),
            (90.0, "90.0 s"),
            (600.0, "10.0 min"),
            (9000.0, "2.5 h"),
            (864_000.0, "10.0 days"),
        ] {
            assert_eq!(Seconds(seconds).to_string(), text);
        }
    }
}
