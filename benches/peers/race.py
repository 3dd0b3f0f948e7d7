"""Rounds of all contestants, and comparison of their results."""

from __future__ import annotations

import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from .case import Case
from .runners import Failed

# The greatest difference allowed, of the greatest magnitude of NumPy's result.
TOLERANCE = {"float32": 1e-4, "float64": 1e-9}
# Goals are given for a machine with these giga-operations (float32) and gigabytes read in a second, and
# hold on another in proportion.
PEAK = 535
READ = 67
# Spinning threads of a contestant are asleep after this time.
PAUSE = 0.04


@dataclass
class Outcome:
    """Outcome of a case: medians by contestant and mode, and failures."""

    case: Case
    times: dict[str, dict[str, float]] = field(default_factory=dict)
    spread: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    # Work and rates of the machine according to `ijk bench`.
    bound: dict = field(default_factory=dict)

    def goal(self) -> float | None:
        """The goal in seconds, on this machine."""
        kind, value = self.case.goal or (None, None)
        if kind == "seconds":
            return value
        if not self.bound or not kind:
            return None
        if kind == "peak":
            return self.case.count() / (value * 1e9 / PEAK * self.bound["peak_giga_operations_per_second"])
        return value * 1e-3 * READ / self.bound["read_gigabytes_per_second"]

    def time(self, who: str, mode: str) -> float | None:
        """The median; that with new memory for a contestant that cannot reuse memory."""
        times = self.times.get(who, {})
        return times.get(mode, times.get("fresh"))

    def best_peer(self, mode: str) -> tuple[str, float] | None:
        """The fastest besides ijk."""
        times = [(self.time(who, mode), who) for who in self.times if who != "ijk"]
        return min(((who, time) for time, who in times), key=lambda pair: pair[1], default=None)

    def ratio(self, mode: str) -> float | None:
        """The speed of ijk relative to the best peer."""
        ours, best = self.time("ijk", mode), self.best_peer(mode)
        return best[1] / ours if ours and best else None


@dataclass
class Rules:
    """Rounds and limits of a race."""

    rounds: int = 9
    seconds: float = 0.05
    # After so many seconds no further round of a case begins.
    budget: float = 120


def race(case: Case, contestants: list, rules: Rules) -> Outcome:
    """Runs a case in every contestant."""
    outcome = Outcome(case)
    with tempfile.TemporaryDirectory(prefix="ijk-peers-") as folder:
        folder = Path(folder)
        files = write_inputs(case, folder)
        modes = {}
        for who in contestants:
            try:
                modes[who.name] = who.load(case, files)
                who.result(folder / f"result-{who.name}.npy")
            except Failed as failure:
                modes.pop(who.name, None)
                outcome.failures[who.name] = str(failure)
        outcome.bound = next((w.work for w in contestants if w.name == "ijk" and w.work), {})
        compare(case, folder, outcome, modes)
        try:
            take_turns(contestants, modes, rules, outcome)
        finally:
            for who in contestants:
                drop(who)
    return outcome


def drop(who) -> None:
    """Frees the arrays of a contestant."""
    try:
        who.drop()
    except Failed:
        pass


def write_inputs(case: Case, folder: Path) -> list[Path]:
    """The arguments as files."""
    import numpy as np

    files = []
    for number in range(len(case.inputs)):
        files.append(folder / f"{number}.npy")
        np.save(files[-1], case.numbers(number))
    return files


def compare(case: Case, folder: Path, outcome: Outcome, modes: dict) -> None:
    """Excludes contestants whose results differ from those of NumPy."""
    import numpy as np

    path = folder / "result-numpy.npy"
    if not path.exists():
        return
    expected = np.load(path)
    for who in [who for who in modes if who != "numpy"]:
        found = np.load(folder / f"result-{who}.npy")
        problem = difference(expected, found, case.tolerance or TOLERANCE[case.dtype])
        if problem:
            outcome.failures[who] = problem
            del modes[who]


def difference(expected, found, tolerance: float) -> str | None:
    """The fault of a result, or None."""
    import numpy as np

    if expected.shape != found.shape:
        return f"differs: its shape is {found.shape}, NumPy's is {expected.shape}"
    if expected.dtype.kind in "biu":
        count = int(np.count_nonzero(expected != found))
        return f"differs from NumPy in {count} elements" if count else None
    if expected.size == 0:
        return None
    most = np.max(np.abs(expected))
    worst = np.max(np.abs(expected - found))
    if not worst <= tolerance * most:
        return f"differs from NumPy by {worst:.3g} where the greatest magnitude is {most:.3g}"
    return None


def take_turns(contestants: list, modes: dict, rules: Rules, outcome: Outcome) -> None:
    """All rounds; the first contestant of a round is the last one of the next."""
    turns = [(who, mode) for who in contestants for mode in modes.get(who.name, [])]
    times = {(who.name, mode): [] for who, mode in turns}
    begin = time.monotonic()
    for number in range(rules.rounds):
        if number and time.monotonic() - begin > rules.budget:
            break
        shift = number % max(1, len(turns))
        for who, mode in turns[shift:] + turns[:shift]:
            if who.name in outcome.failures:
                continue
            time.sleep(PAUSE)
            try:
                times[who.name, mode].append(who.run(mode, rules.seconds))
            except Failed as failure:
                outcome.failures[who.name] = str(failure)
    for (who, mode), found in times.items():
        if found and who not in outcome.failures:
            outcome.times.setdefault(who, {})[mode] = statistics.median(found)
            outcome.spread.setdefault(who, {})[mode] = [min(found), max(found)]
