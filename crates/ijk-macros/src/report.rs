//! Diagnostics as compile errors and warnings on Rust tokens.

use ijk_syntax::{Diagnostic, Severity};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

/// Statements that make the compiler report a diagnostic between two places.
pub fn report(diagnostic: &Diagnostic, source: &str, place: (Span, Span)) -> TokenStream {
    let text = text(diagnostic, source);
    match diagnostic.severity {
        Severity::Error => error(&text, place),
        Severity::Warning => warning(&text, place),
    }
}

/// A compile error between two places.
pub fn error(text: &str, (first, last): (Span, Span)) -> TokenStream {
    // The compiler marks everything from the first token of the invocation to the last.
    let path = quote_spanned!(first=> ::core::compile_error);
    let arguments = quote_spanned!(last=> ! { #text });
    quote!(#path #arguments)
}

/// A macro can't warn; the use of something deprecated can.
pub fn warning(text: &str, (first, _): (Span, Span)) -> TokenStream {
    let used = quote_spanned!(first=> IN_THIS_PROGRAM);
    quote! {
        const _: () = {
            #[deprecated(note = #text)]
            const IN_THIS_PROGRAM: () = ();
            #used
        };
    }
}

/// The message with its label, related places and hints.
fn text(diagnostic: &Diagnostic, source: &str) -> String {
    let mut text = diagnostic.message.clone();
    if !diagnostic.label.is_empty() {
        text += &format!(" ({})", diagnostic.label);
    }
    for (span, label) in &diagnostic.related {
        let place = source.get(span.start as usize..span.end as usize).unwrap_or("");
        text += &format!("\nnote: `{place}`: {label}");
    }
    for hint in &diagnostic.hints {
        text += &format!("\nhelp: {}", hint.message);
    }
    text
}
