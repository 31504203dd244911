#!/usr/bin/python3
"""interface.py PROGRAM: writes interface.json beside itself: the views with their columns and the keys of JSON that scripts may rely on. What is in it stays; what is new is
added by running this again. test_results.py looks whether all of it is still there."""
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Their keys are the user's own names.
DYNAMIC = {"settings", "values", "machine", "metrics", "not_counted", "best_settings", "best_delivered_instead", "delivered_instead", "boards_j", "axes"}


def keys_of(value, path=""):
    """Paths of all keys: "scenarios[].points[].energy_j.mean"."""
    found = set()
    if isinstance(value, dict):
        for key, inner in value.items():
            found.add(f"{path}.{key}".lstrip("."))
            if key not in DYNAMIC or isinstance(inner, list):
                found |= keys_of(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            found |= keys_of(inner, path + "[]")
    return found


def interface_of(program):
    said = {"views": {}, "json": {}}
    with tempfile.TemporaryDirectory(prefix="dvfs-interface.") as folder:
        files = {}
        for name in ("v16", "adaptive"):
            files[name] = pathlib.Path(folder) / f"{name}.sqlite"
            files[name].write_bytes(gzip.decompress((HERE / f"results/{name}.sqlite.gz").read_bytes()))

        def call(*words):
            return json.loads(subprocess.run([program, *words, "--json"], capture_output=True, text=True, check=True, cwd=folder).stdout)

        columns = call("sql", files["v16"], "SELECT m.name AS view, p.name AS \"column\" FROM sqlite_schema m, pragma_table_info(m.name) p WHERE m.type = 'view'")
        for row in columns:
            said["views"].setdefault(row["view"], []).append(row["column"])
        commands = {"report": [("report", files["v16"]), ("report", files["adaptive"])], "status": [("status", files["v16"])],
                    "compare": [("compare", files["v16"], files["v16"])], "index": [("index", folder)]}
        for name, calls in commands.items():
            said["json"][name] = sorted(set().union(*(keys_of(call(*words)) for words in calls)))
    for columns in said["views"].values():
        columns.sort()
    return said


if __name__ == "__main__":
    (HERE / "interface.json").write_text(json.dumps(interface_of(pathlib.Path(sys.argv[1]).resolve()), indent=1, sort_keys=True) + "\n")
