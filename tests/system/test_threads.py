"""The threads of a core on a real kernel (kernel/cpu.c, smt/control): cpu.smt takes the second one away and brings it back with what its owner had set,
cpu.frequency sets what is there, and after a kill all of it is as before."""
import testbed

NIGHT = """name: night
objective: time
conditions: {warm up: 0, idle: none, references: false, foreign load: off, temperature: off}
settle: 5 ms
workloads: [{name: looks, command: [/bin/looks], metrics: [lines]}]
axes: {cpu.smt: [on, off], cpu.frequency: [1.8 GHz, 3 GHz]}
repeat: 3
"""
# What it runs on: how many processors, and the limits of the second one's policy where there is one.
LOOKS = """#!/bin/sh
echo "online $(nproc)"
read limit </sys/devices/system/cpu/cpufreq/policy1/scaling_max_freq 2>/dev/null && echo "second $limit"
read governor </sys/devices/system/cpu/cpufreq/policy1/scaling_governor 2>/dev/null && [ "$governor" = conservative ] && echo "owners 1"
sleep 0.05
"""
STATE = ("cat /sys/devices/system/cpu/smt/control /sys/devices/system/cpu/online "
         "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor /sys/devices/system/cpu/cpufreq/policy*/scaling_m??_freq "
         "/sys/devices/system/cpu/cpufreq/conservative/up_threshold | tr '\\n' ' '")


class Threads(testbed.TestbedCase):
    def setUp(self):
        super().setUp()
        self.testbed.more = {"TESTBED_THREADS": "1"}

    def test_the_second_thread_goes_and_comes_back_as_it_was(self):
        job = f"""cp /night.yaml .
echo conservative >/sys/devices/system/cpu/cpufreq/policy1/scaling_governor
echo 2600000 >/sys/devices/system/cpu/cpufreq/policy1/scaling_max_freq
echo 66 >/sys/devices/system/cpu/cpufreq/conservative/up_threshold
# The switch alone: no other knob looks after a governor's tunables.
sed 's/, cpu.frequency: .*]}}/}}/; s/name: night/name: alone/' night.yaml >alone.yaml
echo "before: $({STATE})"
dvfs-plan doctor | grep cpu.smt
dvfs-plan night.yaml --no-html >report.txt 2>log.txt; echo "ended: $?"; cat log.txt
echo "behind: $({STATE})"
dvfs-plan alone.yaml --no-html >/dev/null 2>log.txt; echo "ended alone: $?"; cat log.txt
echo "behind alone: $({STATE})"
# As a script: the limits of what goes offline are set before, and come back with it.
sed 's/cpu.smt: .*]}}/cpu.smt: [off], cpu.frequency: [1.8 GHz]}}/; s/name: night/name: off/; s/repeat: 3/repeat: 1/' night.yaml >off.yaml
dvfs-plan off.yaml --no-html >/dev/null 2>&1
dvfs-plan setting off.sqlite --as sysfs >script.sh
sh script.sh >/dev/null; echo "script set: $? $(cat /sys/devices/system/cpu/smt/control /sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq | tr '\\n' ' ')"
sh script.sh back >/dev/null; echo "script put back: $?"
echo "behind the script: $({STATE})"
dvfs-plan alone.yaml --fresh --no-html >/dev/null 2>&1 &
run=$!
until [ "$(cat /sys/devices/system/cpu/smt/control)" = off ]; do :; done
kill -9 $(pidof dvfs-guardian) $run
wait $run 2>/dev/null
dvfs-plan restore
echo "after both alone: $({STATE})"
# Killed while the second thread is away, alone and with its guardian.
for whom in run both; do
    dvfs-plan night.yaml --fresh --no-html >/dev/null 2>&1 &
    run=$!
    until [ "$(cat /sys/devices/system/cpu/smt/control)" = off ]; do :; done
    [ $whom = run ] || kill -9 $(pidof dvfs-guardian)
    kill -9 $run
    wait $run 2>/dev/null
    [ $whom = run ] || dvfs-plan restore
    n=0; while [ "$(cat /sys/devices/system/cpu/smt/control)" = off ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done
    sleep 0.5
    echo "after $whom: $({STATE})"
done
"""
        code, console = self.testbed.run(job, {"night.yaml": NIGHT, "bin/looks": LOOKS})
        self.assertEqual(code, 0, console)
        self.assertIn("  + cpu.smt: off, on\n", console)
        self.assertIn("ended: 0\n", console)
        self.assertIn("ended alone: 0\n", console)
        states = {line.split(": ")[0]: line.split(": ")[1].strip() for line in console.splitlines() if line.split(": ")[0] in ("before", "behind", "behind alone", "behind the script", "after both alone", "after run", "after both")}
        self.assertIn("script set: 0 off 1800000 \nscript put back: 0\n", console)
        self.assertEqual(len(states), 7, console)
        self.assertIn("on 0-1 ", states["before"] + " ", console)
        for when, state in states.items():
            self.assertEqual(state, states["before"], when + "\n" + console)
        out = self.testbed.fetch()
        kept = sorted(path for path in out.glob("night*.sqlite") if path.name != "night.sqlite")[0]
        seen = {}
        for row in testbed.rows(kept, "SELECT t.point, t.counts, m.name, m.value FROM trials t JOIN metrics m USING (trial)"):
            self.assertTrue(row["counts"], row)
            seen.setdefault(row["point"], {}).setdefault(row["name"], []).append(row["value"])
        self.assertEqual(len(seen), 4, seen)
        for point, told in seen.items():
            khz = 1_800_000 if "1.8 GHz" in point else 3_000_000
            if "cpu.smt=on" in point:
                self.assertEqual(told, {"online": [2] * 3, "second": [khz] * 3, "owners": [1] * 3}, point)
            else:
                self.assertEqual(told, {"online": [1] * 3}, point)
        # What was applied is of what was there.
        targets = testbed.rows(kept, "SELECT t.point, group_concat(DISTINCT s.target) AS targets FROM settings s JOIN trials t USING (trial) WHERE s.axis = 'cpu.frequency' GROUP BY t.point")
        for row in targets:
            self.assertEqual(row["targets"], "policy0,policy1" if "cpu.smt=on" in row["point"] else "policy0", row)


if __name__ == "__main__":
    testbed.main()
