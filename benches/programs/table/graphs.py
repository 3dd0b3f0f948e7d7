"""Graphs, sparse products, embeddings, sums by segments: all by gathers and scatters."""

from ..program import Program

# The number of rows, where no array determines it.
ROWS = "\n\ny\n\nDIMS(n) = {n}"
EDGES = dict(r="below(n, z)", c="below(n, z)")


def csr(values: str = "v") -> dict[str, str]:
    """The matrix of edges in each library, prepared beforehand."""
    parts = f"({values}, (r, c)), shape=(n.n, n.n)"
    return {
        "numpy.A": f"np_csr({values}, r, c, n.n)",
        "scipy.A": f"sparse.csr_array({parts})",
        "torch.A": f"torch.sparse_coo_tensor(torch.stack([r, c]), {values}, (n.n, n.n)).coalesce().to_sparse_csr()",
    }


PROGRAMS = [
    Program(
        "sparse by dense",
        "n=20000 z=400000 d=64",
        dict(v="signed(z)", x="signed(n, d)") | EDGES,
        et="y[n,d] = 0\ny[r[z],d] += v[z] * x[c[z],d]" + ROWS,
        numpy="A @ x",
        torch="A @ x",
        scipy="A @ x",
        before=csr(),
        fixed=frozenset("d"),
    ),
    Program(
        "sparse by dense, sorted",
        "n=20000 z=400000 d=64",
        dict(v="signed(z)", x="signed(n, d)", r="sorted_below(n, z)", c="below(n, z)"),
        et="y[n,d] = 0\ny[r[z],d] += v[z] * x[c[z],d]" + ROWS,
        numpy="A @ x",
        torch="A @ x",
        scipy="A @ x",
        jax="jnp.zeros((n.n, n.d), 'f').at[r].add(v[:, None] * x[c])",
        before=csr(),
        fixed=frozenset("d"),
    ),
    Program(
        "sparse by vector",
        "n=100000 z=2000000",
        dict(v="signed(z)", x="signed(n)", r="sorted_below(n, z)", c="below(n, z)"),
        et="y[n] = 0\ny[r[z]] += v[z] * x[c[z]]" + ROWS,
        numpy="A @ x",
        torch="A @ x",
        scipy="A @ x",
        before=csr(),
    ),
    Program(
        "rows with many neighbours (ELLPACK)",
        "n=20000 k=16 d=64",
        dict(v="signed(n, k)", x="signed(n, d)", c="below(n, n, k)"),
        et="y[n,d] = v[n,k] * x[c[n,k],d]",
        numpy="np.einsum('nk,nkd->nd', v, x[c])",
        torch="torch.bmm(v[:, None], x[c])[:, 0]",
        jax="jnp.einsum('nk,nkd->nd', v, x[c])",
        scipy="A @ x",
        before={"scipy.A": "sparse.csr_array((v.ravel(), c.ravel(), np.arange(n.n + 1) * n.k), (n.n, n.n))"},
        fixed=frozenset("dk"),
    ),
    Program(
        "scores of edges (SDDMM)",
        "n=20000 z=200000 d=64",
        dict(u="signed(n, d)", v="signed(n, d)") | EDGES,
        et="y[z] = u[r[z],d] * v[c[z],d]",
        numpy="np.einsum('zd,zd->z', u[r], v[c])",
        torch="torch.sum(u[r] * v[c], 1)",
        jax="jnp.einsum('zd,zd->z', u[r], v[c])",
        fixed=frozenset("d"),
    ),
    Program(
        "attention over edges",
        "n=10000 z=100000 d=64",
        dict(s="signed(z)", x="signed(n, d)", r="sorted_below(n, z)", c="below(n, z)"),
        et="""m[n] = -1000
m[r[z]] max= s[z]
w[z] = EXP(s[z] - m[r[z]])
t[n] = 0
t[r[z]] += w[z]
y[n,d] = 0
y[r[z],d] += w[z] / t[r[z]] * x[c[z],d]"""
        + ROWS,
        numpy="np_edges(s, x, r, c)",
        torch="torch_edges(s, x, r, c)",
        jax="jnp_edges(s, x, r, c)",
        fixed=frozenset("d"),
    ),
    Program(
        "graph convolution",
        "n=10000 z=100000 d=64 o=64",
        dict(v="signed(z)", x="signed(n, d)", w="signed(d, o)") | EDGES,
        et="""h[n,o] = x[n,d] * w[d,o]
a[n,o] = 0
a[r[z],o] += v[z] * h[c[z],o]
y[n,o] = MAX(a[n,o], 0)""",
        numpy="np.maximum(A @ (x @ w), 0)",
        torch="F.relu(A @ (x @ w))",
        scipy="np.maximum(A @ (x @ w), 0)",
        before=csr(),
        fixed=frozenset("do"),
    ),
    Program(
        "mean of neighbours",
        "n=10000 z=100000 d=64",
        dict(x="signed(n, d)", g="positive(n)") | EDGES,
        et="a[n,d] = 0\na[r[z],d] += x[c[z],d]\ny[n,d] = a[n,d] / g[n]",
        numpy="(A @ x) / g[:, None]",
        torch="(A @ x) / g[:, None]",
        scipy="(A @ x) / g[:, None]",
        before=csr("np.ones(n.z, 'f')")
        | {"torch.A": "torch.sparse_coo_tensor(torch.stack([r, c]), torch.ones(n.z), (n.n, n.n)).coalesce().to_sparse_csr()"},
        fixed=frozenset("d"),
    ),
    Program(
        "greatest of neighbours",
        "n=10000 z=100000 d=64",
        dict(x="positive(n, d)") | EDGES,
        et="y[n,d] = 0\ny[r[z],d] max= x[c[z],d]" + ROWS,
        numpy="np_scatter_max(x[c], r, n.n)",
        torch="torch.zeros(n.n, n.d).index_reduce_(0, r, x[c], 'amax')",
        jax="jnp.zeros((n.n, n.d), 'f').at[r].max(x[c])",
        fixed=frozenset("d"),
    ),
    Program(
        "differences along edges",
        "n=10000 z=200000 d=32",
        dict(v="positive(z)", x="signed(n, d)") | EDGES,
        et="y[] = v[z] * POW(x[r[z],d] - x[c[z],d], 2)",
        numpy="np.sum(v * np.sum((x[r] - x[c]) ** 2, 1))",
        torch="torch.sum(v * torch.sum((x[r] - x[c]) ** 2, 1))",
        jax="jnp.sum(v * jnp.sum((x[r] - x[c]) ** 2, 1))",
        fixed=frozenset("d"),
    ),
    *[
        Program(
            f"rows gathered, {name}",
            "n=20000 z=200000 d=64",
            dict(x="signed(n, d)", c="below(n, z)") | ({"v": "signed(z)"} if "v[" in et else {}),
            et=f"y[z,d] = {et}",
            numpy=library.replace("max", "np.maximum"),
            torch=library.replace("max(", "torch.clamp_min("),
            jax=library.replace("max", "jnp.maximum"),
            fixed=frozenset("d"),
        )
        for name, et, library in [
            ("plain", "x[c[z],d]", "x[c]"),
            ("doubled", "2 * x[c[z],d]", "2 * x[c]"),
            ("negated", "-x[c[z],d]", "-x[c]"),
            ("weighted", "x[c[z],d] * v[z]", "x[c] * v[:, None]"),
            ("cut at 0", "MAX(x[c[z],d], 0)", "max(x[c], 0)"),
        ]
    ],
    Program(
        "rows gathered by rows of a matrix",
        "n=20000 z=50000 d=64 o=32",
        dict(x="signed(n, d)", c="below(n, z)", w="signed(d, o)"),
        et="y[z,o] = x[c[z],d] * w[d,o]",
        numpy="(x @ w)[c]",
        torch="(x @ w)[c]",
        jax="x[c] @ w",
        fixed=frozenset("do"),
    ),
    Program(
        "embedding bag",
        "n=10000 b=4096 l=32 d=64",
        dict(e="signed(n, d)", i="below(n, b, l)"),
        et="y[b,d] = e[i[b,l],d]",
        numpy="e[i].sum(1)",
        torch="F.embedding_bag(i, e, mode='sum')",
        jax="e[i].sum(1)",
        fixed=frozenset("d"),
    ),
    Program(
        "embedding bag, mean with weights",
        "n=10000 b=4096 l=32 d=64",
        dict(e="signed(n, d)", i="below(n, b, l)", v="positive(b, l)"),
        et="y[b,d] = v[b,l] * e[i[b,l],d] / DIMS(l)",
        numpy="np.einsum('bl,bld->bd', v, e[i]) / n.l",
        torch="F.embedding_bag(i, e, mode='sum', per_sample_weights=v / n.l)",
        jax="jnp.einsum('bl,bld->bd', v, e[i]) / n.l",
        fixed=frozenset("d"),
    ),
    Program(
        "embedding and position",
        "n=10000 b=32 t=512 d=128",
        dict(e="signed(n, d)", p="signed(t, d)", i="below(n, b, t)"),
        et="y[b,t,d] = e[i[b,t],d] + p[t,d]",
        numpy="e[i] + p",
        torch="F.embedding(i, e) + p",
        jax="e[i] + p",
        fixed=frozenset("d"),
    ),
    *[
        Program(
            f"{name} by segments{how}",
            "n=10000 z=200000 d=32",
            dict(x="positive(z, d)", r=f"{data}(n, z)", s="positive(n, d)"),
            et=f"y[n,d] = s[n,d]\ny[r[z],d] {et} x[z,d]",
            numpy=numpy,
            torch=torch,
            jax=f"s.at[r].{jax}(x)",
            scipy=scipy,
            before={"scipy.A": "sparse.csr_array((np.ones(n.z, 'f'), (r, np.arange(n.z))), (n.n, n.z))"},
            fixed=frozenset("d"),
        )
        for how, data in [("", "below"), (", sorted", "sorted_below")]
        for name, et, numpy, torch, jax, scipy in [
            ("sum", "+=", "np_scatter_add(s.copy(), r, x)", "s.index_add(0, r, x)", "add", "s + A @ x"),
            ("greatest", "max=", "np_scatter_max(x, r, n.n, s)", "s.index_reduce(0, r, x, 'amax')", "max", None),
        ]
    ],
    Program(
        "histogram",
        "z=2000000 n=256",
        dict(c="below(n, z)"),
        et="y[n] = 0\ny[c[z]] += 1" + ROWS,
        numpy="np.bincount(c, minlength=n.n).astype(float)",
        torch="torch.bincount(c, minlength=n.n).float()",
        jax="jnp.zeros(n.n, 'f').at[c].add(1)",
        fixed=frozenset("n"),
    ),
    Program(
        "one-hot rows by a matrix",
        "z=16384 n=64 d=64",
        dict(c="below(n, z)", w="signed(n, d)"),
        et="y[z,d] = F32(EQ(c[z], n)) * w[n,d]",
        numpy="np.eye(n.n, dtype=w.dtype)[c] @ w",
        torch="F.one_hot(c, n.n).float() @ w",
        jax="jax.nn.one_hot(c, n.n, dtype='f') @ w",
        fixed=frozenset("nd"),
    ),
]
