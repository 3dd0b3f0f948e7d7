"""Functions in other words."""

from __future__ import annotations

from collections.abc import Iterator

from ..tree import Call, Expr, Number, Read, is_call, is_constant, minus, negated, over, plus, times
from .nodes import Context, everywhere, of_arrays

ONE = Number(1.0)


def power(base: Expr, exponent: float) -> Call:
    """A power."""
    return Call("POW", (base, Number(exponent)))


def square_as_power(e: Expr, _: Context) -> Iterator[Expr]:
    """`a * a` is `POW(a, 2)`."""
    if is_call(e, "*") and e.of[0] == e.of[1]:
        yield power(e.of[0], 2.0)


def power_as_product(e: Expr, _: Context) -> Iterator[Expr]:
    """`POW(a, 2)` is `a * a`, and `POW(a, 3)` is `a * a * a`."""
    if is_call(e, "POW") and e.of[1] in (Number(2.0), Number(3.0)):
        square = times(e.of[0], e.of[0])
        yield square if e.of[1].value == 2 else times(square, e.of[0])


def root_as_power(e: Expr, _: Context) -> Iterator[Expr]:
    """`SQRT(a)` is `POW(a, 0.5)`, and the reverse."""
    if is_call(e, "SQRT"):
        yield power(e.of[0], 0.5)
    if is_call(e, "POW") and e.of[1] == Number(0.5):
        yield Call("SQRT", (e.of[0],))


def divisor_as_power(e: Expr, _: Context) -> Iterator[Expr]:
    """`a / SQRT(b)` is `a * POW(b, -0.5)`, and `a / b` is `a * POW(b, -1)`."""
    if is_call(e, "/") and is_call(e.of[1], "SQRT"):
        yield times(e.of[0], power(e.of[1].of[0], -0.5))
    elif is_call(e, "/") and not is_constant(e.of[1]):
        yield times(e.of[0], power(e.of[1], -1.0))


def exponent_turned(e: Expr, _: Context) -> Iterator[Expr]:
    """`EXP(a)` is `1 / EXP(-a)`."""
    if is_call(e, "EXP"):
        yield over(ONE, Call("EXP", (negated(e.of[0]),)))


def maximum_swapped(e: Expr, _: Context) -> Iterator[Expr]:
    """`MAX(a, b)` is `MAX(b, a)`."""
    if is_call(e, "MAX", "MIN"):
        yield Call(e.name, (e.of[1], e.of[0]))


def maximum_as_minimum(e: Expr, _: Context) -> Iterator[Expr]:
    """`MAX(a, b)` is `-MIN(-a, -b)`."""
    if is_call(e, "MAX"):
        flipped = [Number(-x.value) if isinstance(x, Number) else negated(x) for x in e.of]
        yield negated(Call("MIN", tuple(flipped)))


def maximum_as_choice(e: Expr, _: Context) -> Iterator[Expr]:
    """`MAX(a, b)` is `WHERE(GT(a, b), a, b)`."""
    if is_call(e, "MAX"):
        yield Call("WHERE", (Call("GT", e.of), *e.of))


def comparison_turned(e: Expr, _: Context) -> Iterator[Expr]:
    """`GT(a, b)` is `LT(b, a)`."""
    turned = {"GT": "LT", "LT": "GT", "GE": "LE", "LE": "GE"}
    if is_call(e, *turned):
        yield Call(turned[e.name], (e.of[1], e.of[0]))


def magnitude_as_maximum(e: Expr, _: Context) -> Iterator[Expr]:
    """`ABS(a)` is `MAX(a, -a)`."""
    if is_call(e, "ABS"):
        yield Call("MAX", (e.of[0], negated(e.of[0])))


def sigmoid_in_full(e: Expr, _: Context) -> Iterator[Expr]:
    """`SIGMOID(a)` is `1 / (1 + EXP(-a))`."""
    if is_call(e, "SIGMOID"):
        yield over(ONE, plus(ONE, Call("EXP", (negated(e.of[0]),))))


def square_of_difference(e: Expr, _: Context) -> Iterator[Expr]:
    """`POW(a - b, 2)` is `POW(b - a, 2)`."""
    if is_call(e, "POW") and e.of[1] == Number(2.0) and is_call(e.of[0], "-"):
        a, b = e.of[0].of
        yield power(minus(b, a), 2.0)


def cast_to_the_same(e: Expr, c: Context) -> Iterator[Expr]:
    """`a` is `F32(a)`."""
    if is_float(e, c):
        yield Call("F32", (e,))


def is_float(e: Expr, c: Context) -> bool:
    """True for a value that is not of an array of positions."""
    inputs = c.program.inputs_by_name()
    whole = ("below", "sorted", "numbers")
    return isinstance(e, Call) or (
        isinstance(e, Read)
        and (e.array not in inputs or inputs[e.array].holds.split()[0] not in whole)
    )


RULES = {
    change.__name__: everywhere(of_arrays(change))
    for change in (
        square_as_power,
        power_as_product,
        exponent_turned,
        maximum_swapped,
        maximum_as_minimum,
        maximum_as_choice,
        magnitude_as_maximum,
        sigmoid_in_full,
        square_of_difference,
        cast_to_the_same,
    )
} | {change.__name__: everywhere(change) for change in (root_as_power, divisor_as_power, comparison_turned)}
