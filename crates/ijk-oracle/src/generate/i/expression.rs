//! Random index expressions for given arguments.

use super::Rng;
use super::build::{
    apply, bracket, compound, expression, int, letter, minus, name, number, plain, plus, product,
    sum, times, var,
};
pub(crate) use crate::reference::surface::Array;
use crate::reference::surface::{Form, Names, Signature, first_signature, map_type, pointwise};
use ijk_syntax::Function;
use ijk_syntax::ast::{Arith, ArithOp, Body, Extent, IndexExpr, Number, Operand, Position};
use ijk_types::DType;

/// State that all expressions of a program share.
#[derive(Clone, Debug)]
pub(crate) struct ProgramScope {
    /// Names in braces with known extents.
    pub names: Names,
    /// Names that an output uses before an array determines them.
    pub wanted: Names,
    /// Most points of a domain.
    pub most_points: usize,
}

/// A well-formed expression with its input and output arrays.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub expression: IndexExpr,
    pub inputs: Vec<Array>,
    pub output: Array,
}

const LETTERS: [char; 32] = [
    'i', 'j', 'k', 'l', 'm', 'n', 'a', 'b', 'h', 'w', 'x', 'y', 'A', 'Z', 'λ', 'ж', 'é', 'c', 'd',
    'e', 'f', 'g', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v', 'z', 'B',
];

/// A random expression with `inputs` inputs, the first of which are given.
pub(crate) fn draft(
    rng: &mut Rng,
    scope: &mut ProgramScope,
    given: &[Array],
    inputs: usize,
) -> Option<Draft> {
    (0..12)
        .find_map(|_| Drafter::new(rng, scope, &given[..given.len().min(inputs)], inputs).draft())
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    /// Alone at an axis, or in braces: the extent is known.
    Known(usize),
    /// Brackets determine it.
    Bracketed,
}

struct Drafter<'a> {
    rng: &'a mut Rng,
    scope: &'a mut ProgramScope,
    given: &'a [Array],
    inputs: usize,
    letters: Vec<(char, Source)>,
    /// Names to which this draft gives extents.
    names: Names,
    wanted: Names,
}

impl<'a> Drafter<'a> {
    fn new(
        rng: &'a mut Rng,
        scope: &'a mut ProgramScope,
        given: &'a [Array],
        inputs: usize,
    ) -> Self {
        let (names, wanted) = (scope.names.clone(), scope.wanted.clone());
        Self { rng, scope, given, inputs, letters: Vec::new(), names, wanted }
    }

    fn draft(mut self) -> Option<Draft> {
        let (types, body) = self.shape_of_body()?;
        let (operands, inputs) = self.operands(&types);
        let (function, operands) = body.fill(operands);
        let value = value_type(function, &types, &operands)?;
        let body = match function {
            Some(function) => apply(function, operands),
            None => Body::Operand(operands.into_iter().next()?),
        };
        let (outer, output) = self.outer_and_output(function, value, &body)?;
        let (outer, body) = normal(outer, body);
        let expression = expression(outer, body, compound(output));
        self.finish(expression, inputs)
    }

    /// Checks the draft and determines its output.
    fn finish(self, expression: IndexExpr, inputs: Vec<Array>) -> Option<Draft> {
        let form = Form::of(&expression).ok()?;
        let mut names = self.names.clone();
        names.extend(self.wanted.clone());
        let Signature { dtype, shape, domain } =
            first_signature(&form, &inputs, &mut names).ok()?;
        let most = self.scope.most_points;
        let fits = |extents: &[usize]| {
            let product = extents.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent));
            product.is_some_and(|points| points <= most)
        };
        // An empty domain may still have large arguments.
        if !fits(&domain) || !fits(&shape) || inputs.iter().any(|(_, shape)| !fits(shape)) {
            return None;
        }
        self.scope.names = self.names;
        self.scope.wanted = self.wanted;
        Some(Draft { expression, inputs, output: (dtype, shape) })
    }
}

// Functions and literals.

/// The function of the operands, and the positions of literals among them.
struct BodyShape {
    function: Option<Function>,
    /// For each operand, a literal, or `None` for an index.
    literals: Vec<Option<Number>>,
}

impl BodyShape {
    fn fill(self, indices: Vec<Operand>) -> (Option<Function>, Vec<Operand>) {
        let mut indices = indices.into_iter();
        let operand = |literal: Option<Number>| match literal {
            Some(number) => Some(Operand::Number(number, Default::default())),
            None => indices.next(),
        };
        (self.function, self.literals.into_iter().filter_map(operand).collect())
    }
}

impl Drafter<'_> {
    /// Chooses element types of the inputs and a function that supports them.
    fn shape_of_body(&mut self) -> Option<(Vec<DType>, BodyShape)> {
        let mut types: Vec<DType> = self.given.iter().map(|g| g.0).collect();
        let base = types.first().copied().unwrap_or_else(|| random_type(self.rng));
        while types.len() < self.inputs {
            types.push(base);
        }
        let same = types.iter().all(|&t| t == types[0]);
        let takes_where = self.inputs == 3 && self.fits_where(&mut types);
        let body = match self.inputs {
            1 if self.rng.chance(0.55) => BodyShape { function: None, literals: vec![None] },
            1 => self.with_literals(types[0])?,
            2 if types[0] == DType::Bool && (!same || self.rng.chance(0.2)) => {
                self.free_type(&mut types, 1);
                self.where_with_literal(types[1])
            }
            2 if same => self.binary(types[0])?,
            3 if takes_where => {
                BodyShape { function: Some(Function::Where), literals: vec![None; 3] }
            }
            _ => return None,
        };
        Some((types, body))
    }

    /// A type that no given argument determines may be any.
    fn free_type(&mut self, types: &mut [DType], from: usize) {
        if self.given.len() <= from {
            let t = random_type(self.rng);
            types[from..].fill(t);
        }
    }

    fn fits_where(&mut self, types: &mut [DType]) -> bool {
        if self.given.is_empty() {
            types[0] = DType::Bool;
        }
        self.free_type(types, 1);
        if self.given.len() == 2 {
            types[2] = types[1];
        }
        types[0] == DType::Bool && types[1] == types[2]
    }

    /// `ij>0`, `2*i`, `@where(1,i,j)`, `-(@abs i)`, `>(@tanh i)`.
    fn with_literals(&mut self, t: DType) -> Option<BodyShape> {
        if self.rng.chance(0.25) {
            let unary = |&f: &Function| f != Function::Index && accepts(f, &[t]);
            let choices: Vec<Function> = Function::ALL.iter().copied().filter(unary).collect();
            let index = self.rng.chance(0.1);
            let function = if index { Function::Index } else { *self.rng.pick(&choices) };
            return Some(BodyShape { function: Some(function), literals: vec![None] });
        }
        if self.rng.chance(0.1) {
            let condition = Number::Integer(self.rng.below(2) as i64);
            let other = self.literal(t);
            let mut branches = [None, Some(other)];
            self.rng.shuffle(&mut branches);
            let literals = vec![Some(condition), branches[0], branches[1]];
            return Some(BodyShape { function: Some(Function::Where), literals });
        }
        let mut shape = self.binary(t)?;
        let at = self.rng.below(2);
        shape.literals[at] = Some(self.literal(t));
        Some(shape)
    }

    fn where_with_literal(&mut self, t: DType) -> BodyShape {
        let mut branches = [None, Some(self.literal(t))];
        self.rng.shuffle(&mut branches);
        let literals = vec![None, branches[0], branches[1]];
        BodyShape { function: Some(Function::Where), literals }
    }

    fn binary(&mut self, t: DType) -> Option<BodyShape> {
        let takes = |&f: &Function| accepts(f, &[t, t]);
        let all: Vec<Function> = Function::ALL.iter().copied().filter(takes).collect();
        let common: Vec<Function> = all
            .iter()
            .copied()
            .filter(|f| matches!(f, Function::Add | Function::Mul | Function::Sub | Function::Max))
            .collect();
        let choices = if self.rng.chance(0.5) { &common } else { &all };
        let function = *self.rng.pick(if choices.is_empty() { &all } else { choices });
        Some(BodyShape { function: Some(function), literals: vec![None; 2] })
    }

    fn literal(&mut self, t: DType) -> Number {
        let whole = Number::Integer(match t {
            DType::Bool => self.rng.below(2) as i64,
            _ => *self.rng.pick(&[0, 1, 2, 3, 5, 10, -1, -2, 100]),
        });
        let fractions = [0.5, -1.5, 0.1, 1e-7, 2.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        match t {
            DType::Bool | DType::I32 | DType::I64 => whole,
            _ if self.rng.chance(0.6) => whole,
            _ if self.rng.chance(0.2) => {
                Number::Float(*self.rng.pick(&[std::f64::consts::PI, std::f64::consts::E]))
            }
            _ => Number::Float(*self.rng.pick(&fractions)),
        }
    }
}

fn accepts(function: Function, types: &[DType]) -> bool {
    let map = pointwise(function, types.len());
    map.is_some_and(|map| map_type(map, types).is_ok())
}

fn random_type(rng: &mut Rng) -> DType {
    use DType::{Bool, C64, C128, F32, F64, I32, I64};
    rng.weighted(&[(7, F32), (5, F64), (3, I32), (3, I64), (2, Bool), (1, C64), (1, C128)])
}

/// The element type of the body.
fn value_type(function: Option<Function>, types: &[DType], operands: &[Operand]) -> Option<DType> {
    match function {
        None => Some(types[0]),
        Some(Function::Index) => Some(DType::I64),
        Some(Function::Where) => {
            let condition = matches!(operands[0], Operand::Index(_));
            Some(types[usize::from(condition)])
        }
        Some(function) => {
            let all = vec![types[0]; operands.len()];
            map_type(pointwise(function, operands.len())?, &all).ok()
        }
    }
}

/// The tree that the parser returns: a function of one operand with no other function before it is outside.
fn normal(outer: Option<Function>, body: Body) -> (Option<Function>, Body) {
    match (outer, body) {
        (None, Body::Apply { function, mut operands, .. }) if operands.len() == 1 => {
            (Some(function), Body::Operand(operands.remove(0)))
        }
        other => other,
    }
}

// Operands.

impl Drafter<'_> {
    fn operands(&mut self, types: &[DType]) -> (Vec<Operand>, Vec<Array>) {
        let mut operands = Vec::new();
        let mut inputs = Vec::new();
        for (at, &t) in types.iter().enumerate() {
            let (positions, shape) = match self.given.get(at) {
                Some((_, shape)) => {
                    (shape.iter().map(|&n| self.position(n)).collect(), shape.clone())
                }
                None => self.free_operand(),
            };
            operands.push(Operand::Index(compound(positions)));
            inputs.push((t, shape));
        }
        (operands, inputs)
    }

    fn free_operand(&mut self) -> (Vec<Position>, Vec<usize>) {
        let rank = self.rng.weighted(&[(1, 0), (4, 1), (6, 2), (3, 3), (1, 4)]);
        (0..rank).map(|_| self.free_position()).unzip()
    }

    /// A position at an axis of extent `extent`.
    fn position(&mut self, extent: usize) -> Position {
        let known: Vec<char> = self.known(|n| n == extent);
        if !known.is_empty() && self.rng.chance(0.5) {
            let letter = *self.rng.pick(&known);
            return self.braced(letter, extent);
        }
        if self.rng.chance(0.15)
            && let Some(position) = (0..6).find_map(|_| self.bracket_within(extent))
        {
            return position;
        }
        let letter = self.new_letter(Source::Known(extent));
        self.braced(letter, extent)
    }

    /// A position with a free choice of extent.
    fn free_position(&mut self) -> (Position, usize) {
        let known = self.known(|_| true);
        if !known.is_empty() && self.rng.chance(0.5) {
            let letter = *self.rng.pick(&known);
            let extent = self.extent_of(letter);
            return (self.braced(letter, extent), extent);
        }
        let extent = self.random_extent();
        (self.position(extent), extent)
    }

    fn random_extent(&mut self) -> usize {
        let small = self.rng.weighted(&[(1, 0), (3, 1), (8, 2), (8, 3), (6, 4), (3, 5), (2, 7)]);
        let big = self.rng.between(8, 9 + self.scope.most_points / 60);
        match self.scope.most_points {
            0..=256 => small,
            257..=4000 if self.rng.chance(0.35) => self.rng.between(5, 24),
            257..=4000 => small,
            _ if self.rng.chance(0.15) => big.min(700),
            _ if self.rng.chance(0.6) => self.rng.between(4, 70),
            _ => small,
        }
    }

    fn known(&self, fits: impl Fn(usize) -> bool) -> Vec<char> {
        let known = |&(letter, source): &(char, Source)| match source {
            Source::Known(n) if fits(n) => Some(letter),
            _ => None,
        };
        self.letters.iter().filter_map(known).collect()
    }

    fn extent_of(&self, letter: char) -> usize {
        match self.letters.iter().find(|l| l.0 == letter) {
            Some((_, Source::Known(n))) => *n,
            _ => 0,
        }
    }

    fn new_letter(&mut self, source: Source) -> char {
        let free = |c: &char| !self.letters.iter().any(|l| l.0 == *c);
        let free: Vec<char> = LETTERS.iter().copied().filter(free).collect();
        if free.is_empty() {
            // The draft will probably not match then, and another one is made.
            return LETTERS[0];
        }
        let first = free.len().min(4);
        let at =
            if self.rng.chance(0.7) { self.rng.below(first) } else { self.rng.below(free.len()) };
        self.letters.push((free[at], source));
        free[at]
    }

    /// A letter, sometimes with its extent in braces.
    fn braced(&mut self, l: char, extent: usize) -> Position {
        let mut letter = letter(l);
        if self.rng.chance(0.05) {
            letter.extent = Some(number(extent as u64));
        } else if self.rng.chance(0.06) || self.rng.chance(0.5) && self.is_wanted(extent) {
            letter.extent = Some(self.extent_name(extent));
        }
        Position::Letter(letter)
    }

    fn is_wanted(&self, extent: usize) -> bool {
        self.wanted.values().any(|&n| n == extent as u64)
    }

    /// A name for an extent that the letter's array determines.
    fn extent_name(&mut self, extent: usize) -> Extent {
        let extent = extent as u64;
        let wanted = self.wanted.iter().find(|w| *w.1 == extent).map(|w| w.0.clone());
        if let Some(text) = wanted {
            self.wanted.remove(&text);
            self.names.insert(text.clone(), extent);
            return Extent::Name(name(&text));
        }
        let text = match self.names.iter().find(|known| *known.1 == extent) {
            Some(known) if self.rng.chance(0.7) => known.0.clone(),
            _ => self.fresh_name(),
        };
        self.names.insert(text.clone(), extent);
        Extent::Name(name(&text))
    }

    fn fresh_name(&mut self) -> String {
        let taken = self.names.len() + self.wanted.len();
        let stem = *self.rng.pick(&["n", "rows", "m_", "size"]);
        format!("{stem}{taken}")
    }
}

// Brackets.

impl Drafter<'_> {
    /// A bracket whose values are within an axis.
    fn bracket_within(&mut self, extent: usize) -> Option<Position> {
        let top = extent as i64 - 1;
        let (arith, range) = match self.rng.below(12) {
            0 if extent > 0 => {
                let at = self.rng.below(extent) as i64;
                (int(at), Some((at, at)))
            }
            1 | 2 => self.inferred(extent),
            3 => {
                let (x, n) = self.some_letter()?;
                let gap = self.rng.between(0, 2) as i64;
                (minus(int(n - 1 + gap), x), Some((gap, n - 1 + gap)))
            }
            4 => {
                let (x, n) = self.some_letter()?;
                let c = self.rng.between(1, 3) as i64;
                (plus(times(int(c), x), int(1)), Some((1, c * (n - 1) + 1)))
            }
            5 => {
                let ((x, n), (y, m)) = (self.some_letter()?, self.some_letter()?);
                if x == y {
                    return None;
                }
                (plus(x, y), Some((0, n + m - 2)))
            }
            6 => {
                let (x, n) = self.some_letter()?;
                let d = self.rng.between(1, 4) as i64;
                (product(x, ArithOp::Div, int(d)), Some((0, (n - 1) / d)))
            }
            7 => {
                let (x, n) = self.some_letter()?;
                let d = self.rng.between(1, 5) as i64;
                (product(x, ArithOp::Mod, int(d)), Some((0, (n - 1).min(d - 1))))
            }
            8 => {
                let (x, n) = self.some_letter()?;
                let (c, d) = (self.rng.between(0, 9) as i64, self.rng.between(2, 4) as i64);
                let quotient = product(plus(x, int(c)), ArithOp::Div, int(d));
                if self.rng.chance(0.4) {
                    let nested = product(plus(quotient, int(d)), ArithOp::Div, int(2));
                    return Some(bracket(nested)).filter(|_| ((n - 1 + c) / d + d) / 2 <= top);
                }
                (quotient, Some((c / d, (n - 1 + c) / d)))
            }
            9 => {
                let (x, n) = self.some_letter()?;
                let c = self.rng.between(0, 7) as i64;
                if self.rng.chance(0.5) {
                    let inner = product(plus(x, int(c)), ArithOp::Mod, int(6));
                    let of = *self.rng.pick(&[2, 3, 4]);
                    return Some(bracket(product(plus(inner, int(0)), ArithOp::Mod, int(of))))
                        .filter(|_| of - 1 <= top);
                }
                let inner = product(plus(x, int(c)), ArithOp::Mod, int(3));
                (plus(times(int(2), inner), int(0)), Some((0, 4.min(2 * (n - 1 + c)))))
            }
            10 => {
                let ((x, n), (y, m)) = (self.some_letter()?, self.some_letter()?);
                if x == y {
                    return None;
                }
                (plus(times(x, int(m)), y), Some((0, n * m - 1)))
            }
            _ => {
                let (x, n) = self.some_letter()?;
                (times(plus(x, int(1)), int(2)), Some((2, 2 * n)))
            }
        };
        let fits = range.is_none_or(|(least, most)| least >= 0 && most <= top);
        fits.then(|| bracket(arith))
    }

    /// A letter whose extent the bracket determines.
    fn inferred(&mut self, extent: usize) -> (Arith, Option<(i64, i64)>) {
        let before = self.letters.iter().find(|l| l.1 == Source::Bracketed).map(|l| l.0);
        let letter = match before {
            Some(letter) if self.rng.chance(0.4) => letter,
            _ => self.new_letter(Source::Bracketed),
        };
        let x = var(letter);
        let top = extent as i64 - 1;
        let arith = match self.rng.below(7) {
            0 => times(int(self.rng.between(2, 3) as i64), x),
            1 => plus(x, int(self.rng.between(0, 2) as i64)),
            2 => minus(int(top.max(0)), x),
            3 => product(x, ArithOp::Div, int(self.rng.between(1, 3) as i64)),
            4 => product(minus(times(int(2), x), int(0)), ArithOp::Div, int(3)),
            5 => sum(vec![(true, x), (false, int(top.max(0)))]),
            _ => match self.known(|n| n > 0 && n <= extent).first() {
                Some(&other) => plus(x, var(other)),
                None => times(x, int(1)),
            },
        };
        (arith, None)
    }

    /// A letter of known extent, one of the expression's or a new one with braces.
    fn some_letter(&mut self) -> Option<(Arith, i64)> {
        let known = self.known(|_| true);
        if !known.is_empty() && self.rng.chance(0.7) {
            let letter = *self.rng.pick(&known);
            return Some((var(letter), self.extent_of(letter) as i64));
        }
        let extent = self.rng.between(1, 4);
        let mut braced = letter(self.new_letter(Source::Known(extent)));
        let named = self.names.iter().find(|known| *known.1 == extent as u64);
        braced.extent = Some(match named {
            Some((text, _)) if self.rng.chance(0.5) => Extent::Name(name(text)),
            _ => number(extent as u64),
        });
        Some((Arith::Letter(braced), extent as i64))
    }
}

// Outer functions, and the output.

impl Drafter<'_> {
    fn outer_and_output(
        &mut self,
        function: Option<Function>,
        value: DType,
        body: &Body,
    ) -> Option<(Option<Function>, Vec<Position>)> {
        let letters: Vec<char> = self.letters.iter().map(|l| l.0).collect();
        let index = function == Some(Function::Index);
        match self.rng.below(10) {
            0..=3 if !letters.is_empty() => {
                let reducer = self.reducer(value)?;
                Some((Some(reducer), self.reduced_output(letters, reducer)))
            }
            // Before a single operand, the function is the whole map.
            4..=6 if !index => {
                Some((self.outer_map(function, value, body)?, self.mapped_output(letters)))
            }
            _ => Some((None, self.mapped_output(letters))),
        }
    }

    fn reducer(&mut self, value: DType) -> Option<Function> {
        let takes = |&f: &Function| {
            f.reduces() && (accepts(f, &[value]) || is_arg(f) && !value.is_complex())
        };
        let choices: Vec<Function> = Function::ALL.iter().copied().filter(takes).collect();
        let sum = self.rng.chance(0.4) && value != DType::Bool;
        if sum {
            Some(Function::Add)
        } else {
            (!choices.is_empty()).then(|| *self.rng.pick(&choices))
        }
    }

    fn outer_map(
        &mut self,
        function: Option<Function>,
        value: DType,
        body: &Body,
    ) -> Option<Option<Function>> {
        let takes = |&f: &Function| f != Function::Index && accepts(f, &[value]);
        let mut choices: Vec<Function> = Function::ALL.iter().copied().filter(takes).collect();
        let is_vector = matches!(body.operands(), [Operand::Index(c)] if matches!(&c.positions[..], [Position::Letter(_)]));
        if function.is_none() && is_vector && self.rng.chance(0.15) {
            choices = vec![Function::Index];
        }
        (!choices.is_empty()).then(|| Some(*self.rng.pick(&choices)))
    }

    /// All letters, and sometimes more.
    fn mapped_output(&mut self, mut letters: Vec<char>) -> Vec<Position> {
        if self.rng.chance(0.6) {
            self.rng.shuffle(&mut letters);
        }
        let mut output: Vec<Position> = Vec::new();
        for letter in letters {
            let mut positions = self.output_letter(letter);
            output.append(&mut positions);
        }
        self.merge_axes(&mut output);
        self.unsqueeze(&mut output);
        output
    }

    /// A letter, or a bracket whose points are distinct.
    fn output_letter(&mut self, letter: char) -> Vec<Position> {
        let (x, extent) = (var(letter), self.extent_of(letter) as i64);
        let d = self.rng.between(2, 4) as i64;
        match self.rng.below(40) {
            0 => vec![bracket(times(int(2), x))],
            1 => vec![bracket(plus(x, int(d)))],
            2 if extent > 0 => vec![bracket(minus(int(extent - 1), x))],
            3 => vec![
                bracket(product(x.clone(), ArithOp::Div, int(d))),
                bracket(product(x, ArithOp::Mod, int(d))),
            ],
            4 | 5 => vec![plain(letter), plain(letter)],
            _ => vec![plain(letter)],
        }
    }

    /// `ij` as `[n*i+j]`.
    fn merge_axes(&mut self, output: &mut Vec<Position>) {
        let letters = |p: &Position| match p {
            Position::Letter(letter) => Some(letter.name),
            Position::Bracket(..) => None,
        };
        if output.len() < 2 || !self.rng.chance(0.08) {
            return;
        }
        let at = self.rng.below(output.len() - 1);
        if let (Some(i), Some(j)) = (letters(&output[at]), letters(&output[at + 1])) {
            let n = self.extent_of(j).max(1) as i64;
            if i != j {
                let merged = plus(times(int(n), var(i)), var(j));
                output.splice(at..at + 2, [bracket(merged)]);
            }
        }
    }

    /// Letters that only the output has.
    fn unsqueeze(&mut self, output: &mut Vec<Position>) {
        if output.len() > 4 || !self.rng.chance(0.12) {
            return;
        }
        let at = self.rng.between(0, output.len());
        let mut new = letter(self.new_letter(Source::Known(1)));
        let extent = self.rng.between(0, 4);
        match self.rng.below(4) {
            0 => new.extent = Some(number(extent as u64)),
            1 => new.extent = Some(self.wanted_name(extent)),
            _ => {}
        }
        output.insert(at, Position::Letter(new));
    }

    /// A name that an array of this or another expression determines.
    fn wanted_name(&mut self, extent: usize) -> Extent {
        let names: Vec<String> = self.names.keys().cloned().collect();
        if !names.is_empty() && self.rng.chance(0.7) {
            let known: &String = self.rng.pick(&names);
            return Extent::Name(name(known));
        }
        let text = self.fresh_name();
        self.wanted.insert(text.clone(), extent.max(1) as u64);
        Extent::Name(name(&text))
    }

    /// Some of the letters; several points may have a common element.
    fn reduced_output(&mut self, mut letters: Vec<char>, reducer: Function) -> Vec<Position> {
        if self.rng.chance(0.5) {
            self.rng.shuffle(&mut letters);
        }
        let drop = if is_arg(reducer) { 1 } else { self.dropped(letters.len()) };
        for _ in 0..drop {
            letters.remove(self.rng.below(letters.len()));
        }
        let mut output = Vec::new();
        let mut letters = letters.into_iter().peekable();
        while let Some(letter) = letters.next() {
            let scatter = self.rng.chance(0.08) && !is_arg(reducer);
            match (scatter, letters.peek()) {
                (true, Some(&next)) if self.rng.chance(0.6) => {
                    letters.next();
                    output.push(bracket(plus(var(letter), var(next))));
                }
                (true, _) => output.push(self.colliding(letter)),
                (false, _) if is_arg(reducer) => output.push(plain(letter)),
                (false, _) => output.append(&mut self.output_letter(letter)),
            }
        }
        self.unsqueeze(&mut output);
        output
    }

    fn dropped(&mut self, letters: usize) -> usize {
        match self.rng.below(10) {
            0 => 0,
            1 => letters,
            2 => letters.min(2),
            _ => letters.min(1),
        }
    }

    fn colliding(&mut self, letter: char) -> Position {
        let d = int(self.rng.between(1, 4) as i64);
        let op = if self.rng.chance(0.5) { ArithOp::Div } else { ArithOp::Mod };
        bracket(product(var(letter), op, d))
    }
}

fn is_arg(function: Function) -> bool {
    matches!(function, Function::ArgMax | Function::ArgMin)
}
