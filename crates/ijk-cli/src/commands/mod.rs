//! One module for each command.

mod apply;
mod bench;
mod check;
mod deps;
mod draw;
mod explain;

pub use apply::{eval, run};
pub use bench::bench;
pub use check::check;
pub use deps::deps;
pub use explain::explain;
