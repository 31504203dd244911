#!/usr/bin/env python3
"""write_names.py PROGRAM [--check]: the lists of knobs, probes, searches, forms and commands in experiment.schema.json, the
README and docs/, as PROGRAM registers them (base/registered.hpp). --check: writes nothing, and exits with 1 if a list is not as
it should be."""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def schema_with(names, text):
    """Its lines that hold names, and nothing else of it."""
    single = "|".join(re.escape(name) for name in names["knobs"] if not name.endswith("."))
    families = "|".join(re.escape(name[:-1]) for name in names["knobs"] if name.endswith("."))
    lines = {
        "axis_name": {"pattern": rf"^(({single})(@.+)?|({families})\..+|[A-Za-z_][A-Za-z0-9_]*)$"},
        "search_name": {"enum": names["searches"]},
        "probe_name": {"enum": names["probes"]},
        "meter_name": {"enum": names["meters"]},
    }
    for key, value in lines.items():
        line = f'    "{key}": {json.dumps(value)},'
        text, found = re.subn(rf'^    "{key}": .*,$', lambda _: line, text, flags=re.M)
        assert found == 1, f"experiment.schema.json has no line for {key}"
    return text


def prose_with(registered, text, kinds):
    """Of these kinds, between <!-- knobs --> and <!-- /knobs -->, and so on; `full` names of families end in NAME."""
    def inline(kind):
        return ", ".join(f"`{one['name']}NAME`" if one["name"].endswith(".") else f"`{one['name']}`" for one in registered[kind])

    def listed(kind, title="command", says="does"):
        rows = "".join(f"| `{one['name']}` | {one['what']} |\n" for one in registered[kind])
        return f"\n| {title} | {says} |\n| --- | --- |\n" + rows

    for kind, made in (("knobs", inline("knobs")), ("probes", inline("probes")), ("meters", listed("meters", "meter", "is")), ("searches", inline("searches")),
                       ("forms", inline("forms")), ("commands", listed("commands"))):
        if kind not in kinds:
            continue
        text, found = re.subn(rf"(<!-- {kind} -->).*?(<!-- /{kind} -->)", lambda m: m[1] + made + m[2], text, flags=re.S)
        assert found == 1, f"there is no place for {kind}"
    return text


def main():
    registered = json.loads(subprocess.run([sys.argv[1], "registered"], check=True, capture_output=True, text=True).stdout)
    names = {kind: [one["name"] for one in registered[kind]] for kind in ("knobs", "probes", "meters", "searches", "forms", "commands")}
    stale = []
    for path, made in ((ROOT / "experiments/experiment.schema.json", lambda text: schema_with(names, text)),
                       (ROOT / "README.md", lambda text: prose_with(registered, text, ("forms", "commands"))),
                       (ROOT / "docs/experiment.md", lambda text: prose_with(registered, text, ("knobs", "probes", "searches"))),
                       (ROOT / "docs/meters.md", lambda text: prose_with(registered, text, ("meters",)))):
        before = path.read_text()
        after = made(before)
        if before == after:
            continue
        stale.append(path.relative_to(ROOT))
        if "--check" not in sys.argv:
            path.write_text(after)
    if "--check" in sys.argv and stale:
        sys.exit(f"{', '.join(map(str, stale))}: not what is registered; make it anew with  ./dev schema")


main()
