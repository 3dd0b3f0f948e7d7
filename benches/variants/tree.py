"""Programs as trees, with functions that rules use to inspect and change them.

A program is a list of statements of Einsum Tuple whose eintups are single letters, of rank 1 each. Nothing is changed in
place: a change is a new tree that shares what stays.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A position of an axis: a sum of letters, or an element of an array of positions at these letters.

    `zero` says that a 0 is added in the text.
    """

    letters: str
    through: str | None = None
    zero: bool = False

    def is_plain(self) -> bool:
        """True for just a letter."""
        return len(self.letters) == 1 and not self.through and not self.zero


@dataclass(frozen=True)
class Number:
    """A constant."""

    value: float


@dataclass(frozen=True)
class Extent:
    """The extent of a letter as a value."""

    letter: str


@dataclass(frozen=True)
class Index:
    """A letter as a value."""

    letter: str


@dataclass(frozen=True)
class Read:
    """An element of an array."""

    array: str
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Call:
    """A function of values: `+`, `-`, `*`, `/`, `neg`, or a name such as `EXP`."""

    name: str
    of: tuple[Expr, ...]


Expr = Number | Extent | Index | Read | Call


@dataclass(frozen=True)
class Statement:
    """Elements of an array are assigned (`=`, `=max`, `=min`), or added to (`+=`, `max=`)."""

    target: Read
    how: str
    value: Expr

    def reduced(self) -> list[str]:
        """Letters of the value that the target lacks."""
        kept = letters(self.target)
        return [letter for letter in letters(self.value) if letter not in kept]


@dataclass(frozen=True)
class Input:
    """An argument: whose data it holds, the letters that give its extents, what it holds, and how it lies in memory.

    `letters` are those of the base program, before the views.
    """

    name: str
    source: str
    letters: str
    holds: str = "positive"
    views: tuple[tuple, ...] = ()


@dataclass(frozen=True)
class Program:
    """A variant. `turned` gives the order of the result's axes in which it is compared with the base program's."""

    statements: tuple[Statement, ...]
    inputs: tuple[Input, ...]
    sizes: tuple[tuple[str, int], ...]
    front: str = "et"
    turned: tuple[int, ...] | None = None
    rules: tuple[str, ...] = ()

    def extent(self, letter: str) -> int:
        """The extent of a letter."""
        return dict(self.sizes)[letter]

    def result(self) -> str:
        """The array that the last statement assigns."""
        return self.statements[-1].target.array

    def with_statement(self, number: int, *statements: Statement) -> Program:
        """With others in the place of one."""
        before, after = self.statements[:number], self.statements[number + 1 :]
        return dataclasses.replace(self, statements=(*before, *statements, *after))

    def with_values(self, change: Callable[[Expr], Expr]) -> Program:
        """With every node of every value and target changed, those below first."""
        changed = tuple(
            Statement(change(s.target), s.how, rebuilt(s.value, change)) for s in self.statements
        )
        return dataclasses.replace(self, statements=changed)

    def inputs_by_name(self) -> dict[str, Input]:
        """The inputs."""
        return {one.name: one for one in self.inputs}

    def names(self) -> set[str]:
        """Names of arrays in use."""
        return {one.name for one in self.inputs} | {s.target.array for s in self.statements}

    def fresh_name(self) -> str:
        """One that is not."""
        return next(f"t{n}" for n in range(1000) if f"t{n}" not in self.names())

    def fresh_letter(self) -> str:
        """A letter without an extent that is no array's name."""
        taken = dict(self.sizes).keys() | self.names()
        return next(c for c in "uvwxyzabcdefghijklmnopqrst" if c not in taken)


def nodes(expr: Expr) -> Iterator[Expr]:
    """A value and all below it."""
    yield expr
    if isinstance(expr, Call):
        for part in expr.of:
            yield from nodes(part)


def letters(expr: Expr) -> list[str]:
    """Letters in the order of their appearance."""
    found: dict[str, None] = {}
    for node in nodes(expr):
        if isinstance(node, Read):
            found |= dict.fromkeys("".join(place.letters for place in node.places))
        elif isinstance(node, Index):
            found[node.letter] = None
    return list(found)


def reads(program: Program, array: str) -> list[Read]:
    """Where values read an array."""
    every = (node for s in program.statements for node in nodes(s.value))
    return [node for node in every if isinstance(node, Read) and node.array == array]


def uses(program: Program, array: str) -> int:
    """Number of reads of an array, including those as positions."""
    through = [p for s in program.statements for node in (s.target, *nodes(s.value))
               if isinstance(node, Read) for p in node.places if p.through == array]
    return len(reads(program, array)) + len(through)


def rewrites(expr: Expr, change: Callable[[Expr], Iterator[Expr]]) -> Iterator[Expr]:
    """Every way to change one node."""
    yield from change(expr)
    if isinstance(expr, Call):
        for number, part in enumerate(expr.of):
            for other in rewrites(part, change):
                yield Call(expr.name, (*expr.of[:number], other, *expr.of[number + 1 :]))


def rebuilt(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """With every node changed, those below first."""
    if isinstance(expr, Call):
        expr = Call(expr.name, tuple(rebuilt(part, change) for part in expr.of))
    return change(expr)


def plain(array: str, letters: str) -> Read:
    """An element at letters."""
    return Read(array, tuple(Place(letter) for letter in letters))


def has_plain_target(statement: Statement) -> bool:
    """True where the target is at letters, each once."""
    places = statement.target.places
    return all(p.is_plain() for p in places) and len(letters(statement.target)) == len(places)


def plus(*of: Expr) -> Call:
    """A sum."""
    return Call("+", of)


def minus(*of: Expr) -> Call:
    """A difference."""
    return Call("-", of)


def times(*of: Expr) -> Call:
    """A product."""
    return Call("*", of)


def over(*of: Expr) -> Call:
    """A quotient."""
    return Call("/", of)


def negated(expr: Expr) -> Call:
    """With the other sign."""
    return Call("neg", (expr,))


def is_call(expr: Expr, *names: str) -> bool:
    """True for a call of one of these."""
    return isinstance(expr, Call) and expr.name in names


def is_condition(expr: Expr) -> bool:
    """True for a comparison."""
    return is_call(expr, "GT", "LT", "GE", "LE")


def is_constant(expr: Expr) -> bool:
    """True for a value that reads nothing and has no letters."""
    return not any(isinstance(node, (Read, Index)) for node in nodes(expr))
