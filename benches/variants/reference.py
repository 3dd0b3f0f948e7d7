"""The meaning of a program in double precision: point by point, as Einsum Tuple says it, with NumPy."""

from __future__ import annotations

import numpy as np

from .tree import Call, Expr, Extent, Index, Number, Place, Program, Read, Statement, letters

FUNCTIONS = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "neg": np.negative,
    "POW": np.power,
    "MAX": np.maximum,
    "MIN": np.minimum,
    "EXP": np.exp,
    "LOG": np.log,
    "SQRT": np.sqrt,
    "ABS": np.abs,
    "SIN": np.sin,
    "COS": np.cos,
    "TANH": np.tanh,
    "WHERE": np.where,
    "GT": np.greater,
    "GE": np.greater_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "SIGMOID": lambda x: 1 / (1 + np.exp(-x)),
    "F32": lambda x: x,
}
REDUCE = {"=": np.add, "+=": np.add, "=max": np.maximum, "=min": np.minimum, "max=": np.maximum}
# Points of a statement that are computed at a time.
POINTS = 1 << 23


def evaluate(program: Program, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """The result."""
    state = {n: x.astype(np.float64) if x.dtype.kind == "f" else x for n, x in arrays.items()}
    for s in program.statements:
        run(s, program, state)
    return state[program.result()]


def run(s: Statement, program: Program, state: dict) -> None:
    """Carries out a statement, a slice of its first letter at a time."""
    domain = letters(s.target) + s.reduced()
    extents = [program.extent(letter) for letter in domain]
    reduce = REDUCE[s.how]
    old = state.get(s.target.array)
    if s.how in ("=", "=max", "=min"):
        shape = [program.extent(p.letters) for p in s.target.places]
        new = np.full(shape, {"=": 0.0, "=max": -np.inf, "=min": np.inf}[s.how])
    else:
        new = old.copy()
    step = max(1, POINTS // max(1, int(np.prod(extents[1:])))) if domain else 1
    for start in range(0, extents[0] if domain else 1, step):
        ranges = [np.arange(n) for n in extents]
        if domain:
            ranges[0] = ranges[0][start : start + step]
        grid = dict(zip(domain, np.ix_(*ranges))) if domain else {}
        value = np.broadcast_to(found(s.value, program, state, grid), [len(r) for r in ranges])
        kept = len(letters(s.target))
        value = reduce.reduce(value, axis=tuple(range(kept, value.ndim)))
        places = tuple(at(p, state, grid) for p in s.target.places)
        places = tuple(p.reshape(p.shape[:kept]) for p in places)
        reduce.at(new, places, value) if places else new.__setitem__((), reduce(new, value))
    state[s.target.array] = new


def at(place: Place, state: dict, grid: dict) -> np.ndarray:
    """Positions."""
    if place.through:
        return state[place.through][tuple(grid[letter] for letter in place.letters)]
    return sum(grid[letter] for letter in place.letters)


def found(expr: Expr, program: Program, state: dict, grid: dict):
    """Values at all points."""
    if isinstance(expr, Number):
        return np.float64(expr.value)
    if isinstance(expr, Extent):
        return np.float64(program.extent(expr.letter))
    if isinstance(expr, Index):
        return grid[expr.letter]
    if isinstance(expr, Read):
        return state[expr.array][tuple(at(place, state, grid) for place in expr.places)]
    assert isinstance(expr, Call)
    return FUNCTIONS[expr.name](*(found(part, program, state, grid) for part in expr.of))
