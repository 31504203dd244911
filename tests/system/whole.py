"""The whole program in a folder of its own; shared by the tests of this folder."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import testbed

NOBODY = "65534"
PROGRAM = testbed.BIN / "dvfs-plan"
REGIONS = testbed.ROOT / "experiments/regions"
QUIET = "{warm up: 0, idle: none, references: false, foreign load: off, temperature: off, reruns: 0}"
# 100 W, told 50 times a second: without a process for each pause, which on a busy machine would make it as slow as its values are not means any more.
METER = """
probes:
  - name: wall
    command: [bash, -c, "exec 3<> <(:); i=0; while :; do i=$((i+1)); echo power $((100 + i % 2)) W; read -t 0.02 -u 3; done"]
    channels: {power: {unit: W, averages over: 20 ms}}
    rate: 50 Hz
"""


class Whole(unittest.TestCase):
    """The whole program in a folder of its own."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dvfs-facts."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        shutil.copy(REGIONS / "dvfs_plan_regions.py", self.folder)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def environment(self, **more):
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **more)
        for name in ("SUDO_UID", "SUDO_USER", "PKEXEC_UID"):
            if name not in more:
                environment.pop(name, None)
        return environment

    def arguments(self, *arguments, by_sudo=False):
        # Under sudo root keeps to his own folder (tests/system/apart gives each test one).
        state = [] if by_sudo or arguments[0] in ("report", "status", "export", "sql") else ["--state-folder", str(self.folder / "state")]
        return [str(PROGRAM), *arguments, *state]

    def call(self, *arguments, cwd=None, **environment):
        return subprocess.run(self.arguments(*arguments, by_sudo="SUDO_UID" in environment), cwd=cwd or self.folder, env=self.environment(**environment),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=300)

    def rows(self, name, sql):
        return testbed.rows(self.folder / name, sql)

    def told_everywhere(self, result, words):
        """On the page, on the terminal and in the JSON of the report."""
        self.assertIn(words, self.call("report", result).stdout)
        self.assertIn(words, json.dumps(json.loads(self.call("report", result, "--json").stdout), ensure_ascii=False))
        self.call("report", result, "--html", "told.html")
        self.assertIn(words, (self.folder / "told.html").read_text().replace("\\u003c", "<").replace("\\u003e", ">").replace("\\u0026", "&"))
