use ijk::ndarray::array;

fn main() {
    let a = array![[1.0]];
    let _ = ijk::einsum!("ij,jk->ik", &a);
    let _ = ijk::try_einsum!("ij->ji", &a, &a);
    let _ = ijk::into_einsum!("ij->ji", &mut a);
    let _ = ijk::einsum!("");
}
