use ijk::ndarray::array;

fn main() {
    let a = array![[1.0]];
    let _ = (ijk::einsum!("ij->ij", &a), ijk::einsum!("i.j,jk->iz", &a, &a));
    let _ = ijk::try_einsum!(
        "ij,
         j1->ii",
        &a,
        &a
    );
}
