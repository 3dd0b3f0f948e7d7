"""What `optimize=` may be: the name of a way to find a path, a path, or a function that finds one."""

import operator
from numbers import Real

import numpy as np

from . import _ijk

#: What NumPy and opt_einsum call their ways to find a path. ijk finds one in its own.
NAMES = (
    "auto",
    "auto-hq",
    "branch-1",
    "branch-2",
    "branch-all",
    "dp",
    "dynamic-programming",
    "eager",
    "greedy",
    "opportunistic",
    "optimal",
    "random-greedy",
    "random-greedy-128",
)


class PathError(_ijk.Error, RuntimeError):
    """What optimize= is given is no path, or none of these operands."""


def requested(optimize):
    """The path that is to be obeyed, or a function that finds it; None where ijk finds one."""
    if optimize is None or isinstance(optimize, (bool, np.bool_)):
        return None
    if isinstance(optimize, str):
        if optimize.lower() in NAMES:
            return None
        raise PathError(
            f"optimize={optimize!r} names no way to find a path; there are True, False, "
            + ", ".join(map(repr, NAMES))
        )
    if callable(optimize):
        return optimize
    try:
        steps = tuple(optimize)
    except TypeError:
        kind = type(optimize).__name__
        raise TypeError(
            f"optimize is a path, the name of a way to find one, True or False, not of type {kind}"
        ) from None
    if steps and isinstance(steps[0], str):
        if steps[0] != "einsum_path":
            return _limited(steps)
        if len(steps) == 1:
            raise PathError("the path ['einsum_path'] has no step")
        steps = steps[1:]
    return tuple(_step(number, step) for number, step in enumerate(steps))


def _limited(steps):
    """A name with NumPy's most elements of an intermediate: ijk's limit is that of the engine."""
    if len(steps) == 2 and isinstance(steps[1], Real):
        return requested(steps[0])
    raise PathError(f"a path begins with 'einsum_path' or with a step, not with {steps[0]!r}")


def _step(number, step):
    try:
        return tuple(operator.index(position) for position in step)
    except TypeError:
        raise PathError(
            f"step {number} of the path is {step!r}, but a step is a tuple of positions, (0, 1) say"
        ) from None


def found(optimizer, einsum, shapes):
    """The path that a function of opt_einsum's kind finds."""
    extents, operands, steps = einsum.steps(shapes)
    symbol = [chr(0x4E00 + number) for number in range(len(extents))].__getitem__
    sets = [{symbol(index) for index in axes if index is not None} for axes in operands]
    output = {symbol(index) for index in steps[-1][1] if index is not None}
    sizes = {symbol(number): extent for number, extent in enumerate(extents)}
    path = requested(list(optimizer(sets, output, sizes, None)))
    check(path, len(operands))
    return path


def check(path, operands):
    """Raises PathError where a path is not one of so many operands. No steps: all at once."""
    left = operands
    for number, step in enumerate(path):
        if not step:
            raise PathError(f"step {number} of the path takes no operand")
        for position in step:
            if not 0 <= position < left:
                are = "1 is" if left == 1 else f"{left} are"
                raise PathError(
                    f"step {number} of the path takes operand {position}, "
                    f"but only {are} left then, counted from 0"
                )
        if len(set(step)) < len(step):
            raise PathError(f"step {number} of the path, {step}, takes an operand twice")
        left += 1 - len(step)
    if path and left > 1:
        raise PathError(
            f"{left} operands are left after the path, not one result: "
            f"end it with the step {tuple(range(left))}"
        )
