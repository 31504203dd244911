"""Sweeps without root, on a real kernel: members of the group through the machine's guardian, one at a time; what kills and power cuts leave."""
import json
import re
import time
import random

import arithmetic
import testbed

QUICKSTART = (testbed.ROOT / "experiments/quickstart.yaml").read_text()
# What leaves more behind: a server, and three copies at once.
SHARED = """
name: short
conditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 0}
services: [{name: server, command: [dvfs-mixed, --serve, "8080", "0.01", "0.01"], ready: {port: 8080}}]
workloads: [{name: mixed, command: [dvfs-mixed, "0.05", "0.02"], instances: 3}]
axes: {cpu.frequency: all, cpu.governor: [schedutil, performance]}
repeat: %d
settle: 20 ms
"""
SHORT = """
name: short
conditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 0}
workloads: [{name: mixed, command: [dvfs-mixed, "0.05", "0.02"]}]
axes: {cpu.frequency: all, cpu.governor: [schedutil, performance]}
repeat: %d
settle: 20 ms
"""
# Users, the group, a guardian that somebody starts anew where it is killed: what systemd or an init does.
MACHINE = r"""
echo 'alice:x:1001:1001::/tmp/alice:/bin/sh
bob:x:1002:1002::/tmp/bob:/bin/sh
mallory:x:1003:1003::/tmp/mallory:/bin/sh' >>/etc/passwd
echo 'root:x:0:
dvfs-plan:x:900:alice,bob
alice:x:1001:
bob:x:1002:
mallory:x:1003:' >/etc/group
chmod 755 /etc / /data; chmod 644 /etc/passwd /etc/group; chmod 1777 /tmp
for user in alice bob mallory; do mkdir -p /data/$user; chown $user:$user /data/$user; ln -s /data/$user /tmp/$user; done
mkdir -p /run
state() { cat /sys/devices/system/cpu/cpufreq/policy*/scaling_governor /sys/devices/system/cpu/cpufreq/policy*/scaling_m??_freq; }
ms() { awk '{printf "%%d", $1 * 1000}' /proc/uptime; }
as() { user=$1; shift; testbedctl grant su $user -c "cd /data/$user && $*"; }
while :; do dvfs-guardian --listen /run/dvfs-plan/guardian.sock --state-folder /data/state; sleep 0.1; done &
until [ -S /run/dvfs-plan/guardian.sock ]; do sleep 0.02; done
before=$(state)
"""
# Processes named dvfs-guardian that serve a session: children of the one that listens.
SESSIONS = r"""
sessions() { for p in /proc/[0-9]*; do [ "$(cat $p/comm 2>/dev/null)" = dvfs-guardian ] && grep -q "^PPid:.$listener\$" $p/status 2>/dev/null && echo ${p#/proc/}; done; }
listener=$(for p in /proc/[0-9]*; do [ "$(cat $p/comm 2>/dev/null)" = dvfs-listener ] && echo ${p#/proc/}; done)
runs() { for p in /proc/[0-9]*; do [ "$(cat $p/comm 2>/dev/null)" = dvfs-plan ] && echo ${p#/proc/}; done; }
left() { for p in /proc/[0-9]*; do case "$(cat $p/comm 2>/dev/null)" in dvfs-plan|dvfs-guardian|dvfs-mixed) echo "${p#/proc/}:$(cat $p/comm)";; esac; done; }
"""
USERS = MACHINE + r"""
as alice dvfs-plan /quickstart.yaml --json --quiet >/data/alice/report.json 2>/data/alice/log &
alice=$!
until [ "$(state)" != "$before" ]; do sleep 0.05; done
as bob dvfs-plan /short.yaml --quiet; echo "bob at once: $?"
as bob dvfs-plan who
as mallory dvfs-plan /short.yaml --quiet; echo "mallory meanwhile: $?"
as bob dvfs-plan /short.yaml --wait 2>/data/bob/log >/data/bob/report; echo "bob in his turn: $?"
wait $alice
cat /data/alice/log; grep -h "waiting\|left the machine" /data/bob/log
[ "$(state)" = "$before" ] || echo "not restored"
as alice dvfs-plan who
as mallory dvfs-plan /short.yaml; echo "mallory: $?"
as mallory dvfs-plan doctor | grep -A2 cpu.frequency
as alice dvfs-plan doctor | grep -A2 cpu.frequency
ls -ln /data/alice /data/bob
cp /data/alice/report.json /data/bob/report /data/bob/short.sqlite /data
"""
KILLS = MACHINE + SESSIONS + r"""
for n in $(seq %d); do
  as alice dvfs-plan /short.yaml >/tmp/run.log 2>&1 &
  alice=$!
  moment=$(awk -v seed=$((%d + n)) 'BEGIN { srand(seed); printf "%%.3f", 0.3 + 1.2 * rand() }')
  sleep $moment
  kind=$((n %% 4))
  # Most moments are while a setting is changed.
  [ $((n %% 8)) -ge 2 ] || sleep 2
  [ $((n %% 8)) -lt 2 ] || while [ "$(state)" = "$before" ] && [ -n "$(runs)" ]; do :; done
  set=no; [ "$(state)" = "$before" ] || set=yes
  sed -n 's/^\(mixed .*#[0-9]*\): [0-9.]* s.*/\1/p' /tmp/run.log >>/data/said.txt
  run=$(runs | head -1) guardian=$(sessions | head -1)
  case $kind in
    0) what=run; kill -KILL $run;;
    1) what=guardian; kill -KILL $guardian;;
    2) what=both; kill -KILL $run $guardian;;
    3) what=restoring; kill -INT $run; while [ "$(state)" != "$before" ] && [ -n "$(runs)" ]; do :; done; kill -KILL $run;;
  esac 2>/dev/null
  start=$(ms)
  if [ $what = guardian ]; then
    # Whoever stands by it puts back; the run notices, and goes on with a new one.
    sleep 0.3
    run=$(runs | head -1); [ -n "$run" ] && { start=$(ms); kill -KILL $run; }
  fi 2>/dev/null
  while [ "$(state)" != "$before" ] && [ $(($(ms) - start)) -lt 5000 ]; do :; done
  took=$(($(ms) - start))
  while [ -n "$(left)" ] && [ $(($(ms) - start)) -lt 6000 ]; do sleep 0.05; done
  wait $alice 2>/dev/null
  problems=
  [ "$(state)" = "$before" ] || problems="$problems not-restored"
  [ -z "$(left)" ] || problems="$problems left:$(left | tr '\n' ',')"
  [ -e /data/state/journal ] && problems="$problems journal-left"
  grep -q ":1F90 [0-9A-F]*:0000 0A" /proc/net/tcp && problems="$problems port-held"
  testbedctl busy 0
  echo "case $n $what set=$set took=$took problems:$problems"
  [ -z "$problems" ] || cat /tmp/run.log
done
state >/data/state.txt
cp /data/alice/short.sqlite /data/alice/short.sqlite-wal /data
"""


class Guardian(testbed.TestbedCase):
    def test_members_of_the_group_one_at_a_time(self):
        code, console = self.testbed.run(USERS % (), {"quickstart.yaml": QUICKSTART, "short.yaml": SHORT % 1})
        out = self.testbed.fetch()
        report = json.loads((out / "report.json").read_text()) if (out / "report.json").exists() else None
        self.assertIsNotNone(report, console)
        self.assertEqual(report["scenarios"][0]["best_settings"], {"cpu.frequency": "1.8 GHz"}, console)
        self.assertRegex(console, r"error: another sweep is running on this machine \(pid \d+, /quickstart.yaml, since \S+, by alice(, until about \S+)?\)\n"
                                  r"  hint: two sweeps would measure each other; wait for it: the same command with --wait is next, and dvfs-plan who tells how it goes\nbob at once: 3\n")
        self.assertRegex(console, r"alice \(pid \d+\) has this machine since \S+ for /quickstart.yaml, until about 20|alice \(pid \d+\) has this machine since \S+ for /quickstart.yaml; until when is not known yet")
        self.assertRegex(console, r"error: another sweep is running on this machine \(pid \d+, an experiment, by root, or somebody whom its guardian stands for\)\n  hint: .*\nmallory meanwhile: 3")
        self.assertIn("note: this machine has a guardian, which you may not ask (/run/dvfs-plan/guardian.sock: Permission denied): an administrator may add you to the group dvfs-plan\n", console)
        self.assertRegex(console, r"error: axis 'cpu.governor': /sys/devices/system/cpu/cpufreq/policy0/scaling_governor may not be set by this user\n"
                                  r"  hint: run with sudo, or let an administrator install the guardian \(README, Install\); the workloads run as you all the same\nmallory: 3")
        self.assertIn("  - cpu.frequency: 1 GHz, 1.4 GHz, 1.8 GHz, 2.2 GHz, 2.6 GHz, 3 GHz\n", console)  # mallory's doctor
        self.assertIn("  + cpu.frequency: 1 GHz, 1.4 GHz, 1.8 GHz, 2.2 GHz, 2.6 GHz, 3 GHz\n", console)  # alice's
        self.assertIn("waiting for the machine, 1 in the queue; now: pid ", console)
        self.assertRegex(console, "bob in his turn: [01]\n")  # 1: a trial of 50 ms beside others on the host did not count
        self.assertNotIn("not restored", console)
        self.assertIn("nobody has this machine", console)
        # Results are their own, and of trials that ran as them.
        self.assertRegex(console, r"1001 +1001 +\d+ .* quickstart.sqlite")
        self.assertRegex(console, r"1002 +1002 +\d+ .* short.sqlite")

    def test_kills(self):
        self.kill(80 if testbed.LONG else 20, 1901, SHORT, "")

    def test_kills_with_a_service_and_several_at_once(self):
        self.kill(80 if testbed.LONG else 12, 1902, SHARED, " with a service and three at once")

    def kill(self, kills, seed, experiment, with_what):
        repeat = 3 * kills
        code, console = self.testbed.run("ifconfig lo 127.0.0.1 up\n" + KILLS % (kills, seed), {"short.yaml": experiment % repeat}, timeout=2800)
        cases = re.findall(r"^case .*$", console, re.M)
        self.assertEqual(len(cases), kills, console[-3000:])
        for case in cases:
            self.assertTrue(case.endswith("problems:"), case)
        took = sorted(int(t) for t in re.findall(r"took=(\d+)", console))
        print(f"{kills} kills{with_what} of run, guardian, both, or the run while it restored, {console.count('set=yes')} of them while settings were changed; put back after {took[len(took) // 2]} ms (median), {took[-1]} ms (longest)")
        self.assertGreater(console.count("set=yes"), kills // 2)
        out = self.testbed.fetch()
        self.assertEqual(testbed.integrity(out / "short.sqlite"), "ok")
        # What was said to be finished is in the file, and once.
        kept = [row["key"] for row in testbed.rows(out / "short.sqlite", "SELECT key FROM trials")]
        self.assertEqual(len(kept), len(set(kept)))
        said = set((out / "said.txt").read_text().splitlines())
        self.assertLessEqual(said, set(kept))
        self.assertGreater(len(said), kills // 5)  # enough that losing one would show


if __name__ == "__main__":
    testbed.main()
