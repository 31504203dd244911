#!/usr/bin/python3
"""A counter that tells the truth at a pace of its own, one that hangs for a part of a trial, one that speaks another language: joules are as known as they say
they are, what was not seen counts for nothing, and a line that is not understood is quoted."""
import json

import attack

# 10 W exactly, told every so many ms; while the file `hangs` is there the last value again.
METER = """import os, sys, time
period, begin = float(sys.argv[1]) / 1e3, time.monotonic() - 100
due = told = time.monotonic()
while True:
    if not os.path.exists("hangs"):
        told = time.monotonic()
    print("e %.6f" % (10 * (told - begin)), flush=True)
    due += period
    time.sleep(max(0, due - time.monotonic()))
"""
NIGHT = """name: night
repeat: {repeat}
conditions: {{foreign load: off, idle: none, warm up: 0, temperature: off, references: false, give up after: never}}
workloads: [{{name: w, shell: {shell}}}]
axes: {{n: [1, 2]}}
probes: [{{name: m, command: {command}, channels: {{e: {{unit: J}}}}}}]
objective: {{minimise: energy, across: [n], same work: true}}
"""


class MetersThatMislead(attack.AttackCase):
    account = attack.Account("meters at their own pace, that hang in a trial, that say what is not understood")

    def night(self, command, shell, repeat):
        (self.folder / "meter.py").write_text(METER)
        for old in (*self.folder.glob("night.*"), *self.folder.glob("hangs")):
            old.unlink()
        run = self.start(NIGHT.format(repeat=repeat, shell=json.dumps(shell), command=json.dumps(command)), stderr=attack.subprocess.PIPE, text=True)
        said = run.communicate(timeout=300)[1]
        self.assertNotEqual(run.returncode, 2, said)
        return run.returncode, said, attack.testbed.rows(self.folder / "night.sqlite", "SELECT * FROM trials ORDER BY trial")

    def test_joules_are_as_known_as_they_say(self):
        for period in (10, 33, 49, 70, 100, 130) if attack.LONG else (49, 70):
            self.account.tried += 1
            with self.subTest(period):
                # Of a trial shorter than twice what a meter takes nothing is known, and it says so: those are longer.
                shell = "sleep 0.{n}5" if period <= 100 else "sleep 0.4; sleep 0.{n}5"
                _, said, trials = self.night(["/usr/bin/python3", "meter.py", str(period)], shell, 8)
                off = [(trial["energy_j"] - 10 * trial["time_s"]) / trial["energy_half_width_j"] for trial in trials if trial["verdict"] == "ok" and trial["energy_half_width_j"]]
                print(f"a counter told every {period} ms: {len(off)} of {len(trials)} trials have joules; by their half-widths off by {' '.join(f'{x:+.2f}' for x in off)}")
                self.assertGreaterEqual(len(off), 10, said)
                # 95 % intervals; what a busy host adds to the meter's own clock is in none of them.
                self.assertLessEqual(sum(abs(x) > 1 for x in off), len(off) // 5, off)
                self.assertLess(sorted(abs(x) for x in off)[-2], 3, off)
                self.account.survived += 1

    def test_a_counter_that_hangs_saves_nothing(self):
        for seconds in ("0.3", "0.2", "0.5"):
            self.account.tried += 1
            with self.subTest(seconds):
                shell = f"rm -f hangs; sleep {1 - float(seconds):.1f}; [ {{n}} = 1 ] || touch hangs; sleep {seconds}"
                _, said, trials = self.night(["/usr/bin/python3", "meter.py", "49"], shell, 2)
                hung = [trial["verdict"] for trial in trials if trial["point"].endswith("n=2")]
                self.assertIn("sensor_dead", hung, said)
                self.assertLessEqual(set(hung), {"sensor_dead", "sensor_gap", "ok"}, said)
                # What it tells at once behind the hang is the next trial's no more than this one's: whoever counts is off by no more than it says, and
                # a busy host's delay of the meter's own clock.
                for trial in trials:
                    if trial["verdict"] == "ok" and trial["energy_half_width_j"] is not None:
                        self.assertLess(abs(trial["energy_j"] - 10 * trial["time_s"]), trial["energy_half_width_j"] + 0.05 * 10 * trial["time_s"], said)
                self.account.survived += 1

    def test_what_a_meter_leaves_running_is_ended_with_it(self):
        self.account.tried += 1
        self.night(["sh", "-c", "setsid sleep 4711.25 & setsid -f sleep 4711.25; exec /usr/bin/python3 meter.py 50"], ": {n}; sleep 0.2", 1)
        left = attack.subprocess.run(["pgrep", "-f", "^sleep 4711.25"], capture_output=True, text=True).stdout.split()
        self.assertEqual(left, [])
        self.account.survived += 1

    def test_a_counter_that_says_one_number_again_and_again(self):
        # 10 W, renewed every 0.4 s, said twenty times a second: what lies between is not known to a watt.
        for meter in self.folder.glob("meter.py"):
            meter.unlink()
        (self.folder / "slow.py").write_text("import time\nbegin = time.monotonic() - 100\nwhile True:\n    print('e', 4 * int((time.monotonic() - begin) / 0.4), flush=True)\n    time.sleep(0.05)\n")
        self.account.tried += 1
        _, said, trials = self.night(["/usr/bin/python3", "slow.py"], ": {n}; sleep 2.6", 3)
        self.assertGreater(len(trials), 0, said)
        for trial in trials:
            if trial["verdict"] == "ok" and trial["energy_half_width_j"] is not None:
                self.assertLess(abs(trial["energy_j"] - 10 * trial["time_s"]), 3 * trial["energy_half_width_j"], said)
        self.account.survived += 1

    def test_what_is_not_understood_is_quoted(self):
        for line, shown in (("e 10,123456", "e 10,123456"), ("energy: 12 J", "energy: 12 J"), ("12.5", "12.5")):
            self.account.tried += 1
            with self.subTest(line):
                _, said, trials = self.night(["sh", "-c", f"while :; do echo '{line}'; sleep 0.05; done"], ": {n}; sleep 0.2", 1)
                self.assertNotIn("ok", [trial["verdict"] for trial in trials])
                self.assertIn(f"m: it says what is not understood: '{shown}'; wanted are lines such as 'e 12.5 J'", said)
                self.account.survived += 1


if __name__ == "__main__":
    attack.main()
