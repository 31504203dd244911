"""What goes wrong around the nodes of a real Slurm: disks, clocks, other kinds of nodes, who comes first, sbatch itself."""
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import slurm_cluster
import testbed
from on_cluster import CLOCKS, OnACluster, experiment



@unittest.skipIf(slurm_cluster.missing(), slurm_cluster.missing())
class BadDays(OnACluster):
    def test_a_shared_folder_that_is_full_and_then_gone_for_a_while(self):
        """What is finished meanwhile stays on the nodes' disks and is handed in later."""
        small = pathlib.Path(tempfile.mkdtemp(prefix="dvfs-small.", dir="/var/tmp"))
        self.addCleanup(small.rmdir)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=0755", "none", str(small)], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", str(small)])
        self.set_up()  # the nodes' namespaces have what is mounted before
        self.write(experiment(blocks=2, machines=f"nodes: 2, folder: {small}/nodes"))
        status, _, err = self.run_all("submit", "sweep.yaml", "--quiet")
        self.assertEqual(status, 0, err)
        into = small / "nodes/in"
        self.wait_for(lambda: len(list(into.glob("*.t*.part"))) > 2, "the first trials")
        status, out, err = self.run_all("status", "sweep.sqlite")
        self.assertEqual(status, 0, err)
        self.assertRegex(out, r"\n([3-9]|\d\d) more trials are finished and not collected yet\n")
        process = self.start("sweep.yaml")
        self.wait_for(lambda: len(self.rows("SELECT name FROM handed_in")) > 2, "the collector at work")
        with self.assertRaises(OSError), open(small / "fill", "wb", buffering=0) as fill:
            while True:
                fill.write(bytes(4096))
        full = len(list(into.glob("*.t*.part")))
        time.sleep(5)
        self.assertLessEqual(len(list(into.glob("*.t*.part"))), full + 2)
        (small / "fill").unlink()
        self.wait_for(lambda: len(list(into.glob("*.t*.part"))) > full + 2, "what was finished meanwhile")
        into.rename(small / "nodes/gone")
        time.sleep(4)
        (small / "nodes/gone").rename(into)
        status, out, err = self.finish(process)
        self.assertEqual(status, 0, out + err)
        self.require_each_trial_once(2)

    def collected(self, blocks, nodes):
        """A night whose first trials are in the result: the process that collects it."""
        self.set_up()
        self.write(experiment(blocks=blocks, machines=f"nodes: {nodes}"))
        process = self.start("sweep.yaml")
        self.wait_for(lambda: (self.folder / "sweep.sqlite").exists() and len(self.rows("SELECT name FROM handed_in")) > 4, "the collector at work")
        return process

    def test_a_result_that_is_moved_while_it_is_collected(self):
        """What was collected is still open: it goes on in another file, which is named, and exit code 5."""
        process = self.collected(blocks=2, nodes=2)
        (self.folder / "away").mkdir()
        (self.folder / "sweep.sqlite").rename(self.folder / "away/sweep.sqlite")
        status, out, err = self.finish(process)
        self.assertEqual(status, 5, out + err)
        rescued = self.folder / "sweep.rescued.sqlite"
        self.assertIn(f"it was removed or renamed; it goes on in {rescued}", err)
        self.assertIn(f"all of it is in {rescued}; ", err)
        rescued.rename(self.folder / "sweep.sqlite")
        for ending in ("-wal", "-shm"):
            self.assertFalse(pathlib.Path(str(rescued) + ending).exists())
        self.require_each_trial_once(2)
        self.assertEqual(self.rows("SELECT ended_how, ended_at IS NULL FROM session"), [("done", 0)] * 2)

    def test_a_result_that_goes_on_elsewhere_belongs_back(self):
        """The folder of the nodes goes by the result's name: the command to say first is said, and with it nothing is lost."""
        process = self.collected(blocks=4, nodes=1)
        (self.folder / "sweep.sqlite").unlink()
        self.wait_for(lambda: (self.folder / "sweep.rescued.sqlite").exists(), "that it goes on")
        process.send_signal(signal.SIGINT)
        status, out, err = self.finish(process)
        self.assertEqual(status, 130, out + err)
        self.assertIn("dvfs-plan sweep.yaml comes back to them", err)
        told = f"before any other command, and while nobody reads it: mv --backup=numbered {self.folder}/sweep.rescued.sqlite {self.folder}/sweep.sqlite"
        self.assertIn(told, err)
        subprocess.run(told.split(": ")[1], shell=True, check=True)
        status, out, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 0, out + err)
        self.require_each_trial_once(4)

    def test_a_node_that_dies_for_good_is_another_ones_block(self):
        """Its job may run on the nodes chosen alone: where another one of the partition works it is submitted anew."""
        self.set_up()
        self.write(experiment(blocks=2, machines="nodes: 1"))
        process = self.start("sweep.yaml")
        self.wait_for(lambda: self.handed_in() > 1, "the first trials")
        node = next(name for name in ("n1", "n2", "n3") if self.running(name))
        self.cluster.kill_node(node)
        status, out, err = self.finish(process, 400)
        self.assertEqual(status, 0, out + err)
        self.assertRegex(err, r"task \d+_\d+ waits: .*\n")
        self.assertIn("is submitted anew, for the nodes that work now", err)
        self.require_each_trial_once(2)
        self.assertNotIn(node, {row[0] for row in self.rows("SELECT node FROM block_run WHERE left_out IS NULL AND block = 2")})

    def test_a_part_that_is_damaged_on_its_way_is_no_trial_and_its_block_is_run_again(self):
        self.set_up()
        self.write(experiment(blocks=2, machines="nodes: 2"))
        self.assertEqual(self.run_all("submit", "sweep.yaml", "--quiet")[0], 0)
        self.wait_for(lambda: self.handed_in("z") == 2, "both blocks are done")
        part = sorted((self.folder / "sweep.nodes/in").glob("*.t*.part"))[2]
        part.write_bytes(part.read_bytes()[:-100])
        # A file that is being saved: what was submitted can be collected and ended all the same.
        whole = (self.folder / "sweep.yaml").read_text()
        self.write(whole[:whole.index("workloads")] + "workloads: [{")
        status, out, err = self.run_all("collect", "sweep.yaml")
        self.assertEqual(status, 0, out + err)
        self.assertIn("note: sweep.yaml has faults now; this is of what was submitted\n", err)
        self.assertIn("it is damaged: its checksum is another one", err)
        self.assertRegex(out, r"\n\d of \d+ planned trials are not there; where nodes are at work on them `dvfs-plan status` says so\.\n")
        self.assertNotIn("is not needed any more", err)
        self.assertEqual(self.rows("SELECT sum(complete) FROM block_run"), [(1,)])
        status, out, err = self.run_all("sweep.yaml", "--cancel")
        self.assertEqual(status, 0, err)
        self.write(whole)
        status, out, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 0, out + err)
        self.require_each_trial_once(2)

    def test_two_types_of_nodes(self):
        """Refused, or a result of each, as the file says; compared as two partitions would be."""
        self.set_up(nodes={"n3": "Feature=big"})
        self.write(experiment(blocks=2, clocks=CLOCKS[:4]))
        status, _, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 3)
        self.assertIn("error: the nodes are of 2 types, as Slurm describes them:\n", err)
        self.assertIn("write  types: each  for a result of each type", err)
        self.write(experiment(blocks=2, clocks=CLOCKS[:4], machines="nodes: 2, types: each"))
        status, out, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 0, out + err)
        small, big = (self.folder / f"sweep.2-cpus-1-2-1-1000-mb-features{name}.sqlite" for name in ("", "-big"))
        nodes = [{row["node"] for row in testbed.rows(path, "SELECT DISTINCT node FROM block_runs")} for path in (small, big)]
        self.assertEqual(nodes, [{"n1", "n2"}, {"n3"}])
        self.assertIn(f"`dvfs-plan compare {small} {big}` compares the two types", err)
        compared = subprocess.run([testbed.BIN / "dvfs-plan", "compare", small, big], capture_output=True, text=True)
        self.assertEqual(compared.returncode, 0, compared.stderr)
        self.assertIn("n1, n2", compared.stdout)

    @unittest.skipUnless(testbed.LONG, "--long")
    def test_nodes_of_another_kind_are_left_out_by_name(self):
        """n2 has another processor, n3 another kernel: as far as they can tell."""
        cpu = pathlib.Path(tempfile.mkdtemp(prefix="dvfs-cpu.", dir="/var/tmp")) / "cpuinfo"
        self.addCleanup(shutil.rmtree, cpu.parent)
        cpu.write_text("".join("model name\t: Other CPU 9000\n" if line.startswith("model name") else line
                               for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines(True)))
        self.set_up(on_node={"n2": f"mount --bind {cpu} /proc/cpuinfo"}, as_node={"n3": "setarch --uname-2.6"})
        self.write(experiment(blocks=3, clocks=CLOCKS[:4]))
        status, out, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 0, out + err)
        self.require_each_trial_once(3, CLOCKS[:4])
        node = self.rows("SELECT DISTINCT node FROM block_run WHERE left_out IS NULL")
        self.assertEqual(len(node), 1, node)
        left_out = dict(self.rows("SELECT node, why FROM node_left_out"))
        self.assertTrue(left_out)
        for other, why in left_out.items():
            self.assertIn("it is of another type than the node that the plan was made on: ", why)
            if other == "n2":
                self.assertIn("Other CPU 9000", why)

    def test_who_comes_first_takes_a_node_away(self):
        """Preemption: the block is queued again, and each trial counts once."""
        self.set_up(more="PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
                         "PartitionName=urgent Nodes=n[1-3] PriorityTier=10 MaxTime=60 State=UP PreemptMode=OFF GraceTime=0")
        self.write(experiment(blocks=2, machines="nodes: 3, partition: batch"))
        process = self.start("sweep.yaml")
        self.wait_for(lambda: self.handed_in() > 3, "the first trials")
        self.cluster.call("sbatch", "--partition=urgent", "--nodes=3", "--exclusive", "--output=/dev/null", "--wrap=sleep 4")
        self.wait_for(lambda: "R" in self.cluster.call("squeue", "-h", "-p", "urgent", "-o", "%t").stdout, "the urgent job")
        status, out, err = self.finish(process)
        self.assertEqual(status, 0, out + err)
        self.require_each_trial_once(2)

    @unittest.skipUnless(testbed.LONG, "--long")
    def test_a_node_whose_clock_is_ten_minutes_ahead(self):
        library = next(iter(pathlib.Path("/usr/lib").glob("*/faketime/libfaketime.so.1")), None)
        if library is None:
            self.skipTest("no libfaketime here (apt-get install libfaketime)")
        ahead = pathlib.Path(tempfile.mkdtemp(prefix="dvfs-ahead.", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, ahead)
        ahead.chmod(0o755)
        prolog = ahead / "prolog"
        prolog.write_text(f"#!/bin/sh\n[ $(uname -n) = n2 ] || exit 0\necho export LD_PRELOAD={library}\necho export FAKETIME=+10m\n"
                          "echo export FAKETIME_DONT_FAKE_MONOTONIC=1\n")
        prolog.chmod(0o755)
        self.set_up(more=f"TaskProlog={prolog}")
        self.write(experiment(blocks=3, clocks=CLOCKS[:4]))
        status, out, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 0, out + err)
        self.require_each_trial_once(3, CLOCKS[:4])
        self.assertNotIn("ahead", err)
        starts = dict(self.rows("SELECT r.node, julianday(max(t.started_at)) - julianday('now') FROM trial t JOIN session s ON s.id = t.session_id "
                                "JOIN block_run r ON r.id = s.block_run_id GROUP BY r.node"))
        if "n2" in starts:  # its clock really was
            self.assertGreater(starts["n2"], 5 / 1440, starts)
        self.assertTrue(any(joules_of is not None for joules_of, in self.rows("SELECT energy_j FROM trial")))

    def test_what_sbatch_does_when_it_does_not_work(self):
        """An account that is not the user's (as Slurm says it), and an sbatch that hangs."""
        self.set_up()
        shim = pathlib.Path(tempfile.mkdtemp(prefix="dvfs-shim.", dir="/var/tmp"))
        self.addCleanup(shutil.rmtree, shim)
        sbatch = shim / "sbatch"
        sbatch.write_text("#!/bin/sh\necho 'sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified' >&2\nexit 1\n")
        sbatch.chmod(0o755)
        self.cluster.environment["PATH"] = f"{shim}:{self.cluster.environment['PATH']}"
        self.write(experiment(blocks=1, clocks=CLOCKS[:2], machines="nodes: 1, account: others"))
        status, _, err = self.run_all("sweep.yaml")
        self.assertEqual((status, err), (3, "error: sbatch: Batch job submission failed: Invalid account or account/partition combination specified\n"))
        sbatch.write_text("#!/bin/sh\nexec sleep 1000\n")
        if not testbed.LONG:
            return  # its time limit is a minute: --long
        status, _, err = self.run_all("sweep.yaml", seconds=120)
        self.assertEqual((status, err), (3, f"error: {sbatch} did not answer within 60 s\n  hint: is the controller up? `scontrol ping` says; it may have taken the job all the same: once it answers, the same command goes on "
                                             "with that, and dvfs-plan sweep.yaml --cancel ends it\n"))

    def test_numbers_of_jobs_that_begin_anew_are_other_jobs(self):
        """The controller has lost its state, or it is another cluster's: a job of the user's own has the number of the night's."""
        self.set_up()
        self.write(experiment(blocks=2, clocks=CLOCKS[:2]))
        self.assertEqual(self.run_all("submit", "sweep.yaml", "--quiet")[0], 0)
        job = int(self.rows("SELECT job FROM submission")[0][0])
        self.cluster.call("scancel", str(job))
        self.wait_for(lambda: not self.cluster.call("squeue", "-h").stdout.strip(), "the night's tasks to end")
        self.cluster.stop_controller()
        shutil.rmtree(self.cluster.folder / "state")
        (self.cluster.folder / "state").mkdir()
        self.cluster.start_controller()
        mine = 0
        while mine < job:
            mine = int(self.cluster.call("sbatch", "--parsable", "--hold", "-J", "mine", "--output=/dev/null", "--wrap", "sleep 100").stdout)
        self.assertEqual(mine, job)
        queue = self.cluster.call("squeue", "-h", "-o", "%A %j %T").stdout
        self.assertIn(f"{job} mine PENDING", queue)
        status, out, err = self.run_all("status", "sweep.sqlite")
        self.assertEqual(status, 0, err)
        self.assertIn(f"no task of job {job} waits or runs; ", out)
        status, out, err = self.run_all("sweep.yaml", "--cancel")
        self.assertEqual((status, out), (0, f"no task was waiting or running; what was finished is in {self.folder}/sweep.sqlite. dvfs-plan sweep.yaml goes on\n"), err)
        self.assertEqual(self.cluster.call("squeue", "-h", "-o", "%A %j %T").stdout, queue)


if __name__ == "__main__":
    testbed.main()
