"""count_reports.py FOLDER: adds up ctest's JUnit reports; names each skipped test with its reason, and each that was run again (testbed.on_a_busy_host).

A report NAME.alone.xml is of tests that failed in NAME.xml beside others and were run again with nothing beside them: that counts, and each is named.

The last line is "N passed, N failed, N skipped". Exit code 1 if any failed or none ran.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree


def cases(report):
    return list(ElementTree.parse(report).getroot().iter("testcase"))


passed = failed = 0
skipped, again = [], []
folder = pathlib.Path(sys.argv[1])
for report in sorted(folder.glob("*.xml")):
    alone = folder / (report.stem + ".alone.xml")
    ran_alone = {case.get("name") for case in cases(alone)} if alone.exists() else set()
    for case in cases(report):
        if case.get("name") in ran_alone:
            print(f"failed beside others, run again alone: {report.stem}: {case.get('name')}")
            continue
        output = case.findtext("system-out") or ""
        status = case.get("status")
        if status == "run":
            passed += 1
            again += [(report.stem, line) for line in re.findall(r"^RUN AGAIN (.*)$", output, re.M)]
            # A Python test that skips inside an otherwise green file says so: "SKIPPED name: reason".
            skipped += [(report.stem, line) for line in re.findall(r"^SKIPPED (.*)$", output, re.M)]
        elif status in ("notrun", "disabled"):
            reason = re.search(r"Skipped\n(.*)|SKIPPED (.*)", output)
            skipped.append((report.stem, f"{case.get('name')}: {reason.group(0) if reason else 'no reason given'}"))
        else:
            failed += 1
            print(f"failed: {report.stem}: {case.get('name')}")
for where, what in skipped:
    print(f"skipped: {where}: {' '.join(what.split())}")
for where, what in again:
    print(f"run again: {where}: {what}")
print(f"{passed} passed, {failed} failed, {len(skipped)} skipped")
sys.exit(1 if failed or passed == 0 else 0)
