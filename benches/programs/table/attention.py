"""Attention and related programs."""

from ..program import Program

SOFTMAX = """m[{b}i] =max {s}[{b}i,j]
w[{b}i,j] = EXP({s}[{b}i,j] - m[{b}i])
t[{b}i] = w[{b}i,j]
y[{b}i,g] = w[{b}i,j] / t[{b}i] * v[{b}j,g]"""


def softmax(scores: str, batch: str = "b,") -> str:
    """The statements after the scores."""
    return SOFTMAX.replace("{b}", batch).replace("{s}", scores)


SCORES = "s[b,i,j] = q[b,i,f] * k[b,j,f] / SQRT(DIMS(f))\n"
QKV = dict(q="signed(b, i, f)", k="signed(b, j, f)", v="signed(b, j, g)")
HEADS = dict(q="signed(b, h, r, i, f)", k="signed(b, h, j, f)", v="signed(b, h, j, g)")

PROGRAMS = [
    Program(
        "attention",
        "b=8 i=1024 j=1024 f=64 g=64",
        QKV,
        et=SCORES + softmax("s"),
        numpy="np_attention(q, k, v)",
        torch="F.scaled_dot_product_attention(q, k, v)",
        jax="jnp_attention(q, k, v)",
        fixed=frozenset("bfg"),
    ),
    Program(
        "attention in i",
        "b=8 i=1024 j=1024 f=64 g=64",
        QKV,
        i="+(bif*bjf)~bij . bij/8~bij . (I & >bij~bi) . bij-bi~bij . ^bij~bij . (I & +bij~bi)"
        " . bij/bi~bij . +(bij*bjg)~big",
        numpy="np_attention(q, k, v)",
        torch="F.scaled_dot_product_attention(q, k, v)",
        jax="jnp_attention(q, k, v)",
        fixed=frozenset("bfg"),
    ),
    Program(
        "causal attention",
        "b=8 i=1024 j=1024 f=64 g=64",
        QKV,
        et=SCORES + "a[b,i,j] = WHERE(LE(j, i), s[b,i,j], -INF)\n" + softmax("a"),
        numpy="np_attention(q, k, v, np.tri(n.i, n.j, dtype=bool))",
        torch="F.scaled_dot_product_attention(q, k, v, is_causal=True)",
        jax="jnp_attention(q, k, v, jnp.tri(n.i, n.j, dtype=bool))",
        fixed=frozenset("bfg"),
    ),
    Program(
        "grouped-query attention, causal",
        "b=2 h=4 r=4 i=512 j=512 f=64 g=64",
        HEADS,
        et="""s[b,h,r,i,j] = q[b,h,r,i,f] * k[b,h,j,f] / SQRT(DIMS(f))
a[b,h,r,i,j] = WHERE(LE(j, i), s[b,h,r,i,j], -INF)
m[b,h,r,i] =max a[b,h,r,i,j]
w[b,h,r,i,j] = EXP(a[b,h,r,i,j] - m[b,h,r,i])
t[b,h,r,i] = w[b,h,r,i,j]
y[b,h,r,i,g] = w[b,h,r,i,j] / t[b,h,r,i] * v[b,h,j,g]""",
        numpy="np_attention(q, k[:, :, None], v[:, :, None], np.tri(n.i, n.j, dtype=bool))",
        torch="torch_grouped(q, k, v, is_causal=True)",
        jax="jnp_attention(q, k[:, :, None], v[:, :, None], jnp.tri(n.i, n.j, dtype=bool))",
        fixed=frozenset("fg"),
    ),
    Program(
        "sliding window attention",
        "b=8 i=1024 j=1024 f=64 g=64",
        QKV,
        et=SCORES
        + "a[b,i,j] = WHERE(AND(LE(j, i), LT(i - j, 128)), s[b,i,j], -INF)\n"
        + softmax("a"),
        numpy="np_attention(q, k, v, np_window(n.i, n.j, 128))",
        torch="F.scaled_dot_product_attention(q, k, v, attn_mask=band)",
        jax="jnp_attention(q, k, v, band)",
        before={
            "torch.band": "torch.from_numpy(np_window(n.i, n.j, 128))",
            "jax.band": "jnp.asarray(np_window(n.i, n.j, 128))",
        },
        fixed=frozenset("bfg"),
    ),
    Program(
        "attention with a mask of keys",
        "b=8 i=1024 j=1024 f=64 g=64",
        QKV | dict(c="mask(b, j)"),
        et=SCORES + "a[b,i,j] = WHERE(c[b,j], s[b,i,j], -INF)\n" + softmax("a"),
        numpy="np_attention(q, k, v, c[:, None])",
        torch="F.scaled_dot_product_attention(q, k, v, attn_mask=c[:, None])",
        jax="jnp_attention(q, k, v, c[:, None])",
        fixed=frozenset("bfg"),
    ),
    Program(
        "attention with a bias that is linear (ALiBi)",
        "b=8 i=1024 j=1024 f=64 g=64",
        QKV | dict(c="positive(b)"),
        et=SCORES + "a[b,i,j] = s[b,i,j] - c[b] * ABS(i - j)\n" + softmax("a"),
        numpy="np_attention(q, k, v, bias=-c[:, None, None] * np_apart(n.i, n.j))",
        torch="F.scaled_dot_product_attention(q, k, v, attn_mask=-c[:, None, None] * apart)",
        jax="jnp_attention(q, k, v, bias=-c[:, None, None] * apart)",
        before={
            "torch.apart": "torch.from_numpy(np_apart(n.i, n.j).astype('f'))",
            "jax.apart": "jnp.asarray(np_apart(n.i, n.j).astype('f'))",
        },
        fixed=frozenset("bfg"),
    ),
    Program(
        "attention of one query to pages",
        "b=16 h=8 l=64 p=2048 o=16 f=64",
        dict(q="signed(b, h, f)", k="signed(p, o, h, f)", v="signed(p, o, h, f)", c="below(p, b, l)"),
        et="""s[b,h,l,o] = q[b,h,f] * k[c[b,l],o,h,f] / SQRT(DIMS(f))
m[b,h] =max s[b,h,l,o]
w[b,h,l,o] = EXP(s[b,h,l,o] - m[b,h])
t[b,h] = w[b,h,l,o]
y[b,h,f] = w[b,h,l,o] / t[b,h] * v[c[b,l],o,h,f]""",
        numpy="np_paged(q, k, v, c)",
        torch="torch_paged(q, k, v, c)",
        jax="jnp_paged(q, k, v, c)",
        fixed=frozenset("f"),
    ),
    Program(
        "attention of one query",
        "b=64 j=2048 f=64",
        dict(q="signed(b, f)", k="signed(b, j, f)", v="signed(b, j, f)"),
        et="""s[b,j] = q[b,f] * k[b,j,f] / SQRT(DIMS(f))
m[b] =max s[b,j]
w[b,j] = EXP(s[b,j] - m[b])
t[b] = w[b,j]
y[b,f] = w[b,j] / t[b] * v[b,j,f]""",
        numpy="np_attention(q[:, None], k, v)[:, 0]",
        torch="F.scaled_dot_product_attention(q[:, None], k, v)[:, 0]",
        jax="jnp_attention(q[:, None], k, v)[:, 0]",
        fixed=frozenset("f"),
    ),
    Program(
        "linear attention",
        "b=8 i=2048 f=64 g=64",
        dict(q="positive(b, i, f)", k="positive(b, i, f)", v="signed(b, i, g)"),
        et="""s[b,f,g] = k[b,i,f] * v[b,i,g]
y[b,i,g] = q[b,i,f] * s[b,f,g] / (DIMS(i) * DIMS(f))""",
        numpy="q @ (k.swapaxes(1, 2) @ v) / (n.i * n.f)",
        torch="q @ (k.swapaxes(1, 2) @ v) / (n.i * n.f)",
        jax="q @ (k.swapaxes(1, 2) @ v) / (n.i * n.f)",
        fixed=frozenset("bfg"),
    ),
    Program(
        "rotary embedding",
        "b=8 t=1024 h=8 f=32",
        dict(x="signed(b, t, h, f)", z="signed(b, t, h, f)", a="positive(f)"),
        et="y[b,t,h,f] = x[b,t,h,f] * COS(t * a[f]) - z[b,t,h,f] * SIN(t * a[f])",
        numpy="x * np_rotor(np.cos, n.t, a) - z * np_rotor(np.sin, n.t, a)",
        torch="torch_rotary(x, z, n.t, a)",
        jax="jnp_rotary(x, z, n.t, a)",
        fixed=frozenset("bf"),
        tolerance=1e-3,
    ),
    Program(
        "scores with relative positions",
        "b=8 i=512 j=512 f=64",
        dict(q="signed(b, i, f)", k="signed(b, j, f)", e="signed(i + j, f)"),
        et="""y[b,i,j] = q[b,i,f] * k[b,j,f]
y[b,i,j] += q[b,i,f] * e[i-j+DIMS(j),f]""",
        numpy="np_relative(q, k, e)",
        torch="torch_relative(q, k, e)",
        jax="jnp_relative(q, k, e)",
        fixed=frozenset("bf"),
    ),
]
