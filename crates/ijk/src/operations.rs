//! The scalar operations of a program by name, and their dependencies.

use crate::depend::WrittenOut;
use crate::error::{Operation, OperationError};
use crate::{Error, Program};
use ijk_ir::PointSet;
use ijk_ir::core::{self as ir, ArrayId, Instance};
use ijk_types::DType;
use std::collections::HashMap;
use std::fmt;

/// The operations of a program for arguments of certain shapes, each with a name and an index for every axis of its
/// result: `mm.m[2,3,1]` is the element at `[2,3,1]` of the result of `m` where it occurs in `mm`.
///
/// The name of an operation is the path of bindings that it is in, outermost first; a suffix of the path suffices if no
/// other operation has it. Several operations of one name, as `a` in `a.a`, are numbered in order: `a#1`, `a#2`. The
/// name of an argument is its number, from 0. In Einsum Tuple arguments are named by their arrays, and statements by
/// the array on their left. [`Program::operations`] and [`et::Program::operations`](crate::et::Program::operations)
/// make them.
///
/// ```
/// use ijk::DType;
/// let product = ijk::i("mm: m.a; m: ik*kj~ijk; a: +ijk~ij; mm")?;
/// let shapes: [(DType, &[usize]); 2] = [(DType::F32, &[3, 4]), (DType::F32, &[4, 5])];
/// let operations = product.operations(&shapes)?;
/// let names: Vec<&str> = operations.names().collect();
/// assert_eq!(names, ["0", "1", "mm.m", "mm.a"]);
/// let relation = operations.relation("mm.m[2,1,3]", "a[2,1]")?;
/// assert_eq!(relation.to_string(), "mm.m[2,1,3] reaches mm.a[2,1]");
/// assert!(!operations.relation("m[2,3,1]", "a[2,1]")?.is_related());
/// let sums = operations.relation("m", "a[2,1]")?;
/// assert_eq!(sums.set().to_string(), "{(2, 1, k) : k in 0..4}");
/// # Ok::<(), ijk::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Operations {
    program: ir::Program,
    instance: Instance,
    /// Names of the arrays that are operations or arguments, in the order in which they are computed.
    named: Vec<(String, ArrayId)>,
}

/// Dependency between two operations: see [`Operations::relation`].
#[derive(Clone, Debug, PartialEq)]
pub struct Relation {
    one: Named,
    /// `reaches`, or `depends on`.
    verb: &'static str,
    other: Named,
    set: PointSet,
}

/// An element of an operation, or all of them.
#[derive(Clone, Debug, PartialEq)]
struct Named {
    name: String,
    at: Option<Vec<u64>>,
}

impl Operations {
    /// The operations of a program, from the names of its arguments and statements in order.
    pub(crate) fn new(
        program: ir::Program,
        instance: Instance,
        arguments: impl Iterator<Item = String>,
        statements: &[String],
    ) -> Self {
        let arguments = arguments.zip(program.inputs.iter().copied());
        let statements = numbered(statements).into_iter();
        let statements = statements.zip(program.statements.iter().map(|statement| statement.out));
        let named = arguments.chain(statements).collect();
        Self { program, instance, named }
    }

    /// The names, in the order in which their arrays are computed; arguments come first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|(name, _)| &name[..])
    }

    /// Shape of an operation's result.
    ///
    /// # Errors
    /// [`Error::Operation`] if no operation, or more than one, has this name.
    pub fn shape(&self, name: &str) -> Result<Vec<usize>, Error> {
        let (_, id) = self.find(name)?;
        Ok(self.instance.shapes[id.0 as usize].iter().map(|&n| n as usize).collect())
    }

    /// For each argument and earlier operation, the elements that an element of an operation is computed from; empty
    /// sets are left out.
    ///
    /// # Errors
    /// [`Error::Operation`] if there is no such operation.
    ///
    /// ```
    /// let norm = ijk::i("square: i*i~i; sum: +i~.; root: @sqrt .~.; square . sum . root")?;
    /// let operations = norm.operations(&[(ijk::DType::F64, &[3]), (ijk::DType::F64, &[3])])?;
    /// let before = operations.dependencies("root[]")?;
    /// let names: Vec<&str> = before.iter().map(|(name, _)| &name[..]).collect();
    /// assert_eq!(names, ["0", "1", "square", "sum"]);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn dependencies(&self, of: &str) -> Result<Vec<(String, PointSet)>, Error> {
        let (named, id) = self.element(of)?;
        let at = self.point(&named, of)?;
        Ok(self.others(id, ijk_ir::sources(&self.program, &self.instance, id, &at)))
    }

    /// For each later operation, the elements that are computed from an element of an operation or argument; empty
    /// sets are left out.
    ///
    /// # Errors
    /// [`Error::Operation`] if there is no such operation.
    pub fn reaches(&self, from: &str) -> Result<Vec<(String, PointSet)>, Error> {
        let (named, id) = self.element(from)?;
        let at = self.point(&named, from)?;
        Ok(self.others(id, ijk_ir::targets(&self.program, &self.instance, id, &at)))
    }

    /// Relation of two operations: the elements of `to` that an element of `from` reaches, or, if `from` has no
    /// indices, the elements of `from` that an element of `to` depends on. If `to` is computed first, the roles are
    /// exchanged.
    ///
    /// # Errors
    /// [`Error::Operation`] if there is no such operation, or neither has indices.
    pub fn relation(&self, from: &str, to: &str) -> Result<Relation, Error> {
        let ((from, f), (to, t)) = (self.element(from)?, self.element(to)?);
        let backwards = self.order(t) < self.order(f);
        let ((one, o), verb, (other, p)) = match (&from.at, &to.at, backwards) {
            (None, None, _) => return Err(self.wrong(&from.name, OperationError::NoPoint)),
            (Some(_), _, false) => ((from, f), "reaches", (to, t)),
            (Some(_), _, true) => ((from, f), "depends on", (to, t)),
            (None, _, false) => ((to, t), "depends on", (from, f)),
            (None, _, true) => ((to, t), "reaches", (from, f)),
        };
        let at = one.at.as_deref().unwrap_or_default();
        let sets = match verb {
            "reaches" => ijk_ir::targets(&self.program, &self.instance, o, at),
            _ => ijk_ir::sources(&self.program, &self.instance, o, at),
        };
        let set = sets.into_iter().nth(p.0 as usize).unwrap_or_default();
        Ok(Relation { one, verb, other, set })
    }

    fn others(&self, own: ArrayId, sets: Vec<PointSet>) -> Vec<(String, PointSet)> {
        let set = |id: ArrayId| sets[id.0 as usize].clone();
        let others = self.named.iter().filter(|(_, id)| *id != own);
        let others = others.map(|(name, id)| (name.clone(), set(*id)));
        others.filter(|(_, set)| !set.is_empty()).collect()
    }

    fn order(&self, id: ArrayId) -> usize {
        self.named.iter().position(|(_, own)| *own == id).unwrap_or(usize::MAX)
    }

    fn point(&self, named: &Named, text: &str) -> Result<Vec<u64>, Error> {
        named.at.clone().ok_or_else(|| self.wrong(text, OperationError::NoPoint))
    }

    /// Parses `mm.m[2,3,1]`, an element, or `mm.m`, a whole operation.
    fn element(&self, text: &str) -> Result<(Named, ArrayId), Error> {
        let text = text.trim();
        let wrong = |error| self.wrong(text, error);
        let (name, at) = match text.split_once('[') {
            None => (text, None),
            Some((name, rest)) => {
                let inside =
                    rest.strip_suffix(']').ok_or_else(|| wrong(OperationError::Spelling))?;
                (
                    name.trim_end(),
                    Some(numbers(inside).ok_or_else(|| wrong(OperationError::Spelling))?),
                )
            }
        };
        let (name, id) = self.find(name)?;
        let shape = &self.instance.shapes[id.0 as usize];
        let outside = |at: &Vec<u64>| {
            at.len() != shape.len() || at.iter().zip(shape).any(|(index, extent)| index >= extent)
        };
        if at.as_ref().is_some_and(outside) {
            return Err(wrong(OperationError::Outside(shape.clone())));
        }
        Ok((Named { name: name.to_owned(), at }, id))
    }

    /// The one operation with a name, or with a suffix of its path.
    fn find(&self, name: &str) -> Result<(&str, ArrayId), Error> {
        let ends = |own: &&(String, ArrayId)| {
            own.0.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        if let Some((own, id)) = self.named.iter().find(|(own, _)| own == name) {
            return Ok((own, *id));
        }
        let found: Vec<_> = self.named.iter().filter(ends).collect();
        match &found[..] {
            [(own, id)] if !name.is_empty() => Ok((own, *id)),
            [] => Err(self.wrong(name, OperationError::Unknown)),
            all => {
                let names = all.iter().map(|(name, _)| name.clone()).collect();
                Err(self.wrong(name, OperationError::Ambiguous(names)))
            }
        }
    }

    #[cold]
    fn wrong(&self, text: &str, error: OperationError) -> Error {
        let names = self.names().map(str::to_owned).collect();
        Error::Operation(Box::new(Operation { text: text.into(), error, names }))
    }
}

impl Relation {
    /// The related elements: of the operation without indices, or else of the second one.
    pub fn set(&self) -> &PointSet {
        &self.set
    }

    /// True if the two are related; if the set is a superset, perhaps wrongly.
    pub fn is_related(&self) -> bool {
        match &self.other.at {
            Some(at) => self.set.contains(at),
            None => !self.set.is_empty(),
        }
    }

    /// Name of the operation whose elements are in [`set`](Self::set).
    pub fn other(&self) -> &str {
        &self.other.name
    }
}

/// `mm.m[2,1,3] reaches mm.a[2,1]`, or the set of reached elements.
impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { one, verb, other, set } = self;
        let (may, not) = (if set.is_exact() { "" } else { "may " }, *verb == "reaches");
        let verb = match (self.is_related(), set.is_exact(), not) {
            (true, true, _) => (*verb).to_string(),
            (true, false, true) => format!("{may}reach"),
            (true, false, false) => format!("{may}depend on"),
            (false, _, true) => "does not reach".to_string(),
            (false, _, false) => "does not depend on".to_string(),
        };
        write!(f, "{one} {verb} {other}")?;
        match other.at {
            None if !set.is_empty() => write!(f, " at {set}"),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        let Some(at) = &self.at else { return Ok(()) };
        let at: Vec<String> = at.iter().map(u64::to_string).collect();
        write!(f, "[{}]", at.join(","))
    }
}

impl Program {
    /// The operations of the program for arguments of these element types and shapes, by name.
    ///
    /// # Errors
    /// [`Error::Program`] where the arguments do not fit.
    ///
    /// ```
    /// let program = ijk::i("half: i/2~i; half . half")?;
    /// let operations = program.operations(&[(ijk::DType::F64, &[4])])?;
    /// assert_eq!(operations.names().collect::<Vec<_>>(), ["0", "half#1", "half#2"]);
    /// assert!(operations.relation("0[3]", "half#2[3]")?.is_related());
    /// assert!(operations.relation("half[3]", "0[3]").is_err());
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn operations(&self, arguments: &[(DType, &[usize])]) -> Result<Operations, Error> {
        let WrittenOut { program, instance, origins } = self.written_out(arguments)?;
        let inputs = (0..self.arity()).map(|n| n.to_string());
        let path = |n: &Option<usize>| n.map_or(String::new(), |n| self.paths()[n].clone());
        let paths: Vec<String> = origins.iter().map(path).collect();
        Ok(Operations::new(program.into_owned(), instance, inputs, &paths))
    }
}

/// Names, with numbers appended to those that occur several times.
fn numbered(paths: &[String]) -> Vec<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    paths.iter().for_each(|path| *counts.entry(path).or_default() += 1);
    let mut seen: HashMap<&str, usize> = HashMap::new();
    let mut names = Vec::with_capacity(paths.len());
    for path in paths {
        let number = seen.entry(path).or_default();
        *number += 1;
        names.push(match counts[&path[..]] {
            1 if !path.is_empty() => path.clone(),
            _ => format!("{path}#{number}"),
        });
    }
    names
}

/// Parses `2,3,1`; an empty text or `.` is no index.
fn numbers(text: &str) -> Option<Vec<u64>> {
    match text.trim() {
        "" | "." => Some(Vec::new()),
        text => text.split(',').map(|n| n.trim().parse().ok()).collect(),
    }
}
