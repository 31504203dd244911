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
what they mark counts while any of them is inside.

Marks go to the FIFO whose path DVFS_PLAN_REGIONS holds. Before each mark it is made sure that the descriptor still is
that FIFO: one that was closed, and taken by a file of yours, is not written to. Marks that cannot be written are
counted, and told with the next one or on standard error. Spaces in names become "_".

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
_named = (0, "")  # (PID, "PID/RANK")
_lost = 0
_told = False
_useless = not os.environ.get("DVFS_PLAN_REGIONS")


def _file(fd):
    try:
        info = os.fstat(fd)
    except OSError:
        return None
    return info.st_dev, info.st_ino


_errors = _file(2)


def _tell_lost(why):
    # dvfs-plan finds this line in what the program prints, and does not count the trial. What descriptor 2 is now may be a
    # file of the program's own.
    global _told
    if _told or _errors is None or _file(2) != _errors:
        return
    _told = True
    with contextlib.suppress(OSError):
        os.write(2, f"dvfs-plan: region marks are lost: {why}\n".encode(errors="replace"))


def _process():
    global _named
    pid = os.getpid()
    if _named[0] != pid:
        name = str(pid)
        for variable in ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"):
            rank = os.environ.get(variable, "")
            if rank.isascii() and rank.isdigit():
                name = f"{pid}/{rank[:20]}"
                break
        _named = (pid, name)
    return _named[1]


def _open():
    """The FIFO, opened for reading too: it can then neither end nor send SIGPIPE when nobody listens any more."""
    global _fd, _fifo, _useless, _lost
    path = os.environ.get("DVFS_PLAN_REGIONS", "")
    try:
        fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError as error:
        import errno
        # Too many open files may pass; what is not there stays so.
        _useless = error.errno not in (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
        _lost += not _useless
        _tell_lost(f"cannot open the FIFO {path}: {os.strerror(error.errno)}")
        return -1
    info = os.fstat(fd)
    if not stat.S_ISFIFO(info.st_mode):
        os.close(fd)
        _useless = True
        _tell_lost(f"cannot open the FIFO {path}: it is no FIFO")
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
    if _fd >= 0 and _file(_fd) == _fifo:
        return _fd
    return _open()


def _write(fd, line, may_wait):
    """One line, whole or not at all (pipe(7)). Waits up to a second for room in a full FIFO."""
    until = None
    while True:
        try:
            os.write(fd, line)
            return True
        except BlockingIOError:
            now = time.monotonic()
            until = until or now + 1
            if not may_wait or now >= until:
                return False
            room = select.poll()
            room.register(fd, select.POLLOUT)
            room.poll(100)
        except OSError:
            return False


def _send(fd, text):
    # Once a mark was lost no later one waits until there is room again: nobody may be reading at all.
    global _lost
    if _lost:
        if not _write(fd, f"lost {_lost} {_process()}\n".encode(), False):
            _lost += 1
            return
        _lost = 0
    if _write(fd, text.encode(errors="replace"), True):
        return
    _lost += 1
    _tell_lost("cannot write to the FIFO: nobody reads it")


def _word(text, most=64):
    return "_".join(str(text).split(" "))[:most].replace("\n", "_").replace("\t", "_").replace("\r", "_") or "_"


def begin(name):
    fd = _channel()
    if fd >= 0:
        _send(fd, f"begin {_word(name)} {time.clock_gettime_ns(time.CLOCK_MONOTONIC)} {_process()}\n")


def end(name):
    fd = _channel()
    if fd >= 0:
        _send(fd, f"end {_word(name)} {time.clock_gettime_ns(time.CLOCK_MONOTONIC)} {_process()}\n")


def metric(name, value, unit=""):
    fd = _channel()
    if fd >= 0:
        _send(fd, f"metric {_word(name)} {float(value)!r} {_word(unit or '-', 32)} {_process()} {time.clock_gettime_ns(time.CLOCK_MONOTONIC)}\n")


def wait_for_others():
    """Where several run at once: announces that this one is ready (data loaded, warm), and returns when all are. One call a program."""
    gate, fd = os.environ.get("DVFS_PLAN_GO", ""), _channel()
    if not gate or fd < 0:
        return
    _send(fd, f"ready {_process()}\n")
    with contextlib.suppress(OSError):  # a FIFO: to open it is to wait
        os.close(os.open(gate, os.O_RDONLY | os.O_CLOEXEC))


@contextlib.contextmanager
def region(name):
    pid = os.getpid()
    begin(name)
    try:
        yield
    finally:
        if os.getpid() == pid:  # a child that was forked inside and unwinds did not begin it
            end(name)


def steps(name, iterable):
    """Yields from `iterable`, each turn of the loop marked as a region."""
    pid = os.getpid()
    for item in iterable:
        begin(name)
        try:
            yield item
        finally:  # a loop that breaks off ends its step too
            if os.getpid() == pid:
                end(name)
