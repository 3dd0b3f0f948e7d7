"""Rounds of all contestants, and comparison of their results."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from peers.clock import batch, least
from peers.race import PAUSE, difference

from .contestants import Absent, Numpy
from .program import PEERS, Program


@dataclass
class Outcome:
    """Outcome of a program: the least times of the rounds by contestant, and their failures."""

    program: Program
    rounds: dict[str, list[float]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def time(self, who: str) -> float | None:
        """The least time: load of the machine only adds to times."""
        return min(self.rounds.get(who, ()), default=None)

    def best_peer(self) -> tuple[str, float] | None:
        """The fastest besides ijk."""
        times = [(self.time(who), who) for who in self.rounds if who != "ijk"]
        return min(((who, time) for time, who in times), key=lambda pair: pair[1], default=None)

    def ratio(self) -> float | None:
        """The speed of ijk relative to the best peer."""
        ours, best = self.time("ijk"), self.best_peer()
        return best[1] / ours if ours and best else None


@dataclass
class Rules:
    """Rounds and limits of a race."""

    rounds: int = 5
    seconds: float = 0.03
    # After so many seconds no further round of a program begins.
    budget: float = 20


def race(program: Program, who: list[Numpy], rules: Rules) -> Outcome:
    """Runs a program in every contestant."""
    outcome = Outcome(program)
    data = program.data()
    expected = reference(program, data)
    runs = {}
    for one in who:
        try:
            run = one.ready(program, data)
            problem = difference(expected, alike(expected, one.array(run())), program.tolerance)
        except Absent:
            continue
        except Exception as error:
            problem = f"{type(error).__name__}: {str(error)[:300]}"
        if problem:
            outcome.failures[one.name] = problem.replace("NumPy", "the reference")
        else:
            runs[one.name] = run
    take_turns(runs, rules, outcome)
    return outcome


def reference(program: Program, data: dict) -> np.ndarray:
    """NumPy's result in double precision."""
    double = {k: x.astype(np.float64) if x.dtype == np.float32 else x for k, x in data.items()}
    return np.asarray(Numpy(1).ready(program, double)())


def alike(expected: np.ndarray, found: np.ndarray) -> np.ndarray:
    """A result in the kind of the reference, whose precision differs."""
    return found.astype(expected.dtype) if expected.dtype.kind == "f" else found


def take_turns(runs: dict, rules: Rules, outcome: Outcome) -> None:
    """All rounds; the first contestant of a round is the last one of the next."""
    turns = list(runs)
    batches = {who: batch(run) for who, run in runs.items()}
    begin = time.monotonic()
    for number in range(rules.rounds):
        if number and time.monotonic() - begin > rules.budget:
            break
        shift = number % max(1, len(turns))
        for who in turns[shift:] + turns[:shift]:
            time.sleep(PAUSE)
            seconds = least(runs[who], batches[who], rules.seconds)
            outcome.rounds.setdefault(who, []).append(seconds)


def names(who: list[Numpy]) -> list[str]:
    """Contestants in the order of the tables."""
    there = {one.name for one in who}
    return [name for name in ("ijk", *PEERS) if name in there]
