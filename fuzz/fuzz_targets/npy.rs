//! Any bytes as a `.npy` file: an array or an error, and what is read is written and read again.
#![no_main]

use ijk_tensor::file::npy;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let sized = npy::decode(bytes, Some(bytes.len() as u64));
    let streamed = npy::decode(bytes, None);
    assert_eq!(sized.is_ok(), streamed.is_ok());
    let Ok(tensor) = sized else { return };
    let mut again = Vec::new();
    npy::encode(&mut again, &tensor.view()).expect("memory is written");
    let back = npy::decode(&again[..], None).expect("what is written is read");
    assert_eq!((back.dtype(), back.shape()), (tensor.dtype(), tensor.shape()));
});
