#!/usr/bin/python3
"""interface.py PROGRAM: writes interface.json beside itself: what stays from 1.0 on (docs/promises.md): the views with their columns, keys of JSON, exit codes, keys and words
of the experiment file, and what each of experiments/*.yaml means. What is in it stays; what is new is added by running this again. test_results.py looks whether all of it
is still so."""
import gzip
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Their keys are the user's own names.
DYNAMIC = {"settings", "values", "machine", "metrics", "not_counted", "best_settings", "best_delivered_instead", "delivered_instead", "boards_j", "axes"}
# Of what `check --json` says, what follows from the file alone, on any machine.
MEANT = ("axes", "points", "trials", "idle_windows", "blocks", "most_blocks", "seed", "order")


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


def words_of_experiments():
    """Keys and words that experiment.schema.json takes: "repeat.until", "minimised = edp"."""
    found = set()

    def look(name, value):
        if isinstance(value, dict):
            found.update(f"{name}.{key}" for key in value.get("properties", {}))
            found.update(f"{name} = {word}" for word in value.get("enum", []))
            if name == "axis_name":  # knobs: alternatives of a pattern
                found.update(f"{name} = {knob}" for knob in re.findall(r"[a-z]+\\?\.[a-z_]+", value["pattern"].replace("\\", "")))
            for key, inner in value.items():
                if key != "properties":
                    look(name, inner)
            for key, inner in value.get("properties", {}).items():
                look(f"{name}.{key}", inner)
        elif isinstance(value, list):
            for inner in value:
                look(name, inner)
    for name, value in json.loads((ROOT / "experiments/experiment.schema.json").read_text())["$defs"].items():
        look(name, value)
    return sorted(found)


def exit_codes():
    inside = re.search(r"enum class ExitCode \{(.*?)\}", (ROOT / "base/error.hpp").read_text(), re.S)[1]
    return {code: name for name, code in re.findall(r"^\s*(\w+) = (\d+)", inside, re.M)}


def meanings(program):
    """Of each of experiments/*.yaml: its points, order and defaults."""
    found = {}
    for file in sorted(HERE.glob("experiments/*.yaml")):
        with tempfile.TemporaryDirectory(prefix="dvfs-interface.") as folder:
            shutil.copy(file, folder)
            (pathlib.Path(folder) / "level").write_text("2\n")  # of own-setter.yaml
            done = subprocess.run([program, "check", file.name, "--json"], capture_output=True, text=True, cwd=folder)
            if not done.stdout:
                raise RuntimeError(f"{file.name}: {done.stderr}")
            said = json.loads(done.stdout)
            found[file.stem] = {key: said[key] for key in MEANT if key in said}
    return found


def interface_of(program):
    said = {"views": {}, "json": {}, "exit_codes": exit_codes(), "experiment_file": words_of_experiments(), "experiments": meanings(program)}
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
