//! `ijk man`: the manual pages, from the same texts as `--help`.

use crate::args::{Cli, Man};
use crate::failure::Failure;
use crate::output;
use clap::{Command, CommandFactory};
use ijk::file::{Problem, Staged};
use std::io::{self, Write};
use std::{fs, path::Path};

/// Writes a page for the command and for each of its subcommands to a folder, all or none.
///
/// # Errors
/// If the folder or a page cannot be written.
pub fn man(args: &Man) -> Result<(), Failure> {
    let folder = &args.folder;
    let fail = |why: &dyn std::fmt::Display| {
        Failure::environment(format!("{}: cannot write manual pages: {why}", folder.display()))
    };
    fs::create_dir_all(folder).map_err(|error| fail(&error))?;
    let pages = pages().map_err(|error| fail(&error))?;
    let staged: Vec<Staged> = pages
        .iter()
        .map(|(name, text)| stage(&folder.join(name), text))
        .collect::<Result<_, _>>()?;
    staged.into_iter().try_for_each(Staged::commit)?;
    output::message(&format!("{} pages -> {}", pages.len(), folder.display()));
    Ok(())
}

fn stage(path: &Path, text: &[u8]) -> Result<Staged, Failure> {
    let write = |source| Problem::Io { action: "write", source };
    Ok(Staged::write(path, |file| file.write_all(text).map_err(write))?)
}

/// The pages by their names: `ijk.1`, `ijk-eval.1`, …
fn pages() -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let commands = root.get_subcommands().cloned().collect::<Vec<_>>();
    [vec![root], commands].concat().into_iter().map(page).collect()
}

/// A page. Examples and tables of the help keep their lines, which a manual would otherwise fill.
fn page(command: Command) -> io::Result<(String, Vec<u8>)> {
    let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let has_options = command.get_arguments().any(|argument| !argument.is_hide_set());
    let has_commands = command.has_subcommands();
    let source = format!("ijk {}", env!("CARGO_PKG_VERSION"));
    let page = clap_mangen::Man::new(command).manual("ijk").source(source);
    let mut text = Vec::new();
    page.render_title(&mut text)?;
    page.render_name_section(&mut text)?;
    page.render_synopsis_section(&mut text)?;
    page.render_description_section(&mut text)?;
    if has_options {
        page.render_options_section(&mut text)?;
    }
    if has_commands {
        page.render_subcommands_section(&mut text)?;
    }
    if !notes.is_empty() {
        text.extend_from_slice(verbatim("NOTES", &notes).as_bytes());
    }
    page.render_version_section(&mut text)?;
    Ok((page.get_filename(), text))
}

/// A section whose lines are printed as they are.
fn verbatim(title: &str, text: &str) -> String {
    let line = |line: &str| format!("\\&{}\n", line.replace('\\', "\\e").replace('-', "\\-"));
    let lines: String = text.lines().map(line).collect();
    format!(".SH {title}\n.nf\n{lines}.fi\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let pages = pages().unwrap();
        let names: Vec<_> = pages.iter().map(|(name, _)| &name[..]).collect();
        for name in ["ijk.1", "ijk-run.1", "ijk-eval.1", "ijk-einsum.1", "ijk-verify.1"] {
            assert!(names.contains(&name), "{names:?}");
        }
        for (name, text) in &pages {
            let text = String::from_utf8_lossy(text);
            assert!(text.contains(".SH NAME") && text.contains(".SH SYNOPSIS"), "{name}: {text}");
        }
    }

    #[test]
    fn lines_of_examples_stay() {
        let section = verbatim("NOTES", ".et\n  a -o b\\n");
        assert_eq!(section, ".SH NOTES\n.nf\n\\&.et\n\\&  a \\-o b\\en\n.fi\n");
    }
}
