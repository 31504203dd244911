"""A file that got more values, gone on with: what the night says as it ends, what is stored of it, and what every later command says is one answer."""
import json
import os
import re
import unittest

import testbed
from whole import Whole

SECONDS = {1: 0.30, 2: 0.25, 3: 0.19, 4: 0.16, 5: 0.13}
EXPERIMENT = """
name: night
objective: time
measure: {{region: work}}
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
    def setUp(self):
        super().setUp()
        testbed.made_up_times(self.folder)

    def night(self, method, most, values, works):
        cases = " ".join(f"{f}) exec /usr/bin/python3 -S -E takes.py {s};;" for f, s in SECONDS.items())
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

    def test_a_joined_result_is_not_gone_on_with(self):
        """Of what one machine ran for it nobody could say whose it is."""
        text = EXPERIMENT.format(method="adaptive", most=9, values=[1, 2], works="{name: w, shell: 'exec /usr/bin/python3 -S -E takes.py 0.0{set.f}'}").replace("search: {method: adaptive, at most: 9 trials}", "repeat: 2")
        self.write("knob", "1\n")
        self.write("night.yaml", text)
        for name in ("a", "b"):
            run = self.call("night.yaml", "--no-html", "--output", f"{name}.sqlite")
            self.assertEqual(run.returncode, 0, run.stderr)
        joined = self.call("merge", "m1=a.sqlite", "m2=b.sqlite", "-o", "j.sqlite")
        self.assertEqual(joined.returncode, 0, joined.stderr)
        before = self.call("report", "j.sqlite").stdout
        for what, changed in (("repeat / max: 2 -> 3; repeat / min: 2 -> 3", text.replace("repeat: 2", "repeat: 3")), ("set.f", text.replace("[1, 2]}\nset", "[1, 2, 3]}\nset"))):
            with self.subTest(what):
                self.write("night.yaml", changed)
                refused = self.call("night.yaml", "--no-html", "--output", "j.sqlite")
                self.assertEqual((refused.returncode, refused.stdout), (2, ""), refused.stderr)
                self.assertIn(f"error: {self.folder}/j.sqlite is of several machines ('merge'), and the experiment asks for further trials: ", refused.stderr)
                self.assertIn(what, refused.stderr)
                self.assertIn("\n  hint: nothing was run; go on with each machine's own result, and merge them again\n", refused.stderr)
                checked = self.call("check", "night.yaml", "--output", "j.sqlite")
                self.assertIn("is of several machines ('merge')", checked.stdout + checked.stderr)
                self.assertEqual(checked.returncode, 2)
        self.assertEqual(self.call("report", "j.sqlite").stdout, before)
        # What is asked of the trials that are there needs no machine.
        self.write("night.yaml", text.replace("reference: {set.f: 1}", "reference: {set.f: 2}"))
        self.assertEqual(self.call("night.yaml", "--no-html", "--output", "j.sqlite").returncode, 0)

    def test_joined_results_of_files_that_changed(self):
        """Each machine's changes are told as its own: what was added is in other blocks of each."""
        text = EXPERIMENT.format(method="adaptive", most=9, values="[VALUES]", works="{name: w, shell: 'exec /usr/bin/python3 -S -E takes.py 0.0{set.f}'}")
        text = text.replace("search: {method: adaptive, at most: 9 trials}", "repeat: {min: 2, confirm: 4}").replace("reference: {set.f: 1}", "reference: {set.f: 2}")
        self.write("knob", "1\n")
        for name, forms in (("a", ("1, 2", "1, 2, 3")), ("b", ("1, 2, 4", "1, 2, 3")), ("c", ("1, 2, 3",))):
            for values in forms:
                self.write("night.yaml", text.replace("[VALUES]", f"[{values}]"))
                run = self.call("night.yaml", "--no-html", "--output", f"{name}.sqlite")
                self.assertEqual(run.returncode, 0, run.stderr)
        for files, changes in ((("m1=a.sqlite", "m2=c.sqlite"), ["axes / set.f: 3 added; in the result of m1"]),
                               (("m2=c.sqlite", "m1=a.sqlite"), ["axes / set.f: 3 added; in the result of m1"]),
                               (("m1=a.sqlite", "m3=b.sqlite", "m2=c.sqlite"), ["axes / set.f: 3 added; in the result of m1", "axes / set.f: 3 added; axes / set.f: 4 taken away; in the result of m3"])):
            with self.subTest(files):
                (self.folder / "j.sqlite").unlink(missing_ok=True)
                joined = self.call("merge", *files, "-o", "j.sqlite")
                self.assertEqual(joined.returncode, 0, joined.stderr)
                said = self.call("report", "j.sqlite").stdout
                self.assertEqual(re.findall(r"the experiment's file changed on \S+: (.*)\n", said), changes)
                self.assertNotIn("damaged", said)
                self.assertEqual([row["first_block"] for row in self.rows("j.sqlite", "SELECT * FROM growths")], [None] * len(changes))
                # What confirmed a former answer helped to choose this one.
                confirming = self.rows("j.sqlite", "SELECT count(DISTINCT block) AS n FROM trials WHERE confirms")[0]["n"]
                self.assertEqual(confirming, 4 * len(files))
                self.assertEqual(self.rows("j.sqlite", "SELECT DISTINCT point FROM trials ORDER BY point"), [{"point": f"w set.f={f}"} for f in (1, 2, 3)])

    def test_what_is_confirmed_later_has_references_of_then(self):
        """The best's value is taken away, and the machine is half as fast again by then: who confirms the next best beside the references of the first night
        says that it is slower than they are."""
        takes = self.folder / "takes.py"
        takes.write_text(takes.read_text().replace("seconds = float(sys.argv[1])\n", "seconds = float(sys.argv[1]) * float(open('level').read())\n"))
        cases = " ".join(f"{f}) exec /usr/bin/python3 -S -E takes.py {s};;" for f, s in SECONDS.items())
        text = EXPERIMENT.format(method="adaptive", most=9, values="[1, 4, 5]", works=f"{{name: w, shell: 'case {{set.f}} in {cases} esac'}}").replace("search: {method: adaptive, at most: 9 trials}", "repeat: {min: 2, confirm: 4}")
        for level, values, best, gain, blocks in (("1", "[1, 4, 5]", "w set.f=5", 1 - 0.13 / 0.30, "3, 4, 5, 6"), ("1.5", "[1, 4]", "w set.f=4", 1 - 0.16 / 0.30, "7, 8, 9, 10")):
            self.write("knob", "1\n")
            self.write("level", level)
            self.write("night.yaml", text.replace("[1, 4, 5]}\nset", values + "}\nset"))
            run = self.call("night.yaml", "--no-html", "--json")
            self.assertEqual(run.returncode, 0, run.stderr)
            scenario = json.loads(run.stdout)["scenarios"][0]
            self.assertEqual(scenario["best"], best)
            said = self.rows("night.sqlite", "SELECT gain, gain_low, gain_high FROM best")[0]
            for value in said.values():
                self.assertAlmostEqual(value, gain, places=3)
            confirmed = self.rows("night.sqlite", f"SELECT group_concat(DISTINCT block) AS blocks, count(*) AS n FROM (SELECT block FROM trials WHERE confirms AND point = '{best}' ORDER BY block)")
            self.assertEqual(confirmed, [{"blocks": blocks.replace(" ", ""), "n": 4}])
        of_two_sessions = self.rows("night.sqlite", "SELECT block FROM trial GROUP BY block HAVING count(DISTINCT session_id) > 1")
        self.assertEqual(of_two_sessions, [])
        self.assertRegex(self.call("report", "night.sqlite").stdout, r"the experiment's file changed on 20\d\d-\d\d-\d\d: axes / set\.f: 5 taken away; blocks from 7 on were added since\n")


if __name__ == "__main__":
    testbed.main()
