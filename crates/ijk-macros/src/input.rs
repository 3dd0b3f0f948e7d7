//! Input of a macro: a program or a file, perhaps as an item.

use crate::report::error;
use proc_macro2::{Delimiter, Ident, Literal, Span, TokenStream, TokenTree};
use quote::quote;
use std::path::Path;

/// A macro's input.
pub struct Input {
    /// The item to declare; an expression without one.
    pub item: Option<Item>,
    /// The program.
    pub program: Source,
}

/// `#[doc = "…"] pub fn name:`.
pub struct Item {
    /// Attributes.
    pub attributes: TokenStream,
    /// `pub`, or nothing.
    pub visibility: TokenStream,
    /// The function's name.
    pub name: Ident,
}

/// Where the program stands.
pub enum Source {
    /// In the macro's input.
    Tokens(TokenStream),
    /// In a file of that path.
    File(Literal),
}

impl Input {
    /// Takes `pub fn name:` and `file "…"` apart from the program.
    pub fn new(stream: TokenStream) -> Self {
        let trees: Vec<TokenTree> = stream.into_iter().collect();
        let (item, rest) = match item(&trees) {
            Some((item, taken)) => (Some(item), &trees[taken..]),
            None => (None, &trees[..]),
        };
        let program = match file(rest) {
            Some(path) => Source::File(path),
            None => Source::Tokens(rest.iter().cloned().collect()),
        };
        Self { item, program }
    }
}

/// An item's head and the number of trees it has.
fn item(trees: &[TokenTree]) -> Option<(Item, usize)> {
    let mut at = 0;
    while is_punct(trees.get(at), '#') && is_group(trees.get(at + 1), Delimiter::Bracket) {
        at += 2;
    }
    let attributes = at;
    if is_word(trees.get(at), "pub") {
        at += 1 + usize::from(is_group(trees.get(at + 1), Delimiter::Parenthesis));
    }
    let collect = |trees: &[TokenTree]| trees.iter().cloned().collect();
    let (attributes, visibility) = (collect(&trees[..attributes]), collect(&trees[attributes..at]));
    let TokenTree::Ident(name) = trees.get(at + 1)? else { return None };
    let head = is_word(trees.get(at), "fn") && is_punct(trees.get(at + 2), ':');
    head.then(|| (Item { attributes, visibility, name: name.clone() }, at + 3))
}

/// The path in `file "…"`.
fn file(trees: &[TokenTree]) -> Option<Literal> {
    match trees {
        [TokenTree::Ident(word), TokenTree::Literal(path)] if *word == "file" => {
            path.to_string().ends_with(['"', '#']).then(|| path.clone())
        }
        _ => None,
    }
}

fn is_word(tree: Option<&TokenTree>, word: &str) -> bool {
    matches!(tree, Some(TokenTree::Ident(ident)) if *ident == word)
}

fn is_punct(tree: Option<&TokenTree>, c: char) -> bool {
    matches!(tree, Some(TokenTree::Punct(punct)) if punct.as_char() == c)
}

fn is_group(tree: Option<&TokenTree>, delimiter: Delimiter) -> bool {
    matches!(tree, Some(TokenTree::Group(group)) if group.delimiter() == delimiter)
}

/// The name of the file at a path literal, its full path and its text.
pub fn read(path: &Literal) -> Result<(String, String, String), TokenStream> {
    let fail = |text: String| {
        let error = error(&text, place(path));
        quote!(#error;)
    };
    let name =
        string(path).ok_or_else(|| fail("the path must be a string without escapes".into()))?;
    let root = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let full = Path::new(&root).join(&name);
    let source = std::fs::read_to_string(&full).map_err(|e| {
        fail(format!("{name} can't be read: {e} (paths start from the crate's root)"))
    })?;
    Ok((name, full.to_string_lossy().into_owned(), source))
}

/// The value of a plain or raw string literal; none where its escapes are others than those of
/// line ends, tabs, quotes and backslashes.
pub fn string_value(literal: &Literal) -> Option<String> {
    let text = literal.to_string();
    if let Some(raw) = text.strip_prefix('r') {
        return Some(raw.trim_matches('#').strip_prefix('"')?.strip_suffix('"')?.to_owned());
    }
    let mut value = String::new();
    let mut chars = text.strip_prefix('"')?.strip_suffix('"')?.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            value.push(c);
            continue;
        }
        match chars.next()? {
            'n' => value.push('\n'),
            'r' => value.push('\r'),
            't' => value.push('\t'),
            c @ ('\\' | '"' | '\'') => value.push(c),
            '\n' => while chars.next_if(|c| c.is_whitespace()).is_some() {},
            _ => return None,
        }
    }
    Some(value)
}

/// The text of a plain or raw string literal without escapes.
pub fn string(literal: &Literal) -> Option<String> {
    let text = literal.to_string();
    let text = text.strip_prefix('r').map_or(&text[..], |raw| raw.trim_matches('#'));
    let text = text.strip_prefix('"')?.strip_suffix('"')?;
    (!text.contains('\\')).then(|| text.to_owned())
}

/// Where a literal stands.
pub fn place(literal: &Literal) -> (Span, Span) {
    (literal.span(), literal.span())
}
