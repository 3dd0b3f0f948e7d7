"""Small arrays, where the overhead of calls dominates, and new shapes."""

from ..program import Program

SHAPES = {"views": "new_shapes(x)"}

PROGRAMS = [
    Program(
        "product of 4 by 4, halved",
        "i=4 j=4 k=4",
        dict(a="signed(i, k)", b="signed(k, j)"),
        et="y[i,j] = a[i,k] * b[k,j] / 2",
        numpy="a @ b / 2",
        torch="a @ b / 2",
        jax="a @ b / 2",
    ),
    Program(
        "product of 4 by 4 in i",
        "i=4 j=4 k=4",
        dict(a="signed(i, k)", b="signed(k, j)"),
        i="+(ik*kj)~ij",
        numpy="a @ b",
        torch="a @ b",
        jax="a @ b",
    ),
    Program(
        "product of 16 by 16, einsum",
        "i=16 j=16 k=16",
        dict(a="signed(i, k)", b="signed(k, j)"),
        einsum="ik,kj->ij",
        numpy="np.einsum('ik,kj->ij', a, b)",
        torch="torch.einsum('ik,kj->ij', a, b)",
        jax="jnp.einsum('ik,kj->ij', a, b)",
    ),
    Program(
        "three small factors, einsum",
        "i=8 j=8 k=8 l=8",
        dict(a="signed(i, j)", b="signed(j, k)", c="signed(k, l)"),
        einsum="ij,jk,kl->il",
        numpy="a @ b @ c",
        torch="a @ b @ c",
        jax="a @ b @ c",
    ),
    Program(
        "softmax of 10",
        "d=10",
        dict(x="signed(d)"),
        et="m[] =max x[d]\nw[d] = EXP(x[d] - m[])\nt[] = w[d]\ny[d] = w[d] / t[]",
        numpy="np_softmax(x)",
        torch="torch.softmax(x, 0)",
        jax="jax.nn.softmax(x)",
    ),
    Program(
        "layer norm of 16 by 16",
        "b=16 d=16",
        dict(x="signed(b, d)"),
        et="""m[b] = x[b,d] / DIMS(d)
v[b] = POW(x[b,d] - m[b], 2) / DIMS(d)
y[b,d] = (x[b,d] - m[b]) / SQRT(v[b] + 0.00001)""",
        numpy="np_standard(x, 1)",
        torch="F.layer_norm(x, (n.d,))",
        jax="jnp_standard(x, 1)",
    ),
    Program(
        "distance of two points",
        "d=3",
        dict(a="signed(d)", b="signed(d)"),
        et="s[] = POW(a[d] - b[d], 2)\ny[] = SQRT(s[])",
        numpy="np.linalg.norm(a - b)",
        torch="torch.linalg.norm(a - b)",
        jax="jnp.linalg.norm(a - b)",
    ),
    Program(
        "a new shape each time, i",
        "t=4096",
        dict(x="signed(t)"),
        i="(I & >t~.) . t-.~t . ^t~t . (I & +t~.) . t/.~t",
        call="f(next(views))",
        numpy="np_softmax(next(views))",
        before=SHAPES,
        fixed=frozenset("t"),
    ),
    Program(
        "a new shape each time, Einsum Tuple",
        "t=4096",
        dict(x="signed(t)"),
        et="m[] =max x[d]\nw[d] = EXP(x[d] - m[])\nt[] = w[d]\ny[d] = w[d] / t[]",
        call="f(x=next(views))['y']",
        numpy="np_softmax(next(views))",
        before=SHAPES,
        fixed=frozenset("t"),
    ),
    Program(
        "a new shape each time, einsum",
        "t=4096",
        dict(x="signed(t)"),
        einsum="t,t->",
        call="f(*[next(views)] * 2)",
        numpy="np_dot(next(views))",
        before=SHAPES,
        fixed=frozenset("t"),
    ),
]
