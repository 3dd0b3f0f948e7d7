//! Names of levels, and the level that the environment selects.

use super::Level;
use std::ffi::OsStr;
use std::str::FromStr;
use thiserror::Error;

/// The environment variable that names the default level of engines.
pub const LEVEL_VARIABLE: &str = "IJK_LEVEL";

/// Names of levels on any machine.
const NAMES: [&str; 4] = ["portable", "avx2", "avx512", "neon"];

/// An unknown level, or one that this machine does not support.
///
/// ```
/// let error = "sse9".parse::<ijk_kernels::Level>().unwrap_err();
/// assert!(error.to_string().starts_with("`sse9` is no SIMD level: this machine has portable"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{}`{name}` is {}: this machine has {}",
    if *.from_variable { "the environment variable IJK_LEVEL: " } else { "" },
    if NAMES.contains(&&.name[..]) { "a SIMD level that this machine has not" } else { "no SIMD level" },
    .possible.iter().map(|level| level.name()).collect::<Vec<_>>().join(", ")
)]
pub struct LevelError {
    /// The requested name.
    pub name: String,
    /// Supported levels, widest last.
    pub possible: Vec<Level>,
    /// True if the name is from [`LEVEL_VARIABLE`].
    pub from_variable: bool,
}

impl Level {
    /// The default level of engines: the widest of this machine, or the one that the environment variable
    /// [`IJK_LEVEL`](LEVEL_VARIABLE) names.
    ///
    /// # Errors
    /// If the variable is set to anything but the name of a level that the machine supports.
    pub fn preferred() -> Result<Self, LevelError> {
        match std::env::var_os(LEVEL_VARIABLE) {
            Some(value) => Self::of_variable(&value),
            None => Ok(Self::best()),
        }
    }

    fn of_variable(value: &OsStr) -> Result<Self, LevelError> {
        let level = Self::among(Self::available(), &value.to_string_lossy());
        level.map_err(|error| LevelError { from_variable: true, ..error })
    }

    fn among(possible: Vec<Self>, name: &str) -> Result<Self, LevelError> {
        let found = possible.iter().copied().find(|level| level.name() == name);
        found.ok_or_else(|| LevelError { name: name.into(), possible, from_variable: false })
    }
}

/// The level of that name, if this machine supports it.
impl FromStr for Level {
    type Err = LevelError;

    fn from_str(name: &str) -> Result<Self, LevelError> {
        Self::among(Self::available(), name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_levels() {
        for level in Level::available() {
            assert_eq!(level.name().parse(), Ok(level));
            assert_eq!(Level::of_variable(OsStr::new(level.name())), Ok(level));
            assert!(NAMES.contains(&level.name()));
        }
    }

    #[test]
    fn what_is_no_level_here() {
        let portable = vec!["portable".parse().unwrap()];
        let error = Level::among(portable, "avx512").unwrap_err();
        let said = "`avx512` is a SIMD level that this machine has not: this machine has portable";
        assert_eq!(error.to_string(), said);
        for wrong in ["", "AVX2", "avx512 ", "sse"] {
            let error = Level::of_variable(OsStr::new(wrong)).unwrap_err().to_string();
            let said = format!("the environment variable IJK_LEVEL: `{wrong}` is no SIMD level: ");
            assert!(error.starts_with(&said), "{error}");
        }
    }
}
