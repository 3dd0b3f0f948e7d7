//! Explanations of all steps of a plan.

use super::rejected::{contraction_reasons, nest_reasons};
use super::{Reason, StepExplanation};
use crate::engine::compiled::{CompileTarget, Compiled, compile};
use crate::error::PlanError;
use crate::folds::least_row;
use crate::probe::{Bound, Costs, Work};
use crate::steps::{ExecutableStep, Program};
use ijk_kernels::simd::Level;
use ijk_plan::plan::{Plan, Step, Window};
use ijk_types::DType;
use std::collections::BTreeSet;

/// The settings of an engine on which its choices depend; made by [`Engine::explainer`](crate::Engine::explainer).
#[derive(Clone, Debug)]
pub struct Explainer {
    level: Level,
    streams: usize,
    costs: Costs,
    threads: usize,
}

impl Explainer {
    /// That of an engine.
    pub(crate) fn new((level, streams): (Level, usize), costs: &Costs, threads: usize) -> Self {
        Self { level, streams, costs: costs.clone(), threads }
    }

    /// Explains the steps of a plan in order of execution; the steps of a block follow those of its sweep.
    ///
    /// # Errors
    /// As for [`Engine::compile`](crate::Engine::compile).
    pub fn explain(&self, plan: &Plan) -> Result<Vec<StepExplanation>, PlanError> {
        let Self { level, streams, ref costs, .. } = *self;
        let compiled = compile(plan, CompileTarget { level, streams, costs, explains: true })?;
        let mut all = Vec::new();
        PlanSteps { explainer: self, plan, compiled: &compiled, threads: self.threads }
            .explain("", &mut all);
        Ok(all)
    }
}

/// A plan with its programs, for a number of threads.
#[derive(Clone, Copy)]
struct PlanSteps<'a> {
    explainer: &'a Explainer,
    plan: &'a Plan,
    compiled: &'a Compiled,
    threads: usize,
}

impl PlanSteps<'_> {
    /// Adds the explanations of all steps, whose numbers follow `prefix`.
    fn explain(&self, prefix: &str, all: &mut Vec<StepExplanation>) {
        let mut start = 0;
        let ends = self.compiled.ends.iter().copied().chain([self.compiled.steps.len()]);
        for (n, end) in ends.enumerate() {
            let number = format!("{prefix}{}", n + 1);
            for (at, program) in self.compiled.steps.iter().enumerate().take(end).skip(start) {
                // Those before the last one initialise its output.
                let step = self.plan.steps.get(n).filter(|_| at + 1 == end);
                all.push(self.step(&number, program, step));
                if let (Program::Sweep(program), Some(Step::Sweep(sweep))) = (program, step) {
                    let (plan, compiled) = (&sweep.body, program.body());
                    let body = PlanSteps { plan, compiled, threads: 1, ..*self };
                    body.explain(&format!("{number}."), all);
                }
            }
            start = end;
        }
    }

    /// The explanation of a program that executes a step, or initialises an output.
    fn step(&self, number: &str, program: &Program, step: Option<&Step>) -> StepExplanation {
        let nanoseconds = program.cost();
        let (threads, divided) = self.threads_for(nanoseconds);
        let choice = program.explain(threads);
        let mut reasons = match step {
            Some(Step::Nest(nest)) => {
                let least_row = least_row(self.explainer.level);
                nest_reasons(nest, program, &self.compiled.buffers, least_row)
            }
            Some(Step::Contract(task)) => contraction_reasons(task, program),
            Some(_) => Vec::new(),
            None => vec![Reason::plain("the output is initialised before it is written in part")],
        };
        reasons.extend(choice.reasons);
        reasons.extend(divided);
        let name = program.name();
        StepExplanation {
            step: number.to_owned(),
            kernel: name.split_once(':').map_or(name, |(kernel, _)| kernel),
            algorithm: choice.algorithm,
            extents: choice.extents,
            blocking: choice.blocking,
            reasons,
            nanoseconds,
            bound: step.map(|step| self.bound(step)),
            threads,
        }
    }

    /// The lower bound of a step's time.
    fn bound(&self, step: &Step) -> Bound {
        let cost = step.cost(&self.plan.buffers);
        let dtype = match step {
            Step::Contract(task) => task.dtype,
            Step::Grouped(grouped) => grouped.each.dtype,
            Step::Scan(scan) => scan.dtype,
            Step::Sort(sort) => sort.dtype,
            Step::Nest(nest) => nest.node_types().last().map_or(nest.store.dtype, |&dtype| dtype),
            Step::Fill(buffer, _) => self.plan.buffers[buffer.0 as usize].dtype,
            Step::Sweep(sweep) => sweep
                .body
                .buffers
                .iter()
                .map(|b| b.dtype)
                .max_by_key(|t| t.size())
                .unwrap_or(DType::F32),
        };
        // Steps of a block find in cache what earlier ones wrote.
        let (read, written) = match step {
            Step::Sweep(sweep) => (self.bytes(&sweep.inputs), self.bytes(&sweep.outputs)),
            _ => (cost.read, cost.written),
        };
        let operations = cost.operations;
        self.explainer.costs.bound(&Work { dtype, operations, read, written })
    }

    /// Bytes of the buffers of windows.
    fn bytes(&self, windows: &[Window]) -> u64 {
        let buffers: BTreeSet<u32> = windows.iter().map(|window| window.buffer.0).collect();
        let bytes = |&at: &u32| {
            let buffer = &self.plan.buffers[at as usize];
            let shape = buffer.shape.iter();
            shape.fold(buffer.dtype.size() as u64, |n, &extent| n.saturating_mul(extent as u64))
        };
        buffers.iter().map(bytes).fold(0, u64::saturating_add)
    }

    /// Threads that a step of this estimated time uses, and the reason if the engine has more.
    fn threads_for(&self, nanoseconds: f64) -> (usize, Option<Reason>) {
        let worth = self.explainer.costs.worth_threads();
        if self.threads == 1 || nanoseconds >= worth {
            return (self.threads, None);
        }
        (1, Some(Reason::brief((nanoseconds, worth))))
    }
}
