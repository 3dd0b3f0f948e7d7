use ijk::ndarray::array;

fn main() {
    let (a, b) = (array![[1.0]], array![[1.0f32]]);
    let _ = ijk::einsum!("ijk->i", &a);
    let _ = ijk::einsum!("ij,ij->i", &a.mapv(f64::from), &b);
}
