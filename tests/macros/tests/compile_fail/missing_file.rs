use ijk::i;

fn main() {
    let _ = i!(file "no/such/file.ijk");
}
