//! Arrays that are given by the name of an eintup.
//!
//! `y[time] = time[time] * x[time]` is well-formed: `time[time]` is a component of the eintup. Whoever gives an array
//! `time` meant its elements, which nothing would read.

use super::checked::{Checked, Tuple};
use super::codes;
use super::walk::{self, Event, Role};
use crate::text::quote;
use ijk_syntax::et::ast::Access;
use ijk_syntax::{Diagnostic, Span};

/// Error for an array that is given by the name of an eintup; none for other names.
pub fn given_as_array(checked: &Checked, name: &str) -> Option<Diagnostic> {
    let tuple = checked.tuple(name)?;
    let error = match component(checked, tuple) {
        Some(access) => {
            let this = quote(&checked.source, access.span, "this");
            let message = format!(
                "an array is given by the name `{name}`, which is an eintup: {this} is a component \
                 of that, not an element of the array"
            );
            let error = codes::ARGUMENT_IS_TUPLE.error(access.span, message);
            match index(checked, tuple, access.array.span) {
                Some(span) => error.with_related(span, "an eintup here"),
                None => error,
            }
        }
        None => {
            let message = format!(
                "an array is given by the name `{name}`, which is an eintup: nothing reads the array"
            );
            codes::ARGUMENT_IS_TUPLE.error(tuple.span, message).with_label("an eintup here")
        }
    };
    let own = unused_name(checked, name);
    Some(error.with_hint(format!(
        "an array needs a name that is no eintup's: read `{own}[{name}]`, and give the array as `{own}`"
    )))
}

/// Returns true if components of the eintup of that name are values.
pub fn reads_component(checked: &Checked, name: &str) -> bool {
    checked.tuple(name).is_some_and(|tuple| component(checked, tuple).is_some())
}

/// The first component of an eintup that is a value.
fn component<'a>(checked: &'a Checked, tuple: &Tuple) -> Option<&'a Access> {
    let mut found = None;
    walk::program(&checked.program, &mut |_, event| {
        if let Event::Access(access, Role::Right) = event
            && access.array.text == tuple.name
        {
            found = found.or(Some(access));
        }
    });
    found
}

/// Another place of an eintup than that one.
fn index(checked: &Checked, tuple: &Tuple, other: Span) -> Option<Span> {
    let mut found = Some(tuple.span).filter(|span| *span != other);
    walk::program(&checked.program, &mut |_, event| {
        if let Event::Name(name, _) = event
            && name.text == tuple.name
        {
            found = found.or(Some(name.span));
        }
    });
    found
}

/// A name like this one that the program does not have.
fn unused_name(checked: &Checked, name: &str) -> String {
    let mut own = format!("{name}_values");
    while checked.tuple(&own).is_some() || checked.array(&own).is_some() {
        own.push('_');
    }
    own
}
