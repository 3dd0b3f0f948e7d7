//! Contractions compared with a reference that evaluates the definition point by point.

mod kit;
mod layouts;
mod matrices;
mod sums;
mod symmetric;
