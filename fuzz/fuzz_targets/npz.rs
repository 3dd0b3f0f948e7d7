//! Any bytes as a `.npz` archive: arrays or errors.
#![no_main]

use ijk_tensor::file::npz::Archive;
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut archive) = Archive::new(Cursor::new(bytes), "fuzz.npz") else { return };
    for name in archive.names() {
        let _ = archive.read(&name);
    }
});
