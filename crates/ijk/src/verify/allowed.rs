//! Functions that a program may name.
//!
//! A program is a file that need not be trusted. So only functions of some modules of the frameworks are called, by their
//! public names, and none with a word such as `load` in its name, which suggests access to files or other code. The
//! child process checks the objects themselves: see `child.py`.

use ijk_syntax::et::ast::{Call, Name};
use ijk_syntax::{Diagnostic, Span};

/// Modules whose functions may be called, by their full names.
pub const MODULES: [&str; 51] = [
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "scipy.fft",
    "scipy.interpolate",
    "scipy.linalg",
    "scipy.ndimage",
    "scipy.signal",
    "scipy.signal.windows",
    "scipy.sparse",
    "scipy.spatial.distance",
    "scipy.special",
    "tensorflow",
    "tensorflow.bitwise",
    "tensorflow.image",
    "tensorflow.linalg",
    "tensorflow.math",
    "tensorflow.math.special",
    "tensorflow.nn",
    "tensorflow.random",
    "tensorflow.sets",
    "tensorflow.signal",
    "tensorflow.sparse",
    "torch",
    "torch.fft",
    "torch.linalg",
    "torch.nn.functional",
    "torch.ops.aten",
    "torch.signal.windows",
    "torch.special",
    "jax.image",
    "jax.lax",
    "jax.lax.linalg",
    "jax.nn",
    "jax.numpy",
    "jax.numpy.fft",
    "jax.numpy.linalg",
    "jax.ops",
    "jax.scipy.fft",
    "jax.scipy.interpolate",
    "jax.scipy.linalg",
    "jax.scipy.ndimage",
    "jax.scipy.signal",
    "jax.scipy.spatial.transform",
    "jax.scipy.special",
    "jax.scipy.stats",
    "jax.random",
    "math",
    "builtins",
    "cmath",
    "reference",
];

/// Short names of modules.
const SHORT: [(&str, &str); 3] = [("np", "numpy"), ("tf", "tensorflow"), ("jnp", "jax.numpy")];

/// Built-in functions that may be called.
const BUILTINS: [&str; 17] = [
    "abs", "bool", "complex", "divmod", "float", "int", "len", "list", "max", "min", "pow",
    "range", "reversed", "round", "slice", "sum", "tuple",
];

/// Methods of elementwise functions that may be called: `np.add.reduce`.
const METHODS: [&str; 5] = ["accumulate", "at", "outer", "reduce", "reduceat"];

/// Words in the names of functions that access files, libraries, other programs or the terminal.
const REACHING: [&str; 36] = [
    "callback",
    "compile",
    "compiled",
    "datasource",
    "debug",
    "dlpack",
    "dump",
    "dumps",
    "exec",
    "file",
    "fromfile",
    "fromregex",
    "function",
    "genfromtxt",
    "hook",
    "import",
    "info",
    "ir",
    "library",
    "load",
    "loads",
    "loadtxt",
    "memmap",
    "open",
    "pickle",
    "print",
    "py",
    "read",
    "save",
    "savetxt",
    "savez",
    "script",
    "source",
    "test",
    "tofile",
    "write",
];

/// A function that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Place of its name in the program.
    pub span: Span,
    /// Its name.
    pub path: String,
    /// Reason.
    pub why: String,
    /// Remedy.
    pub hint: String,
}

impl Refused {
    /// The refusal as a diagnostic.
    pub fn diagnostic(&self) -> Diagnostic {
        let message = format!("`{}` is not called: {}", self.path, self.why);
        Diagnostic::error(self.span, message).with_hint(self.hint.clone())
    }
}

/// Checks that every function of a call and of nested calls is allowed; `own` are trusted modules of the user.
pub(super) fn check(call: &Call, own: &[String]) -> Result<(), Refused> {
    let mut wrong = None;
    super::call::each(call, &mut |call| {
        if let (None, Err((why, hint))) = (&wrong, permit(&call.path, own)) {
            let (first, last) = (&call.path[0], &call.path[call.path.len() - 1]);
            let span = Span { start: first.span.start, end: last.span.end };
            wrong = Some(Refused { span, path: super::call::path(call), why, hint });
        }
    });
    wrong.map_or(Ok(()), Err)
}

/// Checks that a path may be called; the error is a reason and a remedy.
fn permit(path: &[Name], own: &[String]) -> Result<(), (String, String)> {
    let names: Vec<&str> = path.iter().map(|name| &*name.text).collect();
    if own.iter().any(|module| module == names[0]) {
        return Ok(());
    }
    if let Some(name) = names.iter().find(|name| name.starts_with('_')) {
        let why = format!("`{name}` is not a public name");
        return Err((why, "call what the framework documents".into()));
    }
    let full = full(&names);
    let Some((module, rest)) = split(&full) else {
        return Err(unlisted(names[0]));
    };
    let function = match rest {
        [function] => *function,
        [function, method] if is_elementwise(module) && METHODS.contains(method) => *function,
        [] => return Err(("that is a module".into(), format!("name a function of `{module}`"))),
        _ => return Err(unlisted(&names[..names.len() - 1].join("."))),
    };
    if module == "builtins" && !BUILTINS.contains(&function) {
        let why = "only some of Python's built-in functions are allowed".to_string();
        return Err((why, format!("allowed are: {}", BUILTINS.join(", "))));
    }
    if let Some(word) = function.split('_').find(|word| REACHING.contains(&&*word.to_lowercase())) {
        let why =
            format!("a function with `{word}` in its name may access files or other programs");
        return Err((why, "call functions that compute".into()));
    }
    Ok(())
}

fn is_elementwise(module: &str) -> bool {
    matches!(module, "numpy" | "jax.numpy" | "scipy.special")
}

/// The parts of a path, with the short name of a module expanded.
fn full<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let long = SHORT.iter().find(|(short, _)| *short == names[0]);
    let first = long.map_or(names[0], |(_, long)| long);
    first.split('.').chain(names[1..].iter().copied()).collect()
}

/// The longest listed module that a path begins with, and the rest of the path.
fn split<'a, 'b>(full: &'b [&'a str]) -> Option<(&'static str, &'b [&'a str])> {
    let module = |n: usize| {
        let name = full[..n].join(".");
        MODULES.iter().find(|module| **module == name)
    };
    (1..=full.len()).rev().find_map(|n| Some((*module(n)?, &full[n..])))
}

#[cold]
fn unlisted(module: &str) -> (String, String) {
    let why = format!("`{module}` is not among the modules whose functions are called");
    let own = if module.contains('.') { "" } else { module };
    let hint = match own {
        "" => format!("these are: {}", MODULES.join(", ")),
        own => format!(
            "`ijk verify --help` lists them; `--module {own}` trusts a module of your own in the directory of the program"
        ),
    };
    (why, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permitted(path: &str, own: &[&str]) -> Result<(), String> {
        let name = |text: &str| Name { text: text.into(), span: Span { start: 0, end: 0 } };
        let path: Vec<Name> = path.split('.').map(name).collect();
        let own: Vec<String> = own.iter().map(|name| name.to_string()).collect();
        permit(&path, &own).map_err(|(why, _)| why)
    }

    #[test]
    fn functions_that_compute_are_called() {
        for path in [
            "np.matmul",
            "numpy.linalg.norm",
            "np.add.reduce",
            "tf.nn.conv2d",
            "tf.gather_nd",
            "torch.nn.functional.conv2d",
            "torch.ops.aten.index",
            "jnp.einsum",
            "jax.numpy.add.at",
            "jax.lax.conv_general_dilated",
            "scipy.spatial.distance.cdist",
            "scipy.special.softmax",
            "scipy.special.eval_legendre",
            "math.prod",
            "builtins.range",
            "reference.pool",
        ] {
            assert_eq!(permitted(path, &[]), Ok(()), "{path}");
        }
        assert_eq!(permitted("mine.anything", &["mine"]), Ok(()));
    }

    #[test]
    fn what_reaches_the_system_is_not() {
        for path in [
            "os.system",
            "posix.system",
            "subprocess.run",
            "shutil.rmtree",
            "pathlib.Path",
            "importlib.import_module",
            "ctypes.CDLL",
            "builtins.eval",
            "builtins.open",
            "builtins.getattr",
            "builtins.__import__",
            "np",
            "np.linalg",
            "np.os.system",
            "np.sys.exit",
            "np.lib.npyio.os.system",
            "np.load",
            "np.save",
            "np.savez_compressed",
            "np.fromfile",
            "np.memmap",
            "np.genfromtxt",
            "np.ctypeslib.load_library",
            "np.testing.runstring",
            "np.f2py.compile",
            "np.add.__class__",
            "np.matmul.__globals__",
            "np.sum.__self__.system",
            "np._core.multiarray.fromfile",
            "np.add.reduce.at",
            "scipy.io.loadmat",
            "scipy.datasets.face",
            "scipy.sparse.load_npz",
            "scipy.special.test",
            "tf.io.read_file",
            "tf.io.write_file",
            "tf.py_function",
            "tf.numpy_function",
            "tf.load_op_library",
            "tf.print",
            "tf.saved_model.load",
            "tf.raw_ops.WriteFile",
            "tf.data.TextLineDataset",
            "tf.keras.models.load_model",
            "torch.load",
            "torch.save",
            "torch.from_file",
            "torch.import_ir_module",
            "torch.hub.load",
            "torch.ops.load_library",
            "torch.classes.load_library",
            "torch.utils.cpp_extension.load",
            "torch.jit.load",
            "torch.package.PackageImporter",
            "jax.debug.callback",
            "jax.experimental.io_callback",
            "jax.pure_callback",
            "jnp.load",
            "math",
            "reference",
        ] {
            assert!(permitted(path, &[]).is_err(), "{path}");
        }
    }

    #[test]
    fn lists_have_no_repetitions() {
        let mut modules = MODULES.to_vec();
        modules.sort_unstable();
        modules.dedup();
        assert_eq!(modules.len(), MODULES.len());
        assert!(REACHING.is_sorted() && BUILTINS.is_sorted());
    }
}
