"""The programs."""

from __future__ import annotations

import dataclasses

from ..program import Program
from . import attention, calls, elements, experts, fields, graphs, images, linear, loops, losses, norms
from . import orders, positions, scans, vectors

GROUPS = {
    "attention": attention,
    "losses": losses,
    "normalisation": norms,
    "experts": experts,
    "graphs and sparse products": graphs,
    "images": images,
    "linear algebra": linear,
    "vectors and small matrices": vectors,
    "elements": elements,
    "positions": positions,
    "other fields": fields,
    "scans and signals": scans,
    "orders": orders,
    "loops": loops,
    "small calls": calls,
}


def all_programs() -> list[Program]:
    """Every program, with its group."""
    found = []
    for group, module in GROUPS.items():
        found += [dataclasses.replace(program, group=group) for program in module.PROGRAMS]
    names = [program.name for program in found]
    assert len(set(names)) == len(names), sorted(n for n in names if names.count(n) > 1)
    return found
