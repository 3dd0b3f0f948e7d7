//! Plan and dependencies of a program, without a run.

use super::segments::{self, Segment, SegmentStage};
use super::{Bindings, Program, Shapes};
use crate::{Engine, Error, Explanation, Operations};
use ijk_ir::core::{Loop, LoopStep};
use ijk_ir::et::Stage;
use ijk_syntax::Diagnostic;

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

    /// Explains a run on an engine with arrays of these types and shapes: one explanation for each stage of the
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
        let segment = self.segment(bindings)?;
        let signature = self.signature().to_string().replace('\n', "; ");
        let mut explained = Vec::new();
        for stage in &segment.stages {
            match stage {
                SegmentStage::Run(stage, _) => explained.push(engine.explain_instance(
                    signature.clone(),
                    &stage.program,
                    &stage.instance,
                )?),
                SegmentStage::Loop(stage, _) => {
                    self.explain_steps(engine, "", &stage.program.root, &mut explained)?;
                }
            }
        }
        Ok(explained)
    }

    /// Explains the updates of a loop.
    fn explain_steps(
        &self,
        engine: &Engine,
        around: &str,
        own: &Loop,
        explained: &mut Vec<Explanation>,
    ) -> Result<(), Error> {
        let names: Vec<&str> = own.axes.iter().map(|axis| &axis.name[..]).collect();
        let sign = if own.descending { "-" } else { "" };
        let until = if own.until.is_some() { " at most" } else { "" };
        let passes = own.passes();
        let header = format!("{around}LOOP {sign}{}: {passes} passes{until}; ", names.join(","));
        for step in &own.steps {
            let (update, beside) = match step {
                LoopStep::Loop(inner) => {
                    self.explain_steps(engine, &header, inner, explained)?;
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
            explained.push(engine.explain_instance(signature, program, instance)?);
        }
        Ok(())
    }

    /// The program lowered for the bindings.
    fn segment(&self, bindings: &Bindings<'_>) -> Result<Segment, Error> {
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
