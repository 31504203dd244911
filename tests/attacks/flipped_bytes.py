#!/usr/bin/python3
"""Bytes flipped, pages swapped, rows changed by hand in a finished result: a report says what was measured, or that it is damaged. None crashes."""
import json
import random
import shutil
import sqlite3
import subprocess

import attack

METER = """probes:
  - name: wall
    command: [sh, -c, 'i=0; while :; do i=$((i+1)); echo power $((100 + i % 7)) W; sleep 0.009; done']
    channels: {power: {unit: W, averages over: 10 ms}}
    rate: 100 Hz
"""


class Flipped(attack.AttackCase):
    account = attack.Account("flipped bytes, swapped pages, rows changed by hand in a result")

    @classmethod
    def tearDownClass(cls):
        cls.account.tell()

    def setUp(self):
        super().setUp()
        run = self.start(attack.night("sleep 0.1; echo rate=1.5 1/s", 4, METER).replace("objective: time", "objective: energy"))
        self.assertEqual(run.wait(timeout=60), 0)
        self.whole = self.folder / "night.sqlite"
        sqlite3.connect(self.whole).execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.copy = self.folder / "copy.sqlite"
        self.wanted = self.report(self.whole)
        self.assertEqual(self.wanted[0], 0)

    def report(self, file):
        done = subprocess.run([attack.PROGRAM, "report", file, "--json"], capture_output=True, text=True, errors="replace", timeout=60)
        self.assertGreaterEqual(done.returncode, 0, done.stderr)
        for raw in ("map::at", "vector::", "std::", "basic_string", "terminate", "this is a fault of dvfs-plan itself"):
            self.assertNotIn(raw, done.stderr)
        return done.returncode, done.stdout.replace(str(file), "FILE"), done.stderr

    def judge(self, what):
        """Refused, the same, or said to be damaged; anything else is a lie."""
        self.account.tried += 1
        code, said, _ = self.report(self.copy)
        if code >= 2 or said == self.wanted[1] or "damaged" in said:
            self.account.survived += 1
            return None
        wanted, found = json.loads(self.wanted[1]), json.loads(said)
        return what, {key: (wanted.get(key), found.get(key)) for key in found if wanted.get(key) != found.get(key)}

    def test_bytes_and_pages(self):
        bytes_of = self.whole.read_bytes()
        chance, silent = random.Random(9), []
        for i in range(3000 if attack.LONG else 150):
            spoilt = bytearray(bytes_of)
            if i % 3 != 2:
                at, by = chance.randrange(len(spoilt)), chance.randrange(1, 256)
                spoilt[at] ^= by
                what = f"byte {at} ^ {by:#x}"
            else:
                one, other = chance.sample(range(len(spoilt) // 4096), 2)
                one, other = slice(4096 * one, 4096 * one + 4096), slice(4096 * other, 4096 * other + 4096)
                spoilt[one], spoilt[other] = spoilt[other], spoilt[one]
                what = f"pages {one.start // 4096} and {other.start // 4096} swapped"
            self.copy.write_bytes(spoilt)
            if found := self.judge(what):
                silent.append(found)
        for what, changed in silent:
            print("SILENT", what, json.dumps(changed)[:300])
        # When sessions began and ended has no checksum; all else has.
        self.assertEqual([what for what, changed in silent if set(changed) - {"noticed", "sessions"}], [])

    def test_rows_changed_by_hand(self):
        for change in ("UPDATE trial SET region_s = region_s * 0.98 WHERE id = 3", "UPDATE trial SET verdict = 'ok', verdict_text = ''", "UPDATE trial SET energy_j = energy_j * 0.9",
                       "UPDATE region SET ended_ns = ended_ns + 1000000 WHERE trial_id = 4", "DELETE FROM channel_energy WHERE trial_id = 3", "UPDATE metric SET value = 2 WHERE trial_id = 4",
                       "UPDATE channel SET unit = 'J'", "UPDATE point SET is_reference = 1 - is_reference", "UPDATE point_value SET number = number + 1", "UPDATE experiment SET objective = 'edp'",
                       "UPDATE trial SET point_id = 3 - point_id", "UPDATE trial_setting SET requested = '1300'"):
            with self.subTest(change):
                shutil.copy(self.whole, self.copy)
                with sqlite3.connect(self.copy) as database:
                    database.execute(change)
                database.close()
                changed = self.judge(change)
                if change.startswith("UPDATE trial SET verdict"):
                    continue  # they were so
                self.assertIsNone(changed)

    def test_readings_changed_by_hand(self):
        shutil.copy(self.whole, self.copy)
        with sqlite3.connect(self.copy) as database:
            database.execute("UPDATE reading_values SET factor = factor * 2 WHERE trial_id = 3")
        database.close()
        self.account.tried += 1
        done = subprocess.run([attack.PROGRAM, "report", self.copy, "--recompute", "--json"], capture_output=True, text=True)
        self.assertIn(3, [key for key in [3] if json.loads(done.stdout)["without_readings"]], done.stdout[:500])
        self.account.survived += 1


if __name__ == "__main__":
    attack.main()
