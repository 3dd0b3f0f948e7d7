"""Linear algebra and statistics as textbooks write them."""

from ..program import Program

PRODUCT = dict(a="signed(i, k)", b="signed(k, j)")
SQUARE = "i=512 j=512 k=512"


def product(name: str, library: str, **source) -> Program:
    """A matrix product with operations before or after it."""
    return Program(f"product, {name}", SQUARE, PRODUCT, numpy=library, torch=library, jax=library, **source)


PROGRAMS = [
    product("halved", "a @ b / 2", et="y[i,j] = a[i,k] * b[k,j] / 2"),
    product("doubled", "2 * (a @ b)", et="y[i,j] = 2 * a[i,k] * b[k,j]"),
    product("negated", "-(a @ b)", et="y[i,j] = 0 - a[i,k] * b[k,j]"),
    product("halved in i", "a @ b / 2", i="ik*kj~ijk . ijk/2~ijk . +ijk~ij"),
    product("by the number of terms", "a @ b / n.k", et="y[i,j] = a[i,k] * b[k,j] / DIMS(k)"),
    Program(
        "product with scales of rows and columns",
        SQUARE,
        PRODUCT | dict(r="positive(i)", c="positive(j)"),
        et="y[i,j] = r[i] * a[i,k] * b[k,j] / c[j]",
        numpy="r[:, None] * (a @ b) / c",
        torch="r[:, None] * (a @ b) / c",
        jax="r[:, None] * (a @ b) / c",
    ),
    Program(
        "linear layer",
        "t=1024 d=512 o=512",
        dict(x="signed(t, d)", w="signed(o, d)", b="signed(o)"),
        et="a[t,o] = x[t,d] * w[o,d]\ny[t,o] = MAX(a[t,o] + b[o], 0)",
        numpy="np.maximum(x @ w.T + b, 0)",
        torch="F.relu(F.linear(x, w, b))",
        jax="jax.nn.relu(x @ w.T + b)",
    ),
    Program(
        "shortest paths, one step",
        "i=512 j=512 k=512",
        dict(a="positive(i, k)", b="positive(k, j)"),
        et="y[i,j] =min a[i,k] + b[k,j] + 1",
        numpy="np_tropical(a, b)",
        torch="torch_tropical(a, b)",
        jax="jnp.min(a[:, :, None] + b, 1) + 1",
    ),
    Program(
        "variance of rows",
        "b=4096 d=1024",
        dict(x="signed(b, d)"),
        et="m[b] = x[b,d] / DIMS(d)\ny[b] = POW(x[b,d] - m[b], 2) / DIMS(d)",
        numpy="x.var(1)",
        torch="x.var(1, correction=0)",
        jax="x.var(1)",
    ),
    Program(
        "deviation of columns",
        "b=16384 d=128",
        dict(x="signed(b, d)"),
        et="""m[d] = x[b,d] / DIMS(b)
v[d] = (x[b,d] - m[d]) * (x[b,d] - m[d]) / (DIMS(b) - 1)
y[d] = SQRT(v[d])""",
        numpy="x.std(0, ddof=1)",
        torch="x.std(0)",
        jax="x.std(0, ddof=1)",
    ),
    Program(
        "covariance",
        "b=16384 d=128 e=128",
        dict(x="signed(b, d)"),
        et="""m[d] = x[b,d] / DIMS(b)
y[d,e] = (x[b,d] - m[d]) * (x[b,e] - m[e]) / (DIMS(b) - 1)""",
        numpy="np.cov(x, rowvar=False, dtype=x.dtype)",
        torch="torch.cov(x.T)",
        jax="jnp.cov(x, rowvar=False)",
    ),
    Program(
        "correlation",
        "b=16384 d=128 e=128",
        dict(x="signed(b, d)"),
        et="""m[d] = x[b,d] / DIMS(b)
c[b,d] = x[b,d] - m[d]
v[d,e] = c[b,d] * c[b,e]
y[d,e] = v[d,e] / SQRT(v[d,d] * v[e,e])""",
        numpy="np.corrcoef(x, rowvar=False, dtype=x.dtype)",
        torch="torch.corrcoef(x.T)",
        jax="jnp.corrcoef(x, rowvar=False)",
    ),
    Program(
        "Mahalanobis distances",
        "b=8192 d=128 e=128",
        dict(x="signed(b, d)", m="signed(d)", s="signed(d, e)"),
        et="y[b] = (x[b,d] - m[d]) * s[d,e] * (x[b,e] - m[e])",
        numpy="np.einsum('bd,bd->b', (x - m) @ s, x - m)",
        torch="torch.sum((x - m) @ s * (x - m), 1)",
        jax="jnp.sum((x - m) @ s * (x - m), 1)",
        tolerance=1e-3,
    ),
    Program(
        "cosines of all pairs",
        "i=1024 j=1024 d=128",
        dict(a="signed(i, d)", b="signed(j, d)"),
        et="""u[i] = a[i,d] * a[i,d]
v[j] = b[j,d] * b[j,d]
y[i,j] = a[i,d] * b[j,d] / (SQRT(u[i]) * SQRT(v[j]))""",
        numpy="(a @ b.T) / np.linalg.norm(a, axis=1)[:, None] / np.linalg.norm(b, axis=1)",
        torch="F.normalize(a) @ F.normalize(b).T",
        jax="(a @ b.T) / jnp.linalg.norm(a, axis=1)[:, None] / jnp.linalg.norm(b, axis=1)",
    ),
    Program(
        "Gram matrix",
        "b=64 d=64 e=64 s=1024",
        dict(x="signed(b, d, s)"),
        et="y[b,d,e] = x[b,d,s] * x[b,e,s] / DIMS(s)",
        numpy="x @ x.swapaxes(1, 2) / n.s",
        torch="x @ x.swapaxes(1, 2) / n.s",
        jax="x @ x.swapaxes(1, 2) / n.s",
    ),
    Program(
        "Kronecker product",
        "i=64 j=64 k=32 l=32",
        dict(a="signed(i, j)", b="signed(k, l)"),
        et="y[FLAT(i,k),FLAT(j,l)] = a[i,j] * b[k,l]",
        numpy="np.kron(a, b)",
        torch="torch.kron(a, b)",
        jax="jnp.kron(a, b)",
    ),
    Program(
        "outer sum",
        "i=2048 j=2048",
        dict(a="signed(i)", b="signed(j)"),
        et="y[i,j] = a[i] + b[j]",
        numpy="np.add.outer(a, b)",
        torch="a[:, None] + b",
        jax="a[:, None] + b",
    ),
    Program(
        "distances",
        "i=1024 j=1024 d=64",
        dict(a="signed(i, d)", b="signed(j, d)"),
        et="s[i,j] = POW(a[i,d] - b[j,d], 2)\ny[i,j] = SQRT(s[i,j])",
        numpy="np.sqrt(np.maximum((a*a).sum(1)[:, None] + (b*b).sum(1) - 2 * (a @ b.T), 0))",
        torch="torch.cdist(a, b)",
        jax="jnp.sqrt(jnp.maximum((a*a).sum(1)[:, None] + (b*b).sum(1) - 2 * (a @ b.T), 0))",
        scipy="distance.cdist(a, b)",
        tolerance=1e-3,
    ),
    Program(
        "sums of absolute differences",
        "i=512 j=512 d=64",
        dict(a="signed(i, d)", b="signed(j, d)"),
        et="y[i,j] = ABS(a[i,d] - b[j,d])",
        numpy="np.abs(a[:, None] - b).sum(2)",
        torch="torch.cdist(a, b, p=1)",
        jax="jnp.abs(a[:, None] - b).sum(2)",
        scipy="distance.cdist(a, b, 'cityblock')",
    ),
    Program(
        "sums of Gaussians",
        "i=4096 j=1024 d=3",
        dict(x="signed(i, d)", z="signed(j, d)", w="signed(j)"),
        et="s[i,j] = POW(x[i,d] - z[j,d], 2)\ny[i] = EXP(-s[i,j] / 2) * w[j]",
        numpy="np_gaussians(x, z) @ w",
        torch="torch.exp(-torch.cdist(x, z) ** 2 / 2) @ w",
        jax="jnp_gaussians(x, z) @ w",
        keops="((-((Lazy(x[:, None]) - Lazy(z[None])) ** 2).sum(2) / 2).exp() @ w[:, None])[:, 0]",
        tolerance=1e-3,
    ),
    Program(
        "product of logarithms",
        "i=256 j=256 k=256",
        dict(a="signed(i, j)", b="signed(j, k)"),
        et="y[i,k] =logaddexp a[i,j] + b[j,k]",
        numpy="np_logsumexp((a[:, None] + b.T[None]).reshape(n.i * n.k, n.j)).reshape(n.i, n.k)",
        torch="torch.logsumexp(a[:, None] + b.T[None], 2)",
        jax="jax.nn.logsumexp(a[:, None] + b.T[None], axis=2)",
    ),
    Program(
        "log-density of Gaussians",
        "i=4096 j=512 d=3",
        dict(x="signed(i, d)", z="signed(j, d)"),
        et="""s[i,j] = -POW(x[i,d] - z[j,d], 2) / 2
m[i] =max s[i,j]
t[i] = EXP(s[i,j] - m[i])
y[i] = m[i] + LOG(t[i])""",
        numpy="np_logsumexp(np.log(np_gaussians(x, z)))",
        torch="torch.logsumexp(-torch.cdist(x, z) ** 2 / 2, 1)",
        jax="jax.nn.logsumexp(jnp.log(jnp_gaussians(x, z)), axis=1)",
        keops="(-((Lazy(x[:, None]) - Lazy(z[None])) ** 2).sum(2) / 2).logsumexp(1)[:, 0]",
        tolerance=1e-3,
    ),
    *[
        Program(
            f"long columns, {m}",
            f"k=1000000 i={m} j={m}",
            dict(a="signed(k, i)", b="signed(k, j)"),
            einsum="ki,kj->ij",
            numpy="a.T @ b",
            torch="a.T @ b",
            jax="a.T @ b",
            tolerance=1e-3,
        )
        for m in (2, 4, 8)
    ],
    Program(
        "products of short rows",
        "i=200000 j=30",
        dict(a="signed(i, j)", b="signed(i, j)"),
        einsum="ij,ij->i",
        numpy="np.vecdot(a, b)",
        torch="torch.linalg.vecdot(a, b)",
        jax="jnp.vecdot(a, b)",
        fixed=frozenset("j"),
    ),
    Program(
        "quadratic forms",
        "b=4096 i=128 j=128",
        dict(x="signed(b, i)", a="signed(i, j)"),
        et="y[b] = x[b,i] * a[i,j] * x[b,j] / 2",
        numpy="np.einsum('bj,bj->b', x @ a, x) / 2",
        torch="torch.sum((x @ a) * x, 1) / 2",
        jax="jnp.sum((x @ a) * x, 1) / 2",
        tolerance=1e-3,
    ),
    Program(
        "trace of a product",
        "i=1024 j=1024",
        dict(a="signed(i, j)", b="signed(j, i)"),
        et="y[] = a[i,j] * b[j,i]",
        numpy="np.einsum('ij,ji->', a, b)",
        torch="torch.sum(a * b.T)",
        jax="jnp.sum(a * b.T)",
        tolerance=1e-3,
    ),
    Program(
        "Frobenius norm",
        "i=2048 j=1024",
        dict(a="signed(i, j)"),
        et="s[] = POW(a[i,j], 2)\ny[] = SQRT(s[])",
        numpy="np.linalg.norm(a)",
        torch="torch.linalg.norm(a)",
        jax="jnp.linalg.norm(a)",
    ),
    Program(
        "residual of a linear system",
        "i=4096 j=1024",
        dict(a="signed(i, j)", x="signed(j)", b="signed(i)"),
        et="r[i] = a[i,j] * x[j]\ny[] = POW(b[i] - r[i], 2) / 2",
        numpy="np.sum((b - a @ x) ** 2) / 2",
        torch="torch.sum((b - a @ x) ** 2) / 2",
        jax="jnp.sum((b - a @ x) ** 2) / 2",
        tolerance=1e-3,
    ),
    Program(
        "gradient of least squares",
        "i=4096 j=512",
        dict(a="signed(i, j)", x="signed(j)", b="signed(i)"),
        et="r[i] = a[i,j] * x[j]\ny[j] = a[i,j] * (r[i] - b[i]) / DIMS(i)",
        numpy="a.T @ (a @ x - b) / n.i",
        torch="a.T @ (a @ x - b) / n.i",
        jax="a.T @ (a @ x - b) / n.i",
        tolerance=1e-3,
    ),
    Program(
        "outer products in batches",
        "b=512 i=64 j=64",
        dict(u="signed(b, i)", v="signed(b, j)"),
        et="y[b,i,j] = u[b,i] * v[b,j] / 3",
        numpy="u[:, :, None] * v[:, None] / 3",
        torch="u[:, :, None] * v[:, None] / 3",
        jax="u[:, :, None] * v[:, None] / 3",
    ),
    Program(
        "centred Gram matrix of kernels",
        "i=1024 j=1024",
        dict(k="signed(i, j)"),
        et="""r[i] = k[i,j] / DIMS(j)
c[j] = k[i,j] / DIMS(i)
m[] = r[i] / DIMS(i)
y[i,j] = k[i,j] - r[i] - c[j] + m[]""",
        numpy="k - k.mean(1, keepdims=True) - k.mean(0) + k.mean()",
        torch="k - k.mean(1, keepdims=True) - k.mean(0) + k.mean()",
        jax="k - k.mean(1, keepdims=True) - k.mean(0) + k.mean()",
    ),
]
