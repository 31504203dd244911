"""The program as its user meets it, on this machine: no knobs are set, real workloads misbehave."""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import sqlite3
import stat
import struct
import subprocess
import tempfile
import termios
import time
import unittest

import testbed

PROGRAM = testbed.BIN / "dvfs-plan"


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dvfs-cli."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def call(self, *arguments, **options):
        environment = dict(os.environ, XDG_STATE_HOME=str(self.folder / "xdg"))
        for name in ("SUDO_UID", "SUDO_USER", "PKEXEC_UID"):
            environment.pop(name, None)
        environment.update(options.pop("environment", {}))
        state = [] if "SUDO_UID" in environment or arguments[0] in ("init", "report", "status", "export", "sql", "--help", "--version") else ["--state-folder", str(self.folder / "state")]
        return subprocess.run([PROGRAM, *arguments, *state], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120, **options)

    def boot_id(self):
        return "unknown"  # what a recorded tree without /proc says

    def query(self, name, sql):
        return testbed.rows(self.folder / name, sql)

    def test_numbers_within_documents_are_metrics(self):
        vegeta = '{"latencies":{"total":1,"99th":8131170},"success":0.998,"status_codes":{"200":4312}}'
        pretty = '{\n  "metrics": {"ttft": [1.5, "2.5"]},\n  "name": "x"\n}'
        self.write("vegeta.txt", "Requests sent\n" + vegeta + "\n")
        self.write("pretty.txt", pretty + "\n")
        self.write("m.yaml", """name: m
workloads:
  - {name: line, command: [cat, vegeta.txt], metrics: [{name: p99, json: /latencies/99th, unit: ns}, {name: ok, json: /status_codes/200}, {name: none, json: /latencies/5th}]}
  - {name: whole, command: [cat, pretty.txt], metrics: [{name: second, json: /metrics/ttft/1, unit: ms}, {name: text, json: /name}]}
  - {name: file, shell: cp vegeta.txt report.json, metrics: [{name: p99, json: /latencies/99th, unit: ns, file: report.json}, {name: gone, json: /gone, file: report.json}]}
  - {name: stale, command: ["true"], metrics: [{name: p99, json: /latencies/99th, file: old.json}, {name: never, json: /a, file: never.json}]}
  - {name: failing, shell: ln -s /proc/self/mem failing.json, metrics: [{name: p, json: /a, file: failing.json}]}
  - {name: fifo, shell: mkfifo pipe.json, metrics: [{name: p, json: /a, file: pipe.json}]}
repeat: 1
objective: time
conditions: {warm up: 0, foreign load: off, temperature: off}
""")
        self.write("vegeta.txt", vegeta + "\n")
        self.write("old.json", vegeta)
        run = self.call("m.yaml")
        self.assertEqual(run.returncode, 0, run.stderr)
        # A disk that fails as the file is read: the trial is what it was.
        self.assertIn(f"warning: failing #1: metric 'p': {self.folder}/failing.json cannot be read: Input/output error\n", run.stderr)
        self.assertEqual(self.query("m.sqlite", "SELECT verdict FROM trials WHERE workload = 'failing'")[0]["verdict"], "ok")
        found = {(row["key"].split()[0], row["name"], row["value"], row["unit"]) for row in testbed.rows(self.folder / "m.sqlite", "SELECT key, name, m.value, m.unit FROM metrics m JOIN trials t USING (trial)")}
        self.assertEqual(found, {("line", "p99", 8131170, "ns"), ("line", "ok", 4312, ""), ("whole", "second", 2.5, "ms"), ("file", "p99", 8131170, "ns")})
        for text in (f"warning: file #1: metric 'gone': {self.folder}/report.json has no number at /gone\n", f"warning: stale #1: metric 'p99': {self.folder}/old.json was not written in this trial\n",
                     f"warning: stale #1: metric 'never': {self.folder}/never.json is not there\n", f"warning: fifo #1: metric 'p': {self.folder}/pipe.json is no file\n"):
            self.assertIn(text, run.stderr)

    def test_parameters_that_do_the_same_work_compete_without_a_metric(self):
        text = "name: threads\nworkloads: [{name: w, command: [sleep, '{length}']}]\naxes: {length: ['0.05', '0.2']}\nrepeat: 2\nconditions: {warm up: 0, foreign load: off, temperature: off}\nobjective: "
        self.write("apart.yaml", text + "time\n")
        check = self.call("check", "apart.yaml")
        self.assertIn("\n  note: each value of length is work of another kind, so nothing is compared; where each run does the same work: objective: {minimise: time, across: [length], same work: true}; "
                      "where a metric counts it: per: METRIC\n", check.stdout)
        self.write("threads.yaml", text + "{minimise: time, across: [length], same work: true}\n")
        self.assertNotIn("nothing is compared", self.call("check", "threads.yaml").stdout)
        run = self.call("threads.yaml", "--json")
        scenario = json.loads(run.stdout)["scenarios"][0]
        self.assertEqual((scenario["scenario"], scenario["best_settings"]), ("w", {"length": "0.05"}), run.stderr)
        self.assertEqual(len(scenario["points"]), 2)

    @testbed.on_a_busy_host
    def test_workloads_that_misbehave_are_recorded_bounded_and_the_sweep_goes_on(self):
        self.write("bad.yaml", """
name: bad
order: listed
repeat: 1
objective: time
conditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 0}
workloads:
  - {name: exits, command: [sh, -c, "echo partial; exit 1"]}
  - {name: dies, command: [sh, -c, "kill -SEGV $$"]}
  - {name: hangs, command: [sleep, "1019"], timeout: 300 ms, grace: 100 ms}
  - {name: hangs-hard, shell: "trap '' TERM; while :; do sleep 1; done", timeout: 300 ms, grace: 100 ms}
  - {name: floods, shell: "head -c 1000000000 /dev/zero; echo; echo rate 7 1/s", output_cap: 64 KiB, metrics: [lines]}
  - {name: daemon, shell: "setsid sleep 1019 >/dev/null 2>&1 & sleep 0.2"}
  - {name: deletes, command: [rm, victim]}
  - {name: missing, command: [./victim]}
  - {name: fine, command: ["true"]}
  - {name: binary, shell: "printf 'caf\\\\303\\\\251 \\\\377\\\\000 end'"}
""")
        self.write("victim", "#!/bin/sh\n")
        (self.folder / "victim").chmod(0o755)
        result = self.call("bad.yaml")
        self.assertEqual(result.returncode, 1, result.stderr)
        trials = {t["workload"]: t for t in self.query("bad.sqlite", "SELECT * FROM trials")}
        self.assertEqual({name: (t["outcome"], t["exit_code"], t["signal"], t["verdict"]) for name, t in trials.items()}, {
            "exits": ("exited", 1, None, "exited"),
            "dies": ("signalled", None, "SIGSEGV", "signalled"),
            "hangs": ("timed_out", None, "SIGTERM", "timed_out"),
            "hangs-hard": ("timed_out", None, "SIGKILL", "timed_out"),
            "floods": ("completed", 0, None, "ok"),
            "daemon": ("completed", 0, None, "ok"),
            "deletes": ("completed", 0, None, "ok"),
            "missing": ("not_launched", None, None, "not_launched"),
            "fine": ("completed", 0, None, "ok"),
            "binary": ("completed", 0, None, "ok"),
        })
        self.assertEqual(trials["binary"]["output_tail"], "caf\u00e9 \ufffd\ufffd end")  # text, for whoever asks by SQL
        self.assertEqual(trials["exits"]["output_tail"], "partial\n")
        self.assertEqual(trials["floods"]["output_bytes"], 1000000001 + len("rate 7 1/s\n"))
        self.assertRegex(trials["missing"]["verdict_text"], r"^exec .*: No such file or directory$")
        self.assertEqual(self.query("bad.sqlite", "SELECT name, value, unit FROM metrics"), [{"name": "rate", "value": 7.0, "unit": "1/s"}])
        self.assertEqual(trials["daemon"]["leftovers"], 1)
        self.assertLess((self.folder / "bad.sqlite").stat().st_size, 1_000_000)
        left = subprocess.run(["pgrep", "-f", "^sleep 1019"], capture_output=True, text=True).stdout
        self.assertEqual(left, "")
        kinds = {w["kind"] for w in self.query("bad.sqlite", "SELECT kind FROM warnings")}
        self.assertLessEqual({"output_truncated", "leftover_processes"}, kinds)

    SLOW = "name: slow\nrepeat: 4\nobjective: time\nconditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 0}\nworkloads: [{name: w, command: [sleep, \"{t}\"]}]\naxes: {t: [0.1, %s]}\n"

    def test_an_interrupted_run_resumes_to_exactly_the_planned_trials(self):
        # From the second trial on they wait until it was looked at and interrupted.
        self.write("slow.yaml", (self.SLOW % "0.2").replace('command: [sleep, "{t}"]', "shell: 'echo x >>count; [ $(wc -l <count) = 1 ] || while [ -e hold ]; do sleep 0.05; done; sleep {t}'"))
        self.write("hold", "")
        state = ["--state-folder", str(self.folder / "state")]
        running = subprocess.Popen([PROGRAM, "slow.yaml", *state], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in running.stderr:
            if " #1: " in line:
                break
        status = json.loads(self.call("status", "slow.sqlite", "--json").stdout)
        self.assertTrue(status["running"])
        self.assertEqual(status["pid"], running.pid)
        running.terminate()
        output, errors = running.communicate(timeout=30)
        self.assertEqual(running.returncode, 143)
        self.assertIn("Unfinished: ", output)
        self.assertRegex(errors, r"The same command goes on: (sudo )?dvfs-plan slow.yaml\n")
        done = self.query("slow.sqlite", "SELECT count(*) AS n FROM trials")[0]["n"]
        self.assertGreaterEqual(done, 1)
        self.assertLess(done, 8)
        (self.folder / "hold").unlink()
        status = json.loads(self.call("status", "slow.sqlite", "--json").stdout)
        self.assertEqual((status["running"], status["finished_trials"], status["last_session_ended"]), (False, done, "interrupted"))
        # A file that a night went on in, and that is newer, is named; of one that is older this one knows.
        shutil.copy(self.folder / "slow.sqlite", self.folder / "slow.rescued.sqlite")
        self.assertIn("warning: result_rescued: slow.rescued.sqlite lies beside it, is newer, and may hold what this file lacks: a night goes on in such a file "
                      "where its own is lost; dvfs-plan status slow.rescued.sqlite\n", self.call("status", "slow.sqlite").stdout)
        os.utime(self.folder / "slow.rescued.sqlite", (0, 0))
        self.assertNotIn("rescued", self.call("status", "slow.sqlite").stdout)
        self.assertEqual(self.call("slow.yaml").returncode, 0)
        self.assertEqual(self.query("slow.sqlite", "SELECT count(*) AS n, count(DISTINCT key) AS keys FROM trials"), [{"n": 8, "keys": 8}])
        # Killed as it took in that its file asks for less, it had not concluded: who has nothing else to do does that.
        with contextlib.closing(sqlite3.connect(self.folder / "slow.sqlite")) as file, file:
            file.execute("DELETE FROM conclusion")
        again = self.call("slow.yaml", "--json")
        self.assertEqual((again.returncode, json.loads(again.stdout)["finished_trials"]), (0, 8))
        with contextlib.closing(sqlite3.connect(self.folder / "slow.sqlite")) as file:
            self.assertEqual(file.execute("SELECT concluded FROM experiments").fetchall(), [(1,)])

    def test_the_best_is_confirmed_in_fresh_blocks_whatever_happens_meanwhile(self):
        self.write("twice.yaml", "name: twice\nrepeat: {min: 2, confirm: 5}\nreference: {t: 0.2}\nconditions: {warm up: 0, foreign load: off, reruns: 0}\n"
                   "objective: {minimise: time, per: samples, across: [t]}\nworkloads: [{name: w, shell: '/usr/bin/python3 -S -E takes.py {t} 0.02; echo samples 1 samples', metrics: [lines]}]\naxes: {t: [0.1, 0.2, 0.3]}\nmeasure: {region: work}\n")
        testbed.made_up_times(self.folder)
        plan = self.call("check", "twice.yaml").stdout
        self.assertIn("2 blocks (8 trials), at last 5 blocks of the best point, its rivals and the reference (20 trials at most; none where the reference is the best)", plan)
        running = subprocess.Popen([PROGRAM, "twice.yaml", "--state-folder", str(self.folder / "state")], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in running.stderr:
            if " #3" in line:
                break
        running.kill()
        running.communicate(timeout=30)
        # What is concluded was written after each block, and the program itself knows of all.
        finished = self.query("twice.sqlite", "SELECT count(*) AS n FROM trials")[0]["n"]
        self.assertGreaterEqual(finished, 8)
        self.assertEqual(self.query("twice.sqlite", "SELECT concluded FROM experiments"), [{"concluded": int(finished == 8)}])
        self.assertEqual(self.query("twice.sqlite", "SELECT sum(trials) AS n FROM points"), [{"n": 8}])
        self.assertEqual(len(self.query("twice.sqlite", "SELECT * FROM best")), 1)
        self.assertEqual(json.loads(self.call("sql", "twice.sqlite", "SELECT sum(trials) AS n, (SELECT concluded FROM experiments) AS c FROM points", "--json").stdout),
                         [{"n": finished, "c": 1}])
        result = self.call("twice.yaml")  # waits for the guardian of the killed one
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"w: the least time per sample at t = 0.1 .* less time \(95 % interval [^)]*(as the least of 2|from 5 fresh blocks)\)")
        self.assertEqual(self.query("twice.sqlite", "SELECT block > 2 AS late, confirms, count(*) AS n FROM trials GROUP BY 1, 2"),
                         [{"late": 0, "confirms": 0, "n": 8}, {"late": 1, "confirms": 1, "n": 15}])
        report = json.loads(self.call("report", "twice.sqlite", "--json").stdout)
        gain = report["scenarios"][0]["gain_of_best"]
        self.assertEqual(self.query("twice.sqlite", "SELECT point, gain, gain_low, gain_high FROM best"),
                         [{"point": "w t=0.1", "gain": gain["value"], "gain_low": gain["low_95"], "gain_high": gain["high_95"]}])
        self.assertEqual(report["scenarios"][0]["gain_from_fresh_blocks"], "from 5 fresh blocks" in result.stdout)
        again = self.call("twice.yaml")
        self.assertIn("is finished", again.stderr)

    def test_a_process_number_that_is_somebody_else_s_by_now_is_no_night(self):
        """Behind a `docker kill` the night's number is another process's, and in another container it is none at all: its lock says what is so."""
        self.write("one.yaml", "name: one\nrepeat: 2\nobjective: time\nconditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 0}\nworkloads: [{name: w, command: [sleep, '60']}]\n")
        running = subprocess.Popen([PROGRAM, "one.yaml", "--state-folder", str(self.folder / "state")], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_for(lambda: subprocess.run(["pgrep", "-P", str(running.pid), "-x", "sleep"], capture_output=True).returncode == 0)

        def looked_at():
            status = json.loads(self.call("status", "one.sqlite", "--json").stdout)
            return status["running"], status["pid"]

        self.assertEqual(looked_at(), (True, running.pid))
        # As from another container, in which nobody has that number.
        elsewhere = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", PROGRAM, "status", "one.sqlite", "--json"], cwd=self.folder, capture_output=True, text=True)
        if elsewhere.returncode:
            print("SKIPPED looking from another container: " + elsewhere.stderr.strip())
        else:
            self.assertTrue(json.loads(elsewhere.stdout)["running"])
        # A copy that was made of all its files: the lock's says nothing, the process itself lives.
        (self.folder / "copy").mkdir()
        for file in self.folder.glob("one.sqlite*"):
            shutil.copy(file, self.folder / "copy")
        self.assertTrue(json.loads(self.call("status", "copy/one.sqlite", "--json").stdout)["running"])
        running.kill()
        running.wait()
        self.wait_for(lambda: not looked_at()[0])
        # A recheck, which is no session of the night's.
        lock = self.folder / "one.sqlite.lock"
        lock.write_text(re.sub(r"^pid \d+", f"pid {os.getpid()}", lock.read_text()))
        with lock.open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            self.assertEqual(json.loads(self.call("status", "one.sqlite", "--json").stdout)["other_writer"], os.getpid())
            self.assertIn(f"\nprocess {os.getpid()} is writing the result now: a recheck, or a run that has just begun\n", self.call("status", "one.sqlite").stdout)
        self.assertIsNone(json.loads(self.call("status", "one.sqlite", "--json").stdout)["other_writer"])
        # The number of a process that lives, as if it had been given to it: ours.
        with contextlib.closing(sqlite3.connect(self.folder / "one.sqlite")) as result, result:
            result.execute("UPDATE session SET pid = ?", (os.getpid(),))
        self.assertEqual(looked_at(), (False, None))
        self.assertIn("\nnot running; the last run was killed.", self.call("status", "one.sqlite").stdout)
        self.assertEqual(self.call("status", "one.sqlite", "--watch").returncode, 0)

    def test_a_changed_file_goes_on_with_what_it_adds_and_asks(self):
        self.write("slow.yaml", self.SLOW % "0.11")
        self.assertEqual(self.call("slow.yaml").returncode, 0)
        before = self.query("slow.sqlite", "SELECT key, time_s FROM trials ORDER BY trial")
        self.write("slow.yaml", self.SLOW % "0.11, 0.12")
        check = self.call("check", "slow.yaml")
        self.assertIn("a run goes on with what changed: axes / t: 0.12 added\n", check.stdout + check.stderr)
        self.assertEqual(self.query("slow.sqlite", "SELECT count(*) AS n FROM growths"), [{"n": 0}])
        grown = self.call("slow.yaml")
        self.assertEqual(grown.returncode, 0, grown.stderr)
        self.assertIn("added: axes / t: 0.12 added\n", grown.stderr)
        rows = self.query("slow.sqlite", "SELECT key, time_s FROM trials ORDER BY trial")
        self.assertEqual(rows[:len(before)], before)
        self.assertEqual(self.query("slow.sqlite", "SELECT changes, first_block FROM growths"), [{"changes": "axes / t: 0.12 added", "first_block": 5}])
        self.assertEqual(sum("t=0.12 " in row["key"] for row in rows), 4)
        self.assertEqual(testbed.integrity(self.folder / "slow.sqlite"), "ok")
        self.assertIn("the experiment's file changed on ", grown.stdout)
        # Taken away it counts no more, and its trials stay.
        self.write("slow.yaml", self.SLOW % "0.11")
        fewer = self.call("slow.yaml")
        self.assertEqual(fewer.returncode, 0, fewer.stderr)
        self.assertIn("no more in the experiment: axes / t: 0.12 taken away\nits trials stay in the result, and do not count\n", fewer.stderr)
        self.assertEqual(len(self.query("slow.sqlite", "SELECT * FROM trials")), len(rows))
        self.assertEqual(self.query("slow.sqlite", "SELECT DISTINCT left_out FROM trials WHERE point LIKE '%t=0.12' AND NOT counts"), [{"left_out": "the experiment has its point no more"}])

    def test_a_changed_file_is_refused_where_trials_would_not_compare(self):
        self.write("slow.yaml", self.SLOW % "0.11")
        self.assertEqual(self.call("slow.yaml").returncode, 0)
        self.write("slow.yaml", (self.SLOW % "0.11").replace("warm up: 0", "warm up: 1"))
        refused = self.call("slow.yaml", "--quiet")
        self.assertEqual(refused.returncode, 2)
        self.assertEqual(refused.stderr, f"""error: {self.folder.resolve()}/slow.sqlite holds trials of another plan; what changed:
  conditions / warm up: 0 -> 1
  it has trials: 8 of w
  hint: undo the change to resume, use --fresh to start a new result (the old one is kept), or --output for another file
""")
        (self.folder / "slow.html").write_text("my own notes\n")
        self.assertEqual(self.call("slow.yaml", "--fresh", "--no-html").returncode, 0)
        kept = [f for f in self.folder.glob("slow.*.sqlite")]
        self.assertEqual(len(kept), 1)
        self.assertEqual(([f.name for f in self.folder.glob("slow*.html")], (self.folder / "slow.html").read_text()), (["slow.html"], "my own notes\n"))  # only its own page moves with it
        (self.folder / "slow.html").unlink()
        self.assertEqual(testbed.rows(kept[0], "SELECT count(*) AS n FROM trials")[0]["n"], 8)
        self.assertEqual(self.query("slow.sqlite", "SELECT count(*) AS n FROM trials WHERE role <> 'warm_up'")[0]["n"], 8)

    def test_check_changes_nothing_and_says_what_a_run_would_do(self):
        self.write("slow.yaml", self.SLOW % "0.3")
        before = sorted(p.name for p in self.folder.iterdir())
        check = self.call("check", "slow.yaml", "--json")
        plan = json.loads(check.stdout)
        self.assertEqual((plan["trials"], len(plan["points"]), len(plan["order"]), plan["would_set"]), (8, 2, 8, []))
        self.assertEqual(plan["points"][1]["argv"], ["sleep", "0.3"])
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), before)
        self.write("wrong.yaml", (self.SLOW % "0.3") + "repat: 2\nsed: 1\n")
        wrong = self.call("check", "wrong.yaml", "--json")
        self.assertEqual(wrong.returncode, 2)
        said = json.loads(wrong.stdout)
        self.assertEqual((said["experiment"], said["runnable"]), (None, False))
        self.assertEqual(said["problems"], [line for line in wrong.stderr.splitlines() if not line.startswith("  hint")])
        self.assertEqual(len(said["problems"]), 2)
        self.assertIn("2 points, 4 blocks: 8 trials, in shuffled blocks (seed 1)", self.call("check", "slow.yaml").stdout)

    def test_values_cannot_become_shell_code(self):
        self.write("shell.yaml", """
name: shell
repeat: 1
objective: time
conditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 0}
workloads:
  - {name: argv, command: [printf, "%s|", "{x}"]}
  - {name: shell, shell: "printf '%s|' {x} end"}
axes: {x: ["a b", "$(touch pwned)", "'; touch pwned; '", "`touch pwned`", "a\\nb"]}
""")
        self.assertEqual(self.call("shell.yaml").returncode, 0)
        self.assertFalse((self.folder / "pwned").exists())
        seen = self.query("shell.sqlite", "SELECT t.workload, v.text, t.output_tail FROM trials t JOIN point_values v USING (point)")
        self.assertEqual(len(seen), 10)
        for trial in seen:
            self.assertEqual(trial["output_tail"], trial["text"] + ("|" if trial["workload"] == "argv" else "|end|"))

    def test_under_sudo_the_result_and_the_workload_belong_to_the_invoking_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be behind sudo")
        self.folder.chmod(0o755)
        theirs = self.folder / "theirs"
        theirs.mkdir()
        os.chown(theirs, 65534, 65534)
        (theirs / "who.yaml").write_text("name: who\nrepeat: 1\nobjective: time\nconditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 0}\nworkloads: [{name: w, shell: 'echo uid $(id -u); echo home $HOME', metrics: [lines]}]\n")
        result = subprocess.run([PROGRAM, "who.yaml"], cwd=theirs, capture_output=True, text=True,
                                env=dict(os.environ, SUDO_UID="65534", HOME="/root"))
        self.assertEqual(result.returncode, 0, result.stderr)
        for file in theirs.glob("who.sqlite*"):
            self.assertEqual(file.stat().st_uid, 65534, file)
        self.assertEqual(testbed.rows(theirs / "who.sqlite", "SELECT value FROM metrics WHERE name = 'uid'"), [{"value": 65534.0}])
        self.assertNotIn("home /root", testbed.rows(theirs / "who.sqlite", "SELECT output_tail FROM trials")[0]["output_tail"])
        # A link planted where the result would be is not followed.
        (theirs / "who.sqlite").unlink()
        (theirs / "who.sqlite").symlink_to(self.folder / "roots-own")
        again = subprocess.run([PROGRAM, "who.yaml"], cwd=theirs, capture_output=True, text=True,
                               env=dict(os.environ, SUDO_UID="65534"))
        self.assertEqual(again.returncode, 3)
        self.assertFalse((self.folder / "roots-own").exists())

    def test_the_state_folder_is_private_and_the_lock_holds(self):
        self.write("slow.yaml", self.SLOW % "0.05")
        self.assertEqual(self.call("slow.yaml").returncode, 0)
        self.assertEqual(stat.S_IMODE((self.folder / "state").stat().st_mode), 0o700)

    def test_mistakes_at_the_command_line(self):
        self.assertEqual(self.call("chek").stderr, "error: chek: there is no such file (did you mean the command 'check'?)\n  hint: `dvfs-plan --help` shows a first experiment\n")
        self.assertEqual(self.call("chek").returncode, 2)
        self.assertIn("hint: did you mean the command 'check'?", self.call("chek", "x.yaml").stderr)
        os.mkfifo(self.folder / "pipe.yaml")  # nobody writes to it
        self.assertEqual(self.call("pipe.yaml").stderr, "error: pipe.yaml is not a file\n  hint: give the experiment's YAML file\n")
        self.assertIn("hint: dvfs-plan FILE.yaml runs it; there is no 'run'", self.call("run", "x.yaml").stderr)
        for meant, words in (("--json", ["report", "x.sqlite", "--jsn"]), ("--rehearse", ["check", "x.yaml", "--reherse"]), ("--no-html", ["x.yaml", "--no-htlm"]), ("--table", ["export", "x.sqlite", "--tabel=trials"])):
            said = self.call(*words)
            self.assertEqual((said.returncode, said.stdout), (2, ""), words)
            self.assertTrue(said.stderr.endswith(f"\n  hint: did you mean the option '{meant}'?\n"), said.stderr)
        both = self.call("sql", "x.sqlite", "SELECT 1", "--csv", "--json")
        self.assertEqual((both.returncode, both.stderr), (2, "error: --csv and --json are two forms of one answer\n  hint: ask for one of them\n"))
        self.write("faulty.yaml", "workloads: [{name: a, command: [no-such-program]}]\nrepeet: 2\n")
        faulty = self.call("faulty.yaml")
        self.assertEqual(faulty.returncode, 2)
        self.assertEqual(faulty.stderr, """faulty.yaml:1:33: error: workload 'a': there is no command 'no-such-program' on PATH; give its path, relative to the experiment file
faulty.yaml:2:1: error: unknown key 'repeet' in the experiment (did you mean 'repeat'?)
  hint: nothing was run and nothing was set
""")
        self.write("energy.yaml", "workloads: [{name: a, command: [\"true\"]}]\n")
        if not any(pathlib.Path("/sys/class/powercap").glob("*")) and not pathlib.Path("/sys/bus/event_source/devices/power").exists():
            energy = self.call("energy.yaml", "--quiet")
            self.assertEqual((energy.returncode, energy.stderr), (3, "error: the objective is energy, but no energy sensor works here\n"
                                                                     "  hint: `dvfs-plan doctor` shows the sensors and the fix for each; `objective: {minimise: energy, of: DOMAIN}` names one; without energy there is `objective: time`\n"))
        self.assertIn("A first experiment", self.call("--help").stdout)

    def test_a_value_that_is_empty_is_no_value(self):
        """--fail-if-worse "$limit" with a variable that is not set."""
        for arguments in (("compare", "--fail-if-worse", "", "a.sqlite", "b.sqlite"), ("use", "--slowdown", "", "a.sqlite", "--", "true"), ("setting", "a.sqlite", "--workload", ""),
                          ("report", "a.sqlite", "--html", ""), ("x.yaml", "--output", ""), ("export", "a.sqlite", "-o", " ")):
            said = self.call(*arguments)
            name = next(word for word in arguments if word.startswith("-"))
            name = "--output" if name == "-o" else name
            self.assertEqual((said.returncode, said.stderr), (2, f"error: {name}: the value is empty\n  hint: a variable of the shell that is not set? Give a value, or leave it out\n"), arguments)

    def test_what_the_system_says_no_to_is_its_word_and_no_fault_of_ours(self):
        self.write("slow.yaml", self.SLOW % "0.05")
        self.assertEqual(self.call("slow.yaml", "--no-html").returncode, 0)
        self.write("other.yaml", (self.SLOW % "0.05").replace("name: slow", "name: other"))
        self.assertEqual(self.call("other.yaml", "--no-html").returncode, 0)
        said = self.call("merge", "a=slow.sqlite", "b=other.sqlite", "-o", "gone/all.sqlite")
        self.assertEqual((said.returncode, said.stderr), (3, f"error: --output gone/all.sqlite: {self.folder}/gone is no folder\n  hint: make it, or choose another place with --output\n"))
        said = self.call("recheck", "slow.sqlite", "--experiment", "gone.yaml")
        self.assertEqual((said.returncode, said.stderr), (2, "error: --experiment gone.yaml: No such file or directory\n"
                                                             "  hint: it is where the experiment's file is: programs are sought from its folder\n"))
        (self.folder / "dangling.sqlite").symlink_to("/nowhere/else.sqlite")
        said = self.call("slow.yaml", "--no-html", "--output", "dangling.sqlite")
        self.assertEqual(said.returncode, 3)
        self.assertIn("dangling.sqlite: it is a link to /nowhere/else.sqlite, and nothing is there\n  hint: is that disk mounted? Name the file itself, or choose another place with --output\n", said.stderr)

    def test_a_journal_that_cannot_be_read_is_no_dead_end(self):
        root, state = self.folder / "machine", self.folder / "state"
        (root / "sys").mkdir(parents=True)
        (root / "sys/good").write_text("changed\n")
        state.mkdir(mode=0o700)
        cut = f"dvfs-plan journal 2\nexperiment\tx.yaml\nboot_id\t{self.boot_id()}\nsysfs_root\t{root}\npid\t1\nrun\t\nsetting\tb\t/sys/good\t1\nsetting\tb\t/sys/ba"
        for text, found, hint in ((cut, "its end is missing; it says:\n  /sys/good was '1'", "put those back by hand; then `dvfs-plan restore --discard`, which keeps the file under another name"),
                                  ("", "its first line is another", "what each setting was before the last sweep is not known: look at them yourself, or restart the machine; then `dvfs-plan restore --discard`, "
                                                                    "which keeps the file under another name")):
            (state / "journal").write_text(text)
            failed = self.call("restore", "--sysfs-root", str(root))
            self.assertEqual((failed.returncode, failed.stderr), (4, f"error: {state}/journal cannot be understood: {found}\n  hint: {hint}\n"))
            given_up = self.call("restore", "--discard", "--sysfs-root", str(root))
            self.assertEqual(given_up.returncode, 0, given_up.stderr)
            self.assertFalse((state / "journal").exists())
            kept = re.search(r"; it is kept as (\S+)\n", given_up.stdout)[1]
            self.assertEqual((state / kept).read_text(), text)
        os.mkfifo(state / "journal")
        failed = self.call("restore", "--sysfs-root", str(root))  # it was waited for
        self.assertEqual((failed.returncode, failed.stderr), (3, f"error: {state}/journal: wanted a file, found something else\n"
                                                                 "  hint: look what put it there; nothing of dvfs-plan does. Then remove it\n"))

    def test_a_flood_of_warnings_is_counted(self):
        self.write("fails.yaml", "name: fails\nworkloads: [{name: w, shell: 'exit 3'}]\nrepeat: 12\nobjective: time\nconditions: {warm up: 0, foreign load: off, temperature: off, idle: none, reruns: 0, give up after: never}\n")
        said = [line for line in self.call("fails.yaml", "--no-html").stderr.splitlines() if "does not count" in line]
        self.assertEqual(said[:2], [f"warning: w #{n} does not count (exited): the workload exited with 3" for n in (1, 2)])
        self.assertEqual(said[2], "warning: w #3 does not count (exited): the workload exited with 3; further ones like it are counted")
        self.assertEqual(said[3:], ["warning: 10 times so far (exited); the last: w #10 does not count (exited): the workload exited with 3"])

    def test_a_night_that_gave_up_says_what_is_run_again(self):
        self.write("fails.yaml", "name: fails\nworkloads: [{name: w, shell: 'exit 3'}]\nrepeat: 12\nobjective: time\nconditions: {warm up: 0, foreign load: off, temperature: off, idle: none, reruns: 0}\n")
        self.assertEqual(self.call("fails.yaml", "--no-html").returncode, 6)
        status = self.call("status", "fails.sqlite").stdout
        self.assertRegex(status, r"^fails: 5 of 12 trials finished, 0 of them count\n")
        self.assertIn("not running; the last run ended as 'gave_up'. The same command goes on, and runs 5 of the finished trials again.\n", status)
        self.assertIn("Unfinished: 12 of 12 trials are still to be run", self.call("report", "fails.sqlite").stdout)

    def on_a_terminal(self, columns, *arguments, answer=False):
        """What the program writes to a terminal of so many columns, until it ends: what it says, or its answer."""
        terminal, line = pty.openpty()
        fcntl.ioctl(line, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        run = subprocess.Popen([PROGRAM, *arguments, "--state-folder", str(self.folder / "state")], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=line if answer else subprocess.DEVNULL, stderr=subprocess.DEVNULL if answer else line)
        os.close(line)
        written = b""
        with contextlib.suppress(OSError):  # EIO: nobody has it open any more
            while read := os.read(terminal, 65536):
                written += read
        os.close(terminal)
        self.assertEqual(run.wait(timeout=60), 0)
        return written.decode()

    def test_the_line_that_moves(self):
        self.write("moves.yaml", "name: moves\nworkloads: [{name: w, shell: 'sleep 0.0{n}'}]\naxes: {n: [1, 5]}\nrepeat: 6\nobjective: {minimise: time, across: [n], same work: true}\nreference: {n: 5}\n"
                                 "conditions: {warm up: 0, foreign load: off, temperature: off, idle: none}\n")
        for columns in (60, 160):
            with self.subTest(columns):
                lines = [line for line in re.split(r"\r|\n", self.on_a_terminal(columns, "moves.yaml", "--fresh", "--no-html").replace("\x1b[K", "")) if line.startswith("[")]
                self.assertRegex(lines[0], r"^\[0/18\] -{20} 0 m?s gone, ETA after the first ")
                self.assertRegex(lines[9], r"^\[9/18\] #{10}-{10} [0-9.]+ m?s gone, ETA [0-9.]+ m?s")
                self.assertLess(max(map(len, lines)), columns)
                self.assertEqual(any(re.search(r"so far w n=1, ([0-9.]+ % better than w n=5 \([0-9.]+ to [0-9.]+\)|not shown to be better than w n=5 \(95 % interval -[0-9.]+ to [0-9.]+ % better\))$", line) for line in lines), columns == 160, lines)
        for coloured, environment, words in ((False, {}, []), (True, {}, ["--color", "always"]), (True, {"NO_COLOR": "1"}, ["--color=always"]), (False, {"NO_COLOR": "1"}, [])):
            self.assertEqual("\x1b[1m" in self.call("report", "moves.sqlite", *words, environment=environment).stdout, coloured, words)
        self.assertIn("--color: ", self.call("report", "moves.sqlite", "--color", "red").stderr)
        status = self.call("status", "moves.sqlite").stdout
        self.assertRegex(status, r"\nso far, of 18 trials: w n=1, ([0-9.]+ % better than w n=5 \([0-9.]+ to [0-9.]+\)|not shown to be better than w n=5 \(95 % interval -[0-9.]+ to [0-9.]+ % better\))\ndone\n$")
        self.assertEqual(json.loads(self.call("status", "moves.sqlite", "--json").stdout)["best"][0]["point"], "w n=1")

    def test_nothing_is_wider_than_its_terminal(self):
        self.write("wide.yaml", "name: wide\nworkloads: [{name: a workload of some name, shell: 'sleep 0.0{n}'}]\naxes: {n: [1, 3, 5]}\nrepeat: 3\nobjective: {minimise: time, across: [n], same work: true}\n"
                                "conditions: {warm up: 0, foreign load: off, temperature: off, idle: none}\n")
        self.assertEqual(self.call("wide.yaml", "--quiet", "--no-html").returncode, 0)
        whole = self.call("report", "wide.sqlite").stdout
        for columns in (60, 80, 120):
            with self.subTest(columns):
                text = re.sub(r"\x1b\[[0-9;]*m", "", self.on_a_terminal(columns, "report", "wide.sqlite", answer=True)).replace("\r", "")
                self.assertLessEqual(max(map(len, text.splitlines())), columns)
                # Nothing is lost, and no cell is broken.
                self.assertIn(" ".join(whole.splitlines()[-1].split()), " ".join(text.split()))
                self.assertRegex(text, r"(?m)^[*~] n 1, trials \d+,\s+energy —,\s+time [0-9.]+ ± [0-9.]+ m?s" if columns < 80 else "time")
        for words in ([], ["report"], ["setting"]):
            helped = self.on_a_terminal(80, *words, "--help", answer=True).replace("\r", "")
            options = helped.split("Examples:")[0]
            self.assertLessEqual(max(map(len, options.splitlines())), 80, words)
            self.assertEqual(" ".join(options.split()), " ".join(self.call(*words, "--help").stdout.split("Examples:")[0].split()))

    @testbed.on_a_busy_host
    def test_several_answers_are_in_one_table_first(self):
        self.write("many.yaml", "name: many\nworkloads: [{name: w, shell: 'sleep 0.{m}; : {n}'}]\naxes: {n: [10, 2], m: [1, 5]}\nrepeat: 4\nobjective: {minimise: time, across: [m], same work: true}\nreference: {m: 5}\n"
                                "conditions: {warm up: 0, foreign load: off, temperature: off, idle: none}\n")
        lines = self.call("many.yaml", "--no-html", "--quiet").stdout.splitlines()
        self.assertEqual(lines[:2], ["many: 24 trials, objective time, energy of nothing (no energy sensor)", ""] if "nothing" in lines[0] else lines[:2])
        self.assertRegex(lines[2], r"^ +answer +energy +time +better by +slowdown +how sure$")
        for line, n in zip(lines[3:5], (2, 10)):
            self.assertRegex(line, rf"^w n={n} +n = {n}, m = 1 +\S.* +[0-9.]+ ± <?[0-9.]+ m?s +[0-9.]+ % \[[0-9.]+, [0-9.]+\] +-[0-9.]+ % \[-[0-9.]+, -[0-9.]+\] +all others are worse$")

    @testbed.on_a_busy_host
    def test_what_does_not_finish_at_a_setting_is_said_beside_its_mean(self):
        """Half of the trials at n=2 would take 30 s and time out; those that are left are quick."""
        self.write("t.yaml", "name: t\nworkloads: [{name: w, timeout: 4 s, shell: '[ {n} = 2 ] || exec sleep 0.5; c=$(cat c 2>/dev/null || echo 0); echo $((c + 1)) >c; [ $((c % 2)) = 0 ] || exec sleep 30; exec sleep 0.2'}]\n"
                             "axes: {n: [1, 2]}\nrepeat: 4\norder: listed\nobjective: {minimise: time, across: [n], same work: true}\nreference: {n: 1}\n"
                             "conditions: {warm up: 0, foreign load: off, temperature: off, idle: none, reruns: 0, references: false}\n")
        said = self.call("t.yaml", "--no-html", "--quiet")
        self.assertEqual(said.returncode, 1, said.stderr)
        text = " ".join(said.stdout.split())
        self.assertIn("At n = 2, 2 of its 4 trials did not finish their work (2 timed_out) and are in no mean: what is said of it is of those that did.", text)
        self.assertIn("w: the trials ran in the order of the file (order: listed): what drifts within a block is in the savings, and in no interval", text)
        put = self.call("use", "t.sqlite", "--", "true")
        self.assertIn("warning: 2 of its 4 trials did not finish their work (2 timed_out) and are in no mean: what is said of it is of those that did\n", put.stderr)

    @testbed.on_a_busy_host
    def test_a_single_trial_is_told_apart_from_none(self):
        """All but the first trial at n=3 fail: its scatter is not known, however far it lies."""
        self.write("o.yaml", "name: o\nworkloads: [{name: w, shell: '[ {n} = 3 ] || exec sleep 0.{n}; [ ! -e once ] || exit 1; touch once; exec sleep 0.9'}]\naxes: {n: [1, 2, 3]}\nrepeat: 3\n"
                             "objective: {minimise: time, across: [n], same work: true}\nreference: {n: 1}\nconditions: {warm up: 0, foreign load: off, temperature: off, idle: none, reruns: 0, references: false}\n")
        said = self.call("o.yaml", "--no-html", "--quiet")
        self.assertEqual(said.returncode, 1, said.stderr)
        text = " ".join(said.stdout.split())
        self.assertRegex(text, r"At the 5 % level it cannot be told from (n = 2; )?n = 3\.")
        self.assertNotIn("Every other point is worse", text)

    @testbed.on_a_busy_host
    def test_an_answer_is_rechecked_without_knobs_too(self):
        self.write("work.sh", "sleep $1\n")
        self.write("r.yaml", """name: r
workloads: [{name: w, command: [sh, work.sh, "{t}"]}]
axes: {t: [0.1, 0.3, 0.5]}
repeat: 4
objective: {minimise: time, across: [t], same work: true}
reference: {t: 0.5}
conditions: {warm up: 0, foreign load: off, temperature: off, idle: none}
""")
        night = self.call("r.yaml", "--quiet", "--json", "--no-html")
        self.assertEqual(night.returncode, 0, night.stderr)
        again = self.call("recheck", "r.sqlite", "--quiet", "--blocks", "4", "--no-html")
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        self.assertRegex(again.stdout, r"^w: the answer stands: the change since then, .* is within the noise\n  at t = 0\.1: against the reference [0-9.]+ % \[[0-9., ]+\] less time then, [0-9.]+ % \[[0-9., ]+\] now \(1[0-9] of 1[0-9] trials in 4 blocks\)\n$")
        # Where its answer cannot be written it is kept all the same.
        with open("/dev/full", "w") as disk:
            unsaid = subprocess.run([PROGRAM, "recheck", "r.sqlite", "--quiet", "--blocks", "4", "--no-html", "--state-folder", str(self.folder / "state")], cwd=self.folder, stdout=disk,
                                    stderr=subprocess.PIPE, text=True)
        self.assertEqual((unsaid.returncode, unsaid.stderr), (3, "error: write the answer to its end: No space left on device\n"
                                                                 f"  hint: is the disk full? What was found is kept: dvfs-plan report {self.folder}/r.sqlite\n"))
        self.assertEqual([row["session"] for row in self.query("r.sqlite", "SELECT session FROM rechecks ORDER BY session")], [2, 3])
        # The night is finished and what it was; the file's trials of the recheck count for nothing else.
        same = self.call("r.yaml", "--quiet", "--json", "--no-html")
        self.assertEqual(json.loads(same.stdout)["scenarios"], json.loads(night.stdout)["scenarios"])
        self.assertEqual([row["recheck"] for row in self.query("r.sqlite", "SELECT recheck FROM sessions")], [0, 1, 1])
        # One that is killed leaves its trials in a log beside the result: the night's own command puts them in.
        log = self.folder / "r.sqlite-wal"
        with subprocess.Popen([PROGRAM, "recheck", "r.sqlite", "--no-html", "--state-folder", str(self.folder / "state")], cwd=self.folder, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as killed:
            while not log.exists() or log.stat().st_size == 0:
                self.assertIsNone(killed.poll())
                time.sleep(0.02)
            killed.kill()
        told = self.call("r.yaml", "--no-html")
        self.assertIn(f"all of it is in {self.folder}/r.sqlite\n", told.stderr)
        # What it would run is another program by now.
        self.write("work.sh", "sleep $1; true\n")
        other = self.call("recheck", "r.sqlite", "--quiet")
        self.assertEqual(other.returncode, 2)
        self.assertRegex(other.stderr, r"^error: what r\.sqlite ran is not the same any more:\n  [^\n]*work\.sh[^\n]*\n  hint: nothing was run; undo that, or sweep again and compare the two: dvfs-plan compare BEFORE AFTER\n$")
        # A workload that fails by now is a change.
        self.write("work.sh", "sleep $1\n")
        self.write("flat.yaml", (self.folder / "r.yaml").read_text().replace("name: r\n", "name: flat\n").replace("[0.1, 0.3, 0.5]", "[0.05]").replace("reference: {t: 0.5}\n", ""))
        self.assertEqual(self.call("flat.yaml", "--quiet", "--no-html").returncode, 0)
        none = self.call("recheck", "flat.sqlite")
        self.assertEqual((none.returncode, none.stderr), (3, "error: flat.sqlite claims no saving that could be rechecked: no best is known, or the reference is the best\n  hint: `dvfs-plan report` says why\n"))
        # A merge leaves it out; an index says when it was looked at last.
        index = json.loads(self.call("index", ".", "--json").stdout)
        self.assertEqual([row["file"] for row in index["results"]], ["flat.sqlite", "r.sqlite"])
        self.assertRegex(index["results"][1]["rechecked"], r"^20\d\d-\d\d-\d\d stands$")
        self.assertEqual(index["results"][1]["share_of_reference"], "t 20 %")
        # The last is the last whatever the clock said then.
        with contextlib.closing(sqlite3.connect(self.folder / "r.sqlite")) as result, result:
            (before,) = result.execute("SELECT started_at FROM session WHERE id = 2").fetchone()
            result.execute("UPDATE session SET started_at = '2099-01-01T00:00:00.000Z' WHERE id = 2")
        index = json.loads(self.call("index", ".", "--json").stdout)
        self.assertRegex(index["results"][1]["rechecked"], r"^20[2-8]\d-\d\d-\d\d stands$")
        with contextlib.closing(sqlite3.connect(self.folder / "r.sqlite")) as result, result:
            result.execute("UPDATE session SET started_at = ? WHERE id = 2", (before,))
        # Of what is the best since, nobody has looked whether it stands.
        self.write("r.yaml", (self.folder / "r.yaml").read_text().replace("[0.1, 0.3, 0.5]", "[0.02, 0.1, 0.3, 0.5]"))
        grown = self.call("r.yaml", "--quiet", "--no-html")
        self.assertEqual(grown.returncode, 0, grown.stderr)
        self.assertRegex(grown.stdout, r"\nRechecked:\n  20\d\d-\d\d-\d\d w at t = 0\.1, which is not the best here: stands: [0-9.]+ % \[")
        index = json.loads(self.call("index", ".", "--json").stdout)
        self.assertEqual(index["results"][1]["best"], "t = 0.02")
        self.assertRegex(index["results"][1]["rechecked"], r"^20\d\d-\d\d-\d\d stands \(of t = 0\.1\)$")

    def test_results_of_any_name_have_pages_of_their_own(self):
        self.write("n.yaml", "name: n\nworkloads: [{name: w, command: [sleep, '0.0{t}']}]\naxes: {t: [1, 2]}\nrepeat: 1\nprobes: []\nsettle: 1 ms\nconditions: {warm up: 0, idle: none, foreign load: off, temperature: off}\n"
                   "objective: {minimise: time, across: [t], same work: true}\n")
        for name, page in (("n.sqlite", "n.html"), ("n.db", "n.db.html"), ("s.mon", "s.mon.html"), ("s.tue", "s.tue.html")):
            night = self.call("n.yaml", "-o", name, "--quiet")
            self.assertTrue((self.folder / page).exists(), night.stderr + str(list(self.folder.iterdir())))
            (self.folder / page).rename(self.folder / "seen.html")
        self.assertEqual(sorted(path.name for path in self.folder.glob("*.html")), ["seen.html"])

    def test_a_rehearsal_runs_each_work_once_and_keeps_nothing(self):
        self.write("n.yaml", """name: n
workloads: [{name: good, command: [sleep, "0.{t}"]}, {name: bad, shell: "echo no such data >&2; exit 3"}]
axes: {t: [1, 2]}
repeat: 5
objective: {minimise: time, across: [t], same work: true}
conditions: {warm up: 0, foreign load: off, temperature: off, idle: none}
""")
        done = self.call("check", "n.yaml", "--rehearse")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stdout, r"^rehearsal of n: each work once, at its reference; nothing of it is kept\n\n.*\n *bad +.*exited\n *good t=1 .* (?:ms|s) .*counts\n")
        self.assertIn("\nbad: the workload exited with 3; it said: no such data\n", done.stdout)
        self.assertRegex(done.stdout, r"\nthe night: about [0-9.]+ (m?s|min)[^\n]* for 5 blocks, as fast as here; lower clocks take longer")
        said = json.loads(self.call("check", "n.yaml", "--rehearse", "--json").stdout)
        self.assertEqual([(row["point"], row["counts"]) for row in said["rehearsed"]], [("bad", False), ("good t=1", True)])
        # Ten of the good one, 0.1 s at least.
        self.assertGreater(said["expected_s"], 10 * 0.1)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir() if path.suffix in (".sqlite", ".html", ".logs")), [])

    def test_each_example_of_a_commands_help_runs(self):
        """Read-only commands and those that a folder holds all for; what needs a cluster is refused by Slurm's absence, not as a misuse."""
        night = """name: night
workloads: [{name: train, command: [sh, -c, "echo samples 5; sleep 0.$1", sh, "{n}"], metrics: [lines]}]
axes: {n: [1, 4]}
repeat: 4
probes: [{name: wall, command: [sh, -c, "i=0; while :; do i=$((i+1)); echo power $((100 + i % 2)) W; sleep 0.01; done"], channels: {power: {unit: W, averages over: 10 ms}}, rate: 100 Hz}]
objective: {minimise: time, across: [n], same work: true}
conditions: {warm up: 0, foreign load: off, temperature: off, idle: none}
"""
        self.write("night.yaml", night + "reference: {n: 4}\n")
        self.write("table.csv", "device,workload,core_mhz,mem_mhz,power_limit_w,repeat,seconds,joules,avg_watts\n"
                   + "".join(f"d,w,{core},5000,300,{r},{1000 / core + r / 1000},{40 + core / 50},{(40 + core / 50) / (1000 / core)}\n" for core in range(500, 1500, 100) for r in range(2)))
        for name in ("make", "python3", "mail", "xz"):
            (self.folder / "bin").mkdir(exist_ok=True)
            (self.folder / "bin" / name).write_text("#!/bin/sh\n")
            (self.folder / "bin" / name).chmod(0o755)
        for result in ("night", "before", "after", "a1", "a2", "b1", "b2"):
            self.assertIn(self.call("night.yaml", "--quiet", "--no-html", "--output", f"{result}.sqlite").returncode, (0, 1))
        (self.folder / "home/.config/fish/completions").mkdir(parents=True)
        commands = re.findall(r"^  ([a-z]+)  ", self.call("--help").stdout, re.M)
        self.assertGreater(len(commands), 15)
        allowed = {"check": (0, 1), "submit": (2,), "collect": (2,), "doctor": (0, 3), "recheck": (0, 1, 7), "compare": (0, 1), "setting": (2,), "restore": (0,)}  # setting: of parameters alone there is none
        environment = dict(os.environ, PATH=f"{self.folder}/bin:{PROGRAM.parent}:{os.environ['PATH']}", XDG_STATE_HOME=str(self.folder / "xdg"), HOME=str(self.folder / "home"))
        for command in commands:
            lines = re.findall(r"^  ((?:sudo |source )?\S*dvfs-plan.*|source .*)$", self.call(command, "--help").stdout.split("Examples:\n")[1], re.M)
            self.assertEqual(len(lines), 2, command)
            for line in lines:
                with self.subTest(line):
                    # Root needs no sudo here.
                    done = subprocess.run(["bash", "-c", line.replace("sudo ", "")], cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
                    self.assertIn(done.returncode, allowed.get(command, (0,)), done.stdout[-500:] + done.stderr[-500:])
                    self.assertNotIn("Run with --help", done.stderr)
            for made in ("both.sqlite",):
                (self.folder / made).unlink(missing_ok=True)

    def test_a_file_may_have_any_name(self):
        name = b"n\xff \xc3\xa9"
        with open(os.path.join(os.fsencode(str(self.folder)), name + b".yaml"), "wb") as file:
            file.write(b"{workloads: [{name: w, command: ['true']}], objective: time, repeat: 1, probes: []}")
        run = self.call(name + b".yaml", "--no-html", errors="replace")
        self.assertEqual(run.returncode, 0, run.stderr)
        for command in ("status", "report"):
            said = self.call(command, name + b".sqlite", "--json", errors="replace")
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertIn("\ufffd", json.loads(said.stdout)["experiment"])
        self.assertEqual(self.call(name + b".yaml", "--no-html", errors="replace").returncode, 0)

    def test_the_version_says_what_it_reads(self):
        self.assertRegex(self.call("--version").stdout, r"^dvfs-plan \d+\.\d+\.\d+\nresult files of schema versions 2 to \d+; built by g\+\+ \S+( \S+)* with SQLite 3\.\d+\.\d+\n$")

    def test_a_first_experiment_is_written(self):
        import yaml
        self.write("big.txt", "b\na\n")
        said = self.call("init", "--", "sort", "--parallel=1", "big.txt")
        self.assertEqual((said.returncode, said.stdout, said.stderr), (0, "sort.yaml is written. What it would do, changing nothing:  dvfs-plan check sort.yaml\n", ""))
        text = (self.folder / "sort.yaml").read_text()
        self.assertIn("\n    command: [sort, '--parallel=1', big.txt]  # ", text)
        checked = self.call("check", "sort.yaml")
        self.assertEqual(checked.returncode, 0, checked.stderr + text)
        again = self.call("init", "--", "sort", "big.txt")
        self.assertEqual((again.returncode, again.stderr), (2, "error: sort.yaml is there already\n  hint: name another one:  dvfs-plan init --output FILE.yaml -- COMMAND\n"))
        self.assertEqual((self.folder / "sort.yaml").read_text(), text)
        missing = self.call("init", "--", "no-such-program")
        self.assertEqual((missing.returncode, missing.stderr), (2, "error: there is no program 'no-such-program' on the PATH\n  hint: give its path, such as ./no-such-program; nothing was written\n"))
        strange = self.call("init", "--", "sort", b"caf\xe9.txt")
        self.assertEqual((strange.returncode, strange.stderr), (2, "error: 'caf\\xe9.txt' is not valid UTF-8, and an experiment file is UTF-8 text\n"
                                                                   "  hint: give it another name, or run it from a script whose path is UTF-8; nothing was written\n"))
        nothing = subprocess.run([PROGRAM, "init"], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual((nothing.returncode, nothing.stderr), (2, "error: init wants the command that is to be measured\n  hint: dvfs-plan init -- xz -T4 --keep --stdout big.tar\n"))
        for words in (["sort", "it's", "a b", "-", "--", "x: y", "# no", "null", "5", "[a]", "tab\there", ""], ["sort", "caf\u00e9", "*", "&a", "!x", "%y", "@z", "a,b", "'"]):
            with self.subTest(words):
                shown = self.call("init", "-o", "-", "--", *words)
                self.assertEqual(yaml.load(shown.stdout, Loader=yaml.BaseLoader)["workloads"][0]["command"], words, shown.stderr)
        self.assertEqual(yaml.safe_load(self.call("init", "-o", "-", "--", "sort", "{a}{a} {b").stdout)["workloads"][0]["command"], ["sort", "{{a}}{{a}} {b"])
        shown = self.call("init", "-o", "-", "--", "sh", "-c", "sort big.txt | head -1").stdout
        self.assertEqual(yaml.safe_load(shown)["workloads"][0], {"name": "sort", "shell": "sort big.txt | head -1"})
        # As the program would have had them: a shell would empty big.txt.
        for words in (["grep", "-c", ">", "big.txt"], ["grep", "|", "a b"], ["find", ".", "-name", "*.c", "-exec", "wc", "{}", ";"]):
            with self.subTest(words):
                shown = self.call("init", "-o", "-", "--", *words).stdout
                self.assertEqual(yaml.safe_load(shown)["workloads"][0], {"name": words[0], "command": words})
        said = self.call("init", "--", "grep", "-c", ">", "big.txt")
        self.assertEqual((said.returncode, said.stdout), (0, "grep.yaml is written. '>' is an argument of grep there; for a shell's own, give it one:  dvfs-plan init -- sh -c '...'\n"
                                                             "What it would do, changing nothing:  dvfs-plan check grep.yaml\n"))

    def completed(self, *words):
        """What bash offers behind these words."""
        script = f"source <({PROGRAM} completion bash); COMP_WORDS=(dvfs-plan \"$@\"); COMP_CWORD=$#; _dvfs_plan; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        out = subprocess.run(["bash", "-c", script, "bash", *words], cwd=self.folder, capture_output=True, text=True, check=True)
        self.assertEqual(out.stderr, "")
        return out.stdout.split()

    def test_shells_complete_commands_options_and_files(self):
        for name in ("a.yaml", "b.yml", "c.sqlite", "d.txt"):
            self.write(name, "")
        (self.folder / "inner").mkdir()
        with self.subTest("bash"):
            self.assertEqual(self.completed("che"), ["check"])
            self.assertEqual(self.completed("check", ""), ["a.yaml", "b.yml", "inner"])
            self.assertEqual(self.completed("report", ""), ["c.sqlite", "inner"])
            self.assertEqual(self.completed("compare", "--fail"), ["--fail-if-worse"])
            self.assertEqual(self.completed("--fr"), ["--fresh"])
            self.assertIn("doctor", self.completed(""))
            self.assertNotIn("registered", self.completed(""))
        with self.subTest("fish"):
            self.write("completion.fish", subprocess.run([PROGRAM, "completion", "fish"], capture_output=True, text=True, check=True).stdout)
            fish = lambda line: subprocess.run(["fish", "--no-config", "-c", f"source completion.fish; complete -C '{line}'"], cwd=self.folder, env=dict(os.environ, HOME=str(self.folder)),
                                               capture_output=True, text=True, check=True).stdout
            self.assertEqual(fish("dvfs-plan che"), "check\tvalidate an experiment against this machine; changes nothing\n")
            self.assertIn("--fail-if-worse\t", fish("dvfs-plan compare --fail"))
        with self.subTest("zsh"):
            self.write("_dvfs-plan", subprocess.run([PROGRAM, "completion", "zsh"], capture_output=True, text=True, check=True).stdout)
            # Its completion needs a terminal: what _describe and _arguments are called with is looked at instead.
            script = "_describe() { print -l -- ${(P)2} }; _arguments() { print -l -- $@ }; words=(dvfs-plan %s); CURRENT=%d; source ./_dvfs-plan"
            zsh = lambda words, at: subprocess.run(["zsh", "-f", "-c", script % (words, at)], cwd=self.folder, capture_output=True, text=True, check=True).stdout
            self.assertIn("check:validate an experiment against this machine; changes nothing\n", zsh("''", 2))
            self.assertIn("--fail-if-worse[", zsh("compare ''", 3))
            self.assertNotIn("check:", zsh("compare ''", 3))
        refused = subprocess.run([PROGRAM, "completion", "tcsh"], capture_output=True, text=True)
        self.assertEqual((refused.returncode, refused.stderr), (2, "error: no completion for the shell 'tcsh'\n  hint: there is one for bash, zsh and fish\n"))

    def test_doctor_self_says_what_it_needs(self):
        root = self.folder / "root"
        (root / "sys/class").mkdir(parents=True)
        for arguments, code, error in (
                (("--lasts", "5"), 2, "error: --lasts 5: wanted a duration from 10 s to 24 h\n  hint: such as --lasts 3min\n"),
                (("--lasts", "10s"), 3, "error: doctor --self: there is no probe here\n  hint: `dvfs-plan doctor` says what is missing\n")):
            said = self.call("doctor", "--self", *arguments, "--sysfs-root", str(root))
            self.assertEqual((said.returncode, said.stderr), (code, error))
        alone = self.call("doctor", "--lasts", "10s", "--sysfs-root", str(root))
        self.assertEqual((alone.returncode, alone.stderr), (2, "--lasts requires --self\nRun with --help for more information.\n"))
        chip = root / "sys/class/hwmon/hwmon0"
        chip.mkdir(parents=True)
        (chip / "name").write_text("board\n")
        (chip / "power1_input").write_text("20000000\n")
        said = self.call("doctor", "--self", "--sysfs-root", str(root))
        self.assertEqual((said.returncode, said.stderr), (3, "error: doctor --self: nothing here counts energy by itself (RAPL, a board's or a meter's counter), and a power that is not read says "
                                                             "nothing of what it is while nobody reads\n  hint: `dvfs-plan doctor` says what is missing; as root more is there\n"))

    def test_doctor_reads_a_recorded_machine(self):
        root = self.folder / "machine"
        policy = root / "sys/devices/system/cpu/cpufreq/policy0"
        policy.mkdir(parents=True)
        for name, text in {"affected_cpus": "0", "scaling_driver": "acpi-cpufreq", "scaling_governor": "schedutil", "scaling_available_governors": "performance schedutil",
                           "cpuinfo_min_freq": "1000000", "cpuinfo_max_freq": "3000000", "scaling_min_freq": "1000000", "scaling_max_freq": "2000000",
                           "scaling_available_frequencies": "3000000 2000000 1000000", "bios_limit": "2000000", "scaling_cur_freq": "1000000"}.items():
            (policy / name).write_text(text + "\n")
        daemon = root / "proc/4242"
        daemon.mkdir(parents=True)
        (daemon / "comm").write_text("thermald\n")
        found = json.loads(self.call("doctor", "--json", "--sysfs-root", str(root)).stdout)
        knobs = {k["axis"]: k for k in found["knobs"]}
        self.assertEqual(knobs["cpu.frequency"]["offers"], "1 GHz, 2 GHz, 3 GHz")
        self.assertEqual(found["services"], [{"service": "thermald", "pid": 4242, "why": "lowers limits when it is warm", "cpu": None, "sets": True, "fix": "sudo systemctl stop thermald"}])
        self.assertIn("policy0: the firmware limits it to 2 GHz now (bios_limit); it can do 3 GHz", [n["note"] for n in found["notes"]])

    def test_restore_that_fails_prints_the_exact_commands(self):
        root = self.folder / "machine"
        (root / "sys").mkdir(parents=True)
        (root / "sys/good").write_text("changed\n")
        state = self.folder / "state"
        state.mkdir(mode=0o700)
        (state / "journal").write_text(f"dvfs-plan journal 2\nexperiment\tx.yaml\nboot_id\t{self.boot_id()}\nsysfs_root\t{root}\npid\t1\nrun\t\n"
                                       "setting\ta\t/sys/gone\ttwo words\nsetting\tb\t/sys/good\t1\nend\n")
        failed = self.call("restore", "--sysfs-root", str(root))
        self.assertEqual(failed.returncode, 4)
        self.assertEqual(failed.stderr, """error: 1 of 2 settings could not be put back:
  /sys/gone: wanted 'two words', found 'No such file or directory' (No such file or directory)
  note: /sys/good read 'changed' before it was put back: that the run had set this is not on record; if somebody else did, it is to be set again
  hint: these commands put them back, then `dvfs-plan restore` clears the journal (`restore --discard` gives them up):
  echo 'two words' | sudo tee /sys/gone
""")
        self.assertEqual((root / "sys/good").read_text(), "1")
        (root / "sys/gone").write_text("two words\n")
        self.assertEqual(self.call("restore", "--sysfs-root", str(root)).returncode, 0)
        self.assertFalse((state / "journal").exists())

    @testbed.on_a_busy_host
    def test_a_meter_of_ones_own(self):
        self.write("meter.yaml", """
name: meter
repeat: 2
conditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 0}
workloads: [{name: w, command: [sleep, "0.5"]}]
probes:
  - name: wall
    command: [sh, -c, "i=0; while :; do i=$((i+1)); echo power $((100 + i % 2)) W; sleep 0.02; done"]
    channels: {power: {unit: W}}
    rate: 100 Hz
""")
        result = self.call("meter.yaml")
        self.assertEqual(result.returncode, 0, result.stderr + result.stdout)
        for trial in self.query("meter.sqlite", "SELECT energy_j, time_s FROM trials"):
            self.assertAlmostEqual(trial["energy_j"] / trial["time_s"], 100.5, delta=1)

    def test_a_kill_leaves_no_workload_even_where_nothing_was_set(self):
        self.killed_leaves_nothing("setsid sleep 987 & sleep 987")

    def test_a_kill_leaves_no_workload_that_took_its_mark_away(self):
        groups = self.control_groups()
        if groups is None:
            self.skipTest("no control group can be made here: only the mark in its environment shows whose a process is")
        killed = self.killed_leaves_nothing("setsid env -i sleep 987 & sleep 987")
        self.wait_for(lambda: not list(groups.glob(f"dvfs-plan.{killed}-*")))  # other tests have theirs there

    def control_groups(self):
        """The folder of our own control group, where one may be made in it."""
        with open("/proc/self/mountinfo") as mounts:
            unified = [line.split()[4] for line in mounts if " - cgroup2 " in line]
        with open("/proc/self/cgroup") as group:
            own = [line.strip()[3:] for line in group if line.startswith("0::")]
        if not unified or not own:
            return None
        folder = pathlib.Path(unified[0] + own[0])
        try:
            (folder / "dvfs-plan-test-may").mkdir()
            (folder / "dvfs-plan-test-may").rmdir()
        except OSError:
            return None
        return folder

    def killed_leaves_nothing(self, shell):
        self.write("kill.yaml", "name: kill\nrepeat: 1\nobjective: time\nconditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 0}\nworkloads: [{name: w, shell: '" + shell + "'}]\n")
        running = subprocess.Popen([PROGRAM, "kill.yaml", "--state-folder", str(self.folder / "state")], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        workload = lambda: subprocess.run(["pgrep", "-f", "^sleep 987"], capture_output=True, text=True).stdout.split()
        self.wait_for(lambda: len(workload()) == 2)
        running.kill()
        running.wait()
        self.wait_for(lambda: not workload())
        return running.pid

    def wait_for(self, condition):
        deadline = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def test_a_log_that_cannot_be_written_does_not_end_the_night(self):
        self.write("slow.yaml", self.SLOW % "0.05")
        with open("/dev/full", "w") as full:
            code = subprocess.run([PROGRAM, "slow.yaml", "--state-folder", str(self.folder / "state")], cwd=self.folder, stdout=full, stderr=full).returncode
        self.assertEqual(code, 3)  # the report is not there for who looks for it
        self.assertEqual(self.query("slow.sqlite", "SELECT count(*) AS n FROM trials")[0]["n"], 8)

    def test_an_answer_that_cannot_be_written_is_an_error(self):
        self.write("slow.yaml", self.SLOW % "0.05")
        self.assertEqual(self.call("slow.yaml", "--no-html", "--quiet").returncode, 0)
        self.write("t.csv", "device,workload,core_mhz,repeat,seconds,joules\n" + "".join(f"d,w,{100 * f},1,{10 / f},{f * f + 100 / f}\n" for f in range(1, 9)))
        full = "error: write the answer to its end: No space left on device\n  hint: is the disk full?\n"
        for words in (("sql", "slow.sqlite", "select * from trials"), ("sql", "slow.sqlite", "select * from trials", "--csv"), ("sql", "slow.sqlite", "select * from trials", "--json"),
                      ("replay", "t.csv", "--seeds", "2"), ("replay", "t.csv", "--seeds", "2", "--json"), ("restore", "--state-folder", str(self.folder / "state")),
                      ("restore", "--json", "--state-folder", str(self.folder / "state")), ("report", "slow.sqlite"), ("status", "slow.sqlite")):
            with self.subTest(words=words), open("/dev/full", "w") as disk:
                said = subprocess.run([PROGRAM, *words], cwd=self.folder, stdout=disk, stderr=subprocess.PIPE, text=True)
                self.assertEqual((said.returncode, said.stderr), (3, full))

    def test_a_place_where_the_night_could_not_write_is_told_before(self):
        self.write("slow.yaml", self.SLOW % "0.05")
        place = self.folder / "read-only"
        place.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "none", str(place)]).returncode != 0:
            self.skipTest("nothing may be mounted here")
        self.addCleanup(subprocess.run, ["umount", str(place)])
        for words in (("check", "slow.yaml", "-o", "read-only/x.sqlite"), ("check", "slow.yaml", "-o", "read-only/x.sqlite", "--rehearse"), ("slow.yaml", "-o", "read-only/x.sqlite")):
            with self.subTest(words=words):
                said = self.call(*words)
                self.assertEqual((said.returncode, said.stdout), (3, ""))
                self.assertTrue(said.stderr.endswith(f"error: create result file {place}/x.sqlite: Read-only file system\n  hint: choose another place with --output\n"), said.stderr)

    def test_nohup_holds(self):
        self.write("slow.yaml", self.SLOW % "0.2")
        running = subprocess.Popen(["nohup", PROGRAM, "slow.yaml", "--state-folder", str(self.folder / "state")], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in running.stderr:
            if " #1: " in line:
                break
        running.send_signal(signal.SIGHUP)
        running.communicate(timeout=60)
        self.assertEqual(running.returncode, 0)

    def test_a_result_held_by_somebody_else_costs_no_trial(self):
        self.write("slow.yaml", self.SLOW % "0.2")
        running = subprocess.Popen([PROGRAM, "slow.yaml", "--state-folder", str(self.folder / "state")], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in running.stderr:
            if " #1: " in line:
                break
        holder = sqlite3.connect(self.folder / "slow.sqlite", isolation_level=None, timeout=30)
        holder.execute("BEGIN IMMEDIATE")
        time.sleep(6.5)  # longer than the program waits in one go
        holder.execute("ROLLBACK")
        holder.close()
        _, errors = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 0, errors)
        self.assertIn("warning: result file: another program holds it (database is locked); trying again for ten minutes", errors)
        self.assertEqual(self.query("slow.sqlite", "SELECT count(*) AS n FROM trials")[0]["n"], 8)

    def test_an_invoking_user_who_cannot_be_found_is_not_root(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be behind sudo")
        self.write("slow.yaml", self.SLOW % "0.05")
        refused = self.call("slow.yaml", "--quiet", environment={"SUDO_UID": "54321"})
        self.assertEqual((refused.returncode, refused.stderr), (3, "error: SUDO_UID=54321 names no user that can be looked up\n  hint: run as a user that `getent passwd` knows\n"))

    def test_a_trial_during_which_the_program_was_stopped_does_not_count(self):
        self.write("stop.yaml", "name: stop\nrepeat: 1\nobjective: time\nconditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 0}\nworkloads: [{name: w, command: [sleep, '0.5']}]\n")
        running = subprocess.Popen([PROGRAM, "stop.yaml", "--state-folder", str(self.folder / "state")], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.wait_for(lambda: subprocess.run(["pgrep", "-P", str(running.pid), "-x", "sleep"], capture_output=True).returncode == 0)
        running.send_signal(signal.SIGSTOP)
        time.sleep(1)
        running.send_signal(signal.SIGCONT)
        self.assertEqual(running.wait(timeout=30), 1)
        self.assertEqual(self.query("stop.sqlite", "SELECT verdict FROM trials"), [{"verdict": "stopped"}])

    def test_repeated_runs_within_a_trial(self):
        self.write("runs.yaml", """
name: runs
repeat: 1
objective: {minimise: time, per: samples}
conditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 0}
measure: {at least: 2 s}
workloads:
  - {name: fine, shell: "sleep 0.1; echo samples 10 >&2", metrics: [lines]}
  - {name: forgets, shell: "sleep 0.1; [ -e again ] || echo samples 10; touch again", metrics: [lines]}
  - {name: slow, shell: "echo begin r >>$DVFS_PLAN_REGIONS; sleep 0.02; echo end r >>$DVFS_PLAN_REGIONS; sleep 0.2; echo samples 1", metrics: [lines], timeout: 700 ms}
""")
        result = self.call("runs.yaml")
        self.assertEqual(result.returncode, 1, result.stderr)
        trials = {t["workload"]: t for t in self.query("runs.sqlite", "SELECT * FROM trials")}
        fine = trials["fine"]
        self.assertGreaterEqual(fine["runs"], 2)
        self.assertEqual(fine["units"], 10 * fine["runs"])
        self.assertEqual(fine["error_bytes"], len("samples 10\n") * fine["runs"])  # of all runs, not of the last
        self.assertAlmostEqual(fine["objective_value"], fine["time_s"] / 10, places=9)
        self.assertEqual((trials["forgets"]["verdict"], trials["forgets"]["objective_value"]), ("no_metric", None))
        self.assertLessEqual(trials["slow"]["runs"], 5)  # the timeout bounds the trial, not each run only
        self.assertIn("shorter_than_asked", {w["kind"] for w in self.query("runs.sqlite", "SELECT kind FROM warnings")})
        self.write("named.yaml", (self.folder / "runs.yaml").read_text().replace("name: runs", "name: named").replace("{at least", "{region: train, at least"))
        self.call("named.yaml")
        self.assertEqual({(t["verdict"], t["runs"]) for t in self.query("named.sqlite", "SELECT verdict, runs FROM trials WHERE workload <> 'slow'")}, {("no_region", 1)})

    def test_replay_says_how_a_search_would_have_done(self):
        rows = ["device,workload,core_mhz,mem_mhz,power_limit_w,repeat,seconds,joules,avg_watts"]
        for mhz in range(500, 2000, 100):
            clock, voltage = mhz / 1900, 1 + max(0, mhz / 1900 - 0.6)
            seconds = 0.3 + 0.7 / clock
            rows.append(f"board,work,{mhz},,,1,{seconds},{seconds * (60 + 140 * clock * voltage ** 2)},")
        (self.folder / "table.csv").write_text("\n".join(rows) + "\n")
        adaptive = self.call("replay", "table.csv", "--trials", "10", "--noise-time", "0.5%", "--noise-power", "2%", "--seeds", "8", "--json")
        self.assertEqual((adaptive.returncode, adaptive.stderr), (0, ""))
        workload = json.loads(adaptive.stdout)["workloads"][0]
        self.assertEqual((workload["device"], workload["workload"], workload["settings"], len(workload["plays"])), ("board", "work", 15, 8))
        for play in workload["plays"]:
            self.assertEqual(play["trials"], 10)
            self.assertEqual((play["bound"], play["bound_held"]), (None, None))  # too few of ten trials repeat a setting: their scatter is not known
        longer = json.loads(self.call("replay", "table.csv", "--trials", "14", "--noise-time", "0.5%", "--noise-power", "2%", "--seeds", "8", "--json").stdout)
        bounded = [play for play in longer["workloads"][0]["plays"] if play["bound"] is not None]
        self.assertTrue(bounded, longer)
        for play in bounded:
            self.assertEqual(play["bound_held"], play["regret"] <= play["bound"] + 1e-12)
        self.assertEqual(workload["mean_regret"], sum(p["regret"] for p in workload["plays"]) / 8)
        again = self.call("replay", "table.csv", "--trials", "10", "--noise-time", "0.5%", "--noise-power", "2%", "--seeds", "8", "--json")
        self.assertEqual(adaptive.stdout, again.stdout)
        full = json.loads(self.call("replay", "table.csv", "--search", "full", "--seeds", "1", "--json").stdout)["workloads"][0]
        table = [line.split(",") for line in (self.folder / "table.csv").read_text().splitlines()[1:]]
        highest, best = max(table, key=lambda row: [float(x or 0) for x in row[2:5]]), min(table, key=lambda row: float(row[7]))
        self.assertAlmostEqual(full["best_saves"], 1 - float(best[7]) / float(highest[7]))
        self.assertAlmostEqual(full["best_is_slower_by"], float(best[6]) / float(highest[6]) - 1)
        self.assertRegex(self.call("replay", "table.csv", "--search", "full", "--seeds", "1").stdout, r"(?m)^  the best setting there saves \d+\.\d % against the highest \(median of 1 workloads, ")
        self.assertEqual((full["plays"][0]["chosen"], full["plays"][0]["regret"], full["plays"][0]["bound"]), (full["best"], 0, None))
        self.assertRegex(self.call("replay", "table.csv", "--seeds", "2").stdout, r"(?m)^board work +15 +12\.0 +\d")
        # What breaks the constraint may have less than all that hold it: no regret is stated of it, and it is in no mean.
        limit = json.loads(self.call("replay", "table.csv", "--trials", "10", "--noise-time", "2%", "--noise-power", "2%", "--seeds", "12", "--json",
                                     "--objective", "{minimise: energy, subject to: {slowdown: 12 %}}").stdout)["workloads"][0]
        named = [play for play in limit["plays"] if play["chosen"] is not None]
        holding = [play for play in named if not play["violates"]]
        self.assertTrue(0 < len(holding) < 12, limit)  # else nothing of this is seen
        self.assertEqual(limit["named"], len(named))
        self.assertTrue(all(play["regret"] >= 0 for play in holding), holding)
        self.assertTrue(all(play["regret"] is None and play["bound_held"] is None for play in limit["plays"] if play not in holding), limit)
        self.assertAlmostEqual(limit["mean_regret"], sum(play["regret"] for play in holding) / len(holding))
        wrong = self.call("replay", "table.csv", "--noise-power", "2 W")
        self.assertEqual((wrong.returncode, wrong.stderr), (2, "error: --noise-power must be a share of at least 0 and below 100 %, not '2 W'\n  hint: write --noise-power 2%, or 0.02\n"))
        absent = self.call("replay", "absent.csv")
        self.assertEqual((absent.returncode, absent.stderr),
                         (2, "error: 'absent.csv' cannot be read\n  hint: name a table of recorded settings; `dvfs-plan replay --help` says its columns\n"))

    def test_a_table_that_is_interrupted_leaves_nothing(self):
        self.write("slow.yaml", self.SLOW % "0.05")
        self.call("slow.yaml")
        temporary = self.folder / "tmp"
        temporary.mkdir()
        (self.folder / "tools").mkdir()
        node = self.folder / "tools/node"
        node.write_text("#!/bin/sh\n: > " + str(self.folder) + "/begun\nexec sleep 30\n")
        node.chmod(0o755)
        before = set(os.listdir(self.folder)) | {"begun"}
        exporting = subprocess.Popen([PROGRAM, "export", "slow.sqlite", "--format", "parquet", "-o", "slow.parquet"], cwd=self.folder,
                                     env={**os.environ, "TMPDIR": str(temporary), "PATH": f"{node.parent}:{os.environ['PATH']}"})
        while not (self.folder / "begun").exists():
            time.sleep(0.01)
        self.assertEqual(len(os.listdir(temporary)), 1)
        exporting.terminate()
        self.assertEqual(exporting.wait(timeout=10), -signal.SIGTERM)
        self.assertEqual((os.listdir(temporary), set(os.listdir(self.folder))), ([], before))

    def test_a_night_that_is_interrupted_before_its_first_trial_leaves_no_record(self):
        """A meter of the user's own that is ended then ends what it left, and nobody else: the guardian forgets the session."""
        self.write("meter.sh", "#!/bin/sh\n: > begun\nwhile :; do echo wall 50 W; sleep 0.05; done\n")
        (self.folder / "meter.sh").chmod(0o755)
        self.write("slow.yaml", (self.SLOW % "0.05") + "probes: [{name: m, command: [./meter.sh], channels: {wall: {unit: W}}}]\n")
        state = self.folder / "state"
        running = subprocess.Popen([PROGRAM, "slow.yaml", "--state-folder", str(state)], cwd=self.folder, stderr=subprocess.PIPE, text=True)
        while not (self.folder / "begun").exists():
            time.sleep(0.01)
        self.assertTrue((state / "session").exists())
        running.send_signal(signal.SIGINT)
        errors = running.communicate(timeout=30)[1]
        self.assertEqual((running.returncode, errors.splitlines()[-1]), (130, "interrupted before the first trial; nothing was set"))
        self.assertEqual([one for one in os.listdir(state) if one not in ("lock", "copies")], [])

    def test_a_result_of_an_older_schema_is_refused_and_can_be_set_aside(self):
        self.write("slow.yaml", self.SLOW % "0.05")
        self.call("slow.yaml")
        with sqlite3.connect(self.folder / "slow.sqlite") as old:
            old.execute("PRAGMA user_version = 1")
        refused = self.call("slow.yaml", "--quiet")
        newest = 1 + max(int(file.stem.split("_")[1]) for file in (testbed.ROOT / "results/store/migrations").glob("from_*.sql"))
        self.assertEqual((refused.returncode, refused.stderr), (3, f"error: {self.folder.resolve()}/slow.sqlite has schema version 1, of a program before the first release; this one reads versions 2 to {newest}\n"
                                                                   "  hint: report it with the dvfs-plan that made it, or run the experiment again with --fresh\n"))
        self.assertIn("has schema version 1", json.loads(self.call("check", "slow.yaml", "--json").stdout)["problems"][0])
        self.assertEqual(self.call("slow.yaml", "--fresh").returncode, 0)
        self.assertEqual(len(list(self.folder.glob("slow.*.sqlite"))), 1)

    def test_export_and_report(self):
        self.write("slow.yaml", self.SLOW % "0.05")
        self.call("slow.yaml")
        csv = self.call("export", "slow.sqlite").stdout.splitlines()
        self.assertEqual(len(csv), 9)
        self.assertTrue(csv[0].startswith("trial,key,workload,scenario,role,attempt,given_up,confirms,block,"))
        report = self.call("report", "slow.sqlite")
        self.assertEqual(report.returncode, 0)
        self.assertIn("slow: 8 trials", report.stdout)
        spoil = self.call("export", "slow.sqlite", "-o", "slow.sqlite")
        self.assertEqual((spoil.returncode, spoil.stderr), (2, "error: --output slow.sqlite is the result file itself\n  hint: name another file\n"))
        self.assertIn("slow: 8 trials", self.call("report", "slow.sqlite").stdout)
        self.assertEqual(self.call("slow.sqlite").stderr, "error: slow.sqlite is a result file, not an experiment\n  hint: dvfs-plan report slow.sqlite\n")
        shutil.copy(self.folder / "slow.sqlite", self.folder / "-slow.sqlite")
        self.assertEqual(subprocess.run([PROGRAM, "check", "--state-folder", str(self.folder / "state"), "--", "-slow.sqlite"], cwd=self.folder, capture_output=True, text=True).stderr,
                         "error: -slow.sqlite is a result file, not an experiment\n  hint: dvfs-plan report ./-slow.sqlite\n")
        with sqlite3.connect(self.folder / "photos.db") as other:
            other.execute("create table photo (name)")
        self.assertEqual(self.call("check", "photos.db").stderr, "error: photos.db is a SQLite database, not an experiment\n  hint: give the experiment's YAML file\n")
        with open(self.folder / "truncated.sqlite", "wb") as file:
            file.write((self.folder / "slow.sqlite").read_bytes()[:6000])
        self.assertEqual(self.call("report", "truncated.sqlite").returncode, 3)


if __name__ == "__main__":
    testbed.main()
