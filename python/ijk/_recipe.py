"""Components made anew of what they were made of."""

import operator

from ._ijk import Component


def component(steps):
    """The component that steps make, each of them a text, or an operator's name and the numbers of its operands."""
    made = []
    for word, parts in steps:
        operands = [made[part] for part in parts]
        made.append(_combined(word, operands) if operands else Component(word))
    return made[-1]


def _combined(word, operands):
    """The operands combined by an operator, or by a loop: its name, its rows and its passes."""
    name, *numbers = word.split()
    if not numbers:
        return getattr(operator, name)(*operands)
    rows, passes = (None if n == "-" else int(n) for n in numbers)
    [of] = operands
    return of.repeat(passes) if name == "repeat" else getattr(of, name)(rows, passes)
