//! Plans as tables.

use crate::plan::{Buffer, Contraction, Nest, Place, Plan, Role, Step};
use ijk_types::Scalar;
use std::fmt::{self, Write as _};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<[String; 7]> =
            self.steps.iter().enumerate().map(|(n, step)| row(n, step, &self.buffers)).collect();
        let header = ["step", "kernel", "type", "writes", "axes", "operations", "bytes"];
        table(f, &header.map(str::to_owned), &rows)?;
        let total = self.cost();
        write!(
            f,
            "total: {} operations, {} read, {} written; temporaries {}, results {}",
            total.operations,
            Bytes(total.read),
            Bytes(total.written),
            Bytes(self.arena as u64),
            Bytes(self.result_bytes())
        )
    }
}

fn row(number: usize, step: &Step, buffers: &[Buffer]) -> [String; 7] {
    let cost = step.cost(buffers);
    let (buffer, axes) = match step {
        Step::Fill(buffer, value) => (*buffer, format!("= {}", scalar_text(*value))),
        Step::Contract(c) => (c.c.buffer, contraction_axes(c)),
        Step::Nest(nest) => (nest.store.base.buffer, nest_axes(nest)),
    };
    let target = &buffers[buffer.0 as usize];
    [
        (number + 1).to_string(),
        step.kernel().to_string(),
        target.dtype.to_string(),
        place(target),
        axes,
        cost.operations.to_string(),
        Bytes(cost.read.saturating_add(cost.written)).to_string(),
    ]
}

fn scalar_text(value: Scalar) -> String {
    match value {
        Scalar::Bool(x) => x.to_string(),
        Scalar::I32(x) => x.to_string(),
        Scalar::I64(x) => x.to_string(),
        Scalar::F32(x) => x.to_string(),
        Scalar::F64(x) => x.to_string(),
        Scalar::C64(x) => x.to_string(),
        Scalar::C128(x) => x.to_string(),
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

/// A number of bytes for people.
struct Bytes(u64);

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
