//! Parcels as bytes, for workers of other processes.
//!
//! Each number is a `u64`, and elements are padded to a multiple of eight bytes, so that everything stays
//! aligned. Only the elements of a part travel, not the block that it is part of.

use super::parcel::{Parcel, Parcels};
use crate::run::part::Part;
use crate::value::Lists;
use crate::{Block, ElementType, Value};
use ijk_tensor::Tensor;
use ijk_types::{C64, C128, DType, Scalar};
use std::io::Write;
use std::sync::Arc;
use timely::bytes::arc::Bytes;
use timely::dataflow::channels::ContainerBytes;

impl ContainerBytes for Parcels {
    fn from_bytes(bytes: Bytes) -> Self {
        let mut input = Input(&bytes);
        let count = input.number();
        Self((0..count).map(|_| input.parcel()).collect())
    }

    fn length_in_bytes(&self) -> usize {
        let mut length = Length(0);
        // Writing to a count cannot fail.
        write(self, &mut length).unwrap_or_default();
        length.0
    }

    fn into_bytes<W: Write>(&self, writer: &mut W) {
        write(self, writer).expect("the buffer has the length that was asked for");
    }
}

/// Counts what is written.
struct Length(usize);

impl Write for Length {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn write(parcels: &Parcels, out: &mut impl Write) -> std::io::Result<()> {
    number(out, parcels.0.len())?;
    for Parcel { to, need, part } in &parcels.0 {
        [to, need].into_iter().try_for_each(|&n| number(out, n))?;
        list(out, &part.axes)?;
        let block = part.dense().map_err(std::io::Error::other)?;
        list(out, block.shape())?;
        match &*block {
            Block::Numbers(tensor) => {
                element_type(out, &tensor.dtype().into())?;
                elements(out, tensor)?;
            }
            Block::Lists(lists) => {
                element_type(out, &ElementType::array(lists.of.clone()))?;
                lists.items.iter().try_for_each(|item| value(out, item))?;
            }
        }
    }
    Ok(())
}

fn number(out: &mut impl Write, n: usize) -> std::io::Result<()> {
    out.write_all(&(n as u64).to_le_bytes())
}

fn list(out: &mut impl Write, numbers: &[usize]) -> std::io::Result<()> {
    number(out, numbers.len())?;
    numbers.iter().try_for_each(|&n| number(out, n))
}

/// The depth of nested lists, then the type of their numbers.
fn element_type(out: &mut impl Write, of: &ElementType) -> std::io::Result<()> {
    let (mut depth, mut of) = (0, of);
    while let ElementType::Array(inner) = of {
        (depth, of) = (depth + 1, inner);
    }
    number(out, depth)?;
    number(out, of.number().map_or(0, |dtype| dtype as usize))
}

/// Numbers, padded.
fn elements(out: &mut impl Write, tensor: &Tensor) -> std::io::Result<()> {
    macro_rules! dense {
        ($($T:ty)*) => {$(
            if let Some(numbers) = tensor.as_slice::<$T>() {
                let mut buffer: Vec<u8> = Vec::with_capacity(CHUNK);
                for chunk in numbers.chunks(CHUNK / size_of::<$T>()) {
                    buffer.clear();
                    chunk.iter().for_each(|x| buffer.extend_from_slice(&x.to_le_bytes()));
                    out.write_all(&buffer)?;
                }
            }
        )*};
    }
    dense!(i32 i64 f32 f64);
    match tensor.dtype() {
        DType::Bool | DType::C64 | DType::C128 => {
            tensor.view().iter_scalars().try_for_each(|x| scalar(out, x))?;
        }
        _ => {}
    }
    let bytes = tensor.byte_len();
    out.write_all(&[0; 8][..bytes.next_multiple_of(8) - bytes])
}

/// Bytes that are put together at a time.
const CHUNK: usize = 4096;

fn scalar(out: &mut impl Write, x: Scalar) -> std::io::Result<()> {
    match x {
        Scalar::Bool(x) => out.write_all(&[u8::from(x)]),
        Scalar::I32(x) => out.write_all(&x.to_le_bytes()),
        Scalar::I64(x) => out.write_all(&x.to_le_bytes()),
        Scalar::F32(x) => out.write_all(&x.to_le_bytes()),
        Scalar::F64(x) => out.write_all(&x.to_le_bytes()),
        Scalar::C64(x) => [x.re, x.im].iter().try_for_each(|x| out.write_all(&x.to_le_bytes())),
        Scalar::C128(x) => [x.re, x.im].iter().try_for_each(|x| out.write_all(&x.to_le_bytes())),
    }
}

/// An element that may be a list; numbers are padded.
fn value(out: &mut impl Write, of: &Value) -> std::io::Result<()> {
    match of {
        Value::Number(x) => {
            scalar(out, *x)?;
            let bytes = x.dtype().size();
            out.write_all(&[0; 8][..bytes.next_multiple_of(8) - bytes])
        }
        Value::List(list) => {
            number(out, list.items().len())?;
            list.items().iter().try_for_each(|item| value(out, item))
        }
    }
}

/// What is left of bytes that a process of the same version wrote.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (first, rest) = self.0.split_first_chunk().expect("a whole message");
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> usize {
        u64::from_le_bytes(self.take()) as usize
    }

    fn list(&mut self) -> Vec<usize> {
        let count = self.number();
        (0..count).map(|_| self.number()).collect()
    }

    fn skip(&mut self, bytes: usize) {
        self.0 = &self.0[bytes.next_multiple_of(8) - bytes..];
    }

    fn parcel(&mut self) -> Parcel {
        let [to, need] = [(); 2].map(|()| self.number());
        let (axes, shape) = (self.list(), self.list());
        let (depth, dtype) = (self.number(), DType::ALL[self.number()]);
        let count: usize = shape.iter().product();
        let block = match depth {
            0 => {
                let numbers: Vec<Scalar> = (0..count).map(|_| self.scalar(dtype)).collect();
                self.skip(count * dtype.size());
                let tensor = Tensor::from_scalars(dtype, &shape, numbers);
                Block::Numbers(tensor.unwrap_or_else(|error| panic!("{error}")))
            }
            _ => {
                let of = (1..depth).fold(ElementType::from(dtype), |of, _| ElementType::array(of));
                let items = (0..count).map(|_| self.value(&ElementType::array(of.clone())));
                let items = items.collect();
                Block::Lists(Lists { of, shape, items })
            }
        };
        let window = block.shape().iter().map(|&extent| 0..extent).collect();
        Parcel { to, need, part: Part::new(Arc::new(block), window, axes) }
    }

    fn scalar(&mut self, dtype: DType) -> Scalar {
        match dtype {
            DType::Bool => Scalar::Bool(self.take::<1>() != [0]),
            DType::I32 => Scalar::I32(i32::from_le_bytes(self.take())),
            DType::I64 => Scalar::I64(i64::from_le_bytes(self.take())),
            DType::F32 => Scalar::F32(f32::from_le_bytes(self.take())),
            DType::F64 => Scalar::F64(f64::from_le_bytes(self.take())),
            DType::C64 => {
                let [re, im] = [(); 2].map(|()| f32::from_le_bytes(self.take()));
                Scalar::C64(C64::new(re, im))
            }
            DType::C128 => {
                let [re, im] = [(); 2].map(|()| f64::from_le_bytes(self.take()));
                Scalar::C128(C128::new(re, im))
            }
        }
    }

    fn value(&mut self, of: &ElementType) -> Value {
        match of {
            ElementType::Number(dtype) => {
                let number = Value::Number(self.scalar(*dtype));
                self.skip(dtype.size());
                number
            }
            ElementType::Array(inner) => {
                let count = self.number();
                let items: Vec<Value> = (0..count).map(|_| self.value(inner)).collect();
                Value::list_of((**inner).clone(), items).unwrap_or_else(|| Value::zero(of))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(block: Block, window: Vec<std::ops::Range<usize>>) {
        let part = Part::new(Arc::new(block), window, vec![2, 0]);
        let parcel = Parcel { to: 3, need: 7, part };
        let parcels = Parcels(vec![parcel.clone(), parcel.clone()]);
        let mut bytes = Vec::new();
        parcels.into_bytes(&mut bytes);
        assert_eq!(bytes.len(), parcels.length_in_bytes());
        assert_eq!(bytes.len() % 8, 0);
        let read = Parcels::from_bytes(timely::bytes::arc::BytesMut::from(bytes).freeze());
        for other in &read.0 {
            assert_eq!((other.to, other.need), (3, 7));
            assert_eq!(other.part.axes, [2, 0]);
            assert_eq!(*other.part.dense().unwrap(), *parcel.part.dense().unwrap());
        }
        assert_eq!(read.0.len(), 2);
    }

    #[test]
    fn parcels_come_back_from_their_bytes() {
        for dtype in DType::ALL {
            let mut tensor = Tensor::zeros(dtype, &[3, 5]).unwrap();
            let one = ijk_types::scalar::identity(ijk_types::Monoid::Mul, dtype);
            tensor.set(&[1, 2], one);
            round_trip(Block::Numbers(tensor), vec![1..3, 2..5]);
        }
        let lists = (0..4).map(|n| Value::list(0..n));
        let nested: Vec<Value> = lists
            .map(|list| Value::list_of(ElementType::array(DType::I32.into()), [list]).unwrap())
            .collect();
        let of = ElementType::array(DType::I32.into());
        round_trip(Block::Lists(Lists { of, shape: vec![2, 2], items: nested }), vec![0..2, 1..2]);
    }
}
