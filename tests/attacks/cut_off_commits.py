#!/usr/bin/python3
"""A writer was killed in a commit, in every way that SQLite has of committing: who reads sees what is committed, and nothing else, whether he may
write beside the file or not. And the log's index is cut short while run and readers have it mapped."""
import os
import sqlite3
import subprocess
import sys
import threading
import time

import attack

READERS = {"report": ["report", "{file}"], "json": ["report", "{file}", "--json"], "status": ["status", "{file}"], "sql": ["sql", "{file}", "SELECT verdict, count(*) FROM trials GROUP BY 1"],
           "export": ["export", "{file}"], "compare": ["compare", "{file}", "{file}"]}

# Spills pages of a transaction into the file, or into the log, and is killed before it is committed.
WRITER = """
import os, signal, sqlite3, sys
file, mode = sys.argv[1:]
d = sqlite3.connect(file, isolation_level=None)
d.execute("PRAGMA journal_mode = " + mode)
d.execute("PRAGMA cache_size = 1")
d.execute("PRAGMA cache_spill = 1")
d.execute("BEGIN IMMEDIATE")
d.execute("UPDATE trial SET verdict = 'exited', region_s = region_s * 2")
d.execute("UPDATE experiment SET name = 'UNCOMMITTED'")
d.execute("CREATE TABLE junk (a BLOB)")
for i in range(300):
    d.execute("INSERT INTO junk VALUES (randomblob(4000))")
os.kill(os.getpid(), signal.SIGKILL)
"""


class CutOff(attack.AttackCase):
    account = attack.Account("writers killed in a commit; the log's index cut short")

    def answers(self, file, **more):
        found = {}
        for name, words in READERS.items():
            command = [attack.PROGRAM, *[word.format(file=file) for word in words]]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd="/", **more)
            found[name] = (done.returncode, done.stdout.replace(str(file), "FILE"), done.stderr.replace(str(file), "FILE"))
        return found

    def finished_night(self):
        run = self.start(attack.night("sleep 0.05", 6))
        self.assertEqual(run.wait(timeout=60), 0)
        return self.folder / "night.sqlite"

    def test_readers_see_what_is_committed(self):
        whole = self.finished_night().read_bytes()
        place = self.folder / "results"
        place.mkdir()
        os.chmod(self.folder, 0o755)
        file = place / "night.sqlite"
        file.write_bytes(whole)
        wanted = self.answers(file)
        self.assertEqual({code for code, _, _ in wanted.values()}, {0}, wanted)
        scratch = self.folder / "nobody"
        scratch.mkdir()
        os.chown(scratch, 65534, 65534)
        nobody = {"user": 65534, "group": 65534, "extra_groups": [], "env": dict(os.environ, HOME=str(scratch), TMPDIR=str(scratch))}
        for mode in ("DELETE", "TRUNCATE", "PERSIST", "WAL"):
            for where in ("as root", "where nobody may write", "where nobody may write, without the log's index"):
                with self.subTest(mode=mode, where=where):
                    for old in place.iterdir():
                        old.unlink()
                    file.write_bytes(whole)
                    subprocess.run([sys.executable, "-c", WRITER, file, mode], check=False)
                    self.assertGreater((place / ("night.sqlite-wal" if mode == "WAL" else "night.sqlite-journal")).stat().st_size, 0)
                    if where.endswith("index"):
                        (place / "night.sqlite-shm").unlink(missing_ok=True)
                    for one in place.iterdir():
                        one.chmod(0o644)
                    self.account.tried += 1
                    if where == "as root":
                        found = self.answers(file)
                    else:
                        place.chmod(0o555)
                        found = self.answers(file, **nobody)
                        place.chmod(0o755)
                    for name in READERS:
                        self.assertEqual(found[name], (0, wanted[name][1], found[name][2]), name)
                    self.account.survived += 1

    def test_the_log_s_index_is_cut_short_under_the_run(self):
        run = self.start(attack.night("sleep 0.05", 40), stderr=subprocess.PIPE, text=True)
        self.wait_for(lambda: len(self.finished()) >= 4, what="four trials")
        self.account.tried += 1
        os.truncate(self.folder / "night.sqlite-shm", 0)
        _, said = run.communicate(timeout=120)
        self.assertIn(run.returncode, (0, 5), said[-500:])
        self.assertFalse(self.is_set())
        rescued = sorted(self.folder.glob("night*.sqlite"))
        self.assertEqual(len(self.finished(rescued[0].name if run.returncode == 0 else "night.rescued.sqlite")), 80, said[-800:])
        self.account.survived += 1

    def test_the_log_s_index_is_cut_short_under_readers(self):
        run = self.start(attack.night("sleep 0.02", 4000))
        self.wait_for(lambda: len(self.finished()) >= 4, what="four trials")
        keeper = sqlite3.connect(f"file:{self.folder / 'night.sqlite'}?mode=ro", uri=True)
        keeper.execute("SELECT count(*) FROM trial").fetchall()
        run.kill()
        run.wait()
        stop = threading.Event()

        def cut():
            while not stop.is_set():
                try:
                    os.truncate(self.folder / "night.sqlite-shm", 0)
                except OSError:
                    pass
                time.sleep(0.0005)

        thread = threading.Thread(target=cut)
        thread.start()
        try:
            for _ in range(40 if attack.LONG else 12):
                self.account.tried += 1
                done = subprocess.run([attack.PROGRAM, "report", "night.sqlite"], cwd=self.folder, capture_output=True, text=True, timeout=60)
                self.assertIn(done.returncode, (0, 3), done.stderr)
                self.assertTrue(done.returncode == 0 or done.stderr.startswith("error: "), done.stderr)
                self.account.survived += 1
        finally:
            stop.set()
            thread.join()
            keeper.close()


if __name__ == "__main__":
    attack.main()
