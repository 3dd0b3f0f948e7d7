"""Runs that are ended at random, over and over: nothing that was finished may be lost, and nothing wrong may be told.

    python python/tests/soak.py                       all sections: a thousand kills, a hundred races and forks
    python python/tests/soak.py kills --count 50      one of them, so often
    python python/tests/soak.py --seed 7              other times and damages

`IJK` names the command `ijk`; without, it is looked for where commands are. Nothing is asserted on speed, and the test
suite does not run it.

kills   A run that writes a Zarr array is killed (SIGKILL) at a random time, and what it left is damaged at random, as a loss
        of power does: chunks, journals and temporary files are emptied, cut short, filled with zeros, changed, removed. The
        array is refused to readers unless it is finished. The same command then gives every byte that an undisturbed run
        gives, and takes over every block that a journal names and that is not damaged.
fresh   Runs with and without `--fresh` write different results to one path at once, which somebody may remove meanwhile. Who
        reports success, and is the last one to do so, has its result there, whole.
forks   Children are forked while threads of the package compute (`soak_forks.py`): each computes, and none hangs.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

IJK = os.environ.get("IJK") or shutil.which("ijk")
HERE = Path(__file__).resolve().parent
PATIENCE = 120


def command(*arguments):
    return [os.path.abspath(IJK), *arguments]


def run(*arguments):
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=PATIENCE)


def start(*arguments):
    return subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def chunks(path):
    """The files of an array's chunks, by their keys."""
    return {str(file.relative_to(path)): file for file in sorted(Path(path).glob("c/**/*")) if file.is_file()}


def contents(path):
    return {key: file.read_bytes() for key, file in chunks(path).items()}


def inputs(size, block):
    """Two matrices in blocks; some blocks are zeros everywhere."""
    for name, seed in (("a", 1), ("b", 2)):
        array = np.random.default_rng(seed).random((size, size))
        array[: 2 * block, : 3 * block] = 0
        array[-3 * block :, -2 * block :] = 0
        np.save(f"{name}.npy", array)
        check(run("eval", "ij~ij", f"{name}.npy", "--block", str(block), "-o", f"{name}.zarr"))


def check(done):
    if done.returncode:
        raise AssertionError(f"it ended with {done.returncode}: {done.stderr}")
    return done


# Kills.

PROGRAMS = [
    ("einsum", "ij,jk->ik", "a.zarr", "b.zarr"),
    ("einsum", "ij,jk->ki", "a.zarr", "b.zarr", "--compress", "zstd"),
    ("einsum", "ij,jk,kl->il", "a.zarr", "b.zarr", "a.zarr", "--memory", "60kB"),
    ("eval", "ij+1~ij", "a.zarr", "--compress", "zstd:1"),
    ("eval", "ij*2~ij", "a.zarr"),
]
WAYS = [("--workers", "1"), ("--workers", "2"), ("--processes", "2", "--workers", "1")]


def recorded(path):
    """The lines of journals that name chunks, with the chunks' keys; the grid is square."""
    grid = json.loads(Path(path, "zarr.json").read_text())
    shape, chunk = grid["shape"], grid["chunk_grid"]["configuration"]["chunk_shape"]
    columns = -(-shape[1] // chunk[1])
    lines = {}
    for journal in Path(path, ".ijk").glob("done-*.log"):
        for line in journal.read_bytes().split(b"\n"):
            try:
                block = json.loads(line.split(b"\t")[0])["chunk"]["block"]
            except (ValueError, KeyError, TypeError):
                continue  # damaged, or of blocks without a chunk
            lines[line] = f"c/{block // columns}/{block % columns}"
    return lines


def emptied(file, _):
    file.write_bytes(b"")


def cut_short(file, random):
    os.truncate(file, random.randrange(max(file.stat().st_size, 1)))


def zeroed(file, _):
    file.write_bytes(bytes(file.stat().st_size))


def changed(file, random):
    data = bytearray(file.read_bytes())
    if data:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    file.write_bytes(data)


def longer(file, _):
    with open(file, "ab") as end:
        end.write(b"more")


def removed(file, _):
    file.unlink()


DAMAGES = [emptied, cut_short, zeroed, changed, longer, removed]


def damage(path, random):
    """Damages what is there; the keys of chunks that are damaged."""
    found = chunks(path)
    damaged = random.sample(sorted(found), min(random.choice([0, 0, 1, 2, 5]), len(found)))
    for key in damaged:
        random.choice(DAMAGES)(found[key], random)
    journals = list(Path(path, ".ijk").glob("done-*.log"))
    if journals and random.random() < 0.2:
        random.choice(DAMAGES)(random.choice(journals), random)
    if random.random() < 0.2:
        Path(path, ".ijk", "writing-1-abc.tmp").write_bytes(b"half")
    return set(damaged)


def taken_over(said):
    """How many blocks a run that succeeded took over."""
    before = said.split(" from earlier runs")[0].split("(")
    return int(before[-1].split()[0]) if len(before) > 1 else 0


def kills(count, random):
    inputs(160, 8)
    expected, times = {}, {}
    for program in PROGRAMS:
        began = time.monotonic()
        check(run(*program, "-o", "whole.zarr", "--fresh"))
        times[program] = time.monotonic() - began
        expected[program] = contents("whole.zarr")
    killed = kept = spoilt = 0
    for n in range(count):
        shutil.rmtree("out.zarr", ignore_errors=True)
        program = random.choice(PROGRAMS)
        for _ in range(random.choice([1, 1, 2])):
            way = random.choice(WAYS)
            process = start(*program, "-o", "out.zarr", *way)
            time.sleep(random.uniform(0, 1.3 * times[program] * (2 if "--processes" in way else 1)))
            process.kill()
            process.communicate()
            killed += process.returncode < 0
        manifest = Path("out.zarr/.ijk/manifest.json")
        if Path("out.zarr/zarr.json").exists():
            # Those that the killed process started end by themselves; they hold the lock until then.
            settle("out.zarr")
            reads, complete = run("eval", "+ij~.", "out.zarr"), json.loads(manifest.read_text())["complete"]
            assert complete or "it is not finished" in reads.stderr, f"{n}: what is not finished is read: {reads}"
            assert not complete or reads.returncode == 0, f"{n}: {reads}"
            there, before = chunks("out.zarr").keys(), recorded("out.zarr")
            assert there <= set(before.values()), f"{n}: a chunk is there that no journal names"
            damaged = damage("out.zarr", random)
            # By lines that are as they were.
            named = {key for line, key in recorded("out.zarr").items() if line in before} & there
            spoilt += len(damaged)
        else:
            damaged, named = set(), set()
        done = finish(*program, "-o", "out.zarr", *random.choice(WAYS))
        took = taken_over(done.stderr)
        assert took >= len(named - damaged), f"{n}: {took} taken over of {len(named)}, {len(damaged)} damaged: {done.stderr}"
        kept += took
        assert contents("out.zarr") == expected[program], f"{n}: {program}: other bytes"
        left = [file.name for file in Path("out.zarr/.ijk").iterdir() if not file.name.startswith("done-")]
        assert sorted(left) == ["lock", "manifest.json"], left
        check(run("eval", "+ij~.", "out.zarr"))
    return f"{killed} runs killed, {spoilt} chunks damaged, {kept} blocks taken over; nothing lost"


def settle(path):
    """Waits until nobody writes an array."""
    import fcntl

    deadline = time.monotonic() + PATIENCE
    with open(Path(path, ".ijk/lock"), "rb") as lock:
        while True:
            try:
                return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                assert time.monotonic() < deadline, "a process hangs"
                time.sleep(0.005)


def finish(*arguments):
    """Runs a command that nobody may keep from writing any more but those who are about to end."""
    deadline = time.monotonic() + PATIENCE
    while "is writing it" in (done := run(*arguments)).stderr:
        assert time.monotonic() < deadline, "a process hangs"
    return check(done)


# Races of --fresh.

RIVALS = [
    ("einsum", "ij,jk->ik", "a.zarr", "b.zarr", "--workers", "1"),
    ("eval", "ij+1~ij", "a.zarr"),
    ("einsum", "ij,jk->ki", "b.zarr", "a.zarr", "--compress", "zstd"),
]


def fresh(count, random):
    inputs(256, 16)
    expected = []
    began = time.monotonic()
    for rival in RIVALS:
        check(run(*rival, "-o", "whole.zarr", "--fresh"))
        expected.append(contents("whole.zarr"))
    took = (time.monotonic() - began) / len(RIVALS)
    refused = removals = both = 0
    for n in range(count):
        shutil.rmtree("out.zarr", ignore_errors=True)
        pair = random.sample(range(len(RIVALS)), 2)
        processes = []
        for number in pair:
            processes.append(start(*RIVALS[number], "-o", "out.zarr", "--fresh"))
            time.sleep(random.choice([0, random.uniform(0, took)]))
        removed_it = random.random() < 0.2
        if removed_it:
            removals += 1
            shutil.rmtree("out.zarr", ignore_errors=True)
        ended = []
        while len(ended) < 2:
            ended += [i for i in (0, 1) if i not in ended and processes[i].poll() is not None]
            time.sleep(0.001)
        said = [process.communicate()[1] for process in processes]
        well = [i for i in ended if processes[i].returncode == 0]
        refused += sum("is writing it" in text for text in said)
        both += len(well) == 2
        there, reads = contents("out.zarr"), run("eval", "+ij~.", "out.zarr")
        if reads.returncode == 0:
            whole = [i for i in well if there == expected[pair[i]]]
            assert whole, f"{n}: {len(there)} chunks, of no result that is said to be there: {said}"
        # A result may have been complete before somebody removed it.
        assert reads.returncode == 0 or not well or removed_it, f"{n}: {reads.stderr}{said}"
        locks = [name for name in os.listdir() if name.endswith("-lock")]
        assert not locks, f"{n}: {locks} stay"
    return f"{count} races: {refused} refused, {both} one after the other, {removals} with the array removed; nothing lost"


def forks(count, _):
    # The package is needed here only.
    sys.path.insert(0, str(HERE))
    import soak_forks

    failed = soak_forks.forks(count)
    assert failed == 0, f"{failed} of {count} children did not end well"
    return f"{count} forks, all children end well"


#: What each section does, and how often by default.
SECTIONS = {"kills": (kills, 1000), "fresh": (fresh, 100), "forks": (forks, 100)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="section", help=f"of {', '.join(SECTIONS)}; all by default")
    parser.add_argument("--count", type=int, help="how often, in each section")
    parser.add_argument("--seed", type=int, default=0, help="of times and damages")
    arguments = parser.parse_args()
    unknown = set(arguments.sections) - set(SECTIONS)
    if unknown:
        parser.error(f"there is no section {', '.join(sorted(unknown))}")
    if IJK is None:
        parser.error("IJK does not name the command `ijk`")
    for name in arguments.sections or SECTIONS:
        section, count = SECTIONS[name]
        with tempfile.TemporaryDirectory(prefix="ijk-soak-") as directory:
            os.chdir(directory)
            began = time.monotonic()
            told = section(arguments.count or count, random.Random(arguments.seed))
            print(f"{name}: {told} ({time.monotonic() - began:.0f} s)", flush=True)
            os.chdir("/")


if __name__ == "__main__":
    if IJK is not None:
        IJK = os.path.abspath(IJK)
    sys.exit(main())
