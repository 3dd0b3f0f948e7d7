//! Element types of all arrays, from the arguments'.

use super::messages;
use crate::core::{Program, TypeTerm};
use ijk_syntax::Diagnostic;
use ijk_types::DType;

/// The element type of each array; errors are reported where the arguments' do not fit.
pub fn resolve(program: &Program, given: &[DType], errors: &mut Vec<Diagnostic>) -> Vec<DType> {
    let mut variables: Vec<Option<(DType, usize)>> = vec![None; program.types.len()];
    for (n, (id, t)) in program.inputs.iter().zip(given).enumerate() {
        if let TypeTerm::Var(v) = program.arrays[id.0 as usize].dtype {
            bind(program, &mut variables[v as usize], v, (*t, n), errors);
        }
    }
    let known: Vec<DType> = variables.iter().map(|v| v.map_or(DType::F64, |(t, _)| t)).collect();
    for (n, (id, t)) in program.inputs.iter().zip(given).enumerate() {
        let wanted = program.arrays[id.0 as usize].dtype.resolve(&known);
        let is_variable = matches!(program.arrays[id.0 as usize].dtype, TypeTerm::Var(_));
        if !is_variable && wanted != *t {
            errors.push(messages::wrong_type(program, n, *t, wanted));
        }
    }
    for (a, b) in &program.same_real {
        let (left, right) = (variables[*a as usize], variables[*b as usize]);
        if let (Some((t, m)), Some((u, n))) = (left, right)
            && t.real() != u.real()
        {
            errors.push(messages::types_differ(program, (m, t), (n, u)));
        }
    }
    program.arrays.iter().map(|array| array.dtype.resolve(&known)).collect()
}

fn bind(
    program: &Program,
    variable: &mut Option<(DType, usize)>,
    v: u32,
    (t, n): (DType, usize),
    errors: &mut Vec<Diagnostic>,
) {
    match variable {
        Some((known, first)) if *known != t => {
            errors.push(messages::types_differ(program, (*first, *known), (n, t)));
        }
        Some(_) => {}
        None => {
            *variable = Some((t, n));
            if !program.types[v as usize].contains(t) {
                errors.push(messages::type_not_accepted(program, n, t, v));
            }
        }
    }
}
