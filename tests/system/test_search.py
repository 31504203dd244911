"""Adaptive search on a real kernel: the optimum in a few trials, and a night cut short that goes on as it would have."""
import json

import arithmetic
import testbed

ADAPTIVE = """
name: adaptive
workloads:
  - {name: mixed, command: [dvfs-mixed, "0.5", "0.2"]}
axes: {cpu.frequency: all}
search: {at most: 12 trials}
conditions: {foreign load: off}
"""


class Search(testbed.TestbedCase):
    @testbed.on_a_busy_host
    def test_it_finds_the_optimum_within_twelve_trials_killed_twice_on_the_way(self):
        # SIGKILL in the middle of a trial, twice; then to the end. Each time the kernel's settings are put back.
        code, console = self.testbed.run(
            """
            cat /sys/devices/system/cpu/cpufreq/policy*/scaling_m??_freq >before.txt
            for trials in 2 5; do
                dvfs-plan /adaptive.yaml --quiet >/dev/null 2>&1 &
                run=$!
                while [ "$(ls adaptive.sqlite 2>/dev/null)" = "" ] || [ "$(dvfs-plan status adaptive.sqlite --json | grep finished_trials | tr -dc 0-9)" -lt $trials ]; do sleep 0.3; done
                sleep 0.5
                kill -9 $run
                wait $run
                dvfs-plan report adaptive.sqlite --json >cut-$trials.json
            done
            dvfs-plan /adaptive.yaml --json >report.json; code=$?
            dvfs-plan /adaptive.yaml >again.txt 2>&1
            cat /sys/devices/system/cpu/cpufreq/policy*/scaling_m??_freq >after.txt
            exit $code
            """,
            {"adaptive.yaml": ADAPTIVE})
        self.assertEqual(code, 0, console)
        out = self.testbed.fetch()
        self.assertEqual((out / "before.txt").read_text(), (out / "after.txt").read_text())
        result = out / "adaptive.sqlite"
        self.assertEqual(testbed.integrity(result), "ok")
        report = json.loads((out / "report.json").read_text())
        scenario = report["scenarios"][0]
        search = scenario["search"]
        with self.subTest("the optimum is named, with its bound"):
            self.assertEqual(scenario["best_settings"], {"cpu.frequency": "1.8 GHz"})
            trials = testbed.rows(result, "SELECT * FROM trials WHERE role NOT IN ('warm_up', 'idle_before', 'idle_after')")
            self.assertLessEqual(len(trials), 12)
            self.assertEqual(search["trials"], len([t for t in trials if t["counts"]]))
            # It stops at 1 %, or where the trials are used up: how well so few are known depends on their noise.
            self.assertTrue(search["bound"] <= 0.01 or len(trials) == 12, search["bound"])
            self.assertLess(search["bound"], 0.1)
            self.assertIn("With 95 % confidence no other of the 6 settings is ", report["answer"][0])
            best = next(p for p in scenario["points"] if p["point"] == scenario["best"])
            self.assertAlmostEqual(best["energy_j"]["mean"] / arithmetic.joules("1.8 GHz", 0.5, 0.2), 1, delta=0.03)
            saving = 1 - arithmetic.joules("1.8 GHz", 0.5, 0.2) / arithmetic.joules("3 GHz", 0.5, 0.2)
            self.assertLess(best["saving"]["low_95"], saving)
            self.assertGreater(best["saving"]["high_95"], saving)
        with self.subTest("SQL says the same"):
            rows = testbed.rows(result, "SELECT * FROM searches")
            self.assertEqual([(r["best"], r["bound"], r["trials"], r["settings"]) for r in rows], [(search["best"], search["bound"], search["trials"], 6)])
            self.assertEqual(testbed.rows(result, "SELECT point FROM best"), [{"point": scenario["best"]}])
            model = {r["point"]: r["objective"] for r in testbed.rows(result, "SELECT * FROM search_points")}
            self.assertEqual(model, {p["point"]: p["objective"] for p in search["model"]})
        with self.subTest("what was proposed before the kill is what is run after it"):
            sessions = testbed.rows(result, "SELECT id, current_trial FROM session ORDER BY id")
            self.assertGreaterEqual(len(sessions), 3)
            for cut, resumed in zip(sessions, sessions[1:3]):
                first = testbed.rows(result, "SELECT key FROM trial WHERE session_id = ? AND role <> 'warm_up' ORDER BY id LIMIT 1", resumed["id"])
                # Killed between a trial's commit and the note of the next one, it had proposed nothing yet.
                if not testbed.rows(result, "SELECT 1 FROM trial WHERE session_id = ? AND key = ?", cut["id"], cut["current_trial"]):
                    self.assertEqual(cut["current_trial"], first[0]["key"])
        with self.subTest("the report of a cut night says what is known so far"):
            early = json.loads((out / "cut-5.json").read_text())["scenarios"][0]["search"]
            self.assertIsNotNone(early["best"])
            # Of five trials hardly one is a repetition: then no bound is stated.
            self.assertTrue(early["bound"] is None or early["bound"] > 0, early["bound"])
        with self.subTest("a finished search is not begun again"):
            self.assertIn("adaptive.sqlite is finished; --fresh runs it again", (out / "again.txt").read_text())

    @testbed.on_a_busy_host
    def test_earlier_results_of_the_machine_are_a_start(self):
        mixes = [("a", "0.2", "0.02"), ("b", "0.16", "0.06"), ("c", "0.12", "0.1"), ("d", "0.08", "0.14"), ("e", "0.2", "0.1")]
        workloads = ", ".join(f'{{name: {name}, command: [dvfs-mixed, "{core}", "{memory}"]}}' for name, core, memory in mixes)
        quiet = "conditions: {foreign load: off, idle: none, references: false, warm up: 0}\n"
        old = f"name: old\nworkloads: [{workloads}]\naxes: {{cpu.frequency: all}}\nrepeat: 1\n{quiet}"
        few = f"name: few\nworkloads: [{workloads.split('}, ')[0]}}}]\naxes: {{cpu.frequency: all}}\nrepeat: 1\n{quiet}"
        warm = 'name: NAME\nworkloads: [{name: w, command: [dvfs-mixed, "0.5", "0.2"]}]\naxes: {cpu.frequency: all}\n' + quiet
        code, console = self.testbed.run(
            """
            cp /*.yaml .
            dvfs-plan old.yaml --quiet >/dev/null && dvfs-plan few.yaml --quiet >/dev/null
            dvfs-plan check missing.yaml >check.txt 2>&1; echo $? >code.txt
            dvfs-plan cold.yaml >/dev/null 2>cold.txt
            dvfs-plan warm.yaml --json >warm.json 2>warm.txt
            """,
            {"old.yaml": old, "few.yaml": few, "warm.yaml": warm.replace("NAME", "warm") + "search: {at most: 6, prior: [old.sqlite]}\n",
             "cold.yaml": warm.replace("NAME", "cold") + "search: {at most: 6, prior: [few.sqlite]}\n",
             "missing.yaml": warm + "search: {prior: [none.sqlite]}\n"})
        self.assertEqual(code, 0, console)
        out = self.testbed.fetch()
        self.assertEqual(testbed.rows(out / "warm.sqlite", "SELECT count(*) AS n, count(DISTINCT source) AS sources FROM prior_shape"), [{"n": 30, "sources": 5}])
        scenario = json.loads((out / "warm.json").read_text())["scenarios"][0]
        self.assertEqual(scenario["best_settings"], {"cpu.frequency": "1.8 GHz"})
        self.assertNotIn("prior", (out / "warm.txt").read_text())
        self.assertEqual(testbed.rows(out / "cold.sqlite", "SELECT * FROM prior_shape"), [])
        self.assertIn("note: prior: 1 workload in all, and 5 are needed to know how much they differ: not used", (out / "cold.txt").read_text())
        self.assertEqual((out / "code.txt").read_text().strip(), "2")
        self.assertIn("missing.yaml:5:18: error: 'prior' names 'none.sqlite', and there is no /data/none.sqlite", (out / "check.txt").read_text())


if __name__ == "__main__":
    testbed.main()
