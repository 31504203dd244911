"""What workloads mark and print is recorded as it was: each of these was once told wrongly by the whole program."""
import os
import shutil
import sqlite3
import subprocess
import time

import testbed
from whole import METER, QUIET, REGIONS, Whole


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

    @testbed.on_a_busy_host
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

    @testbed.on_a_busy_host
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
                self.assertGreater(trial["time_s"], 0.5)
            spans = self.rows(f"all{n}.sqlite", "SELECT started_ns / 1e9 AS began, started_ns / 1e9 + time_s AS ended FROM regions")
            self.assertAlmostEqual(everybody["time_s"], max(s["ended"] for s in spans) - min(s["began"] for s in spans), delta=1e-6)
            half_widths = sum(t["energy_half_width_j"] / t["units"] for t in (everybody, leader))
            # What starting the processes takes lies in the leader's region alone; how long that was is the machine's matter.
            longer = (leader["time_s"] - everybody["time_s"]) * 100.5 / (100 * n)
            self.assertAlmostEqual(everybody["energy_per_unit_j"] + longer, leader["energy_per_unit_j"], delta=half_widths)
            self.assertEqual(len(self.rows(f"all{n}.sqlite", "SELECT DISTINCT process FROM regions")), n)

    @testbed.on_a_busy_host
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
                      "a value of metric 'loss' cannot be read", "2 marks brought a time of another clock (before the trial, after it, or of a time namespace of its own); the arrival was taken"):
            self.told_everywhere("inner.sqlite", words)

    @testbed.on_a_busy_host
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
        self.write("once.yaml", (self.folder / "lost.yaml").read_text().replace("name: lost", "name: once").replace("repeat: 1", "repeat: 2").replace("env, DVFS_PLAN_REGIONS=/nowhere/fifo, python3, lost.py", "sh, once.sh").replace("minimise: energy", "minimise: time"))  # of so short a region no meter tells anything
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

    def test_what_earlier_sessions_were_told_holds_in_the_next(self):
        """A night that is killed and goes on judges its trials as one that is not."""
        self.write("turn.sh", """n=$(cat turns 2>/dev/null || echo 0); echo $((n + 1)) >turns
[ $n -lt 2 ] && { echo begin solve >>$DVFS_PLAN_REGIONS; sleep 0.3; echo end solve >>$DVFS_PLAN_REGIONS; echo tokens 400; exit; }
[ $n -lt 3 ] && { sleep 0.3; echo tokens 400; exit; }
echo begin solve >>$DVFS_PLAN_REGIONS; sleep 0.3; echo end solve >>$DVFS_PLAN_REGIONS; echo tokens 0.4 k
""")
        text = f"name: turn\nrepeat: 2\nobjective: {{minimise: time, per: tokens}}\nconditions: {QUIET}\nworkloads: [{{name: w, command: [sh, turn.sh], metrics: [lines]}}]\n"
        self.write("turn.yaml", text)
        self.assertEqual(self.call("turn.yaml", "--no-html").returncode, 0)
        self.write("turn.yaml", text.replace("repeat: 2", "repeat: 3"))
        self.call("turn.yaml", "--no-html")
        self.write("turn.yaml", text.replace("repeat: 2", "repeat: 4"))
        self.call("turn.yaml", "--no-html")
        trials = self.rows("turn.sqlite", "SELECT block, verdict, verdict_text FROM trials WHERE attempt = 1 ORDER BY block")
        self.assertEqual([t["verdict"] for t in trials], ["ok", "ok", "no_region", "no_metric"])
        self.assertRegex(trials[3]["verdict_text"], "^values of 'tokens', which the objective is per, come in 'k' here and in no unit in w #1$")
        # But for one that is not as written: it says nothing.
        with sqlite3.connect(self.folder / "turn.sqlite") as connection:
            connection.execute("update metric set unit = 'k' where trial_id = (select min(id) from trial)")
        (self.folder / "turns").write_text("1\n")
        self.write("turn.yaml", text.replace("repeat: 2", "repeat: 5"))
        self.call("turn.yaml", "--no-html")
        self.assertEqual(self.rows("turn.sqlite", "SELECT verdict FROM trials WHERE block = 5")[-1]["verdict"], "ok")

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

if __name__ == "__main__":
    testbed.main()
