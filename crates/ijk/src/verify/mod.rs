//! Comparison of Einsum Tuple programs with the framework functions that they claim to equal.
//!
//! The second section of a program calls a Python function. A [`Verifier`] evaluates the call in one
//! child process of the user's Python, sends arrays in binary form, and compares every output:
//! integers exactly, floats within a bound of the rounding error. A program without a call is compared
//! with the oracle, which follows the rules of the language point by point.
//!
//! A program need not be trusted: only functions of the frameworks that compute are called (of [`MODULES`]), and while
//! they run the child process refuses access to files, other programs and the network.

mod allowed;
mod call;
mod case;
mod child;
mod compare;
mod error;
mod frame;
mod kinds;
mod oracle;
mod rounding;

pub use allowed::{MODULES, Refused};
pub use case::{Outcome, Row};
pub use compare::Difference;
pub use error::{ChildError, VerifyError};

use crate::et::{Case, Program};
use crate::{Engine, Error};
use child::Child;
use std::path::PathBuf;
use std::time::Duration;

/// The Python interpreter, its modules and its time limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Python {
    /// The interpreter.
    pub path: String,
    /// Directory of the program, searched for modules.
    pub directory: PathBuf,
    /// Trusted modules there: their functions may be called, without restrictions.
    pub modules: Vec<String>,
    /// Time limit for all imports, and for each call.
    pub timeout: Duration,
}

/// Compares a program with its call, or with the oracle.
///
/// ```
/// use ijk::verify::{Outcome, Python, Verifier};
/// use std::time::Duration;
/// // Without a call the oracle judges, and Python is not started.
/// let program = ijk::et("x[i] = RANDOM(0, 9, INT)\ny[i+j] = x[i]\n\ny\n\nDIMS(i) IN [1,5]\nRANK(i) IN [0,2]")?;
/// let (path, directory, modules) = ("python3".into(), ".".into(), Vec::new());
/// let python = Python { path, directory, modules, timeout: Duration::from_secs(60) };
/// let verifier = Verifier::new(&program, ijk::Engine::default(), &python).unwrap();
/// let mut verifier = verifier.memory(1 << 30);
/// for case in program.cases(0, 2).points(1000) {
///     let row = verifier.verify(case).unwrap();
///     assert_eq!(row.outcome, Outcome::Passed { error: 0.0 });
///     assert_eq!(row.dims[0].0, "i");
/// }
/// # Ok::<(), ijk::Error>(())
/// ```
#[derive(Debug)]
pub struct Verifier {
    program: Program,
    engine: Engine,
    child: Option<Child>,
    memory: Option<u64>,
}

impl Verifier {
    /// Starts Python, if the program has a call, and imports the modules of the call.
    ///
    /// # Errors
    /// If the call names a function that is not allowed, the interpreter does not start, or a package is missing.
    ///
    /// ```
    /// use ijk::verify::{ChildError, Python, Verifier, VerifyError};
    /// let program = ijk::et("x[i] = RANDOM(0, 9, INT)\ny[i] = 2 * x[i]\n\nnp.add(x, x)\n\ny")?;
    /// let python = Python {
    ///     path: "no/such/python".into(),
    ///     directory: ".".into(),
    ///     modules: Vec::new(),
    ///     timeout: std::time::Duration::from_secs(60),
    /// };
    /// let error = Verifier::new(&program, ijk::Engine::default(), &python).unwrap_err();
    /// assert!(matches!(error, VerifyError::Child(ChildError::Start { .. })));
    /// let program = ijk::et("x[i] = RANDOM(0, 9, INT)\n\nos.system(L('ls'))\n\nx")?;
    /// let error = Verifier::new(&program, ijk::Engine::default(), &python).unwrap_err();
    /// assert!(error.to_string().starts_with("`os.system` is not called: "));
    /// # Ok::<(), ijk::Error>(())
    /// ```
    pub fn new(program: &Program, engine: Engine, python: &Python) -> Result<Self, VerifyError> {
        let call = program.checked().program.call.as_ref();
        let start = |call| -> Result<Child, VerifyError> {
            allowed::check(call, &python.modules)?;
            Ok(Child::start(python, &call::paths(call))?)
        };
        let child = call.map(start).transpose()?;
        Ok(Self { program: program.clone(), engine, child, memory: None })
    }

    /// Upper bound, in bytes, of the arrays of one case: see [`Bindings::memory`].
    ///
    /// [`Bindings::memory`]: crate::et::Bindings::memory
    #[must_use]
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Compares one case.
    ///
    /// # Errors
    /// If Python ends or does not answer; then this verifier cannot continue. An exception in Python and results
    /// that differ are [`Outcome`]s.
    pub fn verify(&mut self, case: Result<Case, Error>) -> Result<Row, VerifyError> {
        case::verify(self, case)
    }
}
