"""Recurrences, dynamic programs, iterations."""

from ..program import Program

RECURRENCE = """LOOP t
    y[b,t]  = x[b,t]
    y[b,t] += a[b,t] * y[b,t-1]"""


def recurrence(sizes: str) -> Program:
    """A linear recurrence in each row."""
    return Program(
        f"linear recurrence, {sizes.replace('=', ' ')}",
        sizes,
        dict(x="signed(b, t)", a="positive(b, t)"),
        et=RECURRENCE,
        numpy="np_recurrence(x, a)",
        numba="jitted.recurrence(x, a)",
        torch="torch_recurrence(x, a)",
        jax="jax_recurrence(x, a)",
        tolerance=1e-3,
    )


PROGRAMS = [
    recurrence("b=64 t=4000"),
    recurrence("b=8 t=65536"),
    Program(
        "hidden Markov model, forward",
        "t=10000 k=64",
        dict(m="shares(k, k)", e="positive(t, k)"),
        et="""LOOP t
    y[t,k] = e[t,k] / {k}
    y[t,k] = y[t-1,l] * m[l,k] * e[t,k]
    s[]    = y[t,k]
    y[t,k] = y[t,k] / s[]

y""",
        numpy="np_forward(m, e)",
        numba="jitted.forward(m, e)",
        torch="torch_forward(m, e)",
        tolerance=1e-3,
    ),
    Program(
        "hidden Markov model, best path's weights",
        "t=10000 k=64",
        dict(m="signed(k, k)", e="signed(t, k)"),
        et="""LOOP t
    y[t,k] =max e[t,k]
    y[t,k] =max y[t-1,l] + m[l,k] + e[t,k]""",
        numpy="np_viterbi(m, e)",
        numba="jitted.viterbi(m, e)",
        torch="torch_viterbi(m, e)",
        tolerance=1e-3,
    ),
    Program(
        "edit distance",
        "n=4000 m=4000",
        dict(a="below(4, n)", b="below(4, m)"),
        et="""y[i,j] = i + j
LOOP i, j
    y[i,j]    = y[i-1,j-1] + I64(NE(a[i-1], b[j-1]))
    y[i,j] min= y[i-1,j] + 1
    y[i,j] min= y[i,j-1] + 1

y

DIMS(i) = {n} + 1
DIMS(j) = {m} + 1""",
        numpy="np_edits(a, b)",
        numba="jitted.edits(a, b)",
    ),
    Program(
        "all shortest paths",
        "n=256",
        dict(w="positive(n, n)"),
        et="""y[i,j] = w[i,j]
LOOP k
    y[i,j] min= y[i,k] + y[k,j]""",
        numpy="np_paths(w)",
        numba="jitted.paths(w)",
        torch="torch_paths(w)",
    ),
    Program(
        "Sinkhorn, 100 steps",
        "n=1024",
        dict(w="positive(n, n)"),
        et="""v[j] = 1.0
LOOP step
    p[i] = w[i,j] * v[j]
    y[i] = 1 / p[i]
    q[j] = w[i,j] * y[i]
    v[j] = 1 / q[j]

y

DIMS(step) = 100""",
        numpy="np_sinkhorn(w, 100)",
        torch="torch_sinkhorn(w, 100)",
        tolerance=1e-3,
    ),
    Program(
        "power iteration, 100 steps",
        "n=1024",
        dict(w="positive(n, n)"),
        et="""y[i] = 1.0
LOOP step
    z[i]   = w[i,j] * y[j]
    most[] =max z[i]
    y[i]   = z[i] / most[]

y

DIMS(step) = 100""",
        numpy="np_power(w, 100)",
        torch="torch_power(w, 100)",
        tolerance=1e-3,
    ),
    Program(
        "forward substitution",
        "n=1024",
        dict(l="signed(n, n)", d="positive(n)", b="signed(n)"),
        et="""y[i] = 0.0 * b[i]
LOOP i
    s[]  = l[i,j] * y[j]
    y[i] = (b[i] - s[] / 64) / d[i]

y""",
        numpy="np_substitution(l / 64, d, b)",
        numba="jitted.substitution(l / np.float32(64), d, b)",
        scipy="scipy.linalg.solve_triangular(np.tril(l / 64, -1) + np.diag(d), b, lower=True)",
        tolerance=1e-3,
    ),
    Program(
        "LSTM, 200 steps",
        "t=200 b=32 k=128",
        dict(x="signed(t, b, k)", w="signed(4, k, k)", u="signed(4, k, k)"),
        et="""h[b,k] = 0.0 * x[0,b,k]
c[b,k] = 0.0 * x[0,b,k]
in[t,b,g,k] = x[t,b,l] * w[g,l,k] / {k}
LOOP t
    a[b,g,k] = h[b,l] * u[g,l,k] / {k}
    o[b,g,k] = a[b,g,k] + in[t,b,g,k]
    c[b,k]   = SIGMOID(o[b,0,k]) * c[b,k] + SIGMOID(o[b,1,k]) * TANH(o[b,2,k])
    h[b,k]   = SIGMOID(o[b,3,k]) * TANH(c[b,k])
    y[t,b,k] = h[b,k]

y""",
        numpy="np_lstm(x, w / n.k, u / n.k)",
        torch="torch_lstm(x, w / n.k, u / n.k)",
        tolerance=1e-3,
    ),
    Program(
        "game of life, 100 steps",
        "n=512",
        dict(x="below(2, n, n)"),
        et="""y[p,q] = x[p,q]
LOOP step
    s[p,q] = y[p+i-1,q+j-1]
    y[p,q] = I64(OR(EQ(s[p,q], 3), AND(EQ(s[p,q], 4), EQ(y[p,q], 1))))

y

DIMS(i) = 3
DIMS(j) = 3
DIMS(step) = 100""",
        numpy="np_life(x, 100)",
        numba="jitted.life(x, 100)",
        torch="torch_life(x, 100)",
    ),
]
