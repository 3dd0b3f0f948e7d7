"""Elementwise programs."""

from ..program import Program

MILLION = "a=1048576"
ONE = dict(x="signed(a)")


def function(name: str, et: str, library: str, data: str = "signed(a)", **more) -> Program:
    """A function of `x` as a formula, with functions that all libraries share."""
    spelled = lambda module: library.replace("@", f"{module}.")
    libraries = dict(numpy=spelled("np"), torch=spelled("torch"), jax=spelled("jnp"))
    return Program(name, MILLION, dict(x=data), et=f"y[a] = {et}", **libraries | more)


PROGRAMS = [
    function("square", "POW(x[a], 2)", "x ** 2"),
    function("cube", "POW(x[a], 3)", "x ** 3"),
    function("inverse of the square root", "POW(x[a], -0.5)", "x ** -0.5", "positive(a)", torch="torch.rsqrt(x)"),
    function("power of one and a half", "POW(x[a], 1.5)", "x ** 1.5", "positive(a)"),
    Program("square in i", MILLION, ONE, i="a^2~a", numpy="x ** 2", torch="x ** 2", jax="x ** 2"),
    Program(
        "square of whole numbers",
        MILLION,
        dict(x="whole(1000, a)"),
        i="a^2~a",
        numpy="x ** 2",
        torch="x ** 2",
        jax="x ** 2",
    ),
    function("sine", "SIN(x[a])", "@sin(x)", "angles(a)"),
    function("cosine", "COS(x[a])", "@cos(x)", "angles(a)"),
    function("tangent", "TAN(x[a])", "@tan(x)", "signed(a)"),
    function("exponential", "EXP(x[a])", "@exp(x)"),
    function("logarithm", "LOG(x[a])", "@log(x)", "positive(a)"),
    function("hyperbolic tangent", "TANH(x[a])", "@tanh(x)"),
    function(
        "sigmoid written out",
        "1 / (1 + EXP(-x[a]))",
        "1 / (1 + @exp(-x))",
        torch="torch.sigmoid(x)",
        jax="jax.nn.sigmoid(x)",
    ),
    function("swish", "x[a] / (1 + EXP(-x[a]))", "x / (1 + @exp(-x))", torch="F.silu(x)", jax="jax.nn.silu(x)"),
    function(
        "gelu by tanh",
        "0.5 * x[a] * (1 + TANH(0.7978845608 * (x[a] + 0.044715 * POW(x[a], 3))))",
        "0.5 * x * (1 + @tanh(0.7978845608 * (x + 0.044715 * x ** 3)))",
        torch="F.gelu(x, approximate='tanh')",
        jax="jax.nn.gelu(x)",
    ),
    function("soft plus", "LOG1P(EXP(x[a]))", "@log1p(@exp(x))", torch="F.softplus(x)", jax="jax.nn.softplus(x)"),
    function("clipped", "MIN(MAX(x[a], -0.5), 0.5)", "@clip(x, -0.5, 0.5)"),
    function("leaky rectifier", "WHERE(GT(x[a], 0), x[a], 0.01 * x[a])", "@where(x > 0, x, 0.01 * x)",
             torch="F.leaky_relu(x)"),
    function("polynomial", "1 + x[a] * (2 + x[a] * (3 + x[a] * 4))", "1 + x * (2 + x * (3 + x * 4))"),
    function(
        "polynomial of powers",
        "1 + 2 * x[a] + 3 * POW(x[a], 2) + 4 * POW(x[a], 3)",
        "1 + 2 * x + 3 * x ** 2 + 4 * x ** 3",
    ),
    function(
        "density of the normal distribution",
        "EXP(-POW((x[a] - 0.1) / 0.3, 2) / 2) / (0.3 * SQRT(2 * PI))",
        "@exp(-(((x - 0.1) / 0.3) ** 2) / 2) / (0.3 * 2.5066282746)",
    ),
    Program(
        "a x plus y",
        "a=4194304",
        dict(x="signed(a)", z="signed(a)"),
        et="y[a] = 2.5 * x[a] + z[a]",
        numpy="2.5 * x + z",
        torch="torch.add(z, x, alpha=2.5)",
        jax="2.5 * x + z",
    ),
    Program(
        "between two",
        "a=1048576",
        dict(x="signed(a)", z="signed(a)", t="positive(a)"),
        et="y[a] = x[a] + t[a] * (z[a] - x[a])",
        numpy="x + t * (z - x)",
        torch="torch.lerp(x, z, t)",
        jax="x + t * (z - x)",
    ),
    Program(
        "polar coordinates",
        "a=1048576",
        dict(r="positive(a)", p="angles(a)"),
        et="y[a] = r[a] * COS(p[a]) + r[a] * SIN(p[a])",
        numpy="r * np.cos(p) + r * np.sin(p)",
        torch="r * torch.cos(p) + r * torch.sin(p)",
        jax="r * jnp.cos(p) + r * jnp.sin(p)",
    ),
    Program(
        "a third of whole numbers",
        MILLION,
        dict(x="whole(1000000, a)"),
        i="a/3~a",
        numpy="x // 3",
        torch="x // 3",
        jax="x // 3",
    ),
    Program(
        "remainder of whole numbers",
        MILLION,
        dict(x="whole(1000000, a)"),
        i="a @mod 10~a",
        numpy="x % 10",
        torch="x % 10",
        jax="x % 10",
    ),
    Program(
        "weights from whole numbers",
        "o=2048 d=2048",
        dict(q="whole(127, o, d)", s="positive(o)", z="positive(o)"),
        et="y[o,d] = (F32(q[o,d]) - z[o]) * s[o]",
        numpy="(q.astype(s.dtype) - z[:, None]) * s[:, None]",
        torch="(q.float() - z[:, None]) * s[:, None]",
        jax="(q.astype('f') - z[:, None]) * s[:, None]",
    ),
    Program(
        "weights from whole numbers, in blocks",
        "o=2048 g=16 d=128",
        dict(q="whole(127, o, g, d)", s="positive(o, g)"),
        et="y[o,g,d] = F32(q[o,g,d]) * s[o,g]",
        numpy="q.astype(s.dtype) * s[:, :, None]",
        torch="q * s[:, :, None]",
        jax="q * s[:, :, None]",
    ),
    Program(
        "add a row and scale a column",
        "i=2048 j=1024",
        dict(x="signed(i, j)", b="signed(j)", s="positive(i)"),
        et="y[i,j] = (x[i,j] + b[j]) / s[i]",
        numpy="(x + b) / s[:, None]",
        torch="(x + b) / s[:, None]",
        jax="(x + b) / s[:, None]",
    ),
    Program(
        "step of Adam",
        "a=1048576",
        dict(x="signed(a)", m="signed(a)", v="positive(a)", g="signed(a)"),
        et="""p[a] = 0.9 * m[a] + 0.1 * g[a]
q[a] = 0.999 * v[a] + 0.001 * POW(g[a], 2)
y[a] = x[a] - 0.001 * p[a] / (SQRT(q[a]) + 0.00000001)""",
        numpy="np_adam(np, x, m, v, g)",
        torch="np_adam(torch, x, m, v, g)",
        jax="np_adam(jnp, x, m, v, g)",
    ),
    function("rounded to eighths", "ROUND(x[a] * 8) / 8", "@round(x * 8) / 8"),
    function("tenths in eight bits", "MIN(MAX(FLOOR(x[a] * 10), -128), 127)", "@clip(@floor(x * 10), -128, 127)"),
    Program(
        "means of neighbours in pairs",
        "a=1048576",
        dict(x="signed(a)"),
        et="y[n] = (x[2*n] + x[2*n+1]) / 2\n\ny\n\nDIMS(n) = {a} // 2",
        numpy="(x[::2] + x[1::2]) / 2",
        torch="(x[::2] + x[1::2]) / 2",
        jax="(x[::2] + x[1::2]) / 2",
    ),
    Program(
        "two vectors beside each other",
        "a=524288 c=2",
        dict(u="signed(a)", v="signed(a)"),
        et="y[a,c] = WHERE(EQ(c, 0), u[a], v[a])\n\ny\n\nDIMS(c) = {c}",
        numpy="np.stack([u, v], 1)",
        torch="torch.stack([u, v], 1)",
        jax="jnp.stack([u, v], 1)",
        fixed=frozenset("c"),
    ),
    Program(
        "products of pairs as complex numbers",
        "a=524288 c=2",
        dict(x="signed(a, c)", z="signed(a, c)"),
        et="""r[a] = x[a,0] * z[a,0] - x[a,1] * z[a,1]
i[a] = x[a,0] * z[a,1] + x[a,1] * z[a,0]
y[a,c] = WHERE(EQ(c, 0), r[a], i[a])

y

DIMS(c) = {c}""",
        numpy="np.stack([x[:, 0] * z[:, 0] - x[:, 1] * z[:, 1], x[:, 0] * z[:, 1] + x[:, 1] * z[:, 0]], 1)",
        torch="torch.view_as_real(torch.view_as_complex(x) * torch.view_as_complex(z))",
        jax="jnp.stack([x[:, 0] * z[:, 0] - x[:, 1] * z[:, 1], x[:, 0] * z[:, 1] + x[:, 1] * z[:, 0]], 1)",
        fixed=frozenset("c"),
    ),
]
