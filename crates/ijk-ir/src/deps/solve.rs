//! Images of the integer points of a box that fulfil linear equations.
//!
//! Equations are eliminated one by one: a variable with factor ±1 is replaced where its range
//! holds of itself, two variables by the one parameter of their line. What is left is split into
//! the values of the variable with the fewest; where that would be too many pieces, the equation
//! is dropped and the result is only a superset.

use super::{Piece, Range};
use crate::core::{Atom, AxisId, IndexExpr, Terms};
use crate::interval::{Interval, div_up, range, range_without};

/// An integer variable in `start..end`.
#[derive(Clone, Debug)]
pub struct Variable {
    name: String,
    start: i64,
    end: i64,
    /// Brought in by the solver: it is replaced rather than others.
    fresh: bool,
}

impl Variable {
    /// A variable of the problem.
    pub fn new(name: &str, start: i64, end: i64) -> Self {
        Self { name: name.to_string(), start, end, fresh: false }
    }

    fn interval(&self) -> Interval {
        Interval { least: self.start.into(), greatest: i128::from(self.end) - 1 }
    }

    fn size(&self) -> u64 {
        self.end.saturating_sub(self.start).max(0) as u64
    }

    /// Keeps values within bounds.
    fn clip(&mut self, least: i128, greatest: i128) {
        let clamp = |x: i128| x.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        self.start = self.start.max(clamp(least));
        self.end = self.end.min(clamp(greatest.saturating_add(1)));
    }
}

/// Variables, expressions that are 0, and the index whose values are wanted. Axes in expressions
/// are numbers of variables.
#[derive(Clone, Debug)]
pub struct LinearSystem {
    variables: Vec<Variable>,
    equations: Vec<IndexExpr>,
    image: Vec<IndexExpr>,
    /// An overflow or a bound on the work made it drop an equation.
    widened: bool,
}

enum Elimination {
    Empty,
    Solved,
    /// No equation can be eliminated: the equation and the variable of fewest values.
    Stuck(usize, usize),
}

impl LinearSystem {
    /// `left = right`, where the variables of `right` count from `first`; and the image.
    pub fn new(
        variables: Vec<Variable>,
        left: &[IndexExpr],
        right: &[IndexExpr],
        first: u32,
        image: &[IndexExpr],
    ) -> Self {
        let image = image.to_vec();
        let mut system = Self { variables, equations: Vec::new(), image, widened: false };
        for (l, r) in left.iter().zip(right) {
            let shifted = r.substitute(&|axis| IndexExpr::axis(AxisId(axis.0 + first)));
            let equation = shifted.and_then(|r| l.plus(&r.times(-1)?));
            match equation {
                Some(e) => system.equations.push(e),
                None => system.widened = true,
            }
        }
        system
    }

    /// Only points count where the expression is in `0..extent`.
    pub fn within(&mut self, e: &IndexExpr, extent: u64) {
        let bounds = Interval { least: 0, greatest: i128::from(extent) - 1 };
        let range = self.range(e);
        if bounds.least <= range.least && range.greatest <= bounds.greatest {
            return;
        }
        let value = self.variable(&self.name_of(e), bounds);
        match IndexExpr::axis(value).times(-1).and_then(|value| e.plus(&value)) {
            Some(equation) => self.equations.push(equation),
            None => self.widened = true,
        }
    }

    /// Puts variables of any value in place of what is not linear and no division: elements of arrays, products and
    /// extremes.
    pub fn linear(mut self) -> Self {
        let mut known = Vec::new();
        let equations = std::mem::take(&mut self.equations);
        self.equations = equations.iter().map(|e| self.opaque(e, &mut known)).collect();
        let image = std::mem::take(&mut self.image);
        self.image = image.iter().map(|e| self.opaque(e, &mut known)).collect();
        self.widened |= !known.is_empty();
        self
    }

    fn opaque(&mut self, e: &IndexExpr, known: &mut Vec<(Atom, AxisId)>) -> IndexExpr {
        let mut terms = Terms::new();
        for (coefficient, atom) in &e.terms {
            let atom = match atom {
                Atom::Axis(axis) => Atom::Axis(*axis),
                Atom::FloorDiv(inner, d) => Atom::FloorDiv(Box::new(self.opaque(inner, known)), *d),
                Atom::Mod(inner, d) => Atom::Mod(Box::new(self.opaque(inner, known)), *d),
                Atom::Product(..)
                | Atom::Element(_)
                | Atom::Abs(_)
                | Atom::Max(..)
                | Atom::Min(..) => Atom::Axis(self.stand_in(atom, known)),
            };
            terms.push((*coefficient, atom));
        }
        let changed = IndexExpr { constant: e.constant, terms };
        changed.clone().normalised().unwrap_or(changed)
    }

    fn stand_in(&mut self, atom: &Atom, known: &mut Vec<(Atom, AxisId)>) -> AxisId {
        if let Some((_, axis)) = known.iter().find(|(own, _)| own == atom) {
            return *axis;
        }
        let alone = IndexExpr::atom(atom.clone());
        let axis = self.variable("v", self.range(&alone));
        known.push((atom.clone(), axis));
        axis
    }

    fn range(&self, e: &IndexExpr) -> Interval {
        range(e, &|axis: AxisId| self.variables[axis.0 as usize].interval())
    }

    fn variable(&mut self, name: &str, within: Interval) -> AxisId {
        let mut variable = Variable { fresh: true, ..Variable::new(name, i64::MIN, i64::MAX) };
        variable.clip(within.least, within.greatest);
        self.variables.push(variable);
        AxisId(self.variables.len() as u32 - 1)
    }

    /// The name of the first variable of an expression.
    fn name_of(&self, e: &IndexExpr) -> String {
        let mut name = String::new();
        e.for_each_axis(&mut |axis| {
            if name.is_empty() {
                name.clone_from(&self.variables[axis.0 as usize].name);
            }
        });
        name
    }

    /// Replaces divisions and remainders in equations by variables of their own.
    fn linearise(&mut self) {
        while let Some(inner) = self.equations.iter().find_map(innermost) {
            let (e, d) = inner;
            let quotient_range = self.range(&e.clone().floor_div(d));
            let remainder_range = self.range(&e.clone().modulo(d));
            let name = self.name_of(&e);
            let quotient = self.variable(&format!("{name}/{d}"), quotient_range);
            let remainder = self.variable(&format!("{name}%{d}"), remainder_range);
            let rename = |x: &IndexExpr| rename(x, &e, d, quotient, remainder);
            self.equations = self.equations.iter().map(rename).collect();
            self.image = self.image.iter().map(rename).collect();
            let own = IndexExpr::axis(quotient)
                .times(-d)
                .and_then(|q| e.plus(&q)?.plus(&IndexExpr::axis(remainder).times(-1)?));
            match own {
                Some(own) => self.equations.push(own),
                None => self.widened = true,
            }
        }
    }

    fn solve(&mut self) -> Elimination {
        self.linearise();
        'progress: loop {
            if self.variables.iter().any(|v| v.start >= v.end) {
                return Elimination::Empty;
            }
            for n in 0..self.equations.len() {
                match self.eliminate(n) {
                    Some(true) => continue 'progress,
                    Some(false) => {}
                    None => return Elimination::Empty,
                }
            }
            return match self.equations.is_empty() {
                true => Elimination::Solved,
                false => self.stuck(),
            };
        }
    }

    /// Eliminates an equation if it can; `None` where it has no solution.
    fn eliminate(&mut self, n: usize) -> Option<bool> {
        let e = self.equations[n].clone();
        let range = self.range(&e);
        if range.least > 0 || range.greatest < 0 {
            return None;
        }
        let divisor = e.terms.iter().fold(0, |g, (c, _)| gcd(g, i128::from(*c)));
        if divisor != 0 && i128::from(e.constant) % divisor != 0 {
            return None;
        }
        if e.terms.is_empty() {
            self.equations.swap_remove(n);
            return Some(true);
        }
        self.narrow(&e);
        if e.terms.iter().any(|(_, atom)| self.variables[index(atom)].size() == 0) {
            return None;
        }
        let replaced = self.replace_unit(n, &e) || self.replace_line(n, &e);
        Some(replaced)
    }

    /// Clips each variable of an equation to what the others leave it.
    fn narrow(&mut self, e: &IndexExpr) {
        for (at, (c, atom)) in e.terms.iter().enumerate() {
            let variables = &self.variables;
            let of = |axis: AxisId| variables[axis.0 as usize].interval();
            let rest = range_without(e, at, &of);
            let c = i128::from(*c);
            // c·x = -rest
            let (low, high) = match c > 0 {
                true => (rest.greatest.saturating_neg(), rest.least.saturating_neg()),
                false => (rest.least, rest.greatest),
            };
            let size = c.abs();
            self.variables[index(atom)].clip(div_up(low, size), high.div_euclid(size));
        }
    }

    /// Replaces a variable of factor ±1 whose range the others' imply; or a single one.
    fn replace_unit(&mut self, n: usize, e: &IndexExpr) -> bool {
        let mut candidates: Vec<usize> = (0..e.terms.len())
            .filter(|at| e.terms[*at].0.abs() == 1 || e.terms.len() == 1)
            .collect();
        candidates.sort_by_cached_key(|at| self.worth_keeping(index(&e.terms[*at].1)));
        for at in candidates {
            let (c, atom) = &e.terms[at];
            let mut rest = e.clone();
            rest.terms.remove(at);
            let value = match rest.terms.is_empty() {
                true => rest.constant.checked_neg().map(|b| IndexExpr::constant(b / c)),
                false => rest.times(-c.signum()),
            };
            let Some(value) = value else { continue };
            let within = self.range(&value);
            let own = self.variables[index(atom)].interval();
            if own.least <= within.least
                && within.greatest <= own.greatest
                && self.substitute(n, &[(index(atom), value)])
            {
                return true;
            }
        }
        false
    }

    /// Variables of the problem that the image shows are kept where there is a choice.
    fn worth_keeping(&self, variable: usize) -> (bool, bool) {
        let axis = AxisId(variable as u32);
        let shown = self.image.iter().any(|e| e.mentions(axis));
        (!self.variables[variable].fresh, shown)
    }

    /// Replaces the two variables of a line by its parameter.
    fn replace_line(&mut self, n: usize, e: &IndexExpr) -> bool {
        let [(a, x), (c, y)] = &e.terms[..] else { return false };
        let (a, c, b) = (i128::from(*a), i128::from(*c), i128::from(e.constant));
        let (g, p, _) = extended_gcd(a, c);
        let (x, y) = (index(x), index(y));
        let (step_x, step_y) = (c / g, -a / g);
        // a·x0 + c·y0 = -b; the first x0 not below the variable's range keeps numbers small.
        let Some(x0) = p.checked_mul(-b / g) else { return false };
        let period = step_x.abs();
        let start = i128::from(self.variables[x].start);
        let x0 = start + (x0 - start).rem_euclid(period);
        let Some(y0) = a.checked_mul(x0).and_then(|ax| Some(ax.checked_add(b)? / -c)) else {
            return false;
        };
        let mut range = Interval { least: i64::MIN.into(), greatest: i64::MAX.into() };
        for (origin, step, v) in [(x0, step_x, x), (y0, step_y, y)] {
            let own = self.variables[v].interval();
            let (low, high) = match step > 0 {
                true => (own.least - origin, own.greatest - origin),
                false => (origin - own.greatest, origin - own.least),
            };
            range.least = range.least.max(div_up(low, step.abs()));
            range.greatest = range.greatest.min(high.div_euclid(step.abs()));
        }
        let name = self.variables[x].name.clone();
        let line = |origin: i128, step: i128, t: AxisId| {
            let constant = i64::try_from(origin).ok()?;
            IndexExpr::axis(t)
                .times(i64::try_from(step).ok()?)?
                .plus(&IndexExpr::constant(constant))
        };
        let t = self.variable(&name, range);
        match (line(x0, step_x, t), line(y0, step_y, t)) {
            (Some(first), Some(second)) => self.substitute(n, &[(x, first), (y, second)]),
            _ => false,
        }
    }

    /// Drops equation `n` and puts values in place of variables; `false` on overflow.
    fn substitute(&mut self, n: usize, values: &[(usize, IndexExpr)]) -> bool {
        let replace = |axis: AxisId| match values.iter().find(|(v, _)| *v == axis.0 as usize) {
            Some((_, value)) => value.clone(),
            None => IndexExpr::axis(axis),
        };
        let all = |list: &[IndexExpr]| {
            list.iter().map(|e| e.substitute(&replace)).collect::<Option<Vec<_>>>()
        };
        let others: Vec<IndexExpr> = (self.equations.iter().enumerate())
            .filter(|(m, _)| *m != n)
            .map(|(_, e)| e.clone())
            .collect();
        let (Some(equations), Some(image)) = (all(&others), all(&self.image)) else {
            return false;
        };
        self.equations = equations;
        self.image = image;
        true
    }

    fn stuck(&self) -> Elimination {
        let equation = (0..self.equations.len()).min_by_key(|n| self.equations[*n].terms.len());
        let equation = equation.unwrap_or(0);
        let variables = self.equations[equation].terms.iter().map(|(_, atom)| index(atom));
        let variable = variables.min_by_key(|v| self.variables[*v].size());
        Elimination::Stuck(equation, variable.unwrap_or(0))
    }

    fn piece(self) -> Piece {
        let mut used = vec![false; self.variables.len()];
        for e in &self.image {
            e.for_each_axis(&mut |axis| used[axis.0 as usize] = true);
        }
        let mut numbers = vec![AxisId(0); self.variables.len()];
        let mut values: Vec<Option<i64>> = vec![None; self.variables.len()];
        let mut ranges = Vec::new();
        for (n, v) in self.variables.iter().enumerate().filter(|(n, _)| used[*n]) {
            if v.size() == 1 {
                values[n] = Some(v.start);
                continue;
            }
            numbers[n] = AxisId(ranges.len() as u32);
            ranges.push(Range { name: v.name.clone(), start: v.start, end: v.end });
        }
        let replace = |axis: AxisId| match values[axis.0 as usize] {
            Some(value) => IndexExpr::constant(value),
            None => IndexExpr::axis(numbers[axis.0 as usize]),
        };
        let index = self.image.iter().map(|e| e.substitute(&replace).unwrap_or_default()).collect();
        Piece { ranges, index }
    }
}

/// The image as pieces, and whether it is exact.
pub fn image(system: LinearSystem, max_pieces: usize) -> (Vec<Piece>, bool) {
    let mut pending = vec![system];
    let mut pieces = Vec::new();
    let mut exact = true;
    while let Some(mut system) = pending.pop() {
        match system.solve() {
            Elimination::Empty => {}
            Elimination::Solved => {
                exact &= !system.widened;
                pieces.push(system.piece());
            }
            Elimination::Stuck(equation, variable) => {
                let size = system.variables[variable].size();
                let room = max_pieces.saturating_sub(pieces.len() + pending.len()) as u64;
                if size <= room {
                    pending.extend(split(&system, variable));
                } else {
                    system.equations.swap_remove(equation);
                    system.widened = true;
                    pending.push(system);
                }
            }
        }
    }
    (pieces, exact)
}

/// The system for each value of a variable.
fn split(system: &LinearSystem, variable: usize) -> impl Iterator<Item = LinearSystem> {
    let range = system.variables[variable].start..system.variables[variable].end;
    range.rev().map(move |value| {
        let mut part = system.clone();
        part.variables[variable].start = value;
        part.variables[variable].end = value + 1;
        let axis = IndexExpr::axis(AxisId(variable as u32));
        let equation = axis.plus(&IndexExpr::constant(value.saturating_neg()));
        part.equations.extend(equation);
        part
    })
}

/// A division or remainder of an affine expression.
fn innermost(e: &IndexExpr) -> Option<(IndexExpr, i64)> {
    e.terms.iter().find_map(|(_, atom)| match atom {
        Atom::Axis(_)
        | Atom::Product(..)
        | Atom::Element(_)
        | Atom::Abs(_)
        | Atom::Max(..)
        | Atom::Min(..) => None,
        Atom::FloorDiv(inner, d) | Atom::Mod(inner, d) => {
            Some(innermost(inner).unwrap_or_else(|| ((**inner).clone(), *d)))
        }
    })
}

/// Puts variables in place of the quotient and remainder of `of` by `d`.
fn rename(e: &IndexExpr, of: &IndexExpr, d: i64, quotient: AxisId, remainder: AxisId) -> IndexExpr {
    let terms = e.terms.iter().map(|(c, atom)| {
        let atom = match atom {
            Atom::Axis(axis) => Atom::Axis(*axis),
            Atom::FloorDiv(inner, own) if (&**inner, *own) == (of, d) => Atom::Axis(quotient),
            Atom::Mod(inner, own) if (&**inner, *own) == (of, d) => Atom::Axis(remainder),
            Atom::FloorDiv(inner, own) => {
                Atom::FloorDiv(Box::new(rename(inner, of, d, quotient, remainder)), *own)
            }
            Atom::Mod(inner, own) => {
                Atom::Mod(Box::new(rename(inner, of, d, quotient, remainder)), *own)
            }
            other => other.clone(),
        };
        (*c, atom)
    });
    let renamed = IndexExpr { constant: e.constant, terms: terms.collect() };
    // Merging atoms adds coefficients that were merged before: they do not overflow anew.
    renamed.clone().normalised().unwrap_or(renamed)
}

/// The variable of an atom of a linearised equation.
fn index(atom: &Atom) -> usize {
    match atom {
        Atom::Axis(axis) => axis.0 as usize,
        Atom::FloorDiv(e, _) | Atom::Mod(e, _) => {
            let mut first = 0;
            e.for_each_axis(&mut |axis| first = axis.0 as usize);
            first
        }
        _ => 0,
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

/// `(g, x, y)` with `a·x + b·y = g`, the greatest common divisor, which is positive.
fn extended_gcd(a: i128, b: i128) -> (i128, i128, i128) {
    let (mut old, mut new) = ((a, 1, 0), (b, 0, 1));
    while new.0 != 0 {
        let q = old.0.div_euclid(new.0);
        let next = (old.0 - q * new.0, old.1 - q * new.1, old.2 - q * new.2);
        old = std::mem::replace(&mut new, next);
    }
    if old.0 < 0 { (-old.0, -old.1, -old.2) } else { old }
}
