//! What a macro is given: a program or a file, perhaps as an item.

use proc_macro2::{Delimiter, Ident, Literal, Span, TokenStream, TokenTree};

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
