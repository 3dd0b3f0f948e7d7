#![deny(deprecated)]

use ijk::i;
use ijk::ndarray::array;

fn main() {
    let same = i!(
        unused: ij~ji
        i~i
    );
    let difference = i!(
        b: i
        -ij~iij
    );
    same(&array![1]);
    difference(&array![1], &array![[1]]);
}
