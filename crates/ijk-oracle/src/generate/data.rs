//! Random arguments: elements and layouts.

use super::Rng;
use crate::Value;
use crate::reference::surface::Array;
use crate::reference::value::position;
use ijk_types::{C64, C128, DType, Scalar, bf16, f16};

/// An argument: its elements and its memory layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The elements.
    pub value: Value,
    /// Memory layout.
    pub layout: Layout,
}

impl Input {
    /// For each argument, the index of the first that has the same bits, and lies in the same way.
    pub fn firsts(inputs: &[Self]) -> Vec<usize> {
        let same = |a: &Self, b: &Self| a.layout == b.layout && a.value.same(&b.value);
        let first = |input| inputs.iter().position(|other| same(other, input));
        inputs.iter().enumerate().map(|(at, input)| first(input).unwrap_or(at)).collect()
    }

    /// Its element type and shape.
    pub fn signature(&self) -> (DType, Vec<u64>) {
        (self.value.dtype, self.value.shape.iter().map(|&n| n as u64).collect())
    }
}

/// Memory layout of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// The axes from the outermost (longest stride) to the innermost.
    pub order: Vec<usize>,
    /// For each axis, the step between elements; negative if the axis is reversed, 0 if all its elements share memory.
    pub steps: Vec<isize>,
}

/// An array in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Strided {
    /// All memory, including elements between those of the array.
    pub memory: Vec<Scalar>,
    /// Position of the element at index 0, 0, ….
    pub offset: usize,
    /// Stride of each axis.
    pub strides: Vec<isize>,
}

impl Layout {
    /// C order without gaps.
    pub fn contiguous(rank: usize) -> Self {
        Self { order: (0..rank).collect(), steps: vec![1; rank] }
    }

    /// A random layout.
    pub fn random(rng: &mut Rng, rank: usize) -> Self {
        let mut layout = Self::contiguous(rank);
        match rng.below(8) {
            0..=3 => {}
            4 => layout.order.reverse(),
            5 => rng.shuffle(&mut layout.order),
            _ => {
                rng.shuffle(&mut layout.order);
                layout.steps = (0..rank).map(|_| *rng.pick(&[1, 1, 2, -1, -2, 0, 3])).collect();
            }
        }
        layout
    }

    /// A random layout of a result, whose elements are distinct.
    pub fn random_apart(rng: &mut Rng, rank: usize) -> Self {
        let mut layout = Self::random(rng, rank);
        layout.steps.iter_mut().filter(|step| **step == 0).for_each(|step| *step = 1);
        layout
    }

    /// Lays elements out. Gaps of an array with many axes would multiply, so beyond some size there are none.
    pub fn lay_out(&self, value: &Value) -> Strided {
        let rank = value.shape.len();
        let (mut strides, mut offset, mut size) = (vec![0; rank], 0, 1);
        for &axis in self.order.iter().rev() {
            let (mut step, extent) = (self.steps[axis], value.shape[axis]);
            if size * step.unsigned_abs().max(1) * extent > MOST_ELEMENTS {
                step = step.signum();
            }
            strides[axis] = step * size as isize;
            let room = step.unsigned_abs() * extent.saturating_sub(1) + 1;
            if step < 0 && extent > 0 {
                offset += strides[axis].unsigned_abs() * (extent - 1);
            }
            size *= room;
        }
        if value.data.is_empty() {
            return Strided { memory: Vec::new(), offset: 0, strides: vec![0; rank] };
        }
        let mut strided = Strided { memory: vec![odd(value.dtype); size], offset, strides };
        strided.fill(value);
        strided
    }
}

/// Elements of memory up to which an array is laid out with gaps.
const MOST_ELEMENTS: usize = 1 << 22;

/// A conspicuous element, for memory that does not belong to an array.
fn odd(dtype: DType) -> Scalar {
    match dtype {
        DType::Bool => Scalar::Bool(true),
        DType::I32 => Scalar::I32(-77_777),
        DType::I64 => Scalar::I64(-77_777),
        DType::U8 => Scalar::U8(77),
        DType::U16 => Scalar::U16(7_777),
        DType::U32 => Scalar::U32(77_777),
        DType::U64 => Scalar::U64(77_777),
        DType::I8 => Scalar::I8(-77),
        DType::I16 => Scalar::I16(-7_777),
        DType::F16 => Scalar::F16(f16::from_f32(-7_776.0)),
        DType::BF16 => Scalar::BF16(bf16::from_f32(-77_824.0)),
        DType::F32 => Scalar::F32(-77_777.0),
        DType::F64 => Scalar::F64(-77_777.0),
        DType::C64 => Scalar::C64(C64::new(-77_777.0, 7.0)),
        DType::C128 => Scalar::C128(C128::new(-77_777.0, 7.0)),
    }
}

impl Strided {
    fn fill(&mut self, value: &Value) {
        let mut index = vec![0; value.shape.len()];
        for &element in &value.data {
            let steps = index.iter().zip(&self.strides).map(|(&i, &s)| i as isize * s);
            let at = self.offset as isize + steps.sum::<isize>();
            self.memory[at as usize] = element;
            crate::reference::surface::advance(&mut index, &value.shape);
        }
    }
}

/// Distribution of the numbers in a program's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Integers -4 to 4.
    Small,
    /// Integers 1 to 5.
    Positive,
    /// Multiples of 1/8.
    Dyadic,
    /// Real numbers of size 1.
    Uniform,
    /// Real numbers of all sizes.
    Wide,
    /// Including NaN, infinities, -0.0, and the least and greatest integers.
    Special,
}

impl Flavour {
    /// A random distribution.
    pub fn random(rng: &mut Rng) -> Self {
        rng.weighted(&[
            (6, Self::Small),
            (3, Self::Positive),
            (2, Self::Dyadic),
            (4, Self::Uniform),
            (1, Self::Wide),
            (2, Self::Special),
        ])
    }
}

/// A random argument of that type and shape.
pub(crate) fn input(rng: &mut Rng, (dtype, shape): &Array, flavour: Flavour) -> Input {
    let size = shape.iter().product();
    let data = (0..size).map(|_| element(rng, *dtype, flavour)).collect();
    let mut value = Value { dtype: *dtype, shape: shape.clone(), data };
    let layout = Layout::random(rng, shape.len());
    repeat(&mut value, &layout);
    Input { value, layout }
}

/// Makes elements equal along axes whose elements share memory.
pub(crate) fn repeat(value: &mut Value, layout: &Layout) {
    let mut index = vec![0; value.shape.len()];
    for at in 0..value.data.len() {
        let first =
            index.iter().zip(&layout.steps).map(|(&i, &step)| if step == 0 { 0 } else { i });
        value.data[at] = value.data[position(&value.shape, first)];
        crate::reference::surface::advance(&mut index, &value.shape);
    }
}

fn element(rng: &mut Rng, dtype: DType, flavour: Flavour) -> Scalar {
    match dtype {
        DType::Bool => Scalar::Bool(rng.chance(0.5)),
        DType::I32 => Scalar::I32(integer(rng, flavour, i32::MIN.into(), i32::MAX.into()) as i32),
        DType::I64 => Scalar::I64(integer(rng, flavour, i64::MIN, i64::MAX)),
        DType::U8 => Scalar::U8(integer(rng, flavour, 0, u8::MAX.into()) as u8),
        DType::U16 => Scalar::U16(integer(rng, flavour, 0, u16::MAX.into()) as u16),
        DType::U32 => Scalar::U32(integer(rng, flavour, 0, u32::MAX.into()) as u32),
        DType::U64 => Scalar::U64(integer(rng, flavour, 0, -1) as u64),
        DType::I8 => Scalar::I8(integer(rng, flavour, i8::MIN.into(), i8::MAX.into()) as i8),
        DType::I16 => Scalar::I16(integer(rng, flavour, i16::MIN.into(), i16::MAX.into()) as i16),
        DType::F16 => Scalar::F16(f16::from_f64(real(rng, flavour))),
        DType::BF16 => Scalar::BF16(bf16::from_f64(real(rng, flavour))),
        DType::F32 => Scalar::F32(real(rng, flavour) as f32),
        DType::F64 => Scalar::F64(real(rng, flavour)),
        DType::C64 => Scalar::C64(C64::new(real(rng, flavour) as f32, real(rng, flavour) as f32)),
        DType::C128 => Scalar::C128(C128::new(real(rng, flavour), real(rng, flavour))),
    }
}

fn integer(rng: &mut Rng, flavour: Flavour, least: i64, greatest: i64) -> i64 {
    match flavour {
        Flavour::Positive => rng.between(1, 5) as i64,
        Flavour::Special if rng.chance(0.2) => *rng.pick(&[least, greatest, least + 1, 0, -1]),
        Flavour::Wide => (rng.bits() as i64) >> rng.between(34, 62),
        _ => rng.between(0, 8) as i64 - 4,
    }
}

fn real(rng: &mut Rng, flavour: Flavour) -> f64 {
    match flavour {
        Flavour::Small => rng.between(0, 8) as f64 - 4.0,
        Flavour::Positive => rng.between(1, 5) as f64,
        Flavour::Dyadic => (rng.between(0, 64) as f64 - 32.0) / 8.0,
        Flavour::Uniform => 4.0 * rng.unit() - 2.0,
        Flavour::Wide => (rng.unit() - 0.5) * 10f64.powf(24.0 * rng.unit() - 12.0),
        Flavour::Special if rng.chance(0.3) => *rng.pick(&SPECIAL),
        Flavour::Special => 4.0 * rng.unit() - 2.0,
    }
}

const SPECIAL: [f64; 8] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 1e-40, 3e38, -1.0];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_lie_where_the_strides_say() {
        let mut rng = Rng::new(3);
        for _ in 0..200 {
            let shape: Vec<usize> = (0..rng.below(4)).map(|_| rng.below(4)).collect();
            let input = input(&mut rng, &(DType::I64, shape.clone()), Flavour::Small);
            let strided = input.layout.lay_out(&input.value);
            let mut index = vec![0; shape.len()];
            for &element in &input.value.data {
                let steps = index.iter().zip(&strided.strides).map(|(&i, &s)| i as isize * s);
                let at = strided.offset as isize + steps.sum::<isize>();
                assert_eq!(strided.memory[at as usize], element);
                crate::reference::surface::advance(&mut index, &shape);
            }
        }
    }
}
