//! Combinators as operators. Each gives a `Result`, and takes results as operands, so that
//! `(f >> g >> h)?` reads as it should.

use crate::{Component, Error};
use std::ops::{BitAnd, BitOr, Not, Shl, Shr};

type Composed = Result<Component, Error>;

macro_rules! operator {
    ($trait:ident, $method:ident, $combinator:ident) => {
        operator!(@one $trait, $method, $combinator, Component, Component);
        operator!(@one $trait, $method, $combinator, Component, &Component);
        operator!(@one $trait, $method, $combinator, &Component, Component);
        operator!(@one $trait, $method, $combinator, &Component, &Component);

        impl $trait<Component> for Composed {
            type Output = Composed;
            fn $method(self, right: Component) -> Composed {
                self?.$combinator(&right)
            }
        }
        impl $trait<&Component> for Composed {
            type Output = Composed;
            fn $method(self, right: &Component) -> Composed {
                self?.$combinator(right)
            }
        }
        impl $trait<Composed> for Component {
            type Output = Composed;
            fn $method(self, right: Composed) -> Composed {
                self.$combinator(&right?)
            }
        }
        impl $trait<Composed> for &Component {
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
                Component::$combinator(&self, &right)
            }
        }
    };
}

operator!(Shr, shr, chain);
operator!(Shl, shl, compose);
operator!(BitAnd, bitand, fanout);
operator!(BitOr, bitor, pair);

impl Not for Component {
    type Output = Composed;

    fn not(self) -> Composed {
        self.swap()
    }
}

impl Not for &Component {
    type Output = Composed;

    fn not(self) -> Composed {
        self.swap()
    }
}
