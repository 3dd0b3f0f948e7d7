"""What the Python side of `ijk verify` hands to frameworks; they need not be installed for it."""

import importlib.util
import pathlib
import types

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHILD = ROOT / "crates" / "ijk" / "src" / "verify" / "child.py"


@pytest.fixture
def child(monkeypatch):
    if not CHILD.exists():
        pytest.skip("the sources are not here")
    spec = importlib.util.spec_from_file_location("child", CHILD)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    fake = types.SimpleNamespace(constant=lambda array: array, from_numpy=lambda array: array)
    monkeypatch.setattr(module, "load", lambda name: fake)
    return module


def made(child, root, value, *others):
    arguments = [child.Integers(value), *others]
    return child.settled(root, arguments[0], child.integer_type(root, arguments))


def test_tensors_of_integers_are_what_the_framework_takes(child):
    assert made(child, "tf", [1, 2, 3]).dtype == "int32"
    assert made(child, "torch", [1, 2, 3]).dtype == "int64"
    assert made(child, "np", []).dtype == "int64"
    assert made(child, "tf", []).dtype == "int32"


def test_values_beyond_int32_stay(child):
    assert made(child, "tf", [1, 2**31]).tolist() == [1, 2**31]
    assert made(child, "tf", 2**31 - 1).dtype == "int32"
    assert made(child, "tf", -(2**31) - 1).dtype == "int64"


def test_beside_arrays_of_integers_they_have_their_type(child):
    indices, updates = np.zeros((2, 1), "int64"), np.zeros(2)
    assert made(child, "tf", [4], indices, updates).dtype == "int64"
    assert made(child, "tf", [4], indices.astype("int32"), updates).dtype == "int32"
    assert made(child, "tf", [4], [[indices]]).dtype == "int64"
    assert made(child, "tf", [4], updates).dtype == "int32"


def test_they_may_stand_in_lists(child):
    inner = child.settled("tf", [child.Integers([1]), 2], "int32")
    assert inner[0].dtype == "int32" and inner[1] == 2
