//! Some statements of a program as a program of their own.

use crate::core::{
    Array, ArrayId, Atom, IndexExpr, Init, Instance, Program, ScalarNode, Statement, TypeTerm,
};
use crate::et::Stage;
use ijk_types::DType;

/// Statements with arrays of their own numbers; arrays that they read and do not define are inputs.
pub struct PartBuilder<'a> {
    whole: &'a Program,
    shapes: &'a Instance,
    /// Element types of the type variables.
    variables: Vec<DType>,
    program: Program,
    instance: Instance,
    /// For each array of the whole its number here.
    numbers: Vec<Option<ArrayId>>,
    /// The inputs, as arrays of the whole.
    inputs: Vec<ArrayId>,
}

impl<'a> PartBuilder<'a> {
    /// The statements at these positions.
    pub fn of(whole: &'a Program, shapes: &'a Instance, statements: &[usize]) -> Self {
        let mut part = Self {
            whole,
            shapes,
            variables: variables(whole, shapes),
            program: Program { source: whole.source.clone(), ..Program::default() },
            instance: Instance::default(),
            numbers: vec![None; whole.arrays.len()],
            inputs: Vec::new(),
        };
        for &n in statements {
            let copy = part.copied(&whole.statements[n]);
            part.push(whole.statements[n].out, copy, shapes.extents[n].clone());
        }
        part
    }

    /// Adds a statement that reads nothing and has no points.
    pub fn add(&mut self, out: ArrayId, statement: Statement) {
        self.push(out, statement, vec![0]);
    }

    fn push(&mut self, out: ArrayId, statement: Statement, extents: Vec<u64>) {
        let own = self.array(out);
        self.program.statements.push(Statement { out: own, ..statement });
        self.instance.extents.push(extents);
    }

    /// The number of an array that is defined here, or else an input.
    pub fn read(&mut self, id: ArrayId) -> ArrayId {
        if let Some(own) = self.numbers[id.0 as usize] {
            return own;
        }
        let own = self.array(id);
        self.program.inputs.push(own);
        self.inputs.push(id);
        own
    }

    fn array(&mut self, id: ArrayId) -> ArrayId {
        let at = id.0 as usize;
        let (dtype, shape) = (self.shapes.dtypes[at], self.shapes.shapes[at].clone());
        let rank = Some(shape.len() as u32);
        let span = self.whole.arrays[at].span;
        self.program.arrays.push(Array { rank, dtype: TypeTerm::Fixed(dtype), span });
        self.instance.dtypes.push(dtype);
        self.instance.shapes.push(shape);
        let own = ArrayId(self.program.arrays.len() as u32 - 1);
        self.numbers[at] = Some(own);
        own
    }

    /// A statement with numbers of arrays and types of this part, and without what only extents follow from.
    fn copied(&mut self, of: &Statement) -> Statement {
        let mut copy = of.clone();
        for axis in &mut copy.domain {
            axis.dims.clear();
            axis.pins.clear();
        }
        if let Init::From(id) = &mut copy.init {
            *id = self.read(*id);
        }
        copy.out_index.iter_mut().for_each(|e| self.renumber(e));
        copy.guards.iter_mut().for_each(|(e, _)| self.renumber(e));
        for node in &mut copy.value.nodes {
            match node {
                ScalarNode::Access(access) => {
                    access.array = self.read(access.array);
                    access.index.iter_mut().for_each(|e| self.renumber(e));
                }
                ScalarNode::Index(e) | ScalarNode::Random { counter: e, .. } => self.renumber(e),
                ScalarNode::Const(_, term) | ScalarNode::Extent(_, term) => {
                    *term = TypeTerm::Fixed(term.resolve(&self.variables));
                }
                ScalarNode::Unary(..) | ScalarNode::Binary(..) | ScalarNode::Select(..) => {}
            }
        }
        copy
    }

    fn renumber(&mut self, e: &mut IndexExpr) {
        for (_, atom) in e.terms.iter_mut() {
            match atom {
                Atom::Axis(_) => {}
                Atom::FloorDiv(e, _) | Atom::Mod(e, _) | Atom::Abs(e) => self.renumber(e),
                Atom::Product(left, right) | Atom::Max(left, right) | Atom::Min(left, right) => {
                    self.renumber(left);
                    self.renumber(right);
                }
                Atom::Element(access) => {
                    access.array = self.read(access.array);
                    access.index.iter_mut().for_each(|e| self.renumber(e));
                }
            }
        }
    }

    /// The part with these results.
    pub fn finish(mut self, outputs: &[ArrayId]) -> Stage {
        self.program.outputs = outputs.iter().map(|id| self.read(*id)).collect();
        #[cfg(debug_assertions)]
        if let Err(errors) = crate::verify(&self.program) {
            panic!("a part of a program is wrong: {errors:?}\n{}", self.program);
        }
        Stage {
            program: self.program,
            instance: self.instance,
            inputs: self.inputs.iter().map(|id| id.0 as usize).collect(),
            outputs: outputs.iter().map(|id| id.0 as usize).collect(),
        }
    }
}

/// Element types of the type variables, taken from arrays.
pub(super) fn variables(program: &Program, instance: &Instance) -> Vec<DType> {
    let mut variables = vec![DType::F64; program.types.len()];
    for (array, &dtype) in program.arrays.iter().zip(&instance.dtypes) {
        if let TypeTerm::Var(v) = array.dtype {
            variables[v as usize] = dtype;
        }
    }
    variables
}
