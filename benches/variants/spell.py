"""Programs as text in Einsum Tuple, and as subscripts of einsum."""

from __future__ import annotations

import numpy as np

from .tree import Call, Expr, Extent, Index, Number, Place, Program, Read, has_plain_target, is_call

BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "neg": 3}


class Unspeakable(Exception):
    """A language has no words for a program."""


def number(value: float) -> str:
    """Without an exponent, which i does not know."""
    return np.format_float_positional(value, trim="-")


def place(where: Place) -> str:
    """A position."""
    text = f"{where.through}[{','.join(where.letters)}]" if where.through else "+".join(where.letters)
    return text + "+0" * where.zero


def value(expr: Expr, outer: int = 0) -> str:
    """A value, in parentheses if what is around binds as tight."""
    if isinstance(expr, Number):
        text = number(expr.value)
        return f"({text})" if expr.value < 0 and outer else text
    if isinstance(expr, Extent):
        return f"DIMS({expr.letter})"
    if isinstance(expr, Index):
        return expr.letter
    if isinstance(expr, Read):
        return f"{expr.array}[{','.join(map(place, expr.places))}]"
    if expr.name not in BINDING:
        return f"{expr.name}({', '.join(value(part) for part in expr.of)})"
    own = BINDING[expr.name]
    if expr.name == "neg":
        text = f"-{value(expr.of[0], own)}"
    else:
        left, right = expr.of
        text = f"{value(left, own - 1)} {expr.name} {value(right, own)}"
    return f"({text})" if own <= outer else text


def lines(program: Program) -> list[str]:
    """The statements."""
    return [f"{value(s.target)} {s.how} {value(s.value)}" for s in program.statements]


def tuples(program: Program) -> str:
    """A program in Einsum Tuple. What no input tells the extent of is told by a constraint."""
    told = set()
    for one in program.inputs:
        for read in occurrences(program, one.name):
            told |= {p.letters for p in read.places if p.is_plain()}
    constraints = [f"DIMS({x}) = {n}" for x, n in program.sizes if x not in told and occurs(program, x)]
    sections = ["\n".join(lines(program)), program.result()]
    if constraints:
        sections.append("\n".join(constraints))
    return "\n\n".join(sections) + "\n"


def occurrences(program: Program, array: str) -> list[Read]:
    """Where an array is read, positions included."""
    found = []

    def look(expr: Expr) -> None:
        if isinstance(expr, Read):
            if expr.array == array:
                found.append(expr)
            for p in expr.places:
                if p.through == array:
                    found.append(Read(array, tuple(Place(x) for x in p.letters)))
        elif isinstance(expr, Call):
            for part in expr.of:
                look(part)

    for s in program.statements:
        look(s.value)
        look(Read("", s.target.places))
    return found


def occurs(program: Program, letter: str) -> bool:
    """True where a letter stands in the program as an index or a value."""
    from .tree import letters

    return any(letter in letters(s.value) + letters(s.target) for s in program.statements)


def subscripts(program: Program) -> list[tuple[str, list[str | float], str]]:
    """Calls of einsum: subscripts, operands (names or numbers), the name of the result."""
    calls, seen = [], set()
    for s in program.statements:
        if s.how != "=" or not has_plain_target(s) or s.target.array in seen:
            raise Unspeakable("no sum of products")
        operands = factors(s.value)
        if not any(isinstance(operand, Read) for operand in operands):
            raise Unspeakable("no array")
        terms = ["".join(map(letter, o.places)) if isinstance(o, Read) else "" for o in operands]
        names = [o.array if isinstance(o, Read) else o.value for o in operands]
        out = "".join(map(letter, s.target.places))
        calls.append((f"{','.join(terms)}->{out}", names, s.target.array))
        seen.add(s.target.array)
    return calls


def letter(where: Place) -> str:
    """A position that einsum has."""
    if not where.is_plain():
        raise Unspeakable("einsum has letters alone")
    return where.letters


def factors(expr: Expr) -> list[Read | Number]:
    """The factors of a product of arrays and numbers."""
    if is_call(expr, "*"):
        return factors(expr.of[0]) + factors(expr.of[1])
    if isinstance(expr, (Read, Number)):
        return [expr]
    raise Unspeakable("no product")
