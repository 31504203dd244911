#!/usr/bin/env python3
"""same_work.py DVFS-PLAN RESULT.sqlite: what was stated of points that differ in nothing (same-work.yaml): how many savings and slowdowns
hold zero after so many blocks, and the best by the first three blocks, measured again in the later ones."""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

program, result = sys.argv[1:3]


def report(first, last):
    """Of these blocks alone, by the program itself."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "part.sqlite")
        shutil.copy(result, path)
        db = sqlite3.connect(path)
        others = "SELECT id FROM trial WHERE block NOT BETWEEN ? AND ?"
        for table, column in [(t, c) for (t,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
                              for (c,) in db.execute("SELECT name FROM pragma_table_info(?)", (t,)).fetchall() if c == "trial_id"]:
            db.execute(f"DELETE FROM {table} WHERE {column} IN ({others})", (first, last))
        db.execute(f"DELETE FROM trial WHERE id IN ({others})", (first, last))
        db.commit()
        db.close()
        return json.loads(subprocess.run([program, "report", path, "--json"], check=True, capture_output=True, text=True).stdout)["scenarios"][0]


print("| blocks | savings that hold 0 | mean width | slowdowns that hold 0 | mean width | named point's saving |")
print("| --- | --- | --- | --- | --- | --- |")
last_block = sqlite3.connect(result).execute("SELECT max(block) FROM trial").fetchone()[0]
named = None
for first, last in ((1, 3), (1, 5), (1, last_block), (4, 8), (4, last_block)):
    if last > last_block:
        continue
    scenario = report(first, last)
    cells = []
    for kind in ("saving", "slowdown"):
        known = [p[kind] for p in scenario["points"] if not p["reference"] and p.get(kind) and p[kind]["low_95"] is not None]
        hold = sum(k["low_95"] <= 0 <= k["high_95"] for k in known)
        width = sum(k["high_95"] - k["low_95"] for k in known) / max(1, len(known))
        cells += [f"{hold} of {len(known)}", f"{100 * width:.1f} %"]
    gain = scenario["gain_of_best"]
    text = "the reference itself" if gain is None else "{:.1f} % [{:.1f}, {:.1f}] at {}".format(100 * gain["value"], 100 * gain["low_95"], 100 * gain["high_95"], scenario["best_settings"]["label"])
    print(f"| {first} to {last} | {' | '.join(cells)} | {text} |")
    if (first, last) == (1, 3):
        named = scenario["best"]
    if first == 4 and named:
        again = next(p for p in scenario["points"] if p["point"] == named)
        saving = again.get("saving")
        print(f"  (the best of blocks 1 to 3, measured again in {first} to {last}: " + ("it is the reference" if not saving else "saves {:.1f} % [{:.1f}, {:.1f}]".format(100 * saving["value"], 100 * saving["low_95"], 100 * saving["high_95"])) + ")")
