"""Programs of many fields: signals, statistics, mechanics, gates, networks, texts, prices, pictures."""

from ..program import Program

PROGRAMS = [
    Program(
        "FIR bank with stride",
        "b=16 t=65536 c=8 k=16",
        dict(x="signed(b, t)", w="signed(c, k)"),
        et="y[b,c,t] = w[c,k] * x[b,8*t+k]",
        numpy=(
            "np.einsum('btk,ck->bct', np.lib.stride_tricks.sliding_window_view(x, n.k, axis=1)[:, ::8], "
            "w)"
        ),
        torch="F.conv1d(x[:, None], w[:, None], stride=8)",
    ),
    Program(
        "short-time Fourier power",
        "b=8 t=16384 w=256 f=128",
        dict(x="signed(b, t)", c="signed(f, w)", s="signed(f, w)"),
        et="""p[b,t,f] = x[b,128*t+w] * c[f,w]
q[b,t,f] = x[b,128*t+w] * s[f,w]
y[b,t,f] = p[b,t,f]*p[b,t,f] + q[b,t,f]*q[b,t,f]""",
        numpy=(
            "(lambda v: (v @ c.T) ** 2 + (v @ s.T) ** 2)(np.lib.stride_tricks.sliding_window_view(x, "
            "n.w, axis=1)[:, ::128])"
        ),
        torch="(lambda v: (v @ c.T) ** 2 + (v @ s.T) ** 2)(x.unfold(1, 256, 128))",
    ),
    Program(
        "overlap-add",
        "b=64 f=512 w=256",
        dict(x="signed(b, f, w)"),
        et="""y[b,t] = 0
y[b,128*f+w] += x[b,f,w]

y

DIMS(t) = 128 * {f} + 128""",
        numpy=(
            "(lambda y: [y.__setitem__((slice(None), slice(128 * i, 128 * i + n.w)), y[:, 128 * i:128 * "
            "i + n.w] + x[:, i]) for i in range(n.f)] and y)(np.zeros((n.b, 128 * n.f + 128), x.dtype))"
        ),
        torch="F.fold(x.transpose(1, 2), (1, 128 * n.f + 128), (1, 256), stride=(1, 128))[:, 0, 0]",
        fixed=frozenset("w"),
    ),
    Program(
        "mel spectrogram",
        "t=2048 f=513 m=80",
        dict(p="positive(t, f)", w="positive(m, f)"),
        et="""z[t,m] = p[t,f] * w[m,f]
y[t,m] = LOG(MAX(z[t,m], 0.00001))""",
        numpy="np.log(np.maximum(p @ w.T, np.float32(1e-05)))",
        torch="torch.log(torch.clamp(p @ w.T, min=1e-05))",
        jax="jnp.log(jnp.maximum(p @ w.T, 1e-05))",
    ),
    Program(
        "differences twice",
        "b=256 t=4096",
        dict(x="signed(b, t)"),
        et="y[b,t] = x[b,t+2] - 2*x[b,t+1] + x[b,t]",
        numpy="np.diff(x, 2)",
        torch="torch.diff(x, 2)",
        jax="jnp.diff(x, 2)",
    ),
    Program(
        "zero crossings",
        "b=256 t=4096",
        dict(x="signed(b, t)"),
        et="y[b] = WHERE(LT(x[b,t] * x[b,t+1], 0), 1.0, 0.0)",
        numpy="(x[:, :-1] * x[:, 1:] < 0).sum(1)",
        torch="(x[:, :-1] * x[:, 1:] < 0).sum(1)",
        jax="(x[:, :-1] * x[:, 1:] < 0).sum(1)",
    ),
    Program(
        "energy in frames",
        "b=64 f=256 w=256",
        dict(x="signed(b, f*w)"),
        et="""y[b,f] = x[b,{w}*f+w] * x[b,{w}*f+w]

y

DIMS(f) = {f}
DIMS(w) = {w}""",
        numpy="(x.reshape(n.b, n.f, n.w) ** 2).sum(2)",
        torch="(x.view(n.b, n.f, n.w) ** 2).sum(2)",
        jax="(x.reshape(n.b, n.f, n.w) ** 2).sum(2)",
    ),
    Program(
        "skewness of rows",
        "a=4096 f=1024",
        dict(x="signed(a, f)"),
        et="""m[a] = x[a,f] / DIMS(f)
v[a] = POW(x[a,f] - m[a], 2) / DIMS(f)
w[a] = POW(x[a,f] - m[a], 3) / DIMS(f)
y[a] = w[a] / POW(v[a], 1.5)""",
        numpy="(lambda d: (d ** 3).mean(1) / (d ** 2).mean(1) ** 1.5)(x - x.mean(1, keepdims=True))",
        torch="(lambda d: (d ** 3).mean(1) / (d ** 2).mean(1) ** 1.5)(x - x.mean(1, keepdim=True))",
        jax="(lambda d: (d ** 3).mean(1) / (d ** 2).mean(1) ** 1.5)(x - x.mean(1, keepdims=True))",
        tolerance=0.001,
    ),
    Program(
        "min-max scaling",
        "a=4096 f=1024",
        dict(x="signed(a, f)"),
        et="""l[f] =min x[a,f]
h[f] =max x[a,f]
y[a,f] = (x[a,f] - l[f]) / (h[f] - l[f])""",
        numpy="(lambda l, h: (x - l) / (h - l))(x.min(0), x.max(0))",
        torch="(lambda l, h: (x - l) / (h - l))(x.amin(0), x.amax(0))",
        jax="(lambda l, h: (x - l) / (h - l))(x.min(0), x.max(0))",
    ),
    Program(
        "weighted mean and variance",
        "a=4096 f=512",
        dict(x="signed(a, f)", w="positive(a)"),
        et="""s[] = w[a]
m[f] = w[a] * x[a,f] / s[]
y[f] = w[a] * POW(x[a,f] - m[f], 2) / s[]""",
        numpy="(lambda m: w @ (x - m) ** 2 / w.sum())(w @ x / w.sum())",
        torch="(lambda m: w @ (x - m) ** 2 / w.sum())(w @ x / w.sum())",
        jax="(lambda m: w @ (x - m) ** 2 / w.sum())(w @ x / w.sum())",
    ),
    Program(
        "contingency table",
        "a=1000000 p=20 q=30",
        dict(u="below(p, a)", v="below(q, a)"),
        et="""y[p,q] = 0
y[u[a],v[a]] += 1

y

DIMS(p) = {p}
DIMS(q) = {q}""",
        numpy="np.bincount(u * n.q + v, minlength=n.p * n.q).reshape(n.p, n.q)",
        torch="torch.bincount(u * n.q + v, minlength=n.p * n.q).view(n.p, n.q)",
    ),
    Program(
        "group means",
        "a=500000 g=1000",
        dict(x="signed(a)", l="below(g, a)"),
        et="""s[g] = 0
s[l[a]] += x[a]
c[g] = 0
c[l[a]] += 1
y[g] = s[g] / MAX(c[g], 1)

y

DIMS(g) = {g}""",
        numpy="np.bincount(l, x, n.g) / np.maximum(np.bincount(l, minlength=n.g), 1)",
        torch=(
            "torch.zeros(n.g).index_add_(0, l, x) / torch.clamp(torch.bincount(l, minlength=n.g), min=1)"
        ),
    ),
    Program(
        "differences of ranks, squared",
        "b=64 t=512",
        dict(x="signed(b, t)", z="signed(b, t)"),
        et="""r[b,t] = WHERE(LT(x[b,u], x[b,t]), 1, 0)
q[b,t] = WHERE(LT(z[b,u], z[b,t]), 1, 0)
y[b] = POW(r[b,t] - q[b,t], 2)""",
        numpy="((np.argsort(np.argsort(x, 1), 1) - np.argsort(np.argsort(z, 1), 1)) ** 2).sum(1)",
        torch="((x.argsort(1).argsort(1) - z.argsort(1).argsort(1)) ** 2).sum(1)",
    ),
    Program(
        "forces of all pairs",
        "i=1024 j=1024",
        dict(x="signed(i, 3)", m="positive(i)"),
        et="""r[i,j] = POW(x[j,k] - x[i,k], 2)
w[i,j] = m[j] * POW(r[i,j] + 0.01, -1.5)
y[i,k] = w[i,j] * (x[j,k] - x[i,k])

y

DIMS(j) = {j}""",
        numpy=(
            "(lambda d: (m[None, :, None] * ((d * d).sum(2) + 0.01)[..., None] ** np.float32(-1.5) * "
            "d).sum(1))(x[None] - x[:, None])"
        ),
        torch=(
            "(lambda d: (m[None, :, None] * ((d * d).sum(2) + 0.01)[..., None] ** (-1.5) * "
            "d).sum(1))(x[None] - x[:, None])"
        ),
        jax=(
            "(lambda d: (m[None, :, None] * ((d * d).sum(2) + 0.01)[..., None] ** (-1.5) * "
            "d).sum(1))(x[None] - x[:, None])"
        ),
        tolerance=0.001,
    ),
    Program(
        "lattice Boltzmann, density and velocity",
        "h=256 w=256 q=9",
        dict(f="positive(h, w, q)", e="signed(q, 2)"),
        et="""r[h,w] = f[h,w,q]
y[h,w,k] = f[h,w,q] * e[q,k] / r[h,w]""",
        numpy="f @ e / f.sum(2, keepdims=True)",
        torch="f @ e / f.sum(2, keepdim=True)",
        jax="f @ e / f.sum(2, keepdims=True)",
    ),
    Program(
        "curl in two dimensions",
        "h=1024 w=1024",
        dict(u="signed(h+2, w+2)", v="signed(h+2, w+2)"),
        et="y[h,w] = (v[h+1,w+2] - v[h+1,w]) / 2 - (u[h+2,w+1] - u[h,w+1]) / 2",
        numpy="(v[1:-1, 2:] - v[1:-1, :-2]) / 2 - (u[2:, 1:-1] - u[:-2, 1:-1]) / 2",
        torch="(v[1:-1, 2:] - v[1:-1, :-2]) / 2 - (u[2:, 1:-1] - u[:-2, 1:-1]) / 2",
        jax="(v[1:-1, 2:] - v[1:-1, :-2]) / 2 - (u[2:, 1:-1] - u[:-2, 1:-1]) / 2",
    ),
    Program(
        "spins: Ising energy",
        "h=1024 w=1024",
        dict(s="signs(h, w)"),
        et="y[] = -s[h,w] * (s[(h+1)%{h},w] + s[h,(w+1)%{w}])",
        numpy="-(s * (np.roll(s, -1, 0) + np.roll(s, -1, 1))).sum()",
        torch="-(s * (s.roll(-1, 0) + s.roll(-1, 1))).sum()",
        jax="-(s * (jnp.roll(s, -1, 0) + jnp.roll(s, -1, 1))).sum()",
        tolerance=0.01,
    ),
    Program(
        "gate on qubit 10 of 20",
        "a=1024 b=512",
        dict(s="signed(a, 2, b)", g="signed(2, 2)"),
        et="y[a,i,b] = g[i,j] * s[a,j,b]",
        numpy="np.einsum('ij,ajb->aib', g, s)",
        torch="torch.einsum('ij,ajb->aib', g, s)",
        jax="jnp.einsum('ij,ajb->aib', g, s)",
    ),
    Program(
        "gate on the last qubit",
        "a=524288",
        dict(s="signed(a, 2)", g="signed(2, 2)"),
        et="y[a,i] = g[i,j] * s[a,j]",
        numpy="s @ g.T",
        torch="s @ g.T",
        jax="s @ g.T",
    ),
    Program(
        "gate on two qubits",
        "a=256 b=64 c=16",
        dict(s="signed(a, 2, b, 2, c)", g="signed(2, 2, 2, 2)"),
        et="y[a,i,b,j,c] = g[i,j,k,l] * s[a,k,b,l,c]",
        numpy="np.einsum('ijkl,akblc->aibjc', g, s)",
        torch="torch.einsum('ijkl,akblc->aibjc', g, s)",
        jax="jnp.einsum('ijkl,akblc->aibjc', g, s)",
    ),
    Program(
        "strain of displacement",
        "a=65536",
        dict(g="signed(a, 3, 3)"),
        et="""p[a,i,j] = g[a,k,i] * g[a,k,j]
y[a,i,j] = (g[a,i,j] + g[a,j,i] + p[a,i,j]) / 2""",
        numpy="(g + g.swapaxes(1, 2) + g.swapaxes(1, 2) @ g) / 2",
        torch="(g + g.mT + g.mT @ g) / 2",
        jax="(g + g.swapaxes(1, 2) + g.swapaxes(1, 2) @ g) / 2",
    ),
    Program(
        "stress by stiffness (Voigt)",
        "a=65536",
        dict(c="signed(6, 6)", e="signed(a, 6)"),
        et="y[a,i] = c[i,j] * e[a,j]",
        numpy="e @ c.T",
        torch="e @ c.T",
        jax="e @ c.T",
    ),
    Program(
        "element stiffness (FEM)",
        "a=8192 q=4",
        dict(b="signed(a, q, 3, 8)", d="signed(3, 3)", w="positive(a, q)"),
        et="y[a,m,n] = b[a,q,i,m] * d[i,j] * b[a,q,j,n] * w[a,q]",
        numpy="np.einsum('aqim,ij,aqjn,aq->amn', b, d, b, w, optimize=True)",
        torch="torch.einsum('aqim,ij,aqjn,aq->amn', b, d, b, w)",
        jax="jnp.einsum('aqim,ij,aqjn,aq->amn', b, d, b, w)",
        tolerance=0.001,
    ),
    Program(
        "depthwise convolution",
        "n=4 c=64 h=66 w=66",
        dict(x="signed(n, c, h, w)", k="signed(c, 3, 3)"),
        et="""y[n,c,h,w] = x[n,c,h+i,w+j] * k[c,i,j]

y

DIMS(i) = 3
DIMS(j) = 3""",
        numpy=(
            "np.einsum('nchwij,cij->nchw', np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, "
            "3)), k)"
        ),
        torch="F.conv2d(x, k[:, None], groups=64)",
    ),
    Program(
        "SwiGLU",
        "t=1024 d=256 h=512",
        dict(x="signed(t, d)", u="signed(d, h)", v="signed(d, h)", w="signed(h, d)"),
        et="""a[t,h] = x[t,d] * u[d,h]
b[t,h] = x[t,d] * v[d,h]
c[t,h] = a[t,h] / (1 + EXP(-a[t,h])) * b[t,h]
y[t,d] = c[t,h] * w[h,d]""",
        numpy="(lambda a, b: a / (1 + np.exp(-a)) * b @ w)(x @ u, x @ v)",
        torch="F.silu(x @ u) * (x @ v) @ w",
        jax="jax.nn.silu(x @ u) * (x @ v) @ w",
        tolerance=0.001,
    ),
    Program(
        "GRU step",
        "b=256 h=256",
        dict(x="signed(b, h)", s="signed(b, h)", wz="signed(h, h)", uz="signed(h, h)", wr="signed(h, h)", ur="signed(h, h)", wh="signed(h, h)", uh="signed(h, h)"),
        et="""p[b,h] = x[b,k] * wz[k,h] + s[b,k] * uz[k,h]
q[b,h] = x[b,k] * wr[k,h] + s[b,k] * ur[k,h]
z[b,h] = 1 / (1 + EXP(-p[b,h]))
r[b,h] = 1 / (1 + EXP(-q[b,h]))
c[b,h] = x[b,k] * wh[k,h] + r[b,k] * s[b,k] * uh[k,h]
y[b,h] = (1 - z[b,h]) * s[b,h] + z[b,h] * TANH(c[b,h])""",
        numpy=(
            "(lambda g: (lambda z, r: (1 - z) * s + z * np.tanh(x @ wh + r * s @ uh))(g(x @ wz + s @ "
            "uz), g(x @ wr + s @ ur)))(lambda v: 1 / (1 + np.exp(-v)))"
        ),
        torch=(
            "(lambda z, r: (1 - z) * s + z * torch.tanh(x @ wh + r * s @ uh))(torch.sigmoid(x @ wz + s @ "
            "uz), torch.sigmoid(x @ wr + s @ ur))"
        ),
        jax=(
            "(lambda z, r: (1 - z) * s + z * jnp.tanh(x @ wh + r * s @ uh))(jax.nn.sigmoid(x @ wz + s @ "
            "uz), jax.nn.sigmoid(x @ wr + s @ ur))"
        ),
        tolerance=0.001,
    ),
    Program(
        "squeeze and excite",
        "n=8 c=64 h=56 w=56 r=16",
        dict(x="signed(n, c, h, w)", u="signed(r, c)", v="signed(c, r)"),
        et="""m[n,c] = x[n,c,h,w] / (DIMS(h) * DIMS(w))
a[n,r] = m[n,c] * u[r,c]
b[n,c] = MAX(a[n,r], 0) * v[c,r]
y[n,c,h,w] = x[n,c,h,w] / (1 + EXP(-b[n,c]))""",
        numpy=(
            "(lambda b: x * (1 / (1 + np.exp(-b)))[:, :, None, None])(np.maximum(x.mean((2, 3)) @ u.T, "
            "0) @ v.T)"
        ),
        torch="(lambda b: x * torch.sigmoid(b)[:, :, None, None])(F.relu(x.mean((2, 3)) @ u.T) @ v.T)",
        jax=(
            "(lambda b: x * jax.nn.sigmoid(b)[:, :, None, None])(jax.nn.relu(x.mean((2, 3)) @ u.T) @ "
            "v.T)"
        ),
    ),
    Program(
        "masked mean over time",
        "b=64 t=512 d=64",
        dict(x="signed(b, t, d)", m="mask(b, t)"),
        et="""c[b] = WHERE(m[b,t], 1, 0)
y[b,d] = WHERE(m[b,t], x[b,t,d], 0) / c[b]""",
        numpy="np.where(m[:, :, None], x, 0).sum(1) / m.sum(1)[:, None]",
        torch="torch.where(m[:, :, None], x, 0.0).sum(1) / m.sum(1)[:, None]",
        jax="jnp.where(m[:, :, None], x, 0).sum(1) / m.sum(1)[:, None]",
    ),
    Program(
        "total variation",
        "h=1024 w=1024",
        dict(x="signed(h, w)"),
        et="""a[] = ABS(x[h+1,w] - x[h,w])
b[] = ABS(x[h,w+1] - x[h,w])
y[] = a[] + b[]""",
        numpy="np.abs(np.diff(x, axis=0)).sum() + np.abs(np.diff(x, axis=1)).sum()",
        torch="x.diff(dim=0).abs().sum() + x.diff(dim=1).abs().sum()",
        jax="jnp.abs(jnp.diff(x, axis=0)).sum() + jnp.abs(jnp.diff(x, axis=1)).sum()",
        tolerance=0.001,
    ),
    Program(
        "one-hot sequences scored by a matrix",
        "b=4096 t=64 c=20",
        dict(s="below(c, b, t)", w="signed(t, c)"),
        et="y[b] = w[t, s[b,t]]",
        numpy="w[np.arange(n.t)[None], s].sum(1)",
        torch="w[torch.arange(n.t)[None], s].sum(1)",
        jax="w[jnp.arange(n.t)[None], s].sum(1)",
    ),
    Program(
        "substitution scores of pairs",
        "i=512 j=512",
        dict(s="below(20, i)", r="below(20, j)", m="signed(20, 20)"),
        et="y[i,j] = m[s[i], r[j]]",
        numpy="m[s][:, r]",
        torch="m[s][:, r]",
        jax="m[s][:, r]",
    ),
    Program(
        "bigrams counted",
        "t=1000000 v=64",
        dict(s="below(v, t)"),
        et="""y[p,q] = 0
y[s[t], s[t+1]] += 1

y

DIMS(p) = {v}
DIMS(q) = {v}""",
        numpy="np.bincount(s[:-1] * n.v + s[1:], minlength=n.v ** 2).reshape(n.v, n.v)",
        torch="torch.bincount(s[:-1] * n.v + s[1:], minlength=n.v ** 2).view(n.v, n.v)",
    ),
    Program(
        "prices by categories",
        "a=1000000 g=50",
        dict(p="positive(a)", q="whole(10, a)", g="below(g, a)"),
        et="""y[c] = 0
y[g[a]] += p[a] * q[a]

y

DIMS(c) = 50""",
        numpy="np.bincount(g, p * q, 50)",
        torch="torch.zeros(50).index_add_(0, g, p * q)",
        tolerance=0.001,
    ),
    Program(
        "compound growth",
        "b=1024 t=120",
        dict(r="positive(b, t)"),
        et="""LOOP t
    y[b,t] = 1 + r[b,t] / 100
    y[b,t] = y[b,t-1] * (1 + r[b,t] / 100)""",
        numpy="np.cumprod(1 + r / 100, 1)",
        torch="torch.cumprod(1 + r / 100, 1)",
        jax="jnp.cumprod(1 + r / 100, 1)",
        tolerance=0.001,
    ),
    Program(
        "discounted values",
        "b=4096 t=120",
        dict(c="signed(b, t)"),
        et="y[b] = c[b,t] * POW(0.97, t)",
        numpy="c @ 0.97 ** np.arange(n.t)",
        torch="c @ 0.97 ** torch.arange(n.t)",
        jax="c @ 0.97 ** jnp.arange(n.t)",
    ),
    Program(
        "portfolio variance",
        "s=4096 a=128",
        dict(w="positive(s, a)", c="signed(a, a)"),
        et="y[s] = w[s,i] * c[i,j] * w[s,j]",
        numpy="(w @ c * w).sum(1)",
        torch="(w @ c * w).sum(1)",
        jax="(w @ c * w).sum(1)",
        tolerance=0.001,
    ),
    Program(
        "triangles of a graph",
        "v=512",
        dict(a="mask(v, v)"),
        et="""f[i,j] = WHERE(a[i,j], 1.0, 0.0)
y[] = f[i,j] * f[j,k] * f[k,i] / 6""",
        numpy="(lambda f: np.trace(f @ f @ f) / 6)(np.multiply(a, 1.0))",
        torch="(lambda f: torch.trace(f @ f @ f) / 6)(a.float())",
        jax="(lambda f: jnp.trace(f @ f @ f) / 6)(a.astype('f'))",
        tolerance=0.001,
    ),
    Program(
        "reachable in two steps",
        "v=512",
        dict(a="mask(v, v)"),
        et="y[i,j] = AND(a[i,k], a[k,j])",
        numpy="a @ a > 0",
        torch="a.float() @ a.float() > 0",
        jax="a.astype('f4') @ a.astype('f4') > 0",
    ),
    Program(
        "barycentric interpolation",
        "t=262144",
        dict(w="positive(t, 3)", c="positive(t, 3, 4)"),
        et="y[t,k] = w[t,i] * c[t,i,k]",
        numpy="np.einsum('ti,tik->tk', w, c)",
        torch="torch.einsum('ti,tik->tk', w, c)",
        jax="jnp.einsum('ti,tik->tk', w, c)",
        fixed=frozenset("k"),
    ),
    Program(
        "Lambert shading",
        "h=512 w=512",
        dict(g="signed(h, w, 3)", l="signed(3)", c="positive(h, w, 3)"),
        et="""d[h,w] = g[h,w,k] * l[k]
y[h,w,k] = c[h,w,k] * MAX(d[h,w], 0.1)""",
        numpy="c * np.maximum((g * l).sum(-1, keepdims=True), 0.1)",
        torch="c * torch.clamp((g * l).sum(-1, keepdim=True), min=0.1)",
        jax="c * jnp.maximum((g * l).sum(-1, keepdims=True), 0.1)",
    ),
    Program(
        "mesh areas",
        "t=200000 v=100000",
        dict(x="signed(v, 2)", f="below(v, t, 3)"),
        et=(
            "y[t] = ABS((x[f[t,1],0]-x[f[t,0],0])*(x[f[t,2],1]-x[f[t,0],1]) - "
            "(x[f[t,2],0]-x[f[t,0],0])*(x[f[t,1],1]-x[f[t,0],1])) / 2"
        ),
        numpy=(
            "(lambda p: np.abs((p[:, 1, 0] - p[:, 0, 0]) * (p[:, 2, 1] - p[:, 0, 1]) - (p[:, 2, 0] - "
            "p[:, 0, 0]) * (p[:, 1, 1] - p[:, 0, 1])) / 2)(x[f])"
        ),
        torch=(
            "(lambda p: torch.abs((p[:, 1, 0] - p[:, 0, 0]) * (p[:, 2, 1] - p[:, 0, 1]) - (p[:, 2, 0] - "
            "p[:, 0, 0]) * (p[:, 1, 1] - p[:, 0, 1])) / 2)(x[f])"
        ),
        jax=(
            "(lambda p: jnp.abs((p[:, 1, 0] - p[:, 0, 0]) * (p[:, 2, 1] - p[:, 0, 1]) - (p[:, 2, 0] - "
            "p[:, 0, 0]) * (p[:, 1, 1] - p[:, 0, 1])) / 2)(x[f])"
        ),
    ),
    Program(
        "sRGB to linear",
        "h=512 w=512",
        dict(x="positive(h, w, 3)"),
        et=(
            "y[h,w,c] = WHERE(LE(x[h,w,c], 0.04045), x[h,w,c] / 12.92, POW((x[h,w,c] + 0.055) / 1.055, "
            "2.4))"
        ),
        numpy="np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)",
        torch="torch.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)",
        jax="jnp.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)",
    ),
    Program(
        "nearest neighbour resampling by a map",
        "h=512 w=512",
        dict(x="signed(h, w)", u="below(h, h, w)", v="below(w, h, w)"),
        et="y[h,w] = x[u[h,w], v[h,w]]",
        numpy="x[u, v]",
        torch="x[u, v]",
        jax="x[u, v]",
    ),
    Program(
        "vignette",
        "h=1024 w=1024",
        dict(x="positive(h, w)"),
        et="y[h,w] = x[h,w] * (1 - (POW(h - 512, 2) + POW(w - 512, 2)) / 1000000)",
        numpy=(
            "x * (1 - ((np.arange(n.h)[:, None] - 512) ** 2 + (np.arange(n.w) - 512) ** 2) / "
            "np.float32(1000000.0))"
        ),
        torch=(
            "x * (1 - ((torch.arange(n.h)[:, None] - 512) ** 2 + (torch.arange(n.w) - 512) ** 2) / "
            "1000000.0)"
        ),
        jax=(
            "x * (1 - ((jnp.arange(n.h)[:, None] - 512) ** 2 + (jnp.arange(n.w) - 512) ** 2) / "
            "1000000.0).astype('f4')"
        ),
    ),
    Program(
        "checkerboard",
        "h=1024 w=1024",
        dict(x="positive(h, w)"),
        et="y[h,w] = WHERE(EQ(MOD(FLOOR(h / 32) + FLOOR(w / 32), 2), 0), x[h,w], 0)",
        numpy="np.where((np.arange(n.h)[:, None] // 32 + np.arange(n.w) // 32) % 2 == 0, x, 0)",
        torch="torch.where((torch.arange(n.h)[:, None] // 32 + torch.arange(n.w) // 32) % 2 == 0, x, 0.0)",
        jax="jnp.where((jnp.arange(n.h)[:, None] // 32 + jnp.arange(n.w) // 32) % 2 == 0, x, 0)",
    ),
]
