"""The experiment's folder is not the folder that one stands in: programs that the file names by their way are the experiment's, wherever it is started, put to use, moved or rechecked."""
import os
import shutil
import signal
import subprocess
import time
import unittest

import testbed
from whole import NOBODY, PROGRAM, QUIET, Whole

EXPERIMENT = f"""
name: night
objective: energy
repeat: 3
settle: 1 ms
conditions: {QUIET}
workloads: [{{name: w, command: [python3, work.py]}}]
axes: {{set.k: [1, 2]}}
reference: {{set.k: 1}}
set: {{k: {{command: [sh, set.sh, "{{value}}"], read: [cat, knob], values: [1, 2, 3]}}}}
probes: [{{name: wall, command: [sh, wall.sh], channels: {{power: {{unit: W, averages over: 20 ms}}}}}}]
"""
WORK = """import time
time.sleep(1.0 if open("knob").read().strip() == "1" else 0.3)
"""
# Printed 50 times a second, without a process for each pause.
METER = """exec python3 -u -c 'import time
for i in range(10**9):
    print("power", %s + i %% 2 / 10, "W"); time.sleep(0.02)'
"""
# What it finds goes by really measured times, of two blocks: that it ran at all is what is looked at here.
STANDS_OR_NOT_KNOWN = (0, 7)
SETTER = 'echo "$1" >knob; pwd >>set-in\n'


def of_host(name):
    """A state folder's name: hosts of one name that share a home are told apart by their ids."""
    with open("/etc/machine-id", encoding="ascii") as file:
        text = file.read().strip()
    if len(text) != 32:
        return name
    value = 2166136261
    for c in ("dvfs-plan " + text).encode():
        value = (value ^ c) * 16777619 % 2**32
    return f"{name}.{value:08x}"


@unittest.skipIf(os.geteuid() != 0, "folders of its own need root (tests/system/apart)")
class Elsewhere(Whole):
    def setUp(self):
        super().setUp()
        self.project("exp", watts=50)
        # Another project has programs of the same names.
        self.project("other", watts=5000)
        (self.folder / "other/night.yaml").unlink()
        (self.folder / "where").mkdir()

    def project(self, name, watts):
        folder = self.folder / name
        folder.mkdir()
        for file, text in (("night.yaml", EXPERIMENT), ("work.py", WORK), ("wall.sh", METER % watts), ("set.sh", SETTER), ("knob", "3\n")):
            (folder / file).write_text(text)

    def knob(self, project):
        return (self.folder / project / "knob").read_text().strip()

    def watts(self, result):
        return [round(row["w"]) for row in self.rows(result, "SELECT energy_j / time_s AS w FROM trials WHERE verdict = 'ok'")]

    def use(self, *words):
        return subprocess.run([PROGRAM, "use", "other/night.sqlite", "--state-folder", self.folder / "state", *words], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)

    def test_a_meter_is_the_experiments(self):
        run = self.call("../exp/night.yaml", "--no-html", cwd=self.folder / "other")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.watts("other/night.sqlite"), [50] * 6)
        self.assertEqual((self.knob("exp"), self.knob("other")), ("3", "3"))
        # And where there is none of that name.
        again = self.call("recheck", str(self.folder / "other/night.sqlite"), "--blocks", "2", "--no-html", cwd="/")
        self.assertIn(again.returncode, STANDS_OR_NOT_KNOWN, again.stderr + again.stdout)
        self.assertEqual(self.watts("other/night.sqlite"), [50] * 10)

    def test_an_answer_is_put_to_use_by_the_experiments_programs(self):
        run = self.call("../exp/night.yaml", "--no-html", cwd=self.folder / "where")
        self.assertEqual(run.returncode, 0, run.stderr)
        # Put into an archive where other programs lie.
        shutil.move(self.folder / "where/night.sqlite", self.folder / "other/night.sqlite")
        used = self.use("--", "cat", "exp/knob")
        self.assertEqual((used.returncode, used.stdout), (0, "2\n"), used.stderr)
        self.assertEqual((self.knob("exp"), self.knob("other")), ("3", "3"))
        self.assertFalse((self.folder / "other/set-in").exists())
        self.assertIn(f"cd {self.folder}/exp", self.call("setting", "other/night.sqlite").stdout)
        # The experiment is gone, and what lies beside the result is not what it was: nothing is run on a guess.
        (self.folder / "other/night.yaml").write_text("name: another\n")
        shutil.move(self.folder / "exp", self.folder / "moved")
        refused = self.use("--", "true")
        self.assertEqual(refused.returncode, 3)
        self.assertEqual(refused.stderr.splitlines()[-2:],
                         [f"error: other/night.sqlite: axis 'set.k' is set by programs of the experiment's folder, and where that is by now is not known: {self.folder}/other/night.yaml "
                          "is not there as the result has it", "  hint: nothing was set; say where the experiment's file is: --experiment FILE"])
        used = self.use("--experiment", "moved/night.yaml", "--", "cat", "moved/knob")
        self.assertEqual((used.returncode, used.stdout), (0, "2\n"), used.stderr)
        self.assertEqual((self.knob("moved"), self.knob("other")), ("3", "3"))

    def test_a_folder_that_was_moved_is_rechecked_where_it_is(self):
        self.assertEqual(self.call("night.yaml", "--no-html", cwd=self.folder / "exp").returncode, 0)
        shutil.move(self.folder / "exp", self.folder / "moved")
        again = self.call("recheck", "moved/night.sqlite", "--blocks", "2", "--no-html")
        self.assertIn(again.returncode, STANDS_OR_NOT_KNOWN, again.stderr)
        shutil.move(self.folder / "moved/night.sqlite", self.folder / "night.sqlite")
        again = self.call("recheck", "night.sqlite", "--experiment", "moved/night.yaml", "--blocks", "2", "--no-html")
        self.assertIn(again.returncode, STANDS_OR_NOT_KNOWN, again.stderr)
        (self.folder / "moved/work.py").write_text(WORK + "# another\n")
        again = self.call("recheck", "night.sqlite", "--experiment", "moved/night.yaml", "--blocks", "2", "--no-html")
        self.assertEqual(again.returncode, 2)
        self.assertIn("what night.sqlite ran is not the same any more:", again.stderr)

    def test_a_recheck_is_of_what_was_asked_then(self):
        self.assertEqual(self.call("night.yaml", "--no-html", cwd=self.folder / "exp").returncode, 0)
        result = "exp/night.sqlite"
        self.assertIn(self.call("recheck", result, "--blocks", "2", "--no-html").returncode, STANDS_OR_NOT_KNOWN)
        self.assertRegex(self.call("report", result).stdout, r"w at set.k = 2: (stands|not known yet): ")
        asked = self.call("report", result, "--objective", "time").stdout
        self.assertRegex(asked, r"w at set.k = 2, asked then for the least energy, against w set.k=1, which is another question than here: (stands|not known yet): ")
        self.assertNotIn("less of the objective than the reference", asked)
        self.assertEqual([row["question"] for row in self.rows(result, "SELECT question FROM rechecks UNION ALL SELECT question FROM scenarios")], ["the least energy, against w set.k=1"] * 2)
        self.assertRegex(subprocess.run([PROGRAM, "index", "exp"], cwd=self.folder, capture_output=True, text=True).stdout, r" (stands|not_known)")

    def as_user(self, host, *words):
        return ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"', host, *words]

    def cut_off(self, night, state):
        """An ordinary user's run by this host name and in this environment, killed together with its guardian as it had set something; his environment."""
        self.folder.chmod(0o755)
        theirs = self.folder / "theirs"
        shutil.copytree(self.folder / "exp", theirs)
        (theirs / "work.py").write_text("import time\ntime.sleep(60)\n")
        for path in (theirs, *theirs.iterdir()):
            os.chown(path, int(NOBODY), int(NOBODY))
        for name in ("home", "home/state", "home/run"):
            (self.folder / name).mkdir(mode=0o700)
            os.chown(self.folder / name, int(NOBODY), int(NOBODY))
        home = {"PATH": os.environ["PATH"], "HOME": str(self.folder / "home")}
        run = subprocess.Popen(self.as_user(night[0], str(PROGRAM), "night.yaml", "--no-html"), cwd=theirs, env=home | night[1],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.kill_once_it_has_set(run, theirs / "knob", state)
        return theirs, home

    def kill_once_it_has_set(self, run, knob, state):
        """Run and guardian, as the knob is the night's and on record in that state folder."""
        self.addCleanup(lambda: run.poll() is None and run.kill())
        deadline = time.monotonic() + 60
        while knob.read_text().strip() not in ("1", "2") or not (state / "journal").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        guardian = subprocess.run(["pgrep", "-P", str(run.pid), "dvfs-guardian"], capture_output=True, text=True).stdout.split()
        for number in (signal.SIGSTOP, signal.SIGKILL):  # one that is left puts back
            for pid in (run.pid, *map(int, guardian)):
                os.kill(pid, number)
        run.wait()

    def is_put_back(self, night, state, later):
        """`night`, `later`: host name and environment, as run and guardian were killed together, and as the user calls `restore`."""
        theirs, home = self.cut_off(night, state)
        restored = subprocess.run(self.as_user(later[0], str(PROGRAM), "restore"), cwd="/", env=home | later[1], capture_output=True, text=True)
        self.assertEqual(restored.returncode, 0, restored.stderr)
        self.assertIn("1 settings put back", restored.stdout)
        self.assertIn(f"note: they were on record in {state}, not in this session's own state folder\n", restored.stdout)
        self.assertEqual((theirs / "knob").read_text().strip(), "3")

    def test_what_was_left_under_another_host_name_is_put_back(self):
        """A name by DHCP, a new container over the same home: a user's record of what was set lies in a folder of that name."""
        self.is_put_back(("one", {}), self.folder / f"home/.local/state/dvfs-plan/{of_host('one')}", ("two", {}))

    def test_what_was_left_under_another_host_name_before_a_restart_is_told_and_nothing_is_set_until_it_is_known(self):
        """Without a network card to tell a machine by (a container, this test): nodes that boot one image may have one machine id."""
        state = self.folder / f"home/.local/state/dvfs-plan/{of_host('one')}"
        theirs, home = self.cut_off(("one", {}), state)
        set_to = (theirs / "knob").read_text().strip()
        boot = self.write("boot_id", "11111111-2222-3333-4444-555555555555\n")
        boot.chmod(0o644)

        def later(*words, host="two"):
            return subprocess.run(["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"', boot, *self.as_user(host, str(PROGRAM), *words)],
                                  cwd=theirs, env=home, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

        told = (f"{state} holds the journal of night.yaml, which was cut off on a machine of this one's id that was called 'one' then: if that was this one, what it set may stand")
        way = f"dvfs-plan restore --state-folder {state}"
        restored = later("restore")
        self.assertEqual(restored.returncode, 0, restored.stderr)
        self.assertIn(f"note: {told}: {way}\n", restored.stdout)
        night = later("night.yaml", "--no-html")
        self.assertEqual(night.returncode, 4, night.stderr)
        self.assertIn(f"error: {told}, and would be taken for what was there before: nothing was set\n"
                      f"  hint: {way}   where it was this one; else the same there, or give that folder another place\n", night.stderr)
        self.assertEqual((theirs / "knob").read_text().strip(), set_to)
        # Its own name again: nothing is to be asked.
        same = later("restore", host="one")
        self.assertEqual((same.returncode, (theirs / "knob").read_text().strip()), (0, "3"), same.stderr)

    def test_what_was_left_in_another_home_is_found_by_the_one_that_the_user_database_names(self):
        """A job script's HOME: the user's own shell, and root, find what his run left there."""
        with open("/etc/passwd", encoding="utf-8") as file:
            others = [line for line in file if not line.startswith("nobody:")]
        accounts = self.write("passwd", "".join(others) + f"nobody:x:{NOBODY}:{NOBODY}::{self.folder}/home:/bin/sh\n")
        accounts.chmod(0o644)
        subprocess.run(["mount", "--bind", accounts, "/etc/passwd"], check=True)
        self.addCleanup(subprocess.run, ["umount", "/etc/passwd"], check=True)
        scratch = self.folder / "scratch"
        scratch.mkdir()
        os.chown(scratch, int(NOBODY), int(NOBODY))
        state = scratch / f".local/state/dvfs-plan/{of_host('one')}"
        theirs, home = self.cut_off(("one", {"HOME": str(scratch)}), state)
        root = subprocess.run(["unshare", "--uts", "sh", "-c", 'hostname one && exec "$@"', "sh", str(PROGRAM), "restore"], cwd="/", env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertIn("note: a sweep of nobody's left a journal in its home, and what it set may stand: sudo -u nobody -H dvfs-plan restore\n", root.stdout, root.stderr)
        restored = subprocess.run(self.as_user("one", str(PROGRAM), "restore"), cwd="/", env=home, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual((restored.returncode, (theirs / "knob").read_text().strip()), (0, "3"), restored.stderr)

    @unittest.skipUnless(os.environ.get("DVFS_PLAN_APART"), "the folder of root's own records has to be of nobody else (tests/system/apart)")
    def test_what_root_left_under_a_state_folder_that_he_named_is_put_back_by_whoever_comes_next(self):
        """Without the option, and with another folder; `restore` of a folder that is named looks there alone."""
        (self.folder / "exp/work.py").write_text("import time\ntime.sleep(60)\n")
        named = self.folder / "named"
        for later in (["restore"], ["restore", "--state-folder", str(self.folder / "third")], ["night.yaml", "--no-html", "--fresh", "--state-folder", str(self.folder / "third")]):
            with self.subTest(later=later):
                run = subprocess.Popen([PROGRAM, "night.yaml", "--no-html", "--fresh", "--state-folder", "../named/"], cwd=self.folder / "exp", env=self.environment(),
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                self.kill_once_it_has_set(run, self.folder / "exp/knob", named)
                if later[0] == "night.yaml":
                    (self.folder / "exp/work.py").write_text(WORK)
                came = subprocess.run([PROGRAM, *later], cwd=self.folder / "exp", env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
                self.assertEqual(came.returncode, 0, came.stderr)
                looks_there_alone = later[:2] == ["restore", "--state-folder"]
                self.assertEqual((named / "journal").exists(), looks_there_alone)
                if looks_there_alone:
                    self.assertEqual(came.stdout, f"there is nothing to restore: no sweep left a journal in {self.folder}/third\n")
                    continue
                self.assertEqual(self.knob("exp"), "3")
                self.assertIn(f"note: they were on record in {named}, not in this session's own state folder\n", came.stdout + came.stderr)

    def test_a_copy_in_a_logins_memory_is_not_believed_when_another_session_has_put_back(self):
        """A run and its guardian killed in a login session; put back by cron, which has no $XDG_RUNTIME_DIR: what the owner sets then is his, wherever `restore` is called."""
        login = {"XDG_RUNTIME_DIR": str(self.folder / "home/run")}
        state = self.folder / f"home/.local/state/dvfs-plan/{of_host('one')}"
        theirs, home = self.cut_off(("one", login), state)

        def restore(environment):
            return subprocess.run(self.as_user("one", str(PROGRAM), "restore"), cwd="/", env=home | environment, capture_output=True, text=True)

        def copies():
            return [path.name for path in (self.folder / "home/run").rglob("*") if path.name in ("journal", "session", "applied")]

        self.assertIn("journal", copies())
        by_cron = restore({})
        self.assertEqual((by_cron.returncode, by_cron.stdout.splitlines()[0]), (0, "1 settings put back, 0 were as before"), by_cron.stderr)
        self.assertEqual(copies(), [])
        (theirs / "knob").write_text("2\n")
        by_login = restore(login)
        self.assertEqual((by_login.returncode, by_login.stdout.splitlines()[0], (theirs / "knob").read_text()), (0, "there is nothing of yours to restore", "2\n"), by_login.stderr)

    def test_a_copy_that_an_earlier_login_kept_is_found(self):
        """The folder itself tells where copies were made: also without the $XDG_RUNTIME_DIR of then."""
        login = {"XDG_RUNTIME_DIR": str(self.folder / "home/run")}
        state = self.folder / f"home/.local/state/dvfs-plan/{of_host('one')}"
        theirs, home = self.cut_off(("one", login), state)
        (state / "journal").unlink()
        restored = subprocess.run(self.as_user("one", str(PROGRAM), "restore"), cwd="/", env=home, capture_output=True, text=True)
        self.assertEqual((restored.returncode, (theirs / "knob").read_text().strip()), (0, "3"), restored.stdout + restored.stderr)

    def test_what_was_left_under_another_state_folder_is_put_back(self):
        """Set for the night alone: what the login has in memory tells of it."""
        login = {"XDG_RUNTIME_DIR": str(self.folder / "home/run")}
        self.is_put_back(("one", login | {"XDG_STATE_HOME": str(self.folder / "home/state")}), self.folder / f"home/state/dvfs-plan/{of_host('one')}", ("one", login))


if __name__ == "__main__":
    testbed.main()
