//! The literal interpreter of loops of the core IR: every window is copied, every update runs by itself.

use crate::EvalError;
use crate::reference::core::interpret;
use crate::reference::surface::advance;
use crate::reference::value::{Value, integer, position, zero};
use ijk_ir::core::{Loop, LoopProgram, LoopStep, Update, UpdateInput, Window};
use ijk_types::{DType, Scalar};

/// Runs a loop on its arrays, which it changes; those of its own are left out.
///
/// # Errors
/// If a scalar operation fails, or the program violates a rule of the core IR.
pub fn interpret_loop(program: &LoopProgram, arrays: &mut Vec<Value>) -> Result<(), EvalError> {
    let given = std::mem::take(arrays);
    let mut given = given.into_iter();
    let mut memory = Vec::new();
    for array in &program.arrays {
        memory.push(match array.local {
            true => {
                let shape: Vec<usize> = array.shape.iter().map(|&n| n as usize).collect();
                Value::full(array.dtype, &shape, zero(array.dtype))
            }
            false => given.next().ok_or(EvalError::Core("an array of a loop is missing"))?,
        });
    }
    let mut run = LoopMemory { arrays: memory };
    run.passes(&program.root, &[])?;
    let own = program.arrays.iter().zip(run.arrays);
    *arrays = own.filter(|(array, _)| !array.local).map(|(_, value)| value).collect();
    Ok(())
}

struct LoopMemory {
    arrays: Vec<Value>,
}

impl LoopMemory {
    fn passes(&mut self, own: &Loop, around: &[i64]) -> Result<(), EvalError> {
        let extents: Vec<usize> = own.axes.iter().map(|axis| axis.extent as usize).collect();
        if let Some(flag) = own.until {
            self.arrays[flag].data[0] = Scalar::Bool(false);
        }
        if extents.contains(&0) {
            return Ok(());
        }
        let mut point = vec![0; extents.len()];
        loop {
            let mut pass = around.to_vec();
            pass.extend(point.iter().zip(&extents).map(|(&x, &extent)| {
                let x = if own.descending { extent - 1 - x } else { x };
                x as i64
            }));
            for step in &own.steps {
                self.step(step, &pass)?;
            }
            let ended = own.until.is_some_and(|f| self.arrays[f].data[0] == Scalar::Bool(true));
            if ended || !advance(&mut point, &extents) {
                return Ok(());
            }
        }
    }

    fn step(&mut self, step: &LoopStep, pass: &[i64]) -> Result<(), EvalError> {
        match step {
            LoopStep::Update(update) => self.update(update, pass).map(|_| ()),
            LoopStep::Fused(all, parts) => match self.update(all, pass)? {
                true => Ok(()),
                false => parts.iter().try_for_each(|part| self.step(part, pass)),
            },
            LoopStep::Loop(inner) => self.passes(inner, pass),
        }
    }

    /// Runs an update, unless it is left out; returns true if it ran.
    fn update(&mut self, update: &Update, pass: &[i64]) -> Result<bool, EvalError> {
        let mut coordinates = pass.to_vec();
        for window in &update.lookups {
            let Some(at) = self.fixed(window, &coordinates) else { return Ok(false) };
            let found = integer(self.read(window, &at).data[0]);
            coordinates.push(found.ok_or(EvalError::Core("a lookup is no integer"))?);
        }
        let Some(outputs) = self.all_fixed(update.outputs.iter(), &coordinates) else {
            return Ok(false);
        };
        let Some(inputs) = self.sources(&update.inputs, &coordinates) else { return Ok(false) };
        if !update.conditions.iter().all(|condition| condition.holds(&coordinates)) {
            return Ok(false);
        }
        if let Some(probe) = &update.probe {
            let Some(inputs) = self.sources(&probe.inputs, &coordinates) else { return Ok(false) };
            let found = interpret(&probe.program, &probe.instance, &inputs)?;
            if found[0].data[0] != Scalar::Bool(true) {
                return Ok(false);
            }
        }
        let results = interpret(&update.program, &update.instance, &inputs)?;
        for ((window, at), result) in update.outputs.iter().zip(outputs).zip(results) {
            self.write(window, &at, &result);
        }
        Ok(true)
    }

    /// Values of inputs in a pass; none if a window is out of bounds.
    fn sources(&self, inputs: &[UpdateInput], coordinates: &[i64]) -> Option<Vec<Value>> {
        let read = |source: &UpdateInput| match source {
            UpdateInput::Window(window) => {
                Some(self.read(window, &self.fixed(window, coordinates)?))
            }
            UpdateInput::Coordinate(axis) => Some(Value {
                dtype: DType::I64,
                shape: Vec::new(),
                data: vec![Scalar::I64(coordinates[axis.0 as usize])],
            }),
        };
        inputs.iter().map(read).collect()
    }

    fn all_fixed<'a>(
        &self,
        windows: impl Iterator<Item = &'a Window>,
        coordinates: &[i64],
    ) -> Option<Vec<Vec<Option<usize>>>> {
        windows.map(|window| self.fixed(window, coordinates)).collect()
    }

    /// Positions of the fixed axes; none if one is out of bounds.
    fn fixed(&self, window: &Window, coordinates: &[i64]) -> Option<Vec<Option<usize>>> {
        let shape = &self.arrays[window.array].shape;
        let fixed = window.fixed.iter().zip(shape).map(|(e, &extent)| match e {
            None => Some(None),
            Some(e) => {
                let at = usize::try_from(e.eval(coordinates)).ok()?;
                (at < extent).then_some(Some(at))
            }
        });
        fixed.collect()
    }

    fn read(&self, window: &Window, at: &[Option<usize>]) -> Value {
        let array = &self.arrays[window.array];
        let mut data = Vec::new();
        let shape = for_each_element(&array.shape, at, &mut |from| data.push(array.data[from]));
        Value { dtype: array.dtype, shape, data }
    }

    fn write(&mut self, window: &Window, at: &[Option<usize>], result: &Value) {
        let array = &mut self.arrays[window.array];
        let mut from = result.data.iter();
        for_each_element(&array.shape.clone(), at, &mut |to| {
            if let Some(value) = from.next() {
                array.data[to] = *value;
            }
        });
    }
}

/// Calls `visit` with the position of every element of a window, in row-major order; returns the window's extents.
fn for_each_element(
    shape: &[usize],
    at: &[Option<usize>],
    visit: &mut dyn FnMut(usize),
) -> Vec<usize> {
    let free: Vec<usize> =
        shape.iter().zip(at).filter(|(_, at)| at.is_none()).map(|(&n, _)| n).collect();
    if free.contains(&0) {
        return free;
    }
    let mut point = vec![0; free.len()];
    loop {
        let mut own = point.iter();
        let index = at.iter().map(|at| at.unwrap_or_else(|| own.next().copied().unwrap_or(0)));
        visit(position(shape, index));
        if !advance(&mut point, &free) {
            return free;
        }
    }
}
