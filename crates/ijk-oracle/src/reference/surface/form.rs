//! Properties of an index expression that do not depend on shapes: letters, functions, reduction.

use super::affine::Affine;
use crate::EvalError;
use ijk_syntax::Function;
use ijk_syntax::ast::{Arith, ArithOp, Body, Extent, IndexExpr, Letter, Number, Operand, Position};
use ijk_types::{BinaryOp, DType, Literal, Monoid, Order, Reducer, UnaryOp};

/// An index expression, checked.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    /// Its letters in the order of their appearance: the domain.
    pub letters: Vec<char>,
    /// Number of `letters` that occur in an operand.
    pub operand_letters: usize,
    /// Letters that are alone at an axis of an operand: operand, axis, letter.
    pub plain: Vec<(usize, usize, char)>,
    /// Extents in braces.
    pub pins: Vec<(char, Extent)>,
    /// For each operand its index, or a number.
    pub operands: Vec<Leaf>,
    /// The output's index.
    pub output: Vec<Affine>,
    /// Letters that occur in the output, as written.
    output_letters: Vec<char>,
    /// True if a bracket of the output, as written, has several letters or a division.
    pub output_merges: bool,
    /// True if the output has a bracket.
    output_brackets: bool,
    /// The functions of the operands.
    pub body: Tree,
    /// The function of the body's value, if it maps.
    pub outer: Option<Map>,
    /// The reducer, if it reduces.
    pub reduce: Option<Reducer>,
}

/// An operand.
#[derive(Clone, Debug)]
pub(crate) enum Leaf {
    Index(Vec<Affine>),
    Number(Number),
    /// The extent of a letter.
    Extent(char),
}

/// A scalar expression: functions of operands, by their numbers.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    Operand(usize),
    Apply(Map, Vec<Tree>),
}

/// A function of scalars at one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Map {
    /// The value of a letter.
    Index(char),
    Unary(UnaryOp),
    /// The operator with its identity on the left.
    FromIdentity(Monoid),
    Binary(BinaryOp),
    Where,
}

impl Form {
    /// Checks everything that is independent of shapes.
    pub fn of(expr: &IndexExpr) -> Result<Self, EvalError> {
        let mut form = Self::read(expr)?;
        let operands = expr.body.operands();
        if !operands.iter().any(|operand| matches!(operand, Operand::Index(_))) {
            return Err(EvalError::NoIndex);
        }
        let unknown = |leaf: &Leaf| match leaf {
            Leaf::Extent(letter) => !form.letters.contains(letter),
            _ => false,
        };
        if form.operands.iter().any(unknown) {
            return Err(EvalError::Misplaced("the extent of a letter"));
        }
        form.body = form.tree(&expr.body, &mut 0)?;
        match expr.outer {
            None => form.check_dropped()?,
            Some((function, _)) => form.set_outer(function, &expr.body)?,
        }
        if !matches!(form.reduce, Some(Reducer::Monoid(_))) {
            form.check_cancelled()?;
        }
        Ok(form)
    }

    /// Checks that no letter of a map's output cancels out of its index: `[i-i]`.
    fn check_cancelled(&self) -> Result<(), EvalError> {
        let kept: Vec<char> = self.output.iter().flat_map(Affine::letters).collect();
        let lost = self.output_letters.iter().find(|letter| !kept.contains(letter));
        lost.map_or(Ok(()), |&letter| Err(EvalError::Dropped(letter)))
    }

    fn read(expr: &IndexExpr) -> Result<Self, EvalError> {
        let mut form = Self {
            letters: Vec::new(),
            operand_letters: 0,
            plain: Vec::new(),
            pins: Vec::new(),
            operands: Vec::new(),
            output: Vec::new(),
            output_letters: Vec::new(),
            output_merges: false,
            output_brackets: false,
            body: Tree::Operand(0),
            outer: None,
            reduce: None,
        };
        for (number, operand) in expr.body.operands().into_iter().enumerate() {
            let leaf = form.read_operand(number, operand)?;
            form.operands.push(leaf);
        }
        form.operand_letters = form.letters.len();
        form.output = form.read_positions(&expr.output.positions)?;
        for position in &expr.output.positions {
            let mut letters = Vec::new();
            each_letter(position, &mut |letter| letters.push(letter.name));
            letters.sort_unstable();
            letters.dedup();
            form.output_brackets |= matches!(position, Position::Bracket(..));
            form.output_merges |= letters.len() > 1 || divides(position);
            form.output_letters.extend(letters);
        }
        Ok(form)
    }

    fn read_operand(&mut self, number: usize, operand: &Operand) -> Result<Leaf, EvalError> {
        let compound = match operand {
            Operand::Index(compound) => compound,
            Operand::Number(n, _) => return Ok(Leaf::Number(*n)),
            Operand::Extent(letter, _) => return Ok(Leaf::Extent(*letter)),
        };
        for (axis, position) in compound.positions.iter().enumerate() {
            if let Position::Letter(letter) = position {
                self.plain.push((number, axis, letter.name));
            }
        }
        Ok(Leaf::Index(self.read_positions(&compound.positions)?))
    }

    fn read_positions(&mut self, positions: &[Position]) -> Result<Vec<Affine>, EvalError> {
        let mut indices = Vec::new();
        for position in positions {
            each_letter(position, &mut |letter| self.read_letter(letter));
            indices.push(Affine::of(position)?);
        }
        Ok(indices)
    }

    fn read_letter(&mut self, letter: &Letter) {
        if !self.letters.contains(&letter.name) {
            self.letters.push(letter.name);
        }
        if let Some(extent) = &letter.extent {
            self.pins.push((letter.name, extent.clone()));
        }
    }

    /// The tree of a body whose operands are numbered from `next`.
    fn tree(&self, body: &Body, next: &mut usize) -> Result<Tree, EvalError> {
        match body {
            Body::Operand(_) => {
                *next += 1;
                Ok(Tree::Operand(*next - 1))
            }
            Body::Apply { function, operands, .. } => {
                let map = self.map(*function, operands, *next)?;
                let parts = operands.iter().map(|operand| self.tree(operand, next));
                Ok(Tree::Apply(map, parts.collect::<Result<_, _>>()?))
            }
        }
    }

    /// The map of a function of operands, the first of which has a number.
    fn map(&self, function: Function, operands: &[Body], first: usize) -> Result<Map, EvalError> {
        match (function, operands) {
            (Function::Index, [Body::Operand(_)]) => Ok(Map::Index(self.index_letter(first)?)),
            (Function::Index, [_]) => Err(EvalError::Misplaced("@index")),
            _ => {
                pointwise(function, operands.len()).ok_or(EvalError::Misplaced(function.spelling()))
            }
        }
    }

    /// The letter that an operand consists of.
    fn index_letter(&self, operand: usize) -> Result<char, EvalError> {
        let alone = self.plain.iter().find(|plain| plain.0 == operand);
        match (&self.operands[operand], alone) {
            (Leaf::Index(positions), Some((_, _, letter))) if positions.len() == 1 => Ok(*letter),
            _ => Err(EvalError::Misplaced("@index")),
        }
    }

    fn set_outer(&mut self, function: Function, body: &Body) -> Result<(), EvalError> {
        if matches!(function, Function::ArgMax | Function::ArgMin) {
            return self.set_arg(function);
        }
        if function.orders() {
            return self.set_order(function);
        }
        let map = self.map(function, std::slice::from_ref(body), 0)?;
        match map {
            Map::FromIdentity(monoid) if self.merges() => {
                self.reduce = Some(Reducer::Monoid(monoid));
            }
            Map::Index(_) => {
                self.body = Tree::Apply(map, vec![Tree::Operand(0)]);
                self.check_dropped()?;
            }
            _ => {
                self.outer = Some(map);
                self.check_dropped()?;
            }
        }
        Ok(())
    }

    fn set_arg(&mut self, function: Function) -> Result<(), EvalError> {
        if self.dropped().len() != 1 || self.output_merges {
            return Err(EvalError::Misplaced(function.spelling()));
        }
        let arg = if function == Function::ArgMax { Reducer::ArgMax } else { Reducer::ArgMin };
        self.reduce = Some(arg);
        Ok(())
    }

    /// One letter is dropped, another one is new: it has the extent of the dropped one unless braces say another.
    fn set_order(&mut self, function: Function) -> Result<(), EvalError> {
        let misplaced = Err(EvalError::Misplaced(function.spelling()));
        let mut letters = self.output_letters.clone();
        letters.sort_unstable();
        letters.dedup();
        let distinct = letters.len() == self.output.len() && !self.output_brackets;
        let ([dropped], [new]) = (&self.dropped()[..], &self.letters[self.operand_letters..])
        else {
            return misplaced;
        };
        let (dropped, new) = (*dropped, *new);
        if !distinct {
            return misplaced;
        }
        if !self.pins.iter().any(|(letter, _)| *letter == new) {
            let plain = self.plain.iter().find(|(_, _, letter)| *letter == dropped);
            let pin = self.pins.iter().find(|(letter, _)| *letter == dropped);
            match (plain.copied(), pin.cloned()) {
                (Some((operand, axis, _)), _) => self.plain.push((operand, axis, new)),
                (None, Some((_, extent))) => self.pins.push((new, extent)),
                (None, None) => return Err(EvalError::Undetermined(new.to_string())),
            }
        }
        let descending = matches!(function, Function::TopK | Function::ArgTopK);
        let positions = matches!(function, Function::ArgSort | Function::ArgTopK);
        self.reduce = Some(Reducer::Order(Order { descending, positions }));
        Ok(())
    }

    /// Letters of operands that are not in the output.
    pub fn dropped(&self) -> Vec<char> {
        let operands = self.letters[..self.operand_letters].iter().copied();
        operands.filter(|letter| !self.output_letters.contains(letter)).collect()
    }

    /// Returns true if several points may have a common element of the output, by form.
    fn merges(&self) -> bool {
        !self.dropped().is_empty() || self.output_merges
    }

    fn check_dropped(&self) -> Result<(), EvalError> {
        self.dropped().first().map_or(Ok(()), |&letter| Err(EvalError::Dropped(letter)))
    }

    /// Indices of operands that are not single letters: operand, axis, index.
    pub fn brackets(&self) -> impl Iterator<Item = (usize, usize, &Affine)> {
        self.indices().filter(|(operand, axis, _)| {
            !self.plain.iter().any(|(o, a, _)| (o, a) == (operand, axis))
        })
    }

    /// Every index of an operand: operand, axis, index.
    pub fn indices(&self) -> impl Iterator<Item = (usize, usize, &Affine)> {
        self.operands.iter().enumerate().flat_map(|(operand, leaf)| {
            let positions: &[Affine] = match leaf {
                Leaf::Index(positions) => positions,
                Leaf::Number(_) | Leaf::Extent(_) => &[],
            };
            positions.iter().enumerate().map(move |(axis, e)| (operand, axis, e))
        })
    }
}

/// The literal of a number.
pub(super) fn literal_of(number: Number) -> Literal {
    match number {
        Number::Integer(n) => Literal::Integer(n),
        Number::Float(x) => Literal::Float(x),
    }
}

/// Returns true if a position has a division, as written.
fn divides(position: &Position) -> bool {
    fn of(arith: &Arith) -> bool {
        match arith {
            Arith::Integer(..) | Arith::Letter(_) => false,
            Arith::Sum(terms, _) => terms.iter().any(|(_, term)| of(term)),
            Arith::Product(first, rest, _) => {
                of(first) || rest.iter().any(|(op, factor)| *op != ArithOp::Mul || of(factor))
            }
        }
    }
    matches!(position, Position::Bracket(arith, _) if of(arith))
}

/// Visits every occurrence of a letter.
pub(crate) fn each_letter<'a>(position: &'a Position, visit: &mut impl FnMut(&'a Letter)) {
    match position {
        Position::Letter(letter) => visit(letter),
        Position::Bracket(arith, _) => each_letter_of(arith, visit),
    }
}

fn each_letter_of<'a>(arith: &'a Arith, visit: &mut impl FnMut(&'a Letter)) {
    match arith {
        Arith::Integer(..) => {}
        Arith::Letter(letter) => visit(letter),
        Arith::Sum(terms, _) => terms.iter().for_each(|(_, term)| each_letter_of(term, visit)),
        Arith::Product(first, rest, _) => {
            each_letter_of(first, visit);
            rest.iter().for_each(|(_, factor)| each_letter_of(factor, visit));
        }
    }
}

/// The map of a function of `operands` operands, except `@index`.
pub(crate) fn pointwise(function: Function, operands: usize) -> Option<Map> {
    use Function as F;
    let map = match (function, operands) {
        (F::Add, 1) => Map::FromIdentity(Monoid::Add),
        (F::Mul, 1) => Map::FromIdentity(Monoid::Mul),
        (F::Max, 1) => Map::FromIdentity(Monoid::Max),
        (F::Min, 1) => Map::FromIdentity(Monoid::Min),
        (F::And, 1) => Map::FromIdentity(Monoid::And),
        (F::Or, 1) => Map::FromIdentity(Monoid::Or),
        (F::LogAddExp, 1) => Map::FromIdentity(Monoid::LogAddExp),
        (F::Where, 3) => Map::Where,
        (_, 1) => Map::Unary(unary(function)?),
        (_, 2) => Map::Binary(binary(function)?),
        _ => return None,
    };
    Some(map)
}

fn unary(function: Function) -> Option<UnaryOp> {
    use Function as F;
    Some(match function {
        F::Sub => UnaryOp::Neg,
        F::Div => UnaryOp::Recip,
        F::Pow => UnaryOp::Exp,
        F::Log => UnaryOp::Ln,
        F::Sqrt => UnaryOp::Sqrt,
        F::Abs => UnaryOp::Abs,
        F::Sign => UnaryOp::Sign,
        F::Floor => UnaryOp::Floor,
        F::Ceil => UnaryOp::Ceil,
        F::Round => UnaryOp::Round,
        F::Sin => UnaryOp::Sin,
        F::Cos => UnaryOp::Cos,
        F::Tan => UnaryOp::Tan,
        F::Tanh => UnaryOp::Tanh,
        F::Sinh => UnaryOp::Sinh,
        F::Cosh => UnaryOp::Cosh,
        F::Erf => UnaryOp::Erf,
        F::Sigmoid => UnaryOp::Sigmoid,
        F::Gelu => UnaryOp::Gelu,
        F::Log1p => UnaryOp::Log1p,
        F::Expm1 => UnaryOp::Expm1,
        F::Not => UnaryOp::Not,
        F::Conj => UnaryOp::Conj,
        F::Re => UnaryOp::Re,
        F::Im => UnaryOp::Im,
        F::CastF32 => UnaryOp::Cast(DType::F32),
        F::CastF64 => UnaryOp::Cast(DType::F64),
        F::CastI32 => UnaryOp::Cast(DType::I32),
        F::CastI64 => UnaryOp::Cast(DType::I64),
        F::CastBool => UnaryOp::Cast(DType::Bool),
        F::CastU8 => UnaryOp::Cast(DType::U8),
        F::CastU16 => UnaryOp::Cast(DType::U16),
        F::CastU32 => UnaryOp::Cast(DType::U32),
        F::CastU64 => UnaryOp::Cast(DType::U64),
        F::CastI8 => UnaryOp::Cast(DType::I8),
        F::CastI16 => UnaryOp::Cast(DType::I16),
        F::CastF16 => UnaryOp::Cast(DType::F16),
        F::CastBf16 => UnaryOp::Cast(DType::BF16),
        _ => return None,
    })
}

fn binary(function: Function) -> Option<BinaryOp> {
    use Function as F;
    Some(match function {
        F::Add => BinaryOp::Add,
        F::Mul => BinaryOp::Mul,
        F::Sub => BinaryOp::Sub,
        F::Div => BinaryOp::Div,
        F::Max => BinaryOp::Max,
        F::Min => BinaryOp::Min,
        F::Pow => BinaryOp::Pow,
        F::Log => BinaryOp::Log,
        F::Eq => BinaryOp::Eq,
        F::Ne => BinaryOp::Ne,
        F::Lt => BinaryOp::Lt,
        F::Le => BinaryOp::Le,
        F::Gt => BinaryOp::Gt,
        F::Ge => BinaryOp::Ge,
        F::And => BinaryOp::And,
        F::Or => BinaryOp::Or,
        F::Mod => BinaryOp::Mod,
        F::Atan2 => BinaryOp::Atan2,
        F::Hypot => BinaryOp::Hypot,
        F::LogAddExp => BinaryOp::LogAddExp,
        _ => return None,
    })
}
