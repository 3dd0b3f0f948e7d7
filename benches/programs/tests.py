"""Tests of the race itself: `cd benches && python -m unittest programs.tests` (NumPy and SciPy are needed)."""

from __future__ import annotations

import unittest

import numpy as np

from .drawn import drawn
from .program import PEERS, Program
from .race import Outcome, alike, reference
from .report import Report
from .table import all_programs

# Sizes at which a reference takes no time.
TINY = 1 / 64


class Programs(unittest.TestCase):
    """The table."""

    def test_everything_in_it_has_a_meaning(self):
        programs = all_programs()
        self.assertGreaterEqual(len(programs), 70)
        for program in programs:
            with self.subTest(program.name):
                self.assertEqual(sum(bool(getattr(program, x)) for x in ("et", "i", "einsum")), 1)
                self.assertNotRegex(program.source(), r"\{[a-z]\}")
                for peer in PEERS:
                    compile(getattr(program, peer) or "0", program.name, "eval")
                for expression in program.before.values():
                    compile(expression, program.name, "eval")

    def test_references_can_be_computed(self):
        for program in all_programs():
            with self.subTest(program.name):
                tiny = program.scaled(TINY)
                result = reference(tiny, tiny.data())
                self.assertFalse(np.isnan(result).any())
                self.assertNotEqual(result.dtype, np.float32)

    def test_data_are_the_same_each_time(self):
        program = next(p for p in all_programs() if p.name == "sparse by dense, sorted").scaled(TINY)
        one, other = program.data(), program.data()
        self.assertTrue(all((one[name] == other[name]).all() for name in one))
        self.assertTrue((np.diff(one["r"]) >= 0).all())
        self.assertEqual(one["x"].shape, (program.extents()["n"], 64))

    def test_sizes(self):
        program = Program("p", "a=100 b=3 c=64", {}, "0", et="y[] = {a}", fixed=frozenset("c"))
        scaled = program.scaled(0.5)
        self.assertEqual(scaled.extents(), {"a": 48, "b": 3, "c": 64})
        self.assertEqual((scaled.title(), scaled.source()), ("p × 0.5", "y[] = 48\n\ny\n"))


class Drawn(unittest.TestCase):
    """Einsums drawn at random."""

    def test_they_depend_on_the_seed_alone(self):
        one, same, other = drawn(3, 20), drawn(3, 20), drawn(4, 20)
        self.assertEqual((one, len(one)), (same, 20))
        self.assertNotEqual(one, other)

    def test_numpy_computes_what_they_say(self):
        for program in drawn(5, 10):
            with self.subTest(program.name):
                kept = program.name.split("->")[1]
                result = reference(program, program.data())
                self.assertEqual(result.shape, tuple(program.extents()[letter] for letter in kept))


class Results(unittest.TestCase):
    """Ratios and the table."""

    def outcome(self, *times: float) -> Outcome:
        rounds = {who: [time, 2 * time] for who, time in zip(("ijk", "numpy", "torch"), times)}
        return Outcome(Program("one", "", {}, "0", et="y[] = 1", group="g"), rounds)

    def test_ratios(self):
        self.assertEqual(self.outcome(2.0, 3.0, 1.0).ratio(), 0.5)
        self.assertEqual(self.outcome(2.0, 3.0, 1.0).best_peer(), ("torch", 1.0))
        self.assertIsNone(self.outcome(2.0).ratio())

    def test_what_is_said(self):
        report = Report(["ijk", "numpy", "torch"])
        for times in ((2.0, 3.0, 1.0), (1.0, 2.0, 3.0)):
            report.line(self.outcome(*times))
        said = report.conclusion()
        self.assertIn("geometric mean of the ratios: 1.00", said)
        self.assertIn("at 0.95 of the best peer or more: 1 of 2\nbelow 0.7: 1", said)
        self.assertIn("| one | 2 s | 3 s | 1 s | 0.50 |", report.markdown())

    def test_single_precision_is_compared_in_double(self):
        self.assertEqual(alike(np.ones(1), np.ones(1, np.float32)).dtype, np.float64)
        self.assertEqual(alike(np.ones(1, int), np.ones(1, np.int32)).dtype, np.int32)


if __name__ == "__main__":
    unittest.main()
