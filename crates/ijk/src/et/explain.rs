//! Plan and dependencies of a program, without a run.

use super::segments::{self, Segment, SegmentStage};
use super::{Bindings, Program, Shapes};
use crate::{Engine, Error, Explanation, Operations};
use ijk_cpu::{PassOrder, RunError};
use ijk_ir::core::{Loop, LoopStep};
use ijk_ir::et::{KeptPasses, LoopStage, Stage};
use ijk_plan::{LoopOptions, c_strides};
use ijk_syntax::Diagnostic;
use ijk_tensor::TensorView;

/// Strides of a bound array; none for an outline, whose elements are one.
fn strides(bound: &Option<&TensorView<'_>>) -> Option<Vec<isize>> {
    let view = bound.as_ref()?;
    let outline = view.len() > 1 && view.strides().iter().all(|&stride| stride == 0);
    (!outline).then(|| view.strides().to_vec())
}

/// The order of the passes of each loop, for arrays of these strides, or in C order.
fn orders(
    engine: &Engine,
    stage: &LoopStage,
    given: &[Option<Vec<isize>>],
) -> Result<Vec<PassOrder>, Error> {
    let program = &stage.program;
    let outer = program.arrays.iter().zip(&stage.arrays).filter(|(array, _)| !array.local);
    let strides = outer.map(|(array, at)| {
        let own = at.and_then(|at| given[at].clone());
        own.unwrap_or_else(|| c_strides(&array.shape))
    });
    let strides: Vec<Vec<isize>> = strides.collect();
    let (memory_limit, strict) = (engine.memory_limit(), engine.is_strict());
    let plan = ijk_plan::plan_loop(program, &strides, LoopOptions { memory_limit, strict })?;
    Ok(engine.cpu().compile_loop(&plan).map_err(RunError::from)?.orders())
}

impl Program {
    /// The operations of the program for arrays of these types and shapes, by the names of their arrays: a statement
    /// is named by the array on its left, with a number if there are several.
    ///
    /// Elements of bound arrays are not read, so [`outline`](Bindings::outline) suffices.
    ///
    /// # Errors
    /// As for [`solve`](Self::solve); [`Error::Program`] if extents depend on elements.
    ///
    /// ```
    /// use ijk::{DType, et::Bindings};
    /// let program = ijk::et("y[i] = x[i] - x[i-1]\nz[i] = 2 * y[i]")?;
    /// let operations = program.operations(&Bindings::new().outline("x", DType::F64, &[5]))?;
    /// assert_eq!(operations.names().collect::<Vec<_>>(), ["x", "y", "z"]);
    /// assert_eq!(operations.relation("z[3]", "x")?.to_string(), "z[3] depends on x at {(3)} ∪ {(2)}");
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn operations(&self, bindings: &Bindings<'_>) -> Result<Operations, Error> {
        let segment = self.segment(bindings)?;
        let stage = match &segment.stages[..] {
            [SegmentStage::Run(stage, _)] => stage,
            stages if stages.iter().any(|s| matches!(s, SegmentStage::Loop(..))) => {
                return Err(self.undecided("what elements depend on is not known of loops"));
            }
            _ => return Err(self.undecided("the program assigns nothing, or in several stages")),
        };
        let arrays = &self.checked().arrays;
        let inputs: Vec<String> = stage.inputs.iter().map(|&at| arrays[at].name.clone()).collect();
        let names: Vec<String> = self.statement_names(stage);
        let (program, instance) = (stage.program.clone(), stage.instance.clone());
        Ok(Operations::new(program, instance, inputs.into_iter(), &names))
    }

    /// Explains a run on an engine with arrays of these types and shapes, and the strides of those that are bound: one explanation for each stage of the
    /// program. There is one stage, or none if nothing is assigned; a loop has one for each update of its passes.
    ///
    /// # Errors
    /// As for [`operations`](Self::operations), and as for [`run`](Self::run) before anything is computed.
    ///
    /// ```
    /// use ijk::{DType, Engine, et::Bindings};
    /// let program = ijk::et("c[i,j] = a[i,k] * b[k,j]")?;
    /// let shapes = Bindings::new();
    /// let shapes = shapes.outline("a", DType::F32, &[8, 4]).outline("b", DType::F32, &[4, 6]);
    /// let explanations = program.explain(Engine::global(), &shapes)?;
    /// assert_eq!(explanations[0].cost().operations, 2 * 8 * 4 * 6);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn explain(
        &self,
        engine: &Engine,
        bindings: &Bindings<'_>,
    ) -> Result<Vec<Explanation>, Error> {
        let numbers = bindings.numbers(self)?;
        let bindings = &bindings.with_numbers(&numbers);
        let segment = self.segment(bindings)?;
        let signature = self.signature().to_string().replace('\n', "; ");
        let mut explained = Vec::new();
        let mut given: Vec<Option<Vec<isize>>> =
            self.bound(bindings)?.iter().map(strides).collect();
        for stage in &segment.stages {
            match stage {
                SegmentStage::Run(stage, _) => {
                    let (program, instance) = (&stage.program, &stage.instance);
                    let inputs = stage.inputs.iter().zip(&program.inputs);
                    let strides = inputs.map(|(&at, id)| {
                        let own = given[at].clone();
                        own.unwrap_or_else(|| c_strides(&instance.shapes[id.0 as usize]))
                    });
                    let strides = Some(strides.collect());
                    let signature = signature.clone();
                    explained.push(engine.explain_instance(signature, program, instance, strides)?);
                    stage.outputs.iter().for_each(|&at| given[at] = None);
                }
                SegmentStage::Loop(stage, _) => {
                    let changed = stage.program.arrays.iter().zip(&stage.arrays);
                    for (_, at) in changed.filter(|(array, _)| array.changes) {
                        at.iter().for_each(|&at| given[at] = None);
                    }
                    let mut orders = orders(engine, stage, &given)?.into_iter();
                    let root = &stage.program.root;
                    let kept = self.kept_passes(stage);
                    self.explain_steps((engine, &mut orders), &kept, root, &mut explained)?;
                }
            }
        }
        Ok(explained)
    }

    /// The arrays of which a loop keeps the last passes only: `` `s` keeps 1 pass; ``.
    fn kept_passes(&self, stage: &LoopStage) -> String {
        let text = |own: &KeptPasses| {
            let name = &self.checked().arrays[own.array].name;
            let passes = if own.passes == 1 { "pass" } else { "passes" };
            format!("`{name}` keeps {} {passes}; ", own.passes)
        };
        stage.kept.iter().map(text).collect()
    }

    /// Explains the updates of a loop.
    fn explain_steps(
        &self,
        (engine, orders): (&Engine, &mut std::vec::IntoIter<PassOrder>),
        around: &str,
        own: &Loop,
        explained: &mut Vec<Explanation>,
    ) -> Result<(), Error> {
        let names: Vec<&str> = own.axes.iter().map(|axis| &axis.name[..]).collect();
        let sign = if own.descending { "-" } else { "" };
        let until = if own.until.is_some() { " at most" } else { "" };
        let passes = own.passes();
        let order = orders.next().unwrap_or(PassOrder::Passes);
        let names = names.join(",");
        let header = format!("{around}LOOP {sign}{names}: {passes} passes{until}, {order}; ");
        for step in &own.steps {
            let (update, beside) = match step {
                LoopStep::Loop(inner) => {
                    self.explain_steps((engine, &mut *orders), &header, inner, explained)?;
                    continue;
                }
                LoopStep::Update(update) => (update, ""),
                LoopStep::Fused(all, _) => (all, " (by themselves in passes that skip one)"),
            };
            let text = |s: &ijk_ir::core::Statement| {
                let text = self.source().get(s.span.start as usize..s.span.end as usize);
                text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
            };
            let statements: Vec<String> = update.program.statements.iter().map(text).collect();
            let signature = format!("{header}{}{beside}", statements.join("; "));
            let (program, instance) = (&update.program, &update.instance);
            explained.push(engine.explain_instance(signature, program, instance, None)?);
        }
        Ok(())
    }

    /// The program lowered for the bindings.
    fn segment(&self, bindings: &Bindings<'_>) -> Result<Segment, Error> {
        let numbers = bindings.numbers(self)?;
        let bindings = &bindings.with_numbers(&numbers);
        let bound = self.bound(bindings)?;
        let choices = &bindings.held().choices;
        let shapes = Shapes::solve(self, &bound, choices)?;
        let case = self.case(bindings, &bound, shapes, choices.seed.unwrap_or(0))?;
        let segment = segments::lower(self.checked(), &case)?;
        match segment.then {
            None => Ok(segment),
            Some(wanted) => {
                let array = &self.checked().arrays[wanted.array];
                let message = format!(
                    "elements of `{}` decide extents, and are not known before the program runs",
                    array.name
                );
                let diagnostic = Diagnostic::error(array.span, message);
                Err(Error::program(self.source(), vec![diagnostic]))
            }
        }
    }

    fn undecided(&self, message: &str) -> Error {
        let end = u32::try_from(self.source().len()).unwrap_or(u32::MAX);
        let span = ijk_syntax::Span::new(0, end);
        Error::program(self.source(), vec![Diagnostic::error(span, message)])
    }

    /// For each statement of a stage the array on the left of its source statement.
    fn statement_names(&self, stage: &Stage) -> Vec<String> {
        let statements = &self.checked().program.statements;
        let name = |span: ijk_ir::core::Span| {
            let from = statements
                .iter()
                .find(|from| from.span.start <= span.start && span.end <= from.span.end);
            from.map_or(String::new(), |from| from.left.array.text.to_string())
        };
        stage.program.statements.iter().map(|statement| name(statement.span)).collect()
    }
}
