"""Result files, programs and meters that change or lie while a night runs."""
import contextlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest
from pathlib import Path

import testbed
from whole import METER, QUIET, Whole


class Files(Whole):
    NIGHT = "name: night\nrepeat: 8\nobjective: time\nconditions: " + QUIET + "\nworkloads: [{name: w, command: [sleep, '0.3']}]\n"

    def night(self, after_two, trial=2):
        """Runs 8 trials; calls `after_two` when two (or that trial) are finished. Returns (exit code, what it said on stderr)."""
        self.write("night.yaml", self.NIGHT)
        running = subprocess.Popen(self.arguments("night.yaml", "--no-html"), cwd=self.folder, env=self.environment(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        self.addCleanup(running.stderr.close)
        said = ""
        for line in running.stderr:
            said += line
            if f" #{trial}: " in line:
                after_two()
            if "the night goes on there" in line:
                # At once: trials are still to come.
                self.assertNotIn(" #8: ", said)
        running.wait(timeout=60)
        return running.returncode, said

    def rescued(self, after_two, what, trial=2):
        code, said = self.night(after_two, trial)
        rescue = self.folder / "night.rescued.sqlite"
        self.assertEqual(code, 5, said)
        self.assertRegex(said, rf"warning: the result file cannot be used any more \({what}\); all finished trials are in {rescue}, and the night goes on there\n")
        self.assertIn(f"all of it is in {rescue}\n", said)
        self.assertEqual(testbed.integrity(rescue), "ok")
        self.assertEqual(testbed.rows(rescue, "SELECT count(*) AS n, sum(verdict = 'ok') AS ok FROM trials"), [{"n": 8, "ok": 8}])
        self.assertEqual([row["kind"] for row in testbed.rows(rescue, "SELECT kind FROM warnings WHERE trial IS NULL")], ["result_rescued"])
        again = self.call("night.yaml", "--output", str(rescue), "--no-html")
        self.assertIn("is finished; --fresh runs it again", again.stderr)

    def test_a_result_that_is_lost_while_it_is_reported(self):
        """All trials are run, and nothing is written any more: who asks for the answer at the end is told where it is."""
        result = self.folder / "night.sqlite"

        def replace():
            (self.folder / "x").write_text("hello")
            os.replace(self.folder / "x", result)
        for act, what in ((result.unlink, "it was removed or renamed"), (lambda: os.truncate(result, 0), r"it was cut short, from \d+ to 0 bytes"), (replace, "another file was put in its place")):
            with self.subTest(what):
                for file in self.folder.glob("night*"):
                    file.unlink()
                self.write("night.yaml", self.NIGHT.replace("repeat: 8", "repeat: 2").replace("0.3", "0.05"))
                read, write = os.pipe()  # nobody reads it at first, so that the answer waits
                os.set_blocking(write, False)
                with contextlib.suppress(BlockingIOError):
                    while True:
                        os.write(write, b"x" * 512)
                os.set_blocking(write, True)
                running = subprocess.Popen(self.arguments("night.yaml", "--no-html"), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.PIPE,
                                           text=True)
                self.addCleanup(running.stderr.close)
                self.addCleanup(running.kill)
                os.close(write)
                log, deadline = Path(f"{result}-wal"), time.monotonic() + 30
                for there in (True, False):  # while the night runs; then all is folded into the file, and the answer is next
                    while log.exists() != there:
                        self.assertLess(time.monotonic(), deadline)
                        time.sleep(0.001)
                time.sleep(0.5)
                act()
                answer = b""
                while part := os.read(read, 1 << 16):
                    answer += part
                os.close(read)
                said = running.communicate(timeout=60)[1]
                rescue = self.folder / "night.rescued.sqlite"
                self.assertEqual(running.returncode, 5, said)
                self.assertIn(b"the least time", answer)
                self.assertRegex(said, rf"warning: the result file cannot be used any more \({what}\); all finished trials are in {rescue}\n")
                self.assertIn(f"all of it is in {rescue}\n", said)
                self.assertEqual(testbed.rows(rescue, "SELECT count(*) AS n, sum(verdict = 'ok') AS ok FROM trials"), [{"n": 2, "ok": 2}])
                self.assertEqual(testbed.rows(rescue, "SELECT ended_how FROM sessions"), [{"ended_how": "done"}])

    def test_a_result_of_two_names_is_not_written_under_one_of_them(self):
        """What SQLite keeps beside it is of one name: 7 to 10 finished trials of the other one were written over."""
        self.write("night.yaml", self.NIGHT.replace("repeat: 8", "repeat: 2").replace("0.3", "0.02"))
        self.call("night.yaml", "--no-html")
        os.link(self.folder / "night.sqlite", self.folder / "other.sqlite")
        for name in ("night", "other"):
            path = self.folder / f"{name}.sqlite"
            refused = self.call("night.yaml", "--no-html", "--output", str(path))
            self.assertEqual(refused.returncode, 3)
            self.assertEqual(refused.stderr[refused.stderr.index("error: "):],
                             f"error: {path} is a file of 2 names (hard links): trials that are finished under one of them could be lost under another\n"
                             f"  hint: give this name a file of its own: cp {path} {path}.own && mv {path}.own {path}\n")
        self.assertEqual(self.call("report", "other.sqlite").returncode, 0)
        subprocess.run(["sh", "-c", refused.stderr.split("of its own: ")[1]], check=True)
        self.assertEqual(self.call("night.yaml", "--no-html").returncode, 0)
        # A run that is killed as it gives its new result its name leaves both names: that is ours to mend.
        unfinished = self.folder / "night.sqlite.new"
        os.link(self.folder / "night.sqlite", unfinished)
        again = self.call("night.yaml", "--no-html")
        self.assertEqual((again.returncode, unfinished.exists()), (0, False), again.stderr)

    def test_a_result_that_is_called_as_an_unfinished_one_stays(self):
        """NAME.new is where a result is made: one that somebody called so was removed without a word, 15 of 15."""
        self.write("night.yaml", self.NIGHT.replace("repeat: 8", "repeat: 1").replace("0.3", "0.02"))
        self.assertEqual(self.call("night.yaml", "--no-html").returncode, 0)
        kept = self.folder / "night.sqlite.new"
        os.rename(self.folder / "night.sqlite", kept)
        there, = testbed.rows(kept, "SELECT count(*) AS n FROM trial")
        whole = kept.read_bytes()
        for words in (("night.yaml", "--no-html"), ("night.yaml", "--no-html", "--fresh"), ("merge", f"a={kept}", f"b={kept}", "-o", str(self.folder / "night.sqlite"))):
            refused = self.call(*words)
            self.assertIn(refused.returncode, (2, 3), refused.stderr)
            self.assertEqual(kept.read_bytes(), whole, words)
            if words[0] != "merge":
                self.assertIn(f"error: {kept} is there, and holds {there['n']} trials (a merge that was killed leaves such a file too)\n"
                              "  hint: give that file another name, or choose another place for the result with --output\n", refused.stderr)
        os.rename(kept, self.folder / "other.sqlite")
        notes = self.write("night.sqlite.new-wal", "my notes\n")
        refused = self.call("night.yaml", "--no-html")
        self.assertIn(f"error: {notes} is there, and is no unfinished result of dvfs-plan\n", refused.stderr)
        self.assertEqual((self.folder / "night.sqlite.new-wal").read_text(), "my notes\n")
        os.unlink(notes)
        # What is left of a result that was moved away would be played over one that is merged.
        log = self.write("all.sqlite-wal", "")
        self.assertEqual(self.call("night.yaml", "--no-html").returncode, 0)
        refused = self.call("merge", f"a={self.folder}/night.sqlite", f"b={self.folder}/other.sqlite", "-o", str(self.folder / "all.sqlite"))
        self.assertEqual((refused.returncode, refused.stderr), (3, f"error: {log} is there, and may hold the last trials of a result that was moved away\n"
                                                                   "  hint: put it beside that result, under its name, or choose another place with --output\n"))

    def test_a_result_that_is_replaced(self):
        result = self.folder / "night.sqlite"

        def replace():
            shutil.copy(result, self.folder / "x")
            os.replace(self.folder / "x", result)
            self.left = result.read_bytes()
        self.rescued(replace, "another file was put in its place")
        self.assertEqual(result.read_bytes(), self.left)

    def test_a_result_that_is_removed(self):
        self.rescued(lambda: [file.unlink() for file in self.folder.glob("night.sqlite*")], "it was removed or renamed")
        self.assertEqual(sorted(f.name for f in self.folder.glob("night*")), ["night.rescued.sqlite", "night.yaml"])

    def test_a_result_that_is_emptied(self):
        self.rescued(lambda: os.truncate(self.folder / "night.sqlite", 0), r"it was cut short, from \d+ to 0 bytes")
        self.assertEqual((self.folder / "night.sqlite").read_bytes(), b"")

    def test_a_result_that_is_cut_in_half(self):
        result = self.folder / "night.sqlite"
        self.rescued(lambda: os.truncate(result, result.stat().st_size // 2), r"it was cut short, from \d+ to \d+ bytes")

    def test_a_result_that_is_overwritten(self):
        result = self.folder / "night.sqlite"

        def overwrite():
            with open(result, "r+b") as file:
                file.write(b"this is something else now" * 10)
        self.rescued(overwrite, "it was overwritten")
        self.assertTrue(result.read_bytes().startswith(b"this is something else now"))

    def test_a_result_whose_older_state_is_put_back_through_sqlite(self):
        """Of the session that runs it knows nothing: the night ended with SQLite's own "FOREIGN KEY constraint failed"."""
        result, older = self.folder / "night.sqlite", self.folder / "older"
        self.write("night.yaml", self.NIGHT.replace("repeat: 8", "repeat: 2"))
        self.assertEqual(self.call("night.yaml", "--no-html").returncode, 0)
        shutil.copy(result, older)

        def put_back():
            with contextlib.closing(sqlite3.connect(older)) as source, contextlib.closing(sqlite3.connect(result)) as target:
                source.backup(target)
        self.rescued(put_back, r"it was overwritten|result file: what is to be written belongs to something that is not in it \(FOREIGN KEY constraint failed\)", trial=4)
        self.assertEqual(testbed.rows(result, "SELECT count(*) AS n FROM trials"), [{"n": 2}])

    def test_a_result_that_another_result_is_copied_over(self):
        self.write("other.yaml", self.NIGHT.replace("name: night", "name: other").replace("repeat: 8", "repeat: 2"))
        self.assertEqual(self.call("other.yaml", "--no-html").returncode, 0)
        self.rescued(lambda: subprocess.run(["cp", "other.sqlite", "night.sqlite"], cwd=self.folder, check=True), "(it was overwritten|it was cut short, from .*)")

    def test_a_former_copy_of_the_result_that_is_put_back_over_it(self):
        result = self.folder / "night.sqlite"

        def put_back():
            subprocess.run(["sqlite3", str(result), "VACUUM INTO 'former.sqlite'; DELETE FROM trial_setting"], cwd=self.folder, check=True)
            subprocess.run(["cp", "former.sqlite", "night.sqlite"], cwd=self.folder, check=True)
        self.rescued(put_back, "(it was overwritten|it was cut short, from .*)")

    def test_a_result_that_is_lost_in_a_night_that_ends_by_an_error(self):
        program = self.write("work.sh", "#!/bin/sh\nsleep 0.3\n")
        self.NIGHT = f"name: night\nrepeat: 8\nobjective: time\nconditions: {QUIET}\nworkloads: [{{name: w, command: [sh, work.sh]}}]\n"

        def lose_both():
            for file in self.folder.glob("night.sqlite*"):
                file.unlink()
            program.write_text("#!/bin/sh\nsleep 0.1\n")
        code, said = self.night(lose_both)
        self.assertEqual(code, 3, said)
        rescue = self.folder / "night.rescued.sqlite"
        self.assertIn(f"all that is finished is in {rescue}\n", said)
        self.assertGreaterEqual(testbed.rows(rescue, "SELECT count(*) AS n FROM trials")[0]["n"], 2)

    def test_a_log_that_is_removed(self):
        self.rescued(lambda: (self.folder / "night.sqlite-wal").unlink(), r"its log \(-wal\) was removed or replaced")

    def test_a_log_that_a_moved_result_left_behind_is_kept(self):
        self.write("night.yaml", self.NIGHT)
        running = subprocess.Popen(self.arguments("night.yaml", "--no-html"), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(running.wait)
        self.addCleanup(running.stderr.close)
        for line in running.stderr:
            if " #4: " in line:
                running.kill()
                break
        running.wait(timeout=60)
        log = self.folder / "night.sqlite-wal"
        self.assertGreater(log.stat().st_size, 0)
        left = log.read_bytes()
        (self.folder / "copy.sqlite").write_bytes((self.folder / "night.sqlite").read_bytes())
        (self.folder / "copy.sqlite-wal").write_bytes(left)
        finished = len(self.rows("copy.sqlite", "SELECT 1 FROM trials"))
        self.assertGreaterEqual(finished, 3)
        (self.folder / "night.sqlite").rename(self.folder / "moved.sqlite")
        again = self.call("night.yaml", "--no-html")
        self.assertEqual(again.returncode, 0, again.stderr)
        found = re.search(r"note: (\S+) lay here without (\S+), and may hold the last trials of a result that was moved away: kept as (\S+); "
                          r"put it beside that result, under its name with -wal behind it, before anything opens it\n", again.stderr)
        self.assertTrue(found, again.stderr)
        self.assertEqual(found.group(1), str(log))
        kept = Path(found.group(3))
        self.assertEqual(kept.read_bytes(), left)
        kept.rename(self.folder / "moved.sqlite-wal")
        self.assertEqual(len(self.rows("moved.sqlite", "SELECT 1 FROM trials")), finished)

    def test_a_file_of_somebody_else_under_the_lock_s_name_is_left_alone(self):
        self.write("night.yaml", self.NIGHT)
        theirs = self.write("night.sqlite.lock", "my notes\n")
        refused = self.call("night.yaml", "--no-html")
        self.assertEqual(refused.returncode, 3)
        self.assertIn(f"error: {theirs} is no lock of dvfs-plan: something else is in it\n"
                      "  hint: give that file another name, or choose another place for the result with --output\n", refused.stderr)
        self.assertEqual(theirs.read_text(), "my notes\n")
        theirs.unlink()
        theirs.symlink_to("elsewhere")
        refused = self.call("night.yaml", "--no-html")
        self.assertEqual(refused.returncode, 3)
        self.assertIn(f"error: {theirs} is no lock of dvfs-plan: it is a symbolic link\n"
                      "  hint: give it another name, or choose another place for the result with --output\n", refused.stderr)
        self.assertFalse((self.folder / "elsewhere").exists())

    @testbed.on_a_busy_host
    def test_what_lies_where_something_is_to_be_written_is_left_alone(self):
        self.write("night.yaml", f"name: night\nrepeat: 2\nobjective: {{minimise: energy, across: [n], same work: true}}\nconditions: {QUIET}\nworkloads: [{{name: w, shell: 'sleep 0.2; : {{n}}'}}]\naxes: {{n: [1, 2]}}\n" + METER)
        theirs = self.write("night.sqlite.new", "my notes\n")
        refused = self.call("night.yaml", "--no-html")
        self.assertEqual(refused.returncode, 3)
        self.assertIn(f"error: {theirs} is there, and is no unfinished result of dvfs-plan\n"
                      "  hint: give that file another name, or choose another place for the result with --output\n", refused.stderr)
        self.assertEqual(theirs.read_text(), "my notes\n")
        theirs.unlink()
        said = self.call("night.yaml", "--no-html")
        self.assertEqual(said.returncode, 0, said.stderr)
        notes = self.write("notes.txt", "my notes\n")
        for arguments, text in ((("export", "night.sqlite", "-o", "notes.txt"), "--output notes.txt is there, and no table of dvfs-plan"),
                                (("merge", "a=night.sqlite", "b=night.sqlite", "-o", "notes.txt"), "notes.txt is there already")):
            refused = self.call(*arguments)
            self.assertEqual(refused.returncode, 2 if arguments[0] == "export" else 3)
            self.assertIn(f"error: {text}\n", refused.stderr)
            self.assertEqual(notes.read_text(), "my notes\n")
        # What SQLite keeps beside a database is removed by whatever opens that.
        for ending in ("-wal", "-shm", "-journal"):
            name = f"other.sqlite{ending}"
            for arguments in (("night.yaml", "--no-html", "--output", name), ("merge", "a=night.sqlite", "b=night.sqlite", "-o", name)):
                refused = self.call(*arguments)
                self.assertEqual(refused.returncode, 2, refused.stderr)
                self.assertIn(f"error: result file {name} has the name of what SQLite keeps beside other.sqlite, and would be removed with it\n"
                              "  hint: give it another name, which ends in .sqlite\n", refused.stderr)
        for form in ("csv", "jsonl"):  # a table of its own is replaced
            for _ in range(2):
                said = self.call("export", "night.sqlite", "--format", form, "-o", f"table.{form}")
                self.assertEqual(said.returncode, 0, said.stderr)
        picture = self.write("fig-settings.svg", "my notes\n")
        refused = self.call("report", "night.sqlite", "--svg", "fig")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("error: fig-settings.svg is there, and no figure\n  hint: name another prefix\n", refused.stderr)
        self.assertEqual(picture.read_text(), "my notes\n")
        picture.unlink()
        for _ in range(2):
            said = self.call("report", "night.sqlite", "--svg", "fig")
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertTrue(picture.read_text().rstrip().endswith("</svg>"))

    @unittest.skipIf(os.geteuid() != 0, "a small disk is root's to mount")
    @testbed.on_a_busy_host
    def test_a_figure_is_whole_or_not_there(self):
        self.write("night.yaml", f"name: night\nrepeat: 2\nobjective: {{minimise: energy, across: [n], same work: true}}\nconditions: {QUIET}\nworkloads: [{{name: w, shell: 'sleep 0.2; : {{n}}'}}]\naxes: {{n: [1, 2]}}\n" + METER)
        self.assertEqual(self.call("night.yaml", "--no-html").returncode, 0)
        small = self.folder / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "none", small], check=True)
        self.addCleanup(subprocess.run, ["umount", small])
        refused = self.call("report", "night.sqlite", "--svg", str(small / "fig"))
        self.assertEqual(refused.returncode, 3, refused.stderr)
        self.assertEqual([file.name for file in small.glob("*.svg") if not file.read_text().rstrip().endswith("</svg>")], [])
        self.assertRegex(refused.stderr, r"error: .*fig-\S+\.svg.*\n  hint: .+\n")

    def test_a_signal_while_another_sweep_has_the_machine_ends_it_at_once(self):
        self.write("night.yaml", self.NIGHT)
        self.write("other.yaml", self.NIGHT.replace("name: night", "name: other"))
        first = subprocess.Popen(self.arguments("night.yaml", "--no-html"), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)
        self.addCleanup(first.wait)
        self.addCleanup(first.kill)
        self.addCleanup(first.stderr.close)
        self.assertTrue(any(" #1: " in line for line in first.stderr))
        for wanted, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)):
            for after in (0.1, 0.5, 1.2):
                waiter = subprocess.Popen(self.arguments("other.yaml", "--no-html", "--wait"), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
                time.sleep(after)
                began = time.monotonic()
                waiter.send_signal(wanted)
                said = waiter.communicate(timeout=20)[1]
                # Before it has set a handler a signal ends it as it ends any program.
                self.assertIn(waiter.returncode, (code, -wanted) if after == 0.1 else (code,), said)
                self.assertLess(time.monotonic() - began, 2.5, said)
                self.assertNotIn("terminate called", said)
        first.send_signal(signal.SIGTERM)

    def test_a_program_that_changes_during_the_night_is_refused(self):
        program = self.write("work.sh", "#!/bin/sh\nsleep 0.3\n")
        program.chmod(0o755)
        former = program.read_bytes()

        def put(text):  # as a build does it: a new file in its place
            new = self.write("work.new", text)
            new.chmod(0o755)
            os.replace(new, program)
        for command in ('command: ["./work.sh"]', "command: [sh, work.sh]", "command: [nice, sh, -e, ./work.sh]", "shell: './work.sh; true'", "command: [env, 'A=1', sh, -c, 'exec ./work.sh']"):
            put(former.decode())
            self.NIGHT = f"name: night\nrepeat: 8\nobjective: time\nconditions: {QUIET}\nworkloads: [{{name: w, {command}}}]\n"
            code, said = self.night(lambda: put("#!/bin/sh\nsleep 0.1\n"))
            self.assertEqual(code, 3, said)
            self.assertRegex(said, rf"error: workload 'w': {program} changed during the night: it was SHA-256 [0-9a-f]{{64}} and is SHA-256 [0-9a-f]{{64}} now\n"
                             "  hint: the trials before that are kept. Put the former file back and run the same command to go on, or use --fresh to start a new result with the new one\n")
            finished = self.rows("night.sqlite", "SELECT time_s FROM trials")
            self.assertLess(len(finished), 8)
            for trial in finished:
                self.assertGreater(trial["time_s"], 0.25)
            self.assertEqual(self.call("night.yaml").returncode, 2)  # nor is it resumed so
            put(former.decode())
            again = self.call("night.yaml", "--no-html")
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertEqual(self.rows("night.sqlite", "SELECT count(*) AS n FROM trials"), [{"n": 8}])
            for file in self.folder.glob("night.sqlite*"):
                file.unlink()

    @testbed.on_a_busy_host
    def test_what_the_work_itself_makes_is_no_changed_program(self):
        self.NIGHT = f"name: night\nrepeat: 4\nobjective: time\nconditions: {QUIET}\nworkloads: [{{name: w, shell: 'cp /bin/sleep ./prog && ./prog 0.3; echo $$ >>log.sh'}}]\n"
        self.write("night.yaml", self.NIGHT)
        self.write("log.sh", "# a log with the extension of a script\n")
        running = subprocess.Popen(self.arguments("night.yaml", "--no-html"), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in running.stderr:
            if " #2: " in line:
                running.send_signal(signal.SIGINT)
        self.assertEqual(running.wait(timeout=60), 130)
        running.stderr.close()
        again = self.call("night.yaml", "--no-html")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.rows("night.sqlite", "SELECT count(*) AS n FROM trials WHERE counts"), [{"n": 4}])
        self.assertIn("it is taken for something that the work itself makes", again.stdout)

    @testbed.on_a_busy_host
    def test_a_meter_that_says_what_cannot_be_before_a_trial_spoils_none(self):
        self.write("meter.sh", "i=0; while :; do i=$((i+1)); if [ -e working ]; then echo power $((100 + i % 2)) W; else echo power -0.1 W; fi; sleep 0.02; done\n")
        self.write("pause.yaml", f"""
name: pause
repeat: 3
conditions: {QUIET}
measure: {{region: work}}
workloads: [{{name: w, shell: "touch working; sleep 0.3; echo begin work >>$DVFS_PLAN_REGIONS; sleep 0.6; echo end work >>$DVFS_PLAN_REGIONS; sleep 0.3; rm working"}}]
probes:
  - name: wall
    command: [sh, meter.sh]
    channels: {{power: {{unit: W}}}}
    rate: 50 Hz
""")
        run = self.call("pause.yaml", "--no-html")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        for trial in self.rows("pause.sqlite", "SELECT energy_j, time_s FROM trials"):
            self.assertAlmostEqual(trial["energy_j"] / trial["time_s"], 100.5, delta=1)

    @testbed.on_a_busy_host
    def test_a_meter_that_does_not_say_over_how_long_it_averages(self):
        text = (f"name: unknown\nrepeat: 3\nconditions: {QUIET}\nworkloads: [{{name: w, command: [sleep, '1']}}]\n"
                + METER.replace(", averages over: 20 ms", ""))
        self.write("unknown.yaml", text)
        run = self.call("unknown.yaml", "--no-html")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        trials = self.rows("unknown.sqlite", "SELECT energy_j, time_s, energy_half_width_j FROM trials")
        for trial in trials:
            self.assertAlmostEqual(trial["energy_j"] / trial["time_s"], 100.5, delta=2)
            self.assertIsNone(trial["energy_half_width_j"])
        self.assertRegex(run.stdout, r"sensor_unresolved: w #1: wall:power is read every \d+ ms, and over how long each value is a mean is not known: "
                                     r"what a load that comes and goes in between makes of it cannot be stated \(and 2 more; the page lists all\)")
        self.assertIn("w: what the sensors may add to an energy is not known (sensor_unresolved says why): ± and [ ] are of the scatter between trials alone, "
                      "and an error that is the same in each of them is not in it", run.stdout)
        self.assertEqual(self.call("report", "unknown.sqlite", "--recompute").returncode, 0)
        self.write("known.yaml", text.replace("unknown", "known").replace("unit: W", "unit: W, averages over: 20 ms"))
        self.assertNotIn("sensor_unresolved", self.call("known.yaml", "--no-html").stdout)
        self.assertGreater(self.rows("known.sqlite", "SELECT min(energy_half_width_j) AS least FROM trials")[0]["least"], 0)

    def test_a_counter_that_leaps(self):
        self.write("leap.yaml", f"""
name: leap
repeat: 1
conditions: {QUIET}
workloads: [{{name: w, command: [sleep, "1"]}}]
probes:
  - name: wall
    command: [sh, -c, "i=0; while :; do i=$((i+2)); [ $i = 200 ] && i=1000000000; echo energy $i J; sleep 0.02; done"]
    channels: {{energy: {{unit: J}}}}
    rate: 50 Hz
""")
        self.call("leap.yaml", "--no-html")
        for trial in self.rows("leap.sqlite", "SELECT verdict, energy_j FROM trials"):
            self.assertTrue(trial["verdict"] == "sensor_impossible" and trial["energy_j"] is None or trial["energy_j"] < 200, trial)

    @testbed.on_a_busy_host
    def test_a_meter_that_says_what_cannot_be(self):
        self.write("meter.sh", "i=0; while :; do i=$((i+1)); if [ -e bad ]; then cat bad; else echo power $((100 + i % 2)) W; fi; sleep 0.02; done\n")
        for said, reason in (("power -60.78 W", "a power cannot be below 0 W"), ("power 1e308 W", "a power of system cannot be above 1e+06 W"),
                             ("power 5000000 W", "a power of system cannot be above 1e+06 W")):
            self.write("meter.yaml", f"""
name: meter
repeat: 2
conditions: {QUIET}
workloads:
  - name: w
    shell: "echo x >>count; [ $(wc -l <count) = 2 ] && echo '{said}' >bad; sleep 0.6; rm -f bad"
probes:
  - name: wall
    command: [sh, meter.sh]
    channels: {{power: {{unit: W}}}}
    rate: 50 Hz
""")
            run = self.call("meter.yaml", "--no-html")
            self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
            trials = self.rows("meter.sqlite", "SELECT verdict, energy_j, objective_value FROM trials ORDER BY trial")
            self.assertEqual(trials[0]["verdict"], "ok")
            self.assertEqual(trials[1], {"verdict": "sensor_impossible", "energy_j": None, "objective_value": None})
            self.assertRegex(run.stdout, r"w: the least energy at the machine as it is, \d+(\.\d+)? J in \d\.\d+ s \(1 trial counts\)")
            self.assertNotIn(" inf", run.stdout)
            self.told_everywhere("meter.sqlite", f"wall:power said '{said}'")
            self.assertIn(reason, run.stdout)
            self.assertEqual(self.call("sql", "meter.sqlite", "select count(*) > 0 from readings where absence = 'impossible' and value is null").stdout.split()[-1], "1")
            for file in [*self.folder.glob("meter.sqlite*"), self.folder / "count"]:
                file.unlink()

if __name__ == "__main__":
    testbed.main()
