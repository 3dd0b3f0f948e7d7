"""One statement or several, and the order of axes of what is computed."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

from ..tree import (
    Call,
    Expr,
    Place,
    Program,
    Read,
    Statement,
    has_plain_target,
    is_call,
    is_condition,
    is_constant,
    letters,
    negated,
    nodes,
    plain,
    reads,
    rebuilt,
    times,
    uses,
)


def name_a_part(program: Program) -> Iterator[Program]:
    """`y = f(a * b)` is `t = a * b` and `y = f(t)`."""
    name = program.fresh_name()
    for number, s in enumerate(program.statements):
        parts = [e for e in nodes(s.value) if isinstance(e, Call) and not is_constant(e)]
        for part in parts:
            if part == s.value and not s.reduced() or is_condition(part):
                continue
            read = plain(name, "".join(letters(part)))
            value = rebuilt(s.value, lambda e: read if e == part else e)
            if set(letters(value)) == set(letters(s.value)):
                yield program.with_statement(
                    number, Statement(read, "=", part), dataclasses.replace(s, value=value)
                )


def put_a_part_in_place(program: Program) -> Iterator[Program]:
    """`t = a * b` and `y = f(t)` is `y = f(a * b)`."""
    for number, s in enumerate(program.statements[:-1]):
        once = sum(t.target.array == s.target.array for t in program.statements) == 1
        if not (once and s.how == "=" and has_plain_target(s) and not s.reduced()):
            continue
        found = reads(program, s.target.array)
        if len(found) != 1 or uses(program, s.target.array) != 1:
            continue
        if set(letters(s.value)) != set(letters(s.target)) or not all(p.is_plain() for p in found[0].places):
            continue
        names = dict(zip(letters(s.target), letters(found[0])))
        if len(names) != len(set(names.values())):
            continue
        value = rebuilt(s.value, lambda e: with_letters(e, names))
        rest = program.with_statement(number)
        yield rest.with_values(lambda e: value if e == found[0] else e)


def with_letters(e: Expr, names: dict[str, str]) -> Expr:
    """A node with other letters."""
    if isinstance(e, Read):
        renamed = lambda p: "".join(names.get(x, x) for x in p.letters)
        places = tuple(dataclasses.replace(p, letters=renamed(p)) for p in e.places)
        return dataclasses.replace(e, places=places)
    if hasattr(e, "letter"):
        return dataclasses.replace(e, letter=names.get(e.letter, e.letter))
    return e


def scale_behind_the_sum(program: Program) -> Iterator[Program]:
    """`y = c * f` is `t = f` and `y = c * t`, where `c` has no reduced letter."""
    name = program.fresh_name()
    for number, s in enumerate(program.statements):
        if s.how != "=" or not s.reduced() or not has_plain_target(s) or not is_call(s.value, "*", "/"):
            continue
        pairs = [(0, 1), (1, 0)] if s.value.name == "*" else [(0, 1)]
        for kept, moved in pairs:
            body, factor = s.value.of[kept], s.value.of[moved]
            if set(letters(factor)) & set(s.reduced()) or not set(s.reduced()) <= set(letters(body)):
                continue
            read = plain(name, "".join(x for x in letters(s.target) if x in letters(body)))
            of = (read, factor) if kept == 0 else (factor, read)
            yield program.with_statement(
                number,
                Statement(read, "=", body),
                dataclasses.replace(s, value=Call(s.value.name, of)),
            )


def scale_before_the_sum(program: Program) -> Iterator[Program]:
    """`t = f` and `y = 2 * t` is `t = f * 2` and `y = t`, for constants."""
    for number, s in enumerate(program.statements[:-1]):
        found = reads(program, s.target.array)
        once = sum(t.target.array == s.target.array for t in program.statements) == 1
        if s.how != "=" or len(found) != 1 or uses(program, s.target.array) != 1 or not once:
            continue
        for later, other in enumerate(program.statements):
            for e in nodes(other.value):
                if is_call(e, "*", "/") and e.of[0] == found[0] and is_constant(e.of[1]):
                    changed = dataclasses.replace(s, value=Call(e.name, (s.value, e.of[1])))
                    value = rebuilt(other.value, lambda node: found[0] if node == e else node)
                    rest = program.with_statement(later, dataclasses.replace(other, value=value))
                    yield rest.with_statement(number, changed)


def terms_apart(program: Program) -> Iterator[Program]:
    """`y = a + b` is `y = a` and `y += b`, where both have all reduced letters."""
    for number, s in enumerate(program.statements):
        if s.how != "=" or not is_call(s.value, "+", "-") or not has_plain_target(s):
            continue
        a, b = s.value.of
        # A letter that a term lacks would be repeated, or not summed over.
        if {*letters(a)} == {*letters(s.value)} and {*s.reduced()} <= {*letters(b)}:
            added = b if s.value.name == "+" else negated(b)
            yield program.with_statement(
                number, dataclasses.replace(s, value=a), Statement(s.target, "+=", added)
            )


def reduce_in_stages(program: Program) -> Iterator[Program]:
    """`y[i] = f[i,j,k]` is `t[i,j] = f[i,j,k]` and `y[i] = t[i,j]`."""
    name = program.fresh_name()
    for number, s in enumerate(program.statements):
        if s.how not in ("=", "=max", "=min") or len(s.reduced()) < 2 or not has_plain_target(s):
            continue
        for last in s.reduced():
            read = plain(name, "".join([*letters(s.target), last]))
            yield program.with_statement(
                number, Statement(read, s.how, s.value), dataclasses.replace(s, value=read)
            )


def greatest_as_least(program: Program) -> Iterator[Program]:
    """`y =max a` is `t =min -a` and `y = -t`."""
    name = program.fresh_name()
    for number, s in enumerate(program.statements):
        if s.how == "=max" and has_plain_target(s):
            read = plain(name, "".join(letters(s.target)))
            yield program.with_statement(
                number, Statement(read, "=min", negated(s.value)), Statement(s.target, "=", negated(read))
            )


def copy_behind(program: Program) -> Iterator[Program]:
    """`y = f` is `t = f` and `y = t`."""
    name = program.fresh_name()
    last = program.statements[-1]
    if last.how == "=" and has_plain_target(last):
        read = plain(name, "".join(letters(last.target)))
        yield program.with_statement(
            len(program.statements) - 1,
            dataclasses.replace(last, target=read),
            dataclasses.replace(last, value=read),
        )


def other_letters(program: Program) -> Iterator[Program]:
    """Other names of indices."""
    old = [letter for letter, _ in program.sizes]
    for shift in (1, 7):
        pool = [chr(ord("a") + (ord(x) - ord("a") + shift) % 26) for x in old if x.islower()]
        if len(pool) != len(old) or program.names() & set(pool):
            continue
        names = dict(zip(old, pool))
        # Inputs keep the letters that give their extents, so they are told in the new names.
        inputs = tuple(renamed_input(one, names) for one in program.inputs)
        sizes = tuple((names[x], n) for x, n in program.sizes)
        changed = program.with_values(lambda e: with_letters(e, names))
        yield dataclasses.replace(changed, inputs=inputs, sizes=sizes)


def renamed_input(one, names: dict[str, str]):
    """An input whose extents have other letters."""
    what, space, most = one.holds.partition(" ")
    letters = "".join(names.get(x, x) for x in one.letters)
    return dataclasses.replace(one, letters=letters, holds=what + space + names.get(most, most))


def other_names(program: Program) -> Iterator[Program]:
    """Other names of arrays."""
    names = {name: f"{name}_of" for name in program.names()}

    def renamed(e: Expr) -> Expr:
        if not isinstance(e, Read):
            return e
        through = lambda p: names.get(p.through, p.through)
        places = tuple(dataclasses.replace(p, through=through(p)) for p in e.places)
        return Read(names[e.array], places)

    if not any(name.endswith("_of") for name in names):
        inputs = tuple(dataclasses.replace(one, name=names[one.name]) for one in program.inputs)
        yield dataclasses.replace(program.with_values(renamed), inputs=inputs)


def orders(places: tuple[Place, ...]) -> list[tuple[int, ...]]:
    """Other orders of axes: some, if there are many."""
    axes = tuple(range(len(places)))
    every = [order for order in itertools.permutations(axes) if order != axes]
    return every if len(axes) < 4 else every[:: max(1, len(every) // 5)]


def turn_a_part(program: Program) -> Iterator[Program]:
    """An array between has its axes in another order."""
    for name in {s.target.array for s in program.statements} - {program.result()}:
        sample = next(s.target for s in program.statements if s.target.array == name)
        if not is_read_as_written(program, name):
            continue
        for order in orders(sample.places):
            yield program.with_values(lambda e: turned(e, name, order))


def is_read_as_written(program: Program, name: str) -> bool:
    """True where no element of an array is a position."""
    return uses(program, name) == len(reads(program, name))


def turned(e: Expr, name: str, order: tuple[int, ...]) -> Expr:
    """A read of an array whose axes are in another order."""
    if isinstance(e, Read) and e.array == name:
        return Read(name, tuple(e.places[axis] for axis in order))
    return e


def turn_the_result(program: Program) -> Iterator[Program]:
    """The result has its axes in another order."""
    for order in orders(program.statements[-1].target.places):
        changed = program.with_values(lambda e: turned(e, program.result(), order))
        back = tuple(sorted(range(len(order)), key=lambda axis: order[axis]))
        old = program.turned or tuple(range(len(order)))
        yield dataclasses.replace(changed, turned=tuple(back[axis] for axis in old))


def scale_afterwards(program: Program) -> Iterator[Program]:
    """`y = 2 * f` is `y = f` and `y = 2 * y`."""
    for number, s in enumerate(program.statements):
        if s.how == "=" and is_call(s.value, "*") and is_constant(s.value.of[0]) and has_plain_target(s):
            read = plain(s.target.array, "".join(letters(s.target)))
            yield program.with_statement(
                number,
                dataclasses.replace(s, value=s.value.of[1]),
                Statement(s.target, "=", times(s.value.of[0], read)),
            )


RULES = {
    rule.__name__: rule
    for rule in (
        name_a_part,
        put_a_part_in_place,
        scale_behind_the_sum,
        scale_before_the_sum,
        terms_apart,
        reduce_in_stages,
        greatest_as_least,
        copy_behind,
        other_letters,
        other_names,
        turn_a_part,
        turn_the_result,
        scale_afterwards,
    )
}
