use ijk::i;

fn main() {
    let _ = i!(m: ik*~ijk m);
}
