"""What tests on the three-node Slurm share: a workload and a meter that follow arithmetic, and the commands on the login node."""
import json
import os
import pathlib
import shutil
import sqlite3
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
watts.write_text("20")  # a trial that was killed has left its own
time.sleep(0.03)
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


class OnACluster(unittest.TestCase):
    def set_up(self, **options):
        self.cluster = slurm_cluster.Cluster(**options)
        self.addCleanup(self.cluster.down)
        self.cluster.up()
        self.folder = self.cluster.folder / "shared"
        for name, text in (("work.py", WORK), ("meter.py", METER)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)
        shutil.copy(testbed.ROOT / "experiments/regions/dvfs_plan_regions.py", self.folder)

    def write(self, text, name="sweep.yaml"):
        (self.folder / name).write_text(text)

    def start(self, *arguments, **environment):
        command = self.cluster.inside([PROGRAM, *arguments])
        command[command.index(f"--wdns={os.getcwd()}")] = f"--wdns={self.folder}"
        return subprocess.Popen(command, env={**self.cluster.environment, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

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

    def running(self, node):
        return self.cluster.call("squeue", "-h", "-w", node, "-t", "R").stdout.strip()

    def is_down(self, node):
        return self.cluster.call("sinfo", "-hN", "-n", node, "-o", "%t").stdout.startswith("down")
