#!/usr/bin/python3
"""A meter dies or falls silent, a workload may not be executed any more, it fails every time: a meter is started again, and where one trial after
another fails alike the night stops by itself, put back, with the cause; the same command runs what failed again."""
import os
import sqlite3
import subprocess

import attack

METER = """probes:
  - name: wall
    command: [sh, -c, '{script}']
    channels: {{power: {{unit: W, averages over: 20 ms}}}}
    rate: 50 Hz
"""
TICKS = "i=0; while :; do i=$((i+1)); echo power $((100 + i % 2)) W; sleep 0.02; {then}done"


class OneAfterAnother(attack.AttackCase):
    account = attack.Account("meters that die or fall silent, workloads that cannot run")

    def run_night(self, experiment=None, *arguments):
        if experiment is not None:
            (self.folder / "night.yaml").write_text(experiment)
        self.account.tried += 1
        done = subprocess.run([attack.PROGRAM, "night.yaml", "--no-html", *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
        self.assertFalse(self.is_set())
        return done

    def trials(self):
        database = sqlite3.connect(self.folder / "night.sqlite")
        try:
            return database.execute("SELECT verdict, given_up FROM trials WHERE role NOT IN ('warm_up') ORDER BY trial").fetchall()
        finally:
            database.close()

    def test_a_workload_that_may_not_be_executed_any_more(self):
        work = self.folder / "work"
        work.write_text(f"#!/bin/sh\n[ $(ls {self.folder}/count.* 2>/dev/null | wc -l) -lt 4 ] || chmod -x {work}\nmktemp {self.folder}/count.XXXXXX\n")
        work.chmod(0o755)
        done = self.run_night(attack.night(repeat=10).replace('shell: "sleep 0.3"', f"command: [{work}]"))
        self.assertEqual(done.returncode, 6, done.stderr[-500:])
        error = next(line for line in done.stderr.splitlines() if line.startswith("error"))
        self.assertRegex(error, r"^error: the night stops here: 5 trials in a row failed in the same way \(not_launched\); the last, w sysfs\.mtu=1[34]00 #\d: exec /\S+/work: Permission denied")
        self.assertIn("\n  hint: nothing stays set. Mend that, and the same command runs them again and goes on; `conditions: {give up after: ...}` says after how many\n", done.stderr)
        self.assertEqual([given_up for _, given_up in self.trials()], [0] * 5 + [1] * 5)
        status = subprocess.run([attack.PROGRAM, "status", "night.sqlite"], cwd=self.folder, capture_output=True, text=True).stdout
        self.assertIn("gave_up", status)
        work.write_text("#!/bin/sh\ntrue\n")
        work.chmod(0o755)
        again = self.run_night(None)
        self.assertEqual(again.returncode, 2, again.stderr[-300:])  # it is another program now, and said to be
        self.account.survived += 2

    def test_what_failed_is_run_again(self):
        fails = attack.night(f"[ -e {self.folder}/mended ] || {{ echo the disk is full >&2; exit 3; }}", repeat=6)
        done = self.run_night(fails)
        self.assertEqual(done.returncode, 6)
        self.assertRegex(done.stderr, r"error: the night stops here: 5 trials in a row failed in the same way \(exited\); the last, w sysfs\.mtu=1[34]00 #3: the workload exited with 3; it said: the disk is full\n", done.stderr[-600:])
        self.assertEqual(self.trials(), [("exited", 1)] * 5)
        (self.folder / "mended").touch()
        again = self.run_night(None)
        self.assertEqual(again.returncode, 0, again.stderr[-500:])
        self.assertEqual(self.trials(), [("exited", 1)] * 5 + [("ok", 0)] * 12)
        self.account.survived += 2

    def test_it_goes_on_where_it_is_told_to(self):
        done = self.run_night(attack.night("exit 3", repeat=4).replace("temperature: off}", "temperature: off, give up after: never}"))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.trials(), [("exited", 0)] * 8)
        self.account.survived += 1

    def test_one_setting_that_always_fails_ends_nothing(self):
        done = self.run_night(attack.night("[ {sysfs.mtu} = 1300 ] || exit 3", repeat=8))
        self.assertEqual(done.returncode, 1, done.stderr[-500:])
        self.assertEqual(sorted(self.trials()), [("exited", 0)] * 8 + [("ok", 0)] * 8)
        self.account.survived += 1

    def energy(self, script, repeat):
        return attack.night("sleep 0.3", repeat).replace("objective: time", "objective: energy") + METER.format(script=script.replace("'", "''"))

    def test_a_meter_that_dies_once(self):
        dies = TICKS.format(then=f"[ $i != 200 ] || [ -e {self.folder}/died ] || {{ touch {self.folder}/died; exit; }}; ")
        done = self.run_night(self.energy(dies, 15))
        self.assertEqual(done.returncode, 0, [line for line in done.stderr.splitlines() if "excluded" in line or "wall" in line])
        # By the time that it is told it may have had a value again.
        self.assertRegex(done.stderr, r"wall: it had ended, and was started again \([01] of 5 times without a value between\)")
        bad = [verdict for verdict, _ in self.trials() if verdict != "ok"]
        self.assertLessEqual(len(bad), 3, bad)
        self.account.survived += 1

    def test_a_meter_that_falls_silent(self):
        silent = TICKS.format(then=f"[ $i != 200 ] || [ -e {self.folder}/silent ] || {{ touch {self.folder}/silent; sleep 1000; }}; ")
        done = self.run_night(self.energy(silent, 40).replace("temperature: off}", "temperature: off, give up after: never}"))
        self.assertIn("wall: it said nothing any more, and was started again (1 of 5 times without a value between)", done.stderr)
        counted = [verdict for verdict, _ in self.trials()].count("ok")
        self.assertGreater(counted, 50)
        self.account.survived += 1

    def test_a_meter_that_cannot_be_revived(self):
        dies = TICKS.format(then="[ $i != 200 ] || exit; ").replace("i=0;", f"[ ! -e {self.folder}/died ] || exit; touch {self.folder}/died; i=0;")
        done = self.run_night(self.energy(dies, 40))
        self.assertEqual(done.returncode, 6, done.stderr[-800:])
        self.assertRegex(done.stderr, r"error: the night stops here: \d+ trials in a row failed in the same way \(sensor_\w+\)")
        # Told one by one at first and then counted; the result has each.
        database = sqlite3.connect(self.folder / "night.sqlite")
        try:
            started = database.execute("SELECT count(*) FROM event WHERE message LIKE '%wall: %was started again (%'").fetchone()[0]
        finally:
            database.close()
        self.assertGreaterEqual(started, 4, done.stderr[-800:])
        self.assertGreaterEqual(done.stderr.count("started again"), 3)
        self.account.survived += 1


if __name__ == "__main__":
    attack.main()
