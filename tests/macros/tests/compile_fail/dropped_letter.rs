use ijk::i;

fn main() {
    let _ = i!(ik*kj~ij);
}
