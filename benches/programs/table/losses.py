"""Losses: scalars of whole arrays."""

from ..program import Program

PAIR = dict(a="signed(b, d)", c="signed(b, d)")
ROWS = dict(x="signed(b, c)", t="below(c, b)")

PROGRAMS = [
    Program(
        "cross entropy",
        "b=4096 c=1024",
        ROWS,
        et="""m[b] =max x[b,c]
l[b] = EXP(x[b,c] - m[b])
y[] = (m[b] + LOG(l[b]) - x[b,t[b]]) / DIMS(b)""",
        numpy="np.mean(np_logsumexp(x) - x[np.arange(n.b), t])",
        torch="F.cross_entropy(x, t)",
        jax="jnp.mean(jax.nn.logsumexp(x, axis=1) - x[jnp.arange(n.b), t])",
    ),
    Program(
        "cross entropy with smooth labels",
        "b=4096 c=1024",
        ROWS,
        et="""m[b] =max x[b,c]
l[b] = EXP(x[b,c] - m[b])
z[b] = m[b] + LOG(l[b])
g[b] = (z[b] - x[b,c]) / DIMS(c)
y[] = (0.9 * (z[b] - x[b,t[b]]) + 0.1 * g[b]) / DIMS(b)""",
        numpy="np.mean(np_logsumexp(x) - 0.9 * x[np.arange(n.b), t] - 0.1 * x.mean(1))",
        torch="F.cross_entropy(x, t, label_smoothing=0.1)",
        jax="jnp.mean(jax.nn.logsumexp(x, axis=1) - 0.9 * x[jnp.arange(n.b), t] - 0.1 * x.mean(1))",
    ),
    Program(
        "mean squared error",
        "b=4096 d=1024",
        PAIR,
        et="y[] = POW(a[b,d] - c[b,d], 2) / (DIMS(b) * DIMS(d))",
        numpy="np.mean((a - c) ** 2)",
        torch="F.mse_loss(a, c)",
        jax="jnp.mean((a - c) ** 2)",
    ),
    Program(
        "mean absolute error in i",
        "b=4096 d=1024",
        PAIR,
        i="bd-bd~bd . @abs bd~bd . +bd~. . ./4194304~.",
        numpy="np.sum(np.abs(a - c)) / 4194304",
        torch="torch.sum(torch.abs(a - c)) / 4194304",
        jax="jnp.sum(jnp.abs(a - c)) / 4194304",
        tolerance=1e-3,
    ),
    Program(
        "Huber loss",
        "b=4096 d=1024",
        PAIR,
        et="""e[b,d] = ABS(a[b,d] - c[b,d])
y[] = WHERE(LT(e[b,d], 1), 0.5 * e[b,d] * e[b,d], e[b,d] - 0.5) / (DIMS(b) * DIMS(d))""",
        numpy="np_huber(a - c)",
        torch="F.huber_loss(a, c)",
        jax="jnp_huber(a - c)",
    ),
    Program(
        "Kullback-Leibler divergence",
        "b=4096 d=512",
        dict(p="shares(b, d)", q="shares(b, d)"),
        et="y[] = p[b,d] * (LOG(p[b,d]) - LOG(q[b,d])) / DIMS(b)",
        numpy="np.sum(p * (np.log(p) - np.log(q))) / n.b",
        torch="F.kl_div(torch.log(q), p, reduction='batchmean')",
        jax="jnp.sum(p * (jnp.log(p) - jnp.log(q))) / n.b",
        scipy="special.rel_entr(p, q).sum() / n.b",
        tolerance=1e-3,
    ),
    Program(
        "hinge loss",
        "b=2097152",
        dict(x="signed(b)", t="signs(b)"),
        et="y[] = MAX(1 - t[b] * x[b], 0) / DIMS(b)",
        numpy="np.mean(np.maximum(1 - t * x, 0))",
        torch="torch.mean(torch.relu(1 - t * x))",
        jax="jnp.mean(jnp.maximum(1 - t * x, 0))",
    ),
    Program(
        "binary cross entropy with logits",
        "b=4096 d=256",
        dict(x="signed(b, d)", t="positive(b, d)"),
        et="""y[] = (MAX(x[b,d], 0) - x[b,d] * t[b,d] + LOG1P(EXP(-ABS(x[b,d])))) / (DIMS(b) * DIMS(d))""",
        numpy="np.mean(np.maximum(x, 0) - x * t + np.log1p(np.exp(-np.abs(x))))",
        torch="F.binary_cross_entropy_with_logits(x, t)",
        jax="jnp.mean(jnp.maximum(x, 0) - x * t + jnp.log1p(jnp.exp(-jnp.abs(x))))",
    ),
    Program(
        "contrastive loss (InfoNCE)",
        "b=1024 c=1024 d=128",
        dict(u="signed(b, d)", v="signed(c, d)"),
        et="""s[b,c] = u[b,d] * v[c,d] / 0.07
m[b] =max s[b,c]
l[b] = EXP(s[b,c] - m[b])
y[] = (m[b] + LOG(l[b]) - s[b,b]) / DIMS(b)""",
        numpy="np_contrast(u, v)",
        torch="F.cross_entropy(u @ v.T / 0.07, torch.arange(n.b))",
        jax="jnp_contrast(u, v)",
    ),
    Program(
        "triplet loss",
        "b=16384 d=128",
        dict(a="signed(b, d)", p="signed(b, d)", q="signed(b, d)"),
        et="""u[b] = POW(a[b,d] - p[b,d], 2)
v[b] = POW(a[b,d] - q[b,d], 2)
y[] = MAX(SQRT(u[b]) - SQRT(v[b]) + 1, 0) / DIMS(b)""",
        numpy="np_triplet(a, p, q)",
        torch="F.triplet_margin_loss(a, p, q, eps=0)",
        jax="jnp_triplet(a, p, q)",
    ),
    Program(
        "cosine embedding loss",
        "b=16384 d=128",
        PAIR,
        et="""n[b] = a[b,d] * c[b,d]
u[b] = a[b,d] * a[b,d]
v[b] = c[b,d] * c[b,d]
y[] = (1 - n[b] / (SQRT(u[b]) * SQRT(v[b]))) / DIMS(b)""",
        numpy="np.mean(1 - (a * c).sum(1) / np.sqrt((a * a).sum(1) * (c * c).sum(1)))",
        torch="torch.mean(1 - F.cosine_similarity(a, c))",
        jax="jnp.mean(1 - (a * c).sum(1) / jnp.sqrt((a * a).sum(1) * (c * c).sum(1)))",
    ),
    Program(
        "entropy of rows",
        "b=4096 c=512",
        dict(p="shares(b, c)"),
        et="y[b] = -p[b,c] * LOG(p[b,c])",
        numpy="-(p * np.log(p)).sum(1)",
        torch="-(p * torch.log(p)).sum(1)",
        jax="-(p * jnp.log(p)).sum(1)",
    ),
    Program(
        "focal loss",
        "b=2048 d=512",
        dict(x="signed(b, d)", t="positive(b, d)"),
        et="""p[b,d] = 1 / (1 + EXP(-x[b,d]))
y[] = -t[b,d] * POW(1 - p[b,d], 2) * LOG(p[b,d]) / (DIMS(b) * DIMS(d))""",
        numpy="np.mean(-t * (1 - 1 / (1 + np.exp(-x))) ** 2 * np.log(1 / (1 + np.exp(-x))))",
        torch="torch.mean(-t * (1 - torch.sigmoid(x)) ** 2 * F.logsigmoid(x))",
        jax="jnp.mean(-t * (1 - 1 / (1 + jnp.exp(-x))) ** 2 * jnp.log(1 / (1 + jnp.exp(-x))))",
    ),
]
