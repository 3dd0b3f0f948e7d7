//! Bounds that keep every program, however written, answered quickly.

/// Axes of one array.
pub const MAX_RANK: usize = 64;
/// Letters of one index expression.
pub const MAX_LETTERS: usize = 256;
/// Terms of one index expression in brackets, once multiplied out.
pub const MAX_TERMS: usize = 1024;
/// Inputs or outputs of a component.
pub const MAX_PORTS: usize = 4096;
/// Statements a program may expand to.
pub const MAX_STATEMENTS: u64 = 1_000_000;
/// Loops in loops.
pub const MAX_LOOPS: u32 = 16;
/// Components visited by expanding a program: names, swaps and identities count too.
pub const MAX_VISITS: u64 = 8_000_000;
/// Inputs and outputs that checking a program may look at in all.
pub const MAX_PORT_VISITS: u64 = 5_000_000;
/// Diagnostics reported about one program.
pub const MAX_DIAGNOSTICS: usize = 500;
/// Points of a domain on which a store that is not plainly injective is tried out.
pub const MAX_MARKED_POINTS: u64 = 1 << 22;
