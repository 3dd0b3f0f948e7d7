use ijk::i;

fn main() {
    let _ = i!(ij~ji . ik*kj~ijk . i*j~ij . (I & I) . ij~ji);
}
