"""Compares the orders of contraction that ijk finds with those of opt_einsum and cotengra.

    cargo build --release -p ijk-benches --bin order
    cd benches && python -m networks.compare [--only 'regular*'] [--order ../target/release/order]

For every network: log10 of the multiplications and the seconds of each search, and the ratios that
matter. `normal` is to find paths as cheap as `auto-hq` in a tenth of its time, `high` paths as cheap
as those of cotengra's HyperOptimizer with 16 trials in the same time.
"""

import argparse
import fnmatch
import json
import math
import subprocess
import time

from .generate import INSTANCES, network


class Ijk:
    """The searches of ijk, in a process of their own."""

    def __init__(self, binary):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen([binary], **pipes, text=True)

    def ask(self, net, **question):
        print(json.dumps({**net, **question}), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer


def opt_einsum_path(net, search):
    """A path by a search of opt_einsum."""
    from opt_einsum import paths

    inputs = [frozenset(indices) for indices in net["operands"]]
    return getattr(paths, search)(inputs, frozenset(net["output"]), dict(enumerate(net["extents"])))


def cotengra_path(net, trials):
    """A path by cotengra's hyper-optimiser."""
    import cotengra

    symbols = [cotengra.get_symbol(index) for index in range(len(net["extents"]))]
    named = [tuple(symbols[index] for index in indices) for indices in [*net["operands"], net["output"]]]
    search = cotengra.HyperOptimizer(max_repeats=trials, parallel=False, progbar=False)
    return search(named[:-1], named[-1], dict(zip(symbols, net["extents"])))


PEERS = {
    "auto": lambda net: opt_einsum_path(net, "auto"),
    "auto-hq": lambda net: opt_einsum_path(net, "auto_hq"),
    "cotengra": lambda net: cotengra_path(net, 16),
}


def searched(ijk, net, name):
    """Multiplications and seconds of one search."""
    if name not in PEERS:
        answer = ijk.ask(net, effort=name)
        return answer["multiplications"], answer["seconds"]
    start = time.perf_counter()
    path = PEERS[name](net)
    seconds = time.perf_counter() - start
    return ijk.ask(net, path=[sorted(step) for step in path])["multiplications"], seconds


def row(ijk, name, efforts, peers, kept):
    """Prints the results of every search for a network; returns unmet goals."""
    net = network(name)
    found = {effort: searched(ijk, net, effort) for effort in efforts}
    for peer in peers:
        key = f"{name} {peer}"
        if key not in kept:
            kept[key] = searched(ijk, net, peer)
        found[peer] = kept[key]
    cells = [f"{math.log10(max(cost, 1)):7.3f} {seconds:9.2g}s" for cost, seconds in found.values()]
    missed = []
    for ours, theirs, share in (("normal", "auto-hq", 0.1), ("high", "cotengra", 1.0)):
        if ours in found and theirs in found:
            cost, took = (found[ours][k] / found[theirs][k] for k in (0, 1))
            missed += [name] if cost > 1 + 1e-9 or took > share else []
            cells.append(f"{cost:8.3g} {took:7.3f}{'*' if cost > 1 + 1e-9 or took > share else ' '}")
    print(f"{name:18}", " ".join(cells), flush=True)
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default="*", help="names of networks, a pattern")
    parser.add_argument("--order", default="../target/release/order", help="the binary `order` of ijk-benches")
    parser.add_argument("--efforts", default="greedy,normal,high")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--keep", help="a file that keeps what peers found, for the next comparison")
    options = parser.parse_args()
    kept = {}
    if options.keep:
        try:
            with open(options.keep) as file:
                kept = json.load(file)
        except FileNotFoundError:
            pass
    ijk = Ijk(options.order)
    efforts, peers = options.efforts.split(","), options.peers.split(",")
    heads = [f"{head:>18}" for head in [*efforts, *peers]]
    print(f"{'':18}", " ".join(heads), "   normal/auto-hq     high/cotengra")
    missed = []
    for name in fnmatch.filter(INSTANCES, options.only):
        missed += row(ijk, name, efforts, peers, kept)
        if options.keep:
            with open(options.keep, "w") as file:
                json.dump(kept, file)
    print("not met:", ", ".join(dict.fromkeys(missed)) or "none")


if __name__ == "__main__":
    main()
