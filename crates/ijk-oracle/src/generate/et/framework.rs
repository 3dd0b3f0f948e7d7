//! Framework calls, which are parsed and checked but not run here.

use super::build::{SPAN, dims, integer, name, rank, sum};
use super::world::World;
use ijk_syntax::et::ast::{Call, CallArg, Index};

impl World<'_> {
    /// Adds a framework call at times.
    pub fn call(&mut self) {
        if !self.rng.chance(0.06) {
            return;
        }
        let paths: [&[&str]; 4] =
            [&["np", "abs"], &["tf", "nn", "convolution"], &["f"], &["jnp", "tile"]];
        let path = self.rng.pick(&paths).iter().map(|part| name(part)).collect();
        let array = self.program.statements[0].left.array.text.clone();
        let mut args = vec![(None, CallArg::Array(name(&array)))];
        for (at, keyword) in ["k", "axis", "padding"].into_iter().enumerate() {
            if self.rng.chance(0.6) {
                args.push((Some(name(keyword)), self.argument(at)));
            }
        }
        self.program.call = Some(Call { path, args, span: SPAN });
    }

    fn argument(&mut self, kind: usize) -> CallArg {
        let used = self.program.constraints.first().map(|c| c.tuple.text.clone());
        let tuple = used.map_or(integer(2), |name| super::build::tuple(&name));
        let extents = |e: Index| match dims(vec![e]) {
            Index::Dims(of, span) => CallArg::Dims(of, span),
            _ => CallArg::Integer(1, SPAN),
        };
        match (kind, self.rng.below(4)) {
            (0, 0) => CallArg::Integer(3, SPAN),
            (0, _) => CallArg::List(vec![CallArg::Integer(1, SPAN), extents(tuple)], SPAN),
            (1, 0 | 1) => match rank(vec![tuple]) {
                Index::Rank(of, span) => CallArg::Rank(of, span),
                _ => CallArg::Integer(1, SPAN),
            },
            (1, _) => extents(sum(tuple, false, integer(1))),
            (_, 0) => CallArg::Tensor(Box::new(extents(tuple)), SPAN),
            _ => CallArg::Literal("'VALID'".into(), SPAN),
        }
    }
}
