"""Marks the parts of a program that count, for dvfs-plan. One file; copy it beside your program.

    from dvfs_plan_regions import region, steps, metric

    with region("train"):
        for batch in steps("step", loader):   # marks each iteration
            ...
    metric("samples", 64000)
    metric("accuracy", 0.761)

Without DVFS_PLAN_REGIONS in the environment every call does nothing. Times are CLOCK_MONOTONIC nanoseconds, taken
here. Names: one word, at most 64 characters. Each mark says which process made it, and which rank where RANK (torchrun),
OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK or SLURM_PROCID tell: processes that mark the same name are kept apart, and
what they mark counts from the first begin to the last end.

Marks go to the FIFO whose path DVFS_PLAN_REGIONS holds. Before each mark it is made sure that the descriptor still is
that FIFO: one that was closed, and taken by a file of yours, is not written to. Marks that cannot be written are
counted, and told with the next one or on standard error.

It may be used under the terms of the MIT licence, or as public domain.
"""
import contextlib
import fcntl
import os
import select
import stat
import sys
import time

_fd = -1
_fifo = None      # (device, inode)
_pid = 0
_process = ""
_lost = 0
_useless = not os.environ.get("DVFS_PLAN_REGIONS")


def _tell_lost(why):
    # dvfs-plan finds this line in what the program prints, and does not count the trial.
    with contextlib.suppress(Exception):
        print(f"dvfs-plan: region marks are lost: {why}", file=sys.stderr, flush=True)


def _name_process():
    global _pid, _process
    _pid = os.getpid()
    _process = str(_pid)
    for name in ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"):
        rank = os.environ.get(name, "")
        if rank.isdigit():
            _process = f"{_pid}/{int(rank)}"
            return


def _open():
    """The FIFO, opened for reading too: it can then neither end nor send SIGPIPE when nobody listens any more."""
    global _fd, _fifo, _useless
    path = os.environ.get("DVFS_PLAN_REGIONS", "")
    try:
        fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        info = os.fstat(fd)
        if not stat.S_ISFIFO(info.st_mode):
            os.close(fd)
            raise OSError(f"{path} is not a FIFO")
    except OSError as error:
        _useless = True
        _tell_lost(f"cannot open the FIFO {path}: {error}")
        return -1
    with contextlib.suppress(OSError):  # out of the way of programs that expect low numbers
        higher = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100)
        os.close(fd)
        fd = higher
    _fd, _fifo = fd, (info.st_dev, info.st_ino)
    return fd


def _channel():
    """A descriptor that is the FIFO at this moment, or -1."""
    if _useless:
        return -1
    if _pid != os.getpid():
        _name_process()
    if _fd >= 0:
        with contextlib.suppress(OSError):
            info = os.fstat(_fd)
            if (info.st_dev, info.st_ino) == _fifo:
                return _fd
    return _open()


def _write(fd, line):
    """One line, whole or not at all (pipe(7)); False if the FIFO stays full for a second."""
    for _ in range(10):
        try:
            os.write(fd, line)
            return True
        except BlockingIOError:
            select.select([], [fd], [], 0.1)
        except OSError:
            return False
    return False


def _send(fd, text):
    global _lost
    if _lost and _write(fd, f"lost {_lost} {_process}\n".encode()):
        _lost = 0
    if _write(fd, text.encode()):
        return
    _lost += 1
    if _lost == 1:
        _tell_lost("cannot write to the FIFO")


def begin(name):
    fd = _channel()
    if fd >= 0:
        _send(fd, f"begin {name} {time.clock_gettime_ns(time.CLOCK_MONOTONIC)} {_process}\n")


def end(name):
    fd = _channel()
    if fd >= 0:
        _send(fd, f"end {name} {time.clock_gettime_ns(time.CLOCK_MONOTONIC)} {_process}\n")


def metric(name, value, unit=""):
    fd = _channel()
    if fd >= 0:
        _send(fd, f"metric {name} {float(value)!r} {unit or '-'} {_process}\n")


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
