"""A network under construction."""

import random


class Network:
    """Operands as lists of indices, an output, and extents by index."""

    def __init__(self, seed):
        self.operands, self.output, self.extents = [], [], []
        self.random = random.Random(seed)

    def index(self, extent):
        self.extents.append(extent)
        return len(self.extents) - 1

    def indices(self, count, extent):
        return [self.index(extent) for _ in range(count)]

    def add(self, *indices):
        self.operands.append(list(indices))

    def data(self):
        return {"operands": self.operands, "output": self.output, "extents": self.extents}
