"""What a hostile user in the group, or outside it, can make of the guardian: nothing. A real guardian, real users, attribute files of a network of
its own; refusals with their whole text."""
import contextlib
import os
import pathlib
import pty
import random
import select
import signal
import socket
import struct
import subprocess
import time
import unittest

import testbed
from guardian_client import SOCKET, Client, frame

GUARDIAN = testbed.BIN / "dvfs-guardian"
PROGRAM = testbed.BIN / "dvfs-plan"
STATE = pathlib.Path("/var/lib/dvfs-plan")
MTU = "/sys/class/net/lo/mtu"
QUEUE = "/sys/class/net/lo/tx_queue_len"
GID = 61997
ALICE, BOB, MALLORY = (61001, 61001, [GID]), (61002, 61002, [GID]), (61003, 61003, [])
POLICY = f"allow dvfs-plan * sensors {MTU} {QUEUE}\n"


def read(path):
    return pathlib.Path(path).read_text().strip()


@unittest.skipIf(os.geteuid() != 0 or not os.environ.get("DVFS_PLAN_APART"), "needs root and folders of its own (tests/system/apart)")
class Attacks(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        """Users and a policy of this test's own, in its own view of /etc."""
        cls.scratch = pathlib.Path("/run/dvfs-plan/etc")
        cls.scratch.mkdir()
        passwd = pathlib.Path("/etc/passwd").read_text() + "".join(f"{name}:x:{uid}:{uid}::/tmp:/bin/sh\n" for name, uid in (("alice", 61001), ("bob", 61002), ("mallory", 61003)))
        (cls.scratch / "passwd").write_text(passwd)
        (cls.scratch / "group").write_text(pathlib.Path("/etc/group").read_text() + f"dvfs-plan:x:{GID}:alice,bob\n")
        for name in ("passwd", "group"):
            subprocess.run(["mount", "--bind", cls.scratch / name, f"/etc/{name}"], check=True)
        os.makedirs("/etc/dvfs-plan", exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "none", "/etc/dvfs-plan"], check=True)

    def setUp(self):
        policy = pathlib.Path("/etc/dvfs-plan/policy")
        policy.unlink(missing_ok=True)
        policy.write_text(POLICY)
        self.log = open("/run/dvfs-plan/log", "w+")
        self.before = {path: read(path) for path in (MTU, QUEUE)}
        stalled = "3" if "answer" in self._testMethodName else "60"
        self.guardian = subprocess.Popen([GUARDIAN, "--listen", SOCKET, "--stalled-after", stalled], stdin=subprocess.DEVNULL, stderr=self.log,
                                         env=dict(os.environ, MALLOC_PERTURB_="165", MALLOC_CHECK_="3"))
        self.wait_for(lambda: os.path.exists(SOCKET) and os.stat(SOCKET).st_mode & 0o060)  # it is given to the group after it is made

    def tearDown(self):
        self.assertIsNone(self.guardian.poll(), "the guardian has gone")
        self.guardian.send_signal(signal.SIGTERM)
        self.assertEqual(self.guardian.wait(timeout=30), 0)
        os.unlink(SOCKET)
        for path, text in self.before.items():
            self.assertEqual(read(path), text, path)
        self.assertFalse((STATE / "journal").exists())
        self.log.seek(0)
        self.assertNotIn("terminate called", self.log.read())
        self.log.close()

    def wait_for(self, condition, seconds=20):
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def session(self, user=ALICE, **more):
        client = Client(user)
        self.addCleanup(client.close)
        said = client.hello(**more)
        self.assertEqual(said[0], "welcome", said)
        return client

    def armed(self, *paths):
        client = self.session()
        self.assertEqual(client.ask("arm", *[text for path in paths or (MTU,) for text in ("sysfs.x", path, "")])[:1], ["armed"])
        return client

    def restored(self):
        self.wait_for(lambda: all(read(path) == text for path, text in self.before.items()))

    def test_it_sets_what_it_may_and_puts_it_back_when_the_connection_ends(self):
        client = self.armed(MTU, QUEUE)
        self.assertEqual(client.ask("set", MTU, "1400", QUEUE, "77"), ["set", "", "0", "0", "0", "", "", "0", "0", "0", ""])
        self.assertEqual((read(MTU), read(QUEUE)), ("1400", "77"))
        self.assertTrue((STATE / "journal").exists())
        client.close()
        self.restored()

    def test_a_session_that_is_told_to_end_says_so(self):
        client = self.armed(MTU)
        client.ask("set", MTU, "1400")
        session, = pathlib.Path(f"/proc/{self.guardian.pid}/task/{self.guardian.pid}/children").read_text().split()
        os.kill(int(session), signal.SIGTERM)
        self.restored()
        self.wait_for(lambda: "put back" in pathlib.Path(self.log.name).read_text())
        self.assertIn("\ndvfs-guardian: the guardian was told to end (SIGTERM); 1 settings put back, 0 were as before\n", pathlib.Path(self.log.name).read_text())
        client.close()

    def test_who_is_not_in_the_group_is_told_so(self):
        with self.assertRaises(PermissionError):
            Client(MALLORY)
        os.chmod(SOCKET, 0o666)  # and where the socket does not keep him out, the policy does
        self.assertEqual(Client(MALLORY).hello(), ["refused", "3", "the policy does not let mallory set anything: no 'allow' line of /etc/dvfs-plan/policy says so",
                                                   "who administers this machine may name you there (man dvfs-guardian)"])
        os.unlink("/etc/dvfs-plan/policy")
        self.assertEqual(Client(MALLORY).hello()[2:], ["the built-in policy does not let mallory set anything: there is no /etc/dvfs-plan/policy, so members of the group dvfs-plan "
                                                       "may set what dvfs-plan knows, and no other file", "an administrator may add you: sudo adduser mallory dvfs-plan, and you log in again"])
        self.assertEqual(Client(MALLORY).hello(mode="look")[0], "welcome")  # asking is free
        client = self.session()
        self.assertEqual(client.ask("arm", "sysfs.x", MTU, "")[1:], ["3", "axis 'sysfs.x': the built-in policy does not let alice set /sys/class/net/lo/mtu: there is no /etc/dvfs-plan/policy, so members of "
                                                                 "the group dvfs-plan may set what dvfs-plan knows, and no other file", "nothing was set"])

    def test_a_policy_that_is_broken_or_not_roots_lets_nobody(self):
        policy = pathlib.Path("/etc/dvfs-plan/policy")
        policy.write_text("allow dvfs-plan *\nalow bob *\n")
        self.assertEqual(Client(ALICE).hello(), ["refused", "3", "/etc/dvfs-plan/policy:2: 'alow bob *' is no rule; there are: allow, limit, boards, session at most, session stalled, nvidia-smi",
                                                 "until it is mended nobody may set anything; what it may say: man dvfs-guardian"])
        policy.write_text(POLICY)
        policy.chmod(0o666)
        self.assertEqual(Client(ALICE).hello(), ["refused", "3", "/etc/dvfs-plan/policy: wanted to be root's and written by nobody else, found uid 0 and mode 0666",
                                                 "sudo chown root: /etc/dvfs-plan/policy && sudo chmod 644 /etc/dvfs-plan/policy"])
        policy.unlink()
        policy.symlink_to("/run/dvfs-plan/etc/passwd")
        self.assertEqual(Client(ALICE).hello()[2], "open /etc/dvfs-plan/policy: Too many levels of symbolic links")

    def test_paths_that_lead_elsewhere(self):
        for path in ("/etc/shadow", "/sys/../etc/shadow", "/sys/class/net/lo/../lo/mtu", "/sys/class/net//lo/mtu", "/sys/class/net/lo/mtu/", "sys/class/net/lo/mtu", "",
                     "/sys/class/net/lo/ifalias", "/proc/sys/kernel/core_pattern", "nvidia:GPU-x/../../etc", "nvidia:-i/lock.core", "amdgpu-od:/etc/shadow#sclk",
                     "/sys/devices/system/cpu/cpufreq/policy0/../../../../../../etc/shadow", "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq;x"):
            client = self.session()
            self.assertEqual(client.ask("arm", "sysfs.x", path, ""), ["refused", "3", f"axis 'sysfs.x': the policy does not let alice set {path}: no 'allow' line of /etc/dvfs-plan/policy says so",
                                                                  "nothing was set"])
            self.assertEqual(client.ask("set", path, "1")[1:3], [f"{path} is none of the settings that were saved", "1"])
            client.close()
        client = self.session()
        self.assertEqual(client.ask("arm", "sysfs.x", "/sys/class\nnet/lo/mtu", ""), ["refused", "3", "axis 'sysfs.x': what sets it, its folder, or the path of its file has a line break, a tab or a NUL in it, or is longer than 4096 "
                          "characters: no journal could keep it; take that out of it", "nothing was set"])
        self.assertEqual(client.ask("open", "/etc/shadow"), ["opened", "/etc/shadow is no sensor that is handed out"])
        self.assertEqual(client.ask("open", "/sys/class/powercap/../../../etc/shadow"), ["opened", "/sys/class/powercap/../../../etc/shadow is no sensor that is handed out"])
        self.assertEqual(client.ask("open", "/dev/ipmi0"), ["opened", "/dev/ipmi0 is no sensor that is handed out"])  # who has it may switch the machine off
        self.assertEqual(client.ask("event", "1", "0", "0"), ["opened", "this is no event of the power PMU"])

    def test_settings_that_were_not_saved_and_texts_that_are_none(self):
        client = self.session()
        self.assertEqual(client.ask("set", MTU, "1400"), ["set", f"{MTU} is none of the settings that were saved", "1", "0", "0", ""])
        self.assertEqual(client.ask("arm", "sysfs.x", MTU, "")[:1], ["armed"])
        self.assertEqual(client.ask("arm", "sysfs.x", QUEUE, ""), ["refused", "3", "the session has its settings already", ""])
        self.assertEqual(client.ask("set", QUEUE, "1")[1], f"{QUEUE} is none of the settings that were saved")
        self.assertEqual(client.ask("set", MTU, "1400\n1500")[1], f"'1400\\x0a1500' is no text for {MTU}")
        self.assertEqual(client.ask("set", MTU, "x" * 5000)[1], "a text of more than 4096 bytes")
        self.assertEqual(client.ask("set", MTU, "many")[1], "Invalid argument")
        self.assertEqual(client.ask("set", MTU)[1:], [])  # half of one
        self.assertEqual(read(MTU), self.before[MTU])

    def test_a_second_connection_in_the_middle(self):
        self.armed()
        second = Client(BOB)
        said = second.hello(experiment="other.yaml")
        self.assertEqual(said[:2], ["refused", "3"])
        self.assertRegex(said[2], rf"^another sweep is running on this machine \(pid {os.getpid()}, night.yaml, since 20\d\d-\S+, by alice\)$")
        who = Client(BOB).ask("who")
        self.assertEqual((who[:4], who[5:]), (["who", "alice", str(os.getpid()), "night.yaml"], [""]))
        looks = self.session(BOB, mode="look")
        self.assertEqual(looks.ask("may", MTU, "1400"), ["may", "", ""])
        self.assertEqual(looks.ask("may", "/etc/shadow", "x"), ["may", "the policy does not let bob set /etc/shadow: no 'allow' line of /etc/dvfs-plan/policy says so", "policy"])
        self.assertIsNone(looks.ask("set", MTU, "1400"))
        self.assertEqual(read(MTU), self.before[MTU])

    def behind_the_queue(self, client):
        """Where it stands it is told again while the one before ends."""
        while (said := client.receive())[0] == "queued":
            pass
        return said

    def test_a_queue_goes_in_order(self):
        first = self.session()
        waiting = [Client(BOB), Client(ALICE), Client(BOB)]
        for place, client in enumerate(waiting, 1):
            said = client.hello(mode="wait")
            self.assertEqual(said[:2], ["queued", str(place)])
            self.assertIn("night.yaml", said[2])
        # Whoever does not queue is not let in before them.
        first.close()
        self.assertEqual(self.behind_the_queue(waiting[0])[0], "welcome")
        self.assertEqual(Client(ALICE).hello()[0], "refused")
        waiting[1].close()  # leaves the queue
        waiting[0].close()
        self.assertEqual(self.behind_the_queue(waiting[2])[0], "welcome")
        waiting[2].close()

    def test_messages_that_are_none(self):
        chance = random.Random(1905)
        good = frame("hello", "3", "x", "1-2", "now", "")
        broken = [b"", b"\0", good[:7], good[:-1], struct.pack("<I", 0), struct.pack("<I", 0xffffffff), struct.pack("<I", 3) + b"abc", struct.pack("<II", 4, 1),
                  struct.pack("<II", 8, 0xffffffff) + b"abcd", frame(""), frame("set"), frame("restore"), frame("hello"), frame("hello", "3", "x", "1-2", "now"),
                  frame("hello", "3", "x", "../../x", "now"), frame(b"\xff" * 100), frame("hello", *["x"] * 50000), struct.pack("<I", 2 << 20) + b"\0" * (2 << 20)]
        for _ in range(150):
            noisy = bytearray(good)
            for _ in range(chance.randrange(1, 6)):
                noisy[chance.randrange(len(noisy))] = chance.randrange(256)
            broken.append(bytes(noisy))
        for start in range(0, len(broken), 4):
            for bytes_sent in broken[start:start + 4]:
                client = Client()
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    client.socket.sendall(bytes_sent)
                client.close()
        # So many at once are a flood, of which for a while some are let go without a word.
        def is_let_in():
            with contextlib.suppress(OSError):
                client = Client(ALICE)
                said = client.hello(mode="look")
                client.close()
                return said is not None
            return False

        self.wait_for(is_let_in, 60)
        # In the middle of a session they end it, and everything is put back.
        for bytes_sent in (struct.pack("<I", 0xffffffff), struct.pack("<II", 8, 0xffffffff) + b"abcd", frame("dance")):
            client = self.armed()
            client.ask("set", MTU, "1400")
            client.socket.sendall(bytes_sent)
            self.assertIsNone(client.receive())
            self.restored()
        self.assertEqual(Client().ask("hello", "1", "x", "1-2", "now"), ["refused", "3", "the guardian speaks version 5 of its protocol, this dvfs-plan version 1", "install both of the same version"])

    def test_a_client_that_never_reads(self):
        client = self.armed()
        client.ask("set", MTU, "1400")
        client.socket.settimeout(0.5)
        request = frame("may", *[MTU, "1"] * 2000)
        with self.assertRaises((TimeoutError, BrokenPipeError, ConnectionResetError)):
            for _ in range(100000):
                client.socket.sendall(request)
        self.restored()

    def test_a_client_that_does_not_answer_is_let_go(self):
        client = self.armed()
        client.ask("set", MTU, "1400")
        self.assertEqual(client.receive(), ["ping"])
        client.send("pong")  # it is there: nothing happens
        for _ in range(3):
            self.assertEqual(client.receive(), ["ping"])
            client.send("pong")
        self.assertEqual(read(MTU), "1400")
        self.restored()  # it says nothing any more
        self.session(BOB)

    @testbed.on_a_busy_host
    def test_ten_thousand_connections(self):
        client = self.armed()
        client.ask("set", MTU, "1400")
        refused = 0
        held = []
        for i in range(10000):
            other = Client(BOB if i % 2 else None)
            if i < 40:
                held.append(other)
            else:
                other.close()
            if i % 1000 == 999:  # who holds the machine is served all the while
                self.assertEqual(client.ask("set", MTU, str(1400 + i // 1000))[1], "")
        for other in held:
            other.socket.settimeout(1)
            with contextlib.suppress(TimeoutError):
                said = other.receive()
                refused += said is not None and said == ["refused", "3", "the guardian serves too many connections now", "try again in a minute"]
            other.close()
        self.assertGreater(refused, 20)
        self.assertLess(len(list(pathlib.Path(f"/proc/{self.guardian.pid}/fd").iterdir())), 20)
        client.close()
        self.restored()

    def test_descriptors_that_nobody_asked_for(self):
        client = self.session()
        child = self.children()[0]
        count = len(os.listdir(f"/proc/{child}/fd"))
        files = [os.open("/etc/passwd", os.O_RDONLY) for _ in range(50)]
        for _ in range(20):
            client.pass_descriptors(files, "may", MTU, "1400")
            self.assertEqual(client.receive(), ["may", "", ""])
        for fd in files:
            os.close(fd)
        self.assertEqual(len(os.listdir(f"/proc/{child}/fd")), count)
        client.close()

    def children(self):
        return [int(one) for one in pathlib.Path(f"/proc/{self.guardian.pid}/task/{self.guardian.pid}/children").read_text().split()]

    def test_more_settings_than_any_machine_has(self):
        client = self.session()
        self.assertEqual(client.ask("arm", *["k", MTU, ""] * 17000), ["refused", "3", "more than 16384 settings, or a part of one", ""])
        self.assertEqual(client.ask("arm", "k"), ["refused", "3", "more than 16384 settings, or a part of one", ""])
        self.assertFalse((STATE / "journal").exists())

    def test_a_full_disk_sets_nothing(self):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k,mode=0700", "none", STATE], check=True)
        try:
            client = self.session()
            with contextlib.suppress(OSError):
                (STATE / "filler").write_bytes(b"x" * 16384)
            said = client.ask("arm", "sysfs.x", MTU, "")
            self.assertEqual(said, ["refused", "3", "write /var/lib/dvfs-plan/journal: No space left on device", "without a journal nothing is set; free some space"])
            self.assertEqual(client.ask("set", MTU, "1400")[1], f"{MTU} is none of the settings that were saved")
            client.close()
            self.wait_for(lambda: not self.children())
        finally:
            subprocess.run(["umount", "--lazy", STATE], check=True)

    def test_the_lock_s_name_taken_first(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as taken:
            os.setresuid(61003, 61003, 0)
            try:
                taken.bind("\0dvfs-plan one sweep a machine")
                taken.listen(64)
            finally:
                os.setresuid(0, 0, 0)
            client = Client(ALICE)
            self.assertIn(f"another sweep is running on this machine (pid {os.getpid()}, an experiment, by mallory)", client.hello())
            client.close()
            self.wait_for(lambda: not self.children())
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as mute:  # no guardian of ours, nor to be asked
            mute.bind("\0dvfs-plan one sweep a machine")
            client = Client(ALICE)
            said = client.hello()
            self.assertEqual((said[0], said[2]), ("welcome", "somebody holds the name by which users without the guardian keep out of each other's way, and does not say who"))
            client.close()
            self.wait_for(lambda: not self.children())

    def test_links_in_its_folder_are_not_followed(self):
        victim = pathlib.Path("/run/dvfs-plan/victim")
        victim.write_text("precious\n")
        (STATE / "journal.new").unlink(missing_ok=True)
        (STATE / "journal.new").symlink_to(victim)
        client = self.armed()
        client.ask("set", MTU, "1400")
        client.close()
        self.restored()
        self.wait_for(lambda: not self.children())  # it goes when it has ended what was left, and its journal before it
        (STATE / "journal").symlink_to(victim)
        self.assertEqual(Client(ALICE).hello()[2], "open /var/lib/dvfs-plan/journal: Too many levels of symbolic links")
        (STATE / "journal").unlink()
        self.assertEqual(victim.read_text(), "precious\n")

    def test_a_session_that_is_killed_is_put_back_by_who_stands_by(self):
        for _ in range(5):
            client = self.armed(MTU, QUEUE)
            client.ask("set", MTU, "1400", QUEUE, "77")
            os.kill(self.children()[0], signal.SIGKILL)
            self.restored()
            self.assertIsNone(client.receive())
            client.close()

    def test_it_runs_no_program_and_opens_nothing_else(self):
        client = self.armed()
        status = pathlib.Path(f"/proc/{self.children()[0]}/status").read_text()
        self.assertIn("Seccomp:\t2\n", status)
        self.assertIn("NoNewPrivs:\t1\n", status)
        client.close()

    def test_what_it_left_behind_cannot_hold_the_guardian_up(self):
        trap = pathlib.Path("/run/dvfs-plan/trap")
        trap.mkdir()
        os.mkfifo(trap / "cgroup.events")
        (trap / "a").symlink_to(".")
        (trap / "b").symlink_to(".")
        os.chmod(trap / "cgroup.events", 0o666)
        client = self.armed()
        client.ask("set", MTU, "1400")
        client.send("traces", str(trap), str(trap))
        client.send("child", str(os.getpid()))  # not his: he may not end it
        client.send("beside", str(os.getpid()))  # nor have it told to end, nor keep the machine by it
        client.close()
        self.restored()
        self.session(BOB).close()
        self.wait_for(lambda: not self.children())

    def test_boards_that_are_not_there_are_not_saved(self):
        client = self.session()
        path = "nvidia:GPU-00000000-0000-4000-8000-00000000dead/lock.core"
        said = client.ask("arm", "gpu.core", path, "")
        self.assertIn(said, (["refused", "3", f"axis 'gpu.core': {path}: there is no nvidia-smi", "nothing was set"],
                             ["refused", "3", f"axis 'gpu.core': {path}: nvidia-smi knows no such board", "nothing was set"]))
        self.assertEqual(client.ask("arm", "k", MTU, "", "k", MTU, ""), ["refused", "3", f"{MTU} is named twice", "nothing was set"])
        self.assertEqual(client.ask("arm", "k", "/sys/devices/system/cpu/cpufreq/policy77/boost", "")[2], "axis 'k': /sys/devices/system/cpu/cpufreq/policy77/boost: it is not there")
        client.close()
        self.session(BOB)

    def test_a_meter_of_a_run_outlives_the_run_s_guardian(self):
        """A run goes on with another session; its meters carry its mark, and it would not start them again."""
        meter = "probes: [{name: wall, command: [sh, -c, 'i=0; while :; do i=$((i+1)); echo power $((100 + i % 2)) W; sleep 0.02; done'], channels: {power: {unit: W, averages over: 20 ms}}, rate: 50 Hz}]\n"
        run = self.run_as(ALICE, self.SWEEP.replace("objective: time", "objective: energy") + meter, "--fresh", SUDO_UID=str(ALICE[0]))
        self.wait_for(lambda: read(MTU) != self.before[MTU] and "workload" in self.processes(run.pid))
        os.kill(self.processes(run.pid)["session"], signal.SIGKILL)
        said = run.stderr.read()
        self.assertEqual(run.wait(timeout=60), 0, said)
        self.assertEqual(said.count("does not count (changed_meanwhile)"), 1, said)
        self.assertEqual(said.count("does not count"), 1, said)  # all later trials have their energy

    def run_as(self, user, experiment, *arguments, **environment):
        folder = pathlib.Path(f"/run/dvfs-plan/{user[0]}")
        folder.mkdir(exist_ok=True)
        os.chown(folder, user[0], user[1])
        (folder / "own.yaml").write_text(experiment)
        by = [] if "SUDO_UID" in environment else ["setpriv", "--reuid", str(user[0]), "--regid", str(user[1]), "--groups", ",".join(map(str, user[2])) or "0"]
        run = subprocess.Popen([*by, PROGRAM, "own.yaml", "--no-html", *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, HOME=str(folder), XDG_STATE_HOME=str(folder), **environment))
        self.addCleanup(run.stderr.close)
        return run

    QUIET = "conditions: {warm up: 0, idle: none, references: false, foreign load: off, temperature: off}\n"
    SWEEP = f"name: own\nobjective: time\n{QUIET}repeat: 2\nsettle: 1 ms\nworkloads: [{{name: w, command: [sleep, '0.987']}}]\naxes: {{sysfs.mtu: [1400, 1300]}}\nsysfs: {{mtu: {{path: {MTU}, values: [1300, 1400]}}}}\n"

    def test_a_run_that_waits_can_be_interrupted(self):
        self.session()
        run = self.run_as(BOB, f"name: own\nobjective: time\n{self.QUIET}workloads: [{{name: w, command: ['true']}}]\n", "--wait")
        self.assertRegex(run.stderr.readline(), r"^waiting for the machine, 1 in the queue; now: pid \d+, night.yaml, since \S+, by alice\n$")
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=20), 130)
        self.assertEqual(run.stderr.read(), "error: interrupted while it waited for the machine\n  hint: it set nothing; whether an earlier run left something set, `dvfs-plan restore` says\n")

    def processes(self, first):
        """Of a run under sudo: the first one, which stands by; the run; its session; its workload."""
        found, parents = {"first": first}, {}
        for folder in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                parents[int(folder.name)] = (int(read(folder / "stat").rsplit(")", 1)[1].split()[1]), read(folder / "comm"))
        for pid, (parent, name) in parents.items():
            if parent == first and name == "dvfs-plan":
                found["run"] = pid
            if parent == first and name == "dvfs-guardian":
                found["session"] = pid
        for pid, (parent, name) in parents.items():
            if parent == found.get("run") and name == "sleep":
                found["workload"] = pid
        return found

    def alive(self, pids):
        """Those that run; a zombie waits for whoever adopted it."""
        return [pid for pid in pids if os.path.exists(f"/proc/{pid}") and ") Z " not in read(f"/proc/{pid}/stat")]

    def test_under_sudo_whatever_is_killed_everything_is_put_back(self):
        for victims in (["run"], ["first"], ["session"], ["run", "session"], ["first", "session"], ["first", "run"]):
            with self.subTest(victims):
                run = self.run_as(ALICE, self.SWEEP, "--fresh", SUDO_UID=str(ALICE[0]))
                self.wait_for(lambda: read(MTU) != self.before[MTU] and "workload" in self.processes(run.pid))
                found = self.processes(run.pid)
                self.assertEqual(set(found), {"first", "run", "session", "workload"})
                self.assertEqual(os.stat(f"/proc/{found['workload']}").st_uid, ALICE[0])
                for victim in victims:
                    with contextlib.suppress(ProcessLookupError):  # it may have put back and gone by now
                        os.kill(found[victim], signal.SIGKILL)
                if victims == ["first", "session"]:  # all that has rights: the next start puts back, or the boot
                    run.wait(timeout=60)
                    self.wait_for(lambda: not self.alive([found["run"], found["session"]]))
                    subprocess.run([GUARDIAN, "--restore"], check=True, stderr=subprocess.DEVNULL)
                elif victims == ["session"]:  # the trial does not count, and the run goes on with another
                    said = run.stderr.read()
                    self.assertEqual(run.wait(timeout=60), 0, said)
                    self.assertIn("does not count (changed_meanwhile): the guardian's session ended during the trial", said)
                else:
                    run.wait(timeout=60)
                    self.assertNotEqual(run.returncode, 0)
                self.restored()
                self.wait_for(lambda: not self.alive(found.values()))

    OWN = """#!/bin/sh
id -u >>by
case $1 in get) cat cap;; set) echo $2 >cap;; esac
"""

    def test_programs_of_the_users_never_run_with_more_than_his_rights(self):
        """Under sudo, and through the machine's guardian: what they set is put back by a guardian of his own, whatever is killed."""
        sweep = self.SWEEP.replace("axes: {", "axes: {set.cap: [1, 2], ") + "set: {cap: {command: [./own, set, '{value}'], read: [./own, get], values: [1, 2]}}\n"
        folder = pathlib.Path(f"/run/dvfs-plan/{ALICE[0]}")
        folder.mkdir(exist_ok=True)
        os.chown(folder, *ALICE[:2])
        for name, text in (("own", self.OWN), ("cap", "7\n"), ("by", "")):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
            os.chown(folder / name, *ALICE[:2])
        for environment in ({"SUDO_UID": str(ALICE[0])}, {}):
            for victims in ([], ["run"], ["all of them"]):
                with self.subTest(environment=environment, victims=victims):
                    run = self.run_as(ALICE, sweep, "--fresh", **environment)
                    self.wait_for(lambda: read(MTU) != self.before[MTU] and read(folder / "cap") in ("1", "2") and self.beside(run.pid))
                    first, beside = self.beside(run.pid)
                    self.assertEqual(os.stat(f"/proc/{beside}").st_uid, ALICE[0])
                    if victims == ["run"]:
                        os.kill(first, signal.SIGKILL)
                        run.wait(timeout=60)
                    elif victims:
                        for pid in (beside, first):
                            os.kill(pid, signal.SIGKILL)
                        run.wait(timeout=60)
                        self.restored()  # the machine's own, by its guardian
                        self.assertIn(read(folder / "cap"), ("1", "2"))
                        again = self.run_as(ALICE, sweep, "--fresh", **environment)  # puts back what was left, first of all
                        self.wait_for(lambda: "put back" in again.stderr.readline())
                        again.send_signal(signal.SIGINT)
                        again.wait(timeout=60)
                    else:
                        self.assertEqual(run.wait(timeout=60), 0, run.stderr.read())
                    self.restored()
                    self.wait_for(lambda: read(folder / "cap") == "7")
                    self.assertEqual(set(read(folder / "by").split()), {str(ALICE[0])})

    def beside(self, first):
        """The run, and its own guardian beside the machine's; None while there is none."""
        found = []
        for folder in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                pid, parent, name = int(folder.name), int(read(folder / "stat").rsplit(")", 1)[1].split()[1]), read(folder / "comm")
                if name == "dvfs-plan" and first in (pid, parent):
                    found += [(pid, int(child)) for child in read(folder / f"task/{pid}/children").split() if read(f"/proc/{child}/comm") == "dvfs-guardian"
                              and os.stat(f"/proc/{child}").st_uid == ALICE[0]]
        return found[0] if found else None

    def test_under_sudo_ctrl_c_at_the_first_process_ends_the_run_in_order(self):
        run = self.run_as(ALICE, self.SWEEP, "--fresh", SUDO_UID=str(ALICE[0]))
        self.wait_for(lambda: read(MTU) != self.before[MTU])
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=30), 130)
        self.assertIn("interrupted; the settings are as before", run.stderr.read())
        self.restored()

    def on_a_terminal(self, folder, *words):
        """In the foreground of a terminal of its own, under sudo: its pid, and our end of the terminal."""
        pid, ours = pty.fork()
        if pid == 0:
            os.chdir(folder)
            os.execve(PROGRAM, [str(PROGRAM), *words], dict(os.environ, HOME=str(folder), XDG_STATE_HOME=str(folder), SUDO_UID=str(ALICE[0])))
        self.addCleanup(os.close, ours)
        return pid, ours

    def heard(self, terminal, words):
        """What it printed until `words` came; its end too."""
        text = ""
        deadline = time.monotonic() + 40
        while words not in text:
            self.assertLess(time.monotonic(), deadline, text)
            if select.select([terminal], [], [], 1)[0]:
                try:
                    text += os.read(terminal, 4096).decode()
                except OSError:  # nobody has it open any more
                    break
        return text

    def test_under_sudo_a_command_of_use_has_the_terminal(self):
        run = self.run_as(ALICE, self.SWEEP, "--fresh", SUDO_UID=str(ALICE[0]))
        self.assertEqual(run.wait(timeout=60), 0, run.stderr.read())
        folder = pathlib.Path(f"/run/dvfs-plan/{ALICE[0]}")
        pid, terminal = self.on_a_terminal(folder, "use", "--quiet", "own.sqlite", "--", "sh", "-c", f"echo ready; read x; echo got $x at $(cat {MTU})")
        self.heard(terminal, "ready")
        os.write(terminal, b"this\n")
        self.assertRegex(self.heard(terminal, "got this at "), "got this at ")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.restored()
        # Ctrl-C comes to it once; one that Ctrl-Z has stopped takes it too.
        script = "trap 'echo hit; hits=$((hits + 1))' INT; echo ready; while [ ! -e go ]; do sleep 0.1; done; echo hits: $hits."
        (folder / "go").unlink(missing_ok=True)
        pid, terminal = self.on_a_terminal(folder, "use", "--quiet", "own.sqlite", "--", "sh", "-c", script)
        self.heard(terminal, "ready")
        os.write(terminal, b"\x03")
        self.heard(terminal, "hit")
        time.sleep(0.5)
        (folder / "go").touch()
        self.assertIn("hits: 1.", self.heard(terminal, "hits: 1."))
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        # So does what somebody sends to all of the job, one that has left it too, and what comes to the first process alone.
        for send, words in ((os.killpg, []), (os.killpg, ["setsid"]), (os.kill, [])):
            (folder / "go").unlink(missing_ok=True)
            pid, terminal = self.on_a_terminal(folder, "use", "--quiet", "own.sqlite", "--", *words, "sh", "-c", script.replace("INT", "TERM"))
            self.heard(terminal, "ready")
            send(pid, signal.SIGTERM)
            self.heard(terminal, "hit")
            time.sleep(0.5)
            (folder / "go").touch()
            self.assertIn("hits: 1.", self.heard(terminal, "hits: 1."))
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        pid, terminal = self.on_a_terminal(folder, "use", "--quiet", "own.sqlite", "--", "sh", "-c", "echo ready; sleep 100")
        self.heard(terminal, "ready")
        os.write(terminal, b"\x1a")
        time.sleep(0.5)
        os.write(terminal, b"\x03")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 130)
        self.restored()

    def test_under_sudo_the_policy_binds(self):
        pathlib.Path("/etc/dvfs-plan/policy").write_text("allow dvfs-plan *\n")
        run = self.run_as(ALICE, self.SWEEP, "--fresh", SUDO_UID=str(ALICE[0]))
        self.assertEqual(run.wait(timeout=30), 3)
        self.assertIn(f"error: axis 'sysfs.mtu': the policy does not let alice set {os.path.realpath(MTU)}: no 'allow' line of /etc/dvfs-plan/policy says so\n"
                      "  hint: nothing was set; who administers this machine may change its policy (man dvfs-guardian)\n", run.stderr.read())
        run = self.run_as(ALICE, self.SWEEP, "--state-folder", "/etc/cron.d", SUDO_UID=str(ALICE[0]))
        self.assertEqual(run.wait(timeout=30), 3)
        self.assertEqual(run.stderr.read(), "error: --state-folder /etc/cron.d: under sudo root writes into his own folder alone\n  hint: leave it out, or let root himself run it\n")

    def test_journald_is_told_of_each_setting(self):
        os.makedirs("/run/dvfs-plan/journald", exist_ok=True)
        os.makedirs("/run/systemd/journal", exist_ok=True)
        subprocess.run(["mount", "--bind", "/run/dvfs-plan/journald", "/run/systemd/journal"], check=True)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
                journal.bind("/run/systemd/journal/socket")
                journal.settimeout(10)
                client = self.armed()
                client.ask("set", MTU, "1400")
                client.close()
                told = [journal.recv(65536).decode() for _ in range(4)]
            self.assertEqual([dict(line.split("=", 1) for line in one.splitlines())["DVFS_PLAN_EVENT"] for one in told], ["session_begun", "set", "restored", "session_ended"])
            fields = dict(line.split("=", 1) for line in told[1].splitlines())
            self.assertEqual({name: fields[name] for name in fields if name != "PRIORITY"},
                             {"MESSAGE": f"set {MTU}=1400", "SYSLOG_IDENTIFIER": "dvfs-guardian", "DVFS_PLAN_EVENT": "set", "DVFS_PLAN_USER": "alice", "DVFS_PLAN_EXPERIMENT": "night.yaml",
                              "DVFS_PLAN_SETTINGS": f"{MTU}=1400"})
        finally:
            os.unlink("/run/systemd/journal/socket")
            subprocess.run(["umount", "/run/systemd/journal"], check=True)


if __name__ == "__main__":
    testbed.main()
