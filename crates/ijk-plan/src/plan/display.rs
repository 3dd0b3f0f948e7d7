//! Plans as tables.

use crate::plan::{
    Buffer, BufferId, Contraction, Nest, Place, Plan, Role, Scan, Sort, Step, Sweep, SweepAxis,
};
use ijk_types::Scalar;
use std::fmt::{self, Write as _};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rows = Vec::new();
        push_rows(&mut rows, self, "", &self.buffers.iter().map(place).collect::<Vec<_>>());
        let header = ["step", "kernel", "type", "writes", "axes", "operations", "bytes"];
        table(f, &header.map(str::to_owned), &rows)?;
        let total = self.cost();
        write!(
            f,
            "total: {} operations, {} read, {} written; temporaries {}, results {}",
            total.operations,
            Bytes(total.read),
            Bytes(total.written),
            Bytes(self.temporary_bytes()),
            Bytes(self.result_bytes())
        )
    }
}

/// Adds a row for each step, numbered after `prefix`; `places` names the buffers. The steps of a sweep's block follow
/// it.
fn push_rows(rows: &mut Vec<[String; 7]>, plan: &Plan, prefix: &str, places: &[String]) {
    for (n, step) in plan.steps.iter().enumerate() {
        let number = format!("{prefix}{}", n + 1);
        rows.push(row(&number, step, &plan.buffers, places));
        if let Step::Sweep(sweep) = step {
            let own = |buffer: &Buffer| match buffer.place {
                Place::Input(n) => places[sweep.inputs[n].buffer.0 as usize].clone(),
                Place::Output(n) => places[sweep.outputs[n].buffer.0 as usize].clone(),
                Place::Temporary(_) => place(buffer),
            };
            let own: Vec<String> = sweep.body.buffers.iter().map(own).collect();
            push_rows(rows, &sweep.body, &format!("{number}."), &own);
        }
    }
}

fn row(number: &str, step: &Step, buffers: &[Buffer], places: &[String]) -> [String; 7] {
    let cost = step.cost(buffers);
    let of = |buffer: BufferId| {
        let at = buffer.0 as usize;
        (buffers[at].dtype.to_string(), places[at].clone())
    };
    let ((dtype, place), axes) = match step {
        Step::Fill(buffer, value) => (of(*buffer), format!("= {}", scalar_text(*value))),
        Step::Contract(c) => (of(c.c.buffer), contraction_axes(c)),
        Step::Grouped(g) => {
            (of(g.each.c.buffer), format!("{} groups={}", contraction_axes(&g.each), g.groups))
        }
        Step::Scan(scan) => (of(scan.to.buffer), scan_axes(scan)),
        Step::Sort(sort) => (of(sort.to.buffer), sort_axes(sort)),
        Step::Nest(nest) => (of(nest.store.base.buffer), nest_axes(nest)),
        Step::Sweep(sweep) => (Default::default(), sweep_axes(sweep)),
    };
    let bytes = Bytes(cost.read.saturating_add(cost.written)).to_string();
    let (kernel, operations) = (step.kernel().to_string(), cost.operations.to_string());
    [number.to_owned(), kernel, dtype, place, axes, operations, bytes]
}

/// `rows(i=4096 by 8)`: the steps that follow run for 8 rows at a time.
fn sweep_axes(sweep: &Sweep) -> String {
    let axis = |a: &SweepAxis| format!("{}={} by {}", a.name, a.extent, a.block);
    let axes: Vec<String> = sweep.axes.iter().map(axis).collect();
    let narrow = sweep.narrow.as_ref().map_or(0, |narrow| narrow.bodies.len());
    let parts = if narrow > 0 { format!(" {narrow} parts") } else { String::new() };
    format!("rows({}){parts}", axes.join(" "))
}

fn scalar_text(value: Scalar) -> String {
    match value {
        Scalar::F32(x) => x.to_string(),
        Scalar::F64(x) => x.to_string(),
        other => other.to_string(),
    }
}

fn place(buffer: &Buffer) -> String {
    let (name, shape) = match buffer.place {
        Place::Input(n) => (format!("argument {}", n + 1), &buffer.shape),
        Place::Output(n) => (format!("result {}", n + 1), &buffer.shape),
        Place::Temporary(at) => (format!("temporary @{at}"), &buffer.shape),
    };
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("{name} [{}]", extents.join(", "))
}

fn contraction_axes(c: &Contraction) -> String {
    let roles = [("batch", Role::Batch), ("M", Role::M), ("N", Role::N), ("K", Role::K)];
    let mut text = String::new();
    for (name, role) in roles {
        let axes = c.axes.iter().filter(|a| a.role == role);
        push_group(&mut text, name, axes.map(|a| (&a.name[..], a.extent)));
    }
    text
}

fn sort_axes(sort: &Sort) -> String {
    let mut text = String::new();
    push_group(&mut text, "map", sort.rows.iter().map(|a| (&a.name[..], a.extent)));
    push_group(&mut text, "order", [(&sort.values.name[..], sort.values.extent)].into_iter());
    push_group(&mut text, "places", [(&sort.places.name[..], sort.places.extent)].into_iter());
    text
}

fn scan_axes(scan: &Scan) -> String {
    let mut text = String::new();
    push_group(&mut text, "map", scan.rows.iter().map(|a| (&a.name[..], a.extent)));
    push_group(&mut text, "scan", [(&scan.along.name[..], scan.along.extent)].into_iter());
    text
}

fn nest_axes(nest: &Nest) -> String {
    let mut text = String::new();
    for (name, reduced) in [("map", false), ("reduce", true)] {
        let axes = nest.axes.iter().filter(|a| a.reduced == reduced);
        push_group(&mut text, name, axes.map(|a| (&a.name[..], a.extent)));
    }
    text
}

/// Adds `name(i=3 j=4)` if there is an axis.
fn push_group<'a>(text: &mut String, name: &str, axes: impl Iterator<Item = (&'a str, usize)>) {
    let axes: Vec<String> = axes.map(|(letter, extent)| format!("{letter}={extent}")).collect();
    if !axes.is_empty() {
        let space = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{space}{name}({})", axes.join(" "));
    }
}

/// Columns aligned by their widest cell.
fn table<const N: usize>(
    f: &mut fmt::Formatter<'_>,
    header: &[String; N],
    rows: &[[String; N]],
) -> fmt::Result {
    let all = || std::iter::once(header).chain(rows);
    let widths: [usize; N] =
        std::array::from_fn(|c| all().map(|r| r[c].chars().count()).max().unwrap_or(0));
    for row in all() {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Number of bytes in human-readable units: `67.1 MB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
        let (mut value, mut unit) = (self.0 as f64, 0);
        while value >= 1000.0 && unit + 1 < UNITS.len() {
            value /= 1000.0;
            unit += 1;
        }
        if unit == 0 {
            return write!(f, "{} B", self.0);
        }
        write!(f, "{value:.1} {}", UNITS[unit])
    }
}
