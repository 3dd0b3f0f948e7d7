"""Small vectors and matrices, one for each of many points."""

from ..program import Program

PROGRAMS = [
    Program(
        "cross products",
        "a=262144",
        dict(u="signed(a, 3)", v="signed(a, 3)"),
        et="""y[a,k] = u[a,(k+1)%3] * v[a,(k+2)%3] - u[a,(k+2)%3] * v[a,(k+1)%3]

y

DIMS(k) = 3""",
        numpy="np.cross(u, v)",
        torch="torch.linalg.cross(u, v)",
        jax="jnp.cross(u, v)",
    ),
    Program(
        "normals of triangles",
        "t=200000 v=100000",
        dict(x="signed(v, 3)", f0="below(v, t)", f1="below(v, t)", f2="below(v, t)"),
        et="""e[t,k] = x[f1[t],k] - x[f0[t],k]
g[t,k] = x[f2[t],k] - x[f0[t],k]
y[t,k] = e[t,(k+1)%3]*g[t,(k+2)%3] - e[t,(k+2)%3]*g[t,(k+1)%3]

y

DIMS(k) = 3""",
        numpy="np.cross(x[f1] - x[f0], x[f2] - x[f0])",
        torch="torch.linalg.cross(x[f1] - x[f0], x[f2] - x[f0])",
        jax="jnp.cross(x[f1] - x[f0], x[f2] - x[f0])",
    ),
    Program(
        "unit vectors",
        "a=262144",
        dict(x="signed(a, 3)"),
        et="""s[a] = x[a,k] * x[a,k]
y[a,k] = x[a,k] / SQRT(s[a])""",
        numpy="x / np.sqrt((x * x).sum(1, keepdims=True))",
        torch="F.normalize(x)",
        jax="x / jnp.linalg.norm(x, axis=1, keepdims=True)",
    ),
    Program(
        "dot products of three",
        "a=524288",
        dict(x="signed(a, 3)", z="signed(a, 3)"),
        et="y[a] = x[a,k] * z[a,k]",
        numpy="np.einsum('ak,ak->a', x, z)",
        torch="(x * z).sum(1)",
        jax="(x * z).sum(1)",
    ),
    Program(
        "rotation by quaternions",
        "a=262144",
        dict(q="signed(a, 4)", v="signed(a, 3)"),
        et="""u[a] = q[a,1]*v[a,0] + q[a,2]*v[a,1] + q[a,3]*v[a,2]
c[a,k] = WHERE(EQ(k,0), q[a,2]*v[a,2] - q[a,3]*v[a,1], WHERE(EQ(k,1), q[a,3]*v[a,0] - q[a,1]*v[a,2], q[a,1]*v[a,1] - q[a,2]*v[a,0]))
y[a,k] = 2*u[a]*q[a,k+1] + (2*q[a,0]*q[a,0] - 1)*v[a,k] + 2*q[a,0]*c[a,k]

y

DIMS(k) = 3""",
        numpy=(
            "2 * (q[:, 1:] * v).sum(1, keepdims=True) * q[:, 1:] + (2 * q[:, :1] ** 2 - 1) * v + 2 * "
            "q[:, :1] * np.cross(q[:, 1:], v)"
        ),
        jax=(
            "2 * (q[:, 1:] * v).sum(1, keepdims=True) * q[:, 1:] + (2 * q[:, :1] ** 2 - 1) * v + 2 * "
            "q[:, :1] * jnp.cross(q[:, 1:], v)"
        ),
    ),
    Program(
        "points moved by a matrix",
        "a=262144",
        dict(x="signed(a, 3)", r="signed(3, 3)", t="signed(3)"),
        et="""p[a,i] = r[i,j] * x[a,j]
y[a,i] = p[a,i] + t[i]""",
        numpy="x @ r.T + t",
        torch="x @ r.T + t",
        jax="x @ r.T + t",
    ),
    Program(
        "points moved by matrices each",
        "a=65536",
        dict(x="signed(a, 3)", r="signed(a, 3, 3)"),
        et="y[a,i] = r[a,i,j] * x[a,j]",
        numpy="np.einsum('aij,aj->ai', r, x)",
        torch="torch.einsum('aij,aj->ai', r, x)",
        jax="jnp.einsum('aij,aj->ai', r, x)",
    ),
    Program(
        "projection of points by a camera",
        "a=262144",
        dict(x="signed(a, 3)", r="signed(3, 3)", o="signed(3)"),
        et="""g[a,i] = r[i,j] * x[a,j]
h[a,i] = g[a,i] + o[i]
y[a,k] = h[a,k] / (h[a,2] + 4)

y

DIMS(k) = 2""",
        numpy="(lambda h: h[:, :2] / (h[:, 2:] + 4))(x @ r.T + o)",
        torch="(lambda h: h[:, :2] / (h[:, 2:] + 4))(x @ r.T + o)",
        jax="(lambda h: h[:, :2] / (h[:, 2:] + 4))(x @ r.T + o)",
    ),
    Program(
        "boxes: overlap of all pairs (IoU)",
        "i=1024 j=1024",
        dict(a="positive(i, 4)", b="positive(j, 4)"),
        et="""u[i,j] = MAX(MIN(a[i,2], b[j,2]) - MAX(a[i,0], b[j,0]) + 0.3, 0) * MAX(MIN(a[i,3], b[j,3]) - MAX(a[i,1], b[j,1]) + 0.3, 0)
p[i] = a[i,2] * a[i,3]
q[j] = b[j,2] * b[j,3]
y[i,j] = u[i,j] / (p[i] + q[j] - u[i,j])""",
        numpy=(
            "(lambda u: u / ((a[:, 2] * a[:, 3])[:, None] + (b[:, 2] * b[:, 3])[None] - "
            "u))(np.maximum(np.minimum(a[:, None, 2], b[None, :, 2]) - np.maximum(a[:, None, 0], b[None, "
            ":, 0]) + 0.3, 0) * np.maximum(np.minimum(a[:, None, 3], b[None, :, 3]) - np.maximum(a[:, "
            "None, 1], b[None, :, 1]) + 0.3, 0))"
        ),
        jax=(
            "(lambda u: u / ((a[:, 2] * a[:, 3])[:, None] + (b[:, 2] * b[:, 3])[None] - "
            "u))(jnp.maximum(jnp.minimum(a[:, None, 2], b[None, :, 2]) - jnp.maximum(a[:, None, 0], "
            "b[None, :, 0]) + 0.3, 0) * jnp.maximum(jnp.minimum(a[:, None, 3], b[None, :, 3]) - "
            "jnp.maximum(a[:, None, 1], b[None, :, 1]) + 0.3, 0))"
        ),
    ),
    Program(
        "centre of mass by group",
        "z=262144 g=4096",
        dict(x="signed(z, 3)", m="positive(z)", c="below(g, z)"),
        et="""s[g,k] = 0
s[c[z],k] += m[z] * x[z,k]
t[g] = 0.001
t[c[z]] += m[z]
y[g,k] = s[g,k] / t[g]

y

DIMS(g) = {g}
DIMS(k) = 3""",
        numpy=(
            "(lambda s, t: (np.add.at(s, c, m[:, None] * x), np.add.at(t, c, m), s / t[:, "
            "None])[2])(np.zeros((n.g, 3), m.dtype), np.full(n.g, 0.001, m.dtype))"
        ),
        torch=(
            "torch.zeros(n.g, 3).index_add(0, c, m[:, None] * x) / torch.full((n.g,), "
            "0.001).index_add(0, c, m)[:, None]"
        ),
        jax="jnp.zeros((n.g, 3)).at[c].add(m[:, None] * x) / jnp.full(n.g, 0.001).at[c].add(m)[:, None]",
    ),
    Program(
        "kinetic energy tensor",
        "a=262144",
        dict(v="signed(a, 3)", m="positive(a)"),
        et="y[i,j] = 0.5 * m[a] * v[a,i] * v[a,j]",
        numpy="0.5 * (v * m[:, None]).T @ v",
        torch="0.5 * (v * m[:, None]).T @ v",
        jax="0.5 * (v * m[:, None]).T @ v",
        tolerance=0.001,
    ),
    Program(
        "determinants of 3 by 3",
        "b=262144",
        dict(a="signed(b, 3, 3)"),
        et=(
            "y[b] = a[b,0,0]*(a[b,1,1]*a[b,2,2]-a[b,1,2]*a[b,2,1]) - "
            "a[b,0,1]*(a[b,1,0]*a[b,2,2]-a[b,1,2]*a[b,2,0]) + "
            "a[b,0,2]*(a[b,1,0]*a[b,2,1]-a[b,1,1]*a[b,2,0])"
        ),
        numpy=(
            "a[:, 0, 0] * (a[:, 1, 1] * a[:, 2, 2] - a[:, 1, 2] * a[:, 2, 1]) - a[:, 0, 1] * (a[:, 1, 0] "
            "* a[:, 2, 2] - a[:, 1, 2] * a[:, 2, 0]) + a[:, 0, 2] * (a[:, 1, 0] * a[:, 2, 1] - a[:, 1, "
            "1] * a[:, 2, 0])"
        ),
        jax=(
            "a[:, 0, 0] * (a[:, 1, 1] * a[:, 2, 2] - a[:, 1, 2] * a[:, 2, 1]) - a[:, 0, 1] * (a[:, 1, 0] "
            "* a[:, 2, 2] - a[:, 1, 2] * a[:, 2, 0]) + a[:, 0, 2] * (a[:, 1, 0] * a[:, 2, 1] - a[:, 1, "
            "1] * a[:, 2, 0])"
        ),
    ),
    Program(
        "inverses of 2 by 2",
        "a=262144",
        dict(x="positive(a, 2, 2)"),
        et="""d[a] = x[a,0,0]*x[a,1,1] - x[a,0,1]*x[a,1,0] + 2
y[a,i,j] = WHERE(EQ(i,j), x[a,1-i,1-j], -x[a,i,j]) / d[a]""",
        numpy=(
            "np.stack([np.stack([x[:, 1, 1], -x[:, 0, 1]], 1), np.stack([-x[:, 1, 0], x[:, 0, 0]], 1)], "
            "1) / (x[:, 0, 0] * x[:, 1, 1] - x[:, 0, 1] * x[:, 1, 0] + 2)[:, None, None]"
        ),
        jax=(
            "jnp.stack([jnp.stack([x[:, 1, 1], -x[:, 0, 1]], 1), jnp.stack([-x[:, 1, 0], x[:, 0, 0]], "
            "1)], 1) / (x[:, 0, 0] * x[:, 1, 1] - x[:, 0, 1] * x[:, 1, 0] + 2)[:, None, None]"
        ),
    ),
    Program(
        "small matrices squared",
        "b=65536 i=3 j=3 k=3",
        dict(a="signed(b, i, k)"),
        et="y[b,i,j] = a[b,i,k] * a[b,k,j]",
        numpy="a @ a",
        torch="a @ a",
        jax="a @ a",
    ),
    Program(
        "products of 4 by 4 matrices",
        "a=65536",
        dict(x="signed(a, 4, 4)", z="signed(a, 4, 4)"),
        et="y[a,i,j] = x[a,i,k] * z[a,k,j]",
        numpy="x @ z",
        torch="x @ z",
        jax="x @ z",
    ),
    Program(
        "Kalman filter, predicted covariance",
        "b=16384 i=4 j=4 k=4 l=4",
        dict(f="signed(i, k)", p="signed(b, k, l)", q="signed(i, j)"),
        et="y[b,i,j] = f[i,k] * p[b,k,l] * f[j,l] + q[i,j] / 16",
        numpy="f @ p @ f.T + q",
        torch="f @ p @ f.T + q",
        jax="f @ p @ f.T + q",
    ),
    Program(
        "traces of a batch",
        "b=4096 i=64",
        dict(a="signed(b, i, i)"),
        et="y[b] = a[b,i,i]",
        numpy="np.einsum('bii->b', a)",
        torch="torch.diagonal(a, 0, 1, 2).sum(1)",
        jax="jnp.einsum('bii->b', a)",
    ),
    Program(
        "Lennard-Jones energy",
        "i=1024 j=1024 d=3",
        dict(x="signed(i, d)"),
        et="""q[i,j] = POW(x[i,d] - x[j,d], 2)
r[i,j] = q[i,j] + 0.5
s[i,j] = 1 / (r[i,j] * r[i,j] * r[i,j])
y[] = 4 * (s[i,j] * s[i,j] - s[i,j])""",
        numpy="(lambda s: 4 * np.sum(s * s - s))(1 / (((x[:, None] - x[None]) ** 2).sum(-1) + 0.5) ** 3)",
        jax="(lambda s: 4 * jnp.sum(s * s - s))(1 / (((x[:, None] - x[None]) ** 2).sum(-1) + 0.5) ** 3)",
        tolerance=0.001,
    ),
]
