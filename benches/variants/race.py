"""All variants of a class in turn."""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from dataclasses import dataclass, field

import numpy as np

import ijk
from peers.clock import least, repeat
from peers.race import difference

from .classes import Class
from .data import touched
from .reference import evaluate
from .run import Arrays, as_base, ready
from .tree import Program, letters

TOLERANCE = 1e-4
# Below this time another ratio is allowed, since the overhead of calls matters.
SHORT, SHORT_LIMIT, LIMIT = 20e-6, 2.0, 1.5
# A slower variant is certainly a cliff: it runs once.
LONG = 0.2
# Factor of the number of rounds of a second look.
AGAIN = 3


@functools.cache
def engine(threads: int):
    """An engine with a number of threads."""
    return ijk.Engine(threads=threads)


@dataclass
class Variant:
    """A program and its outcome."""

    program: Program
    source: str = ""
    run: object = None
    problem: str | None = None
    seconds: float = math.inf
    ratio: float = math.nan
    # Bytes that it moves at least, with whole cache lines of arrays with gaps.
    bytes: int = 0

    def limit(self, fastest: float) -> float:
        """The ratio that is allowed."""
        return SHORT_LIMIT if fastest < SHORT else LIMIT


@dataclass
class Result:
    """Outcome of a class."""

    of: Class
    variants: list[Variant] = field(default_factory=list)
    # Bytes that the base program moves at least.
    bytes: int = 0

    def fastest(self) -> Variant | None:
        """The one that the others are compared with."""
        timed = [v for v in self.variants if v.seconds < math.inf]
        return min(timed, key=lambda v: v.seconds, default=None)

    def over(self) -> list[Variant]:
        """Those beyond their limit, the slowest first."""
        fastest = self.fastest()
        if fastest is None:
            return []
        slow = [v for v in self.variants if v.ratio > v.limit(fastest.seconds)]
        return sorted(slow, key=lambda v: -v.ratio)


@dataclass
class Rules:
    """Rounds and limits of a race."""

    rounds: int = 5
    seconds: float = 0.002
    threads: int = 0

    def engine(self):
        """The engine of this process."""
        return engine(self.threads)


def race(
    of: Class, programs: list[Program], rules: Rules, timed: bool = True, small: bool = False, notice=None
) -> Result:
    """Compares the results of all, and times those that are right. `notice` hears which is about to run first."""
    result, arrays = Result(of, [Variant(p) for p in programs]), Arrays()
    base = of.program(small)
    given = arrays.of(base)
    expected = evaluate(base, given)
    result.bytes = moved(base, given, expected)
    for number, v in enumerate(result.variants):
        if notice:
            notice(number)
        try:
            v.run, v.source = ready(v.program, arrays.of(v.program), rules.engine())
            v.bytes = moved(v.program, arrays.of(v.program), expected)
            v.problem = wrong(expected, as_base(v.program, np.asarray(v.run())))
        except Exception as error:
            v.problem = f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
    if timed:
        take_turns([v for v in result.variants if not v.problem], rules)
        compare(result)
        # A second look tells slow variants from those disturbed by other processes.
        again = [v for v in result.over() if v.seconds < LONG]
        if again:
            more = dataclasses.replace(rules, rounds=AGAIN * rules.rounds)
            take_turns([result.fastest(), *again], more)
            compare(result)
    for v in result.variants:
        v.run = None
    return result


def moved(program: Program, given: dict[str, np.ndarray], result: np.ndarray) -> int:
    """Bytes of arguments, of the result, and twice of what calls of einsum hand on."""
    sizes = dict(program.sizes)
    between = 0
    if program.front == "einsum":
        between = sum(math.prod(sizes[letter] for letter in letters(one.target)) for one in program.statements[:-1])
    return 4 * result.size + 8 * between + sum(map(touched, given.values()))


def wrong(expected: np.ndarray, found: np.ndarray) -> str | None:
    """The fault of a result, if it has one."""
    if found.dtype != np.float32:
        return f"differs: its elements are {found.dtype}"
    problem = difference(expected, found.astype(np.float64), TOLERANCE)
    return problem.replace("NumPy", "the reference") if problem else None


def compare(result: Result) -> None:
    """Ratios to the fastest."""
    fastest = result.fastest()
    for v in result.variants:
        if v.seconds < math.inf:
            v.ratio = v.seconds / fastest.seconds


def take_turns(variants: list[Variant], rules: Rules) -> None:
    """Short rounds; the least of all times counts."""
    counts = {}
    for v in variants:
        first = repeat(v.run, 1)
        v.seconds = min(v.seconds, first)
        counts[id(v)] = max(1, min(1000, math.ceil(50e-6 / max(first, 1e-9))))
    for number in range(rules.rounds):
        shift = number * 7 % max(1, len(variants))
        for v in variants[shift:] + variants[:shift]:
            if v.seconds < LONG or number == 0:
                v.seconds = min(v.seconds, least(v.run, counts[id(v)], rules.seconds))


def bandwidth() -> float:
    """Bytes per second of copies larger than the near caches: the best of a few."""
    array = np.ones(1 << 22, np.float32)
    out = np.empty_like(array)
    return 2 * array.nbytes / min(repeat(lambda: np.copyto(out, array), 3) for _ in range(5))


def peak(engine: object) -> float:
    """Operations per second: the best of a few products of matrices."""
    a = np.ones((512, 512), np.float32)
    run = lambda: ijk.einsum("ik,kj->ij", a, a, engine=engine)
    time.sleep(0.01)
    return 2 * 512**3 / min(repeat(run, 3) for _ in range(8))
