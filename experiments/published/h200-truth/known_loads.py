#!/usr/bin/env python3
"""known_loads.py LOAD: one known load on the first board, rest before and behind it, marked as region 'load'.

LOAD: region SECONDS; step; many; square MILLISECONDS (half on, half off, one region); on-off MILLISECONDS (the on-times marked).
"""
import sys
import time

import torch

from load_shapes import play

size = 8192
a = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
b = torch.randn(size, size, device="cuda", dtype=torch.bfloat16)
small = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)


def work(until, matrix=None):
    """Products until then; the device's queue is kept short, so that the end is the end."""
    x, y = (a, b) if matrix is None else (matrix, matrix)
    while time.monotonic() < until:
        for _ in range(1 if matrix is None else 20):
            torch.matmul(x, y)
        torch.cuda.synchronize()


work(time.monotonic() + 0.3)  # libraries and clocks are ready
work(time.monotonic() + 0.1, small)
play(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0, work, lambda until: work(until, small))
