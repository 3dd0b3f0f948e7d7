//! The subscripts of an einsum: `ij,jk->ik`, with NumPy's meaning.
//!
//! Any letter is an index, of any script and in both cases, and so is every other character from `À` on; the
//! space of ASCII means nothing. `...` stands for axes without names, of which as many are taken as there
//! are, matched from the right. Without `->` the output has the indices that occur once, in alphabetical
//! order, behind the axes of `...`.

pub mod codes;
mod lists;
mod parse;

use crate::{Diagnostic, Span};
use serde::{Deserialize, Serialize};

pub use lists::Label;

/// The subscripts of an einsum.
///
/// ```
/// use ijk_syntax::einsum::Subscripts;
/// let product = Subscripts::parse("ij,jk->ik").unwrap();
/// assert_eq!(product.operands.len(), 2);
/// assert_eq!(Subscripts::parse("jk,ij").unwrap().output_text(), "ik");
///
/// let errors = Subscripts::parse("ij,jk->iz").unwrap_err();
/// assert!(errors[0].message.contains("`z`"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscripts {
    /// Source of the spans: the text, or lists written out as one.
    pub source: String,
    /// The names of indices, by number, in the order of an implicit output.
    pub names: Vec<String>,
    /// One for each operand.
    pub operands: Vec<Term>,
    /// Indices behind `->`, or those of the implicit output.
    pub output: Term,
    /// The output is written.
    pub explicit: bool,
}

/// The subscripts of one operand, or of the output.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Term {
    /// Its indices.
    pub indices: Vec<Index>,
    /// Where `...` stands, if it does.
    pub ellipsis: Option<Ellipsis>,
    /// Its place.
    pub span: Span,
}

/// An occurrence of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// Position of the index in [`Subscripts::names`].
    pub number: u32,
    /// Its place.
    pub span: Span,
}

/// An occurrence of `...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ellipsis {
    /// Number of indices in front of it.
    pub at: usize,
    /// Its place.
    pub span: Span,
}

impl Subscripts {
    /// Subscripts as text.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str) -> Result<Self, Vec<Diagnostic>> {
        parse::parse(text)
    }

    /// Subscripts as lists, as NumPy takes them: one for each operand, and one for the output, if that
    /// is not implicit. Numbers order the implicit output.
    ///
    /// # Errors
    /// As for text.
    ///
    /// ```
    /// use ijk_syntax::einsum::{Label, Subscripts};
    /// let [i, j, k] = [0, 1, 2].map(Label::Index);
    /// let product = Subscripts::from_lists(&[vec![i, j], vec![j, k]], None).unwrap();
    /// assert_eq!(product.source, "[0 1], [1 2]");
    /// assert_eq!(product.output_text(), "[0 2]");
    /// ```
    pub fn from_lists(
        operands: &[Vec<Label>],
        output: Option<&[Label]>,
    ) -> Result<Self, Vec<Diagnostic>> {
        lists::subscripts(operands, output)
    }

    /// The output as it is, or would be, written.
    pub fn output_text(&self) -> String {
        let mut words: Vec<&str> =
            self.output.indices.iter().map(|i| self.name(i.number)).collect();
        if let Some(ellipsis) = self.output.ellipsis {
            words.insert(ellipsis.at, "...");
        }
        match self.source.starts_with('[') {
            true => format!("[{}]", words.join(" ")),
            false => words.concat(),
        }
    }

    /// The name of an index.
    pub fn name(&self, index: u32) -> &str {
        &self.names[index as usize]
    }
}

/// The name of an index as messages show it: invisible characters are escaped.
///
/// ```
/// use ijk_syntax::einsum::visible;
/// assert_eq!(visible("i"), "i");
/// assert_eq!(visible("\u{2003}"), "\\u{2003}");
/// ```
pub fn visible(name: &str) -> String {
    name.escape_debug().collect()
}
