#!/usr/bin/python3
"""write_man.py PROGRAM FOLDER: dvfs-plan(1) of what the program's --help says, dvfs-plan-experiment(5) of the table of keys in docs/experiment.md."""
import pathlib
import re
import subprocess
import sys

program, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
root = pathlib.Path(__file__).resolve().parents[1]


def roff(text):
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", re.sub(r"<!--.*?-->", "", text)).replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return "\n".join(("\\&" + line if line[:1] in (".", "'") else line) for line in text.splitlines())


def page(name, section, what, body):
    return f'.TH {name.upper()} {section} "" "dvfs-plan" ""\n.SH NAME\n{name} \\- {roff(what)}\n{body}'


def helped(*words):
    return subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True).stdout


folder.mkdir(parents=True, exist_ok=True)
commands = re.findall(r"^  ([a-z]+)  ", helped(), re.M)
body = ".SH SYNOPSIS\n.B dvfs\\-plan\n.I FILE.yaml\n.br\n.B dvfs\\-plan\n.I COMMAND\n[...]\n.SH DESCRIPTION\n.nf\n" + roff(helped()) + "\n.fi\n"
for command in commands:
    body += f".SS {command}\n.nf\n{roff(helped(command))}\n.fi\n"
body += ".SH SEE ALSO\n.BR dvfs-plan-experiment (5),\n.BR dvfs-guardian (8)\n"
(folder / "dvfs-plan.1").write_text(page("dvfs-plan", 1, "finds the frequency at which a program costs the least energy", body))

rows = []
lines = (root / "docs/experiment.md").read_text().splitlines()
start = lines.index("| key | says |")
for line in lines[start + 2:]:
    if not line.startswith("|"):
        break
    key, says = [cell.strip() for cell in line.strip().strip("|").split(" | ", 1)]
    rows.append((key, says))
example = (root / "experiments/quickstart.yaml").read_text()
body = ".SH DESCRIPTION\nA YAML file names workloads, the axes that vary, what is measured and what is to be least.\n.SH KEYS\n"
body += "".join(f".TP\n{roff(key)}\n{roff(says)}\n" for key, says in rows)
body += ".SH EXAMPLE\n.nf\n" + roff(example) + "\n.fi\n.SH SEE ALSO\n.BR dvfs-plan (1)\n"
(folder / "dvfs-plan-experiment.5").write_text(page("dvfs-plan-experiment", 5, "the experiment file of dvfs-plan", body))
