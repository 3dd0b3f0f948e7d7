use ijk::i;
use ijk::ndarray::array;

fn main() {
    let _ = i!(i*.~i)(&array![true, false], 1);
    let _ = i!(i*.~i)(&array![1, 2], &array![3]);
    let _ = i!(i*i~i)(&array![1, 2], 3);
}
