"""Layouts of arguments in memory, and positions at which they are read."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from ..tree import Expr, Input, Place, Program, Read, has_plain_target, plain, reads, times
from .statements import orders, turned

# Arrays of fewer elements on an axis are not worth an array of positions.
FEW = 2


def with_input(program: Program, old: Input, new: Input) -> Program:
    """With another input in the place of one."""
    inputs = tuple(new if one == old else one for one in program.inputs)
    return dataclasses.replace(program, inputs=inputs)


def viewed(program: Program, one: Input, *view) -> Program:
    """With a view of an input."""
    return with_input(program, one, dataclasses.replace(one, views=(*one.views, view)))


def rank(one: Input) -> int:
    """Axes of an input as it is read."""
    return len(one.letters) + sum(name == "unit" for name, *_ in one.views)


def is_positions(one: Input) -> bool:
    """True where it holds positions."""
    return one.holds.split()[0] in ("below", "sorted", "numbers")


def read_turned(program: Program, one: Input, order: tuple[int, ...]) -> Program:
    """With the axes of an input in another order wherever it is read."""
    return program.with_values(lambda e: turned(e, one.name, order))


def turn_an_input(program: Program) -> Iterator[Program]:
    """An array is read with its axes in another order; its layout stays."""
    for one in program.inputs:
        if not is_positions(one):
            for order in orders((None,) * rank(one)):
                yield viewed(read_turned(program, one, order), one, "turn", order)


def turn_and_copy_an_input(program: Program) -> Iterator[Program]:
    """The same, with the layout in this order."""
    for one in program.inputs:
        if not is_positions(one):
            for order in orders((None,) * rank(one)):
                yield viewed(read_turned(program, one, order), one, "turn_copy", order)


def store_an_input_otherwise(program: Program) -> Iterator[Program]:
    """An array has its axes in another order in memory."""
    for one in program.inputs:
        for order in orders((None,) * rank(one)):
            yield viewed(program, one, "store", order)


def reverse_an_axis(program: Program) -> Iterator[Program]:
    """An axis has a negative stride."""
    for one in program.inputs:
        for axis in range(rank(one)):
            yield viewed(program, one, "reverse", axis)


def pad_rows(program: Program) -> Iterator[Program]:
    """Rows have a gap behind each."""
    for one in program.inputs:
        if rank(one) > 1:
            yield viewed(program, one, "pad")


def every_second_row(program: Program) -> Iterator[Program]:
    """Rows are every second of another array."""
    for one in program.inputs:
        if rank(one) > 1:
            yield viewed(program, one, "every_second")


def positions_of_32_bits(program: Program) -> Iterator[Program]:
    """Positions are shorter numbers."""
    for one in program.inputs:
        if is_positions(one) and ("short",) not in one.views:
            yield viewed(program, one, "short")


def axis_of_one(program: Program) -> Iterator[Program]:
    """An array has a further axis of one element."""
    letter = program.fresh_letter()
    for one in program.inputs:
        if is_positions(one):
            continue
        for axis in (0, rank(one)):
            put = lambda p: (*p[:axis], Place(letter), *p[axis:])
            change = lambda e: Read(e.array, put(e.places)) if is_read(e, one.name) else e
            changed = viewed(program.with_values(change), one, "unit", axis)
            yield dataclasses.replace(changed, sizes=(*program.sizes, (letter, 1)))


def is_read(e: Expr, name: str) -> bool:
    """True for a read of this array."""
    return isinstance(e, Read) and e.array == name


def factor_of_ones(program: Program) -> Iterator[Program]:
    """A factor that is 1 along a letter of the result."""
    name = program.fresh_name()
    for number, s in enumerate(program.statements):
        if s.how != "=" or not has_plain_target(s):
            continue
        for place in s.target.places:
            value = times(s.value, plain(name, place.letters))
            ones = Input(name, name, place.letters, "ones")
            changed = program.with_statement(number, dataclasses.replace(s, value=value))
            yield dataclasses.replace(changed, inputs=(*program.inputs, ones))


def rows_by_number(program: Program) -> Iterator[Program]:
    """`x[i,j]` is `x[p[i],j]`, where `p` counts: on an axis behind which there is another."""
    name = program.fresh_name()
    for one in program.inputs:
        if is_positions(one):
            continue
        for axis in range(rank(one) - 1):
            places = [e.places[axis] for e in reads(program, one.name)]
            if not places or not all(p.is_plain() for p in places):
                continue
            letter = places[0].letters
            if program.extent(letter) <= FEW or any(p.letters != letter for p in places):
                continue
            changed = program.with_values(lambda e: at_number(e, one.name, axis, name))
            numbers = Input(name, name, letter, "numbers")
            yield dataclasses.replace(changed, inputs=(*program.inputs, numbers))


def at_number(e: Expr, array: str, axis: int, name: str) -> Expr:
    """A read with a position from an array on one axis."""
    if not is_read(e, array):
        return e
    places = list(e.places)
    places[axis] = Place(places[axis].letters, name)
    return Read(array, tuple(places))


def shift_by_zero(program: Program) -> Iterator[Program]:
    """`x[i]` is `x[i+0]`."""
    for one in program.inputs:
        for axis in range(rank(one)):
            changed = program.with_values(lambda e: shifted(e, one.name, axis))
            if changed != program:
                yield changed


def shifted(e: Expr, array: str, axis: int) -> Expr:
    """A read with a 0 added on one axis."""
    if not is_read(e, array) or e.places[axis].through:
        return e
    places = list(e.places)
    places[axis] = dataclasses.replace(places[axis], zero=True)
    return Read(array, tuple(places))


RULES = {
    rule.__name__: rule
    for rule in (
        turn_an_input,
        turn_and_copy_an_input,
        store_an_input_otherwise,
        reverse_an_axis,
        pad_rows,
        every_second_row,
        positions_of_32_bits,
        axis_of_one,
        factor_of_ones,
        rows_by_number,
        shift_by_zero,
    )
}
