"""What programs of `set` take along on a real kernel (a profile that chooses the governor and the limits) is put back, whatever ends the night; what
somebody else changed meanwhile stays his."""
import testbed

NIGHT = """name: night
conditions: {warm up: 0, idle: none, references: false, foreign load: off, temperature: off}
objective: time
workloads: [{name: w, shell: "cat /sys/devices/system/cpu/cpufreq/policy*/scaling_governor >>ran-at.txt; sleep SECONDS"}]
axes: {set.profile: [saver, fast]}
set:
  profile: {command: [profile, set, "{value}"], read: [profile, get], values: [saver, fast, usual]}
repeat: 2
settle: 1 ms
"""
# The usual profile has a governor of its own, and the owner has chosen another since.
PROFILE = """#!/bin/sh
at=/sys/devices/system/cpu/cpufreq
case $1 in
get) cat /tmp/profile;;
set)
  case $2 in
  saver) for p in $at/policy*; do echo powersave >$p/scaling_governor; echo 1800000 >$p/scaling_max_freq; done;;
  fast) for p in $at/policy*; do echo performance >$p/scaling_governor; echo 3000000 >$p/scaling_max_freq; done;;
  usual) for p in $at/policy*; do echo schedutil >$p/scaling_governor; done;;
  esac
  echo $2 >/tmp/profile; [ -e /tmp/hangs ] && [ $2 = fast ] && sleep 5; exit 0;;
esac
"""
READY = """
at=/sys/devices/system/cpu/cpufreq
echo usual >/tmp/profile
for p in $at/policy*; do echo schedutil >$p/scaling_governor; echo 2600000 >$p/scaling_max_freq; done
echo 4321 >$at/schedutil/rate_limit_us 2>/dev/null
echo userspace >$at/policy1/scaling_governor; echo 1400000 >$at/policy1/scaling_setspeed
machine() { cat /tmp/profile $at/policy*/scaling_governor $at/policy*/scaling_m??_freq $at/schedutil/rate_limit_us 2>/dev/null; cat $at/policy1/scaling_setspeed; }
machine >was.txt
same() { machine >now.txt; cmp -s was.txt now.txt && echo "$1: as it was" || { echo "$1: changed"; diff was.txt now.txt; }; }
"""


class TakenAlong(testbed.TestbedCase):
    def run_job(self, job, seconds="0.2"):
        code, console = self.testbed.run("cp /night.yaml .\n" + READY + job, {"night.yaml": NIGHT.replace("SECONDS", seconds), "bin/profile": PROFILE})
        self.assertEqual(code, 0, console)
        self.out = self.testbed.fetch()
        return console

    def said(self, name):
        return (self.out / name).read_text()

    def test_a_night_that_ends_is_stopped_or_killed(self):
        console = self.run_job("""
dvfs-plan check night.yaml >check.txt
dvfs-plan night.yaml --no-html >report.txt 2>log.txt; echo $? >code.txt
same whole
rm -f night.sqlite*; sed -i 's/sleep 0.2/sleep 5/' night.yaml
until_it_works() { while ! pidof sleep >/dev/null; do usleep 10000; done; usleep 200000; }
dvfs-plan night.yaml --no-html >/dev/null 2>stopped.txt & run=$!
until_it_works; kill -INT $run; wait $run; same stopped
dvfs-plan night.yaml --no-html >/dev/null 2>&1 & run=$!
until_it_works; kill -9 $run; wait $run; for i in 1 2 3 4 5 6 7 8 9 10; do pidof dvfs-guardian >/dev/null || break; sleep 0.5; done; same "run killed"
dvfs-plan night.yaml --no-html >/dev/null 2>&1 & run=$!
until_it_works; kill -9 $(pidof dvfs-guardian) $run; wait $run
machine >now.txt; cmp -s was.txt now.txt && echo "nothing was changed"
dvfs-plan restore >restored.txt 2>&1; same "both killed"
touch /tmp/hangs
dvfs-plan night.yaml --no-html >/dev/null 2>&1 & run=$!
while [ "$(cat /tmp/profile)" != fast ]; do usleep 10000; done; kill -9 $(pidof dvfs-guardian) $run; wait $run
dvfs-plan restore >amid.txt 2>&1; same "killed amid a setter"
""")
        for name in ("whole", "stopped", "run killed", "both killed", "killed amid a setter"):
            self.assertIn(f"{name}: as it was\n", console)
        self.assertNotIn("nothing was changed", console)
        self.assertEqual(self.said("code.txt"), "0\n", self.said("log.txt"))
        self.assertEqual(set(self.said("ran-at.txt").split()), {"performance", "powersave"})
        self.assertIn("and what programs of `set` take along of the CPUs' governors, clocks", self.said("check.txt"))

    def test_what_somebody_else_sets_meanwhile_stays(self):
        """Of what the programs took along, of what none of them touches, and of what the usual profile takes along as it is put back in the end."""
        console = self.run_job("""
(while [ "$(wc -l <ran-at.txt)" != 8 ]; do usleep 10000; done 2>/dev/null
 echo ondemand >$at/policy0/scaling_governor; echo 1400000 >$at/policy0/scaling_min_freq) & other=$!
dvfs-plan night.yaml --no-html >report.txt 2>log.txt; echo $? >code.txt
echo "policy0: $(cat $at/policy0/scaling_governor) $(cat $at/policy0/scaling_min_freq) $(cat $at/policy0/scaling_max_freq)"
echo "policy1: $(cat $at/policy1/scaling_governor) $(cat $at/policy1/scaling_setspeed) $(cat $at/policy1/scaling_max_freq)"
""", "1")
        self.assertEqual(self.said("code.txt"), "0\n", self.said("log.txt"))
        self.assertIn("policy0: ondemand 1400000 2600000\npolicy1: userspace 1400000 2600000\n", console)
        log = self.said("log.txt")
        governor = "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"
        self.assertRegex(log, rf"note: {governor} is 'ondemand', which is neither what the run set \([a-z, ]+\) nor what was there before \('schedutil'\): somebody else changed it meanwhile, "
                              rf"and it was left so; to put it back: echo schedutil \| sudo tee {governor}\n")
        lowest = "/sys/devices/system/cpu/cpufreq/policy0/scaling_min_freq"
        self.assertIn("note: while the programs of `set` were in use this changed, by somebody else or by what one of them began and that went on behind its end, and was left so: "
                      f"{lowest} was '1000000' and is '1400000' (to put it back: echo 1000000 | sudo tee {lowest})\n", log)
        tunable = "/sys/devices/system/cpu/cpufreq/schedutil/rate_limit_us"  # of the governor that he took away
        self.assertIn(f"note: {tunable} was '4321' and is not there any more: when it comes back it is to be set again: echo 4321 | sudo tee {tunable}\n", log)


if __name__ == "__main__":
    testbed.main()
