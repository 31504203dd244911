#!/usr/bin/python3
"""Run and guardian are killed together: nothing of the workload is left to disturb the next run, not even a daemon that emptied its environment and
left its session; the setting comes back at the next start."""
import os
import pathlib
import random
import subprocess
import time

import attack

# As daemons do: a session of its own, no environment, no descriptor, adopted by others.
DAEMON = "env -i setsid sh -c 'exec </dev/null >/dev/null 2>&1; sleep 7777 & sleep 7778' & "


def sleepers():
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if (folder / "cmdline").read_bytes() in (b"sleep\x007777\0", b"sleep\x007778\0") and attack.is_alive(int(folder.name)):
                found.append(int(folder.name))
        except OSError:
            pass
    return found


def guardians():
    """Those of this test: another one that runs beside it has a mount namespace of its own (tests/system/apart)."""
    here, found = os.readlink("/proc/self/ns/mnt"), []
    for comm in pathlib.Path("/proc").glob("[0-9]*/comm"):
        try:
            if comm.read_text() == "dvfs-guardian\n" and os.readlink(comm.parent / "ns/mnt") == here:
                found.append(int(comm.parent.name))
        except OSError:
            pass
    return found


class LeftRunning(attack.AttackCase):
    account = attack.Account("run and guardian killed together, with daemons that took their marks away")

    def setUp(self):
        super().setUp()
        self.addCleanup(lambda: [attack.kill(pid) for pid in sleepers()])

    def killed(self, victims, workload=DAEMON + "sleep 60", experiment=None, **more):
        """Kills them at once; the pids of the daemons that ran."""
        run = self.start(experiment or attack.night(workload), "--fresh", **more)
        self.wait_for(lambda: len(sleepers()) == 2 or run.poll() is not None, what="the workload's daemon")
        self.assertIsNone(run.poll())
        pids = {"run": run.pid, "guardian": self.guardian_of(run)}
        for victim in victims:
            attack.kill(pids[victim])
        run.wait(timeout=30)
        self.account.tried += 1
        return time.monotonic()

    def test_the_next_start_ends_what_is_left(self):
        """With a control group where one can be made, and without (an ordinary user's run)."""
        users = [None, 65534]
        for user in users:
            with self.subTest(user=user):
                state = {}
                if user is not None:
                    self.folder = self.folder / str(user)
                    self.folder.mkdir()
                    os.chmod(self.folder.parent, 0o755)
                    os.chown(self.folder, user, user)
                    state = {"user": user, "group": user, "extra_groups": [], "environment": {"HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder), "XDG_RUNTIME_DIR": ""}}
                    experiment = f"name: night\nobjective: time\n{attack.QUIET}workloads: [{{name: w, shell: \"{DAEMON} sleep 60\"}}]\n"
                else:
                    experiment = None
                killed = self.killed(["guardian", "run"], experiment=experiment, **state)
                time.sleep(0.1)
                self.assertEqual(len(sleepers()), 2, "who should have ended them is dead")
                again = self.start("name: again\nobjective: time\n" + attack.QUIET + "workloads: [{name: w, command: ['true']}]\n", "-o", "again.sqlite", "--fresh", **state)
                self.assertEqual(again.wait(timeout=60), 0)
                self.assertEqual(sleepers(), [])
                self.assertFalse(self.is_set())
                if user is None:
                    self.account.put_back.append(1000 * (time.monotonic() - killed))
                self.account.survived += 1

    def test_killed_in_the_first_moments_on_a_slow_disk(self):
        """No workload is started before the disk has what finds it: an ordinary user's run has nothing on it before."""
        library = os.environ.get("DVFS_PLAN_KILL_AT_CALL", attack.PROGRAM.parent.parent / "tests/libkill_at_call.so")
        os.chown(self.folder, 65534, 65534)
        state = {"user": 65534, "group": 65534, "extra_groups": [], "environment": {"HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder), "XDG_RUNTIME_DIR": ""}}
        slow = dict(state, environment=dict(state["environment"], LD_PRELOAD=str(library), SLOW_RECORD_MS="1000"))
        self.killed(["guardian", "run"], experiment=f"name: night\nobjective: time\n{attack.QUIET}workloads: [{{name: w, shell: \"{DAEMON} sleep 60\"}}]\n", **slow)
        again = self.start("name: again\nobjective: time\n" + attack.QUIET + "workloads: [{name: w, command: ['true']}]\n", "-o", "again.sqlite", "--fresh", **state)
        self.assertEqual(again.wait(timeout=60), 0)
        self.assertEqual(sleepers(), [])
        self.account.survived += 1

    def test_the_guardian_alone_ends_them(self):
        """One kill, of an ordinary user's run, who may make no control group."""
        os.chown(self.folder, 65534, 65534)
        self.killed(["run"], experiment=f"name: night\nobjective: time\n{attack.QUIET}workloads: [{{name: w, shell: \"{DAEMON} sleep 60\"}}]\n",
                    user=65534, group=65534, extra_groups=[], environment={"HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder)})
        self.wait_for(lambda: not sleepers(), 20, "the end of the workload's daemons")
        self.account.survived += 1

    def test_killed_before_the_first_trial_it_leaves_no_control_group(self):
        meter = "probes: [{name: wall, command: [sleep, '7779'], channels: {power: {unit: W}}}]\n"
        run = self.start(attack.night("true", more=meter), "--fresh")  # it waits 10 s for the meter's first value
        session = pathlib.Path("/var/lib/dvfs-plan/session")

        def group():
            name = next((line.split("\t")[1] for line in session.read_text().splitlines() if line.startswith("run\t")), "") if session.exists() else ""
            return next(pathlib.Path("/sys/fs/cgroup").rglob(f"dvfs-plan.{name}"), None) if name else None

        try:
            self.wait_for(lambda: group() is not None, 8, "its control group")
        except AssertionError:
            self.skipTest("no control group can be made here")
        made = group()
        self.account.tried += 1
        attack.kill(run.pid)
        run.wait(timeout=30)
        self.wait_for(lambda: not made.exists(), 10, "the end of its control group")
        self.account.survived += 1

    def test_killed_while_it_starts_a_program(self):
        """Between vfork and execve a child has no mark yet: who looks for what is left does not see it, and it must not go on."""
        library = os.environ.get("DVFS_PLAN_KILL_AT_CALL", attack.PROGRAM.parent.parent / "tests/libkill_at_call.so")
        service = "services: [{name: server, command: [sleep, '7777'], ready: {command: ['true']}}]\n"
        ended = set()
        for n in range(1, 9):
            with self.subTest(n=n):
                run = self.start(attack.night("sleep 7778 & sleep 0.05; kill $!", 4000, service), "--fresh", environment={"LD_PRELOAD": str(library), "KILL_AT_START": str(n)})
                ended.add(run.wait(timeout=60))
                self.account.tried += 1
                for guardian in guardians():  # one that lives waits for the child, which holds the run's connection until it is another program
                    attack.kill(guardian)
                again = subprocess.run([attack.GUARDIAN, "--restore"], capture_output=True, text=True, timeout=60)
                self.assertEqual(again.returncode, 0, again.stderr)
                time.sleep(1)  # the child goes on after half of it
                self.assertEqual(sleepers(), [])
                self.account.put_back.append(self.ms_until_put_back(time.monotonic()))
                self.account.survived += 1
        self.assertEqual(ended, {-9})

    def test_a_meters_daemons_end_with_the_run(self):
        """Its child, and one that it let go; where a control group can be made, and of an ordinary user, who may make none."""
        meter = f"(env -i setsid sleep 7777 &); {DAEMON.replace('sleep 7777 & ', '')} while :; do echo power 5 W; sleep 0.05; done"
        probes = f"probes: [{{name: wall, command: [sh, -c, \"{meter}\"], channels: {{power: {{unit: W}}}}}}]\n"
        (self.folder / "theirs").mkdir()
        for user in (None, 65534):
            with self.subTest(user=user):
                state = {}
                if user is not None:
                    self.folder = self.folder / "theirs"
                    os.chmod(self.folder.parent, 0o755)
                    os.chown(self.folder, user, user)
                    state = {"user": user, "group": user, "extra_groups": [], "environment": {"HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder), "XDG_RUNTIME_DIR": ""}}
                run = self.start(f"name: night\nobjective: time\n{attack.QUIET}repeat: 2\nworkloads: [{{name: w, command: [sleep, '0.3']}}]\n{probes}", "--fresh", **state)
                self.wait_for(lambda: len(sleepers()) == 2 or run.poll() is not None, what="the meter's daemons")
                self.account.tried += 1
                self.assertEqual(run.wait(timeout=60), 0)
                self.assertEqual(sleepers(), [])
                self.account.survived += 1

    def test_restore_ends_them_too(self):
        killed = self.killed(["guardian", "run"])
        said = subprocess.run([attack.PROGRAM, "restore"], capture_output=True, text=True)
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        self.assertRegex(said.stdout, r"^[12] settings put back, 0 were as before\n$")
        self.assertEqual(sleepers(), [])
        self.account.put_back.append(self.ms_until_put_back(killed))
        self.account.survived += 1

    def test_at_random_moments(self):
        chance = random.Random(17)
        for i in range(200 if attack.LONG else 12):
            run = self.start(attack.night(DAEMON + "sleep 0.1", 4000), "--fresh")
            time.sleep(0.2 + 0.6 * chance.random())
            guardian, began = self.guardian_of(run), self.finished()
            for pid in chance.sample([guardian, run.pid], 2):
                if pid:
                    attack.kill(pid)
            run.wait(timeout=30)
            self.account.tried += 1
            killed = time.monotonic()
            again = subprocess.run([attack.GUARDIAN, "--restore"], capture_output=True, text=True, timeout=60)
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertEqual(sleepers(), [], i)
            self.account.put_back.append(self.ms_until_put_back(killed))
            self.account.lost += len(began - self.finished())
            self.account.survived += 1
        self.assertEqual(self.account.lost, 0)


if __name__ == "__main__":
    attack.main()
