//! Arrays: what sizes them, how many places they have, where their elements come from.

use super::super::codes;
use super::super::walk::{self, Event, Role, Standing};
use super::super::{ArrayInfo, Origin};
use super::names::{Kind, Names};
use crate::sink::Sink;
use crate::text::count;
use ijk_syntax::Span;
use ijk_syntax::et::ast::{Access, AssignOp, Declared, Program, Statement, Value};
use ijk_types::DType;
use std::collections::HashMap;

/// The arrays of a program in the order of their first appearance.
#[derive(Debug, Default)]
pub struct Arrays {
    pub infos: Vec<ArrayInfo>,
    /// The first access of each.
    pub sizing: Vec<Access>,
    /// Arrays that a statement or the framework call reads.
    pub read: Vec<bool>,
    /// The first statement that assigns it.
    assigned: Vec<Option<usize>>,
    by_name: HashMap<String, usize>,
}

impl Arrays {
    /// Collects arrays; reports different numbers of indices, and reads of arrays without elements.
    pub fn collect(program: &Program, names: &Names, sink: &mut Sink) -> Self {
        let mut arrays = Self::default();
        for (n, statement) in program.statements.iter().enumerate() {
            walk::statement(statement, &mut |event| {
                if let Event::Access(access, role) = event
                    && names.get(&access.array.text).is_some_and(|u| u.kind() == Kind::Array)
                {
                    arrays.take(program, access, role, n, names, sink);
                }
            });
            arrays.note_assigned(statement, n);
            check_element(statement, sink);
            walk::conditions(program, n, &mut |event| {
                if let Event::Access(access, _) = event
                    && names.get(&access.array.text).is_some_and(|u| u.kind() == Kind::Array)
                {
                    arrays.take(program, access, Role::Right, n, names, sink);
                }
            });
        }
        arrays
    }

    /// The position of an array.
    pub fn get(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    fn take(
        &mut self,
        program: &Program,
        access: &Access,
        role: Role,
        statement: usize,
        names: &Names,
        sink: &mut Sink,
    ) {
        let name = &access.array.text;
        let declared = role == Role::Left && program.statements[statement].declared.is_some();
        let n = match self.get(name) {
            Some(n) if declared => {
                let message = format!("the input `{name}` is declared behind its first use");
                let error = codes::DECLARED_LATE.error(access.span, message);
                sink.push(error.with_related(self.infos[n].span, "first used here"));
                n
            }
            Some(n) => n,
            None => {
                let assigned = names.get(name).is_some_and(|u| u.is_assigned());
                self.add(access, origin(program, statement, role, assigned))
            }
        };
        self.count(n, access, sink);
        if role != Role::Left {
            self.read[n] = true;
            let assigned = self.infos[n].origin == Origin::Input || self.assigned[n].is_some();
            if !assigned && !carries(program, statement, name) {
                let later = assigning(program, name, statement);
                sink.push(read_before(program, name, access.span, later, statement));
                self.assigned[n] = Some(statement);
            }
        }
    }

    fn add(&mut self, access: &Access, origin: Origin) -> usize {
        let (name, places) = (access.array.text.clone(), access.indices.len());
        self.by_name.insert(name.clone(), self.infos.len());
        self.infos.push(ArrayInfo { name, span: access.span, places, origin });
        self.sizing.push(access.clone());
        self.read.push(false);
        self.assigned.push(None);
        self.infos.len() - 1
    }

    fn count(&self, n: usize, access: &Access, sink: &mut Sink) {
        let (info, found) = (&self.infos[n], access.indices.len());
        if info.places == found {
            return;
        }
        let (have, places) = (count(found, "place"), info.places);
        let message =
            format!("`{}` has {have} here but {places} where it is first used", info.name);
        let error = codes::INDEX_COUNT
            .error(access.span, message)
            .with_label(have)
            .with_related(info.span, count(places, "place"));
        sink.push(error);
    }

    fn note_assigned(&mut self, statement: &Statement, number: usize) {
        if let Some(n) = self.get(&statement.left.array.text) {
            self.assigned[n].get_or_insert(number);
        }
    }
}

/// The element type that a declaration names.
pub fn declared_type(statement: &Statement) -> Option<DType> {
    match &statement.declared.as_ref()?.element.as_ref()?.text[..] {
        "INT" => Some(DType::I64),
        "FLOAT" => Some(DType::F64),
        text => DType::ALL.into_iter().find(|t| t.name().to_uppercase() == text),
    }
}

fn check_element(statement: &Statement, sink: &mut Sink) {
    let Some(Declared { element: Some(element) }) = &statement.declared else { return };
    if declared_type(statement).is_none() {
        let message = format!("there is no element type `{}`", element.text);
        let names = DType::ALL.map(|t| t.name().to_uppercase()).join(" ");
        let error = codes::UNKNOWN_ELEMENT.error(element.span, message);
        let error = match meant(&element.text) {
            Some(near) => error.with_fix(format!("did you mean `{near}`?"), element.span, near),
            None => error,
        };
        sink.push(error.with_hint(format!("element types are {names}, INT (I64) and FLOAT (F64)")));
    }
}

/// The element type that a name of other libraries stands for: F32 for `float32`.
fn meant(text: &str) -> Option<String> {
    let (text, names) = (text.to_uppercase(), DType::ALL.map(|t| t.name().to_uppercase()));
    let words =
        [("BFLOAT", "BF"), ("FLOAT", "F"), ("UINT", "U"), ("INT", "I"), ("COMPLEX", "C"), ("", "")];
    let spelled = words.iter().filter_map(|(word, letter)| {
        let bits = text.strip_prefix(word)?;
        Some(format!("{letter}{bits}"))
    });
    spelled.into_iter().find(|name| names.contains(name))
}

fn origin(program: &Program, number: usize, role: Role, assigned: bool) -> Origin {
    let statement = &program.statements[number];
    let assign = statement.assign;
    let plain = assign.op == AssignOp::Add && !assign.accumulate;
    let once = program.loops_around(number).next().is_none();
    match &statement.value {
        _ if !assigned => Origin::Input,
        Value::Random { .. } if role == Role::Left && plain && once => {
            Origin::Random { statement: number }
        }
        _ => Origin::Computed,
    }
}

/// Returns true if a statement assigns that array at places of a loop around it: passes before this one have assigned
/// other elements.
fn carries(program: &Program, statement: usize, name: &str) -> bool {
    let left = &program.statements[statement].left;
    if left.array.text != name {
        return false;
    }
    let mut found = false;
    for index in &left.indices {
        walk::index(index, Standing::Index, &mut |event| {
            if let Event::Name(name, Standing::Index) = event {
                found |= program.loops_around(statement).any(|l| l.tuple.text == name.text);
            }
        });
    }
    found
}

fn assigning(program: &Program, name: &str, from: usize) -> Option<(usize, Span)> {
    let mut later = program.statements.iter().enumerate().skip(from);
    later.find(|(_, s)| s.left.array.text == name).map(|(n, s)| (n, s.left.span))
}

fn read_before(
    program: &Program,
    name: &str,
    span: Span,
    assigned: Option<(usize, Span)>,
    statement: usize,
) -> ijk_syntax::Diagnostic {
    let message = format!("`{name}` is read before it has elements");
    let error = codes::READ_BEFORE.error(span, message);
    match assigned {
        Some((n, at)) if n == statement => {
            let error = error.with_related(
                at,
                "this statement is the first to assign it, and reads what was before",
            );
            match program.loops_around(statement).next() {
                None => error.with_hint(
                    "`LOOP t` and statements indented below it run once for each value of `t`, and read what the \
                     passes before wrote",
                ),
                Some(_) => error.with_hint(format!(
                    "a state has its first value before the loop: `{name}[…] = …`"
                )),
            }
        }
        Some((_, at)) => error
            .with_related(at, "assigned only here")
            .with_hint("statements run in order; an array that none assigns is an input"),
        None => error,
    }
}
