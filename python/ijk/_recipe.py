"""Components made anew of what they were made of."""

import operator

from ._ijk import Component


def component(steps):
    """The component that steps make, each of them a text, or an operator's name and the numbers of its operands."""
    made = []
    for word, parts in steps:
        operands = [made[part] for part in parts]
        made.append(getattr(operator, word)(*operands) if operands else Component(word))
    return made[-1]
