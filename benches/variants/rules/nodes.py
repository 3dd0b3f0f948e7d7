"""Rules that change one node of a value, as rules of programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..tree import Expr, Program, Statement, is_condition, is_constant, rewrites


@dataclass(frozen=True)
class Context:
    """Where a node is."""

    program: Program
    statement: Statement

    def is_sum(self) -> bool:
        """True where the statement reduces."""
        return bool(self.statement.reduced())


Change = Callable[[Expr, Context], Iterator[Expr]]


def everywhere(change: Change) -> Callable[[Program], Iterator[Program]]:
    """A rule of programs that applies one of nodes wherever it matches."""

    def rule(program: Program) -> Iterator[Program]:
        for number, s in enumerate(program.statements):
            context = Context(program, s)
            for value in rewrites(s.value, lambda node: change(node, context)):
                yield program.with_statement(number, dataclasses.replace(s, value=value))

    return rule


def of_arrays(change: Change) -> Change:
    """Leaves constants and conditions alone."""

    def rule(node: Expr, context: Context) -> Iterator[Expr]:
        if not is_constant(node) and not is_condition(node):
            yield from change(node, context)

    return rule
