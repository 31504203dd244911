"""Several at once: copies of a workload and different ones behind a gate, what fails among them; objectives of single workloads; energy to a target."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import testbed
from whole import METER, QUIET, Whole

# work.py SECONDS UNITS [WORD...]: marks `work` for so long. Words: load N (s before it is ready), gate (waits for the others), fails N (exits with it
# half way), never (is not ready), deserts (ends well without being ready).
WORK = """
import os, sys, time
import dvfs_plan_regions as mark
length, units, words = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
value = lambda word: float(words[words.index(word) + 1])
now = lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC)
if "load" in words:
    time.sleep(value("load"))
if "never" in words:
    time.sleep(1000)
if "deserts" in words:
    sys.exit(0)
print("loaded", now())
if "gate" in words:
    mark.wait_for_others()
mark.begin("work")
print("begun", now())
if "fails" in words:
    time.sleep(length / 2)
    sys.exit(int(value("fails")))
time.sleep(length)
mark.end("work")
mark.metric("samples", units)
print("I am", os.environ.get("DVFS_PLAN_INSTANCE"), "of", os.environ.get("DVFS_PLAN_INSTANCES"))
"""
# approach.py RATE: the loss falls from 1 by RATE a second, marked 20 times a second, for 1 s.
APPROACH = """
import sys, time
import dvfs_plan_regions as mark
rate, began = float(sys.argv[1]), time.monotonic()
with mark.region("train"):
    while (after := time.monotonic() - began) < 1:
        mark.metric("loss", 1 - rate * after)
        time.sleep(0.05)
"""


class Several(Whole):
    maxDiff = None

    def setUp(self):
        super().setUp()
        self.write("work.py", WORK)
        self.write("approach.py", APPROACH)

    def run_one(self, text, code=0, name="s"):
        self.write("s.yaml", f"name: {name}\nconditions: {QUIET}\nobjective: time\nrepeat: 1\n" + text)
        run = self.call("s.yaml")
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run

    @testbed.on_a_busy_host
    def test_copies_begin_together_and_their_work_is_summed(self):
        self.run_one("""
workloads:
  - {name: w, command: [python3, work.py, "0.3", "10", load, "0.{instance}", gate], metrics: [lines], instances: "{instances}"}
axes: {instances: [1, 2, 4]}
""")
        trials = {row["point"]: row for row in self.rows("s.sqlite", "SELECT * FROM trials")}
        self.assertEqual({point: (row["verdict"], row["instances"], row["runs"]) for point, row in trials.items()},
                         {f"w instances={n}": ("ok", n, 1) for n in (1, 2, 4)})
        for n in (2, 4):
            trial = trials[f"w instances={n}"]["trial"]
            rows = self.rows("s.sqlite", f"SELECT instance, name, outcome, user_s, region_s, CAST(output_tail AS TEXT) AS said FROM trial_instance WHERE trial_id = {trial} ORDER BY instance")
            self.assertEqual([(row["instance"], row["name"], row["outcome"]) for row in rows], [(i, f"instance {i} of {n}", "completed") for i in range(1, n + 1)])
            said = [dict(line.split(" ", 1) for line in row["said"].splitlines()) for row in rows]
            self.assertEqual([one["I"] for one in said], [f"am {i} of {n}" for i in range(n)])
            # Whatever each had to load: none began before the last was ready.
            self.assertGreater(min(int(one["begun"]) for one in said), max(int(one["loaded"]) for one in said))
            regions = self.rows("s.sqlite", f"SELECT run, started_ns, ended_ns, energy_j, counted FROM region WHERE trial_id = {trial} ORDER BY run")
            self.assertEqual([(row["run"], row["counted"]) for row in regions], [(i, 1) for i in range(1, n + 1)])
            whole = max(row["ended_ns"] for row in regions) - min(row["started_ns"] for row in regions)
            all_running = min(row["ended_ns"] for row in regions) - max(row["started_ns"] for row in regions)
            self.assertAlmostEqual(trials[f"w instances={n}"]["all_running_s"], all_running / 1e9, places=9)
            self.assertAlmostEqual(trials[f"w instances={n}"]["time_s"], whole / 1e9, places=9)
            self.assertEqual([row["value"] for row in self.rows("s.sqlite", f"SELECT value FROM metrics WHERE trial = {trial} AND name = 'samples'")], [10] * n)
        report = self.call("report", "s.sqlite").stdout
        self.assertRegex(report, r"instances = 4: all ran at once in \d\d\.\d % of what counts; instance 1 of 4 \d+\.\d+ s, \d+\.\d\d times as long as alone; instance 2 of 4")

    def test_the_gate_without_a_module(self):
        """Whether it is opened, or a line is read from it: a shell takes one, others as many as their buffer holds."""
        for way in (':', 'read go', 'head -n 1', 'python3 -c "import sys; sys.stdin.readline()"'):
            self.write("gate.sh", f"echo ready >\"$DVFS_PLAN_REGIONS\"\n{way} <\"$DVFS_PLAN_GO\"\nsleep 0.1\n")
            self.run_one('workloads: [{name: w, command: [sh, gate.sh], instances: 3, timeout: 20 s}]\n')
            self.assertEqual([row["outcome"] for row in self.rows("s.sqlite", "SELECT outcome FROM instances")], ["completed"] * 3)
            (self.folder / "s.sqlite").unlink()

    @testbed.on_a_busy_host
    def test_different_ones_side_by_side(self):
        self.run_one(METER + """
workloads:
  - {name: train, command: [python3, work.py, "0.2", "100", gate], metrics: [lines], instances: 2}
  - {name: infer, command: [python3, work.py, "0.4", "7", gate], metrics: [lines]}
  - {name: both, together: [train, infer]}
""")
        rows = self.rows("s.sqlite", "SELECT i.name, i.workload, i.outcome FROM instances i JOIN trials t ON t.trial = i.trial WHERE t.workload = 'both' ORDER BY i.run")
        self.assertEqual([tuple(row.values()) for row in rows],
                         [("train, instance 1 of 2", "train", "completed"), ("train, instance 2 of 2", "train", "completed"), ("infer", "infer", "completed")])
        report = json.loads(self.call("report", "s.sqlite", "--json").stdout)
        energy = self.rows("s.sqlite", "SELECT energy_j * runs AS whole, time_s * runs AS whole_s, all_running_j, all_running_s FROM trials WHERE workload = 'both'")[0]
        # 100.5 W all through, whoever runs.
        self.assertAlmostEqual(energy["whole"] / energy["whole_s"], 100.5, delta=2)
        self.assertAlmostEqual(energy["all_running_j"] / energy["all_running_s"], 100.5, delta=2)
        self.assertEqual(self.rows("s.sqlite", "SELECT count(*) AS n FROM region r JOIN trials t ON t.trial = r.trial_id WHERE t.workload = 'both' AND r.energy_j IS NOT NULL"), [{"n": 0}])
        again = self.call("report", "s.sqlite", "--recompute")
        self.assertIn("3 of 3 trials have the same energies", again.stdout)
        both = next(s for s in report["scenarios"] if s["scenario"] == "both")["points"][0]
        self.assertEqual([one["name"] for one in both["instances"]], ["train, instance 1 of 2", "train, instance 2 of 2", "infer"])
        # `train` alone is two at once already: that is not alone.
        self.assertIsNone(both["instances"][0]["slowdown"])
        self.assertEqual(both["instances"][2]["slowdown"]["pairs"], 1)
        self.assertAlmostEqual(both["all_running_share"]["mean"], 0.5, delta=0.25)
        check = json.loads(self.call("check", "s.yaml", "--json").stdout)
        self.assertEqual([one["name"] for one in check["points"][-1]["instances"]], ["train, instance 1 of 2", "train, instance 2 of 2", "infer"])

    @testbed.on_a_busy_host
    def test_the_first_to_end_neither_kills_nor_lengthens(self):
        self.run_one('workloads: [{name: w, command: [python3, work.py, "0.{instance}5", "1", gate], instances: 3, metrics: [lines]}]\n')
        rows = self.rows("s.sqlite", "SELECT outcome, region_s FROM instances ORDER BY instance")
        self.assertEqual([row["outcome"] for row in rows], ["completed"] * 3)
        trial = self.rows("s.sqlite", "SELECT * FROM trials")[0]
        for row, least in zip(rows, (0.05, 0.15, 0.25)):
            self.assertGreaterEqual(row["region_s"], least)
        self.assertLessEqual(trial["all_running_s"], rows[0]["region_s"])
        self.assertGreaterEqual(trial["time_s"], rows[2]["region_s"])

    def test_where_one_fails_the_trial_names_it_and_the_others_are_ended(self):
        self.run_one("""
workloads:
  - {name: w, command: [python3, work.py, "{seconds}", "1", gate, "{word}", "3"], instances: 3, metrics: [lines], timeout: 20 s}
axes: {seconds: [0.2], word: [fails]}
""", code=1)
        trial = self.rows("s.sqlite", "SELECT verdict, verdict_text FROM trials")[0]
        self.assertEqual(trial["verdict"], "exited")
        self.assertRegex(trial["verdict_text"], r"^instance [123] of 3 exited with 3$")

    def test_one_that_is_never_ready_is_named(self):
        for word, text in (("never", "late was not ready within the time limit, while others waited for it"),
                           ("deserts", "late ended without announcing that it was ready, while others waited for it: either all that run at once announce it, or none")):
            (self.folder / "s.sqlite").unlink(missing_ok=True)
            self.run_one(f"""
workloads:
  - {{name: soon, command: [python3, work.py, "0.1", "1", gate], metrics: [lines], timeout: 9 s}}
  - {{name: late, command: [python3, work.py, "0.1", "1", {word}], timeout: 3 s}}
  - {{name: both, together: [soon, late]}}
""", code=1, name="s")
            trial = self.rows("s.sqlite", "SELECT verdict, verdict_text FROM trials WHERE workload = 'both'")[0]
            self.assertEqual((trial["verdict"], trial["verdict_text"]), ("instance_failed", text))

    def test_ctrl_c_and_a_kill_leave_none_of_them(self):
        self.write("s.yaml", f"name: s\nconditions: {QUIET}\nobjective: time\nworkloads: [{{name: w, command: [python3, work.py, '100', '1', gate, '{self.folder}'], instances: 3}}]\n")
        for signals, code in (([signal.SIGINT], 130), ([signal.SIGKILL], -9)):
            run = subprocess.Popen(self.arguments("s.yaml"), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            there = lambda: [text for text in commands() if f"100 1 gate {self.folder}" in text]  # a python3 that is a script of others' counts too
            until = time.monotonic() + 20
            begun = lambda: [text for text in there() if re.match(r"\S*python[\d.]* work\.py", text)]
            while len(begun()) < 3 and time.monotonic() < until:
                time.sleep(0.05)
            self.assertEqual(len(begun()), 3, there())
            for one in signals:
                run.send_signal(one)
            self.assertEqual(run.wait(timeout=20), code)
            until = time.monotonic() + 5
            while there() and time.monotonic() < until:
                time.sleep(0.05)
            self.assertEqual(there(), [])

    def test_mistakes_in_the_file_are_named(self):
        for text, errors in (
            ("workloads: [{name: w, command: ['true'], instances: 0}]", ["'instances' must be a whole number from 1 to 1024, or an axis in braces such as {copies}; found '0'"]),
            ("workloads: [{name: w, command: ['true'], instances: '{n}'}]\naxes: {n: [1, some]}", ["axis 'n' is the number of copies of workload 'w', a whole number from 1 to 1024; found 'some'"]),
            ("workloads: [{name: w, command: [echo, '{instance}']}]", ["{instance} names no axis; add 'axes: {instance: [...]}', or write {{instance}} for the text itself"]),
            ("workloads: [{name: w, command: ['true']}, {name: b, together: [w]}]", ["workload 'b': 'together' names one workload; name two or more, for example together: [train, infer], or use 'instances' for copies of one"]),
            ("workloads: [{name: w, command: ['true']}, {name: b, together: [w, v]}]", ["workload 'b': 'together' names 'v', which is no workload (did you mean 'w'?)"]),
            ("workloads: [{name: w, command: ['true']}, {name: b, together: [w, w]}]", ["workload 'b': 'together' names 'w' twice; for copies write 'instances: 2' at 'w'"]),
            ("workloads: [{name: w, command: ['true']}, {name: v, command: ['true']}, {name: b, together: [w, v], timeout: 3 s}]", ["workload 'b' runs others together: 'timeout' belongs to one of those"]),
            ("workloads: [{name: w, command: ['true'], instances: 2, metrics: [{name: m, json: /m, file: out.json}]}]",
             ["workload 'w': all its copies would write 'out.json', from which metric 'm' is read: have each print its document instead, and take 'file' away"]),
            ("workloads: [{name: w, command: [echo, '{n}'], objective: {minimise: time, across: [n]}}]\naxes: {n: [1]}", ["'across' is one for all workloads: write it under the experiment's own 'objective'"]),
            ("workloads: [{name: w, command: ['true']}]\nobjective: {minimise: energy, to: {loss: '<= 1', accuracy: '>= 1'}}", ["'to' names one metric and what it is to become, for example  to: {loss: \"<= 0.35\"}"]),
            ("workloads: [{name: w, command: ['true']}]\nobjective: {minimise: energy, to: {loss: ['<= 1', '>= 0.2']}}",
             ["'to: loss' is one bound, at which what counts ends, for example  to: {loss: \"<= 0.35\"}; found a list; what else must hold goes under 'subject to'"]),
            ("workloads: [{name: w, command: ['true'], instances: 2}]\nobjective: {minimise: energy, to: {loss: '<= 1'}, per: samples}",
             ["workload 'w': 'to: loss <= 1' is about one run until it gets there, and 'per: samples' about units of work: keep one of the two",
              "workload 'w': 'to: loss <= 1' is about one run until it gets there, and several run at once here: give it one of its own (ranks of one launcher are one)"]),
            ("workloads: [{name: w, command: ['true']}]\nobjective: {minimise: energy, to: {loss: '<= 1'}}\nmeasure: {at least: 3 s}\nsearch: adaptive",
             ["workload 'w': 'to: loss <= 1' is about one run until it gets there, and 'at least' runs it again: take that away",
              "workload 'w': 'to: loss <= 1' is about one run until it gets there, and 'search: adaptive' knows no lower bounds: use 'search: full'"]),
            ("workloads: [{name: v, command: ['true'], metrics: [{name: m, json: /m, file: out.json}]}, {name: w, command: ['true'], metrics: [{name: m, json: /m, file: out.json}]}, {name: b, together: [v, w]}]",
             ["workload 'b': 'v' and 'w' would write one file 'out.json' at once, from which metric 'm' is read"]),
            ("workloads: [{name: w, command: ['true']}]\nobjective: {minimise: energy, to: {time: '<= 1 s'}}", ["'to' names a metric that the workload marks while it runs; 'time' is measured: use 'subject to'"]),
            ("workloads: [{name: w, command: ['true'], subject to: {time: '<= 1 s'}}]\nsearch: adaptive", ["workload 'w' has an objective of its own, and 'search: adaptive' weighs all workloads by one: use 'search: full', or a file for each"]),
        ):
            with self.subTest(text=text):
                self.write("bad.yaml", text + "\n")
                check = self.call("check", "bad.yaml")
                self.assertEqual(check.returncode, 2, check.stdout + check.stderr)
                found = [line.split("error: ", 1)[1] for line in check.stderr.splitlines() if "error: " in line]
                self.assertEqual(found, errors)

    def test_a_limit_holds_where_each_of_several_holds_it(self):
        # Three copies say 90, 60 and 30 ms; what is printed last is the least.
        self.run_one("""
workloads:
  - {name: w, shell: "echo p99_latency $((90 - 30 * DVFS_PLAN_INSTANCE)) ms; echo done $((DVFS_PLAN_INSTANCE + 1)) of 10; echo done $((DVFS_PLAN_INSTANCE + 2)) of 10", metrics: [lines], instances: 3, subject to: {p99_latency: "<= 70 ms"}}
  - {name: v, shell: "echo p99_latency $((90 - 30 * DVFS_PLAN_INSTANCE)) ms", metrics: [lines], instances: 3, subject to: {p99_latency: "<= 95 ms"}, objective: {minimise: time}}
""")
        self.assertEqual({(row["point"], row["value"], row["holds"]) for row in self.rows("s.sqlite", "SELECT point, value, holds FROM point_constraints")}, {("w", 90, 0), ("v", 90, 1)})
        metrics = json.loads(self.call("report", "s.sqlite", "--json").stdout)["scenarios"][1]["points"][0]["metrics"]
        self.assertEqual((metrics["p99_latency"]["mean"], metrics["done"]["count"], metrics["done"]["count_of"]), (60, 9, 30))

    def test_units_are_summed_by_each_ones_own_and_shares_are_counted(self):
        self.run_one("""
workloads:
  - {name: train, shell: "echo samples 100 of 400; echo samples 400; sleep 0.2", metrics: [lines], objective: {minimise: time, per: samples}}
  - {name: score, shell: "echo correct 87 of 100; sleep 0.1", metrics: [lines], objective: {minimise: time, per: correct}}
  - {name: both, together: [train, score]}
""")
        units = {row["workload"]: row["units"] for row in self.rows("s.sqlite", "SELECT workload, units FROM trials")}
        self.assertEqual(units, {"train": 400, "score": 87, "both": None})
        self.assertEqual([(row["name"], row["units"]) for row in self.rows("s.sqlite", "SELECT name, units FROM instances ORDER BY run")], [("train", 400), ("score", 87)])
        report = json.loads(self.call("report", "s.sqlite", "--json").stdout)
        both = next(s for s in report["scenarios"] if s["scenario"] == "both")["points"][0]
        for one in both["instances"]:  # alone it takes about as long; by each other's units it would be some hundred times
            self.assertLess(abs(one["slowdown"]["value"]), 5)

    def test_of_different_ones_some_may_mark_nothing(self):
        self.run_one("""
workloads:
  - {name: train, command: [python3, work.py, "0.3", "100"], metrics: [lines]}
  - {name: background, command: [sleep, "0.1"]}
  - {name: both, together: [train, background]}
""")
        trial = self.rows("s.sqlite", "SELECT verdict, region, time_s, all_running_s FROM trials WHERE workload = 'both'")[0]
        self.assertEqual((trial["verdict"], trial["region"]), ("ok", "work"))
        self.assertGreaterEqual(trial["time_s"], 0.3)
        # It runs from its start to its end: python takes a while until it marks, so all of its 0.1 s or none of it may lie in what counts.
        self.assertLess(trial["all_running_s"], 0.3)
        beside = self.call("report", "s.sqlite").stdout
        self.assertIn("background: its own time is not known, since it marks nothing of what counts or told no work", " ".join(beside.split()))
        self.assertNotIn("background, did not run alone here", beside)

    def test_of_different_ones_none_tells_in_some_trials_and_not_in_others(self):
        """Its work would be in some of the trials alone, and a limit judged by the other one: in whatever order they run, and over several sessions."""
        text = """
workloads:
  - {name: a, shell: "echo begin w >>$DVFS_PLAN_REGIONS; sleep 0.3; echo end w >>$DVFS_PLAN_REGIONS; echo items 100; echo lat 50 ms", metrics: [lines]}
  - {name: b, shell: "TELLS", metrics: [lines]}
  - {name: both, together: [a, b]}
axes: {set.k: [ORDER]}
set: {k: {command: [sh, -c, 'echo $0 >k', '{value}'], read: [cat, k], values: [1, 2]}}
order: listed
"""
        (self.folder / "k").write_text("1\n")
        head = f"name: s\nconditions: {QUIET}\nobjective: {{minimise: time, per: items, subject to: {{lat: '<= 80 ms'}}}}\nreference: {{set.k: 2}}\n"
        for tells, wrong in (("sleep 0.3; if [ {set.k} = 2 ]; then echo items 100; echo lat 60 ms; fi", ("no_metric", "told no 'items'")), ("sleep 0.3; echo items 100; if [ {set.k} = 2 ]; then echo lat 60 ms; fi", ("no_metric", "told no 'lat'")),
                             ("echo items 100; echo lat 60 ms; if [ {set.k} = 2 ]; then echo begin w >>$DVFS_PLAN_REGIONS; sleep 0.3; echo end w >>$DVFS_PLAN_REGIONS; else sleep 0.3; fi", ("no_region", "marked no region"))):
            for order in ("1, 2", "2, 1"):
                with self.subTest(wrong=wrong, order=order):
                    one = head + text.replace("TELLS", tells).replace("ORDER", order)
                    self.write("s.yaml", one + "repeat: 1\n")
                    run = self.call("s.yaml", "--fresh", "--no-html")
                    self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
                    self.write("s.yaml", one + "repeat: 2\n")
                    self.call("s.yaml", "--no-html")
                    trials = self.rows("s.sqlite", "SELECT trial, verdict, verdict_text, point FROM trials WHERE workload = 'both' AND role <> 'warm_up' ORDER BY trial")
                    for trial in trials:
                        if trial["point"] == "both set.k=2":
                            self.assertEqual(trial["verdict"], "ok", trial)
                        else:
                            self.assertEqual(trial["verdict"], wrong[0], trial)
                            self.assertRegex(trial["verdict_text"], f"^'b' {wrong[1]} here, and did in both set.k=2 #1")
                    self.assertNotIn("not as written", self.call("report", "s.sqlite").stdout)
                    if order == "1, 2":
                        self.assertIn("both set.k=1 #1 does not count any more", " ".join(run.stdout.split()))

    @testbed.on_a_busy_host
    def test_a_limit_of_one_workload_is_none_of_the_others(self):
        self.write("s.yaml", f"""
name: s
conditions: {QUIET}
repeat: 2
workloads:
  - {{name: decode, command: [python3, -c, "import time; print('p99_latency', {{ms}}, 'ms'); time.sleep(1 - {{ms}} / 100)"], metrics: [lines], subject to: {{p99_latency: "<= 40 ms"}}}}
  - {{name: prefill, command: [python3, -c, "import time; time.sleep(1 - {{ms}} / 100)"]}}
axes: {{ms: [30, 60, 90]}}
objective: {{minimise: time, across: [ms], same work: true}}
""")
        run = self.call("s.yaml")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        report = json.loads(self.call("report", "s.sqlite", "--json").stdout)
        scenarios = {s["scenario"]: s for s in report["scenarios"]}
        self.assertEqual(scenarios["decode"]["best_settings"], {"ms": "30"})
        self.assertEqual(scenarios["prefill"]["best_settings"], {"ms": "90"})
        self.assertEqual((scenarios["decode"]["constraints"], scenarios["prefill"]["constraints"]), (["p99_latency <= 40 ms"], []))
        self.assertTrue(any(note.startswith("decode: without the constraints the least would be at ms = 90, ") and note.endswith(" (which does not hold p99_latency <= 40 ms: it has 90 ms)") for note in report["notes"]), report["notes"])
        self.assertEqual({(row["point"], row["holds"]) for row in self.rows("s.sqlite", "SELECT point, holds FROM point_constraints")},
                         {("decode ms=30", 1), ("decode ms=60", 0), ("decode ms=90", 0)})

    def test_a_share_that_is_a_count_knows_that_all_of_a_few_is_not_all(self):
        self.write("s.yaml", f"""
name: s
conditions: {QUIET}
repeat: 3
workloads: [{{name: w, shell: "echo slo_attained {{of}} of {{of}}; sleep 0.02", metrics: [lines]}}]
axes: {{of: [20, 2000]}}
objective: {{minimise: time, across: [of], same work: true, subject to: {{slo_attained: ">= 99 %"}}}}
""")
        self.assertEqual(self.call("s.yaml").returncode, 0)
        rows = {row["point"]: (row["value"], row["holds"], row["certain"]) for row in self.rows("s.sqlite", "SELECT point, value, holds, certain FROM point_constraints")}
        self.assertEqual(rows, {"w of=20": (100, 1, 0), "w of=2000": (100, 1, 1)})
        self.assertIn("slo_attained 100.0 ± 0.0 % (60 of 60, [93.98, 100.00] % by the count alone)", self.call("report", "s.sqlite").stdout)

    def test_answers_that_become_slower_are_told_and_steady_ones_are_not(self):
        for name, slower in (("slower", 4), ("steady", 0)):
            self.write("latency.py", f"import os, random, sys\nopen('count', 'a').write('x')\nn = os.path.getsize('count')\nprint('p99_latency', 100 * float(sys.argv[1]) + {slower} * n + random.uniform(0, 3), 'ms')\n")
            self.write("s.yaml", f"name: {name}\nconditions: {QUIET}\nrepeat: 6\nobjective: time\nworkloads: [{{name: w, command: [python3, latency.py, '{{n}}'], metrics: [lines]}}]\naxes: {{n: [1, 2, 3, 4, 5]}}\nobjective: {{minimise: time, across: [n], same work: true}}\n".replace("objective: time\n", ""))
            (self.folder / "count").unlink(missing_ok=True)
            self.assertEqual(self.call("s.yaml").returncode, 0)
            report = json.loads(self.call("report", f"{name}.sqlite", "--json").stdout)
            drift = report["scenarios"][0]["metric_drift"]
            notes = [note for note in report["notes"] if "p99_latency" in note]
            if slower:
                self.assertEqual([one["metric"] for one in drift], ["p99_latency"])
                self.assertGreater(drift[0]["change"]["low_95"], 0)
                self.assertRegex(notes[0], r"^w: p99_latency changed by \+\d+\.\d % \(95 % interval \+\d+\.\d to \+\d+\.\d %\) from the first half of the blocks to the second, on the average over its settings: what is measured is not the same any more$")
            else:
                self.assertEqual((drift, notes), ([], []))

    @testbed.on_a_busy_host
    def test_energy_to_a_target_and_what_does_not_get_there(self):
        self.write("s.yaml", f"""
name: s
conditions: {QUIET}
repeat: 2
{METER}
workloads: [{{name: train, command: [python3, approach.py, "{{rate}}"]}}]
axes: {{rate: [0.5, 1.2, 2.4]}}
objective: {{minimise: energy, across: [rate], same work: true, to: {{loss: "<= 0.4"}}}}
""")
        run = self.call("s.yaml")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        trials = self.rows("s.sqlite", "SELECT point, verdict, verdict_text, time_s, energy_j FROM trials ORDER BY point")
        for trial in trials:
            rate = float(trial["point"].split("=")[1])
            if rate == 0.5:
                self.assertEqual(trial["verdict"], "censored")
                self.assertRegex(trial["verdict_text"], r"^it did not reach loss <= 0\.4: the nearest of \d+ values was 0\.5\d*; what it used until its end is a lower bound$")
                continue
            self.assertEqual(trial["verdict"], "ok")
            # The first mark at or behind the moment, 50 ms apart.
            self.assertGreaterEqual(trial["time_s"], 0.6 / rate - 1e-3)
            self.assertLess(trial["time_s"], 0.6 / rate + 2)
            self.assertAlmostEqual(trial["energy_j"] / trial["time_s"], 100.5, delta=1.5)
        marks = self.rows("s.sqlite", "SELECT value, after_s, energy_j FROM metrics WHERE name = 'loss' AND after_s > 0.1 AND energy_j IS NOT NULL")
        self.assertGreater(len(marks), 40)
        for mark in marks:
            self.assertAlmostEqual(mark["energy_j"] / mark["after_s"], 100.5, delta=2.5)
        report = self.call("report", "s.sqlite")
        self.assertIn("train: the least energy to reach loss <= 0.4 at rate = 2.4", report.stdout)
        self.assertRegex(report.stdout, r"At rate = 0\.5 2 of 2 trials did not reach loss <= 0\.4: more than 1\d\d(\.\d)? J there\.")
        data = json.loads(self.call("report", "s.sqlite", "--json").stdout)
        slow = next(p for p in data["scenarios"][0]["points"] if p["point"] == "train rate=0.5")
        self.assertEqual((slow["censored"], slow["objective"]), (2, None))
        self.assertGreater(slow["objective_more_than"], 95)
        self.assertEqual(len({row["trial"] for row in data["approach"]}), 6)
        again = self.call("report", "s.sqlite", "--recompute")
        self.assertIn("6 of 6 trials have the same energies", again.stdout)


def commands():
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                found.append(pathlib.Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip())
            except OSError:
                pass
    return found


if __name__ == "__main__":
    testbed.main()
