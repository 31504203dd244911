"""Idle states on a real kernel (acpi_idle, tests/testbed/idle.asl): what cpu.cstates forbids is not entered, by the kernel's own count, and comes back after a kill."""
import testbed

NIGHT = """name: night
objective: time
conditions: {warm up: 0, idle: none, references: false, foreign load: off, temperature: off}
workloads: [{name: naps, command: [/bin/naps], metrics: [lines]}]
axes: {cpu.cstates: [POLL, C1, C2]}
repeat: 2
"""
# How often CPU 0 entered C1 and C2 while it mostly slept.
NAPS = """#!/bin/sh
of() { cat /sys/devices/system/cpu/cpu0/cpuidle/state$1/usage; }
c1=$(of 1) c2=$(of 2)
for i in 1 2 3 4 5 6 7 8; do sleep 0.05; done
echo "c1 $(($(of 1) - c1))"; echo "c2 $(($(of 2) - c2))"
"""
STATE = "cat /sys/devices/system/cpu/cpu*/cpuidle/state*/disable | tr -d '\\n'"


class Idle(testbed.TestbedCase):
    def setUp(self):
        super().setUp()
        self.testbed.more = {"TESTBED_IDLE": "1"}

    def test_what_is_forbidden_is_not_entered(self):
        job = f"""cp /night.yaml .
dvfs-plan doctor | grep -A1 cpu.cstates
dvfs-plan night.yaml --no-html >report.txt 2>log.txt; echo "ended: $?"; cat log.txt
echo "state: $({STATE})"
# Killed while C2 is forbidden: the guardian puts it back.
dvfs-plan night.yaml --fresh --no-html >/dev/null 2>&1 &
run=$!
until [ "$(cat /sys/devices/system/cpu/cpu1/cpuidle/state2/disable)" = 1 ]; do :; done
kill -9 $run
n=0; while [ "$(cat /sys/devices/system/cpu/cpu1/cpuidle/state2/disable)" = 1 ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done
echo "after the kill: $({STATE})"
"""
        code, console = self.testbed.run(job, {"night.yaml": NIGHT, "bin/naps": NAPS})
        self.assertEqual(code, 0, console)
        self.assertIn("  + cpu.cstates: POLL, C1, C2\n", console)
        self.assertIn("ended: 0\n", console)
        self.assertIn("state: 000000\n", console)
        self.assertIn("after the kill: 000000\n", console)
        out = self.testbed.fetch()
        (kept,) = [path for path in out.glob("night*.sqlite") if path.name != "night.sqlite"]
        rows = testbed.rows(kept, "SELECT t.point, t.counts, m.name, m.value FROM trials t JOIN metrics m USING (trial)")
        self.assertEqual(len(rows), 12, rows)
        entered = {(row["point"], row["name"]): [] for row in rows}
        for row in rows:
            self.assertTrue(row["counts"], row)
            entered[row["point"], row["name"]].append(row["value"])
        for forbidden in (("naps cpu.cstates=POLL", "c1"), ("naps cpu.cstates=POLL", "c2"), ("naps cpu.cstates=C1", "c2")):
            self.assertEqual(entered[forbidden], [0, 0], entered)
        for allowed in (("naps cpu.cstates=C1", "c1"), ("naps cpu.cstates=C2", "c2")):
            self.assertGreater(min(entered[allowed]), 0, entered)


if __name__ == "__main__":
    testbed.main()
