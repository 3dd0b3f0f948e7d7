//! The header of a `.npy` file.
//!
//! ```text
//! "\x93NUMPY" major minor  length: u16 (1.0) or u32 (2.0, 3.0), little-endian
//! {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }      blanks      "\n"  data …
//! ```

use super::Problem;
use super::dtype::{self, Stored};
use super::literal::{self, Value};
use crate::{Shape, element_count};
use ijk_types::DType;
use std::io::{self, Read};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Where data starts is a multiple of this.
const ALIGN: usize = 64;

/// Longer headers are refused. NumPy itself warns beyond 10,000 bytes.
const MAX_LENGTH: u64 = 1 << 20;

/// Most axes of an array, as in NumPy.
const MAX_RANK: usize = 64;

/// Bytes before the dictionary in version 1.0.
const PREFIX: usize = 10;

/// Fields of a header.
#[derive(Debug, PartialEq)]
pub(crate) struct Header {
    pub stored: Stored,
    /// The first axis is dense, not the last.
    pub fortran: bool,
    pub shape: Shape,
    /// Bytes of data: elements times their size, which does not overflow.
    pub data_length: u64,
    /// Where data starts.
    pub data_offset: u64,
}

impl Header {
    /// Reads up to the start of the data.
    pub(crate) fn read(reader: &mut impl Read) -> Result<Self, Problem> {
        let mut prefix = [0; 8];
        let found = fill(reader, &mut prefix)?;
        if found < 6 || prefix[..6] != *MAGIC {
            return Err(bad_magic(&prefix[..found]));
        }
        if found < 8 {
            return Err(Problem::Short { offset: found as u64, part: "the version" });
        }
        let (offset, length) = read_length(reader, prefix[6], prefix[7])?;
        if length > MAX_LENGTH {
            let message = format!("it claims a length of {length} bytes");
            return Err(Problem::Header { offset: 8, message });
        }
        let mut text = vec![0; length as usize];
        let found = fill(reader, &mut text)?;
        if found < text.len() {
            return Err(Problem::Short { offset: offset + found as u64, part: "the header" });
        }
        Self::parse(&decode(text, prefix[6]), offset, offset + length)
    }

    /// Parses the dictionary, which stands at `offset`.
    fn parse(text: &str, offset: u64, data_offset: u64) -> Result<Self, Problem> {
        let bad = |offset, message| Problem::Header { offset, message };
        let value = literal::parse(text)
            .map_err(|error| bad(offset + error.offset as u64, error.message))?;
        let Value::Dict(entries) = value else {
            return Err(bad(offset, "not a dictionary".into()));
        };
        let entry = |name: &str| {
            let named = |(key, _): &&(Value, Value)| matches!(key, Value::Str(key) if key == name);
            let found = entries.iter().find(named);
            found.map(|(_, value)| value).ok_or_else(|| bad(offset, format!("no entry '{name}'")))
        };
        let shape = extents(entry("shape")?).map_err(|message| bad(offset, message))?;
        if shape.len() > MAX_RANK {
            return Err(Problem::Rank(shape.len()));
        }
        let Value::Bool(fortran) = *entry("fortran_order")? else {
            return Err(bad(offset, "'fortran_order' is neither True nor False".into()));
        };
        let stored = dtype::parse(entry("descr")?)?;
        let count = element_count(stored.dtype, &shape)?;
        let data_length = (count * stored.dtype.size()) as u64;
        Ok(Self { stored, fortran, shape, data_length, data_offset })
    }

    /// The bytes before the data of a C-contiguous array. With so few axes, version 1.0 will do.
    pub(crate) fn encode(dtype: DType, shape: &[usize]) -> Result<Vec<u8>, Problem> {
        if shape.len() > MAX_RANK {
            return Err(Problem::Rank(shape.len()));
        }
        let shape = crate::error::shape_text(shape);
        let descr = dtype::describe(dtype);
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        let length = (PREFIX + text.len() + 1).next_multiple_of(ALIGN) - PREFIX;
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend((length as u16).to_le_bytes());
        bytes.extend(format!("{text:<0$}\n", length - 1).into_bytes());
        Ok(bytes)
    }
}

/// The length of the dictionary, and where it starts.
fn read_length(reader: &mut impl Read, major: u8, minor: u8) -> Result<(u64, u64), Problem> {
    let size = match (major, minor) {
        (1, 0) => 2,
        (2 | 3, 0) => 4,
        _ => return Err(Problem::Version { major, minor }),
    };
    let mut length = [0; 4];
    let found = fill(reader, &mut length[..size])?;
    if found < size {
        return Err(Problem::Short { offset: 8 + found as u64, part: "the header's length" });
    }
    Ok((8 + size as u64, u64::from(u32::from_le_bytes(length))))
}

/// Reads until the buffer is full or there is no more; how many bytes it read.
pub(crate) fn fill(reader: &mut impl Read, mut buffer: &mut [u8]) -> Result<usize, Problem> {
    let wanted = buffer.len();
    while !buffer.is_empty() {
        match reader.read(buffer) {
            Ok(0) => break,
            Ok(n) => buffer = &mut buffer[n..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Problem::io("read")(error)),
        }
    }
    Ok(wanted - buffer.len())
}

/// The text of a header: Latin-1 until version 3.0 made it UTF-8. Where that is damaged, what
/// stands in its place cannot parse.
fn decode(bytes: Vec<u8>, major: u8) -> String {
    match major {
        3 => String::from_utf8_lossy(&bytes).into_owned(),
        _ => bytes.into_iter().map(char::from).collect(),
    }
}

/// A tuple of extents.
fn extents(value: &Value) -> Result<Shape, String> {
    let (Value::Tuple(items) | Value::List(items)) = value else {
        return Err("'shape' is not a tuple".into());
    };
    let extent = |item: &Value| match item {
        Value::Int(Some(n)) => {
            usize::try_from(*n).map_err(|_| format!("'shape' has the extent {n}"))
        }
        Value::Int(None) => Err("'shape' has an extent beyond 64 bits".into()),
        _ => Err("'shape' holds something other than integers".into()),
    };
    items.iter().map(extent).collect()
}

#[cold]
fn bad_magic(found: &[u8]) -> Problem {
    Problem::Magic { found: found[..found.len().min(6)].escape_ascii().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        let huge = [vec![0], vec![isize::MAX as usize / 4], vec![1; 62]].concat();
        for shape in [&[][..], &[3], &[2, 0, 5], &huge] {
            let bytes = Header::encode(DType::F32, shape).unwrap();
            assert_eq!(bytes.len() % ALIGN, 0);
            let header = Header::read(&mut &bytes[..]).unwrap();
            assert_eq!(&header.shape[..], shape);
            assert_eq!(header.data_offset as usize, bytes.len());
            assert_eq!(header.data_length, 4 * shape.iter().product::<usize>() as u64);
        }
    }

    #[test]
    fn too_many_axes() {
        assert!(matches!(Header::encode(DType::F32, &[1; 65]), Err(Problem::Rank(65))));
        let shape = "1, ".repeat(300);
        let text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({shape})}}");
        assert!(matches!(Header::parse(&text, 10, 0), Err(Problem::Rank(300))));
    }

    #[test]
    fn like_numpy() {
        let bytes = Header::encode(DType::F64, &[2, 3]).unwrap();
        let text =
            b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }";
        assert_eq!(&bytes[..text.len()], text);
        assert_eq!((bytes.len(), bytes[127]), (128, b'\n'));
    }
}
