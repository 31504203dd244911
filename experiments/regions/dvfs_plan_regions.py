"""Marks the parts of a program that count, for dvfs-plan. One file; copy it beside your program.

    from dvfs_plan_regions import region, steps, metric

    with region("train"):
        for batch in steps("step", loader):   # marks each iteration
            ...
    metric("samples", 64000)
    metric("accuracy", 0.761)

Without DVFS_PLAN_REGION_FD in the environment every call does nothing. Times are CLOCK_MONOTONIC nanoseconds, taken
here. Names: one word, at most 64 characters. It may be used under the terms of the MIT licence, or as public domain.
"""
import contextlib
import os
import time

_fd = int(os.environ.get("DVFS_PLAN_REGION_FD") or -1)


def _write(text):
    if _fd >= 0:
        with contextlib.suppress(OSError):  # nobody listens any more
            os.write(_fd, text.encode())


def begin(name):
    if _fd >= 0:
        _write(f"begin {name} {time.clock_gettime_ns(time.CLOCK_MONOTONIC)}\n")


def end(name):
    if _fd >= 0:
        _write(f"end {name} {time.clock_gettime_ns(time.CLOCK_MONOTONIC)}\n")


def metric(name, value, unit=""):
    _write(f"metric {name} {float(value)!r} {unit}\n")


@contextlib.contextmanager
def region(name):
    begin(name)
    try:
        yield
    finally:
        end(name)


def steps(name, iterable):
    """Yields from `iterable`, each turn of the loop marked as a region."""
    for item in iterable:
        begin(name)
        try:
            yield item
        finally:  # a loop that breaks off ends its step too
            end(name)
