"""A firmware that caps, meters that die, freeze and vanish: each is named, none wins."""
import testbed

CAP = """
name: cap
conditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 0}
workloads:
  - name: w
    shell: |
      case {cpu.frequency} in "3 GHz") testbedctl cap 3;; esac
      dvfs-mixed 0.4 0.0
      testbedctl cap 0
      sleep 0.05
axes: {cpu.frequency: [1 GHz, 1.4 GHz, 3 GHz]}
repeat: 2
"""
METER = """
name: meter
conditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 0}
workloads:
  - {name: w, shell: "testbedctl meter {mode}; dvfs-mixed 0.3 0; testbedctl meter works"}
axes: {mode: [works, dead], cpu.frequency: [1.8 GHz, 3 GHz]}
repeat: 2
"""
VANISH = """
name: vanish
conditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 0}
order: listed
workloads:
  - {name: fine, command: [dvfs-mixed, "0.2", "0"]}
  - {name: vanishes, shell: "sleep 0.1; testbedctl unbind; dvfs-mixed 0.2 0"}
  - {name: after, command: [dvfs-mixed, "0.2", "0"]}
repeat: 1
"""
PLAIN = """
name: %s
conditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 0}
workloads: [{name: w, command: [sleep, "0.2"]}]
repeat: 1
"""


class Faults(testbed.TestbedCase):
    @testbed.on_a_busy_host
    def test_each_fault_is_named_and_none_wins(self):
        files = {"cap.yaml": CAP, "meter.yaml": METER, "vanish.yaml": VANISH, "denied.yaml": PLAIN % "denied", "dead.yaml": PLAIN % "dead", "frozen.yaml": PLAIN % "frozen", "gone.yaml": PLAIN % "gone"}
        code, console = self.testbed.run("""
            dvfs-plan /cap.yaml; echo "cap: $?"
            dvfs-plan /meter.yaml; echo "meter: $?"
            testbedctl meter frozen; dvfs-plan /frozen.yaml; echo "frozen: $?"; testbedctl meter works
            testbedctl meter dead; dvfs-plan /dead.yaml; echo "dead: $?"; testbedctl meter works
            mkdir -p /data/guest && chown guest /data/guest
            chmod 0400 /sys/class/hwmon/hwmon*/device/power1_average
            su guest -c 'cd /data/guest; HOME=/data/guest dvfs-plan /denied.yaml'; echo "denied: $?"
            su guest -c 'cd /data/guest; HOME=/data/guest dvfs-plan doctor'
            chmod 0444 /sys/class/hwmon/hwmon*/device/power1_average
            dvfs-plan /vanish.yaml; echo "vanish: $?"
            dvfs-plan /gone.yaml; echo "gone: $?"
            cat /sys/devices/system/cpu/cpufreq/policy*/scaling_m??_freq | tr '\\n' ' '
            """, files)
        out = self.testbed.fetch()

        with self.subTest("a firmware cap during the trial"):
            self.assertIn("cap: 1", console)
            verdicts = testbed.rows(out / "cap.sqlite", "SELECT point, verdict, verdict_text FROM trials ORDER BY point")
            for trial in verdicts:
                capped = trial["point"].endswith("=3 GHz")
                self.assertEqual(trial["verdict"], "not_delivered" if capped else "ok", trial)
                if capped:
                    self.assertRegex(trial["verdict_text"], r"^3 GHz requested on policy0; the kernel had it at other clocks for 0\.\d\d of \d\.\d\d s \(stats/time_in_state\): a cap of the firmware, or somebody's hand$")
            best = testbed.rows(out / "cap.sqlite", "SELECT point, energy_j FROM best")
            self.assertEqual([b["point"] for b in best], ["w cpu.frequency=1.4 GHz"])
            self.assertIn("No trial of the reference point counts together with one of this point", console)

        with self.subTest("a meter that is frozen"):
            self.assertIn("frozen: 1", console)
            self.assertEqual(testbed.rows(out / "frozen.sqlite", "SELECT verdict, energy_j FROM trials"), [{"verdict": "sensor_frozen", "energy_j": None}])
            self.assertEqual(testbed.rows(out / "frozen.sqlite", "SELECT * FROM best"), [])

        with self.subTest("a meter that dies during trials"):
            self.assertIn("meter: 1", console)
            verdicts = {(t["scenario"], t["verdict"]) for t in testbed.rows(out / "meter.sqlite", "SELECT scenario, verdict FROM trials")}
            self.assertEqual(verdicts, {("w mode=works", "ok"), ("w mode=dead", "sensor_dead")})
            self.assertEqual([b["scenario"] for b in testbed.rows(out / "meter.sqlite", "SELECT scenario FROM best")], ["w mode=works"])
            self.assertEqual(testbed.rows(out / "meter.sqlite", "SELECT count(*) AS n FROM trials WHERE verdict <> 'ok' AND energy_j IS NOT NULL")[0]["n"], 0)

        with self.subTest("a meter that is dead from the start"):
            self.assertIn("dead: 3", console)
            self.assertIn("sensor hwmon:power_meter/power1 is dead: it reads 0 W under load", console)

        with self.subTest("a meter that this user may not read"):
            self.assertIn("denied: 3", console)
            self.assertIn("sensor hwmon:power_meter/power1 may not be read by this user", console)

        with self.subTest("a meter that vanishes midway"):
            self.assertIn("vanish: 1", console)
            verdicts = testbed.rows(out / "vanish.sqlite", "SELECT workload, verdict, energy_j FROM trials ORDER BY trial")
            self.assertEqual([(t["workload"], t["verdict"]) for t in verdicts], [("fine", "ok"), ("vanishes", "sensor_gone"), ("after", "sensor_gone")])
            self.assertIsNone(verdicts[1]["energy_j"])
            self.assertIn("gone: 3", console)
            self.assertIn("the objective is energy, but no energy sensor works here", console)

        self.assertIn("3000000 1000000 3000000 1000000", console)


if __name__ == "__main__":
    testbed.main()
