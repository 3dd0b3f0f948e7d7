"""Products of vectors, broadcasting, reductions of rows."""

from __future__ import annotations

from ..case import Case, Input, letters
from .goals import MEAN, RMS, ROWS, SOFTMAX


def case(name: str, ijk: str, sizes: str, inputs: str, operations: str, **calls) -> Case:
    """A case whose inputs hold numbers of both signs."""
    shapes = [Input(shape.strip()) for shape in inputs.split(",")]
    return Case(name, "rows", ijk, letters(sizes), shapes, operations, **calls)


PRODUCTS = [
    case(
        "matrix by vector",
        "+(ij*j)~i",
        "i=8192 j=4096",
        "i j, j",
        "2*i*j",
        numpy="np.matmul(x, y)",
        numpy_into="np.matmul(x, y, out=out)",
        torch="torch.mv(x, y)",
        torch_into="torch.mv(x, y, out=out)",
        jax="jnp.matmul(x, y)",
    ),
    case(
        "vector by matrix",
        "+(i*ij)~j",
        "i=8192 j=4096",
        "i, i j",
        "2*i*j",
        numpy="np.matmul(x, y)",
        numpy_into="np.matmul(x, y, out=out)",
        torch="torch.matmul(x, y)",
        torch_into="torch.matmul(x, y, out=out)",
        jax="jnp.matmul(x, y)",
    ),
    case(
        "batched matrix by vector",
        "+(bij*bj)~bi",
        "b=512 i=256 j=256",
        "b i j, b j",
        "2*b*i*j",
        numpy="np.matvec(x, y)",
        numpy_into="np.matvec(x, y, out=out)",
        torch="torch.bmm(x, y.unsqueeze(2)).squeeze(2)",
        jax="jnp.matvec(x, y)",
    ),
    case(
        "outer product",
        "i*j~ij",
        "i=4096 j=8192",
        "i, j",
        "i*j",
        numpy="np.multiply.outer(x, y)",
        numpy_into="np.multiply.outer(x, y, out=out)",
        torch="torch.outer(x, y)",
        torch_into="torch.outer(x, y, out=out)",
        jax="jnp.outer(x, y)",
    ),
    case(
        "dot product",
        "+(i*i)~.",
        "i=20000000",
        "i, i",
        "2*i",
        numpy="np.dot(x, y)",
        torch="torch.dot(x, y)",
        torch_into="torch.dot(x, y, out=out)",
        jax="jnp.dot(x, y)",
        tolerance=1e-3,
    ),
    case(
        "batched dot product",
        "+(ij*ij)~i",
        "i=4096 j=4096",
        "i j, i j",
        "2*i*j",
        numpy="np.vecdot(x, y)",
        numpy_into="np.vecdot(x, y, out=out)",
        torch="torch.linalg.vecdot(x, y)",
        torch_into="torch.linalg.vecdot(x, y, out=out)",
        jax="jnp.vecdot(x, y)",
        tolerance=1e-3,
    ),
]

ADDITIONS = [
    case(
        f"add {what}",
        ijk,
        sizes,
        inputs,
        "*".join(sizes.replace("=", " ").split()[::2]),
        numpy=f"np.add({arguments})",
        numpy_into=f"np.add({arguments}, out=out)",
        torch=f"torch.add({arguments})",
        torch_into=f"torch.add({arguments}, out=out)",
        jax=f"jnp.add({arguments})",
    )
    for what, ijk, sizes, inputs, arguments in [
        ("a row to each", "ij+j~ij", "i=4096 j=4096", "i j, j", "x, y"),
        ("a column to each", "ij+i~ij", "i=4096 j=4096", "i j, i", "x, y[:, None]"),
        ("a row and a column", "i+j~ij", "i=4096 j=4096", "i, j", "x[:, None], y"),
        ("channels", "nchw+c~nchw", "n=8 c=64 h=128 w=128", "n c h w, c", "x, y[:, None, None]"),
        ("a transpose", "ij+ji~ij", "i=4096 j=4096", "i j, j i", "x, y.T"),
    ]
]

NORMALISED = [
    Case(
        name="masked softmax",
        group="rows",
        ijk="@where(ij,ij,-@inf)~ij . " + SOFTMAX.format("ij", "i"),
        sizes=ROWS,
        inputs=[Input("i j", "bool", "mask"), Input("i j")],
        operations="6*i*j",
        numpy="np_softmax(np.where(x, y, np.float32(-np.inf)))",
        torch="torch.softmax(y.masked_fill(~x, -torch.inf), 1)",
        torch_into="torch.softmax(y.masked_fill(~x, -torch.inf), 1, out=out)",
        jax="jax.nn.softmax(jnp.where(x, y, -jnp.inf), 1)",
    ),
    case(
        "RMS norm",
        f"{RMS}\n(I & rms) . ij/i~ij",
        "i=4096 j=4096",
        "i j",
        "4*i*j",
        numpy="np_rms_norm(x)",
        torch="F.rms_norm(x, x.shape[1:], eps=1e-5)",
        jax="x / jnp.sqrt(jnp.mean(x * x, axis=1, keepdims=True) + 1e-5)",
    ),
]

REDUCED = [
    case(
        "log-sum-exp",
        """most: >ij~i
        rest: (I & most) . ij-i~ij . ^ij~ij . +ij~i . $i~i
        (rest & most) . i+i~i""",
        "i=4096 j=4096",
        "i j",
        "4*i*j",
        numpy="np_logsumexp(x)",
        torch="torch.logsumexp(x, 1)",
        torch_into="torch.logsumexp(x, 1, out=out)",
        jax="jax.nn.logsumexp(x, axis=1)",
    ),
    case(
        "variance",
        f"""{MEAN}
        (I & mean) . ij-i~ij . (I & I) . +(ij*ij)~i . i*INVERSE(j)~i""",
        "i=4096 j=4096",
        "i j",
        "4*i*j",
        numpy="np.var(x, axis=1)",
        numpy_into="np.var(x, axis=1, out=out)",
        torch="torch.var(x, 1, correction=0)",
        torch_into="torch.var(x, 1, correction=0, out=out)",
        jax="jnp.var(x, axis=1)",
    ),
    case(
        "argmax",
        "@argmax ij~i",
        "i=4096 j=4096",
        "i j",
        "i*j",
        numpy="np.argmax(x, axis=1)",
        numpy_into="np.argmax(x, axis=1, out=out)",
        torch="torch.argmax(x, 1)",
        torch_into="torch.argmax(x, 1, out=out)",
        jax="jnp.argmax(x, axis=1)",
    ),
    Case(
        name="cumulative sum",
        group="rows",
        ijk="cumulative_sum.et",
        sizes=ROWS,
        inputs=[Input("i j")],
        names=("input",),
        result="output",
        flags=("--dims", "pos={j}"),
        operations="i*j",
        numpy="np.cumsum(x, axis=1)",
        numpy_into="np.cumsum(x, axis=1, out=out)",
        torch="torch.cumsum(x, 1)",
        torch_into="torch.cumsum(x, 1, out=out)",
        jax="jnp.cumsum(x, axis=1)",
        tolerance=1e-3,
    ),
]

CASES = PRODUCTS + ADDITIONS + NORMALISED + REDUCED
