"""Times of runs, taken the way `ijk bench` takes them."""

from __future__ import annotations

import math
import statistics
import time
from typing import Callable

# Shorter runs are timed in groups, so that reading the clock does not count.
SHORT = 20e-6
MOST = 100_000
# A first run that takes longer, including compilation, is not repeated to find the number of runs.
LONG = 0.5


def batch(run: Callable[[], object]) -> int:
    """The number of runs of a repetition, after a warm-up run."""
    if repeat(run, 1) > LONG:
        return 1
    return max(1, min(10_000, math.ceil(SHORT / max(repeat(run, 1), 1e-9))))


def repeat(run: Callable[[], object], count: int) -> float:
    """Mean seconds of some runs."""
    start = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - start) / count


def during(run: Callable[[], object], count: int, seconds: float) -> float:
    """Median time of runs that are repeated for some seconds."""
    return statistics.median(times(run, count, seconds))


def least(run: Callable[[], object], count: int, seconds: float) -> float:
    """Least time of runs that are repeated for some seconds: load of the machine only adds to times."""
    return min(times(run, count, seconds))


def times(run: Callable[[], object], count: int, seconds: float) -> list[float]:
    """Times of runs that are repeated for some seconds."""
    begin = time.perf_counter()
    found = [repeat(run, count)]
    while time.perf_counter() - begin < seconds and len(found) < MOST:
        found.append(repeat(run, count))
    return found
