"""The Python side of `ijk verify`: calls a framework on arrays that it receives in binary form.

Every message, either way, is a frame: its length as a little-endian u64, then its bytes. The
first byte is its kind. Requests are I (import modules) and C (call); replies are R (results),
F (the call failed), M (a package is missing) and O (done). Numbers are little-endian i64 if
nothing else is said; texts are UTF-8, and arrays the bytes of a .npy file, after their lengths.

The program need not be trusted. `allowed.rs` checks the paths of its calls. This process checks that they
lead to functions of the frameworks and that calls return data, and refuses access to the system while
functions run.
"""

import sys

if sys.path and not sys.path[0]:
    # The current directory is no place to import from.
    del sys.path[0]

import ast
import contextlib
import importlib
import inspect
import io
import os
import struct
import traceback
import types

TYPES = ["bool", "int32", "int64", "float32", "float64", "complex64", "complex128"]
SHORT = {"tf": "tensorflow", "np": "numpy", "jnp": "jax.numpy"}
# Packages that objects may come from.
PACKAGES = {"numpy", "scipy", "tensorflow", "keras", "torch", "jax", "jaxlib", "math", "cmath", "builtins", "reference"}
# Trusted modules of the user.
TRUSTED = set()


class Wall:
    """Refuses access to files, other programs and the network while functions run.

    An audit hook is no sandbox: it does not see native code of the frameworks. So the functions that a
    program may call are restricted, too.
    """

    # Events of imports.
    HARMLESS = {"os.listdir", "os.scandir", "os.putenv", "os.unsetenv"}
    FAMILIES = {
        "os", "subprocess", "shutil", "socket", "ctypes", "tempfile", "urllib", "http", "ftplib", "smtplib",
        "poplib", "imaplib", "telnetlib", "webbrowser", "pty", "fcntl", "signal", "sqlite3", "pickle", "syslog",
        "resource", "winreg", "msvcrt", "_winapi", "glob", "pathlib", "code",
    }

    def __init__(self):
        self.closed = False
        self.roots = ()

    def install(self):
        places = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *sys.path}
        self.roots = tuple(os.path.join(os.path.realpath(place), "") for place in places if place)
        sys.addaudithook(self.see)

    @contextlib.contextmanager
    def around(self, path):
        """Closes the wall while a function of a framework runs, but not for a trusted one."""
        before, self.closed = self.closed, path.partition(".")[0] not in TRUSTED
        try:
            yield
        finally:
            self.closed = before

    def see(self, event, args):
        if not self.closed or event in self.HARMLESS:
            return
        if event == "open":
            if not self.reads_a_module(*args):
                self.refuse(f"opens {args[0]!r}")
        elif event.partition(".")[0] in self.FAMILIES:
            self.refuse(f"does {event}")

    def reads_a_module(self, path, mode, flags):
        """True for an installed file that is opened only for reading."""
        writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        if isinstance(path, int) or flags & writing or any(letter in (mode or "") for letter in "wax+"):
            return False
        return os.path.realpath(os.fsdecode(path)).startswith(self.roots)

    def refuse(self, what):
        raise PermissionError(f"a function that {what} is refused: it accesses the system")


WALL = Wall()


def claim_pipes():
    """Takes the pipes of the protocol; other output goes to the standard error output."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return source, sink


class Missing(Exception):
    """A package that cannot be imported: its name and the reason."""


class Reader:
    """Decodes a request."""

    def __init__(self, data):
        self.data, self.at = memoryview(data), 0

    def take(self, count):
        self.at += count
        return self.data[self.at - count : self.at]

    def byte(self):
        return self.take(1)[0]

    def integer(self):
        return struct.unpack("<q", self.take(8))[0]

    def text(self):
        return bytes(self.take(self.integer())).decode()

    def array(self):
        import numpy

        return numpy.load(io.BytesIO(self.take(self.integer())), allow_pickle=False)

    def expression(self, arrays, root):
        kind = chr(self.byte())
        if kind == "A":
            return tensor_of(root, arrays[self.integer()])
        if kind == "i":
            return self.integer()
        if kind == "l":
            return [self.expression(arrays, root) for _ in range(self.integer())]
        if kind == "L":
            return ast.literal_eval(self.text().strip())
        if kind == "T":
            return Integers(self.expression(arrays, root))
        return self.call(arrays)

    def call(self, arrays):
        path = self.text()
        root = path.partition(".")[0]
        positional, named = [], {}
        for _ in range(self.integer()):
            keyword = self.text()
            value = self.expression(arrays, root)
            if keyword:
                named[keyword] = value
            else:
                positional.append(value)
        dtype = integer_type(root, [*positional, *named.values()])
        positional = [settled(root, value, dtype) for value in positional]
        named = {keyword: settled(root, value, dtype) for keyword, value in named.items()}
        called = function(path)
        with WALL.around(path):
            given = called(*positional, **named)
        return data(path, given)


def load(name):
    """Imports a module, but no namespace package: that may be any directory of the name."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise Missing(error.name or name, str(error)) from error
    except ImportError as error:
        raise Missing(name, str(error)) from error
    if "." not in name and getattr(module, "__file__", None) is None and not is_built_in(module):
        raise Missing(name, f"No module named {name!r}")
    return module


def provide_reference(source):
    """The operations that come with `ijk verify`."""
    load("scipy")
    module = types.ModuleType("reference")
    sys.modules["reference"] = module
    exec(compile(source, "reference.py", "exec"), module.__dict__)


def is_built_in(module):
    return not hasattr(module, "__path__")


def function(path):
    """The function of a dotted path: attributes, and modules where there is no such attribute."""
    root, *rest = path.split(".")
    name = SHORT.get(root, root)
    if name == "jax.numpy":
        load("jax")
    value = load(name)
    for part in rest:
        name = f"{name}.{part}"
        value = attribute(value, part, name)
        if inspect.ismodule(value) and root not in TRUSTED and package(value.__name__) != package(name):
            raise PermissionError(f"{name} is the module {value.__name__}, whose functions are not called")
    if root not in TRUSTED and not is_callable(value, name):
        raise PermissionError(f"{name} is not called: it is no function of {package(name)}")
    return value


def attribute(value, part, name):
    try:
        return getattr(value, part)
    except AttributeError:
        if not hasattr(value, "__path__"):
            raise
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise Missing(error.name or name, str(error)) from error
            raise AttributeError(f"module {value.__name__!r} has no attribute {part!r}") from None


def package(name):
    return str(name or "").partition(".")[0]


def is_callable(value, name):
    """True for a function of a framework, and for a class of data."""
    module, _, last = name.rpartition(".")
    if inspect.ismodule(value) or not callable(value):
        return False
    if module == "builtins":
        return True
    if module == "torch":
        # Operators only: other functions of the package change its state.
        torch = load("torch")
        operators = torch._C._VariableFunctions
        return hasattr(operators, last) or last in torch.functional.__all__ or last in ("tensor", "Size")
    if inspect.isclass(value):
        import numpy

        scalar = issubclass(value, numpy.generic) and value.__module__ == "numpy"
        described = last in ("TensorShape", "dtype") or module == "jax.numpy"
        return scalar or described and package(value.__module__) in PACKAGES
    if inspect.isfunction(value) or inspect.isbuiltin(value):
        own = getattr(inspect.unwrap(value), "__module__", None)
        return own is None or package(own) in PACKAGES
    # Callable objects of a framework, or of a type that marks them as functions.
    modules = type(value).__module__, getattr(value, "__module__", None)
    return any(package(module) in PACKAGES - {"builtins"} for module in modules)


def data(path, value):
    """A result, if it is data: not callable, and of no other package."""
    if path.partition(".")[0] in TRUSTED:
        return value
    if isinstance(value, (list, tuple)):
        for part in value:
            data(path, part)
    elif callable(value) or inspect.ismodule(value) or package(type(value).__module__) not in PACKAGES:
        raise TypeError(f"{path} gives {type(value).__name__}, which is no data")
    return value


def tensor_of(root, array):
    """The array in the type of the framework."""
    if root in ("tf", "tensorflow"):
        return load("tensorflow").constant(array)
    if root == "torch":
        return load("torch").from_numpy(array)
    if root in ("jnp", "jax"):
        jax = load("jax")
        jax.config.update("jax_enable_x64", True)
        return load("jax.numpy").asarray(array)
    return array


class Integers:
    """A `TENSOR(...)` of a call: its type depends on the other arguments."""

    def __init__(self, value):
        self.value = value


def integer_type(root, arguments):
    """The value of `TENSOR(...)` in a call.

    TensorFlow takes shapes and sizes as int32 everywhere, as int64 not in all operations; but where they stand
    beside arrays of integers, as in tf.scatter_nd, both have to be of one type. The others index with int64.
    """
    if root not in ("tf", "tensorflow"):
        return "int64"
    names = {str(getattr(argument, "dtype", "")) for argument in flat(arguments)}
    return "int64" if any("int64" in name for name in names) else "int32"


def flat(arguments):
    """The arguments, including those in lists."""
    for argument in arguments:
        if isinstance(argument, list):
            yield from flat(argument)
        else:
            yield argument


def settled(root, value, dtype):
    """The argument with tensors of integers of a type, or of int64 if a value needs it."""
    if isinstance(value, list):
        return [settled(root, item, dtype) for item in value]
    if not isinstance(value, Integers):
        return value
    import numpy

    array = numpy.asarray(value.value, dtype="int64")
    narrow = array.astype(dtype)
    return tensor_of(root, narrow if (narrow == array).all() else array)


def to_array(value):
    """A result of any framework as an array."""
    import numpy

    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype) in ("torch.bfloat16", "torch.float16"):
            raise TypeError(f"results of type {value.dtype} are not supported: cast to float32")
        value = value.resolve_conj().resolve_neg()
    if type(value).__name__ in ("SparseTensor", "IndexedSlices"):
        raise TypeError(f"a result is a {type(value).__name__}, not an array")
    array = numpy.asarray(value)
    name = array.dtype.name
    if name in ("int8", "int16", "uint8", "uint16"):
        return array.astype("int32")
    if name == "uint32":
        return array.astype("int64")
    if name not in TYPES:
        raise TypeError(f"results of type {name} are not supported: cast to one of {', '.join(TYPES)}")
    return array


def results(value, count):
    """The results in order; one result may be alone or in a tuple."""
    if value is None:
        raise TypeError("the call gives None: its last function returns nothing")
    several = isinstance(value, tuple) or isinstance(value, list) and (count != 1 or len(value) == 1)
    parts = list(value) if several else [value]
    if len(parts) != count:
        found = "1 result" if len(parts) == 1 else f"{len(parts)} results"
        raise TypeError(f"the call gives {found}, the program has {count}")
    return [to_array(part) for part in parts]


def encode(array):
    import numpy

    file = io.BytesIO()
    numpy.save(file, array, allow_pickle=False)
    return struct.pack("<q", file.tell()) + file.getvalue()


def text(string):
    data = string.encode(errors="replace")
    return struct.pack("<q", len(data)) + data


def reply_to(data):
    reader = Reader(data)
    request = chr(reader.byte())
    if request == "I":
        source, directory = reader.text(), reader.text()
        TRUSTED.update(reader.text() for _ in range(reader.integer()))
        if TRUSTED:
            # The directory of the program, after all packages.
            sys.path.append(directory)
        load("numpy")
        paths = [reader.text() for _ in range(reader.integer())]
        if "reference" not in TRUSTED and any(path.startswith("reference.") for path in paths):
            provide_reference(source)
        for path in paths:
            function(path)
        WALL.install()
        return b"O"
    count = reader.integer()
    arrays = [reader.array() for _ in range(reader.integer())]
    given = results(reader.expression(arrays, ""), count)
    return b"R" + struct.pack("<q", len(given)) + b"".join(encode(array) for array in given)


def answer(data):
    try:
        return reply_to(data)
    except Missing as missing:
        return b"M" + text(missing.args[0]) + text(missing.args[1])
    except BaseException as error:
        traceback.print_exc()
        line = "".join(traceback.format_exception_only(type(error), error)).strip()
        return b"F" + text(line)


def main():
    source, sink = claim_pipes()
    while len(head := source.read(8)) == 8:
        reply = answer(source.read(struct.unpack("<Q", head)[0]))
        sink.write(struct.pack("<Q", len(reply)))
        sink.write(reply)
        sink.flush()


main()
