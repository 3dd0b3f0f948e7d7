//! The order in which the operands of an einsum are multiplied, for people.

use super::Einsum;
use super::planned::{network, order};
use crate::{Engine, Error};
use ijk_ir::einsum::{Multiplication, Product};
use ijk_plan::order::{self, Order, PathCost};
use std::fmt;

/// The order in which the operands of an einsum are multiplied, with its cost. Displays as text of
/// several lines.
#[derive(Clone, Debug)]
pub struct EinsumPath {
    order: Order,
    /// Multiplications of the sum as it is written.
    naive: f64,
    subscripts: String,
    /// The subscripts of each step.
    steps: Vec<String>,
}

impl Einsum {
    /// The order for operands of these shapes.
    ///
    /// # Errors
    /// As for [`einsum`](crate::einsum()).
    ///
    /// ```
    /// let chain = ijk::Einsum::new("ij,jk,kl->il")?;
    /// let path = chain.path(&[&[2, 100], &[100, 100], &[100, 3]])?;
    /// assert_eq!(path.steps(), [[0, 1], [0, 1]]);
    /// assert_eq!(path.multiplications(), 20_600.0);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn path(&self, shapes: &[&[usize]]) -> Result<EinsumPath, Error> {
        Engine::global().einsum_path(self, shapes)
    }

    fn path_on(&self, engine: &Engine, shapes: &[&[usize]]) -> Result<EinsumPath, Error> {
        let product = self.product_of(shapes.iter().copied())?;
        let order = order(engine, self, &product, None)?;
        let everything = order::Path(vec![(0..product.operands.len()).collect()]);
        let naive = order::cost(&network(&product), &everything, &[])?.multiplications;
        let steps = steps(&product, &order);
        Ok(EinsumPath { order, naive, subscripts: self.to_string(), steps })
    }
}

impl Engine {
    /// The order of an einsum for operands of these shapes, as [`Einsum::path`] finds it; the engine's
    /// [`interrupt`](crate::EngineBuilder::interrupt) may end the search.
    ///
    /// # Errors
    /// As for [`einsum`](crate::einsum()).
    pub fn einsum_path(&self, einsum: &Einsum, shapes: &[&[usize]]) -> Result<EinsumPath, Error> {
        einsum.path_on(self, shapes)
    }
}

impl EinsumPath {
    /// The path in opt_einsum's format: see [`Einsum::with_path`].
    pub fn steps(&self) -> &[Vec<usize>] {
        &self.order.path.0
    }

    /// Multiplications of all steps.
    pub fn multiplications(&self) -> f64 {
        self.order.cost.multiplications
    }

    /// Multiplications of the sum as it is written, without intermediates.
    pub fn naive_multiplications(&self) -> f64 {
        self.naive
    }

    /// Elements of the largest result of a step.
    pub fn largest(&self) -> f64 {
        self.order.cost.largest
    }

    /// The cost of all steps.
    pub fn cost(&self) -> &PathCost {
        &self.order.cost
    }
}

/// Each step as subscripts.
fn steps(product: &Product, order: &Order) -> Vec<String> {
    let steps = product.multiplications(&order.path.0);
    steps.iter().map(|step| subscripts(product, &steps, step)).collect()
}

/// A step as subscripts.
fn subscripts(product: &Product, steps: &[Multiplication], step: &Multiplication) -> String {
    let names = |index: &u32| &product.names[*index as usize][..];
    let short = step.domain.iter().map(names).all(|name| name.chars().count() == 1);
    let term = |axes: &[Option<u32>]| -> String {
        let names: Vec<&str> = axes.iter().flatten().map(names).collect();
        if short { names.concat() } else { format!("[{}]", names.join(" ")) }
    };
    let factors = step.factors.iter().map(|&factor| term(product.axes(steps, factor)));
    let factors: Vec<String> = factors.collect();
    format!("{}->{}", factors.join(","), term(&step.axes))
}

impl fmt::Display for EinsumPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.subscripts)?;
        writeln!(f, "  as written        {:.3e} multiplications", self.naive)?;
        let (cost, gain) = (&self.order.cost, self.naive / self.order.cost.multiplications);
        writeln!(f, "  step by step      {:.3e}, {gain:.3e} times fewer", cost.multiplications)?;
        writeln!(f, "  largest result    {:.3e} elements", cost.largest)?;
        for (path, step) in self.order.path.0.iter().zip(&self.steps) {
            writeln!(f, "  {path:?}  {step}")?;
        }
        Ok(())
    }
}
