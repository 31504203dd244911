#!/usr/bin/python3
"""Workloads that say how much work they did so that it cannot be read, or in two units, or as no amount at all: their trials do not count, and the line is quoted."""
import json

import attack

NIGHT = """name: night
repeat: 1
conditions: {{foreign load: off, idle: none, warm up: 0, temperature: off, references: false, give up after: never, reruns: 0}}
workloads: [{{name: w, shell: {shell}, metrics: {metrics}}}]
axes: {{n: [1, 2]}}
objective: {{minimise: time, per: work, across: [n]{limits}}}
"""
UNREADABLE = "a value of 'work', which the objective is per, cannot be read: '{}'; wanted is a name, a number such as 1234.5, and a unit or none"
TOLD = (
    ("work 5\nwork 1,234", "[lines]", UNREADABLE.format("work 1,234")),
    ("work 5\nwork nan", "[lines]", UNREADABLE.format("work nan")),
    ("work 5\nwork 1e400", "[lines]", UNREADABLE.format("work 1e400")),
    ("work 5\nwork -Infinity items", "[lines]", UNREADABLE.format("work -Infinity items")),
    ('{"work": 5}\n{"work": NaN}', "[json]", UNREADABLE.format('{"work": NaN}')),
    ('{"work": 5}\n{"work": null}', "[json]", UNREADABLE.format('{"work": null}')),
    ('{"work": 5}\n{"work": "1,5"}', "[json]", UNREADABLE.format('{"work": "1,5"}')),
    ("done 5\ndone 1.5.2", "[{name: work, regex: 'done ([0-9.]+)'}]", UNREADABLE.format("done 1.5.2")),
    ("work 5 kitems\nwork 5 items", "[lines]", "values of 'work', which the objective is per, come in two units, 'kitems' and 'items'"),
    ("work 100\nwork -50", "[lines]", "a value of 'work', which the objective is per, is below 0: -50; work that was done is not taken back"),
    ("work 1e-320", "[lines]", "the workload's 'work', which the objective is per, is 9.99989e-321: no amount of work"),
    ("work 1e300", "[lines]", "the workload's 'work', which the objective is per, is 1e+300: no amount of work"),
)
FINE = (("work 5\nwork 7", "[lines]"), ("work 5 1\nwork 7", "[lines]"), ("work begins\nwork 12 items", "[lines]"), ('{"work": 12, "note": "1,5"}', "[json]"))


class UnitsThatCannotBeRead(attack.AttackCase):
    account = attack.Account("amounts of work that cannot be read, in two units, or that are none")

    def night(self, output, metrics, limits=""):
        for old in self.folder.glob("night.*"):
            old.unlink()
        (self.folder / "said.txt").write_text(output + "\n")
        run = self.start(NIGHT.format(shell='"sleep 0.05; : {n}; cat said.txt"', metrics=metrics, limits=limits), "--json", stdout=attack.subprocess.PIPE, stderr=attack.subprocess.PIPE, text=True)
        report, said = run.communicate(timeout=60)
        return run.returncode, report, said, attack.testbed.rows(self.folder / "night.sqlite", "SELECT verdict, verdict_text, units FROM trials")

    def test_they_do_not_count(self):
        for output, metrics, why in TOLD:
            self.account.tried += 1
            with self.subTest(output):
                code, report, said, trials = self.night(output, metrics)
                self.assertEqual([(trial["verdict"], trial["verdict_text"]) for trial in trials], [("no_metric", why)] * 2, said)
                self.assertEqual(code, 1)
                json.loads(report, parse_constant=self.fail)
                self.account.survived += 1

    def test_a_constraint_goes_by_the_last_value(self):
        for output, verdict in (("work 12\nloss 0.3\nloss nan", "no_metric"), ("work 12\nloss 0.3\nloss 1,5", "no_metric"), ("work 12\nloss nan\nloss 0.3", "ok"), ("work 12\nloss 0.3", "ok")):
            self.account.tried += 1
            with self.subTest(output):
                _, _, said, trials = self.night(output, "[lines]", ", subject to: {loss: '<= 0.35'}")
                self.assertEqual([trial["verdict"] for trial in trials], [verdict] * 2, said)
                if verdict != "ok":
                    self.assertEqual(trials[0]["verdict_text"], "the last value of 'loss', which the constraint loss <= 0.35 is about, cannot be read: '%s'" % output.splitlines()[-1])
                self.account.survived += 1

    def test_another_unit_at_another_setting(self):
        constraint = "which the constraint loss <= 0.35 is about"
        for first, second, about in (("work 100 kn\nloss 0.3", "work 100 n\nloss 0.3", "which the objective is per"), ("work 100\nloss 0.3", "work 100 n\nloss 0.3", "which the objective is per"),
                                     ("work 100\nloss 0.3", "work 100 1\nloss 0.3 %", constraint), ("work 100\nloss 30 of 100", "work 100\nloss 0.3", constraint),
                                     ("work 90 of 100\nloss 0.3", "work 0.9\nloss 0.3", "which the objective is per"), ("work 100\nloss 30 a\nloss 0.3 b", "work 100\nloss 30 a\nloss 0.3 b", constraint)):
            self.account.tried += 1
            with self.subTest(first):
                for old in self.folder.glob("night.*"):
                    old.unlink()
                for n, output in ((1, first), (2, second)):
                    (self.folder / f"said.{n}").write_text(output + "\n")
                run = self.start(NIGHT.format(shell='"sleep 0.05; cat said.{n}"', metrics="[lines]", limits=", subject to: {loss: '<= 0.35'}"), "--json", stdout=attack.subprocess.PIPE, stderr=attack.subprocess.PIPE, text=True)
                _, said = run.communicate(timeout=60)
                trials = attack.testbed.rows(self.folder / "night.sqlite", "SELECT key, verdict, verdict_text FROM trials ORDER BY trial")
                self.assertEqual(trials[1]["verdict"], "no_metric", said)
                name = "loss" if about == constraint else "work"
                if first == second:
                    self.assertEqual([trial["verdict_text"] for trial in trials], [f"values of 'loss', {about}, come in two units, 'a' and 'b'"] * 2)
                else:
                    self.assertRegex(trials[1]["verdict_text"], f"^values of '{name}', {about}, come in ('[a-z%]+'|no unit) here and in ('[a-z%]+'|no unit|a count \\('96 of 100'\\)) in {trials[0]['key']}$")
                self.account.survived += 1

    def test_what_can_be_read_counts(self):
        for output, metrics in FINE:
            with self.subTest(output):
                code, _, said, trials = self.night(output, metrics)
                self.assertEqual([(trial["verdict"], trial["units"]) for trial in trials], [("ok", 12)] * 2, said)


if __name__ == "__main__":
    attack.main()
