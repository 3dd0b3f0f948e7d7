//! Programs on block tensors.

use super::segments::{self, SegmentStage};
use super::{Bindings, Program, Shapes};
use crate::Error;
use crate::blocks::{self, BigTensor, Problem, Site, TypeError};
use ijk_tensor::TensorView;
use thiserror::Error as ThisError;

/// An error in the application of a program to block tensors.
#[derive(Debug, ThisError)]
pub enum BlocksError {
    /// The program is wrong, or does not fit.
    #[error(transparent)]
    Program(#[from] Error),
    /// It cannot run in blocks.
    #[error(transparent)]
    Blocks(#[from] blocks::Error),
}

impl BlocksError {
    /// The error as text, with the place in the program: `origin` is the name of the program (of its file), `color`
    /// adds ANSI escapes.
    pub fn render(&self, origin: &str, color: bool) -> String {
        match self {
            Self::Program(Error::Program(report) | Error::Memory(report)) => {
                report.render(origin, color)
            }
            Self::Program(error) => error.to_string(),
            Self::Blocks(error) => error.render(origin, color),
        }
    }
}

impl Program {
    /// Applies the program to block tensors by name: each statement is a term, and nothing is computed before a
    /// result is collected or written. `choices` may fix ranks and extents, and bind plain numbers and arrays, which are
    /// in one block each.
    ///
    /// For computed positions, as in `x[a + 2*b]`, a block of the result reads parts of neighbouring blocks;
    /// positions that are elements of an array need the whole axis, which must not be cut. For computed positions on
    /// the left, every block of the result visits the blocks that may write to it; the result has the blocks of the
    /// indices in the positions, or those of the array before.
    ///
    /// # Errors
    /// As for [`run`](Self::run), before anything is computed; and if it cannot run in blocks: positions from
    /// arrays on an axis that is cut, extents that elements decide.
    ///
    /// ```
    /// use ijk::{blocks::BigTensor, et::Bindings};
    /// let x = BigTensor::lit((0..8).map(f64::from), [8], [Some(3)])?;
    /// let k = BigTensor::lit([1.0, -1.0], [2], [None])?;
    /// let program = ijk::et("y[o] = x[o + f] * k[f]\n\nDIMS(o) = 7");
    /// let results = program?.apply_blocks(&[("x", &x), ("k", &k)], &Bindings::new())?;
    /// let (name, y) = &results[0];
    /// assert_eq!((&name[..], y.dims()), ("y", &[7][..]));
    /// assert_eq!(y.collect()?.as_numbers().unwrap().as_slice::<f64>(), Some(&[-1.0; 7][..]));
    ///
    /// let scaled = ijk::et("y[i] = scale[] * x[i]")?;
    /// let (_, y) = &scaled.apply_blocks(&[("x", &x)], &Bindings::new().bind("scale", 2))?[0];
    /// assert_eq!(y.ty().to_string(), "([8], [3], f64)");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn apply_blocks(
        &self,
        arrays: &[(&str, &BigTensor)],
        choices: &Bindings<'_>,
    ) -> Result<Vec<(String, BigTensor)>, BlocksError> {
        let numbers = choices.numbers(self)?;
        let mut bindings = choices.with_numbers(&numbers);
        let checked = self.checked();
        let mut versions: Vec<Option<BigTensor>> = vec![None; checked.arrays.len()];
        for (name, view) in &bindings.held().arrays {
            let blocks = vec![None; view.shape().len()];
            let array = view.to_tensor().map_err(Error::from)?;
            versions[self.input(name)?] = Some(BigTensor::from_tensor(array, blocks)?);
        }
        for (name, tensor) in arrays {
            bindings = bindings.bind(*name, outline(name, tensor)?);
        }
        for (name, tensor) in arrays {
            versions[self.input(name)?] = Some((*tensor).clone());
        }
        let bound = self.bound(&bindings)?;
        let shapes = Shapes::solve(self, &bound, &bindings.held().choices)?;
        let seed = bindings.held().choices.seed.unwrap_or(0);
        let case = self.case(&bindings, &bound, shapes, seed)?;
        let segment = segments::lower(checked, &case)?;
        if let Some(wanted) = segment.then {
            let array = &checked.arrays[wanted.array];
            let axis = wanted.axis.map_or(String::new(), |axis| format!(" along axis {axis}"));
            let why = format!(
                "elements of {}{axis} decide the extents of what is made with them",
                array.name
            );
            let (source, span) = (checked.source.clone(), array.span);
            let site = Site { source, span, reads: Vec::new() };
            return Err(blocks::Error::from(refused(&array.name, &why).at(site)).into());
        }
        for stage in &segment.stages {
            let stage = match stage {
                SegmentStage::Run(stage, _) => stage,
                SegmentStage::Loop(stage, _) => {
                    let (source, span) = (checked.source.clone(), stage.program.root.span.into());
                    let site = Site { source, span, reads: Vec::new() };
                    let why =
                        "loops run on whole arrays, not on blocks: `collect()` gives such arrays";
                    return Err(blocks::Error::from(refused("LOOP", why).at(site)).into());
                }
            };
            let inputs = stage.inputs.iter().filter_map(|&at| versions[at].clone());
            let inputs: Vec<BigTensor> = inputs.collect();
            let inputs: Vec<&BigTensor> = inputs.iter().collect();
            let results = blocks::apply_instance(&stage.program, &stage.instance, &inputs)?;
            for (&at, result) in stage.outputs.iter().zip(results) {
                versions[at] = Some(result);
            }
        }
        let named = |&at: &usize| Some((checked.arrays[at].name.clone(), versions[at].clone()?));
        Ok(checked.outputs.iter().filter_map(named).collect())
    }
}

fn refused(array: &str, why: &str) -> Box<TypeError> {
    TypeError::new(array, Vec::new(), Problem::NotInBlocks(why.into()))
}

/// A view with the type and shape of a tensor, from which ranks and extents are solved.
fn outline(name: &str, tensor: &BigTensor) -> Result<TensorView<'static>, BlocksError> {
    let refused = |why| BlocksError::from(blocks::Error::from(refused(name, why)));
    let element = tensor.element_type().number();
    let element = element.ok_or_else(|| refused("its elements are lists"))?;
    let view = super::bindings::outline(element, tensor.dims());
    view.ok_or_else(|| refused("it has more elements than can be counted"))
}
