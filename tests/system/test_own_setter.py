"""Settings that programs of the user's set and read: swept, found out where they lie, and put back whatever is killed; with the user's rights alone."""
import contextlib
import json
import os
import pathlib
import pty
import re
import signal
import socket
import subprocess
import time
import unittest

import testbed
from whole import PROGRAM, QUIET, Whole

EXPERIMENT = f"""
name: own
objective: time
repeat: 2
settle: 1 ms
conditions: {QUIET}
workloads: [{{name: w, shell: "cat machine/cap >>ran-at; sleep 0.05; WAIT"}}]
axes: {{set.cap: [100, 120]}}
set:
  cap:
    command: [./tool, set, "{{value}}"]
    read: [./tool, get]
    values: [100, 120, 140]
"""
# A tool as sites have them: it says what is set in other digits, and knows why it does not do what it is asked.
TOOL = r"""#!/bin/sh
case $1 in
  get) [ -e machine/stale ] && { echo 140.000; exit; }
    [ -e machine/broken ] && { echo no answer >&2; exit 1; }
    [ -e machine/turns ] && { echo >>machine/asked; [ $(wc -l <machine/asked) -gt $(cat machine/turns) ] && { echo 1; exit; }; }
    cat machine/cap;;
  set) [ -e machine/slow ] && sleep 20; [ -e machine/lazy ] && sleep 1; [ -e machine/kills ] && kill -9 $PPID; [ -e machine/stuck ] && { echo stuck >&2; exit 1; }; [ -e machine/deaf ] || printf '%.3f\n' "$2" >machine/cap;;
  reset) echo 140.000 >machine/cap; echo "$2" >machine/was;;
esac
"""


@unittest.skipIf(os.geteuid() != 0, "folders of its own need root (tests/system/apart)")
class OwnSetter(Whole):
    def setUp(self):
        super().setUp()
        (self.folder / "machine").mkdir()
        self.cap = self.folder / "machine/cap"
        self.cap.write_text("140.000\n")
        self.write("tool", TOOL).chmod(0o755)

    def experiment(self, wait="true", more="", changed=("", "")):
        return self.write("own.yaml", EXPERIMENT.replace("WAIT", wait).replace(*changed) + more)

    def start(self):
        run = subprocess.Popen(self.arguments("own.yaml", "--no-html"), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
        self.addCleanup(run.stderr.close)
        self.addCleanup(lambda: run.poll() is None and run.kill())
        return run

    def wait_for(self, condition, seconds=30):
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def is_set(self):
        return self.cap.read_text() not in ("140.000\n", "")

    def wait_until_put_back(self, seconds=30):
        """And until the guardian that did it has ended: it has the machine until then."""
        self.wait_for(lambda: not self.is_set(), seconds)
        restored = self.call("restore")
        self.assertEqual(restored.returncode, 0, restored.stdout + restored.stderr)

    def test_a_sweep(self):
        self.experiment(more="    restore: [./tool, reset, '{value}']\n")
        checked = self.call("check", "own.yaml")
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertIn("would be set, and put back to what it is now:\n  set.cap = 140.000\n", checked.stdout)
        self.assertEqual(self.cap.read_text(), "140.000\n")
        run = self.call("own.yaml", "--no-html")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(sorted((self.folder / "ran-at").read_text().split()), ["100.000"] * 2 + ["120.000"] * 2)
        self.assertEqual(self.cap.read_text(), "140.000\n")
        self.assertEqual((self.folder / "machine/was").read_text(), "140.000\n")  # by its own way back
        rows = self.rows("own.sqlite", "SELECT DISTINCT requested, applied FROM settings WHERE axis = 'set.cap' ORDER BY 1")
        self.assertEqual([tuple(row.values()) for row in rows], [("100", "100"), ("120", "120")])
        # The answer put to use, and written down.
        used = subprocess.run([PROGRAM, "use", "own.sqlite", "--state-folder", str(self.folder / "state"), "--", "cat", "machine/cap"], cwd=self.folder, env=self.environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertIn(used.stdout, ("100.000\n", "120.000\n"))
        self.assertIn(f"dvfs-plan: set.cap is set by: {self.folder}/tool set {{value}}; it is read by: {self.folder}/tool get\n", used.stderr)
        self.assertEqual(self.cap.read_text(), "140.000\n")
        # What its caller left open for it (make's job server) it has, and nothing of the program's own.
        read, write = os.pipe()
        at_seven = os.dup2(write, 7, inheritable=True) if write != 7 else write
        self.addCleanup(lambda: [os.close(fd) for fd in {read, write, at_seven}])
        opened = subprocess.run([PROGRAM, "use", "--quiet", "own.sqlite", "--state-folder", str(self.folder / "state"), "--", "sh", "-c", "echo token >&7; readlink /proc/$$/fd/*"],
                              cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, pass_fds=(at_seven,))
        self.assertEqual(os.read(read, 100), b"token\n", opened.stderr)
        self.assertEqual(len(opened.stdout.splitlines()), 4, opened.stdout)
        script = self.write("found.sh", self.call("setting", "own.sqlite", "--as", "sysfs").stdout)
        subprocess.run(["sh", script], check=True)
        self.assertEqual(self.cap.read_text(), used.stdout)
        subprocess.run(["sh", script, "back"], check=True)
        self.assertEqual(self.cap.read_text(), "140.000\n")
        self.assertIn("--as tuned: there is no way to say set.cap = ", self.call("setting", "own.sqlite", "--as", "tuned").stderr)

    def test_its_words_are_told_as_they_are_written(self):
        """A word that a terminal would obey, or that does not show, was told as the command that would print it."""
        words = ["a b", "\x01", "x\x7fy", "\x1b[31m", "q'q", "$(id)", "\\", "\u200b", "\u2028", "\x85", "\xa0", "", ";;", "\ufeffz"]
        self.write("tool", "#!/usr/bin/python3\nimport json, sys\nopen('told', 'a').write(json.dumps(sys.argv[1:]) + chr(10))\n"
                           "if sys.argv[1] == 'set': open('machine/cap', 'w').write(sys.argv[2])\nelse: print(open('machine/cap').read())\n")
        self.cap.write_text("140")
        self.experiment(changed=('[./tool, set, "{value}"]', json.dumps(["./tool", "set", "{value}", *words])))
        text = (self.folder / "own.yaml").read_text()
        self.write("own.yaml", text.replace("[./tool, get]", json.dumps(["./tool", "get", *words])))
        run = self.call("own.yaml", "--no-html")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.cap.read_text(), "140")
        told = [json.loads(line) for line in (self.folder / "told").read_text().splitlines()]
        self.assertIn(["set", "100", *words], told)
        for one in told:
            self.assertEqual(one[-len(words):], words)

    def test_what_it_leaves_running_is_not_waited_for(self):
        """A daemon that keeps its output open: it was said not to have ended within a minute, each time."""
        self.write("tool", TOOL.replace("set) ", "set) sleep 77 & "))
        self.experiment()
        began = time.monotonic()
        run = self.call("own.yaml", "--no-html")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertLess(time.monotonic() - began, 50)
        self.assertEqual(self.cap.read_text(), "140.000\n")

    def test_registers_of_64_bits_are_told_apart(self):
        """Power limits of a package as `rdmsr -d` prints them: 125 W before, 60 W and 95 W swept; they differ in their last digits."""
        before, swept = 18721693725197288, (18721693725196768, 18721693725197048)
        self.write("tool", "#!/bin/sh\ncase $1 in get) cat machine/cap;; set) [ -e machine/deaf ] || echo \"$2\" >machine/cap;; esac\n").chmod(0o755)
        self.cap.write_text(f"{before}\n")
        registers = EXPERIMENT.replace("[100, 120, 140]", str([before, *swept])).replace("set.cap: [100, 120]", f"set.cap: {list(swept)}").replace("WAIT", "true")
        self.write("own.yaml", registers)
        run = self.call("own.yaml", "--no-html")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(sorted((self.folder / "ran-at").read_text().split()), sorted([str(one) for one in swept] * 2))
        self.assertEqual(self.cap.read_text(), f"{before}\n")
        (self.folder / "machine/deaf").touch()
        self.write("own.yaml", registers.replace("name: own", "name: deaf"))
        deaf = self.call("own.yaml", "--no-html")
        self.assertIn("knob_refused", deaf.stderr + deaf.stdout)
        self.assertNotEqual(deaf.returncode, 0)

    def test_done_without_effect_is_found_out(self):
        self.experiment(changed=("repeat: 2", "repeat: 5"))
        (self.folder / "machine/deaf").touch()
        run = self.call("own.yaml", "--no-html")
        self.assertEqual(run.returncode, 6, run.stderr)
        self.assertRegex(run.stdout + run.stderr, r"set\.cap: asked for 1[02]0, and its 'read' says 140\.000: its 'command' said that it was done")
        self.assertEqual(self.rows("own.sqlite", "SELECT count(*) AS n FROM trials WHERE verdict = 'ok'"), [{"n": 0}])
        self.assertFalse((self.folder / "ran-at").exists())

    def test_what_could_not_be_put_back_is_found_out_before_the_night(self):
        """Its `command` does not take what its `read` prints."""
        self.write("tool", TOOL.replace("printf '%.3f", "printf 'up to %s")).chmod(0o755)
        self.experiment()
        run = self.call("own.yaml", "--no-html")
        self.assertEqual(run.returncode, 4, run.stderr)
        self.assertIn("error: axis 'set.cap': put back to what it was ('140.000'), it reads 'up to 140.000': it could not be put back after the sweep\n"
                      "  hint: its 'command' is to take what its 'read' prints; where it does not, give 'restore', which puts it back\n", run.stderr)
        self.assertIn(f"  (cd {self.folder}/ && {self.folder}/tool set 140.000)\n", run.stderr)
        self.assertFalse((self.folder / "ran-at").exists())

    def test_a_command_that_refuses_what_was_is_found_out_before_the_night(self):
        """Nothing is changed by that: it ended with 4, as if something stayed set, and told no command that would put it back."""
        self.write("tool", TOOL.replace("set) ", "set) [ \"$2\" = 140.000 ] && { echo cannot >&2; exit 1; }; ")).chmod(0o755)
        self.experiment()
        run = self.call("own.yaml", "--no-html")
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertIn(f"error: axis 'set.cap': put back to what it was ('140.000'), {self.folder}/tool ended with exit code 1: cannot: it could not be put back after the sweep\n"
                      "  hint: nothing was set, and it is as it was; its 'command' is to take what its 'read' prints; where it does not, give 'restore', which puts it back\n", run.stderr)
        self.assertEqual(self.cap.read_text(), "140.000\n")
        self.assertFalse((self.folder / "ran-at").exists())

    def test_a_way_back_that_fails_half_way_is_tried_again(self):
        """What it left is nobody else's doing: the journal stays, `restore` and the next start try again."""
        half = TOOL.replace("set) ", "set) [ -e machine/half ] && { echo 55.000 >machine/cap; no-such-tool; exit; }; ")
        for victim in (None, "run"):
            with self.subTest(victim):
                self.write("tool", half).chmod(0o755)
                (self.folder / "machine/half").unlink(missing_ok=True)
                self.cap.write_text("140.000\n")
                for file in [*self.folder.glob("own.sqlite*"), self.folder / "ran-at"]:
                    file.unlink(missing_ok=True)
                self.experiment(wait="[ $(wc -l <ran-at) -lt 3 ] || touch machine/half" + ("; sleep 2" if victim else ""))
                run = self.start()
                if victim:
                    self.wait_for(lambda: (self.folder / "machine/half").exists())
                    os.kill(run.pid, signal.SIGKILL)
                self.assertEqual(run.wait(timeout=60), -9 if victim else 4)
                said = run.stderr.read()  # to its end, which is the guardian's
                self.assertNotIn("somebody else changed", said)
                self.assertIn("could not be put back", said)
                again = self.call("restore")
                self.assertEqual(again.returncode, 4, again.stdout + again.stderr)
                for text in [again.stderr] if victim else [said, again.stderr]:
                    self.assertRegex(text, r"wanted '140\.000', found '55\.000' \(\S+/tool ended with exit code 127: \S+tool: \d+: no-such-tool: not found\)")
                (self.folder / "machine/half").unlink()
                self.assertEqual(self.call("restore").stdout, "1 settings put back, 0 were as before\n")
                self.assertEqual(self.cap.read_text(), "140.000\n")

    def test_what_is_wrong_is_said_before_the_night(self):
        for changed, message in (
                (("./tool, get", "./tol, get"), "axis 'set.cap': its 'read' wants a program './tol', which is not there or may not be run"),
                (("./tool, get", "cat, none"), "axis 'set.cap': its 'read' does not tell what is set now, so it could not be put back: /usr/bin/cat ended with exit code 1: /usr/bin/cat: "
                                               "none: No such file or directory"),
                (("./tool, get", "ls, machine, tool"), "axis 'set.cap': its 'read' does not tell what is set now, so it could not be put back: /usr/bin/ls is to print the value alone, on one "
                                                       "line; it printed 'tool; ; machine:; cap'"),
                (("[100, 120]}", "[100, 130]}"), "axis 'set.cap': this machine does not offer 130; its neighbours are 120 and 140 (or write {values: [...], nearest: true})"),
                (("{set.cap:", "{set.cup:"), "axis 'set.cup': say how it is set and read:  set: {cup: {command: [..., '{value}'], read: [...], values: [...]}} (did you mean 'cap'?)")):
            with self.subTest(message):
                self.experiment(changed=changed)
                run = self.call("own.yaml", "--no-html")
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertIn(f"error: {message}\n", run.stderr)

    def test_whatever_is_killed_it_is_put_back(self):
        for victims in (["run"], ["guardian"], ["run", "guardian"]):
            with self.subTest(victims):
                self.experiment(wait="sleep 1.5")
                for file in self.folder.glob("own.sqlite*"):
                    file.unlink()
                run = self.start()
                self.wait_for(lambda: self.is_set() and self.guardian_of(run.pid) and (self.folder / "ran-at").exists())
                if victims == ["run", "guardian"]:
                    self.kill_both(run)
                else:
                    os.kill(run.pid if victims == ["run"] else self.guardian_of(run.pid), signal.SIGKILL)
                run.wait(timeout=60)
                if victims == ["run", "guardian"]:
                    self.assertTrue(self.is_set())
                    said = self.call("restore")
                    self.assertEqual((said.returncode, said.stdout), (0, "1 settings put back, 0 were as before\n"), said.stderr)
                if victims == ["guardian"]:
                    said = run.stderr.read()
                    self.assertEqual(run.returncode, 1, said)  # one trial does not count; the others ran with another guardian
                    self.assertEqual(said.count("does not count"), 1, said)
                self.wait_until_put_back()
                (self.folder / "ran-at").unlink()

    def test_a_guardian_that_is_asked_to_end_costs_one_trial(self):
        """It takes a second to put back, in which the next trial begins."""
        self.experiment(wait="sleep 0.4")
        run = self.start()
        self.wait_for(lambda: self.is_set() and self.guardian_of(run.pid) and (self.folder / "ran-at").exists())
        (self.folder / "machine/lazy").touch()
        os.kill(self.guardian_of(run.pid), signal.SIGTERM)
        time.sleep(0.2)
        (self.folder / "machine/lazy").unlink()
        said = run.stderr.read()
        run.wait(timeout=60)
        self.assertNotIn("knob_refused", said)
        self.assertEqual(said.count("the guardian process was gone and was started anew"), 1, said)
        self.assertFalse(self.is_set())

    def test_guardians_that_are_killed_as_they_put_back_are_told(self):
        """Again and again, by the very program that is to put back: nobody has said that it is back, and a later `restore` finds what to do."""
        self.experiment(wait="sleep 60")
        run = self.start()
        self.wait_for(lambda: self.is_set() and (self.folder / "ran-at").exists())
        (self.folder / "machine/kills").touch()
        (self.folder / "machine/deaf").touch()
        run.send_signal(signal.SIGINT)
        said = run.stderr.read()
        self.assertEqual(run.wait(timeout=60), 4, said)
        self.assertRegex(said, r"error: the guardian ended before it had said that it put back: whether the settings were put back is not known; before the sweep\n  set\.cap was '140\.000'\n"
                         r"  hint: it goes on by itself if it can; look with: dvfs-plan restore --state-folder \S+; by hand:\n  \(cd \S+ && \S+/tool set 140\.000\)\n")
        self.assertTrue(self.is_set())
        for name in ("kills", "deaf"):
            (self.folder / "machine" / name).unlink()
        restored = self.call("restore")
        self.assertEqual(restored.returncode, 0, restored.stderr)
        self.assertEqual(self.cap.read_text(), "140.000\n")

    def test_what_is_given_up_is_named_with_its_way_back(self):
        self.experiment(wait="sleep 60")
        run = self.start()
        self.wait_for(lambda: self.is_set() and (self.folder / "ran-at").exists())
        set_to = self.cap.read_text().strip()
        self.kill_both(run)
        (self.folder / "machine/stuck").touch()
        given_up = self.call("restore", "--discard")
        self.assertEqual(given_up.returncode, 0, given_up.stderr)
        way_back = re.search(rf"note: given up: set\.cap: wanted '140\.000', found '{set_to}' \(\S+/tool ended with exit code 1: stuck\); this puts it back:  (.*)\n", given_up.stdout + given_up.stderr)
        self.assertTrue(way_back, given_up.stdout + given_up.stderr)
        kept = re.search(r"note: what was to be put back is kept in (\S+/journal\.discarded)\n", given_up.stdout + given_up.stderr)
        self.assertIn("140.000", pathlib.Path(kept[1]).read_text())
        (self.folder / "machine/stuck").unlink()
        subprocess.run(way_back[1], shell=True, check=True, timeout=60)
        self.assertEqual(self.cap.read_text(), "140.000\n")

    def test_a_reader_that_turns_is_not_believed(self):
        """From its n-th answer on it says 1, whatever is set: either nothing is set, or it is put back, or that it may not be is said."""
        codes = set()
        for good in range(1, 10):
            with self.subTest(good):
                for file in (*self.folder.glob("own.sqlite*"), self.folder / "machine/asked"):
                    file.unlink(missing_ok=True)
                (self.folder / "machine/turns").write_text(str(good))
                self.experiment()
                run = self.call("own.yaml", "--no-html")
                codes.add(run.returncode)
                (self.folder / "machine/turns").unlink()
                if run.returncode == 4:
                    self.assertEqual(self.call("restore").returncode, 0)
                self.assertEqual(self.cap.read_text(), "140.000\n", run.stderr)
                if run.returncode == 3:
                    self.assertRegex(run.stderr, r"axis 'set\.cap': its 'read' printed '140\.000' at first and '1' now, before anything was set: what is to be put back is not known\n  hint: nothing was set; "
                                                 r"see that nobody else sets it and that its 'read' tells what is set, then run it again\n|it could not be put back after the sweep")
        self.assertIn(3, codes)

    def test_a_reader_that_never_shows_what_is_set_is_not_believed(self):
        """It says that all is as before, whatever is set: it is put back all the same, that it cannot be is told, and whoever comes after a kill knows it too."""
        (self.folder / "machine/stale").touch()
        self.experiment(changed=("reruns: 0", "reruns: 0, give up after: never"))
        run = self.call("own.yaml", "--no-html")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("knob_refused", run.stderr)
        self.assertEqual(self.cap.read_text(), "140.000\n")
        for killed in (False, True):
            with self.subTest(killed=killed):
                (self.folder / "own.sqlite").unlink()
                self.experiment(changed=("repeat: 2\nsettle: 1 ms\nconditions: " + QUIET, "repeat: 200\nsettle: 1 ms\nconditions: " + QUIET.replace("reruns: 0", "reruns: 0, give up after: never")))
                run = self.start()
                self.wait_for(self.is_set)
                if killed:
                    self.kill_both(run)
                    self.assertTrue(self.is_set())
                else:
                    (self.folder / "machine/stuck").touch()
                    run.send_signal(signal.SIGINT)
                    said = run.stderr.read()
                    self.assertEqual(run.wait(timeout=60), 4, said)
                    self.assertRegex(said, r"1 of 1 settings could not be put back:\n  set\.cap: wanted '140\.000', found '140\.000' \(\S+/tool ended with exit code 1: stuck\)")
                    (self.folder / "machine/stuck").unlink()
                restored = self.call("restore")
                self.assertEqual(restored.returncode, 0, restored.stderr)
                self.assertEqual(self.cap.read_text(), "140.000\n", restored.stdout)

    def test_the_experiments_folder_may_go_meanwhile(self):
        """Moved: the programs in it are run where they are now, also where another folder has its name. Removed: those that lie elsewhere do their work
        all the same."""
        for how, within in (("moved", False), ("another", False), ("moved", True), ("another", True), ("removed", False)):
            for killed in (False, True):
                with self.subTest(how=how, within=within, killed=killed):
                    folder = self.folder / f"{how}{within:d}{killed:d}"
                    folder.mkdir()
                    for name in ("machine", "tool"):
                        (folder / name).symlink_to(self.folder / name)
                    tool = f"{self.folder}/elsewhere" if how == "removed" else "./tool"
                    self.write("elsewhere", f"#!/bin/sh\ncd {self.folder} && exec ./tool $*\n").chmod(0o755)
                    (folder / "own.yaml").write_text(EXPERIMENT.replace("./tool", tool).replace("WAIT", "sleep 60").replace("cat machine/cap >>ran-at", f"touch {folder}.ran"))
                    run = subprocess.Popen(self.arguments("own.yaml" if within else str(folder / "own.yaml"), "--no-html", "-o", f"{folder}.sqlite"), cwd=folder if within else self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                    self.addCleanup(lambda run=run: run.poll() is None and run.kill())
                    self.wait_for(lambda: self.is_set() and folder.with_name(folder.name + ".ran").exists())
                    if how != "removed":
                        folder.rename(folder.with_name(folder.name + ".old"))
                    if how == "another":
                        folder.mkdir()
                        (folder / "tool").symlink_to("/bin/false")
                    if how == "removed":
                        for one in folder.iterdir():
                            one.unlink()
                        folder.rmdir()
                    run.send_signal(signal.SIGKILL if killed else signal.SIGINT)
                    said = run.stderr.read()
                    run.wait(timeout=60)
                    run.stderr.close()
                    self.assertEqual(run.returncode, -9 if killed else 130, said)
                    self.wait_until_put_back()
                    self.assertEqual(self.cap.read_text(), "140.000\n")

    def guardian_of(self, pid):
        with contextlib.suppress(OSError):
            for child in (pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()).split():
                if pathlib.Path(f"/proc/{child}/comm").read_text().strip() == "dvfs-guardian":
                    return int(child)
        return None

    def test_who_changes_it_in_a_trial_is_found_out(self):
        self.experiment(wait="echo 77 >machine/cap")
        run = self.call("own.yaml", "--no-html")
        self.assertNotEqual(run.returncode, 0)
        self.assertRegex(run.stdout + run.stderr, r"set\.cap: set\.cap was '1[02]0\.000' and reads '77', seen at the trial's end")

    def test_what_one_takes_along_is_put_back(self):
        """Setting `mode` to 2 moves `cap` to 55, which nobody asked for: nobody else did that, and it does not stay."""
        mode = self.folder / "machine/mode"
        for order in ("set.mode: [1, 2], set.cap: [100, 120]", "set.cap: [100, 120], set.mode: [1, 2]"):
            with self.subTest(order):
                mode.write_text("1\n")
                self.cap.write_text("140.000\n")
                for file in self.folder.glob("own.sqlite*"):
                    file.unlink()
                self.experiment(changed=("set.cap: [100, 120]", order), more="""  mode:
    command: [sh, -c, 'echo $0 >machine/mode; [ $0 = 1 ] || echo 55 >machine/cap', "{value}"]
    read: [cat, machine/mode]
    values: [1, 2]
""")
                run = self.call("own.yaml", "--no-html")
                self.assertNotIn("somebody else changed", run.stderr)
                self.assertEqual((mode.read_text(), self.cap.read_text()), ("1\n", "140.000\n"), run.stderr)
                # Of what stood beside the mode that moves it nothing counts as asked for.
                rows = self.rows("own.sqlite", "SELECT t.counts, t.verdict_text, s.requested, s.applied FROM trials t JOIN settings s USING (trial) WHERE s.axis = 'set.cap'")
                self.assertTrue(all(row["requested"] == row["applied"] for row in rows if row["counts"]), rows)
                self.assertTrue(all(row["applied"] == "55" for row in rows if "another one undoes it" in row["verdict_text"]), rows)
                self.assertNotIn("command:", "".join(row["verdict_text"] for row in rows))

    def test_what_one_takes_along_as_it_is_tried_is_put_back(self):
        """Before the night each is set to what it is already: that of `mode` moves `cap`, and then nothing sets `cap`."""
        (self.folder / "machine/mode").write_text("1\n")
        for order in ("set.cap: [100, 120], set.mode: [1, 2], set.x: [6, 7]", "set.x: [6, 7], set.mode: [1, 2], set.cap: [100, 120]"):
            with self.subTest(order):
                for file in self.folder.glob("own.sqlite*"):
                    file.unlink()
                self.experiment(changed=("set.cap: [100, 120]", order), more="""  mode: {command: [sh, -c, 'echo $0 >machine/mode; echo 55 >machine/cap', "{value}"], read: [cat, machine/mode], values: [1, 2]}
  x: {command: [sh, -c, '[ $0 = 5 ]', "{value}"], read: [echo, 5], values: [5, 6, 7]}
""")
                run = self.call("own.yaml", "--no-html")
                self.assertEqual(run.returncode, 6, run.stderr)
                self.assertNotIn("somebody else changed", run.stderr)
                self.assertEqual(((self.folder / "machine/mode").read_text(), self.cap.read_text()), ("1\n", "140.000\n"), run.stderr)

    def test_a_slow_one_does_not_keep_a_second_ctrl_c_waiting(self):
        self.experiment(wait="sleep 9")
        run = self.start()
        self.wait_for(lambda: (self.folder / "ran-at").exists())
        (self.folder / "machine/slow").touch()
        began = time.monotonic()
        run.send_signal(signal.SIGINT)
        with self.assertRaises(subprocess.TimeoutExpired):  # once: what it set is put back first
            run.wait(timeout=3)
        run.send_signal(signal.SIGINT)
        run.wait(timeout=60)
        print(f"ended {time.monotonic() - began:.1f} s after the first of two Ctrl-C, of a tool that takes 20 s")
        self.assertTrue(self.is_set())
        self.wait_until_put_back(60)  # by its guardian, in the tool's own time

    def test_a_reader_that_hangs_before_the_night_does_not_keep_ctrl_c_waiting(self):
        self.write("tool", TOOL.replace("get) ", "get) : >asked; sleep 100; ")).chmod(0o755)
        self.experiment()
        for number in (signal.SIGINT, signal.SIGTERM):
            run = self.start()
            self.wait_for(lambda: (self.folder / "asked").exists())
            run.send_signal(number)
            began = time.monotonic()
            errors = run.communicate(timeout=60)[1]
            # The reader has a second to end; it would be given up after 60 s.
            self.assertLess(time.monotonic() - began, 20)
            self.assertEqual((run.returncode, errors.splitlines()[-1]), (128 + number, "interrupted before the first trial; nothing was set"))
            (self.folder / "asked").unlink()

    @unittest.skipUnless(testbed.LONG, "a reader that hangs for good is waited for some minutes: --long")
    def test_a_reader_that_hangs_as_settings_are_put_back_ends_and_the_others_do_not_wait(self):
        """Each look costs its minute; there were dozens of them, and a night was over after half an hour."""
        two = EXPERIMENT.replace("axes: {set.cap: [100, 120]}", "axes: {set.cap: [100, 120], set.two: [7]}")
        two += "  two:\n    command: [sh, -c, 'echo $0 >machine/two', '{value}']\n    read: [cat, machine/two]\n    values: [7, 9]\n"
        self.write("tool", TOOL.replace("get) ", "get) [ -e machine/hangs ] && [ \"$(cat machine/cap)\" != 100.000 ] && exec sleep 1000; "))
        (self.folder / "machine/two").write_text("9\n")
        self.write("own.yaml", two.replace("[100, 120]", "[100]").replace("WAIT", ": >machine/hangs"))
        began = time.monotonic()
        run = subprocess.run(self.arguments("own.yaml", "--no-html"), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=590)
        print(f"ended after {time.monotonic() - began:.0f} s")
        self.assertEqual(run.returncode, 4, run.stderr)
        self.assertIn("set.cap: wanted '140.000', found '", run.stderr)
        self.assertIn("tool did not end within 60 s", run.stderr)
        self.assertEqual((self.cap.read_text(), (self.folder / "machine/two").read_text()), ("140.000\n", "9\n"))
        (self.folder / "machine/hangs").unlink()
        self.assertEqual(self.call("restore").returncode, 0)

    def test_a_quantity_may_be_told_in_another_unit(self):
        in_watts = """awk -v asked="$2" 'BEGIN { split(asked, part, " "); printf "%g W\\n", part[1] * (part[2] == "kW" ? 1000 : 1) }'"""
        self.write("tool", TOOL.replace("printf '%.3f\\n' \"$2\"", in_watts)).chmod(0o755)
        self.cap.write_text("140 W\n")
        self.experiment(changed=("axes: {set.cap: [100, 120]}", "axes: {set.cap: [0.1 kW, 0.12 kW]}"))
        text = (self.folder / "own.yaml").read_text().replace("[100, 120, 140]", "[0.1 kW, 0.12 kW, 0.14 kW]")
        (self.folder / "own.yaml").write_text(text)
        done = self.call("own.yaml", "--no-html", "--json")
        self.assertEqual(done.returncode, 0, done.stdout[-300:] + done.stderr[-600:])
        settings = [point["settings"]["set.cap"] for point in json.loads(done.stdout)["scenarios"][0]["points"]]
        self.assertEqual(sorted(settings), ["0.1 kW", "0.12 kW"])
        self.assertEqual(self.cap.read_text(), "140 W\n")

    def test_a_caller_that_ignores_the_end_of_children_hands_that_on_to_nobody(self):
        """The kernel then tells nobody how a child ended: exit codes and programs that set things would be lost."""
        self.experiment()
        run = subprocess.run(["sh", "-c", "trap '' CHLD; exec \"$@\"", "sh", *self.arguments("own.yaml", "--no-html")], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        used = subprocess.run(["sh", "-c", "trap '' CHLD; exec \"$@\"", "sh", *self.arguments("use", "own.sqlite", "--", "sh", "-c", "exit 9")], cwd=self.folder, env=self.environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(used.returncode, 9, used.stderr)
        self.assertEqual(self.cap.read_text(), "140.000\n")

    def test_a_signal_reaches_the_command_of_use_while_the_guardian_is_begun_anew(self):
        self.experiment()
        self.assertEqual(self.call("own.yaml", "--no-html").returncode, 0)
        script = "trap 'echo told >told; exit 8' TERM; echo >ready; while :; do sleep 0.05; done"
        run = subprocess.Popen(self.arguments("use", "own.sqlite", "--", "sh", "-c", script), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.stderr.close)
        self.wait_for((self.folder / "ready").exists)
        (self.folder / "machine/lazy").touch()  # putting back and setting anew take a second each
        guardian, = [int(pid) for pid in pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split() if pathlib.Path(f"/proc/{pid}/comm").read_text() == "dvfs-guardian\n"]
        os.kill(guardian, signal.SIGKILL)
        time.sleep(1.5)
        run.terminate()
        self.assertEqual(run.wait(timeout=60), 8)
        self.assertEqual((self.folder / "told").read_text(), "told\n")
        self.assertEqual(self.cap.read_text(), "140.000\n")

    def test_use_that_leads_its_session_ends_with_its_terminal(self):
        """`ssh -t host dvfs-plan use ...`, a window of tmux: the kernel sends SIGHUP to it alone, and its command would never know."""
        self.experiment()
        self.assertEqual(self.call("own.yaml", "--no-html").returncode, 0)
        words = [*self.arguments("use", "own.sqlite"), "--", "sleep", "60"]
        pid, ours = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execve(words[0], [str(word) for word in words], self.environment())

        def command_runs():
            children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            with contextlib.suppress(FileNotFoundError):  # a setter's, which has ended
                return any(pathlib.Path(f"/proc/{child}/comm").read_text() == "sleep\n" for child in children)
            return False

        try:
            self.wait_for(command_runs)
            self.assertTrue(self.is_set())
        finally:
            os.close(ours)
        ended = []
        self.addCleanup(lambda: (not ended or ended[-1][0] != pid) and os.kill(pid, signal.SIGTERM))
        self.wait_for(lambda: ended.append(os.waitpid(pid, os.WNOHANG)) or ended[-1][0] == pid)
        self.assertEqual(os.waitstatus_to_exitcode(ended[-1][1]), 129)
        self.assertEqual(self.cap.read_text(), "140.000\n")

    def test_use_says_what_stays_where_nobody_is_left_to_put_it_back(self):
        """The guardian is killed, and its program is gone: the command runs to its end, and then it is exit code 4 with the commands."""
        import shutil
        self.experiment()
        self.assertEqual(self.call("own.yaml", "--no-html").returncode, 0)
        programs = self.folder / "programs"
        programs.mkdir()
        for name in ("dvfs-plan", "dvfs-guardian"):
            shutil.copy(PROGRAM.parent / name, programs / name)
        run = subprocess.Popen([programs / "dvfs-plan", "use", "own.sqlite", "--state-folder", str(self.folder / "state"), "--", "sh", "-c", "echo >ready; until [ -e go ]; do sleep 0.05; done; echo >whole"],
                               cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.stderr.close)
        self.wait_for((self.folder / "ready").exists)
        (programs / "dvfs-guardian").unlink()
        guardian, = [int(pid) for pid in pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split() if pathlib.Path(f"/proc/{pid}/comm").read_text() == "dvfs-guardian\n"]
        os.kill(guardian, signal.SIGKILL)
        time.sleep(4)
        (self.folder / "go").touch()
        said = run.stderr.read()
        self.assertEqual(run.wait(timeout=60), 4, said)
        self.assertTrue((self.folder / "whole").exists())
        self.assertIn(f"(cd {self.folder} && {self.folder}/tool set 140.000)", said)
        # The journal is there: the next one puts it back.
        self.assertEqual(self.call("restore").returncode, 0)
        self.assertEqual(self.cap.read_text(), "140.000\n")

    # A thread that somebody traces ends for him first: until he looks, its process does not end, as one that waits in a driver.
    TRACED = """
import ctypes, os, pathlib, threading, time
def other():
    pathlib.Path("thread").write_text(str(threading.get_native_id()))
    time.sleep(1000)
threading.Thread(target=other, daemon=True).start()
while not os.path.exists("traced"):
    time.sleep(0.01)
time.sleep(1000)
"""

    def test_a_workload_that_is_stuck_in_the_kernel_ends_the_night(self):
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        seize, without_stop = 0x4206, 0
        self.write("traced.py", self.TRACED)
        self.experiment(changed=('shell: "cat machine/cap >>ran-at; sleep 0.05; true"', "command: [python3, traced.py], timeout: 6 s, grace: 1 s"))
        run = self.start()
        thread = self.folder / "thread"
        self.wait_for(lambda: thread.exists() and thread.read_text())
        traced = int(thread.read_text())
        if libc.ptrace(seize, traced, None, without_stop) != 0:
            run.terminate()
            run.wait(timeout=60)
            self.skipTest(f"ptrace(2) is not to be had here: {os.strerror(ctypes.get_errno())}")
        (self.folder / "traced").touch()
        try:
            said = run.stderr.read()
            self.assertEqual(run.wait(timeout=120), 6, said)
            self.assertRegex(said, r"error: the night stops here: w set\.cap=1[02]0 #1: process \d+ of it was killed and does not end: it waits within the kernel, for a driver or a file system\n"
                             r"  hint: nothing stays set\. ")
            self.assertEqual(self.cap.read_text(), "140.000\n")
            rows = self.rows("own.sqlite", "SELECT verdict FROM trials")
            self.assertEqual([row["verdict"] for row in rows], ["timed_out"])
        finally:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(traced, 0x40000000)  # __WALL: a thread of another's that we trace

    def test_who_waits_for_the_machine_ends_by_the_signal_that_ends_him(self):
        self.experiment()
        self.assertEqual(self.call("own.yaml", "--no-html").returncode, 0)
        (self.folder / "own.sqlite").rename(self.folder / "good.sqlite")
        self.experiment("sleep 60")
        run = self.start()
        self.wait_for(self.is_set)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            waiter = subprocess.Popen(self.arguments("use", "good.sqlite", "--wait", "--", "true"), cwd=self.folder, env=self.environment(), stderr=subprocess.PIPE, text=True)
            self.assertIn("set.cap", waiter.stderr.readline())
            time.sleep(1)  # it waits now, and says nothing of it
            waiter.send_signal(number)
            self.assertEqual(waiter.wait(timeout=30), 128 + number)
            waiter.stderr.close()
        run.terminate()
        self.assertEqual(run.wait(timeout=60), 143)
        self.assertEqual(self.cap.read_text(), "140.000\n")

    def test_who_waits_behind_a_guardian_that_was_stopped_is_told(self):
        """Its run has ended, and nobody else can put back what that had set: to wait in silence would be to wait for ever."""
        self.experiment("sleep 60")
        run = self.start()
        self.wait_for(self.is_set)
        guardian = self.guardian_of(run.pid)
        os.kill(guardian, signal.SIGSTOP)
        self.addCleanup(lambda: pathlib.Path(f"/proc/{guardian}").exists() and os.kill(guardian, signal.SIGCONT))
        run.kill()
        run.wait()
        self.experiment()
        waiter = subprocess.Popen(self.arguments("own.yaml", "--no-html", "--fresh", "--wait"), cwd=self.folder, env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: waiter.poll() is None and waiter.kill())
        for line in waiter.stderr:
            if "has ended" in line:
                break
        self.assertRegex(line, r"waiting for the machine, 1 in the queue; now: pid \d+, own.yaml, .*; that run has ended, and its guardian has not: a program of a `set` key has a minute to put back, and is tried again for about ten; after that, `fuser \S+/lock` names it: kill -CONT it, and if that does not help, kill -9 it\n$")
        os.kill(guardian, signal.SIGCONT)
        rest = waiter.communicate(timeout=60)[1]
        self.assertEqual(waiter.returncode, 0, rest)
        self.assertEqual(self.cap.read_text(), "140.000\n")

    def test_texts_that_look_like_the_same_number_are_put_back(self):
        """A mask "1e0" and a mask "1", a profile "0011" and "11"; and 140.000 that is told as 140 once it was put back is the same."""
        self.write("tool", '#!/bin/sh\ncase $1 in get) cat machine/cap;; set) echo "$2" >machine/cap;; esac\n').chmod(0o755)
        for before, swept in (("1e0", '["1", "f"]'), ("0011", '["11", "x"]'), ("060", '["60", "y"]')):
            with self.subTest(before):
                self.cap.write_text(before + "\n")
                self.write("own.yaml", EXPERIMENT.replace("WAIT", "true").replace("axes: {set.cap: [100, 120]}", f"axes: {{set.cap: {swept}}}").replace("[100, 120, 140]", swept))
                run = self.call("own.yaml", "--no-html", "--fresh")
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertEqual(self.cap.read_text(), before + "\n")
        self.write("tool", '#!/bin/sh\ncase $1 in get) cat machine/cap;; set) echo "${2%.*}" >machine/cap;; esac\n').chmod(0o755)
        self.cap.write_text("140.000\n")
        self.experiment()
        run = self.call("own.yaml", "--no-html", "--fresh")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.cap.read_text(), "140\n")

    def test_beside_a_sweep_of_another_users_nothing_is_set(self):
        """What that one has set for its night would be taken for what was there before, and be put back behind its end."""
        self.experiment()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as taken:
            os.setresuid(61003, 61003, 0)
            try:
                taken.bind("\0dvfs-plan one sweep a machine")
                taken.listen(64)  # as a guardian does
            finally:
                os.setresuid(0, 0, 0)
            for words in (["own.yaml", "--no-html"], ["restore"]):
                refused = self.call(*words)
                self.assertEqual(refused.returncode, 3, refused.stderr)
                self.assertIn(f"error: another sweep is running on this machine (pid {os.getpid()}, an experiment, by uid 61003)\n", refused.stderr)
            self.assertFalse((self.folder / "own.sqlite").exists())
            waiter = subprocess.Popen(self.arguments("own.yaml", "--no-html", "--wait"), cwd=self.folder, env=self.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.addCleanup(lambda: waiter.poll() is None and waiter.kill())
            self.assertRegex(waiter.stderr.readline(), rf"waiting for the machine, 1 in the queue; now: pid {os.getpid()}, an experiment, by uid 61003\n$")
            self.assertEqual(self.cap.read_text(), "140.000\n")
        rest = waiter.communicate(timeout=60)[1]
        self.assertEqual(waiter.returncode, 0, rest)
        self.assertEqual(self.cap.read_text(), "140.000\n")

    def test_descriptors_that_are_closed_are_nothing_to_write_to(self):
        """A script that closes what it does not want: the next file or socket would have that number, and get what is printed."""
        self.experiment()
        for closed, code in (("<&- 2>&-", 0), (">&- 2>&-", 3), ("<&- >&-", 3), ("<&- >&- 2>&-", 3)):  # 3: the answer could not be written
            with self.subTest(closed):
                run = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", *self.arguments("own.yaml", "--fresh", "--no-html")], cwd=self.folder, env=self.environment(), capture_output=True, text=True)
                self.assertEqual(run.returncode, code, run.stderr)
                self.assertEqual([row["verdict"] for row in self.rows("own.sqlite", "SELECT verdict FROM trials")], ["ok"] * 4)
                self.assertEqual(self.cap.read_text(), "140.000\n")

    def test_a_reader_that_warns_and_a_folder_that_is_gone(self):
        """Warnings are none of the value, failures are told in its words; `restore` works from a folder that was deleted, with nothing in its
        environment."""
        self.write("tool", TOOL.replace("get)", "get) echo 'warning: old firmware' >&2;")).chmod(0o755)
        self.experiment()
        run = self.call("own.yaml", "--no-html")
        self.assertEqual(run.returncode, 0, run.stderr)
        (self.folder / "machine/broken").touch()
        said = self.call("check", "own.yaml")
        self.assertEqual(said.returncode, 2, said.stdout)
        self.assertRegex(said.stderr, r"its 'read' does not tell what is set now, so it could not be put back: \S*/tool ended with exit code 1: warning: old firmware; no answer\n")
        (self.folder / "machine/broken").unlink()
        (self.folder / "own.sqlite").unlink()
        self.experiment(wait="exec sleep 60")
        run = self.start()
        self.wait_for(self.is_set)
        self.kill_both(run)
        (self.folder / "gone").mkdir()
        restored = subprocess.run(["/bin/sh", "-c", f'rmdir ../gone; exec env -i LD_LIBRARY_PATH="$LD_LIBRARY_PATH" {PROGRAM} restore --json --state-folder {self.folder}/state'], cwd=self.folder / "gone", capture_output=True, text=True)
        self.assertEqual(restored.returncode, 0, restored.stderr)
        self.assertEqual(json.loads(restored.stdout)["restored"], 1)
        self.assertEqual(self.cap.read_text(), "140.000\n")

    def kill_both(self, run):
        both = (self.guardian_of(run.pid), run.pid)
        for one in (signal.SIGSTOP, signal.SIGKILL):
            for pid in both:
                os.kill(pid, one)
        run.wait()

    def test_what_its_owner_sets_behind_a_kill_of_both_is_his(self):
        """Nobody is left who knows it but the record beside the journal: by it `restore` and the next start tell the night's values from his."""
        left = ("set.cap is '77', which is neither what the run set (100) nor what was there before ('140.000'): somebody else changed it meanwhile, "
                f"and it was left so; to put it back: (cd {self.folder}/ && {self.folder}/tool set 140.000)")
        self.experiment(wait="exec sleep 60", changed=("[100, 120]}", "[100]}"))
        for sets, then, reads, said in ((None, "restore", "140.000\n", "1 settings put back, 0 were as before\n"),
                                        ("140", "restore", "140.000\n", "1 settings put back, 0 were as before\n"),  # a daemon of the run's may have held it
                                        ("77", "restore", "77\n", f"0 settings put back, 0 were as before, 1 left as somebody else has set it\nnote: {left}\n"),
                                        ("77", "next start", "77.000\n", f"an earlier run had not put all back; 0 of its settings were put back\nnote: {left}\n")):
            with self.subTest(sets=sets, then=then):
                for file in self.folder.glob("own.sqlite*"):
                    file.unlink()
                self.cap.write_text("140.000\n")
                run = self.start()
                self.wait_for(lambda: (self.folder / "ran-at").exists())
                (self.folder / "ran-at").unlink()
                self.kill_both(run)
                self.assertEqual(self.cap.read_text(), "100.000\n")
                if sets:
                    self.cap.write_text(sets + "\n")
                if then == "restore":
                    restored = self.call("restore")
                    self.assertEqual((restored.returncode, restored.stdout, restored.stderr), (0, said, ""))
                else:
                    self.experiment(changed=("[100, 120]}", "[100]}"))
                    run = self.call("own.yaml", "--fresh", "--no-html")
                    self.assertEqual(run.returncode, 0, run.stderr)
                    self.assertIn(said, run.stderr)
                self.assertEqual(self.cap.read_text(), reads)
                self.assertEqual(self.call("restore").stdout, f"there is nothing to restore: no sweep left a journal in {self.folder}/state\n")
                self.assertEqual([path.name for path in (self.folder / "state").iterdir() if path.name.startswith(("journal", "applied"))], [])

    def test_use_tells_what_it_did_with_what_an_earlier_run_left(self):
        """As a sweep and `restore` do: what is its owner's is left, with the command that would put it back; --quiet or not."""
        self.experiment(changed=("[100, 120]}", "[100]}"))
        self.assertEqual(self.call("own.yaml", "--no-html", "--output", "found.sqlite").returncode, 0)
        self.experiment(wait="exec sleep 60", changed=("[100, 120]}", "[100]}"))
        (self.folder / "ran-at").unlink()
        run = self.start()
        self.wait_for(lambda: (self.folder / "ran-at").exists())
        self.kill_both(run)
        self.cap.write_text("77\n")
        used = subprocess.run([PROGRAM, "use", "--quiet", "found.sqlite", "--state-folder", str(self.folder / "state"), "--", "true"], cwd=self.folder, env=self.environment(), capture_output=True, text=True)
        self.assertEqual(used.returncode, 0, used.stderr)
        self.assertIn("dvfs-plan: warning: an earlier run had not put all back; 0 of its settings were put back\n", used.stderr)
        self.assertIn("dvfs-plan: warning: note: set.cap is '77', which is neither what the run set (100) nor what was there before ('140.000')", used.stderr)
        self.assertEqual(self.cap.read_text(), "77.000\n")

    def test_who_is_interrupted_while_an_earlier_runs_settings_are_put_back_is_told_of_that(self):
        """It sets nothing itself, and its guardian does all the same: what it overwrites or leaves is said there alone."""
        for number in (signal.SIGTERM, signal.SIGINT):
            self.cap.write_text("140.000\n")
            self.experiment(wait="exec sleep 60", changed=("[100, 120]}", "[100]}"))
            for file in (*self.folder.glob("own.sqlite*"), *self.folder.glob("ran-at")):
                file.unlink()
            run = self.start()
            self.wait_for((self.folder / "ran-at").exists)
            self.kill_both(run)
            (self.folder / "machine/puts-back").unlink(missing_ok=True)
            self.write("tool", TOOL.replace("set) ", "set) touch machine/puts-back; sleep 3; ")).chmod(0o755)
            again = self.start()
            self.wait_for((self.folder / "machine/puts-back").exists)
            again.send_signal(number)
            errors = again.communicate(timeout=60)[1]
            self.assertEqual(again.returncode, 128 + number, errors)
            self.assertIn(f"error: interrupted before the machine was had\n  hint: it set nothing; whether an earlier run left something set, `dvfs-plan restore --state-folder {self.folder}/state` says\n", errors)
            self.assertIn("dvfs-guardian: an earlier run had not put all back; 1 of its settings were put back\n", errors)
            self.assertEqual(self.cap.read_text(), "140.000\n")
            self.write("tool", TOOL).chmod(0o755)
        # Where it cannot put it back, too.
        for file in (*self.folder.glob("own.sqlite*"), *self.folder.glob("ran-at"), *self.folder.glob("machine/puts-back")):
            file.unlink()
        run = self.start()
        self.wait_for((self.folder / "ran-at").exists)
        self.kill_both(run)
        self.write("tool", TOOL.replace("set) ", "set) touch machine/puts-back; sleep 1; exit 1; ")).chmod(0o755)
        again = self.start()
        self.wait_for((self.folder / "machine/puts-back").exists)
        again.send_signal(signal.SIGINT)
        errors = again.communicate(timeout=60)[1]
        self.assertEqual(again.returncode, 130, errors)
        self.assertIn("dvfs-guardian: 1 of 1 settings could not be put back:\n  set.cap: wanted '140.000', found '100.000'", errors)
        self.assertIn("  hint: these commands put them back, then `dvfs-plan restore` clears the journal", errors)
        self.write("tool", TOOL).chmod(0o755)
        self.assertEqual(self.call("restore").returncode, 0)
        self.assertEqual(self.cap.read_text(), "140.000\n")

    def test_who_asks_while_a_sweep_runs_is_told_whose_values_stand(self):
        """`check` and `setting` say what would be put back: that is not the sweep's to give."""
        self.experiment(changed=("[100, 120]}", "[100]}"))
        self.assertEqual(self.call("own.yaml", "--no-html", "--output", "found.sqlite").returncode, 0)
        self.experiment(wait="exec sleep 60", changed=("[100, 120]}", "[100]}"))
        (self.folder / "ran-at").unlink()
        commands = ("check", "own.yaml"), ("setting", "found.sqlite")
        for command in commands:
            asked = self.call(*command)
            self.assertNotRegex(asked.stdout + asked.stderr, "a sweep has this machine now|was cut off|what that sweep")
        run = self.start()
        self.wait_for((self.folder / "ran-at").exists)
        for command in commands:
            asked = self.call(*command)
            self.assertEqual(asked.returncode, 0, asked.stderr)
            self.assertIn(f"a sweep has this machine now: pid {run.pid}, own.yaml, since ", asked.stdout + asked.stderr)
        asked = self.call("check", "own.yaml").stdout
        self.assertTrue(asked.startswith("own: this machine can run it, once the sweep that has it now has ended\n"), asked)
        self.assertIn("; until it has ended a run is refused, or waits with --wait\n", asked)
        self.assertIn("\nwould be set, and put back to what it is then; what follows is what that sweep has set:\n  set.cap = 100.000\n", asked)
        self.kill_both(run)
        for command in commands:
            asked = self.call(*command)
            self.assertEqual(asked.returncode, 0, asked.stderr)
            self.assertIn("an earlier sweep was cut off: its journal is in ", asked.stdout + asked.stderr)
        self.assertEqual(self.call("restore").returncode, 0)
        self.assertEqual(self.cap.read_text(), "140.000\n")
        (self.folder / "ran-at").unlink()
        run = self.start()
        self.wait_for((self.folder / "ran-at").exists)
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=60)
        self.assertEqual(self.cap.read_text(), "140.000\n")

    def test_of_a_night_that_stopped_before_its_reference_ran(self):
        """The narrower experiment has the value that its reference needs; what the night gave up behind is still to be run."""
        text = EXPERIMENT.replace("WAIT", "[ $(cut -c1-3 machine/cap) = 100 ]").replace("repeat: 2", "repeat: 2\norder: listed\nreference: {set.cap: 120}").replace("reruns: 0", "reruns: 0, give up after: 2")
        self.write("own.yaml", text)
        run = self.call("own.yaml", "--no-html")
        self.assertIn(run.returncode, (1, 6), run.stderr)
        self.write("own.yaml", text.replace("[ $(cut -c1-3 machine/cap) = 100 ]", "exit 3"))
        run = self.call("own.yaml", "--no-html", "--output", "gave-up.sqlite")
        self.assertEqual(run.returncode, 6, run.stderr)
        rows = {row["file"]: row for row in json.loads(self.call("index", ".", "--json").stdout)["results"]}
        self.assertEqual(rows["gave-up.sqlite"]["left"], json.loads(self.call("status", "gave-up.sqlite", "--json").stdout)["planned_trials"])
        # Interrupted at the first trial of the reference.
        self.write("own.yaml", text.replace("[ $(cut -c1-3 machine/cap) = 100 ]", "[ $(cut -c1-3 machine/cap) = 100 ] || exec sleep 60"))
        for file in (*self.folder.glob("own.sqlite*"), *self.folder.glob("ran-at")):
            file.unlink()
        run = self.start()
        self.wait_for(lambda: (self.folder / "ran-at").exists() and "120" in (self.folder / "ran-at").read_text())
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=60)
        narrower = self.call("setting", "own.sqlite", "--as", "yaml")
        self.assertEqual(narrower.returncode, 0, narrower.stderr)
        self.write("narrower.yaml", narrower.stdout)
        checked = self.call("check", "narrower.yaml")
        self.assertEqual(checked.returncode, 0, narrower.stdout + checked.stderr)

    def test_programs_that_set_are_those_the_night_began_with(self):
        works = "case $(cat machine/cap) in 100*) ;; *) sleep 0.5 ;; esac"
        self.experiment(wait=works)
        self.assertEqual(self.call("own.yaml", "--no-html").returncode, 0)
        self.write("tool", TOOL + "# another one\n").chmod(0o755)
        again = self.call("recheck", "own.sqlite", "--blocks", "1", "--no-html")
        self.assertEqual(again.returncode, 2, again.stderr)
        self.assertIn(f"{self.folder.resolve()}/tool is another file by now", again.stderr)
        self.experiment(wait=works, changed=("repeat: ", "repeat: 1"))
        again = self.call("own.yaml", "--no-html")
        self.assertEqual(again.returncode, 2, again.stderr)
        self.assertIn(f"setter file {self.folder.resolve()}/tool: ", again.stderr)

    def test_where_it_is_not_known_what_the_run_had_set_it_is_put_back_and_told(self):
        """A setter that was killed half way leaves anything; a record that is gone says nothing."""
        put_back = "1 settings put back, 0 were as before\nnote: set.cap read '77' before it was put back: that the run had set this is not on record; if somebody else did, it is to be set again\n"
        self.write("tool", TOOL.replace("set) ", "set) [ -e machine/half ] && [ $2 = 120 ] && { echo 77 >machine/cap; touch machine/there; sleep 60; };")).chmod(0o755)
        self.experiment(changed=("[100, 120]}", "[120]}"))
        (self.folder / "machine/half").touch()
        run = self.start()
        self.wait_for((self.folder / "machine/there").exists)
        self.kill_both(run)
        restored = self.call("restore")
        self.assertEqual((restored.returncode, restored.stdout), (0, put_back), restored.stderr)
        self.assertEqual(self.cap.read_text(), "140.000\n")
        (self.folder / "machine/half").unlink()
        self.experiment(wait="exec sleep 60")
        for file in self.folder.glob("own.sqlite*"):
            file.unlink()
        run = self.start()
        self.wait_for((self.folder / "ran-at").exists)
        self.kill_both(run)
        for record in (*(self.folder / "state").glob("applied"), *pathlib.Path("/run/dvfs-plan/copies").glob("*/applied")):
            record.unlink()
        self.cap.write_text("77\n")
        restored = self.call("restore")
        self.assertEqual((restored.returncode, restored.stdout), (0, put_back), restored.stderr)
        self.assertEqual(self.cap.read_text(), "140.000\n")

    def test_what_was_put_back_beside_one_that_could_not_be_is_its_owners(self):
        """The journal stays for the one that failed; what the owner sets meanwhile on the other is left when it is put back at last."""
        self.write("tool2", TOOL.replace("/cap", "/two").replace("/deaf", "/deaf2")).chmod(0o755)
        (self.folder / "machine/two").write_text("9.000\n")
        self.experiment(wait="exec sleep 60", changed=("axes: {set.cap: [100, 120]}", "axes: {set.cap: [100], set.two: [5]}"),
                        more="  two: {command: [./tool2, set, '{value}'], read: [./tool2, get], values: [5, 9]}\n")
        run = self.start()
        self.wait_for((self.folder / "ran-at").exists)
        (self.folder / "machine/deaf2").touch()
        self.kill_both(run)
        failed = self.call("restore")
        self.assertEqual(failed.returncode, 4, failed.stdout)
        self.assertEqual((self.cap.read_text(), (self.folder / "machine/two").read_text()), ("140.000\n", "5.000\n"))
        self.cap.write_text("100\n")  # even to what the night had
        (self.folder / "machine/deaf2").unlink()
        restored = self.call("restore", "--json")
        self.assertEqual(restored.returncode, 0, restored.stderr)
        self.assertEqual({key: json.loads(restored.stdout)[key] for key in ("restored", "unchanged", "left")}, {"restored": 1, "unchanged": 0, "left": 1})
        self.assertIn("set.cap is '100', which is neither what the run set (nothing) nor what was there before ('140.000')", restored.stdout)
        self.assertEqual((self.cap.read_text(), (self.folder / "machine/two").read_text()), ("100\n", "9.000\n"))

    def test_what_its_owner_sets_behind_a_way_back_that_failed_is_his(self):
        """He mends the tool and sets what he wants now: with --quiet he is told so. A tool that did not end may do its work yet: then it is put back, and told."""
        self.experiment(changed=("[100, 120]}", "[100]}"))
        self.assertEqual(self.call("own.yaml", "--no-html", "--output", "found.sqlite").returncode, 0)
        left = (f"set.cap is '77', which is neither what the run set (100) nor what was there before ('140.000'): somebody else changed it meanwhile, and it was left so; to put it back: "
                f"(cd {self.folder}/ && {self.folder}/tool set 140.000)")
        start = "an earlier run had not put all back; 0 of its settings were put back\n"
        again = ("own.yaml", "--fresh", "--no-html", "--quiet")
        for broken in ("stuck", "deaf"):  # it says that it failed, or says nothing
            for once_more in (False, True):
                for words, said in ((["restore"], f"0 settings put back, 0 were as before, 1 left as somebody else has set it\nnote: {left}\n"), (again, f"{start}note: {left}\n"),
                                    (["use", "--quiet", "found.sqlite", "--", "true"], f"dvfs-plan: warning: note: {left}\n")):
                    with self.subTest(broken=broken, once_more=once_more, words=words):
                        self.cap.write_text("140.000\n")
                        (self.folder / "machine" / broken).unlink(missing_ok=True)
                        self.experiment(wait=f"touch machine/{broken}", changed=("[100, 120]}", "[100]}"))
                        run = self.call("own.yaml", "--fresh", "--no-html")
                        self.assertEqual((run.returncode, self.cap.read_text()), (4, "100.000\n"), run.stderr)
                        if once_more:
                            self.assertEqual(self.call("restore").returncode, 4)
                        (self.folder / "machine" / broken).unlink()
                        self.experiment(changed=("[100, 120]}", "[100]}"))
                        self.cap.write_text("77\n")
                        given = self.call(*words)
                        self.assertEqual((given.returncode, self.cap.read_text().strip()), (0, "77" if words == ["restore"] else "77.000"), given.stderr)
                        self.assertIn(said, given.stdout + given.stderr)
                        self.assertIn("there is nothing to restore", self.call("restore").stdout)

    @unittest.skipUnless(os.environ.get("DVFS_PLAN_APART"), "the attribute file is of a network of its own (tests/system/apart)")
    def test_an_attribute_file_that_its_owner_sets_when_it_is_back_is_his(self):
        """Put back beside one that could not be, it is left, and told; saved by a night that was killed while a program was at work, it is put back, and told."""
        mtu = pathlib.Path("/sys/class/net/lo/mtu")
        was = mtu.read_text()
        self.addCleanup(mtu.write_text, was)
        self.write("tool", TOOL.replace("sleep 20", "{ touch machine/at-work; sleep 20; }")).chmod(0o755)
        for dies in ("put back", "not set yet"):
            with self.subTest(dies):
                for name in ("ran-at", "machine/deaf"):
                    (self.folder / name).unlink(missing_ok=True)
                self.experiment(wait="exec sleep 60", changed=("axes: {set.cap: [100, 120]}", "axes: {set.cap: [100, 120], sysfs.mtu: [1300, 1400]}"),
                                more=f"sysfs:\n  mtu: {{path: {mtu}, values: [1300, 1400]}}\n")
                if dies == "not set yet":
                    (self.folder / "machine/slow").touch()
                run = self.start()
                self.wait_for((self.folder / ("ran-at" if dies == "put back" else "machine/at-work")).exists)
                (self.folder / "machine/deaf").touch()
                self.kill_both(run)
                (self.folder / "machine/slow").unlink(missing_ok=True)
                if dies == "put back":
                    failed = self.call("restore")
                    self.assertEqual((failed.returncode, mtu.read_text()), (4, was), failed.stdout + failed.stderr)
                mtu.write_text("1234\n")
                (self.folder / "machine/deaf").unlink()
                restored = self.call("restore")
                # A program that was killed half way may have changed anything by the way.
                is_left = dies == "put back"
                self.assertEqual((restored.returncode, mtu.read_text(), self.cap.read_text()), (0, "1234\n" if is_left else was, "140.000\n"), restored.stdout + restored.stderr)
                self.assertRegex(restored.stdout, rf"note: /sys/\S*/mtu is '1234', which is neither what the run set \(nothing\) nor what was there before \('{was.strip()}'\): "
                                                  "somebody else changed it meanwhile, and it was left so; to put it back: " if is_left else
                                 r"note: /sys/\S*/mtu read '1234' before it was put back: that the run had set this is not on record; if somebody else did, it is to be set again\n")
                mtu.write_text(was)

    def test_as_a_script_it_is_put_back_by_its_own_way(self):
        """`restore`, where there is one; and what cannot be put back keeps no other from it."""
        self.write("tool2", TOOL.replace("/cap", "/two").replace("/stuck", "/stuck2")).chmod(0o755)
        two = self.folder / "machine/two"
        two.write_text("9.000\n")
        self.experiment(changed=("axes: {set.cap: [100, 120]}", "axes: {set.cap: [100], set.two: [5]}"),
                        more="    restore: [./tool, reset, '{value}']\n  two: {command: [./tool2, set, '{value}'], read: [./tool2, get], values: [5, 9]}\n")
        self.assertEqual(self.call("own.yaml", "--no-html").returncode, 0)
        (self.folder / "machine/was").unlink()
        for fails in (False, True):
            with self.subTest(fails=fails):
                (self.folder / "script").write_text(self.call("setting", "own.sqlite", "--as", "sysfs").stdout)
                self.assertEqual(subprocess.run(["sh", "script"], cwd=self.folder).returncode, 0)
                self.assertEqual((self.cap.read_text(), two.read_text()), ("100.000\n", "5.000\n"))
                reset = self.folder / "tool"
                if fails:
                    reset.write_text(TOOL.replace("reset)", "reset) exit 1;"))
                back = subprocess.run(["sh", "script", "back"], cwd=self.folder)
                self.assertEqual((back.returncode, self.cap.read_text(), two.read_text()), (1, "100.000\n", "9.000\n") if fails else (0, "140.000\n", "9.000\n"))
                self.assertEqual((self.folder / "machine/was").read_text(), "140.000\n")

    def test_what_a_killed_restore_overwrote_is_told_by_the_one_that_ends(self):
        """Killed while a slow setter puts its own back; meanwhile the owner sets the other, which is back. That setter may have changed it by the way: it is put
        back again, and he is told, also where whoever did so was killed before he could say it."""
        self.write("tool2", TOOL.replace("/cap", "/two").replace("/slow", "/slow2").replace("sleep 20", "{ touch machine/at-work; sleep 20; }")).chmod(0o755)
        (self.folder / "machine/two").write_text("9.000\n")
        self.experiment(wait="exec sleep 60", changed=("axes: {set.cap: [100, 120]}", "axes: {set.cap: [100], set.two: [5]}"),
                        more="  two: {command: [./tool2, set, '{value}'], read: [./tool2, get], values: [5, 9]}\n")
        run = self.start()
        self.wait_for((self.folder / "ran-at").exists)
        self.kill_both(run)
        (self.folder / "machine/slow2").touch()
        for sets in ("100", "78"):  # the night's own value, and another
            restore = subprocess.Popen(self.arguments("restore"), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.wait_for((self.folder / "machine/at-work").exists)
            self.kill_both(restore)
            (self.folder / "machine/at-work").unlink()
            subprocess.run(["pkill", "-f", f"^/bin/sh {self.folder}/tool2 set"], check=False)
            self.assertEqual((self.cap.read_text(), (self.folder / "machine/two").read_text()), ("140.000\n", "5.000\n"))
            self.cap.write_text(sets + "\n")
        (self.folder / "machine/slow2").unlink()
        restored = self.call("restore")
        self.assertEqual(restored.returncode, 0, restored.stderr)
        self.assertEqual(restored.stdout, "2 settings put back, 0 were as before\n"
                         "note: set.cap read '78' before it was put back: that the run had set this is not on record; if somebody else did, it is to be set again\n"
                         "note: set.cap read '100' before an earlier putting back, which was killed: that the run had set this is not on record; if somebody else did, it is to be set again\n")
        self.assertEqual((self.cap.read_text(), (self.folder / "machine/two").read_text()), ("140.000\n", "9.000\n"))
        self.assertEqual(self.call("restore").stdout, f"there is nothing to restore: no sweep left a journal in {self.folder}/state\n")

    def test_what_cannot_be_restored_is_said_in_json_too(self):
        self.experiment(wait="exec sleep 60")
        run = self.start()
        self.wait_for(self.is_set)
        (self.folder / "machine/deaf").touch()
        run.kill()
        run.wait()
        self.wait_for(lambda: self.call("restore", "--json").returncode == 4)
        refused = self.call("restore", "--json")
        said = json.loads(refused.stdout)
        self.assertRegex(said["problem"], "^1 of 1 settings could not be put back:\n  set.cap: wanted '140.000', found '1[02]0.000'")
        self.assertIn("`dvfs-plan restore` clears the journal", said["hint"])
        self.assertEqual(said["restored"], None)
        (self.folder / "machine/deaf").unlink()
        self.assertEqual(json.loads(self.call("restore", "--json").stdout)["problem"], None)
        self.assertEqual(self.cap.read_text(), "140.000\n")

    def test_what_puts_back_may_leave_a_daemon_that_holds_it(self):
        """As those that hold a latency limit do: the value holds as long as its holder lives. A meter of the user's own ends beside it, with all
        that came to the run."""
        self.write("tool", r'''#!/bin/sh
holder=$(cat machine/holder 2>/dev/null)
case $1 in
  get) if kill -0 "$holder" 2>/dev/null; then cat machine/cap; else echo nobody holds it; fi;;
  set) printf '%.3f\n' "$2" >machine/cap
       setsid sleep 300 </dev/null >/dev/null 2>&1 &
       echo $! >machine/holder
       kill "$holder" 2>/dev/null; true;;
esac
''').chmod(0o755)
        holder = lambda: int((self.folder / "machine/holder").read_text())
        lives = lambda: pathlib.Path(f"/proc/{holder()}/stat").exists() and ") Z " not in pathlib.Path(f"/proc/{holder()}/stat").read_text()
        subprocess.run(["./tool", "set", "140"], cwd=self.folder, check=True)
        self.addCleanup(lambda: lives() and os.kill(holder(), signal.SIGKILL))
        before = holder()
        meter = "probes: [{name: m, command: [sh, -c, 'while :; do echo p 5 W; sleep 0.1; done'], channels: {p: {unit: W}}}]\n"
        self.experiment(more=meter)
        run = self.call("own.yaml", "--no-html")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(sorted((self.folder / "ran-at").read_text().split()), ["100.000"] * 2 + ["120.000"] * 2)
        self.assertNotEqual(holder(), before)
        self.assertEqual((self.cap.read_text(), lives()), ("140.000\n", True))
        self.experiment(wait="exec sleep 60", more=meter)
        for who in ("run", "run again"):
            before = holder()
            run = subprocess.Popen(self.arguments("own.yaml", "--fresh", "--no-html"), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.wait_for(self.is_set)
            run.kill()
            run.wait()
            self.wait_until_put_back()
            self.assertNotEqual(holder(), before, who)
            self.assertEqual((self.cap.read_text(), lives()), ("140.000\n", True), who)
        # Killed where what was before is set once more: its holder is the run's, and ends with it, whatever is read.
        tool = (self.folder / "tool").read_text()
        for reader, both in (("holder", False), ("file", False), ("file", True), ("holder", True)):
            with self.subTest("what was before is swept too", reader=reader, both=both):
                if reader == "file":
                    self.write("tool", re.sub(r"get\).*;;", "get) cat machine/cap;;", tool))
                self.experiment(wait="exec sleep 60", more=meter, changed=("set.cap: [100, 120]", "set.cap: [140]"))
                (self.folder / "ran-at").unlink(missing_ok=True)
                run = subprocess.Popen(self.arguments("own.yaml", "--fresh", "--no-html"), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.wait_for(lambda: (self.folder / "ran-at").exists() and (self.folder / "ran-at").read_text() == "140.000\n")
                guardian = self.guardian_of(run.pid)
                run.kill()
                if both:
                    os.kill(guardian, signal.SIGKILL)
                run.wait()
                self.wait_until_put_back()
                self.assertEqual((self.cap.read_text(), lives()), ("140.000\n", True))
                self.write("tool", tool)

    def test_of_who_is_not_root_it_has_his_rights(self):
        """Nobody's guardian but his own: no sudo, no guardian of the machine's."""
        theirs = pathlib.Path("/run/dvfs-plan/theirs")
        theirs.mkdir()
        (theirs / "machine").mkdir()
        (theirs / "machine/cap").write_text("140.000\n")
        (theirs / "tool").write_text(TOOL.replace("#!/bin/sh\n", "#!/bin/sh\nid -u >>machine/by\n"))
        (theirs / "tool").chmod(0o755)
        (theirs / "own.yaml").write_text(EXPERIMENT.replace("WAIT", "true"))
        for path in [theirs, *theirs.rglob("*")]:
            os.chown(path, 61001, 61001)
        run = subprocess.run(["setpriv", "--reuid", "61001", "--regid", "61001", "--clear-groups", PROGRAM, "own.yaml", "--no-html"], cwd=theirs, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=60, env=dict(os.environ, HOME=str(theirs), XDG_STATE_HOME=str(theirs)))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual((theirs / "machine/cap").read_text(), "140.000\n")
        self.assertEqual(set((theirs / "machine/by").read_text().split()), {"61001"})


if __name__ == "__main__":
    testbed.main()
