"""A BMC behind the kernel's own IPMI driver and a KCS interface (tests/testbed/bmc.py), read by the probe `ipmi`: what it says, who may ask, and what
of a BMC that is slow, silent or without DCMI."""
import sys

import testbed

sys.path.insert(0, str(testbed.ROOT / "tests/testbed"))
import bmc  # noqa: E402

DRIVER = "for m in ipmi_msghandler ipmi_devintf ipmi_si; do insmod /lib/modules/$m.ko || exit 9; done; [ -e /dev/ipmi0 ] || exit 8\n"
NIGHT = """name: night
objective: {objective}
conditions: {{warm up: 0, idle: none, references: false, foreign load: off, temperature: off}}
probes: [{probes}]
workloads: [{{name: w, command: [sleep, "{seconds}"]}}]
repeat: {repeat}
"""


class Ipmi(testbed.TestbedCase):
    def setUp(self):
        super().setUp()
        self.bmc = bmc.Bmc(self.testbed.folder / "bmc.sock")
        self.addCleanup(self.bmc.close)
        self.testbed.more = {"TESTBED_BMC": str(self.bmc.path)}

    def sql(self, text):
        return testbed.sql(self.out / "night.sqlite", text)

    @testbed.on_a_busy_host
    def test_what_it_says_is_measured_and_who_may_ask(self):
        self.bmc.watts = 231
        job = DRIVER + """
dvfs-plan doctor >doctor.txt
dvfs-plan night.yaml --no-html >report.txt 2>log.txt; echo $? >code.txt
# Under sudo the run is a user's, who might switch the machine off by it.
chown 1000:1000 . && SUDO_UID=1000 SUDO_GID=1000 SUDO_USER=guest dvfs-plan doctor >sudo.txt
su guest -c 'dvfs-plan doctor' >guest.txt
"""
        code, console = self.testbed.run("cp /night.yaml .\n" + job, {"night.yaml": NIGHT.format(objective="time", probes="ipmi, hwmon", seconds=3, repeat=2)})
        self.assertEqual(code, 0, console)
        self.out = self.testbed.fetch()
        self.assertIn("  + ipmi (read where an experiment's `probes` names it)\n      ipmi:power [W] /dev/ipmi0 (DCMI); it offers means over 5 s, 60 s\n", (self.out / "doctor.txt").read_text())
        for name in ("sudo.txt", "guest.txt"):
            self.assertIn("  - ipmi: /dev/ipmi0 may be opened by root alone: who may ask a BMC may switch the machine off as well\n"
                          "      fix: run as root himself, with run_as: USER for the workloads (under sudo a run is yours), or read it by a program of yours that may (docs/meters.md)\n",
                          (self.out / name).read_text())
        self.assertEqual((self.out / "code.txt").read_text(), "0\n", (self.out / "log.txt").read_text())
        rows = self.sql("SELECT value, absence FROM readings WHERE channel = 'ipmi:power'")
        self.assertGreater(len(rows), 8)
        self.assertEqual({(row["value"], row["absence"]) for row in rows}, {(231, None)})

    @testbed.on_a_busy_host
    def test_of_joules_of_a_meter_whose_window_is_not_known_no_interval_is_stated(self):
        job = DRIVER + "dvfs-plan night.yaml --no-html --json >report.json 2>log.txt; echo $? >code.txt\n"
        code, console = self.testbed.run("cp /night.yaml .\n" + job, {"night.yaml": NIGHT.format(objective="time", probes="ipmi", seconds=2, repeat=2)})
        self.assertEqual(code, 0, console)
        self.out = self.testbed.fetch()
        rows = self.sql("SELECT channel, domain, e.energy_j / t.time_s AS watts, half_width_j FROM energy e JOIN trials t USING (trial)")
        self.assertEqual({(row["channel"], row["domain"], row["half_width_j"]) for row in rows}, {("ipmi:power", "system", None)})
        for row in rows:
            self.assertAlmostEqual(row["watts"], 150, delta=3)
        self.assertIn("and over how long each value is a mean is not known: what a load that comes and goes in between makes of it cannot be stated\n", (self.out / "log.txt").read_text())

    @testbed.on_a_busy_host
    def test_a_bmc_that_is_slow_and_falls_silent_in_the_night(self):
        """1.5 s an answer, then none: the other meter goes on as ever, and nothing is made up."""
        self.bmc.takes_s = 1.5
        process = self.testbed.start("cp /night.yaml .\n" + DRIVER + "(dvfs-plan night.yaml --no-html 2>&1 >report.txt; echo ended: $?) | cat\n",
                                     {"night.yaml": NIGHT.format(objective="time", probes="{name: ipmi, rate: 2 Hz}, hwmon", seconds=6, repeat=2)})
        console = []
        for line in process.stdout:
            console.append(line)
            if line.startswith("w #1: "):
                self.bmc.silent = True
        process.wait(timeout=120)
        process.stdout.close()
        console = "".join(console)
        self.assertRegex(console, "\nended: [01]\n")
        self.out = self.testbed.fetch()
        rows = self.sql("SELECT key, channel, count(*) AS n, count(value) AS known, sum(absence = 'gone') AS gone FROM readings JOIN trials USING (trial) GROUP BY 1, 2")
        counts = {(row["key"], row["channel"]): row for row in rows}
        self.assertGreaterEqual(counts["w #1", "ipmi:power"]["known"], 2, rows)
        self.assertFalse(counts["w #1", "ipmi:power"]["gone"], rows)
        self.assertLessEqual(counts["w #2", "ipmi:power"]["known"], 1, (rows, console))  # one that was asked before
        self.assertGreaterEqual(counts["w #2", "ipmi:power"]["gone"] or 0, 1, (rows, console))
        meter = next(row["channel"] for row in rows if row["channel"].startswith("hwmon:power_meter"))
        for key in ("w #1", "w #2"):
            self.assertEqual(counts[key, meter]["known"], counts[key, meter]["n"], rows)
        self.assertGreater(counts["w #2", meter]["n"], counts["w #1", meter]["n"] / 2, rows)

    def test_a_bmc_without_dcmi_is_said_so(self):
        self.bmc.has_dcmi = False
        code, console = self.testbed.run("cp /night.yaml .\n" + DRIVER + "dvfs-plan night.yaml >report.txt 2>log.txt; echo $? >code.txt\n",
                                         {"night.yaml": NIGHT.format(objective="time", probes="ipmi", seconds=1, repeat=1)})
        self.assertEqual(code, 0, console)
        self.assertIn("night.yaml:4:10: probe 'ipmi': the BMC at /dev/ipmi0 has no DCMI power reading: completion code 0xC1\n"
                      "  hint: `ipmitool dcmi power reading` shows what it says; its vendor's own way may be read by a program of yours (docs/meters.md)\n",
                      (self.testbed.fetch() / "log.txt").read_text())  # the kernel writes to the console as well, in the middle of a line


if __name__ == "__main__":
    testbed.main()
