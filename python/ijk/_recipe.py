"""Components and block tensors made anew of what they were made of."""

import operator

from ._ijk import BigTensor, Component


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
    return getattr(of, name)(passes) if name in ("repeat", "until") else getattr(of, name)(rows, passes)


def tensor(steps):
    """The block tensor that steps make, each of them a call by name, its values, and the numbers of its tensors."""
    made = []
    for name, values, parts in steps:
        made.append(_CALLS[name]([made[part] for part in parts], *values))
    return made[-1]


def _zipped(tensors, name):
    return getattr(BigTensor, name)(*tensors) if name in ("max", "min") else getattr(operator, name)(*tensors)


def _with_number(tensors, name, number, swapped):
    operands = [number, *tensors] if swapped else [*tensors, number]
    return _zipped(operands, name)


def _applied(tensors, component, number):
    results = component(*tensors)
    return results[number] if isinstance(results, tuple) else results


def _run(tensors, program, names, choices, name):
    choices = dict(choices)
    numbers = choices.pop("numbers", None) or {}
    return program(dict(zip(names, tensors)) | numbers, **choices)[name]


_CALLS = {
    "array": lambda _, array, blocks: BigTensor(array, blocks),
    "lit": lambda _, *values: BigTensor.lit(*values),
    "open": lambda _, path, partial, options: BigTensor.open(path, partial=partial, storage_options=dict(options)),
    "einsum": lambda tensors, subscripts: BigTensor.einsum(subscripts, *tensors),
    "zip": _zipped,
    "number": _with_number,
    "apply": _applied,
    "run": _run,
    "neg": lambda tensors: operator.neg(*tensors),
    "matmul": lambda tensors: operator.matmul(*tensors),
    "bc": lambda tensors, *values: tensors[0].bc(*values),
    "select": lambda tensors, *values: tensors[0].select(*values),
    "map": lambda tensors, function: tensors[0].map(function),
    "reblock": lambda tensors, blocks: tensors[0].reblock(blocks),
    "contract": lambda tensors, *values: tensors[0].contract(tensors[1], *values),
}
