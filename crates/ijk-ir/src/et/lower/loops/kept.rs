//! Arrays of a loop of which only the last passes are kept.
//!
//! An array that nothing reads after the loop, and of which a pass reads what it and the k passes before it wrote, needs
//! the memory of k + 1 passes: pass `t` writes at the position `t % (k + 1)`. So `s[t,d]` takes one row if only its own
//! pass reads it. What was out of bounds before stays so by conditions of the updates.

use crate::core::{
    Atom, AxisId, IndexExpr, Loop, LoopProgram, LoopStep, PassCondition, Update, UpdateInput,
    Window,
};

/// An array of which a loop keeps the last passes only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptPasses {
    /// The array: a position in [`Checked::arrays`](crate::et::Checked::arrays).
    pub array: usize,
    /// Number of passes that it keeps.
    pub passes: u64,
}

/// The axis of an array that has a position for each pass, and how many passes are needed.
struct PassAxis {
    array: usize,
    axis: usize,
    passes: u64,
}

/// Makes arrays of a loop its own that are not `needed` behind it, with positions for the passes that are read. Those for
/// which `is_zero` start with zeros. The loop's arrays are those of the program by `surface`.
pub(super) fn keep_last_passes(
    program: &mut LoopProgram,
    surface: &mut [Option<usize>],
    needed: impl Fn(usize) -> bool,
    is_zero: impl Fn(usize) -> bool,
) -> Vec<KeptPasses> {
    let plain = |step: &LoopStep| !matches!(step, LoopStep::Loop(_));
    if program.root.axes.len() != 1 || !program.root.steps.iter().all(plain) {
        return Vec::new();
    }
    let own = surface.iter().enumerate();
    let own = own.filter_map(|(at, array)| Some((at, array.filter(|&array| !needed(array))?)));
    let found: Vec<(usize, PassAxis)> = own
        .filter_map(|(at, array)| Some((array, pass_axis(program, at, is_zero(array))?)))
        .collect();
    for (_, found) in &found {
        move_windows(program, found);
        surface[found.array] = None;
    }
    let kept = |(array, found): (usize, PassAxis)| KeptPasses { array, passes: found.passes };
    found.into_iter().map(kept).collect()
}

/// The coordinate of the loop.
fn pass() -> IndexExpr {
    IndexExpr::axis(AxisId(0))
}

/// The updates of a pass in order, each statement once.
fn parts(root: &Loop) -> Vec<&Update> {
    let statements = root.steps.iter().flat_map(|step| match step {
        LoopStep::Fused(_, parts) => &parts[..],
        other => std::slice::from_ref(other),
    });
    let updates = statements.filter_map(|step| match step {
        LoopStep::Update(update) => Some(&**update),
        _ => None,
    });
    updates.collect()
}

/// Windows of an array that an update reads.
fn reads(update: &Update, array: usize) -> impl Iterator<Item = &Window> {
    let probe = update.probe.iter().flat_map(|probe| &probe.inputs);
    let windows = update.inputs.iter().chain(probe).filter_map(|input| match input {
        UpdateInput::Window(window) => Some(window),
        UpdateInput::Coordinate(_) => None,
    });
    windows.filter(move |window| window.array == array)
}

/// Windows of an array that an update writes.
fn writes(update: &Update, array: usize) -> impl Iterator<Item = &Window> {
    update.outputs.iter().filter(move |window| window.array == array)
}

/// The passes of an array that are needed; none if all are, or if a pass may leave elements of others in its position.
fn pass_axis(program: &LoopProgram, array: usize, is_zero: bool) -> Option<PassAxis> {
    let root = &program.root;
    let extent = root.axes[0].extent;
    let updates = parts(root);
    let first = updates.iter().position(|update| writes(update, array).next().is_some())?;
    let own = writes(updates[first], array).next()?;
    let axis = own.fixed.iter().position(Option::is_some)?;
    if own.fixed.iter().flatten().count() != 1 || program.arrays[array].shape[axis] != extent {
        return None;
    }
    let mut most = 0;
    for (n, update) in updates.iter().enumerate() {
        if update.lookups.iter().any(|window| window.array == array) {
            return None;
        }
        if writes(update, array).any(|window| *window != *own) {
            return None;
        }
        for window in reads(update, array) {
            let back = passes_back(window.fixed[axis].as_ref()?, root.descending)?;
            if back == 0 && n <= first {
                return None;
            }
            most = most.max(back);
        }
    }
    let passes = most + 1;
    let certain = |from: u64| is_certain(program, updates[first], from);
    let fits = own.fixed[axis] == Some(pass()) && passes < extent;
    let settled = certain(0) || is_zero && certain(passes);
    (fits && settled).then_some(PassAxis { array, axis, passes })
}

/// Number of passes before its own that a pass reads at a position.
fn passes_back(position: &IndexExpr, descending: bool) -> Option<u64> {
    let ahead = position.plus(&pass().times(-1)?)?.as_constant()?;
    u64::try_from(if descending { ahead } else { ahead.checked_neg()? }).ok()
}

/// Returns true if no pass leaves an update out, but for some of the first ones.
fn is_certain(program: &LoopProgram, update: &Update, from: u64) -> bool {
    let root = &program.root;
    let (from, extent) = (from as i64, root.axes[0].extent as i64);
    let ends = match root.descending {
        true => [0, extent - 1 - from],
        false => [from, extent - 1],
    };
    let only_pass = |e: &IndexExpr| e.terms.iter().all(|(_, atom)| *atom == Atom::Axis(AxisId(0)));
    let inside = |e: &IndexExpr, extent: u64| {
        only_pass(e) && ends.iter().all(|&t| (0..extent as i64).contains(&e.eval(&[t])))
    };
    let holds = |own: &PassCondition| {
        only_pass(&own.least) && only_pass(&own.greatest) && ends.iter().all(|&t| own.holds(&[t]))
    };
    let window = |window: &Window| {
        let mut axes = window.fixed.iter().zip(&program.arrays[window.array].shape);
        axes.all(|(e, &extent)| e.as_ref().is_none_or(|e| inside(e, extent)))
    };
    let input = |input: &UpdateInput| match input {
        UpdateInput::Window(own) => window(own),
        UpdateInput::Coordinate(_) => true,
    };
    update.probe.is_none()
        && update.lookups.is_empty()
        && update.conditions.iter().all(holds)
        && update.inputs.iter().all(input)
        && update.outputs.iter().all(window)
}

/// Gives an array positions for the passes that it keeps.
fn move_windows(program: &mut LoopProgram, found: &PassAxis) {
    let extent = program.root.axes[0].extent;
    program.root.for_each_update_mut(&mut |update| move_update(update, found, extent));
    let array = &mut program.arrays[found.array];
    array.shape[found.axis] = found.passes;
    array.local = true;
}

fn move_update(update: &mut Update, found: &PassAxis, extent: u64) {
    let mut bounds: Vec<IndexExpr> = Vec::new();
    let mut moved = |window: &mut Window| {
        if window.array != found.array {
            return;
        }
        let Some(position) = window.fixed[found.axis].take() else { return };
        window.fixed[found.axis] = Some(match found.passes {
            1 => IndexExpr::constant(0),
            passes => position.clone().modulo(passes as i64),
        });
        bounds.push(position);
    };
    let probe = update.probe.iter_mut().flat_map(|probe| &mut probe.inputs);
    for input in update.inputs.iter_mut().chain(probe) {
        if let UpdateInput::Window(window) = input {
            moved(window);
        }
    }
    update.outputs.iter_mut().for_each(moved);
    for position in bounds.into_iter().filter(|position| *position != pass()) {
        let (least, greatest) = (position.clone(), position);
        let condition = PassCondition { least, greatest, extent };
        if !update.conditions.contains(&condition) {
            update.conditions.push(condition);
        }
    }
}
