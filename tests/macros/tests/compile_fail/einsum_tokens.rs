use ijk::ndarray::array;

const SUBSCRIPTS: &str = "ij->ji";

fn main() {
    let a = array![[1.0]];
    let _ = ijk::einsum!(SUBSCRIPTS, &a);
    let _ = ijk::einsum!("\u{69}->", &a);
    let _ = ijk::einsum!(3, &a);
}
