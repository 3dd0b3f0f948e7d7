//! Checks the invariants of programs in core IR.

use crate::core::{
    Access, ArrayId, Atom, AxisId, IndexExpr, Init, Iteration, Pin, Program, ProgramItem,
    ScalarExpr, ScalarId, ScalarNode, Statement, TypeTerm,
};
use ijk_types::{DType, Reducer, ResultType, TypeSet};
use thiserror::Error;

/// Violation of an invariant. Numbers are positions in the program's lists.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VerifyError {
    /// An id of no array.
    #[error("{place}: there is no array {array}")]
    NoArray {
        /// Where it is used.
        place: String,
        /// The id.
        array: u32,
    },
    /// An array is read before it is defined.
    #[error("{place}: array {array} is not defined before")]
    Undefined {
        /// Where it is used.
        place: String,
        /// The array.
        array: u32,
    },
    /// An array is defined twice, or is an input and defined.
    #[error("{place}: array {array} is defined already")]
    DefinedTwice {
        /// The second.
        place: String,
        /// The array.
        array: u32,
    },
    /// The number of index expressions is not the array's rank.
    #[error("{place}: {positions} positions index array {array}, whose rank is {rank:?}")]
    Rank {
        /// Where.
        place: String,
        /// The array.
        array: u32,
        /// Its rank.
        rank: Option<u32>,
        /// Number of positions.
        positions: usize,
    },
    /// An index expression is not in normal form, or names an axis that the domain lacks.
    #[error("{place}: {what}")]
    Index {
        /// Where.
        place: String,
        /// Violation in words.
        what: &'static str,
    },
    /// A scalar expression is empty or not in post-order.
    #[error("statement {statement}: the value's nodes are not in post-order")]
    Order {
        /// Number of the statement.
        statement: usize,
    },
    /// Element types do not fit.
    #[error("{place}: {what}")]
    Type {
        /// Where.
        place: String,
        /// Violation in words.
        what: String,
    },
    /// An id of no type variable or extent name.
    #[error("{place}: there is no {what}")]
    NoVariable {
        /// Where.
        place: String,
        /// Of which kind.
        what: &'static str,
    },
    /// A store that cannot be injective: the output's index lacks an axis.
    #[error("statement {statement}: stores along axis `{axis}`, which its output's index lacks")]
    Collides {
        /// Number of the statement.
        statement: usize,
        /// The axis.
        axis: String,
    },
    /// An order stores its places along the last axis of the domain, on which neither value nor guards depend, and all
    /// other axes by themselves.
    #[error("statement {statement}: the last axis is not that of the places of an order")]
    Places {
        /// Number of the statement.
        statement: usize,
    },
    /// A reduction by position must drop exactly one axis.
    #[error("statement {statement}: positions along {dropped} dropped axes")]
    Positions {
        /// Number of the statement.
        statement: usize,
        /// Number of axes that the output's index lacks.
        dropped: usize,
    },
}

/// Checks ids, definitions before uses, ranks, normal forms, element types and what stores and
/// reductions by position need.
///
/// ```
/// let mut program = ijk_ir::compile_source("ij~ji").program.unwrap();
/// assert!(ijk_ir::verify(&program).is_ok());
/// program.statements[0].out_index.pop();
/// let errors = ijk_ir::verify(&program).unwrap_err();
/// assert!(errors[0].to_string().contains("1 positions index array 1"));
/// ```
///
/// # Errors
/// Everything that is broken.
pub fn verify(program: &Program) -> Result<(), Vec<VerifyError>> {
    let mut checker = Checker {
        program,
        defined: vec![false; program.arrays.len()],
        classes: real_classes(program),
        errors: Vec::new(),
    };
    checker.program();
    if checker.errors.is_empty() { Ok(()) } else { Err(checker.errors) }
}

struct Checker<'a> {
    program: &'a Program,
    defined: Vec<bool>,
    /// For each type variable, a representative of those with the same real part.
    classes: Vec<usize>,
    errors: Vec<VerifyError>,
}

fn real_classes(program: &Program) -> Vec<usize> {
    let mut classes: Vec<usize> = (0..program.types.len()).collect();
    for (a, b) in &program.same_real {
        let pair = (classes.get(*a as usize).copied(), classes.get(*b as usize).copied());
        if let (Some(a), Some(b)) = pair {
            classes.iter_mut().filter(|c| **c == b).for_each(|c| *c = a);
        }
    }
    classes
}

impl Checker<'_> {
    fn program(&mut self) {
        for id in &self.program.inputs {
            match self.defined.get_mut(id.0 as usize) {
                Some(defined) => *defined = true,
                None => self.no_array("inputs", *id),
            }
        }
        for (n, array) in self.program.arrays.iter().enumerate() {
            self.term(&format!("array {n}"), array.dtype);
        }
        for (n, set) in self.program.types.iter().enumerate() {
            if set.is_empty() {
                let what = "no type is left".into();
                self.errors.push(VerifyError::Type { place: format!("type variable {n}"), what });
            }
        }
        self.nesting();
        for item in self.program.items() {
            match item {
                ProgramItem::Statement(n) => self.statement(n, &self.program.statements[n]),
                ProgramItem::Begin(n) => self.begin(n, &self.program.loops[n]),
                ProgramItem::End(n) => self.end(n, &self.program.loops[n]),
            }
        }
        for id in &self.program.outputs {
            self.read("outputs", *id);
        }
    }

    /// Checks that loops follow one another or are in one another, and that they cover statements of the program.
    fn nesting(&mut self) {
        let loops = &self.program.loops;
        for (n, own) in loops.iter().enumerate() {
            let (first, end) = own.body;
            let inside = match own.within {
                None => end as usize <= self.program.statements.len(),
                Some(at) => {
                    let outer = loops.get(at as usize).filter(|_| (at as usize) < n);
                    outer.is_some_and(|outer| outer.body.0 <= first && end <= outer.body.1)
                }
            };
            let before = loops[..n].iter().filter(|other| other.within == own.within);
            let apart = before.clone().all(|other| other.body.1 <= first);
            if first > end || !inside || !apart {
                let what = "its statements are not those of a loop".into();
                self.errors.push(VerifyError::Type { place: format!("loop {n}"), what });
            }
        }
    }

    fn begin(&mut self, n: usize, own: &Iteration) {
        let place = format!("loop {n}");
        for state in &own.states {
            self.read(&place, state.before);
            self.define(&place, state.current);
            self.alike(&place, (state.before, state.current), 0);
        }
        for swept in &own.swept {
            self.read(&place, swept.of);
            self.define(&place, swept.row);
            self.alike(&place, (swept.row, swept.of), 1);
        }
        let names = self.program.extent_names.len();
        if matches!(own.passes, Some(Pin::Name(n, _)) if n as usize >= names) {
            self.errors.push(VerifyError::NoVariable { place, what: "extent name" });
        }
    }

    fn end(&mut self, n: usize, own: &Iteration) {
        let place = format!("loop {n}");
        for state in &own.states {
            self.read(&place, state.next);
            self.define(&place, state.result);
            self.alike(&place, (state.current, state.next), 0);
            self.alike(&place, (state.current, state.result), u32::from(own.all));
        }
        if let Some(until) = own.until
            && self.read(&place, until)
        {
            let array = &self.program.arrays[until.0 as usize];
            if array.rank.is_some_and(|rank| rank != 0) {
                let what = format!("the condition has rank {:?}", array.rank);
                self.errors.push(VerifyError::Type { place: place.clone(), what });
            }
            self.same(&place, array.dtype, TypeTerm::Fixed(DType::Bool));
        }
    }

    /// Checks that two arrays have one type, and ranks that differ by a number.
    fn alike(&mut self, place: &str, (a, b): (ArrayId, ArrayId), more: u32) {
        let array = |id: ArrayId| self.program.arrays.get(id.0 as usize);
        let (Some(a), Some(b)) = (array(a), array(b)) else { return };
        let ranks = a.rank.zip(b.rank);
        let (from, to) = (a.dtype, b.dtype);
        if ranks.is_some_and(|(a, b)| a + more != b) {
            let what = format!("ranks {:?} and {:?} do not fit", a.rank, b.rank);
            self.errors.push(VerifyError::Type { place: place.into(), what });
        }
        self.same(place, from, to);
    }

    fn no_array(&mut self, place: &str, id: ArrayId) {
        self.errors.push(VerifyError::NoArray { place: place.into(), array: id.0 });
    }

    /// Checks that the array exists and is defined.
    fn read(&mut self, place: &str, id: ArrayId) -> bool {
        match self.defined.get(id.0 as usize) {
            Some(true) => true,
            Some(false) => {
                let error = VerifyError::Undefined { place: place.into(), array: id.0 };
                self.errors.push(error);
                true
            }
            None => {
                self.no_array(place, id);
                false
            }
        }
    }

    fn term(&mut self, place: &str, term: TypeTerm) -> bool {
        let exists = match term {
            TypeTerm::Var(v) | TypeTerm::RealOf(v) => (v as usize) < self.program.types.len(),
            TypeTerm::Fixed(_) => true,
        };
        if !exists {
            let error = VerifyError::NoVariable { place: place.into(), what: "type variable" };
            self.errors.push(error);
        }
        exists
    }

    fn statement(&mut self, n: usize, statement: &Statement) {
        let place = format!("statement {n}");
        self.domain(&place, statement);
        if let Init::From(id) = statement.init {
            self.read(&place, id);
        }
        let value = self.value(n, &statement.value, statement.domain.len());
        for (e, _) in &statement.guards {
            self.expression(&place, e, statement.domain.len());
        }
        self.define(&place, statement.out);
        self.index(&place, statement.out, &statement.out_index, statement.domain.len());
        self.store(n, statement);
        if let (Some(value), Some(out)) = (value, self.program.arrays.get(statement.out.0 as usize))
        {
            let given = match statement.reduce {
                Some(reducer) if reducer.gives_positions() => TypeTerm::Fixed(DType::I64),
                _ => value,
            };
            self.same(&place, given, out.dtype);
        }
    }

    fn define(&mut self, place: &str, out: ArrayId) {
        match self.defined.get_mut(out.0 as usize) {
            Some(defined) => {
                if std::mem::replace(defined, true) {
                    let error = VerifyError::DefinedTwice { place: place.into(), array: out.0 };
                    self.errors.push(error);
                }
            }
            None => self.no_array(place, out),
        }
    }

    fn domain(&mut self, place: &str, statement: &Statement) {
        for axis in &statement.domain {
            for dim in &axis.dims {
                if self.read(place, dim.array) {
                    let rank = self.program.arrays[dim.array.0 as usize].rank;
                    if rank.is_none_or(|rank| dim.axis >= rank) {
                        self.wrong_rank(place, dim.array, dim.axis as usize + 1);
                    }
                }
            }
            let names = self.program.extent_names.len();
            let lost = |pin: &Pin| matches!(pin, Pin::Name(n, _) if *n as usize >= names);
            if axis.pins.iter().any(lost) {
                let error = VerifyError::NoVariable { place: place.into(), what: "extent name" };
                self.errors.push(error);
            }
        }
    }

    fn wrong_rank(&mut self, place: &str, id: ArrayId, positions: usize) {
        let rank = self.program.arrays[id.0 as usize].rank;
        self.errors.push(VerifyError::Rank { place: place.into(), array: id.0, rank, positions });
    }

    fn index(&mut self, place: &str, id: ArrayId, index: &[IndexExpr], axes: usize) {
        let array = self.program.arrays.get(id.0 as usize);
        if array.is_some_and(|array| array.rank != Some(index.len() as u32)) {
            self.wrong_rank(place, id, index.len());
        }
        for e in index {
            self.expression(place, e, axes);
        }
    }

    fn expression(&mut self, place: &str, e: &IndexExpr, axes: usize) {
        if let Some(what) = not_normal(e, axes) {
            self.errors.push(VerifyError::Index { place: place.into(), what });
        }
    }

    fn store(&mut self, n: usize, statement: &Statement) {
        let mut kept = vec![false; statement.domain.len()];
        for e in &statement.out_index {
            e.for_each_axis(&mut |axis| {
                if let Some(kept) = kept.get_mut(axis.0 as usize) {
                    *kept = true;
                }
            });
        }
        let dropped = kept.iter().filter(|kept| !**kept).count();
        match statement.reduce {
            None => {
                for (axis, _) in statement.domain.iter().zip(&kept).filter(|(_, kept)| !**kept) {
                    let axis = axis.name.clone();
                    self.errors.push(VerifyError::Collides { statement: n, axis });
                }
            }
            Some(Reducer::ArgMax | Reducer::ArgMin | Reducer::Order(_)) if dropped != 1 => {
                self.errors.push(VerifyError::Positions { statement: n, dropped });
            }
            Some(Reducer::Order(_)) if !statement.has_places() => {
                self.errors.push(VerifyError::Places { statement: n });
            }
            Some(_) => {}
        }
    }

    /// The type of the value, where nothing is wrong with it.
    fn value(&mut self, n: usize, value: &ScalarExpr, axes: usize) -> Option<TypeTerm> {
        let place = format!("statement {n}");
        let mut types: Vec<Option<TypeTerm>> = Vec::with_capacity(value.nodes.len());
        for node in &value.nodes {
            let of = |id: &ScalarId| types.get(id.0 as usize).copied();
            let operands = operands(node).map(|id| of(&id)).collect::<Option<Vec<_>>>();
            let Some(operands) = operands else {
                self.errors.push(VerifyError::Order { statement: n });
                return None;
            };
            let term = self.node(&place, node, &operands, axes);
            types.push(term);
        }
        if types.is_empty() {
            self.errors.push(VerifyError::Order { statement: n });
        }
        types.pop().flatten()
    }

    fn node(
        &mut self,
        place: &str,
        node: &ScalarNode,
        operands: &[Option<TypeTerm>],
        axes: usize,
    ) -> Option<TypeTerm> {
        match node {
            ScalarNode::Access(access) => self.access(place, access, axes),
            ScalarNode::Const(literal, term) => {
                if self.term(place, *term) {
                    self.accepts(place, crate::leaf::literal_types(*literal), *term, "a literal");
                }
                Some(*term)
            }
            ScalarNode::Extent(axis, term) => {
                self.expression(place, &IndexExpr::axis(*axis), axes);
                if self.term(place, *term) {
                    self.accepts(place, TypeSet::NUMBER, *term, "an extent");
                }
                Some(*term)
            }
            ScalarNode::Index(e) => {
                self.expression(place, e, axes);
                Some(TypeTerm::Fixed(DType::I64))
            }
            ScalarNode::Unary(op, _) => {
                let operand = operands[0]?;
                self.accepts(place, op.accepts(), operand, &format!("{op:?}"));
                Some(result(op.result(), operand))
            }
            ScalarNode::Binary(op, ..) => {
                let (left, right) = (operands[0]?, operands[1]?);
                self.same(place, left, right);
                self.accepts(place, op.accepts(), left, &format!("{op:?}"));
                Some(result(op.result(), left))
            }
            ScalarNode::Select(..) => {
                let (condition, yes, no) = (operands[0]?, operands[1]?, operands[2]?);
                self.same(place, condition, TypeTerm::Fixed(DType::Bool));
                self.same(place, yes, no);
                Some(yes)
            }
            ScalarNode::Random { counter, .. } => {
                self.expression(place, counter, axes);
                let (lo, hi) = (operands[0]?, operands[1]?);
                self.same(place, lo, hi);
                self.accepts(
                    place,
                    TypeSet::only(DType::I64).union(TypeSet::only(DType::F64)),
                    lo,
                    "RANDOM",
                );
                Some(lo)
            }
        }
    }

    fn access(&mut self, place: &str, access: &Access, axes: usize) -> Option<TypeTerm> {
        if !self.read(place, access.array) {
            return None;
        }
        self.index(place, access.array, &access.index, axes);
        let term = self.program.arrays[access.array.0 as usize].dtype;
        self.term(place, term).then_some(term)
    }

    fn types(&self, term: TypeTerm) -> TypeSet {
        match term {
            TypeTerm::Var(v) => {
                self.program.types.get(v as usize).copied().unwrap_or(TypeSet::NONE)
            }
            TypeTerm::RealOf(v) => {
                let set = self.types(TypeTerm::Var(v));
                set.iter().fold(TypeSet::NONE, |s, t| s.union(TypeSet::only(t.real())))
            }
            TypeTerm::Fixed(t) => TypeSet::only(t),
        }
    }

    fn accepts(&mut self, place: &str, set: TypeSet, term: TypeTerm, who: &str) {
        let given = self.types(term);
        if !given.is_subset(set) {
            let what = format!("{who} is for {set}, not all of {given}");
            self.errors.push(VerifyError::Type { place: place.into(), what });
        }
    }

    fn same(&mut self, place: &str, a: TypeTerm, b: TypeTerm) {
        if a != b && !self.always_equal(a, b) {
            let what = format!("{a:?} is not {b:?}");
            self.errors.push(VerifyError::Type { place: place.into(), what });
        }
    }

    /// Returns true if two terms are the same type for all values of their variables.
    fn always_equal(&self, a: TypeTerm, b: TypeTerm) -> bool {
        let variable = |term| match term {
            TypeTerm::Var(v) | TypeTerm::RealOf(v) => Some(v as usize),
            TypeTerm::Fixed(_) => None,
        };
        let choices = |v: Option<usize>| match v {
            Some(v) => self.types(TypeTerm::Var(v as u32)),
            None => TypeSet::BOOL,
        };
        let resolve = |term, t: DType| match term {
            TypeTerm::Var(_) => t,
            TypeTerm::RealOf(_) => t.real(),
            TypeTerm::Fixed(fixed) => fixed,
        };
        let (v, w) = (variable(a), variable(b));
        let class = |v: usize| self.classes.get(v);
        let possible = |t: DType, u: DType| match v.zip(w) {
            Some((v, w)) if v == w => t == u,
            Some((v, w)) if class(v) == class(w) => t.real() == u.real(),
            _ => true,
        };
        choices(v).iter().all(|t| {
            let mut others = choices(w).iter().filter(|u| possible(t, *u));
            others.all(|u| resolve(a, t) == resolve(b, u))
        })
    }
}

fn result(result: ResultType, operand: TypeTerm) -> TypeTerm {
    match (result, operand) {
        (ResultType::Same, term) => term,
        (ResultType::Fixed(t), _) => TypeTerm::Fixed(t),
        (ResultType::Real, TypeTerm::Fixed(t)) => TypeTerm::Fixed(t.real()),
        (ResultType::Real, TypeTerm::Var(v) | TypeTerm::RealOf(v)) => TypeTerm::RealOf(v),
    }
}

fn operands(node: &ScalarNode) -> impl Iterator<Item = ScalarId> {
    let ids = match node {
        ScalarNode::Unary(_, x) => [Some(*x), None, None],
        ScalarNode::Binary(_, x, y) | ScalarNode::Random { lo: x, hi: y, .. } => {
            [Some(*x), Some(*y), None]
        }
        ScalarNode::Select(c, x, y) => [Some(*c), Some(*x), Some(*y)],
        _ => [None; 3],
    };
    ids.into_iter().flatten()
}

/// Why an index expression is not in normal form over a domain of `axes` axes.
fn not_normal(e: &IndexExpr, axes: usize) -> Option<&'static str> {
    let mut last: Option<AxisId> = None;
    let mut others: Vec<&Atom> = Vec::new();
    for (coefficient, atom) in &e.terms {
        if *coefficient == 0 {
            return Some("a coefficient is 0");
        }
        match atom {
            Atom::Axis(axis) if axis.0 as usize >= axes => {
                return Some("an axis is not of the domain");
            }
            Atom::Axis(axis) => {
                if !others.is_empty() || last.is_some_and(|last| last >= *axis) {
                    return Some("axes do not come first and ascend");
                }
                last = Some(*axis);
            }
            Atom::FloorDiv(_, divisor) | Atom::Mod(_, divisor) if *divisor <= 0 => {
                return Some("a divisor is not positive");
            }
            Atom::FloorDiv(inner, _) | Atom::Mod(inner, _) | Atom::Abs(inner) => {
                if others.contains(&atom) {
                    return Some("an atom occurs twice");
                }
                others.push(atom);
                if let Some(why) = not_normal(inner, axes) {
                    return Some(why);
                }
            }
            Atom::Product(left, right) | Atom::Max(left, right) | Atom::Min(left, right) => {
                others.push(atom);
                if let Some(why) = not_normal(left, axes).or_else(|| not_normal(right, axes)) {
                    return Some(why);
                }
            }
            Atom::Element(access) => {
                others.push(atom);
                if let Some(why) = access.index.iter().find_map(|e| not_normal(e, axes)) {
                    return Some(why);
                }
            }
        }
    }
    None
}
