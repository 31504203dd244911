"""Who may do what under sudo, and axes that would set the same thing."""
import hashlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import unittest

import testbed
from whole import NOBODY, PROGRAM, QUIET, Whole


@unittest.skipIf(os.geteuid() != 0, "only root can be behind sudo")
class Users(Whole):
    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.theirs = self.folder / "theirs"
        self.theirs.mkdir()
        os.chown(self.theirs, int(NOBODY), int(NOBODY))

    def test_who_may_not_look_into_roots_folder_is_told_that(self):
        def restore(*more):
            return subprocess.run(["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", str(PROGRAM), "restore", *more], cwd=self.theirs,
                                  env=self.environment(HOME=str(self.theirs), XDG_STATE_HOME=str(self.theirs)), stdin=subprocess.DEVNULL, capture_output=True, text=True)

        unknown = "/var/lib/dvfs-plan is root's: whether a sweep by root or by the machine's guardian left something is not known to you; sudo dvfs-plan restore"
        said = restore()
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertRegex(said.stdout, rf"^there is nothing of yours to restore\nnote: {re.escape(unknown)}\nnote: it was looked for in {re.escape(str(self.theirs))}/dvfs-plan/\S+; a run with another XDG_STATE_HOME kept its record there\n$")
        told = json.loads(restore("--json").stdout)
        self.assertEqual((told["journal"], told["notes"]), (None, [unknown]))

    def test_root_is_told_of_what_a_users_sweep_left(self):
        """Their journals lie in their homes, and each of them puts his own back."""
        accounts = self.folder / "passwd"
        others = self.folder / "others"
        accounts.write_text(pathlib.Path("/etc/passwd").read_text() + f"somebody:x:{NOBODY}:{NOBODY}::{self.theirs}:/bin/sh\nanother:x:4711:4711::{others}:/bin/sh\n")
        subprocess.run(["mount", "--bind", accounts, "/etc/passwd"], check=True)
        self.addCleanup(subprocess.run, ["umount", "/etc/passwd"], check=True)

        def restore(*more):
            return subprocess.run([str(PROGRAM), "restore", *more], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)

        none = restore()
        self.assertEqual((none.returncode, none.stdout), (0, "there is nothing to restore: no sweep left a journal here or in a home that the user database names\n"), none.stderr)
        left = self.theirs / ".local/state/dvfs-plan" / socket.gethostname()
        left.mkdir(parents=True)
        (left / "journal").write_text("{}\n")
        note = "a sweep of somebody's left a journal in its home, and what it set may stand: sudo -u somebody -H dvfs-plan restore"
        said = restore()
        self.assertEqual((said.returncode, said.stdout), (0, f"there is nothing of root's to restore\nnote: {note}\n"), said.stderr)
        self.assertEqual(json.loads(restore("--json").stdout)["notes"], [note])
        # Of two the later comes first: what it found may be what the earlier had set.
        of_another = others / ".local/state/dvfs-plan" / socket.gethostname()
        of_another.mkdir(parents=True)
        (of_another / "journal").write_text("{}\n")
        for later, first, second in ((20, "another", "somebody"), (5, "somebody", "another")):
            os.utime(left / "journal", (1_000_000_010, 1_000_000_010))
            os.utime(of_another / "journal", (1_000_000_000 + later, 1_000_000_000 + later))
            self.assertEqual(json.loads(restore("--json").stdout)["notes"],
                             [f"a sweep of {first}'s left a journal in its home, and what it set may stand: sudo -u {first} -H dvfs-plan restore",
                              f"a sweep of {second}'s left a journal in its home, and what it set may stand (put that of {first}'s back first: it is the later): sudo -u {second} -H dvfs-plan restore"])
        (of_another / "journal").unlink()
        # A night of root's may begin at what it left.
        (self.folder / "n.yaml").write_text(f"name: n\nrepeat: 1\nobjective: time\nconditions: {QUIET}\nworkloads: [{{name: w, command: ['true']}}]\naxes: {{set.k: [1]}}\n"
                                            "set: {k: {command: [sh, -c, 'echo $0 >k', '{value}'], read: [cat, k], values: [1, 2]}}\n")
        (self.folder / "k").write_text("2\n")
        night = subprocess.run([str(PROGRAM), "n.yaml", "--no-html"], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(night.returncode, 0, night.stderr)
        self.assertIn(f"note: {note}\n", night.stderr)

    def test_reports_under_sudo_write_through_no_link(self):
        (self.theirs / "r.yaml").write_text(f"name: r\nrepeat: 1\nobjective: time\nconditions: {QUIET}\nworkloads: [{{name: w, command: ['true']}}]\n")
        self.assertEqual(self.call("r.yaml", cwd=self.theirs, SUDO_UID=NOBODY).returncode, 0)
        secret = self.folder / "secret"
        secret.write_text("root's own\n")
        secret.chmod(0o600)
        for name in ("page.html", "table.csv", "figure-settings.svg", "figure-settings.png", "compared.html", "other.jsonl"):
            (self.theirs / name).symlink_to(secret)
        for words in (["report", "r.sqlite", "--html", "page.html"], ["export", "r.sqlite", "-o", "table.csv"], ["report", "r.sqlite", "--svg", "figure"],
                      ["report", "r.sqlite", "--png", "figure"], ["export", "r.sqlite", "--format", "jsonl", "-o", "other.jsonl"], ["compare", "r.sqlite", "r.sqlite", "--html", "compared.html"],
                      ["export", "r.sqlite", "-o", str(self.folder / "secret")], ["report", "r.sqlite", "--html", str(self.folder / "new.html")]):
            self.call(*words, cwd=self.theirs, SUDO_UID=NOBODY)
            self.assertEqual(secret.read_text(), "root's own\n", words)
            self.assertEqual((secret.stat().st_uid, secret.stat().st_mode & 0o7777), (0, 0o600), words)
        self.assertFalse((self.folder / "new.html").exists())
        self.assertEqual(self.call("export", "r.sqlite", "-o", "mine.csv", cwd=self.theirs, SUDO_UID=NOBODY).returncode, 0)
        self.assertEqual((self.theirs / "mine.csv").stat().st_uid, int(NOBODY))
        # Nor does a file that only root may read come out by way of an error.
        (self.folder / "hidden.yaml").write_text("password: 12345\n")
        (self.folder / "hidden.yaml").chmod(0o600)
        shown = self.call("check", str(self.folder / "hidden.yaml"), cwd=self.theirs, SUDO_UID=NOBODY)
        self.assertNotIn("password", shown.stdout + shown.stderr)
        # Nor what root's group may read: under sudo that group is still among the process's.
        (self.folder / "hidden.yaml").chmod(0o640)
        group = self.folder / "group"
        group.mkdir(mode=0o770)
        shutil.copy(self.theirs / "r.yaml", self.folder / "copy.yaml")
        for words in (["check", str(self.folder / "hidden.yaml")], ["r.yaml", "-o", str(group / "r.sqlite")]):
            shown = subprocess.run(["setpriv", "--groups", "0", *self.arguments(*words, by_sudo=True)], cwd=self.theirs, env=self.environment(SUDO_UID=NOBODY), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            self.assertNotEqual(shown.returncode, 0)
            self.assertNotIn("password", shown.stdout + shown.stderr)
        self.assertEqual(list(group.iterdir()), [])
        # Nor its digest.
        secret_script = self.folder / "secret.py"
        secret_script.write_text("password = 12345\n")
        secret_script.chmod(0o600)
        (self.theirs / "digest.yaml").write_text(f"name: digest\nrepeat: 1\nobjective: time\nconditions: {QUIET}\nworkloads: [{{name: w, command: [test, -e, {secret_script}]}}]\n")
        self.call("digest.yaml", "--no-html", cwd=self.theirs, SUDO_UID=NOBODY)
        digest = hashlib.sha256(secret_script.read_bytes()).hexdigest()
        stored = testbed.rows(self.theirs / "digest.sqlite", "SELECT plan_json || (SELECT group_concat(value) FROM machine_fact) AS all_of_it FROM experiment")[0]["all_of_it"]
        self.assertNotIn(digest, stored)

    def test_what_root_writes_beside_a_users_result_is_the_users(self):
        (self.theirs / "r.yaml").write_text(f"name: r\nrepeat: 1\nobjective: time\nconditions: {QUIET}\nworkloads: [{{name: w, command: ['true']}}]\n")
        (self.theirs / "r.yaml").chmod(0o644)
        result, page, table = (self.theirs / f"r.{ending}" for ending in ("sqlite", "html", "csv"))

        def owners(*files):
            return {(file.stat().st_uid, file.stat().st_gid) for file in files}

        self.assertEqual(self.call("r.yaml", "--no-html", cwd=self.theirs, SUDO_UID=NOBODY).returncode, 0)
        nobody = {(int(NOBODY), int(NOBODY))}
        self.assertEqual(owners(result), nobody)
        # Root without sudo (cron): the first page, and one in place of it.
        for _ in range(2):
            run = self.call("r.yaml", cwd=self.theirs)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(owners(result, page), nobody, run.stderr)
        # What lies there stays its owner's, with its rights; what does not is root's.
        table.write_text("")
        table.chmod(0o640)
        os.chown(table, int(NOBODY), 0)
        new = self.theirs / "new.csv"
        for file in (table, new):
            self.assertEqual(self.call("export", "r.sqlite", "-o", str(file), cwd=self.theirs).returncode, 0)
        self.assertEqual((owners(table), table.stat().st_mode & 0o777, owners(new)), ({(int(NOBODY), 0)}, 0o640, {(0, 0)}))

    def test_root_loads_and_runs_nothing_that_the_user_brings_along(self):
        tree = self.theirs / "tree"
        (tree / "usr/lib").mkdir(parents=True)
        (tree / "usr/bin").mkdir()
        (self.folder / "lib.c").write_text(f"""
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void loaded(void) {{
  FILE* file = fopen("{self.theirs}/loaded-by", "w");
  fprintf(file, "%d", (int)geteuid());
  fclose(file);
}}
""")
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(tree / "usr/lib/libnvidia-ml.so.1"), str(self.folder / "lib.c")], check=True)
        smi = tree / "usr/bin/nvidia-smi"
        smi.write_text(f"#!/bin/sh\nid -u >{self.theirs}/run-by\n")
        smi.chmod(0o755)
        (tree / "sys").mkdir()
        for command in (["doctor"], ["check", "gpu.yaml"], ["gpu.yaml"]):
            (self.theirs / "gpu.yaml").write_text("workloads: [{name: w, command: ['true']}]\ngpus: all\naxes: {gpu.core: all}\nrepeat: 1\n")
            subprocess.run([str(PROGRAM), *command, "--sysfs-root", str(tree), "--state-folder", str(self.theirs / "state")], cwd=self.theirs, env=self.environment(SUDO_UID=NOBODY),
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
            for trace in ("loaded-by", "run-by"):
                if (self.theirs / trace).exists():
                    self.assertEqual((self.theirs / trace).read_text().strip(), NOBODY, (command, trace))
        self.assertTrue((self.theirs / "loaded-by").exists(), "the library was never loaded: this test shows nothing")
        # A PATH of the user's own, kept by a careless sudoers: what lies there is run by nobody but that user.
        (self.theirs / "run-by").unlink(missing_ok=True)
        self.call("doctor", cwd=self.theirs, SUDO_UID=NOBODY, PATH=f"{tree}/usr/bin:{os.environ['PATH']}")
        if (self.theirs / "run-by").exists():
            self.assertEqual((self.theirs / "run-by").read_text().strip(), NOBODY)
        refused = self.call("doctor", cwd=self.theirs, SUDO_UID=NOBODY, LD_LIBRARY_PATH=str(tree / "usr/lib"))
        self.assertFalse((self.theirs / "loaded-by").exists() and (self.theirs / "loaded-by").read_text() == "0", refused.stdout)

    def test_run_as_names_nobody_but_the_caller(self):
        for run_as in ("root", "daemon"):
            (self.theirs / "as.yaml").write_text(f"name: as\nrepeat: 1\nobjective: time\nconditions: {QUIET}\nworkloads: [{{name: w, shell: 'id -u', run_as: {run_as}}}]\n")
            refused = self.call("as.yaml", cwd=self.theirs, SUDO_UID=NOBODY)
            self.assertEqual(refused.returncode, 3, refused.stderr)
            self.assertEqual(refused.stderr, f"error: workload 'w' is to run as {run_as}, and this program serves nobody, who called it through sudo: only root himself may name another user\n"
                                             "  hint: take 'run_as' away, or let root himself run it: su -, or env -u SUDO_UID in root's shell\n")
            self.assertIn("only root himself may name another user", self.call("check", "as.yaml", cwd=self.theirs, SUDO_UID=NOBODY).stdout)
        (self.theirs / "meter.yaml").write_text(f"name: meter\nrepeat: 1\nconditions: {QUIET}\nworkloads: [{{name: w, command: ['true']}}]\n"
                                                "probes: [{name: m, command: [sh, -c, 'echo p 1 W'], run_as: root, channels: {p: {unit: W}}}]\n")
        refused = self.call("meter.yaml", cwd=self.theirs, SUDO_UID=NOBODY)
        self.assertIn("error: probe 'm' is to run as root, and this program serves nobody, who called it through sudo", refused.stderr)
        # Root himself may.
        (self.folder / "own.yaml").write_text(f"name: own\nrepeat: 1\nobjective: time\nconditions: {QUIET}\nworkloads: [{{name: w, shell: 'id -u', run_as: daemon}}]\n")
        own = self.call("own.yaml", "--no-html")
        self.assertEqual(own.returncode, 0, own.stderr)
        self.assertEqual(self.rows("own.sqlite", "SELECT output_tail FROM trials")[0]["output_tail"], "1\n")

    def test_roots_environment_stays_roots(self):
        (self.theirs / "env.yaml").write_text(f"name: env\nrepeat: 1\nobjective: time\nconditions: {QUIET}\nworkloads: [{{name: w, shell: env, environment: {{keep: [CUDA_HOME], OWN: 7}}}}]\n")
        run = self.call("env.yaml", "--no-html", cwd=self.theirs, SUDO_UID=NOBODY, AWS_SECRET_ACCESS_KEY="s3cret", LD_LIBRARY_PATH="/root/lib", CUDA_HOME="/opt/cuda", LC_ALL="C.UTF-8", HOME="/root")
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = testbed.rows(self.theirs / "env.sqlite", "SELECT output_tail FROM trials")[0]["output_tail"].splitlines()
        seen = dict(line.split("=", 1) for line in lines)
        self.assertEqual({"AWS_SECRET_ACCESS_KEY", "LD_LIBRARY_PATH", "SUDO_UID"} & set(seen), set())
        self.assertEqual((seen["CUDA_HOME"], seen["OWN"], seen["USER"], seen["LC_ALL"]), ("/opt/cuda", "7", "nobody", "C.UTF-8"))
        self.assertNotEqual(seen["HOME"], "/root")
        recorded = self.theirs / "tree"
        (recorded / "sys").mkdir(parents=True)
        (self.theirs / "env.sqlite").unlink()
        run = self.call("env.yaml", "--no-html", "--sysfs-root", str(recorded), cwd=self.theirs, SUDO_UID=NOBODY, AWS_SECRET_ACCESS_KEY="s3cret", LD_LIBRARY_PATH="/root/lib")
        if run.returncode == 3:  # the state folder of this test belongs to root, and root's rights are given up
            run = subprocess.run([str(PROGRAM), "env.yaml", "--no-html", "--sysfs-root", str(recorded), "--state-folder", str(self.theirs / "state")], cwd=self.theirs,
                                 env=self.environment(SUDO_UID=NOBODY, AWS_SECRET_ACCESS_KEY="s3cret", LD_LIBRARY_PATH="/root/lib"), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotIn("s3cret", testbed.rows(self.theirs / "env.sqlite", "SELECT output_tail FROM trials")[0]["output_tail"])
        # Without sudo the environment is one's own.
        self.write("mine.yaml", f"name: mine\nrepeat: 1\nobjective: time\nconditions: {QUIET}\nworkloads: [{{name: w, shell: env}}]\n")
        self.call("mine.yaml", "--no-html", MY_VENV="/venv")
        self.assertIn("MY_VENV=/venv", self.rows("mine.sqlite", "SELECT output_tail FROM trials")[0]["output_tail"])


class Overlaps(Whole):
    def machine(self):
        root = self.folder / "machine"
        cpu = root / "sys/devices/system/cpu"
        for policy, cpus in (("policy0", "0 1"), ("policy2", "2 3")):
            for name, text in {"affected_cpus": cpus, "related_cpus": cpus, "scaling_driver": "acpi-cpufreq", "scaling_governor": "powersave", "scaling_setspeed": "<unsupported>",
                               "scaling_available_governors": "powersave performance", "cpuinfo_min_freq": "1000000", "cpuinfo_max_freq": "3000000", "scaling_min_freq": "1000000",
                               "scaling_max_freq": "3000000", "scaling_available_frequencies": "3000000 2000000 1000000", "scaling_cur_freq": "1000000"}.items():
                path = cpu / "cpufreq" / policy / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text + "\n")
        (cpu / "online").write_text("0-3\n")
        (cpu / "cpufreq/boost").write_text("1\n")
        (cpu / "cpu0").mkdir()
        (cpu / "cpu0/cpufreq").symlink_to("../cpufreq/policy0")
        (root / "sys/knob").write_text("1\n")
        (root / "sys/devices/link").symlink_to("../knob")
        return root

    def refused(self, axes, more=""):
        self.write("overlap.yaml", f"name: overlap\nworkloads: [{{name: w, command: ['true']}}]\nobjective: time\naxes:\n{axes}{more}")
        check = self.call("check", "overlap.yaml", "--sysfs-root", str(self.folder / "machine"))
        return check.returncode, check.stderr

    def test_axes_that_set_the_same_thing_are_refused_with_both_places(self):
        self.machine()
        code, error = self.refused("  cpu.governor: [powersave, performance]\n  cpu.governor@policy0: [powersave, performance]\n")
        self.assertEqual(code, 2)
        self.assertEqual(error, "overlap.yaml:6:3: error: axis 'cpu.governor@policy0' sets /sys/devices/system/cpu/cpufreq/policy0/scaling_governor, which axis 'cpu.governor' (line 5) sets too: "
                                "only the last one would be in force; leave one of them out, or let each name other targets (@...)\n  hint: nothing was run and nothing was set\n")
        code, error = self.refused("  cpu.frequency@0-1: [1 GHz, 2 GHz]\n  cpu.frequency@0-3: [1 GHz, 2 GHz]\n")
        self.assertEqual(code, 2)
        self.assertIn("overlap.yaml:6:3: error: axis 'cpu.frequency@0-3' sets /sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq, which axis 'cpu.frequency@0-1' (line 5) sets too", error)
        sysfs = "sysfs:\n  a: {path: /sys/knob, values: [1, 2]}\n  b: {path: /sys/devices/link, values: [1, 2]}\n"
        code, error = self.refused("  sysfs.a: [1, 2]\n  sysfs.b: [1, 2]\n", sysfs)
        self.assertEqual(code, 2)
        self.assertIn("overlap.yaml:6:3: error: axis 'sysfs.b' sets /sys/knob, which axis 'sysfs.a' (line 5) sets too", error)
        (self.folder / "machine/sys/devices/system/cpu/cpufreq/policy0/boost").write_text("1\n")
        boost = "sysfs:\n  b: {path: /sys/devices/system/cpu/cpufreq/policy0/boost, values: [0, 1]}\n"
        code, error = self.refused("  cpu.turbo: [on, off]\n  sysfs.b: [0, 1]\n", boost)
        self.assertIn("overlap.yaml:6:3: error: axis 'sysfs.b' sets /sys/devices/system/cpu/cpufreq/policy0/boost, which axis 'cpu.turbo' (line 5) may change by setting its own, or the other way round; use axis 'cpu.turbo', which knows of it", error)
        (self.folder / "machine/sys/devices/system/cpu/cpufreq/policy0/boost").unlink()
        # A link to the same file, and a file that another knob changes by the way.
        by_link = "sysfs:\n  max: {path: /sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq, values: [1000000, 3000000]}\n"
        code, error = self.refused("  cpu.frequency: [1 GHz, 2 GHz]\n  sysfs.max: [1000000, 3000000]\n", by_link)
        self.assertIn("overlap.yaml:6:3: error: axis 'sysfs.max' sets /sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq, which axis 'cpu.frequency' (line 5) sets too", error)
        code, error = self.refused("  cpu.governor: [powersave, performance]\n  sysfs.max: [1000000, 3000000]\n", by_link)
        self.assertIn("overlap.yaml:6:3: error: axis 'sysfs.max' sets /sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq, which axis 'cpu.governor' (line 5) may change by setting its own, or the other way round; "
                      "use axis 'cpu.frequency', which knows of it", error)

    def test_axes_that_go_together_are_not_refused(self):
        self.machine()
        code, error = self.refused("  cpu.governor: [powersave, performance]\n  cpu.turbo: [on, off]\n  cpu.frequency@policy0: [1 GHz, 2 GHz]\n  cpu.frequency@policy2: [1 GHz]\n  sysfs.a: [1, 2]\n",
                                   "sysfs: {a: {path: /sys/knob, values: [1, 2]}}\n")
        self.assertEqual((code, error), (0, ""))

    def test_a_clock_that_only_repeats_the_request_is_no_delivered_clock(self):
        root = self.machine()
        self.write("clock.yaml", f"name: clock\nworkloads: [{{name: w, command: [sleep, '0.3']}}]\nobjective: time\naxes: {{cpu.frequency: [1 GHz]}}\nrepeat: 1\nconditions: {QUIET}\n")
        run = self.call("clock.yaml", "--no-html", "--sysfs-root", str(root))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("note: probe cpufreq: nothing tells at which clock the CPUs really run", run.stderr)
        for row in self.rows("clock.sqlite", "SELECT requested, applied, delivered, as_requested FROM settings"):
            self.assertEqual(row, {"requested": "1 GHz", "applied": "1 GHz", "delivered": None, "as_requested": None})
        self.told_everywhere("clock.sqlite", "nothing tells at which clock policy0 and 1 more really ran; 1 GHz was requested")

if __name__ == "__main__":
    testbed.main()
