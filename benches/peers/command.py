"""The command line."""

from __future__ import annotations

import argparse
import fnmatch
import importlib.util
import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path

from .case import Case
from .cases import all_cases
from .race import Rules, race
from .report import Report
from .runners import ROOT, Failed, Ijk, Peer

PEERS = ("numpy", "torch", "jax")
ABOUT = """ijk against NumPy, PyTorch and JAX, side by side in one run, with the same number of threads.

The peers come from a virtual environment, whose Python runs this script:
    python3 -m venv target/peers && target/peers/bin/pip install -r benches/requirements.txt
    target/peers/bin/python benches/peers.py --threads 2

Every case runs in rounds, each contestant a little while in each, and medians over the rounds are
told: with new memory for the result of each run, and with memory reused. Results are compared with
NumPy's first. A ratio above 1 says that ijk is faster than the fastest peer. A peer that has no way
to reuse memory counts with new memory there; what it is allowed to give as a view, it does."""


def main() -> None:
    """Runs the cases asked for."""
    args = arguments()
    cases = [case.scaled(args.scale) for case in all_cases() if asked(case, args.only)]
    if args.list:
        return print("\n".join(f"{case.group:<8} {case.name}: {case.program()}" for case in cases))
    if importlib.util.find_spec("numpy") is None:
        sys.exit("NumPy, which makes the data, is missing: pip install -r benches/requirements.txt")
    if not cases:
        sys.exit(f"no case is like {', '.join(args.only)}: --list tells their names")
    threads = pin(args.threads)
    contestants = [Ijk(binary(args.ijk), threads, args.limit), *peers(threads, args)]
    report = Report([who.name for who in contestants])
    versions = {who.name: who.version for who in contestants}
    print(f"{machine()}, threads: {threads}; " + ", ".join(f"{k} {v}" for k, v in versions.items()))
    print(report.head(), flush=True)
    start = time.time()
    # An interrupted race reports finished cases and removes its files.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for case in cases:
            outcome = race(case, contestants, Rules(args.rounds, args.seconds, args.budget))
            print(report.line(outcome), flush=True)
    except KeyboardInterrupt:
        print("interrupted")
    finally:
        for who in contestants:
            who.close()
    print(f"{len(report.outcomes)} cases in {time.time() - start:.0f} s\n{report.conclusion()}")
    if args.markdown:
        print(f"\n{report.markdown()}")
    if args.json:
        found = {"machine": machine(), "threads": threads, "versions": versions}
        found |= {"rounds": args.rounds, "scale": args.scale, "cases": report.as_json()}
        args.json.write_text(json.dumps(found, indent=1) + "\n")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=ABOUT, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN",
                        help="cases whose name or group is like this (`tccg`, `*softmax*`); may be repeated")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="default: all")
    parser.add_argument("--rounds", type=int, default=9, metavar="N", help="default: 9")
    parser.add_argument("--seconds", type=float, default=0.05, help="of a contestant's turn in a round")
    parser.add_argument("--budget", type=float, default=120, metavar="SECONDS",
                        help="no further round of a case begins after so many (default: 120)")
    parser.add_argument("--scale", type=float, default=1, metavar="F", help="extents so many times as large")
    parser.add_argument("--limit", type=float, default=120, metavar="SECONDS", help="for one answer")
    parser.add_argument("--peers", default=",".join(PEERS), help="some of them, with commas between")
    parser.add_argument("--ijk", type=Path, metavar="PATH", help="a binary, instead of building one")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was found")
    parser.add_argument("--markdown", action="store_true", help="print the README's table, too")
    parser.add_argument("--list", action="store_true", help="print the cases and end")
    args = parser.parse_args()
    for peer in args.peers.split(","):
        if peer not in PEERS:
            parser.error(f"there is no peer {peer}: choose of {', '.join(PEERS)}")
    return args


def asked(case: Case, patterns: list[str]) -> bool:
    """True if a case is selected."""
    like = lambda pattern: fnmatch.fnmatch(case.name, pattern) or case.group == pattern
    return not patterns or any(map(like, patterns))


def pin(threads: int) -> int:
    """Restricts this process and its children to some processors: JAX starts as many threads."""
    if not hasattr(os, "sched_setaffinity"):
        return threads or os.cpu_count() or 1
    available = sorted(os.sched_getaffinity(0))
    threads = min(threads or len(available), len(available))
    os.sched_setaffinity(0, available[:threads])
    return threads


def binary(given: Path | None) -> Path:
    """The command `ijk`, built if none is given."""
    if given:
        return given.resolve()
    build = ["cargo", "build", "--release", "--quiet", "-p", "ijk-cli", "--message-format=json"]
    built = subprocess.run(build, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        sys.exit("ijk does not build: see above, or name a binary by --ijk")
    messages = (json.loads(line) for line in built.stdout.splitlines() if line.startswith("{"))
    paths = [m["executable"] for m in messages if m.get("executable")]
    return Path(paths[-1])


def peers(threads: int, args: argparse.Namespace) -> list[Peer]:
    """The available contestants; prints a note about others."""
    found = []
    for name in args.peers.split(","):
        try:
            found.append(Peer(name, threads, args.limit))
        except Failed as failure:
            print(f"{name} is not in the race: {failure}")
    return found


def machine() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
