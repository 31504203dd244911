"""The JSON Schema that editors complete from is true: it knows the parser's keys, takes what the program
takes and refuses what it refuses."""
import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import jsonschema
import yaml

import testbed

SCHEMA = json.loads((testbed.ROOT / "experiments/experiment.schema.json").read_text())
W = 'workloads: [{name: w, command: ["true"]}]\n'
WN = 'workloads: [{name: w, command: ["true", "{n}"]}]\n'

GOOD = [
    W + "repeat: {min: 2, max: 9, until: 1 %}\nbudget: 60 trials\n",
    W + "budget: 8 h\nmeasure: {at least: 30 s, region: r}\n",
    W + "conditions: {warm up: 0, idle: none, temperature: off, foreign load: off, references: false, drift: 2 %, reruns: 0}\n",
    W + "conditions: {idle: 5 s, temperature: {band: 1 C, limit: 10 s}, foreign load: 30 %, settle limit: 1 s}\n",
    W + "objective: {minimise: energy, per: samples, subject to: {slowdown: 5 %, accuracy: \">= 0.7\"}}\n",
    W + "objective: {minimise: cost, price: {energy: 0.30 EUR/kWh, machine: 2.5 EUR/h}}\n",
    W,
    W + "repeat: 5\norder: listed\nseed: 7\nsettle: 1 s\nobjective: time\n",
    W + "repeat: {min: 2}\nobjective: {minimise: edp}\n",
    WN + "axes: {n: [1, 2.5, word]}\n",
    WN + "axes: {n: {from: 1, to: 8, times: 2}}\nexclude: [{n: [1, 2]}]\n",
    WN + "axes: {n: {values: [1, 2], nearest: false}}\nreference: {n: 1}\n",
    WN + "axes: {n: 3, cpu.cores: 1}\n",
    'workloads: [{name: w, shell: "true", timeout: 5 min, grace: 1 s, output_cap: 1 KiB, environment: {A: 1}, metrics: [lines, json, {name: r, regex: "(.)", unit: s}]}]\n',
    W + 'probes: [{name: m, command: [cat], every: 1 s, channels: {p: {unit: W, domain: system, averages over: 1 s}}}]\n',
    W + "probes: []\nobjective: time\n",
    W + "search: golden\n",
    # What YAML reads as a number is a name as it is written.
    'name: 2024\ndescription: 7\nresult: 2024\nworkloads: [{name: 1, folder: ., command: ["true"], metrics: [{name: 99, json: /a, file: 5}]}]\n',
    'workloads: [{name: w, command: ["true"]}]\nservices: [{name: 8080, command: [sleep, "9"]}]\n',
    'workloads: [{name: w, command: ["true"], metrics: [{name: p, json: /a/b, unit: ms, file: r.json}, {name: q, json: /a/0}]}]\n',
    W + 'services: [{name: s, command: [sleep, "9"], ready: {port: 8080, within: 5 s}, warm up: 2 s, grace: 1 s}]\n',
    WN + 'axes: {n: [1, 2]}\nservices: [{name: s, shell: "sleep {n}", ready: {line: up}, warm up: [sleep, "0"], environment: {A: 1}, folder: .}]\n',
    W + 'services: [{name: s, attach: {address: "127.0.0.1:80"}, ready: {command: ["true"]}}]\n',
    'workloads: [{name: w, command: ["true"], services: [s]}, {name: v, command: ["true"], services: []}]\nservices: [{name: s, attach: {pid: 1}}]\n',
    W + "search: {method: random, at most: 12 trials}\n",
    W + 'axes: {set.cap: [1, 2]}\nset: {cap: {command: ["true", "{value}"], read: [echo, "1"], restore: ["true"], values: [1, 2]}}\n',
]
BAD = [
    W + "repeat: {until: 5}\n",
    W + "budget: 60\n",
    W + "measure: {at_least: 30 s}\n",
    W + "conditions: {idle: 5}\n",
    W + "conditions: {warm up: -1}\n",
    W + "objective: {minimise: cost, price: {energy: 0.30 EUR/kWh}}\n",
    "repeat: 3\n",
    "workloads: []\n",
    "workloads: [{command: [x]}]\n",
    "workloads: [{name: w}]\n",
    'workloads: [{name: w, command: ["true"], shell: x}]\n',
    "workloads: [{name: w, command: true}]\n",
    W + "repeet: 3\n",
    W + "repeat: 0\n",
    W + "repeat: {times: 3}\n",
    W + "order: random\n",
    W + "search: adaptve\n",
    'workloads: [{name: w, command: ["true"], metrics: [{name: p, json: a.b}]}]\n',
    'workloads: [{name: w, command: ["true"], metrics: [{name: p, json: /a, regex: "(.)"}]}]\n',
    W + "services: []\n",
    W + "services: [{name: s}]\n",
    W + "services: [{command: [sleep, 9]}]\n",
    W + "services: [{name: s, command: [sleep, 9], attach: {pid: 1}}]\n",
    W + "services: [{name: s, command: [sleep, 9], ready: {port: 80, line: up}}]\n",
    W + "services: [{name: s, command: [sleep, 9], ready: {port: 99999}}]\n",
    W + "services: [{name: a/b, command: [sleep, 9]}]\n",
    W + "services: [{name: s, attach: {pid: 1, address: 'a:1'}}]\n",
    W + "settle: 5\n",
    W + "settle: 5 GHz\n",
    W + "objective: enrgy\n",
    W + "probes: [rpal]\n",
    W + "axes: {cpu.frequncy: all}\n",
    WN + "axes: {n: []}\n",
    WN + "axes: {n: {from: 1}}\n",
    WN + "axes: {n: {count: 0}}\n",
    W + "sysfs: {x: {path: /etc/passwd, values: [1]}}\n",
    W + "sysfs: {x: {path: /sys/x}}\n",
    W + "set: {x: {command: [a, '{value}'], values: [1]}}\n",
    W + "set: {x: {command: a, read: [b], values: [1]}}\n",
    W + "set: {'x y': {command: [a, '{value}'], read: [b], values: [1]}}\n",
    'workloads: [{name: w, command: ["true"], timeout: 60}]\n',
    'workloads: [{name: w, command: ["true"], metrics: [line]}]\n',
    W + "probes: [{name: m, command: [cat], channels: {p: {unit: V}}}]\n",
    W + "probes: [{name: m, command: [cat], channels: {p: {unit: W, averages over: 5}}}]\n",
]


class Schema(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="dvfs-schema."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def program_accepts(self, text):
        file = self.folder / "x.yaml"
        file.write_text(text)
        result = subprocess.run([testbed.BIN / "dvfs-plan", "check", "--json", file], capture_output=True, text=True, cwd=self.folder)
        # 3: the file is right and was resolved, but this machine has no energy sensor, say.
        self.assertIn(result.returncode, (0, 2, 3), result.stderr)
        accepted = result.returncode != 2
        self.assertEqual(accepted, "plan_hash" in (json.loads(result.stdout) if result.stdout else {}), result.stderr)
        return accepted, result.stderr

    def test_the_schema_itself(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_what_both_accept(self):
        for text in GOOD:
            with self.subTest(text):
                jsonschema.validate(yaml.safe_load(text), SCHEMA)
                accepted, errors = self.program_accepts(text)
                self.assertTrue(accepted, errors)

    def test_what_both_refuse(self):
        for text in BAD:
            with self.subTest(text):
                with self.assertRaises(jsonschema.ValidationError):
                    jsonschema.validate(yaml.safe_load(text), SCHEMA)
                self.assertFalse(self.program_accepts(text)[0])

    def test_the_shipped_experiments(self):
        shipped = sorted((testbed.ROOT / "experiments").glob("*.yaml")) + sorted((testbed.ROOT / "tests/fuzz/seeds").glob("*.yaml"))
        self.assertTrue(shipped)
        for file in shipped:
            with self.subTest(file.name):
                jsonschema.validate(yaml.safe_load(file.read_text()), SCHEMA)


if __name__ == "__main__":
    testbed.main()
