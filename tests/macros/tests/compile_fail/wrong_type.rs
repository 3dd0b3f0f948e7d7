use ijk::i;
use ijk::ndarray::array;

fn main() {
    let _ = i!(>i~.)(&array![ijk::num_complex::Complex32::new(0.0, 1.0)]);
}
