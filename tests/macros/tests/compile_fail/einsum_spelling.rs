use ijk::i;

fn main() {
    let _ = i!(ij,jk->ik);
}
