"""Signals at random moments, and the plug pulled: nothing finished is lost, nothing stays set."""
import random
import re
import time

import testbed

SEED = 1905
NIGHT = """
name: night
conditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 0}
workloads:
  - {name: mixed, command: [dvfs-mixed, "0.05", "0.02"]}
axes: {cpu.frequency: all, cpu.governor: [schedutil, performance]}
repeat: %d
settle: 20 ms
"""

# In the guest: starts the night, sends a signal at a random moment, looks at what is left. One line a case.
CASES = r"""
state() { cat /sys/devices/system/cpu/cpufreq/policy*/scaling_governor /sys/devices/system/cpu/cpufreq/policy*/scaling_m??_freq; }
ms() { awk '{printf "%%d", $1 * 1000}' /proc/uptime; }
finished() { dvfs-plan status night.sqlite --json 2>/dev/null | sed -n 's/.*"finished_trials": \([0-9]*\).*/\1/p'; }
before=$(state)
last=0
n=0
for round in $(seq %d); do
  for signal in INT TERM KILL; do
    n=$((n + 1))
    dvfs-plan /night.yaml >run.log 2>&1 &
    pid=$!
    sleep $(awk -v seed=$((%d + n)) 'BEGIN { srand(seed); printf "%%.3f", 0.05 + 2.6 * rand() }')
    # Every second signal waits until a setting is changed: moments drawn alone met one in 4 of 12 cases once.
    [ $((n %% 2)) = 0 ] || while [ "$(state)" = "$before" ] && kill -0 $pid 2>/dev/null; do :; done
    set=no; [ "$(state)" = "$before" ] || set=yes
    said=$(grep -c '^mixed .*: [0-9.]* s' run.log)
    kill -$signal $pid || echo "it had ended already"
    start=$(ms)
    # Until the settings are put back: the report, which comes after that, is as long as its arithmetic takes here.
    while [ "$(state)" != "$before" ] && [ $(($(ms) - start)) -lt 5000 ]; do :; done
    took=$(($(ms) - start))
    wait $pid 2>/dev/null
    code=$?
    while [ "$(state)" != "$before" ] && [ $(($(ms) - start)) -lt 5000 ]; do :; done
    while pidof dvfs-guardian >/dev/null && [ $(($(ms) - start)) -lt 5000 ]; do :; done
    now=$(finished); now=${now:-0}
    problems=
    [ "$(state)" = "$before" ] || problems="$problems not-restored"
    [ $now -ge $((last + said)) ] || problems="$problems lost-a-finished-trial"
    grep -q '^State:.Z' /proc/[0-9]*/status 2>/dev/null && problems="$problems zombie"
    pidof dvfs-mixed dvfs-plan dvfs-guardian >/dev/null && problems="$problems left-running"
    [ -e /var/lib/dvfs-plan/journal ] && problems="$problems journal-left"
    case $signal in KILL) wanted=137;; TERM) wanted=143;; HUP) wanted=129;; *) wanted=130;; esac
    [ $code = $wanted ] || problems="$problems code"
    testbedctl busy 0  # a killed workload left the machine's busy line up; a real one cannot
    echo "case $n $signal set=$set took=$took code=$code finished=$now problems:$problems"
    [ -z "$problems" ] || cat run.log
    last=$now
  done
done
dvfs-plan /night.yaml >run.log 2>&1
echo "last code=$? finished=$(finished)"; grep -v "^mixed.*: [0-9.]* s" run.log
"""


class Signals(testbed.TestbedCase):
    def test_signals_at_random_moments(self):
        rounds = 20 if testbed.LONG else 4
        repeat = 2 * rounds
        code, console = self.testbed.run(CASES % (rounds, SEED), {"night.yaml": NIGHT % repeat}, timeout=1500)
        cases = re.findall(r"^case .*$", console, re.M)
        self.assertEqual(len(cases), 3 * rounds, console)
        for case in cases:
            self.assertTrue(case.endswith("problems:"), case + "\n" + console)
        took = sorted(int(t) for t in re.findall(r"took=(\d+)", console))
        set_meanwhile = console.count("set=yes")
        print(f"{len(cases)} signals, {set_meanwhile} of them while settings were changed; put back after {took[len(took) // 2]} ms (median), {took[-1]} ms (longest)")
        self.assertGreater(set_meanwhile, rounds)  # the moments are worth testing
        # 1: a stall of this machine may have cost a trial its readings, which is then named and does not count.
        self.assertRegex(console, rf"last code=[01] finished={12 * repeat}\n")
        out = self.testbed.fetch()
        self.assertEqual(testbed.integrity(out / "night.sqlite"), "ok")
        not_counted = testbed.rows(out / "night.sqlite", "SELECT verdict, count(*) AS n FROM trials WHERE verdict <> 'ok' GROUP BY verdict")
        print("not counted:", not_counted or "none")
        # What a stall of this machine costs is its own doing; signals and kills cost nothing.
        self.assertLess(sum(v["n"] for v in not_counted if v["verdict"] != "sensor_gap"), 0.05 * 12 * repeat)
        blocks = testbed.rows(out / "night.sqlite", "SELECT block, count(DISTINCT point) AS points, count(*) AS trials FROM trials GROUP BY block")
        self.assertEqual([(b["points"], b["trials"]) for b in blocks], [(12, 12)] * repeat)

    def test_the_guard_bites(self):
        """Without guardian and journal a killed run leaves the machine set: the tests above can fail."""
        code, console = self.testbed.run("""
            dvfs-plan /night.yaml >run.log 2>&1 &
            pid=$!
            while [ "$(cat /sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq)$(cat /sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq)" = 30000001000000 ]; do :; done
            kill -STOP $(pidof dvfs-guardian)
            kill -KILL $pid
            sleep 1
            cat /sys/devices/system/cpu/cpufreq/policy0/scaling_m??_freq >stopped.txt
            dvfs-plan restore; echo "restore while the guardian holds the lock: $?"
            kill -KILL $(pidof dvfs-guardian)
            sleep 0.2
            dvfs-plan restore; echo "restore: $?"
            cat /sys/devices/system/cpu/cpufreq/policy0/scaling_m??_freq >restored.txt
            dvfs-plan restore
            """, {"night.yaml": NIGHT % 5})
        out = self.testbed.fetch()
        self.assertNotEqual((out / "stopped.txt").read_text(), "3000000\n1000000\n", console)
        self.assertEqual((out / "restored.txt").read_text(), "3000000\n1000000\n", console)
        self.assertIn("restore while the guardian holds the lock: 3", console)
        self.assertIn("restore: 0", console)
        self.assertIn("there is nothing to restore", console)

    def test_a_killed_guardian_is_replaced_and_a_second_sweep_refused(self):
        code, console = self.testbed.run("""
            dvfs-plan /night.yaml >run.log 2>&1 &
            pid=$!
            while [ "$(cat /sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq)$(cat /sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq)" = 30000001000000 ]; do :; done
            kill -KILL $(pidof dvfs-guardian)
            sleep 1
            dvfs-plan /night.yaml -o other.sqlite; echo "second: $?"
            kill -KILL $pid
            wait $pid 2>/dev/null
            sleep 1
            cat /sys/devices/system/cpu/cpufreq/policy*/scaling_m??_freq | tr '\\n' ' '
            cat run.log
            """, {"night.yaml": NIGHT % 20})
        self.assertIn("the guardian process was gone and was started anew", console)
        self.assertIn("error: another sweep is running on this machine (pid ", console)
        self.assertIn("second: 3", console)
        self.assertIn("3000000 1000000 3000000 1000000", console)


# What the boot's unit does comes first. Something else has set governors by then, so that there is something to put back.
NIGHT_AFTER_BOOT = """
state() { cat /sys/devices/system/cpu/cpufreq/policy*/scaling_governor /sys/devices/system/cpu/cpufreq/policy*/scaling_m??_freq; }
[ -e before ] || { state >before.new; sync; mv before.new before; }
if [ -e state/journal ]; then for policy in /sys/devices/system/cpu/cpufreq/policy*; do echo conservative >$policy/scaling_governor; done; fi
cat /night.yaml /bin/dvfs-plan /bin/dvfs-guardian >/dev/null
echo restoring
dvfs-guardian --restore --state-folder /data/state; echo "restored: $?"
state | cmp -s - before || echo "not as before: $(state | tr '\\n' ' ')"
dvfs-plan /night.yaml --state-folder /data/state 2>&1 | cat
dvfs-plan status night.sqlite
"""


class PowerCut(testbed.TestbedCase):
    def test_the_plug_is_pulled(self):
        cuts = 20 if testbed.LONG else 3
        repeat = 2 * cuts
        chance = random.Random(SEED)
        said = set()
        while_restoring = restored = 0
        for cut in range(cuts):
            process = self.testbed.start(NIGHT_AFTER_BOOT, {"night.yaml": NIGHT % repeat})
            # Every third in the restore at boot, which takes some 50 ms; the others anywhere in the night, which is as fast as the machine beside other
            # tests: counted by the trials that it tells of.
            in_restore = cut % 3 == 2
            trials = 0 if in_restore else chance.randrange(1 + cut % 3, 12)
            console = ""
            for line in process.stdout:
                console += line
                trials -= bool(re.match(r"mixed .*#\d+", line))
                if line.startswith("restoring" if in_restore else "mixed ") and trials <= 0:
                    break
            deadline = time.monotonic() + chance.uniform(0, 0.08 if in_restore else 0.4)
            while time.monotonic() < deadline:
                time.sleep(0.001)
            self.testbed.switch_off()
            rest, _ = process.communicate(timeout=60)
            console += rest
            self.assertIn("switched off", console)
            self.assertNotIn("not as before", console)
            restored += "an earlier run was cut off" in console
            while_restoring += in_restore and "restored:" not in console
            # What the program had said was finished must be in the file.
            said |= set(re.findall(r"^(mixed .*#\d+): [0-9.]+ s", console, re.M))
            out = self.testbed.fetch()
            if (out / "night.sqlite").exists():
                self.assertEqual(testbed.integrity(out / "night.sqlite"), "ok")
                kept = {row["key"] for row in testbed.rows(out / "night.sqlite", "SELECT key FROM trials")}
                self.assertLessEqual(said, kept, console)
        code, console = self.testbed.run(NIGHT_AFTER_BOOT + "ls state; state | cmp - before && echo as before", {"night.yaml": NIGHT % repeat})
        restored += "an earlier run was cut off" in console
        self.assertIn("restored: 0", console)
        self.assertIn(f"{12 * repeat} of {12 * repeat} trials finished", console)
        self.assertNotIn("journal", console)
        self.assertIn("as before", console)
        self.assertNotIn("not as before", console)
        out = self.testbed.fetch()
        self.assertEqual(testbed.integrity(out / "night.sqlite"), "ok")
        self.assertEqual(testbed.rows(out / "night.sqlite", "SELECT count(*) AS n FROM trials")[0]["n"], 12 * repeat)
        print(f"{cuts} power cuts, {while_restoring} of them while the boot put settings back; {len(said)} trials were said to be finished before a cut and all were kept; {restored} boots put settings back")
        self.assertGreater(restored, 0)


if __name__ == "__main__":
    testbed.main()
