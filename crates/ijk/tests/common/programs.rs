//! Runs of programs in Einsum Tuple.

use ijk::et::Bindings;
use ijk::{Engine, Tensor};

/// The result `y` of a program, the same for one thread and several.
pub fn run(source: &str, bound: &[(&str, &Tensor)], strict: bool) -> Tensor {
    let program = ijk::et(source).unwrap();
    let on = |threads: usize| {
        let engine = Engine::builder().threads(threads).strict(strict).build();
        let mut bindings = Bindings::new();
        for (name, array) in bound {
            bindings = bindings.bind(*name, array.view());
        }
        program.run_on(&engine, bindings).unwrap().take("y").unwrap()
    };
    let (one, several) = (on(1), on(3));
    assert_eq!(one.as_bytes(), several.as_bytes(), "{source}");
    one
}
