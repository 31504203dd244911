#!/usr/bin/python3
"""The machine loses its power at random moments of a night, and its disk loses what was not flushed, torn at sectors: what was told as finished is there,
the file is whole, and the night goes on."""
import pathlib
import random
import re
import subprocess
import threading
import time

import attack
import volatile_disk

NIGHT = """
name: night
conditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 0}
workloads:
  - {name: mixed, command: [dvfs-mixed, "0.03", "0.01"]}
axes: {cpu.frequency: all, cpu.governor: [schedutil, performance]}
repeat: 1000
settle: 5 ms
"""
# What is there from before the cut, and on with the night.
JOB = r"""
[ -e night.sqlite ] && { dvfs-plan sql night.sqlite "SELECT key FROM trials" --csv | sed 's/^/there: /'; dvfs-plan report night.sqlite >report.txt 2>report.err; echo "report: $?"; cat report.err; grep -i damaged report.txt; }
echo "there: all"
dvfs-plan /night.yaml --no-html 2>&1 | cat  # no terminal, so that each trial has a line
echo ended
"""


def told_by(line):
    return line.split(": ")[0] if re.match(r"mixed .*: [0-9.]+ s", line) else None


class PowerCuts(attack.Told):
    account = attack.Account("power cuts, with the disk's unflushed sectors lost or torn")

    def setUp(self):
        self.testbed = attack.testbed.Testbed()
        self.addCleanup(self.testbed.close)

    def boot(self):
        """Starts the machine; returns it, the lines of its console so far (they grow), and the reader."""
        process = self.testbed.start(JOB, {"night.yaml": NIGHT})
        lines = []
        def read():
            for line in iter(process.stdout.readline, ""):
                lines.append(line.rstrip("\n"))
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        self.addCleanup(lambda: process.poll() is None and self.testbed.switch_off())
        return process, lines, reader

    def boot_up(self, disk):
        """The same, once it has said what is there. Now and then QEMU's processors stand still before the kernel has said a word of its own (one of 30
        times on a busy machine): that is no cut of ours, and it is started anew. So it is where the file system itself cannot be mounted, once it was
        checked, as a machine's boot does. Three times at most."""
        for again in (3, 2, 1, 0):
            process, lines, reader = self.boot()
            deadline = time.monotonic() + 90
            while "there: all" not in lines and time.monotonic() < deadline:
                time.sleep(0.02)
            # Its watchdogs may have said that it does.
            stood_still = not any(line and "rcu" not in line and "soft lockup" not in line for line in lines)
            torn = any("the disk cannot be mounted" in line for line in lines)
            if not (stood_still or torn) or not again:
                self.assertIn("there: all", lines, lines)
                return process, lines, reader
            self.testbed.switch_off()
            process.wait(timeout=60)
            reader.join(timeout=10)
            process.stdout.close()
            if torn:
                print(f"the file system could not be mounted; {disk.checked(self.testbed.folder / 'checked.img')}")
            else:
                print("the virtual machine stood still before its kernel said a word, and was started anew")

    def test_cuts(self):
        image = self.testbed.folder / "disk.img"
        with open(image, "wb") as file:
            file.truncate(96 << 20)
        subprocess.run(["/sbin/mke2fs", "-q", "-t", "ext4", "-F", image], check=True)
        disk = volatile_disk.VolatileDisk(image.read_bytes(), self.testbed.folder / "disk.sock")
        self.addCleanup(disk.close)
        self.testbed.disk = disk.url
        chance, told, waiting, lost = random.Random(1917), set(), 0, 0
        cuts = 100 if attack.LONG else 4
        for cut in range(cuts + 1):
            process, lines, reader = self.boot_up(disk)
            deadline = time.monotonic() + 90
            there = {line.removeprefix("there: ") for line in lines if line.startswith("there: mixed ")}
            report = [line for line in lines if line.startswith("report: ")]
            if cut > 0:
                with self.subTest(cut=cut):
                    self.assertLessEqual(told, there, [line for line in lines if not line.startswith("there: mixed ")][:40])
                    self.assertIn(report, (["report: 0"], ["report: 1"], []), lines)
                    self.assertEqual([line for line in lines if "damaged" in line], [])
                    self.account.survived += 1
                self.account.lost += len(told - there)
            if cut < cuts:
                # One in five while the night begins; else once trials are told.
                early = chance.random() < 0.2
                while not early and not any(told_by(line) for line in lines) and time.monotonic() < deadline:
                    time.sleep(0.02)
                time.sleep(1.5 * chance.random())
                disk.off_behind(chance.randrange(20))  # in the middle of what is being written
                disk.is_off.wait(timeout=5)
                self.account.tried += 1
            self.testbed.switch_off()
            process.wait(timeout=60)
            reader.join(timeout=10)
            process.stdout.close()
            told |= {told_by(line) for line in lines} - {None}
            one = disk.cut(chance)
            waiting, lost = waiting + one[0], lost + one[1]
        print(f"{cuts} cuts: {len(told)} trials told, {disk.flushes} flushes; {waiting} sectors were not flushed yet, {lost} of these were lost")
        self.assertEqual(self.account.lost, 0)
        self.assertGreater(len(told), 3 * cuts)
        self.assertGreaterEqual(lost, cuts)  # the cuts are worth making
        pathlib.Path(image).write_bytes(disk.flushed)
        self.testbed.disk = image
        out = self.testbed.fetch()
        self.assertEqual(attack.testbed.integrity(out / "night.sqlite"), "ok")


if __name__ == "__main__":
    attack.main()
