use ijk::i;
use ijk::ndarray::array;

fn main() {
    let transpose = i!(ij~ji);
    let _ = transpose(&array![1.0, 2.0]);
}
