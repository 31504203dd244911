#!/usr/bin/python3
"""As many trials as 24 hours have of 2.9 s each (30 000; only the trials are shorter), with faults at random: workloads that fail, crash, hang or flood
their output, meters that die, fall silent or jump, and kills of run and guardian. Memory, the time between trials and the file's growth stay as they
were, and the answer is the one that the meter's arithmetic says. Without --long 300 trials: that it runs and what it says."""
import contextlib
import pathlib
import random
import sqlite3
import statistics
import time

import attack

TRIALS = 30_000 if attack.LONG else 300
KILLS = 12 if attack.LONG else 3
WATTS = {1400: 100.0, 1350: 120.0, 1300: 140.0}  # by the setting: the meter looks at it

METER = r"""#!/bin/sh
# Watts by the setting. Every few thousand readings it dies, falls silent for a while, or says what is no number.
i=0
while :; do
    i=$((i + 1))
    read mtu <MTU
    case $mtu in 1400) watts=99;; 1350) watts=119;; *) watts=139;; esac
    case $((i % 20000)) in
        700) echo 'power twelve W';;
        1500) sleep 0.5;;
        19000) exit 3;;
    esac
    echo "power $watts.$((i % 3)) W"
    sleep 0.005
done
"""
# By the number of the trial: 5 in 1000 fail, of each kind one.
WORK = r"""#!/bin/sh
n=$(($(cat count 2>/dev/null || echo 0) + 1)); echo $n >count
case $((n * 7919 % 1000)) in
    11) exit 3;;
    12) kill -SEGV $$;;
    13) sleep 20;;
    14) head -c 3000000 /dev/zero | tr '\0' 'x'; echo;;
    15) echo 'items nan'; exit 1;;
esac
echo 'items 7'
sleep 0.02
"""


class Soak(attack.AttackCase):
    account = attack.Account(f"soak: {TRIALS} trials with faults at random")

    def rows(self, sql):
        with contextlib.closing(sqlite3.connect(f"file:{self.folder}/night.sqlite?mode=ro", uri=True)) as database:
            return database.execute(sql).fetchall()

    def test_soak(self):
        (self.folder / "meter").write_text(METER.replace("MTU", str(attack.MTU)))
        (self.folder / "work").write_text(WORK)
        for name in ("meter", "work"):
            (self.folder / name).chmod(0o755)
        night = (f"name: night\nobjective: {{minimise: energy, of: system}}\nconditions: {{warm up: 0, idle: none, references: false, foreign load: off, temperature: off, reruns: 0}}\n"
                 f"repeat: {TRIALS // 3}\nsettle: 1 ms\nworkloads: [{{name: w, command: [./work], timeout: 1 s, metrics: [lines]}}]\n"
                 f"axes: {{sysfs.mtu: [1400, 1350, 1300]}}\nsysfs: {{mtu: {{path: {attack.MTU}, values: [1300, 1350, 1400]}}}}\n"
                 "probes: [{name: wall, command: [./meter], channels: {power: {unit: W, averages over: 5 ms}}, rate: 200 Hz}]\n")
        chance, sizes, memory, told, kills = random.Random(24), {}, {}, set(), 0
        # The kills come in the first fifth: what grows shows in a run that lasts.
        at = sorted(chance.randrange(10, TRIALS // 5) for _ in range(KILLS))
        said = self.folder / "said"
        errors = said.open("ab")
        self.addCleanup(errors.close)
        run = self.start(night, stderr=errors)
        while True:
            done = 0
            with contextlib.suppress(sqlite3.OperationalError):
                done = self.rows("SELECT count(*) FROM trial")[0][0]
            if run.poll() is not None:
                break
            if kills < KILLS and done >= at[kills]:
                told = self.finished()
                victims = [[run.pid], [self.guardian_of(run)], [self.guardian_of(run), run.pid]][kills % 3]
                for pid in victims:
                    if pid:
                        attack.kill(pid)
                kills += 1
                self.account.tried += 1
                if run.pid in victims:
                    run.wait(timeout=60)
                    run = self.start(stderr=errors)
                    self.wait_for(lambda: not self.is_set() or run.poll() is None, 20)
                self.account.lost += len(told - self.finished())
                self.account.survived += 1
            if kills == KILLS and done > TRIALS // 5:
                tenth = 10 * done // TRIALS
                if tenth not in memory:
                    status = pathlib.Path(f"/proc/{run.pid}/status").read_text()
                    memory[tenth] = int(status.split("VmRSS:")[1].split()[0]) / 1024
                    sizes[done] = (self.folder / "night.sqlite").stat().st_size
            time.sleep(0.5 if attack.LONG else 0.1)
        self.assertIn(run.returncode, (0, 1), (said.read_text()[-2000:], self.rows("SELECT id, verdict, verdict_text FROM trial WHERE verdict != 'ok' ORDER BY id DESC LIMIT 8"),
                                               self.rows("SELECT message FROM event WHERE kind LIKE 'meter%'")))
        self.assertEqual(self.account.lost, 0)
        done, = self.rows("SELECT count(*) FROM trial")[0]
        self.assertEqual(done, TRIALS)
        bad = dict(self.rows("SELECT verdict, count(*) FROM trial WHERE verdict != 'ok' GROUP BY verdict"))
        counted = done - sum(bad.values())
        # Some 4 in 1000 fail by themselves; the meter's deaths and silences and the kills cost some more.
        self.assertGreater(counted, 0.9 * (TRIALS - bad.get("sensor_gap", 0)), bad)  # a stall of this machine is its own doing
        for verdict in ("exited", "signalled", "timed_out"):
            self.assertTrue(not attack.LONG or bad.get(verdict, 0) > 5, bad)
        restarts, = self.rows("SELECT count(*) FROM event WHERE kind = 'meter_told'")[0]
        report = attack.json.loads(attack.subprocess.run([attack.PROGRAM, "report", self.folder / "night.sqlite", "--json"], capture_output=True, text=True).stdout)
        scenario = report["scenarios"][0]
        self.assertEqual(scenario["best_settings"], {"sysfs.mtu": "1400"})
        watts = {int(point.split("=")[1]): value for point, value in self.rows("SELECT point, avg(mean_power_w) FROM trials WHERE verdict = 'ok' GROUP BY point")}
        for setting, wanted in WATTS.items():
            self.assertAlmostEqual(watts[setting] / wanted, 1, delta=0.02)
        # Between the beginnings of two trials of which the first counted, early and late in the run that lasted.
        begun = [one[0] for one in self.rows(f"SELECT (julianday(started_at) - 2460000) * 86400000 FROM trial WHERE verdict = 'ok' AND id > {TRIALS // 5} ORDER BY id")]
        gaps = [b - a for a, b in zip(begun, begun[1:])]
        quarter = len(gaps) // 4
        early, late = statistics.median(gaps[:quarter]), statistics.median(gaps[-quarter:])
        print(f"{done} trials, {counted} count, excluded {bad}, {kills} kills, {restarts} starts of the meter anew; from trial to trial {early:.1f} ms early, {late:.1f} ms late; "
              f"memory {memory}; file {sizes}")
        if attack.LONG:
            self.assertLess(late, 1.3 * early)
            tenths = sorted(tenth for tenth in memory if tenth < 10)  # while trials run: the report at the end looks at all of them at once
            self.assertLess(memory[tenths[-1]] - memory[tenths[0]], 0.001 * TRIALS)  # 1 kB a trial at most: what is known of it
            (n0, s0), (n1, s1) = sorted(sizes.items())[0], sorted(sizes.items())[-1]
            self.assertAlmostEqual(s1 / n1 / (s0 / n0), 1, delta=0.15)


if __name__ == "__main__":
    attack.main()
