"""Programs as text in i.

A value becomes a component whose inputs are the arrays in the order in which they stand in it: what is below is
computed first and goes on by a chain, several at a time by pairs. Arrays that are read several times are passed several
times; a statement whose array is read once becomes a part of the one that reads it.
"""

from __future__ import annotations

from .spell import Unspeakable, number
from .tree import (
    Call,
    Expr,
    Extent,
    Number,
    Place,
    Program,
    Read,
    Statement,
    has_plain_target,
    is_constant,
    letters,
    uses,
)

INFIX = {"+": "+", "-": "-", "*": "*", "/": "/", "POW": "^", "MAX": ">", "MIN": "<"}
PREFIX = {"neg": "-", "EXP": "^", "LOG": "$"}
REDUCING = {"=": "+", "=max": ">", "=min": "<"}
CASTS = ("F32", "F64")


def program_in_i(program: Program, apart: bool) -> tuple[str, list[str]]:
    """The text, and the arrays to pass. `apart` has every reduction in an expression of its own."""
    speaker = Speaker(program, apart)
    text = speaker.statement(program.statements[-1])
    return text, speaker.arguments


class Speaker:
    """Collects the arguments while it speaks."""

    def __init__(self, program: Program, apart: bool):
        self.program, self.apart = program, apart
        self.arguments: list[str] = []
        self.inputs = program.inputs_by_name()
        self.statements: dict[str, Statement] = {}
        for s in program.statements:
            name = s.target.array
            if name in self.statements or s.how not in REDUCING or not has_plain_target(s):
                raise Unspeakable("an array in several statements, or positions")
            if s is not program.statements[-1] and uses(program, name) != 1:
                raise Unspeakable("a value that is used twice")
            self.statements[name] = s

    def statement(self, s: Statement) -> str:
        """A component with the target as its result."""
        out = "".join(letters(s.target))
        inner = out + "".join(s.reduced())
        if set(letters(s.value)) | set(out) != set(letters(s.value)):
            raise Unspeakable("repetition")
        reduce = REDUCING[s.how] if s.reduced() else ""
        if isinstance(s.value, Read) and s.value.array in self.inputs:
            self.arguments.append(s.value.array)
            return f"{reduce}{self.index(s.value)}~{out or '.'}"
        if isinstance(s.value, Read):
            below = self.statement(self.statements[s.value.array])
            return f"{below} . {reduce}{self.index(s.value)}~{out or '.'}"
        if reduce and (self.apart or not self.is_binary(s.value)):
            return f"{self.call(s.value, inner, '')} . {reduce}{inner}~{out or '.'}"
        return self.call(s.value, out, reduce)

    def is_binary(self, expr: Expr) -> bool:
        """True if it may be an operand."""
        return isinstance(expr, Call) and expr.name in INFIX

    def call(self, expr: Expr, out: str, reduce: str) -> str:
        """A component with a function's values at these letters."""
        if not isinstance(expr, Call):
            raise Unspeakable("a value that is no function of arrays")
        parts, operands = [], []
        for part in expr.of:
            operands.append(self.operand(part, parts))
        body = spoken(expr.name, operands)
        body = f"{reduce}({body})~{out or '.'}" if reduce else f"{body}~{out or '.'}"
        while parts and parts[-1] == "I":
            parts.pop()
        if not parts:
            return body
        front = parts[0] if len(parts) == 1 else " | ".join(p if p == "I" else f"({p})" for p in parts)
        return f"{front} . {body}"

    def index(self, read: Read) -> str:
        """A compound index."""
        return "".join(map(self.position, read.places)) or "."

    def position(self, place: Place) -> str:
        """A letter, or arithmetic in brackets, in which all letters but the first have extents."""
        if place.through:
            raise Unspeakable("i has no positions from arrays")
        if place.is_plain():
            return place.letters
        first, *others = place.letters
        parts = [first, *(f"{x}{{{self.program.extent(x)}}}" for x in others), *"0" * place.zero]
        return f"[{'+'.join(parts)}]"

    def operand(self, expr: Expr, parts: list[str]) -> str:
        """A value within an expression; the component that computes it is added to the parts."""
        if is_constant(expr):
            return number(constant(expr, self.program))
        if isinstance(expr, Read) and expr.array in self.inputs:
            self.arguments.append(expr.array)
            parts.append("I")
            return self.index(expr)
        if isinstance(expr, Read):
            parts.append(self.statement(self.statements[expr.array]))
            return self.index(expr)
        own = "".join(letters(expr))
        parts.append(self.call(expr, own, ""))
        return own or "."


def spoken(name: str, operands: list[str]) -> str:
    """An expression before its output."""
    if name in INFIX:
        return INFIX[name].join(operands)
    if name in PREFIX:
        return PREFIX[name] + operands[0]
    if len(operands) == 1:
        return f"@{name.lower()} {operands[0]}"
    return f"@{name.lower()}({','.join(operands)})"


def constant(expr: Expr, program: Program) -> float:
    """The value of a number."""
    from .reference import FUNCTIONS

    if isinstance(expr, Number):
        return expr.value
    if isinstance(expr, Extent):
        return program.extent(expr.letter)
    return float(FUNCTIONS[expr.name](*(constant(part, program) for part in expr.of)))
