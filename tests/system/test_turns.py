"""Two ordinary users whose nights set both what the machine's guardian sets and what a tool of the site's does, by each one's own guardian: whoever loses the machine has lost it with both."""
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

import testbed
from whole import PROGRAM, QUIET, Whole

KNOB = pathlib.Path("/sys/power/s")
USERS = {"alice": 3001, "bob": 3002}
EXPERIMENT = f"""
name: turns
objective: time
repeat: REPEAT
settle: 0 ms
probes: []
conditions: {QUIET.rstrip('}')}, give up after: never}}
workloads: [{{name: w, shell: "cat TOOL/a; sleep 0.3; cat TOOL/a", metrics: [{{name: before, regex: '([0-9])'}}]}}]
axes: {{sysfs.s: ["on", "off"], set.a: [1, 2]}}
sysfs: {{s: {{path: {KNOB}, values: ["on", "off"]}}}}
set: {{a: {{command: [TOOL/set, "{{value}}"], read: [cat, TOOL/a], values: [1, 2, 7]}}}}
"""


@unittest.skipIf(os.geteuid() != 0, "users of its own need root (tests/system/apart)")
class Turns(Whole):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        # In this mount namespace alone.
        for name, lines in (("passwd", "".join(f"{user}:x:{uid}:{uid}::{self.folder}/{user}:/bin/sh\n" for user, uid in USERS.items())),
                            ("group", "".join(f"{user}:x:{uid}:\n" for user, uid in USERS.items()) + "dvfs-plan:x:3100:alice,bob\n")):
            own = self.folder / name
            own.write_text(pathlib.Path("/etc", name).read_text() + lines)
            own.chmod(0o644)
            self.mount("--bind", own, f"/etc/{name}")
        self.mount("-t", "tmpfs", "none", KNOB.parent)
        pathlib.Path("/etc/dvfs-plan").mkdir(exist_ok=True)
        self.mount("-t", "tmpfs", "none", "/etc/dvfs-plan")
        self.tool = self.folder / "tool"
        self.tool.mkdir()
        self.tool.chmod(0o777)
        (self.tool / "set").write_text(f'#!/bin/sh\necho "$1" >{self.tool}/a; echo "$USER $1" >>{self.tool}/log\n')
        (self.tool / "set").chmod(0o755)

    def mount(self, *words):
        subprocess.run(["mount", *map(str, words)], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", str(words[-1])])

    def listen(self, policy):
        pathlib.Path("/etc/dvfs-plan/policy").write_text("".join(f"allow {user} {KNOB}\n" for user in USERS) + policy)
        KNOB.write_text("on\n")
        for name, text in (("a", "7\n"), ("log", "")):
            (self.tool / name).write_text(text)
            (self.tool / name).chmod(0o666)
        guardian = subprocess.Popen([PROGRAM.parent / "dvfs-guardian", "--listen", "/run/dvfs-plan/guardian.sock"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (guardian.kill(), guardian.wait()))
        time.sleep(0.5)
        return guardian

    def night(self, user, repeat):
        home = self.folder / user
        home.mkdir(exist_ok=True)
        (home / "x.yaml").write_text(EXPERIMENT.replace("REPEAT", str(repeat)).replace("TOOL", str(self.tool)))
        for path in (home, home / "x.yaml"):
            os.chown(path, USERS[user], USERS[user])
        errors = open(self.folder / f"{user}.said", "w")
        self.addCleanup(errors.close)
        run = subprocess.Popen(["setpriv", f"--reuid={USERS[user]}", f"--regid={USERS[user]}", f"--groups={USERS[user]},3100", "env", "-i", f"PATH={os.environ['PATH']}", f"HOME={home}", f"USER={user}",
                                PROGRAM, "x.yaml", "--no-html", "--wait", "--fresh"], cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors)
        self.addCleanup(lambda: run.poll() is None and run.kill())
        return run

    def both(self, meanwhile):
        runs = [self.night("alice", 2)]
        deadline = time.monotonic() + 30
        while "alice 2" not in (self.tool / "log").read_text() and "alice 1" not in (self.tool / "log").read_text():
            self.assertLess(time.monotonic(), deadline, (self.folder / "alice.said").read_text())
            time.sleep(0.01)
        runs.append(self.night("bob", 1))
        time.sleep(1)
        meanwhile(runs[0])
        codes = [run.wait(timeout=120) for run in runs]
        said = "".join(f"{user}: {(self.folder / f'{user}.said').read_text()}" for user in USERS)
        self.assertEqual((KNOB.read_text().strip(), (self.tool / "a").read_text().strip()), ("on", "7"), said)
        # Whose turn ends has put back what it had set, before the other's begins.
        log = (self.tool / "log").read_text().split("\n")[:-1]
        turns = [(before, now) for before, now in zip(log, log[1:]) if before.split()[0] != now.split()[0]]
        self.assertTrue(turns, log)
        self.assertEqual({before.split()[1] for before, now in turns} | {now.split()[1] for before, now in turns}, {"7"}, log)
        for user in USERS:
            rows = json.loads(subprocess.run([PROGRAM, "sql", self.folder / user / "turns.sqlite", "--json", "SELECT t.point, t.counts, m.value FROM trials t JOIN metrics m USING (trial)"],
                                             capture_output=True, text=True, check=True).stdout)
            for row in rows:
                if row["counts"]:
                    self.assertIn(f"set.a={row['value']:g}", row["point"])
        print(f"{len(turns)} turns, exit codes {codes}")
        return said

    def test_a_session_that_is_over(self):
        self.listen("session at most 2 s\n")
        self.both(lambda run: None)

    def test_one_that_does_not_answer(self):
        self.listen("session stalled 1 s\n")

        def stop(run):
            run.send_signal(signal.SIGSTOP)
            time.sleep(4)
            run.send_signal(signal.SIGCONT)

        self.both(stop)

    def test_one_whose_guardian_is_told_to_end_or_killed(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number):
                guardian = self.listen("")

                def end(run):
                    for child in pathlib.Path(f"/proc/{guardian.pid}/task/{guardian.pid}/children").read_text().split():
                        os.kill(int(child), number)

                self.both(end)
                guardian.kill()
                guardian.wait()


if __name__ == "__main__":
    testbed.main()
