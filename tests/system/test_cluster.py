"""Blocks on the nodes of a real Slurm: right answer, each trial once, whatever dies on the way."""
import json
import math
import shutil
import signal
import statistics
import time
import unittest

import slurm_cluster
import testbed
from on_cluster import CLOCKS, METER, WORK, OnACluster, experiment, joules

@unittest.skipIf(slurm_cluster.missing(), slurm_cluster.missing())
class Cluster(OnACluster):
    def setUp(self):
        self.set_up(more="MaxArraySize=101")

    @testbed.on_a_busy_host
    def test_a_sweep_over_three_nodes(self):
        """n2 dies twice; the least energy is where arithmetic says, the nodes' scatter within its interval, each planned trial there once."""
        self.write(experiment())
        process = self.start("sweep.yaml")
        for death in range(2):
            self.wait_for(lambda: self.running("n2") and self.handed_in() > death, "a block on n2")
            self.cluster.kill_node("n2")
            self.wait_for(lambda: self.is_down("n2"), "n2 counts as down")
            self.cluster.start_node("n2")
        status, out, err = self.finish(process)
        self.assertEqual(status, 0, out + err)
        self.require_each_trial_once(6)
        report = self.report()
        scenario = report["scenarios"][0]
        best = min(CLOCKS, key=joules)
        self.assertIn(f"work clock={best:g}", scenario["not_told_apart"])
        # n2 may come back too late for a block of its own.
        nodes = [node["node"] for node in scenario["nodes"]]
        self.assertIn(nodes, [["n1", "n2", "n3"], ["n1", "n3"]])
        saving = 1 - joules(best) / joules(CLOCKS[-1])
        point = next(p for p in scenario["points"] if p["point"] == f"work clock={best:g}")
        self.assertLess(abs(point["saving"]["value"] - saving), 0.05)
        spread = scenario["spread_between_nodes"]
        truth = statistics.stdev(math.log({"n1": 1, "n2": 1.06, "n3": 0.97}[node]) for node in nodes)
        self.assertLessEqual(spread["low_95"], truth)
        self.assertGreaterEqual(spread["high_95"], truth)
        if "n2" in nodes:
            self.assertGreater(scenario["nodes"][1]["against_others"]["value"], 0.03)
        self.assertIn("Each node by itself:", out)
        self.assertIn(f"on {len(nodes)} of {len(nodes)} nodes", " ".join(report["answer"]))

    def test_a_task_that_runs_twice(self):
        """n2 is cut off from the controller and goes on, while its block is run again on n3: one of the two counts."""
        slow = [0.15 + 0.01 * i for i in range(10)]
        self.write(experiment(blocks=2, clocks=slow))
        process = self.start("sweep.yaml")
        self.wait_for(lambda: self.handed_in("s") == 2 and self.handed_in() > 2, "both blocks")
        at = "n2" if self.running("n2") else "n1"
        self.cluster.link(at, "down")
        self.wait_for(lambda: self.is_down(at), "it counts as down")
        self.wait_for(lambda: self.handed_in("s") == 3, "its block runs elsewhere too")
        self.cluster.link(at, "up")
        status, out, err = self.finish(process)
        self.assertEqual(status, 0, out + err)
        self.require_each_trial_once(2, slow)
        runs = self.rows("SELECT block, node, complete, left_out FROM block_run ORDER BY block")
        self.assertEqual(len(runs), 3, (runs, err, sorted(path.name for path in (self.folder / "sweep.nodes/in").glob("*.s*")), [path.read_text() for path in (self.folder / "sweep.nodes/logs").glob("*")]))
        left_out = [run for run in runs if run[3] is not None]
        self.assertEqual(len(left_out), 1, runs)
        counts = next(run for run in runs if run[0] == left_out[0][0] and run[3] is None)
        self.assertEqual(left_out[0][3], f"block {counts[0]} counts as {counts[1]} ran it")
        self.assertIn(left_out[0][3], out)
        # Collected again by another collector: the same, but for what the one that does not count has handed in since.
        counted, all_of_them = "SELECT key, energy_j FROM trials WHERE left_out IS NULL ORDER BY key", "SELECT key, energy_j FROM trials ORDER BY key"
        before, there = self.rows(counted), self.rows(all_of_them)
        self.assertEqual(self.run_all("collect", "sweep.yaml", "--quiet")[0], 0)
        self.assertEqual(self.rows(counted), before)
        self.assertLessEqual(set(there), set(self.rows(all_of_them)))

    @testbed.on_a_busy_host
    def test_submitted_left_and_collected_while_the_controller_restarts(self):
        self.write(experiment(blocks=3, clocks=CLOCKS[:4]))
        status, out, err = self.run_all("submit", "sweep.yaml", "--quiet")
        self.assertEqual((status, out, err), (0, "submitted; dvfs-plan collect sweep.yaml collects what is finished, "
                                                 f"dvfs-plan status {self.folder}/sweep.sqlite shows how far it is\n", ""))
        again = self.run_all("submit", "sweep.yaml", "--quiet")
        self.assertEqual(again[0], 0, again)
        self.assertEqual(len(self.rows("SELECT job FROM submission")), 1, "what waits or runs is not submitted again")
        self.cluster.stop_controller()
        process = self.start("sweep.yaml")
        time.sleep(3)
        self.cluster.start_controller()
        status, out, err = self.finish(process)
        self.assertEqual(status, 0, out + err)
        self.assertIn("asked again until it answers, the nodes go on meanwhile", err)
        self.require_each_trial_once(3, CLOCKS[:4])

    @testbed.on_a_busy_host
    def test_a_search_that_three_nodes_share(self):
        """Each node asks for its next trial when its last is finished, nobody being logged in; n2 dies on the way."""
        clocks = [0.5 + 0.125 * i for i in range(24)]
        text = experiment(clocks=clocks, more="search: {stop: {regret: 4 %}, at most: 96 trials}\n").replace("repeat: 6\n", "")
        self.write(text)
        status, out, err = self.run_all("submit", "sweep.yaml", "--quiet")
        self.assertEqual(status, 0, err)
        self.wait_for(lambda: self.running("n2") and self.handed_in() > 6, "the first trials")
        self.cluster.kill_node("n2")
        self.wait_for(lambda: self.is_down("n2"), "n2 counts as down")
        self.cluster.start_node("n2")
        status, out, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 0, out + err)
        self.assertFalse(self.cluster.call("squeue", "-h", "-t", "PD").stdout.strip(), "what waited is not needed any more")
        report = self.report()
        scenario = report["scenarios"][0]
        search = scenario["search"]
        self.assertLessEqual(search["bound"], 0.04, search)
        best = min(joules(c) for c in clocks)
        named = float(search["best"].split("=")[1])
        self.assertLessEqual(joules(named) / best - 1, search["bound"])
        # Each machine's level is told apart from the settings.
        self.assertEqual({one["node"] for one in search["on_nodes"]} - {"n1", "n2", "n3"}, set())
        self.assertGreaterEqual(len(search["on_nodes"]), 2)
        self.assertIn("machines of this type", " ".join(report["answer"]) + out)
        # References apart, no setting was begun on two nodes before its first trial was known.
        claims = [json.loads(path.read_text()) for path in sorted((self.folder / "sweep.nodes/in").glob("*.claim"))]
        first = [c["point"] for c in claims if c["role"] == "point" and c["attempt"] == 1][:6]
        self.assertEqual(len(set(first)), len(first), claims)
        self.assertEqual(self.rows("SELECT block, count(*) FROM block_run WHERE left_out IS NULL GROUP BY block HAVING count(*) <> 1"), [])
        # It is over: the same command reports, and submits nothing.
        before = self.rows("SELECT count(*) FROM submission")
        status, again, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 0, err)
        self.assertEqual(self.rows("SELECT count(*) FROM submission"), before)

    def test_two_collectors_and_the_end_of_all_jobs(self):
        self.write(experiment(blocks=30, machines="nodes: 3, at once: 2"))
        began = time.monotonic()
        # What its user wishes of questions of his own is not ours.
        process = self.start("sweep.yaml", SQUEUE_PARTITION="none", SBATCH_WAIT="1")
        self.wait_for(lambda: self.handed_in() > 2, "the first trials")
        status, _, err = self.run_all("collect", "sweep.yaml")
        self.assertEqual(status, 3)
        host = self.cluster.host
        self.assertEqual(err, f"error: {self.folder}/sweep.nodes is collected already, by process {process.pid} on {host}\n"
                              "  hint: `dvfs-plan status RESULT --watch` looks on; one collector writes at a time\n")
        # Of "1-29:2" squeue --array leaves out the last, which would be submitted again behind the patience with a folder.
        self.wait_for(lambda: time.monotonic() > began + 12, "time for what must not be submitted again")
        process.send_signal(signal.SIGINT)
        status, out, err = self.finish(process)
        self.assertEqual(status, 130, out + err)
        self.assertIn("interrupted; the tasks go on by themselves. dvfs-plan sweep.yaml comes back to them, dvfs-plan sweep.yaml --cancel ends them", err)
        self.assertTrue(self.cluster.call("squeue", "-h").stdout.strip())
        said = err
        status, out, err = self.finish(self.start("sweep.yaml", "--cancel", SCANCEL_STATE="SUSPENDED"))
        self.assertEqual(status, 0, err)
        self.assertIn("2 jobs cancelled", out, said)
        self.wait_for(lambda: not self.cluster.call("squeue", "-h").stdout.strip(), "no task is left")
        finished = self.rows("SELECT count(*) FROM trial")[0][0]
        self.assertGreater(finished, 2)
        # kill -9 of a collector leaves its lock; the next one sees that its process is gone.
        process = self.start("sweep.yaml")
        self.wait_for(lambda: (self.folder / "sweep.nodes/collector").exists(), "a collector")
        process.kill()
        process.communicate()
        status, out, err = self.run_all("sweep.yaml", "--cancel")
        self.assertEqual(status, 0, err)

    def test_tasks_that_somebody_cancels_are_not_submitted_again(self):
        """300 blocks wait; an administrator's scancel of all is not undone; arrays are no longer than the site allows."""
        self.write(experiment(blocks=300, clocks=CLOCKS[:2]))
        process = self.start("sweep.yaml")
        self.wait_for(lambda: self.handed_in() > 2, "the first trials")
        jobs = self.rows("SELECT job, json_array_length(blocks) FROM submission")
        self.assertEqual([blocks for _, blocks in jobs], [100, 100, 100])  # MaxArraySize=101
        self.cluster.call("scancel", *[job for job, _ in jobs])
        status, out, err = self.finish(process)
        self.assertEqual(status, 130, out + err)
        self.assertIn("were cancelled by somebody; dvfs-plan sweep.yaml submits what is missing", err)
        self.assertEqual(len(self.rows("SELECT job FROM submission")), 3)
        self.wait_for(lambda: not self.cluster.call("squeue", "-h").stdout.strip(), "no task is left")
        finished = self.rows("SELECT count(*) FROM trial")[0][0]
        self.assertGreater(finished, 2)
        status, out, err = self.run_all("submit", "sweep.yaml")
        self.assertEqual(status, 0, err)
        self.assertGreater(len(self.rows("SELECT job FROM submission")), 3)
        self.assertEqual(self.run_all("sweep.yaml", "--cancel")[0], 0)

    def test_nodes_that_are_no_good_are_left_out(self):
        """One on which every trial fails, one whose meter is silent: the third runs all blocks."""
        (self.folder / "work.py").write_text(WORK.replace("clock = ", "sys.exit(7) if os.uname().nodename == 'n1' else None\nclock = "))
        (self.folder / "meter.py").write_text(METER.replace("while True", "while os.uname().nodename == 'n3':\n    time.sleep(1)\nwhile True"))
        self.write(experiment(blocks=2, clocks=CLOCKS[:4]))
        status, out, err = self.run_all("sweep.yaml")
        if "node n3 cannot run it" in err:  # it was asked for the plan
            status, out, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 0, out + err)
        self.require_each_trial_once(2, CLOCKS[:4])
        left_out = dict(self.rows("SELECT node, why FROM node_left_out"))
        if "n1" in left_out:
            self.assertIn("3 trials in a row failed, the last: work clock=", left_out["n1"])
            self.assertIn("exited with 7", left_out["n1"])
        self.assertEqual({row[0] for row in self.rows("SELECT DISTINCT node FROM block_run WHERE left_out IS NULL")} & set(left_out), set())
        self.assertTrue(left_out, err)

    @testbed.on_a_busy_host
    def test_a_night_over_nodes_grows(self):
        """More values and blocks run beside the reference in blocks of their own, nothing that is there is run again or changed; a question alone submits no block."""
        all_trials = "SELECT key, block, energy_j, time_s FROM trials WHERE left_out IS NULL AND role NOT IN ('warm_up', 'idle_before', 'idle_after') ORDER BY key"
        self.write(experiment(blocks=3, clocks=CLOCKS[2:5]))
        status, _, err = self.run_all("sweep.yaml", "--quiet")
        self.assertEqual(status, 0, err)
        before = self.rows(all_trials)
        self.assertEqual(len(before), 12)
        self.write(experiment(blocks=4, clocks=CLOCKS[:5], machines="nodes: 3, time: 50 min"))
        status, out, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 0, out + err)
        self.assertRegex(err, r"(?m)^added: .*clock.*")
        after = self.rows(all_trials)
        self.assertEqual([row for row in after if row in before], before, "what is there stays what it is")
        # Two new values and the reference, twice a block, in four blocks; one more block of the two that were there, which has the reference in common with one of those.
        new = [(key.split(" #")[0], block) for key, block, *_ in after if block > 3 and " rerun " not in key]
        self.assertEqual({block for _, block in new}, {4, 5, 6, 7})
        each = {point: sum(one == point for one, _ in new) for point, _ in new}
        self.assertEqual({point: count for point, count in each.items() if point != f"work clock={CLOCKS[4]:g}"},
                         {f"work clock={CLOCKS[0]:g}": 4, f"work clock={CLOCKS[1]:g}": 4, f"work clock={CLOCKS[2]:g}": 1, f"work clock={CLOCKS[3]:g}": 1})
        self.assertEqual(each[f"work clock={CLOCKS[4]:g}"], 8)
        self.assertEqual({row[0] for row in self.rows("SELECT verdict FROM trials WHERE left_out IS NULL")}, {"ok"})
        report = self.report()
        scenario = report["scenarios"][0]
        self.assertEqual(len(scenario["points"]), 5)
        for point in scenario["points"]:
            if point["settings"]["clock"] != f"{CLOCKS[4]:g}":
                saving = 1 - joules(float(point["settings"]["clock"])) / joules(CLOCKS[4])
                self.assertLess(abs(point["saving"]["value"] - saving), 0.05, point)
        self.assertTrue(any("added" in note for note in report["notes"]), report["notes"])
        submitted = len(self.rows("SELECT job FROM submission"))
        self.write(experiment(blocks=4, clocks=CLOCKS[:5]).replace("minimise: energy", "minimise: time"))
        status, out, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 0, out + err)
        self.assertIn("asked otherwise: ", err)
        self.assertEqual((self.rows(all_trials), len(self.rows("SELECT job FROM submission"))), (after, submitted))
        self.assertEqual(self.report()["scenarios"][0]["best_settings"], {"clock": f"{CLOCKS[4]:g}"})
        # Another partition's time, say, is no other plan.
        self.write(experiment(blocks=4, clocks=CLOCKS[:5], machines="nodes: 2").replace("minimise: energy", "minimise: time"))
        status, out, err = self.run_all("submit", "sweep.yaml")
        self.assertEqual((status, "nothing is left to submit" in out), (0, True), out + err)
        self.write(experiment(blocks=4, clocks=CLOCKS[:5]).replace('"{clock}"', '"{clock}", more'))
        status, _, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 2, err)
        self.assertIn("sweep.sqlite holds trials of another plan; what changed:", err)
        self.assertEqual(self.rows(all_trials), after)

    def test_a_file_that_is_changed_while_tasks_wait(self):
        """They run what was submitted; --cancel and collect go by it; only what means the same is gone on with."""
        submitted = experiment(blocks=3, clocks=CLOCKS[:4], machines="nodes: 1")
        self.write(submitted)
        status, _, err = self.run_all("submit", "sweep.yaml")
        self.assertEqual(status, 0, err)
        self.write(experiment(blocks=3, clocks=CLOCKS[:5], machines="nodes: 1"))
        status, _, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 2)
        self.assertRegex(err, f"^error: {self.folder}/sweep.sqlite was submitted with another sweep.yaml, and (1 task of it still waits or runs|[23] tasks of it still wait or run)\n"
                              "  hint: let them finish, or end them \\(dvfs-plan sweep.yaml --cancel; what is finished stays\\): the same command then adds what the file has now; "
                              "`dvfs-plan collect sweep.yaml` takes what is finished of what was submitted\n$")
        status, _, err = self.run_all("sweep.yaml", "--fresh")
        self.assertEqual((status, err.splitlines()[1]), (3, "  hint: dvfs-plan sweep.yaml --cancel  ends them"), err)
        # Its result being away all the same: they would hand in to the new night.
        (self.folder / "sweep.sqlite").rename(self.folder / "away.sqlite")
        status, _, err = self.run_all("sweep.yaml", "--fresh")
        self.assertEqual(status, 3, err)
        self.assertRegex(err, r"^error: [23] tasks of the former submission still wait or run\n  hint: scancel \d+  ends them\n$")
        (self.folder / "away.sqlite").rename(self.folder / "sweep.sqlite")
        self.wait_for(lambda: self.handed_in("z") > 0, "a block that began after the change")
        status, out, err = self.run_all("collect", "sweep.yaml")
        self.assertEqual(status, 0, err)
        self.assertTrue(err.startswith("note: sweep.yaml has changed since it was submitted; this is of what was submitted\n"), err)
        self.assertIn("the tasks go on by themselves", err)
        self.write(submitted.replace("seconds", "seconds  # thought about") + "\n# a comment\n")
        status, out, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 0, err)
        self.require_each_trial_once(3, CLOCKS[:4])
        status, out, err = self.run_all("submit", "sweep.yaml", "--quiet")
        self.assertEqual((status, out), (0, f"nothing is left to submit: all of it is in {self.folder}/sweep.sqlite; dvfs-plan collect sweep.yaml reports\n"), err)
        self.assertIn("done", self.run_all("status", "sweep.sqlite")[1].splitlines())  # beside warnings, where the machine is busy
        self.write("workloads: [\n  - broken\n" + submitted)
        self.assertEqual(self.run_all("sweep.yaml", "--fresh")[0], 2)
        self.write(submitted.replace("nodes: 1", "nodes: 4"))
        there = sorted(path.name for path in self.folder.glob("sweep.*"))
        status, _, err = self.run_all("sweep.yaml", "--fresh")
        self.assertEqual((status, err.splitlines()[0]), (3, "error: 'nodes' asks for 4 nodes, and 3 work now: n1,n2,n3"))
        self.assertEqual(sorted(path.name for path in self.folder.glob("sweep.*")), there, "nothing was set aside")
        self.write(submitted)
        status, out, err = self.run_all("submit", "sweep.yaml", "--fresh", "--json", "--quiet")
        self.assertEqual(status, 0, err)
        self.assertEqual(len(list(self.folder.glob("sweep.2*.html"))), 1, "the old page is kept beside the old result")
        jobs = json.loads(out)["jobs"]
        self.assertEqual(len(jobs), 1)
        self.write(submitted.replace("repeat: 3", "repeat: three"))
        status, out, err = self.run_all("sweep.yaml", "--cancel", "--json")
        self.assertEqual((status, json.loads(out)), (0, {"result": f"{self.folder}/sweep.sqlite", "jobs_cancelled": jobs}), err)
        self.wait_for(lambda: not self.cluster.call("squeue", "-h").stdout.strip(), "no task is left")
        self.assertIn("no task of job", self.run_all("status", "sweep.sqlite", "--watch")[1])
        self.write(submitted)
        status, _, err = self.run_all("collect", "sweep.yaml")
        self.assertIn("not all of it is there, and no task waits or runs: dvfs-plan sweep.yaml submits what is missing\n", err)

    def test_a_trial_that_never_fits_into_its_time(self):
        """Each task is told to end before its first trial is finished, as Slurm does when its time is over."""
        (self.folder / "work.py").write_text(WORK.replace("clock = ", """
pid = os.getpid()
while b"--folder" not in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\\0"):
    pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
os.kill(pid, 15)
time.sleep(5)
clock = """, 1))
        self.write(experiment(blocks=1, clocks=CLOCKS[:2], machines="nodes: 1"))
        status, _, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 6, err)
        self.assertIn("warning: block 1 on n1: it was told to end (its 'time' is over, or somebody ended it)", err)
        self.assertIn("error: block 1 was submitted 3 times in a row, and not one more trial of it was finished; the last that a task said: n1: it was told to end", err)
        self.assertIn("  hint: 'time' under 'slurm' must hold the longest trial, its warm-up and what comes before; what the tasks printed is in ", err)

    def test_check_says_what_slurm_would_do(self):
        self.write(experiment(clocks=CLOCKS[:4], machines="nodes: 3, at once: 2, time: 30 min"))
        status, out, err = self.run_all("check", "sweep.yaml")
        self.assertEqual((status, err), (0, ""), out)
        lines = out.splitlines()
        self.assertEqual((lines[0], lines[2]), ("sweep: Slurm can run it", "  n1,n2,n3: 2 CPUs (1:2:1), 1000 MB, (null), features (null)"))
        self.assertRegex(lines[3], r"^  Job \d+ to start at \S+ using 2 processors on nodes n\d in partition batch$")
        self.assertEqual(lines[4:], ["  6 blocks over 3 nodes, 2 at once", "  4 points, 30 trials",
                                     "  clocks, sensors and programs are the nodes': one of them is asked first when it is submitted", "", f"result file: {self.folder}/sweep.sqlite"])
        self.assertEqual(self.cluster.call("squeue", "-h", "--states=all").stdout, "")
        self.write(experiment(machines="nodes: 8, time: 2 h").replace("repeat: 6", "repeat: {min: 2, max: 9, until: 1 %}"))
        status, out, err = self.run_all("check", "sweep.yaml", "--json")
        self.assertEqual(status, 3, err)
        found = json.loads(out)
        self.assertFalse(found["runnable"])
        self.assertEqual(found["problems"], [
            "sweep.yaml:17:19: error: 'repeat: {until}', which is decided when the first blocks are known, is not for 'machines'\n"
            "    hint: write  repeat: N  with as many blocks as the nodes shall share; nothing was submitted",
            "sweep.yaml:17:19: error: 'time' asks for 120 min, and partition 'batch' ends jobs after 60 min\n"
            "    hint: write  time: 60 min  or less: a block that its time cuts off goes on where it was; nothing was submitted".replace("partition 'batch'", "the default partition"),
            "'nodes' asks for 8 nodes, and 3 work now: n1,n2,n3\n    hint: write  nodes: 3  or fewer, or wait until more are up"])

    def test_what_slurm_refuses_is_said(self):
        self.write(experiment(machines="nodes: 4"))
        self.assertEqual(self.run_all("sweep.yaml")[2], "error: 'nodes' asks for 4 nodes, and 3 work now: n1,n2,n3\n"
                                                        "  hint: write  nodes: 3  or fewer, or wait until more are up\n")
        # A node that is in both is one.
        self.write(experiment(machines="nodes: 4, partition: 'batch,hidden'"))
        self.assertEqual(self.run_all("sweep.yaml")[2].splitlines()[0], "error: 'nodes' asks for 4 nodes, and 3 work now: n1,n2,n3")
        self.write(experiment(machines="nodes: 1, partition: night"))
        self.assertEqual(self.run_all("sweep.yaml")[2], "error: Slurm has no partition 'night', or it has no nodes\n"
                                                        "  hint: `sinfo` lists the partitions; write one as  machines: {slurm: {partition: ...}}\n")
        self.write(experiment(machines="nodes: 1, constraint: icelake"))
        self.assertEqual(self.run_all("sweep.yaml")[2], "error: no node of the default partition has the feature 'icelake' that 'constraint' asks for\n"
                                                        "  hint: its nodes have no features: leave 'constraint' out\n")
        self.write(experiment(machines="nodes: 1, partition: batch, time: 90 min"))
        status, _, err = self.run_all("sweep.yaml")
        self.assertEqual((status, err), (2, "sweep.yaml:17:19: error: 'time' asks for 90 min, and partition 'batch' ends jobs after 60 min\n"
                                            "  hint: write  time: 60 min  or less: a block that its time cuts off goes on where it was; nothing was submitted\n"))
        self.write(experiment(machines="nodes: 1, reservation: none"))
        status, _, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 3)
        self.assertEqual(err, "error: sbatch: Batch job submission failed: Requested reservation is invalid\n")
        self.write(experiment(machines="nodes: 1, extra: [--array=1]"))
        status, _, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 2)
        self.assertIn("error: 'extra' must not hold --array=1: 'repeat' says how many blocks there are", err)
        self.write(experiment(machines="nodes: 1").replace("repeat: 6", "repeat: {min: 2, max: 9, until: 1 %}"))
        status, _, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 2)
        self.assertIn("error: 'repeat: {until}', which is decided when the first blocks are known, is not for 'machines'", err)
        self.cluster.environment["PATH"] = "/usr/games"
        self.write(experiment(machines="nodes: 1"))
        self.assertEqual(self.run_all("sweep.yaml")[2], "error: 'machines: slurm' needs Slurm's commands, and sbatch is not in PATH\n"
                                                        "  hint: run it on a login node of the cluster, or leave 'machines' out to sweep this machine\n")

    def test_a_task_that_is_told_to_end_keeps_what_is_finished(self):
        """Time limit and preemption: Slurm sends SIGTERM first."""
        self.write(experiment(blocks=1, machines="nodes: 1"))
        process = self.start("sweep.yaml")
        self.wait_for(lambda: self.handed_in() > 3, "the first trials")
        job = self.rows("SELECT job FROM submission")[0][0]
        self.cluster.call("scancel", "--signal=TERM", "--batch", f"{job}_1")
        status, out, err = self.finish(process)
        self.assertEqual(status, 0, out + err)
        self.require_each_trial_once(1)
        # It went on where it was, on the node that has its file.
        self.assertEqual(self.rows("SELECT count(*) FROM block_run"), [(1,)])
        self.assertEqual(self.rows("SELECT count(*) FROM session"), [(2,)])


if __name__ == "__main__":
    testbed.main()
