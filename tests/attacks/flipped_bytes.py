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

    def setUp(self):
        super().setUp()
        night = attack.night("sleep 0.1; echo rate=1.5 1/s", 4, METER).replace("objective: time", "objective: energy")
        # What is damaged below is a night of which all trials count: beside other tests its meter, a shell's loop, may be held up for most of one.
        for _ in range(3):
            code = self.start(night, "--fresh").wait(timeout=60)
            if code == 0:
                break
        self.assertEqual(code, 0)
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
        told = any(words in warning for warning in json.loads(said)["warnings"] for words in ("not as written", "not in the file any more")) if code < 2 else True
        if told or said == self.wanted[1] or "damaged" in said:
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
        # What is under way (session.current_trial) has no checksum; all else has.
        self.assertEqual([what for what, changed in silent if set(changed) - {"noticed"}], [])

    def test_tables_that_change_places(self):
        """The first pages of two tables or indexes: each is read as the other, in the columns of the other."""
        with sqlite3.connect(self.whole) as database:
            pages = {name: page for name, page in database.execute("SELECT name, rootpage FROM sqlite_master WHERE rootpage > 0")}
        database.close()
        pairs = [(a, b) for a in pages for b in pages if a < b]
        chosen = pairs if attack.LONG else random.Random(11).sample(pairs, 60)
        bytes_of = self.whole.read_bytes()
        for one, other in [("answer", "metric"), *chosen]:
            with self.subTest(one=one, other=other):
                spoilt = bytearray(bytes_of)
                a, b = (slice(4096 * (pages[name] - 1), 4096 * pages[name]) for name in (one, other))
                spoilt[a], spoilt[b] = spoilt[b], spoilt[a]
                self.copy.write_bytes(spoilt)
                self.assertIsNone(self.judge(f"{one} and {other}"))

    def test_rows_changed_by_hand(self):
        for change in ("UPDATE trial SET region_s = region_s * 0.98 WHERE id = 3", "UPDATE trial SET verdict = 'ok', verdict_text = ''", "UPDATE trial SET energy_j = energy_j * 0.9",
                       "UPDATE region SET ended_ns = ended_ns + 1000000 WHERE trial_id = 4", "DELETE FROM channel_energy WHERE trial_id = 3", "UPDATE metric SET value = 2 WHERE trial_id = 4",
                       "UPDATE channel SET unit = 'J'", "UPDATE point SET is_reference = 1 - is_reference", "UPDATE point_value SET number = number + 1", "UPDATE experiment SET objective = 'edp'",
                       "UPDATE trial SET point_id = 3 - point_id", "UPDATE trial_setting SET requested = '1300'", "DELETE FROM session", "UPDATE session SET id = id + 6",
                       "UPDATE session SET ended_at = '2026-01-01T00:00:00.000Z'", "UPDATE session SET ended_how = 'interrupted'", "UPDATE session SET boot_id = 'other'",
                       "UPDATE trial SET given_up = 1 WHERE id = 3", "UPDATE experiment SET planned_trials = 900",
                       "INSERT INTO block_run (origin, block, node, complete) VALUES ('x', 1, 'n7', 1); UPDATE session SET block_run_id = 1", "INSERT INTO node_left_out VALUES ('n3', 'slow')",
                       "INSERT INTO node_fact VALUES ('n3', 'cpu model', 'another')"):
            with self.subTest(change):
                shutil.copy(self.whole, self.copy)
                with sqlite3.connect(self.copy) as database:
                    database.executescript(change)
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
        self.assertEqual(len(json.loads(done.stdout)["without_readings"]), 1, done.stdout[:500])
        for command in (["sql", self.copy, "SELECT count(*) FROM readings"], ["export", self.copy, "--table", "readings", "--output", self.folder / "out.csv"]):
            said = subprocess.run([attack.PROGRAM, *command], capture_output=True, text=True).stderr
            self.assertRegex(said, "warning: .*readings.*checksum")
        self.account.survived += 1

    def test_a_damaged_trial_is_told_whatever_it_says_it_was_for(self):
        for role in ("warm_up", "idle_before"):
            self.account.tried += 1
            shutil.copy(self.whole, self.copy)
            with sqlite3.connect(self.copy) as database:
                self.assertEqual(database.execute("UPDATE trial SET role = ? WHERE id = 3", (role,)).rowcount, 1)
            database.close()
            said = subprocess.run([attack.PROGRAM, "report", self.copy], capture_output=True, text=True).stdout
            self.assertIn("warning: 1 of the trials is not as written (the checksum differs): ", said)
            self.assertNotIn("budget", said)
            # What is merged has checksums of its own.
            merged = subprocess.run([attack.PROGRAM, "merge", f"a={self.copy}", f"b={self.whole}", "-o", self.folder / "merged.sqlite"], capture_output=True, text=True)
            self.assertEqual(merged.returncode, 3, merged.stdout)
            self.assertIn("copy.sqlite: 1 of the trials is not as written" if self.copy.name == "copy.sqlite" else "1 of the trials is not as written", merged.stderr)
            self.assertFalse((self.folder / "merged.sqlite").exists())
            self.account.survived += 1

    def test_readings_that_are_gone(self):
        shutil.copy(self.whole, self.copy)
        with sqlite3.connect(self.copy) as database:
            database.execute("DELETE FROM reading_values")
            trials, = database.execute("SELECT count(*) FROM trial").fetchone()
        database.close()
        for command in (["sql", self.copy, "SELECT count(*) FROM readings"], ["sql", self.copy, "SELECT 1"], ["export", self.copy, "--table", "readings"], ["export", self.copy]):
            self.account.tried += 1
            done = subprocess.run([attack.PROGRAM, *command], capture_output=True, text=True)
            self.assertIn(f"warning: the readings of {trials} trials are not in the file any more: ", done.stderr)
            self.account.survived += 1

    def test_answers_changed_by_hand(self):
        query = "SELECT point, gain FROM best"
        wanted = subprocess.run([attack.PROGRAM, "sql", self.whole, query, "--json"], capture_output=True, text=True).stdout
        self.assertEqual(len(json.loads(wanted)), 1)
        for change in ("UPDATE answer SET gain = 0.5", "UPDATE answer SET best_point_id = 3 - best_point_id", "DELETE FROM answer", "UPDATE conclusion SET digest = 1"):
            self.account.tried += 1
            shutil.copy(self.whole, self.copy)
            with sqlite3.connect(self.copy) as database:
                self.assertEqual(database.execute(change).rowcount, 1, change)
            database.close()
            self.assertEqual(subprocess.run([attack.PROGRAM, "sql", self.copy, query, "--json"], capture_output=True, text=True).stdout, wanted)
            self.account.survived += 1


if __name__ == "__main__":
    attack.main()
