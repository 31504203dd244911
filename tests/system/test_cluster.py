"""Blocks on the nodes of a real Slurm: right answer, each trial once, whatever dies on the way."""
import json
import math
import os
import pathlib
import signal
import shutil
import sqlite3
import statistics
import subprocess
import time
import unittest

import slurm_cluster
import testbed

PROGRAM = str(testbed.BIN / "dvfs-plan")

# What a node draws while the work runs at a setting: the meter reads it from the node's own folder.
WORK = """#!/usr/bin/env python3
import os, pathlib, sys, time
import dvfs_plan_regions as mark
clock = float(sys.argv[1])
level = {"n1": 1.00, "n2": 1.06, "n3": 0.97}[os.uname().nodename]
watts = pathlib.Path(os.environ["TMPDIR"]) / "watts"
watts.write_text(str(level * (20 + 10 * clock ** 2)))
time.sleep(0.05)  # the meter sees it
with mark.region("work"):
    time.sleep(0.2 + 0.4 / clock)
time.sleep(0.05)
watts.write_text("20")
"""
METER = """#!/usr/bin/env python3
import os, pathlib, time
watts = pathlib.Path(os.environ["TMPDIR"]) / "watts"
while True:
    try:
        print("power", watts.read_text() or "20", "W", flush=True)
    except OSError:
        print("power 20 W", flush=True)
    time.sleep(0.01)
"""
CLOCKS = [0.5 + 0.25 * i for i in range(12)]


def joules(clock, level=1.0):
    return level * (20 + 10 * clock ** 2) * (0.2 + 0.4 / clock)


def experiment(blocks=6, clocks=CLOCKS, machines="nodes: 3", more=""):
    return f"""
name: sweep
conditions: {{foreign load: off, warm up: 0, temperature: off, idle: none}}
settle: 10 ms
probes:
  - name: wall
    command: [./meter.py]
    channels: {{power: {{unit: W, averages over: 10 ms}}}}
    rate: 100 Hz
workloads:
  - {{name: work, command: [./work.py, "{{clock}}"]}}
axes: {{clock: [{', '.join(f'{c:g}' for c in clocks)}]}}
repeat: {blocks}
measure: {{region: work}}
objective: {{minimise: energy, across: [clock], same work: true}}
reference: {{clock: {clocks[-1]:g}}}
machines: {{slurm: {{{machines}}}}}
{more}"""


@unittest.skipIf(slurm_cluster.missing(), slurm_cluster.missing())
class Cluster(unittest.TestCase):
    def setUp(self):
        self.cluster = slurm_cluster.Cluster(more="MaxArraySize=101")
        self.addCleanup(self.cluster.down)
        self.cluster.up()
        self.folder = self.cluster.folder / "shared"
        for name, text in (("work.py", WORK), ("meter.py", METER)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)
        shutil.copy(testbed.ROOT / "experiments/regions/dvfs_plan_regions.py", self.folder)

    def write(self, text, name="sweep.yaml"):
        (self.folder / name).write_text(text)

    def start(self, *arguments):
        command = self.cluster.inside([PROGRAM, *arguments])
        command[command.index(f"--wdns={os.getcwd()}")] = f"--wdns={self.folder}"
        return subprocess.Popen(command, env=self.cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, process, seconds=240):
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            logs = "\n".join(f"{p.name}: {p.read_text()[-1500:]}" for p in (self.folder / "sweep.nodes/logs").glob("*"))
            queue = self.cluster.call("squeue", "--states=all").stdout
            self.fail(f"not done in {seconds} s: {out}\n{err}\n{queue}\n{logs}")
        return process.returncode, out, err

    def run_all(self, *arguments, seconds=240):
        return self.finish(self.start(*arguments), seconds)

    def rows(self, query, *values):
        connection = sqlite3.connect(f"file:{self.folder}/sweep.sqlite?mode=ro", uri=True)
        try:
            return connection.execute(query, values).fetchall()
        finally:
            connection.close()

    def wait_for(self, condition, what, seconds=120):
        until = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), until, what)
            time.sleep(0.1)

    def handed_in(self, kind="t"):
        return len(list((self.folder / "sweep.nodes/in").glob(f"*.{kind}*.part")))

    def require_each_trial_once(self, blocks, clocks=CLOCKS):
        """Every planned trial counts exactly once, each block as one node ran it."""
        expected = sorted([(f"work clock={c:g}", b) for c in clocks[:-1] for b in range(1, blocks + 1)]
                          + 2 * [(f"work clock={clocks[-1]:g}", b) for b in range(1, blocks + 1)])
        found = self.rows("SELECT p.key, t.block FROM trial t JOIN point p ON p.id = t.point_id JOIN session s ON s.id = t.session_id "
                          "JOIN block_run r ON r.id = s.block_run_id WHERE r.left_out IS NULL AND t.attempt = 1 AND t.role NOT IN ('warm_up', 'idle_before', 'idle_after')")
        self.assertEqual(sorted(found), expected)
        self.assertEqual(self.rows("SELECT block, count(*) FROM block_run WHERE left_out IS NULL GROUP BY block HAVING count(*) <> 1"), [])

    def report(self):
        result = subprocess.run([PROGRAM, "report", "sweep.sqlite", "--json"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    # ---------------------------------------------------------------- the sweep

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

    def running(self, node):
        return self.cluster.call("squeue", "-h", "-w", node, "-t", "R").stdout.strip()

    def is_down(self, node):
        return self.cluster.call("sinfo", "-hN", "-n", node, "-o", "%t").stdout.startswith("down")

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
        # Collected again by another collector: the same.
        before = self.rows("SELECT key, energy_j FROM trials ORDER BY key")
        self.assertEqual(self.run_all("collect", "sweep.yaml", "--quiet")[0], 0)
        self.assertEqual(self.rows("SELECT key, energy_j FROM trials ORDER BY key"), before)

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

    def test_two_collectors_and_the_end_of_all_jobs(self):
        self.write(experiment(blocks=30, machines="nodes: 3, at once: 2"))
        process = self.start("sweep.yaml")
        self.wait_for(lambda: self.handed_in() > 2, "the first trials")
        status, _, err = self.run_all("collect", "sweep.yaml")
        self.assertEqual(status, 3)
        host = self.cluster.host
        self.assertEqual(err, f"error: {self.folder}/sweep.nodes is collected already, by process {process.pid} on {host}\n"
                              "  hint: `dvfs-plan status RESULT --watch` looks on; one collector writes at a time\n")
        process.send_signal(signal.SIGINT)
        status, out, err = self.finish(process)
        self.assertEqual(status, 130, out + err)
        self.assertIn("interrupted; the tasks go on by themselves. dvfs-plan sweep.yaml comes back to them, dvfs-plan sweep.yaml --cancel ends them", err)
        self.assertTrue(self.cluster.call("squeue", "-h").stdout.strip())
        status, out, err = self.run_all("sweep.yaml", "--cancel")
        self.assertEqual(status, 0, err)
        self.assertIn("2 jobs cancelled", out)
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

    def test_a_plan_that_is_changed_while_tasks_wait(self):
        self.write(experiment(blocks=2, clocks=CLOCKS[:4], machines="nodes: 1"))
        status, _, err = self.run_all("submit", "sweep.yaml")
        self.assertEqual(status, 0, err)
        self.write(experiment(blocks=2, clocks=CLOCKS[:5], machines="nodes: 1"))
        status, _, err = self.run_all("sweep.yaml")
        self.assertEqual((status, err), (2, f"error: {self.folder}/sweep.sqlite was submitted with another sweep.yaml\n"
                                            "  hint: undo the change, use --fresh to submit anew once its tasks have ended (--cancel ends them; the old result is kept), or "
                                            "--output for another file\n"))

    def test_what_slurm_refuses_is_said(self):
        self.write(experiment(machines="nodes: 4"))
        self.assertEqual(self.run_all("sweep.yaml")[2], "error: 'nodes' asks for 4 nodes, and 3 work now: n1,n2,n3\n"
                                                        "  hint: write  nodes: 3  or fewer, or wait until more are up\n")
        self.write(experiment(machines="nodes: 1, partition: night"))
        self.assertEqual(self.run_all("sweep.yaml")[2], "error: Slurm has no partition 'night', or it has no nodes\n"
                                                        "  hint: `sinfo` lists the partitions; write one as  machines: {slurm: {partition: ...}}\n")
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
        self.assertIn("error: blocks that nodes run are all planned before the first: 'repeat: {until}' is not for 'machines'", err)
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
