"""Convolution and pooling. Images are padded beforehand: what runs is the part without bounds."""

from __future__ import annotations

from ..case import Case, Input, letters

IMAGES = "n=8 c=64 f=64 h=56 w=56 r=3 s=3"


def convolution(
    name: str,
    ijk: str,
    image: str,
    filters: str,
    sizes: str,
    options: str,
    operations: str,
    goal: tuple[str, float] | None = None,
) -> Case:
    """A convolution in one call of each peer; `options` are keywords that all of them understand."""
    return Case(
        name=name,
        group="windows",
        ijk=ijk,
        sizes=letters(sizes),
        inputs=[Input(image), Input(filters)],
        operations=operations,
        numpy=f"np_convolution(x, y{options})",
        torch=f"torch_convolution(x, y{options})",
        jax=f"jax_convolution(x, y{options})",
        fixed=frozenset("nrs"),
        goal=goal,
    )


FULL = "2*n*f*c*h*w*r*s"
CASES = [
    convolution(
        "convolution",
        "+(nc[h+r][w+s]*fcrs)~nfhw",
        "n c h+2 w+2",
        "f c r s",
        IMAGES,
        "",
        FULL,
        ("peak", 482),
    ),
    convolution(
        "convolution of 7 × 7 by 2",
        "+(nc[2*h+r][2*w+s]*fcrs)~nfhw",
        "n c 2*h+5 2*w+5",
        "f c r s",
        "n=8 c=3 f=64 h=112 w=112 r=7 s=7",
        ", stride=2",
        FULL,
    ),
    convolution(
        "convolution of 1 × 1",
        "+(nchw*fc)~nfhw",
        "n c h w",
        "f c",
        "n=8 c=256 f=64 h=56 w=56",
        "",
        "2*n*f*c*h*w",
    ),
    convolution(
        "strided convolution",
        "+(nc[2*h+r][2*w+s]*fcrs)~nfhw",
        "n c 2*h+1 2*w+1",
        "f c r s",
        "n=8 c=64 f=128 h=28 w=28 r=3 s=3",
        ", stride=2",
        FULL,
    ),
    convolution(
        "dilated convolution",
        "+(nc[h+2*r][w+2*s]*fcrs)~nfhw",
        "n c h+4 w+4",
        "f c r s",
        IMAGES,
        ", dilation=2",
        FULL,
    ),
    convolution(
        "depthwise convolution",
        "+(nc[h+r][w+s]*crs)~nchw",
        "n c h+2 w+2",
        "c r s",
        "n=8 c=128 h=56 w=56 r=3 s=3",
        "",
        "2*n*c*h*w*r*s",
    ),
    convolution(
        "transposed convolution",
        "+(nchw*cfrs)~nf[2*h+r][2*w+s]",
        "n c h w",
        "c f r s",
        "n=8 c=64 f=32 h=28 w=28 r=3 s=3",
        ", transposed=2",
        FULL,
    ),
    Case(
        name="max pooling",
        group="windows",
        ijk=">nc[2*h+r{2}][2*w+s{2}]~nchw",
        sizes=letters("n=8 c=64 h=56 w=56"),
        inputs=[Input("n c 2*h 2*w")],
        operations="4*n*c*h*w",
        numpy="x.reshape(n.n, n.c, n.h, 2, n.w, 2).max(axis=(3, 5))",
        numpy_into="x.reshape(n.n, n.c, n.h, 2, n.w, 2).max(axis=(3, 5), out=out)",
        torch="F.max_pool2d(x, 2)",
        jax="jax_max_pool(x, 2, 2)",
        fixed=frozenset("n"),
    ),
    Case(
        name="max pooling of 3 × 3 by 2",
        group="windows",
        ijk=">nc[2*h+r{3}][2*w+s{3}]~nchw",
        sizes=letters("n=8 c=64 h=56 w=56"),
        inputs=[Input("n c 2*h+1 2*w+1")],
        operations="9*n*c*h*w",
        numpy="np_max_pool(x, 3, 2)",
        torch="F.max_pool2d(x, 3, 2)",
        jax="jax_max_pool(x, 3, 2)",
        fixed=frozenset("n"),
    ),
    Case(
        name="one-dimensional correlation",
        group="windows",
        ijk="[i+k]*k~ik . +ik~i",
        sizes=letters("i=10000000 k=64"),
        inputs=[Input("i+k-1"), Input("k")],
        operations="2*i*k",
        numpy="np.correlate(x, y, 'valid')",
        torch="F.conv1d(x[None, None], y[None, None])[0, 0]",
        jax="jnp.correlate(x, y, 'valid')",
    ),
]
