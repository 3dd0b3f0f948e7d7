"""`python -m ijk`: the command `ijk`, where it is installed."""

import os
import shutil
import subprocess
import sys

from . import __version__

ABSENT = """\
ijk {version}: the Python package has no command of its own, and there is no `ijk` on the PATH.

The command comes with Rust: `cargo install ijk-cli`, or `cargo install --path crates/ijk-cli` from a clone.
In Python, ijk.einsum, ijk.i and ijk.et do what `ijk einsum`, `ijk eval` and `ijk run` do: see help(ijk)."""


def main(arguments):
    """Prints the version, or runs the command with these arguments; the exit code."""
    if arguments in (["--version"], ["-V"]):
        print(f"ijk {__version__}")
        return 0
    command = shutil.which("ijk")
    if command is None:
        print(ABSENT.format(version=__version__), file=sys.stderr)
        return 2
    warn_of_versions(command)
    if os.name == "posix":
        os.execv(command, [command, *arguments])
    return subprocess.call([command, *arguments])


def warn_of_versions(command):
    """Says so if the command is of another version than the package."""
    told = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    if told.stdout.strip() != f"ijk {__version__}":
        said = told.stdout.strip() or "of an unknown version"
        print(f"warning: {command} is {said}, the package is ijk {__version__}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
