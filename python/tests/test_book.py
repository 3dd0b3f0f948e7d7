"""The examples of the book's page on Python."""

import doctest
import pathlib

import pytest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "book" / "src" / "python.md"


def test_examples():
    if not PAGE.exists():
        pytest.skip("the book is not here")
    for library in ("torch", "jax", "scipy", "xarray", "dask", "h5py"):
        pytest.importorskip(library, reason=f"{library} is not installed")
    text = "\n".join(part.split("```")[0] for part in PAGE.read_text().split("```python")[1:])
    test = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    assert len(test.examples) > 40
    told = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False).run(test, out=told.append)
    assert not told, "".join(told)
