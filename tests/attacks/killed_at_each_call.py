#!/usr/bin/python3
"""A run is killed at each system call that changes its result, before it (a write half done), and behind it: making the file, each commit, folding the
log, the end. What was told as finished is there, the file is whole, the setting comes back, and the same command goes on to the same end."""
import contextlib
import os
import pathlib
import sqlite3
import subprocess
import time

import attack

LIBRARY = pathlib.Path(os.environ.get("DVFS_PLAN_KILL_AT_CALL", attack.testbed.BIN.parent / "tests/libkill_at_call.so"))
NIGHT = attack.night("echo lat 3 ms", 3).replace("shell:", "metrics: [lines], shell:")  # six trials


class KilledAtEachCall(attack.AttackCase):
    account = attack.Account("killed at each system call that changes the result")

    def killed_at(self, call, behind, more=()):
        environment = {"LD_PRELOAD": str(LIBRARY), "KILL_AT_FOLDER": str(self.folder / "night.sqlite"), "KILL_AT_CALL": str(call),
                       "KILL_AT_COUNT": str(self.folder / "calls"), **({"KILL_AT_BEHIND": "1"} if behind else {})}
        told = []
        run = self.start(NIGHT, *more, stderr=subprocess.PIPE, text=True, environment=environment)
        for line in run.stderr:
            if line.startswith("w ") and ": 0." in line:
                told.append(line.split(": ")[0])
        run.wait(timeout=60)
        return run.returncode, set(told)

    def test_each(self):
        code, told = self.killed_at(0, False)
        self.assertEqual((code, len(told)), (0, 6))
        calls = int((self.folder / "calls").read_text())
        self.assertGreater(calls, 40)
        step = 1 if attack.LONG else max(1, calls // 12)
        for call in range(1, calls + 1, step):
            for behind in (False, True):
                for old in self.folder.glob("night.sqlite*"):
                    old.unlink()
                code, told = self.killed_at(call, behind)
                killed = time.monotonic()
                if code == 0:
                    continue  # how many there are differs by a few: when the log is folded
                with self.subTest(call=call, behind=behind):
                    self.account.tried += 1
                    self.assertEqual(code, -9)
                    self.account.put_back.append(self.ms_until_put_back(killed, 20))
                    there = self.finished()
                    self.account.lost += len(told - there)
                    self.assertLessEqual(told, there)
                    again = self.start(NIGHT, stderr=subprocess.PIPE, text=True)
                    said = again.communicate(timeout=60)[1]
                    self.assertEqual(again.returncode, 0, said)
                    self.assertEqual(len(self.finished()), 6)
                    with contextlib.closing(sqlite3.connect(self.folder / "night.sqlite")) as database:
                        self.assertEqual(database.execute("PRAGMA integrity_check").fetchone(), ("ok",))
                        self.assertEqual(database.execute("SELECT count(*) FROM metrics").fetchone(), (6,))
                    report = subprocess.run([attack.PROGRAM, "report", self.folder / "night.sqlite"], capture_output=True, text=True)
                    self.assertEqual(report.returncode, 0, report.stderr)
                    self.assertNotIn("damaged", report.stdout)
                    self.account.survived += 1
        self.assertEqual(self.account.lost, 0)
        self.assertGreater(self.account.tried, 15)


if __name__ == "__main__":
    attack.main()
