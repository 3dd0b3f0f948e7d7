"""The base programs. All variants of one are a class."""

from __future__ import annotations

from dataclasses import dataclass, field

from .parse import statements
from .tree import Input, Program


@dataclass(frozen=True)
class Class:
    """A base program: sizes, inputs with the letters of their axes, and what each holds.

    `operations` are those that any way to compute it takes, as an expression of the sizes, where bytes are not all.
    `small` are sizes for tests, in which letters that are not named have 3.
    """

    name: str
    sizes: str
    inputs: str
    source: str
    operations: str = "0"
    holds: dict[str, str] = field(default_factory=dict)
    small: str = ""

    def program(self, small: bool = False) -> Program:
        """As a tree."""
        sizes = table(self.sizes)
        if small:
            sizes = {letter: min(n, 3) for letter, n in sizes.items()} | table(self.small)
        pairs = (pair.partition("=") for pair in self.inputs.split())
        inputs = [Input(n, n, letters, self.holds.get(n, "positive")) for n, _, letters in pairs]
        return Program(statements(self.source), tuple(inputs), tuple(sizes.items()))

    def count(self) -> int:
        """The operations."""
        return int(eval(self.operations, {"__builtins__": {}}, table(self.sizes)))


def table(sizes: str) -> dict[str, int]:
    """`a=1 b=2` as a table."""
    return {name: int(n) for name, _, n in (pair.partition("=") for pair in sizes.split())}


PRODUCT = dict(sizes="i=256 j=256 k=256", inputs="a=ik b=kj", operations="2*i*j*k")
ROWS = dict(sizes="b=1024 d=512", inputs="x=bd")
FLAT = dict(sizes="a=524288", inputs="x=a")
SIGNED = dict(holds={"x": "signed"})
EDGES = dict(sizes="n=4000 z=40000 d=32", holds={"r": "below n", "c": "below n"})

CONTRACTIONS = [
    Class("product", source="y[i,j] = a[i,k] * b[k,j]", **PRODUCT),
    Class("product halved", source="y[i,j] = a[i,k] * b[k,j] / 2", **PRODUCT),
    Class("product negated", source="y[i,j] = -(a[i,k] * b[k,j])", **PRODUCT),
    Class("product over extent", source="y[i,j] = a[i,k] * b[k,j] / DIMS(k)", **PRODUCT),
    Class("product over root", source="y[i,j] = a[i,k] * b[k,j] / SQRT(DIMS(k))", **PRODUCT),
    Class(
        "product with scales",
        "i=256 j=256 k=256",
        "a=ik b=kj r=i c=j",
        "y[i,j] = r[i] * a[i,k] * b[k,j] / c[j]",
        "2*i*j*k",
    ),
    Class(
        "product and rectifier",
        "i=256 j=256 k=256",
        "a=ik b=kj c=j",
        "t[i,j] = a[i,k] * b[k,j]\ny[i,j] = MAX(t[i,j] + c[j], 0)",
        "2*i*j*k",
        holds={"a": "signed", "c": "signed"},
    ),
    Class("small product", "i=16 j=16 k=16", "a=ik b=kj", "y[i,j] = a[i,k] * b[k,j] * 3", "2*i*j*k"),
    Class(
        "batched product",
        "b=32 i=64 j=64 k=64",
        "x=bik z=bkj",
        "y[b,i,j] = x[b,i,k] * z[b,k,j] / 8",
        "2*b*i*j*k",
    ),
    Class("matrix by vector", "i=1024 j=1024", "a=ij x=j", "y[i] = a[i,j] * x[j] * 3"),
    Class("vector by matrix", "i=1024 j=1024", "a=ij x=i", "y[j] = x[i] * a[i,j] / 3"),
    Class("quadratic form", "b=512 i=64 j=64", "x=bi a=ij z=bj", "y[b] = x[b,i] * a[i,j] * z[b,j] / 2"),
    Class("three matrices", "a=128 b=128 c=128", "x=ab z=bc w=ca", "y[] = x[a,b] * z[b,c] * w[c,a]"),
    Class(
        "bilinear layer",
        "b=128 i=32 o=32 j=32",
        "x=bi w=oij z=bj",
        "y[b,o] = x[b,i] * w[o,i,j] * z[b,j]",
    ),
    Class("gates", "t=256 e=8 h=64 o=64", "g=te x=teh w=eho", "y[t,o] = g[t,e] * x[t,e,h] * w[e,h,o]"),
    Class("long columns", "k=100000 i=4 j=4", "a=ki b=kj", "y[i,j] = a[k,i] * b[k,j] / DIMS(k)"),
    Class("short rows", "i=50000 j=24", "a=ij b=ij", "y[i] = a[i,j] * b[i,j] * 2"),
    Class("outer product", "i=512 j=1024", "a=i b=j", "y[i,j] = a[i] * b[j] / 3"),
    Class(
        "tropical product",
        "i=128 j=128 k=128",
        "a=ik b=kj",
        "y[i,j] =min a[i,k] + b[k,j]",
        "2*i*j*k",
    ),
    Class(
        "distances",
        "i=256 j=256 d=32",
        "a=id b=jd",
        "s[i,j] = POW(a[i,d] - b[j,d], 2)\ny[i,j] = SQRT(s[i,j])",
        "3*i*j*d",
    ),
    Class("absolute distances", "i=256 j=256 d=32", "a=id b=jd", "y[i,j] = ABS(a[i,d] - b[j,d])", "3*i*j*d"),
]

REDUCTIONS = [
    Class("mean of rows", source="y[b] = x[b,d] / DIMS(d)", **ROWS),
    Class("mean of columns", source="y[d] = x[b,d] / DIMS(b)", **ROWS),
    Class("sum of squares", source="y[b] = POW(x[b,d], 2)", **ROWS),
    Class("greatest of rows", source="y[b] =max x[b,d] * 2", **ROWS | SIGNED),
    Class("least of columns", source="y[d] =min x[b,d] + 1", **ROWS | SIGNED),
    Class("variance", source="m[b] = x[b,d] / DIMS(d)\ny[b] = POW(x[b,d] - m[b], 2) / DIMS(d)", **ROWS),
    Class("mean square", "b=1024 d=512", "x=bd z=bd", "y[] = POW(x[b,d] - z[b,d], 2) / (DIMS(b) * DIMS(d))"),
    Class("sum of large ones", source="y[b] = WHERE(GE(x[b,d], 1), x[b,d], 0)", **ROWS),
    Class("weighted mean", "b=1024 d=512", "x=bd w=d", "y[b] = x[b,d] * w[d] / DIMS(d)"),
    Class("mean of the middle", "b=32 s=128 d=128", "x=bsd", "y[b,d] = x[b,s,d] / DIMS(s)"),
    Class("mean of images", "n=32 c=32 h=16 w=16", "x=nchw", "y[n,c] = x[n,c,h,w] / (DIMS(h) * DIMS(w))"),
    Class(
        "hinge",
        "a=524288",
        "x=a t=a",
        "y[] = MAX(1 - t[a] * x[a], 0) / DIMS(a)",
        holds={"t": "signed"},
    ),
]

SWEEPS = [
    Class(
        "softmax",
        source="m[b] =max x[b,d]\nw[b,d] = EXP(x[b,d] - m[b])\nt[b] = w[b,d]\ny[b,d] = w[b,d] / t[b]",
        **ROWS | SIGNED,
    ),
    Class(
        "layer norm",
        source="m[b] = x[b,d] / DIMS(d)\nv[b] = POW(x[b,d] - m[b], 2) / DIMS(d)\n"
        "y[b,d] = (x[b,d] - m[b]) / SQRT(v[b] + 0.00001)",
        **ROWS,
    ),
    Class(
        "RMS norm",
        "b=1024 d=512",
        "x=bd w=d",
        "v[b] = x[b,d] * x[b,d] / DIMS(d)\ny[b,d] = x[b,d] * w[d] / SQRT(v[b] + 0.00001)",
    ),
    Class("rows of sum one", source="t[b] = x[b,d]\ny[b,d] = x[b,d] / t[b]", **ROWS),
    Class(
        "log-sum-exp",
        source="m[b] =max x[b,d]\nt[b] = EXP(x[b,d] - m[b])\ny[b] = m[b] + LOG(t[b])",
        **ROWS | SIGNED,
    ),
    Class(
        "attention",
        "b=4 i=128 j=128 f=32 g=32",
        "q=bif k=bjf v=bjg",
        "s[b,i,j] = q[b,i,f] * k[b,j,f] / SQRT(DIMS(f))\nm[b,i] =max s[b,i,j]\n"
        "w[b,i,j] = EXP(s[b,i,j] - m[b,i])\nt[b,i] = w[b,i,j]\n"
        "y[b,i,g] = w[b,i,j] / t[b,i] * v[b,j,g]",
        "4*b*i*j*f",
    ),
]

ELEMENTS = [
    Class("square", source="y[a] = POW(x[a], 2)", **FLAT),
    Class("cube", source="y[a] = POW(x[a], 3)", **FLAT),
    Class("inverse root", source="y[a] = 1 / SQRT(x[a])", **FLAT),
    Class("rectifier", source="y[a] = MAX(x[a], 0) * 2", **FLAT | SIGNED),
    Class("magnitude", source="y[a] = ABS(x[a]) / 3", **FLAT | SIGNED),
    Class("sigmoid", source="y[a] = SIGMOID(x[a])", **FLAT | SIGNED),
    Class("exponential", source="y[a] = EXP(-x[a] / 2)", **FLAT),
    Class("polynomial", source="y[a] = 1 + x[a] * (2 + 3 * x[a])", **FLAT),
    Class("a x plus y", "a=524288", "x=a z=a", "y[a] = 2.5 * x[a] + z[a]"),
    Class("half a difference", "a=524288", "x=a z=a", "y[a] = (x[a] - z[a]) / 2"),
    Class("three terms", "a=524288", "x=a z=a w=a", "y[a] = x[a] + z[a] + 2 * w[a]"),
    Class("leaky rectifier", source="y[a] = WHERE(GT(x[a], 0), x[a], x[a] / 10)", **FLAT | SIGNED),
    Class("add a row, scale a column", "i=512 j=1024", "x=ij b=j s=i", "y[i,j] = (x[i,j] - b[j]) / s[i]"),
    Class("transpose", "i=512 j=512", "x=ij", "y[j,i] = x[i,j] * 2"),
]

GATHERS = [
    Class(
        "rows gathered",
        "n=4000 z=40000 d=32",
        "x=nd c=z",
        "y[z,d] = x[c[z],d] * 2",
        holds={"c": "below n"},
    ),
    Class(
        "rows gathered and weighted",
        "n=4000 z=40000 d=32",
        "x=nd c=z v=z",
        "y[z,d] = v[z] * x[c[z],d]",
        holds={"c": "below n"},
    ),
    Class(
        "rows gathered, by a matrix",
        "n=4000 z=4000 d=32 o=32",
        "x=nd c=z w=do",
        "y[z,o] = x[c[z],d] * w[d,o]",
        "2*z*d*o",
        holds={"c": "below n"},
    ),
    Class(
        "embedding bag",
        "n=4000 b=1024 l=16 d=32",
        "e=nd p=bl",
        "y[b,d] = e[p[b,l],d] / DIMS(l)",
        holds={"p": "below n"},
    ),
    Class(
        "scores of edges",
        inputs="x=nd z1=nd r=z c=z",
        source="y[z] = x[r[z],d] * z1[c[z],d]",
        **EDGES,
    ),
    Class(
        "sparse by dense",
        inputs="x=nd v=z r=z c=z s=nd",
        source="y[n,d] = s[n,d]\ny[r[z],d] += v[z] * x[c[z],d]",
        **EDGES,
    ),
    Class(
        "greatest by segments",
        inputs="x=zd r=z s=nd",
        source="y[n,d] = s[n,d]\ny[r[z],d] max= x[z,d] * 2",
        sizes="n=4000 z=40000 d=32",
        holds={"r": "sorted n"},
    ),
]

WINDOWS = [
    Class(
        "filter of signals",
        "b=16 t=8192 k=16 T=8207",
        "x=bT w=k",
        "y[b,t] = x[b,t+k] * w[k] / 2",
        "2*b*t*k",
        small="T=5",
    ),
    Class(
        "moving average",
        "b=16 t=8192 k=16 T=8207",
        "x=bT",
        "y[b,t] = x[b,t+k] / DIMS(k)",
        small="T=5",
    ),
    Class(
        "moving maximum",
        "b=16 t=8192 k=8 T=8199",
        "x=bT",
        "y[b,t] =max x[b,t+k]",
        holds={"x": "signed"},
        small="T=5",
    ),
    Class(
        "convolution",
        "n=2 c=16 f=16 h=28 w=28 r=3 s=3 H=30 W=30",
        "x=ncHW k=fcrs",
        "y[n,f,h,w] = x[n,c,h+r,w+s] * k[f,c,r,s] * 2",
        "2*n*f*c*h*w*r*s",
        small="H=5 W=5",
    ),
]

CLASSES = [*CONTRACTIONS, *REDUCTIONS, *SWEEPS, *ELEMENTS, *GATHERS, *WINDOWS]
assert len({one.name for one in CLASSES}) == len(CLASSES)
