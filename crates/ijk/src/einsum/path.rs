//! The order in which an einsum's operands are multiplied, told to people.

use super::Einsum;
use super::planned::{network, order};
use crate::{Engine, Error};
use ijk_ir::einsum::{Multiplication, Product};
use ijk_plan::order::{self, Order, PathCost};
use std::fmt;

/// In which order the operands of an einsum are multiplied, and what that costs. Displays as text of
/// several lines.
#[derive(Clone, Debug)]
pub struct EinsumPath {
    order: Order,
    /// Multiplications of the sum as it is written.
    naive: f64,
    subscripts: String,
    /// For each step, what it multiplies.
    steps: Vec<String>,
}

impl Einsum {
    /// How operands of these shapes are multiplied.
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
    /// How an einsum multiplies operands of these shapes, as [`Einsum::path`] tells it; the search ends
    /// where the engine's [`interrupt`](crate::EngineBuilder::interrupt) says so.
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

    /// Elements of the largest array that a step gives.
    pub fn largest(&self) -> f64 {
        self.order.cost.largest
    }

    /// What it costs.
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
