use ijk::i;

fn main() {
    let _ = i!(2i*j~ij);
}
