//! `ijk deps`: what an element of a result depends on.
use crate::{args::Deps, failure::Failure};
/// x
pub fn deps(_args: &Deps) -> Result<(), Failure> {
    Err(Failure::wrong("x"))
}
