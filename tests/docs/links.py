#!/usr/bin/env python3
"""links.py: every file that README, docs/ and their like point to is there, and every heading that they name."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "results/SCHEMA.md", ROOT / "orchestrator/guardian/SECURITY.md"]


def anchors(text):
    return {re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", text, re.M)}


missing = []
for text in TEXTS:
    for target in re.findall(r"\]\(([^)#:]*(?:#[^)]*)?)\)", re.sub(r"```.*?```|`[^`]*`", "", text.read_text(), flags=re.S)):
        path, _, anchor = target.partition("#")
        file = (text.parent / path).resolve() if path else text
        if not file.exists() or (anchor and anchor not in anchors(file.read_text())):
            missing.append(f"{text.relative_to(ROOT)}: {target}")
for page in ROOT.glob("docs/*.md"):
    if f"(docs/{page.name})" not in (ROOT / "README.md").read_text():
        missing.append(f"README.md does not name docs/{page.name}")
sys.exit("\n".join(missing) or 0)
