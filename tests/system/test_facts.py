"""What is recorded is what happened: each of these was once told wrongly by the whole program. Marks, result files,
programs, meters and users here; settings that others change in the virtual machine (Settings) and on a stand-in for a board
(test_gpu.py)."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

import testbed

PROGRAM = testbed.BIN / "dvfs-plan"
REGIONS = testbed.ROOT / "experiments/regions"
QUIET = "{warm up: 0, idle: none, references: false, foreign load: off, temperature: off, reruns: 0}"
# 100 W, told 50 times a second.
METER = """
probes:
  - name: wall
    command: [sh, -c, "i=0; while :; do i=$((i+1)); echo power $((100 + i % 2)) W; sleep 0.02; done"]
    channels: {power: {unit: W, averages over: 20 ms}}
    rate: 50 Hz
"""
NOBODY = "65534"


class Whole(unittest.TestCase):
    """The whole program in a folder of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dvfs-facts."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        shutil.copy(REGIONS / "dvfs_plan_regions.py", self.folder)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def environment(self, **more):
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **more)
        for name in ("SUDO_UID", "SUDO_USER", "PKEXEC_UID"):
            if name not in more:
                environment.pop(name, None)
        return environment

    def arguments(self, *arguments):
        state = [] if arguments[0] in ("report", "status", "export", "sql") else ["--state-folder", str(self.folder / "state")]
        return [str(PROGRAM), *arguments, *state]

    def call(self, *arguments, cwd=None, **environment):
        return subprocess.run(self.arguments(*arguments), cwd=cwd or self.folder, env=self.environment(**environment),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=300)

    def rows(self, name, sql):
        return testbed.rows(self.folder / name, sql)

    def told_everywhere(self, result, words):
        """On the page, on the terminal and in the JSON of the report."""
        self.assertIn(words, self.call("report", result).stdout)
        self.assertIn(words, json.dumps(json.loads(self.call("report", result, "--json").stdout), ensure_ascii=False))
        self.call("report", result, "--html", "told.html")
        self.assertIn(words, (self.folder / "told.html").read_text().replace("\\u003c", "<").replace("\\u003e", ">").replace("\\u0026", "&"))


class Marks(Whole):
    EXPERIMENT = """
name: marks
repeat: 1
objective: {minimise: energy, per: samples}
conditions: QUIET
workloads: [{name: w, command: [COMMAND]}]
""" + METER

    def marked(self, name, command, extra=""):
        text = self.EXPERIMENT.replace("QUIET", QUIET).replace("COMMAND", command).replace("name: marks", f"name: {name}") + extra
        self.write(f"{name}.yaml", text)
        run = self.call(f"{name}.yaml", "--no-html")
        trial = self.rows(f"{name}.sqlite", "SELECT * FROM trials")[0]
        return run, trial

    def test_launchers_that_close_descriptors_lose_no_mark_and_no_file_is_hit(self):
        # subprocess.Popen closes what it does not know; torchrun's elastic agent starts its ranks so. Each rank opens its
        # checkpoint first, which takes the lowest number free.
        self.write("rank.py", """
import os, time
checkpoint = open(f"checkpoint-{os.environ['RANK']}", "wb")
more = [open(f"shard-{os.environ['RANK']}-{i}", "wb") for i in range(8)]
import dvfs_plan_regions as regions
checkpoint.write(b"weights")
time.sleep(0.6)   # loading, which does not count
with regions.region("train"):
    time.sleep(0.8)
regions.metric("samples", 500)
time.sleep(0.6)
""")
        self.write("launch.py", """
import os, subprocess, sys
if len(sys.argv) > 1:   # an agent that starts the launcher, as torchrun does
    sys.exit(subprocess.Popen([sys.executable, "launch.py"]).wait())
ranks = [subprocess.Popen([sys.executable, "rank.py"], env=dict(os.environ, RANK=str(i))) for i in range(2)]
os.closerange(3, 256)
sys.exit(max(r.wait() for r in ranks))
""")
        run, trial = self.marked("launched", "python3, launch.py, agent")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual((trial["verdict"], trial["region"], trial["units"]), ("ok", "train", 1000))
        self.assertAlmostEqual(trial["time_s"], 0.8, delta=0.25)
        self.assertGreater(trial["process_s"], 1.9)
        self.assertAlmostEqual(trial["energy_j"], 100.5 * trial["time_s"], delta=0.05 * trial["energy_j"])
        for rank in ("0", "1"):
            self.assertEqual((self.folder / f"checkpoint-{rank}").read_bytes(), b"weights")
            for i in range(8):
                self.assertEqual((self.folder / f"shard-{rank}-{i}").read_bytes(), b"")
        ranks = {r["process"].split("/")[1] for r in self.rows("launched.sqlite", "SELECT process FROM regions")}
        self.assertEqual(ranks, {"0", "1"})

    def test_processes_that_mark_one_name_are_inside_it_together(self):
        for n in (2, 8):
            self.write("ranks.sh", """
. %s/dvfs_plan_regions.sh
rank() {
    sleep $(awk "BEGIN { print 0.1 * $1 }")
    [ "$2" = all ] && dvfs_plan_begin work
    sleep 0.5
    [ "$2" = all ] && dvfs_plan_end work
    dvfs_plan_metric samples 100
}
[ "$1" = leader ] && dvfs_plan_begin work
for i in $(seq 0 %d); do (exec sh -c '. %s/dvfs_plan_regions.sh; '"$(cat rank.sh)"'; rank "$0" "$1"' $i $1) & done
wait
[ "$1" = leader ] && dvfs_plan_end work
exit 0
""" % (REGIONS, n - 1, REGIONS))
            self.write("rank.sh", 'rank() { sleep $(awk "BEGIN { print 0.1 * $1 }"); [ "$2" = all ] && dvfs_plan_begin work; sleep 0.5; [ "$2" = all ] && dvfs_plan_end work; dvfs_plan_metric samples 100; }\n')
            everybody = self.marked(f"all{n}", "sh, ranks.sh, all")[1]
            leader = self.marked(f"leader{n}", "sh, ranks.sh, leader")[1]
            for trial in (everybody, leader):
                self.assertEqual((trial["verdict"], trial["units"]), ("ok", 100 * n), trial)
                self.assertAlmostEqual(trial["time_s"], 0.5 + 0.1 * (n - 1), delta=0.15)
            half_widths = sum(t["energy_half_width_j"] / t["units"] for t in (everybody, leader))
            # What starting the processes takes lies in the leader's region alone.
            starting = 100.5 * 0.1 / (100 * n)
            self.assertAlmostEqual(everybody["energy_per_unit_j"], leader["energy_per_unit_j"], delta=half_widths + starting)
            self.assertEqual(len(self.rows(f"all{n}.sqlite", "SELECT DISTINCT process FROM regions")), n)

    def test_marks_that_do_not_pair_do_not_count_and_are_told(self):
        self.write("half.py", "import dvfs_plan_regions as r, os, time\nr.begin('train'); time.sleep(0.3)\nif os.environ.get('RANK') != '1': r.end('train')\nr.metric('samples', 5)\n")
        run, trial = self.marked("half", 'sh, -c, "RANK=0 python3 half.py & RANK=1 python3 half.py & wait"')
        self.assertEqual(run.returncode, 1)
        self.assertEqual((trial["verdict"], trial["objective_value"]), ("marks_unpaired", None))
        self.assertRegex(trial["verdict_text"], r"^region 'train' was begun and not ended by rank 1 \(process \d+\), so what counts is not known$")
        self.told_everywhere("half.sqlite", "was begun and not ended by rank 1")
        # Inside what counts it is told, and harms nothing.
        self.write("inner.py", "import dvfs_plan_regions as r, time\nwith r.region('train'):\n  r.end('step'); r.begin('train'); time.sleep(0.3); r.end('train')\nr.metric('samples', 5)\nopen(__import__('os').environ['DVFS_PLAN_REGIONS'], 'w').write('nonsense\\nbegin late 1\\nend late 2\\nmetric loss nan\\n')\n")
        run, trial = self.marked("inner", "python3, inner.py", "measure: {region: train}\n")
        self.assertEqual((run.returncode, trial["verdict"]), (0, "ok"), run.stderr)
        for words in ("region 'step' was ended and not begun by process", "region 'train' was begun inside itself by process", "2 lines on DVFS_PLAN_REGIONS cannot be read, first 'nonsense'",
                      "a value of metric 'loss' cannot be read", "2 marks brought a time before the trial or after it; the arrival was taken"):
            self.told_everywhere("inner.sqlite", words)

    def test_marks_that_cannot_be_written_do_not_count_and_are_told(self):
        self.write("lost.py", "import dvfs_plan_regions as r\nwith r.region('train'): pass\nprint('samples 5')\n")
        run, trial = self.marked("lost", "env, DVFS_PLAN_REGIONS=/nowhere/fifo, python3, lost.py")
        self.assertEqual((run.returncode, trial["verdict"]), (1, "marks_lost"))
        self.assertIn("region marks are lost, so what counts is not known: cannot open the FIFO /nowhere/fifo", trial["verdict_text"])
        self.told_everywhere("lost.sqlite", "cannot open the FIFO /nowhere/fifo")
        # However much else is printed, and in each of several runs.
        self.write("chatty.py", "import dvfs_plan_regions as r, sys\nwith r.region('train'): pass\nsys.stderr.write('epoch of many words\\n' * 100000)\nprint('samples 5')\n")
        run, trial = self.marked("chatty", "env, DVFS_PLAN_REGIONS=/nowhere/fifo, python3, chatty.py")
        self.assertEqual((run.returncode, trial["verdict"]), (1, "marks_lost"), trial["verdict_text"])
        # A mark that cannot be read is lost too; a second cause is told beside the first.
        self.write("bad.py", "import os, sys\nfifo = open(os.environ['DVFS_PLAN_REGIONS'], 'w')\nfifo.write('begin train\\nend train\\nbegin of rank one is this\\n'); fifo.flush()\nprint('samples 5'); sys.exit(3)\n")
        run, trial = self.marked("bad", "python3, bad.py")
        self.assertEqual((run.returncode, trial["verdict"]), (1, "exited"), trial["verdict_text"])
        self.told_everywhere("bad.sqlite", "region marks are lost, so what counts is not known: 1 mark could not be written or kept")
        # Units that add up to no number are none.
        self.write("inf.sh", "for i in 1 2; do echo metric samples 1e308 >>$DVFS_PLAN_REGIONS; done; sleep 0.3\n")
        run, trial = self.marked("infinite", "sh, inf.sh")
        self.assertEqual((trial["verdict"], trial["units"], trial["objective_value"]), ("no_metric", None, None))
        # One trial of several that marks nothing.
        self.write("once.yaml", (self.folder / "lost.yaml").read_text().replace("name: lost", "name: once").replace("repeat: 1", "repeat: 2").replace("env, DVFS_PLAN_REGIONS=/nowhere/fifo, python3, lost.py", "sh, once.sh").replace("per: samples", "per: samples"))
        self.write("once.sh", "echo x >>turns; [ $(wc -l <turns) = 1 ] && python3 lost.py; echo metric samples 5 >>$DVFS_PLAN_REGIONS; sleep 0.3\n")
        self.assertEqual(self.call("once.yaml", "--no-html").returncode, 1)
        self.assertEqual([t["verdict"] for t in self.rows("once.sqlite", "SELECT verdict FROM trials ORDER BY trial")], ["ok", "no_region"])
        # A copy of the former module would mark nowhere.
        self.write("dvfs_plan_regions.py", "fd = os.environ.get('DVFS_PLAN_REGION_FD')\n")
        check = self.call("check", "lost.yaml")
        self.assertEqual(check.returncode, 2)
        self.assertIn("dvfs_plan_regions.py marks regions on DVFS_PLAN_REGION_FD, which is no more", check.stderr)
        shutil.copy(REGIONS / "dvfs_plan_regions.py", self.folder)
        run, trial = self.marked("never", "python3, -c, pass", "measure: {region: train}\n")
        self.assertEqual((trial["verdict"], trial["verdict_text"]), ("no_region", "the workload did not mark the region 'train'"))

    def test_more_than_a_million_marks_are_counted_whole(self):
        marks = testbed.BIN / "marks"
        run, trial = self.marked("epochs", f"{marks}, 12000, 0, epochs, 100")
        self.assertEqual((run.returncode, trial["verdict"]), (0, "ok"), trial["verdict_text"] + run.stderr)
        self.assertEqual(trial["units"], 100 * 12000)
        self.assertEqual(self.rows("epochs.sqlite", "SELECT n FROM iterations WHERE region = 'epoch'"), [{"n": 100}])
        self.assertGreater(trial["time_s"], 0.9 * trial["process_s"])
        self.told_everywhere("epochs.sqlite", "marks of regions that do not count are more than are kept")
        # Where each of them counts and there are too many, none does.
        run, trial = self.marked("steps", f"{marks}, 11000, 0, epochs, 100", "measure: {region: step}\n")
        self.assertEqual((run.returncode, trial["verdict"], trial["objective_value"]), (1, "marks_lost", None))
        self.assertRegex(trial["verdict_text"], r"^region marks are lost, so what counts is not known: \d+ marks could not be written or kept$")

    def test_output_cut_in_a_line_is_no_metric(self):
        self.write("cut.yaml", f"name: cut\nrepeat: 1\nobjective: {{minimise: time, per: samples}}\nconditions: {QUIET}\n"
                   "workloads: [{name: w, shell: \"sleep 0.1; echo all_samples 45678\", metrics: [lines], output_cap: 14 B}]\n")
        run = self.call("cut.yaml")
        self.assertEqual(run.returncode, 1)
        self.assertEqual(self.rows("cut.sqlite", "SELECT verdict, output_tail FROM trials"), [{"verdict": "no_metric", "output_tail": "samples 45678\n"}])
        self.assertEqual(self.rows("cut.sqlite", "SELECT * FROM metrics"), [])


class Files(Whole):
    NIGHT = "name: night\nrepeat: 8\nobjective: time\nconditions: " + QUIET + "\nworkloads: [{name: w, command: [sleep, '0.3']}]\n"

    def night(self, after_two):
        """Runs 8 trials; calls `after_two` when two are finished. Returns (exit code, what it said on stderr)."""
        self.write("night.yaml", self.NIGHT)
        running = subprocess.Popen(self.arguments("night.yaml", "--no-html"), cwd=self.folder, env=self.environment(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(running.wait)
        self.addCleanup(running.kill)
        self.addCleanup(running.stderr.close)
        said = ""
        for line in running.stderr:
            said += line
            if " #2: " in line:
                after_two()
            if "the night goes on there" in line:
                # At once: trials are still to come.
                self.assertNotIn(" #8: ", said)
        running.wait(timeout=60)
        return running.returncode, said

    def rescued(self, after_two, what):
        code, said = self.night(after_two)
        rescue = self.folder / "night.rescued.sqlite"
        self.assertEqual(code, 5, said)
        self.assertRegex(said, rf"warning: the result file is lost \({what}\); all finished trials are in {rescue}, and the night goes on there\n")
        self.assertIn(f"all of it is in {rescue}\n", said)
        self.assertEqual(testbed.integrity(rescue), "ok")
        self.assertEqual(testbed.rows(rescue, "SELECT count(*) AS n, sum(verdict = 'ok') AS ok FROM trials"), [{"n": 8, "ok": 8}])
        self.assertEqual([row["kind"] for row in testbed.rows(rescue, "SELECT kind FROM warnings WHERE trial IS NULL")], ["result_rescued"])
        again = self.call("night.yaml", "--output", str(rescue), "--no-html")
        self.assertIn("is finished; --fresh runs it again", again.stderr)

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

    def test_a_meter_that_does_not_say_over_how_long_it_averages(self):
        text = (f"name: unknown\nrepeat: 3\nconditions: {QUIET}\nworkloads: [{{name: w, command: [sleep, '1']}}]\n"
                + METER.replace(", averages over: 20 ms", ""))
        self.write("unknown.yaml", text)
        run = self.call("unknown.yaml", "--no-html")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        trials = self.rows("unknown.sqlite", "SELECT energy_j, energy_half_width_j FROM trials")
        for trial in trials:
            self.assertAlmostEqual(trial["energy_j"], 100.5, delta=2)
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
            self.assertRegex(run.stdout, r"w: the least energy at the machine as it is, 6\d\.\d+ J in 0\.6\d+ s \(1 trial counts\)")
            self.assertNotIn(" inf", run.stdout)
            self.told_everywhere("meter.sqlite", f"wall:power said '{said}'")
            self.assertIn(reason, run.stdout)
            self.assertEqual(self.call("sql", "meter.sqlite", "select count(*) > 0 from readings where absence = 'impossible' and value is null").stdout.split()[-1], "1")
            for file in [*self.folder.glob("meter.sqlite*"), self.folder / "count"]:
                file.unlink()


@unittest.skipIf(os.geteuid() != 0, "only root can be behind sudo")
class Users(Whole):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.theirs = self.folder / "theirs"
        self.theirs.mkdir()
        os.chown(self.theirs, int(NOBODY), int(NOBODY))

    def test_reports_under_sudo_write_through_no_link(self):
        (self.theirs / "r.yaml").write_text(f"name: r\nrepeat: 1\nobjective: time\nconditions: {QUIET}\nworkloads: [{{name: w, command: ['true']}}]\n")
        self.assertEqual(self.call("r.yaml", cwd=self.theirs, SUDO_UID=NOBODY).returncode, 0)
        secret = self.folder / "secret"
        secret.write_text("root's own\n")
        secret.chmod(0o600)
        for name in ("page.html", "table.csv", "figure-settings.svg", "figure-settings.png", "compared.html", "other.jsonl"):
            (self.theirs / name).symlink_to(secret)
        for words in (["report", "r.sqlite", "--html", "page.html"], ["export", "r.sqlite", "-o", "table.csv"], ["report", "r.sqlite", "--svg", "figure"],
                      ["report", "r.sqlite", "--png", "figure"], ["export", "r.sqlite", "--format", "jsonl", "-o", "other.jsonl"], ["compare", "r.sqlite", "r.sqlite", "--html", "compared.html"],
                      ["export", "r.sqlite", "-o", str(self.folder / "secret")], ["report", "r.sqlite", "--html", str(self.folder / "new.html")]):
            self.call(*words, cwd=self.theirs, SUDO_UID=NOBODY)
            self.assertEqual(secret.read_text(), "root's own\n", words)
            self.assertEqual((secret.stat().st_uid, secret.stat().st_mode & 0o7777), (0, 0o600), words)
        self.assertFalse((self.folder / "new.html").exists())
        self.assertEqual(self.call("export", "r.sqlite", "-o", "mine.csv", cwd=self.theirs, SUDO_UID=NOBODY).returncode, 0)
        self.assertEqual((self.theirs / "mine.csv").stat().st_uid, int(NOBODY))
        # Nor does a file that only root may read come out by way of an error.
        (self.folder / "hidden.yaml").write_text("password: 12345\n")
        (self.folder / "hidden.yaml").chmod(0o600)
        shown = self.call("check", str(self.folder / "hidden.yaml"), cwd=self.theirs, SUDO_UID=NOBODY)
        self.assertNotIn("password", shown.stdout + shown.stderr)
        # Nor what root's group may read: under sudo that group is still among the process's.
        (self.folder / "hidden.yaml").chmod(0o640)
        group = self.folder / "group"
        group.mkdir(mode=0o770)
        shutil.copy(self.theirs / "r.yaml", self.folder / "copy.yaml")
        for words in (["check", str(self.folder / "hidden.yaml")], ["r.yaml", "-o", str(group / "r.sqlite")]):
            shown = subprocess.run(["setpriv", "--groups", "0", *self.arguments(*words)], cwd=self.theirs, env=self.environment(SUDO_UID=NOBODY), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            self.assertNotEqual(shown.returncode, 0)
            self.assertNotIn("password", shown.stdout + shown.stderr)
        self.assertEqual(list(group.iterdir()), [])
        # Nor its digest.
        secret_script = self.folder / "secret.py"
        secret_script.write_text("password = 12345\n")
        secret_script.chmod(0o600)
        (self.theirs / "digest.yaml").write_text(f"name: digest\nrepeat: 1\nobjective: time\nconditions: {QUIET}\nworkloads: [{{name: w, command: [test, -e, {secret_script}]}}]\n")
        self.call("digest.yaml", "--no-html", cwd=self.theirs, SUDO_UID=NOBODY)
        digest = hashlib.sha256(secret_script.read_bytes()).hexdigest()
        stored = testbed.rows(self.theirs / "digest.sqlite", "SELECT plan_json || (SELECT group_concat(value) FROM machine_fact) AS all_of_it FROM experiment")[0]["all_of_it"]
        self.assertNotIn(digest, stored)

    def test_root_loads_and_runs_nothing_that_the_user_brings_along(self):
        tree = self.theirs / "tree"
        (tree / "usr/lib").mkdir(parents=True)
        (tree / "usr/bin").mkdir()
        (self.folder / "lib.c").write_text(f"""
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void) {{
  FILE* file = fopen("{self.theirs}/loaded-by", "w");
  fprintf(file, "%d", (int)geteuid());
  fclose(file);
}}
""")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(tree / "usr/lib/libnvidia-ml.so.1"), str(self.folder / "lib.c")], check=True)
        smi = tree / "usr/bin/nvidia-smi"
        smi.write_text(f"#!/bin/sh\nid -u >{self.theirs}/run-by\n")
        smi.chmod(0o755)
        (tree / "sys").mkdir()
        for command in (["doctor"], ["check", "gpu.yaml"], ["gpu.yaml"]):
            (self.theirs / "gpu.yaml").write_text("workloads: [{name: w, command: ['true']}]\ngpus: all\naxes: {gpu.core: all}\nrepeat: 1\n")
            subprocess.run([str(PROGRAM), *command, "--sysfs-root", str(tree), "--state-folder", str(self.theirs / "state")], cwd=self.theirs, env=self.environment(SUDO_UID=NOBODY),
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
            for trace in ("loaded-by", "run-by"):
                if (self.theirs / trace).exists():
                    self.assertEqual((self.theirs / trace).read_text().strip(), NOBODY, (command, trace))
        self.assertTrue((self.theirs / "loaded-by").exists(), "the library was never loaded: this test shows nothing")
        # A PATH of the user's own, kept by a careless sudoers: the real machine is asked, and nothing of theirs is run.
        (self.theirs / "run-by").unlink(missing_ok=True)
        self.call("doctor", cwd=self.theirs, SUDO_UID=NOBODY, PATH=f"{tree}/usr/bin:{os.environ['PATH']}")
        self.assertFalse((self.theirs / "run-by").exists())
        refused = self.call("doctor", cwd=self.theirs, SUDO_UID=NOBODY, LD_LIBRARY_PATH=str(tree / "usr/lib"))
        self.assertFalse((self.theirs / "loaded-by").exists() and (self.theirs / "loaded-by").read_text() == "0", refused.stdout)

    def test_run_as_names_nobody_but_the_caller(self):
        for run_as in ("root", "daemon"):
            (self.theirs / "as.yaml").write_text(f"name: as\nrepeat: 1\nobjective: time\nconditions: {QUIET}\nworkloads: [{{name: w, shell: 'id -u', run_as: {run_as}}}]\n")
            refused = self.call("as.yaml", cwd=self.theirs, SUDO_UID=NOBODY)
            self.assertEqual(refused.returncode, 3, refused.stderr)
            self.assertEqual(refused.stderr, f"error: workload 'w' is to run as {run_as}, and this program serves nobody, who called it through sudo: only root himself may name another user\n"
                                             "  hint: take 'run_as' away, or let root himself run it: su -, or env -u SUDO_UID in root's shell\n")
            self.assertIn("only root himself may name another user", self.call("check", "as.yaml", cwd=self.theirs, SUDO_UID=NOBODY).stdout)
        (self.theirs / "meter.yaml").write_text(f"name: meter\nrepeat: 1\nconditions: {QUIET}\nworkloads: [{{name: w, command: ['true']}}]\n"
                                                "probes: [{name: m, command: [sh, -c, 'echo p 1 W'], run_as: root, channels: {p: {unit: W}}}]\n")
        refused = self.call("meter.yaml", cwd=self.theirs, SUDO_UID=NOBODY)
        self.assertIn("error: probe 'm' is to run as root, and this program serves nobody, who called it through sudo", refused.stderr)
        # Root himself may.
        (self.folder / "own.yaml").write_text(f"name: own\nrepeat: 1\nobjective: time\nconditions: {QUIET}\nworkloads: [{{name: w, shell: 'id -u', run_as: daemon}}]\n")
        own = self.call("own.yaml", "--no-html")
        self.assertEqual(own.returncode, 0, own.stderr)
        self.assertEqual(self.rows("own.sqlite", "SELECT output_tail FROM trials")[0]["output_tail"], "1\n")

    def test_roots_environment_stays_roots(self):
        (self.theirs / "env.yaml").write_text(f"name: env\nrepeat: 1\nobjective: time\nconditions: {QUIET}\nworkloads: [{{name: w, shell: env, environment: {{keep: [CUDA_HOME], OWN: 7}}}}]\n")
        run = self.call("env.yaml", "--no-html", cwd=self.theirs, SUDO_UID=NOBODY, AWS_SECRET_ACCESS_KEY="s3cret", LD_LIBRARY_PATH="/root/lib", CUDA_HOME="/opt/cuda", LC_ALL="C.UTF-8", HOME="/root")
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = testbed.rows(self.theirs / "env.sqlite", "SELECT output_tail FROM trials")[0]["output_tail"].splitlines()
        seen = dict(line.split("=", 1) for line in lines)
        self.assertEqual({"AWS_SECRET_ACCESS_KEY", "LD_LIBRARY_PATH", "SUDO_UID"} & set(seen), set())
        self.assertEqual((seen["CUDA_HOME"], seen["OWN"], seen["USER"], seen["LC_ALL"]), ("/opt/cuda", "7", "nobody", "C.UTF-8"))
        self.assertNotEqual(seen["HOME"], "/root")
        recorded = self.theirs / "tree"
        (recorded / "sys").mkdir(parents=True)
        (self.theirs / "env.sqlite").unlink()
        run = self.call("env.yaml", "--no-html", "--sysfs-root", str(recorded), cwd=self.theirs, SUDO_UID=NOBODY, AWS_SECRET_ACCESS_KEY="s3cret", LD_LIBRARY_PATH="/root/lib")
        if run.returncode == 3:  # the state folder of this test belongs to root, and root's rights are given up
            run = subprocess.run([str(PROGRAM), "env.yaml", "--no-html", "--sysfs-root", str(recorded), "--state-folder", str(self.theirs / "state")], cwd=self.theirs,
                                 env=self.environment(SUDO_UID=NOBODY, AWS_SECRET_ACCESS_KEY="s3cret", LD_LIBRARY_PATH="/root/lib"), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotIn("s3cret", testbed.rows(self.theirs / "env.sqlite", "SELECT output_tail FROM trials")[0]["output_tail"])
        # Without sudo the environment is one's own.
        self.write("mine.yaml", f"name: mine\nrepeat: 1\nobjective: time\nconditions: {QUIET}\nworkloads: [{{name: w, shell: env}}]\n")
        self.call("mine.yaml", "--no-html", MY_VENV="/venv")
        self.assertIn("MY_VENV=/venv", self.rows("mine.sqlite", "SELECT output_tail FROM trials")[0]["output_tail"])


class Overlaps(Whole):
    def machine(self):
        root = self.folder / "machine"
        cpu = root / "sys/devices/system/cpu"
        for policy, cpus in (("policy0", "0 1"), ("policy2", "2 3")):
            for name, text in {"affected_cpus": cpus, "related_cpus": cpus, "scaling_driver": "acpi-cpufreq", "scaling_governor": "powersave", "scaling_setspeed": "<unsupported>",
                               "scaling_available_governors": "powersave performance", "cpuinfo_min_freq": "1000000", "cpuinfo_max_freq": "3000000", "scaling_min_freq": "1000000",
                               "scaling_max_freq": "3000000", "scaling_available_frequencies": "3000000 2000000 1000000", "scaling_cur_freq": "1000000"}.items():
                path = cpu / "cpufreq" / policy / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text + "\n")
        (cpu / "online").write_text("0-3\n")
        (cpu / "cpufreq/boost").write_text("1\n")
        (cpu / "cpu0").mkdir()
        (cpu / "cpu0/cpufreq").symlink_to("../cpufreq/policy0")
        (root / "sys/knob").write_text("1\n")
        (root / "sys/devices/link").symlink_to("../knob")
        return root

    def refused(self, axes, more=""):
        self.write("overlap.yaml", f"name: overlap\nworkloads: [{{name: w, command: ['true']}}]\nobjective: time\naxes:\n{axes}{more}")
        check = self.call("check", "overlap.yaml", "--sysfs-root", str(self.folder / "machine"))
        return check.returncode, check.stderr

    def test_axes_that_set_the_same_thing_are_refused_with_both_places(self):
        self.machine()
        code, error = self.refused("  cpu.governor: [powersave, performance]\n  cpu.governor@policy0: [powersave, performance]\n")
        self.assertEqual(code, 2)
        self.assertEqual(error, "overlap.yaml:6:3: error: axis 'cpu.governor@policy0' sets /sys/devices/system/cpu/cpufreq/policy0/scaling_governor, which axis 'cpu.governor' (line 5) sets too: "
                                "only the last one would be in force; leave one of them out, or let each name other targets (@...)\n  hint: nothing was run and nothing was set\n")
        code, error = self.refused("  cpu.frequency@0-1: [1 GHz, 2 GHz]\n  cpu.frequency@0-3: [1 GHz, 2 GHz]\n")
        self.assertEqual(code, 2)
        self.assertIn("overlap.yaml:6:3: error: axis 'cpu.frequency@0-3' sets /sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq, which axis 'cpu.frequency@0-1' (line 5) sets too", error)
        sysfs = "sysfs:\n  a: {path: /sys/knob, values: [1, 2]}\n  b: {path: /sys/devices/link, values: [1, 2]}\n"
        code, error = self.refused("  sysfs.a: [1, 2]\n  sysfs.b: [1, 2]\n", sysfs)
        self.assertEqual(code, 2)
        self.assertIn("overlap.yaml:6:3: error: axis 'sysfs.b' sets /sys/knob, which axis 'sysfs.a' (line 5) sets too", error)
        (self.folder / "machine/sys/devices/system/cpu/cpufreq/policy0/boost").write_text("1\n")
        boost = "sysfs:\n  b: {path: /sys/devices/system/cpu/cpufreq/policy0/boost, values: [0, 1]}\n"
        code, error = self.refused("  cpu.turbo: [on, off]\n  sysfs.b: [0, 1]\n", boost)
        self.assertIn("overlap.yaml:6:3: error: axis 'sysfs.b' sets /sys/devices/system/cpu/cpufreq/policy0/boost, which axis 'cpu.turbo' (line 5) may change by setting its own, or the other way round; use axis 'cpu.turbo', which knows of it", error)
        (self.folder / "machine/sys/devices/system/cpu/cpufreq/policy0/boost").unlink()
        # A link to the same file, and a file that another knob changes by the way.
        by_link = "sysfs:\n  max: {path: /sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq, values: [1000000, 3000000]}\n"
        code, error = self.refused("  cpu.frequency: [1 GHz, 2 GHz]\n  sysfs.max: [1000000, 3000000]\n", by_link)
        self.assertIn("overlap.yaml:6:3: error: axis 'sysfs.max' sets /sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq, which axis 'cpu.frequency' (line 5) sets too", error)
        code, error = self.refused("  cpu.governor: [powersave, performance]\n  sysfs.max: [1000000, 3000000]\n", by_link)
        self.assertIn("overlap.yaml:6:3: error: axis 'sysfs.max' sets /sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq, which axis 'cpu.governor' (line 5) may change by setting its own, or the other way round; "
                      "use axis 'cpu.frequency', which knows of it", error)

    def test_axes_that_go_together_are_not_refused(self):
        self.machine()
        code, error = self.refused("  cpu.governor: [powersave, performance]\n  cpu.turbo: [on, off]\n  cpu.frequency@policy0: [1 GHz, 2 GHz]\n  cpu.frequency@policy2: [1 GHz]\n  sysfs.a: [1, 2]\n",
                                   "sysfs: {a: {path: /sys/knob, values: [1, 2]}}\n")
        self.assertEqual((code, error), (0, ""))

    def test_a_clock_that_only_repeats_the_request_is_no_delivered_clock(self):
        root = self.machine()
        self.write("clock.yaml", f"name: clock\nworkloads: [{{name: w, command: [sleep, '0.3']}}]\nobjective: time\naxes: {{cpu.frequency: [1 GHz]}}\nrepeat: 1\nconditions: {QUIET}\n")
        run = self.call("clock.yaml", "--no-html", "--sysfs-root", str(root))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("note: probe cpufreq: nothing tells at which clock the CPUs really run", run.stderr)
        for row in self.rows("clock.sqlite", "SELECT requested, applied, delivered, as_requested FROM settings"):
            self.assertEqual(row, {"requested": "1 GHz", "applied": "1 GHz", "delivered": None, "as_requested": None})
        self.told_everywhere("clock.sqlite", "nothing tells at which clock policy0 and 1 more really ran; 1 GHz was requested")


class Settings(testbed.TestbedCase):
    """The real kernel's governors, changed by somebody else while trials run."""
    NIGHT = """
name: night
conditions: {warm up: 0, idle: none, references: false, foreign load: off, reruns: 1}
workloads:
  - {name: mixed, command: [dvfs-mixed, "1", "0.02"]}
axes: {cpu.governor: [powersave, performance]}
reference: {cpu.governor: performance}
repeat: 2
seed: 5
settle: 20 ms
"""

    def test_a_resetter_that_goes_on_ends_the_night_by_name_and_the_night_goes_on_without_it(self):
        code, console = self.testbed.run("""
            printf '#!/bin/sh\\nwhile :; do echo performance >/sys/devices/system/cpu/cpufreq/policy0/scaling_governor; usleep 300000; done\\n' >/tmp/auto-cpufreq
            chmod +x /tmp/auto-cpufreq
            /tmp/auto-cpufreq &
            pid=$!
            sed 's/repeat: 2/repeat: 4/' /night.yaml >one.yaml
            dvfs-plan one.yaml --no-html >run.log 2>&1; echo "with the resetter: $?"
            kill $pid
            cat run.log
            dvfs-plan one.yaml --no-html >again.log 2>&1; echo "without it: $?"
            dvfs-plan report night.sqlite
            [ "$(cat /sys/devices/system/cpu/cpufreq/policy0/scaling_governor)" = performance ] && echo "put back"
            """, {"night.yaml": self.NIGHT})
        self.assertIn("with the resetter: 3", console)
        self.assertRegex(console, r"error: somebody sets /sys/devices/system/cpu/cpufreq/policy0/scaling_governor to 'performance' while trials run, 3 trials now; the last: cpu.governor: "
                                  r"/sys/devices/system/cpu/cpufreq/policy0/scaling_governor was 'powersave' and reads 'performance', "
                                  r"(first seen \d\.\d\d s after the trial began|before the trial began|seen at the trial's end); likely by auto-cpufreq \(pid \d+\), which sets governors and turbo by load")
        self.assertIn("hint: sudo systemctl stop auto-cpufreq   and then the same command goes on; the trials up to here are kept", console)
        self.assertIn("put back", console)
        out = self.testbed.fetch()
        trials = testbed.rows(out / "night.sqlite", "SELECT point, verdict, time_s, energy_j FROM trials ORDER BY trial")
        self.assertEqual([t["verdict"] for t in trials].count("changed_meanwhile"), 3)
        counted = [t for t in trials if t["verdict"] == "ok"]
        self.assertGreaterEqual(len(counted), 7)
        for trial in counted:  # powersave: 1 GHz
            self.assertAlmostEqual(trial["time_s"], 3.02 if "powersave" in trial["point"] else 1.02, delta=0.15)

    def test_one_change_spoils_one_trial_which_is_run_again(self):
        code, console = self.testbed.run("""
            (while ! pidof dvfs-mixed >/dev/null; do :; done; sleep 0.3
             case $(cat /sys/devices/system/cpu/cpufreq/policy0/scaling_governor) in powersave) to=performance;; *) to=powersave;; esac
             echo $to >/sys/devices/system/cpu/cpufreq/policy0/scaling_governor) &
            dvfs-plan /night.yaml --no-html; echo "run: $?"
            """, {"night.yaml": self.NIGHT})
        self.assertIn("run: 0", console)
        out = self.testbed.fetch()
        trials = testbed.rows(out / "night.sqlite", "SELECT * FROM trials ORDER BY trial")
        self.assertEqual([t["verdict"] for t in trials].count("changed_meanwhile"), 1)
        self.assertEqual(trials[0]["verdict"], "changed_meanwhile")
        self.assertRegex(trials[0]["verdict_text"], r"^cpu.governor: /sys/devices/system/cpu/cpufreq/policy0/scaling_governor was '\w+' and reads '\w+', (first seen \d\.\d\d s after the trial began|seen at the trial's end)$")
        self.assertEqual([t["attempt"] for t in trials if t["point"] == trials[0]["point"] and t["block"] == 1], [1, 2])
        self.assertEqual(sum(t["counts"] for t in trials), 4)
        self.assertIn("changed_meanwhile", console)


if __name__ == "__main__":
    testbed.main()
