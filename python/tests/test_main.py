"""`python -m ijk`."""

import os
import subprocess
import sys

import ijk
import pytest


def run(*arguments, path):
    environment = {**os.environ, "PATH": str(path)}
    command = [sys.executable, "-m", "ijk", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def command(folder, version):
    """A command `ijk` that prints its arguments."""
    script = f'#!/bin/sh\n[ "$1" = --version ] && echo "ijk {version}" && exit\necho "$@"; exit 3\n'
    (folder / "ijk").write_text(script)
    (folder / "ijk").chmod(0o755)


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version(option, tmp_path):
    told = run(option, path=tmp_path)
    assert (told.returncode, told.stdout) == (0, f"ijk {ijk.__version__}\n")


def test_where_the_command_is(tmp_path):
    told = run("eval", "+i~.", path=tmp_path)
    assert told.returncode == 2 and not told.stdout
    assert "cargo install ijk-cli" in told.stderr and "ijk.einsum" in told.stderr


@pytest.mark.skipif(os.name != "posix", reason="the command is a shell script")
def test_the_command_runs(tmp_path):
    command(tmp_path, ijk.__version__)
    told = run("eval", "+i~.", "a b.npy", path=tmp_path)
    assert (told.returncode, told.stdout, told.stderr) == (3, "eval +i~. a b.npy\n", "")


@pytest.mark.skipif(os.name != "posix", reason="the command is a shell script")
def test_another_version_is_told(tmp_path):
    command(tmp_path, "9.9.9")
    told = run("eval", path=tmp_path)
    assert told.returncode == 3 and "is ijk 9.9.9, the package is ijk" in told.stderr
