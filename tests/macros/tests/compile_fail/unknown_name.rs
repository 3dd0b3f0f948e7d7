use ijk::i;

fn main() {
    let _ = i!(
        m: ik*kj~ijk
        mm: m.add
        mm
    );
}
