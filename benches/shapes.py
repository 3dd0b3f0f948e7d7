#!/usr/bin/env python3
"""Products and sums of all shapes against PyTorch: finds shapes whose kernel is slow.

    cd benches && ../target/peers/bin/python shapes.py

Each form of einsum is timed with all combinations of a few extents, from three to thousands, in `f32`: what is a product
of matrices for one of them is a sum of short rows for another. Results are compared with PyTorch's.
"""

import argparse
import itertools
import json
import math
import os
import time

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np

FORMS = (
    "ij->i ij->j ij,j->i ij,i->j ij,ij->i ij,ij->j ij,jk->ik ij,kj->ik ji,jk->ik "
    "ijk->ik ijk->k bij,bj->bi bij,bi->bj ijk,k->ij ijk,j->ik ijk,i->jk bij,bjk->bik"
)
EXTENTS = (3, 8, 30, 100, 1000, 30000)

#: Elements of an array at most, and points of a form at least and at most.
ELEMENTS, POINTS = 4e6, (2e4, 3e7)


def best(call, seconds):
    """The least time of a call, in seconds."""
    call()
    least, end, count = math.inf, time.perf_counter() + seconds, 0
    while count < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
        count += 1
    return least


def shapes(form, extents):
    """All extents of a form's letters that are neither tiny nor huge, as dicts."""
    letters = sorted(set(form) - set(",->"))
    for chosen in itertools.product(extents, repeat=len(letters)):
        sizes = dict(zip(letters, chosen))
        largest = max(math.prod(sizes[x] for x in word) for word in form.replace("->", ",").split(","))
        if largest <= ELEMENTS and POINTS[0] <= math.prod(chosen) <= POINTS[1]:
            yield sizes


def race(form, sizes, engine, seconds, random):
    """What one shape takes in ijk and in PyTorch, in seconds. What is behind is timed once more."""
    import ijk
    import torch

    words = form.split("->")[0].split(",")
    arrays = [random.random([sizes[x] for x in word], dtype=np.float32) for word in words]
    tensors = [torch.from_numpy(array) for array in arrays]
    calls = [lambda: ijk.einsum(form, *arrays, engine=engine), lambda: torch.einsum(form, *tensors)]
    np.testing.assert_allclose(calls[0](), calls[1]().numpy(), rtol=1e-3)
    own, peer = (best(call, seconds) for call in calls)
    if peer < 0.95 * own:
        own, peer = (min(known, best(call, 4 * seconds)) for known, call in zip((own, peer), calls))
    return own, peer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("forms", nargs="*", default=FORMS.split(), help="such as ij,j->i")
    parser.add_argument("--extents", type=int, nargs="+", default=EXTENTS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.03, help="for each call of a shape")
    parser.add_argument("--worst", type=int, default=40, help="how many to print")
    parser.add_argument("--json", metavar="FILE", help="write everything that was found")
    options = parser.parse_args()

    import ijk
    import torch

    torch.set_num_threads(options.threads)
    engine, random = ijk.Engine(threads=options.threads), np.random.default_rng(1)
    found = []
    for form in options.forms:
        for sizes in shapes(form, options.extents):
            own, peer = race(form, sizes, engine, options.seconds, random)
            found.append({"form": form, "sizes": sizes, "ijk": own, "torch": peer, "ratio": peer / own})
    found.sort(key=lambda one: one["ratio"])
    if options.json:
        with open(options.json, "w") as file:
            json.dump(found, file, indent=1)
    mean = math.exp(sum(math.log(one["ratio"]) for one in found) / len(found)) if found else math.nan
    behind = [sum(one["ratio"] < limit for one in found) for limit in (0.95, 0.7)]
    print(f"{len(found)} shapes: geometric mean {mean:.2f}, {behind[0]} below 0.95, {behind[1]} below 0.7")
    for one in found[: options.worst]:
        sizes = " ".join(f"{letter}={extent}" for letter, extent in one["sizes"].items())
        times = f"{one['ijk'] * 1e6:.1f} µs, torch {one['torch'] * 1e6:.1f} µs"
        print(f"{one['ratio']:6.2f}  {one['form']:14} {sizes:32} {times}")


if __name__ == "__main__":
    main()
