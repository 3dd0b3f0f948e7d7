"""Order of factors and terms, scales, signs."""

from __future__ import annotations

from collections.abc import Iterator

from ..tree import Expr, Extent, Number, is_call, is_constant, letters, minus, negated, over, plus, times
from .nodes import Context, everywhere, of_arrays

ONE, ZERO, TWO, HALF = Number(1.0), Number(0.0), Number(2.0), Number(0.5)


def swap_factors(e: Expr, _: Context) -> Iterator[Expr]:
    """`a * b` is `b * a`."""
    if is_call(e, "*"):
        yield times(e.of[1], e.of[0])


def regroup_factors(e: Expr, _: Context) -> Iterator[Expr]:
    """`(a * b) * c` is `a * (b * c)` and `(a * c) * b`."""
    if is_call(e, "*") and is_call(e.of[0], "*"):
        (a, b), c = e.of[0].of, e.of[1]
        yield times(a, times(b, c))
        yield times(times(a, c), b)
    if is_call(e, "*") and is_call(e.of[1], "*"):
        a, (b, c) = e.of[0], e.of[1].of
        yield times(times(a, b), c)


def swap_terms(e: Expr, _: Context) -> Iterator[Expr]:
    """`a + b` is `b + a`."""
    if is_call(e, "+"):
        yield plus(e.of[1], e.of[0])


def regroup_terms(e: Expr, _: Context) -> Iterator[Expr]:
    """`(a + b) + c` is `a + (b + c)`."""
    if is_call(e, "+") and is_call(e.of[0], "+"):
        (a, b), c = e.of[0].of, e.of[1]
        yield plus(a, plus(b, c))
        yield plus(plus(a, c), b)


def quotient_as_product(e: Expr, _: Context) -> Iterator[Expr]:
    """`a / 2` is `a * 0.5`, and `a / b` is `a * (1 / b)`."""
    if is_call(e, "/") and e.of[0] != ONE:
        a, b = e.of
        yield times(a, Number(1 / b.value)) if isinstance(b, Number) else times(a, over(ONE, b))


def product_as_quotient(e: Expr, _: Context) -> Iterator[Expr]:
    """`a * 0.5` is `a / 2`, and `a * (1 / b)` is `a / b`."""
    for a, b in ((e.of, e.of[::-1]) if is_call(e, "*") else ()):
        if isinstance(b, Number) and b.value:
            yield over(a, Number(1 / b.value))
        if is_call(b, "/") and b.of[0] == ONE:
            yield over(a, b.of[1])


def move_divisor(e: Expr, _: Context) -> Iterator[Expr]:
    """`a * b / c` is `a / c * b`, `a * (b / c)`, and the reverse."""
    if is_call(e, "/") and is_call(e.of[0], "*"):
        (a, b), c = e.of[0].of, e.of[1]
        yield times(over(a, c), b)
        yield times(a, over(b, c))
    if is_call(e, "*") and is_call(e.of[0], "/"):
        (a, c), b = e.of[0].of, e.of[1]
        yield over(times(a, b), c)


def divide_twice(e: Expr, _: Context) -> Iterator[Expr]:
    """`a / (b * c)` is `a / b / c`, and the reverse."""
    if is_call(e, "/") and is_call(e.of[1], "*"):
        yield over(over(e.of[0], e.of[1].of[0]), e.of[1].of[1])
    if is_call(e, "/") and is_call(e.of[0], "/"):
        yield over(e.of[0].of[0], times(e.of[0].of[1], e.of[1]))


def extent_as_number(e: Expr, c: Context) -> Iterator[Expr]:
    """`DIMS(k)` is a number."""
    if isinstance(e, Extent):
        yield Number(float(c.program.extent(e.letter)))


def number_as_extent(e: Expr, c: Context) -> Iterator[Expr]:
    """A number may be the extent of a letter of the statement, or one over it."""
    if isinstance(e, Number):
        for letter in letters(c.statement.value):
            extent = c.program.extent(letter)
            if e.value == extent > 2:
                yield Extent(letter)
            if e.value == 1 / extent < 0.5:
                yield over(ONE, Extent(letter))


def scale_there_and_back(e: Expr, c: Context) -> Iterator[Expr]:
    """`a` is `2 * a / 2`."""
    yield times(times(TWO, e), HALF)
    yield over(times(e, TWO), TWO)


def times_one(e: Expr, _: Context) -> Iterator[Expr]:
    """`a` is `a * 1` and `1 * a`."""
    yield times(e, ONE)
    yield times(ONE, e)


def over_one(e: Expr, _: Context) -> Iterator[Expr]:
    """`a` is `a / 1`."""
    yield over(e, ONE)


def plus_zero(e: Expr, _: Context) -> Iterator[Expr]:
    """`a` is `a + 0` and `a - 0`."""
    yield plus(e, ZERO)
    yield minus(e, ZERO)


def sign_as_difference(e: Expr, _: Context) -> Iterator[Expr]:
    """`-a` is `0 - a`."""
    if is_call(e, "neg"):
        yield minus(ZERO, e.of[0])


def sign_as_factor(e: Expr, _: Context) -> Iterator[Expr]:
    """`-a` is `-1 * a`."""
    if is_call(e, "neg"):
        yield times(Number(-1.0), e.of[0])


def move_sign(e: Expr, _: Context) -> Iterator[Expr]:
    """`-(a * b)` is `-a * b` and `a * -b`, and the reverse."""
    if is_call(e, "neg") and is_call(e.of[0], "*", "/"):
        name, (a, b) = e.of[0].name, e.of[0].of
        make = times if name == "*" else over
        yield make(negated(a), b)
        yield make(a, negated(b))
    if is_call(e, "*") and is_call(e.of[0], "neg"):
        yield negated(times(e.of[0].of[0], e.of[1]))


def twice_negated(e: Expr, _: Context) -> Iterator[Expr]:
    """`a` is `-(-a)`."""
    yield negated(negated(e))


def difference_as_sum(e: Expr, _: Context) -> Iterator[Expr]:
    """`a - b` is `a + -b`, and the reverse."""
    if is_call(e, "-"):
        yield plus(e.of[0], negated(e.of[1]))
    if is_call(e, "+") and is_call(e.of[1], "neg"):
        yield minus(e.of[0], e.of[1].of[0])


def difference_turned(e: Expr, _: Context) -> Iterator[Expr]:
    """`a - b` is `-(b - a)`."""
    if is_call(e, "-"):
        yield negated(minus(e.of[1], e.of[0]))


def twice_as_sum(e: Expr, _: Context) -> Iterator[Expr]:
    """`2 * a` is `a + a`."""
    if is_call(e, "*") and e.of[0] == TWO:
        yield plus(e.of[1], e.of[1])


def distribute(e: Expr, c: Context) -> Iterator[Expr]:
    """`(a + b) * c` is `a * c + b * c`, where nothing is reduced: there no engine should have to do it."""
    if not c.is_sum() and is_call(e, "*", "/") and is_call(e.of[0], "+", "-"):
        make = times if e.name == "*" else over
        (a, b), other = e.of[0].of, e.of[1]
        join = plus if e.of[0].name == "+" else minus
        if is_constant(other):
            yield join(make(a, other), make(b, other))


RULES = {
    change.__name__: everywhere(change)
    for change in (
        extent_as_number,
        number_as_extent,
        move_divisor,
    )
} | {
    change.__name__: everywhere(of_arrays(change))
    for change in (
        swap_factors,
        regroup_factors,
        swap_terms,
        regroup_terms,
        quotient_as_product,
        product_as_quotient,
        divide_twice,
        scale_there_and_back,
        times_one,
        over_one,
        plus_zero,
        sign_as_difference,
        sign_as_factor,
        move_sign,
        twice_negated,
        difference_as_sum,
        difference_turned,
        twice_as_sum,
        distribute,
    )
}
