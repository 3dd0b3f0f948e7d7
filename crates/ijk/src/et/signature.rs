//! Signatures: arrays that can be bound, and results.

use ijk_ir::et::{Checked, Origin};
use ijk_syntax::et::ast::Access;
use std::fmt;

/// The arrays of a program: those that must or may be bound, and the results.
///
/// ```
/// let program = ijk::et("y[i] = w[i,k] * RANDOM(0, 1, FLOAT)")?;
/// let signature = program.signature();
/// assert_eq!(signature.to_string(), "input w[i,k]\noutput y[i]");
/// assert_eq!(signature.bindable().collect::<Vec<_>>(), ["w"]);
/// # Ok::<(), ijk::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The arrays in the order of their first appearance.
    pub arrays: Vec<ArraySignature>,
    /// The results: positions in `arrays`, in the order in which the program lists them.
    pub outputs: Vec<usize>,
}

/// An array as known without data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArraySignature {
    /// The name.
    pub name: String,
    /// The index expressions of its first use.
    pub places: Vec<String>,
    /// Origin of its elements.
    pub source: Source,
}

/// Origin of the elements of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// It must be bound.
    Input,
    /// It may be bound, and is random otherwise.
    Default,
    /// It is computed.
    Computed,
}

impl Signature {
    pub(super) fn of(checked: &Checked) -> Self {
        let arrays = checked.arrays.iter().enumerate().map(|(at, array)| ArraySignature {
            name: array.name.clone(),
            places: places(checked, &array.name),
            source: match array.origin {
                _ if checked.must_be_bound(at) => Source::Input,
                Origin::Input => Source::Input,
                Origin::Random { .. } => Source::Default,
                Origin::Computed => Source::Computed,
            },
        });
        Self { arrays: arrays.collect(), outputs: checked.outputs.clone() }
    }

    /// Names of the arrays that can be bound.
    pub fn bindable(&self) -> impl Iterator<Item = &str> {
        self.arrays.iter().filter(|a| a.source != Source::Computed).map(|a| &a.name[..])
    }

    /// Names of the results.
    pub fn outputs(&self) -> impl Iterator<Item = &str> {
        self.outputs.iter().map(|&at| &self.arrays[at].name[..])
    }
}

/// The texts of the indices of an array's first use.
fn places(checked: &Checked, name: &str) -> Vec<String> {
    let mut first: Option<Access> = None;
    for statement in &checked.program.statements {
        ijk_ir::et::lower::for_each_access(statement, &mut |access| {
            if first.is_none() && access.array.text == name {
                first = Some(access.clone());
            }
        });
    }
    let text = |span: ijk_syntax::Span| {
        checked.source.get(span.start as usize..span.end as usize).unwrap_or("?").to_string()
    };
    first.map_or(Vec::new(), |a| a.indices.iter().map(|e| text(e.span())).collect())
}

/// A line for each array that can be bound, then one for each result.
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bindable = self.arrays.iter().filter_map(|array| match array.source {
            Source::Input => Some(("input", array)),
            Source::Default => Some(("input or random", array)),
            Source::Computed => None,
        });
        let outputs = self.outputs.iter().map(|&at| ("output", &self.arrays[at]));
        for (n, (role, array)) in bindable.chain(outputs).enumerate() {
            let end = if n == 0 { "" } else { "\n" };
            write!(f, "{end}{role} {}[{}]", array.name, array.places.join(","))?;
        }
        Ok(())
    }
}
