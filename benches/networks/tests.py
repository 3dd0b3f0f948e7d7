"""Tests of the race of networks: `cd benches && python -m unittest networks.tests` (NumPy is needed)."""

import unittest

import numpy as np

from .data import arrays, steps, subscripts
from .generate import INSTANCES, network
from .race import HEAD, NETWORKS, Outcome, conclusion, table


class Data(unittest.TestCase):
    """Operands and programs."""

    def test_networks_are_there(self):
        self.assertLessEqual(set(NETWORKS), set(INSTANCES))

    def test_numbers_stay_within_reason(self):
        for name in ("chain_20", "mps_20", "factors_100"):
            net = network(name)
            operands = arrays(net, "float64")
            path = [(0, 1)] * (len(operands) - 1)
            result = run(net, operands, path) if name == "chain_20" else operands[0]
            self.assertTrue(np.all((1e-20 < result) & (result < 1e20)), name)
            self.assertTrue(all((a == b).all() for a, b in zip(operands, arrays(net, "float64"))))

    def test_steps_compute_what_subscripts_say(self):
        net = network("small_6")
        operands = arrays(net, "float64")
        letters = {index: chr(ord("a") + index) for index in range(len(net["extents"]))}
        term = lambda indices: "".join(letters[index] for index in indices)
        text = ",".join(map(term, net["operands"])) + "->" + term(net["output"])
        expected = np.einsum(text, *operands)
        for path in ([(0, 1)] * 5, [(0,), (1, 3), (0, 1, 2), (0, 1, 2)]):
            np.testing.assert_allclose(run(net, operands, path), expected)

    def test_other_letters_are_the_same_network(self):
        net = network("small_4")
        one, other = subscripts(net), subscripts(net, 7)
        moved = "".join(chr(ord(c) + 7) if c not in ",->" else c for c in one)
        self.assertEqual(moved, other)


class Figures(unittest.TestCase):
    """Ratios and the table."""

    def outcome(self):
        outcome = Outcome("one")
        outcome.steps = 10
        outcome.runs = {
            "ijk": {"path einsum": [2e-3, 3e-3, 9e-3], "found einsum": [4e-3]},
            "torch": {"path pairwise": [4e-3], "path opt_einsum": [3e-3], "found auto": [1e-2]},
            "jax": {"path pairwise": [1e-3], "found auto": [4e-3]},
        }
        outcome.before = {who: dict.fromkeys(ways, 0.0) for who, ways in outcome.runs.items()}
        outcome.before["jax"]["found auto"] = 1.0
        return outcome

    def test_the_best_way_counts(self):
        outcome = self.outcome()
        self.assertAlmostEqual(outcome.ratio("torch", "path"), 1.5)
        self.assertAlmostEqual(outcome.ratio("jax", "path"), 0.5)
        self.assertAlmostEqual(outcome.ratio("jax", "found"), 1.0)
        self.assertAlmostEqual(outcome.ratio("jax", "found", compilation=True), 251)
        self.assertIsNone(Outcome("none").ratio("torch", "path"))

    def test_rows_have_the_columns_of_the_head(self):
        for outcomes in ([], [self.outcome()], [Outcome("none")]):
            for line in table(outcomes).splitlines():
                self.assertEqual(line.count("|"), len(HEAD) + 1)

    def test_the_conclusion_says_where_ijk_is_behind(self):
        said = conclusion([self.outcome()]).splitlines()
        self.assertTrue(said[0].endswith("behind: nowhere"))
        self.assertTrue(said[1].endswith("behind: one"))


def run(net, operands, path):
    """The result along a path, by NumPy."""
    left = list(operands)
    for positions, text in steps(net, path):
        taken = [left[at] for at in positions]
        for at in sorted(positions, reverse=True):
            del left[at]
        left.append(np.einsum(text, *taken))
    return left[0]


if __name__ == "__main__":
    unittest.main()
