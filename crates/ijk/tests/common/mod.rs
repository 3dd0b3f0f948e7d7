//! Engines for random programs, and runs of programs.

pub mod programs;

use ijk::{Engine, Level};
use ijk_oracle::random::Coverage;
use ijk_oracle::turns;

/// Numbers of threads: one, as many as small machines have, more than there are tasks.
pub const THREADS: [usize; 3] = [1, 2, 7];

/// Engines of one SIMD level, which must agree bit for bit.
pub struct Peers {
    pub level: Level,
    /// One for each of [`THREADS`].
    pub engines: [Engine; 3],
    /// Name of each in messages, for each way of using it: `apply, avx2, 7 threads`.
    pub names: Vec<[&'static str; 3]>,
}

impl Peers {
    fn new(level: Level, ways: &[&str]) -> Self {
        let build = |threads| Engine::builder().level(level).threads(threads).build();
        let name = |way: &str, threads: usize| -> &'static str {
            let s = if threads == 1 { "" } else { "s" };
            format!("{way}, {}, {threads} thread{s}", level.name()).leak()
        };
        let names = ways.iter().map(|way| THREADS.map(|threads| name(way, threads)));
        Self { level, engines: THREADS.map(build), names: names.collect() }
    }
}

/// Engines of every SIMD level of the machine, or of the one that `IJK_LEVEL` names.
pub struct Engines(Vec<Peers>);

impl Engines {
    /// Engines for several ways of use.
    pub fn new(ways: &[&str]) -> Self {
        let levels = match std::env::var_os(ijk_cpu::LEVEL_VARIABLE) {
            Some(_) => vec![Level::preferred().unwrap_or_else(|error| panic!("{error}"))],
            None => Level::available(),
        };
        Self(levels.into_iter().map(|level| Peers::new(level, ways)).collect())
    }

    /// The engines for one of a number of programs.
    pub fn of(&self, seed: u64, programs: u64) -> &[Peers] {
        &self.0[turns(seed, programs, self.0.len())]
    }

    /// Counts the engines that a program ran on.
    pub fn note(&self, seed: u64, programs: u64, reached: &mut Coverage) {
        for peers in self.of(seed, programs) {
            reached.count(format!("level: {}", peers.level.name()));
        }
    }

    /// Coverage that a run must reach.
    pub fn expected(&self) -> impl Iterator<Item = String> {
        self.0.iter().map(|peers| format!("level: {}", peers.level.name()))
    }

    /// A sentence on the engines that a run covered.
    pub fn summary(&self, reached: &Coverage) -> String {
        let count = |peers: &Peers| {
            let name = peers.level.name();
            format!("{} under {name}", reached.of(&format!("level: {name}")))
        };
        let counts: Vec<String> = self.0.iter().map(count).collect();
        format!("each with {THREADS:?} threads: {}", counts.join(", "))
    }
}

/// Prints the command that runs a program again if a thread panics at it.
pub struct Again {
    pub test: &'static str,
    pub seed: u64,
}

impl Drop for Again {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let Self { test, seed } = self;
            println!("again: IJK_SEED={seed} IJK_PROGRAMS=1 cargo test -p ijk --test all {test}\n");
        }
    }
}

/// Programs that one thread runs.
pub type Share = std::iter::StepBy<std::ops::Range<u64>>;

/// Runs `count` programs from `first` on, on two threads; returns the outcome of each.
pub fn in_shares<O: Send>(first: u64, count: u64, work: impl Fn(Share) -> O + Sync) -> Vec<O> {
    const WORKERS: usize = 2;
    let work = &work;
    std::thread::scope(|scope| {
        let share = |n: usize| (first + n as u64..first + count).step_by(WORKERS);
        let start = |n| scope.spawn(move || work(share(n)));
        let threads: Vec<_> = (0..WORKERS).map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}
