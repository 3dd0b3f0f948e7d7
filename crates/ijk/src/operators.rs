//! Combinators as operators. Each returns a `Result` and accepts results as operands, so that one `?` suffices for
//! `(f >> g >> h)?`.

use crate::{Error, Program};
use std::ops::{BitAnd, BitOr, Not, Shl, Shr};

type Composed = Result<Program, Error>;

macro_rules! operator {
    ($trait:ident, $method:ident, $combinator:ident) => {
        operator!(@one $trait, $method, $combinator, Program, Program);
        operator!(@one $trait, $method, $combinator, Program, &Program);
        operator!(@one $trait, $method, $combinator, &Program, Program);
        operator!(@one $trait, $method, $combinator, &Program, &Program);

        impl $trait<Program> for Composed {
            type Output = Composed;
            fn $method(self, right: Program) -> Composed {
                self?.$combinator(&right)
            }
        }
        impl $trait<&Program> for Composed {
            type Output = Composed;
            fn $method(self, right: &Program) -> Composed {
                self?.$combinator(right)
            }
        }
        impl $trait<Composed> for Program {
            type Output = Composed;
            fn $method(self, right: Composed) -> Composed {
                self.$combinator(&right?)
            }
        }
        impl $trait<Composed> for &Program {
            type Output = Composed;
            fn $method(self, right: Composed) -> Composed {
                self.$combinator(&right?)
            }
        }
    };
    (@one $trait:ident, $method:ident, $combinator:ident, $left:ty, $right:ty) => {
        impl $trait<$right> for $left {
            type Output = Composed;
            fn $method(self, right: $right) -> Composed {
                Program::$combinator(&self, &right)
            }
        }
    };
}

operator!(Shr, shr, chain);
operator!(Shl, shl, compose);
operator!(BitAnd, bitand, fanout);
operator!(BitOr, bitor, pair);

impl Not for Program {
    type Output = Composed;

    fn not(self) -> Composed {
        self.swap()
    }
}

impl Not for &Program {
    type Output = Composed;

    fn not(self) -> Composed {
        self.swap()
    }
}
