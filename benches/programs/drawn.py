"""Einsums drawn at random: forms and extents that no table names."""

from __future__ import annotations

import math
import random

from .program import Program

# Extents, short ones as often as long ones: cliffs are where they meet.
EXTENTS = (2, 3, 4, 6, 7, 8, 12, 16, 24, 32, 50, 64, 100, 128, 256, 500, 1000, 4000, 20_000, 100_000)

# Most elements of an operand or a result, and the number of products, for which times are far above that of a call.
ELEMENTS = 3_000_000
PRODUCTS = (200_000, 30_000_000)


def drawn(seed: int, count: int) -> list[Program]:
    """So many programs; the same for the same seed."""
    dice = random.Random(seed)
    programs: dict[str, Program] = {}
    while len(programs) < count:
        program = einsum(dice)
        if program:
            programs.setdefault(f"{program.name} {program.sizes}", program)
    return list(programs.values())


def einsum(dice: random.Random) -> Program | None:
    """One of one to three operands; `None` if it is too small, too large, or only a permutation."""
    letters = "abcdef"[: dice.choice((2, 3, 3, 4, 4, 5))]
    extents = {letter: dice.choice(EXTENTS) for letter in letters}
    operands = ["".join(dice.sample(letters, dice.randint(1, min(3, len(letters)))))
        for _ in range(dice.choice((1, 2, 2, 2, 2, 3)))]
    used = [letter for letter in letters if any(letter in operand for operand in operands)]
    kept = [letter for letter in used if dice.random() < 0.6]
    dice.shuffle(kept)
    size = lambda letters: math.prod(extents[letter] for letter in letters)
    fits = all(size(letters) <= ELEMENTS for letters in (*operands, kept))
    if not fits or not PRODUCTS[0] <= size(used) <= PRODUCTS[1] or set(kept) == set(operands[0]) and len(operands) == 1:
        return None
    spec = f"{','.join(operands)}->{''.join(kept)}"
    names = [f"x{n}" for n in range(len(operands))]
    arguments = f"'{spec}', {', '.join(names)}"
    return Program(
        spec,
        " ".join(f"{letter}={extents[letter]}" for letter in used),
        {name: f"positive({', '.join(operand)})" for name, operand in zip(names, operands)},
        einsum=spec,
        # The result as it is wanted, not a view of another one.
        numpy=f"np.asarray(np.einsum({arguments}, optimize=True), order='C')",
        torch=f"torch.einsum({arguments}).contiguous()",
        group="drawn",
        tolerance=1e-3,
    )
