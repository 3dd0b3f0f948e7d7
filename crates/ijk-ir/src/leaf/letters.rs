//! The letters of one index expression: the axes of its domain.

use crate::codes;
use crate::core::{ArrayId, Axis, AxisId, Dim, Pin};
use crate::limits::MAX_LETTERS;
use crate::sink::Sink;
use ijk_syntax::Span;
use ijk_syntax::ast::{Extent, Letter};
use std::collections::HashMap;

/// The names in braces of a whole program.
#[derive(Clone, Debug, Default)]
pub struct ExtentNames {
    /// In order of appearance.
    pub names: Vec<String>,
    ids: HashMap<String, u32>,
}

impl ExtentNames {
    /// The number of a name.
    pub fn id(&mut self, name: &str) -> u32 {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = self.names.len() as u32;
        self.names.push(name.to_string());
        self.ids.insert(name.to_string(), id);
        id
    }
}

/// Place of letters that are being collected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LetterPlace {
    /// Alone at an axis of an operand.
    OperandAxis(ArrayId, u32),
    /// In a bracket of an operand.
    OperandBracket,
    /// In the output.
    Output,
}

/// Uses of a letter.
#[derive(Clone, Copy, Debug, Default)]
pub struct LetterUse {
    /// Its first occurrence.
    pub first: Span,
    /// It occurs in an operand.
    pub in_operand: bool,
    /// It occurs inside brackets of an operand.
    pub in_operand_bracket: bool,
    /// It occurs in the output.
    pub in_output: bool,
}

/// The letters collected so far.
pub struct Letters<'a> {
    /// The domain.
    pub axes: Vec<Axis>,
    /// For each axis.
    pub uses: Vec<LetterUse>,
    /// The current place.
    pub place: LetterPlace,
    ids: Vec<char>,
    names: &'a mut ExtentNames,
    too_many: bool,
}

impl<'a> Letters<'a> {
    /// No letters yet.
    pub fn new(names: &'a mut ExtentNames) -> Self {
        Self {
            axes: Vec::new(),
            uses: Vec::new(),
            place: LetterPlace::Output,
            ids: Vec::new(),
            names,
            too_many: false,
        }
    }

    /// The axis of a letter, whose occurrence at the present place is noted.
    pub fn occurrence(&mut self, letter: &Letter, sink: &mut Sink) -> AxisId {
        let id = self.id(letter, sink);
        let uses = &mut self.uses[id];
        match self.place {
            LetterPlace::OperandAxis(array, axis) => {
                uses.in_operand = true;
                let span = letter.span.into();
                self.axes[id].dims.push(Dim { array, axis, span });
            }
            LetterPlace::OperandBracket => {
                uses.in_operand = true;
                uses.in_operand_bracket = true;
            }
            LetterPlace::Output => uses.in_output = true,
        }
        if let Some(extent) = &letter.extent {
            self.pin(id, extent, sink);
        }
        AxisId(id as u32)
    }

    /// The axis of a letter that occurs elsewhere.
    pub fn known(&self, letter: char, span: Span, sink: &mut Sink) -> AxisId {
        let id = self.ids.iter().position(|&c| c == letter);
        if id.is_none() {
            let message = format!("no index has the letter `{letter}`, so it has no extent");
            let hint = "`{j}` is the extent of a letter `j` of the same index expression";
            sink.push(codes::EXTENT_OF_NOTHING.error(span, message).with_hint(hint));
        }
        AxisId(id.unwrap_or(0) as u32)
    }

    fn id(&mut self, letter: &Letter, sink: &mut Sink) -> usize {
        if let Some(id) = self.ids.iter().position(|&c| c == letter.name) {
            return id;
        }
        if self.ids.len() == MAX_LETTERS {
            if !std::mem::replace(&mut self.too_many, true) {
                let message = format!("more than {MAX_LETTERS} letters in one index expression");
                sink.push(codes::TOO_MANY_LETTERS.error(letter.span, message));
            }
            return 0;
        }
        self.ids.push(letter.name);
        let name = letter.name.to_string();
        self.axes.push(Axis { name, dims: Vec::new(), pins: Vec::new() });
        self.uses.push(LetterUse { first: letter.span, ..LetterUse::default() });
        self.ids.len() - 1
    }

    fn pin(&mut self, id: usize, extent: &Extent, sink: &mut Sink) {
        let pins = &mut self.axes[id].pins;
        let pin = match extent {
            Extent::Name(name) => Pin::Name(self.names.id(&name.text), name.span.into()),
            Extent::Number(n, span) => {
                if i64::try_from(*n).is_err() {
                    sink.push(
                        codes::EXTENT_TOO_LARGE
                            .error(*span, format!("an extent of {n} is too large")),
                    );
                }
                let other = pins.iter().find_map(|pin| match pin {
                    Pin::Number(m, place) if m != n => Some((*m, *place)),
                    _ => None,
                });
                if let Some((m, place)) = other {
                    let name = &self.axes[id].name;
                    let message = format!("letter `{name}` is {m} and {n} at once");
                    let first = format!("{m} here");
                    sink.push(
                        codes::TWO_EXTENTS.error(*span, message).with_related(place.into(), first),
                    );
                    return;
                }
                Pin::Number(*n, (*span).into())
            }
        };
        pins.push(pin);
    }
}
