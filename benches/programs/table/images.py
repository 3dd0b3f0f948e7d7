"""Images and grids."""

from ..program import Program

EXTENTS = "\n\ny\n\nDIMS(h) = {h}\nDIMS(w) = {w}"
IMAGE = dict(x="positive(h, w)")
BATCH = dict(x="signed(n, c, h, w)")

PROGRAMS = [
    Program(
        "roll",
        "h=2048 w=2048",
        IMAGE,
        et="y[h,w] = x[(h+100)%DIMS(h),(w+100)%DIMS(w)]" + EXTENTS,
        numpy="np.roll(x, (-100, -100), (0, 1))",
        torch="torch.roll(x, (-100, -100), (0, 1))",
        jax="jnp.roll(x, (-100, -100), (0, 1))",
    ),
    Program(
        "periodic Laplace operator",
        "h=2048 w=2048",
        IMAGE,
        et="""y[h,w] = x[(h+1)%DIMS(h),w] + x[(h-1)%DIMS(h),w] + x[h,(w+1)%DIMS(w)] + x[h,(w-1)%DIMS(w)] - 4*x[h,w]""",
        numpy="np_laplace(x)",
        torch="torch_laplace(x)",
        jax="jnp_laplace(x)",
        scipy="ndimage.laplace(x, mode='wrap')",
    ),
    Program(
        "Laplace operator",
        "h=2048 w=2048",
        IMAGE,
        et="""y[h,w] = -4*x[h,w]
y[h,w] += x[h+1,w]
y[h,w] += x[h-1,w]
y[h,w] += x[h,w+1]
y[h,w] += x[h,w-1]""",
        numpy="np_laplace_zero(x)",
        torch="F.conv2d(x[None, None], k, padding=1)[0, 0]",
        scipy="ndimage.laplace(x, mode='constant')",
        before={"torch.k": "torch.tensor([[[[0., 1, 0], [1, -4, 1], [0, 1, 0]]]])"},
        tolerance=1e-3,
    ),
    Program(
        "circular convolution",
        "n=4 c=32 f=32 h=56 w=56 r=3 s=3",
        BATCH | dict(k="signed(f, c, r, s)"),
        et="y[n,f,h,w] = x[n,c,(h+r)%DIMS(h),(w+s)%DIMS(w)] * k[f,c,r,s]" + EXTENTS,
        numpy="np_circular(x, k)",
        torch="F.conv2d(F.pad(x, (0, 2, 0, 2), mode='circular'), k)",
        jax="jax_convolution(jnp.pad(x, ((0, 0), (0, 0), (0, 2), (0, 2)), mode='wrap'), k)",
    ),
    Program(
        "convolution with a bias",
        "n=4 c=32 f=32 h=56 w=56 r=3 s=3",
        BATCH | dict(k="signed(f, c, r, s)", b="signed(f)"),
        et="a[n,f,h,w] = x[n,c,h+r-1,w+s-1] * k[f,c,r,s]\ny[n,f,h,w] = MAX(a[n,f,h,w] + b[f], 0)" + EXTENTS,
        numpy="np_padded(x, k, b)",
        torch="F.relu(F.conv2d(x, k, b, padding=1))",
        jax="jnp_padded(x, k, b)",
    ),
    Program(
        "bilateral filter",
        "h=512 w=512 r=5 s=5",
        dict(x="positive(h+4, w+4)", g="positive(r, s)"),
        et="""c[h,w] = x[h+2,w+2]
k[h,w,r,s] = g[r,s] * EXP(-POW(x[h+r,w+s] - c[h,w], 2) / 0.02)
t[h,w] = k[h,w,r,s]
a[h,w] = k[h,w,r,s] * x[h+r,w+s]
y[h,w] = a[h,w] / t[h,w]

y

DIMS(h) = {h}
DIMS(w) = {w}""",
        numpy="np_bilateral(x, g, n.h, n.w)",
        torch="torch_bilateral(x, g, n.h, n.w)",
        jax="jnp_bilateral(x, g, n.h, n.w)",
    ),
    Program(
        "samples between pixels (grid sample)",
        "c=16 h=256 w=256 i=256 j=256",
        dict(x="signed(c, h, w)", u="inside(h, i, j)", v="inside(w, i, j)"),
        et="""p[i,j] = I64(FLOOR(u[i,j]))
q[i,j] = I64(FLOOR(v[i,j]))
a[i,j] = u[i,j] - FLOOR(u[i,j])
b[i,j] = v[i,j] - FLOOR(v[i,j])
y[c,i,j] = (1-a[i,j])*(1-b[i,j])*x[c,p[i,j],q[i,j]] + (1-a[i,j])*b[i,j]*x[c,p[i,j],q[i,j]+1] + a[i,j]*(1-b[i,j])*x[c,p[i,j]+1,q[i,j]] + a[i,j]*b[i,j]*x[c,p[i,j]+1,q[i,j]+1]""",
        numpy="np_sample(x, u, v)",
        torch="torch_sample(x, u, v)",
        jax="jnp_sample(x, u, v)",
        tolerance=1e-3,
    ),
    Program(
        "maximum pooling",
        "n=8 c=64 h=56 w=56",
        dict(x="signed(n, c, 2*h, 2*w)"),
        et="y[n,c,h,w] =max x[n,c,2*h+r,2*w+s]" + EXTENTS + "\nDIMS(r) = 2\nDIMS(s) = 2",
        numpy="x.reshape(n.n, n.c, n.h, 2, n.w, 2).max((3, 5))",
        torch="F.max_pool2d(x, 2)",
        jax="jax_max_pool(x, 2, 2)",
    ),
    Program(
        "average pooling",
        "n=8 c=64 h=56 w=56",
        dict(x="signed(n, c, 2*h, 2*w)"),
        et="y[n,c,h,w] = x[n,c,2*h+r,2*w+s] / 4" + EXTENTS + "\nDIMS(r) = 2\nDIMS(s) = 2",
        numpy="x.reshape(n.n, n.c, n.h, 2, n.w, 2).mean((3, 5))",
        torch="F.avg_pool2d(x, 2)",
        jax="x.reshape(n.n, n.c, n.h, 2, n.w, 2).mean((3, 5))",
    ),
    Program(
        "global average pooling",
        "n=32 c=256 h=14 w=14",
        BATCH,
        et="y[n,c] = x[n,c,h,w] / (DIMS(h) * DIMS(w))",
        numpy="x.mean((2, 3))",
        torch="x.mean((2, 3))",
        jax="x.mean((2, 3))",
        tolerance=1e-3,
    ),
    Program(
        "slopes (Sobel)",
        "h=1024 w=1024",
        IMAGE,
        et="""a[h,w] = x[h-1,w-1] + 2*x[h-1,w] + x[h-1,w+1] - x[h+1,w-1] - 2*x[h+1,w] - x[h+1,w+1]
b[h,w] = x[h-1,w-1] + 2*x[h,w-1] + x[h+1,w-1] - x[h-1,w+1] - 2*x[h,w+1] - x[h+1,w+1]
y[h,w] = SQRT(a[h,w]*a[h,w] + b[h,w]*b[h,w])""" + EXTENTS,
        numpy="np.pad(np_sobel(x), 1)",
        torch="F.pad(torch_sobel(x), (1, 1, 1, 1))",
        jax="jnp.pad(jnp_sobel(x), 1)",
    ),
    Program(
        "box blur",
        "h=1024 w=1024 r=5 s=5",
        dict(x="positive(h+4, w+4)"),
        et="y[h,w] = x[h+r,w+s] / 25" + EXTENTS + "\nDIMS(r) = 5\nDIMS(s) = 5",
        numpy="windows(x[None, None], 5, 5)[0, 0].mean((2, 3))",
        torch="F.avg_pool2d(x[None, None], 5, 1)[0, 0]",
        scipy="ndimage.uniform_filter(x, 5)[2:-2, 2:-2]",
        jax="jnp_box(x)",
    ),
    Program(
        "box blur with repeated edges",
        "h=1024 w=1024",
        IMAGE,
        et="y[h,w] = x[MIN(MAX(h+r-1, 0), DIMS(h)-1),MIN(MAX(w+s-1, 0), DIMS(w)-1)] / 9"
        + EXTENTS
        + "\nDIMS(r) = 3\nDIMS(s) = 3",
        numpy="windows(np.pad(x, 1, mode='edge')[None, None], 3, 3)[0, 0].mean((2, 3))",
        torch="F.avg_pool2d(F.pad(x[None, None], (1, 1, 1, 1), mode='replicate'), 3, 1)[0, 0]",
        scipy="ndimage.uniform_filter(x, 3, mode='nearest')",
    ),
    Program(
        "convolution with reflected edges",
        "n=4 c=32 f=32 h=56 w=56 r=3 s=3",
        BATCH | dict(k="signed(f, c, r, s)"),
        et="y[n,f,h,w] = x[n,c,DIMS(h)-1-ABS(DIMS(h)-1-ABS(h+r-1)),DIMS(w)-1-ABS(DIMS(w)-1-ABS(w+s-1))] * k[f,c,r,s]"
        + EXTENTS,
        numpy="np.einsum('nchwrs,fcrs->nfhw', windows(np.pad(x, [(0, 0)] * 2 + [(1, 1)] * 2, 'reflect'), 3, 3), k)",
        torch="F.conv2d(F.pad(x, (1, 1, 1, 1), mode='reflect'), k)",
    ),
    Program(
        "Gaussian blur along both axes",
        "h=1024 w=1024 r=7",
        dict(x="positive(h+6, w+6)", g="positive(r)"),
        et="""a[u,w] = x[u,w+r] * g[r]
y[h,w] = a[h+r,w] * g[r]

y

DIMS(u) = {h} + 6
DIMS(h) = {h}
DIMS(w) = {w}""",
        numpy="np_separable(x, g)",
        torch="F.conv2d(F.conv2d(x[None, None], g[None, None, None]), g[None, None, :, None])[0, 0]",
        scipy="ndimage.correlate1d(ndimage.correlate1d(x, g, 1), g, 0)[3:-3, 3:-3]",
    ),
    Program(
        "erosion",
        "h=1024 w=1024",
        dict(x="positive(h+2, w+2)"),
        et="y[h,w] =min x[h+r,w+s]" + EXTENTS + "\nDIMS(r) = 3\nDIMS(s) = 3",
        numpy="windows(x[None, None], 3, 3)[0, 0].min((2, 3))",
        torch="-F.max_pool2d(-x[None, None], 3, 1)[0, 0]",
        scipy="ndimage.minimum_filter(x, 3)[1:-1, 1:-1]",
    ),
    Program(
        "game of life",
        "h=1024 w=1024",
        dict(x="whole(2, h, w)"),
        et="""n[h,w] = MOD(x[(h+r-1)%DIMS(h),(w+s-1)%DIMS(w)], 2)
y[h,w] = I64(EQ(n[h,w], 3))

y

DIMS(r) = 3
DIMS(s) = 3
DIMS(h) = {h}
DIMS(w) = {w}""",
        numpy="np_neighbours(x)",
        torch="torch_neighbours(x)",
        jax="jnp_neighbours(x)",
    ),
    Program(
        "grey of colours",
        "h=1024 w=1024 c=3",
        dict(x="positive(h, w, c)", k="positive(c)"),
        et="y[h,w] = x[h,w,c] * k[c]",
        numpy="x @ k",
        torch="x @ k",
        jax="x @ k",
    ),
    Program(
        "colours mixed by a matrix",
        "h=1024 w=1024 c=3 d=3",
        dict(x="positive(h, w, c)", k="positive(c, d)"),
        i="hwc*cd~hwcd . hwcd/2~hwcd . +hwcd~hwd",
        numpy="x @ k / 2",
        torch="x @ k / 2",
        jax="x @ k / 2",
    ),
    Program(
        "gamma and contrast",
        "h=1024 w=1024 c=3",
        dict(x="positive(h, w, c)"),
        et="y[h,w,c] = 1.2 * (POW(x[h,w,c], 1/2.2) - 0.5) + 0.5",
        numpy="1.2 * (x ** (1 / 2.2) - 0.5) + 0.5",
        torch="1.2 * (x ** (1 / 2.2) - 0.5) + 0.5",
        jax="1.2 * (x ** (1 / 2.2) - 0.5) + 0.5",
    ),
    Program(
        "colours normalised, channels first",
        "n=8 h=224 w=224 c=3",
        dict(x="positive(n, h, w, c)", m="positive(c)", s="positive(c)"),
        et="y[n,c,h,w] = (x[n,h,w,c] - m[c]) / s[c]",
        numpy="np.ascontiguousarray(((x - m) / s).transpose(0, 3, 1, 2))",
        torch="((x - m) / s).permute(0, 3, 1, 2).contiguous()",
        jax="((x - m) / s).transpose(0, 3, 1, 2)",
    ),
    Program(
        "bytes normalised",
        "h=2048 w=2048 c=3",
        dict(x="bytes(h, w, c)", m="positive(c)", s="positive(c)"),
        et="y[h,w,c] = (F32(x[h,w,c]) / 255 - m[c]) / s[c]",
        numpy="(x.astype(np.float32) / 255 - m) / s",
        torch="(x.float() / 255 - m) / s",
        jax="(x.astype(jnp.float32) / 255 - m) / s",
    ),
    Program(
        "bytes normalised, channels first",
        "n=8 h=224 w=224 c=3",
        dict(x="bytes(n, h, w, c)", m="positive(c)", s="positive(c)"),
        et="y[n,c,h,w] = (F32(x[n,h,w,c]) / 255 - m[c]) / s[c]",
        numpy="np.ascontiguousarray(((x.astype(np.float32) / 255 - m) / s).transpose(0, 3, 1, 2))",
        torch="((x.float() / 255 - m) / s).permute(0, 3, 1, 2).contiguous()",
        jax="((x.astype(jnp.float32) / 255 - m) / s).transpose(0, 3, 1, 2)",
    ),
    Program(
        "channels scaled",
        "h=2048 w=2048 c=3",
        dict(x="signed(h, w, c)", k="positive(c)"),
        et="y[h,w,c] = x[h,w,c] * k[c]",
        numpy="x * k",
        torch="x * k",
        jax="x * k",
    ),
    Program(
        "upsampling by 2",
        "n=4 c=32 h=112 w=112",
        dict(x="signed(n, c, h//2, w//2)"),
        et="y[n,c,h,w] = x[n,c,h//2,w//2]\n\ny\n\nDIMS(h) = {h}\nDIMS(w) = {w}",
        numpy="x.repeat(2, 2).repeat(2, 3)",
        torch="F.interpolate(x, scale_factor=2)",
        jax="x.repeat(2, 2).repeat(2, 3)",
    ),
    Program(
        "image turned and mirrored",
        "h=2048 w=2048",
        IMAGE,
        et="y[w,h] = x[DIMS(h)-1-h,w]" + EXTENTS,
        numpy="np.ascontiguousarray(x[::-1].T)",
        torch="torch.flip(x, (0,)).T.contiguous()",
        jax="x[::-1].T",
    ),
    Program(
        "windows unfolded (im2col)",
        "n=4 c=16 h=56 w=56 r=3 s=3",
        dict(x="signed(n, c, h+2, w+2)"),
        et="y[n,c,r,s,h,w] = x[n,c,h+r,w+s]" + EXTENTS + "\nDIMS(r) = {r}\nDIMS(s) = {s}",
        numpy="np.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3)).transpose(0, 1, 4, 5, 2, 3).copy()",
        torch="F.unfold(x, 3).reshape(n.n, n.c, 3, 3, n.h, n.w)",
    ),
    Program(
        "pixel shuffle",
        "n=8 c=16 h=64 w=64 r=2 s=2",
        dict(x="signed(n, c*4, h, w)"),
        et="y[n,c,h,r,w,s] = x[n,4*c+2*r+s,h,w]\n\ny\n\nDIMS(c) = {c}\nDIMS(r) = {r}\nDIMS(s) = {s}",
        numpy="x.reshape(n.n, n.c, 2, 2, n.h, n.w).transpose(0, 1, 4, 2, 5, 3).copy()",
        torch="x.reshape(n.n, n.c, 2, 2, n.h, n.w).permute(0, 1, 4, 2, 5, 3).contiguous()",
        jax="x.reshape(n.n, n.c, 2, 2, n.h, n.w).transpose(0, 1, 4, 2, 5, 3)",
        fixed=frozenset("crs"),
    ),
]
