//! Blocks and numbers as bytes, for other processes.
//!
//! Each number is a little-endian `u64`, and elements and text are padded to a multiple of eight bytes, so that
//! everything stays aligned. Elements are in the machine's byte order, which processes compare in the handshake. Input
//! is validated: malformed bytes are an error.

use crate::value::Lists;
use crate::{Block, ElementType, Value};
use ijk_tensor::{Tensor, TensorError};
use ijk_types::{C64, C128, DType, Scalar, bf16, f16};
use std::io::{Result, Write};
use std::ops::Range;

/// Number of bytes that `write` writes.
pub(crate) fn length(write: impl FnOnce(&mut Length) -> Result<()>) -> usize {
    let mut length = Length(0);
    // Writing to a count cannot fail.
    write(&mut length).unwrap_or_default();
    length.0
}

/// Counts what is written.
pub(crate) struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

pub(crate) fn number(out: &mut impl Write, n: usize) -> Result<()> {
    out.write_all(&(n as u64).to_le_bytes())
}

pub(crate) fn list(out: &mut impl Write, numbers: &[usize]) -> Result<()> {
    number(out, numbers.len())?;
    numbers.iter().try_for_each(|&n| number(out, n))
}

pub(crate) fn text(out: &mut impl Write, text: &str) -> Result<()> {
    number(out, text.len())?;
    out.write_all(text.as_bytes())?;
    pad(out, text.len())
}

/// The elements of a block at positions of its axes: as a block of their own.
pub(crate) fn block(out: &mut impl Write, block: &Block, window: &[Range<usize>]) -> Result<()> {
    list(out, &window.iter().map(Range::len).collect::<Vec<_>>())?;
    element_type(out, &block.element_type())?;
    match block {
        Block::Numbers(tensor) => {
            let (bytes, size) = (tensor.as_bytes(), tensor.dtype().size());
            let mut written = 0;
            for run in runs(tensor.shape(), window) {
                let run = &bytes[run.start * size..run.end * size];
                out.write_all(run)?;
                written += run.len();
            }
            pad(out, written)
        }
        Block::Lists(lists) => runs(&lists.shape, window)
            .flat_map(|run| &lists.items[run])
            .try_for_each(|item| value(out, item)),
    }
}

/// All positions of a shape.
pub(crate) fn whole(shape: &[usize]) -> Vec<Range<usize>> {
    shape.iter().map(|&extent| 0..extent).collect()
}

/// Neighbouring elements of a dense array, in C order, that together are those of a window.
fn runs(shape: &[usize], window: &[Range<usize>]) -> impl Iterator<Item = Range<usize>> {
    let empty = window.iter().any(Range::is_empty);
    // Axes inside the run: those that are whole, and one more.
    let mut inside = shape.len();
    let mut length = 1;
    while let Some(axis) = inside.checked_sub(1) {
        inside = axis;
        length *= window[axis].len();
        if window[axis].len() != shape[axis] {
            break;
        }
    }
    let (shape, window) = (shape.to_vec(), window.to_vec());
    let outside: Vec<usize> = window[..inside].iter().map(Range::len).collect();
    let count = if empty { 0 } else { outside.iter().product() };
    (0..count).map(move |number| {
        let at = crate::domain::Coordinates::of(&outside, number);
        let place = |axis: usize| window[axis].start + at.get(axis).copied().unwrap_or_default();
        let start = (0..shape.len()).fold(0, |start, axis| start * shape[axis] + place(axis));
        start..start + length
    })
}

/// Zeros up to the next multiple of eight.
fn pad(out: &mut impl Write, written: usize) -> Result<()> {
    out.write_all(&[0; 8][..written.next_multiple_of(8) - written])
}

/// The depth of nested lists, then the type of their numbers.
fn element_type(out: &mut impl Write, of: &ElementType) -> Result<()> {
    let (mut depth, mut of) = (0, of);
    while let ElementType::Array(inner) = of {
        (depth, of) = (depth + 1, inner);
    }
    number(out, depth)?;
    number(out, of.number().map_or(0, |dtype| dtype as usize))
}

/// An element that may be a list.
fn value(out: &mut impl Write, of: &Value) -> Result<()> {
    match of {
        Value::Number(x) => {
            scalar(out, *x)?;
            pad(out, x.dtype().size())
        }
        Value::List(list) => {
            number(out, list.items().len())?;
            list.items().iter().try_for_each(|item| value(out, item))
        }
    }
}

fn scalar(out: &mut impl Write, x: Scalar) -> Result<()> {
    match x {
        Scalar::Bool(x) => out.write_all(&[u8::from(x)]),
        Scalar::I32(x) => out.write_all(&x.to_le_bytes()),
        Scalar::I64(x) => out.write_all(&x.to_le_bytes()),
        Scalar::U8(x) => out.write_all(&x.to_le_bytes()),
        Scalar::U16(x) => out.write_all(&x.to_le_bytes()),
        Scalar::U32(x) => out.write_all(&x.to_le_bytes()),
        Scalar::U64(x) => out.write_all(&x.to_le_bytes()),
        Scalar::I8(x) => out.write_all(&x.to_le_bytes()),
        Scalar::I16(x) => out.write_all(&x.to_le_bytes()),
        Scalar::F16(x) => out.write_all(&x.to_le_bytes()),
        Scalar::BF16(x) => out.write_all(&x.to_le_bytes()),
        Scalar::F32(x) => out.write_all(&x.to_le_bytes()),
        Scalar::F64(x) => out.write_all(&x.to_le_bytes()),
        Scalar::C64(x) => [x.re, x.im].iter().try_for_each(|x| out.write_all(&x.to_le_bytes())),
        Scalar::C128(x) => [x.re, x.im].iter().try_for_each(|x| out.write_all(&x.to_le_bytes())),
    }
}

/// Bytes still to decode; all methods return `None` where the bytes do not hold the value.
pub(crate) struct Decoder<'a>(pub(crate) &'a [u8]);

/// Deeper lists are not read: no type is so deep, and it would take the stack.
const DEEPEST: usize = 64;

impl<'a> Decoder<'a> {
    pub(crate) fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn number(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.take()?)).ok()
    }

    pub(crate) fn list(&mut self) -> Option<Vec<usize>> {
        let count = self.number()?;
        (0..count).map(|_| self.number()).collect()
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        let length = self.number()?;
        std::str::from_utf8(self.padded(length)?).ok()
    }

    /// The next `length` bytes, without the padding after them.
    fn padded(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length.checked_next_multiple_of(8)?)?;
        self.0 = rest;
        Some(&bytes[..length])
    }

    pub(crate) fn block(&mut self) -> Option<Block> {
        let shape = self.list()?;
        let (depth, dtype) = (self.number()?, DType::from_code(self.number()?)?);
        let count = shape.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent))?;
        if depth > DEEPEST {
            return None;
        }
        if depth == 0 {
            let bytes = self.padded(count.checked_mul(dtype.size())?)?;
            let fill = |elements: &mut [u8]| -> std::result::Result<(), TensorError> {
                elements.copy_from_slice(bytes);
                Ok(())
            };
            return Tensor::from_bytes(dtype, &shape, fill).ok().map(Block::Numbers);
        }
        let of = (1..depth).fold(ElementType::from(dtype), |of, _| ElementType::array(of));
        let list = ElementType::array(of.clone());
        let items: Option<Vec<Value>> = (0..count).map(|_| self.value(&list)).collect();
        Some(Block::Lists(Lists { of, shape, items: items? }))
    }

    fn scalar(&mut self, dtype: DType) -> Option<Scalar> {
        Some(match dtype {
            DType::Bool => Scalar::Bool(self.take::<1>()? != [0]),
            DType::I32 => Scalar::I32(i32::from_le_bytes(self.take()?)),
            DType::I64 => Scalar::I64(i64::from_le_bytes(self.take()?)),
            DType::U8 => Scalar::U8(u8::from_le_bytes(self.take()?)),
            DType::U16 => Scalar::U16(u16::from_le_bytes(self.take()?)),
            DType::U32 => Scalar::U32(u32::from_le_bytes(self.take()?)),
            DType::U64 => Scalar::U64(u64::from_le_bytes(self.take()?)),
            DType::I8 => Scalar::I8(i8::from_le_bytes(self.take()?)),
            DType::I16 => Scalar::I16(i16::from_le_bytes(self.take()?)),
            DType::F16 => Scalar::F16(f16::from_le_bytes(self.take()?)),
            DType::BF16 => Scalar::BF16(bf16::from_le_bytes(self.take()?)),
            DType::F32 => Scalar::F32(f32::from_le_bytes(self.take()?)),
            DType::F64 => Scalar::F64(f64::from_le_bytes(self.take()?)),
            DType::C64 => {
                let [re, im] = [self.take()?, self.take()?].map(f32::from_le_bytes);
                Scalar::C64(C64::new(re, im))
            }
            DType::C128 => {
                let [re, im] = [self.take()?, self.take()?].map(f64::from_le_bytes);
                Scalar::C128(C128::new(re, im))
            }
        })
    }

    fn value(&mut self, of: &ElementType) -> Option<Value> {
        match of {
            ElementType::Number(dtype) => {
                let number = Value::Number(self.scalar(*dtype)?);
                self.0 = self.0.get(dtype.size().next_multiple_of(8) - dtype.size()..)?;
                Some(number)
            }
            ElementType::Array(inner) => {
                let count = self.number()?;
                let items: Option<Vec<Value>> = (0..count).map(|_| self.value(inner)).collect();
                Value::list_of((**inner).clone(), items?)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_of(of: &Block, window: &[Range<usize>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        block(&mut bytes, of, window).unwrap();
        assert_eq!(bytes.len(), length(|out| block(out, of, window)));
        assert_eq!(bytes.len() % 8, 0);
        bytes
    }

    fn blocks() -> Vec<Block> {
        let numbers = DType::ALL.map(|dtype| {
            let mut tensor = Tensor::zeros(dtype, &[3, 5]).unwrap();
            let one = ijk_types::scalar::identity(ijk_types::Monoid::Mul, dtype);
            tensor.set(&[1, 2], one);
            Block::Numbers(tensor)
        });
        let lists = (0..15).map(|n| Value::list(0..n));
        let of = ElementType::array(DType::I32.into());
        let items = lists.map(|l| Value::list_of(of.clone(), [l]).unwrap()).collect();
        let lists = Block::Lists(Lists { of, shape: vec![3, 5], items });
        numbers.into_iter().chain([lists]).collect()
    }

    #[test]
    fn windows_of_blocks_come_back_from_their_bytes() {
        for block in blocks() {
            for window in [[0..3, 0..5], [1..3, 0..5], [0..3, 1..4], [1..2, 2..3], [1..1, 0..5]] {
                let bytes = bytes_of(&block, &window);
                let mut input = Decoder(&bytes);
                let read = input.block().unwrap();
                assert!(input.0.is_empty());
                assert_eq!(read.shape(), [window[0].len(), window[1].len()]);
                let all = block.values();
                let rows = window[0].clone().map(|row| row * 5);
                let expected =
                    rows.flat_map(|row| &all[row + window[1].start..row + window[1].end]);
                assert_eq!(read.values(), expected.cloned().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn what_is_cut_off_or_absurd_is_no_block() {
        for block in blocks() {
            let bytes = bytes_of(&block, &[0..3, 0..5]);
            for end in 0..bytes.len() {
                assert!(Decoder(&bytes[..end]).block().is_none());
            }
            for at in (0..40).step_by(8) {
                let mut wrong = bytes.clone();
                wrong[at..at + 8].fill(0xff);
                assert!(Decoder(&wrong).block().is_none());
            }
        }
        assert_eq!(Decoder(&[0; 8]).text(), Some(""));
        assert_eq!(Decoder(&[1, 0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0]).text(), None);
    }
}
