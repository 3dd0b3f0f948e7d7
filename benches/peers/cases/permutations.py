"""Arrays with their axes in another order: pixels, channels, and many short axes."""

from __future__ import annotations

from ..case import Case, Input, letters


def permutation(name: str, to: str, sizes: str) -> Case:
    """Axes in another order; their order where they are read is that of the sizes."""
    extents = letters(sizes)
    axes = "".join(extents)
    order = ", ".join(str(axes.index(letter)) for letter in to)
    return Case(
        name,
        "permutations",
        f"{axes}~{to}",
        extents,
        [Input(" ".join(axes))],
        "*".join(axes),
        numpy=f"np.ascontiguousarray(x.transpose({order}))",
        numpy_into=f"np.copyto(out, x.transpose({order}))",
        torch=f"x.permute({order}).contiguous()",
        torch_into=f"out.copy_(x.permute({order}))",
        jax=f"jnp.transpose(x, ({order}))",
        least=0,
    )


SHORT = "a=2 b=3 c=2 d=3 e=4 f=2 g=2 h=2 i=2 j=2 k=3 l=4 m=2 n=3 o=2 p=4 q=2"

CASES = [
    permutation("transpose 4096²", "ji", "i=4096 j=4096"),
    permutation("channels first", "chw", "h=2048 w=2048 c=3"),
    permutation("channels last", "hwc", "c=3 h=2048 w=2048"),
    permutation("pixel shuffle", "bchpwq", "b=8 c=64 p=2 q=2 h=56 w=56"),
    permutation("patches of 2", "bhwpqc", "b=8 h=112 p=2 w=112 q=2 c=16"),
    permutation("17 short axes reversed", "qponmlkjihgfedcba", SHORT),
    permutation("17 short axes shuffled", "bdfhjlnpacegikmoq", SHORT),
]
