"""Boots the virtual machine with our programs in it; shared by the tests of this folder."""
import contextlib
import functools
import json
import os
import pathlib
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("DVFS_PLAN_BIN", ROOT / "build/dev/bin"))
LONG = bool(os.environ.get("DVFS_PLAN_LONG"))
# What a sweep of the processors' clocks must leave as it was: a command of the guest.
STATE_OF_CLOCKS = "cat /sys/devices/system/cpu/cpufreq/policy*/scaling_governor /sys/devices/system/cpu/cpufreq/policy*/scaling_m??_freq"
PROGRAMS = {
    "bin/dvfs-plan": BIN / "dvfs-plan",
    "bin/dvfs-guardian": BIN / "dvfs-guardian",
    "bin/dvfs-mixed": BIN / "testbed-mixed",
    "bin/testbedctl": BIN / "testbed-testbedctl",
}
# DVFS_PLAN_AS=member: every dvfs-plan of a job runs as an ordinary user in the group dvfs-plan, who asks the machine's guardian.
AS_MEMBER = os.environ.get("DVFS_PLAN_AS") == "member"
MEMBER = r"""
echo 'member:x:1009:1009::/data:/bin/sh' >>/etc/passwd
echo 'dvfs-plan:x:900:member
member:x:1009:' >>/etc/group
chmod 755 / /etc; chmod 644 /etc/passwd /etc/group; chmod 777 /data; chmod 1777 /tmp
chmod u+s /bin/testbedctl  # faults that a workload calls for
mkdir -p /run
while :; do dvfs-guardian --listen /run/dvfs-plan/guardian.sock; sleep 0.1; done &
until [ -S /run/dvfs-plan/guardian.sock ]; do sleep 0.02; done
"""


class Testbed:
    """A machine with a disk of its own, which survives switching it off."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dvfs-system.", dir="/var/tmp"))
        self.disk = self.folder / "disk.img"
        self.more = {}  # of boot's environment: TESTBED_BMC, TESTBED_IDLE

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, job, files=None):
        """Starts it with `job`, a shell script run as root in /data; returns the process. `files`: their texts, or where they are, by their names in the guest."""
        script = self.folder / "job"
        script.write_text("#!/bin/sh\ncd /data\n" + (MEMBER if AS_MEMBER else "") + job)
        script.chmod(0o755)
        items = [f"{name}={path}" for name, path in PROGRAMS.items()]
        files = dict(files or {})
        if AS_MEMBER:
            items[0] = f"lib/dvfs-plan={BIN / 'dvfs-plan'}"
            items.append(f"lib/dvfs-guardian={BIN / 'dvfs-guardian'}")  # of users who may not ask the machine's
            files["bin/dvfs-plan"] = '#!/bin/sh\n[ $(id -u) = 0 ] || exec /lib/dvfs-plan "$@"\nexec testbedctl as 1009 900 /lib/dvfs-plan "$@"\n'
        for name, text in files.items():
            if isinstance(text, pathlib.Path):
                items.append(f"{name}={text}")
                continue
            path = self.folder / name.replace("/", "_")
            path.write_text(text)
            path.chmod(0o755)
            items.append(f"{name}={path}")
        environment = dict(os.environ, TESTBED_DISK=str(self.disk), TESTBED_PID=str(self.folder / "pid"), **self.more)
        (self.folder / "pid").unlink(missing_ok=True)
        return subprocess.Popen([ROOT / "tests/testbed/boot", script, *items], env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")

    def run(self, job, files=None, timeout=600):
        """Runs `job` to its end; returns (exit code, console)."""
        process = self.start(job, files)
        try:
            console, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.switch_off()
            console, _ = process.communicate()
            # How far it came, by what it wrote.
            files = subprocess.run(["/sbin/debugfs", "-R", "ls -l /", self.disk], capture_output=True, text=True).stdout
            raise AssertionError(f"the guest did not end within {timeout} s:\n{console}\non its disk:\n{files}")
        return process.returncode, console

    def switch_off(self):
        """A power cut: QEMU is ended at once."""
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            os.kill(int((self.folder / "pid").read_text()), signal.SIGKILL)

    def fetch(self):
        """Copies the files of the guest's disk here and returns their folder."""
        out = self.folder / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        subprocess.run([ROOT / "tests/testbed/fetch", self.disk, out], check=True)
        return out


def recomputed(result):
    """Keys of trials whose energy comes out otherwise when it is judged again from the readings in the file."""
    out = subprocess.run([BIN / "dvfs-plan", "report", result, "--recompute", "--json"], capture_output=True, text=True, check=True).stdout
    judged = json.loads(out)
    return [t["key"] for t in judged["trials"] if not t["same"]] + judged["without_readings"], len(judged["trials"])


def rows(database, sql, *parameters):
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(sql, parameters)]


def sql(database, text):
    """By the program itself, which knows readings too."""
    said = subprocess.run([BIN / "dvfs-plan", "sql", database, text, "--json"], capture_output=True, text=True, check=True)
    return json.loads(said.stdout)


def integrity(database):
    return rows(database, "PRAGMA integrity_check")[0]["integrity_check"]


class TestbedCase(unittest.TestCase):
    def setUp(self):
        self.testbed = Testbed()
        self.addCleanup(self.testbed.close)


def made_up_times(folder):
    """For works whose time decides: `takes.py SECONDS` in `folder` takes just that (tests/system/takes.py)."""
    shutil.copy(ROOT / "tests/system/takes.py", folder)
    shutil.copy(ROOT / "experiments/regions/dvfs_plan_regions.py", folder)


class Held:
    """How long this process was held up at most, by a thread that sleeps 10 ms each time: what takes a virtual machine its processors, or a disk
    that stalls, is in no account of /proc/stat."""

    def __enter__(self):
        self.most, self.over = 0.0, threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()
        return self

    def watch(self):
        while not self.over.is_set():
            began = time.monotonic()
            time.sleep(0.01)
            self.most = max(self.most, time.monotonic() - began - 0.01)

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def on_a_busy_host(test):
    """For what compares times or joules that were really measured with arithmetic: where it fails while other processes take processors away, or while
    this one was held up, it is run again, twice at most, and says so (the last lines of ./dev test count these). On a host that has nothing else to do the
    first failure counts."""

    def seconds():
        with open("/proc/stat", encoding="ascii") as stat:
            user, nice, system, _, _, irq, softirq, steal = (int(x) for x in stat.readline().split()[1:9])
        all_of_it = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return all_of_it - sum(use.ru_utime + use.ru_stime for use in own)

    @functools.wraps(test)
    def several_times(self):
        # What fails in a subTest is kept by unittest and goes on: here it ends the attempt.
        self.subTest = lambda *_, **__: contextlib.nullcontext()
        for attempt in (1, 2):
            others, began = seconds(), time.monotonic()
            try:
                with Held() as held:
                    return test(self)
            except unittest.SkipTest:
                raise
            except Exception as failure:
                share = (seconds() - others) / (time.monotonic() - began)
                if share < 0.3 and held.most < 0.05:
                    raise
                print(f"RUN AGAIN {self.id()}: attempt {attempt} failed beside others that took {share:.2g} processors, held up for {held.most:.2g} s at most: {str(failure)[:200]!r}")
                self.doCleanups()
                self.setUp()
        del self.subTest
        return test(self)

    return several_times


class Share(unittest.TestLoader):
    """DVFS_PLAN_SHARE=K/N: of each file every N-th test by a hash of its name, from the K-th on (.ci/run: a half). Else, with --long
    and where one is asked for by name (-k), all."""

    def __init__(self):
        super().__init__()
        share = os.environ.get("DVFS_PLAN_SHARE", "")
        self.share = tuple(int(part) for part in share.split("/")) if share and not LONG else None
        self.left_out, self.of = 0, 0

    def getTestCaseNames(self, case):
        names = super().getTestCaseNames(case)
        if self.share is None or self.testNamePatterns:
            return names
        mine = [name for name in names if zlib.crc32(name.encode()) % self.share[1] == self.share[0] % self.share[1]]
        self.left_out += len(names) - len(mine)
        self.of += len(names)
        return mine


def main():
    """Exit code 77: every test was skipped (ctest's SKIP_RETURN_CODE)."""
    if AS_MEMBER and not LONG:
        print(f"SKIPPED {pathlib.Path(sys.argv[0]).stem} as a member of the group: --long; here such a member runs test_guardian.py")
        sys.exit(77)
    loader = Share()
    program = unittest.main(verbosity=2, exit=False, argv=sys.argv, testLoader=loader)
    if loader.left_out:
        print(f"SKIPPED {pathlib.Path(sys.argv[0]).stem}: {loader.left_out} of its {loader.of} tests are of another commit's share ({os.environ['DVFS_PLAN_SHARE']}); ./dev test runs all")
        if loader.left_out == loader.of:
            sys.exit(77)
    for test, reason in program.result.skipped:
        print(f"SKIPPED {test}: {reason}")
    if program.result.skipped and len(program.result.skipped) == program.result.testsRun:
        sys.exit(77)
    sys.exit(not program.result.wasSuccessful())
