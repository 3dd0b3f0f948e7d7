"""The stubs are the package's, and say what a strict type checker needs."""

import os
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest

import ijk

pytest.importorskip("mypy", reason="mypy is not installed")

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(ijk.__file__).resolve().parent


def mypy(module, *arguments, folder):
    found = {"PYTHONPATH": str(PACKAGE.parent)}
    if PACKAGE.parent.name != "site-packages":
        found["MYPYPATH"] = str(PACKAGE.parent)
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        capture_output=True, text=True, timeout=600, cwd=folder, env={**os.environ, **found},
    )


def test_stubs_are_the_packages(tmp_path):
    if not (ROOT / "pyproject.toml").exists():
        pytest.skip("the sources are not here")
    config = ["--mypy-config-file", str(ROOT / "pyproject.toml")]
    allowed = ["--allowlist", str(ROOT / "python/stubtest.txt"), "--ignore-unused-allowlist"]
    done = mypy("mypy.stubtest", "ijk", *config, *allowed, folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


PROGRAM = """
    from typing import Any

    import numpy as np
    import ijk

    u = ijk.BigTensor(np.ones((3, 4)), [2, None])
    v: ijk.BigTensor = u + np.ones(4) - 1.0
    w: ijk.BigTensor = u[1:, ..., None].sum(axis=0).T
    some: ijk.BigTensor = (u < 3).any()
    f: ijk.Component = ijk.i("ij~ji") >> ijk.i("ij~ji")
    x: Any = f(np.ones((2, 2)), out=None, engine=ijk.Engine(threads=2))
    y: dict[str, Any] = ijk.et("y[p] = x[p]")(x=np.ones(3), seed=1)
    z: Any = ijk.einsum("ij,jk->ik", np.ones((2, 2)), np.ones((2, 2)), optimize="greedy")
    ijk.et("y[p] = x[p]")(np.ones(3))  # wrong
    f & 3  # wrong
    ijk.Engine(threads="2")  # wrong
    ijk.nothing  # wrong
"""


def test_a_strict_checker_finds_what_is_wrong(tmp_path):
    text = textwrap.dedent(PROGRAM)
    (tmp_path / "program.py").write_text(text)
    done = mypy("mypy", "--strict", "program.py", folder=tmp_path)
    found = {int(line) for line in re.findall(r"program.py:(\d+): error", done.stdout)}
    wrong = {number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# wrong")}
    assert found == wrong, done.stdout + done.stderr
