//! Orders along a letter: `@sort ij~ik` drops the letter whose values it orders, and has a new one for the places of the
//! order.

use super::Shape;
use super::letters::Letters;
use super::output::{dropped, folds, list};
use crate::codes;
use crate::sink::Sink;
use crate::text::slice;
use ijk_syntax::Span;
use ijk_syntax::ast;

/// Checks that one letter is dropped, and one is new.
pub fn check(
    expr: &ast::IndexExpr,
    shape: &Shape,
    letters: &Letters,
    source: &str,
    span: Span,
    sink: &mut Sink,
) -> bool {
    let name = shape.outer.map_or("", |(function, _)| function.spelling());
    let plain = !folds(expr) && expr.output.positions.iter().all(is_letter);
    if !plain || repeats(expr) {
        let message = format!("the output of `{name}` is distinct letters");
        sink.push(codes::ARG_FOLDS.error(expr.output.span, message));
        return false;
    }
    let (gone, new) = (dropped(letters), new(letters));
    if gone.len() == 1 && new.len() == 1 {
        return true;
    }
    let told = match gone.len() {
        1 => {
            format!("{} new", counted(&new.iter().map(|n| named(letters, *n)).collect::<Vec<_>>()))
        }
        0 => "none is dropped".to_string(),
        _ => format!("{} are dropped", list(&gone)),
    };
    let message = format!(
        "`{name}` drops the letter along which it orders, and the output has one new letter for the places of the \
         order; {told}"
    );
    let error = codes::ORDER_LETTERS.error(span, message);
    sink.push(match offer(expr, letters, source, name) {
        Some(text) => error.with_fix(format!("along the last letter: `{text}`"), expr.span, text),
        None => error,
    });
    false
}

/// Gives the new letter the extent of the dropped one, unless braces say another.
pub fn give_extent(letters: &mut Letters, sink: &mut Sink) {
    let gone =
        (0..letters.axes.len()).find(|&n| letters.uses[n].in_operand && !letters.uses[n].in_output);
    let (Some(gone), [new]) = (gone, &new(letters)[..]) else { return };
    if !letters.axes[*new].pins.is_empty() {
        return;
    }
    let (dims, pins) = (letters.axes[gone].dims.clone(), letters.axes[gone].pins.clone());
    if dims.is_empty() && pins.is_empty() {
        let (from, name) = (&letters.axes[gone].name, &letters.axes[*new].name);
        let message = format!("`{from}` stands in brackets only, so `{name}` needs an extent");
        let error = codes::BRACKETS_ONLY.error(letters.uses[*new].first, message);
        sink.push(error.with_hint(format!("the number of places in braces: `{name}{{10}}`")));
    }
    (letters.axes[*new].dims, letters.axes[*new].pins) = (dims, pins);
}

/// The letters that the output has and no operand.
fn new(letters: &Letters) -> Vec<usize> {
    let fresh = |n: &usize| letters.uses[*n].in_output && !letters.uses[*n].in_operand;
    (0..letters.axes.len()).filter(fresh).collect()
}

fn named<'a>(letters: &'a Letters, n: usize) -> &'a str {
    &letters.axes[n].name
}

fn counted(names: &[&str]) -> String {
    match names {
        [] => "no letter is".into(),
        more => {
            let quoted: Vec<String> = more.iter().map(|name| format!("`{name}`")).collect();
            format!("{} are", quoted.join(" and "))
        }
    }
}

fn is_letter(position: &ast::Position) -> bool {
    matches!(position, ast::Position::Letter(_))
}

fn repeats(expr: &ast::IndexExpr) -> bool {
    let name = |position: &ast::Position| match position {
        ast::Position::Letter(letter) => Some(letter.name),
        ast::Position::Bracket(..) => None,
    };
    let mut names: Vec<char> = expr.output.positions.iter().filter_map(name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    names.len() != count
}

/// The expression where the last letter of the output is the ordered one, and a new one takes its place.
fn offer(expr: &ast::IndexExpr, letters: &Letters, source: &str, name: &str) -> Option<String> {
    let (ast::Position::Letter(last), before) = expr.output.positions.split_last()? else {
        return None;
    };
    let whole = dropped(letters).is_empty() && new(letters).is_empty();
    let fresh = ('a'..='z').filter(|c| !letters.axes.iter().any(|axis| axis.name == c.to_string()));
    let fresh = fresh.min_by_key(|c| (*c as i32 - last.name as i32).rem_euclid(26));
    let text = slice(source, expr.span);
    let (body, _) = text.rsplit_once('~')?;
    let kept: String = before
        .iter()
        .filter_map(|position| match position {
            ast::Position::Letter(letter) => Some(letter.name),
            ast::Position::Bracket(..) => None,
        })
        .collect();
    let fits = whole && body.starts_with(name) && text.len() <= 80;
    fits.then(|| format!("{body}~{kept}{}", fresh.unwrap_or('k')))
}
