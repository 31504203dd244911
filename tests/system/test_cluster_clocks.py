"""Clocks that a real Slurm sets (srun --cpu-freq), and power that it and Cray's counters tell, on nodes whose cpufreq and pm_counters are files."""
import json
import pathlib
import re
import subprocess
import sys
import unittest

import slurm_cluster
import testbed
from on_cluster import OnACluster

METERS = testbed.ROOT / "experiments/meters"

# In the node's own mount namespace: the machine's /sys with directories of ours among it.
OVER_SYS = """
over() { # FOLDER: as it was, but on a file system of ours, where more can be made
    mkdir -p "$2"; mount --rbind "$1" "$2"; mount -t tmpfs none "$1"
    for entry in "$2"/*; do
        name="$1/${entry##*/}"
        if [ -L "$entry" ]; then cp -a "$entry" "$name"
        elif [ -d "$entry" ]; then mkdir "$name"; mount --rbind "$entry" "$name"
        else touch "$name"; mount --bind "$entry" "$name"; fi
    done
}
was="$2/sys.$1"
"""
# A machine of two CPUs with acpi-cpufreq (kernel: Documentation/admin-guide/pm/cpufreq.rst), as files: what is written stays.
CPUFREQ = OVER_SYS + """
cpus=/sys/devices/system/cpu
over $cpus "$was/cpus"
mkdir -p $cpus/cpufreq "$2/local.$1/cpufreq"; mount --bind "$2/local.$1/cpufreq" $cpus/cpufreq  # stays when the node dies
for n in 0 1; do
    over $cpus/cpu$n "$was/cpu$n"
    policy=$cpus/cpufreq/policy$n; mkdir -p $policy
    while read -r file value; do [ -e $policy/$file ] || echo "$value" >$policy/$file; done <<END
affected_cpus $n
related_cpus $n
cpuinfo_min_freq 1200000
cpuinfo_max_freq 2400000
cpuinfo_cur_freq 2400000
cpuinfo_transition_latency 10000
scaling_available_frequencies 2400000 1800000 1200000
scaling_available_governors performance ondemand userspace
scaling_driver acpi-cpufreq
scaling_governor ondemand
scaling_min_freq 1200000
scaling_max_freq 2400000
scaling_cur_freq 2400000
scaling_setspeed <unsupported>
END
    ln -s ../cpufreq/policy$n $cpus/cpu$n/cpufreq
done
"""
# Cray's counters, and whoever renews them: 120 W.
PM_COUNTERS = OVER_SYS + """
over /sys "$was/all"
mkdir -p /sys/cray/pm_counters; cd /sys/cray/pm_counters
echo '60 J' >energy; echo '120 W' >power; echo 1 >startup; echo 1 >generation; echo 10 >raw_scan_hz; echo 1 >freshness
# By the clock: on a busy machine a turn takes longer than its pause.
(began=$(date +%s%N); n=1; while sleep 0.1; do n=$((n+1)); echo "$((60 + ($(date +%s%N) - began) / 1000000 * 120 / 1000)) J" >energy.new; mv energy.new energy; echo $n >freshness.new; mv freshness.new freshness; done) &
cd /
"""

# Says at which clock its CPU's policy was held while it ran.
WORK = """#!/bin/sh
sleep 0.4
echo "held $(cat /sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq)"
"""


@unittest.skipIf(slurm_cluster.missing(), slurm_cluster.missing())
class Clocks(OnACluster):
    def write_work(self, text):
        (self.folder / "work.sh").write_text(text)
        (self.folder / "work.sh").chmod(0o755)

    def write_sweep(self, clocks, blocks, machines):
        self.write_work(WORK)
        self.write(f"""
name: sweep
conditions: {{foreign load: off, warm up: 0, temperature: off, idle: none, reruns: 0}}
settle: 10 ms
workloads: [{{name: work, command: [./work.sh], metrics: [{{name: held, regex: 'held ([0-9]+)'}}]}}]
axes: {{cpu.frequency: {clocks}}}
repeat: {blocks}
objective: time
reference: {{cpu.frequency: 2.4 GHz}}
machines: {{slurm: {{{machines}}}}}
""")

    def on(self, node, *command):
        """What the command prints on the node."""
        return self.cluster.call("srun", "--overlap", "-w", node, "-N1", *command).stdout

    def test_clocks_that_slurm_sets_are_read_back_and_put_back(self):
        self.set_up(more="CpuFreqGovernors=OnDemand,Performance,UserSpace", on_node={"n1": CPUFREQ}, task_plugin="task/affinity")
        self.write_sweep("{values: [1.2 GHz, 1.8 GHz, 2.4 GHz], by: slurm}", 2, "nodes: 1, extra: [--nodelist=n1]")
        status, out, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 0, out + err)
        told = self.rows("SELECT DISTINCT t.requested, t.applied FROM settings t")
        self.assertEqual(sorted(told), [(clock, clock) for clock in ("1.2 GHz", "1.8 GHz", "2.4 GHz")])
        held = self.rows("SELECT p.key, m.value FROM metric m JOIN trial t ON t.id = m.trial_id JOIN point p ON p.id = t.point_id")
        self.assertGreaterEqual(len(held), 8)
        for key, value in held:
            self.assertEqual(f"work cpu.frequency={value / 1e6:g} GHz", key)
        left = self.on("n1", "sh", "-c", "cat /sys/devices/system/cpu/cpufreq/policy*/scaling_m*_freq")
        self.assertEqual(sorted(set(left.split())), ["1200000", "2400000"], left)
        with self.subTest("the setting that was found, as a job's own option"):
            lines = subprocess.run([testbed.BIN / "dvfs-plan", "setting", "sweep.sqlite", "--as", "slurm"], cwd=self.folder, capture_output=True, text=True, check=True).stdout
            option, clock = re.search(r"^#SBATCH (--cpu-freq=(\d+)-\d+)$", lines, re.M).groups()
            found, = self.rows("SELECT point FROM best")[0]
            self.assertEqual(f"work cpu.frequency={int(clock) / 1e6:g} GHz", found)
            held = self.cluster.call("srun", "-w", "n1", "-N1", option, "sh", "-c", "sleep 0.5; cat /sys/devices/system/cpu/cpufreq/policy0/scaling_m*_freq").stdout
            self.assertEqual(set(held.split()), {clock}, held)

    def test_a_node_that_dies_in_a_trial_comes_back_as_it_was(self):
        """Knobs on a cluster: each node's own guardian sets and puts back, at the next boot too (the unit dvfs-plan-restore does this)."""
        at_boot = CPUFREQ + f"[ ! -e /var/lib/dvfs-plan/journal ] || {testbed.BIN}/dvfs-guardian --restore"
        self.set_up(on_node={"n1": at_boot, "n2": at_boot}, keep_state=True)
        self.write_sweep("[1.2 GHz, 1.8 GHz, 2.4 GHz]", 4, "nodes: 2")

        def limits(node):
            return {path.read_text().strip() for path in (self.cluster.folder / f"local.{node}/cpufreq").glob("policy*/scaling_m*_freq")}

        before = {"1200000", "2400000"}
        process = self.start("sweep.yaml")
        self.wait_for(lambda: self.running("n2") and limits("n2") == {"1800000"}, "a trial at 1.8 GHz on n2")
        self.cluster.kill_node("n2")
        self.assertNotEqual(limits("n2"), before)
        self.assertTrue((self.cluster.folder / "local.n2/var-lib-dvfs-plan/journal").exists())
        self.wait_for(lambda: self.is_down("n2"), "n2 counts as down")
        self.cluster.start_node("n2")
        self.wait_for(lambda: limits("n2") == before or self.running("n2"), "n2 is as it was")
        status, out, err = self.finish(process)
        self.assertEqual(status, 0, out + err)
        self.assertEqual([limits("n1"), limits("n2")], [before, before])
        for key, value in self.rows("SELECT p.key, m.value FROM metric m JOIN trial t ON t.id = m.trial_id JOIN point p ON p.id = t.point_id"):
            self.assertEqual(f"work cpu.frequency={value / 1e6:g} GHz", key)
        counted = self.rows("SELECT block, count(*) FROM trials WHERE counts AND left_out IS NULL GROUP BY block")
        self.assertEqual(counted, [(block, 4) for block in range(1, 5)])

    @testbed.on_a_busy_host
    def test_power_as_cray_and_slurm_tell_it(self):
        """120 W by the node's counters, through our probe and through Slurm's own gathering."""
        self.set_up(more="AcctGatherEnergyType=acct_gather_energy/pm_counters\nAcctGatherNodeFreq=1", on_node={"n1": PM_COUNTERS})
        self.write_work("#!/bin/sh\nexec sleep 3\n")
        self.write(f"""
name: sweep
conditions: {{foreign load: off, warm up: 0, temperature: off, idle: none}}
probes:
  - cray_pm
  - {{name: slurm, command: [{METERS}/slurm_energy.py], channels: {{watts: {{unit: W, averages over: 1 s}}}}, rate: 1 Hz}}
workloads: [{{name: work, command: [./work.sh]}}]
repeat: 2
objective: {{minimise: energy, of: system}}
machines: {{slurm: {{nodes: 1, extra: [--nodelist=n1]}}}}
""")
        status, out, err = self.run_all("sweep.yaml")
        self.assertEqual(status, 0, out + err)
        for energy, seconds in self.rows("SELECT energy_j, region_s FROM trial"):
            self.assertLess(abs(energy / seconds - 120), 12, (energy, seconds))
        watts = self.rows("SELECT DISTINCT c.name FROM channel c")
        self.assertIn(("slurm:watts",), watts)

    def test_a_slurm_that_gathers_none_says_so(self):
        self.set_up()
        told = self.cluster.call(sys.executable, str(METERS / "slurm_energy.py"))
        self.assertEqual((told.returncode, told.stderr),
                         (1, "Slurm gathers no energy here: AcctGatherEnergyType = acct_gather_energy/none; read the node's own sensors instead "
                             "(dvfs-plan doctor on a node)\n"))


if __name__ == "__main__":
    testbed.main()
