//! Arrays of any layout, as scalars in memory.

use super::random::Random;
use ijk_tensor::{TensorView, TensorViewMut};
use ijk_types::{C64, C128, DType, Element, Scalar, UnaryOp, scalar, with_element};

/// Memory of an array: elements in multiples of 16 bytes, and the offset of index 0.
#[derive(Clone)]
pub struct Array {
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub strides: Vec<isize>,
    memory: Vec<u64>,
    origin: usize,
}

impl Array {
    /// An array of zeros, with room for the strides.
    pub fn zeros(dtype: DType, shape: &[usize], strides: &[isize]) -> Self {
        let (mut least, mut greatest) = (0, 0);
        for (&n, &s) in shape.iter().zip(strides) {
            let reach = s * (n.max(1) as isize - 1);
            least += reach.min(0);
            greatest += reach.max(0);
        }
        let len = (greatest - least + 1) as usize;
        let memory = vec![0; (len * dtype.size()).div_ceil(8)];
        let (shape, strides) = (shape.to_vec(), strides.to_vec());
        Self { dtype, shape, strides, memory, origin: -least as usize }
    }

    /// Random elements.
    pub fn random(dtype: DType, shape: &[usize], strides: &[isize], random: &mut Random) -> Self {
        let mut array = Self::zeros(dtype, shape, strides);
        let len = array.memory.len() * 8 / dtype.size();
        for n in 0..len {
            let value = scalar(dtype, random);
            array.put(n, value);
        }
        array
    }

    fn put(&mut self, n: usize, value: Scalar) {
        let size = self.dtype.size();
        assert!((n + 1) * size <= self.memory.len() * 8 && value.dtype() == self.dtype);
        let start = self.memory.as_mut_ptr().cast::<u8>();
        // SAFETY: element `n` is in the memory, which is aligned to 8 bytes.
        unsafe {
            let at = start.add(n * size);
            let bytes = value.to_ne_bytes();
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), at, size);
        }
    }

    /// The element at an offset from index 0.
    pub fn at(&self, offset: isize) -> Scalar {
        let n = self.origin.checked_add_signed(offset).expect("within the array");
        let size = self.dtype.size();
        assert!((n + 1) * size <= self.memory.len() * 8);
        // SAFETY: element `n` is in the memory, which is aligned to 8 bytes.
        unsafe {
            let at = self.memory.as_ptr().cast::<u8>().add(n * size);
            with_element!(self.dtype, T => at.cast::<T>().read().into_scalar())
        }
    }

    /// Sets the element at an offset from index 0.
    pub fn set(&mut self, offset: isize, value: Scalar) {
        let n = self.origin.checked_add_signed(offset).expect("within the array");
        self.put(n, value);
    }

    pub fn view(&self) -> TensorView<'_> {
        let start = self.memory.as_ptr().cast::<u8>();
        // SAFETY: the memory has an initialised element for each index, by construction.
        unsafe {
            let origin = start.add(self.origin * self.dtype.size());
            TensorView::from_raw_parts(origin, self.dtype, &self.shape, &self.strides)
        }
    }

    pub fn view_mut(&mut self) -> TensorViewMut<'_> {
        let start = self.memory.as_mut_ptr().cast::<u8>();
        // SAFETY: as for `view`; strides of results separate elements.
        unsafe {
            let origin = start.add(self.origin * self.dtype.size());
            TensorViewMut::from_raw_parts(origin, self.dtype, &self.shape, &self.strides)
        }
    }

    /// The bytes, including gaps.
    pub fn bytes(&self) -> &[u64] {
        &self.memory
    }

    /// Offsets of all elements.
    pub fn offsets(&self) -> Vec<isize> {
        let mut offsets = vec![0];
        for (&n, &s) in self.shape.iter().zip(&self.strides) {
            let steps = |&o: &isize| (0..n as isize).map(move |i| o + i * s);
            offsets = offsets.iter().flat_map(steps).collect();
        }
        offsets
    }
}

/// A random number: small, with occasional special values.
pub fn scalar(dtype: DType, random: &mut Random) -> Scalar {
    let special = random.one_in(40);
    let float = match special {
        true => random.pick(&[0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e30]),
        false => random.unit() * 4.0 - 2.0,
    };
    let integer = random.below(11) as i64 - 4;
    match dtype {
        DType::Bool => Scalar::Bool(integer > 0),
        DType::I32 => Scalar::I32(if special { i32::MIN } else { integer as i32 }),
        DType::I64 => Scalar::I64(if special { i64::MIN } else { integer }),
        DType::F32 => Scalar::F32(float as f32),
        DType::F64 => Scalar::F64(float),
        DType::C64 => Scalar::C64(C64::new(float as f32, random.unit() as f32)),
        DType::C128 => Scalar::C128(C128::new(float, random.unit())),
        _ => scalar::unary(UnaryOp::Cast(dtype), Scalar::F64(float)).expect("a cast"),
    }
}

/// Returns true if two values are bitwise equal, or both NaN.
pub fn same(a: Scalar, b: Scalar) -> bool {
    let bits32 = |x: f32, y: f32| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
    let bits64 = |x: f64, y: f64| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
    match (a, b) {
        (Scalar::F32(x), Scalar::F32(y)) => bits32(x, y),
        (Scalar::F64(x), Scalar::F64(y)) => bits64(x, y),
        (Scalar::C64(x), Scalar::C64(y)) => bits32(x.re, y.re) && bits32(x.im, y.im),
        (Scalar::C128(x), Scalar::C128(y)) => bits64(x.re, y.re) && bits64(x.im, y.im),
        (Scalar::F16(_), Scalar::F16(_)) | (Scalar::BF16(_), Scalar::BF16(_)) => {
            bits64(a.as_f64(), b.as_f64())
        }
        _ => a == b,
    }
}

/// Absolute value of a number.
pub fn modulus(a: Scalar) -> f64 {
    match a {
        Scalar::Bool(x) => f64::from(u8::from(x)),
        Scalar::I32(x) => f64::from(x).abs(),
        Scalar::I64(x) => (x as f64).abs(),
        Scalar::F32(x) => f64::from(x).abs(),
        Scalar::F64(x) => x.abs(),
        Scalar::C64(x) => f64::from(x.re).hypot(f64::from(x.im)),
        Scalar::C128(x) => x.re.hypot(x.im),
        other => other.as_f64().abs(),
    }
}

/// Absolute value of a difference.
pub fn distance(a: Scalar, b: Scalar) -> f64 {
    match (a, b) {
        (Scalar::F32(x), Scalar::F32(y)) => (f64::from(x) - f64::from(y)).abs(),
        (Scalar::F64(x), Scalar::F64(y)) => (x - y).abs(),
        (Scalar::C64(x), Scalar::C64(y)) => modulus(Scalar::C64(x - y)),
        (Scalar::C128(x), Scalar::C128(y)) => modulus(Scalar::C128(x - y)),
        _ if a == b => 0.0,
        _ => f64::INFINITY,
    }
}
