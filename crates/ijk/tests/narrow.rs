//! Products of narrow elements, and casts around reductions, against plain loops.

use ijk::half::bf16;
use ijk::ndarray::{Array1, Array2, Array3, Ix0, Ix2, Ix3, ShapeBuilder, arr0};

/// Numbers that repeat after long.
fn numbers(seed: u32) -> impl FnMut() -> u32 {
    let mut state = seed | 1;
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 8
    }
}

macro_rules! integers {
    ($($name:ident: $left:ty, $right:ty;)*) => {$(
        #[test]
        fn $name() -> Result<(), ijk::Error> {
            let product = ijk::i("(@i32 ij~ij | @i32 ij~ij) . +(ik*kj)~ij")?;
            for [m, k, n] in [[17, 16, 19], [33, 1100, 50], [550, 30, 140], [18, 20, 2100], [3, 40, 64]] {
                let mut next = numbers((m * n) as u32);
                let a = Array2::from_shape_fn((m, k), |_| next() as $left);
                let b = Array2::from_shape_fn((k, n), |_| next() as $right);
                let exact = Array2::from_shape_fn((m, n), |(i, j)| {
                    let term = |l: usize| i32::from(a[[i, l]]).wrapping_mul(b[[l, j]].into());
                    (0..k).fold(0i32, |sum, l| sum.wrapping_add(term(l)))
                });
                assert_eq!(product.apply_one::<i32, Ix2, _>((&a, &b))?, exact);
                let turned = |x: &Array2<$left>| {
                    let mut y = Array2::zeros(x.dim().f());
                    y.assign(x);
                    y
                };
                assert_eq!(product.apply_one::<i32, Ix2, _>((&turned(&a), &b))?, exact);
                let square: Array2<$left> = ijk::einsum("ik,jk->ij", [&a, &a])?.into_array()?;
                let own = |i: usize, j: usize| {
                    let term = |l: usize| a[[i, l]].wrapping_mul(a[[j, l]]);
                    (0..k).fold(0, |sum: $left, l| sum.wrapping_add(term(l)))
                };
                assert_eq!(square, Array2::from_shape_fn((m, m), |(i, j)| own(i, j)));
            }
            Ok(())
        }
    )*};
}

integers! {
    signed_bytes: i8, i8;
    unsigned_bytes: u8, u8;
    signed_by_unsigned: i8, u8;
    unsigned_by_signed: u8, i8;
    words_by_bytes: i16, u8;
    words: i16, i16;
}

#[test]
fn bytes_in_batches() -> Result<(), ijk::Error> {
    let product = ijk::i("(@i32 bij~bij | @i32 bij~bij) . +(bik*bkj)~bij")?;
    for batches in [2, 13] {
        let mut next = numbers(batches as u32);
        let a = Array3::from_shape_fn((batches, 20, 40), |_| next() as i8);
        let b = Array3::from_shape_fn((batches, 40, 33), |_| next() as u8);
        let exact = Array3::from_shape_fn((batches, 20, 33), |(n, i, j)| {
            (0..40).map(|k| i32::from(a[[n, i, k]]) * i32::from(b[[n, k, j]])).sum::<i32>()
        });
        assert_eq!(product.apply_one::<i32, Ix3, _>((&a, &b))?, exact);
    }
    Ok(())
}

#[test]
fn brain_floats_are_rounded_once() -> Result<(), ijk::Error> {
    for [m, k, n] in [[20, 40, 33], [5, 3, 4], [40, 600, 16]] {
        let mut next = numbers(m as u32);
        let mut small = |_| bf16::from_f32((next() % 17) as f32 / 8.0 - 1.0);
        let a = Array2::from_shape_fn((m, k), &mut small);
        let b = Array2::from_shape_fn((k, n), &mut small);
        let exact = Array2::from_shape_fn((m, n), |(i, j)| {
            let term = |l: usize| a[[i, l]].to_f32() * b[[l, j]].to_f32();
            bf16::from_f32((0..k).map(term).sum())
        });
        assert_eq!(ijk::einsum("ij,jk->ik", [&a, &b])?.into_array::<bf16, Ix2>()?, exact);
        assert_eq!(ijk::i("+(ik*kj)~ij")?.apply_one::<bf16, Ix2, _>((&a, &b))?, exact);
    }
    Ok(())
}

/// A reduction of f64 or of integers rounds f16 and bf16 before it converts them.
#[test]
fn conversions_are_rounded_as_written() -> Result<(), ijk::Error> {
    let ones = Array1::from_elem(300, 1.0);
    for sum in ["+(@f64(@f16 i-1e-7))~.", "@f16 i~i . i-1e-7~i . @f64 i~i . +i~."] {
        let found: f64 = ijk::i(sum)?.apply_one::<f64, Ix0, _>((&ones,))?.into_scalar();
        assert_eq!(found, 300.0, "{sum}");
    }
    // So does one of f32, beside operands that are no bf16.
    let floats = ones.mapv(|one: f64| one as f32);
    let sum = ijk::i("+(@f32(^@bf16 i)+i)~.")?;
    let found: f32 = sum.apply_one::<f32, Ix0, _>((&floats, &floats))?.into_scalar();
    assert_eq!(found, 300.0 * 3.71875);
    // The base of the logarithm is 1, so that the quotient is NaN, and not great.
    let most: u32 = ijk::i(">(@u32(@bf16 i$(1e-7+@bf16(.))))~.")?
        .apply_one::<u32, Ix0, _>((&ones, &arr0(1.0)))?
        .into_scalar();
    assert_eq!(most, 0);
    for most in [">(@i32(@bf16 i-1e-7))~.", "@bf16 i~i . i-1e-7~i . @i32 i~i . >i~."] {
        let found: i32 = ijk::i(most)?.apply_one::<i32, Ix0, _>((&ones,))?.into_scalar();
        assert_eq!(found, 1, "{most}");
    }
    Ok(())
}

#[test]
fn pictures_become_floats() -> Result<(), ijk::Error> {
    let mut next = numbers(3);
    let picture = Array2::from_shape_fn((64, 48), |_| next() as u8);
    let normal = ijk::i("@f32 ij~ij . ij/255~ij . ij-0.5~ij . ij*4~ij")?;
    let found: Array2<f32> = normal.apply_one((&picture,))?;
    let exact = picture.mapv(|x| (f32::from(x) / 255.0 - 0.5) * 4.0);
    assert_eq!(found, exact);
    let bytes = ijk::i("ij/4~ij . ij+0.5~ij . ij*255~ij . @round ij~ij . @u8 ij~ij")?;
    assert_eq!(bytes.apply_one::<u8, Ix2, _>((&found,))?, picture);
    Ok(())
}

/// One step multiplies narrow elements as they are stored: casts are part of it.
#[test]
fn products_of_casts_are_one_step() {
    let program = ijk::et("y[i,j] = I32(a[i,k]) * I32(b[k,j])\n\ny").unwrap();
    for dtype in [ijk::DType::I8, ijk::DType::U8, ijk::DType::I16] {
        let bindings = ijk::et::Bindings::new().outline("a", dtype, &[128, 64]);
        let bindings = bindings.outline("b", dtype, &[64, 96]);
        let explained = program.explain(ijk::Engine::global(), &bindings).unwrap();
        assert_eq!(explained[0].plan().steps.len(), 1, "{}", explained[0]);
    }
}
