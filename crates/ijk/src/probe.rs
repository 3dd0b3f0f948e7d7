//! Peak rates of this machine, measured once and stored in the user's cache folder.
//!
//! ```
//! # let folder = std::env::temp_dir().join("ijk-doc-probe");
//! use ijk::probe::Cache;
//!
//! let engine = ijk::Engine::default();
//! let cache = Cache::at(folder); // `Cache::of_user()` outside of examples.
//! let measured = cache.probe(&engine);
//! assert!(measured.probe.one.peak(ijk::DType::F32) > Some(1e6));
//! assert_eq!(cache.load(&engine), Some(measured.probe));
//! ```

use crate::{Engine, Level};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::{fs, io, thread};

pub use ijk_cpu::probe::{Bandwidth, Bound, Probe, Rates, Work};

/// Environment variable that overrides the cache folder.
pub const FOLDER_VARIABLE: &str = "IJK_CACHE";

/// A folder of probes, one file for each processor, number of threads, SIMD level and version of this crate.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: Option<PathBuf>,
}

/// A probe and its origin.
#[derive(Debug)]
pub struct Probed {
    /// The probe.
    pub probe: Probe,
    /// The origin.
    pub origin: Origin,
}

/// Origin of a [`Probe`].
#[derive(Debug)]
pub enum Origin {
    /// Measured earlier, and read from the folder.
    Kept,
    /// Measured now, and stored.
    Measured,
    /// Measured now, but not stored: the reason.
    Unkept(io::Error),
    /// Not measured, for lack of memory, say: typical rates.
    Typical,
}

impl Cache {
    /// The folder that `IJK_CACHE` names, or `ijk` in the user's cache folder.
    pub fn of_user() -> Self {
        let named = std::env::var_os(FOLDER_VARIABLE).filter(|name| !name.is_empty());
        let folder = named.map(PathBuf::from).or_else(|| Some(dirs::cache_dir()?.join("ijk")));
        Self { folder }
    }

    /// A folder, which is created when a probe is stored.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: Some(folder.into()) }
    }

    /// The stored probe of this machine for the engine's SIMD level. Reads one small file.
    pub fn load(&self, engine: &Engine) -> Option<Probe> {
        self.load_for(engine.level())
    }

    pub(crate) fn load_for(&self, level: Level) -> Option<Probe> {
        let machine = machine(level);
        let text = fs::read_to_string(self.file(&machine)?).ok()?;
        Probe::parse(&text, &machine)
    }

    /// The stored probe, or typical rates; never measures.
    pub fn known(&self, engine: &Engine) -> Probed {
        match self.load(engine) {
            Some(probe) => Probed { probe, origin: Origin::Kept },
            None => {
                Probed { probe: Probe::typical(engine.level(), threads()), origin: Origin::Typical }
            }
        }
    }

    /// The stored probe, or else a new one, which takes about a second and is stored.
    pub fn probe(&self, engine: &Engine) -> Probed {
        match self.load(engine) {
            Some(probe) => Probed { probe, origin: Origin::Kept },
            None => self.measure(engine),
        }
    }

    /// Measures the machine and stores the probe in place of an earlier one.
    pub fn measure(&self, engine: &Engine) -> Probed {
        let Some(probe) = Probe::measure(engine.level(), threads()) else {
            return Probed {
                probe: Probe::typical(engine.level(), threads()),
                origin: Origin::Typical,
            };
        };
        let origin = match self.keep(&probe, &machine(engine.level())) {
            Ok(()) => Origin::Measured,
            Err(error) => Origin::Unkept(error),
        };
        Probed { probe, origin }
    }

    fn keep(&self, probe: &Probe, machine: &str) -> io::Result<()> {
        let none = || io::Error::new(io::ErrorKind::NotFound, "there is no cache folder");
        let file = self.file(machine).ok_or_else(none)?;
        fs::create_dir_all(file.parent().unwrap_or(&file))?;
        write_whole(&file, &probe.to_text(machine))
    }

    /// The file of a machine.
    fn file(&self, machine: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("probe-{:016x}.txt", hash(machine))))
    }
}

/// Writes a file atomically: other processes see all of it or none.
fn write_whole(file: &Path, text: &str) -> io::Result<()> {
    let aside = file.with_extension(format!("tmp{}", std::process::id()));
    let written = fs::write(&aside, text).and_then(|()| fs::rename(&aside, file));
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written
}

/// Everything that a probe depends on, as one line.
fn machine(level: Level) -> String {
    let (simd, version) = (level.name(), env!("CARGO_PKG_VERSION"));
    format!("{}, {} threads, {simd}, ijk {version}", processor(), threads())
}

/// Threads that the machine offers this process.
fn threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Name of the first processor, if the system provides it; listing all of them takes long on large machines.
fn processor() -> String {
    let mut told = Vec::new();
    let first = fs::File::open("/proc/cpuinfo").map(|file| file.take(4096).read_to_end(&mut told));
    let told = first.map_or(String::new(), |_| String::from_utf8_lossy(&told).into_owned());
    let name = told.lines().find(|line| line.starts_with("model name"));
    let name = name.and_then(|line| Some(line.split_once(':')?.1.trim()));
    name.unwrap_or(std::env::consts::ARCH).into()
}

/// FNV-1a, since file names must be the same in every version.
fn hash(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test alone, not there yet.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ijk-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn kept_and_found() {
        let (folder, engine) = (folder("kept"), Engine::builder().threads(1).build());
        let cache = Cache::at(folder.join("deep"));
        assert_eq!(cache.load(&engine), None);
        let known = cache.known(&engine);
        assert!(matches!(known.origin, Origin::Typical), "{known:?}");
        assert_eq!(known.probe.threads, threads());
        let measured = cache.probe(&engine);
        assert!(matches!(measured.origin, Origin::Measured), "{measured:?}");
        let again = cache.probe(&engine);
        assert!(matches!(again.origin, Origin::Kept), "{again:?}");
        assert_eq!(again.probe, measured.probe);
        assert_eq!(cache.known(&engine).probe, measured.probe);
        assert_eq!(fs::read_dir(folder.join("deep")).unwrap().count(), 1);
        let file = cache.file(&machine(engine.level())).unwrap();
        fs::write(&file, "machine of another\n").unwrap();
        assert_eq!(cache.load(&engine), None);
        fs::write(&file, [255, 254]).unwrap();
        assert!(matches!(cache.probe(&engine).origin, Origin::Measured));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn where_nothing_can_be_kept() {
        let file = folder("file");
        fs::write(&file, "").unwrap();
        let engine = Engine::builder().threads(1).build();
        let probed = Cache::at(file.join("below")).probe(&engine);
        assert!(matches!(probed.origin, Origin::Unkept(_)), "{probed:?}");
        assert!(matches!(Cache { folder: None }.measure(&engine).origin, Origin::Unkept(_)));
        fs::remove_file(file).unwrap();
    }

    #[test]
    fn machines_differ() {
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_ne!(hash("a, 1 threads"), hash("a, 2 threads"));
        let engine = Engine::default();
        assert!(
            machine(engine.level()).contains(engine.simd())
                && !machine(engine.level()).contains('\n')
        );
    }
}
