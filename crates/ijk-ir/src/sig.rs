//! Signatures of components while they are checked, and what combinators do to them.

use crate::codes;
use crate::core::{Pin, Program, TypeTerm};
use crate::expand::LoopShape;
use crate::infer::{Infer, RankConflict, RankVar, TypeConflict, TypeVar};
use crate::leaf::{LeafWhys, Verb, Why};
use crate::limits::{MAX_LOOPS, MAX_PORTS, MAX_STATEMENTS, MAX_VISITS};
use crate::sink::Sink;
use crate::text::{count, quote, slice};
use ijk_syntax::ast::LoopForm;
use ijk_syntax::{Code, Diagnostic, Span};
use ijk_types::{DType, TypeSet};

/// An input or output.
#[derive(Clone, Copy, Debug)]
pub struct PortVars {
    /// Its rank.
    pub rank: RankVar,
    /// Its element type.
    pub element: TypeVar,
}

/// Inputs, outputs and the size of what a component expands to.
#[derive(Clone, Debug, Default)]
pub struct Sig {
    /// Inputs.
    pub inputs: Vec<PortVars>,
    /// Outputs.
    pub outputs: Vec<PortVars>,
    /// Number of statements after expansion.
    pub statements: u64,
    /// Number of components that expansion visits.
    pub visits: u64,
    /// Depth of loops in one another.
    pub loops: u32,
}

/// Where a combinator stands.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Its symbol.
    pub symbol: Span,
    /// Source of the producer, or of the left operand.
    pub left: Span,
    /// Source of the consumer, or of the right operand.
    pub right: Span,
    /// Left and right need parentheses elsewhere.
    pub grouped: [bool; 2],
}

/// A loop in the source.
#[derive(Clone, Copy, Debug)]
pub struct LoopSite {
    /// The combinator.
    pub form: LoopForm,
    /// Its symbol.
    pub symbol: Span,
    /// The component.
    pub of: Span,
    /// All of it.
    pub whole: Span,
    /// Number of passes in braces.
    pub passes: Option<Pin>,
    /// Number of inputs that passes take rows of.
    pub rows: Option<(u64, Span)>,
}

/// The signature of a lowered program, whose source starts at `offset` of the text that messages
/// quote; for an index expression with what determines its types.
pub fn of_program(
    infer: &mut Infer,
    program: &Program,
    offset: u32,
    whys: Option<&LeafWhys>,
) -> Sig {
    let mut ports = Vec::with_capacity(program.arrays.len());
    let types: Vec<TypeVar> = (program.types.iter().enumerate())
        .map(|(v, set)| {
            let why = whys.map(|whys| whys.types[v]);
            infer.element(*set, why.unwrap_or(Why { set: *set, ..Why::any(Span::default()) }))
        })
        .collect();
    link_reals(infer, program, &types);
    for (n, array) in program.arrays.iter().enumerate() {
        let span = array.span.shifted(offset).into();
        let rank = infer.rank(array.rank.map(|rank| (rank, span)));
        let element = element(infer, array.dtype, &types, whys.map(|w| w.arrays[n]), span);
        ports.push(PortVars { rank, element });
    }
    let pick = |ids: &[crate::core::ArrayId]| ids.iter().map(|id| ports[id.0 as usize]).collect();
    let statements = program.statements.len() as u64;
    let (inputs, outputs) = (pick(&program.inputs), pick(&program.outputs));
    Sig { inputs, outputs, statements, visits: 1, loops: loops_in_one_another(program) }
}

fn loops_in_one_another(program: &Program) -> u32 {
    let mut depths: Vec<u32> = Vec::with_capacity(program.loops.len());
    for own in &program.loops {
        depths.push(1 + own.within.map_or(0, |at| depths[at as usize]));
    }
    depths.into_iter().max().unwrap_or(0)
}

/// Ties types whose real parts are of one type.
pub fn link_reals(infer: &mut Infer, program: &Program, types: &[TypeVar]) {
    for (a, b) in &program.same_real {
        let (a, b) = (infer.real_of(types[*a as usize]), infer.real_of(types[*b as usize]));
        // A program's own types never conflict.
        let _ = infer.unify_types(a, b);
    }
}

/// The variable of a type term.
pub fn element(
    infer: &mut Infer,
    term: TypeTerm,
    types: &[TypeVar],
    why: Option<Why>,
    span: Span,
) -> TypeVar {
    match term {
        TypeTerm::Var(v) => types[v as usize],
        TypeTerm::RealOf(v) => infer.real_of(types[v as usize]),
        TypeTerm::Fixed(t) => {
            let set = TypeSet::only(t);
            let known = Why { span, set, verb: Verb::Gives };
            infer.element(set, why.filter(|w| w.set == set).unwrap_or(known))
        }
    }
}

impl Sig {
    /// `I`.
    pub fn identity(infer: &mut Infer, span: Span) -> Self {
        let port = PortVars {
            rank: infer.rank(None),
            element: infer.element(TypeSet::ALL, Why::any(span)),
        };
        Self { inputs: vec![port], outputs: vec![port], statements: 0, visits: 1, loops: 0 }
    }

    fn grown(mut self, other: Growth) -> Self {
        self.statements = self.statements.saturating_add(other.statements);
        self.visits = self.visits.saturating_add(other.visits).saturating_add(1);
        self.loops = self.loops.max(other.loops);
        self
    }

    fn growth(&self) -> Growth {
        Growth { statements: self.statements, visits: self.visits, loops: self.loops }
    }
}

/// The size of a component that is put beside another.
#[derive(Clone, Copy, Default)]
struct Growth {
    statements: u64,
    visits: u64,
    loops: u32,
}

/// Message about the ports that are connected.
type What<'a> = &'a dyn Fn() -> String;

/// Checks combinators.
pub struct Combine<'a> {
    /// The variables.
    pub infer: &'a mut Infer,
    /// Where errors go.
    pub sink: &'a mut Sink,
    /// The program's text.
    pub source: &'a str,
}

impl Combine<'_> {
    /// Connects the outputs of `left` to the first inputs of `right`. `reverse` marks a combinator whose source has its
    /// operands in the other order.
    pub fn chain(&mut self, left: Sig, right: Sig, site: Site, written_chain: bool) -> Option<Sig> {
        let fed = left.outputs.len();
        if fed > right.inputs.len() {
            self.report_chain_arity(&left, &right, site, written_chain);
            return None;
        }
        let turned = written_chain && fits(self.infer, &right, &left);
        if turned && is_composition(self.infer, &left, &right) {
            self.warn_of_order(site);
        }
        let mut ok = true;
        for n in 0..fed {
            let (feeds, fed) = sides(written_chain);
            let port = n + 1;
            let what = || format!("output {port} of the {feeds} feeds input {port} of the {fed}");
            ok &= self.connect(left.outputs[n], right.inputs[n], site, &what, turned);
        }
        let mut sig = left.grown(right.growth());
        sig.inputs.extend_from_slice(&right.inputs[fed..]);
        sig.outputs = right.outputs;
        self.bounded(sig, site.symbol).filter(|_| ok)
    }

    /// Both take the same first inputs.
    pub fn fanout(&mut self, left: Sig, right: Sig, site: Site) -> Option<Sig> {
        let shared = left.inputs.len().min(right.inputs.len());
        let mut ok = true;
        for n in 0..shared {
            let what = || format!("input {} is shared", n + 1);
            ok &= self.connect(left.inputs[n], right.inputs[n], site, &what, false);
        }
        let mut sig = left.grown(right.growth());
        sig.inputs.extend_from_slice(&right.inputs[shared..]);
        sig.outputs.extend(right.outputs);
        self.bounded(sig, site.symbol).filter(|_| ok)
    }

    /// Side by side.
    pub fn pair(&mut self, left: Sig, right: Sig, site: Site) -> Option<Sig> {
        let mut sig = left.grown(right.growth());
        sig.inputs.extend(right.inputs);
        sig.outputs.extend(right.outputs);
        self.bounded(sig, site.symbol)
    }

    /// The first two inputs change places.
    pub fn swap(&mut self, of: Sig, span: Span) -> Option<Sig> {
        if of.inputs.len() < 2 {
            let message = "`~` swaps the first two inputs, but this has only one";
            let hint = "`~` before an expression is the swap; an index expression's own `~` stands before its output";
            self.sink.push(
                codes::SWAP_OF_ONE.error(span, message).with_label("takes 1 input").with_hint(hint),
            );
            return None;
        }
        let mut sig = of.grown(Growth::default());
        sig.inputs.swap(0, 1);
        Some(sig)
    }

    /// Runs a component once for each pass: its outputs are the next values of its first inputs.
    pub fn looped(&mut self, of: Sig, site: &LoopSite) -> Option<(Sig, LoopShape)> {
        let states = of.outputs.len() - usize::from(site.form.has_condition());
        if states == 0 {
            self.report_no_state(site);
            return None;
        }
        let swept = self.swept(&of, states, site)?;
        let part = Site { symbol: site.symbol, left: site.of, right: site.of, grouped: [false; 2] };
        let mut ok = true;
        for n in 0..states {
            let port = n + 1;
            let what = || format!("output {port} is the next value of input {port}");
            ok &= self.connect(of.inputs[n], of.outputs[n], part, &what, false);
        }
        if let Some(condition) = of.outputs.get(states) {
            ok &= self.condition(*condition, part);
        }
        let all = site.form.keeps_all();
        let mut sig = of.grown(Growth::default());
        for n in states..states + swept {
            let what = || format!("input {} has a row for each pass", n + 1);
            sig.inputs[n].rank = self.one_more(sig.inputs[n].rank, site, &what)?;
        }
        sig.outputs = sig.inputs[..states].to_vec();
        for n in 0..states {
            let what = || format!("the values of input {} after all passes are the result", n + 1);
            if all {
                sig.outputs[n].rank = self.one_more(sig.outputs[n].rank, site, &what)?;
            }
        }
        sig.loops += 1;
        if sig.loops > MAX_LOOPS {
            let message = format!("more than {MAX_LOOPS} loops are in one another");
            self.sink.push(codes::LOOPS_TOO_DEEP.error(site.symbol, message));
            return None;
        }
        let shape = LoopShape {
            states: states as u32,
            swept: swept as u32,
            all,
            descending: site.form.is_descending(),
            passes: site.passes.map(|pin| (pin, 0)),
            span: site.whole.into(),
        };
        self.bounded(sig, site.symbol).filter(|_| ok).map(|sig| (sig, shape))
    }

    /// The number of inputs of which a loop's passes take rows.
    fn swept(&mut self, of: &Sig, states: usize, site: &LoopSite) -> Option<usize> {
        let Some(others) = of.inputs.len().checked_sub(states) else {
            self.report_loop_inputs(states, of.inputs.len(), site);
            return None;
        };
        let swept = match site.rows {
            _ if !site.form.sweeps() => 0,
            None => others,
            Some((rows, span)) if rows > others as u64 => {
                self.report_swept(rows, span, others, site);
                return None;
            }
            Some((rows, _)) => rows as usize,
        };
        if swept == 0 && site.passes.is_none() {
            self.report_no_passes(site);
            return None;
        }
        Some(swept)
    }

    /// Checks that the last output of a component is a bool of rank 0.
    fn condition(&mut self, output: PortVars, site: Site) -> bool {
        let set = TypeSet::only(DType::Bool);
        let why = Why { span: site.symbol, set, verb: Verb::Accepts };
        let rank = self.infer.rank(Some((0, site.symbol)));
        let wanted = PortVars { rank, element: self.infer.element(set, why) };
        let what = || "the last output ends the loop where it is true".to_string();
        self.connect(output, wanted, site, &what, false)
    }

    #[cold]
    fn report_no_state(&mut self, site: &LoopSite) {
        let message = "the one output is the condition that ends the loop: there is no state";
        let error = codes::LOOP_CONDITION.error(site.of, message);
        let hint = "the states come first and the condition last: `step . (I & done)`";
        self.sink.push(error.with_hint(hint));
    }

    /// A rank that is greater by one.
    fn one_more(&mut self, rank: RankVar, site: &LoopSite, what: What) -> Option<RankVar> {
        let Some((rank, _)) = self.infer.known_rank(rank) else {
            let message = format!("a rank is not known: {}", what());
            let error = codes::LOOP_RANK.error(site.of, message);
            let hint = "write an index expression in place of `I`, such as `ij~ij`";
            self.sink.push(error.with_hint(hint));
            return None;
        };
        Some(self.infer.rank(Some((rank + 1, site.symbol))))
    }

    #[cold]
    fn report_loop_inputs(&mut self, gives: usize, takes: usize, site: &LoopSite) {
        let message = format!(
            "{} are the next values of the first inputs, but there {} only {takes}",
            count(gives, "output"),
            if takes == 1 { "is" } else { "are" },
        );
        let error = codes::LOOP_INPUTS.error(site.symbol, message);
        let label = format!("gives {gives}, takes {takes}");
        self.sink.push(error.with_related(site.of, label));
    }

    #[cold]
    fn report_swept(&mut self, rows: u64, span: Span, others: usize, site: &LoopSite) {
        let message = format!(
            "rows are taken of {rows} inputs, but {} the states",
            match others {
                0 => "there is none after".to_string(),
                1 => "there is only 1 after".to_string(),
                n => format!("there are only {n} after"),
            }
        );
        let error = codes::LOOP_SWEPT.error(span, message);
        self.sink.push(error.with_related(site.of, "these are the inputs"));
    }

    #[cold]
    fn report_no_passes(&mut self, site: &LoopSite) {
        let name = site.form.name();
        let message = format!("nothing determines the number of passes of `@{name}`");
        let error = codes::LOOP_PASSES
            .error(site.symbol, message)
            .with_related(site.of, "all its inputs that change are states")
            .with_hint(format!("give it in braces: `@{name}{{10}}`"));
        self.sink.push(error);
    }

    fn bounded(&mut self, sig: Sig, symbol: Span) -> Option<Sig> {
        let ports = sig.inputs.len().max(sig.outputs.len());
        let (code, message) = if ports > MAX_PORTS {
            let which = if ports == sig.inputs.len() { "inputs" } else { "outputs" };
            let message = format!("this has {ports} {which}; at most {MAX_PORTS} are allowed");
            (codes::TOO_MANY_PORTS, message)
        } else if sig.statements > MAX_STATEMENTS {
            let message =
                format!("the program expands to more than {MAX_STATEMENTS} index expressions");
            (codes::TOO_MANY_STATEMENTS, message)
        } else if sig.visits > MAX_VISITS {
            let message = format!("the program expands to more than {MAX_VISITS} components");
            (codes::TOO_MANY_COMPONENTS, message)
        } else {
            return Some(sig);
        };
        self.sink.push(code.error(symbol, message));
        None
    }

    fn connect(
        &mut self,
        from: PortVars,
        to: PortVars,
        site: Site,
        what: What,
        turned: bool,
    ) -> bool {
        if let Err(conflict) = self.infer.unify_ranks(from.rank, to.rank) {
            self.report_ranks(conflict, site, &what(), turned);
            return false;
        }
        if let Err(conflict) = self.infer.unify_types(from.element, to.element) {
            self.report_types(conflict, site, &what());
            return false;
        }
        true
    }

    #[cold]
    fn report_ranks(&mut self, conflict: RankConflict, site: Site, what: &str, turned: bool) {
        let RankConflict((left, at), (right, to)) = conflict;
        let message = format!(
            "ranks differ: {} has rank {left}, but {} has rank {right} ({what})",
            quote(self.source, at, "one"),
            quote(self.source, to, "the other")
        );
        let labels = (format!("rank {left}"), format!("rank {right}"));
        let diagnostic =
            place((codes::RANKS_DIFFER, message), site, (at, labels.0), (to, labels.1));
        let diagnostic = if turned { self.hint_reverse(diagnostic, site) } else { diagnostic };
        self.sink.push(diagnostic);
    }

    #[cold]
    fn report_types(&mut self, conflict: TypeConflict, site: Site, what: &str) {
        let TypeConflict(left, right) = conflict;
        let (l, r) = (left.describe(self.source), right.describe(self.source));
        let message = format!("no element type fits: {l}, but {r} ({what})");
        let labels = (format!("{}", left.set), format!("{}", right.set));
        let error = (codes::NO_TYPE, message);
        self.sink.push(place(error, site, (left.span, labels.0), (right.span, labels.1)));
    }

    #[cold]
    fn report_chain_arity(&mut self, left: &Sig, right: &Sig, site: Site, written_chain: bool) {
        let (gives, takes) = (left.outputs.len(), right.inputs.len());
        let (feeds, fed) = sides(written_chain);
        let message = format!(
            "the {feeds} gives {}, but the {fed} takes only {}",
            count(gives, "output"),
            count(takes, "input")
        );
        let diagnostic = codes::CHAIN_ARITY
            .error(site.symbol, message)
            .with_related(site.left, format!("gives {gives}"))
            .with_related(site.right, format!("takes {takes}"));
        let turned = written_chain && fits(self.infer, right, left);
        let diagnostic = if turned { self.hint_reverse(diagnostic, site) } else { diagnostic };
        self.sink.push(diagnostic);
    }

    /// Warns of a chain that reads as a composition, as the first texts on i write it.
    #[cold]
    fn warn_of_order(&mut self, site: Site) {
        if slice(self.source, site.symbol) != "." {
            return;
        }
        let message =
            "the right takes more than the left gives, and gives just what the left takes";
        let warning = codes::CHAIN_ORDER.warning(site.symbol, message);
        let warning = warning.with_label("the left is applied first");
        let warning = self.hint_reverse(warning, site);
        self.sink.push(warning);
    }

    fn hint_reverse(&self, diagnostic: Diagnostic, site: Site) -> Diagnostic {
        let (left, right) = (slice(self.source, site.left), slice(self.source, site.right));
        let parenthesise = |text: &str, grouped: bool| match grouped {
            true => format!("({text})"),
            false => text.to_string(),
        };
        let short = |text: &str| !text.is_empty() && text.len() <= 40 && !text.contains('\n');
        if !short(left) || !short(right) {
            return diagnostic.with_hint(
                "`.` chains left to right; did you mean the other order, or `<<` for compose?",
            );
        }
        let left = parenthesise(left, site.grouped[0]);
        let right = parenthesise(right, site.grouped[1]);
        let message = format!(
            "`.` chains left to right; did you mean `{right} . {left}` (or `{left} << {right}`)?"
        );
        let whole = site.left.to(site.right);
        // Operands in parentheses of their own have spans without these.
        if site.grouped != [false, false] || !balanced(slice(self.source, whole)) {
            return diagnostic.with_hint(message);
        }
        diagnostic.with_fix(message, whole, format!("{right} . {left}"))
    }
}

/// Returns true if parentheses are balanced.
fn balanced(text: &str) -> bool {
    let depth = text.chars().try_fold(0u32, |depth, c| match c {
        '(' => Some(depth + 1),
        ')' => depth.checked_sub(1),
        _ => Some(depth),
    });
    depth == Some(0)
}

/// The sides of a chain that feeds and of what is fed, as written.
fn sides(written_chain: bool) -> (&'static str, &'static str) {
    if written_chain { ("left", "right") } else { ("right", "left") }
}

/// Returns true if chaining fits by arity and ranks; nothing is unified.
fn fits(infer: &mut Infer, left: &Sig, right: &Sig) -> bool {
    let mut ranks = left.outputs.iter().zip(&right.inputs).map(|(from, to)| {
        match (infer.known_rank(from.rank), infer.known_rank(to.rank)) {
            (Some((a, _)), Some((b, _))) => a == b,
            _ => true,
        }
    });
    left.outputs.len() <= right.inputs.len() && ranks.all(|same| same)
}

/// Returns true if the ranks show that the left operand was meant to be applied to the outputs of the right, though the
/// other order fits, too: `a . p` of `p: ik*kj~ijk` and `a: +ijk~ij`.
///
/// The right gives all that the left takes, of known ranks, and takes more than the left gives; and the left
/// lowers the rank that the right raises, as reductions and products do, so that no two of a kind are meant.
fn is_composition(infer: &mut Infer, left: &Sig, right: &Sig) -> bool {
    let mut ranks = |ports: &[PortVars]| {
        let known = ports.iter().map(|port| infer.known_rank(port.rank).map(|(rank, _)| rank));
        known.collect::<Option<Vec<u32>>>()
    };
    let (Some(gives), Some(takes)) = (ranks(&left.outputs), ranks(&right.inputs)) else {
        return false;
    };
    let (Some(back), Some(needs)) = (ranks(&right.outputs), ranks(&left.inputs)) else {
        return false;
    };
    let greatest = |ranks: &[u32]| ranks.iter().copied().max();
    let lowers = greatest(&gives) < greatest(&needs);
    let raises = greatest(&back) > greatest(&takes);
    takes.len() > gives.len() && back == needs && lowers && raises && takes.starts_with(&gives)
}

/// Code and text of an error.
type Error = (Code, String);

/// A conflict at the right operand, with the left one and the definitions beside it.
fn place(error: Error, site: Site, left: (Span, String), right: (Span, String)) -> Diagnostic {
    let within = |inner: Span, outer: Span| outer.start <= inner.start && inner.end <= outer.end;
    let at = if within(right.0, site.right) { right.0 } else { site.right };
    let (code, message) = error;
    let mut diagnostic = code.error(at, message).with_label(right.1.clone());
    let from = if within(left.0, site.left) { left.0 } else { site.left };
    diagnostic = diagnostic.with_related(from, left.1.clone());
    for (used, (definition, label)) in [(from, left), (at, right)] {
        if used != definition {
            diagnostic = diagnostic.with_related(definition, label);
        }
    }
    diagnostic
}
