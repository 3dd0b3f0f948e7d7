//! Core programs as they grow.

use super::Stage;
use super::known::ArrayState;
use crate::core::{Array, ArrayId, Instance, Program, Span, Statement, TypeTerm};
use ijk_types::DType;

/// The core program of the statements since the last stage.
#[derive(Debug, Default)]
pub struct StageBuilder {
    program: Program,
    instance: Instance,
    /// The arrays that are read from before.
    inputs: Vec<usize>,
    /// For each array of the surface program its current version here, and whether a statement
    /// here defines it.
    current: Vec<Option<(ArrayId, bool)>>,
}

impl StageBuilder {
    /// An empty one.
    pub fn new(source: &str, arrays: usize) -> Self {
        let program = Program { source: source.to_string(), ..Program::default() };
        Self { program, current: vec![None; arrays], ..Self::default() }
    }

    /// Returns true if a statement of the stage defines the current version of an array.
    pub fn defines(&self, array: usize) -> bool {
        matches!(self.current[array], Some((_, true)))
    }

    /// The current version of an array, an input where it is from before.
    pub fn read(&mut self, array: usize, known: &ArrayState) -> ArrayId {
        if let Some((id, _)) = self.current[array] {
            return id;
        }
        let version = known.versions[array].clone().unwrap_or_default();
        let (dtype, shape) = (version.dtype().unwrap_or(DType::F64), version.shape);
        let span = known.checked.arrays[array].span.into();
        let id = self.array(dtype, shape.unwrap_or_default(), span);
        self.program.inputs.push(id);
        self.inputs.push(array);
        self.current[array] = Some((id, false));
        id
    }

    /// For each array of the stage which array it is the version of from before, while no statement is in it.
    pub fn sources(&self) -> Vec<usize> {
        self.inputs.clone()
    }

    /// A new array.
    pub fn array(&mut self, dtype: DType, shape: Vec<u64>, span: Span) -> ArrayId {
        let rank = Some(shape.len() as u32);
        self.program.arrays.push(Array { rank, dtype: TypeTerm::Fixed(dtype), span });
        self.instance.dtypes.push(dtype);
        self.instance.shapes.push(shape);
        ArrayId(self.program.arrays.len() as u32 - 1)
    }

    /// Adds a statement over a domain of these extents.
    pub fn push(&mut self, statement: Statement, extents: Vec<u64>) {
        self.program.statements.push(statement);
        self.instance.extents.push(extents);
    }

    /// The array of the surface program has a new version.
    pub fn define(&mut self, array: usize, id: ArrayId) {
        self.current[array] = Some((id, true));
    }

    /// Returns true if the last statement defines an array of its own, of that type and shape.
    pub fn is_made(&self, id: ArrayId, dtype: DType, shape: &[u64]) -> bool {
        let last = self.program.statements.last();
        let of_surface = self.current.iter().flatten().any(|(own, _)| *own == id);
        let same = self.dtype(id) == dtype && self.instance.shapes[id.0 as usize] == shape;
        last.is_some_and(|last| last.out == id) && !of_surface && same
    }

    /// The extents of an array here.
    pub fn shape(&self, id: ArrayId) -> &[u64] {
        &self.instance.shapes[id.0 as usize]
    }

    /// The element type of an array here.
    pub fn dtype(&self, id: ArrayId) -> DType {
        self.instance.dtypes[id.0 as usize]
    }

    /// Finishes the stage and begins an empty one. Its results are those of its arrays that are `live`; no stage
    /// results if there are none.
    pub fn finish(&mut self, live: impl Fn(usize) -> bool) -> Option<Stage> {
        let arrays = self.current.len();
        let outputs: Vec<usize> = (0..arrays).filter(|&a| self.defines(a) && live(a)).collect();
        let next = Self::new(&self.program.source, arrays);
        let mut done = std::mem::replace(self, next);
        done.program.outputs =
            outputs.iter().filter_map(|&array| Some(done.current[array]?.0)).collect();
        if done.program.statements.is_empty() {
            return None;
        }
        let Self { program, instance, inputs, .. } = done;
        #[cfg(debug_assertions)]
        if let Err(errors) = crate::verify(&program) {
            panic!("lowering Einsum Tuple broke a program: {errors:?}\n{program}");
        }
        Some(Stage { program, instance, inputs, outputs })
    }
}
