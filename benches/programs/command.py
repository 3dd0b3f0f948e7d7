"""The command line."""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path

from peers.command import machine, pin

from .contestants import contestants
from .drawn import drawn
from .program import PEERS
from .race import Rules, names, race
from .report import Report
from .table import all_programs

ABOUT = """Real programs in ijk and in the libraries that people use, side by side in one process.

ijk is the Python package, so that calls count as they do for users:
    python3 -m venv target/peers && target/peers/bin/pip install -r benches/requirements.txt .
    cd benches && ../target/peers/bin/python -m programs --threads 2

Results are compared with NumPy's in double precision. Every program runs in rounds, each contestant a
little while in each; its time is the least of all. A ratio above 1 says that ijk is faster
than the fastest peer. `--drawn 300 --seed 7` races einsums that no table names. numba, pykeops, pytblis and sesum are in the race where they are installed."""


def main() -> None:
    """Runs the programs asked for."""
    args = arguments()
    known = drawn(args.seed, args.drawn) if args.drawn else all_programs()
    asked = [p for p in known if re.search(args.only, f"{p.group}: {p.name}")]
    programs = [p.scaled(factor) if factor != 1 else p for factor in args.sizes for p in asked]
    if args.list:
        return print("\n\n".join(f"{p.group}: {p.title()}\n{p.source().strip()}" for p in programs))
    threads = pin(args.threads)
    who, missing = contestants(["ijk", *args.peers], threads)
    for name, why in missing.items():
        print(f"{name} is not in the race: {why}")
    report = Report(names(who))
    versions = {one.name: one.version for one in who}
    print(f"{machine()}, threads: {threads}; " + ", ".join(f"{k} {v}" for k, v in versions.items()))
    print(report.head(), flush=True)
    start = time.time()
    try:
        for program in programs:
            outcome = race(program, who, Rules(args.rounds, args.seconds, args.budget))
            print(report.line(outcome), flush=True)
            # After each program, since a fault in a library ends the process.
            write(args.json, report, {"threads": threads, "versions": versions, "rounds": args.rounds})
    except KeyboardInterrupt:
        print("interrupted")
    print(f"{len(report.outcomes)} programs in {time.time() - start:.0f} s\n{report.conclusion()}")
    if args.markdown:
        print(report.markdown())


def write(file: Path | None, report: Report, how: dict) -> None:
    """All results so far."""
    if file:
        found = {"machine": machine()} | how | {"programs": report.as_json()}
        file.write_text(json.dumps(found, indent=1) + "\n")


def arguments() -> argparse.Namespace:
    """The command line."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="programs", description=ABOUT, formatter_class=form)
    commas = lambda text: text.split(",")
    factors = lambda text: [float(part) for part in text.split(",")]
    add = parser.add_argument
    add("--only", default="", metavar="REGEX", help="programs whose `group: name` has a match")
    add("--drawn", type=int, default=0, metavar="N", help="race so many einsums drawn at random, and no others")
    add("--seed", type=int, default=0, help="of the einsums that are drawn (default: 0)")
    add("--sizes", type=factors, default=[1.0], metavar="F,…", help="extents so many times as large")
    add("--threads", type=int, default=0, metavar="N", help="default: all")
    add("--rounds", type=int, default=5, metavar="N", help="default: 5")
    add("--seconds", type=float, default=0.03, help="of a contestant's turn in a round")
    add("--budget", type=float, default=20, metavar="SECONDS",
        help="no further round of a program begins after so many (default: 20)")
    add("--peers", type=commas, default=list(PEERS), help="some of them, with commas between")
    add("--json", type=Path, metavar="FILE", help="write everything that was found")
    add("--markdown", action="store_true", help="print tables in Markdown, too")
    add("--list", action="store_true", help="print the programs and end")
    return parser.parse_args()
