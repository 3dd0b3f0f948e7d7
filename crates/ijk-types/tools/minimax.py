"""Polynomials of `src/math/tables.rs`: prints the file. Needs mpmath.

Each is a minimax fit (Remez exchange) of a function on an interval under a weight, with the
coefficients then rounded; on intervals from 0 one by one from the lowest, the others fitted anew
after each rounding.
Run: python3 minimax.py > ../src/math/tables.rs && cargo fmt -p ijk-types
"""

import struct
import sys
from mpmath import mp, mpf, matrix, lu_solve, log, exp, sin, cos, atan, erf, erfc, sinh, sqrt, pi, tan, e

mp.dps = 60


def chebyshev(a, b, n):
    return [(a + b) / 2 + (b - a) / 2 * cos(pi * (n - 1 - k) / (n - 1)) for k in range(n)]


def solve(f, w, powers, xs):
    """Coefficients and levelled error on the reference points xs."""
    n = len(xs)
    m, r = matrix(n, n), matrix(n, 1)
    for i, x in enumerate(xs):
        for j, p in enumerate(powers):
            m[i, j] = x**p * w(x)
        m[i, n - 1] = (-1) ** i
        r[i] = f(x) * w(x)
    s = lu_solve(m, r)
    return [s[i] for i in range(n - 1)]


def remez(f, w, powers, a, b):
    if not powers:
        return []
    a, b = mpf(a), mpf(b)
    xs = chebyshev(a, b, len(powers) + 1)
    grid = chebyshev(a, b, 24 * len(powers) + 60)
    fs = [(x, f(x), w(x)) for x in grid]
    for _ in range(5):
        c = solve(f, w, powers, xs)
        err = [(sum(k * x**p for k, p in zip(c, powers)) - y) * u for x, y, u in fs]
        xs = extrema(grid, err, len(powers) + 1) or xs
    return c


def extrema(grid, err, n):
    """The greatest error of each run of one sign; the n neighbouring runs with the greatest."""
    runs = []
    for x, y in zip(grid, err):
        if runs and (y > 0) == (runs[-1][1] > 0):
            if abs(y) > abs(runs[-1][1]):
                runs[-1] = (x, y)
        else:
            runs.append((x, y))
    while len(runs) > n:
        runs.pop(0 if abs(runs[0][1]) < abs(runs[-1][1]) else -1)
    return [x for x, _ in runs] if len(runs) == n else None


def rounded(x, bits):
    if bits == 53:
        return mpf(float(x))
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def fit(f, w, n, a, b, bits):
    """n coefficients of ascending powers from 0, rounded, and the weighted error: the better of
    rounding all at once and one by one."""
    a, b = mpf(a) or mpf(b) / 1000, mpf(b)
    grid = chebyshev(a, b, 500)
    ws = [(x, f(x), w(x)) for x in grid]
    best = None
    for fixed in range(n if a > 0 else 1):
        done = []
        for k in range(fixed):
            def rest(x):
                return (f(x) - sum(c * x**p for p, c in enumerate(done))) / x**k
            c = remez(rest, lambda x: w(x) * x**k, list(range(n - k)), a, b)
            done.append(rounded(c[0], bits))
        k = fixed
        def rest(x):
            return (f(x) - sum(c * x**p for p, c in enumerate(done))) / x**k
        c = remez(rest, lambda x: w(x) * x**k, list(range(n - k)), a, b)
        cs = done + [rounded(x, bits) for x in c]
        err = max(abs((sum(c * x**p for p, c in enumerate(cs)) - y) * u) for x, y, u in ws)
        if best is None or err < best[1]:
            best = cs, err
        if fixed >= 3:
            break
    return best


def literal(x, bits):
    x = float(x)
    return repr(x) if bits == 53 else repr(x)


def near(x):
    """Away from a removable singularity at 0."""
    return x if abs(x) > mpf(10) ** -20 else mpf(10) ** -20


LN2_2 = log(mpf(2)) / 2 * mpf("1.0001")
S2 = ((sqrt(mpf(2)) - 1) / (sqrt(mpf(2)) + 1)) ** 2
Q4 = (pi / 4 * mpf("1.0001")) ** 2
K = mpf(4)


def scaled_tail(u):
    y = K * (1 + u) / (1 - u)
    return (1 + y) * exp(y * y / 2) * erfc(y / sqrt(mpf(2))) - 1


def scaled(y):
    return (y - K) / (y + K)


def in_square(f):
    return lambda z: f(sqrt(near(z)))


# name, what it is, function, weight (the absolute error it matters by), coefficients for f32, f64, interval
TABLES = [
    ("EXPM1", "(exp(r) - 1 - r) / r²", lambda r: (exp(near(r)) - 1 - near(r)) / near(r) ** 2,
     lambda r: r * r, 5, 11, -LN2_2, LN2_2),
    ("LN", "(ln((1 + s) / (1 - s)) / s - 2) / s², in s²",
     in_square(lambda s: (log((1 + s) / (1 - s)) / s - 2) / s**2), lambda z: z, 4, 7, 0, S2),
    ("LN_1P", "(ln(1 + f) - f + f²/2) / f³", lambda f: (log(1 + near(f)) - near(f) + near(f) ** 2 / 2) / near(f) ** 3,
     lambda f: f * f, 8, 0, sqrt(mpf("0.5")) - 1, sqrt(mpf(2)) - 1),
    ("LN_TAIL", "(ln((1 + s) / (1 - s)) / s - 2 - 2s²/3) / s⁴, in s²",
     in_square(lambda s: (log((1 + s) / (1 - s)) / s - 2 - 2 * s * s / 3) / s**4),
     lambda z: z * z, 0, 8, 0, S2),
    ("SIN", "(sin(r) / r - 1) / r², in r²", in_square(lambda r: (sin(r) / r - 1) / r**2),
     lambda z: z, 3, 6, 0, Q4),
    ("COS", "(cos(r) - 1 + r²/2) / r⁴, in r²", in_square(lambda r: (cos(r) - 1 + r * r / 2) / r**4),
     lambda z: z * z, 3, 6, 0, Q4),
    ("SINH", "(sinh(x) / x - 1) / x², in x²", in_square(lambda x: (sinh(x) / x - 1) / x**2),
     lambda z: z, 4, 8, 0, 1),
    ("ERF", "erf(x) / x - 1, in x²", in_square(lambda x: erf(x) / x - 1),
     lambda z: 1, 7, 13, 0, 1),
    ("TAIL", "(1 + t) exp(t²/2) 2 Φ(-t) - 1, in (t - 4) / (t + 4)", scaled_tail,
     lambda u: 1, 12, 24, -1, lambda bits: scaled(39.5 if bits == 53 else 15)),
    ("NORMAL", "(Φ(x) - ½) / x, in x²", in_square(lambda x: erf(x / sqrt(mpf(2))) / (2 * x)),
     lambda z: 1, 5, 9, 0, mpf("0.4225")),
    ("ATAN", "(atan(t) / t - 1) / t², in t²", in_square(lambda t: (atan(t) / t - 1) / t**2),
     lambda z: z, 9, 21, 0, 1),
]


def constants(bits):
    def parts(x, n):
        out = []
        for _ in range(n):
            out.append(rounded(x, bits))
            x -= out[-1]
        return out
    return parts


def main():
    print("//! Constants and polynomials, lowest coefficient first. Made by `tools/minimax.py`.\n")
    print("#![allow(clippy::excessive_precision, clippy::approx_constant)]")
    for bits, module, t in [(24, "single", "f32"), (53, "double", "f64")]:
        print(f"\npub mod {module} {{")
        parts = constants(bits)
        for name, x, n in [("LN_2", log(mpf(2)), 2), ("HALF_PI", pi / 2, 3), ("PI", pi, 2)] + [("TWO_THIRDS", mpf(2) / 3, 2)] * (bits == 53):
            values = ", ".join(literal(p, bits) for p in parts(x, n))
            print(f"    /// Sums to {name.lower().replace('_', ' ')}.")
            print(f"    pub const {name}: [{t}; {n}] = [{values}];")
        for name, what, f, w, n32, n64, a, b in TABLES:
            n = n32 if bits == 24 else n64
            if n == 0:
                continue
            b = b(bits) if callable(b) else b
            cs, err = fit(f, w, n, a, b, bits)
            sys.stderr.write(f"{module} {name} {n}: 2^{float(log(err) / log(2)):.1f}\n")
            print(f"    /// `{what}`; error 2^{float(log(err) / log(2)):.1f}.")
            print(f"    pub const {name}: [{t}; {n}] = [")
            for c in cs:
                print(f"        {literal(c, bits)},")
            print("    ];")
        print("}")


main()
