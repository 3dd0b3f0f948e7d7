#!/usr/bin/env python3
"""ijk against NumPy, PyTorch and JAX, side by side: `python benches/peers.py --help`."""

from peers.command import main

if __name__ == "__main__":
    main()
