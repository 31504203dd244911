"""Measurements fit to publish, on a real kernel: regions, energy per unit of work under constraints, commands that are
too short, a machine that drifts through the night, a budget."""
import json
import statistics
import unittest

import arithmetic
import testbed

REGIONS = """
name: regions
workloads:
  - {name: w, command: [dvfs-mixed, "0.5", "0.2", "0.3", "4"]}
axes: {cpu.frequency: [1.4 GHz, 1.8 GHz, 2.2 GHz, 3 GHz]}
objective: {minimise: energy, per: samples, subject to: {slowdown: 30 %, accuracy: ">= 0.75"}}
conditions: {idle: none, foreign load: off}
measure: {region: work}
repeat: 3
"""
SHORT = """
name: short
workloads: [{name: w, command: [dvfs-mixed, "0.05", "0.02"]}]
axes: {cpu.frequency: [1.8 GHz, 3 GHz]}
measure: {at least: 1 s}
conditions: {idle: none, warm up: 0, foreign load: off}
repeat: 2
"""
DRIFT = """
name: drift
workloads: [{name: w, command: [dvfs-mixed, "1", "0.4"]}]
axes: {cpu.frequency: all}
repeat: {min: 3, max: 10}
budget: 26 trials
seed: 11
conditions: {idle: none, temperature: {band: 2 C, limit: 1 s}, foreign load: off, reruns: 0}
"""


class Measure(testbed.TestbedCase):
    @testbed.on_a_busy_host
    def test_regions_units_and_constraints(self):
        code, console = self.testbed.run("dvfs-plan /regions.yaml --quiet --json >regions.json && dvfs-plan /short.yaml",
                                         {"regions.yaml": REGIONS, "short.yaml": SHORT})
        self.assertEqual(code, 0, console)
        out = self.testbed.fetch()

        with self.subTest("what is marked counts, the start-up does not"):
            trials = testbed.rows(out / "regions.sqlite", "SELECT t.*, s.requested FROM trials t JOIN settings s USING (trial) WHERE s.target = 'policy0' AND counts")
            self.assertEqual(len(trials), 15)
            off = {}
            for trial in trials:
                self.assertEqual((trial["region"], trial["verdict"]), ("work", "ok"))
                off.setdefault(trial["requested"], []).append(trial["energy_j"] / arithmetic.joules(trial["requested"], 0.5, 0.2))
                self.assertGreater(trial["process_s"], trial["time_s"] + 0.29)
                self.assertAlmostEqual(trial["energy_per_unit_j"] * 400, trial["energy_j"], places=6)
            # As of the steps below: a trial whose looks were held up for long does not know what its sensor adds, and says so.
            # How many those are is the host's doing: such a trial had fewer fresh readings in its time than any that is known.
            known = [trial for trial in trials if trial["energy_half_width_j"] is not None]
            self.assertGreaterEqual(len(known), len(trials) // 3, trials)
            pace = lambda trial: trial["fresh_readings"] / trial["time_s"]
            for trial in trials:
                if trial not in known:
                    self.assertLess(pace(trial), min(map(pace, known)), trial)
            for trial in known:
                self.assertLess(trial["energy_half_width_j"], 0.1 * trial["energy_j"])
            unresolved = testbed.rows(out / "regions.sqlite", "SELECT DISTINCT trial_id AS trial FROM event WHERE kind = 'sensor_unresolved'")
            self.assertEqual({trial["trial"] for trial in trials} - {trial["trial"] for trial in known}, {event["trial"] for event in unresolved}
                             & {trial["trial"] for trial in trials})
            # A moment in which the host gives the guest no processor lengthens that one trial, whose energy is then what it is.
            for requested, ratios in off.items():
                self.assertAlmostEqual(statistics.median(ratios), 1, delta=0.04, msg=requested)
                self.assertGreater(min(ratios), 0.96, requested)
                self.assertLess(max(ratios), 1.25, requested)
        with self.subTest("steps inside it have their own times and energies"):
            of_trials = testbed.rows(out / "regions.sqlite", "SELECT i.*, t.energy_j, t.time_s FROM iterations i JOIN trials t USING (trial) WHERE i.region = 'step'")
            # Where the host gives the guest no processor for a while, a step has too few fresh readings and is not known: that must not be the rule.
            self.assertLessEqual(sum(4 - steps["known"] for steps in of_trials), 4 * 15 // 3, of_trials)
            for steps in of_trials:
                self.assertEqual(steps["n"], 4)
                # Between the steps is whatever the machine does then, and no more than that; power is as in the whole.
                self.assertLessEqual(steps["mean_s"] * 4, steps["time_s"])
                self.assertGreater(steps["mean_s"] * 4, 0.9 * steps["time_s"])
                self.assertAlmostEqual((steps["mean_j"] / steps["mean_s"]) / (steps["energy_j"] / steps["time_s"]), 1, delta=0.03)
        with self.subTest("the best is the least energy per sample among those that are fast enough"):
            report = json.loads((out / "regions.json").read_text())
            scenario = report["scenarios"][0]
            self.assertEqual(scenario["best_settings"], {"cpu.frequency": "2.2 GHz"})
            self.assertEqual(testbed.rows(out / "regions.sqlite", "SELECT point FROM best"), [{"point": "w cpu.frequency=2.2 GHz"}])
            slow = {p["settings"]["cpu.frequency"]: [c["holds"] for c in p["constraints"]] for p in scenario["points"]}
            self.assertEqual(slow, {"1.4 GHz": [False, True], "1.8 GHz": [False, True], "2.2 GHz": [True, True], "3 GHz": [True, True]})
            self.assertIn("w: the least energy per sample with slowdown <= 30 % and accuracy >= 0.75 at cpu.frequency = 2.2 GHz", report["answer"][0])

        with self.subTest("a short command is run again within the trial"):
            trials = testbed.rows(out / "short.sqlite", "SELECT t.*, s.requested FROM trials t JOIN settings s USING (trial) WHERE s.target = 'policy0'")
            self.assertEqual(len(trials), 6)
            for trial in trials:
                single = arithmetic.seconds(trial["requested"], 0.05, 0.02)
                self.assertGreaterEqual(trial["runs"] * trial["time_s"], 1)
                self.assertLess(abs(trial["time_s"] / single - 1), 0.3)  # a process start beside 70 ms of work
                self.assertEqual(testbed.rows(out / "short.sqlite", "SELECT count(*) AS n FROM regions WHERE trial = ? AND counted", trial["trial"])[0]["n"], trial["runs"])

    @unittest.skipUnless(testbed.LONG, "a minute's night: --long; drift and budgets on simulated nights: Coverage.*, BlockModel.*, Blocks.*")
    def test_a_machine_that_drifts_and_a_budget(self):
        code, console = self.testbed.run("testbedctl meter drifts; dvfs-plan /drift.yaml --json >drift.json 2>drift.txt; code=$?; dvfs-plan report drift.sqlite; exit $code",
                                         {"drift.yaml": DRIFT})
        self.assertEqual(code, 0, console)
        out = self.testbed.fetch()
        scenario = json.loads((out / "drift.json").read_text())["scenarios"][0]
        with self.subTest("the answer is right all the same"):
            self.assertEqual(scenario["best_settings"], {"cpu.frequency": "1.8 GHz"})
            best = next(p for p in scenario["points"] if p["settings"]["cpu.frequency"] == "1.8 GHz")
            saving = 1 - arithmetic.joules("1.8 GHz", 1, 0.4) / arithmetic.joules("3 GHz", 1, 0.4)
            self.assertLess(best["saving"]["low_95"], saving + 0.01)
            self.assertGreater(best["saving"]["high_95"], saving - 0.01)
        with self.subTest("and the drift is shown"):
            self.assertGreater(scenario["drift_of_night"], 0.05)
            flagged = [block["block"] for block in scenario["drift"] if block["flagged"]]
            self.assertTrue(flagged)  # in which blocks depends on where the references stand
            self.assertEqual(flagged, [d["block"] for d in testbed.rows(out / "drift.sqlite", "SELECT block FROM drift WHERE flagged")])
            self.assertRegex(console, r"w: the reference's two trials differ by more than 1 %, and more than the sensors explain, in blocks? ")
            self.assertRegex(console, r"the reference changed by \+\d+\.\d %, the hottest sensor from 4\d\.\d to \d\d\.\d C")
            gates = {t["gate"] for t in testbed.rows(out / "drift.sqlite", "SELECT gate FROM trials")}
            self.assertIn("timed_out", gates)
            self.assertRegex("\n".join(w["message"] for w in testbed.rows(out / "drift.sqlite", "SELECT message FROM warnings WHERE kind = 'temperature_gate'")),
                             r"thermal:acpitz is at \d+\.\d C, [23]\.\d C above the block's start, and did not come back within 1\.0 s")
        with self.subTest("the budget is spent as announced"):
            self.assertIn("the budget of 26 trials buys the first 3 blocks (21 trials) and 5 more, where the intervals are widest (at most 10 blocks a point)",
                          (out / "drift.txt").read_text())
            self.assertEqual(testbed.rows(out / "drift.sqlite", "SELECT count(*) AS n FROM trials WHERE role <> 'warm_up'")[0]["n"], 26)


if __name__ == "__main__":
    testbed.main()
