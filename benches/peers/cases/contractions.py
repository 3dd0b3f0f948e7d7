"""Contractions: the 24 of the benchmark that came with the Tensor Contraction Code Generator.

They are written `C-A-B`: C = A · B, summed over the letters that C has not. Arrays are in C order here,
and no case is larger than some 400 MB.
"""

from __future__ import annotations

from ..case import Case, einsum, letters

FOUR = "a=72 b=72 c=72 d=72 e=72 f=72"
SIX = "a=24 b=20 c=20 d=24 e=20 f=20 g=24"

# A tensor by a matrix of 24 columns, as in multilinear algebra; one index transformed, as in quantum
# chemistry; coupled-cluster methods.
TENSOR_MATRIX = {
    "abc-bda-dc": "a=312 b=312 c=24 d=312",
    "abc-dca-bd": "a=312 b=24 c=296 d=312",
    "abcd-dbea-ec": "a=72 b=72 c=24 d=72 e=72",
    "abcd-deca-be": "a=72 b=24 c=72 d=72 e=72",
    "abcd-ebad-ce": "a=72 b=72 c=24 d=72 e=72",
    "abcde-efbad-cf": "a=32 b=32 c=24 d=32 e=32 f=48",
    "abcde-ecbfa-fd": "a=32 b=32 c=32 d=24 e=32 f=48",
    "abcde-efcad-bf": "a=32 b=24 c=32 d=32 e=32 f=48",
}
TRANSFORMED = {
    "abcd-ea-ebcd": FOUR,
    "abcd-eb-aecd": FOUR,
    "abcd-ec-abed": FOUR,
}
COUPLED_CLUSTER = {
    "ab-ac-cb": "a=5136 b=5136 c=5120",
    "ab-acd-dbc": "a=312 b=296 c=296 d=312",
    "ab-cad-dcb": "a=312 b=296 c=312 d=312",
    "abc-acd-db": "a=312 b=296 c=296 d=312",
    "abc-adc-bd": "a=312 b=312 c=296 d=296",
    "abc-adec-ebd": FOUR,
    "abcd-aebf-dfce": FOUR,
    "abcd-aebf-fdec": FOUR,
    "abcd-eafd-fbec": FOUR,
    "abcdef-dega-gfbc": SIX,
    "abcdef-degb-gfac": SIX,
    "abcdef-degc-gfab": SIX,
    "abcdef-dfgb-geac": SIX,
}
SPECS = {**TENSOR_MATRIX, **TRANSFORMED, **COUPLED_CLUSTER}
assert len(SPECS) == 24

# These in double precision, too, smaller so that they take no longer.
DOUBLE = [
    "abc-bda-dc",
    "abcd-ebad-ce",
    "abcde-efbad-cf",
    "abcd-ea-ebcd",
    "abcd-ec-abed",
    "ab-ac-cb",
    "ab-acd-dbc",
    "abc-adec-ebd",
    "abcd-aebf-dfce",
    "abcdef-dega-gfbc",
]

def halved(spec: str) -> dict[str, int]:
    """Sizes with that of `a` halved, and all of a matrix product's."""
    halves = "abc" if spec == "ab-ac-cb" else "a"
    return {name: n // 2 if name in halves else n for name, n in letters(SPECS[spec]).items()}


# Giga-operations a second, of a peak of 535.
GOALS = {
    "abcd-aebf-dfce": 430,
    "ab-acd-dbc": 350,
    "abcd-ebad-ce": 150,
    "abcde-efbad-cf": 100,
    "abcd-ea-ebcd": 200,
}


def tccg(spec: str, sizes: str) -> Case:
    """One of the 24."""
    goal = ("peak", GOALS[spec]) if spec in GOALS else None
    return einsum(spec, "tccg", spec, letters(sizes), contraction=True, goal=goal)


CASES = [
    *(tccg(spec, sizes) for spec, sizes in SPECS.items()),
    *(
        einsum(f"{spec} f64", "f64", spec, halved(spec), "float64", contraction=True)
        for spec in DOUBLE
    ),
]
# Small versions are made of these, and of no other contraction.
SMALL = ["abc-bda-dc", "abcd-ebad-ce", "ab-acd-dbc"]
