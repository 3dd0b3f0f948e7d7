//! Combinators: components as functions on lists of values.
//!
//! Applying a program to symbolic values gives the list of its calls, in an order in which each follows those that it
//! depends on. Nothing here is recursive, since programs may be deeply nested.

use super::form::{Form, Leaf};
use crate::EvalError;
use ijk_syntax::ast::{Combinator, Extent, LoopForm, LoopHead, Node, NodeId, NodeKind, Program};
use std::collections::HashMap;

/// An array: an argument of the program or the result of a call.
pub(crate) type Handle = usize;

/// Something applied to arrays. Its results are the next handles.
#[derive(Clone, Debug)]
pub(crate) struct Call<'a> {
    pub kind: CallKind<'a>,
    pub arguments: Vec<Handle>,
}

/// The component of a call.
#[derive(Clone, Debug)]
pub(crate) enum CallKind<'a> {
    /// An index expression.
    Index(&'a Form),
    /// A loop.
    Loop(Box<LoopCall<'a>>),
}

/// A loop: its arguments are the states, the swept arrays and what all passes read.
#[derive(Clone, Debug)]
pub(crate) struct LoopCall<'a> {
    pub body: Calls<'a>,
    pub states: usize,
    pub swept: usize,
    /// True if the results are the states after every pass.
    pub all: bool,
    /// True if the last row comes first.
    pub back: bool,
    pub passes: Option<&'a Extent>,
}

impl LoopCall<'_> {
    /// Returns true if the last output of the body is a condition that ends the loop.
    pub fn has_condition(&self) -> bool {
        self.body.outputs.len() > self.states
    }
}

/// A program as calls.
#[derive(Clone, Debug)]
pub(crate) struct Calls<'a> {
    pub inputs: usize,
    pub calls: Vec<Call<'a>>,
    pub outputs: Vec<Handle>,
}

/// Numbers of inputs and outputs of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arity {
    pub inputs: usize,
    pub outputs: usize,
}

const MOST_CALLS: usize = 1_000_000;
const MOST_VALUES: usize = 4096;
const MOST_LOOPS: usize = 16;

/// A program with valid names, arities and index expressions.
pub(crate) struct Checked<'a> {
    program: &'a Program,
    forms: HashMap<NodeId, Form>,
    names: HashMap<&'a str, NodeId>,
    arities: Vec<Option<Arity>>,
    /// Components that the search for arities has entered or left.
    open: Vec<bool>,
}

impl<'a> Checked<'a> {
    pub fn of(program: &'a Program) -> Result<Self, EvalError> {
        let mut checked = Self {
            program,
            forms: HashMap::new(),
            names: HashMap::new(),
            arities: vec![None; program.nodes.len()],
            open: vec![false; program.nodes.len()],
        };
        checked.bind()?;
        for item in &program.items {
            checked.find_arity(item.value)?;
        }
        Ok(checked)
    }

    fn bind(&mut self) -> Result<(), EvalError> {
        let mut bare = false;
        for item in &self.program.items {
            let again = match &item.name {
                Some(name) => self.names.insert(&name.text, item.value).is_some(),
                None => std::mem::replace(&mut bare, true),
            };
            if again {
                let name = item.name.as_ref().map_or("the value", |name| &name.text);
                return Err(EvalError::Duplicate(name.into()));
            }
        }
        Ok(())
    }

    fn named(&self, name: &str) -> Result<NodeId, EvalError> {
        self.names.get(name).copied().ok_or_else(|| EvalError::Unbound(name.into()))
    }

    fn parts(&self, node: &'a Node) -> Result<Vec<NodeId>, EvalError> {
        Ok(match &node.kind {
            NodeKind::Index(_) | NodeKind::Identity => vec![],
            NodeKind::Error => return Err(EvalError::Syntax),
            NodeKind::Name(name) => vec![self.named(name)?],
            NodeKind::Swap(f) | NodeKind::Loop(_, f) => vec![*f],
            NodeKind::Combine { left, right, .. } => vec![*left, *right],
        })
    }

    /// Finds the arity of a component and of all its parts, depth first with an explicit stack.
    fn find_arity(&mut self, root: NodeId) -> Result<(), EvalError> {
        let mut stack = vec![(root, false)];
        while let Some((id, ready)) = stack.pop() {
            let at = id.0 as usize;
            if self.arities[at].is_some() {
                continue;
            }
            let parts = self.parts(&self.program.nodes[at])?;
            if ready {
                self.arities[at] = Some(self.arity_of(id, &parts)?);
                continue;
            }
            if std::mem::replace(&mut self.open[at], true) {
                return Err(EvalError::Cycle(format!("{:?}", self.program.nodes[at].kind)));
            }
            stack.push((id, true));
            stack.extend(parts.iter().map(|&part| (part, false)));
        }
        Ok(())
    }

    fn known(&self, id: NodeId) -> Arity {
        self.arities[id.0 as usize].expect("found before")
    }

    fn arity_of(&mut self, id: NodeId, parts: &[NodeId]) -> Result<Arity, EvalError> {
        let arities: Vec<Arity> = parts.iter().map(|&part| self.known(part)).collect();
        let arity = match &self.program.node(id).kind {
            NodeKind::Index(expr) => {
                let form = Form::of(expr)?;
                let index = |leaf: &&Leaf| matches!(leaf, Leaf::Index(_));
                let inputs = form.operands.iter().filter(index).count();
                self.forms.insert(id, form);
                Arity { inputs, outputs: 1 }
            }
            NodeKind::Identity => Arity { inputs: 1, outputs: 1 },
            NodeKind::Swap(_) if arities[0].inputs < 2 => {
                return Err(EvalError::Arity {
                    what: "swap",
                    found: arities[0].inputs,
                    expected: 2,
                });
            }
            NodeKind::Combine { combinator, .. } => combine(*combinator, arities[0], arities[1])?,
            NodeKind::Loop(head, _) => {
                swept(head, arities[0])?;
                Arity { outputs: states(head, arities[0])?, ..arities[0] }
            }
            _ => arities[0],
        };
        let fits = arity.inputs <= MOST_VALUES && arity.outputs <= MOST_VALUES;
        if fits { Ok(arity) } else { Err(EvalError::TooLarge) }
    }

    /// Applies the program's value to symbolic inputs.
    pub fn calls(&self) -> Result<Calls<'_>, EvalError> {
        let value = self.program.value().ok_or(EvalError::Empty)?.value;
        self.calls_of(value, 0)
    }

    /// The calls of a component that is in a number of loops.
    fn calls_of(&self, root: NodeId, loops: usize) -> Result<Calls<'_>, EvalError> {
        if loops > MOST_LOOPS {
            return Err(EvalError::TooLarge);
        }
        let inputs = self.known(root).inputs;
        let (calls, tasks) = (Vec::new(), Vec::new());
        let mut run = CallBuilder { checked: self, calls, next: inputs, loops, tasks };
        let outputs = run.apply(root, (0..inputs).collect())?;
        Ok(Calls { inputs, calls: run.calls, outputs })
    }
}

/// The number of states of a loop.
fn states(head: &LoopHead, of: Arity) -> Result<usize, EvalError> {
    let found = of.outputs;
    match (head.form, found) {
        (LoopForm::Until, 0 | 1) => Err(EvalError::Arity { what: "condition", found, expected: 2 }),
        (LoopForm::Until, _) => Ok(found - 1),
        _ => Ok(found),
    }
}

/// The number of inputs of which a loop's passes take rows.
fn swept(head: &LoopHead, of: Arity) -> Result<usize, EvalError> {
    let Some(others) = of.inputs.checked_sub(states(head, of)?) else {
        let (found, expected) = (of.outputs, of.inputs);
        return Err(EvalError::Arity { what: "states", found, expected });
    };
    let swept = match (head.form, head.rows) {
        (LoopForm::Repeat | LoopForm::Until, _) => 0,
        (_, None) => others,
        (_, Some((rows, _))) => usize::try_from(rows).map_err(|_| EvalError::TooLarge)?,
    };
    if swept > others {
        return Err(EvalError::Arity { what: "swept inputs", found: swept, expected: others });
    }
    match (swept, &head.passes) {
        (0, None) => Err(EvalError::Undetermined("the number of passes".into())),
        _ => Ok(swept),
    }
}

fn combine(combinator: Combinator, left: Arity, right: Arity) -> Result<Arity, EvalError> {
    match combinator {
        Combinator::Chain => chain(left, right),
        Combinator::Compose => chain(right, left),
        Combinator::Fanout => Ok(Arity {
            inputs: left.inputs.max(right.inputs),
            outputs: left.outputs + right.outputs,
        }),
        Combinator::Pair => {
            Ok(Arity { inputs: left.inputs + right.inputs, outputs: left.outputs + right.outputs })
        }
    }
}

fn chain(first: Arity, second: Arity) -> Result<Arity, EvalError> {
    match second.inputs.checked_sub(first.outputs) {
        Some(left_over) => Ok(Arity { inputs: first.inputs + left_over, outputs: second.outputs }),
        None => {
            Err(EvalError::Arity { what: "chain", found: first.outputs, expected: second.inputs })
        }
    }
}

/// Remaining work on the values of the last component.
enum Task {
    /// Apply the component to them and these further values.
    Then(NodeId, Vec<Handle>),
    /// Keep them, and apply the component to these values.
    Beside(NodeId, Vec<Handle>),
    /// Prepend these values.
    After(Vec<Handle>),
}

struct CallBuilder<'a> {
    checked: &'a Checked<'a>,
    calls: Vec<Call<'a>>,
    /// The next handle.
    next: Handle,
    /// Number of loops around.
    loops: usize,
    tasks: Vec<Task>,
}

impl<'a> CallBuilder<'a> {
    fn apply(&mut self, root: NodeId, arguments: Vec<Handle>) -> Result<Vec<Handle>, EvalError> {
        let mut budget = 64 * MOST_CALLS;
        let mut values = self.enter(root, arguments)?;
        while let Some(task) = self.tasks.pop() {
            budget = budget.checked_sub(1).ok_or(EvalError::TooLarge)?;
            values = match task {
                Task::Then(node, more) => {
                    values.extend(more);
                    self.enter(node, values)?
                }
                Task::Beside(node, arguments) => {
                    self.tasks.push(Task::After(values));
                    self.enter(node, arguments)?
                }
                Task::After(mut before) => {
                    before.extend(values);
                    before
                }
            };
        }
        Ok(values)
    }

    /// Descends to the first index expression or identity of a component, records the work that follows it, and applies
    /// it.
    fn enter(&mut self, mut id: NodeId, mut values: Vec<Handle>) -> Result<Vec<Handle>, EvalError> {
        loop {
            match &self.checked.program.node(id).kind {
                NodeKind::Index(_) => return self.call(id, values),
                NodeKind::Identity => return Ok(values),
                NodeKind::Error => return Err(EvalError::Syntax),
                NodeKind::Loop(head, of) => return self.looped(head, *of, values),
                NodeKind::Name(name) => id = self.checked.named(name)?,
                NodeKind::Swap(f) => {
                    values.swap(0, 1);
                    id = *f;
                }
                NodeKind::Combine { combinator, left, right, .. } => {
                    id = self.split(*combinator, *left, *right, &mut values);
                }
            }
            if self.tasks.len() > 64 * MOST_CALLS {
                return Err(EvalError::TooLarge);
            }
        }
    }

    /// Leaves in `values` the inputs of the component to enter first, and records the other.
    fn split(
        &mut self,
        combinator: Combinator,
        left: NodeId,
        right: NodeId,
        values: &mut Vec<Handle>,
    ) -> NodeId {
        let inputs = |id: NodeId| self.checked.known(id).inputs;
        let (first, task) = match combinator {
            Combinator::Chain => (left, Task::Then(right, values.split_off(inputs(left)))),
            Combinator::Compose => (right, Task::Then(left, values.split_off(inputs(right)))),
            Combinator::Pair => (left, Task::Beside(right, values.split_off(inputs(left)))),
            Combinator::Fanout => {
                let for_right = values[..inputs(right)].to_vec();
                values.truncate(inputs(left));
                (left, Task::Beside(right, for_right))
            }
        };
        self.tasks.push(task);
        first
    }

    fn call(&mut self, id: NodeId, arguments: Vec<Handle>) -> Result<Vec<Handle>, EvalError> {
        let form = &self.checked.forms[&id];
        self.add(CallKind::Index(form), arguments, 1)
    }

    fn looped(
        &mut self,
        head: &'a LoopHead,
        of: NodeId,
        arguments: Vec<Handle>,
    ) -> Result<Vec<Handle>, EvalError> {
        let arity = self.checked.known(of);
        let body = self.checked.calls_of(of, self.loops + 1)?;
        let (states, swept) = (states(head, arity)?, swept(head, arity)?);
        let all = matches!(head.form, LoopForm::Scan | LoopForm::ScanBack);
        let back = matches!(head.form, LoopForm::FoldBack | LoopForm::ScanBack);
        let passes = head.passes.as_ref();
        let looped = LoopCall { body, states, swept, all, back, passes };
        self.add(CallKind::Loop(Box::new(looped)), arguments, states)
    }

    fn add(
        &mut self,
        kind: CallKind<'a>,
        arguments: Vec<Handle>,
        results: usize,
    ) -> Result<Vec<Handle>, EvalError> {
        if self.calls.len() >= MOST_CALLS {
            return Err(EvalError::TooLarge);
        }
        self.calls.push(Call { kind, arguments });
        let first = self.next;
        self.next += results;
        Ok((first..self.next).collect())
    }
}
