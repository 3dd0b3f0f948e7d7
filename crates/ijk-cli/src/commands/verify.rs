//! `ijk verify`: compares a program with the framework call that it names.

use crate::args::Verify;
use crate::engine::engine;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::source::Source;
use crate::table::Table;
use crate::{json, memory, output};
use ijk::et::{Program, Source as Origin};
use ijk::verify::{ChildError, Outcome, Python, Row, Verifier, VerifyError};
use ijk::{Diagnostic, Error};
use serde_json::json;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::Duration;

/// Verifies the program of a file, case by case.
///
/// # Errors
/// If the program is wrong, if Python or a package is missing, and if a case does not agree.
pub fn verify(args: &Verify) -> Result<(), Failure> {
    let source = Source::file(&args.file)?;
    let program = source.compile_et()?.with_drawn_inputs();
    let program = program.map_err(|error| source.failure(error))?;
    draws_its_arrays(&source, &program)?;
    let engine = engine(args.threads, None, false)?;
    let verifier = Verifier::new(&program, engine, &python(args)?);
    let mut verifier = verifier.map_err(|error| refused(&source, &program, error))?;
    if let Some(bytes) = memory::available() {
        verifier = verifier.memory(bytes);
    }
    let mut report = CaseReport::new(&source, &program, args.json);
    let cases = program.cases(args.seed, args.reps).points(args.points).free_ranks(args.free_ranks);
    // Rows printed to a terminal show the progress.
    let shown = io::stdout().is_terminal();
    let progress = (!shown).then(|| Progress::steps("verifying", None));
    for case in cases {
        let at = case.as_ref().map_or(String::new(), |case| case.shapes().to_string());
        let row = verifier.verify(case).map_err(|error| stopped(&source, &at, error))?;
        report.row(&row)?;
        if let Some(progress) = &progress {
            progress.at(report.cases as u64);
        }
    }
    drop(progress);
    report.finish()
}

/// Checks that no array has to be bound.
fn draws_its_arrays(source: &Source, program: &Program) -> Result<(), Failure> {
    let signature = program.signature();
    let arrays = signature.arrays.iter().zip(&program.checked().arrays);
    let inputs = arrays.filter(|(array, _)| array.source == Origin::Input).map(|(array, found)| {
        let message = format!("`{}` has no elements: nothing assigns it", array.name);
        let plain = |place: &String| place.chars().all(|c| c.is_alphanumeric() || c == '_');
        let places = match array.places.iter().all(plain) {
            true => array.places.join(","),
            false => "…".to_string(),
        };
        let random = format!("`{}[{places}] = RANDOM(-1, 1, FLOAT)`", array.name);
        Diagnostic::error(found.span, message).with_label("an input").with_hint(format!(
            "a verification draws all arrays at random; as the first statement, {random}, say"
        ))
    });
    let text: String = inputs.map(|diagnostic| source.quote(diagnostic)).collect();
    if text.is_empty() { Ok(()) } else { Err(Failure::Wrong(text)) }
}

/// The interpreter: that of the command line, of the environment, or the system's.
///
/// # Errors
/// If a trusted module is not beside the program.
fn python(args: &Verify) -> Result<Python, Failure> {
    let environment = || std::env::var("IJK_PYTHON").ok().filter(|path| !path.is_empty());
    let directory = args.file.parent().filter(|d| !d.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    for module in &args.module {
        let plain = !module.is_empty() && module.chars().all(|c| c.is_alphanumeric() || c == '_');
        let [folder, file] = ["", ".py"].map(|end| directory.join(format!("{module}{end}")));
        if !plain || !(file.is_file() || folder.is_dir()) {
            return Err(Failure::wrong(format!(
                "--module {module}: there is no {module}.py beside {}",
                args.file.display()
            )));
        }
    }
    Ok(Python {
        path: args.python.clone().or_else(environment).unwrap_or_else(|| "python3".into()),
        directory: directory.canonicalize().unwrap_or_else(|_| directory.into()),
        modules: args.module.clone(),
        timeout: Duration::from_secs(args.timeout),
    })
}

/// Failure of a verification that cannot begin, with its exit code. Import errors of Python are quoted.
fn refused(source: &Source, program: &Program, error: VerifyError) -> Failure {
    let message = match (&error, &program.checked().program.call) {
        (VerifyError::Child(ChildError::Missing { .. } | ChildError::Import(_)), Some(call)) => {
            source.quote(Diagnostic::error(call.span, error.to_string()))
        }
        (VerifyError::Refused(refused), _) => source.quote(refused.diagnostic()),
        _ => format!("{}: {}", source.origin(), told(&error)),
    };
    match error {
        VerifyError::Child(ChildError::Start { .. } | ChildError::Missing { .. }) => {
            Failure::Environment(message)
        }
        _ => Failure::Wrong(message),
    }
}

/// Failure that ends the verification after the case of these extents.
#[cold]
fn stopped(source: &Source, at: &str, error: VerifyError) -> Failure {
    let at = if at.is_empty() { String::new() } else { format!(" with {at}") };
    Failure::wrong(format!("{}{at}: {}", source.origin(), told(&error)))
}

/// The error, and its remedy.
fn told(error: &VerifyError) -> String {
    match error {
        VerifyError::Child(ChildError::Silent { .. }) => {
            format!("{error}\n`--timeout` gives it more time")
        }
        _ => error.to_string(),
    }
}

/// Report of the cases.
struct CaseReport<'a> {
    source: &'a Source,
    json: bool,
    table: Table,
    cases: usize,
    failed: usize,
    greatest: f64,
}

impl<'a> CaseReport<'a> {
    fn new(source: &'a Source, program: &Program, json: bool) -> Self {
        let tuples = program.checked().tuples.iter().map(|tuple| &tuple.name[..]);
        let columns: Vec<&str> = tuples.chain(["result"]).collect();
        let table = Table::new(&columns, 7);
        Self { source, json, table, cases: 0, failed: 0, greatest: 0.0 }
    }

    /// Prints a case when it is finished.
    fn row(&mut self, row: &Row) -> Result<(), Failure> {
        self.cases += 1;
        if let Outcome::Passed { error } = row.outcome {
            self.greatest = self.greatest.max(error);
        } else {
            self.failed += 1;
        }
        let message = self.message(&row.outcome);
        if self.json {
            return output::print(&as_json(row, &message));
        }
        let mut text = if self.cases == 1 { self.table.head() } else { String::new() };
        let mut cells: Vec<_> = row.dims.iter().map(|(_, dims)| extents(dims)).collect();
        cells.resize(self.table.columns() - 1, String::new());
        cells.push(match row.outcome {
            Outcome::Passed { error } => format!("pass, error {}", share(error)),
            _ => "FAIL".into(),
        });
        text.push_str(&self.table.row(&cells));
        message.lines().for_each(|line| text.push_str(&format!("    {line}\n")));
        output::print(&text)
    }

    /// Cause of a failed case.
    fn message(&self, outcome: &Outcome) -> String {
        match outcome {
            Outcome::Differs { output, difference } => format!("`{output}`: {difference}"),
            Outcome::Raised(message) => message.clone(),
            // In the table, and so without colours.
            Outcome::Refused(Error::Program(report) | Error::Memory(report)) => {
                report.render(self.source.origin(), false)
            }
            Outcome::Refused(error) => error.to_string(),
            _ => String::new(),
        }
    }

    /// Prints the summary.
    fn finish(self) -> Result<(), Failure> {
        let cases = if self.cases == 1 { "case" } else { "cases" };
        if self.cases == 0 {
            return Err(Failure::wrong("no combination of ranks satisfies the constraints"));
        }
        if self.failed > 0 {
            return Err(Failure::wrong(format!(
                "{} of {} {cases} failed",
                self.failed, self.cases
            )));
        }
        if self.json {
            return Ok(());
        }
        let greatest = share(self.greatest);
        output::print(&format!("{} {cases} passed, greatest error {greatest}\n", self.cases))
    }
}

fn as_json(row: &Row, message: &str) -> String {
    let dims: serde_json::Map<_, _> =
        row.dims.iter().map(|(name, dims)| (name.clone(), json!(dims))).collect();
    let mut object = json!({ "dims": dims, "pass": row.outcome.passed() });
    match row.outcome {
        Outcome::Passed { error } => object["error"] = json!(error),
        _ => object["message"] = json!(message),
    }
    json::text(&object)
}

/// `2x3`, or `.` for rank 0.
fn extents(dims: &[u64]) -> String {
    let texts: Vec<_> = dims.iter().map(u64::to_string).collect();
    if texts.is_empty() { ".".into() } else { texts.join("x") }
}

/// An error in units of the tolerance.
fn share(error: f64) -> String {
    if error == 0.0 { "0".into() } else { format!("{error:.1e}") }
}
