"""Another library's tests, run and counted."""

import pytest


class Count:
    """How many tests passed, and which did not."""

    def __init__(self):
        self.passed, self.failed = 0, []

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.passed += 1
        elif report.failed:
            self.failed.append(report.nodeid.split("::", 1)[-1])

    def tell(self, whose):
        print(f"{self.passed} of {self.passed + len(self.failed)} of {whose} tests pass")
        for name in self.failed:
            print(f"  not {name}")


def run(modules, options):
    """Runs the tests of some modules, with further options of pytest's."""
    count = Count()
    options = ["-q", "--no-header", "-p", "no:cacheprovider", *options]
    pytest.main([*options, "--pyargs", *modules], plugins=[count])
    return count
