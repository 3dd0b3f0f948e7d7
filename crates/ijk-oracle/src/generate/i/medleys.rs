//! Programs that apply many functions to one array: every function meets every element type.

use super::expression::accepts;
use super::{Case, Flavour, Rng, data};
use ijk_syntax::Function;
use ijk_types::DType;

/// A program of one argument, with a result for each of many functions.
pub(super) fn medley(rng: &mut Rng) -> Case {
    let (dtype, extent) = (*rng.pick(&DType::ALL), rng.between(1, 20));
    let all: Vec<String> = Function::ALL.iter().flat_map(|&f| spellings(f, dtype)).collect();
    let parts: Vec<String> = (0..rng.between(10, 20)).map(|_| rng.pick(&all).clone()).collect();
    let flavour = Flavour::random(rng);
    let inputs = vec![data::input(rng, &(dtype, vec![extent]), flavour)];
    Case { source: parts.join(" & "), inputs }
}

/// The uses of a function on elements of a type.
fn spellings(function: Function, dtype: DType) -> Vec<String> {
    let name = function.spelling();
    let name = if name.starts_with('@') { format!("{name} ") } else { name.to_owned() };
    let mut all = Vec::new();
    if function != Function::Index && accepts(function, &[dtype]) {
        all.push(format!("{name}i~i"));
    }
    if accepts(function, &[dtype; 2]) {
        all.push(format!("((I & I) . i {name}i~i)"));
    }
    let real = !dtype.is_complex();
    match function {
        f if f.orders() && real => all.push(format!("{name}i~k{{1}}")),
        Function::ArgMax | Function::ArgMin if real => all.push(format!("{name}i~.")),
        f if f.reduces() && !f.is_along() && accepts(f, &[dtype; 2]) => {
            all.push(format!("{name}i~."));
        }
        _ => {}
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::i::{Agreement, compare};

    #[test]
    fn medleys_are_programs() {
        for seed in 0..300 {
            let case = medley(&mut Rng::new(seed));
            let agreement = compare(&case, &mut []).expect(&case.source);
            let means = matches!(agreement, Agreement::Value(..) | Agreement::NoValue(_));
            assert!(means, "{}: {agreement:?}", case.source);
        }
    }
}
