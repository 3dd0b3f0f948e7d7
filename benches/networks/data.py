"""Numbers for networks, and their subscripts."""

import numpy as np

# More letters than any network has indices.
FIRST_LETTER = 0x4E00


def arrays(net, dtype="float32", seed=0):
    """Operands of positive numbers, scaled so that no intermediate over- or underflows: the extent of a summed
    index is divided out of the operands that have it, in equal parts."""
    random = np.random.default_rng(seed)
    extents, output = net["extents"], set(net["output"])
    holders = np.zeros(len(extents))
    for indices in net["operands"]:
        holders[list(set(indices))] += 1

    def operand(indices):
        summed = [index for index in set(indices) if index not in output]
        scale = np.prod([extents[index] ** (-1 / holders[index]) for index in summed])
        numbers = random.random([extents[index] for index in indices]) + 0.5
        return np.asarray(numbers * scale, dtype)

    return [operand(indices) for indices in net["operands"]]


def subscripts(net, shift=0):
    """The network as text; with another shift, in other letters."""
    term = lambda indices: "".join(chr(FIRST_LETTER + index + shift) for index in indices)
    return ",".join(map(term, net["operands"])) + "->" + term(net["output"])


def steps(net, path):
    """Positions and subscripts of each step of a path, with letters from `a` on."""
    left = [list(indices) for indices in net["operands"]]
    found = []
    for number, positions in enumerate(path):
        positions = sorted(positions)
        taken = [left[at] for at in positions]
        for at in reversed(positions):
            del left[at]
        last = number + 1 == len(path)
        needed = set(net["output"]).union(*left)
        inner = dict.fromkeys(index for indices in taken for index in indices)
        out = list(net["output"]) if last else [index for index in inner if index in needed]
        letters = {index: chr(ord("a") + at) for at, index in enumerate(inner)}
        term = lambda indices: "".join(letters[index] for index in indices)
        found.append((positions, ",".join(map(term, taken)) + "->" + term(out)))
        left.append(out)
    return found
