//! `.npy` files: one array each, versions 1.0, 2.0 and 3.0 of NumPy's format.

use super::header::{Header, fill};
use super::{FileError, Problem, Staged};
use crate::{Tensor, TensorView};
use ijk_types::DType;
use ijk_types::with_element;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;

/// Reads the array of a `.npy` file, in C or Fortran order, of either byte order.
///
/// # Errors
/// If the file cannot be read, is not well-formed, holds elements of another type, or more of them
/// than memory does. A file that claims more data than it has is found out before memory for it is
/// allocated.
///
/// ```
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("x.npy");
/// use ijk_tensor::file::npy;
/// use ijk_tensor::{Tensor, TensorView};
///
/// let x = ndarray::array![[1.0f64, 2.0], [3.0, 4.0]];
/// npy::write(&path, &TensorView::from_array(&x))?;
/// assert_eq!(npy::read(&path)?, Tensor::from_array(x));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: impl AsRef<Path>) -> Result<Tensor, FileError> {
    let path = path.as_ref();
    open(path).and_then(|(file, length)| decode(file, length)).map_err(|e| e.in_file(path))
}

/// Writes an array as a `.npy` file, version 1.0, C order.
///
/// It is written under a temporary name in the same directory, then renamed: the path names the old
/// file or the whole new one at any time, after a loss of power, too.
///
/// # Errors
/// If it cannot be written; then an old file is as it was.
pub fn write(path: impl AsRef<Path>, array: &TensorView<'_>) -> Result<(), FileError> {
    stage(path, array)?.commit()
}

/// Writes a `.npy` file but for the last step, in which it takes its name.
///
/// # Errors
/// As for [`write()`].
pub fn stage(path: impl AsRef<Path>, array: &TensorView<'_>) -> Result<Staged, FileError> {
    Staged::write(path.as_ref(), |file| encode(file, array))
}

/// Reads an array in `.npy` format that ends where the reader does, after `length` bytes if that is
/// known.
///
/// # Errors
/// As for [`read`].
pub fn decode(mut reader: impl Read, length: Option<u64>) -> Result<Tensor, Problem> {
    let header = Header::read(&mut reader)?;
    let tensor = match length {
        Some(length) => decode_sized(&mut reader, &header, length)?,
        None => decode_unsized(&mut reader, &header)?,
    };
    if header.fortran { transposed(tensor) } else { Ok(tensor) }
}

/// Writes an array in `.npy` format.
///
/// # Errors
/// If the writer fails, or memory does not suffice to bring the array in C order.
pub fn encode(mut writer: impl Write, array: &TensorView<'_>) -> Result<(), Problem> {
    let mut write = |bytes: &[u8]| writer.write_all(bytes).map_err(Problem::io("write"));
    write(&Header::encode(array.dtype(), array.shape())?)?;
    if array.is_c_contiguous() {
        write(bytes_of(array))
    } else {
        write(bytes_of(&array.to_tensor()?.view()))
    }
}

/// Opens a file for [`decode`], with its length if it is a regular one.
///
/// # Errors
/// If it cannot be read, or is a directory.
pub fn open(path: &Path) -> Result<(BufReader<File>, Option<u64>), Problem> {
    let file = File::open(path).map_err(Problem::io("read"))?;
    let meta = file.metadata().map_err(Problem::io("read"))?;
    if meta.is_dir() {
        return Err(Problem::Directory);
    }
    Ok((BufReader::new(file), meta.is_file().then_some(meta.len())))
}

/// Reads data whose length is known beforehand straight into the tensor.
fn decode_sized(reader: &mut impl Read, header: &Header, length: u64) -> Result<Tensor, Problem> {
    check_length(header, length)?;
    decode_with(header, |bytes| {
        let found = fill(reader, bytes)?;
        check_length(header, header.data_offset + found as u64)?;
        // The file may have grown, and reading up to the end is what checks an archive's sums.
        check_end(reader, header)
    })
}

/// Reads data of unknown length: memory grows with what arrives, not with what is claimed.
fn decode_unsized(reader: &mut impl Read, header: &Header) -> Result<Tensor, Problem> {
    let mut data = Vec::new();
    reader.take(header.data_length).read_to_end(&mut data).map_err(Problem::io("read"))?;
    check_length(header, header.data_offset + data.len() as u64)?;
    check_end(reader, header)?;
    decode_with(header, |bytes| {
        bytes.copy_from_slice(&data);
        Ok(())
    })
}

/// Checks that the length of the file is that of its header and data.
fn check_length(header: &Header, length: u64) -> Result<(), Problem> {
    let (start, expected) = (header.data_offset, header.data_length);
    let found = length.saturating_sub(start);
    if found < expected {
        return Err(Problem::Truncated { expected, found, offset: start + found });
    }
    if found > expected {
        return Err(Problem::Overlong { offset: start + expected });
    }
    Ok(())
}

/// Checks that nothing follows the data.
fn check_end(reader: &mut impl Read, header: &Header) -> Result<(), Problem> {
    match fill(reader, &mut [0])? {
        0 => Ok(()),
        _ => Err(Problem::Overlong { offset: header.data_offset + header.data_length }),
    }
}

/// A tensor whose bytes `fill` writes; in Fortran order its axes are reversed.
fn decode_with(
    header: &Header,
    fill: impl FnOnce(&mut [u8]) -> Result<(), Problem>,
) -> Result<Tensor, Problem> {
    let mut shape = header.shape.clone();
    if header.fortran {
        shape.reverse();
    }
    let dtype = header.stored.dtype;
    Tensor::from_bytes(dtype, &shape, |bytes| {
        fill(bytes)?;
        if header.stored.swapped {
            swap_bytes(bytes, dtype);
        }
        Ok(())
    })
}

/// Reverses the bytes of every number (of both, of complex ones).
fn swap_bytes(bytes: &mut [u8], dtype: DType) {
    match dtype.real().size() {
        1 => {}
        2 => bytes.as_chunks_mut::<2>().0.iter_mut().for_each(|number| number.reverse()),
        4 => bytes.as_chunks_mut::<4>().0.iter_mut().for_each(|number| number.reverse()),
        _ => bytes.as_chunks_mut::<8>().0.iter_mut().for_each(|number| number.reverse()),
    }
}

/// The tensor with its axes in reverse order.
fn transposed(tensor: Tensor) -> Result<Tensor, Problem> {
    let copy = with_element!(tensor.dtype(), T => {
        let array = tensor.view().to_ndarray::<T>()?.reversed_axes();
        TensorView::from_array(&array).to_tensor()
    });
    Ok(copy?)
}

/// The bytes of a C-contiguous array.
fn bytes_of<'a>(array: &TensorView<'a>) -> &'a [u8] {
    assert!(array.is_c_contiguous());
    // SAFETY: the elements lie densely from `as_ptr` on, for `'a`, and have no padding.
    unsafe { std::slice::from_raw_parts(array.as_ptr(), array.len() * array.dtype().size()) }
}
