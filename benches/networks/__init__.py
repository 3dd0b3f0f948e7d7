"""Tensor networks of the kinds that einsum is used for, and a comparison of orders of contraction."""
