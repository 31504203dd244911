"""A running night watched from elsewhere: OpenMetrics over HTTP and a socket, read by Prometheus' own parser; a line a trial in the journal and on stderr."""
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.request

import loopback
import testbed
from whole import METER, QUIET, Whole

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    text_string_to_metric_families = None

NIGHT = f"""name: night
objective: energy
conditions: {QUIET}
workloads: [{{name: w, shell: "sleep 0.{{tenths}}; [ {{tenths}} != 5 ] || exit 3"}}]
axes: {{tenths: [3, 4, 5]}}
repeat: 2
{METER}"""


@unittest.skipIf(not os.environ.get("DVFS_PLAN_APART"), "needs a network of its own (tests/system/apart)")
class Watching(Whole):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        loopback.up()

    def start(self, *arguments):
        run = subprocess.Popen(self.arguments("night.yaml", "--no-html", *arguments), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.stderr.close)
        self.addCleanup(lambda: run.poll() is None and (run.kill(), run.wait()))
        return run

    def scraped(self, text):
        """Samples by name: [(labels, value)]. Prometheus' own parser refuses what is no OpenMetrics."""
        found = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                self.assertEqual(sample.labels.pop("experiment"), "night")
                found.setdefault(sample.name, []).append((sample.labels, sample.value))
        return found

    @unittest.skipIf(text_string_to_metric_families is None, "python3-prometheus-client is not installed")
    def test_a_night_over_http(self):
        self.write("night.yaml", NIGHT)
        run = self.start("--metrics", "0")
        for line in run.stderr:
            if line.startswith("metrics: "):
                break
        address = line.split()[1]
        self.assertRegex(address, r"^http://127\.0\.0\.1:\d+/metrics$")
        seen, done, left, settings = [], [], [], set()
        while run.poll() is None:
            try:
                with urllib.request.urlopen(address, timeout=10) as answer:
                    self.assertEqual(answer.headers["Content-Type"], "application/openmetrics-text; version=1.0.0; charset=utf-8")
                    now = self.scraped(answer.read().decode())
            except (urllib.error.URLError, http.client.HTTPException, ConnectionError):
                break  # it ends
            seen.append(now)
            done += [value for _, value in now.get("dvfs_plan_trials_finished", [])]  # not there while the sensors are looked at
            left += [value for _, value in now.get("dvfs_plan_trials_left", [])]
            settings |= {(labels["axis"], labels["value"]) for labels, _ in now.get("dvfs_plan_setting_info", [])}
            time.sleep(0.05)
        run.stderr.read()
        self.assertEqual(run.wait(timeout=60), 1)
        # `status --json` has the same of the file.
        status = json.loads(self.call("status", "night.sqlite", "--json").stdout)
        last = self.rows("night.sqlite", "SELECT key, verdict, mean_power_w FROM trials ORDER BY trial DESC LIMIT 1")[0]
        self.assertEqual((status["last_trial"]["key"], status["last_trial"]["verdict"]), (last["key"], last["verdict"]))
        self.assertEqual(set(status["last_trial"]["watts"]), {"system"})
        if last["mean_power_w"] is not None:
            self.assertAlmostEqual(status["last_trial"]["watts"]["system"], last["mean_power_w"], places=6)
        self.assertIsInstance(status["drift"], dict)
        self.assertEqual(done, sorted(done))
        self.assertGreaterEqual(max(done), 5)
        self.assertEqual(left, sorted(left, reverse=True))
        self.assertEqual(settings, {("tenths", "3"), ("tenths", "4"), ("tenths", "5")})
        last = seen[-1]
        self.assertLessEqual({"ok", "exited"}, {labels["verdict"] for labels, _ in last["dvfs_plan_trials_total"]})
        ok = [sample for sample in seen if sample.get("dvfs_plan_last_trial_power_watts")]
        self.assertTrue(ok)
        for sample in ok:
            for labels, watts in sample["dvfs_plan_last_trial_power_watts"]:
                self.assertEqual(labels, {"domain": "system"})
                self.assertGreater(watts, 95)
                self.assertLess(watts, 106)
        self.assertTrue(any(labels["kind"] == "exited" and "w tenths=5" in labels["message"] for sample in seen for labels, _ in sample.get("dvfs_plan_last_fault_info", [])))

    def test_a_socket_goes_with_the_run_and_a_place_that_is_taken_is_refused_before_anything_is_run(self):
        self.write("night.yaml", NIGHT)
        run = self.start("--metrics", "unix:night.sock", "-o", "one.sqlite")
        deadline = time.monotonic() + 30
        while not (self.folder / "night.sock").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        with socket.socket(socket.AF_UNIX) as asking:
            while asking.connect_ex(str(self.folder / "night.sock")) != 0:  # it is there before anybody listens
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            asking.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            answer = b""
            while part := asking.recv(4096):
                answer += part
        self.assertIn(b"\r\n\r\n# TYPE dvfs_plan_build info\n", answer)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)
        self.assertFalse((self.folder / "night.sock").exists())
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            refused = self.call("night.yaml", "--metrics", str(port), "-o", "two.sqlite")
        self.assertEqual(refused.returncode, 3)
        self.assertIn(f"error: --metrics '{port}': it cannot listen there: Address already in use\n  hint: name another port or path, or 0 for a free port\n", refused.stderr)
        self.assertFalse((self.folder / "two.sqlite").exists())
        wrong = self.call("night.yaml", "--metrics", "nowhere")
        self.assertEqual((wrong.returncode, wrong.stderr.splitlines()[-2:]),
                         (2, ["error: --metrics 'nowhere': wanted a port such as 9123, ADDRESS:PORT or unix:PATH", "  hint: 127.0.0.1 is meant where no address is given"]))

    @testbed.on_a_busy_host
    def test_a_line_a_trial_on_stderr(self):
        self.write("night.yaml", NIGHT)
        said = self.call("night.yaml", "--no-html", "--quiet", "--log", "stderr")
        self.assertEqual(said.returncode, 1, said.stderr)
        lines = said.stderr.splitlines()
        time_ = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
        self.assertRegex(lines[0], rf"^{time_} info: night: begun: \S*night\.sqlite$")
        self.assertEqual(len([line for line in lines if re.match(rf"^{time_} info: night: w tenths=[34] #[12]: \d+\.\d+ s, \d+\.?\d* J$", line)]), 4, said.stderr)
        self.assertTrue([line for line in lines if re.match(rf"^{time_} warning: night: w tenths=5 #1: .*does not count \(exited\): the workload exited with 3", line)], said.stderr)
        self.assertRegex(lines[-1], rf"^{time_} info: night: ended: done$")

    def test_a_line_a_trial_in_the_journal(self):
        self.write("night.yaml", NIGHT)
        os.makedirs("/run/dvfs-plan/journald", exist_ok=True)
        os.makedirs("/run/systemd/journal", exist_ok=True)
        subprocess.run(["mount", "--bind", "/run/dvfs-plan/journald", "/run/systemd/journal"], check=True)
        self.addCleanup(subprocess.run, ["umount", "/run/systemd/journal"], check=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as journal:
            journal.bind("/run/systemd/journal/socket")
            self.addCleanup(os.unlink, "/run/systemd/journal/socket")
            told = []

            def listen():
                while text := journal.recv(65536):
                    told.append(dict(line.split("=", 1) for line in text.decode().splitlines()))

            # As fast as journald does: a socket keeps ten messages that nobody has read.
            listener = threading.Thread(target=listen)
            listener.start()
            said = self.call("night.yaml", "--no-html", "--log", "journal")
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
                end.sendto(b"", "/run/systemd/journal/socket")
            listener.join(timeout=30)
        self.assertEqual(said.returncode, 1, said.stderr)
        told = [one for one in told if one["SYSLOG_IDENTIFIER"] == "dvfs-plan"]
        self.assertEqual({one["DVFS_PLAN_EXPERIMENT"] for one in told}, {"night"})
        self.assertEqual((told[0]["DVFS_PLAN_EVENT"], told[-1]["DVFS_PLAN_EVENT"], told[-1]["DVFS_PLAN_HOW"]), ("begun", "ended", "done"))
        trials = [one for one in told if one["DVFS_PLAN_EVENT"] == "trial"]
        ok = [one for one in trials if one["DVFS_PLAN_VERDICT"] == "ok"]
        stored = {row["key"]: row for row in self.rows("night.sqlite", "SELECT key, time_s, energy_j FROM trials WHERE counts")}
        self.assertEqual({one["DVFS_PLAN_TRIAL"] for one in ok}, set(stored))
        for one in ok:
            self.assertEqual(one["PRIORITY"], "6")
            self.assertAlmostEqual(float(one["DVFS_PLAN_SECONDS"]), stored[one["DVFS_PLAN_TRIAL"]]["time_s"], places=9)
            self.assertAlmostEqual(float(one["DVFS_PLAN_JOULES"]), stored[one["DVFS_PLAN_TRIAL"]]["energy_j"], places=9)
        self.assertEqual({one["PRIORITY"] for one in trials if one["DVFS_PLAN_VERDICT"] == "exited"}, {"4"})

    @testbed.on_a_busy_host
    def test_without_a_journal_it_says_so_and_runs(self):
        self.write("night.yaml", NIGHT.replace("[3, 4, 5]", "[3]"))
        os.makedirs("/run/dvfs-plan/none", exist_ok=True)
        os.makedirs("/run/systemd/journal", exist_ok=True)
        subprocess.run(["mount", "--bind", "/run/dvfs-plan/none", "/run/systemd/journal"], check=True)
        self.addCleanup(subprocess.run, ["umount", "/run/systemd/journal"], check=True)
        said = self.call("night.yaml", "--no-html", "--log", "journal")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertIn("note: --log journal: there is no journald here\n", said.stderr)


if __name__ == "__main__":
    testbed.main()
