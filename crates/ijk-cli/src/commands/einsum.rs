//! `ijk einsum`: products of files by subscripts.

use super::apply::load;
use crate::args::Einsum;
use crate::engine::engine;
use crate::failure::Failure;
use crate::files::{self, Place};
use crate::progress::Progress;
use crate::results::Results;
use crate::source::Source;
use crate::{memory, output};
use ijk::{DType, Tensor, TensorView};
use std::time::Instant;

/// Multiplies files.
///
/// # Errors
/// If anything is wrong with the subscripts, the arguments or where the result is to go.
pub fn einsum(args: &Einsum) -> Result<(), Failure> {
    let source = Source::subscripts(&args.subscripts);
    let einsum = ijk::Einsum::new(&args.subscripts).map_err(|error| source.failure(error))?;
    let outputs: Vec<_> = args.out.iter().map(|text| Place::parse(text)).enumerate().collect();
    files::check_distinct(&outputs)?;
    let engine = engine(args.how.threads, args.how.memory)?;
    let load = |text: &String| load(&Place::parse(text), args.how.dtype);
    let arguments = args.inputs.iter().map(load).collect::<Result<Vec<_>, _>>()?;
    let views: Vec<TensorView<'_>> = arguments.iter().map(Tensor::view).collect();
    let shapes: Vec<&[usize]> = views.iter().map(TensorView::shape).collect();
    let path = einsum.path(&shapes).map_err(|error| source.failure(error))?;
    if args.path {
        return output::print(&path.to_string());
    }
    if args.how.memory.is_none() {
        let largest = (path.largest() * dtype(&views).size() as f64) as u64;
        memory::fits(largest)?;
    }
    let progress = Progress::steps("computing", None);
    let start = Instant::now();
    let result = engine.apply_einsum(&einsum, &views).map_err(|error| source.failure(error))?;
    let seconds = start.elapsed().as_secs_f64();
    drop(progress);
    let results = [result];
    files::write_all(&results, &outputs)?;
    let names = [String::from("0")];
    let results = Results { names: &names, arrays: &results, outputs: &outputs, seconds };
    output::print(&if args.how.json {
        results.as_json(engine.threads())
    } else {
        results.as_text()
    })
}

fn dtype(views: &[TensorView<'_>]) -> DType {
    views.first().map_or(DType::F64, TensorView::dtype)
}
