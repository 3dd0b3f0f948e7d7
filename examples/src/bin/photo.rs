//! A photograph through a program in i, from `.npy` file to `.npy` file: colours mixed by a matrix
//! product, each channel then normalised to the range 0 to 1. The program is `photo.ijk`.
//!
//! Run it with `cargo run --release -p examples --bin photo`.

use ijk::file::npy;
use ijk::ndarray::{Array2, Array3, array};
use ijk::{Program, Tensor, TensorView};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

const PROGRAM: &str = include_str!("../../photo.ijk");
const HEIGHT: usize = 1080;
const WIDTH: usize = 1920;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new("target/photo");
    std::fs::create_dir_all(folder)?;
    let (input, output) = (folder.join("photo.npy"), folder.join("stretched.npy"));
    npy::write(&input, &TensorView::from_array(&landscape()))?;
    println!("Made {}: {HEIGHT} x {WIDTH} pixels of 3 f32.\n\n{PROGRAM}", input.display());

    let program = ijk::i(PROGRAM)?;
    let (photo, mix) = (npy::read(&input)?, Tensor::from_array(warmer()));
    let result = program.apply(&[photo.view(), mix.view()])?.remove(0);
    npy::write(&output, &result.view())?;
    write_ppm(&folder.join("stretched.ppm"), &result)?;

    let seconds = best_of(10, || program.apply(&[photo.view(), mix.view()]).map(drop))?;
    let pixels = (HEIGHT * WIDTH) as f64;
    println!("{} -> {}", describe(&photo), describe(&result));
    println!(
        "{:.2} ms, {:.0} million pixels/s, mixing and normalising (best of 10)",
        seconds * 1e3,
        pixels / seconds / 1e6
    );
    println!(
        "{:.1} GFLOP/s in the matrix product of examples/matmul.ijk, 1024 x 1024 f32",
        product_rate()?
    );
    println!(
        "\nThe result is in {}; to look at it, open {}.",
        output.display(),
        folder.join("stretched.ppm").display()
    );
    Ok(())
}

/// Sky, sun and hills, pale as through a window.
fn landscape() -> Array3<f32> {
    Array3::from_shape_fn((HEIGHT, WIDTH, 3), |(h, w, c)| {
        let (y, x) = (h as f32 / HEIGHT as f32, w as f32 / WIDTH as f32);
        let ridge = 0.6 + 0.08 * (9.0 * x).sin() + 0.03 * (31.0 * x).cos();
        let sun = (-90.0 * ((x - 0.7).powi(2) + (y - 0.3).powi(2))).exp();
        let sky = [0.45, 0.6, 0.85][c] - 0.3 * y * [0.2, 0.4, 0.9][c];
        let hill = [0.3, 0.42, 0.2][c] * (1.3 - y);
        0.3 + 0.5 * if y > ridge { hill } else { sky + sun * [0.5, 0.4, 0.1][c] }
    })
}

/// More red, less blue, a little of each channel in the others.
fn warmer() -> Array2<f32> {
    array![[1.1, 0.05, 0.0], [0.1, 0.95, 0.05], [-0.05, 0.0, 0.85]]
}

fn describe(x: &Tensor) -> String {
    format!("{:?} of {}", x.shape(), x.dtype())
}

/// The least time of some runs, in seconds.
fn best_of<E>(runs: usize, mut run: impl FnMut() -> Result<(), E>) -> Result<f64, E> {
    let mut best = f64::INFINITY;
    for _ in 0..runs {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best)
}

/// Billions of additions and multiplications a second.
fn product_rate() -> Result<f64, ijk::Error> {
    const N: usize = 1024;
    let product: Program = ijk::i(include_str!("../../matmul.ijk"))?;
    let x = Array2::from_shape_fn((N, N), |(i, j)| (i as f32 - j as f32) / N as f32);
    let seconds = best_of(10, || product.apply((&x, &x)).map(drop))?;
    Ok(2.0 * (N * N * N) as f64 / seconds / 1e9)
}

/// A picture that any viewer opens, of an array of channels from 0 to 1.
fn write_ppm(path: &Path, image: &Tensor) -> Result<(), Box<dyn Error>> {
    let channels = image.as_slice::<f32>().ok_or("an image is of f32, in C order")?;
    let mut bytes = format!("P6 {WIDTH} {HEIGHT} 255\n").into_bytes();
    bytes.extend(channels.iter().map(|&x| (255.0 * x) as u8));
    Ok(std::fs::write(path, bytes)?)
}
