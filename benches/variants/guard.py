"""A class in a process of its own, so that a variant that crashes or hangs is a finding."""

from __future__ import annotations

import multiprocessing

from .classes import Class
from .race import Result, Rules, Variant, race
from .tree import Program

# Seconds without output after which a process counts as hanging.
PATIENCE = 120


def guarded(of: Class, programs: list[Program], rules: Rules, timed: bool = True) -> Result:
    """The result of `race`; variants that crash it are excluded from the next attempt, and reported as wrong."""
    lost = []
    while True:
        result, last = attempt(of, programs, rules, timed)
        if result:
            result.variants += lost
            return result
        problem = "ends the process, or does not end"
        lost.append(Variant(programs[last], problem=problem))
        programs = [*programs[:last], *programs[last + 1 :]]


def attempt(of: Class, programs: list[Program], rules: Rules, timed: bool) -> tuple[Result | None, int]:
    """A result, or the number of the variant that began last."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    arguments = (theirs, of, programs, rules, timed)
    child = multiprocessing.get_context("spawn").Process(target=run, args=arguments)
    child.start()
    theirs.close()
    last = 0
    try:
        while ours.poll(PATIENCE):
            said = ours.recv()
            if not isinstance(said, int):
                return said, last
            last = said
    except EOFError:
        pass
    finally:
        child.kill()
        child.join()
    return None, last


def run(pipe, of: Class, programs: list[Program], rules: Rules, timed: bool) -> None:
    """In the process."""
    pipe.send(race(of, programs, rules, timed, notice=pipe.send))
