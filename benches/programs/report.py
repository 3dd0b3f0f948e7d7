"""Tables."""

from __future__ import annotations

from peers.report import duration, mean, ratio

from .race import Outcome

# Ratios: at par with the best peer, and the least that is tolerated.
LEVEL = 0.95
LEAST = 0.7


class Report:
    """Prints a line for each program, and a summary."""

    def __init__(self, contestants: list[str]):
        self.contestants = contestants
        self.outcomes: list[Outcome] = []

    def head(self) -> str:
        """The header."""
        return f"{'':<40}{''.join(f'{who:>10}' for who in self.contestants)}   times the best peer"

    def line(self, outcome: Outcome) -> str:
        """A line for a program."""
        self.outcomes.append(outcome)
        cells = [f"{self.cell(outcome, who):>10}" for who in self.contestants]
        best = outcome.best_peer()
        line = f"{outcome.program.title():<40}{''.join(cells)}   {ratio(outcome.ratio())}"
        line += f" {best[0]}" if best else ""
        return line + "".join(f"\n    {who}: {why}" for who, why in outcome.failures.items())

    def cell(self, outcome: Outcome, who: str) -> str:
        """The time of a contestant."""
        return "failed" if who in outcome.failures else duration(outcome.time(who))

    def conclusion(self) -> str:
        """The mean, the slow programs, and the failures."""
        ratios = [value for value in map(Outcome.ratio, self.outcomes) if value]
        level = sum(value >= LEVEL for value in ratios)
        lines = [
            f"geometric mean of the ratios: {ratio(mean(ratios))}",
            f"at {LEVEL} of the best peer or more: {level} of {len(ratios)}",
            f"below {LEAST}: {sum(value < LEAST for value in ratios)}",
        ]
        behind = sorted((o for o in self.outcomes if (o.ratio() or 1) < LEVEL), key=Outcome.ratio)
        for o in behind:
            who, time = o.best_peer()
            times = f"{duration(o.time('ijk'))}, {who} {duration(time)}"
            source = o.program.source().strip().replace("\n\ny", "").replace("\n", " ; ")
            lines.append(f"    {ratio(o.ratio())}  {o.program.title()} ({times}): {source}")
        wrong = [o for o in self.outcomes if "ijk" in o.failures]
        lines.append(f"without a result of ijk, or with a wrong one: {len(wrong)}")
        lines += [f"    {o.program.title()}: {o.failures['ijk']}" for o in wrong]
        return "\n".join(lines)

    def markdown(self) -> str:
        """All programs by groups."""
        lines = []
        for group in dict.fromkeys(o.program.group for o in self.outcomes):
            lines += [f"\n## {group.capitalize()}\n", f"| program | {' | '.join(self.contestants)} | ratio |"]
            lines.append("|---" * (len(self.contestants) + 2) + "|")
            for o in self.outcomes:
                if o.program.group == group:
                    times = " | ".join(self.cell(o, who) for who in self.contestants)
                    lines.append(f"| {o.program.title()} | {times} | {ratio(o.ratio())} |")
        return "\n".join(lines)

    def as_json(self) -> list[dict]:
        """All results."""
        return [
            {
                "name": o.program.title(),
                "group": o.program.group,
                "front": o.program.front(),
                "program": o.program.source(),
                "sizes": o.program.extents(),
                "least_seconds": {who: o.time(who) for who in o.rounds},
                "rounds": o.rounds,
                "ratio": o.ratio(),
                "failures": o.failures,
            }
            for o in self.outcomes
        ]
