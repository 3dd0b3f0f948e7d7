"""The table of cases."""

from __future__ import annotations

from ..case import Case
from . import contractions, goals, permutations, rows, windows

# Cases with small versions, and their sizes.
SMALL = (2, 4, 8, 16, 32)
# Upper bound of the operations of a small version.
MOST = 100_000_000


def all_cases() -> list[Case]:
    """Every case: goals first, then contractions, the rest, and small versions."""
    large = [
        *goals.CASES,
        *contractions.CASES,
        *rows.CASES,
        *permutations.CASES,
        *windows.CASES,
    ]
    seeds = [case for case in large if case.least and not case.group.startswith(("tccg", "f64"))]
    seeds += [case for case in contractions.CASES if case.name in contractions.SMALL]
    small = [seed.small(n) for n in SMALL for seed in seeds if n >= seed.least]
    cases = [*large, *(case for case in small if case.count() <= MOST)]
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), sorted(n for n in names if names.count(n) > 1)
    return cases
