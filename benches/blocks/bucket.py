"""Products from and to a bucket, against plain requests for the same objects.

    target/peers/bin/pip install 'moto[s3,server]' boto3
    cd benches && ../target/peers/bin/python -m blocks.bucket [--only 'long*'] [--delay 0.02 --rate 125]

moto's server on this machine holds two arrays. The command multiplies them within `--memory`, which is less than they
have, into a third. Then as many connections as it may open repeat all requests for chunks that it made, in the same
order and without computing anything. The ratio is that of the bytes per second, the command timed as a whole process.
A second row of each case is for a command that is killed half-way, and one that continues: both are timed, and the
result must be the same, byte for byte. moto is a program in Python, and takes a core that the command computes with:
`--delay` and `--rate` make it as slow as a network, where it does not.
"""

import argparse
import contextlib
import fnmatch
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import boto3
from peers.command import binary, machine, pin
from peers.report import duration
from peers.runners import ROOT, Failed

from .cases import product
from .data import random
from .race import finish, mebibytes

BUCKET = "bench"
# Requests that the command has under way at a time.
CONNECTIONS = 32
# moto looks for a signature, but not at it.
SIGNED = {"Authorization": "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/s3/aws4_request"}


def all_cases(scale):
    """Products whose arrays are large beside their multiplications."""
    n, block = 16384 // scale, 512 // scale
    return [
        product(n // 16, 4 * n, n // 16, block, "long: the arguments are read"),
        product(n * 3 // 4, n // 32, n * 3 // 4, block, "wide: the result is written"),
        product(n // 4, n // 4, n // 4, block, "square: parts are read again"),
    ]


class Server:
    """A bucket on a server of this machine."""

    def __init__(self, delay, rate):
        command = [sys.executable, "-m", "blocks.served", str(delay), str(rate)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT / "benches")
        self.host = f"127.0.0.1:{self.process.stdout.readline().strip()}"
        endpoint = f"http://{self.host}"
        keys = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_REGION": "us-east-1"}
        os.environ.update(keys, AWS_ENDPOINT_URL=endpoint, AWS_DEFAULT_REGION="us-east-1")
        self.client = boto3.client("s3")
        self.client.create_bucket(Bucket=BUCKET)

    def upload(self, folder, name):
        """Puts the files of an array there."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                key = f"{name}/{path.relative_to(folder)}"
                self.client.put_object(Bucket=BUCKET, Key=key, Body=path.read_bytes())

    def remove(self, prefix):
        """Removes what is below a prefix."""
        for page in self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix):
            for found in page.get("Contents", ()):
                self.client.delete_object(Bucket=BUCKET, Key=found["Key"])

    def tags(self, prefix):
        """The objects below a prefix, each with a digest of its bytes."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        found = [found for page in pages for found in page.get("Contents", ())]
        return {o["Key"]: o["ETag"] for o in found if not o["Key"].endswith(".plain")}

    def moved(self):
        """Requests for chunks since the last call, and how many others there were."""
        connection = http.client.HTTPConnection(self.host)
        connection.request("GET", "/-/moved")
        told = json.loads(connection.getresponse().read())
        return told["chunks"], told["others"]

    def close(self):
        self.process.kill()
        self.process.wait()


def plain(host, requests, connections):
    """Seconds of the requests, each connection one after another."""
    left, lock, failed = iter(requests), threading.Lock(), []
    body = memoryview(os.urandom(max(count for _, _, count in requests)))

    def work():
        connection, buffer = http.client.HTTPConnection(host), bytearray(1 << 20)
        with contextlib.closing(connection):
            while not failed:
                with lock:
                    request = next(left, None)
                if request is None:
                    return
                method, path, count = request
                # What is written must not become part of an array.
                path = path if method == "GET" else f"{path}.plain"
                connection.request(method, path, body[:count] if method == "PUT" else None, SIGNED)
                answer = connection.getresponse()
                while answer.readinto(buffer):
                    pass
                if answer.status != 200:
                    failed.append(f"{method} {path}: {answer.status}")

    threads = [threading.Thread(target=work) for _ in range(connections)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise Failed(failed[0])
    return time.perf_counter() - start


class Race:
    """The command and plain requests in turns."""

    def __init__(self, options, server):
        self.options, self.server = options, server
        self.threads = pin(options.threads)
        self.ijk = binary(options.ijk) if options.ijk else built()

    def run(self, case):
        """Two rows: bytes moved, the seconds of both, the peak of memory."""
        with tempfile.TemporaryDirectory() as folder:
            for seed, (shape, chunks) in enumerate(case.arrays):
                path = Path(folder) / "ab"[seed]
                random(path, shape, chunks, seed)
                self.server.upload(path, f"{path.name}.zarr")
        rows, chunks = {}, None
        for _ in range(self.options.rounds):
            whole = self.round(rows, case.name, lambda: self.ours(case, self.options.limit))
            chunks = chunks or self.server.tags("c.zarr/c/")
            self.round(rows, f"{case.name}, killed", lambda: self.killed(case, whole / 2))
            if self.server.tags("c.zarr/c/") != chunks:
                raise Failed(f"{case.name}: a result that was continued has other bytes")
        self.server.remove("")
        return {name: sorted(runs)[(len(runs) - 1) // 2] for name, runs in rows.items()}

    def round(self, rows, name, run):
        """One run, and plain requests for what it moved."""
        self.server.remove("c.zarr")
        self.server.moved()
        seconds, memory = run()
        requests, others = self.server.moved()
        alone = plain(self.server.host, requests, self.options.connections)
        moved = sum(count for _, _, count in requests)
        rows.setdefault(name, []).append((alone / seconds, seconds, alone, moved, memory, others))
        return seconds

    def killed(self, case, after):
        """Seconds and memory of two commands, the first of which is killed after a time."""
        start = time.perf_counter()
        try:
            self.ours(case, after)
        except Failed:
            pass
        _, memory = self.ours(case, self.options.limit)
        return time.perf_counter() - start, memory

    def ours(self, case, limit):
        """Seconds and memory of the command, which is killed after its limit."""
        url = f"s3://{BUCKET}/"
        command = [str(self.ijk), *case.ijk, f"{url}a.zarr", f"{url}b.zarr", "-o", f"{url}c.zarr"]
        command += ["--memory", self.options.memory, "--workers", str(self.options.workers or self.threads)]
        seconds, _, memory = finish(command, self.threads, limit)
        return seconds, memory


def built():
    """The command with object stores."""
    command = ["cargo", "build", "--quiet", "--release", "-p", "ijk-cli", "--features", "object-store"]
    subprocess.run(command, cwd=ROOT, check=True)
    return ROOT / "target/release/ijk"


HEAD = ["case", "moved", "memory", "other requests", "ijk", "MB/s", "plain", "MB/s", "ratio"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default="*", help="names of cases: patterns with semicolons between")
    parser.add_argument("--threads", type=int, default=0, metavar="N", help="default: all")
    parser.add_argument("--workers", type=int, default=0, metavar="N", help="default: one for each thread")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="default: 3; the median counts")
    parser.add_argument("--scale", type=int, default=1, metavar="F", help="extents that much smaller")
    parser.add_argument("--memory", default="64MB", help="what ijk may take (default: 64MB)")
    parser.add_argument("--delay", type=float, default=0.0, metavar="SECONDS", help="of each answer")
    parser.add_argument("--rate", type=float, default=0.0, metavar="MB", help="that the network moves in a second")
    parser.add_argument("--connections", type=int, default=CONNECTIONS, metavar="N", help="of plain requests")
    parser.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="for one run")
    parser.add_argument("--ijk", type=Path, metavar="PATH", help="a binary, instead of building one")
    options = parser.parse_args()
    patterns = options.only.split(";")
    cases = [case for case in all_cases(options.scale) if any(fnmatch.fnmatch(case.name, p) for p in patterns)]
    server = Server(options.delay, options.rate * 1e6)
    try:
        race = Race(options, server)
        print(f"{machine()}, threads: {race.threads}, {options.memory}, delay: {duration(options.delay)}, {options.rate:g} MB/s")
        print(f"| {' | '.join(HEAD)} |\n{'|---' * len(HEAD)}|", flush=True)
        for case in cases:
            for name, (ratio, seconds, alone, moved, memory, others) in race.run(case).items():
                speeds = [f"{moved / time / 1e6:,.0f}" for time in (seconds, alone)]
                cells = [name, mebibytes(moved), mebibytes(memory), str(others), duration(seconds), speeds[0]]
                cells += [duration(alone), speeds[1], f"{ratio:.2f}"]
                print(f"| {' | '.join(cells)} |", flush=True)
    finally:
        server.close()


if __name__ == "__main__":
    main()
