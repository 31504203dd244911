"""What the attacks share: a machine with a setting that may be set (a network's own MTU), runs against it, and the account of each attack.

Each file of this folder is an attack and runs alone, as root:  tests/system/apart tests/attacks/NAME.py
"""
import contextlib
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
import testbed  # noqa: E402

PROGRAM = testbed.BIN / "dvfs-plan"
GUARDIAN = testbed.BIN / "dvfs-guardian"
LONG = testbed.LONG
MTU = pathlib.Path("/sys/class/net/lo/mtu")
QUIET = "conditions: {warm up: 0, idle: none, references: false, foreign load: off, temperature: off}\n"


def night(workload="sleep 0.3", repeat=50, more="", axis="[1400, 1300]"):
    """An experiment that sets the MTU; `workload` is a shell line."""
    return (f"name: night\nobjective: time\n{QUIET}repeat: {repeat}\nsettle: 1 ms\nworkloads: [{{name: w, shell: {json.dumps(workload)}}}]\n"
            f"axes: {{sysfs.mtu: {axis}}}\nsysfs: {{mtu: {{path: {MTU}, values: [1300, 1400]}}}}\n{more}")


class Account:
    """How often an attack was tried, survived, what was lost, and after how many ms the settings were back. Told at the end, and added as a line of
    JSON to the file that DVFS_PLAN_ATTACKS names: tests/attacks/README.md's table is made of these."""

    def __init__(self, attack):
        self.attack, self.tried, self.survived, self.lost, self.put_back = attack, 0, 0, 0, []

    def tell(self):
        back = sorted(self.put_back)
        line = {"attack": self.attack, "file": pathlib.Path(sys.argv[0]).name, "tried": self.tried, "survived": self.survived, "lost": self.lost,
                "put_back_ms": [round(back[len(back) // 2]), round(back[-1])] if back else None}
        print(f"{self.attack}: tried {self.tried}, survived {self.survived}, finished trials lost {self.lost}"
              + (f", settings back after {line['put_back_ms'][0]} ms (median), {line['put_back_ms'][1]} ms (most)" if back else ""))
        if os.environ.get("DVFS_PLAN_ATTACKS"):
            with open(os.environ["DVFS_PLAN_ATTACKS"], "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


class Told(unittest.TestCase):
    """Its account is told when it is over."""
    maxDiff = None
    account = None  # of each attack: an Account

    @classmethod
    def tearDownClass(cls):
        if cls.account:
            cls.account.tell()


@unittest.skipIf(os.geteuid() != 0 or not os.environ.get("DVFS_PLAN_APART"), "needs root and folders of its own (tests/system/apart)")
class AttackCase(Told):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="dvfs-attack.", dir="/var/tmp")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.before = MTU.read_text()
        self.addCleanup(lambda: MTU.write_text(self.before))

    def start(self, experiment=None, *arguments, stderr=subprocess.DEVNULL, **more):
        if experiment is not None:
            (self.folder / "night.yaml").write_text(experiment)
        more.setdefault("stdout", subprocess.DEVNULL)
        environment = dict(os.environ, **more.pop("environment", {}))
        run = subprocess.Popen([PROGRAM, "night.yaml", "--no-html", *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stderr=stderr, env=environment, **more)
        self.addCleanup(self.end, run)
        return run

    @staticmethod
    def end(run):
        with contextlib.suppress(ProcessLookupError):
            if run.poll() is None:
                run.kill()
                run.wait(timeout=60)
        for stream in (run.stdout, run.stderr):
            if stream:
                stream.close()

    def wait_for(self, condition, seconds=60, what="it"):
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, f"{what} did not come about within {seconds} s")
            time.sleep(0.002)

    def is_set(self):
        return MTU.read_text() != self.before

    def wait_until_set(self, run):
        self.wait_for(lambda: self.is_set() or run.poll() is not None, what="a changed setting")
        self.assertIsNone(run.poll(), "the run ended before anything was set")

    def ms_until_put_back(self, since, seconds=60):
        self.wait_for(lambda: not self.is_set(), seconds, "the setting's former value")
        return 1000 * (time.monotonic() - since)

    def finished(self, name="night.sqlite", column="key"):
        """Keys of the trials in the result, read as anybody reads it; where that would take writing (the journal of who was killed lies there), by our
        own reader."""
        try:
            with contextlib.closing(sqlite3.connect(f"file:{self.folder / name}?mode=ro", uri=True)) as database:
                return {value for value, in database.execute(f"SELECT {column} FROM trials")}
        except sqlite3.OperationalError:
            said = subprocess.run([PROGRAM, "sql", self.folder / name, f"SELECT {column} FROM trials", "--json"], capture_output=True, text=True)
            return {row[column] for row in json.loads(said.stdout)} if said.returncode == 0 else set()

    def guardian_of(self, run):
        """The own guardian of a run; None while there is none."""
        for pid in children(run.pid):
            with contextlib.suppress(OSError):
                if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "dvfs-guardian":
                    return pid
        return None


def children(pid):
    found = []
    with contextlib.suppress(OSError):
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += [int(one) for one in (task / "children").read_text().split()]
    return found


def is_alive(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    return False


def kill(pid, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


main = testbed.main
