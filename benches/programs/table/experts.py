"""Mixtures of experts, and other products of three."""

from ..program import Program

PROGRAMS = [
    Program(
        "top-1 experts, gathered",
        "t=2048 e=8 d=128 h=256",
        dict(x="signed(t, d)", w="signed(e, d, h)", u="signed(e, h, d)", c="below(e, t)"),
        et="""a[t,h] = x[t,d] * w[c[t],d,h]
r[t,h] = MAX(a[t,h], 0)
y[t,o] = r[t,h] * u[c[t],h,o]""",
        numpy="np_experts(x, w, u, c)",
        torch="torch_experts(x, w, u, c)",
        jax="jnp_experts(x, w, u, c)",
        fixed=frozenset("e"),
    ),
    Program(
        "top-1 experts, a mask",
        "t=2048 e=8 d=128 h=256",
        dict(x="signed(t, d)", w="signed(e, d, h)", u="signed(e, h, d)", c="below(e, t)"),
        et="""k[t,e] = F32(EQ(c[t], e))
a[t,e,h] = x[t,d] * w[e,d,h]
y[t,o] = k[t,e] * MAX(a[t,e,h], 0) * u[e,h,o]""",
        numpy="np_experts(x, w, u, c)",
        torch="torch_experts(x, w, u, c)",
        jax="jnp_experts(x, w, u, c)",
        fixed=frozenset("e"),
    ),
    Program(
        "top-2 experts with weights",
        "t=1024 k=2 e=8 d=128 h=128",
        dict(x="signed(t, d)", w="signed(e, d, h)", c="below(e, t, k)", g="positive(t, k)"),
        et="y[t,h] = g[t,k] * x[t,d] * w[c[t,k],d,h]",
        numpy="np_weighted(x, w, c, g)",
        torch="torch_weighted(x, w, c, g)",
        jax="jnp_weighted(x, w, c, g)",
        fixed=frozenset("ek"),
    ),
    *[
        Program(
            f"experts by gates{where}",
            "t=1024 e=16 h=128 o=128",
            dict(g="positive(t, e)", x="signed(t, e, h)", w="signed(e, h, o)"),
            numpy="np.einsum('te,teh,eho->to', g, x, w, optimize=True)",
            torch="torch.einsum('teh,eho->to', g[:, :, None] * x, w)",
            jax="jnp.einsum('te,teh,eho->to', g, x, w)",
            **source,
        )
        for where, source in {
            "": dict(et="y[t,o] = g[t,e] * x[t,e,h] * w[e,h,o]"),
            ", einsum": dict(einsum="te,teh,eho->to"),
        }.items()
    ],
    *[
        Program(
            f"bilinear layer{where}",
            "b=256 i=64 o=64 j=64",
            dict(x="signed(b, i)", w="signed(o, i, j)", z="signed(b, j)"),
            numpy="np.einsum('bi,oij,bj->bo', x, w, z, optimize=True)",
            torch="F.bilinear(x, z, w)",
            jax="jnp.einsum('bi,oij,bj->bo', x, w, z)",
            **source,
        )
        for where, source in {
            "": dict(et="y[b,o] = x[b,i] * w[o,i,j] * z[b,j]"),
            ", einsum": dict(einsum="bi,oij,bj->bo"),
        }.items()
    ],
    *[
        Program(
            f"trace of three{where}",
            "a=256 b=256 c=256",
            dict(x="signed(a, b)", z="signed(b, c)", w="signed(c, a)"),
            numpy="np.einsum('ab,bc,ca->', x, z, w, optimize=True)",
            torch="torch.sum(x @ z * w.T)",
            jax="jnp.einsum('ab,bc,ca->', x, z, w)",
            tolerance=1e-3,
            **source,
        )
        for where, source in {
            "": dict(et="y[] = x[a,b] * z[b,c] * w[c,a]"),
            ", einsum": dict(einsum="ab,bc,ca->"),
        }.items()
    ],
    Program(
        "attention without softmax, with weights",
        "b=2 h=8 i=256 j=256 d=64",
        dict(q="signed(b, h, i, d)", k="signed(b, h, j, d)", a="signed(b, h, i, j)"),
        et="y[b,h,i] = q[b,h,i,d] * k[b,h,j,d] * a[b,h,i,j]",
        numpy="((q @ k.swapaxes(2, 3)) * a).sum(3)",
        torch="((q @ k.swapaxes(2, 3)) * a).sum(3)",
        jax="((q @ k.swapaxes(2, 3)) * a).sum(3)",
    ),
    Program(
        "four factors (Tucker)",
        "i=64 j=64 k=64 r=16 s=16 t=16",
        dict(g="signed(r, s, t)", a="signed(i, r)", b="signed(j, s)", c="signed(k, t)"),
        et="y[i,j,k] = g[r,s,t] * a[i,r] * b[j,s] * c[k,t]",
        numpy="np.einsum('rst,ir,js,kt->ijk', g, a, b, c, optimize=True)",
        torch="((g @ c.T).swapaxes(1, 2).reshape(n.r, -1).T @ a.T).view(n.k, n.s, n.i).permute(2, 1, 0)"
        ".swapaxes(1, 2).matmul(b.T).swapaxes(1, 2).contiguous()",
        jax="jnp.einsum('rst,ir,js,kt->ijk', g, a, b, c)",
    ),
    Program(
        "factors of a tensor (MTTKRP), einsum",
        "i=208 j=144 k=96 r=32",
        dict(x="signed(i, j, k)", b="signed(j, r)", c="signed(k, r)"),
        einsum="ijk,jr,kr->ir",
        numpy="np.einsum('ijk,jr,kr->ir', x, b, c, optimize=True)",
        torch="torch.sum((x @ c) * b, 1)",
        jax="jnp.einsum('ijk,jr,kr->ir', x, b, c)",
    ),
    Program(
        "tensor of its factors",
        "i=128 j=128 k=128 r=16",
        dict(a="signed(i, r)", b="signed(j, r)", c="signed(k, r)"),
        et="y[i,j,k] = a[i,r] * b[j,r] * c[k,r]",
        numpy="np.einsum('ir,jr,kr->ijk', a, b, c, optimize=True)",
        torch="(a[:, None] * b).view(-1, n.r).matmul(c.T).view(n.i, n.j, n.k)",
        jax="jnp.einsum('ir,jr,kr->ijk', a, b, c)",
    ),
    Program(
        "adapter of low rank",
        "b=1024 d=512 r=8 o=512",
        dict(x="signed(b, d)", w="signed(d, o)", a="signed(d, r)", c="signed(r, o)"),
        et="""y[b,o] = x[b,d] * w[d,o]
y[b,o] += 2 * x[b,d] * a[d,r] * c[r,o]""",
        numpy="x @ w + 2 * (x @ a @ c)",
        torch="x @ w + 2 * (x @ a @ c)",
        jax="x @ w + 2 * (x @ a @ c)",
    ),
    Program(
        "feed-forward layer with a gate",
        "t=512 d=256 h=512",
        dict(x="signed(t, d)", u="signed(d, h)", v="signed(d, h)", w="signed(h, d)"),
        et="""a[t,h] = x[t,d] * u[d,h]
b[t,h] = x[t,d] * v[d,h]
y[t,o] = a[t,h] * SIGMOID(a[t,h]) * b[t,h] * w[h,o]""",
        numpy="(np_silu(x @ u) * (x @ v)) @ w",
        torch="(F.silu(x @ u) * (x @ v)) @ w",
        jax="(jax.nn.silu(x @ u) * (x @ v)) @ w",
    ),
]
