//! The tests of this crate, in one executable: each executable takes the time and the room of linking all kernels.

mod npy;
mod npz;
mod numpy;
mod views;
