use ijk::i;
use ijk::ndarray::array;

fn main() {
    let add = i!(i+i~i);
    let _ = add(&array![1.0], &array![1.0]);
    let _ = add(&array![1], &array![1]);
}
