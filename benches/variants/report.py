"""Tables."""

from __future__ import annotations

import collections
import math

from peers.report import duration

from .draw import text
from .race import Result, Variant


class Report:
    """Prints the results of each class, and a summary."""

    def __init__(self, bytes_per_second: float, operations_per_second: float):
        self.rates = (bytes_per_second, operations_per_second)
        self.results: list[Result] = []

    def line(self, result: Result) -> str:
        """A line for a class."""
        self.results.append(result)
        fastest = result.fastest()
        right = [v for v in result.variants if not v.problem]
        worst = max((v.ratio for v in right), default=0)
        said = f"{result.of.name:<28} {len(result.variants):>4} variants"
        if fastest:
            said += f", fastest {duration(fastest.seconds)}, worst {worst:.2f} times, {len(result.over())} over"
        wrong = len(result.variants) - len(right)
        return said + (f", {wrong} WRONG" if wrong else "")

    def bound(self, result: Result, v: Variant | None = None) -> float:
        """Lower bound of seconds, from bytes and operations, of the base program or of a variant."""
        moved = v.bytes if v else result.bytes
        return max(moved / self.rates[0], result.of.count() / self.rates[1])

    def within(self, result: Result, v: Variant) -> bool:
        """True if a slow variant is at its own lower bound."""
        return v.seconds <= 1.5 * self.bound(result, v)

    def conclusion(self, most: int) -> str:
        """Wrong results, shares, and the slowest variants with their texts."""
        every = [(r, v) for r in self.results for v in r.variants]
        wrong = [(r, v) for r, v in every if v.problem]
        timed = [(r, v) for r, v in every if v.seconds < math.inf]
        over = sorted(((r, v) for r in self.results for v in r.over()), key=lambda p: -p[1].ratio)
        excused = sum(self.within(r, v) for r, v in over)
        lines = [f"wrong results and errors: {len(wrong)} of {len(every)}"]
        lines += [f"    {r.of.name}: {v.problem}\n        {told(v)}" for r, v in wrong[:most]]
        if not timed:
            return "\n".join(lines)
        share = 1 - len(over) / max(1, len(timed))
        lines.append(
            f"within 1.5 times the fastest of their class (2 below 20 µs): {share:.2%} of {len(timed)};"
            f" of the {len(over)} others, {excused} are within 1.5 times their bound"
        )
        lines += self.rules_of(over)
        for r, v in over[:most]:
            lines.append(
                f"{v.ratio:7.2f}  {r.of.name}: {duration(v.seconds)}, fastest {duration(r.fastest().seconds)},"
                f" bound {duration(self.bound(r, v))}\n        {told(v)}\n        by {', '.join(v.program.rules) or 'nothing'}"
                f"\n        fastest: {told(r.fastest())}"
            )
        return "\n".join(lines)

    def rules_of(self, over: list) -> list[str]:
        """For each rule, its uses in slow variants and in all."""
        used = collections.Counter(x for r in self.results for v in r.variants for x in set(v.program.rules))
        slow = collections.Counter(x for _, v in over for x in set(v.program.rules))
        parts = sorted(slow, key=lambda name: -slow[name] / used[name])
        return ["rules of slow variants: " + ", ".join(f"{x} {slow[x]} of {used[x]}" for x in parts)]

    def as_json(self) -> list[dict]:
        """All results."""
        return [
            {
                "class": r.of.name,
                "bound_seconds": self.bound(r),
                "variants": [
                    {
                        "program": v.source or text(v.program),
                        "front": v.program.front,
                        "views": views(v),
                        "rules": v.program.rules,
                        "seconds": None if v.problem else v.seconds,
                        "ratio": None if v.problem else v.ratio,
                        "bound_seconds": self.bound(r, v),
                        "problem": v.problem,
                    }
                    for v in r.variants
                ],
            }
            for r in self.results
        ]


def views(v: Variant) -> str:
    """Layouts of arguments that are not contiguous."""
    said = [f"{x.name} {' '.join(str(part) for part in view)}" for x in v.program.inputs for view in x.views]
    return ", ".join(said)


def told(v: Variant) -> str:
    """The program in a line."""
    source = (v.source or text(v.program)).strip().replace("\n\n", " ;; ").replace("\n", " ; ")
    return f"[{v.program.front}] {source}" + (f"   ({views(v)})" if views(v) else "")
