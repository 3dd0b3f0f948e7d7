fn main() {
    let _ = ijk::et!("out[i] = in[i");
}
