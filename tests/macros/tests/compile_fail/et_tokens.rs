fn main() {
    let _ = ijk::et!(out[i] = in[i]);
    let _ = ijk::et!(file "no/such/file.et");
}
