#!/usr/bin/python3
"""A full disk, a result that is no file, limits on files: a signal is obeyed at once, what is finished is in a file that the last lines name."""
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import time

import attack


class NowhereToWrite(attack.AttackCase):
    account = attack.Account("full disks, FIFOs and folders in the result's place, limits on files")

    def test_a_full_disk_and_a_signal(self):
        small = self.folder / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=500k", "tmpfs", small], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", small])
        (small / "night.yaml").write_text(attack.night("sleep 0.05; head -c 20000 /dev/urandom | base64", 200))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self.account.tried += 1
            with self.subTest(number):
                for old in small.glob("night.sqlite*"):
                    old.unlink()
                with open(self.folder / "said.txt", "w+", encoding="utf-8") as said:
                    run = subprocess.Popen([attack.PROGRAM, "night.yaml", "--no-html"], cwd=small, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said)
                    self.addCleanup(self.end, run)
                    told = self.folder / "said.txt"
                    self.wait_for(lambda: "trying again" in told.read_text() or run.poll() is not None, 60, "a full disk")
                    self.assertIsNone(run.poll(), told.read_text())
                    since = time.monotonic()
                    run.send_signal(number)
                    self.account.put_back.append(self.ms_until_put_back(since, 10))
                    self.assertEqual(run.wait(timeout=10), 128 + number, told.read_text())
                text = told.read_text()
                where, = [pathlib.Path(line.split("all finished trials are in ")[1].split(",")[0]) for line in text.splitlines() if "all finished trials are in " in line]
                self.addCleanup(where.unlink, missing_ok=True)
                finished = [line.split(":")[0] for line in text.splitlines() if line.startswith("w sysfs.mtu=") and line.split(": ")[1][0].isdigit()]
                kept = {row["key"] for row in attack.testbed.rows(where, "SELECT key FROM trials")}
                self.account.lost += len(set(finished) - kept)
                self.assertEqual(set(finished) - kept, set())
                self.assertGreater(len(finished), 1)
                # And what had found room stays where it was.
                self.assertTrue({row["key"] for row in attack.testbed.rows(small / "night.sqlite", "SELECT key FROM trials")}, "the first file was emptied")
                self.account.survived += 1

    def test_what_is_no_file(self):
        made = {"FIFO": lambda path: os.mkfifo(path), "folder": lambda path: path.mkdir(), "socket": self.make_socket}
        for what, make in made.items():
            place = self.folder / f"{what}.sqlite"
            make(place)
            wanted = f"error: {place} is no result file: it is a {what}\n  hint: name another one; a run takes  --output FILE.sqlite\n"
            (self.folder / "night.yaml").write_text(attack.night(repeat=1))
            for command in (["report"], ["status"], ["export"], ["sql", None, "SELECT 1"], [None]):
                self.account.tried += 1
                with self.subTest(f"{what} {command}"):
                    words = ["night.yaml", "--output", place] if command == [None] else [command[0], place, *command[2:]]
                    done = subprocess.run([attack.PROGRAM, *words], cwd=self.folder, capture_output=True, text=True, timeout=20)
                    self.assertEqual(done.returncode, 3, done.stderr)
                    self.assertTrue(done.stderr.endswith(wanted), done.stderr)
                    self.account.survived += 1

    def make_socket(self, path):
        place = socket.socket(socket.AF_UNIX)
        place.bind(str(path))
        self.addCleanup(place.close)

    def test_a_fifo_beside_the_result(self):
        """Its page's place, or where SQLite keeps what is being written: whoever opens it waits for ever, deaf to signals."""
        (self.folder / "night.yaml").write_text(attack.night("sleep 0.05", repeat=1))
        for name, code, told in (("night.html", 0, "night.html is not a page of dvfs-plan and stays"), ("night.sqlite-journal", 3, "night.sqlite-journal is a FIFO, where SQLite keeps what is being written to"),
                                 ("night.sqlite-wal", 3, "night.sqlite-wal is a FIFO"), ("night.sqlite.new", 3, "night.sqlite.new is there, and is no unfinished result of dvfs-plan")):
            with self.subTest(name):
                for old in self.folder.glob("night.sqlite*"):
                    old.unlink()
                os.mkfifo(self.folder / name)
                self.account.tried += 1
                said = subprocess.run([attack.PROGRAM, "night.yaml"], cwd=self.folder, capture_output=True, text=True, timeout=60)
                self.assertEqual(said.returncode, code, said.stderr)
                self.assertIn(told, said.stderr)
                self.assertFalse(self.is_set())
                (self.folder / name).unlink()
                self.account.survived += 1

    def test_a_link_to_the_page_of_another_experiment(self):
        (self.folder / "night.yaml").write_text(attack.night("sleep 0.05", repeat=1))
        subprocess.run([attack.PROGRAM, "night.yaml"], cwd=self.folder, capture_output=True, timeout=60, check=True)
        page, theirs = self.folder / "night.html", self.folder / "theirs.html"
        text = re.sub("<title>[^<]*</title>", "<title>theirs</title>", page.read_text())
        theirs.write_text(text)
        page.unlink()
        page.symlink_to(theirs.name)
        self.account.tried += 1
        said = subprocess.run([attack.PROGRAM, "recheck", "night.sqlite"], cwd=self.folder, capture_output=True, text=True, timeout=60)
        again = subprocess.run([attack.PROGRAM, "night.yaml"], cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertIn("night.html is a link to the page of another experiment, which stays", said.stderr + again.stderr)
        self.assertEqual(theirs.read_text(), text)
        self.account.survived += 1

    def test_a_fifo_beside_a_result_that_is_set_aside(self):
        (self.folder / "night.yaml").write_text(attack.night("sleep 0.05", repeat=1))
        subprocess.run([attack.PROGRAM, "night.yaml", "--no-html"], cwd=self.folder, capture_output=True, timeout=60, check=True)
        os.mkfifo(self.folder / "night.sqlite-journal")
        self.account.tried += 1
        said = subprocess.run([attack.PROGRAM, "night.yaml", "--fresh"], cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(said.returncode, 3, said.stderr)
        self.assertIn("night.sqlite-journal is a FIFO, where SQLite keeps what is being written to", said.stderr)
        self.account.survived += 1

    def test_limits_on_files(self):
        (self.folder / "night.yaml").write_text(attack.night(repeat=1))
        for limit, wanted in (((resource.RLIMIT_STACK, 64 * 1024), "error: the stack may be no larger than 64 KiB here (ulimit -s); dvfs-plan needs 512 KiB\n  hint: ulimit -s 8192 gives it what is usual\n"),
                              ((resource.RLIMIT_DATA, 4_000_000), "error: no more threads or processes may be started here\n  hint: lift the limit (ulimit -u, pids.max of its control group), or give it more memory (ulimit -v, ulimit -d)\n"),
                              ((resource.RLIMIT_FSIZE, 60_000), ": no file may become larger here\n  hint: lift the limit (ulimit -f unlimited); what is finished is kept, the same command goes on\n"),
                              ((resource.RLIMIT_NOFILE, 14), "error: start the guardian: too few files may be open at once here (ulimit -n); 1024 are enough\n  hint: nothing was set\n")):
            self.account.tried += 1
            with self.subTest(limit):
                done = subprocess.run([attack.PROGRAM, "night.yaml"], cwd=self.folder, capture_output=True, text=True, timeout=20,
                                      preexec_fn=lambda limit=limit: resource.setrlimit(limit[0], (limit[1], limit[1])))
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertTrue(done.stderr.endswith(wanted), done.stderr)
                self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["night.yaml"])
                self.account.survived += 1


    def test_an_answer_that_cannot_be_written(self):
        (self.folder / "night.yaml").write_text(attack.night(repeat=1))
        self.account.tried += 1
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([attack.PROGRAM, "night.yaml", "--json"], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("error: write the answer to its end: No space left on device\n  hint: nothing is lost: dvfs-plan report " + str(self.folder / "night.sqlite") + " says it again\n", done.stderr)
        self.assertEqual(subprocess.run([attack.PROGRAM, "report", "night.sqlite"], cwd=self.folder, capture_output=True, timeout=60).returncode, 0)
        self.account.survived += 1


if __name__ == "__main__":
    attack.main()
