"""Datasets of xarray's: their variables are the arrays of a program by their names, and its results are a Dataset."""

import xarray

from . import _ijk
from ._interchange import inputs

KIND = "a Dataset of xarray's"


def carry(call, arrays, out):
    """Raises TypeError: arguments by position are arrays."""
    name = next(name for array, name in zip(arrays, call.names) if isinstance(array, xarray.Dataset))
    raise TypeError(
        f"{name} is {KIND}, which is many arrays: pass one of its variables, ds[\"name\"], or apply the program to "
        "each, ds.map(program); programs in Einsum Tuple take a Dataset by the names of its variables, program(ds)"
    )


def run_named(program, dataset, others, options):
    """The results of a program, as a Dataset: arrays that are given beside the Dataset are others than its variables."""
    wanted = inputs(program)
    program._check_components([name for name in dataset.variables if isinstance(name, str)])
    for name in others:
        if name in dataset.variables:
            raise TypeError(f"the array `{name}` is given twice: by name, and as a variable of the Dataset")
    found = {name: dataset[name] for name in wanted if name in dataset.variables}
    if not found:
        variables = ", ".join(map(str, dataset.data_vars)) or "none"
        raise _ijk.Error(
            f"the program reads {', '.join(wanted) or 'nothing'}, but the variables of the Dataset are {variables}: "
            "rename them, ds.rename({...})"
        )
    results = program({**found, **others}, **options)
    try:
        named = [result.rename(name).drop_attrs(deep=False) for name, result in results.items()]
        return xarray.merge(named, join="exact", compat="minimal", combine_attrs="drop")
    except ValueError as error:
        raise _ijk.Error(
            f"the results {', '.join(results)} are no Dataset together ({error}): give the program a dict of arrays, "
            f"program({{{', '.join(f'{name!r}: ds[{name!r}]' for name in found)}}}), whose results are a dict"
        ) from None
