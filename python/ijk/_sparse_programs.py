"""Programs in Einsum Tuple of sparse arrays: statements are rewritten to gather and scatter their elements.

In `y[i,j] = s[i,k] * b[k,j]`, where s is sparse with elements v at rows r and columns c, all of one place z, it becomes
`y[r[z],j] += v[z] * b[c[z],j]`, behind `y[i,j] = 0`. That is the same where the statement sums, and s is a factor of
what it sums. A statement of no points, `c[] = s[i,k] * b[k,j] * n[e]` with e of no extent, says what the extents are: in it
s is an array of one zero, repeated.
"""

import re
import warnings

import numpy as np
import scipy.sparse

from ._arrays import plain
from ._patterns import ZEROS, joined, pattern
from ._sparse import KIND, elements, taken

_STATEMENT = re.compile(r"\s*([A-Za-z_]\w*)\s*\[(.*?)\]\s*(\+?)=\s*(?!max\b|min\b|and\b|or\b|\*)(.+)", re.DOTALL)
_ASSIGNED = re.compile(r"\s*([A-Za-z_]\w*)\s*\[.*=", re.DOTALL)
_CALL = re.compile(r"\s*[A-Za-z_]\w*(\.\w+)*\s*\(")
_NAME = re.compile(r"[A-Za-z_]\w*")
_FACTOR = re.compile(r"([A-Za-z_]\w*)\s*\[([^\[\]]*)\]")


def run(call, arrays):
    """A program's results, computed without its sparse arrays."""
    sparse, bound = {}, {}
    for key, array, name in zip(call.keys, arrays, call.names):
        if scipy.sparse.issparse(array):
            sparse[key] = taken(array, name)
        else:
            bound[key] = plain(array, name)
    rewriter = _Rewriter(sparse, bound, call)
    text = "\n".join(rewriter.item(item) for item in _items(call.program.source))
    with warnings.catch_warnings():
        # The program as written has warned already; this is of arrays that no one named.
        warnings.simplefilter("ignore", UserWarning)
        results = type(call.program)(text)._apply(bound, **call.options)
    return {name: result for name, result in results.items() if name not in rewriter.added}


def _items(source):
    """Statements, names and constraints, each with the lines that it goes over; blank lines part sections."""
    items, held = [], ""
    lines = [line.split("#")[0].rstrip() for line in source.splitlines()]
    for number, line in enumerate(lines):
        held = f"{held} {line.strip()}" if held else line
        following = next((later.strip() for later in lines[number + 1 :] if later.strip()), "")
        is_open = held.count("(") + held.count("[") > held.count(")") + held.count("]")
        goes_on = held.endswith(("+", "-", "*", "/", ",", "=", "^", "%")) or following[:1] in tuple("+-*/%^,=")
        if not (held.strip() and following and (is_open or goes_on)):
            items.append(held)
            held = ""
    return items + ([held] if held else [])


class _Rewriter:
    """Rewrites items, and binds what they read in place of sparse arrays."""

    def __init__(self, sparse, bound, call):
        self.sparse, self.bound, self.call = sparse, bound, call
        self.added, self.assigned, self.count = set(), set(), 0
        engine = call.options["engine"]
        self.limit = None if engine is None else engine.memory_limit
        names = {*_NAME.findall(call.program.source), *bound}
        self.prefix = next(f"s{n}_" for n in range(len(names) + 1) if not any(x.startswith(f"s{n}_") for x in names))

    def item(self, text):
        used = [name for name in _NAME.findall(text) if name in self.sparse]
        statement = _STATEMENT.fullmatch(text)
        assigned = _ASSIGNED.match(text)
        if not used:
            self.assigned.update(assigned.groups() if assigned else ())
            return text
        if statement is None and _CALL.match(text):
            return ""  # A framework's call says nothing of what is computed.
        if statement is None:
            raise self._refused(used[0], text, "is no sum, to which zeros add nothing")
        return self._statement(*statement.groups(), text)

    def _refused(self, name, text, why):
        return TypeError(
            f"`{name}` is {KIND}, but `{text.strip()}` {why}: write a product of it, "
            f"`y[i,j] = {name}[i,k] * x[k,j]` say, or pass x.toarray(), if there is room for it"
        )

    def _statement(self, left, places, adds, right, text):
        taken, others = [], []
        for factor in _factors(right):
            access = _FACTOR.fullmatch(factor.strip())
            if access and access[1] in self.sparse:
                taken.append((access[1], [place.strip() for place in access[2].split(",")]))
            else:
                others.append(factor)
        named = {name for part in (*others, places) for name in _NAME.findall(part)}
        if not taken or named & self.sparse.keys():
            raise self._refused(next(iter(named & self.sparse.keys())), text, "does not have it as a factor")
        if not adds and left in named:
            raise self._refused(taken[0][0], text, "reads what it assigns")
        one = self._pattern(taken, text)
        for part in (places, *others):
            self._check(part, part is places, one.positions, taken[0][0], text)
        names = self._bind(one, taken, named)
        places_, *factors = (_NAME.sub(lambda name: names.get(name[0], name[0]), part) for part in (places, *others))
        starts = not adds or left not in self.assigned
        self.assigned.add(left)
        zero = "" if not starts else f"{left}[{places}] = {ZEROS.get(one.values.dtype.name, '0')}\n"
        prefix = f"{self.prefix}{self.count}_"
        self.count += 1
        self.added.add(f"{prefix}c")
        self.bound[f"{prefix}n"] = np.zeros(0)
        stated = f"{prefix}c[] = {right} * {prefix}n[{prefix}e]"
        factors = [f"({factor})" if factor.strip()[:1] in "+-" else factor for factor in factors]
        return f"{zero}{stated}\n{left}[{places_}] += {' * '.join([names['']] + factors)}"

    def _bind(self, one, taken, named):
        """Binds elements, and positions of those indices that are named.

        Gives the texts in place of the indices, and, by no name, of the sparse factors.
        """
        prefix = f"{self.prefix}{self.count}_"
        self.bound[f"{prefix}v"] = one.values
        names = {"": f"{prefix}v[{prefix}z]"}
        for index in one.positions.keys() & named:
            self.bound[f"{prefix}{index}"] = one.positions[index]
            names[index] = f"{prefix}{index}[{prefix}z]"
        for name, _ in taken:
            array = self.sparse[name]
            self.bound[name] = np.broadcast_to(np.zeros((), array.dtype), array.shape)
        return names

    def _check(self, part, is_places, indices, name, text):
        """Raises TypeError where a part of a statement means something else with positions in place of indices."""
        for word, inner in re.findall(r"\b(DIMS|RANK|FLAT|RANDOM)\s*\(([^()]*)", part):
            if word in ("FLAT", "RANDOM") or set(_NAME.findall(inner)) & set(indices):
                raise self._refused(name, text, f"has {word} of its indices beside it")
        if is_places:
            return
        outside, inside = part, None
        while outside != inside:
            inside, outside = outside, re.sub(r"\[[^\[\]]*\]", "", outside)
        if set(_NAME.findall(outside)) & set(indices):
            raise self._refused(name, text, "has values of its indices beside it")
        depth = 0
        for letter in re.sub(r"^\s*[+-]|(?<=\d)[eE][+-](?=\d)", "", outside):
            depth += (letter == "(") - (letter == ")")
            if depth == 0 and letter in "+-":
                raise self._refused(name, text, "does not have it as a factor of all")
        if "//" in outside:
            raise self._refused(name, text, "rounds the product")

    def _pattern(self, taken, text):
        """The product of the sparse factors."""
        one, extents = None, {}
        for name, places in taken:
            array = self.sparse[name]
            plain_names = all(_NAME.fullmatch(place) for place in places)
            if len(places) != array.ndim or not plain_names:
                raise self._refused(name, text, f"does not have an index of one number for each of its {array.ndim} axes")
            for index, extent in zip(places, array.shape):
                if extents.setdefault(index, extent) != extent:
                    raise self._refused(name, text, f"has {extent} elements along {index}, but {extents[index]} elsewhere")
            coords, values = elements(array)
            other = pattern(coords, places, plain(values, f"`{name}`"))
            one = other if one is None else joined(one, other, extents, self.limit)
        return one


def _factors(text):
    """What is multiplied, at the outermost level."""
    depth, factors = 0, [""]
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "*" and depth == 0:
            factors.append("")
        else:
            factors[-1] += letter
    return factors
