"""Whether the answer still stands, on a real kernel: it does, a firmware's cap is found, and what is run again changes nothing of the night's result."""
import json

import testbed

STATE = testbed.STATE_OF_CLOCKS

EXPERIMENT = """
name: night
workloads:
  - {name: mixed, command: [dvfs-mixed, "0.25", "0.1"]}
axes:
  cpu.frequency: [1 GHz, 1.8 GHz, 3 GHz]
repeat: 4
reference: {cpu.frequency: 3 GHz}
conditions: {idle: none, warm up: 0, foreign load: off}
"""


class Recheck(testbed.TestbedCase):
    @testbed.on_a_busy_host
    def test_it_stands_and_a_cap_is_found(self):
        code, console = self.testbed.run(
            f"""
            {STATE} >before.txt
            dvfs-plan /night.yaml --quiet --json >night.json 2>run.txt || {{ cat run.txt; exit 90; }}
            try() {{ # NAME, then the words: what it says, its exit code, and whether the machine is as before
                name=$1; shift
                "$@" >$name.out.txt 2>$name.err.txt; echo $? >$name.code.txt
                {STATE} | cmp -s - before.txt && echo same >$name.state.txt || {STATE} >$name.state.txt
            }}
            try stands dvfs-plan recheck night.sqlite --blocks 6
            cp night.sqlite.html stands.html 2>/dev/null || cp night.html stands.html
            try short dvfs-plan recheck night.sqlite --blocks 1 --quiet --no-html --json
            try none dvfs-plan recheck night.sqlite --budget '10 ms' --quiet --no-html
            try other dvfs-plan recheck night.sqlite --workload mixd
            try unit dvfs-plan recheck night.sqlite --budget '5 W'
            # Killed in the middle: the machine is put back, and the result is as it was.
            dvfs-plan recheck night.sqlite --blocks 50 --quiet --no-html >/dev/null 2>&1 & victim=$!
            for i in $(seq 200); do [ "$(dvfs-plan sql night.sqlite 'SELECT count(*) AS n FROM sessions' --json | tr -dc 0-9)" = 4 ] && break; sleep 0.1; done
            sleep 1; kill -9 $victim; wait $victim
            try status dvfs-plan status night.sqlite
            for i in $(seq 100); do {STATE} | cmp -s - before.txt && break; sleep 0.1; done
            {STATE} | cmp - before.txt && echo same >killed.state.txt
            testbedctl cap 3
            try capped dvfs-plan recheck night.sqlite --blocks 3 --quiet
            testbedctl cap 0
            try again dvfs-plan /night.yaml --json
            try report dvfs-plan report night.sqlite
            """,
            {"night.yaml": EXPERIMENT},
        )
        self.assertEqual(code, 0, console)
        out = self.testbed.fetch()

        def said(name):
            return tuple((out / f"{name}.{what}.txt").read_text().strip() for what in ("code", "out", "err"))

        for name in ("stands", "short", "none", "other", "unit", "killed"):
            self.assertEqual((out / f"{name}.state.txt").read_text(), "same\n", name)
        code, text, err = said("stands")
        self.assertEqual(code, "0", text + err)
        self.assertRegex(text, r"^mixed: the answer stands: the change since then, [+-][0-9.]+ % \[[+-][0-9.]+, [+-][0-9.]+ at 99 %\], is within the noise\n"
                               r"  at cpu\.frequency = 1\.8 GHz: against the reference -?[0-9.]+ % \[-?[0-9.]+, -?[0-9.]+\] less energy then, -?[0-9.]+ % \[-?[0-9.]+, -?[0-9.]+\] now \([12][0-9] of [12][0-9] trials in 6 blocks\)$")
        self.assertIn("recheck: 6 blocks of 3 trials", err)
        code, text, _ = said("short")
        self.assertEqual((code, json.loads(text)["rechecks"][0]["verdict"], json.loads(text)["rechecks"][0]["blocks"]), ("7", "not_known", 1))
        code, text, err = said("none")
        self.assertEqual((code, text), ("2", ""))
        self.assertRegex(err, r"^error: --budget 10 ms: a block of the best, its rivals and the reference takes about [0-9.]+ m?s, as the night's trials did\n"
                              r"  hint: nothing was run; give it more time$")
        self.assertEqual(said("other"), ("2", "", "error: night.sqlite has no answer for 'mixd' (did you mean 'mixed'?)\n  hint: there are: mixed"))
        self.assertEqual(said("unit"), ("2", "", "error: --budget 5 W: wanted a time above 0, such as '10 min'\n  hint: nothing was run"))
        code, text, err = said("capped")
        self.assertEqual(code, "1", text + err)
        self.assertRegex(text, r"^mixed: the answer has changed: ")

        # The night is what it was.
        night, again = json.loads((out / "night.json").read_text()), json.loads(said("again")[1])
        self.assertEqual(again["answer"], night["answer"])
        self.assertEqual(again["scenarios"][0]["points"], night["scenarios"][0]["points"])
        self.assertIn("is finished", said("again")[2])
        self.assertNotIn("killed", said("status")[1])
        self.assertRegex(said("report")[1], r"\nRechecked:\n  20\d\d-\d\d-\d\d mixed at cpu\.frequency = 1\.8 GHz: stands: [0-9.]+ % \[[0-9.]+, [0-9.]+\] less of the objective than the reference \([0-9.]+ % then\)\n"
                                            r"  20\d\d-\d\d-\d\d mixed at cpu\.frequency = 1\.8 GHz: not known yet.*\n  20\d\d-\d\d-\d\d mixed at cpu\.frequency = 1\.8 GHz: changed[:;] ")
        rows = testbed.rows(out / "night.sqlite", "SELECT verdict, blocks FROM rechecks")
        self.assertEqual([row["verdict"] for row in rows], ["stands", "not_known", "changed"])
        trials = testbed.rows(out / "night.sqlite", "SELECT count(*) AS n, sum(t.counts) AS counted, group_concat(DISTINCT t.left_out) AS why FROM trials t WHERE t.block > 10000")[0]
        self.assertEqual((trials["counted"], trials["why"]), (0, "it is of a recheck"))
        self.assertEqual(testbed.rows(out / "night.sqlite", "SELECT finished_trials FROM experiments")[0]["finished_trials"], night["finished_trials"])
        self.assertEqual([row["recheck"] for row in testbed.rows(out / "night.sqlite", "SELECT recheck FROM sessions ORDER BY session")], [0, 1, 1, 1, 1])
        self.assertIn('"verdict":"stands"', (out / "stands.html").read_text())


if __name__ == "__main__":
    testbed.main()
