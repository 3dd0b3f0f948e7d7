//! Engines: threads and memory that run programs.

use crate::cache::{Context, Key, PlanCache};
use crate::facts;
use crate::numbers::with_numbers;
use crate::prepared::{Prepared, PreparedLoop, Rules, check_outputs, extents, instantiate};
use crate::probe::{Cache, Probe};
use crate::program::Program;
use crate::recent::Recent;
use crate::staged;
use crate::{Arguments, Einsum, Error, Views};
use ijk_cpu::{Fault, Level, LoopArgument, PlanError, Results, RunError};
use ijk_ir::core::{self as ir, Instance};
use ijk_plan::plan::Plan;
use ijk_tensor::fork::RaceCell;
use ijk_tensor::{Tensor, TensorView, TensorViewMut};
use std::borrow::Borrow;
use std::sync::Arc;

/// Texts of einsums in the cache of an engine.
const EINSUMS: usize = 512;

/// Estimated nanoseconds of work from which on it is detached.
const LONG: f64 = 50e3;

/// Least nanoseconds that solving, lowering or planning takes for a statement of a program.
const PLANNING: f64 = 5e3;

/// Runs long work: see [`EngineBuilder::detach`].
type Detach = fn(&mut (dyn FnMut() + Send));

/// A pool of worker threads and reusable memory, on which programs run. Any number of threads may use one engine
/// concurrently.
///
/// Results are bitwise the same for any number of threads. They may differ in the last bits between SIMD levels: an
/// engine uses the widest of the machine, unless [`EngineBuilder::level`] or the environment variable `IJK_LEVEL`
/// (`portable`, `avx2`, `avx512`, `neon`) selects another one.
///
/// ```
/// use ijk::ndarray::array;
/// let engine = ijk::Engine::builder().threads(1).memory_limit(1000).build();
/// let outer = ijk::i("i*j~ij")?;
/// let products = engine.apply(&outer, (&array![1, 2], &array![3, 4]))?;
/// assert_eq!(products[0].shape(), [2, 2]);
///
/// let long = ijk::ndarray::Array1::<f64>::zeros(20);
/// let error = engine.apply(&outer, (&long, &long)).unwrap_err();
/// assert!(error.to_string().contains("needs 3200 bytes"));
/// # Ok::<(), ijk::Error>(())
/// ```
#[derive(Debug)]
pub struct Engine {
    cpu: ijk_cpu::Engine,
    context: Context,
    detach: Option<Detach>,
    /// Parsed einsums by their texts.
    einsums: Recent<String, Einsum>,
}

/// Settings of an [`Engine`].
#[derive(Clone, Debug, Default)]
pub struct EngineBuilder {
    cpu: ijk_cpu::EngineBuilder,
    rules: Rules,
    probe: Option<Probe>,
    detach: Option<Detach>,
}

impl EngineBuilder {
    /// Number of threads, including the caller's; 0, the default, means as many as the machine
    /// offers this process.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.cpu = self.cpu.threads(threads);
        self
    }

    /// Upper bound, in bytes, of the results and temporaries of one application; a program that needs more is
    /// refused before anything is allocated. No limit by default. For a program in Einsum Tuple all arrays that a
    /// run allocates count.
    ///
    /// Blocks that run concurrently have temporaries of their own: within a tight limit fewer of them run at a
    /// time, and operands that they share are not packed once for all. Arguments do not count. Packed panels do,
    /// except 256 KiB for each thread, which fit in the caches of its core; within a tight limit fewer threads work.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.rules.memory_limit = Some(bytes);
        self
    }

    /// Disables reassociation: values are computed as written.
    ///
    /// By default floating-point factors behind a reduction are reassociated: those that do not depend on a reduced
    /// index multiply or divide the result, several matrices are multiplied pair by pair. If inputs are finite,
    /// divisors are not zero and nothing over- or underflows, results are within the same error bounds; otherwise NaN
    /// and infinities may differ. A strict engine multiplies and divides at every point before it reduces, which may
    /// take many times as long. An einsum without a given path is then one product of all operands.
    ///
    /// ```
    /// use ijk::{Engine, ndarray::Array1};
    /// // Σ x/n: each term would be finite, their sum is not.
    /// let mean = ijk::i("i/400~i . +i~.")?;
    /// let x = Array1::from_elem(400, 1e308);
    /// let strict = Engine::builder().strict(true).build();
    /// assert!((strict.apply(&mean, (&x,))?[0].get(&[]).as_f64() / 1e308 - 1.0).abs() < 1e-12);
    /// assert_eq!(Engine::builder().build().apply(&mean, (&x,))?[0].get(&[]), ijk::Scalar::F64(f64::INFINITY));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.rules.strict = strict;
        self
    }

    /// Capacity, in bytes, of the pool of dropped results, whose memory new results reuse: writing to pages that
    /// are mapped already is several times faster. By default 256 MiB, or the [memory limit](Self::memory_limit) if
    /// that is less, in addition to it. Without a limit, on Linux, the pool also holds up to an eighth of the
    /// machine's memory as pages that the operating system may reclaim (until then, they count as the process's).
    /// 0 disables the pool.
    ///
    /// [`Tensor`]s of 64 kB or more return their memory to the pool; arrays of ndarray that own it, by
    /// [`Tensor::into_array`] or from [`i!`](macro@crate::i), free it.
    #[must_use]
    pub fn keep(mut self, bytes: usize) -> Self {
        self.cpu = self.cpu.keep(bytes);
        self
    }

    /// SIMD level. By default the one that the environment variable `IJK_LEVEL` names, or the widest
    /// of the machine.
    ///
    /// ```
    /// let engine = ijk::Engine::builder().level("portable".parse()?).build();
    /// assert_eq!(engine.simd(), "portable");
    /// # Ok::<(), ijk::LevelError>(())
    /// ```
    #[must_use]
    pub fn level(mut self, level: Level) -> Self {
        self.cpu = self.cpu.level(level);
        self
    }

    /// Callback that cancels a computation, with [`RunError::Interrupted`], by returning true. The calling
    /// thread polls it about every 20 ms.
    ///
    /// ```
    /// use ijk::{Engine, ndarray::Array2};
    /// let engine = Engine::builder().interrupt(|| true).build();
    /// let x = Array2::<f64>::ones((1500, 1500));
    /// let error = engine.einsum("ij,jk,kl,lm->im", (&x, &x, &x, &x)).unwrap_err();
    /// assert_eq!(error.to_string(), "interrupted");
    /// ```
    #[must_use]
    pub fn interrupt(mut self, ask: fn() -> bool) -> Self {
        self.cpu = self.cpu.interrupt(ask);
        self
    }

    /// Wrapper around long work, estimated at 50 microseconds or more: it calls its argument exactly once. A binding
    /// to a language with an interpreter lock releases the lock around that call; for short work the release would
    /// cost more than it gains.
    ///
    /// ```
    /// use ijk::{Engine, ndarray::Array1};
    /// let engine = Engine::builder().detach(|work| { /* release */ work() /* acquire */ }).build();
    /// let v = Array1::<f64>::ones(2000);
    /// assert_eq!(engine.einsum("i,j->", (&v, &v))?.get(&[]), ijk::Scalar::F64(4e6));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    #[must_use]
    pub fn detach(mut self, run: fn(&mut (dyn FnMut() + Send))) -> Self {
        self.detach = Some(run);
        self
    }

    /// Measured rates of the machine, from which the engine estimates which work is worth dividing among threads.
    /// By default those in the user's cache folder, stored by [`Cache::probe`](crate::probe::Cache::probe) or
    /// `ijk bench`; if there are none, [`Probe::typical`]. Results do not depend on them.
    #[must_use]
    pub fn probe(mut self, probe: Probe) -> Self {
        self.probe = Some(probe);
        self
    }

    /// The engine.
    ///
    /// If `IJK_LEVEL` names no level of this machine, every application on the engine fails with an error that
    /// says so; [`try_build`](Self::try_build) reports it at once.
    pub fn build(self) -> Engine {
        let level = self.cpu.chosen_level().ok();
        let known = || level.and_then(|level| Cache::of_user().load_for(level));
        let probe = self.probe.or_else(known);
        let cpu = self.cpu.memory_limit(self.rules.memory_limit);
        let cpu = match probe {
            Some(probe) => cpu.probe(probe).build(),
            None => cpu.build(),
        };
        let levels = Level::available();
        let level = levels.iter().position(|&level| level == cpu.level()).unwrap_or(levels.len());
        let context = Context { level: level as u8, rules: self.rules };
        let einsums = Recent::with_capacity(EINSUMS);
        Engine { cpu, context, detach: self.detach, einsums }
    }

    /// The engine, if the machine has the SIMD level that the environment selects.
    ///
    /// # Errors
    /// [`Error::Run`] with [`RunError::Level`], if not.
    ///
    /// ```
    /// let engine = ijk::Engine::builder().threads(2).try_build()?;
    /// assert_eq!(engine.threads(), 2);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn try_build(self) -> Result<Engine, Error> {
        let engine = self.build();
        engine.cpu.check_level().map_err(RunError::from)?;
        Ok(engine)
    }
}

impl Default for Engine {
    fn default() -> Self {
        EngineBuilder::default().build()
    }
}

impl Engine {
    /// An engine with other settings than [`Engine::default`].
    pub fn builder() -> EngineBuilder {
        EngineBuilder::default()
    }

    /// The default engine of [`Program::apply`] and `i!`: all threads, no limit. Created at first use.
    pub fn global() -> &'static Self {
        static GLOBAL: RaceCell<Engine> = RaceCell::new();
        GLOBAL.get_or_init(Self::default)
    }

    /// Number of threads.
    pub fn threads(&self) -> usize {
        self.cpu.threads()
    }

    /// Name of the SIMD level: `avx512`, say.
    pub fn simd(&self) -> &'static str {
        self.cpu.level().name()
    }

    /// Frees the memory that the engine keeps for later applications: dropped results and temporaries.
    ///
    /// ```
    /// use ijk::ndarray::Array1;
    /// let engine = ijk::Engine::default();
    /// let x = Array1::<f32>::zeros(1 << 20);
    /// drop(engine.apply(&ijk::i("i+1~i")?, (&x,))?);
    /// engine.release_memory();
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn release_memory(&self) {
        self.cpu.release_memory();
    }

    /// Bytes of temporaries of a plan with this engine's threads.
    pub(crate) fn temporary_bytes(&self, plan: &Plan) -> u64 {
        let (least, all) = (plan.temporary_bytes(), plan.temporary_bytes_of(self.threads() as u64));
        let Some(limit) = self.context.rules.memory_limit else { return all };
        all.min(limit.saturating_sub(plan.result_bytes())).max(least)
    }

    pub(crate) fn cpu(&self) -> &ijk_cpu::Engine {
        &self.cpu
    }

    /// Runs work with an estimated duration, [detached](EngineBuilder::detach) if that is long.
    pub(crate) fn at_length<R: Send>(
        &self,
        nanoseconds: f64,
        work: impl FnOnce() -> R + Send,
    ) -> R {
        let Some(detach) = self.detach.filter(|_| nanoseconds >= LONG) else { return work() };
        let (mut work, mut result) = (Some(work), None);
        detach(&mut || result = work.take().map(|work| work()));
        match (result, work) {
            (Some(result), _) => result,
            (None, Some(work)) => work(),
            (None, None) => unreachable!("work that was done has a result"),
        }
    }

    /// The einsum of a text, with its plans, from the cache or parsed.
    pub(crate) fn recent_einsum(&self, text: &str) -> Result<Arc<Einsum>, Error> {
        self.einsums.get(text, || Einsum::new(text))
    }

    pub(crate) fn level(&self) -> Level {
        self.cpu.level()
    }

    /// Upper bound, in bytes, of the results and temporaries of one application.
    pub fn memory_limit(&self) -> Option<u64> {
        self.context.rules.memory_limit
    }

    /// True if factors of reduced values are not reassociated: see [`EngineBuilder::strict`].
    pub fn is_strict(&self) -> bool {
        self.context.rules.strict
    }

    /// Applies a program to arguments, as [`Program::apply`] does.
    ///
    /// # Errors
    /// As for [`Program::apply`].
    pub fn apply<'a, Kind>(
        &self,
        program: &Program,
        arguments: impl Arguments<'a, Kind>,
    ) -> Result<Vec<Tensor>, Error> {
        arguments.with_views(|views, numbers| {
            let wanted = |number| program.type_of_number(views, numbers, number);
            with_numbers(views, numbers, wanted, |inputs| {
                regular(inputs, |inputs| self.apply_views(program, inputs))
            })
        })
    }

    fn apply_views(
        &self,
        program: &Program,
        inputs: &[TensorView<'_>],
    ) -> Result<Vec<Tensor>, Error> {
        if program.has_loops() {
            return staged::apply(self, program, inputs);
        }
        let prepared = self.prepare(program, inputs, None)?;
        Ok(self.run_prepared(&prepared, inputs)?.into_vec())
    }

    /// Applies a program to arguments and writes the results to arrays of the caller, as
    /// [`Program::apply_into`] does.
    ///
    /// # Errors
    /// As for [`Program::apply_into`].
    pub fn apply_into<'a, Kind>(
        &self,
        program: &Program,
        arguments: impl Arguments<'a, Kind>,
        outputs: &mut [TensorViewMut<'_>],
    ) -> Result<(), Error> {
        arguments.with_views(|views, numbers| {
            let wanted = |number| program.type_of_number(views, numbers, number);
            with_numbers(views, numbers, wanted, |inputs| {
                regular(inputs, |inputs| self.apply_views_into(program, inputs, outputs))
            })
        })
    }

    /// Runs an instance of a program with a cached plan or a new one, unless `accept` refuses it, and returns
    /// the plan, too. `in_indices` are the positions of inputs whose elements are indices.
    pub(crate) fn run_instance(
        &self,
        program: &ir::Program,
        instance: &Instance,
        plans: &PlanCache,
        inputs: &[TensorView<'_>],
        in_indices: &[usize],
        mut accept: impl FnMut(&Prepared) -> Result<(), Error>,
    ) -> Result<(Results, Arc<Prepared>), Error> {
        regular(inputs, |inputs| {
            let facts = facts::of(inputs.iter().map(Some), in_indices);
            let key = Key::new(self.context, inputs, None, &facts);
            let prepared = match plans.get(&key) {
                Some(prepared) => prepared,
                None => {
                    let (cpu, rules) = (&self.cpu, self.context.rules);
                    let made = self.at_length(planning(program.statements.len()), || {
                        Prepared::of(program, instance, cpu, rules, inputs, None, facts)
                    });
                    let prepared = Arc::new(made?);
                    plans.insert(key, Arc::clone(&prepared));
                    prepared
                }
            };
            accept(&prepared)?;
            Ok((self.run_prepared(&prepared, inputs)?, prepared))
        })
    }

    /// Runs a loop with cached plans or new ones, unless `accept` refuses the bytes that it takes besides its arrays.
    pub(crate) fn run_loop(
        &self,
        program: &ir::LoopProgram,
        plans: &PlanCache<PreparedLoop>,
        arguments: &mut [LoopArgument<'_, '_>],
        accept: impl FnOnce(u64) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let strides: Vec<Vec<isize>> = arguments.iter().map(strides_of).collect();
        let layouts = arguments.iter().zip(&strides).map(|(argument, strides)| {
            let (dtype, shape) = match argument {
                LoopArgument::Read(view) => (view.dtype(), view.shape()),
                LoopArgument::Changed(tensor) => (tensor.dtype(), tensor.shape()),
            };
            (dtype, shape, &strides[..])
        });
        let layouts: Vec<_> = layouts.collect();
        let key = Key::of_loop(self.context, &layouts);
        let prepared = match plans.get(&key) {
            Some(prepared) => prepared,
            None => {
                let (cpu, rules) = (&self.cpu, self.context.rules);
                let make = || PreparedLoop::new(program, cpu, rules, &strides);
                let made = Arc::new(self.at_length(planning(arguments.len()), make)?);
                plans.insert(key, Arc::clone(&made));
                made
            }
        };
        let compiled = prepared.compiled();
        accept(compiled.temporary_bytes())?;
        Ok(self.at_length(compiled.cost(), || self.cpu.execute_loop(compiled, arguments))?)
    }

    /// Runs a compiled plan on arguments of its types, shapes and strides.
    pub(crate) fn run_prepared<'a>(
        &self,
        prepared: &Prepared,
        inputs: &[impl Borrow<TensorView<'a>> + Sync],
    ) -> Result<Results, Error> {
        let run = || self.cpu.execute_new(prepared.compiled(), inputs);
        Ok(self.at_length(prepared.cost(), run)?)
    }

    /// The same with results written to arrays of the caller.
    pub(crate) fn run_prepared_into(
        &self,
        prepared: &Prepared,
        inputs: &[TensorView<'_>],
        outputs: &mut [TensorViewMut<'_>],
    ) -> Result<(), Error> {
        let run = || self.cpu.execute(prepared.compiled(), inputs, outputs);
        Ok(self.at_length(prepared.cost(), run)?)
    }

    /// The settings that plans depend on.
    pub(crate) fn context(&self) -> Context {
        self.context
    }

    fn apply_views_into(
        &self,
        program: &Program,
        inputs: &[TensorView<'_>],
        outputs: &mut [TensorViewMut<'_>],
    ) -> Result<(), Error> {
        if program.has_loops() {
            let arguments: Vec<_> =
                inputs.iter().map(|i| (i.dtype(), extents(i.shape()))).collect();
            check_outputs(
                program.lowered(),
                &instantiate(program.lowered(), &arguments)?,
                outputs,
            )?;
        } else {
            let prepared = self.prepare(program, inputs, Some(outputs))?;
            if !prepared.is_fallible() {
                return self.run_prepared_into(&prepared, inputs, outputs);
            }
        }
        let results = self.apply_views(program, inputs)?;
        for (result, output) in results.iter().zip(outputs) {
            self.copy(&result.view(), output)?;
        }
        Ok(())
    }

    /// Copies an array to another one of any layout.
    ///
    /// # Errors
    /// [`Error::Output`] where types or shapes differ.
    ///
    /// ```
    /// use ijk::{TensorViewMut, ndarray::{Array2, array}};
    /// let mut to = Array2::<i32>::zeros((2, 2));
    /// let from = array![[1, 2], [3, 4]];
    /// ijk::Engine::global().copy(&(&from).into(), &mut TensorViewMut::from(to.view_mut()))?;
    /// assert_eq!(to, from);
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn copy(&self, from: &TensorView<'_>, to: &mut TensorViewMut<'_>) -> Result<(), Error> {
        let identity = Program::identity();
        let from = std::slice::from_ref(from);
        let to = std::slice::from_mut(to);
        let prepared = self.prepare(identity, from, Some(to))?;
        self.run_prepared_into(&prepared, from, to)
    }

    /// The plan for these arguments, from the cache or new.
    pub(crate) fn prepare(
        &self,
        program: &Program,
        inputs: &[TensorView<'_>],
        outputs: Option<&[TensorViewMut<'_>]>,
    ) -> Result<Arc<Prepared>, Error> {
        let facts = facts::of(inputs.iter().map(Some), &[]);
        let key = Key::new(self.context, inputs, outputs, &facts);
        if let Some(prepared) = program.plans().get(&key) {
            return Ok(prepared);
        }
        let (lowered, rules) = (program.lowered(), self.context.rules);
        let plan = || Prepared::new(lowered, &self.cpu, rules, inputs, outputs, facts);
        let prepared = Arc::new(self.at_length(planning(lowered.statements.len()), plan)?);
        program.plans().insert(key, Arc::clone(&prepared));
        Ok(prepared)
    }
}

fn strides_of(argument: &LoopArgument<'_, '_>) -> Vec<isize> {
    match argument {
        LoopArgument::Read(view) => view.strides().to_vec(),
        LoopArgument::Changed(tensor) => tensor.view().strides().to_vec(),
    }
}

/// Least nanoseconds to plan a program of some statements.
pub(crate) fn planning(statements: usize) -> f64 {
    PLANNING * statements as f64
}

/// Calls `apply` on views, and again on contiguous copies if the elements of a view interleave (strides 2 and 3, say),
/// which no plan allows. Only hand-made strides do.
pub(crate) fn regular<R>(
    inputs: &[TensorView<'_>],
    mut apply: impl FnMut(&[TensorView<'_>]) -> Result<R, Error>,
) -> Result<R, Error> {
    let result = apply(inputs);
    let Err(Error::Run(RunError::Plan(PlanError::Buffer { fault: Fault::Interleaved, .. }))) =
        &result
    else {
        return result;
    };
    let copies = inputs.iter().map(TensorView::to_tensor).collect::<Result<Vec<_>, _>>()?;
    let views: Views<'_> = copies.iter().map(Tensor::view).collect();
    apply(&views)
}
