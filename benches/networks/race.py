"""Races ijk against PyTorch and JAX on tensor networks of the kinds that einsum is used for.

    python3 -m venv target/peers && target/peers/bin/pip install -r benches/requirements.txt .
    cd benches && ../target/peers/bin/python -m networks.race [--only 'regular*'] [--threads 2]

Every network is computed along the path that ijk finds, and along a path that each contestant finds itself,
including the time of its search. PyTorch multiplies pair by pair with torch.einsum, or by opt_einsum: the
faster counts. JAX does the same, compiled; its compilation is reported separately. Peers search with
opt_einsum, `auto` or `auto-hq`: the smaller total counts. Results are compared. A time is the least of the
medians of all rounds; ijk is faster where a ratio is above 1.
"""

import argparse
import fnmatch
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from peers.command import machine, pin
from peers.race import PAUSE, difference
from peers.report import duration, mean, ratio
from peers.runners import Child, Failed, environment

from .worker import CONTESTANTS

NETWORKS = [
    "chain_100", "chain_100_b", "mps_20", "mps_200", "mps_200_tiny", "mera_16", "mera_32", "grid_10x10",
    "grid_15x8", "factors_100", "factors_300", "language_4", "language_12", "language_40", "brackets_16",
    "brackets_100", "lattice_8x8", "lattice_12x12", "regular_50", "regular_50_open", "regular_100",
    "regular_100_mixed", "regular_100_open",
]
PEERS = [name for name in CONTESTANTS if name != "ijk"]
# float32, and a few hundred products one after another.
TOLERANCE = 1e-3


class Contestant:
    """A process that answers requests."""

    def __init__(self, name, threads, limit):
        self.name = name
        command = [sys.executable, "-m", "networks.worker", name, str(threads)]
        self.child = Child(command, environment(threads), limit)
        self.child.answer()

    def ask(self, do, **more):
        """The answer to a request."""
        return self.child.ask(json.dumps({"do": do, **more}))


class Outcome:
    """Outcome of a network: seconds of runs by contestant and way, and of the compilation before
    them."""

    def __init__(self, name):
        self.name, self.steps = name, 0
        self.runs, self.before, self.failures = {}, {}, {}

    def least(self, who, mode, compilation=False):
        """The total of the best way of a contestant."""
        def total(way):
            return min(self.runs[who][way]) + compilation * self.before[who][way]

        ways = [way for way in self.runs.get(who, {}) if way.startswith(mode)]
        return min((total(way) for way in ways if self.runs[who][way]), default=None)

    def ratio(self, who, mode, compilation=False):
        """The speed of ijk relative to a peer."""
        ours, theirs = self.least("ijk", mode), self.least(who, mode, compilation)
        return theirs / ours if ours and theirs else None


def race(name, contestants, rules):
    """Runs a network in every contestant."""
    outcome = Outcome(name)
    path = None
    for who in contestants:
        try:
            who.ask("load", name=name)
            if path is None:
                path = who.ask("path")["path"]
                outcome.steps = len(path)
            ways = who.ask("along", path=path)["ways"]
            if rules.found:
                ways |= who.ask("found")["ways"]
            outcome.before[who.name] = ways
            outcome.runs[who.name] = {way: [] for way in ways}
        except Failed as failure:
            outcome.failures[who.name] = str(failure)
    compare(outcome, contestants)
    take_turns(outcome, contestants, rules)
    return outcome


def compare(outcome, contestants):
    """Excludes contestants whose results differ from those of ijk along the path."""
    expected = None
    with tempfile.TemporaryDirectory(prefix="ijk-networks-") as folder:
        file = Path(folder) / "result.npy"
        for who in contestants:
            for way in list(outcome.runs.get(who.name, ())):
                who.ask("result", way=way, file=str(file))
                found = np.load(file)
                expected = found if expected is None else expected
                problem = difference(expected, found, TOLERANCE)
                if problem:
                    outcome.failures[f"{who.name}, {way}"] = problem.replace("NumPy", "ijk")
                    del outcome.runs[who.name][way]


def take_turns(outcome, contestants, rules):
    """All rounds; the first contestant of a round is the last one of the next."""
    turns = [(who, way) for who in contestants for way in outcome.runs.get(who.name, ())]
    begin = time.monotonic()
    for number in range(rules.rounds):
        if number and time.monotonic() - begin > rules.budget:
            break
        shift = number % max(1, len(turns))
        for who, way in turns[shift:] + turns[:shift]:
            time.sleep(PAUSE)
            seconds = who.ask("run", way=way, seconds=rules.seconds)["seconds"]
            outcome.runs[who.name][way].append(seconds)


HEAD = ["network", "steps", "ijk", "a step", "PyTorch", "JAX", "ratios"]
HEAD += ["ijk, total", "PyTorch", "JAX", "compilation besides", "ratios"]


def table(outcomes):
    """The results in Markdown."""
    lines = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    for o in outcomes:
        own = o.least("ijk", "path")
        cells = [o.name, str(o.steps), duration(own), duration(own and own / max(o.steps, 1))]
        cells += [duration(o.least(peer, "path")) for peer in PEERS]
        cells += [both(o.ratio(peer, "path") for peer in PEERS)]
        cells += [duration(o.least(who, "found")) for who in ("ijk", *PEERS)]
        totals = [o.least("jax", "found", compilation) for compilation in (True, False)]
        cells += [duration(totals[0] - totals[1] if totals[0] else None)]
        cells += [both(o.ratio(peer, "found") for peer in PEERS)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def both(ratios):
    """The ratios to both peers."""
    return ", ".join(map(ratio, ratios))


def conclusion(outcomes):
    """Means, sums, and networks where ijk is slower."""
    lines = []
    for mode, what in (("path", "the same path"), ("found", "path found, search and run")):
        for peer in PEERS:
            ratios = [o.ratio(peer, mode) for o in outcomes]
            behind = [o.name for o, value in zip(outcomes, ratios) if value and value < 1]
            done = [o for o, value in zip(outcomes, ratios) if value]
            sums = [sum(o.least(who, mode) for o in done) for who in ("ijk", peer)]
            total = ratio(sums[1] / sums[0] if sums[0] else None)
            said = f"{what}, {peer}: geometric mean {ratio(mean(ratios))}, of all together {total}"
            lines.append(f"{said}; behind: {', '.join(behind) or 'nowhere'}")
    compiled = mean([o.ratio("jax", "found", True) for o in outcomes])
    lines.append(f"path found, jax with compilation: geometric mean {ratio(compiled)}")
    failures = [f"    {o.name}, {who}: {why}" for o in outcomes for who, why in o.failures.items()]
    return "\n".join([*lines, *failures])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default="*", help="names of networks: patterns with commas between")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="default: all")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="default: 5")
    parser.add_argument("--seconds", type=float, default=0.05, help="of a way's turn in a round")
    parser.add_argument("--budget", type=float, default=20, metavar="SECONDS",
                        help="no further round of a network begins after so many (default: 20)")
    parser.add_argument("--limit", type=float, default=300, metavar="SECONDS", help="for one answer")
    parser.add_argument("--peers", default=",".join(PEERS), help="some of them, with commas between")
    parser.add_argument("--given", action="store_false", dest="found", help="only along the same path")
    options = parser.parse_args()
    patterns = options.only.split(",")
    names = [name for name in NETWORKS if any(fnmatch.fnmatch(name, like) for like in patterns)]
    if not names:
        sys.exit(f"no network is like {options.only}: there are {', '.join(NETWORKS)}")
    threads = pin(options.threads)
    who = ["ijk", *(peer for peer in PEERS if peer in options.peers.split(","))]
    contestants = [Contestant(name, threads, options.limit) for name in who]
    print(f"{machine()}, threads: {threads}\n{table([])}", flush=True)
    outcomes = []
    for name in names:
        outcomes.append(race(name, contestants, options))
        print(table(outcomes[-1:]).splitlines()[-1], flush=True)
    print(f"\n{conclusion(outcomes)}")


if __name__ == "__main__":
    main()
