//! The core IR: checking, lowering, verification and dependencies.

pub mod core;
