"""Variants as functions without arguments."""

from __future__ import annotations

import numpy as np

import ijk

from .data import laid_out, values
from .spell import subscripts, tuples
from .spell_i import program_in_i
from .tree import Program


class Arrays:
    """The arguments of a class, shared by variants with equal layouts."""

    def __init__(self):
        self.kept: dict[tuple, np.ndarray] = {}

    def of(self, program: Program) -> dict[str, np.ndarray]:
        """The arguments of a variant."""
        sizes = dict(program.sizes)
        found = {}
        for one in program.inputs:
            extents = tuple(sizes[letter] for letter in one.letters)
            key = (one.source, one.holds.split()[0], extents, one.views)
            if key not in self.kept:
                self.kept[key] = laid_out(values(one, sizes), one.views)
            found[one.name] = self.kept[key]
        return found


def ready(program: Program, arrays: dict[str, np.ndarray], engine=None):
    """A function that runs a variant, and its program as text."""
    if program.front == "et":
        source, name = tuples(program), program.result()
        f = ijk.et(source)
        return (lambda: f(**arrays, engine=engine)[name]), source
    if program.front == "einsum":
        calls = subscripts(program)
        return (lambda: chain(calls, arrays, engine)), " ; ".join(spoken(*call) for call in calls)
    source, names = program_in_i(program, apart=program.front != "i")
    f, passed = ijk.i(source), [arrays[name] for name in names]
    return (lambda: f(*passed, engine=engine)), f"{source}  of {', '.join(names)}"


def chain(calls: list, arrays: dict, engine):
    """Calls of einsum one after another."""
    state = dict(arrays)
    for text, operands, name in calls:
        of = [state[o] if isinstance(o, str) else np.float32(o) for o in operands]
        state[name] = result = ijk.einsum(text, *of, engine=engine)
    return result


def spoken(text: str, operands: list, name: str) -> str:
    """A call of einsum as text."""
    return f"{name} = einsum({text!r}, {', '.join(map(str, operands))})"


def as_base(program: Program, result: np.ndarray) -> np.ndarray:
    """The result with its axes as in the base program."""
    return result.transpose(program.turned) if program.turned else result
