"""Tests of the race itself: `cd benches && python -m unittest peers.tests` (NumPy is needed)."""

from __future__ import annotations

import math
import unittest

import numpy as np

from .case import SMALL
from .cases import all_cases
from .clock import batch, during, least
from .race import Outcome, difference
from .report import digits, duration, mean


class Cases(unittest.TestCase):
    """The table."""

    def test_everything_in_it_has_a_meaning(self):
        for case in all_cases():
            with self.subTest(case.name):
                self.assertGreater(case.count(), 0)
                self.assertNotIn("INVERSE", case.program())
                for number in range(len(case.inputs)):
                    self.assertTrue(all(extent > 0 for extent in case.shape(number)))
                for expression in (case.numpy, case.numpy_into, case.torch, case.torch_into, case.jax):
                    compile(expression or "0", case.name, "eval")

    def test_sizes(self):
        contractions = [case for case in all_cases() if case.group == "tccg"]
        self.assertEqual(len(contractions), 24)
        for case in contractions:
            out = case.name.split("-")[0]
            elements = sum(math.prod(case.shape(n)) for n in range(2))
            elements += math.prod(case.sizes[index] for index in out)
            self.assertTrue(2e7 < elements < 1.1e8, case.name)
        scaled = contractions[0].scaled(0.5)
        self.assertEqual(scaled.sizes["a"], 156)
        self.assertGreaterEqual(min(contractions[0].scaled(0.001).sizes.values()), SMALL)

    def test_numbers_are_the_same_each_time(self):
        case = next(case for case in all_cases() if case.name == "masked softmax, 8")
        mask, numbers = case.numbers(0), case.numbers(1)
        self.assertTrue(mask[:, 0].all() and mask.dtype == bool)
        self.assertTrue((numbers == case.numbers(1)).all() and numbers.dtype == np.float32)


class Results(unittest.TestCase):
    """Comparison and report."""

    def test_differences(self):
        one = np.ones((2, 2), np.float32)
        self.assertIsNone(difference(one, one + np.float32(1e-6), 1e-4))
        self.assertIn("differs", difference(one, one * 1.01, 1e-4))
        self.assertIn("differs", difference(one, one * np.nan, 1e-4))
        self.assertIn("shape", difference(one, one[0], 1e-4))
        self.assertIn("1 elements", difference(np.array([1, 2]), np.array([1, 3]), 1e-4))

    def test_ratios(self):
        outcome = Outcome(all_cases()[0])
        self.assertIsNone(outcome.ratio("fresh"))
        ours, other = {"fresh": 2.0, "reused": 1.0}, {"fresh": 4.0, "reused": 0.5}
        outcome.times = {"ijk": ours, "a": {"fresh": 3.0}, "b": other}
        self.assertEqual((outcome.ratio("fresh"), outcome.ratio("reused")), (1.5, 0.5))
        self.assertEqual(outcome.best_peer("reused"), ("b", 0.5))
        self.assertAlmostEqual(mean([2.0, 0.5, None]), 1.0)
        self.assertIsNone(mean([None]))

    def test_numbers_as_text(self):
        times = [duration(t) for t in (None, 1.234, 0.9999, 0.9994, 12.34e-6, 5e-9)]
        self.assertEqual(times, ["–", "1.23 s", "1 s", "999 ms", "12.3 µs", "5 ns"])
        self.assertEqual(digits(12345.6), "12346")


class Clock(unittest.TestCase):
    """Times."""

    def test_short_runs_are_timed_together(self):
        count = batch(lambda: None)
        self.assertGreater(count, 1)
        self.assertGreater(during(lambda: None, count, 0.001), 0)
        self.assertGreater(least(lambda: None, count, 0.001), 0)


if __name__ == "__main__":
    unittest.main()
