//! Random well-formed programs in i with shapes, layouts and data; and ill-formed ones.

mod aims;
mod build;
mod component;
mod expression;
mod idioms;
mod medleys;
mod mistakes;
mod mutate;
mod print;
mod shrink;

pub use print::print;

use super::{Flavour, Input, Layout, Rng, data};
use crate::Value;
use crate::reference::surface::{Array, points};

/// Most points of a random program in all passes of its loops, so that no program takes more than a second or two.
const MOST_POINTS: usize = 2_000_000;

/// A program with arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The program's text.
    pub source: String,
    /// Its arguments.
    pub inputs: Vec<Input>,
}

impl Case {
    /// The case of a seed. Nearly all are well-formed; the data may still divide by zero.
    pub fn random(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        loop {
            if let Some(case) = Self::attempt(&mut rng) {
                return case;
            }
        }
    }

    fn attempt(rng: &mut Rng) -> Option<Self> {
        match rng.below(10_000) {
            0..18 => return Some(aims::long(rng)),
            18..50 => return Some(aims::wide(rng)),
            50..550 => return Some(aims::small(rng)),
            550..1750 => return Some(medleys::medley(rng)),
            _ => {}
        }
        let case = Self::by_chance(rng)?;
        (case.points() <= MOST_POINTS).then_some(case)
    }

    fn by_chance(rng: &mut Rng) -> Option<Self> {
        let most_points = rng.weighted(&[(50, 256), (32, 4000), (17, 30_000), (1, 150_000)]);
        let (source, arrays) = if rng.chance(0.12) {
            let (source, arrays) = idioms::idiom(rng, most_points)?;
            (source.to_owned(), arrays)
        } else {
            let (program, arrays) = component::program(rng, most_points)?;
            (print(&program, Some(rng)), arrays)
        };
        let inputs = inputs(rng, &arrays);
        Some(Self { source, inputs })
    }

    /// The number of points that an evaluation visits, in all passes; 0 for a case that is ill-formed.
    pub(crate) fn points(&self) -> usize {
        let (program, _) = ijk_syntax::parse(&self.source);
        let array = |input: &Input| (input.value.dtype, input.value.shape.clone());
        let arrays: Vec<Array> = self.inputs.iter().map(array).collect();
        points(&program, &arrays).unwrap_or(0)
    }

    /// The arguments' elements.
    pub fn values(&self) -> Vec<Value> {
        self.inputs.iter().map(|input| input.value.clone()).collect()
    }
}

fn inputs(rng: &mut Rng, arrays: &[Array]) -> Vec<Input> {
    let flavour = Flavour::random(rng);
    let mut inputs: Vec<Input> = Vec::with_capacity(arrays.len());
    for array in arrays {
        let alike = inputs
            .iter()
            .find(|other| (other.value.dtype, &other.value.shape) == (array.0, &array.1));
        let input = match alike {
            Some(earlier) if rng.chance(0.25) => earlier.clone(),
            _ => data::input(rng, array, flavour),
        };
        inputs.push(input);
    }
    inputs
}

/// The source and the arguments, for reproduction by hand.
impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.source)?;
        for (number, input) in self.inputs.iter().enumerate() {
            let Value { dtype, shape, data } = &input.value;
            write!(f, "  argument {}: {dtype}{shape:?}", number + 1)?;
            if input.layout != Layout::contiguous(shape.len()) {
                write!(f, " {:?}", input.layout)?;
            }
            if data.len() <= 40 {
                let elements: Vec<String> = data.iter().map(|x| format!("{x:?}")).collect();
                write!(f, " [{}]", elements.join(", "))?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
