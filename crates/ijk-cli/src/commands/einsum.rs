//! `ijk einsum`: products of files by subscripts.

use super::apply::{deliver, load};
use super::blocks;
use crate::args::Einsum;
use crate::engine::engine;
use crate::failure::Failure;
use crate::files::{self, numbered, places};
use crate::source::Source;
use crate::{memory, output, standard};
use ijk::{BigTensor, DType, Tensor, TensorView};

/// Multiplies files.
///
/// # Errors
/// If the subscripts, the arguments or the place of the result are wrong.
pub fn einsum(args: &Einsum) -> Result<(), Failure> {
    let source = Source::subscripts(&args.subscripts);
    let einsum = ijk::Einsum::new(&args.subscripts).map_err(|error| source.failure(error))?;
    let outputs = numbered(args.out.as_slice())?;
    files::check_places(&outputs)?;
    standard::check_output(&outputs, standard::printed(&outputs, 1, args.options.json))?;
    let inputs = places(&args.inputs)?;
    if blocks::are_needed(&inputs, &outputs, &args.options)? {
        if args.path {
            let shapes = blocks::shapes(&inputs, &args.options)?;
            let path = einsum.path(&shapes.iter().map(Vec::as_slice).collect::<Vec<_>>());
            return output::print(&path.map_err(|error| source.failure(error))?.to_string());
        }
        let result = |arguments: &[&BigTensor]| {
            let result = BigTensor::einsum(&args.subscripts, arguments);
            Ok(blocks::in_order(vec![result.map_err(|error| source.blocks_failure(error))?]))
        };
        return blocks::run(&blocks::numbered(&inputs), result, &outputs, &args.options);
    }
    let engine = engine(args.options.threads, args.options.memory, args.options.strict)?;
    let load = |place| load(place, args.options.dtype);
    let arguments = inputs.iter().map(load).collect::<Result<Vec<_>, _>>()?;
    let views: Vec<TensorView<'_>> = arguments.iter().map(Tensor::view).collect();
    let shapes: Vec<&[usize]> = views.iter().map(TensorView::shape).collect();
    let path = || einsum.path(&shapes).map_err(|error| source.failure(error));
    if args.path {
        return output::print(&path()?.to_string());
    }
    // With a limit the engine searches for a path within it.
    let einsum = match args.options.memory {
        Some(_) => einsum.clone(),
        None => {
            let path = path()?;
            memory::fits((path.largest() * dtype(&views).size() as f64) as u64)?;
            einsum.with_path(path.steps())
        }
    };
    let compute = || engine.apply_einsum(&einsum, &views).map_err(|error| source.failure(error));
    let names = [String::from("0")];
    deliver(|| Ok(vec![compute()?]), &names, &outputs, &engine, args.options.json)
}

fn dtype(views: &[TensorView<'_>]) -> DType {
    views.first().map_or(DType::F64, TensorView::dtype)
}
