#!/usr/bin/env python3
"""schema_doc.py EXTENSION PROGRAM: results/SCHEMA.md on stdout, from the schema and the views as PROGRAM (dvfs-plan) has them.
A column that nobody described, or a description of none, is an error. EXTENSION: dvfs_plan_readings.so, without which the view
`readings` has no columns."""
import json
import pathlib
import re
import sqlite3
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parent
UNITS = {"_per_s": "1/s", "_j": "J", "_s": "s", "_w": "W", "_hz": "Hz", "_c": "°C", "_ns": "ns", "_bytes": "B", "_js": "Js"}


def unit(column):
    return next((unit for ending, unit in UNITS.items() if column.endswith(ending)), "")


def described(sql):
    """By view: what it is and what its columns are, from the comments before it."""
    views, text, columns = {}, [], {}
    for line in sql.splitlines():
        if match := re.match(r"--\| (\w+): (.*)", line):
            columns[match[1]] = match[2]
        elif line.startswith("-- "):
            text.append(line[3:])
        elif match := re.match(r"CREATE VIEW (\w+) AS", line):
            views[match[1]] = (" ".join(text), columns)
            text, columns = [], {}
        elif not line.strip():
            text = []
    return views


def main():
    program = json.loads(subprocess.run([sys.argv[2], "registered"], check=True, capture_output=True, text=True).stdout)
    schema_sql, views_sql = program["schema"], program["views"]
    database = sqlite3.connect(":memory:")
    database.enable_load_extension(True)
    database.load_extension(sys.argv[1])
    database.executescript(schema_sql)
    database.executescript(views_sql)
    views = described(views_sql)
    out = [
        f"# The result file, schema version {program['schema_version']}\n",
        "One SQLite file an experiment. The views below are the interface: they keep their names and columns from version to version,",
        "and a file of an earlier version is brought up to this one when it is opened (in place by a run that goes on with it, in a",
        "private copy by whoever only reads). Tables, in the singular, are the program's own (`results/store/schema.sql`). NULL is \"not",
        "known\", never 0. Units are in the names: `_j` joules, `_s` seconds, `_w` watts, `_c` degrees Celsius, `_ns` nanoseconds of",
        "CLOCK_MONOTONIC. Shares are of one: 0.05 is 5 %.\n",
        "Made by `./dev schema` from `results/store/schema.sql`, `views.sql` and `trial_columns.cpp`; a test says when it is out of date.\n",
    ]
    for view, (text, columns) in views.items():
        found = [row[1] for row in database.execute(f"PRAGMA table_info({view})")]
        assert found == [c for c in found if c in columns] and len(columns) == len(found), \
            f"{view}: described {sorted(columns)}, found {sorted(found)}"
        out += [f"## {view}\n", f"{text}\n" if text else "", "| column | unit | what |", "| --- | --- | --- |"]
        out += ["| `{}` | {} | {} |".format(c, unit(c), columns[c].replace("|", "\\|")) for c in found]
        out.append("")
    out.append((FOLDER / "readings.md").read_text().rstrip())
    print("\n".join(out))


main()
