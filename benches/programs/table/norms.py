"""Normalisation, and means along axes."""

from ..program import Program

PROGRAMS = [
    Program(
        "layer norm",
        "b=4096 d=1024",
        dict(x="signed(b, d)", w="positive(d)", c="signed(d)"),
        et="""m[b] = x[b,d] / DIMS(d)
v[b] = POW(x[b,d] - m[b], 2) / DIMS(d)
y[b,d] = (x[b,d] - m[b]) / SQRT(v[b] + 0.00001) * w[d] + c[d]""",
        numpy="np_standard(x, 1) * w + c",
        torch="F.layer_norm(x, (n.d,), w, c)",
        jax="jnp_standard(x, 1) * w + c",
    ),
    Program(
        "RMS norm",
        "b=4096 d=1024",
        dict(x="signed(b, d)", w="positive(d)"),
        et="""v[b] = x[b,d] * x[b,d] / DIMS(d)
y[b,d] = x[b,d] * w[d] / SQRT(v[b] + 0.00001)""",
        numpy="x / np.sqrt(np.mean(x * x, 1, keepdims=True) + 1e-5) * w",
        torch="F.rms_norm(x, (n.d,), w, 1e-5)",
        jax="x / jnp.sqrt(jnp.mean(x * x, 1, keepdims=True) + 1e-5) * w",
    ),
    Program(
        "batch norm of images",
        "n=32 c=64 h=28 w=28",
        dict(x="signed(n, c, h, w)"),
        et="""m[c] = x[n,c,h,w] / (DIMS(n) * DIMS(h) * DIMS(w))
v[c] = POW(x[n,c,h,w] - m[c], 2) / (DIMS(n) * DIMS(h) * DIMS(w))
y[n,c,h,w] = (x[n,c,h,w] - m[c]) / SQRT(v[c] + 0.00001)""",
        numpy="np_standard(x, (0, 2, 3))",
        torch="F.batch_norm(x, None, None, training=True)",
        jax="jnp_standard(x, (0, 2, 3))",
    ),
    Program(
        "group norm",
        "n=16 g=8 k=16 h=28 w=28",
        dict(x="signed(n, g, k, h, w)"),
        et="""m[n,g] = x[n,g,k,h,w] / (DIMS(k) * DIMS(h) * DIMS(w))
v[n,g] = POW(x[n,g,k,h,w] - m[n,g], 2) / (DIMS(k) * DIMS(h) * DIMS(w))
y[n,g,k,h,w] = (x[n,g,k,h,w] - m[n,g]) / SQRT(v[n,g] + 0.00001)""",
        numpy="np_standard(x, (2, 3, 4))",
        torch="F.group_norm(x.flatten(1, 2), n.g).view(x.shape)",
        jax="jnp_standard(x, (2, 3, 4))",
    ),
    Program(
        "instance norm",
        "n=32 c=64 h=28 w=28",
        dict(x="signed(n, c, h, w)"),
        et="""m[n,c] = x[n,c,h,w] / (DIMS(h) * DIMS(w))
d[n,c,h,w] = x[n,c,h,w] - m[n,c]
v[n,c] = d[n,c,h,w] * d[n,c,h,w] / (DIMS(h) * DIMS(w))
y[n,c,h,w] = d[n,c,h,w] / SQRT(v[n,c] + 0.00001)""",
        numpy="np_standard(x, (2, 3))",
        torch="F.instance_norm(x)",
        jax="jnp_standard(x, (2, 3))",
    ),
    Program(
        "rows of length one",
        "b=16384 d=256",
        dict(x="signed(b, d)"),
        et="s[b] = POW(x[b,d], 2)\ny[b,d] = x[b,d] / SQRT(s[b])",
        numpy="x / np.sqrt((x * x).sum(1, keepdims=True))",
        torch="F.normalize(x)",
        jax="x / jnp.sqrt((x * x).sum(1, keepdims=True))",
    ),
    Program(
        "softmax of rows",
        "b=4096 d=1024",
        dict(x="signed(b, d)"),
        et="""m[b] =max x[b,d]
w[b,d] = EXP(x[b,d] - m[b])
t[b] = w[b,d]
y[b,d] = w[b,d] / t[b]""",
        numpy="np_softmax(x)",
        torch="torch.softmax(x, 1)",
        jax="jax.nn.softmax(x, 1)",
    ),
    Program(
        "softmax of columns",
        "b=2048 d=1024",
        dict(x="signed(b, d)"),
        et="""m[d] =max x[b,d]
w[b,d] = EXP(x[b,d] - m[d])
t[d] = w[b,d]
y[b,d] = w[b,d] / t[d]""",
        numpy="np_softmax(x.T).T",
        torch="torch.softmax(x, 0)",
        jax="jax.nn.softmax(x, 0)",
    ),
    Program(
        "softmax at a temperature",
        "b=4096 d=512",
        dict(x="signed(b, d)"),
        et="""z[b,d] = x[b,d] / 0.7
m[b] =max z[b,d]
w[b,d] = EXP(z[b,d] - m[b])
t[b] = w[b,d]
y[b,d] = w[b,d] / t[b]""",
        numpy="np_softmax(x / 0.7)",
        torch="torch.softmax(x / 0.7, 1)",
        jax="jax.nn.softmax(x / 0.7, 1)",
    ),
    Program(
        "log-softmax",
        "b=4096 d=1024",
        dict(x="signed(b, d)"),
        et="""m[b] =max x[b,d]
t[b] = EXP(x[b,d] - m[b])
y[b,d] = x[b,d] - m[b] - LOG(t[b])""",
        numpy="x - np_logsumexp(x)[:, None]",
        torch="torch.log_softmax(x, 1)",
        jax="jax.nn.log_softmax(x, 1)",
    ),
    Program(
        "log-sum-exp of rows",
        "b=4096 d=1024",
        dict(x="signed(b, d)"),
        et="m[b] =max x[b,d]\nt[b] = EXP(x[b,d] - m[b])\ny[b] = m[b] + LOG(t[b])",
        numpy="np_logsumexp(x)",
        torch="torch.logsumexp(x, 1)",
        jax="jax.nn.logsumexp(x, axis=1)",
    ),
    Program(
        "mean of rows",
        "b=4096 d=1024",
        dict(x="signed(b, d)"),
        et="y[b] = x[b,d] / DIMS(d)",
        numpy="x.mean(1)",
        torch="x.mean(1)",
        jax="x.mean(1)",
        tolerance=1e-3,
    ),
    Program(
        "mean of columns",
        "b=4096 d=1024",
        dict(x="signed(b, d)"),
        et="y[d] = x[b,d] / DIMS(b)",
        numpy="x.mean(0)",
        torch="x.mean(0)",
        jax="x.mean(0)",
        tolerance=1e-3,
    ),
    Program(
        "mean of the middle axis in i",
        "b=64 s=256 d=256",
        dict(x="signed(b, s, d)"),
        i="bsd/{s}~bsd . +bsd~bd",
        numpy="x.mean(1)",
        torch="x.mean(1)",
        jax="x.mean(1)",
        tolerance=1e-3,
    ),
    Program(
        "standardised columns",
        "b=16384 d=256",
        dict(x="signed(b, d)"),
        et="""m[d] = x[b,d] / DIMS(b)
v[d] = (x[b,d] - m[d]) * (x[b,d] - m[d]) / DIMS(b)
y[b,d] = (x[b,d] - m[d]) / SQRT(v[d] + 0.00001)""",
        numpy="np_standard(x, 0)",
        torch="torch_standard(x, 0)",
        jax="jnp_standard(x, 0)",
    ),
    Program(
        "gradient of layer norm",
        "b=4096 d=512",
        dict(x="signed(b, d)", g="signed(b, d)"),
        et="""m[b] = x[b,d] / DIMS(d)
v[b] = POW(x[b,d] - m[b], 2) / DIMS(d)
h[b,d] = (x[b,d] - m[b]) / SQRT(v[b] + 0.00001)
p[b] = g[b,d] / DIMS(d)
q[b] = g[b,d] * h[b,d] / DIMS(d)
y[b,d] = (g[b,d] - p[b] - h[b,d] * q[b]) / SQRT(v[b] + 0.00001)""",
        numpy="np_layer_norm_gradient(np, x, g)",
        torch="torch.ops.aten.native_layer_norm_backward(g, x, [n.d], *stats, None, None, [True, False, False])[0]",
        jax="np_layer_norm_gradient(jnp, x, g)",
        before={"torch.stats": "torch.native_layer_norm(x, [n.d], None, None, 1e-5)[1:]"},
    ),
    Program(
        "gradient of softmax",
        "b=4096 c=512",
        dict(s="shares(b, c)", g="signed(b, c)"),
        et="""u[b] = s[b,c] * g[b,c]
y[b,c] = s[b,c] * (g[b,c] - u[b])""",
        numpy="s * (g - (s * g).sum(1, keepdims=True))",
        torch="torch._softmax_backward_data(g, s, 1, s.dtype)",
        jax="s * (g - (s * g).sum(1, keepdims=True))",
    ),
]
