#!/usr/bin/python3
"""write_table.py FILE: the table of README.md in this folder, from what the attacks told of themselves (a line of JSON each)."""
import json
import pathlib
import re
import sys

FOLDER = pathlib.Path(__file__).parent
README = FOLDER / "README.md"
BEGIN, END = "<!-- made by write_table.py -->\n", "<!-- end -->\n"


def main():
    found = {}
    for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
        one = json.loads(line)
        found[one["attack"]] = one
    rows = ["| attack | tried | survived | finished trials lost | settings back after (median, most) |", "| --- | --- | --- | --- | --- |"]
    for name, one in sorted(found.items()):
        back = "—" if one["put_back_ms"] is None else "{} ms, {} ms".format(*one["put_back_ms"])
        rows.append(f"| {name} | {one['tried']} | {one['survived']} | {one['lost']} | {back} |")
    silent = sorted({file.name for file in FOLDER.glob("*.py") if re.search("^    account = attack", file.read_text(), re.M)} - {one["file"] for one in found.values()})
    if silent:
        sys.exit(f"{README}: not written: {', '.join(silent)} told nothing of what was tried")
    text = README.read_text()
    before, rest = text.split(BEGIN)
    README.write_text(before + BEGIN + "\n".join(rows) + "\n" + END + rest.split(END)[1])


main()
