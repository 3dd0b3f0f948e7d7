//! The tests of this crate, in one executable: each executable takes the time and the room of linking all kernels.

mod accuracy_double;
mod accuracy_single;
mod reference;
mod special_values;
