#!/usr/bin/python3
"""Run, guardian, both, or the run while it puts back are killed at random moments, with a service, copies at once and ranks among what is under way; the
same result goes on from kill to kill. Settings come back, nothing finished is lost, nothing is left running."""
import contextlib
import pathlib
import random
import signal
import sqlite3
import subprocess
import time

import attack

NIGHT = f"""name: night
objective: time
{attack.QUIET}repeat: 4000
settle: 1 ms
services: [{{name: server, command: [sleep, '8887'], ready: {{command: ['true']}}}}]
workloads:
  - name: w
    shell: "sleep 8889 & other=$!; RANK=0 sleep 0.02 & RANK=1 sleep 0.03 & wait $!; kill $other"
axes: {{instances: [1, 2], sysfs.mtu: [1400, 1300]}}
sysfs: {{mtu: {{path: {attack.MTU}, values: [1300, 1400]}}}}
"""


def left():
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (folder / "cmdline").read_bytes() in (b"sleep\x008887\0", b"sleep\x008889\0") and attack.is_alive(int(folder.name)):
                found.append(int(folder.name))
    return found


class KillStorm(attack.AttackCase):
    account = attack.Account("kills of run, guardian, both, or the run while it puts back; with a service, copies and ranks")

    def test_storm(self):
        self.addCleanup(lambda: [attack.kill(pid) for pid in left()])
        chance, before, a_night, was_set, trials = random.Random(2311), set(), 0, 0, 0
        for i in range(1000 if attack.LONG else 24):
            if i % 100 == 0:
                before, a_night = set(), a_night + 1
            result = f"night{a_night}.sqlite"
            run = self.start(NIGHT, "-o", result)
            if chance.random() < 0.85:  # else while the night begins
                self.wait_until_set(run)
            time.sleep(0.5 * chance.random())
            was_set = was_set + self.is_set()
            guardian, what = self.guardian_of(run), chance.choice(["run", "guardian", "both", "restore"])
            began = self.finished(result)
            self.account.tried += 1
            with self.subTest(i=i, what=what):
                if what in ("guardian", "both") and guardian:
                    attack.kill(guardian)
                if what == "guardian":
                    time.sleep(0.3 * chance.random())  # it goes on with another, unless that is killed first
                if what == "restore":
                    run.send_signal(signal.SIGTERM)
                    time.sleep(0.03 * chance.random())
                attack.kill(run.pid)
                killed = time.monotonic()
                run.wait(timeout=30)
                if what in ("guardian", "both"):
                    # Nobody may be left who would: the machine's service, or the next start, does.
                    again = subprocess.run([attack.GUARDIAN, "--restore"], capture_output=True, text=True, timeout=60)
                    self.assertEqual(again.returncode, 0, again.stderr)
                self.account.put_back.append(self.ms_until_put_back(killed, 20))
                self.wait_for(lambda: not left(), 20, "the end of what the run had started")
                there = self.finished(result)
                self.account.lost += len((before | began) - there)
                self.assertLessEqual(before | began, there)
                trials += len(there - before)
                before = there
                if i % 20 == 19 and there:
                    with contextlib.closing(sqlite3.connect(self.folder / result)) as database:
                        self.assertEqual(database.execute("PRAGMA integrity_check").fetchone(), ("ok",))
                    report = subprocess.run([attack.PROGRAM, "report", self.folder / result], capture_output=True, text=True, timeout=120)
                    self.assertIn(report.returncode, (0, 1), report.stderr)
                    self.assertNotIn("damaged", report.stdout)
                self.account.survived += 1
        print(f"{trials} trials were finished between the kills; {was_set} of {self.account.tried} came while a setting was changed")
        self.assertGreater(trials, self.account.tried)
        self.assertGreater(was_set, self.account.tried // 2)  # the moments are worth testing
        self.assertEqual(self.account.lost, 0)
        self.assertEqual(self.account.survived, self.account.tried)


if __name__ == "__main__":
    attack.main()
