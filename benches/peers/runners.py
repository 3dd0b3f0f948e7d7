"""Contestants of the race: processes that run a case on request."""

from __future__ import annotations

import dataclasses
import json
import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path

from .case import Case

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).resolve().parent / "programs"


class Failed(Exception):
    """A contestant cannot run a case: the reason."""


class Child:
    """A process that answers lines with JSON objects."""

    def __init__(self, command: list[str], environment: dict[str, str], limit: float):
        self.limit = limit
        # Not a pipe, which would fill: it is read only after a failure.
        self.said = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.said,
            cwd=ROOT / "benches",
            env=environment,
        )

    def ask(self, line: str) -> dict:
        """The answer to a line."""
        try:
            self.process.stdin.write(f"{line}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failed(self.last_words()) from None
        return self.answer()

    def answer(self) -> dict:
        """The next answer, within a time limit."""
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], self.limit)
            if not ready:
                self.kill()
                raise Failed(f"no answer within {self.limit:.0f} s")
            part = os.read(self.process.stdout.fileno(), 65536)
            if not part:
                raise Failed(self.last_words())
            line += part
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def last_words(self) -> str:
        """The end of the process's error output."""
        self.process.communicate()
        self.said.seek(0)
        lines = self.said.read().decode(errors="replace").strip().splitlines()
        first = next((line for line in lines if line.startswith("error")), "")
        return (first or " ".join(lines[-2:]))[:300] or f"ended with code {self.process.returncode}"

    def kill(self) -> None:
        """Ends the process."""
        self.process.kill()
        self.process.communicate()

    def close(self) -> None:
        """Lets the process end."""
        try:
            self.process.communicate(timeout=10)
        except (subprocess.TimeoutExpired, ValueError):
            self.kill()


def environment(threads: int) -> dict[str, str]:
    """Environment that limits the threads of a process and its libraries."""
    several = ("OMP", "OPENBLAS", "MKL", "BLIS", "VECLIB_MAXIMUM", "NUMEXPR")
    limits = {f"{name}_NUM_THREADS": str(threads) for name in several}
    return os.environ | limits | {"PYTHONPATH": str(ROOT / "benches")}


class Peer:
    """NumPy, PyTorch or JAX."""

    def __init__(self, name: str, threads: int, limit: float):
        self.name, self.threads, self.limit = name, threads, limit
        self.child = None
        self.version = self.start()

    def start(self) -> str:
        command = [sys.executable, "-m", "peers.worker", self.name, str(self.threads)]
        self.child = Child(command, environment(self.threads), self.limit)
        return self.child.answer()["version"]

    def ask(self, do: str, **more) -> dict:
        """The answer; a process that ended is replaced for the next case."""
        try:
            return self.child.ask(json.dumps({"do": do, **more}))
        except Failed:
            if self.child.process.poll() is not None:
                self.start()
            raise

    def load(self, case: Case, files: list[Path]) -> list[str]:
        """Prepares a case; returns its modes."""
        if getattr(case, self.name) is None:
            raise Failed("no such function")
        sent = {k.name: getattr(case, k.name) for k in dataclasses.fields(case)}
        sent |= {"inputs": [], "fixed": []}
        return self.ask("load", case=sent, files=[str(file) for file in files])["modes"]

    def run(self, mode: str, seconds: float) -> float:
        """Runs for some seconds; returns the time of a run."""
        return self.ask("run", mode=mode, seconds=seconds)["seconds"]

    def result(self, file: Path) -> None:
        """Writes the result of the case."""
        self.ask("result", file=str(file))

    def drop(self) -> None:
        """Frees the arrays."""
        self.ask("drop")

    def close(self) -> None:
        self.child.close()


class Ijk:
    """`ijk bench --paced`, a process for each case."""

    name = "ijk"

    def __init__(self, binary: Path, threads: int, limit: float):
        self.binary, self.threads, self.limit = binary, threads, limit
        self.child = None
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True)
        self.version = said.stdout.split()[1]
        # Measures the machine now: a stored probe may be from a busier time.
        probe = [binary, "bench", "i~i", "--shape=1", f"--threads={threads}", "--probe"]
        subprocess.run(probe, capture_output=True, check=True)
        self.written = None
        self.work: dict = {}

    def load(self, case: Case, files: list[Path]) -> list[str]:
        """Prepares a case; its result is written at once, to the folder of the arguments."""
        self.work = {}
        names = case.names or tuple(str(n) for n in range(len(files)))
        program = str(PROGRAMS / case.ijk) if case.is_tuples() else case.program()
        command = [str(self.binary), "bench", program, "--paced", "--json"]
        command += [f"--threads={self.threads}"]
        command += [flag.format(**case.sizes) for flag in case.flags]
        for name, file in zip(names, files):
            command += ["--bind", f"{name}={file}"]
        self.written = files[0].parent / "ijk.npy"
        command += ["--out", f"{case.result}={self.written}"]
        self.child = Child(command, environment(self.threads), self.limit)
        self.work = self.child.answer()
        return ["fresh"] if case.is_tuples() else ["fresh", "reused"]

    def run(self, mode: str, seconds: float) -> float:
        """Runs for some seconds; returns the time of a run."""
        return self.child.ask(f"{mode} {seconds}")["seconds"]

    def result(self, file: Path) -> None:
        """The result that was written before, under another name."""
        self.written.replace(file)

    def drop(self) -> None:
        """Ends the process."""
        if self.child:
            self.child.close()
            self.child = None

    def close(self) -> None:
        self.drop()
