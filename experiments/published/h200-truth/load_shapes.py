"""The shapes of the known loads, whatever computes: rest, regions, a step, square waves; marked as region 'load'."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "regions"))
import dvfs_plan_regions as regions


def square(period, seconds, mark, work):
    began = time.monotonic()
    n = 0
    while n * period < seconds:
        if mark:
            regions.begin("load")
        work(began + (n + 0.5) * period)
        if mark:
            regions.end("load")
        n += 1
        time.sleep(max(0.0, began + n * period - time.monotonic()))


def play(kind, length, work, half):
    """`work(until)` computes until then (CLOCK_MONOTONIC, s), `half` likewise at about half the power. 1.3 s of rest lie on
    both sides, so that an independent reader sees it."""
    time.sleep(1.3)
    if kind == "on-off":
        square(length / 1e3, 6, True, work)
    elif kind == "many":
        for _ in range(20):
            regions.begin("load")
            work(time.monotonic() + 0.3)
            regions.end("load")
            time.sleep(0.15)
    else:
        regions.begin("load")
        if kind == "region":
            work(time.monotonic() + length)
        elif kind == "step":
            half(time.monotonic() + 0.75)
            work(time.monotonic() + 0.75)
        elif kind == "square":
            square(length / 1e3, 6, False, work)
        else:
            sys.exit(f"no load '{kind}'")
        regions.end("load")
    time.sleep(1.3)
