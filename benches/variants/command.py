"""The command line."""

from __future__ import annotations

import argparse
import json
import re
import time
from pathlib import Path

from peers.command import machine, pin

from .classes import CLASSES
from .draw import singles, variants
from .rules import RULES

ABOUT = """Finds spellings of programs that are slower than others of the same meaning.

    cd benches && ../target/peers/bin/python -m variants --count 2000 --seed 1

Variants are drawn from the seed, the same in every run. Results of each class are compared with a reference in double
precision; then all variants of the class are timed in turn, and what is over the limit once more. A variant
is over if it takes more than 1.5 times as long as the fastest of its class, or 2 times where that is below 20 µs."""


def main() -> None:
    """Runs the classes asked for."""
    args = arguments()
    chosen = [one for one in CLASSES if re.search(args.only, one.name)]
    if args.list:
        return listing(chosen)
    threads = pin(args.threads)
    import ijk

    from .guard import guarded
    from .race import Rules, bandwidth, peak
    from .report import Report

    rules = Rules(args.rounds, args.seconds, threads)
    report = Report(bandwidth(), peak(rules.engine()))
    rates = f"{report.rates[0] / 1e9:.0f} GB/s, {report.rates[1] / 1e9:.0f} GFLOP/s"
    print(f"{machine()}, threads: {threads}, {rates}, ijk {ijk.__version__}, seed {args.seed}", flush=True)
    start, each = time.time(), max(1, -(-args.count // max(1, len(chosen))))
    try:
        for one in chosen:
            programs = singles(one, args.seed) if args.singly else variants(one, each, args.seed)
            result = guarded(one, programs, rules, not args.untimed)
            print(report.line(result), flush=True)
    except KeyboardInterrupt:
        print("interrupted")
    total = sum(len(r.variants) for r in report.results)
    print(f"{total} variants of {len(report.results)} classes in {time.time() - start:.0f} s")
    print(report.conclusion(args.worst))
    if args.json:
        found = {"machine": machine(), "threads": threads, "seed": args.seed, "rates": report.rates}
        args.json.write_text(json.dumps(found | {"classes": report.as_json()}, indent=1) + "\n")


def listing(chosen: list) -> None:
    """Base programs and rules."""
    for one in chosen:
        print(f"{one.name} ({one.sizes})\n    " + one.source.replace("\n", "\n    "))
    for name, rule in RULES.items():
        print(f"{name}")


def arguments() -> argparse.Namespace:
    """The command line."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="variants", description=ABOUT, formatter_class=form)
    add = parser.add_argument
    add("--count", type=int, default=2000, metavar="N", help="of variants in all (default: 2000)")
    add("--singly", action="store_true", help="instead of drawing, one variant by each rule: shows which are to blame")
    add("--seed", type=int, default=1, help="default: 1")
    add("--only", default="", metavar="REGEX", help="classes whose name has a match")
    add("--threads", type=int, default=0, metavar="N", help="default: all")
    add("--rounds", type=int, default=5, metavar="N", help="default: 5")
    add("--seconds", type=float, default=0.002, help="of a variant's turn in a round")
    add("--untimed", action="store_true", help="compare results alone")
    add("--worst", type=int, default=40, metavar="N", help="how many to print (default: 40)")
    add("--json", type=Path, metavar="FILE", help="write everything that was found")
    add("--list", action="store_true", help="print the base programs and the rules, and end")
    return parser.parse_args()
