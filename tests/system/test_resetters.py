"""Settings that somebody else changes while trials run, in the virtual machine (on a stand-in for a board: test_gpu.py)."""
import testbed


class Settings(testbed.TestbedCase):
    """The real kernel's governors, changed by somebody else while trials run."""
    NIGHT = """
name: night
conditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 1}
workloads:
  - {name: mixed, command: [dvfs-mixed, "1", "0.02"]}
axes: {cpu.governor: [powersave, performance]}
reference: {cpu.governor: performance}
repeat: 2
seed: 5
settle: 20 ms
"""

    @testbed.on_a_busy_host
    def test_a_resetter_that_goes_on_ends_the_night_by_name_and_the_night_goes_on_without_it(self):
        code, console = self.testbed.run("""
            printf '#!/bin/sh\\nwhile :; do echo performance >/sys/devices/system/cpu/cpufreq/policy0/scaling_governor; usleep 300000; done\\n' >/tmp/auto-cpufreq
            chmod +x /tmp/auto-cpufreq
            /tmp/auto-cpufreq &
            pid=$!
            sed 's/repeat: 2/repeat: 4/' /night.yaml >one.yaml
            dvfs-plan one.yaml --no-html >run.log 2>&1; echo "with the resetter: $?"
            kill $pid
            cat run.log
            dvfs-plan one.yaml --no-html >again.log 2>&1; echo "without it: $?"
            dvfs-plan report night.sqlite
            [ "$(cat /sys/devices/system/cpu/cpufreq/policy0/scaling_governor)" = performance ] && echo "put back"
            """, {"night.yaml": self.NIGHT})
        self.assertIn("with the resetter: 3", console)
        self.assertRegex(console, r"error: somebody sets /sys/devices/system/cpu/cpufreq/policy0/scaling_governor to 'performance' while trials run, 3 trials now; the last: cpu.governor: "
                                  r"/sys/devices/system/cpu/cpufreq/policy0/scaling_governor was 'powersave' and reads 'performance', "
                                  r"(first seen \d\.\d\d s after the trial began|before the trial began|seen at the trial's end); likely by auto-cpufreq \(pid \d+\), which sets governors and turbo by load")
        self.assertIn("hint: sudo systemctl stop auto-cpufreq   and then the same command goes on; the trials up to here are kept", console)
        self.assertIn("put back", console)
        out = self.testbed.fetch()
        trials = testbed.rows(out / "night.sqlite", "SELECT point, verdict, time_s, energy_j FROM trials ORDER BY trial")
        self.assertEqual([t["verdict"] for t in trials].count("changed_meanwhile"), 3)
        counted = [t for t in trials if t["verdict"] == "ok"]
        self.assertGreaterEqual(len(counted), 7)
        for trial in counted:  # powersave: 1 GHz
            self.assertAlmostEqual(trial["time_s"], 3.02 if "powersave" in trial["point"] else 1.02, delta=0.15)

    @testbed.on_a_busy_host
    def test_one_change_spoils_one_trial_which_is_run_again(self):
        code, console = self.testbed.run("""
            (while ! pidof dvfs-mixed >/dev/null; do :; done; sleep 0.3
             case $(cat /sys/devices/system/cpu/cpufreq/policy0/scaling_governor) in powersave) to=performance;; *) to=powersave;; esac
             echo $to >/sys/devices/system/cpu/cpufreq/policy0/scaling_governor) &
            dvfs-plan /night.yaml --no-html; echo "run: $?"
            """, {"night.yaml": self.NIGHT})
        self.assertIn("run: 0", console)
        out = self.testbed.fetch()
        trials = testbed.rows(out / "night.sqlite", "SELECT * FROM trials ORDER BY trial")
        self.assertEqual([t["verdict"] for t in trials].count("changed_meanwhile"), 1)
        self.assertEqual(trials[0]["verdict"], "changed_meanwhile")
        self.assertRegex(trials[0]["verdict_text"], r"^cpu.governor: /sys/devices/system/cpu/cpufreq/policy0/scaling_governor was '\w+' and reads '\w+', (first seen \d\.\d\d s after the trial began|seen at the trial's end)$")
        self.assertEqual([t["attempt"] for t in trials if t["point"] == trials[0]["point"] and t["block"] == 1], [1, 2])
        self.assertEqual(sum(t["counts"] for t in trials), 4)
        self.assertIn("changed_meanwhile", console)

if __name__ == "__main__":
    testbed.main()
