"""A file that got more values, gone on with: what the night says as it ends, what is stored of it, and what every later command says is one answer."""
import json
import os
import unittest

from whole import Whole

SECONDS = {1: 0.30, 2: 0.25, 3: 0.19, 4: 0.16, 5: 0.13}
EXPERIMENT = """
name: night
objective: time
conditions: {{warm up: 0, idle: none, foreign load: off, temperature: off, reruns: 0}}
settle: 1 ms
reference: {{set.f: 1}}
search: {{method: {method}, at most: {most} trials}}
workloads: [{works}]
axes: {{set.f: {values}}}
set: {{f: {{command: [sh, -c, "echo {{value}} >knob"], read: [cat, knob], values: [1, 2, 3, 4, 5]}}}}
"""


@unittest.skipIf(os.geteuid() != 0, "folders of its own need root (tests/system/apart)")
class Growth(Whole):
    def night(self, method, most, values, works):
        cases = " ".join(f"{f}) sleep {s};;" for f, s in SECONDS.items())
        listed = ", ".join(f"{{name: {work}, shell: 'case {{set.f}} in {cases} esac'}}" for work in works)
        self.write("night.yaml", EXPERIMENT.format(method=method, most=most, values=values, works=listed))
        run = self.call("night.yaml", "--no-html", "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def test_a_search_takes_no_point_for_another(self):
        """Points that came later stand behind all others in the file, and between them in the plan."""
        for method, works, before, after in (("adaptive", ["w"], [1, 2, 5], [1, 2, 3, 5]), ("random", ["v", "w"], [1, 2, 4], [1, 2, 4, 5])):
            with self.subTest(method):
                for file in self.folder.glob("night*"):
                    file.unlink()
                self.write("knob", "1\n")
                self.night(method, 5 * len(works) + 2, before, works)
                said = self.night(method, 9 * len(works) + 3, after, works)
                now = json.loads(self.call("report", "night.sqlite", "--json").stdout)
                self.assertEqual(said["answer"], now["answer"])
                self.assertEqual(said["scenarios"], now["scenarios"])
                best = {scenario["scenario"]: scenario["best"] for scenario in now["scenarios"]}
                self.assertEqual(best, {work: f"{work} set.f=5" for work in works})
                self.assertEqual({row["scenario"]: row["point"] for row in self.rows("night.sqlite", "SELECT * FROM best")}, best)
                self.assertEqual({row["scenario"]: row["best"] for row in self.rows("night.sqlite", "SELECT * FROM searches")}, best)
                for scenario in now["scenarios"]:
                    stored = {row["point"]: row["gain"] for row in self.rows("night.sqlite", f"SELECT * FROM points WHERE workload = '{scenario['scenario']}'")}
                    for point in scenario["points"]:
                        gain = point["gain"] and point["gain"]["value"]
                        self.assertEqual(stored[point["point"]] is None, gain is None, point)
                        if gain is not None:
                            self.assertAlmostEqual(stored[point["point"]], gain, places=6)


if __name__ == "__main__":
    unittest.main()
