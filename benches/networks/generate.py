"""Networks by name: `python -m networks.generate NAME` prints one as JSON; without a name, the names.

The kinds are those of the public einsum benchmark; sizes and seeds are in `INSTANCES`.
"""

import json
import sys

from .network import Network


def chain(matrices, most, seed):
    """A product of matrices of random extents."""
    net = Network(seed)
    links = [net.index(net.random.randint(2, most)) for _ in range(matrices + 1)]
    for left, right in zip(links, links[1:]):
        net.add(left, right)
    net.output = [links[0], links[-1]]
    return net


def mps(sites, bond, physical, seed):
    """The inner product of two matrix product states."""
    net = Network(seed)
    bonds = [min(bond, physical ** min(k, sites - k, 20)) for k in range(sites + 1)]
    spins = net.indices(sites, physical)
    for _ in range(2):
        links = [net.index(extent) for extent in bonds]
        for site, spin in enumerate(spins):
            ends = links[max(site, 1): min(site + 2, sites)] if 0 < site else [links[1]]
            net.add(*ends, spin)
    return net


def mera(sites, bond, seed):
    """A binary MERA, its conjugate, and an operator of two sites between them."""
    net = Network(seed)
    site = net.random.randrange(sites - 1)
    lower = net.indices(sites, bond)
    upper = list(lower)
    upper[site], upper[site + 1] = net.indices(2, bond)
    net.add(lower[site], lower[site + 1], upper[site], upper[site + 1])
    tops = [climb(net, lower, bond), climb(net, upper, bond)]
    net.add(*tops[0])
    net.add(*tops[1])
    return net


def climb(net, level, bond):
    """The layers of a MERA above some indices; gives the two at its top."""
    while len(level) > 2:
        mixed = net.indices(len(level), bond)
        for at in range(1, len(level), 2):
            after = (at + 1) % len(level)
            net.add(level[at], level[after], mixed[at], mixed[after])
        level_up = net.indices(len(level) // 2, bond)
        for at, up in enumerate(level_up):
            net.add(mixed[2 * at], mixed[2 * at + 1], up)
        level = level_up
    return level


def grid_model(rows, columns, states, seed):
    """A Markov random field on a grid: variables in up to five factors, its partition function."""
    net = Network(seed)
    of = {(r, c): net.index(states) for r in range(rows) for c in range(columns)}
    for (r, c), variable in of.items():
        net.add(variable)
        for other in ((r + 1, c), (r, c + 1)):
            if other in of:
                net.add(variable, of[other])
    return net


def factor_model(variables, factors, states, seed):
    """A random factor graph: pairs and some triples of variables, one variable's marginal."""
    net = Network(seed)
    of = net.indices(variables, states)
    for at, variable in enumerate(of):
        near = [v for v in range(at - 4, at + 5) if v != at and 0 <= v < variables]
        net.add(variable, of[net.random.choice(near)])
    for _ in range(factors):
        at = net.random.randrange(variables - 6)
        net.add(*(of[v] for v in net.random.sample(range(at, at + 6), net.random.choice([2, 2, 3]))))
    net.output = [of[variables // 2]]
    return net


def language(words, vocabulary, bond, batch, seed):
    """Likelihoods of a batch of sentences under a tensor train and its conjugate."""
    net = Network(seed)
    sentence = net.index(batch)
    for _ in range(2):
        link = net.index(bond)
        net.add(link)
        for _ in range(words):
            word, after = net.index(vocabulary), net.index(bond)
            net.add(sentence, word)
            net.add(link, word, after)
            link = after
        net.add(link)
    net.output = [sentence]
    return net


def brackets(words, vocabulary, bond, seed):
    """The joint distribution of the first and the last word of a sentence, the others summed."""
    net = Network(seed)
    spins = net.indices(words, vocabulary)
    for _ in range(2):
        link = net.index(bond)
        net.add(link)
        for spin in spins:
            after = net.index(bond)
            net.add(link, spin, after)
            link = after
        net.add(link)
    net.output = [spins[0], spins[-1]]
    return net


def regular(vertices, degree, extents, opened, seed):
    """A random regular graph, a tensor at each vertex; `opened` of them have an index of the output."""
    net = Network(seed)
    while True:
        stubs = [v for v in range(vertices) for _ in range(degree)]
        net.random.shuffle(stubs)
        pairs = {tuple(sorted(pair)) for pair in zip(stubs[::2], stubs[1::2])}
        if len(pairs) == vertices * degree // 2 and all(a != b for a, b in pairs):
            break
    of = [[] for _ in range(vertices)]
    for a, b in sorted(pairs):
        edge = net.index(net.random.choice(extents))
        of[a].append(edge)
        of[b].append(edge)
    for vertex in net.random.sample(range(vertices), opened):
        net.output.append(net.index(net.random.choice(extents)))
        of[vertex].append(net.output[-1])
    for indices in of:
        net.add(*indices)
    return net


def anything(operands, indices, most, seed):
    """A small random expression with hyperedges and an output of some indices."""
    net = Network(seed)
    of = [net.index(net.random.randint(2, most)) for _ in range(indices)]
    sets = [set() for _ in range(operands)]
    for at, index in enumerate(of):
        for operand in {at % operands, *net.random.choices(range(operands), k=net.random.choice([1, 1, 2]))}:
            sets[operand].add(index)
    for indices in sets:
        net.add(*sorted(indices))
    net.output = sorted(net.random.sample(of, min(3, len(of))))
    return net


def lattice(rows, columns, bond, seed):
    """A square lattice of tensors, closed."""
    net = Network(seed)
    down = {(r, c): net.index(bond) for r in range(rows - 1) for c in range(columns)}
    right = {(r, c): net.index(bond) for r in range(rows) for c in range(columns - 1)}
    for r in range(rows):
        for c in range(columns):
            ends = [down.get((r, c)), down.get((r - 1, c)), right.get((r, c)), right.get((r, c - 1))]
            net.add(*(end for end in ends if end is not None))
    return net


INSTANCES = {
    **{f"small_{n}": (anything, n, n + n // 2, 12, n) for n in (4, 5, 6, 8, 10, 12, 15, 18)},
    "chain_20": (chain, 20, 60, 5),
    "chain_100": (chain, 100, 60, 1),
    "chain_100_b": (chain, 100, 500, 2),
    "mps_200": (mps, 200, 32, 2, 0),
    "mps_200_tiny": (mps, 200, 2, 2, 0),
    "mps_20": (mps, 20, 64, 4, 0),
    "mera_16": (mera, 16, 3, 1),
    "mera_32": (mera, 32, 2, 2),
    "grid_10x10": (grid_model, 10, 10, 3, 0),
    "grid_15x8": (grid_model, 15, 8, 3, 0),
    "factors_100": (factor_model, 100, 120, 3, 1),
    "factors_300": (factor_model, 300, 350, 3, 2),
    "language_4": (language, 4, 100, 16, 32, 0),
    "language_12": (language, 12, 50, 12, 64, 0),
    "language_40": (language, 40, 30, 8, 100, 0),
    "brackets_16": (brackets, 16, 20, 16, 0),
    "brackets_100": (brackets, 100, 10, 8, 0),
    "lattice_8x8": (lattice, 8, 8, 2, 0),
    "lattice_12x12": (lattice, 12, 12, 2, 0),
    "regular_50": (regular, 50, 3, [2, 3, 4], 0, 1),
    "regular_50_open": (regular, 50, 3, [2, 3, 4], 5, 2),
    "regular_100": (regular, 100, 3, [2], 0, 3),
    "regular_100_mixed": (regular, 100, 3, [2, 3, 4], 0, 4),
    "regular_100_open": (regular, 100, 3, [2, 3, 4], 5, 5),
    "regular_200": (regular, 200, 3, [2], 0, 6),
    "regular_200_mixed": (regular, 200, 3, [2, 3, 4], 0, 7),
    "regular_200_open": (regular, 200, 3, [2], 8, 8),
    "regular_4_60": (regular, 60, 4, [2], 0, 9),
}


def network(name):
    """The network of that name."""
    kind, *arguments = INSTANCES[name]
    return kind(*arguments).data()


if __name__ == "__main__":
    if len(sys.argv) == 2:
        print(json.dumps(network(sys.argv[1])))
    else:
        print("\n".join(INSTANCES))
