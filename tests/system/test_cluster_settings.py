"""What nodes of a real Slurm were set to, and jobs that Slurm took without a word: nothing is left behind unsaid."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import tempfile
import time
import unittest

import slurm_cluster
import testbed
from on_cluster import OnACluster, experiment

# Each node has a knob of its own; where `stuck` is, its first value cannot be set again.
SETTER = """#!/bin/sh
cd {local} || exit 1
if [ "$1" = get ]; then cat knob; exit; fi
if [ -e stuck ] && [ "$2" = 3 ]; then echo "the BMC says no" >&2; exit 1; fi
echo "$2" > knob
"""
KNOB = """set:
  k: {command: [./setter, set, "{value}"], read: [./setter, get], values: [1, 2, 3]}
"""
# Takes the job and fails to say so, but for what asks a node.
SBATCH = """#!/bin/sh
case "$*" in *:look*) exec {sbatch} "$@";; esac
[ -e {folder}/said ] && exec {sbatch} "$@"
touch {folder}/said
{sbatch} "$@" > /dev/null || exit
echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2
exit 1
"""


@unittest.skipIf(slurm_cluster.missing(), slurm_cluster.missing())
class Settings(OnACluster):
    def set_up_knobs(self, blocks, nodes):
        self.set_up()
        for node in slurm_cluster.NODES:
            (self.cluster.folder / f"local.{node}" / "knob").write_text("3\n")
        (self.folder / "setter").write_text(SETTER.format(local=self.cluster.folder / "local"))
        (self.folder / "setter").chmod(0o755)
        text = experiment(blocks=blocks, clocks=[1, 2], machines=f"nodes: {nodes}", more=KNOB)
        self.write(text.replace("axes: {", "axes: {set.k: [1, 2], ").replace("reference: {", "reference: {set.k: 2, "))

    def knob(self, node):
        return (self.cluster.folder / f"local.{node}" / "knob").read_text().strip()

    def test_a_node_that_cannot_be_put_back_is_told_left_out_and_exit_code_4(self):
        self.set_up_knobs(blocks=4, nodes=3)
        process = self.start("sweep.yaml", "--quiet")
        self.wait_for(lambda: self.knob("n1") != "3", "n1 at work")
        (self.cluster.folder / "local.n1" / "stuck").touch()
        status, out, err = self.finish(process)
        self.assertEqual(status, 4, out + err)
        self.assertRegex(err, r"warning: n1: what task \d+_\d+ set there was not put back: .*the BMC says no")
        self.assertIn("; once that is mended, `dvfs-plan restore` on n1 does\n", err)
        self.assertEqual([self.knob(node) for node in ("n2", "n3")], ["3", "3"])
        self.assertNotEqual(self.knob("n1"), "3")
        self.assertEqual(self.rows("SELECT count(DISTINCT block) FROM block_run WHERE complete AND left_out IS NULL"), [(4,)])
        self.assertEqual(self.rows("SELECT node FROM node_left_out"), [("n1",)])
        for command in (["collect", "sweep.yaml"], ["sweep.yaml", "--cancel"]):
            status, out, err = self.run_all(*command)
            self.assertEqual(status, 4, out + err)
            self.assertIn("warning: n1: what task ", err)
        self.assertIn("\nwarning: n1: what task ", self.run_all("status", "sweep.sqlite")[1])

    def test_a_node_that_dies_may_have_been_left_as_it_was_set(self):
        self.set_up_knobs(blocks=3, nodes=3)
        process = self.start("sweep.yaml")
        self.wait_for(lambda: self.knob("n2") != "3", "n2 at work")
        self.cluster.kill_node("n2")
        status, out, err = self.finish(process, 400)
        self.assertEqual(status, 4, out + err)
        self.assertRegex(err, r"warning: n2: whether what task \d+_\d+ set there was put back is not known: it ended without a word \(killed, or the node went down\); "
                              r"`dvfs-plan restore` on n2 puts back what is left\n")
        self.assertNotEqual(self.knob("n2"), "3")
        self.assertEqual([self.knob(node) for node in ("n1", "n3")], ["3", "3"])
        # Nor does a night forget it that begins anew.
        self.write((self.folder / "sweep.yaml").read_text().replace("nodes: 3", "nodes: 2"))
        for command in (["sweep.yaml", "--fresh"], ["collect", "sweep.yaml"], ["sweep.yaml", "--cancel"]):
            status, out, err = self.run_all(*command)
            self.assertEqual(status, 4, out + err)
            self.assertIn("warning: n2: whether what task ", err)

    def test_cancelled_beside_the_night_both_say_what_is_not_back(self):
        self.set_up_knobs(blocks=6, nodes=3)
        process = self.start("sweep.yaml")
        self.wait_for(lambda: "3" not in {self.knob(node) for node in slurm_cluster.NODES}, "all nodes at work")
        self.cluster.kill_node("n2")
        cancelled = self.run_all("sweep.yaml", "--cancel")
        for status, out, err in (cancelled, self.finish(process, 400)):
            self.assertEqual(status, 4, out + err)
            self.assertIn("warning: n2: whether what task ", err)
        self.assertEqual([self.knob(node) for node in ("n1", "n3")], ["3", "3"])

    def test_a_task_that_slurm_did_not_tell_ends_with_its_job(self):
        """Slurm may begin a task in the moment in which it is told to cancel it, and know nothing of it then."""
        self.set_up_knobs(blocks=6, nodes=3)
        status, _, err = self.run_all("submit", "sweep.yaml")
        self.assertEqual(status, 0, err)
        self.wait_for(lambda: "3" not in {self.knob(node) for node in slurm_cluster.NODES}, "all nodes at work")
        jobs = {line.split("_")[0].strip() for line in self.cluster.call("squeue", "-h", "-o", "%i").stdout.split()}
        for job in jobs:
            (self.folder / f"sweep.nodes/in/{job}.cancelled").write_text(f"{time.time_ns()}\n")
        self.wait_for(lambda: not self.cluster.call("squeue", "-h").stdout.strip(), "no task is left")
        self.assertEqual([self.knob(node) for node in slurm_cluster.NODES], ["3", "3", "3"])
        self.assertLess(self.handed_in("z"), 6, "not all blocks were run")
        self.assertTrue(list((self.folder / "sweep.nodes/in").glob("*.end.fault")))
        status, out, err = self.run_all("sweep.yaml", seconds=400)
        self.assertEqual(status, 0, out + err)

    def kill_all_of_ours_on(self, node):
        """Task and guardian at once, in the node's own processes."""
        first = self.cluster.processes[node].pid
        child = pathlib.Path(f"/proc/{first}/task/{first}/children").read_text().split()[0]
        own = os.readlink(f"/proc/{child}/ns/pid")
        ours = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.readlink(process / "ns/pid") == own and (process / "comm").read_text().startswith("dvfs-"):
                    ours.append(int(process.name))
        self.assertGreaterEqual(len(ours), 2)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in ours:
                os.kill(pid, number)

    def test_what_a_killed_task_left_on_a_node_that_works_is_put_back(self):
        """By its next block there, or else by a job that does nothing but this."""
        self.set_up_knobs(blocks=2, nodes=2)
        process = self.start("sweep.yaml")
        self.wait_for(lambda: self.handed_in() > 2 and self.knob("n2") != "3", "n2 at work")
        self.kill_all_of_ours_on("n2")
        status, out, err = self.finish(process)
        self.assertEqual(status, 0, out + err)
        self.assertEqual([self.knob(node) for node in ("n1", "n2")], ["3", "3"])
        # The night is over, and its last task there was killed: as if it had gone down with the last block.
        before = {path.name for path in (self.folder / "sweep.nodes/in").glob("n2.*.back")}
        (self.cluster.folder / "local.n2" / "knob").write_text("3\n")
        for name in before:
            (self.folder / "sweep.nodes/in" / name).unlink()
        status, out, err = self.run_all("collect", "sweep.yaml")
        self.assertEqual(status, 4, err)
        status, out, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 0, err)
        self.assertRegex(err, r"job \d+ puts back on n2 what task \d+_\d+ may have left set there\n")

    def test_cancelling_waits_until_the_settings_are_back(self):
        self.set_up_knobs(blocks=6, nodes=3)
        self.assertEqual(self.run_all("submit", "sweep.yaml", "--quiet")[0], 0)
        self.wait_for(lambda: "3" not in {self.knob(node) for node in slurm_cluster.NODES}, "all nodes at work")
        status, out, err = self.run_all("sweep.yaml", "--cancel")
        self.assertEqual(status, 0, out + err)
        self.assertEqual([self.knob(node) for node in slurm_cluster.NODES], ["3"] * 3)
        self.assertIn("1 job cancelled; ", out)

    def test_a_result_of_nodes_is_not_gone_on_with_here(self):
        self.set_up()
        text = experiment(blocks=3, clocks=[1, 2])
        self.write(text)
        self.assertEqual(self.run_all("submit", "sweep.yaml", "--quiet")[0], 0)
        here = re.sub(r"(?m)^machines:.*(\n +.*)*\n", "", text)
        self.assertNotIn("slurm", here)
        self.write(here)
        status, out, err = self.run_all("sweep.yaml")
        self.assertEqual((status, out), (2, ""), err)
        self.assertRegex(err, r"sweep\.sqlite is of a cluster's nodes \(job \d+ was submitted for it\), and the experiment has no 'machines: slurm' any more\n"
                              r"  hint: nothing was run; with 'machines' in the file again the same command collects what the nodes finish; here it runs with another --output\n")
        self.write(text)
        status, out, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 0, err)
        self.require_each_trial_once(3, [1, 2])

    def test_a_job_that_was_taken_without_a_word(self):
        self.set_up()
        shim = pathlib.Path(tempfile.mkdtemp(prefix="dvfs-shim.", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, shim)
        sbatch = shim / "sbatch"
        sbatch.write_text(SBATCH.format(sbatch=shutil.which("sbatch", path=self.cluster.environment["PATH"]), folder=shim))
        sbatch.chmod(0o755)
        self.cluster.environment["PATH"] = f"{shim}:{self.cluster.environment['PATH']}"
        self.write(experiment(blocks=3, clocks=[1, 2]))
        status, _, err = self.run_all("submit", "sweep.yaml", "--quiet")
        self.assertEqual((status, err), (3, "error: sbatch: Batch job submission failed: Socket timed out on send/recv operation\n"
                                            "  hint: is the controller up? `scontrol ping` says; it may have taken the job all the same: once it answers, the same command goes on "
                                            "with that, and dvfs-plan sweep.yaml --cancel ends it\n"))
        status, out, err = self.run_all("sweep.yaml", "--cancel")
        self.assertEqual(status, 0, err)
        self.assertIn("1 job cancelled; ", out)
        self.wait_for(lambda: not self.cluster.call("squeue", "-h").stdout.strip(), "no task is left")
        (shim / "said").unlink()
        status, out, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 0, err)
        self.assertRegex(err, r"job \d+ was taken by Slurm without a word; it is gone on with\n")
        self.require_each_trial_once(3, [1, 2])
        self.assertEqual(self.rows("SELECT count(*) FROM submission"), [(1,)])


if __name__ == "__main__":
    testbed.main()
