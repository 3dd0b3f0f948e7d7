"""Tests of the tool itself: `cd benches && python -m unittest variants.tests` (NumPy is needed, and ijk for some)."""

from __future__ import annotations

import importlib.util
import unittest

import numpy as np

from .classes import CLASSES
from .data import VIEWS, laid_out, values
from .draw import singles, text, variants
from .parse import statements
from .reference import evaluate
from .rules import RULES
from .spell import lines, subscripts, tuples
from .spell_i import program_in_i
from .tree import Program

NAMED = {one.name: one for one in CLASSES}
HAS_IJK = importlib.util.find_spec("ijk") is not None


def arguments(program: Program) -> dict[str, np.ndarray]:
    """The arrays of a variant."""
    sizes = dict(program.sizes)
    return {one.name: laid_out(values(one, sizes), one.views) for one in program.inputs}


def meaning(program: Program) -> np.ndarray:
    """The result in double precision, with the axes of the base program."""
    result = evaluate(program, arguments(program))
    return result.transpose(program.turned) if program.turned else result


class Trees(unittest.TestCase):
    """Text and trees."""

    def test_text_that_is_read_is_told_as_it_was(self):
        for one in CLASSES:
            self.assertEqual(lines(one.program()), one.source.split("\n"), one.name)

    def test_parentheses(self):
        for source in ("y[] = a[i] - (b[i] - -c[i])", "y[] = a[i] / (b[i] * c[i])", "y[] = -(-a[i]) * -b[i]"):
            program = Program(statements(source), (), ())
            self.assertEqual(lines(program), [source])

    def test_what_no_input_tells_is_a_constraint(self):
        self.assertTrue(tuples(NAMED["moving average"].program()).endswith("DIMS(t) = 8192\nDIMS(k) = 16\n"))
        self.assertTrue(tuples(NAMED["product"].program()).endswith("\n\ny\n"))

    def test_other_languages(self):
        halved = NAMED["product halved"].program()
        self.assertEqual(program_in_i(halved, apart=False), ("ik*kj~ikj . +(ikj/2)~ij", ["a", "b"]))
        self.assertEqual(program_in_i(halved, apart=True)[0], "ik*kj~ikj . ikj/2~ijk . +ijk~ij")
        product = NAMED["product"].program()
        self.assertEqual(subscripts(product), [("ik,kj->ij", ["a", "b"], "y")])


class Bounds(unittest.TestCase):
    """Bytes that are moved at least."""

    def test_whole_lines_of_arrays_with_gaps(self):
        from .data import touched

        dense = np.ones((64, 32), np.float32)
        self.assertEqual(touched(dense), dense.nbytes)
        self.assertEqual(touched(dense[::2]), dense.nbytes // 2)
        self.assertEqual(touched(dense.T[:, ::-1]), dense.nbytes)
        self.assertEqual(touched(dense[:, 0]), 64 * 64)
        self.assertEqual(touched(np.broadcast_to(dense[0], (9, 32))), 128)

    def test_what_calls_hand_on(self):
        from .race import moved

        base = NAMED["product"].program()
        given = arguments(base)
        result = np.ones(10, np.float32)
        self.assertEqual(moved(base, given, result), 40 + sum(array.nbytes for array in given.values()))


class Data(unittest.TestCase):
    """Arrays and their storage."""

    def test_storage_does_not_change_elements(self):
        array = np.arange(24).reshape(2, 3, 4)
        for view in (("store", (2, 0, 1)), ("reverse", 1), ("pad",), ("every_second",), ("short",)):
            self.assertIn(view[0], VIEWS)
            laid = laid_out(array, (view,))
            self.assertTrue((laid == array).all(), view)
            self.assertTrue(view[0] == "short" or laid.strides != array.strides, view)
        self.assertEqual(laid_out(array, (("turn", (2, 0, 1)),)).strides, (8, 96, 32))
        self.assertEqual(laid_out(array, (("turn_copy", (2, 0, 1)),)).strides, (48, 24, 8))
        self.assertEqual(laid_out(array, (("unit", 1),)).shape, (2, 1, 3, 4))

    def test_the_reference_is_numpys(self):
        program = NAMED["product with scales"].program(small=True)
        a, b, r, c = (arguments(program)[name].astype(np.float64) for name in "abrc")
        np.testing.assert_allclose(meaning(program), r[:, None] * (a @ b) / c)
        program = NAMED["sparse by dense"].program(small=True)
        x, v, rows, columns, s = (arguments(program)[name] for name in ("x", "v", "r", "c", "s"))
        expected = s.astype(np.float64)
        np.add.at(expected, rows, v.astype(np.float64)[:, None] * x[columns])
        np.testing.assert_allclose(meaning(program), expected)


class Rules(unittest.TestCase):
    """The programs that they make."""

    def test_numbers(self):
        self.assertGreaterEqual(len(RULES), 30)
        self.assertGreaterEqual(len(CLASSES), 40)

    def test_every_rule_matches_somewhere(self):
        used = {name for one in CLASSES for program in variants(one, 30, seed=3, small=True) for name in program.rules}
        used |= {name for one in CLASSES for program in singles(one, seed=3, small=True) for name in program.rules}
        self.assertEqual(sorted(set(RULES) - used), [])

    def test_seeds(self):
        one = NAMED["variance"]
        drawn = [list(map(text, variants(one, 20, seed))) for seed in (1, 1, 2)]
        self.assertEqual(drawn[0], drawn[1])
        self.assertNotEqual(drawn[0], drawn[2])
        self.assertEqual(len(set(drawn[0])), 20)

    def test_the_meaning_is_kept(self):
        for one in CLASSES:
            expected = meaning(one.program(small=True))
            drawn = variants(one, 12, seed=7, small=True) + singles(one, seed=7, small=True)
            for program in drawn:
                with self.subTest(one.name, program=text(program), rules=program.rules):
                    np.testing.assert_allclose(meaning(program), expected, rtol=1e-9, atol=1e-12)

    @unittest.skipUnless(HAS_IJK, "ijk is not installed")
    def test_ijk_computes_it(self):
        from .race import Rules, race

        for one in CLASSES:
            drawn = variants(one, 8, seed=5, small=True)
            for v in race(one, drawn, Rules(), timed=False, small=True).variants:
                with self.subTest(one.name, program=text(v.program)):
                    self.assertIsNone(v.problem, v.source)


@unittest.skipUnless(HAS_IJK, "ijk is not installed")
class Reports(unittest.TestCase):
    """Ratios and what is over."""

    def result(self, *seconds: float):
        from .race import Result, Variant, compare

        one = NAMED["mean of rows"]
        result = Result(one, [Variant(one.program(), seconds=s, bytes=10**6) for s in seconds], bytes=10**6)
        compare(result)
        return result

    def test_limits(self):
        self.assertEqual([v.seconds for v in self.result(1e-3, 1.4e-3, 9e-3, 2e-3).over()], [9e-3, 2e-3])
        self.assertEqual([v.seconds for v in self.result(1e-5, 1.9e-5, 2.1e-5).over()], [2.1e-5])

    def test_text(self):
        from .report import Report

        report = Report(1e9, 1e9)
        self.assertIn("2 over", report.line(self.result(1e-3, 1.4e-3, 9e-3, 2e-3)))
        said = report.conclusion(most=1)
        self.assertIn("50.00% of 4; of the 2 others, 0 are within", said)
        self.assertIn("9.00  mean of rows: 9 ms, fastest 1 ms, bound 1 ms", said)


if __name__ == "__main__":
    unittest.main()
