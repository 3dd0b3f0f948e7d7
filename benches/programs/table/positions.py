"""Masks and choices by position, tables, and neighbours."""

from ..program import Program

PROGRAMS = [
    Program(
        "one-hot",
        "b=65536 c=100",
        dict(l="below(c, b)"),
        et="""y[b,c] = EQ(l[b], c)

y

DIMS(c) = {c}""",
        numpy="l[:, None] == np.arange(n.c)",
        torch="F.one_hot(l, n.c)",
        jax="l[:, None] == jnp.arange(n.c)",
    ),
    Program(
        "smooth labels",
        "b=16384 c=100",
        dict(l="below(c, b)"),
        et="""y[b,c] = WHERE(EQ(l[b], c), 0.9, 0.1 / DIMS(c))

y

DIMS(c) = {c}""",
        numpy="np.where(l[:, None] == np.arange(n.c), 0.9, 0.001)",
        jax="jnp.where(l[:, None] == jnp.arange(n.c), 0.9, 0.001)",
    ),
    Program(
        "gradient of cross entropy",
        "b=4096 c=1000",
        dict(x="signed(b, c)", l="below(c, b)"),
        et="""m[b] =max x[b,c]
e[b,c] = EXP(x[b,c] - m[b])
z[b] = e[b,c]
y[b,c] = (e[b,c] / z[b] - WHERE(EQ(l[b], c), 1, 0)) / DIMS(b)""",
        numpy=(
            "(lambda p: (p - (l[:, None] == np.arange(n.c))) / n.b)((lambda e: e / e.sum(1, "
            "keepdims=True))(np.exp(x - x.max(1, keepdims=True))))"
        ),
        torch="(torch.softmax(x, 1) - F.one_hot(l, n.c)) / n.b",
        jax="(jax.nn.softmax(x, 1) - jax.nn.one_hot(l, n.c)) / n.b",
    ),
    Program(
        "diagonal matrix",
        "i=1024",
        dict(x="signed(i)"),
        et="""y[i,j] = WHERE(EQ(i,j), x[i], 0)

y

DIMS(i) = 1024
DIMS(j) = 1024""",
        numpy="np.diag(x)",
        torch="torch.diag(x)",
        jax="jnp.diag(x)",
    ),
    Program(
        "ridge added to a matrix",
        "i=2048",
        dict(x="signed(i, i)"),
        et="y[i,j] = x[i,j] + WHERE(EQ(i,j), 0.1, 0)",
        numpy="x + 0.1 * np.eye(n.i)",
        torch="x + 0.1 * torch.eye(n.i)",
        jax="x + 0.1 * jnp.eye(n.i)",
    ),
    Program(
        "zero diagonal",
        "i=2048",
        dict(x="signed(i, i)"),
        et="y[i,j] = x[i,j] * NE(i,j)",
        numpy="x * (1 - np.eye(n.i))",
        torch="x * (1 - torch.eye(n.i))",
        jax="x * (1 - jnp.eye(n.i))",
    ),
    Program(
        "causal mask",
        "i=1024",
        dict(x="signed(i, i)"),
        et="y[i,j] = WHERE(LE(j,i), x[i,j], -1000)",
        numpy="np.where(np.tri(n.i, dtype=bool), x, np.float32(-1000))",
        jax="jnp.where(jnp.tri(n.i, dtype=bool), x, -1000.0)",
    ),
    Program(
        "band of a matrix",
        "i=2048",
        dict(x="signed(i, i)"),
        et="y[i,j] = WHERE(LE(ABS(i - j), 3), x[i,j], 0)",
        numpy="np.triu(np.tril(x, 3), -3)",
        jax="jnp.triu(jnp.tril(x, 3), -3)",
    ),
    Program(
        "greatest drop of a series",
        "b=256 t=4096",
        dict(x="positive(b, t)"),
        et="""m[b,t] =max WHERE(LE(s, t), x[b,s], 0)
y[b] =max (m[b,t] - x[b,t]) / m[b,t]""",
        numpy="((np.maximum.accumulate(x, 1) - x) / np.maximum.accumulate(x, 1)).max(1)",
        torch="(lambda m: ((m - x) / m).amax(1))(torch.cummax(x, 1).values)",
        jax="(lambda m: ((m - x) / m).max(1))(jax.lax.cummax(x, 1))",
    ),
    Program(
        "swap of channels",
        "h=1024 w=1024",
        dict(x="signed(h, w, 3)"),
        et="""y[h,w,c] = x[h,w,2-c]

y

DIMS(c) = 3""",
        numpy="np.ascontiguousarray(x[..., ::-1])",
        torch="x.flip(-1)",
        jax="x[..., ::-1]",
    ),
    Program(
        "colours through a table (256)",
        "h=1024 w=1024",
        dict(x="bytes(h, w)", t="positive(256)"),
        et="y[h,w] = t[x[h,w]]",
        numpy="t[x]",
        torch="t[x.long()]",
        jax="t[x]",
    ),
    Program(
        "linear interpolation in a table",
        "a=524288 k=256",
        dict(x="positive(a)", t="signed(k+1)"),
        et="""p[a] = FLOOR(x[a] * 255)
i[a] = I64(p[a])
y[a] = t[i[a]] + (x[a] * 255 - p[a]) * (t[i[a]+1] - t[i[a]])""",
        numpy=(
            "(lambda p: (lambda i: t[i] + (x * 255 - p) * (t[i + 1] - t[i]))(p.astype(int)))(np.floor(x "
            "* 255))"
        ),
        torch=(
            "(lambda p: (lambda i: t[i] + (x * 255 - p) * (t[i + 1] - t[i]))(p.long()))(torch.floor(x * "
            "255))"
        ),
        jax=(
            "(lambda p: (lambda i: t[i] + (x * 255 - p) * (t[i + 1] - t[i]))(p.astype(int)))(jnp.floor(x "
            "* 255))"
        ),
        fixed=frozenset("k"),
    ),
    Program(
        "PageRank, one step, edges",
        "z=400000 v=50000",
        dict(f="below(v, z)", t="below(v, z)", r="positive(v)", o="positive(v)"),
        et="""y[v] = 0.15 / DIMS(v)
y[t[z]] += 0.85 * r[f[z]] / o[f[z]]

y

DIMS(v) = {v}""",
        numpy="0.15 / n.v + np.bincount(t, 0.85 * (r / o)[f], n.v)",
        torch="torch.full((n.v,), 0.15 / n.v).index_add(0, t, 0.85 * (r / o)[f])",
        jax="jnp.full(n.v, 0.15 / n.v).at[t].add(0.85 * (r / o)[f])",
    ),
    Program(
        "commutator",
        "i=256",
        dict(a="signed(i, i)", b="signed(i, i)"),
        et="y[i,j] = a[i,k]*b[k,j] - b[i,k]*a[k,j]",
        numpy="a @ b - b @ a",
        torch="a @ b - b @ a",
        jax="a @ b - b @ a",
    ),
    Program(
        "tridiagonal matrix by vector",
        "i=1048576",
        dict(a="signed(i)", b="signed(i)", c="signed(i)", v="signed(i)"),
        et="""y[i] = b[i]*v[i]
y[i] += a[i]*v[i-1]
y[i] += c[i]*v[i+1]""",
        numpy="b * v + np.pad(a[1:] * v[:-1], (1, 0)) + np.pad(c[:-1] * v[1:], (0, 1))",
        jax="b * v + jnp.pad(a[1:] * v[:-1], (1, 0)) + jnp.pad(c[:-1] * v[1:], (0, 1))",
    ),
    Program(
        "wave equation",
        "h=1024 w=1024",
        dict(x="signed(h+2, w+2)", p="signed(h+2, w+2)"),
        et="y[h,w] = 2*x[h,w] - p[h,w] + 0.2*(x[h-1,w] + x[h+1,w] + x[h,w-1] + x[h,w+1] - 4*x[h,w])",
        numpy=(
            "np.pad(2 * x[1:-1, 1:-1] - p[1:-1, 1:-1] + 0.2 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] "
            "+ x[1:-1, 2:] - 4 * x[1:-1, 1:-1]), 1)"
        ),
        jax=(
            "jnp.pad(2 * x[1:-1, 1:-1] - p[1:-1, 1:-1] + 0.2 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, "
            ":-2] + x[1:-1, 2:] - 4 * x[1:-1, 1:-1]), 1)"
        ),
    ),
    Program(
        "Haar wavelet, one level",
        "b=256 t=4096",
        dict(x="signed(b, 2*t)"),
        et="""l[b,t] = (x[b,2*t] + x[b,2*t+1]) * 0.70710678
h[b,t] = (x[b,2*t] - x[b,2*t+1]) * 0.70710678
y[b,c,t] = WHERE(EQ(c,0), l[b,t], h[b,t])

y

DIMS(c) = 2""",
        numpy=(
            "np.stack([(x[:, ::2] + x[:, 1::2]) * 0.70710678, (x[:, ::2] - x[:, 1::2]) * 0.70710678], 1)"
        ),
        jax=(
            "jnp.stack([(x[:, ::2] + x[:, 1::2]) * 0.70710678, (x[:, ::2] - x[:, 1::2]) * 0.70710678], "
            "1)"
        ),
    ),
    Program(
        "alpha compositing",
        "h=1024 w=1024",
        dict(a="positive(h, w, 3)", m="positive(h, w)", b="positive(h, w, 3)"),
        et="y[h,w,c] = a[h,w,c] * m[h,w] + b[h,w,c] * (1 - m[h,w])",
        numpy="a * m[..., None] + b * (1 - m[..., None])",
        torch="a * m[..., None] + b * (1 - m[..., None])",
        jax="a * m[..., None] + b * (1 - m[..., None])",
    ),
    Program(
        "distance to a point",
        "h=1024 w=1024",
        dict(p="inside(h, 2)"),
        et="""y[h,w] = SQRT(POW(h - p[0], 2) + POW(w - p[1], 2))

y

DIMS(h) = {h}
DIMS(w) = {w}""",
        numpy="np.sqrt((np.arange(n.h)[:, None] - p[0]) ** 2 + (np.arange(n.w)[None] - p[1]) ** 2)",
        jax="jnp.sqrt((jnp.arange(n.h)[:, None] - p[0]) ** 2 + (jnp.arange(n.w)[None] - p[1]) ** 2)",
    ),
    Program(
        "counts above thresholds",
        "a=65536 k=32",
        dict(x="positive(a)", t="positive(k)"),
        et="y[k] = WHERE(GT(x[a], t[k]), 1, 0)",
        numpy="(x[:, None] > t[None]).sum(0)",
        jax="(x[:, None] > t[None]).sum(0)",
    ),
    Program(
        "ranks by counting",
        "b=64 i=512",
        dict(x="positive(b, i)"),
        et="y[b,i] = WHERE(GT(x[b,i], x[b,j]), 1, 0)",
        numpy="(x[:, :, None] > x[:, None]).sum(-1)",
        torch="(x[:, :, None] > x[:, None]).sum(-1)",
        jax="(x[:, :, None] > x[:, None]).sum(-1)",
    ),
]
