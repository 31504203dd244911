"""A power analyser on USB behind the kernel's own usbtmc driver (tests/testbed/usb_instrument.py), read by a meter of kind scpi."""
import sys

import scpi_meter
import testbed

sys.path.insert(0, str(testbed.ROOT / "tests/testbed"))
import usb_instrument  # noqa: E402

DRIVER = """for m in usb-common usbcore ehci-hcd ehci-pci usbtmc; do insmod /lib/modules/$m.ko || exit 9; done
i=0; while [ ! -e /dev/usbtmc0 ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i+1)); done; [ -e /dev/usbtmc0 ] || { dmesg | tail -30; exit 8; }
"""
NIGHT = """name: night
objective: energy
conditions: {{warm up: 0, idle: none, references: false, foreign load: off, temperature: off}}
probes: [{{name: wall, meter: scpi, at: /dev/usbtmc0}}]
workloads: [{{name: w, command: [sleep, "{seconds}"]}}]
repeat: {repeat}
"""


class UsbInstrument(testbed.TestbedCase):
    def setUp(self):
        super().setUp()
        self.meter = scpi_meter.Wt310()
        self.usb = usb_instrument.Instrument(self.testbed.folder / "usb.sock", self.meter)
        self.addCleanup(self.usb.close)
        self.testbed.more = {"TESTBED_USB": str(self.usb.path)}

    def sql(self, text):
        return testbed.sql(self.out / "night.sqlite", text)

    @testbed.on_a_busy_host
    def test_what_it_says_is_measured_and_who_may_not_open_it_is_told(self):
        job = DRIVER + "dvfs-plan night.yaml --no-html >report.txt 2>log.txt; echo $? >code.txt; chmod 600 /dev/usbtmc0; su guest -c 'dvfs-plan check /night.yaml' >guest.txt 2>&1\n"
        code, console = self.testbed.run("cp /night.yaml .\n" + job + "exit 0\n", {"night.yaml": NIGHT.format(seconds=2, repeat=2)})
        self.assertEqual(code, 0, console)
        self.out = self.testbed.fetch()
        self.assertEqual((self.out / "code.txt").read_text(), "0\n", (self.out / "log.txt").read_text() + console)
        rows = self.sql("SELECT value, absence FROM readings WHERE channel = 'wall:power'")
        self.assertGreater(len(rows), 20)
        self.assertEqual({(row["value"], row["absence"]) for row in rows}, {(99.99, None), (100, None), (100.01, None)})
        for row in self.sql("SELECT e.energy_j / t.time_s AS watts, half_width_j, domain FROM energy e JOIN trials t USING (trial)"):
            self.assertAlmostEqual(row["watts"], 100, delta=2)
            self.assertEqual(row["domain"], "system")
        self.assertIn("meter 'wall' (scpi): open /dev/usbtmc0: Permission denied\n    hint: sudo setfacl -m u:$USER:rw /dev/usbtmc0 (until it is unplugged), or a udev rule: docs/meters.md\n",
                      (self.out / "guest.txt").read_text())

    @testbed.on_a_busy_host
    def test_one_that_falls_silent_in_the_night(self):
        """Each question is waited for, nothing is made up, and what it says late is no answer to the next question."""
        process = self.testbed.start("cp /night.yaml .\n" + DRIVER + "(dvfs-plan night.yaml --no-html 2>&1 >report.txt; echo ended: $?) | cat\n", {"night.yaml": NIGHT.format(seconds=2, repeat=3)})
        console = []
        for line in process.stdout:
            console.append(line)
            if line.startswith("w #1: "):
                self.meter.silent = True
            if "w #2" in line:
                self.meter.silent = False
        process.wait(timeout=180)
        process.stdout.close()
        console = "".join(console)
        self.assertRegex(console, "\nended: [01]\n")
        self.out = self.testbed.fetch()
        trials = {row["key"]: row for row in self.sql("SELECT key, verdict, energy_j FROM trials")}
        self.assertEqual(trials["w #1"]["verdict"], "ok")
        self.assertIn(trials["w #2"]["verdict"], ("sensor_gone", "sensor_gap"))
        self.assertIsNone(trials["w #2"]["energy_j"])
        # It answers again: its trial is run again behind, and counts.
        self.assertIn("ok", [trial["verdict"] for key, trial in trials.items() if key not in ("w #1", "w #2")], trials)
        self.assertEqual({row["value"] for row in self.sql("SELECT DISTINCT value FROM readings WHERE value IS NOT NULL")}, {99.99, 100, 100.01})


if __name__ == "__main__":
    testbed.main()
