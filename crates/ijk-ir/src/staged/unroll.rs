//! Loops written out, pass after pass: for questions about elements, and where nothing runs loops.

use super::part::variables;
use crate::core::{
    Access, Array, ArrayId, Axis, AxisId, Dim, IndexExpr, Init, Instance, Program, ProgramItem,
    ScalarExpr, ScalarNode, Statement, TypeTerm,
};
use ijk_types::DType;

/// A program without loops that computes the same, with its extents.
#[derive(Clone, Debug, PartialEq)]
pub struct Unrolled {
    /// The program.
    pub program: Program,
    /// Its extents and element types.
    pub instance: Instance,
    /// For each statement the one that it is a copy of; none for copies of elements.
    pub origins: Vec<Option<usize>>,
}

/// Writes the loops of a program out; none if that takes more than `most` statements, and if elements decide the number
/// of passes.
pub fn unrolled(program: &Program, instance: &Instance, most: usize) -> Option<Unrolled> {
    let mut writer = Writer {
        of: program,
        shapes: instance,
        variables: variables(program, instance),
        program: Program { source: program.source.clone(), ..Program::default() },
        instance: Instance::default(),
        origins: Vec::new(),
        places: vec![None; program.arrays.len()],
        most,
    };
    for &id in &program.inputs {
        let own = writer.array(id);
        writer.program.inputs.push(own);
        writer.places[id.0 as usize] = Some(RowPlace { array: own, at: Vec::new() });
    }
    writer.items(&program.items())?;
    for &id in &program.outputs {
        let output = writer.whole(id)?;
        writer.program.outputs.push(output);
    }
    let Writer { program, instance, origins, .. } = writer;
    Some(Unrolled { program, instance, origins })
}

/// Where the elements of an array are: in another one, behind these positions on its first axes.
#[derive(Clone, Debug)]
struct RowPlace {
    array: ArrayId,
    at: Vec<i64>,
}

struct Writer<'a> {
    of: &'a Program,
    shapes: &'a Instance,
    variables: Vec<DType>,
    program: Program,
    instance: Instance,
    origins: Vec<Option<usize>>,
    places: Vec<Option<RowPlace>>,
    most: usize,
}

impl Writer<'_> {
    /// A new array like one of the program.
    fn array(&mut self, id: ArrayId) -> ArrayId {
        let at = id.0 as usize;
        let (dtype, shape) = (self.shapes.dtypes[at], self.shapes.shapes[at].clone());
        let (rank, span) = (Some(shape.len() as u32), self.of.arrays[at].span);
        self.program.arrays.push(Array { rank, dtype: TypeTerm::Fixed(dtype), span });
        self.instance.dtypes.push(dtype);
        self.instance.shapes.push(shape);
        ArrayId(self.program.arrays.len() as u32 - 1)
    }

    fn place(&self, id: ArrayId) -> Option<&RowPlace> {
        self.places[id.0 as usize].as_ref()
    }

    fn items(&mut self, items: &[ProgramItem]) -> Option<()> {
        let mut at = 0;
        while let Some(item) = items.get(at) {
            match *item {
                ProgramItem::Statement(n) => self.statement(n)?,
                ProgramItem::Begin(n) => {
                    let end = items.iter().position(|item| *item == ProgramItem::End(n))?;
                    self.passes(n, &items[at + 1..end])?;
                    at = end;
                }
                ProgramItem::End(_) => return None,
            }
            at += 1;
        }
        Some(())
    }

    fn passes(&mut self, n: usize, body: &[ProgramItem]) -> Option<()> {
        let own = &self.of.loops[n];
        let mut all: Vec<Option<ArrayId>> = vec![None; own.states.len()];
        let mut values: Vec<RowPlace> = Vec::new();
        for state in &own.states {
            values.push(self.place(state.before)?.clone());
        }
        let passes = self.shapes.passes[n];
        if passes > self.most as u64 || own.until.is_some() {
            return None;
        }
        let passes = passes as i64;
        for pass in 0..passes {
            let pass = if own.descending { passes - 1 - pass } else { pass };
            for (state, value) in own.states.iter().zip(&values) {
                self.places[state.current.0 as usize] = Some(value.clone());
            }
            for swept in &own.swept {
                let mut row = self.place(swept.of)?.clone();
                row.at.push(pass);
                self.places[swept.row.0 as usize] = Some(row);
            }
            self.items(body)?;
            for (n, state) in own.states.iter().enumerate() {
                values[n] = self.place(state.next)?.clone();
                if own.all {
                    let all = &mut all[n];
                    *all = Some(self.copy(state.result, (*all, Some(pass)), &values[n])?);
                }
            }
        }
        for ((state, value), all) in own.states.iter().zip(values).zip(all) {
            let place = match (own.all, all) {
                (false, _) => value,
                (true, Some(array)) => RowPlace { array, at: Vec::new() },
                // Without a pass, no element is copied.
                (true, None) => {
                    let array = self.array(state.result);
                    self.copied(state.result, array, (None, Some(0)), &value)?;
                    RowPlace { array, at: Vec::new() }
                }
            };
            self.places[state.result.0 as usize] = Some(place);
        }
        Some(())
    }

    /// The array that an output is.
    fn whole(&mut self, id: ArrayId) -> Option<ArrayId> {
        let place = self.place(id)?.clone();
        match place.at.is_empty() {
            true => Some(place.array),
            false => self.copy(id, (None, None), &place),
        }
    }

    /// A new version of an array, with elements copied to a row of it or to all of it.
    fn copy(
        &mut self,
        like: ArrayId,
        onto: (Option<ArrayId>, Option<i64>),
        from: &RowPlace,
    ) -> Option<ArrayId> {
        let out = self.array(like);
        self.copied(like, out, onto, from)?;
        Some(out)
    }

    fn copied(
        &mut self,
        like: ArrayId,
        out: ArrayId,
        (before, row): (Option<ArrayId>, Option<i64>),
        from: &RowPlace,
    ) -> Option<()> {
        let shape = &self.shapes.shapes[like.0 as usize];
        let rest = shape.len() - usize::from(row.is_some());
        let extents = shape[shape.len() - rest..].to_vec();
        let empty = row.is_some() && shape[0] == 0;
        let axis = |n: usize| Axis { name: format!("i{n}"), dims: Vec::new(), pins: Vec::new() };
        let axes = || (0..rest).map(|n| IndexExpr::axis(AxisId(n as u32)));
        let constant = |at: i64| IndexExpr::constant(at);
        let index = from.at.iter().map(|&at| constant(at)).chain(axes()).collect();
        let access =
            Access { array: from.array, index, span: self.of.arrays[like.0 as usize].span };
        let mut domain: Vec<Axis> = (0..rest).map(axis).collect();
        let mut extents = extents;
        if empty {
            domain.push(Axis { name: "none".into(), dims: Vec::new(), pins: Vec::new() });
            extents.push(0);
        }
        let statement = Statement {
            out,
            domain,
            out_index: row.map(constant).into_iter().chain(axes()).collect(),
            init: before.map_or(Init::Zero, Init::From),
            reduce: None,
            value: ScalarExpr { nodes: vec![ScalarNode::Access(access)] },
            guards: Vec::new(),
            span: self.of.arrays[like.0 as usize].span,
        };
        self.push(statement, extents, None)
    }

    fn push(
        &mut self,
        statement: Statement,
        extents: Vec<u64>,
        origin: Option<usize>,
    ) -> Option<()> {
        self.program.statements.push(statement);
        self.instance.extents.push(extents);
        self.origins.push(origin);
        (self.program.statements.len() <= self.most).then_some(())
    }

    fn statement(&mut self, n: usize) -> Option<()> {
        let of = self.of;
        let mut copy = of.statements[n].clone();
        for axis in &mut copy.domain {
            let dims = axis.dims.iter().map(|dim| {
                let place = self.place(dim.array)?;
                let axis = dim.axis + place.at.len() as u32;
                Some(Dim { array: place.array, axis, span: dim.span })
            });
            axis.dims = dims.collect::<Option<_>>()?;
            axis.pins.clear();
        }
        if let Init::From(id) = &mut copy.init {
            *id = self.whole(*id)?;
        }
        for node in &mut copy.value.nodes {
            match node {
                ScalarNode::Access(access) => {
                    let place = self.place(access.array)?;
                    let at = place.at.iter().map(|&at| IndexExpr::constant(at));
                    access.index = at.chain(access.index.drain(..)).collect();
                    access.array = place.array;
                }
                ScalarNode::Const(_, term) | ScalarNode::Extent(_, term) => {
                    *term = TypeTerm::Fixed(term.resolve(&self.variables));
                }
                _ => {}
            }
        }
        let (out, extents) = (copy.out, self.shapes.extents[n].clone());
        copy.out = self.array(out);
        self.places[out.0 as usize] = Some(RowPlace { array: copy.out, at: Vec::new() });
        self.push(copy, extents, Some(n))
    }
}
