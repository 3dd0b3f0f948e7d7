//! Loops: headers, and blocks by indentation.

use super::super::ast::{Loop, Value};
use super::super::codes;
use super::program::Section;
use super::{EtParser, Parsed};
use crate::ast::Name;
use crate::{Span, TokenKind};

/// Columns to the next one that a tab reaches.
const TAB: usize = 8;

/// Words of other languages for a loop.
const MEANT: [&str; 3] = ["LOOP", "FOR", "WHILE"];

/// Loops within one another.
const MAX_LOOPS: usize = 32;

/// A loop whose statements are being parsed.
pub(super) struct Block {
    /// Positions of its loops in the program: several of `LOOP i, j`.
    loops: std::ops::Range<usize>,
    /// Column of its header.
    column: usize,
    /// Column of its statements, once there is one.
    inner: Option<usize>,
    /// The header.
    header: Span,
}

impl EtParser<'_> {
    /// Returns true if a loop starts here; also where the word is another one that can mean nothing else.
    pub(super) fn at_loop(&self) -> bool {
        let Some(word) = self.word() else { return false };
        let behind = self.peek(1);
        let name = match behind.kind {
            TokenKind::Punct('-') => self.peek(2),
            _ => behind,
        };
        let header = name.kind == TokenKind::Ident && !name.after_newline && !behind.after_newline;
        let word_of_loop = || MEANT.iter().any(|m| m.eq_ignore_ascii_case(word));
        word == "LOOP" || header && word_of_loop() && !self.at_assignment(1)
    }

    /// Closes the loops that the item here does not belong to, by its column.
    pub(super) fn indent(&mut self) {
        let column = self.column(self.peek(0).span);
        let open = self.blocks.iter().take_while(|block| column > block.column).count();
        self.close_blocks(open);
        let here = self.peek(0).span;
        let Some(block) = self.blocks.last_mut() else { return };
        let (inner, header) = (*block.inner.get_or_insert(column), block.header);
        if inner != column {
            let message = format!(
                "this line starts in column {}, the statements before it in column {}",
                column + 1,
                inner + 1
            );
            let error = codes::INDENTATION.error(here, message);
            let error = error.with_related(header, "the loop that it would belong to");
            self.error(error.with_hint("all statements of a loop start in one column"));
        }
    }

    /// Closes all open loops but the outermost `open`.
    pub(super) fn close_blocks(&mut self, open: usize) {
        let end = self.program.statements.len();
        for block in self.blocks.split_off(open).into_iter().rev() {
            let loops = block.loops.clone();
            let start = self.program.loops[loops.start].body.start;
            self.program.loops[loops].iter_mut().for_each(|l| l.body = start..end);
            if start == end && block.inner.is_none() {
                let error = codes::LOOP_EMPTY.error(block.header, "a loop without statements");
                self.error(error.with_hint("its statements are indented, on the lines below it"));
            }
        }
    }

    /// The header of the innermost loop that is open.
    pub(super) fn header(&self) -> Option<Span> {
        self.blocks.last().map(|block| block.header)
    }

    /// Fails at an item in a loop that is none of its statements.
    pub(super) fn check_block(&mut self, section: Section) -> Parsed<()> {
        let Some(block) = self.blocks.last() else { return Ok(()) };
        if section == Section::Statements {
            return Ok(());
        }
        let (here, header) = (self.peek(0).span, block.header);
        let error = codes::LOOP_ITEM.error(here, format!("{} in a loop", section.item()));
        let error = error.with_related(header, "the loop");
        self.fail(error.with_hint("statements alone are indented; the rest starts its line"))
    }

    /// `LOOP t`, `LOOP -t`, `LOOP i, j`, with `UNTIL condition`.
    pub(super) fn loop_header(&mut self) -> Parsed<()> {
        let word = self.next().span;
        if self.text(word) != "LOOP" {
            let message = format!("`{}` is written `LOOP`", self.shown(word));
            let error = codes::CAPITALS.error(word, message);
            self.error(error.with_fix("write `LOOP`", word, "LOOP"));
        }
        let column = self.column(word);
        let mut names = vec![self.loop_name()?];
        while self.eat(',').is_some() {
            names.push(self.loop_name()?);
        }
        let until = self.until(names.len())?;
        let around: usize = self.blocks.iter().map(|block| block.loops.len()).sum();
        if around + names.len() > MAX_LOOPS {
            let message = format!("loops nest deeper than {MAX_LOOPS}");
            return self.fail(crate::codes::TOO_DEEP.error(word, message));
        }
        let (header, start) = (self.since(word), self.program.statements.len());
        let first = self.program.loops.len();
        let last = names.len() - 1;
        for (n, (tuple, descending)) in names.into_iter().enumerate() {
            let until = until.clone().filter(|_| n == last);
            let span = if last == 0 { header } else { tuple.span };
            self.program.loops.push(Loop { tuple, descending, body: start..start, until, span });
        }
        let loops = first..self.program.loops.len();
        self.blocks.push(Block { loops, column, inner: None, header });
        Ok(())
    }

    /// `t` or `-t`.
    fn loop_name(&mut self) -> Parsed<(Name, bool)> {
        if self.peek(0).after_newline {
            let error = codes::LOOP_HEADER.error(self.behind(), "a loop of no index");
            return self.fail(error.with_hint("`LOOP t`; `DIMS(t) = 100` says how often"));
        }
        let descending = self.eat('-').is_some();
        if matches!(self.kind(0), TokenKind::Number | TokenKind::BadNumber) {
            let error = codes::LOOP_HEADER.error(self.peek(0).span, "a loop is over an index");
            return self.fail(error.with_hint("`LOOP t`; `DIMS(t) = 100` says how often"));
        }
        let name = self.identifier("an index")?;
        Ok((name, descending))
    }

    /// `UNTIL condition`.
    fn until(&mut self, names: usize) -> Parsed<Option<Value>> {
        let token = self.peek(0);
        let Some(word) = self.word().filter(|_| !token.after_newline) else { return Ok(None) };
        if !["UNTIL", "WHILE", "IN"].iter().any(|w| w.eq_ignore_ascii_case(word)) {
            return Ok(None);
        }
        if word.eq_ignore_ascii_case("IN") {
            let error = codes::LOOP_HEADER.error(token.span, "`IN` in the header of a loop");
            return self.fail(error.with_hint("`DIMS(t) = 100`, a constraint, says how often"));
        }
        if word.eq_ignore_ascii_case("WHILE") {
            let error = codes::LOOP_HEADER.error(token.span, "a loop ends by `UNTIL`");
            return self.fail(error.with_hint("`UNTIL NOT(condition)`"));
        }
        if word != "UNTIL" {
            self.not_in_capitals(token.span, "UNTIL");
        }
        self.next();
        let condition = self.sum::<Value>()?;
        if names > 1 {
            let error = codes::UNTIL_OF_SEVERAL.error(token.span, "`UNTIL` of several loops");
            let hint = "write a loop in a loop; each may have an `UNTIL` of its own";
            return self.fail(error.with_hint(hint));
        }
        Ok(Some(condition))
    }

    /// Columns before a token on its line, tabs to multiples of 8.
    fn column(&self, span: Span) -> usize {
        let before = self.text(Span::new(0, span.start));
        let line = before.rsplit(['\n', '\r']).next().unwrap_or(before);
        line.chars().fold(0, |column, c| match c {
            '\t' => (column / TAB + 1) * TAB,
            _ => column + 1,
        })
    }
}
