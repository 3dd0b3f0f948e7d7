//! Programs and arguments with a mistake. Many are undefined; some have another meaning.

use super::build::{bracket, int, minus, name, number, plain, plus, product, times, var};
use super::data::{self, Flavour, Input};
use super::{Case, MOST_POINTS, Rng, mistakes, print};
use ijk_syntax::Function;
use ijk_syntax::ast::{
    ArithOp, Body, Combinator, Compound, Extent, IndexExpr, Letter, NodeId, NodeKind, Number,
    Operand, Position, Program,
};
use ijk_types::DType;

impl Case {
    /// The case with a mistake or two in its program or its arguments. Changes for which an evaluation visits many more
    /// points are left out.
    pub fn mutated(&self, rng: &mut Rng) -> Self {
        loop {
            match rng.below(1000) {
                0..36 => return mistakes::beyond(rng),
                36..350 => return mistakes::mistake(rng),
                _ => {}
            }
            let case = self.changed(rng);
            if case.points() <= MOST_POINTS.max(self.points()) {
                return if rng.chance(0.15) { case.mutated(rng) } else { case };
            }
        }
    }

    fn changed(&self, rng: &mut Rng) -> Self {
        let mut case = self.clone();
        match rng.below(20) {
            0..=3 => mutate_arguments(rng, &mut case.inputs),
            4 | 5 => case.source = mutate_text(rng, &case.source),
            _ => case.source = mutate_program(rng, &case.source),
        }
        case
    }
}

// Arguments.

fn mutate_arguments(rng: &mut Rng, inputs: &mut Vec<Input>) {
    if rng.chance(0.08) || inputs.is_empty() {
        let extra = data::input(rng, &(DType::F32, vec![2]), Flavour::Small);
        return inputs.insert(rng.between(0, inputs.len()), extra);
    }
    let at = rng.below(inputs.len());
    let (mut dtype, mut shape) = (inputs[at].value.dtype, inputs[at].value.shape.clone());
    match rng.below(8) {
        0 => drop(inputs.remove(at)),
        1 => dtype = *rng.pick(&DType::ALL),
        2 => shape.push(rng.below(3)),
        3 => drop(shape.pop()),
        _ if shape.is_empty() => shape.push(1),
        _ => {
            let axis = rng.below(shape.len());
            shape[axis] = if rng.chance(0.6) { shape[axis] + 1 } else { rng.below(4) };
        }
    }
    if let Some(input) = inputs.get_mut(at) {
        *input = data::input(rng, &(dtype, shape), Flavour::Small);
    }
}

// Text.

fn mutate_text(rng: &mut Rng, source: &str) -> String {
    let mut text: Vec<char> = source.chars().collect();
    let at = rng.below(text.len().max(1));
    let new =
        *rng.pick(&['i', 'j', '~', '+', '*', '<', '.', '(', ')', '[', '{', '2', '@', ' ', '&']);
    match rng.below(4) {
        0 => drop(text.remove(at)),
        1 => text[at] = new,
        2 => text.insert(at, new),
        _ => {
            let other = rng.below(text.len());
            text.swap(at, other);
        }
    }
    text.into_iter().collect()
}

// Programs.

fn mutate_program(rng: &mut Rng, source: &str) -> String {
    let (mut program, _) = ijk_syntax::parse(source);
    let indices: Vec<usize> = (0..program.nodes.len())
        .filter(|&at| matches!(program.nodes[at].kind, NodeKind::Index(_)))
        .collect();
    if program.items.is_empty() || program.nodes.is_empty() {
        return mutate_text(rng, "i~i");
    }
    if indices.is_empty() || rng.chance(0.2) {
        mutate_component(rng, &mut program);
    } else {
        let at = *rng.pick(&indices);
        if let NodeKind::Index(expression) = &mut program.nodes[at].kind {
            mutate_expression(rng, expression);
        }
    }
    print(&program, None)
}

fn mutate_component(rng: &mut Rng, program: &mut Program) {
    let at = rng.below(program.nodes.len());
    let mut earlier = NodeId(rng.below(at.max(1)) as u32);
    match rng.below(7) {
        0 if program.items.len() > 1 => {
            let item = rng.below(program.items.len());
            program.items.remove(item);
        }
        1 if program.items.len() > 1 => {
            let (from, to) = (rng.below(program.items.len()), rng.below(program.items.len()));
            program.items[to].name = program.items[from].name.clone();
        }
        2 => {
            if let Some(name) = program.items[0].name.as_ref().map(|n| n.text.clone()) {
                program.nodes[at].kind = NodeKind::Name(name);
            }
        }
        3 => program.nodes[at].kind = NodeKind::Name("missing".into()),
        4 => program.nodes[at].kind = NodeKind::Identity,
        _ => match &mut program.nodes[at].kind {
            NodeKind::Combine { combinator, left, right, .. } => match rng.below(3) {
                0 => std::mem::swap(left, right),
                1 => std::mem::swap(left, &mut earlier),
                _ => {
                    use Combinator::{Chain, Compose, Fanout, Pair};
                    *combinator = *rng.pick(&[Chain, Compose, Fanout, Pair]);
                }
            },
            kind if at > 0 => *kind = NodeKind::Swap(earlier),
            _ => {}
        },
    }
}

fn mutate_expression(rng: &mut Rng, expression: &mut IndexExpr) {
    match rng.below(10) {
        0 => expression.outer = None,
        1 => expression.outer = Some((*rng.pick(Function::ALL), Default::default())),
        2 => mutate_function(rng, &mut expression.body),
        3 => {
            let number = match rng.below(4) {
                0 => Number::Float(0.5),
                1 => Number::Integer(3_000_000_000),
                2 => Number::Integer(2),
                _ => Number::Float(f64::INFINITY),
            };
            let operands = &mut operands(&mut expression.body);
            let at = rng.below(operands.len());
            *operands[at] = Operand::Number(number, Default::default());
        }
        4..=6 => mutate_compound(rng, &mut expression.output),
        _ => {
            let mut operands = operands(&mut expression.body);
            let at = rng.below(operands.len());
            if let Operand::Index(compound) = &mut *operands[at] {
                mutate_compound(rng, compound);
            }
        }
    }
}

fn operands(body: &mut Body) -> Vec<&mut Operand> {
    match body {
        Body::Operand(operand) => vec![operand],
        Body::Apply { operands: parts, .. } => parts.iter_mut().flat_map(operands).collect(),
    }
}

/// Exchanges a function for another of as many operands.
fn mutate_function(rng: &mut Rng, body: &mut Body) {
    let Body::Apply { function, operands, .. } = body else { return };
    let inner = operands.iter_mut().find(|part| matches!(part, Body::Apply { .. }));
    if let (Some(inner), true) = (inner, rng.chance(0.5)) {
        return mutate_function(rng, inner);
    }
    let fits = |f: &&Function| (f.operands().0..=f.operands().1).contains(&operands.len());
    let choices: Vec<Function> = Function::ALL.iter().filter(fits).copied().collect();
    *function = *rng.pick(&choices);
}

fn mutate_compound(rng: &mut Rng, compound: &mut Compound) {
    let positions = &mut compound.positions;
    let at = rng.below(positions.len().max(1));
    if positions.is_empty() || rng.chance(0.1) {
        return positions.insert(at.min(positions.len()), plain('i'));
    }
    match rng.below(8) {
        0 => drop(positions.remove(at)),
        1 => positions[at] = plain(*rng.pick(&['i', 'j', 'k', 'q'])),
        2 => {
            let other = rng.below(positions.len());
            positions.swap(at, other);
        }
        3 => brace(rng, &mut positions[at]),
        _ => positions[at] = odd_bracket(rng, &positions[at].clone()),
    }
}

fn brace(rng: &mut Rng, position: &mut Position) {
    let extents = [number(0), number(2), number(3), number(1 << 62), number(u64::MAX)];
    if let Position::Letter(Letter { extent, .. }) = position {
        *extent = match rng.below(3) {
            0 => Some(Extent::Name(name(["n", "n0", "rows0"][rng.below(3)]))),
            _ => Some(rng.pick(&extents).clone()),
        };
    }
}

/// A letter as a bracket that may be out of bounds, collide, or not be an index at all.
fn odd_bracket(rng: &mut Rng, position: &Position) -> Position {
    let x = match position {
        Position::Letter(letter) => var(letter.name),
        Position::Bracket(arith, _) => arith.clone(),
    };
    let other = var(*rng.pick(&['i', 'j', 'k', 'q']));
    let d = rng.between(0, 3) as i64;
    bracket(match rng.below(10) {
        0 => times(x, other),
        1 => product(x, ArithOp::Div, other),
        2 => product(x, ArithOp::Div, int(d)),
        3 => product(x, ArithOp::Mod, int(d)),
        4 => plus(x, other),
        5 => minus(x, int(d)),
        6 => minus(int(d), x),
        7 => times(int(d + 1), x),
        8 => times(int(i64::MAX), x),
        _ => plus(x, int(d)),
    })
}
