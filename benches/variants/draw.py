"""Variants from a seed."""

from __future__ import annotations

import dataclasses
import random

from .classes import Class
from .rules import RULES
from .rules.spelling import FRONTS, is_speakable
from .spell import lines
from .tree import Program

# Greatest number of rules of a variant.
MOST = 4
# Percentage of variants in another language, if it can express them.
ELSEWHERE = 40
# Attempts to draw a variant that is new.
PATIENCE = 20


def variants(one: Class, count: int, seed: int, small: bool = False) -> list[Program]:
    """The base program and variants, up to a total number."""
    draw = random.Random(f"{seed} {one.name}")
    found = {text(one.program(small)): one.program(small)}
    for _ in range(count * PATIENCE):
        if len(found) >= count:
            break
        program = variant(one.program(small), draw)
        found.setdefault(text(program), program)
    return list(found.values())


def singles(one: Class, seed: int, small: bool = False) -> list[Program]:
    """The base program, and one by each rule that matches."""
    draw = random.Random(f"{seed} {one.name}")
    base = one.program(small)
    found = {text(base): base}
    for name, rule in RULES.items():
        changed = list(rule(base))
        if changed:
            program = dataclasses.replace(draw.choice(changed), rules=(name,))
            found.setdefault(text(program), program)
    return list(found.values())


def variant(program: Program, draw: random.Random) -> Program:
    """One, by some rules and perhaps in another language."""
    for _ in range(draw.randint(1, MOST)):
        program = step(program, draw)
    fronts = [front for front in FRONTS[1:] if is_speakable(program, front)]
    if fronts and draw.randrange(100) < ELSEWHERE:
        program = dataclasses.replace(program, front=draw.choice(fronts))
    return program


def step(program: Program, draw: random.Random) -> Program:
    """By one rule, drawn among those that match, so that rules with many places are not drawn more often."""
    names = [name for name in RULES if not name.startswith("in_")]
    draw.shuffle(names)
    for name in names:
        found = list(RULES[name](program))
        if found:
            return dataclasses.replace(draw.choice(found), rules=(*program.rules, name))
    return program


def text(program: Program) -> str:
    """Language, statements and storage: what tells it from others."""
    views = [f"{one.name}: {one.views}" for one in program.inputs if one.views]
    return " ; ".join([program.front, *lines(program), *views])
