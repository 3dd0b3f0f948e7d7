use ijk::i;

fn main() {
    let _ = i!(
        a: i*~i
        b: @tahn i~i
        c: 2i~i
        a.b.c
    );
}
