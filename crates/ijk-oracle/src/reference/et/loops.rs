//! Loops, pass by pass.
//!
//! Before the first pass, every array that the loop assigns has its elements in the type of all passes. In a pass a
//! statement replaces the elements of the slice that the pass addresses.

use super::index::PlaceIndex;
use super::resolve::Scope;
use super::statement::{Start, StatementPoints, converted, monoid, sized, usable, value};
use super::terms::{Compiler, Term};
use super::types::{Type, WeakArrays};
use super::variables::variables;
use super::{EtError, PointCount, Shapes, site_of};
use crate::reference::surface::{advance, reduce, size};
use crate::{Bounded, Cell};
use ijk_syntax::et::ast::{AssignOp, Index, Loop, Program, Statement, Value};
use ijk_types::{DType, Scalar};
use std::collections::BTreeMap;
use std::ops::Range;

/// Types only become wider, and there are less of them: the most rounds for an array.
const ROUNDS_PER_ARRAY: usize = 16;

/// Most elements and points of all passes of a loop, each of which goes over all elements of the array it assigns.
const MOST_VISITS: usize = 1 << 26;

/// Runs the outermost loop at a position; returns the points of its statements.
pub(crate) fn run(
    program: &Program,
    at: usize,
    shapes: &Shapes,
    (arrays, weak): (&mut BTreeMap<String, Bounded>, &mut WeakArrays),
    seed: u64,
) -> Result<Vec<PointCount>, EtError> {
    let body = program.loops[at].body.clone();
    let mut run = LoopRun {
        program,
        shapes,
        arrays,
        weak,
        seed,
        points: Vec::new(),
        first: body.start,
        visits: 0,
    };
    run.points.resize(body.len(), PointCount::default());
    run.start(body)?;
    run.passes(at, &[], &[])?;
    Ok(run.points)
}

struct LoopRun<'r> {
    program: &'r Program,
    shapes: &'r Shapes,
    arrays: &'r mut BTreeMap<String, Bounded>,
    weak: &'r mut WeakArrays,
    seed: u64,
    points: Vec<PointCount>,
    /// Number of the first statement.
    first: usize,
    /// Elements and points of the passes so far.
    visits: usize,
}

impl LoopRun<'_> {
    /// Gives every assigned array its elements before the first pass.
    fn start(&mut self, body: Range<usize>) -> Result<(), EtError> {
        let statements = &self.program.statements[body.clone()];
        let mut assigned: Vec<String> = Vec::new();
        for name in statements.iter().map(|s| &s.left.array.text) {
            if !assigned.contains(name) {
                assigned.push(name.clone());
            }
        }
        let before: BTreeMap<String, Bounded> = self.arrays.clone();
        let known = |name: &String| {
            let dtype = before.get(name)?.dtype;
            Some((name.clone(), self.weak.type_of(name, dtype)))
        };
        let types_before: BTreeMap<String, Type> = assigned.iter().filter_map(known).collect();
        for _ in 0..=ROUNDS_PER_ARRAY * assigned.len() {
            let mut types = types_before.clone();
            for n in body.clone() {
                self.note_type(n, &mut types)?;
            }
            let mut same = true;
            for (name, t) in types {
                let t = t.stored();
                let Some(array) = self.arrays.get_mut(&name) else { continue };
                same &= self.weak.type_of(&name, array.dtype) == t;
                array.dtype = t.dtype;
                self.weak.note(&name, t);
            }
            if same {
                break;
            }
        }
        for name in &assigned {
            self.fill(name, before.get(name), statements)?;
        }
        body.clone().try_for_each(|n| self.check_statement(n))?;
        let loops = self.program.loops.iter().enumerate();
        let mut inside =
            loops.filter(|(_, own)| body.start <= own.body.start && own.body.end <= body.end);
        inside.try_for_each(|(at, own)| self.check_condition(at, own))
    }

    /// Fails if an index on the left is none, or the value has another type than the array, also if no pass runs.
    fn check_statement(&self, n: usize) -> Result<(), EtError> {
        let statement = &self.program.statements[n];
        let variables = self.variables(n);
        let scope = Scope {
            shapes: self.shapes,
            arrays: &*self.arrays,
            variables: &variables,
            weak: self.weak,
        };
        let name = &statement.left.array.text;
        let own = self.weak.type_of(name, scope.array(name)?.dtype);
        scope.places_of(&statement.left)?;
        let mut compiler = Compiler { scope, reads: Vec::new(), seed: 0, site: 0 };
        match value(&mut compiler, statement, Some(own))?.1.dtype {
            found if found == own.dtype => Ok(()),
            found => Err(EtError::Type(found)),
        }
    }

    /// Fails if the condition of a loop has no value or is no bool, also if no pass runs.
    fn check_condition(&self, at: usize, own: &Loop) -> Result<(), EtError> {
        let Some(condition) = &own.until else { return Ok(()) };
        let around = self.program.loops_over(at).map(|l| l.tuple.text.clone());
        let variables: Vec<String> = around.collect();
        let scope = Scope {
            shapes: self.shapes,
            arrays: &*self.arrays,
            variables: &variables,
            weak: self.weak,
        };
        let mut compiler = Compiler { scope, reads: Vec::new(), seed: 0, site: 0 };
        match compiler.value(condition)?.1.dtype {
            DType::Bool => Ok(()),
            other => Err(EtError::Type(other)),
        }
    }

    /// Notes the type of a statement's value, and sizes its array if this is the first use.
    fn note_type(&mut self, n: usize, types: &mut BTreeMap<String, Type>) -> Result<(), EtError> {
        let statement = &self.program.statements[n];
        let name = &statement.left.array.text;
        let variables = self.variables(n);
        if !self.arrays.contains_key(name) {
            let (arrays, variables) = (&*self.arrays, &variables[..]);
            let scope = Scope { shapes: self.shapes, arrays, variables, weak: self.weak };
            let shape = sized(&scope.places_of(&statement.left)?)?;
            let cells = vec![Cell::exact(Scalar::I64(0)); size(&shape)];
            self.arrays.insert(name.clone(), Bounded { dtype: DType::I64, shape, cells });
            self.weak.note(name, Type::weak(DType::I64));
        }
        let logical = matches!(statement.assign.op, AssignOp::And | AssignOp::Or);
        let (arrays, variables) = (&*self.arrays, &variables[..]);
        let scope = Scope { shapes: self.shapes, arrays, variables, weak: self.weak };
        let mut compiler = Compiler { scope, reads: Vec::new(), seed: 0, site: 0 };
        let found = match compiler.value(&statement.value) {
            _ if logical => Type::strong(DType::Bool),
            Ok((_, t)) => t,
            // The types of some arrays are not known yet; an error is found when the statement runs.
            Err(_) => return Ok(()),
        };
        let joined = types.get(name).map_or(found, |known| known.join(found));
        types.insert(name.clone(), joined);
        Ok(())
    }

    /// The elements of an array before the first pass.
    fn fill(
        &mut self,
        name: &str,
        before: Option<&Bounded>,
        statements: &[Statement],
    ) -> Result<(), EtError> {
        let Some(array) = self.arrays.get(name) else { return Ok(()) };
        let (dtype, count) = (array.dtype, size(&array.shape));
        let cells = match before {
            Some(before) if before.dtype == dtype => before.cells.clone(),
            Some(before) => converted(before, dtype)?,
            None => {
                let first = statements.iter().find(|s| s.left.array.text == name);
                let op = monoid(first.expect("a statement assigns it").assign.op);
                if !op.op().accepts().contains(dtype) {
                    return Err(EtError::Type(dtype));
                }
                vec![reduce::reduce(op, dtype, &[], false)?; count]
            }
        };
        if let Some(array) = self.arrays.get_mut(name) {
            array.cells = cells;
        }
        Ok(())
    }

    /// The eintups of the loops around a statement, then its other variables.
    fn variables(&self, n: usize) -> Vec<String> {
        let around = self.program.loops_around(n).map(|l| l.tuple.text.clone());
        let mut names: Vec<String> = around.collect();
        let is_tuple = |name: &str| self.shapes.tuples.contains_key(name);
        for name in variables(&self.program.statements[n], &is_tuple) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Runs a loop in a pass of those around it.
    fn passes(&mut self, at: usize, names: &[String], around: &[usize]) -> Result<(), EtError> {
        let own: &Loop = &self.program.loops[at];
        let extents = self.shapes.tuples.get(&own.tuple.text);
        let extents = usable(extents.ok_or_else(|| EtError::Unknown(own.tuple.text.clone()))?)?;
        if extents.contains(&0) {
            return Ok(());
        }
        let names: Vec<String> = names.iter().chain([&own.tuple.text]).cloned().collect();
        let mut point = vec![0; extents.len()];
        loop {
            let mirror = |(&x, &extent): (&usize, &usize)| {
                if own.descending { extent - 1 - x } else { x }
            };
            let mut pass = around.to_vec();
            pass.extend(point.iter().zip(&extents).map(mirror));
            self.pass(at, &names, &pass)?;
            let ended = match &own.until {
                Some(condition) => self.holds(condition, &names, &pass)?,
                None => false,
            };
            if ended || !advance(&mut point, &extents) {
                return Ok(());
            }
        }
    }

    /// One pass of a loop.
    fn pass(&mut self, at: usize, names: &[String], pass: &[usize]) -> Result<(), EtError> {
        let body = self.program.loops[at].body.clone();
        let mut n = body.start;
        while n < body.end {
            let loops = self.program.loops.iter().enumerate().skip(at + 1);
            let inner = loops.map(|(inner, l)| (inner, &l.body));
            match inner.clone().find(|(_, own)| own.start == n && own.end <= body.end) {
                Some((inner, own)) => {
                    let end = own.end;
                    self.passes(inner, names, pass)?;
                    n = end;
                }
                None => {
                    self.statement(n, pass)?;
                    n += 1;
                }
            }
        }
        Ok(())
    }

    /// A statement in a pass.
    fn statement(&mut self, n: usize, pass: &[usize]) -> Result<(), EtError> {
        let statement = &self.program.statements[n];
        let variables = self.variables(n);
        let (arrays, name) = (&*self.arrays, &statement.left.array.text);
        let scope = Scope { shapes: self.shapes, arrays, variables: &variables, weak: self.weak };
        let domain = usable(&scope.domain()?)?;
        let places = scope.places_of(&statement.left)?;
        let old = scope.array(name)?;
        let site = site_of(self.program, n);
        let mut compiler = Compiler { scope, reads: Vec::new(), seed: self.seed, site };
        let (term, t) = value(&mut compiler, statement, Some(self.weak.type_of(name, old.dtype)))?;
        let dtype = t.dtype;
        if dtype != old.dtype {
            return Err(EtError::Type(dtype));
        }
        let count = if domain.contains(&0) { 0 } else { size(&domain[pass.len()..]) };
        self.visits += size(&old.shape) + count;
        if self.visits > MOST_VISITS {
            return Err(EtError::TooLarge);
        }
        let slice = self.slice(n, &places, &old.shape, pass, domain.len());
        let (reads, shape) = (&compiler.reads[..], &old.shape[..]);
        let points = StatementPoints { places, shape, reads, term, domain: &domain, pass };
        let (groups, skipped) = points.groups()?;
        let nothing = count > 0 && skipped == count;
        let in_loop = |name: &&String| self.program.loops_around(n).any(|l| l.tuple.text == **name);
        let varies: Vec<String> = variables.iter().filter(|v| !in_loop(v)).cloned().collect();
        let start = Start::of(statement, Some(old), dtype, &varies)?;
        let scattered = !statement.left.indices.iter().all(|e| matches!(e, Index::Tuple(_)));
        let mut cells = old.cells.clone();
        let mut index = vec![0; shape.len()];
        for (at, group) in groups.iter().enumerate() {
            if !nothing && slice.iter().zip(&index).all(|(s, i)| s.holds(*i)) {
                cells[at] = start.combine(at, group, scattered)?;
            }
            advance(&mut index, shape);
        }
        let own = &mut self.points[n - self.first];
        own.points += count;
        own.skipped += skipped;
        own.meet = own.meet.max(groups.iter().map(Vec::len).max().unwrap_or(0));
        self.arrays.get_mut(name).expect("read above").cells = cells;
        Ok(())
    }

    /// The positions that a pass addresses along each axis of the array on the left.
    fn slice(
        &self,
        n: usize,
        places: &[(PlaceIndex<'_>, usize)],
        shape: &[usize],
        pass: &[usize],
        rank: usize,
    ) -> Vec<Positions> {
        let left = &self.program.statements[n].left;
        let mut point = pass.to_vec();
        point.resize(rank, 0);
        let mut slice = Vec::with_capacity(shape.len());
        for (e, (place, rank)) in left.indices.iter().zip(places) {
            let fixed = self.addresses(n, e);
            for component in 0..*rank {
                slice.push(match place {
                    PlaceIndex::Index(node) if fixed => {
                        let at = node.at(component, &point).filter(|_| node.inside(&point));
                        Positions::One(at)
                    }
                    _ => Positions::All,
                });
            }
        }
        slice
    }

    /// Returns true if the eintups of an index are all of loops, and there is one.
    fn addresses(&self, n: usize, e: &Index) -> bool {
        let left = ijk_syntax::et::ast::Access {
            indices: vec![e.clone()],
            ..self.program.statements[n].left.clone()
        };
        let value = Value::Number(ijk_syntax::ast::Number::Integer(0), left.span);
        let alone = Statement { left, value, ..self.program.statements[n].clone() };
        let used = variables(&alone, &|name| self.shapes.tuples.contains_key(name));
        let fixed = |name: &String| self.program.loops_around(n).any(|l| l.tuple.text == *name);
        !used.is_empty() && used.iter().all(fixed)
    }

    /// Returns true if a condition holds after a pass.
    fn holds(&self, condition: &Value, names: &[String], pass: &[usize]) -> Result<bool, EtError> {
        let (arrays, variables) = (&*self.arrays, names);
        let scope = Scope { shapes: self.shapes, arrays, variables, weak: self.weak };
        let mut compiler = Compiler { scope, reads: Vec::new(), seed: self.seed, site: 0 };
        let (term, t): (Term, Type) = compiler.value(condition)?;
        if t.dtype != DType::Bool {
            return Err(EtError::Type(t.dtype));
        }
        let reads: Option<Vec<Cell>> = compiler.reads.iter().map(|read| read.at(pass)).collect();
        match reads {
            Some(reads) => Ok(term.value(&reads, 0)?.value == Scalar::Bool(true)),
            None => Ok(false),
        }
    }
}

/// Positions along an axis.
enum Positions {
    All,
    /// None where the position has no value.
    One(Option<i128>),
}

impl Positions {
    fn holds(&self, at: usize) -> bool {
        match self {
            Self::All => true,
            Self::One(own) => *own == Some(at as i128),
        }
    }
}
