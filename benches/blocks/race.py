"""Races ijk against Dask on arrays in Zarr stores, from disk to disk.

    python3 -m venv target/peers && target/peers/bin/pip install -r benches/requirements.txt
    cd benches && ../target/peers/bin/python -m blocks.race [--only 'product*'] [--threads 2]

Both read the same stores and write one in the same chunks, not compressed. ijk is the command, timed as a whole
process, within `--memory`; Dask runs with as many threads, each with one of BLAS, timed without the start of
Python. If a case can be written in several ways for Dask, the fastest counts. A time is the least of all rounds;
memory is the peak of the process. Results are compared. ijk is faster where a ratio is above 1.
"""

import argparse
import fnmatch
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from peers.command import binary, machine, pin
from peers.report import duration, mean, ratio
from peers.runners import ROOT, Failed, environment

from .cases import all_cases
from .data import difference, random

# 32-bit floats, and a few thousand products one after another.
TOLERANCE = 1e-4


class Outcome:
    """Outcome of a case: for each way the seconds and the bytes of its runs, or the reason for a failure."""

    def __init__(self, case):
        self.case, self.runs, self.failures = case, {}, {}

    def ways(self, who):
        """Those of a contestant that ran."""
        return [runs for way, runs in self.runs.items() if way.startswith(who) and runs]

    def seconds(self, who):
        """The least."""
        return min((time for runs in self.ways(who) for time, _ in runs), default=None)

    def memory(self, who):
        """The bytes of the fastest run."""
        runs = min((run for runs in self.ways(who) for run in runs), default=None)
        return runs and runs[1]

    def ratio(self):
        """The speed of ijk relative to Dask."""
        ours, theirs = self.seconds("ijk"), self.seconds("dask")
        return theirs / ours if ours and theirs else None


def finish(command, threads, limit):
    """Runs a process: seconds, output, and peak memory."""
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as printed:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=printed, stderr=said, cwd=ROOT / "benches", env=environment(threads)
        )
        code, usage = waited(process, start + limit)
        seconds = time.perf_counter() - start
        said.seek(0)
        printed.seek(0)
        if code:
            lines = said.read().decode(errors="replace").strip().splitlines()
            words = lines[-1] if lines else f"ended with code {code}"
            raise Failed(words[:200] if seconds < limit else f"not done within {limit:.0f} s")
        return seconds, printed.read().decode(), usage.ru_maxrss * 1024


def waited(process, end):
    """Exit code and resources of a process; it is killed after its time limit."""
    while True:
        found, status, usage = os.wait4(process.pid, os.WNOHANG)
        if found:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage
        if time.perf_counter() > end:
            process.kill()
        time.sleep(0.002)


class Race:
    """Contestants and their folders."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.threads = pin(options.threads)
        self.ijk = binary(options.ijk)

    def run(self, case, number):
        """Makes the data of a case and has all ways run on it in turns."""
        outcome, inputs = Outcome(case), [self.folder / name for name in ("a.zarr", "b.zarr")]
        for seed, (path, (shape, chunks)) in enumerate(zip(inputs, case.arrays)):
            random(path, shape, chunks, seed)
        runs = {"ijk": lambda out: self.ours(case, inputs, out)}
        for way in case.dask if self.options.dask else ():
            runs[f"dask {way}"] = lambda out, way=way: self.theirs(number, way, inputs, out)
        outcome.runs = {way: [] for way in runs}
        for _ in range(self.options.rounds):
            for way, run in runs.items():
                if way not in outcome.failures:
                    self.turn(outcome, way, run)
        for path in self.folder.iterdir():
            shutil.rmtree(path)
        return outcome

    def turn(self, outcome, way, run):
        """One run, whose first result is compared with that of ijk."""
        out, first = self.folder / "out.zarr", self.folder / "first.zarr"
        shutil.rmtree(out, ignore_errors=True)
        # Flushes the disk cache, so that the next run does not pay for earlier writes.
        os.sync()
        try:
            outcome.runs[way].append(run(out))
        except Failed as failure:
            outcome.failures[way] = str(failure)
            return
        if not first.exists():
            out.rename(first)
        elif len(outcome.runs[way]) == 1 and (apart := difference(first, out)) > TOLERANCE:
            outcome.failures[way] = f"differs from ijk by {apart:.1e} of the greatest"
            outcome.runs[way] = []

    def ours(self, case, inputs, out):
        """A run of ijk: seconds and bytes."""
        verb, text = case.ijk
        command = [str(self.ijk), verb, text, *map(str, inputs), "-o", str(out), "--memory"]
        command += [self.options.memory, "--workers", str(self.threads)]
        seconds, _, memory = finish(command, self.threads, self.options.limit)
        return seconds, memory

    def theirs(self, number, way, inputs, out):
        """A run of Dask: seconds and bytes."""
        command = [sys.executable, "-m", "blocks.worker", str(number), way, str(self.options.scale)]
        command += [str(self.threads), *map(str, inputs), str(out)]
        _, printed, memory = finish(command, 1, self.options.limit)
        return float(printed), memory


HEAD = ["case", "ijk", "GFLOP/s", "memory", "Dask", "memory", "ratio"]


def table(outcomes):
    """The results in Markdown."""
    lines = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    for o in outcomes:
        own = o.seconds("ijk")
        cells = [o.case.name, duration(own), f"{o.case.operations / own / 1e9:.0f}" if own else "–"]
        cells += [mebibytes(o.memory("ijk")), duration(o.seconds("dask"))]
        cells += [mebibytes(o.memory("dask")), ratio(o.ratio())]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def mebibytes(count):
    """Bytes in a readable unit."""
    return f"{count / 2**20:,.0f} MiB" if count else "–"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default="*", help="names of cases: patterns with semicolons between")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="default: all")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="default: 3")
    parser.add_argument("--scale", type=int, default=1, metavar="F", help="extents that much smaller")
    parser.add_argument("--memory", default="512MB", help="what ijk may take (default: 512MB)")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="for one run")
    parser.add_argument("--alone", action="store_false", dest="dask", help="ijk without Dask")
    parser.add_argument("--ijk", type=Path, metavar="PATH", help="a binary, instead of building one")
    parser.add_argument("--folder", type=Path, help="where the arrays are to be, instead of /tmp")
    options = parser.parse_args()
    patterns = options.only.split(";")
    cases = [
        (number, case)
        for number, case in enumerate(all_cases(options.scale))
        if any(fnmatch.fnmatch(case.name, like) for like in patterns)
    ]
    if not cases:
        sys.exit(f"no case is like {options.only}")
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="ijk-blocks-", dir=options.folder) as folder:
        race = Race(options, Path(folder))
        print(f"{machine()}, threads: {race.threads}\n{table([])}", flush=True)
        for number, case in cases:
            outcomes.append(race.run(case, number))
            print(table(outcomes[-1:]).splitlines()[-1], flush=True)
    print(f"\ngeometric mean {ratio(mean([o.ratio() for o in outcomes]))}")
    for o in outcomes:
        for way, why in o.failures.items():
            print(f"    {o.case.name}, {way}: {why}")


if __name__ == "__main__":
    main()
