"""Cases with goals, besides those in `contractions.py`."""

from __future__ import annotations

from ..case import Case, Input, einsum, letters

ROWS = letters("i=4096 j=4096")
SOFTMAX = "(I & >{0}~{1}) . {0}-{1}~{0} . ^{0}~{0} . (I & +{0}~{1}) . {0}/{1}~{0}"
MEAN = "mean: +ij~i . i*INVERSE(j)~i"
RMS = "rms: (I & I) . +(ij*ij)~i . i*INVERSE(j)~i . i+0.00001~i . @sqrt i~i"
ATTENTION = "+(hid*hjd)~hij . hij*0.125~hij . " + SOFTMAX.format("hij", "hi") + " . +(hij*hje)~hie"


def matmul(name: str, spec: str, sizes: str, **more) -> Case:
    """A matrix product, by the function for it."""
    return einsum(
        name,
        "goals",
        spec,
        letters(sizes),
        numpy="np.matmul(x, y)",
        numpy_into="np.matmul(x, y, out=out)",
        torch="torch.matmul(x, y)",
        torch_into="torch.matmul(x, y, out=out)",
        jax="jnp.matmul(x, y)",
        contraction=True,
        **more,
    )


MATRICES = [
    matmul(
        "batched matmul",
        "bij-bik-bkj",
        "b=64 i=128 j=128 k=128",
        fixed=frozenset("b"),
        goal=("peak", 400),
    ),
    matmul("matmul", "ij-ik-kj", "i=1024 j=1024 k=1024", goal=("peak", 480)),
    matmul("matmul of 8", "ij-ik-kj", "i=8 j=8 k=8", least=0, goal=("seconds", 0.3e-6)),
    Case(
        name="max-plus matmul",
        goal=("peak", 350),
        group="goals",
        ijk=">(ik+kj)~ij",
        sizes=letters("i=512 j=512 k=512"),
        inputs=[Input("i k"), Input("k j")],
        operations="2*i*j*k",
        numpy="np.max(x[:, :, None] + y, axis=1)",
        numpy_into="np.max(x[:, :, None] + y, axis=1, out=out)",
        torch="torch.amax(x[:, :, None] + y, dim=1)",
        torch_into="torch.amax(x[:, :, None] + y, dim=1, out=out)",
        jax="jnp.max(x[:, :, None] + y, axis=1)",
    ),
    Case(
        name="squared distances",
        goal=("peak", 500),
        group="goals",
        ijk="ik-jk~ijk . ijk^2~ijk . +ijk~ij",
        sizes=letters("i=2048 j=2048 k=64"),
        inputs=[Input("i k"), Input("j k")],
        operations="3*i*j*k",
        numpy="np.sum((x[:, None] - y) ** 2, axis=2)",
        numpy_into="np.sum((x[:, None] - y) ** 2, axis=2, out=out)",
        torch="torch.sum((x[:, None] - y) ** 2, dim=2)",
        torch_into="torch.sum((x[:, None] - y) ** 2, dim=2, out=out)",
        jax="jnp.sum((x[:, None] - y) ** 2, axis=2)",
    ),
    Case(
        name="attention",
        goal=("peak", 300),
        group="goals",
        ijk=ATTENTION,
        sizes=letters("h=8 i=4096 j=4096 d=64 e=64"),
        inputs=[Input("h i d"), Input("h j d"), Input("h j e")],
        operations="h*i*j*(2*d + 2*e + 5)",
        numpy="np_softmax(x @ y.swapaxes(1, 2) * np.float32(0.125)) @ z",
        numpy_into="np.matmul(np_softmax(x @ y.swapaxes(1, 2) * np.float32(0.125)), z, out=out)",
        torch="F.scaled_dot_product_attention(x, y, z, scale=0.125)",
        jax="jax.nn.softmax(x @ y.swapaxes(1, 2) * 0.125) @ z",
        fixed=frozenset("h"),
    ),
]


def over_rows(
    name: str,
    goal: float,
    ijk: str,
    operations: str,
    inputs: list[Input] | None = None,
    **calls,
) -> Case:
    """A computation on 4096 rows of as many; the goal is in milliseconds."""
    inputs = inputs or [Input("i j")]
    return Case(name, "goals", ijk, ROWS, inputs, operations, goal=("read", goal), **calls)


ELEMENTWISE = [
    over_rows(
        "softmax",
        4,
        SOFTMAX.format("ij", "i"),
        "5*i*j",
        numpy="np_softmax(x)",
        torch="torch.softmax(x, 1)",
        torch_into="torch.softmax(x, 1, out=out)",
        jax="jax.nn.softmax(x, 1)",
    ),
    over_rows(
        "layer norm",
        4,
        f"{MEAN}\n{RMS}\n(I & mean) . ij-i~ij . (I & rms) . ij/i~ij",
        "8*i*j",
        numpy="np_layer_norm(x)",
        torch="F.layer_norm(x, x.shape[1:])",
        jax="jnp_layer_norm(x)",
    ),
    over_rows(
        "gelu(x + b)",
        4,
        "ij+j~ij . @gelu ij~ij",
        "2*i*j",
        [Input("i j"), Input("j")],
        numpy="np_gelu(x + y)",
        torch="F.gelu(x + y)",
        jax="jax.nn.gelu(x + y, approximate=False)",
    ),
    Case(
        name="permute abcd~dbca",
        goal=("read", 6),
        group="goals",
        ijk="abcd~dbca",
        sizes=letters("a=64 b=64 c=64 d=64"),
        inputs=[Input("a b c d")],
        operations="a*b*c*d",
        numpy="np.ascontiguousarray(x.transpose(3, 1, 2, 0))",
        numpy_into="np.copyto(out, x.transpose(3, 1, 2, 0))",
        torch="x.permute(3, 1, 2, 0).contiguous()",
        torch_into="out.copy_(x.permute(3, 1, 2, 0))",
        jax="jnp.transpose(x, (3, 1, 2, 0))",
    ),
    over_rows(
        "row sums",
        1,
        "+ij~i",
        "i*j",
        numpy="np.sum(x, axis=1)",
        numpy_into="np.sum(x, axis=1, out=out)",
        torch="torch.sum(x, 1)",
        torch_into="torch.sum(x, 1, out=out)",
        jax="jnp.sum(x, axis=1)",
    ),
    over_rows(
        "column sums",
        1,
        "+ij~j",
        "i*j",
        numpy="np.sum(x, axis=0)",
        numpy_into="np.sum(x, axis=0, out=out)",
        torch="torch.sum(x, 0)",
        torch_into="torch.sum(x, 0, out=out)",
        jax="jnp.sum(x, axis=0)",
    ),
    Case(
        name="gather rows",
        goal=("read", 4),
        group="goals",
        ijk="gather.et",
        sizes=letters("t=100000 r=200000 c=64"),
        inputs=[Input("t c"), Input("r", "int64", "below t")],
        names=("table", "rows"),
        result="result",
        operations="r*c",
        numpy="np.take(x, y, axis=0)",
        numpy_into="np.take(x, y, axis=0, out=out, mode='clip')",
        torch="torch.index_select(x, 0, y)",
        torch_into="torch.index_select(x, 0, y, out=out)",
        jax="x.at[y].get(mode='promise_in_bounds')",
    ),
    Case(
        name="scatter-add rows",
        goal=("read", 3),
        group="goals",
        ijk="scatter_add.et",
        sizes=letters("t=100000 r=200000 c=64"),
        inputs=[Input("t c"), Input("r", "int64", "below t"), Input("r c")],
        names=("start", "rows", "updates"),
        result="result",
        operations="r*c",
        numpy="np_scatter_add(x.copy(), y, z)",
        torch="torch.index_add(x, 0, y, z)",
        torch_into="torch.index_add(x, 0, y, z, out=out)",
        jax="x.at[y].add(z, mode='promise_in_bounds')",
    ),
]

CASES = MATRICES + ELEMENTWISE
