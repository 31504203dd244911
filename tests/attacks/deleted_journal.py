#!/usr/bin/python3
"""Somebody tidies up root's state folder in the middle of a night, and the run or the guardian is killed then: the setting comes back, or it is said
that it is not known."""
import pathlib
import shutil
import subprocess
import time

import attack

STATE, COPIES = pathlib.Path("/var/lib/dvfs-plan"), pathlib.Path("/run/dvfs-plan/copies")


class DeletedJournal(attack.AttackCase):
    account = attack.Account("the journal deleted, damaged or both copies gone, then a kill")

    def set_up(self):
        run = self.start(attack.night("sleep 60"))
        self.wait_until_set(run)
        self.wait_for(lambda: (STATE / "session").exists())
        return run, self.guardian_of(run)

    def restore(self, *arguments):
        return subprocess.run([attack.PROGRAM, "restore", *arguments], capture_output=True, text=True, timeout=60)

    def delete(self, folder):
        for file in folder.rglob("*"):
            if file.is_file():
                file.unlink()

    def test_the_run_is_killed(self):
        """The guardian holds its own copy in memory."""
        for folders in ([STATE], [STATE, COPIES]):
            run, _ = self.set_up()
            for folder in folders:
                self.delete(folder)
            run.kill()
            self.account.tried += 1
            self.wait_for(lambda: not self.is_set(), 20, "the setting's former value")
            run.wait()
            self.account.survived += 1

    def test_both_are_killed(self):
        """The second copy is on disk; it serves a journal that is cut short as well."""
        for damage in ("deleted", "cut short", "the folder deleted"):
            with self.subTest(damage):
                run, guardian = self.set_up()
                if damage == "deleted":
                    self.delete(STATE)
                elif damage == "cut short":
                    journal = STATE / "journal"
                    journal.write_bytes(journal.read_bytes()[:-9])
                else:
                    for file in STATE.iterdir():
                        shutil.rmtree(file) if file.is_dir() else file.unlink()
                attack.kill(guardian)
                run.kill()
                run.wait()
                self.account.tried += 1
                self.assertTrue(self.is_set())
                said = self.restore()
                self.assertEqual((said.returncode, said.stdout, said.stderr), (0, "1 settings put back, 0 were as before\n", ""))
                self.assertFalse(self.is_set())
                self.assertEqual(self.restore().stdout, "there is nothing to restore: no sweep left a journal here or in a home that the user database names\n")
                self.account.survived += 1

    def test_no_copy_is_left(self):
        """What is not known is not said to be well."""
        run, guardian = self.set_up()
        (STATE / "journal").unlink()
        next(COPIES.rglob("journal")).unlink()
        attack.kill(guardian)
        run.kill()
        run.wait()
        self.account.tried += 1
        said = self.restore()
        self.assertEqual(said.returncode, 4)
        self.assertRegex(said.stderr, r"^error: night\.yaml changed up to 1 settings since 20\d\d-\S+Z and was cut off, and its journal /var/lib/dvfs-plan/journal is gone, and its copy too: "
                         r"what they were before is not known\n  hint: put them back by hand, or restart the machine; then: dvfs-plan restore --discard\n$")
        again = self.start(None)  # nor does another run begin as if nothing were
        self.assertEqual(again.wait(timeout=60), 4)
        attack.MTU.write_text(self.before)
        self.assertEqual(self.restore("--discard").returncode, 0)
        self.assertEqual(self.restore().stdout, "there is nothing to restore: no sweep left a journal here or in a home that the user database names\n")
        self.account.survived += 1

    def test_the_guardian_alone_is_killed(self):
        """The run goes on: what the settings were is in its memory alone, and its next guardian has it from there."""
        run = self.start(attack.night("sleep 0.4", 3), "--fresh")
        self.wait_until_set(run)
        self.wait_for(lambda: self.finished(), what="a finished trial")
        self.wait_for(self.is_set)
        self.delete(STATE)
        self.delete(COPIES)
        attack.kill(self.guardian_of(run))
        self.account.tried += 1
        self.assertIn(run.wait(timeout=60), (0, 1))  # 1: a trial was disturbed
        self.assertFalse(self.is_set(), "the guardian took what the sweep had set for what was before")
        self.assertGreaterEqual(len(self.finished()), 6)  # one may have been run again
        self.account.survived += 1

    def test_in_the_last_trial_the_guardian_is_killed_and_nothing_is_left_of_its_journal(self):
        """No trial follows, before which another guardian would be started."""
        for trials in (1, 2):
            with self.subTest(trials):
                kill = (f"echo >>count; [ $(wc -l <count) = {trials} ] || exit 0; rm -rf {STATE}/* {COPIES}/*; "
                        "for p in $(cat /proc/$PPID/task/$PPID/children); do grep -qx dvfs-guardian /proc/$p/comm && kill -9 $p; done; sleep 0.3")
                (self.folder / "count").unlink(missing_ok=True)
                night = attack.night(kill, 1, axis="[1400, 1300]" if trials == 2 else "[1400]").replace("foreign load: off", "foreign load: off, reruns: 0")
                run = self.start(night, "--fresh", stderr=subprocess.PIPE, text=True)
                said = run.stderr.read()
                self.assertEqual(run.wait(timeout=60), 1, said)
                self.account.tried += 1
                self.assertIn("the guardian's session ended during the trial", said)
                self.assertFalse(self.is_set(), said)
                self.assertEqual(self.restore().stdout, "there is nothing to restore: no sweep left a journal here or in a home that the user database names\n")
                self.account.survived += 1

    def test_what_is_deleted_is_written_again(self):
        """While run and guardian live: at the next setting, so that whoever comes after both were killed finds it."""
        run = self.start(attack.night("sleep 0.4", 50), "--fresh")
        self.wait_until_set(run)
        self.delete(STATE)
        self.delete(COPIES)
        self.wait_for(lambda: (STATE / "journal").exists(), 20, "the journal")
        self.wait_for(self.is_set)
        attack.kill(self.guardian_of(run))
        run.kill()
        run.wait()
        self.account.tried += 1
        self.assertEqual(self.restore().returncode, 0)
        self.assertFalse(self.is_set())
        self.account.survived += 1

    def test_the_journals_alone_are_lost_and_the_guardian_is_killed(self):
        """Deleted, or cut short, the record of the session beside them whole: the run goes on."""
        for damage in ("deleted", "cut short"):
            with self.subTest(damage):
                run = self.start(attack.night("sleep 0.4", 3), "--fresh")
                self.wait_until_set(run)
                self.wait_for(lambda: self.finished(), what="a finished trial")
                self.wait_for(self.is_set)
                for journal in (STATE / "journal", next(COPIES.rglob("journal"))):
                    journal.unlink() if damage == "deleted" else journal.write_text("")
                attack.kill(self.guardian_of(run))
                self.account.tried += 1
                self.assertIn(run.wait(timeout=60), (0, 1))
                self.assertFalse(self.is_set())
                self.assertEqual(self.restore().returncode, 0)
                self.account.survived += 1

    def test_the_guardian_cannot_come_back(self):
        """Its program went with an upgrade: the run ends with what the setting was, and does not say that nothing was set."""
        programs = self.folder / "programs"
        programs.mkdir()
        for program in ("dvfs-plan", "dvfs-guardian"):
            shutil.copy(attack.testbed.BIN / program, programs)
        (self.folder / "night.yaml").write_text(attack.night("sleep 0.4", 50))
        run = subprocess.Popen([programs / "dvfs-plan", "night.yaml", "--no-html"], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, run)
        self.wait_until_set(run)
        (programs / "dvfs-guardian").rename(programs / "away")
        attack.kill(self.guardian_of(run))
        self.account.tried += 1
        said = run.communicate(timeout=60)[1]
        self.assertEqual(run.returncode, 4, said)
        self.assertIn(f"whether the settings were put back is not known; before the sweep\n  {attack.MTU.resolve()} was '{self.before.strip()}'", said)
        self.assertNotIn("nothing was set", said.splitlines()[-1])
        self.assertEqual(self.restore().returncode, 0)
        self.assertFalse(self.is_set())
        self.account.survived += 1

    def test_all_is_cut_short_and_the_guardian_is_killed(self):
        """The run said nothing for a minute, deaf to signals."""
        run = self.start(attack.night("sleep 0.4", 50), "--fresh", stderr=subprocess.PIPE, text=True)
        self.wait_until_set(run)
        for journal in (STATE / "journal", next(COPIES.rglob("journal"))):
            journal.write_text("")
        for record in (STATE / "session", next(COPIES.rglob("session"))):
            record.unlink()
        attack.kill(self.guardian_of(run))
        self.account.tried += 1
        began = time.monotonic()
        said = run.communicate(timeout=60)[1]
        self.assertEqual(run.returncode, 4, said)
        self.assertLess(time.monotonic() - began, 15)
        self.assertIn("/var/lib/dvfs-plan/journal cannot be understood", said)
        self.assertIn(f"was '{self.before.strip()}'", said)
        attack.MTU.write_text(self.before)
        self.assertEqual(self.restore("--discard").returncode, 0)
        self.account.survived += 1


if __name__ == "__main__":
    attack.main()
