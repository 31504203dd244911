#!/usr/bin/env python3
"""known_loads.py LOAD: one known load on the first board, rest before and behind it, marked as region 'load'.

LOAD: region SECONDS; step; many; square MILLISECONDS (half on, half off, one region); on-off MILLISECONDS (the on-times marked).
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "regions"))
import dvfs_plan_regions as regions
import torch

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


def rest(seconds):
    time.sleep(seconds)


def square(period, seconds, mark):
    began = time.monotonic()
    n = 0
    while n * period < seconds:
        if mark:
            regions.begin("load")
        work(began + (n + 0.5) * period)
        if mark:
            regions.end("load")
        n += 1
        rest(max(0.0, began + n * period - time.monotonic()))


work(time.monotonic() + 0.3)  # libraries and clocks are ready
work(time.monotonic() + 0.1, small)
rest(1.3)
kind, length = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0
if kind == "on-off":
    square(length / 1e3, 6, True)
elif kind == "many":
    for _ in range(20):
        regions.begin("load")
        work(time.monotonic() + 0.3)
        regions.end("load")
        rest(0.15)
else:
    regions.begin("load")
    if kind == "region":
        work(time.monotonic() + length)
    elif kind == "step":
        work(time.monotonic() + 0.75, small)
        work(time.monotonic() + 0.75)
    elif kind == "square":
        square(length / 1e3, 6, False)
    else:
        sys.exit(f"no load '{kind}'")
    regions.end("load")
rest(1.3)
