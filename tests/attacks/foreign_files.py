#!/usr/bin/python3
"""A result from elsewhere whose tables or views never end, or that has triggers: refused, by name, by whoever reads it and by a run that would go on
with it. An earlier version's number, whose views are made anew, is no way around. And what a user asks for and never ends can be interrupted."""
import contextlib
import signal
import sqlite3
import subprocess
import time

import attack

ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r) SELECT "
READERS = (["report", "--json"], ["status"], ["sql", "SELECT 1"], ["export"])


class ForeignFiles(attack.AttackCase):
    account = attack.Account("results whose tables, views or triggers are somebody else's")

    def setUp(self):
        super().setUp()
        run = self.start(attack.night("sleep 0.05; echo lat 3 ms", 2).replace("shell:", "metrics: [lines], shell:"))
        self.assertEqual(run.wait(timeout=60), 0)
        self.file = self.folder / "night.sqlite"
        sqlite3.connect(self.file).execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.whole = self.file.read_bytes()

    @contextlib.contextmanager
    def changed(self):
        self.file.write_bytes(self.whole)
        with contextlib.closing(sqlite3.connect(self.file, isolation_level=None)) as database:
            database.execute("PRAGMA legacy_alter_table = ON")
            yield database
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def refused(self, what, said, readers=READERS):
        for words in readers:
            with self.subTest(what=what, reader=words):
                self.account.tried += 1
                done = subprocess.run([attack.PROGRAM, words[0], self.file, *words[1:]], capture_output=True, text=True, timeout=20)
                self.assertEqual(done.returncode, 3, done.stdout[-300:] + done.stderr)
                self.assertEqual(done.stderr, f"error: {self.file}: {said}\n  hint: somebody changed it: take the file from where it was made; views of your own go under other names\n")
                self.account.survived += 1

    def columns(self, name):
        with contextlib.closing(sqlite3.connect(self.file)) as database:
            return [row[1] for row in database.execute(f"PRAGMA table_info({name})")]

    def test_a_view_that_never_ends(self):
        names = self.columns("best")
        with self.changed() as database:
            database.execute("DROP VIEW best")
            database.execute(f"CREATE VIEW best AS {ENDLESS} {', '.join(f'n AS {name}' for name in names)} FROM r")
        self.refused("best", "its view 'best' is not the one that dvfs-plan made")

    def test_tables_that_are_views(self):
        for table in ("event", "trial", "experiment", "point", "machine_fact", "metric", "session", "seal"):
            self.file.write_bytes(self.whole)
            names = self.columns(table)
            with self.changed() as database:
                database.execute("PRAGMA writable_schema = ON")
                database.execute("DELETE FROM sqlite_schema WHERE tbl_name = ?", (table,))
                database.execute("PRAGMA writable_schema = RESET")
                database.execute(f"CREATE VIEW {table} AS {ENDLESS} " + ", ".join(f'n AS "{name}"' for name in names) + " FROM r")
            self.refused(table, f"its table '{table}' is not the one that dvfs-plan made", READERS[:2])

    def test_a_column_that_is_computed(self):
        with self.changed() as database:
            database.execute("ALTER TABLE metric ADD COLUMN more REAL GENERATED ALWAYS AS (value * 2)")
        self.refused("metric", "its table 'metric' is not the one that dvfs-plan made", READERS[:1])

    def test_a_trigger(self):
        with self.changed() as database:
            database.execute(f"CREATE TRIGGER endless AFTER INSERT ON session BEGIN INSERT INTO event (session_id, kind, message) {ENDLESS} 1, 'x', n FROM r; END")
        self.refused("trigger", "it has a trigger, 'endless'; dvfs-plan makes none")
        run = self.start(stderr=subprocess.PIPE, text=True)  # and who would go on with it
        _, said = run.communicate(timeout=30)
        self.assertEqual(run.returncode, 3, said)
        self.assertIn("it has a trigger, 'endless'; dvfs-plan makes none", said)

    def test_an_earlier_version_s_number(self):
        with self.changed() as database:
            database.execute("PRAGMA user_version = 12")
        self.account.tried += 1
        done = subprocess.run([attack.PROGRAM, "report", self.file], capture_output=True, text=True, timeout=20)
        self.assertEqual((done.returncode, done.stderr.count("error:")), (3, 1), done.stderr)
        self.assertIn(f"{self.file} says that it is of schema version 12, but cannot be brought up to date from there: ", done.stderr)
        self.account.survived += 1
        with self.changed() as database:
            database.execute("PRAGMA user_version = 13")
            database.execute("CREATE TRIGGER zz AFTER INSERT ON session BEGIN SELECT 1; END")
        self.refused("13", "it has a trigger, 'zz'; dvfs-plan makes none", READERS[:1])

    def test_a_question_that_never_ends(self):
        self.account.tried += 1
        asked = subprocess.Popen([attack.PROGRAM, "sql", self.file, ENDLESS + "count(*) FROM r"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        asked.send_signal(signal.SIGINT)
        self.assertIn(asked.wait(timeout=5), (-signal.SIGINT, 130))
        self.account.survived += 1


if __name__ == "__main__":
    attack.main()
