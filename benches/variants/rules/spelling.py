"""The language."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ..spell import Unspeakable, subscripts
from ..spell_i import program_in_i
from ..tree import Program

FRONTS = ("et", "i", "i, reduced apart", "einsum")


def is_speakable(program: Program, front: str) -> bool:
    """True where a language has words for a program."""
    try:
        if front == "einsum":
            subscripts(program)
        elif front != "et":
            program_in_i(program, apart=front != "i")
    except Unspeakable:
        return False
    return True


def spelled(front: str):
    """The rule for a language."""

    def rule(program: Program) -> Iterator[Program]:
        if program.front != front and is_speakable(program, front):
            yield dataclasses.replace(program, front=front)

    return rule


RULES = {
    "in_i": spelled("i"),
    "in_i_reduced_apart": spelled("i, reduced apart"),
    "in_einsum": spelled("einsum"),
}
