#!/usr/bin/python3
"""Two nights into one result, as of two machines that share a folder: the second is refused before anything is touched, by the name of who writes; and a
lock that the dead leave keeps nobody out."""
import signal
import subprocess

import attack

NIGHT = f"name: night\nobjective: time\n{attack.QUIET}repeat: 20\nworkloads: [{{name: w, command: [sleep, '0.05']}}]\naxes: {{a: [1, 2]}}\n"
NIGHT = NIGHT.replace("command: [sleep, '0.05']", "shell: 'true {a}; sleep 0.05'")


class TwoWriters(attack.AttackCase):
    account = attack.Account("two nights into one result")

    def run_on(self, machine):
        """On a machine of its own, as far as a recorded one tells: with its own tree and state, so that the machine's lock is not shared."""
        tree = self.folder / machine
        (tree / "sys").mkdir(parents=True, exist_ok=True)
        return self.start(NIGHT, "--sysfs-root", str(tree), "--state-folder", str(self.folder / f"state-{machine}"), stderr=subprocess.PIPE, text=True)

    def test_the_second_is_refused(self):
        for delay in (0, 0.05, 0.3, 1.0):
            for old in self.folder.glob("night.sqlite*"):
                old.unlink()
            self.account.tried += 1
            runs = [self.run_on("one")]
            if delay:
                self.wait_for(lambda: (self.folder / "night.sqlite.lock").exists(), 10)
                self.wait_for(lambda: delay < 0.3 or len(self.finished()) >= 20 * delay - 5, 20)
            runs.append(self.run_on("two"))
            ended = [(run, run.communicate(timeout=60)[1]) for run in runs]
            codes = sorted(run.returncode for run, _ in ended)
            self.assertEqual(codes, [0, 3], ended)
            (winner, _), (loser, said) = sorted(ended, key=lambda one: one[0].returncode)
            self.assertRegex(said, rf"error: \S*night.sqlite: another dvfs-plan is writing it \(pid {winner.pid} on \S+\)\n  hint: wait until it has ended, or choose another place with --output\n")
            self.assertEqual(len(self.finished()), 40)
            self.assertEqual([file.name for file in self.folder.glob("night.sqlite*")], ["night.sqlite"])
            self.account.survived += 1

    def test_the_dead_keep_nobody_out(self):
        self.account.tried += 1
        run = self.run_on("one")
        self.wait_for(lambda: len(self.finished()) > 3, 30)
        run.send_signal(signal.SIGKILL)
        run.communicate(timeout=30)
        self.assertTrue((self.folder / "night.sqlite.lock").exists())
        before = self.finished()
        run = self.run_on("two")
        said = run.communicate(timeout=60)[1]
        self.assertEqual(run.returncode, 0, said)
        self.assertLessEqual(before, self.finished())
        self.assertEqual(len(self.finished()), 40)
        self.account.survived += 1


if __name__ == "__main__":
    attack.main()
