"""Services: programs that stay up over many trials. Real servers, real clients, a loopback device of the test's own."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
import unittest

import loopback
import testbed
from whole import METER, QUIET, Whole

# server.py PORT [WORD...]: says its pid to who connects. Words: late N (s before it listens), dies N (after so many answers), daemon, children (two more
# processes, one in a session of its own), deaf (ignores SIGTERM), silent (never listens).
SERVER = """
import os, signal, socket, subprocess, sys, time
port, words = int(sys.argv[1]), sys.argv[2:]
value = lambda word: float(words[words.index(word) + 1])
if "daemon" in words and os.fork():
    os._exit(0)
if "daemon" in words:
    os.setsid()
if "deaf" in words:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "children" in words:
    subprocess.Popen(["sleep", "1011"])
    subprocess.Popen(["setsid", "sleep", "1011"])
if "silent" in words:
    print("I never listen", flush=True)
    time.sleep(1000)
if "late" in words:
    time.sleep(value("late"))
listening = socket.create_server(("127.0.0.1", port))
print("now listening at", port, flush=True)
answers = 0
while True:
    connection, _ = listening.accept()
    asked = connection.recv(100)
    if not asked:
        continue  # who only looks whether we are there
    answers += 1
    if "dies" in words and answers > value("dies"):
        print("I have had enough", flush=True)
        sys.exit(3)
    connection.sendall(b"%d" % os.getpid())
    connection.close()
"""
# client.py PORT FILE: asks once, appends the server's pid and its own words.
CLIENT = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=10) as asked:
    asked.sendall(b"?")
    pid = asked.recv(100).decode()
with open(sys.argv[2], "a") as file:
    print(pid, *sys.argv[3:], file=file)
sys.exit(0 if pid else 1)
"""


def is_open(port):
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def processes():
    """Command lines by pid."""
    found = {}
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit():
                found[int(name)] = pathlib.Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return found


@unittest.skipIf(not os.environ.get("DVFS_PLAN_APART"), "needs a network of its own (tests/system/apart)")
class Services(Whole):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        loopback.up()

    def setUp(self):
        super().setUp()
        self.write("server.py", SERVER)
        self.write("client.py", CLIENT)

    def experiment(self, services, rest="", conditions=QUIET, client="[python3, client.py, '8101', asked, '{n}']", axes="axes: {n: [1, 2]}\n", repeat=2):
        self.write("s.yaml", f"name: s\nservices:\n{services}\nworkloads: [{{name: w, command: {client}}}]\n{axes}repeat: {repeat}\nobjective: time\nconditions: {conditions}\n{rest}")

    def asked(self):
        return [line.split() for line in (self.folder / "asked").read_text().splitlines()]

    def left(self):
        return [text for text in processes().values() if str(self.folder) in text or "server.py" in text or text == "sleep 1011"]

    def test_it_stays_up_over_a_block(self):
        self.experiment("  - {name: server, command: [python3, server.py, '8101'], ready: {port: 8101}}")
        run = self.call("s.yaml")
        self.assertEqual(run.returncode, 0, run.stderr)
        pids = [pid for pid, *_ in self.asked()]
        self.assertEqual(len(pids), 4)
        self.assertEqual((pids[0] == pids[1], pids[2] == pids[3], pids[0] == pids[2]), (True, True, False))
        log = (self.folder / "s.logs/server.log").read_text()
        self.assertEqual(len(re.findall(r"^--- \S+ started: python3 server.py 8101$", log, re.M)), 2)
        self.assertEqual(self.left(), [])
        self.assertEqual({row["verdict"] for row in self.rows("s.sqlite", "SELECT verdict FROM trials")}, {"ok"})

    def test_its_parameter_means_a_start_and_trials_of_one_value_follow_each_other(self):
        self.experiment("  - {name: server, command: [python3, server.py, '8101', batch, '{batch}'], ready: {line: now listening}, warm up: [python3, client.py, '8101', warm, '{batch}']}",
                        axes="axes: {n: [1, 2, 3], batch: [8, 16]}\n", client="[python3, client.py, '8101', asked, '{n}', '{batch}']", repeat=3)
        check = self.call("check", "s.yaml")
        self.assertIn("python3\n  services are started for 6 groups of trials\n", check.stdout)
        self.assertEqual(json.loads(self.call("check", "s.yaml", "--json").stdout)["points"][0]["services"], "server batch=8")
        run = self.call("s.yaml")
        self.assertEqual(run.returncode, 0, run.stderr)
        asked = self.asked()
        self.assertEqual(len(asked), 18)
        for block in range(3):
            trials = asked[6 * block:6 * block + 6]
            batches = [batch for _, _, batch in trials]
            self.assertEqual(sorted(batches), ["16"] * 3 + ["8"] * 3)
            self.assertIn(batches, (["8"] * 3 + ["16"] * 3, ["16"] * 3 + ["8"] * 3))
            self.assertEqual(len({pid for pid, *_ in trials}), 2)
        self.assertGreater(len({tuple(n for _, n, _ in asked[3 * i:3 * i + 3]) for i in range(6)}), 1)  # in random order
        warm = (self.folder / "warm").read_text().splitlines()
        self.assertEqual(len(warm), 6)  # one a start: no setting changes here
        # The same command again says that it is finished, and starts nothing.
        again = self.call("s.yaml")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(len(self.asked()), 18)

    def test_daemons_and_children_of_services_live_between_trials_and_end_with_them(self):
        self.experiment("  - {name: one, command: [python3, server.py, '8101', daemon], ready: {port: 8101}}\n"
                        "  - {name: two, command: [python3, server.py, '8102', children, deaf], ready: {command: [python3, client.py, '8102', looked]}, grace: 200 ms}",
                        client="[python3, client.py, '8101', asked, '{n}']")
        run = self.call("s.yaml")
        self.assertEqual(run.returncode, 0, run.stderr)
        pids = [pid for pid, *_ in self.asked()]
        self.assertEqual(len(set(pids)), 2, run.stderr)
        self.assertEqual(self.left(), [])
        self.assertFalse(is_open(8101) or is_open(8102))

    def test_one_that_dies_spoils_its_trial_and_is_started_again(self):
        self.experiment("  - {name: server, command: [python3, server.py, '8101', dies, '2'], ready: {line: now listening}}", axes="axes: {n: [1, 2, 3]}\n", repeat=1,
                        conditions=QUIET.replace("reruns: 0", "reruns: 1"))
        run = self.call("s.yaml")
        self.assertIn("warning: w n=", run.stderr)
        self.assertRegex(run.stderr, r"does not count \(service_died\): service 'server' exited with 3; it said: now listening at 8101\\x0aI have had enough")
        counted = self.rows("s.sqlite", "SELECT point, count(*) AS n FROM trials WHERE counts GROUP BY point ORDER BY point")
        self.assertEqual([row["n"] for row in counted], [1, 1, 1], run.stderr)
        self.assertEqual(self.left(), [])

    def test_one_that_never_gets_ready_ends_the_night_with_the_cause(self):
        self.experiment("  - {name: server, command: [python3, server.py, '8101', silent], ready: {port: 8101, within: 2 s}}")
        run = self.call("s.yaml")
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertIn(f"error: service 'server' was not ready within 2.0 s; it said: I never listen; 3 times in a row\n  hint: what it said is in {self.folder}/s.logs/server.log; "
                      "the trials up to here are kept, and the same command goes on; a longer time is  ready: {within: 5 min}\n", run.stderr)
        self.assertEqual(self.left(), [])

    def test_one_that_cannot_start(self):
        self.experiment("  - {name: server, shell: 'echo no such model >&2; exit 7', ready: {port: 8101}}")
        run = self.call("s.yaml")
        self.assertEqual(run.returncode, 3)
        self.assertIn("service 'server' exited with 7 before it was ready; it said: no such model; 3 times in a row", run.stderr)

    @testbed.on_a_busy_host
    def test_one_that_dies_in_trial_after_trial_ends_the_night(self):
        self.experiment("  - {name: helper, command: [sh, -c, 'exit 5']}", client="[sleep, '0.05']", axes="", repeat=20)
        run = self.call("s.yaml")
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertIn("error: service 'helper' exited with 5", run.stderr)
        self.assertIn("; 3 times in a row\n", run.stderr)
        self.assertLessEqual(self.rows("s.sqlite", "SELECT count(*) AS n FROM trials")[0]["n"], 3)

    def test_parameters_that_cannot_be_had_leave_the_others(self):
        self.experiment("  - {name: server, shell: 'test {batch} = 1024 && exit 9; exec python3 server.py 8101', ready: {port: 8101}}", axes="axes: {n: [1, 2, 3, 4, 5], batch: [1, 1024]}\n", repeat=1)
        run = self.call("s.yaml")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertEqual({(row["batch"], row["verdict"]): row["n"] for row in self.rows("s.sqlite", "SELECT substr(point, instr(point, 'batch=')) AS batch, verdict, count(*) AS n FROM trials GROUP BY 1, 2")},
                         {("batch=1", "ok"): 5, ("batch=1024", "service_not_ready"): 5})
        self.assertIn("it said nothing; it is not tried again with these parameters", run.stderr)
        self.assertEqual((self.folder / "s.logs/server.log").read_text().count(" started: "), 4)  # 1, and three times 1024

    def test_a_warm_up_that_fails_ends_the_night(self):
        self.experiment("  - {name: server, command: [python3, server.py, '8101'], ready: {port: 8101}, warm up: [sh, -c, 'echo cold >&2; exit 4']}", repeat=20)
        run = self.call("s.yaml")
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertIn("error: service 'server' could not be warmed up: 'sh' exited with 4: cold; 3 times in a row\n", run.stderr)

    def test_one_that_dies_between_trials_is_told(self):
        self.experiment("  - {name: server, command: [python3, server.py, '8101'], ready: {port: 8101}}", axes="axes: {n: [1, 2, 3]}\n", repeat=1,
                        client="[sh, -c, 'python3 client.py 8101 asked {n}; (sleep 0.02; kill -9 $(tail -1 asked | cut -d\" \" -f1)) >/dev/null 2>&1 & sleep 0.3']")
        run = self.call("s.yaml")
        self.assertIn("does not count (service_died): service 'server' was ended by SIGKILL; it said: now listening at 8101", run.stderr)

    def test_one_that_is_stopped_for_a_while_spoils_its_trial(self):
        for what in ("kill -STOP $pid", "kill -STOP $pid; sleep 0.05; kill -CONT $pid"):
            with self.subTest(what):
                for old in [*self.folder.glob("s.sqlite*"), self.folder / "stopped"]:
                    old.unlink(missing_ok=True)
                self.experiment("  - {name: server, command: [python3, server.py, '8101'], ready: {port: 8101}, grace: 300 ms}", axes="axes: {n: [1, 2, 3]}\n", repeat=1,
                                conditions=QUIET.replace("reruns: 0", "reruns: 1"),
                                client=f"[sh, -c, 'python3 client.py 8101 asked {{n}}; pid=$(tail -1 asked | cut -d\" \" -f1); if [ ! -e stopped ]; then touch stopped; {what}; sleep 0.05; fi']")
                run = self.call("s.yaml")
                self.assertRegex(run.stderr, r"does not count \(service_died\): service 'server' was stopped by a signal for a while, or still is; it said: now listening at 8101", run.stderr)
                verdicts = [row["verdict"] for row in self.rows("s.sqlite", "SELECT verdict FROM trials ORDER BY trial")]
                self.assertEqual((verdicts[0], sorted(verdicts)), ("service_died", ["ok", "ok", "ok", "service_died"]), run.stderr)
                self.assertEqual(self.left(), [])

    def test_what_a_service_takes_with_it_into_the_background_is_its_own(self):
        """Without a mark in its environment a control group tells whose it is, or that it came while the service was getting ready."""
        self.experiment("  - {name: server, shell: 'env -i setsid -f sleep 1011; exec python3 server.py 8101', ready: {port: 8101}}")
        run = self.call("s.yaml")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotIn("process", run.stderr.replace("processes", "process").replace("note:", ""))
        self.assertEqual(self.left(), [])

    def test_an_orphan_of_somebody_elses_is_no_daemon_of_it(self):
        """It came to us while the service was getting ready, and carries no mark of the run: process 1 of a container adopts many."""
        self.experiment("  - {name: server, command: [python3, server.py, '8101', late, '2'], ready: {port: 8101}}", repeat=1)
        script = "(sleep 1; sleep 1013 >/dev/null 2>&1 & echo $! >orphan) & exec \"$@\""
        run = subprocess.run(["sh", "-c", script, "sh", *self.arguments("s.yaml", "--no-html")], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=120)
        self.assertEqual(run.returncode, 0, run.stderr)
        orphan = int((self.folder / "orphan").read_text())
        self.assertEqual(processes().get(orphan), "sleep 1013")
        os.kill(orphan, signal.SIGKILL)
        self.assertEqual(self.left(), [])

    def test_a_server_that_goes_to_the_background_with_a_clean_environment_lives_between_trials(self):
        self.experiment("  - {name: server, shell: '(env -i setsid /usr/bin/python3 server.py 8101 >/dev/null 2>&1 &); exec sleep 1011', ready: {port: 8101}}")
        run = self.call("s.yaml")
        self.assertEqual(run.returncode, 0, run.stderr)
        pids = [pid for pid, *_ in self.asked()]
        self.assertEqual((len(pids), len(set(pids))), (4, 2), "a server a block")
        self.assertNotIn("left", run.stderr)
        self.assertEqual(self.left(), [])

    def test_grace_is_for_all_of_it_and_a_second_signal_cuts_it_short(self):
        self.write("slow_end.py", "import signal, socket, sys, time\ndef end(*_):\n    time.sleep(0.5); open('ended', 'a').write('whole\\n'); sys.exit(0)\nsignal.signal(signal.SIGTERM, end)\n"
                   "listening = socket.create_server(('127.0.0.1', 8101))\nwhile True: listening.accept()[0].close()\n")
        self.experiment("  - {name: server, shell: 'python3 slow_end.py; true', ready: {port: 8101}, grace: 20 s}", client="[sleep, '0.1']", axes="", repeat=1)
        self.assertEqual(self.call("s.yaml").returncode, 0)
        self.assertEqual((self.folder / "ended").read_text(), "whole\n")
        self.experiment("  - {name: server, command: [python3, server.py, '8101', deaf], ready: {port: 8101}, grace: 60 s}", client="[sleep, '5']", axes="", repeat=1)
        run = subprocess.Popen(self.arguments("s.yaml", "--fresh"), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 30
        while not is_open(8101):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.02)
        run.send_signal(signal.SIGINT)
        with self.assertRaises(subprocess.TimeoutExpired):
            run.wait(timeout=1)
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=20), 130)
        self.assertEqual(self.left(), [])

    def test_its_log_is_a_file_of_its_own(self):
        service = "  - {name: server, command: [python3, server.py, '8101'], ready: {port: 8101}}"
        victim = self.write("victim", "precious\n")
        for make, error in ((lambda log: os.mkfifo(log), f"{self.folder}/s.logs/server.log is no file of its own; take it away"),
                            (lambda log: os.symlink(victim, log), "Too many levels of symbolic links"),
                            (lambda log: os.link(victim, log), f"{self.folder}/s.logs/server.log is no file of its own; take it away"),
                            (lambda log: shutil.copy(victim, log), f"its log would be appended to {self.folder}/s.logs/server.log, which no service of a run began; move that file away, or name another result with -o"),
                            (lambda log: os.chmod(log.parent, 0o777), f"its log would be in {self.folder}/s.logs, which others may write; take that folder away")):
            (self.folder / "s.logs").mkdir(mode=0o755)
            make(self.folder / "s.logs/server.log")
            self.experiment(service)
            run = self.call("s.yaml", "--fresh")
            self.assertEqual(run.returncode, 3, run.stderr)
            self.assertIn(error, run.stderr)
            self.assertEqual(victim.read_text(), "precious\n")
            if (self.folder / "s.logs/server.log").is_file():
                self.assertEqual((self.folder / "s.logs/server.log").read_text(), "precious\n")
            shutil.rmtree(self.folder / "s.logs")

    def test_a_program_of_a_service_that_changes_in_the_night_ends_it(self):
        self.write("serve.sh", "#!/bin/sh\nexec python3 server.py 8101\n").chmod(0o755)
        self.experiment("  - {name: server, command: [./serve.sh], ready: {port: 8101}}", client="[sh, -c, 'echo \"# {n}\" >>serve.sh']", repeat=1)
        run = self.call("s.yaml")
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertRegex(run.stderr, r"error: service 'server': .*/serve.sh changed during the night: it was SHA-256 ")

    @testbed.on_a_busy_host
    def test_attached_by_an_address_of_its_own(self):
        other = subprocess.Popen(["python3", "server.py", "8101"], cwd=self.folder, stdout=subprocess.DEVNULL)
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        self.write("elsewhere.py", SERVER.replace('"127.0.0.1"', '"127.0.0.2"'))
        mine = subprocess.Popen(["python3", "elsewhere.py", "8101"], cwd=self.folder, stdout=subprocess.DEVNULL)
        self.addCleanup(mine.wait)
        self.addCleanup(mine.kill)
        self.experiment("  - {name: server, attach: {address: '127.0.0.2:8101'}, ready: {command: [sh, -c, 'sleep 0.1']}}", client=f"[sh, -c, 'kill -9 {other.pid}; sleep 0.2']", axes="", repeat=1)
        for address in ("127.0.0.1", "127.0.0.2"):
            self.answers(address, 8101)
        run = self.call("s.yaml")
        self.assertEqual(run.returncode, 0, run.stderr)

    def answers(self, address, port):
        """Waits until a server that a test began does."""
        end = time.monotonic() + 30
        while True:
            try:
                socket.create_connection((address, port), timeout=1).close()
                return
            except OSError:
                self.assertLess(time.monotonic(), end, f"{address}:{port}")
                time.sleep(0.02)

    def test_a_port_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 8101)):
            self.experiment("  - {name: server, command: [python3, server.py, '8101'], ready: {port: 8101}}")
            run = self.call("s.yaml")
        self.assertEqual(run.returncode, 3)
        self.assertRegex(run.stderr, rf"error: service 'server' was not started: port 8101 is taken by pid {os.getpid()} \(python3?(\.\d+)?\); 3 times in a row\n")

    def test_attached_services_are_left_alone(self):
        server = subprocess.Popen(["python3", "server.py", "8101"], cwd=self.folder, stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        for way in (f"pid: {server.pid}", "address: '127.0.0.1:8101'", "address: 'http://127.0.0.1:8101/health'"):
            self.experiment(f"  - {{name: server, attach: {{{way}}}, ready: {{port: 8101}}}}")
            run = self.call("s.yaml", "--fresh")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIsNone(server.poll())
        self.assertEqual({pid for pid, *_ in self.asked()}, {str(server.pid)})
        server.kill()
        server.wait()
        gone = self.call("s.yaml", "--fresh")
        self.assertEqual(gone.returncode, 3)
        self.assertIn("error: service 'server' does not answer at http://127.0.0.1:8101/health\n"
                      "  hint: start it first: 'attach' takes what runs already; with 'command' dvfs-plan starts it itself\n", gone.stderr)
        self.experiment(f"  - {{name: server, attach: {{pid: {server.pid}}}}}")
        for words in (("s.yaml", "--fresh"), ("check", "s.yaml")):
            gone = self.call(*words)
            self.assertEqual(gone.returncode, 3, gone.stdout + gone.stderr)
            self.assertIn(f"service 'server' is not there: there is no process {server.pid}\n", gone.stdout + gone.stderr)

    def test_idle_is_with_an_attached_service_that_works_at_rest(self):
        """Twice as many busy processes as there are CPUs: whatever else this machine does, most of what is used is theirs, and not somebody else's."""
        cpus = os.cpu_count()
        server = subprocess.Popen(["bash", "-c", f"for i in $(seq {2 * cpus}); do while :; do :; done & done; wait"], start_new_session=True)
        self.addCleanup(server.wait)
        self.addCleanup(os.killpg, server.pid, signal.SIGKILL)
        self.experiment(f"  - {{name: server, attach: {{pid: {server.pid}}}}}", client="[sleep, '0.5']", axes="", repeat=3,
                        conditions="{warm up: 0, idle: 1 s, references: false, temperature: off, reruns: 0, foreign load: 20 %, give up after: never}", rest=METER)
        self.write("s.yaml", (self.folder / "s.yaml").read_text().replace("objective: time", "objective: energy"))
        run = self.call("s.yaml")
        with sqlite3.connect(self.folder / "s.sqlite") as file:
            windows = file.execute("SELECT foreign_cpu_s, region_s FROM trial WHERE role IN ('idle_before', 'idle_after')").fetchall()
        self.assertGreaterEqual(len(windows), 3, run.stderr)
        self.assertLess(sum(foreign / seconds for foreign, seconds in windows) / len(windows), 0.75 * cpus, windows)

    def test_another_process_with_the_number_of_an_attached_one_is_not_it(self):
        last_pid = pathlib.Path("/proc/sys/kernel/ns_last_pid")
        try:
            last_pid.write_text(last_pid.read_text())
        except OSError as problem:
            self.skipTest(f"numbers of processes cannot be chosen here: {problem}")
        server = subprocess.Popen(["sleep", "1000"])
        self.experiment(f"  - {{name: server, attach: {{pid: {server.pid}}}}}", client="[sleep, '0.4']", axes="", repeat=4)
        run = subprocess.Popen(self.arguments("s.yaml"), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment())
        said = run.stderr.readline()
        while "w #1: " not in said:
            self.assertTrue(said, "ended before its first trial")
            said = run.stderr.readline()
        server.kill()
        server.wait()
        for _ in range(200):
            last_pid.write_text(str(server.pid - 1))
            other = subprocess.Popen(["sleep", "1000"])
            self.addCleanup(other.wait)
            self.addCleanup(other.kill)
            if other.pid == server.pid:
                break
        else:
            run.communicate(timeout=60)
            self.skipTest("other processes took the number each time")
        _, said = run.communicate(timeout=60)
        self.assertIn(f"service 'server' is not there: process {server.pid} has ended, and another one has its number now", said)
        verdicts = [row["verdict"] for row in self.rows("s.sqlite", "SELECT verdict FROM trials ORDER BY trial")]
        self.assertEqual((verdicts[0], "ok" in verdicts[2:]), ("ok", False), said)

    def test_a_workload_names_its_services(self):
        self.write("s.yaml", f"""name: s
services:
  - {{name: one, command: [python3, server.py, '8101'], ready: {{port: 8101}}}}
  - {{name: two, command: [python3, server.py, '8102'], ready: {{port: 8102}}}}
workloads:
  - {{name: first, command: [python3, client.py, '8101', asked], services: [one]}}
  - {{name: none, shell: 'python3 client.py 8101 asked && exit 1; python3 client.py 8102 asked && exit 1; exit 0', services: []}}
repeat: 2
objective: time
conditions: {QUIET}
""")
        run = self.call("s.yaml")
        self.assertEqual({(row["workload"], row["verdict"]) for row in self.rows("s.sqlite", "SELECT workload, verdict FROM trials")}, {("first", "ok"), ("none", "ok")}, run.stderr)
        self.assertFalse((self.folder / "s.logs/two.log").exists())

    def interrupted(self, how):
        self.experiment("  - {name: one, command: [python3, server.py, '8101', children], ready: {port: 8101}}\n"
                        "  - {name: two, command: [python3, server.py, '8102', daemon], ready: {port: 8102}}\n"
                        "  - {name: three, command: [python3, server.py, '8103', late, '0.2'], ready: {line: now listening}}", repeat=50)
        run = subprocess.Popen(self.arguments("s.yaml"), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 30
        while not ((self.folder / "asked").exists() and len(self.asked()) >= 3):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        run.send_signal(how)
        _, said = run.communicate(timeout=60)
        until = time.monotonic() + 10
        while self.left() and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual(self.left(), [])
        self.assertFalse(is_open(8101) or is_open(8102) or is_open(8103))
        return run.returncode, said

    def test_nothing_is_left_after_ctrl_c(self):
        code, said = self.interrupted(signal.SIGINT)
        self.assertEqual(code, 130, said)

    def test_nothing_is_left_after_a_kill_and_the_night_goes_on(self):
        before = 0
        for _ in range(3):
            code, said = self.interrupted(signal.SIGKILL)
            self.assertEqual(code, -signal.SIGKILL)
            finished = self.rows("s.sqlite", "SELECT count(*) AS n FROM trials")[0]["n"]
            self.assertGreater(finished, before)
            before = finished
            (self.folder / "asked").unlink()

    def test_faults_in_the_file_are_told_where_they_stand(self):
        self.write("s.yaml", """name: s
services:
  - {name: server, command: [python3, server.py, "{cpu.frequency}"], ready: {port: 70000}}
  - {name: server, command: [no-such-program], attach: {pid: 1}}
  - {name: other, attach: {pid: one}, ready: {line: up, port: 1}}
workloads: [{name: w, command: ["true"], services: [sever]}]
axes: {cpu.frequency: [1 GHz], batch: [1], cpu.cores: [1]}
""")
        check = self.call("check", "s.yaml")
        self.assertEqual(check.returncode, 2)
        for text in ("s.yaml:3:84: error: 'port' must be a whole number from 1 to 65535; found '70000'\n",
                     "s.yaml:4:5: error: service 'server' is either started ('command') or attached to ('attach'), not both\n",
                     "s.yaml:4:12: error: two services are named 'server' (the first in line 3); give each its own name\n",
                     "s.yaml:5:33: error: 'pid' must be the number of a process; found 'one'\n",
                     "s.yaml:5:46: error: service 'other': 'ready' needs one of 'port: 8080', 'line: text in its output' and 'command: [program that ends with 0]'; found several\n",
                     "s.yaml:6:53: error: workload 'w': there is no service 'sever' (did you mean 'server'?)\n",
                     "s.yaml:7:44: error: axis 'cpu.cores' confines what a trial starts, and service 'server' is up before: confine it in its own command, by a parameter: [taskset, -c, \"{cpus}\", ...]\n",
                     "s.yaml:3:12: error: service 'server': {cpu.frequency} is a setting of the machine, which changes while the service stays up; only the workload's command may be told of it\n"):
            self.assertIn(text, check.stderr)


if __name__ == "__main__":
    testbed.main()
