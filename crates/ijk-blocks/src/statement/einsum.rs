//! `einsum` of any number of block tensors, as a statement for each step.

use super::fit::Fit;
use super::{AxisUse, Statement, common_block, name, types};
use crate::domain::{Affine, Points, StageAxis};
use crate::term::Kind;
use crate::{BigTensor, Error, Formula, Problem, TextError, Type, TypeError};
use ijk_ir::einsum::{Product, operators};
use ijk_plan::order::{self, Measure, Network, Options};
use ijk_syntax::einsum::Subscripts;
use ijk_types::{DType, Reducer};
use std::sync::Arc;

impl BigTensor {
    /// The einsum of some tensors, with NumPy's meaning of subscripts, multiplied two at a time in an order with few
    /// multiplications.
    ///
    /// An index has one block: the axes that it stands for have compatible ones. Axes of one element fit any other.
    /// Operands that are [re-cut to fit](Self::recut_to_fit) get such blocks automatically.
    ///
    /// # Errors
    /// If the subscripts are wrong or do not fit, element types differ, or blocks are not compatible.
    ///
    /// ```
    /// use ijk_blocks::BigTensor;
    /// let u = BigTensor::lit((0..6).map(f64::from), [2, 3], [Some(1), Some(2)])?;
    /// let squares = BigTensor::einsum("ij,kj->ik", &[&u, &u])?;
    /// assert_eq!(squares.ty().to_string(), "([2, 2], [1, 1], f64)");
    /// let found = squares.collect()?;
    /// assert_eq!(found.as_numbers().unwrap().as_slice::<f64>(), Some(&[5.0, 14.0, 14.0, 50.0][..]));
    ///
    /// let error = BigTensor::einsum("ij,ij->", &[&u, &u.reblock([None, Some(3)])?]).unwrap_err();
    /// assert!(error.to_string().contains("index `j` has blocks of 2 on axis 1 of u but of 3 on axis 1 of v"));
    /// # Ok::<(), ijk_blocks::Error>(())
    /// ```
    pub fn einsum(subscripts: &str, operands: &[&BigTensor]) -> Result<Self, Error> {
        let parsed =
            Subscripts::parse(subscripts).map_err(|all| TextError::all(subscripts, all))?;
        let shapes: Vec<Vec<u64>> = operands
            .iter()
            .map(|operand| operand.dims().iter().map(|&n| n as u64).collect())
            .collect();
        let shapes: Vec<&[u64]> = shapes.iter().map(Vec::as_slice).collect();
        let product = Product::new(&parsed, &shapes);
        let product = product.map_err(|all| TextError::all(&parsed.source, all))?;
        let rule = format!("einsum({})", parsed.source);
        let of = element_type(&rule, operands)?;
        let mut fit = Fit::new(operands.iter().map(|&operand| operand.clone()));
        places(&product, operands).iter().for_each(|places| fit.index(places));
        let fitted = fit.operands()?;
        let operands: Vec<&BigTensor> = fitted.iter().collect();
        let blocks = blocks(&rule, &product, &operands)?;
        if !(matches!(of, DType::F16 | DType::BF16) && operands.len() > 2) {
            return PathBuilder::new(rule, &product, blocks, of, &operands).run();
        }
        // Intermediates are not rounded.
        let wide = operands.iter().map(|operand| operand.map("f32(x)"));
        let wide: Vec<BigTensor> = wide.collect::<Result<_, _>>()?;
        let wide: Vec<&BigTensor> = wide.iter().collect();
        let product = PathBuilder::new(rule, &product, blocks, DType::F32, &wide).run()?;
        product.map(format!("{of}(x)").as_str())
    }
}

/// The one type of all operands' numbers.
fn element_type(rule: &str, operands: &[&BigTensor]) -> Result<DType, Error> {
    let refuse = |problem| Error::from(TypeError::named(rule, types(operands), problem));
    let mut first: Option<DType> = None;
    for (n, operand) in operands.iter().enumerate() {
        let element = operand.element_type();
        let Some(dtype) = element.number() else {
            let (what, found) = (format!("`{rule}`"), element.to_string());
            return Err(refuse(Problem::Takes { what, expected: "numbers".into(), found }));
        };
        if let Some(first) = first.filter(|first| *first != dtype) {
            let (first, places) = (first.to_string(), (name(0), name(n)));
            return Err(refuse(Problem::Types {
                operands: places,
                types: (first, dtype.to_string()),
            }));
        }
        first = Some(dtype);
    }
    Ok(first.unwrap_or(DType::F64))
}

/// The block of each index.
fn blocks(
    rule: &str,
    product: &Product,
    operands: &[&BigTensor],
) -> Result<Vec<Option<usize>>, Error> {
    let (places, shown) = (places(product, operands), types(operands));
    let indices = places.iter().zip(&product.names);
    let blocks = indices.map(|(places, index)| common_block(rule, index, places, &shown));
    Ok(blocks.collect::<Result<_, _>>()?)
}

/// For each index, the axes of operands that have it.
fn places(product: &Product, operands: &[&BigTensor]) -> Vec<Vec<AxisUse>> {
    let mut places: Vec<Vec<AxisUse>> = vec![Vec::new(); product.extents.len()];
    for (operand, axes) in product.operands.iter().enumerate() {
        for (axis, index) in axes.iter().enumerate() {
            let Some(index) = index else { continue };
            let block = operands[operand].ty().blocks[axis];
            places[*index as usize].push(AxisUse { operand, axis, block });
        }
    }
    places
}

/// A tensor that is to be multiplied, with the index of each axis.
type Factor = (BigTensor, Vec<Option<u32>>);

struct PathBuilder<'a> {
    rule: String,
    product: &'a Product,
    blocks: Vec<Option<usize>>,
    of: DType,
    list: Vec<Factor>,
}

impl<'a> PathBuilder<'a> {
    fn new(
        rule: String,
        product: &'a Product,
        blocks: Vec<Option<usize>>,
        of: DType,
        operands: &[&BigTensor],
    ) -> Self {
        let axes = product.operands.iter().cloned();
        let list = operands.iter().map(|&operand| operand.clone()).zip(axes).collect();
        Self { rule, product, blocks, of, list }
    }

    fn run(mut self) -> Result<BigTensor, Error> {
        let network = Network {
            operands: (0..self.list.len()).map(|n| self.product.indices(n)).collect(),
            output: self.product.result.iter().flatten().copied().collect(),
            extents: self.product.extents.clone(),
        };
        // An empty sum is 0, whatever the other factors are: it must not become a factor.
        let path = match self.list.len() {
            0..=2 => Vec::new(),
            _ if self.product.is_empty() => Vec::new(),
            _ => {
                let options = Options { measure: Measure::Time, ..Options::default() };
                order::order(&network, &options).map_or(Vec::new(), |found| found.path.0)
            }
        };
        for step in path {
            // The last step multiplies all remaining factors.
            if step.len() < self.list.len() {
                self.step(&step);
            }
        }
        let all: Vec<usize> = (0..self.list.len()).collect();
        Ok(self.step(&all))
    }

    /// Removes tensors from the list and appends their product, summed over the indices that no other tensor has.
    fn step(&mut self, positions: &[usize]) -> BigTensor {
        let mut sorted = positions.to_vec();
        sorted.sort_unstable();
        let mut taken: Vec<Factor> = sorted.iter().rev().map(|&at| self.list.remove(at)).collect();
        taken.reverse();
        let mut indices: Vec<u32> = Vec::new();
        for &index in taken.iter().flat_map(|(_, axes)| axes.iter().flatten()) {
            if !indices.contains(&index) {
                indices.push(index);
            }
        }
        let needed = |index: &u32| {
            let mut others = self.list.iter().flat_map(|(_, axes)| axes.iter().flatten());
            others.any(|other| other == index) || self.product.result.contains(&Some(*index))
        };
        let out: Vec<Option<u32>> = match self.list.is_empty() {
            true => self.product.result.clone(),
            false => indices.iter().copied().filter(needed).map(Some).collect(),
        };
        let folded = indices.into_iter().filter(|&index| !out.contains(&Some(index)));
        let all: Vec<Option<u32>> = out.iter().copied().chain(folded.map(Some)).collect();
        let tensor = self.statement(&all, out.len(), &taken);
        self.list.push((tensor.clone(), out));
        tensor
    }

    /// The product of factors, along axes of which the first are the result's.
    fn statement(&self, all: &[Option<u32>], kept: usize, factors: &[Factor]) -> BigTensor {
        let axes: Vec<StageAxis> = all
            .iter()
            .enumerate()
            .map(|(n, index)| {
                let folded = n >= kept;
                let Some(index) = index.map(|index| index as usize) else {
                    return StageAxis { name: "1".into(), extent: 1, block: None, folded };
                };
                let (name, block) = (self.product.names[index].clone(), self.blocks[index]);
                StageAxis { name, extent: self.product.extents[index] as usize, block, folded }
            })
            .collect();
        let place = |index: &Option<u32>| {
            let at = index.and_then(|_| all.iter().position(|other| other == index));
            at.map_or(Affine::default(), Affine::axis)
        };
        let index = factors.iter().map(|(_, axes)| axes.iter().map(place).collect()).collect();
        let (times, plus) = operators(self.of);
        let variables = (0..factors.len()).map(Formula::variable);
        let formula = variables.reduce(|l, r| Formula::binary(times, l, r));
        let formula = formula.unwrap_or_else(|| Formula::number(1.0));
        let reducer = (kept < all.len()).then_some(Reducer::Monoid(plus));
        let out = &axes[..kept];
        let dims: Vec<usize> = out.iter().map(|axis| axis.extent).collect();
        let blocks: Vec<Option<usize>> = out.iter().map(|axis| axis.block).collect();
        let ty = Type::new(dims, blocks, self.of);
        let operands: Vec<BigTensor> = factors.iter().map(|(tensor, _)| tensor.clone()).collect();
        let types = operands.iter().map(|operand| operand.ty().clone()).collect();
        let (name, points) = (self.rule.clone(), Points::default());
        let statement = Statement { name, axes, index, types, formula, reducer, points };
        BigTensor::new(Kind::Statement(Arc::new(statement)), operands, ty)
    }
}
