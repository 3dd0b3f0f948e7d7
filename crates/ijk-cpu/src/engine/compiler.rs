//! Compilation of the steps of a plan, and proof that values are written before they are read.

use crate::check::{
    CheckedNest, Layout, check_contraction, check_grouped, check_nest, check_scan, check_sort,
    written_by_parts,
};
use crate::engine::compiled::CompileTarget;
use crate::error::Fault;
use crate::nest::{Order, order};
use crate::steps::grouped::GroupedProgram;
use crate::steps::scan::{RelativeProgram, ScanProgram};
use crate::steps::short_axes::is_nest;
use crate::steps::sort::SortProgram;
use crate::steps::sweep::SweepProgram;
use crate::steps::{
    Program, constant_nest, contraction_nest, select, starts_from, without_reduced,
};
use ijk_plan::plan::{
    BufferId, Contraction, Grouped, Nest, Node, Place, Scan, Sort, Start, Step, Sweep,
};
use ijk_types::{Monoid, Scalar};
use std::collections::BTreeMap;

/// Compiles steps in order, and ensures that values are written before they are read.
pub(crate) struct Compiler<'a> {
    pub(crate) buffers: &'a [Layout],
    pub(crate) target: CompileTarget<'a>,
    pub(crate) steps: Vec<Program>,
    /// For each buffer, true if all its elements are initialised.
    pub(crate) initialised: Vec<bool>,
    /// Initialised buffers in the arena: by first byte, their end and index.
    pub(crate) live: BTreeMap<usize, (usize, usize)>,
}

impl Compiler<'_> {
    /// Compiles the first of `steps`.
    pub(crate) fn step(&mut self, steps: &[Step]) -> Result<(), Fault> {
        let Some(step) = steps.first() else { return Ok(()) };
        match step {
            Step::Fill(buffer, value) => self.fill(*buffer, *value),
            Step::Nest(nest) => self.nest(nest, steps),
            Step::Contract(contraction) => self.contract(contraction, steps),
            Step::Grouped(grouped) => self.grouped(grouped, steps),
            Step::Scan(scan) => self.scan(scan),
            Step::Sort(sort) => self.sort(sort),
            Step::Sweep(sweep) => self.sweep(sweep),
        }
    }

    fn sweep(&mut self, sweep: &Sweep) -> Result<(), Fault> {
        let (program, results) = SweepProgram::new(sweep, self.buffers, self.target)?;
        sweep.inputs.iter().try_for_each(|window| self.ready(window.buffer))?;
        for &(buffer, covered) in &results {
            if !covered {
                self.ready(buffer)?;
            }
        }
        self.steps.push(program.into());
        results.iter().for_each(|(buffer, _)| self.wrote(*buffer));
        Ok(())
    }

    /// Compiles a fill of a buffer.
    fn fill(&mut self, buffer: BufferId, value: Scalar) -> Result<(), Fault> {
        let layout = self.buffers.get(buffer.0 as usize).ok_or(Fault::Reference)?;
        let nest = constant_nest(buffer, layout, value);
        let checked = check_nest(&nest, self.buffers)?;
        if layout.len > 0 {
            self.push_nest(&nest, &checked)?;
        }
        self.wrote(buffer);
        Ok(())
    }

    fn nest(&mut self, nest: &Nest, steps: &[Step]) -> Result<(), Fault> {
        let checked = check_nest(nest, self.buffers)?;
        let out = nest.store.base.buffer;
        for load in &nest.loads {
            self.ready(load.base.buffer)?;
        }
        for node in &nest.body {
            if let Node::Gather { base, .. } = node {
                self.ready(base.buffer)?;
            }
        }
        let streams = self.buffers[out.0 as usize].streams;
        if let Some(program) = select::short_axes(nest, &checked, streams, self.target.level) {
            if !checked.covers {
                self.ready_for_part(out, steps)?;
            }
            self.push(program, out);
            return Ok(());
        }
        let identity = starts_from(nest, &checked).filter(|_| nest.start == Start::Covered);
        match identity {
            Some(identity) if order(nest, &checked) == Order::Points => self.fill(out, identity)?,
            _ if checked.covers => {}
            _ if checked.in_place => self.require(out)?,
            _ => self.ready_for_part(out, steps)?,
        }
        let empty = |reduced: bool| {
            nest.axes.iter().any(|axis| axis.reduced == reduced && axis.extent == 0)
        };
        if empty(false) {
            return Ok(());
        }
        if !empty(true) {
            self.push_nest(nest, &checked)?;
        } else if let Some(identity) = identity {
            let nest = without_reduced(nest, identity);
            let checked = check_nest(&nest, self.buffers)?;
            self.push_nest(&nest, &checked)?;
        }
        self.wrote(out);
        Ok(())
    }

    fn contract(&mut self, task: &Contraction, steps: &[Step]) -> Result<(), Fault> {
        let covers = check_contraction(task, self.buffers)?;
        self.ready(task.a.buffer)?;
        self.ready(task.b.buffer)?;
        if task.accumulate {
            self.ready(task.c.buffer)?;
        } else if !covers {
            self.ready_for_part(task.c.buffer, steps)?;
        }
        let empty = task.axes.iter().any(|axis| axis.extent == 0);
        let supported = Contraction::supports(task.dtype, (task.map, task.then), task.reduce);
        if empty || !supported || is_nest(task, self.target.level) {
            return self.nest(&contraction_nest(task), steps);
        }
        let program = select::contraction_program(task, self.buffers, self.target)?;
        self.push(program, task.c.buffer);
        Ok(())
    }

    fn grouped(&mut self, task: &Grouped, steps: &[Step]) -> Result<(), Fault> {
        let covers = check_grouped(task, self.buffers)?;
        for base in [task.each.a, task.each.b, task.index] {
            self.ready(base.buffer)?;
        }
        if !covers {
            self.ready_for_part(task.each.c.buffer, steps)?;
        }
        let program = GroupedProgram::new(task, self.target.level, self.target.costs)?;
        self.push(program, task.each.c.buffer);
        Ok(())
    }

    /// Adds a program that writes a buffer.
    fn push(&mut self, program: impl Into<Program>, out: BufferId) {
        self.steps.push(program.into());
        self.wrote(out);
    }

    fn scan(&mut self, scan: &Scan) -> Result<(), Fault> {
        let covers = check_scan(scan, self.buffers)?;
        self.ready(scan.from.buffer)?;
        if let Some(levels) = &scan.levels {
            self.ready(levels.base.buffer)?;
        }
        if !covers {
            self.ready(scan.to.buffer)?;
        }
        if scan.along.extent > 0 && scan.rows.iter().all(|axis| axis.extent > 0) {
            let level = self.target.level;
            self.steps.push(match &scan.levels {
                Some(levels) => RelativeProgram::new(scan, levels, level)?.into(),
                None => ScanProgram::new(scan, level)?.into(),
            });
        }
        self.wrote(scan.to.buffer);
        Ok(())
    }

    fn sort(&mut self, sort: &Sort) -> Result<(), Fault> {
        let covers = check_sort(sort, self.buffers)?;
        self.ready(sort.from.buffer)?;
        if !covers {
            self.ready(sort.to.buffer)?;
        }
        if sort.places.extent > 0 && sort.rows.iter().all(|axis| axis.extent > 0) {
            self.steps.push(SortProgram::new(sort, self.target.level)?.into());
        }
        self.wrote(sort.to.buffer);
        Ok(())
    }

    fn push_nest(&mut self, nest: &Nest, checked: &CheckedNest) -> Result<(), Fault> {
        let program = select::nest_program(nest, checked, self.buffers, self.target.level)?;
        self.steps.push(program);
        Ok(())
    }

    /// Ensures that all elements of a buffer are initialised, by zeros if no step wrote them. Sound plans do not need
    /// that; if it cannot be proved, it costs a fill.
    fn ready(&mut self, buffer: BufferId) -> Result<(), Fault> {
        let n = buffer.0 as usize;
        let layout = self.buffers.get(n).ok_or(Fault::Reference)?;
        if self.initialised[n] || layout.len == 0 {
            return Ok(());
        }
        let zero = ijk_types::scalar::identity(Monoid::Add, layout.dtype);
        self.fill(buffer, zero)
    }

    /// The same before the first of `steps`, which writes a part of the buffer: no fill is needed if the steps write
    /// the rest before it is read.
    fn ready_for_part(&mut self, buffer: BufferId, steps: &[Step]) -> Result<(), Fault> {
        let n = buffer.0 as usize;
        if !self.initialised[n] && written_by_parts(steps, n, self.buffers) {
            self.initialised[n] = true;
        }
        self.ready(buffer)
    }

    /// Fails unless a buffer is initialised: a fill would overwrite the elements that the step reads.
    fn require(&self, buffer: BufferId) -> Result<(), Fault> {
        if self.initialised[buffer.0 as usize] { Ok(()) } else { Err(Fault::Overlap) }
    }

    /// Marks a buffer as initialised, and buffers that overlap it as uninitialised.
    fn wrote(&mut self, buffer: BufferId) {
        let n = buffer.0 as usize;
        self.initialised[n] = true;
        let Some(bytes) = self.buffers[n].arena_bytes().filter(|bytes| !bytes.is_empty()) else {
            return;
        };
        // Initialised buffers are disjoint, so their ends are in the order of their starts.
        while let Some((&start, &(end, other))) = self.live.range(..bytes.end).next_back() {
            if end <= bytes.start {
                break;
            }
            self.initialised[other] = other == n;
            self.live.remove(&start);
        }
        self.live.insert(bytes.start, (bytes.end, n));
    }

    /// Fills results that no step wrote with zeros.
    pub(crate) fn initialise_results(&mut self) -> Result<(), Fault> {
        for (n, layout) in self.buffers.iter().enumerate() {
            if matches!(layout.place, Place::Output(_)) {
                self.ready(BufferId(n as u32))?;
            }
        }
        Ok(())
    }
}
