//! Operators and named functions as programs spell them.

macro_rules! functions {
    ($($(#[$doc:meta])* $variant:ident = $spelling:literal, $least:literal ..= $most:literal;)*) => {
        /// An operator symbol or a named function.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Function { $($(#[$doc])* $variant,)* }

        impl Function {
            /// Every operator and function.
            pub const ALL: &'static [Function] = &[$(Self::$variant,)*];

            /// Spelling in programs: `+`, `@tanh`.
            pub const fn spelling(self) -> &'static str {
                match self { $(Self::$variant => $spelling,)* }
            }

            /// Least and greatest number of operands.
            pub const fn operands(self) -> (usize, usize) {
                match self { $(Self::$variant => ($least, $most),)* }
            }
        }
    };
}

functions! {
    /// Add; reduces.
    Add = "+", 1..=2;
    /// Multiply; reduces.
    Mul = "*", 1..=2;
    /// Subtract, negate.
    Sub = "-", 1..=2;
    /// Divide, reciprocal.
    Div = "/", 1..=2;
    /// Maximum; reduces.
    Max = ">", 1..=2;
    /// Minimum; reduces.
    Min = "<", 1..=2;
    /// Power, exponential.
    Pow = "^", 1..=2;
    /// Logarithm.
    Log = "$", 1..=2;
    /// Square root.
    Sqrt = "@sqrt", 1..=1;
    /// Absolute value.
    Abs = "@abs", 1..=1;
    /// Sign.
    Sign = "@sign", 1..=1;
    /// Floor.
    Floor = "@floor", 1..=1;
    /// Ceiling.
    Ceil = "@ceil", 1..=1;
    /// Round half to even.
    Round = "@round", 1..=1;
    /// Sine.
    Sin = "@sin", 1..=1;
    /// Cosine.
    Cos = "@cos", 1..=1;
    /// Tangent.
    Tan = "@tan", 1..=1;
    /// Hyperbolic tangent.
    Tanh = "@tanh", 1..=1;
    /// Hyperbolic sine.
    Sinh = "@sinh", 1..=1;
    /// Hyperbolic cosine.
    Cosh = "@cosh", 1..=1;
    /// Error function.
    Erf = "@erf", 1..=1;
    /// Logistic function.
    Sigmoid = "@sigmoid", 1..=1;
    /// Gaussian error linear unit.
    Gelu = "@gelu", 1..=1;
    /// ln(1 + x).
    Log1p = "@log1p", 1..=1;
    /// exp(x) - 1.
    Expm1 = "@expm1", 1..=1;
    /// Logical not.
    Not = "@not", 1..=1;
    /// Complex conjugate.
    Conj = "@conj", 1..=1;
    /// Real part.
    Re = "@re", 1..=1;
    /// Imaginary part.
    Im = "@im", 1..=1;
    /// Cast.
    CastF32 = "@f32", 1..=1;
    /// Cast.
    CastF64 = "@f64", 1..=1;
    /// Cast.
    CastI32 = "@i32", 1..=1;
    /// Cast.
    CastI64 = "@i64", 1..=1;
    /// Cast.
    CastBool = "@bool", 1..=1;
    /// Cast.
    CastU8 = "@u8", 1..=1;
    /// Cast.
    CastU16 = "@u16", 1..=1;
    /// Cast.
    CastU32 = "@u32", 1..=1;
    /// Cast.
    CastU64 = "@u64", 1..=1;
    /// Cast.
    CastI8 = "@i8", 1..=1;
    /// Cast.
    CastI16 = "@i16", 1..=1;
    /// Cast.
    CastF16 = "@f16", 1..=1;
    /// Cast.
    CastBf16 = "@bf16", 1..=1;
    /// The value of the index itself.
    Index = "@index", 1..=1;
    /// Position of the greatest; reduces one letter.
    ArgMax = "@argmax", 1..=1;
    /// Position of the least; reduces one letter.
    ArgMin = "@argmin", 1..=1;
    /// Values in ascending order; reduces one letter, and has a new one.
    Sort = "@sort", 1..=1;
    /// Positions in ascending order, likewise.
    ArgSort = "@argsort", 1..=1;
    /// Values in descending order, likewise.
    TopK = "@topk", 1..=1;
    /// Positions in descending order, likewise.
    ArgTopK = "@argtopk", 1..=1;
    /// Equal.
    Eq = "@eq", 2..=2;
    /// Not equal.
    Ne = "@ne", 2..=2;
    /// Less.
    Lt = "@lt", 2..=2;
    /// Less or equal.
    Le = "@le", 2..=2;
    /// Greater.
    Gt = "@gt", 2..=2;
    /// Greater or equal.
    Ge = "@ge", 2..=2;
    /// Logical and; reduces (then of one operand).
    And = "@and", 1..=2;
    /// Logical or; reduces (then of one operand).
    Or = "@or", 1..=2;
    /// Remainder of floored division.
    Mod = "@mod", 2..=2;
    /// Angle of (x, y).
    Atan2 = "@atan2", 2..=2;
    /// Length of (x, y).
    Hypot = "@hypot", 2..=2;
    /// Logarithm of a sum of exponentials; reduces (then of one operand).
    LogAddExp = "@logaddexp", 1..=2;
    /// Choose by a bool.
    Where = "@where", 3..=3;
}

impl Function {
    /// The operator a symbol stands for.
    pub fn from_symbol(symbol: char) -> Option<Self> {
        let mut buffer = [0; 4];
        let symbol: &str = symbol.encode_utf8(&mut buffer);
        Self::ALL.iter().copied().find(|f| f.spelling() == symbol)
    }

    /// The function a name without its `@` stands for.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|f| f.spelling().strip_prefix('@') == Some(name))
    }

    /// Returns true if the function is spelled with a symbol.
    pub fn is_symbol(self) -> bool {
        !self.spelling().starts_with('@')
    }

    /// Precedence between operands inside parentheses; higher binds tighter.
    pub const fn precedence(self) -> u8 {
        match self {
            Self::Pow | Self::Log => 7,
            Self::Mul | Self::Div | Self::Mod => 6,
            Self::Add | Self::Sub => 5,
            Self::Eq | Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge => 3,
            Self::And => 2,
            Self::Or => 1,
            _ => 4,
        }
    }

    /// The least precedence of a left and of a right operand: those of powers group to the right, all others to the
    /// left.
    pub const fn operand_precedences(self) -> (u8, u8) {
        let own = self.precedence();
        match self {
            Self::Pow | Self::Log => (own + 1, own),
            _ => (own, own + 1),
        }
    }

    /// Returns true if the function can fold the values of dropped letters.
    pub const fn reduces(self) -> bool {
        matches!(
            self,
            Self::Add
                | Self::Mul
                | Self::Max
                | Self::Min
                | Self::And
                | Self::Or
                | Self::LogAddExp
                | Self::ArgMax
                | Self::ArgMin
        ) || self.orders()
    }

    /// Returns true if the function orders the values of a dropped letter along a new one.
    pub const fn orders(self) -> bool {
        matches!(self, Self::Sort | Self::ArgSort | Self::TopK | Self::ArgTopK)
    }

    /// Returns true if the function gives what no single point does: the index itself, or something of all values along
    /// a letter.
    pub const fn is_along(self) -> bool {
        self.orders() || matches!(self, Self::Index | Self::ArgMax | Self::ArgMin)
    }
}
