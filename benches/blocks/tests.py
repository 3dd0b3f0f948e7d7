"""Tests of the race of arrays on disk: `cd benches && python -m unittest blocks.tests` (zarr and Dask are
needed)."""

import tempfile
import unittest
from pathlib import Path

import dask.array as da
import numpy as np
import zarr

from .cases import all_cases
from .data import create, difference, random
from .race import Outcome, table

SCALE = 64


class Cases(unittest.TestCase):
    """Expressions for the contestants."""

    def test_all_ways_of_dask_compute_the_same(self):
        for case in all_cases(SCALE):
            with self.subTest(case.name):
                numbers = np.random.default_rng(0)
                arrays = [
                    da.from_array(numbers.random(shape, dtype="float32"), chunks=chunks)
                    for shape, chunks in case.arrays
                ]
                results = [way(da, *arrays).compute() for way in case.dask.values()]
                self.assertEqual(results[0].shape, case.result[0])
                for other in results[1:]:
                    np.testing.assert_allclose(results[0], other, rtol=1e-4)

    def test_full_size_is_larger_than_memory(self):
        for case in all_cases(1):
            most = max(np.prod(shape) for shape, _ in (*case.arrays, case.result))
            self.assertGreaterEqual(4 * most, 2**24, case.name)


class Data(unittest.TestCase):
    """Arrays on disk."""

    def test_numbers_are_the_same_in_every_run(self):
        with tempfile.TemporaryDirectory() as folder:
            one, other = Path(folder) / "one", Path(folder) / "other"
            for path in (one, other):
                random(path, (10, 7), (4, 3), seed=1)
            self.assertEqual(difference(one, other), 0)
            changed = zarr.open_array(str(other))
            changed[9, 6] = 3
            self.assertGreater(difference(one, other), 1)
            create(other, (10, 6), (4, 3))
            self.assertEqual(difference(one, other), float("inf"))


class Figures(unittest.TestCase):
    """Ratios and the table."""

    def test_the_fastest_run_counts(self):
        outcome = Outcome(all_cases(SCALE)[0])
        outcome.runs = {
            "ijk": [(2.0, 2**20), (1.0, 2**21)],
            "dask matmul": [(4.0, 2**30)],
            "dask einsum": [(3.0, 2**31), (5.0, 2**20)],
            "dask tensordot": [],
        }
        self.assertEqual(outcome.ratio(), 3)
        row = table([outcome]).splitlines()[-1]
        self.assertIn("| 1 s |", row)
        self.assertIn("| 2 MiB | 3 s | 2,048 MiB | 3.00 |", row)

    def test_what_did_not_run_has_no_ratio(self):
        outcome = Outcome(all_cases(SCALE)[0])
        outcome.runs = {"ijk": [(1.0, 2**20)], "dask matmul": []}
        self.assertIsNone(outcome.ratio())
        self.assertIn("| – | – | – |", table([outcome]))


if __name__ == "__main__":
    unittest.main()
