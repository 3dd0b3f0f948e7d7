"""The rules: each yields all programs that differ from one by a single change."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..tree import Program
from . import arithmetic, functions, spelling, statements, storage

Rule = Callable[[Program], Iterator[Program]]
RULES: dict[str, Rule] = {
    **arithmetic.RULES,
    **functions.RULES,
    **statements.RULES,
    **storage.RULES,
    **spelling.RULES,
}
