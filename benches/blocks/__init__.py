"""The race of products on arrays larger than the memory they may use: ijk against Dask."""
