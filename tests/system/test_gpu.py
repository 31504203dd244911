"""A sweep over a board's clocks, whole: planned, run, killed, put back, resumed, reported. The board is a stand-in that
answers from recordings of a real H200; the program, its guardian, its result and the signals are real."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

import testbed

PROGRAM = testbed.BIN / "dvfs-plan"
UUID = "GPU-00000000-0000-4000-8000-000000000200"
QUIET = "{warm up: 0, idle: none, references: false, foreign load: off, temperature: off, reruns: 0}"
# The board computes while the file is there.
WORK = 'touch "$GPU/busy"; sleep %s; rm -f "$GPU/busy"; echo samples 100'
SWEEP = """
name: sweep
workloads: [{name: w, shell: '%s', metrics: [lines], environment: {GPU: %s}}]
axes: {gpu.core: [1395 MHz, 1695 MHz, 1980 MHz], gpu.memory: [2201 MHz, 3201 MHz]}
repeat: 2
conditions: %s
objective: {minimise: energy, of: gpu, per: samples}
"""


class Gpu(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dvfs-gpu."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.tree = self.folder / "tree"
        self.gpu = self.tree / "gpu"
        for name in ("usr/bin", "usr/lib", "gpu"):
            (self.tree / name).mkdir(parents=True)

    def board(self, library=True):
        shutil.copy(testbed.ROOT / "tests/support/nvidia-smi", self.tree / "usr/bin/nvidia-smi")
        (self.gpu / "recorded").symlink_to(testbed.ROOT / "tests/recorded/nvidia-h200")
        if library:
            shutil.copy(os.environ["DVFS_PLAN_FAKE_NVML"], self.tree / "usr/lib/libnvidia-ml.so.1")

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def sweep(self, seconds="0.4", **changes):
        text = SWEEP % (WORK % seconds, self.gpu, QUIET)
        for before, after in changes.values():
            self.assertIn(before, text)
            text = text.replace(before, after)
        self.write("sweep.yaml", text)

    def arguments(self, *arguments):
        state = [] if arguments[0] in ("report", "export") else ["--state-folder", str(self.folder / "state"), "--sysfs-root", str(self.tree)]
        return [str(PROGRAM), *arguments, *state]

    def environment(self):
        environment = dict(os.environ, GPU=str(self.gpu))
        for name in ("SUDO_UID", "SUDO_USER", "PKEXEC_UID", "CUDA_VISIBLE_DEVICES"):
            environment.pop(name, None)
        return environment

    def call(self, *arguments, **environment):
        return subprocess.run(self.arguments(*arguments), cwd=self.folder, env=dict(self.environment(), **environment),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180)

    def log(self):
        path = self.gpu / "argv.log"
        return path.read_text().splitlines() if path.exists() else []

    def sets(self):
        asks = {"-q", "-l", "-gr", "-ge"}
        return [line.split(" ", 2)[2] for line in self.log() if "query" not in line and not asks & set(line.split())]

    def state(self):
        path = self.gpu / "state.json"
        return json.loads(path.read_text())[UUID] if path.exists() else None

    def test_220_pairs_are_planned_and_nothing_is_set_by_a_check(self):
        self.board()
        self.sweep(all=("gpu.core: [1395 MHz, 1695 MHz, 1980 MHz], gpu.memory: [2201 MHz, 3201 MHz]", "gpu.core: all, gpu.memory: all"))
        check = self.call("check", "sweep.yaml", "--json")
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
        plan = json.loads(check.stdout)
        self.assertEqual(len(plan["points"]), 220)
        self.assertEqual(plan["trials"], 440)
        self.assertEqual(plan["energy_source"], "gpu-0")
        self.assertEqual([point["point"] for point in plan["points"] if point["reference"]], ["w gpu.core=1980 MHz gpu.memory=3201 MHz"])
        self.assertEqual([one["path"] for one in plan["would_set"]],
                         [f"nvidia:{UUID}/{name}" for name in ("lock.memory", "clocks.applications", "lock.core")])
        self.assertEqual(self.sets(), [])

    def test_workload_profiles_are_swept_and_what_was_asked_for_is_put_back(self):
        self.board()
        axes = "gpu.core: [1395 MHz, 1695 MHz, 1980 MHz], gpu.memory: [2201 MHz, 3201 MHz]"
        self.sweep(all=(axes, "gpu.profile: [none, LLM Inference]"))
        refused = self.call("sweep.yaml")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("axis 'gpu.profile': gpu-0 (NVIDIA H200) offers no workload power profiles: boards from Blackwell on do, under driver 570 and later", refused.stderr)
        (self.gpu / "mode").write_text("profiles")
        before = {"lgc": None, "lmc": None, "ac": "3201,1980", "pl": 700.0, "profiles": [2, 13]}
        (self.gpu / "state.json").write_text(json.dumps({UUID: before}))
        run = self.call("sweep.yaml")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        rows = testbed.rows(self.folder / "sweep.sqlite", "SELECT requested, applied, as_requested FROM settings")
        self.assertEqual({(row["requested"], row["applied"]) for row in rows}, {("none", "none"), ("LLM Inference", "LLM Inference")})
        self.assertEqual(sorted(self.state()["profiles"]), [2, 13])
        killed = subprocess.Popen(self.arguments("sweep.yaml", "--fresh"), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while sorted(self.state()["profiles"]) == [2, 13]:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        killed.kill()
        killed.wait()
        while sorted(self.state()["profiles"]) != [2, 13]:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)

    @testbed.on_a_busy_host
    def test_a_sweep_is_run_reported_and_put_back(self):
        self.board()
        self.sweep()
        run = self.call("sweep.yaml")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        # The model's board draws 100 W + 400 W (f / 1980 MHz)^2: the lowest clock wins.
        report = json.loads(self.call("report", "sweep.sqlite", "--json").stdout)
        again, judged = testbed.recomputed(self.folder / "sweep.sqlite")
        self.assertEqual(again, [])
        self.assertGreater(judged, 0)
        scenario = report["scenarios"][0]
        self.assertEqual(scenario["best_settings"]["gpu.core"], "1395 MHz")
        watts = {point["point"]: point["energy_j"]["mean"] / point["time_s"]["mean"] for point in scenario["points"]}
        for clock in (1395, 1695, 1980):
            measured = watts[f"w gpu.core={clock} MHz gpu.memory=3201 MHz"]
            self.assertAlmostEqual(measured / (100 + 400 * (clock / 1980) ** 2), 1, delta=0.1)
        rows = testbed.rows(self.folder / "sweep.sqlite", "SELECT axis, requested, applied, delivered, as_requested FROM settings")
        self.assertEqual(len(rows), 24)
        for row in rows:
            self.assertEqual(row["as_requested"], 1)
            self.assertEqual(row["applied"], row["requested"])
            self.assertEqual(row["delivered"], float(row["requested"].split()[0]) * 1e6)
        self.assertEqual(self.sets()[-2:], ["-rmc", "-rgc"])
        self.assertEqual(self.state(), {"lgc": None, "lmc": None, "ac": "3201,1980", "pl": 700.0})
        facts = {row["name"]: row["value"] for row in testbed.rows(self.folder / "sweep.sqlite", "SELECT * FROM machine_fact")}
        self.assertEqual(facts["gpu-0"], f"NVIDIA H200, {UUID}, NVIDIA 580.159.04")
        self.assertIn("power limit 700.00 W", facts["gpu-0.settings"])

    def test_a_command_runs_at_the_clock_that_was_found(self):
        self.board()
        self.sweep()
        self.assertEqual(self.call("sweep.yaml").returncode, 0)

        def use(*command, options=()):
            done = subprocess.run(self.arguments("use", "sweep.sqlite", *options) + ["--", *command], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(self.state(), {"lgc": None, "lmc": None, "ac": "3201,1980", "pl": 700.0})
            return done

        during = use("sh", "-c", f"cat {self.gpu / 'state.json'}; echo; echo $CUDA_VISIBLE_DEVICES")
        self.assertEqual(during.returncode, 0, during.stderr)
        state, boards = during.stdout.splitlines()
        self.assertEqual(json.loads(state)[UUID]["lgc"], 1395)
        self.assertEqual(boards, UUID)
        self.assertRegex(during.stderr, r"^dvfs-plan: w: gpu\.core = 1395 MHz, gpu\.memory = [23]201 MHz\. Against the reference .* less energy .*\n"
                         r"dvfs-plan: warning: it lies at the edge of what was swept on gpu\.core, gpu\.memory: the optimum may lie beyond\n$")

        # Another driver may move the answer; another board is another machine.
        recorded = testbed.ROOT / "tests/recorded/nvidia-h200"
        (self.gpu / "recorded").unlink()
        shutil.copytree(recorded, self.gpu / "recorded", ignore=shutil.ignore_patterns("driver_*"))

        def record(before, after):
            for path in (self.gpu / "recorded").iterdir():
                text = path.read_text(errors="surrogateescape") if path.is_file() else ""
                if before in text:
                    path.write_text(text.replace(before, after), errors="surrogateescape")

        record("580.159.04", "590.00.01")
        (self.tree / "usr/lib/libnvidia-ml.so.1").unlink()  # it says what it was compiled with
        during = use("true")
        self.assertEqual(during.returncode, 0, during.stderr)
        self.assertIn("dvfs-plan: warning: since it was measured something changed that may move the answer: gpu-0: NVIDIA 580.159.04 there, NVIDIA 590.00.01 here\n", during.stderr)
        record("NVIDIA H200", "NVIDIA H100")
        sets = len(self.sets())
        during = use("touch", "it-ran")
        self.assertEqual(during.returncode, 3, during.stderr)
        self.assertTrue(during.stderr.endswith("error: sweep.sqlite was measured on another kind of machine:\n  gpu-0: NVIDIA H200 there, NVIDIA H100 here\n  hint: nothing was set; measure on this one: "
                                               "the experiment file is in the result,  dvfs-plan sql sweep.sqlite 'SELECT source_text FROM experiment'\n"), during.stderr)
        self.assertEqual(len(self.sets()), sets)
        self.assertFalse((self.folder / "it-ran").exists())

    @unittest.skipIf(os.geteuid() != 0, "only root's own")
    def test_roots_own_run_sets_by_the_nvidia_smi_on_its_path(self):
        self.board(library=False)
        self.sweep("1.2", axes=("{gpu.core: [1395 MHz, 1695 MHz, 1980 MHz], gpu.memory: [2201 MHz, 3201 MHz]}", "{gpu.core: [1395 MHz]}"), repeat=("repeat: 2", "repeat: 1"))
        run = subprocess.run([str(PROGRAM), "sweep.yaml", "--state-folder", str(self.folder / "state")], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=180, env=dict(self.environment(), PATH=f"{self.tree / 'usr/bin'}:{os.environ['PATH']}"))
        self.assertEqual(self.sets(), ["-lgc 1395,1395", "-rgc"], run.stdout + run.stderr)
        self.assertEqual(self.state(), {"lgc": None, "lmc": None, "ac": "3201,1980", "pl": 700.0})

    def test_killed_in_the_middle_the_locks_are_reset_and_the_sweep_goes_on(self):
        self.board()
        self.sweep("0.5")
        night = subprocess.Popen(self.arguments("sweep.yaml"), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            until = time.monotonic() + 60
            while not ((self.gpu / "busy").exists() and (self.state() or {}).get("lgc") and len(testbed.rows(self.folder / "sweep.sqlite", "SELECT * FROM trials")) >= 2):
                self.assertLess(time.monotonic(), until, "no trial was under way within a minute")
                time.sleep(0.02)
        finally:
            night.send_signal(signal.SIGKILL)
            _, errors = night.communicate(timeout=60)
        until = time.monotonic() + 60
        while self.sets()[-1:] != ["-rgc"]:
            self.assertLess(time.monotonic(), until, self.sets())
            time.sleep(0.05)
        while (self.folder / "state/journal").exists():
            self.assertLess(time.monotonic(), until, "the guardian left the journal")
            time.sleep(0.05)
        self.assertEqual(self.state(), {"lgc": None, "lmc": None, "ac": "3201,1980", "pl": 700.0})
        (self.gpu / "busy").unlink(missing_ok=True)  # what the workload would have done
        before = len(testbed.rows(self.folder / "sweep.sqlite", "SELECT * FROM trials"))
        again = self.call("sweep.yaml")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn(f"resuming {self.folder}/sweep.sqlite: {before} of 12 trials are finished", again.stderr)
        self.assertEqual(len(testbed.rows(self.folder / "sweep.sqlite", "SELECT * FROM trials")), 12)

    def test_a_setter_that_outlives_a_kill_does_not_undo_the_restore(self):
        self.board()
        (self.gpu / "mode").write_text("slow")
        self.sweep(axes=("{gpu.core: [1395 MHz, 1695 MHz, 1980 MHz], gpu.memory: [2201 MHz, 3201 MHz]}", "{gpu.core: [1395 MHz, 1980 MHz]}"))
        night = subprocess.Popen(self.arguments("sweep.yaml"), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while not any("-lgc" in line for line in self.log()):
            self.assertLess(time.monotonic(), until, self.log())
            time.sleep(0.01)
        (self.gpu / "mode").write_text("")
        night.send_signal(signal.SIGKILL)  # in the middle of the setting
        night.wait(timeout=60)
        while (self.folder / "state/journal").exists():
            self.assertLess(time.monotonic(), until, "the guardian left the journal")
            time.sleep(0.05)
        self.assertEqual(self.sets()[-1], "-rgc")
        time.sleep(4)  # by now it would have set its clock, had it been left alone
        self.assertIn(self.state(), [None, {"lgc": None, "lmc": None, "ac": "3201,1980", "pl": 700.0}])

    @testbed.on_a_busy_host
    def test_a_clock_that_the_power_limit_does_not_let_through_is_filed_under_what_ran(self):
        self.board()
        (self.gpu / "cap").write_text("1395")
        self.sweep("0.6", axes=("{gpu.core: [1395 MHz, 1695 MHz, 1980 MHz], gpu.memory: [2201 MHz, 3201 MHz]}", "{gpu.core: [1305 MHz, 1980 MHz]}"))
        run = self.call("sweep.yaml")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertRegex(run.stdout, r"w: gpu.core: 1980 MHz requested, 1395 MHz delivered, \d+ % of the region at the 700 W limit")
        self.assertIn("gpu.core = 1395 MHz delivered (1980 MHz requested)", run.stdout)  # the reference, in the answer
        rows = {row["point"]: row for row in testbed.rows(self.folder / "sweep.sqlite", "SELECT * FROM points")}
        self.assertEqual(rows["w gpu.core=1980 MHz"]["delivered_instead"], "gpu.core 1395 MHz")
        self.assertEqual(rows["w gpu.core=1980 MHz"]["counted"], 2)
        self.assertIsNone(rows["w gpu.core=1305 MHz"]["delivered_instead"])
        trial = testbed.rows(self.folder / "sweep.sqlite", "SELECT * FROM trials WHERE point = 'w gpu.core=1980 MHz'")[0]
        self.assertGreater(trial["power_cap_share"], 0.8)
        self.assertEqual(trial["power_limit_w"], 700)
        self.assertEqual(testbed.recomputed(self.folder / "sweep.sqlite")[0], [])
        self.tampered()

    def tampered(self):
        """What of a file is not what its readings say is told, setting by setting."""
        with contextlib.closing(sqlite3.connect(self.folder / "sweep.sqlite")) as database, database:
            key, = database.execute("SELECT t.key FROM trial t JOIN trial_setting s ON s.trial_id = t.id WHERE t.role = 'point' AND s.as_requested = 1").fetchone()
            database.execute("UPDATE trial_setting SET delivered = 1e9, as_requested = 0 WHERE trial_id = (SELECT id FROM trial WHERE key = ?)", (key,))
            database.execute("UPDATE trial SET verdict = 'throttled', verdict_text = 'made up', power_cap_share = 0.5 WHERE key = ?", (key,))
        judged = json.loads(self.call("report", "sweep.sqlite", "--recompute", "--json").stdout)
        others = [trial for trial in judged["trials"] if not trial["same"]]
        self.assertEqual([trial["key"] for trial in others], [key])
        self.assertEqual((others[0]["stored_verdict"], others[0]["verdict"]), ("throttled", "ok"))
        self.assertEqual(others[0]["differences"], ["1305 MHz requested on gpu-0: 1e+09 Hz delivered (not as requested) stored, 1.305e+09 Hz (as requested) now",
                                                    "share of the region at a power limit: 0.5 stored, 0 now"])

    def test_a_lock_without_effect_does_not_count(self):
        self.board()
        (self.gpu / "mode").write_text("no-effect")  # acknowledged with exit code 0, and nothing happens
        self.sweep("0.5", axes=("{gpu.core: [1395 MHz, 1695 MHz, 1980 MHz], gpu.memory: [2201 MHz, 3201 MHz]}", "{gpu.core: [1395 MHz, 1980 MHz]}"))
        run = self.call("sweep.yaml")
        self.assertEqual(run.returncode, 1, run.stdout + run.stderr)
        trials = testbed.rows(self.folder / "sweep.sqlite", "SELECT point, verdict, verdict_text FROM trials ORDER BY point, trial")
        self.assertEqual([t["verdict"] for t in trials], ["not_in_force", "not_in_force", "ok", "ok"])
        self.assertEqual(trials[0]["verdict_text"], "1395 MHz was requested on gpu-0 and acknowledged, but it ran at 1980 MHz: the setting had no effect")
        self.assertEqual(testbed.recomputed(self.folder / "sweep.sqlite")[0], [])
        # Nor does one that no clock speaks for.
        self.write("rests.yaml", f"name: rests\nworkloads: [{{name: w, command: [sleep, '0.5']}}]\naxes: {{gpu.core: [1395 MHz]}}\nrepeat: 1\nconditions: {QUIET}\nobjective: {{minimise: energy, of: gpu}}\n")
        self.assertEqual(self.call("rests.yaml").returncode, 1)
        self.assertEqual(testbed.rows(self.folder / "rests.sqlite", "SELECT verdict, verdict_text FROM trials"),
                         [{"verdict": "not_in_force", "verdict_text": "nothing shows that 1395 MHz was in force on gpu-0: such a lock cannot be read back, and no clock was read while it worked"}])
        self.assertEqual(testbed.recomputed(self.folder / "rests.sqlite")[0], [])

    @testbed.on_a_busy_host
    def test_a_power_limit_that_somebody_resets_spoils_that_trial(self):
        for library in (True, False):
            self.board(library)
            (self.gpu / "utilisation").write_text("0")
            # In the second trial somebody sets the limit that the board had before.
            self.sweep("0.8", axes=("{gpu.core: [1395 MHz, 1695 MHz, 1980 MHz], gpu.memory: [2201 MHz, 3201 MHz]}", "{gpu.power_limit: [500 W]}"), repeat=("repeat: 2", "repeat: 3"),
                       work=('touch "$GPU/busy"', f'echo x >> count; touch "$GPU/busy"; [ $(wc -l < count) = 2 ] && sleep 0.3 && {self.tree}/usr/bin/nvidia-smi -i {UUID} -pl 700 > /dev/null'))
            run = self.call("sweep.yaml")
            trials = testbed.rows(self.folder / "sweep.sqlite", "SELECT verdict, verdict_text FROM trials ORDER BY trial")
            self.assertEqual([t["verdict"] for t in trials], ["ok", "changed_meanwhile", "ok"], run.stderr)
            when = r"first seen 0\.\d\d s after the trial began" if library else "seen at the trial's end"
            self.assertRegex(trials[1]["verdict_text"], rf"^gpu.power_limit: nvidia:{UUID}/power.limit was '500.00' and reads '700.00', {when}$")
            # It is told once, where it belongs.
            self.assertEqual(testbed.rows(self.folder / "sweep.sqlite", "SELECT * FROM event WHERE kind = 'changed_by_others'"), [])
            self.assertEqual(self.state()["pl"], 700.0)
            self.assertEqual(testbed.recomputed(self.folder / "sweep.sqlite")[0], [])
            for file in [*self.folder.glob("sweep.sqlite*"), self.folder / "count", self.gpu / "recorded", *(self.tree / "usr/lib").glob("*")]:
                file.unlink()

    def test_heat_spoils_a_trial_and_it_is_run_again(self):
        self.board()
        (self.gpu / "hot").write_text("1200")
        self.sweep("0.4", axes=("{gpu.core: [1395 MHz, 1695 MHz, 1980 MHz], gpu.memory: [2201 MHz, 3201 MHz]}", "{gpu.core: [1980 MHz]}"),
                   reruns=("reruns: 0", "reruns: 1"), repeat=("repeat: 2", "repeat: 1"))
        run = self.call("sweep.yaml")
        self.assertEqual(run.returncode, 1, run.stderr)
        verdicts = testbed.rows(self.folder / "sweep.sqlite", "SELECT verdict, verdict_text FROM trials")
        self.assertEqual([row["verdict"] for row in verdicts], ["throttled", "throttled"])
        self.assertRegex(verdicts[0]["verdict_text"], r"^gpu-0: \d+ % of the region slowed by heat$")
        self.assertEqual(testbed.recomputed(self.folder / "sweep.sqlite")[0], [])

    def test_a_refused_knob_is_told_and_what_was_set_is_put_back(self):
        self.board()
        (self.gpu / "mode").write_text("no-permission")
        self.sweep(repeat=("repeat: 2", "repeat: 1"))
        run = self.call("sweep.yaml")
        self.assertEqual(run.returncode, 6, run.stdout + run.stderr)  # five trials in a row that fail in the same way end the night
        self.assertIn("The current user does not have permission to change clocks for GPU 00000000:00:06.0.; only root may set it: run with sudo", run.stderr)
        self.assertIn("Unfinished: 6 of 6 trials are still to be run", run.stdout)
        self.assertFalse((self.folder / "state/journal").exists())  # a lock that was never set need not be reset
        self.assertEqual(testbed.rows(self.folder / "sweep.sqlite", "SELECT DISTINCT verdict FROM trials"), [{"verdict": "knob_refused"}])
        (self.gpu / "mode").write_text("")
        run = self.call("sweep.yaml")  # and once it may, the same command runs them again
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(testbed.rows(self.folder / "sweep.sqlite", "SELECT count(*) AS n, sum(verdict = 'ok') AS ok FROM trials"), [{"n": 11, "ok": 6}])

    def test_a_board_that_is_lost_with_its_locks_set_is_told_with_the_commands(self):
        self.board()
        self.sweep(repeat=("repeat: 2", "repeat: 1"), work=('touch "$GPU/busy"', 'touch "$GPU/busy"; echo sick > "$GPU/mode"'))
        run = self.call("sweep.yaml")
        self.assertEqual(run.returncode, 4, run.stdout + run.stderr)
        self.assertIn(f"nvidia:{UUID}/lock.core: wanted 'reset', found 'NVIDIA offers no way to read a clock lock' (nvidia-smi refuses (exit code 15): "
                      "Unable to determine the device handle for GPU 00000000:00:06.0: GPU is lost.", run.stderr)
        self.assertIn(f"sudo nvidia-smi -i {UUID} -rgc", run.stderr)
        self.assertTrue((self.folder / "state/journal").exists())
        (self.gpu / "mode").write_text("")
        restore = self.call("restore")
        self.assertEqual(restore.returncode, 0, restore.stderr)
        self.assertFalse((self.folder / "state/journal").exists())
        self.assertEqual(self.state(), {"lgc": None, "lmc": None, "ac": "3201,1980", "pl": 700.0})

    def test_boards_of_others_are_not_measured(self):
        self.board()
        self.sweep(repeat=("repeat: 2", "repeat: 1"))
        (self.gpu / "processes").write_text(str(os.getpid()))
        name = pathlib.Path(f"/proc/{os.getpid()}/comm").read_text().strip()
        run = self.call("sweep.yaml")
        self.assertEqual(run.returncode, 3)
        error = run.stderr[run.stderr.index("error: "):]
        self.assertEqual(error, f"error: somebody else is on the boards that are used: pid {os.getpid()} ({name}) on gpu-0\n"
                                     "  hint: wait until they are done, name other boards in 'gpus', or write  conditions: {gpu processes: flag}  "
                                     "to measure all the same and have each trial say so\n")
        self.assertEqual(self.sets(), [])
        self.sweep(repeat=("repeat: 2", "repeat: 1"), flag=("reruns: 0", "reruns: 0, gpu processes: flag"))
        run = self.call("sweep.yaml")
        self.assertEqual(run.returncode, 0, run.stderr)
        events = testbed.rows(self.folder / "sweep.sqlite", "SELECT message FROM event WHERE kind = 'gpu_processes'")
        self.assertEqual(len(events), 6)
        # In a container they cannot be seen, but what they do can.
        (self.gpu / "processes").unlink()
        (self.gpu / "foreign_work").touch()
        self.sweep(repeat=("repeat: 2", "repeat: 1"))
        run = self.call("sweep.yaml", "--output", "other.sqlite")
        self.assertEqual(run.returncode, 3)
        self.assertIn("gpu-0 is busy (97 %) although nothing of this run is on it", run.stderr)

    @testbed.on_a_busy_host
    def test_memory_that_a_trial_leaves_is_waited_for(self):
        self.board()
        # The driver is slow to give back what the workload took: it is no process that anybody here could see.
        self.sweep("0.3", axes=("{gpu.core: [1395 MHz, 1695 MHz, 1980 MHz], gpu.memory: [2201 MHz, 3201 MHz]}", "{gpu.core: [1980 MHz]}"),
                   repeat=("repeat: 2", "repeat: 1"), work=('touch "$GPU/busy"', 'echo 9000 > "$GPU/memory_mib"; touch "$GPU/busy"'))
        driver = subprocess.Popen(["sh", "-c", f"while [ \"$(cat {self.gpu}/memory_mib 2>/dev/null)\" != 9000 ]; do sleep 0.05; done; sleep 1.5; echo 620 > {self.gpu}/memory_mib"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(driver.kill)
        run = self.call("sweep.yaml")
        driver.wait(timeout=30)
        self.assertEqual(run.returncode, 0, run.stderr)
        trial = testbed.rows(self.folder / "sweep.sqlite", "SELECT slot_s, process_s FROM trials")[0]
        self.assertGreater(trial["slot_s"] - trial["process_s"], 0.9)
        self.assertEqual(testbed.rows(self.folder / "sweep.sqlite", "SELECT * FROM event WHERE kind = 'gpu_memory_held'"), [])

    @testbed.on_a_busy_host
    def test_without_the_library_a_stream_of_nvidia_smi_measures(self):
        self.board(library=False)
        self.sweep("1.2", busy=('touch "$GPU/busy"', 'touch "$GPU/busy"; echo 97 > "$GPU/utilisation"'), done=('rm -f "$GPU/busy"', 'rm -f "$GPU/busy"; echo 0 > "$GPU/utilisation"'), axes=("{gpu.core: [1395 MHz, 1695 MHz, 1980 MHz], gpu.memory: [2201 MHz, 3201 MHz]}", "{gpu.core: [1395 MHz, 1980 MHz]}"),
                   repeat=("repeat: 2", "repeat: 1"))
        (self.gpu / "utilisation").write_text("0")
        run = self.call("sweep.yaml")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn("read through nvidia-smi instead, which has no energy counter", run.stderr)
        trials = testbed.rows(self.folder / "sweep.sqlite", "SELECT mean_power_w, verdict FROM trials")
        for trial in trials:
            self.assertEqual(trial["verdict"], "ok")
            self.assertAlmostEqual(trial["mean_power_w"], 118, delta=2)  # the recorded board at rest
        self.assertFalse([line for line in subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout.splitlines() if str(self.tree) in line and "-lms" in line])

    def test_an_experiment_without_boards_touches_none(self):
        self.board()
        self.write("cpu.yaml", f"name: cpu\nworkloads: [{{name: w, command: ['true']}}]\nrepeat: 1\nobjective: time\nconditions: {QUIET}\n")
        run = self.call("cpu.yaml")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.call("check", "cpu.yaml")
        self.assertEqual(self.log(), [])
        channels = testbed.rows(self.folder / "cpu.sqlite", "SELECT name FROM channel")
        self.assertEqual([row for row in channels if "gpu" in row["name"]], [])

    def test_without_a_board_the_axis_is_refused_with_what_is_missing(self):
        self.sweep()
        check = self.call("check", "sweep.yaml")
        self.assertEqual(check.returncode, 2)
        self.assertEqual(check.stderr.splitlines()[0],
                         "sweep.yaml:4:8: error: axis 'gpu.core': this machine has no GPU that can be read: there is no libnvidia-ml.so.1, and there "
                         "is no nvidia-smi; there is no /sys/class/drm either (amdgpu, xe, i915)")
        self.write("baseline.yaml", "name: b\nworkloads: [{name: w, command: ['true']}]\ngpus: all\nrepeat: 1\n")
        check = self.call("check", "baseline.yaml")
        self.assertEqual(check.returncode, 3)
        self.assertIn("this machine has no GPU that can be read", check.stdout)

    def test_with_several_boards_nothing_is_set_on_a_guess(self):
        self.board(library=False)
        (self.gpu / "boards").write_text("2")
        self.sweep()
        check = self.call("check", "sweep.yaml")
        self.assertEqual(check.returncode, 2)
        self.assertIn("sweep.yaml:4:8: error: axis 'gpu.core': this machine has 2 boards: say which ones the workloads use, for example  gpus: [0]  or  gpus: all", check.stderr)
        self.write("sweep.yaml", (self.folder / "sweep.yaml").read_text() + "gpus: [1]\n")
        plan = json.loads(self.call("check", "sweep.yaml", "--json").stdout)
        self.assertEqual(plan["energy_source"], "gpu-1")
        self.assertEqual({one["path"].split("/")[0] for one in plan["would_set"]}, {f"nvidia:{UUID[:-1]}1"})

    def test_the_studies_are_plans_for_a_recorded_board(self):
        studies = testbed.ROOT / "experiments/studies"
        points = {"gpu-dvfs/dvfs": 160, "accelerators/gpu": 72, "accelerators/short": 16, "gpu-sharing/sharing": 6, "gpu-sharing/sharing-mps": 6, "gtopk/gtopk": 3,
                  "accuracy/accuracy": 9, "llm-serving/llm": 6, "llm-serving/llm-power": 24}
        self.assertEqual({str(path.relative_to(studies))[:-5] for path in studies.glob("*/*.yaml")}, {*points, "accelerators/cpu"})
        for boards in (1, 2):
            self.board(library=False)
            (self.gpu / "boards").write_text(str(boards))
            for study, expected in points.items():
                if (study == "gtopk/gtopk") != (boards == 2):
                    continue
                with self.subTest(study=study):
                    check = self.call("check", str(studies / f"{study}.yaml"), "--json")
                    self.assertEqual(check.returncode, 0, check.stdout + check.stderr)
                    plan = json.loads(check.stdout)
                    self.assertEqual((len(plan["points"]), plan["energy_source"]), (expected, "gpu-0" if boards == 1 else "gpu-0 + gpu-1"))
            (self.gpu / "recorded").unlink()
        self.assertEqual(self.sets(), [])

    def test_stopped_before_the_first_setting_no_lock_is_reset(self):
        self.board()
        self.sweep()
        night = subprocess.Popen(self.arguments("sweep.yaml"), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 30
        while not (self.gpu / "argv.log").exists():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        night.send_signal(signal.SIGINT)  # while the sensors are looked at
        self.assertEqual(night.wait(timeout=60), 130)
        self.assertEqual(self.sets(), [])

    def test_the_workload_sees_the_boards_that_are_measured(self):
        self.board()
        self.write("sees.yaml", f"name: sees\nworkloads: [{{name: w, shell: 'echo \"$CUDA_VISIBLE_DEVICES\"; sleep 0.1'}}]\ngpus: [0]\nrepeat: 1\nobjective: time\nconditions: {QUIET}\n")
        run = self.call("sees.yaml", CUDA_VISIBLE_DEVICES="3")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(testbed.rows(self.folder / "sees.sqlite", "SELECT output_tail FROM trials")[0]["output_tail"], UUID + "\n")
        self.write("sees.yaml", (self.folder / "sees.yaml").read_text().replace("gpus: [0]\n", "gpus: [4]\n"))
        check = self.call("check", "sees.yaml")
        self.assertIn(f"'gpus' in line 3: there is no GPU '4'; there is: 0 (NVIDIA H200, {UUID})", check.stdout)
        self.write("own.yaml", "name: own\nworkloads:\n  - name: w\n    command: ['true']\n    environment: {CUDA_VISIBLE_DEVICES: 1}\ngpus: all\n")
        check = self.call("check", "own.yaml")
        self.assertEqual(check.returncode, 2)
        self.assertIn("own.yaml:5:41: error: workload 'w': CUDA_VISIBLE_DEVICES is set from the boards that are measured; say which in 'gpus' "
                      "(for example  gpus: [0, 1]) and take it away here", check.stderr)

    def test_doctor_says_what_the_board_offers_and_what_cannot_be_read(self):
        self.board()
        doctor = json.loads(self.call("doctor", "--json").stdout)
        knobs = {knob["axis"]: knob for knob in doctor["knobs"]}
        self.assertTrue(knobs["gpu.core"]["usable"])
        self.assertEqual(knobs["gpu.memory"]["offers"], "2201 MHz, 3201 MHz")
        self.assertTrue(any("NVIDIA offers no way to read a clock lock" in note["note"] for note in doctor["notes"]))
        self.assertEqual(self.sets(), [])


if __name__ == "__main__":
    testbed.main()
