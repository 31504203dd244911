#!/usr/bin/python3
"""Experiments drawn at random that change from day to day (values, works, repetitions, limits, references, settings taken away), and nights of them that are cut off and gone on with: behind each
run the machine is as before, no finished trial is gone, each trial is of the setting that its work met, and the answer is the one that follows from what the works are known to take, in every output."""
import json
import os
import random
import re
import signal
import subprocess
import time

import attack

MTUS = [1200, 1250, 1300, 1350, 1400, 1450]
WORK = r"""
import json, os, sys, time
sys.path.insert(0, ".")
sys.dont_write_bytecode = True
from dvfs_plan_regions import _channel, _process
table = json.load(open("table.json"))
setting = open("/sys/class/net/lo/mtu").read().strip() + " " + open("knob").read().strip()
one = table["at"][sys.argv[1] + " " + setting]
seconds = one["seconds"] * (1 + table["level"] * (int(os.environ["DVFS_PLAN_BLOCK"]) % 3))
time.sleep(seconds + 0.001)
end = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
begin = end - round(seconds * 1e9)
with open("notes", "a") as notes:
    notes.write(json.dumps({"begin": begin, "seconds": seconds, "work": sys.argv[1], "setting": setting}) + "\n")
print("lat", one["lat"], "ms")
fifo = _channel()
os.write(fifo, f"begin work {begin} {_process()}\nend work {end} {_process()}\n".encode())
sys.exit(one["fails"])
"""
NIGHT = """name: night
conditions: {{foreign load: off, idle: none, warm up: {warm_up}, temperature: off, references: {references}, give up after: never, reruns: {reruns}}}
settle: 0 ms
measure: {{region: work}}
objective: {{minimise: time{limit}}}
order: {order}
{trials}
{reference}
{exclude}
workloads: [{works}]
axes: {{sysfs.mtu: {mtus}{gs}}}
sysfs: {{mtu: {{path: /sys/class/net/lo/mtu, values: {all_mtus}}}}}
set: {{g: {{command: [sh, -c, 'echo {{value}} >knob'], read: [cat, knob], values: [1, 2]}}}}
"""


class Story:
    """What the file asks at the moment, and what is true of the works."""

    def __init__(self, chance):
        self.chance = chance
        self.method = chance.choice(["full", "full", "full", "adaptive", "random"])
        # The second knob stands at 1: where it is no axis yet all is run at that.
        self.works, self.mtus, self.gs = ["w0"], sorted(chance.sample(MTUS, chance.randint(2, 4))), chance.choice([None, [1], [1, 2], [1, 2]])
        self.was = self.gs is None
        self.repeat, self.most = chance.randint(1, 3), 8
        self.kind = chance.choice(["{repeat}", "{repeat}", "{{min: {repeat}, confirm: 4}}", "{{min: {repeat}, max: {most}, until: 1 %}}"])
        self.reference = self.mtus[-1] if chance.random() < 0.8 else None
        self.reference_g = 1
        self.order = chance.choice(["shuffled", "shuffled", "listed"]) if self.method == "full" else "shuffled"
        self.exclude, self.limit = None, chance.random() < 0.3
        self.warm_up, self.references, self.reruns = chance.randint(0, 1), chance.choice(["true", "false"]), chance.randint(0, 1)
        # Each is another by 4 % and more: which is the least is beyond doubt.
        steps = [0.02 * 1.04**i for i in range(24)]
        self.at = {}
        for work in ("w0", "w1"):
            chance.shuffle(steps)
            for i, (mtu, g) in enumerate((mtu, g) for mtu in MTUS for g in (1, 2)):
                self.at[f"{work} {mtu} {g}"] = {"seconds": steps[i], "lat": chance.choice([20, 20, 40]), "fails": int(chance.random() < 0.06)}
        # What a search compares is of no common block: for it all blocks are alike.
        self.level = chance.choice([0, 0.2]) if self.method == "full" else 0

    def text(self):
        repeat = self.kind.format(repeat=self.repeat, most=self.repeat + 3)
        trials = f"repeat: {repeat}" if self.method == "full" else f"search: {{method: {self.method}, at most: {self.most} trials}}"
        return NIGHT.format(
            warm_up=self.warm_up, references=self.references, reruns=self.reruns, trials=trials, limit=", subject to: {lat: '<= 30 ms'}" if self.limit else "",
            reference=f"reference: {json.dumps(self.settings_of_reference())}" if self.reference else "", order=self.order, exclude=f"exclude: [{{sysfs.mtu: {self.exclude}}}]" if self.exclude else "",
            works=", ".join(f"{{name: {work}, command: [/usr/bin/python3, -S, -E, work.py, {work}], metrics: [lines], timeout: 20 s}}" for work in self.works),
            mtus=self.mtus, gs="" if self.gs is None else f", set.g: {{values: {self.gs}, was: 1}}" if self.was else f", set.g: {self.gs}", all_mtus=sorted({*MTUS, 1500}))

    def settings_of_reference(self):
        return {"sysfs.mtu": self.reference} if self.gs is None else {"sysfs.mtu": self.reference, "set.g": self.reference_g}

    def change(self):
        """One thing that its owner changes; says which."""
        while True:
            what = self.chance.choice(["value", "value", "value taken", "second", "work", "more", "limit", "reference", "exclude"])
            spare = [mtu for mtu in MTUS if mtu not in self.mtus]
            free = [mtu for mtu in self.mtus if mtu != self.exclude and mtu != self.reference]
            if what == "value" and spare:
                self.mtus = sorted([*self.mtus, self.chance.choice(spare)])
                self.most += 6 * len(self.works)
            elif what == "value taken" and self.method == "full" and len(free) > 1:  # a search's trials are none of a smaller one: it is refused
                self.mtus.remove(self.chance.choice(free))
            elif what == "second" and self.gs != [1, 2]:
                self.gs = [1, 2]
                self.most += 6
            elif what == "work" and len(self.works) == 1:
                self.works.append("w1")
            elif what == "more":
                self.repeat, self.most = self.repeat + 1, self.most + 3
            elif what == "limit":
                self.limit = not self.limit
            elif what == "reference" and self.reference and free:
                self.reference, self.reference_g = self.chance.choice(free), self.chance.choice(self.gs or [1])
            elif what == "exclude" and self.method == "full" and not self.exclude and len(free) > 1:
                self.exclude = self.chance.choice(free)
            else:
                continue
            return what

    def of(self, point):
        """A point's key, "w0 set.g=1 sysfs.mtu=1300", as the table has it."""
        words = point.split()
        settings = dict(word.split("=") for word in words[1:])
        return f"{words[0]} {settings['sysfs.mtu']} {settings.get('set.g', 1)}"


def met(point, blocks):
    """Those that count in a block with `point`, also by way of others. `blocks`: of each."""
    found, grew = {point}, True
    while grew:
        reached = set().union(*(blocks[one] for one in found))
        more = {other for other, of in blocks.items() if of & reached}
        grew, found = more != found, more
    return found


class NightsThatChange(attack.AttackCase):
    account = attack.Account("nights cut off and gone on with, of experiments that change from day to day")

    def test_what_is_said_follows_from_what_ran(self):
        seed = os.environ.get("DVFS_PLAN_SEED") or (str(random.SystemRandom().randrange(10**9)) if attack.LONG else "1")
        for number in range(80 if attack.LONG else 3):
            with self.subTest(f"DVFS_PLAN_SEED={seed}, story {number}"):
                self.story(random.Random(f"{seed} {number}"))

    def story(self, chance):
        for old in self.folder.iterdir():
            old.unlink()
        (self.folder / "dvfs_plan_regions.py").write_text((attack.testbed.ROOT / "experiments/regions/dvfs_plan_regions.py").read_text())
        (self.folder / "work.py").write_text(WORK)
        (self.folder / "knob").write_text("1\n")
        (self.folder / "notes").touch()
        story = Story(chance)
        (self.folder / "table.json").write_text(json.dumps({"at": story.at, "level": story.level}))
        self.had, told = {}, []
        try:
            for day in range(chance.randint(2, 4)):
                if day:
                    told += [story.change() for _ in range(chance.randint(1, 2))]
                self.account.tried += 1
                for _ in range(chance.randint(0, 2)):
                    told.append(self.cut(story, chance))
                told.append("run")
                self.run_whole(story)
                self.account.survived += 1
            self.asked_otherwise(story, chance)
            self.put_to_use(story)
            self.narrower(story)
            self.a_month_later(story)
            if story.method == "full":
                self.on_a_second_machine(story)
        except AssertionError as error:
            raise AssertionError(f"{told}\n{story.text()}\n{error}") from error

    def as_before(self):
        return not self.is_set() and (self.folder / "knob").read_text() == "1\n"

    def cut(self, story, chance):
        run = self.start(story.text())
        many = len(self.ids()) + chance.randint(0, 6)
        self.wait_for(lambda: run.poll() is not None or len(self.ids()) >= many, what="so many trials")
        time.sleep(chance.uniform(0, 0.1))
        how, known = chance.choice(["SIGKILL", "SIGKILL", "SIGTERM", "SIGINT", "both"]), self.ids()
        guardian = self.guardian_of(run)
        attack.kill(run.pid, signal.SIGKILL if how == "both" else getattr(signal, how))
        if how == "both" and guardian:
            attack.kill(guardian)
        since = time.monotonic()
        run.wait(timeout=60)
        if how == "both":
            restored = subprocess.run([attack.PROGRAM, "restore"], capture_output=True, text=True)
            self.assertEqual(restored.returncode, 0, restored.stdout + restored.stderr)
        self.wait_for(self.as_before, what="the settings' former values")
        self.account.put_back.append(1000 * (time.monotonic() - since))
        gone = known - self.ids()
        self.account.lost += len(gone)
        self.assertEqual(gone, set())
        return how

    def ids(self):
        """Keys get longer where an axis is added."""
        return self.finished(column="trial")

    def call(self, *words, codes=(0,)):
        called = subprocess.run([attack.PROGRAM, *words], cwd=self.folder, capture_output=True, text=True)
        self.assertIn(called.returncode, codes, f"{words}: {called.stdout}{called.stderr}")
        return called.stdout

    def rows(self, query, file="night.sqlite"):
        return attack.testbed.rows(self.folder / file, query)

    def run_whole(self, story):
        run = self.start(story.text(), "--json", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said, error = run.communicate(timeout=300)
        self.assertIn(run.returncode, (0, 1), error)
        self.assertTrue(self.as_before(), "a setting is not as before")
        trials = self.rows("SELECT * FROM trials WHERE role <> 'warm_up'")
        now = {trial["trial"]: (trial["verdict"], trial["time_s"], trial["block"], story.of(trial["point"])) for trial in trials}
        lost = [key for key, one in self.had.items() if now.get(key) != one]
        self.account.lost += len(lost)
        self.assertEqual(lost, [], "finished trials that are gone or are others now")
        self.had = now
        self.each_is_what_ran(story, trials)
        said = json.loads(said)
        report = json.loads(self.call("report", "night.sqlite", "--json"))
        for what in ("answer", "scenarios"):
            self.assertEqual(said[what], report[what], f"{what}: of the night as it ends, and of report")
        for scenario in report["scenarios"]:
            self.answer_follows(story, scenario, [trial for trial in trials if trial["scenario"] == scenario["scenario"]])
        self.assertEqual(sorted(scenario["scenario"].split()[0] for scenario in report["scenarios"]), story.works)

    def scenarios_of(self, *words):
        return json.loads(self.call("report", *words, "--json"))["scenarios"]

    def asked_otherwise(self, story, chance):
        """Another reference, other limits: what the file with them would say."""
        trials = self.rows("SELECT * FROM trials WHERE role <> 'warm_up'")
        keep = story.limit, story.reference, story.reference_g
        story.limit = not story.limit
        for scenario in self.scenarios_of("night.sqlite", "--subject-to", "lat <= 30 ms" if story.limit else "none"):
            self.answer_follows(story, scenario, [trial for trial in trials if trial["scenario"] == scenario["scenario"]], stored_too=False)
        story.limit = keep[0]
        if story.method == "full":
            free = [mtu for mtu in story.mtus if mtu != story.exclude]
            story.reference, story.reference_g = chance.choice(free), chance.choice(story.gs or [1])
            for scenario in self.scenarios_of("night.sqlite", "--reference", *(f"{axis}={value}" for axis, value in story.settings_of_reference().items())):
                self.answer_follows(story, scenario, [trial for trial in trials if trial["scenario"] == scenario["scenario"]], stored_too=False)
        story.limit, story.reference, story.reference_g = keep

    def put_to_use(self, story):
        """A command runs at what was found; where nothing was, none runs."""
        for name, best in self.bests().items():
            used = subprocess.run([attack.PROGRAM, "use", "night.sqlite", "--workload", name, "--", "cat", attack.MTU, "knob"], cwd=self.folder, capture_output=True, text=True)
            self.assertTrue(self.as_before(), "a setting is not as before")
            if best:
                self.assertEqual((used.returncode, used.stdout.split()), (0, story.of(best).split()[1:]), used.stderr)
            else:
                self.assertNotEqual(used.returncode, 0)
                self.assertEqual(used.stdout, "")

    def narrower(self, story):
        """The sweep around what was found can be run as it is written: with the setting and the reference, between the neighbours, without what is left out."""
        for scenario in self.scenarios_of("night.sqlite"):
            if not scenario["best"]:
                continue
            text = self.call("setting", "night.sqlite", "--as", "yaml", "--workload", scenario["scenario"])
            (self.folder / "narrow.yaml").write_text(text)
            plan = json.loads(self.call("check", "narrow.yaml", "-o", "narrow.sqlite", "--json"))
            planned = [(story.of(point["point"]), point["reference"]) for point in plan["points"]]
            swept = sorted({self.mtu_of(point["point"]) for point in scenario["points"]})
            at = swept.index(self.mtu_of(scenario["best"]))
            between = range(swept[max(at - 1, 0)], swept[min(at + 1, len(swept) - 1)] + 1)
            mtus = {int(point.split()[1]) for point, _ in planned}
            self.assertLessEqual(mtus, {*between, self.mtu_of(scenario["reference"] or scenario["best"])}, text)
            self.assertNotIn(story.exclude, mtus, text)
            self.assertIn(story.of(scenario["best"]), [point for point, _ in planned], text)
            if scenario["reference"]:
                self.assertIn((story.of(scenario["reference"]), True), planned, text)

    @staticmethod
    def mtu_of(point):
        return int(re.search(r"sysfs\.mtu=(\d+)", point)[1])

    def bests(self):
        return {scenario["scenario"]: scenario["best"] for scenario in self.scenarios_of("night.sqlite")}

    def a_month_later(self, story):
        """Nothing has changed, and nothing is said to have; what was known is as it was."""
        if not any(self.bests().values()):
            return
        before = json.loads(self.call("report", "night.sqlite", "--json"))
        said = self.call("recheck", "night.sqlite", "--blocks", "2", "--no-html", "--quiet", "--json", codes=(0, 3, 7))  # 3: there is no saving that could be rechecked
        self.assertTrue(self.as_before(), "a setting is not as before")
        if said:
            self.assertNotIn("changed", [one["verdict"] for one in json.loads(said)["rechecks"]])
        after = json.loads(self.call("report", "night.sqlite", "--json"))
        self.assertEqual((after["answer"], after["scenarios"]), (before["answer"], before["scenarios"]))
        self.each_is_what_ran(story, self.rows("SELECT * FROM trials WHERE role <> 'warm_up'"))

    def on_a_second_machine(self, story):
        """Another machine, a third slower throughout, runs what the file asks by now; the two are joined."""
        own = (self.folder / "table.json").read_text()
        slower = {key: dict(one, seconds=one["seconds"] * 1.3) for key, one in story.at.items()}
        (self.folder / "table.json").write_text(json.dumps({"at": slower, "level": story.level}))
        run = self.start(story.text(), "--quiet", "--output", "other.sqlite", stderr=subprocess.PIPE, text=True)
        _, error = run.communicate(timeout=300)
        (self.folder / "table.json").write_text(own)
        self.assertIn(run.returncode, (0, 1), error)
        self.call("merge", "one=night.sqlite", "two=other.sqlite", "-o", "both.sqlite")
        trials = attack.testbed.rows(self.folder / "both.sqlite", "SELECT * FROM trials WHERE role <> 'warm_up'")
        for trial in trials:
            trial["block"] = trial["node"], trial["block"]
        alone = {name: len(attack.testbed.rows(self.folder / f"{name}.sqlite", "SELECT * FROM trials WHERE counts")) for name in ("night", "other")}
        self.assertEqual(sum(1 for trial in trials if trial["counts"]), sum(alone.values()))
        for scenario in self.scenarios_of("both.sqlite"):
            self.answer_follows(story, scenario, [trial for trial in trials if trial["scenario"] == scenario["scenario"]], file="both.sqlite")

    def each_is_what_ran(self, story, trials):
        notes = {note["begin"]: note for note in map(json.loads, (self.folder / "notes").read_text().splitlines())}
        begins = {row["trial"]: row["started_ns"] for row in self.rows("SELECT trial, started_ns FROM regions WHERE counted")}
        for trial in trials:
            key = story.of(trial["point"])
            self.assertEqual(trial["verdict"], "exited" if story.at[key]["fails"] else "ok", trial)
            if trial["verdict"] == "ok":
                note = notes[begins[trial["trial"]]]
                self.assertEqual(f"{note['work']} {note['setting']}", key, trial)
                self.assertAlmostEqual(trial["time_s"], note["seconds"], delta=2e-9)

    def answer_follows(self, story, scenario, trials, file="night.sqlite", stored_too=True):
        """`stored_too`: what the file holds is this answer too, not that of another question."""
        name, work = scenario["scenario"], scenario["scenario"].split()[0]
        points = {row["point"]: row for row in self.rows(f"SELECT * FROM points WHERE scenario = '{name}'", file)}
        in_json = {point["point"]: point for point in scenario["points"]}
        asked = {f"{work} {mtu} {g}" for mtu in story.mtus for g in story.gs or [1] if mtu != story.exclude}
        taken_away = {point: points.pop(point) for point in list(points) if story.of(point) not in asked}
        for point, row in taken_away.items():
            self.assertEqual((row["counted"], row["objective_value"], row["gain"]), (0, None, None), point)
            self.assertEqual([trial["key"] for trial in trials if trial["point"] == point and trial["counts"]], [])
            self.assertNotIn(point, in_json)
        counted = {}
        for trial in trials:
            if trial["counts"] and trial["point"] in points:
                counted.setdefault(trial["point"], set()).add(trial["block"])
        if story.method == "full":
            for point in points:
                if not story.at[story.of(point)]["fails"]:
                    self.assertGreaterEqual(len(counted.get(point, ())), story.repeat, f"blocks of {point}")
            self.assertEqual({story.of(point) for point in points}, asked)
        self.best_follows(story, scenario, counted, in_json)
        self.gains_follow(story, scenario, counted, in_json)
        if stored_too:
            self.stored_is_said(story, scenario, trials, points, in_json, file)

    def best_follows(self, story, scenario, counted, in_json):
        def seconds(point):
            return story.at[story.of(point)]["seconds"]

        name, best = scenario["scenario"], scenario["best"]
        holds = [point for point in counted if not story.limit or story.at[story.of(point)]["lat"] <= 30]
        least = min(holds, key=seconds, default=None)
        if story.method == "full" and best in holds and least not in met(best, counted):
            # They never met in a block, nor by way of others: nothing tells the two apart, and so it says.
            self.assertTrue(in_json[least]["not_told_apart_from_best"], f"{name}: {least} needs least, {best} is named")
            least = min(met(best, counted) & set(holds), key=seconds)
        self.assertEqual(best, least, f"{name}: the least that ran, {[(point, story.at[story.of(point)]) for point in counted]}")

    def gains_follow(self, story, scenario, counted, in_json):
        reference = scenario["reference"]
        if story.reference:
            self.assertEqual(story.of(reference), f"{scenario['scenario'].split()[0]} {story.reference} {story.reference_g}")
        for point, said in in_json.items():
            gain = (said["gain"] or {}).get("value")
            common = counted.get(point, set()) & counted.get(reference, set())
            if point == reference or (story.method == "full" and not common):
                self.assertIsNone(gain, f"{point} against {reference}: no block has both")
            elif story.method == "full":
                self.assertIsNotNone(gain, f"{point} against {reference}: {len(common)} blocks have both")
            if gain is not None:
                true = 1 - story.at[story.of(point)]["seconds"] / story.at[story.of(reference)]["seconds"]
                # A search's are by its model of what it saw, which takes some of all that it saw for scatter.
                self.assertAlmostEqual(gain, true, delta=1e-6 if story.method == "full" else 0.02, msg=f"{point} against {reference}")

    def stored_is_said(self, story, scenario, trials, points, in_json, file):
        name, best = scenario["scenario"], scenario["best"]
        stored = self.rows(f"SELECT * FROM best WHERE scenario = '{name}'", file)
        self.assertEqual([row["point"] for row in stored], [best] if best else [])
        searches = self.rows(f"SELECT best FROM searches WHERE scenario = '{name}'", file)
        self.assertEqual([row["best"] for row in searches], [best] * len(searches))
        for point, row in points.items():
            self.assertEqual(row["counted"], sum(1 for trial in trials if trial["counts"] and trial["point"] == point), point)
            gain = (in_json[point]["gain"] or {}).get("value") if point in in_json else None
            self.assertEqual(gain is None, row["gain"] is None, point)
            if gain is not None:
                self.assertAlmostEqual(row["gain"], gain, delta=1e-6, msg=point)
        if stored and stored[0]["gain"] is not None:
            self.assertAlmostEqual(stored[0]["gain"], points[best]["gain"], delta=1e-6)
        index = json.loads(self.call("index", ".", "--json"))["results"]
        listed = [(one["best"], (one["gain"] or {}).get("value")) for one in index if one["file"] == file and one["scenario"] == name]
        if best:  # a point keeps its key where an axis is added; its settings are named here
            listed = [(story.of(name.split()[0] + " " + settings.replace(" = ", "=").replace(",", "")), gain) for settings, gain in listed]
        self.assertEqual(listed, [(best and story.of(best), stored[0]["gain"] if stored else None)])


if __name__ == "__main__":
    attack.main()
