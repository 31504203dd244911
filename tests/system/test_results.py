"""What analysts do with a result file: SQL with and without our program, tables, comparing, figures, a notebook, watching a
night. No virtual machine: recorded results and short runs."""
import csv
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
import xml.dom.minidom

import testbed

RECORDED = testbed.ROOT / "tests/recorded/results"
EXTENSION = testbed.BIN.parent / "lib/dvfs_plan_readings.so"
WEB = testbed.ROOT / "results/page/web"


class Results(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dvfs-results."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def call(self, *arguments, **options):
        return subprocess.run([testbed.BIN / "dvfs-plan", *arguments], capture_output=True, text=True, cwd=self.folder, **options)

    def recorded(self, version):
        file = self.folder / f"{version}.sqlite"
        file.write_bytes(gzip.decompress((RECORDED / f"{version}.sqlite.gz").read_bytes()))
        return file

    def current(self):
        """One with packed readings."""
        return self.recorded("adaptive")

    def sql(self, file, query):
        return json.loads(self.call("sql", file, query, "--json").stdout)

    # ---------------------------------------------------------------- SQL

    def test_what_scripts_may_rely_on_stays(self):
        """tests/recorded/interface.json, docs/promises.md: views, columns, keys of JSON, exit codes, keys and words of the experiment file are added to, and none goes; a file
        of 1.0 means what it meant."""
        sys.path.insert(0, str(RECORDED.parent))
        import interface
        promised, now = json.loads((RECORDED.parent / "interface.json").read_text()), interface.interface_of(testbed.BIN / "dvfs-plan")
        for view, columns in promised["views"].items():
            self.assertEqual(set(columns) - set(now["views"].get(view, [])), set(), view)
        for command, keys in promised["json"].items():
            self.assertEqual(set(keys) - set(now["json"].get(command, [])), set(), command)
        for code, name in promised["exit_codes"].items():
            self.assertEqual(now["exit_codes"].get(code), name, f"exit code {code}")
        self.assertEqual(set(promised["experiment_file"]) - set(now["experiment_file"]), set())
        for name, meaning in promised["experiments"].items():
            for key, value in meaning.items():
                self.assertEqual(now["experiments"][name][key], value, f"tests/recorded/experiments/{name}.yaml: {key}")
        added = [f"{view}.{column}" for view, columns in now["views"].items() for column in columns if column not in promised["views"].get(view, [])] + \
                [f"{command}: {key}" for command, keys in now["json"].items() for key in keys if key not in promised["json"].get(command, [])] + \
                [word for word in now["experiment_file"] if word not in promised["experiment_file"]] + [code for code in now["exit_codes"] if code not in promised["exit_codes"]]
        self.assertEqual(added, [], "promise them: tests/recorded/interface.py build/dev/bin/dvfs-plan")

    def test_the_analysts_questions_are_answered(self):
        """docs/questions.md: each query runs, has rows where there is something to say, and says what the report says."""
        page = (testbed.ROOT / "docs/questions.md").read_text()
        asked = re.findall(r"^\*\*(.*?)\*\*.*?^```sql\n(.*?)^```", page, re.M | re.S)
        self.assertEqual(len(asked), 12)
        newest = max(int(path.name[1:].split(".")[0]) for path in RECORDED.glob("v*.sqlite.gz"))
        file = self.recorded(f"v{newest}")
        report = json.loads(self.call("report", file, "--json").stdout)
        scenario = report["scenarios"][0]
        answers = {}
        for question, query in asked:
            with self.subTest(question):
                done = self.call("sql", file, query, "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                answers[question] = json.loads(done.stdout)
        of = lambda words: next(rows for question, rows in answers.items() if words in question)
        best = next(point for point in scenario["points"] if point["point"] == scenario["best"])
        self.assertEqual(of("Which setting is best")[0]["point"], scenario["best"])
        self.assertAlmostEqual(of("Which setting is best")[0]["gain"], scenario["gain_of_best"]["value"], places=12)
        self.assertEqual({row["point"] for row in of("cannot be told")}, {point["point"] for point in scenario["points"] if point["not_told_apart_from_best"]})
        within = [point for point in scenario["points"] if point["reference"] or (point["slowdown"] and point["slowdown"]["value"] <= 0.05)]
        self.assertEqual(of("within 5 %")[0]["point"], min(within, key=lambda point: point["energy_j"]["mean"])["point"])
        self.assertEqual(sum(row["trials"] for row in of("How many trials")), sum(report["not_counted"].values()))
        self.assertEqual({row["name"]: row["value"] for row in of("On what machine")}, report["machine"])
        self.assertEqual(len(of("When did it run")), len(report["sessions"]))
        self.assertEqual(of("What was the energy")[0]["energy_source"], report["energy_source"])
        self.assertEqual(len(of("did the machine drift".capitalize())), len(scenario["drift"]))
        self.assertEqual(len(of("What did each trial")), sum(trial["counts"] for trial in report["trials"]))
        mine = [row["energy_j"] for row in of("What did each trial") if row["point"] == best["point"]]
        self.assertAlmostEqual(sum(mine) / len(mine), best["energy_j"]["mean"], places=9)
        self.assertGreater(len(of("What did the sensors see")), 50)
        self.assertEqual(of("still stand"), [])

    def test_readings_are_rows_for_everybody(self):
        file = self.current()
        query = "select trial, channel, unit, time_ns, value, absence from readings where trial = 3 order by channel, time_ns"
        ours = [tuple(row.values()) for row in self.sql(file, query)]
        self.assertGreater(len(ours), 50)
        connection = sqlite3.connect(file)
        with self.assertRaisesRegex(sqlite3.OperationalError, "no such table: .*unpack_readings"):
            connection.execute(query).fetchall()
        connection.enable_load_extension(True)
        connection.load_extension(str(EXTENSION))
        self.assertEqual(connection.execute(query).fetchall(), ours)
        shell = subprocess.run(["sqlite3", "-csv", file], input=f".load {EXTENSION}\n{query};\n", capture_output=True, text=True)
        self.assertEqual(shell.stderr, "")
        self.assertEqual(len(shell.stdout.splitlines()), len(ours))
        # All other views need nothing.
        plain = sqlite3.connect(file)
        for (view,) in plain.execute("select name from sqlite_schema where type = 'view' and name <> 'readings'").fetchall():
            plain.execute(f"select * from {view}").fetchall()

    def test_numpy_unpacks_them_as_the_manual_says(self):
        manual = (testbed.ROOT / "results/SCHEMA.md").read_text()
        self.assertIn((testbed.ROOT / "results/store/readings.md").read_text().strip(), manual)
        scope = {}
        exec(re.search(r"```python\n(.*?)```", manual, re.S)[1], scope)
        file = self.current()
        for channel in [row["channel"] for row in self.sql(file, "select distinct channel from readings")]:
            rows = self.sql(file, f"select time_ns, value from readings where trial = 5 and channel = '{channel}' order by time_ns")
            seconds, values = scope["trace"](str(file), 5, channel)
            self.assertEqual([round(s * 1e9) for s in seconds], [row["time_ns"] for row in rows], channel)
            self.assertEqual(list(values), [row["value"] for row in rows], channel)

    def test_what_would_be_ignored_is_refused(self):
        file = self.current()
        for refused, said in ((("report", file, "--recompute", "--html", "page.html"), "--recompute says what differs from what is stored, in words or --json alone\n"
                                                                                      "  hint: leave it out, or --html, --svg and --png; nothing was written\n"),
                              (("setting", file, "--experiment", "none.yaml"), "--experiment none.yaml: No such file or directory\n"
                                                                              "  hint: it is where the experiment's file is: programs are sought from its folder\n")):
            result = self.call(*refused)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (2, "", "error: " + said))
        self.assertFalse((self.folder / "page.html").exists())
        completion = self.call("completion", "bash", "--json")
        self.assertEqual((completion.returncode, completion.stdout), (2, ""))
        self.assertNotIn("--json", self.call("completion", "--help").stdout)

    def test_a_query_is_read_only_and_its_errors_say_what_there_is(self):
        file = self.current()
        before = hashlib.sha256(file.read_bytes()).hexdigest()
        for statement in ["delete from trial", "attach '/tmp/x.sqlite' as x", "drop view best"]:
            self.assertEqual(self.call("sql", file, statement).returncode, 2, statement)
        views = ("best, block_runs, block_times, changes, drift, energy, experiments, growths, idle, instances, iterations, machine, metrics, node_facts, nodes, point_constraints, point_values, points, quantities, readings, rechecks, regions, scenarios, search_points, "
                 "searches, sensor_agreements, sensors, sessions, settings, trials, warnings, workloads")
        wrong = self.call("sql", file, "select * from bst")
        self.assertEqual((wrong.returncode, wrong.stderr), (2, f"error: result file: select * from bst: no such table: bst\n  hint: the views are {views}; their columns: results/SCHEMA.md\n"))
        # However long: a pipe that is read has it whole.
        long = "select " + "x" * 30000 + " from"
        self.assertEqual(self.call("sql", file, long).stderr.splitlines()[0], f"error: result file: {long}: incomplete input")
        two = self.call("sql", file, "select 1; select 2")
        self.assertEqual(two.stderr.splitlines()[0], "error: result file: this is not one statement: select 1; select 2")
        self.assertEqual(hashlib.sha256(file.read_bytes()).hexdigest(), before)
        # Of several results each row says whose it is.
        both = self.call("sql", file, file, "select 1 as a, 'x,y' as c", "--csv")
        self.assertEqual(both.stdout, f'result,a,c\r\n{file},1,"x,y"\r\n{file},1,"x,y"\r\n'.replace("\r\n", "\n"))
        self.assertEqual(json.loads(self.call("sql", file, file, "select 1 as a", "--json").stdout), [{"result": str(file), "a": 1}] * 2)
        self.assertEqual(self.call("sql", file, "select 1 as a, null as b, 'x,y' as c", "--csv").stdout, "a,b,c\n1,,\"x,y\"\n")

    def test_a_damaged_blob_is_an_error_and_no_crash(self):
        file = self.current()
        with sqlite3.connect(file) as connection:
            connection.execute("update reading_values set packed = x'789c0102' where id = 1")
            connection.execute("update reading_times set readings = 4000000000000000 where id = 2")
        wrong = self.call("sql", file, "select count(*) from readings", timeout=60)
        self.assertEqual((wrong.returncode, wrong.stderr.splitlines()[0]), (2, "error: result file: select count(*) from readings: unpack_readings: packed readings are damaged"))
        # What is whole is there, and what is not is named.
        damaged = testbed.rows(file, "select distinct v.trial_id as trial, c.name as channel from reading_values v join channel c on c.id = v.channel_id where v.id = 1 or v.times_id = 2")
        said = "warning: result file: trial {trial}, channel {channel}: packed readings are damaged".format(**damaged[0])
        page = self.call("report", file, "--html", "x.html", timeout=60)
        self.assertEqual(page.returncode, 0, page.stderr)
        readings = self.call("export", file, "--table", "readings", timeout=60)
        self.assertEqual(readings.returncode, 1)
        self.assertGreater(len(readings.stdout.splitlines()), 500)
        self.assertIn(said, readings.stderr)
        # What does not need them is still there.
        self.assertEqual(self.call("report", file).returncode, 0)

    def test_trials_that_are_not_as_written_are_named_by_each_tool(self):
        file = self.recorded("v19")
        self.assertNotIn("not as written", self.call("index", self.folder).stdout + self.call("status", file).stdout)
        with sqlite3.connect(file) as connection:
            connection.execute("update trial set energy_j = energy_j / 2 where id in (select id from trial where verdict = 'ok' and role = 'point' limit 2)")
        said = "2 of the trials are not as written (the checksum differs): "
        counted = int(self.sql(file, "select sum(counts) as n from trials")[0]["n"])
        for command in (("report", file), ("status", file), ("index", self.folder), ("setting", file, "--as", "yaml"), ("compare", file, file)):
            with self.subTest(command[0]):
                told = self.call(*command)
                self.assertEqual(told.returncode, 0, told.stderr)
                self.assertIn(said, " ".join((told.stdout + told.stderr).split()))
        rows = json.loads(self.call("index", self.folder, "--json").stdout)["results"]
        self.assertEqual([row["counted"] for row in rows if row["file"] == file.name], [counted - 2])
        status = json.loads(self.call("status", file, "--json").stdout)
        self.assertIn(said, status["last_warnings"][-1]["message"])
        self.assertEqual(status["counted_trials"], counted - 2)
        self.assertIn(f" {counted - 2} of them count\n", self.call("status", file).stdout)
        again = self.call("report", file, "--recompute")
        self.assertEqual(again.returncode, 0)
        self.assertIn("warning: " + said, again.stderr)

    def test_a_result_that_cannot_be_read_is_named(self):
        """Among many by its file; and by `status` too, which tells how far it came all the same."""
        file = self.recorded("v20")
        with sqlite3.connect(file) as connection:
            connection.execute("update trial set digest = digest + 1 where id = (select min(id) from trial)")
        why = "the result is damaged: trials that were written are not among the "
        unread = json.loads(self.call("index", self.folder, "--json").stdout)["unread"]
        self.assertEqual(len(unread), 1)
        self.assertTrue(unread[0].startswith(f"{file}: {why}"), unread)
        self.assertIn(why, " ".join(self.call("status", file).stdout.split()))
        self.assertIn(why, json.loads(self.call("status", file, "--json").stdout)["last_warnings"][-1]["message"])

    @unittest.skipIf(os.geteuid() != 0, "a file system of its own needs root (tests/system/apart)")
    def test_a_cut_off_result_that_cannot_be_put_together_is_refused(self):
        """Its log is folded into a copy; without room for that an older state was told as if it were all."""
        file = self.recorded("v20")
        with sqlite3.connect(file, isolation_level=None) as connection:
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma wal_autocheckpoint = 0")
            connection.execute("create table more (text)")
            connection.executemany("insert into more values (?)", [("x" * 4000,)] * 400)
            whole = file.stat().st_size + (self.folder / "v20.sqlite-wal").stat().st_size
            there = self.folder / "theirs"
            there.mkdir()
            for name in ("v20.sqlite", "v20.sqlite-wal"):  # as kill -9 leaves them
                (there / name).write_bytes((self.folder / name).read_bytes())
        small = self.folder / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=1777,size={whole + 64 * 1024}", "none", small], check=True)
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        for folder in (self.folder, there):
            folder.chmod(0o755)

        def count(**more):
            return subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", str(testbed.BIN / "dvfs-plan"), "sql", str(there / "v20.sqlite"), "select count(*) as n from more"],
                                  env=dict(os.environ, **more), cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

        self.assertIn("400", count().stdout)
        none = count(TMPDIR=str(small))
        self.assertEqual((none.returncode, none.stdout), (3, ""), none.stderr)
        self.assertRegex(none.stderr, f"^error: result file {there}/v20.sqlite: it was cut off in a commit, and what is committed could not be put together in a copy of it: .*\n"
                         r"  hint: is there room in /var/tmp \(or TMPDIR\) for twice its size\?\n$")
        self.assertEqual(list(small.iterdir()), [])

    def test_the_manual_is_up_to_date(self):
        made = subprocess.run(["/usr/bin/python3", testbed.ROOT / "results/store/schema_doc.py", EXTENSION, testbed.BIN / "dvfs-plan"], capture_output=True, text=True)
        self.assertEqual(made.stderr, "")
        self.assertEqual(made.stdout, (testbed.ROOT / "results/SCHEMA.md").read_text(), "run ./dev schema")

    # ---------------------------------------------------------------- tables

    def test_one_table_in_three_formats(self):
        file = self.recorded("v4")
        rows = list(csv.DictReader(io.StringIO(self.call("export", file).stdout)))
        lines = [json.loads(line) for line in self.call("export", file, "--format", "jsonl").stdout.splitlines()]
        self.assertEqual(len(rows), 16)
        self.assertEqual(len(lines), 16)
        for row, line in zip(rows, lines):
            self.assertEqual(list(row), list(line))
            for name, value in line.items():
                if value is None:
                    self.assertEqual(row[name], "")
                elif isinstance(value, (int, float)):
                    self.assertEqual(float(row[name]), value, name)
                else:
                    self.assertEqual(row[name].lstrip("'"), value, name)
        done = self.call("export", file, "--format", "parquet", "-o", "t.parquet")
        self.assertEqual(done.returncode, 0, done.stderr)
        read = subprocess.run(["node", "--input-type=module", "-e", f"""
            import {{ asyncBufferFromFile, parquetReadObjects }} from "{WEB}/node_modules/hyparquet/src/node.js";
            const rows = await parquetReadObjects({{ file: await asyncBufferFromFile("t.parquet") }});
            console.log(JSON.stringify(rows, (_, v) => typeof v === "bigint" ? Number(v) : v));"""], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(read.stderr, "")
        self.assertEqual(json.loads(read.stdout), lines)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir() if "parquet" in p.name), ["t.parquet"])

    def test_readings_of_every_trial(self):
        file = self.current()
        rows = list(csv.DictReader(io.StringIO(self.call("export", file, "--table", "readings").stdout)))
        self.assertEqual(len(rows), self.sql(file, "select count(*) n from readings")[0]["n"])
        self.assertEqual({row["channel"] for row in rows}, {row["channel"] for row in self.sql(file, "select distinct channel from readings")})

    def test_parquet_without_node(self):
        file = self.current()
        refused = self.call("export", file, "--format", "parquet", "-o", "t.parquet", env={"PATH": "/nowhere"})
        self.assertEqual((refused.returncode, refused.stderr), (3, "error: Parquet is written by hyparquet-writer, which needs node, and there is none in $PATH\n"
                                                                   "  hint: apt-get install nodejs, or export CSV or JSON Lines (--format jsonl), which any tool reads too\n"))
        self.assertEqual([p.name for p in self.folder.iterdir() if "parquet" in p.name], [])
        self.assertEqual(self.call("export", file, "--format", "parquet").stderr, "error: Parquet is written to a file: its end says where its columns are\n  hint: name a file: --output table.parquet\n")

    # ---------------------------------------------------------------- reports

    def test_comparing(self):
        before, after = self.recorded("v3"), self.recorded("v4")
        text = self.call("compare", before, after)
        self.assertEqual(text.returncode, 0, text.stderr)
        self.assertIn("energy changed at none of the 5 that could be judged, and time changed at none of the 5 that could be judged.", text.stdout)
        self.assertIn("The best is the same: cpu.frequency = 1.8 GHz.", text.stdout)
        report = json.loads(self.call("compare", before, after, "--json").stdout)
        of = lambda file: {p["point"]: p for p in json.loads(self.call("report", file, "--json").stdout)["scenarios"][0]["points"]}
        a, b = of(before), of(after)
        for point in report["scenarios"][0]["points"]:
            self.assertEqual(point["before"]["energy_j"], a[point["point"]]["energy_j"]["mean"])
            self.assertEqual(point["after"]["energy_j"], b[point["point"]]["energy_j"]["mean"])
        # Several, each against the first: what the pairs say, behind a table.
        third = self.folder / "third.sqlite"
        third.write_bytes(after.read_bytes())
        several = json.loads(self.call("compare", before, after, third, "--json").stdout)
        self.assertEqual((several["before"], [one["after"] for one in several["comparisons"]]), (str(before), [str(after), str(third)]))
        self.assertEqual(several["comparisons"][0], report)
        text = self.call("compare", before, after, third).stdout
        self.assertTrue(text.startswith(f"2 results against {before}. Each comparison is at 5 % by itself: of twenty of nights that are alike, one is expected to call something changed.\n"), text)
        self.assertRegex(text, rf"{re.escape(str(third))} +cpu\.frequency = 1\.8 GHz +[\d.]+ % +is the best +0 of 5 +0 of 5\n")
        self.assertIn(self.call("compare", before, third).stdout, text)
        page = self.call("compare", before, after, third, "--html", "x.html")
        self.assertEqual((page.returncode, page.stderr), (2, "error: compare --html: a page compares two sides, and 3 results are named\n"
                                                             "  hint: name two, or several nights a side with -- between; `dvfs-plan index FOLDER --html` has all results of a folder\n"))
        # A change that was put in is found, at the points that have it.
        with sqlite3.connect(after) as connection:
            connection.execute("update trial set energy_j = energy_j * 1.3, objective = objective * 1.3 where point_id in (1, 2)")
        changed = [p["point"] for p in json.loads(self.call("compare", before, after, "--json").stdout)["scenarios"][0]["points"] if p["energy"] and p["energy"]["beyond_noise"]]
        self.assertEqual(changed, [row["key"] for row in testbed.rows(after, "select key from point where id in (1, 2) order by id")])

    def test_what_is_there_and_is_none_of_ours_stays(self):
        file, other = self.recorded("v4"), self.recorded("v3")
        (self.folder / "night.yaml").write_text("name: night\n")
        before = other.read_bytes()
        for command in (("report", file, "--html"), ("compare", file, file, "--html")):
            for name in (other, self.folder / "night.yaml"):
                said = self.call(*command, name)
                self.assertEqual((said.returncode, said.stderr), (2, f"error: --html {name} is there, and no page of dvfs-plan\n  hint: name another file\n"))
        for command in (("report", file, "--html"), ("compare", file, file, "--html"), ("export", file, "--output"), ("index", self.folder, "--html")):
            said = self.call(*command, f"{other}-wal")
            self.assertEqual((said.returncode, said.stderr), (2, f"error: {command[-1]} {other}-wal is what SQLite keeps beside {other}\n  hint: name another file\n"))
            self.assertFalse(pathlib.Path(f"{other}-wal").exists())
        for name, what in ((other, "a result"), (self.folder / "night.yaml", "an experiment")):
            said = self.call("export", file, "--output", name)
            self.assertEqual((said.returncode, said.stderr), (2, f"error: --output {name} is there, and {what}\n  hint: name another file\n"))
        self.assertEqual((other.read_bytes(), (self.folder / "night.yaml").read_text()), (before, "name: night\n"))
        for _ in range(2):  # its own page and its own table are replaced
            self.assertEqual(self.call("report", file, "--html", "page.html").returncode, 0)
            self.assertEqual(self.call("export", file, "--output", "table.csv").returncode, 0)

    def test_figures(self):
        file = self.recorded("v4")
        drawn = self.call("report", file, "--svg", "sweep", "--png", "sweep")
        self.assertEqual((drawn.returncode, drawn.stdout), (0, ""))
        self.assertEqual(drawn.stderr, "drew sweep-settings.svg\ndrew sweep-trade-off.svg\ndrew sweep-settings.png\ndrew sweep-trade-off.png\n")
        for name in ["sweep-settings.svg", "sweep-trade-off.svg"]:
            self.assertIn("cpu.frequency (GHz)" if "settings" in name else "time (s)", xml.dom.minidom.parse(str(self.folder / name)).documentElement.toxml())
        self.assertTrue((self.folder / "sweep-settings.png").read_bytes().startswith(b"\x89PNG"))
        refused = self.call("report", file, "--svg", "sweep", env={"PATH": "/nowhere"})
        self.assertEqual((refused.returncode, refused.stderr), (3, "error: figures are drawn by gnuplot, and there is none in $PATH\n  hint: apt-get install gnuplot-nox; the page (--html) needs nothing\n"))

    def test_sparklines(self):
        self.assertIn("Over cpu.frequency, from 1 GHz to 3 GHz:\n  energy   ▅▁▁▂▄█   53.05 to 72.51 J\n", self.call("report", self.recorded("v4")).stdout)

    def test_files_that_are_none(self):
        whole = self.current().read_bytes()
        (self.folder / "cut.sqlite").write_bytes(whole[:len(whole) // 2])
        (self.folder / "other.sqlite").unlink(missing_ok=True)
        with sqlite3.connect(self.folder / "other.sqlite") as other:
            other.execute("create table t (x)")
        (self.folder / "text.sqlite").write_text("no database, but long enough to look like one, a little more, and yet more of it until a header is full..")
        (self.folder / "short.yaml").write_text("name: x\n")
        (self.folder / "long.yaml").write_text("name: x\n" + "# " * 500)
        for name, said in [("cut.sqlite", f"cut.sqlite is cut short: it should be {len(whole)} bytes long and is {len(whole) // 2}"),
                           ("other.sqlite", "other.sqlite is not a result file of dvfs-plan"),
                           ("text.sqlite", "text.sqlite is not a result file of dvfs-plan, or it is damaged: file is not a database"),
                           ("short.yaml", "short.yaml is an experiment file, and no result"), ("long.yaml", "long.yaml is an experiment file, and no result")]:
            for command in [("report",), ("status",), ("export",), ("sql",), ("compare",)]:
                more = ["select 1"] if command == ("sql",) else [name] if command == ("compare",) else []
                refused = self.call(*command, name, *more)
                self.assertEqual((refused.returncode, refused.stderr.splitlines()[0]), (3, "error: " + said), (name, command))

    @unittest.skipIf(os.geteuid() != 0, "only root can be somebody else")
    def test_a_result_can_be_read_where_nothing_can_be_written(self):
        file = self.current()
        self.folder.chmod(0o555)
        file.chmod(0o444)
        try:
            report = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", testbed.BIN / "dvfs-plan", "report", file], capture_output=True, text=True)
        finally:
            self.folder.chmod(0o755)
        self.assertEqual((report.returncode, report.stderr), (0, ""))
        self.assertIn("the least energy at cpu.frequency = 1.8 GHz", report.stdout)

    # ---------------------------------------------------------------- a night that is running

    SLOW = """
name: slow
workloads: [{name: nap, command: [sleep, "0.3"]}]
axes: {n: [1, 2, 3]}
repeat: 6
objective: time
probes: []
conditions: {warm up: 0, idle: none, foreign load: off}
"""

    def test_watching_a_night(self):
        (self.folder / "slow.yaml").write_text(self.SLOW.replace('command: [sleep, "0.3"]', 'shell: "sleep 0.1; echo {n} >>count; [ $(wc -l <count) -lt 4 ] || while [ -e hold ]; do sleep 0.1; done"'))
        (self.folder / "hold").touch()  # from the third trial on they wait until all was looked at
        run = subprocess.Popen([testbed.BIN / "dvfs-plan", "slow.yaml", "--state-folder", self.folder / "state"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            for _ in range(300):
                if (self.folder / "slow.sqlite").exists() and self.call("status", "slow.sqlite").stdout.startswith("slow: 3"):
                    break
                time.sleep(0.1)
            watch = subprocess.Popen([testbed.BIN / "dvfs-plan", "status", "--watch", "slow.sqlite"], cwd=self.folder, stdout=subprocess.PIPE, text=True)
            # The report, the page and the tables of what is there so far.
            report = self.call("report", "slow.sqlite")
            self.assertEqual(report.returncode, 0, report.stderr)
            self.assertRegex(report.stdout, r"Unfinished: \d+ of 18 trials are still to be run")
            self.assertEqual(self.call("report", "slow.sqlite", "--html", "now.html").returncode, 0)
            self.assertEqual(self.call("export", "slow.sqlite").returncode, 0)
            seen = ""
            while "ETA" not in seen:
                line = watch.stdout.readline()
                self.assertTrue(line, seen)
                seen += line
            (self.folder / "hold").unlink()
            seen += watch.stdout.read()
            watch.wait(timeout=60)
            out, err = run.communicate(timeout=60)
        finally:
            run.kill()
        self.assertEqual((run.returncode, watch.returncode), (0, 0), err)
        self.assertRegex(seen, r"slow: \d+ of 18 trials finished")
        self.assertRegex(seen, r"running \(pid %d, since .*\), now: nap n=" % run.pid)
        self.assertRegex(seen, r"ETA \d")
        self.assertTrue(seen.rstrip().endswith("done"), seen)
        # Nobody who looked made the run wait or fail, and at the end it left the page, in one file without a log.
        self.assertIn(f"the page for a browser is {self.folder.resolve()}/slow.html", err)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir() if p.is_file()), ["count", "now.html", "slow.html", "slow.sqlite", "slow.yaml"])

    def test_a_killed_night_is_not_running(self):
        (self.folder / "slow.yaml").write_text(self.SLOW.replace('command: [sleep, "0.3"]', 'shell: "sleep 0.5; true {n}"'))
        run = subprocess.Popen([testbed.BIN / "dvfs-plan", "slow.yaml", "--no-html", "--state-folder", self.folder / "state"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            if (self.folder / "slow.sqlite").exists() and self.call("status", "slow.sqlite").stdout.startswith("slow: 1"):
                break
            time.sleep(0.1)
        os.kill(run.pid, signal.SIGKILL)
        os.waitid(os.P_PID, run.pid, os.WEXITED | os.WNOWAIT)  # it is dead, and nobody has taken note of it yet
        status = self.call("status", "slow.sqlite").stdout
        run.wait()
        self.assertIn("not running; the last run was killed. The same command goes on.\n", status)

    def test_watching_ends_with_control_c(self):
        (self.folder / "slow.yaml").write_text(self.SLOW.replace('command: [sleep, "0.3"]', 'shell: "sleep 0.5; true {n}"'))
        run = subprocess.Popen([testbed.BIN / "dvfs-plan", "slow.yaml", "--no-html", "--state-folder", self.folder / "state"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(600):
                if (self.folder / "slow.sqlite").exists() or run.poll() is not None:
                    break
                time.sleep(0.1)
            self.assertIsNone(run.poll(), "the run ended")
            watch = subprocess.Popen([testbed.BIN / "dvfs-plan", "status", "--watch", "--json", "slow.sqlite"], cwd=self.folder, stdout=subprocess.PIPE, text=True)
            # The file is there a moment before the session in it.
            self.assertTrue(any(json.loads(watch.stdout.readline())["running"] for _ in range(20)))
            watch.send_signal(signal.SIGINT)
            watch.communicate(timeout=20)
            self.assertEqual(watch.returncode, 130)
        finally:
            run.send_signal(signal.SIGINT)
            run.wait(timeout=60)
        self.assertEqual(run.returncode, 130)
        self.assertFalse((self.folder / "slow.html").exists())

    # ---------------------------------------------------------------- the notebook

    def test_the_notebook_runs(self):
        import nbclient
        import nbformat
        notebook = nbformat.read(testbed.ROOT / "results/notebooks/analyse.ipynb", as_version=4)
        environment = dict(os.environ, DVFS_PLAN_RESULT=str(self.current()), JUPYTER_ALLOW_INSECURE_WRITES="1")
        old = dict(os.environ)
        os.environ.update(environment)
        try:
            nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
        finally:
            os.environ.clear()
            os.environ.update(old)
        text = json.dumps(notebook)
        self.assertIn("mixed cpu.frequency=1.8 GHz", text)
        self.assertIn("image/png", text)


class Published(unittest.TestCase):
    """What was published is computed again by the program as it is: the same joules, bit for bit, or the differences that stand beside it."""

    def test_the_published_results(self):
        folders = sorted(file.parent for file in (testbed.ROOT / "experiments/published").glob("*/*.sqlite"))
        self.assertGreaterEqual(len(folders), 4)
        for folder in folders:
            with self.subTest(folder.name):
                result = folder / f"{folder.name}.sqlite"
                told = subprocess.run([testbed.BIN / "dvfs-plan", "report", result, "--recompute"], capture_output=True, text=True)
                self.assertEqual(told.stdout, (folder / "recomputed.txt").read_text(), told.stderr)

    def test_the_published_rows(self):
        """A row's energies, times and verdicts as they were exported; columns that came since are not looked at."""
        for exported in sorted((testbed.ROOT / "experiments/published").glob("*/*.csv")):
            result = exported.with_suffix(".sqlite")
            if not result.exists():
                continue
            with self.subTest(exported.name):
                now = subprocess.run([testbed.BIN / "dvfs-plan", "export", result], capture_output=True, text=True)
                was, now = (list(csv.DictReader(io.StringIO(text))) for text in (exported.read_text(), now.stdout))
                self.assertEqual([row["trial"] for row in was], [row["trial"] for row in now])
                self.assertTrue(was)
                for before, after in zip(was, now):
                    for name in ("outcome", "verdict", "counts", "time_s", "energy_j", "energy_half_width_j"):
                        if before.get(name):
                            self.assertEqual(before[name], after[name], f"trial {before['trial']}, {name}")


class Merge(unittest.TestCase):
    """Results of one plan made by hand on several machines, as one."""

    NIGHT = """
name: night
workloads: [{name: w, command: [sleep, "0.0{n}"]}]
axes: {n: [3, 6]}
objective: {minimise: time, across: [n], same work: true}
repeat: 2
conditions: {warm up: 0, idle: none, foreign load: off, temperature: off}
settle: 0 s
"""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dvfs-merge."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / "night.yaml").write_text(self.NIGHT)
        for name in ("a", "b"):
            result = self.call("night.yaml", "-o", f"{name}.sqlite", "--no-html", "--quiet")
            self.assertEqual(result.returncode, 0, result.stderr)

    def call(self, *arguments):
        return subprocess.run([testbed.BIN / "dvfs-plan", *arguments], capture_output=True, text=True, cwd=self.folder)

    @testbed.on_a_busy_host
    def test_two_results_become_one(self):
        result = self.call("merge", "left=a.sqlite", "right=b.sqlite", "-o", "all.sqlite")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "12 of 12 trials of 2 results are in all.sqlite\n", ""))
        self.assertEqual(json.loads(self.call("merge", "left=a.sqlite", "right=b.sqlite", "-o", "again.sqlite", "--json").stdout),
                         {"result": "again.sqlite", "results": 2, "finished_trials": 12, "planned_trials": 12, "recheck_trials_left_out": 0})
        report = json.loads(self.call("report", "all.sqlite", "--json").stdout)
        self.assertEqual([(n["node"], n["blocks"]) for n in report["scenarios"][0]["nodes"]], [("left", 2), ("right", 2)])
        self.assertEqual(report["scenarios"][0]["best"], "w n=3")
        self.assertEqual(report["unfinished"], "")
        rows = json.loads(self.call("sql", "all.sqlite", "SELECT block, node, count(*) AS n FROM trials WHERE counts GROUP BY block ORDER BY block", "--json").stdout)
        self.assertEqual([tuple(row.values()) for row in rows], [(1, "left", 3), (2, "left", 3), (3, "right", 3), (4, "right", 3)])
        # What went in is what is there.
        times = {name: sorted(float(row["time_s"]) for row in csv.DictReader(io.StringIO(self.call("export", f"{name}.sqlite").stdout))) for name in ("a", "b", "all")}
        self.assertEqual(sorted(times["a"] + times["b"]), times["all"])

    def test_two_that_went_on_from_one_file_without_a_trial(self):
        """Begun, ended by Ctrl-C in its first trial, copied, and both run to the end: two nights, whose sum is told."""
        gate = self.NIGHT.replace('command: [sleep, "0.0{n}"]', 'shell: "touch at-work; until [ -e go ]; do sleep 0.01; done; sleep 0.0{n}"')
        self.assertNotEqual(gate, self.NIGHT)
        (self.folder / "gate.yaml").write_text(gate)
        run = subprocess.Popen([testbed.BIN / "dvfs-plan", "gate.yaml", "-o", "one.sqlite", "--no-html", "--quiet"], cwd=self.folder, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while not (self.folder / "at-work").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(), 130)
        shutil.copy(self.folder / "one.sqlite", self.folder / "other.sqlite")
        (self.folder / "go").touch()
        for name in ("one", "other"):
            self.assertEqual(self.call("gate.yaml", "-o", f"{name}.sqlite", "--no-html", "--quiet").returncode, 0)
        merged = self.call("merge", "left=one.sqlite", "right=other.sqlite", "-o", "both.sqlite")
        self.assertEqual((merged.returncode, merged.stdout, merged.stderr), (0, "12 of 12 trials of 2 results are in both.sqlite\n", ""))

    def test_what_is_asked_is_asked_of_all_trials(self):
        """A file that minimises something else has other numbers in its trials: the first one's question counts."""
        (self.folder / "meter").write_text("#!/bin/sh\nwhile :; do i=$((i + 1)); echo \"power 10.$((i % 3)) W\"; sleep 0.005; done\n")
        (self.folder / "meter").chmod(0o755)
        probes = "probes: [{name: wall, command: [./meter], channels: {power: {unit: W, averages over: 5 ms}}, rate: 200 Hz}]\n"
        for name in ("energy", "edp"):
            (self.folder / f"{name}.yaml").write_text(self.NIGHT.replace("0.0{n}", "0.{n}").replace("minimise: time,", f"minimise: {name}, of: system,") + probes)
            night = self.call(f"{name}.yaml", "-o", f"{name}.sqlite", "--no-html", "--quiet")
            self.assertIn(night.returncode, (0, 1), night.stderr)  # a busy machine costs readings
        for first, second in (("energy", "edp"), ("edp", "energy")):
            with self.subTest(first=first):
                merged = self.call("merge", f"left={first}.sqlite", f"right={second}.sqlite", "-o", f"of-{first}.sqlite")
                self.assertEqual((merged.returncode, merged.stderr), (0, ""))
                report = json.loads(self.call("report", f"of-{first}.sqlite", "--json").stdout)
                self.assertEqual(report["scenarios"][0]["objective"], first)
                self.assertEqual(report["sensors"][1:], ["these are those of right, one of 2 machines; `dvfs-plan sql RESULT 'select * from sensors'` has all"])
                counted = [trial for trial in report["trials"] if trial["counts"]]
                self.assertGreater(len(counted), 3)
                for trial in counted:
                    wanted = trial["energy_j"] * (1 if first == "energy" else trial["time_s"])
                    self.assertAlmostEqual(trial["objective"], wanted, delta=1e-9 * wanted)

    def test_a_name_that_one_of_its_machines_has_is_refused(self):
        self.assertEqual(self.call("merge", "left=a.sqlite", "right=b.sqlite", "-o", "all.sqlite").returncode, 0)
        self.assertEqual(self.call("night.yaml", "-o", "c.sqlite", "--no-html", "--quiet").returncode, 0)
        for files in (("all.sqlite", "right=c.sqlite"), ("right=c.sqlite", "all.sqlite")):
            result = self.call("merge", *files, "-o", "more.sqlite")
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, r"^error: (c|all)\.sqlite: its machine is called 'right', as that of a file before it\n  hint: give each a name: ")
        result = self.call("merge", "mine=all.sqlite", "third=c.sqlite", "-o", "more.sqlite")
        self.assertEqual((result.returncode, result.stderr), (2, "error: all.sqlite is of several machines already, which keep their names: 'mine' names none of them\n"
                                                                 "  hint: leave out 'mine='; nothing was written\n"))
        self.assertEqual(self.call("merge", "all.sqlite", "third=c.sqlite", "-o", "more.sqlite").returncode, 0)
        self.assertEqual(self.call("compare", "a.sqlite", "c.sqlite", "--fail-if-worse", "1000%").returncode, 0)

    def test_a_rise_that_the_nights_cannot_tell_is_neither_worse_nor_as_before(self):
        """Two nights a side that differ by a third among themselves, the later ones longer by a half: not shown, and not 0."""
        (self.folder / "slow.yaml").write_text(self.NIGHT.replace('command: [sleep, "0.0{n}"]', 'shell: "sleep 0.0{n}; sleep $(cat more)"'))
        for name, more in (("a1", 0.1), ("a2", 0.2), ("b1", 0.16), ("b2", 0.3)):
            (self.folder / "more").write_text(str(more))
            result = self.call("slow.yaml", "-o", f"{name}.sqlite", "--no-html", "--quiet")
            self.assertEqual(result.returncode, 0, result.stderr)
        nights = ("a1.sqlite", "a2.sqlite", "--", "b1.sqlite", "b2.sqlite")
        result = self.call("compare", "--fail-if-worse", "5%", *nights)
        self.assertEqual(result.returncode, 7, result.stderr)
        self.assertRegex(result.stderr, r"^(b1\.sqlite, b2\.sqlite: w, n = \d: time is [3-6]\d\.\d % higher \(95 % interval -\d+\.\d to \+\d+\.\d %\): "
                                        r"that it rose by more than 5 % is not shown\n){2}$")
        self.assertIn("time changed at none of the", result.stdout)
        self.assertEqual(self.call("compare", "--fail-if-worse", "100%", *nights).returncode, 0)

    def test_nights_that_are_one_do_not_tell_how_nights_differ(self):
        shutil.copy(self.folder / "a.sqlite", self.folder / "copy.sqlite")
        for files in (("a.sqlite", "copy.sqlite", "--", "b.sqlite", "b.sqlite"), ("a.sqlite", "b.sqlite", "--", "copy.sqlite", "b.sqlite")):
            with self.subTest(files=files):
                result = self.call("compare", *files)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertRegex(result.stderr, r"^error: compare: a\.sqlite and copy\.sqlite have trials in common \(the first is w n=\d #1( first)?\): they are one night, "
                                 r"or one grew out of a copy of the other\n  hint: name each night once; of two single nights: compare A B\n$")
        result = self.call("compare", "--", "a.sqlite", "b.sqlite")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (2, "", "error: compare: nothing stands before --: the nights before are named there\n"
                                                                                    "  hint: compare A1 A2 -- B1 B2; of single nights: compare A B\n"))
        self.assertRegex(self.call("compare", "a.sqlite", "copy.sqlite").stdout, r"\nwarning: the two have trials in common")
        self.assertNotIn("in common", self.call("compare", "a.sqlite", "b.sqlite").stdout)
        result = self.call("compare", "--fail-if-worse", "2%", "a.sqlite", "copy.sqlite")
        self.assertEqual(result.returncode, 7)
        self.assertRegex(result.stderr, r"^copy\.sqlite: nothing can be said of a night against itself: the two have trials in common \(")
        result = self.call("compare", "--fail-if-worse=-2%", "a.sqlite", "b.sqlite")
        self.assertEqual((result.returncode, result.stderr), (2, "error: --fail-if-worse '-2%' is no share of 0 % or more\n  hint: as in 2% or '2 %'\n"))

    @testbed.on_a_busy_host
    def test_a_setting_of_parameters_alone_is_no_script(self):
        for form in ("sysfs", "systemd", "tuned", "cpupower", "nvidia-smi", "slurm"):
            result = self.call("setting", "a.sqlite", "--as", form)
            self.assertEqual((result.returncode, result.stdout, result.stderr),
                             (2, "", f"error: --as {form}: the answer sets nothing of the machine; what it names is the command's own: n = 3\n"
                                     "  hint: run the command so; --as yaml writes the narrower sweep around it\n"))
        result = self.call("setting", "a.sqlite", "--slowdown", "5", "--as", "yaml")
        self.assertEqual((result.returncode, result.stderr), (2, "error: --slowdown 5: wanted a share, such as 5%\n  hint: nothing was set\n"))

    def test_what_cannot_be_joined(self):
        host = os.uname().nodename
        result = self.call("merge", "a.sqlite", "b.sqlite", "-o", "all.sqlite")
        self.assertEqual((result.returncode, result.stderr), (2, f"error: b.sqlite: its machine is called '{host}', as that of a file before it\n  hint: give each a name:  "
                         "dvfs-plan merge left=a.sqlite right=b.sqlite -o all.sqlite; nights of one machine are compared, not merged\n"))
        result = self.call("merge", "left=a.sqlite", "right=a.sqlite", "-o", "all.sqlite")
        self.assertRegex(result.stderr, r"^error: a\.sqlite and a\.sqlite have trials in common \(the first is .*\): they are one night, one holds the other, or both went on from a copy\n"
                         r"  hint: name each night once, the whole of it; nothing was written\n$")
        self.assertEqual(result.returncode, 2)
        (self.folder / "night.yaml").write_text(self.NIGHT.replace("[3, 6]", "[3, 9]"))
        self.assertEqual(self.call("night.yaml", "-o", "c.sqlite", "--no-html", "--quiet").returncode, 0)
        result = self.call("merge", "left=a.sqlite", "right=c.sqlite", "-o", "all.sqlite")
        self.assertEqual((result.returncode, result.stderr), (2, "error: a.sqlite and c.sqlite are of different plans:\n  axes / n: 6 taken away\n  axes / n: 9 added\n"
                         "  hint: `dvfs-plan compare` sets results of different plans beside each other\n"))
        result = self.call("merge", "left=a.sqlite", "right=b.sqlite", "-o", "b.sqlite")
        self.assertEqual((result.returncode, result.stderr), (3, "error: b.sqlite is there already\n  hint: choose another place with --output\n"))
        result = self.call("merge", "=a.sqlite", "b.sqlite", "-o", "all.sqlite")
        self.assertEqual((result.returncode, result.stderr), (2, "error: merge: '=a.sqlite' names no machine in front of '='\n"
                         "  hint: NODE=FILE says what the file's machine is called; FILE alone: by its host name\n"))
        result = self.call("merge", "a.sqlite", "-o", "all.sqlite")
        self.assertEqual((result.returncode, result.stderr), (2, "error: merge needs two results at least\n  hint: dvfs-plan merge a.sqlite b.sqlite -o all.sqlite\n"))
        self.assertEqual(sorted(path.name for path in self.folder.glob("*.sqlite*")), ["a.sqlite", "b.sqlite", "c.sqlite"])


if __name__ == "__main__":
    testbed.main()
