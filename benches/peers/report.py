"""Tables."""

from __future__ import annotations

import math

from .race import Outcome

MODES = ("fresh", "reused")


def duration(seconds: float | None) -> str:
    """Three digits in a unit that fits."""
    if seconds is None:
        return "–"
    for unit, scale in (("s", 1), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= 0.9995 * scale:
            return f"{digits(seconds / scale)} {unit}"
    return f"{digits(seconds * 1e9)} ns"


def digits(value: float) -> str:
    """Three of them, and no exponent."""
    return f"{value:.0f}" if value >= 999.5 else f"{value:.3g}"


def ratio(value: float | None) -> str:
    """With two decimals."""
    return "–" if value is None else f"{value:.2f}"


class Report:
    """Prints a line for each case, and a summary."""

    def __init__(self, contestants: list[str]):
        self.contestants = contestants
        self.outcomes: list[Outcome] = []

    def head(self) -> str:
        """The header."""
        cells = [f"{who:>20}" for who in self.contestants]
        return f"{'new memory / reused':<34}{''.join(cells)}   times the best peer"

    def line(self, outcome: Outcome) -> str:
        """The outcome of a case."""
        self.outcomes.append(outcome)
        cells = [f"{self.cell(outcome, who):>20}" for who in self.contestants]
        ratios = " / ".join(ratio(outcome.ratio(mode)) for mode in MODES)
        line = f"{outcome.case.name:<34}{''.join(cells)}   {ratios}{self.rate(outcome)}"
        notes = [f"\n    {who}: {why}" for who, why in outcome.failures.items()]
        return line + "".join(notes)

    def cell(self, outcome: Outcome, who: str) -> str:
        """Both times of a contestant."""
        if who not in outcome.times:
            return "failed" if who in outcome.failures else "–"
        fresh, reused = (outcome.times[who].get(mode) for mode in MODES)
        return f"{duration(fresh)} / {duration(reused)}"

    def rate(self, outcome: Outcome) -> str:
        """Rate of ijk relative to the peak of the machine, and the goal."""
        time = outcome.time("ijk", "reused")
        if not time:
            return ""
        said = f"   {digits(outcome.case.count() / time / 1e9)} G/s"
        if outcome.bound:
            said += f", {outcome.bound['bound_seconds'] / time:.0%} of the {outcome.bound['bound']} bound"
        goal = outcome.goal()
        return f"{said}; goal {duration(goal)}{' met' if time <= goal else ''}" if goal else said

    def conclusion(self) -> str:
        """Means, and the slowest cases."""
        lines = []
        contractions = [o for o in self.outcomes if o.case.contraction]
        for what, outcomes in (("contractions", contractions), ("all cases", self.outcomes)):
            means = [mean([o.ratio(mode) for o in outcomes]) for mode in MODES]
            said = " / ".join(ratio(value) for value in means)
            lines.append(f"geometric mean of the ratios, {what}: {said} (new memory / reused)")
        for mode in MODES:
            lines += self.behind(mode)
        unmet = [o for o in self.outcomes if (o.goal() or math.inf) < (o.time("ijk", "reused") or 0)]
        lines.append(f"goals not met: {', '.join(o.case.name for o in unmet) or 'none'}")
        failed = [o for o in self.outcomes if "ijk" in o.failures]
        lines.append(f"without a result of ijk: {len(failed)}")
        lines += [f"    {o.case.name}: {o.failures['ijk']}" for o in failed]
        return "\n".join(lines)

    def behind(self, mode: str) -> list[str]:
        """Cases in which a peer is faster, the slowest first."""
        slower = [(o.ratio(mode), o) for o in self.outcomes if (o.ratio(mode) or 1) < 1]
        slower.sort(key=lambda pair: pair[0])
        where = "new memory" if mode == "fresh" else "reused memory"
        lines = [f"behind with {where}: {len(slower)} of {len(self.outcomes)}"]
        for value, outcome in slower:
            lines.append(f"    {value:.2f}  {outcome.case.name} ({outcome.best_peer(mode)[0]})")
        return lines

    def markdown(self) -> str:
        """The tables of docs/performance/peers.md."""
        names = " | ".join(self.contestants)
        lines = [f"| case | {names} | ratio |", "|---" * (len(self.contestants) + 2) + "|"]
        for outcome in self.outcomes:
            # One time each: with reused memory, if the contestant can reuse it.
            times = " | ".join(duration(outcome.time(who, "reused")) for who in self.contestants)
            lines.append(f"| {outcome.case.name} | {times} | {ratio(outcome.ratio('reused'))} |")
        return "\n".join(lines)

    def as_json(self) -> list[dict]:
        """All results."""
        return [
            {
                "name": o.case.name,
                "group": o.case.group,
                "program": o.case.program(),
                "sizes": o.case.sizes,
                "dtype": o.case.dtype,
                "operations": o.case.count(),
                "contraction": o.case.contraction,
                "median_seconds": o.times,
                "least_and_most_seconds": o.spread,
                "ratio": {mode: o.ratio(mode) for mode in MODES},
                "bound": o.bound,
                "goal_seconds": o.goal(),
                "failures": o.failures,
            }
            for o in self.outcomes
        ]


def mean(ratios: list[float | None]) -> float | None:
    """The geometric mean of those there are."""
    logs = [math.log(value) for value in ratios if value]
    return math.exp(sum(logs) / len(logs)) if logs else None
