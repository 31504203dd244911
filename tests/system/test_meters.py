"""Meters on the network: plugs and a BMC by Redfish, played by servers of our own on the loopback device with answers as their makers document them, over
HTTP and TLS; and everything that can go wrong with one."""
import http.server
import json
import os
import re
import ssl
import subprocess
import threading
import time
import unittest

import loopback
import scpi_meter
import testbed
from whole import QUIET, Whole

# shelly-api-docs.shelly.cloud/gen2/ComponentsAndServices/Switch, .../gen1 (Shelly Plug S), tasmota.github.io/docs/Commands
GEN2 = {"id": "shellyplusplugs-80646f", "mac": "80646F", "model": "SNPL-00112EU", "gen": 2, "app": "PlusPlugS", "auth_en": False}
SWITCH = {"id": 0, "source": "WS_in", "output": True, "apower": 0.0, "voltage": 230.1, "current": 0.043, "aenergy": {"total": 6.532, "by_minute": [45.199, 47.141, 88.397], "minute_ts": 1626935779}}
GEN1 = {"type": "SHPLG-S", "mac": "5ECF7F", "auth": False, "fw": "20230913-113421/v1.14.0"}
TASMOTA = {"StatusSNS": {"Time": "2026-11-25T03:00:00", "ENERGY": {"TotalStartTime": "2026-01-01T00:00:00", "Total": 3.185, "Yesterday": 3.058, "Today": 0.127, "Power": 0, "Voltage": 229, "Current": 0.1}}}


class Served(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do(self, method):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        answer = self.server.says(method, self.path, self.headers, body)
        if answer is None:  # as one that hangs
            time.sleep(20)
            return
        status, headers, content = answer
        content = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_GET(self):
        self.do("GET")

    def do_POST(self):
        self.do("POST")

    def do_DELETE(self):
        self.do("DELETE")


# Counters of one domain; `ma` stands where `dead` is.
TWO_METERS = """
name: two
workloads: [{{name: w, command: [sleep, "0.{{n}}"]}}]
objective: {{minimise: energy, across: [n], same work: true}}
reference: {{n: 8}}
axes: {{n: [4, 8]}}
repeat: {repeat}
conditions: {quiet}
probes:
  - {{name: ma, command: [bash, -c, "exec 3<> <(:); e=0; while :; do [ -e {folder}/dead ] || e=$((e+200)); echo e $e J; read -t 0.02 -u 3; done"], channels: {{e: {{unit: J, domain: system}}}}}}
  - {{name: mb, command: [bash, -c, "exec 3<> <(:); e=0; while :; do e=$((e+206)); echo e $e J; read -t 0.02 -u 3; done"], channels: {{e: {{unit: J, domain: system}}}}}}
"""


class TwoMeters(Whole):
    """Which of two meters of one domain counts hangs on which works: a night goes on with the one that it began with."""

    def night(self, repeat):
        self.write("two.yaml", TWO_METERS.format(repeat=repeat, quiet=QUIET, folder=self.folder))
        return self.call("two.yaml", "--no-html")

    def counted_by(self):
        return {row["channel"] for row in self.rows("two.sqlite", "SELECT e.channel FROM trials t JOIN energy e USING (trial) WHERE t.energy_j = e.energy_j")}

    def test_one_that_died_is_not_replaced_by_the_other(self):
        first = self.night(2)
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(self.counted_by(), {"ma:e"})
        (self.folder / "dead").touch()
        for run in (self.night(3), self.call("recheck", "two.sqlite")):
            self.assertEqual(run.returncode, 3, run.stderr)
            self.assertIn("error: the finished trials measured the energy of 'system' by ma:e, which cannot be measured now:\n  ", run.stderr)
            self.assertIn("\n  hint: bring the sensor back and run the same command, or start anew with --fresh\n", run.stderr)
        (self.folder / "dead").unlink()
        again = self.night(3)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.counted_by(), {"ma:e"})

    def test_one_that_comes_back_does_not_take_over(self):
        (self.folder / "dead").touch()
        for repeat in (2, 3):
            run = self.night(repeat)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(self.counted_by(), {"mb:e"})
            (self.folder / "dead").unlink(missing_ok=True)
        recomputed = self.call("report", "two.sqlite", "--recompute")
        self.assertEqual(recomputed.returncode, 0, recomputed.stdout)


@unittest.skipIf(not os.environ.get("DVFS_PLAN_APART"), "needs a network of its own (tests/system/apart)")
class Meters(Whole):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        loopback.up()

    def serve(self, says, tls=None):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Served)
        server.daemon_threads = True
        server.says = says
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"

    def night(self, probe, seconds=2, objective="time", repeat=2, more=""):
        self.write("night.yaml", f"name: night\nobjective: {objective}\nconditions: {QUIET}\nprobes: [{probe}]\nworkloads: [{{name: w, command: [sleep, '{seconds}']}}]\nrepeat: {repeat}\n{more}")
        return self.call("night.yaml", "--no-html")

    def watts(self, channel):
        said = self.call("sql", "night.sqlite", f"SELECT value, absence FROM readings WHERE channel = '{channel}'", "--json")
        return [(row["value"], row["absence"]) for row in json.loads(said.stdout)]

    def test_a_shelly_of_each_generation(self):
        power, paths = [123.4], []

        def gen2(method, path, headers, body):
            paths.append(path)
            if path == "/shelly":
                return 200, {"Content-Type": "application/json"}, GEN2
            if path == "/rpc/Switch.GetStatus?id=0":
                return 200, {}, {**SWITCH, "apower": power[0]}
            return 404, {}, {"code": -105, "message": "Argument 'id', value 7 not found!"}

        at = self.serve(gen2)
        said = self.night(f'{{name: wall, meter: shelly, at: "{at}/"}}')
        self.assertEqual(said.returncode, 0, said.stderr)
        values = self.watts("wall:power")
        self.assertGreater(len(values), 5)
        self.assertEqual(set(values), {(123.4, None)})
        source = json.loads(self.call("sql", "night.sqlite", "SELECT DISTINCT channel, domain FROM energy", "--json").stdout)
        self.assertEqual(source, [{"channel": "wall:power", "domain": "system"}])
        # A power meter without a switch, and an outlet that is not there.
        def pm(method, path, headers, body):
            return (200, {}, GEN2) if path == "/shelly" else (200, {}, {"id": 0, "apower": 7.5}) if path == "/rpc/PM1.GetStatus?id=0" else (404, {}, "No handler")

        said = self.night(f'{{name: pm, meter: shelly, at: "{self.serve(pm)}"}}', more="description: other\n")
        self.assertEqual(said.returncode, 2, said.stderr)  # another meter than the trials there
        self.assertIn("probes", said.stderr)
        said = self.call("night.yaml", "--no-html", "--fresh")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(set(self.watts("pm:power")), {(7.5, None)})
        self.night(f'{{name: wall, meter: shelly, at: "{at}", outlet: 7}}')
        said = self.call("night.yaml", "--no-html", "--fresh")
        self.assertEqual(said.returncode, 3)
        self.assertIn(f"error: night.yaml:4:17: meter 'wall' (shelly) at {at}: /rpc/PM1.GetStatus?id=7: HTTP status 404\n  hint: look with: curl {at}/shelly\n", said.stderr)
        # Generation 1: what it says while it is not valid is no power.
        valid = [True]
        at = self.serve(lambda method, path, headers, body: (200, {}, GEN1) if path == "/shelly" else (200, {}, {"power": 42.25, "overpower": 0.0, "is_valid": valid[0], "total": 1312}))
        said = self.night(f'{{name: plug, meter: shelly, at: "{at}", rate: 10 Hz}}')
        self.assertEqual(self.call("night.yaml", "--no-html", "--fresh").returncode, 0)
        self.assertEqual(set(self.watts("plug:power")), {(42.25, None)})
        valid[0] = False
        said = self.call("night.yaml", "--no-html", "--fresh")
        self.assertIn(f"meter 'plug' (shelly) at {at}: /meter/0: is_valid is false\n", said.stderr)

    def test_a_plug_with_tasmota(self):
        password = [False]

        def says(method, path, headers, body):
            if password[0] and not path.startswith("/cm?user=admin&password=p%26%20w&"):
                return 200, {}, {"WARNING": "Need user=<username>&password=<password>"}
            self.assertTrue(path.endswith("cmnd=Status%208"), path)
            answer = json.loads(json.dumps(TASMOTA))
            answer["StatusSNS"]["ENERGY"]["Power"] = [31, 5]
            return 200, {"Content-Type": "application/json"}, answer

        at = self.serve(says)
        self.assertEqual(self.night(f'{{name: wall, meter: tasmota, at: "{at}", outlet: 1}}').returncode, 0)
        self.assertEqual(set(self.watts("wall:power")), {(5, None)})
        self.assertEqual(self.night(f'{{name: one, meter: tasmota, at: "{at}"}}').returncode, 2)
        self.assertEqual(self.call("night.yaml", "--no-html", "--fresh").returncode, 0)
        self.assertEqual(set(self.watts("one:power")), {(31, None)})
        password[0] = True
        said = self.call("night.yaml", "--no-html", "--fresh")
        self.assertIn(f"meter 'one' (tasmota) at {at}: it asks for a user and a password\n", said.stderr)
        secret = self.write("plug.secret", "admin:p& w\n")
        self.night(f'{{name: one, meter: tasmota, at: "{at}", credentials: plug.secret}}')
        secret.chmod(0o640)
        said = self.call("night.yaml", "--no-html", "--fresh")
        self.assertEqual(said.returncode, 2)
        self.assertRegex(said.stderr, r"error: night\.yaml:4:\d+: probe 'one': 'credentials' is a file that nobody else may read, with one line, USER:PASSWORD; \S*plug\.secret has mode 0640\n  hint: chmod 600 ")
        secret.chmod(0o600)
        said = self.call("night.yaml", "--no-html", "--fresh")
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertNotIn(b"p& w", (self.folder / "night.sqlite").read_bytes())
        self.assertNotIn(b"p%26", (self.folder / "night.sqlite").read_bytes())

    def certificates(self, name="127.0.0.1", kind="IP"):
        """A BMC's own, signed by itself."""
        key, certificate = self.folder / f"{name}.key", self.folder / f"{name}.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName={kind}:{name}",
                        "-keyout", key, "-out", certificate], check=True, capture_output=True)
        return certificate, key

    def redfish(self, watts, chassis="new", sessions=None):
        """A service with one chassis (DSP2046: EnvironmentMetrics; before: Power), which wants a session where `sessions` is a list of those that are open."""
        def says(method, path, headers, body):
            if path == "/redfish/v1/SessionService/Sessions" and method == "POST":
                if json.loads(body) != {"UserName": "root", "Password": "calvin:1"}:
                    return 401, {}, {"error": {"code": "Base.1.8.ResourceAtUriUnauthorized"}}
                sessions.append(f"token{len(sessions)}")
                return 201, {"X-Auth-Token": sessions[-1], "Location": f"/redfish/v1/SessionService/Sessions/{len(sessions)}"}, {}
            if method == "DELETE":
                sessions[int(path.rsplit("/", 1)[1]) - 1] = "closed"
                return 200, {}, {}
            if sessions is not None and headers.get("X-Auth-Token") not in [one for one in sessions if one != "closed"]:
                return 401, {}, {"error": {}}
            return 200, {}, {
                "/redfish/v1/Chassis": {"Members": [{"@odata.id": "/redfish/v1/Chassis/Enclosure"}, {"@odata.id": "/redfish/v1/Chassis/System"}]},
                "/redfish/v1/Chassis/Enclosure": {"Id": "Enclosure", **({"Power": {"@odata.id": "/redfish/v1/Chassis/System/Power"}} if chassis == "both" else {})},
                "/redfish/v1/Chassis/System": {"Id": "System", "Power": {"@odata.id": "/redfish/v1/Chassis/System/Power"},
                                               **({"EnvironmentMetrics": {"@odata.id": "/redfish/v1/Chassis/System/EnvironmentMetrics"}} if chassis == "new" else {})},
                "/redfish/v1/Chassis/System/EnvironmentMetrics": {"PowerWatts": {"Reading": watts[0], "DataSourceUri": "x"}, "EnergykWh": {"Reading": 1234.5}},
                "/redfish/v1/Chassis/System/Power": {"PowerControl": [{"MemberId": "0", "PowerConsumedWatts": watts[0] + 1, "PowerMetrics": {"IntervalInMin": 1, "AverageConsumedWatts": 300}}]},
            }.get(path, {"error": {}})
        return says

    def test_a_bmc_by_redfish(self):
        watts, sessions, own = [344], [], self.certificates()
        at = self.serve(self.redfish(watts, sessions=sessions), own)
        secret = self.write("bmc.secret", "root:calvin:1\n")
        secret.chmod(0o600)
        probe = f'{{name: bmc, meter: redfish, at: "{at}", credentials: bmc.secret, ca: {own[0].name}}}'
        said = self.night(probe)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(set(self.watts("bmc:power")), {(344, None)})
        self.assertEqual(set(sessions), {"closed"}, "sessions are closed")
        self.assertNotIn(b"calvin", (self.folder / "night.sqlite").read_bytes())
        # Nobody vouches for it.
        said = self.night(probe.replace(f", ca: {own[0].name}", ""))
        said = self.call("night.yaml", "--no-html", "--fresh")
        self.assertEqual(said.returncode, 3)
        self.assertRegex(said.stderr, r"meter 'bmc' \(redfish\) at \S+: TLS with 127\.0\.0\.1:\d+: certificate verify failed.*\n  hint: name who vouches for it:  ca: FILE\.pem")
        # A certificate of another host's.
        other = self.certificates("bmc.example", "DNS")
        elsewhere = self.serve(self.redfish(watts, sessions=sessions), other)
        said = self.night(probe.replace(at, elsewhere).replace(own[0].name, other[0].name))
        said = self.call("night.yaml", "--no-html", "--fresh")
        self.assertRegex(said.stderr, r"TLS with 127\.0\.0\.1:\d+: certificate verify failed")
        # A wrong password, and one that would be sent in the clear.
        secret.write_text("root:wrong\n")
        self.night(probe)
        said = self.call("night.yaml", "--no-html", "--fresh")
        self.assertIn("/redfish/v1/SessionService/Sessions: HTTP status 401: the user or the password is not taken\n", said.stderr)
        self.assertNotIn("wrong", said.stderr)
        plain = self.serve(self.redfish(watts, sessions=[]))
        self.night(probe.replace(at, plain))
        said = self.call("night.yaml", "--no-html", "--fresh")
        self.assertIn(f"meter 'bmc' (redfish): a password is sent over TLS alone, and '{plain}' is not https\n", said.stderr)

    def test_a_bmc_of_older_kind_and_one_with_several_chassis(self):
        at = self.serve(self.redfish([99], "old"))
        self.assertEqual(self.night(f'{{name: bmc, meter: redfish, at: "{at}"}}').returncode, 0)
        self.assertEqual(set(self.watts("bmc:power")), {(100, None)})
        at = self.serve(self.redfish([99], "both"))
        self.night(f'{{name: bmc, meter: redfish, at: "{at}"}}')
        said = self.call("night.yaml", "--no-html", "--fresh")
        self.assertIn("several chassis tell a power (/redfish/v1/Chassis/Enclosure, /redfish/v1/Chassis/System): name one in 'at'\n", said.stderr)
        self.night(f'{{name: bmc, meter: redfish, at: "{at}/redfish/v1/Chassis/System"}}')
        self.assertEqual(self.call("night.yaml", "--no-html", "--fresh").returncode, 0)

    @testbed.on_a_busy_host
    def test_one_that_hangs_talks_nonsense_or_goes_away_in_the_night(self):
        state = ["well"]

        def says(method, path, headers, body):
            if state[0] == "hangs":
                return None
            if path == "/shelly":
                return 200, {}, GEN2
            if state[0] == "nonsense":
                return 200, {}, "<html>captive portal</html>"
            if state[0] == "text":
                return 200, {}, {**SWITCH, "apower": "12 W"}
            return 200, {}, {**SWITCH, "apower": 50}

        at = self.serve(says)
        self.write("night.yaml", f'name: night\nobjective: time\nconditions: {QUIET}\nprobes: [{{name: wall, meter: shelly, at: "{at}", averages over: 1 s}}]\n'
                                 "workloads: [{name: w, command: [sleep, '2']}]\naxes: {n: [1, 2, 3, 4]}\nrepeat: 1\norder: listed\n"
                                 .replace("command: [sleep, '2']", "shell: 'sleep 2; : {n}'"))
        run = subprocess.Popen(self.arguments("night.yaml", "--no-html"), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
        told = []
        for line in run.stderr:
            told.append(line)
            if line.startswith("w n=1 #1: "):
                state[0] = "nonsense"
            if line.startswith("w n=2 #1: "):
                state[0] = "text"
            if line.startswith("w n=3 #1: "):
                state[0] = "hangs"
        run.stderr.close()
        self.assertIn(run.wait(timeout=60), (0, 1), told)
        rows = json.loads(self.call("sql", "night.sqlite", "SELECT t.key, r.absence, count(*) AS n, count(r.value) AS known FROM trials t JOIN readings r USING (trial) GROUP BY 1, 2", "--json").stdout)
        by_trial = {}
        for row in rows:
            by_trial.setdefault(row["key"], {})[row["absence"]] = (row["n"], row["known"])
        self.assertEqual(set(by_trial["w n=1 #1"]), {None})
        self.assertIn("absent", by_trial["w n=2 #1"])
        self.assertIn("absent", by_trial["w n=3 #1"])
        self.assertIn("gone", by_trial["w n=4 #1"])
        energies = {row["key"]: row["energy_j"] for row in json.loads(self.call("sql", "night.sqlite", "SELECT key, energy_j, time_s FROM trials", "--json").stdout)}
        first, = self.rows("night.sqlite", "SELECT energy_j / time_s AS watts FROM trials WHERE key = 'w n=1 #1'")
        self.assertAlmostEqual(first["watts"], 50, delta=1)
        for key in ("w n=3 #1", "w n=4 #1"):
            self.assertIsNone(energies[key], "nothing is made up where nothing was said")
        # And one that is not there at all.
        said = self.night('{name: wall, meter: shelly, at: "http://127.0.0.1:9"}')
        said = self.call("night.yaml", "--no-html", "--fresh")
        self.assertEqual(said.returncode, 3)
        self.assertIn("meter 'wall' (shelly) at http://127.0.0.1:9: connect to 127.0.0.1:9: Connection refused\n", said.stderr)

    def scpi(self, **more):
        meter = scpi_meter.Wt310(**more)
        server = scpi_meter.Server(meter)
        self.addCleanup(server.close)
        return meter, server.at

    @testbed.on_a_busy_host
    def test_a_power_analyser_by_scpi(self):
        for headers in (True, False):
            meter, at = self.scpi(headers=headers)
            before = dict(meter.settings)
            said = self.night(f'{{name: wall, meter: scpi, at: "{at}"}}', more="" if headers else "description: other\n")
            if not headers:
                said = self.call("night.yaml", "--no-html", "--fresh")
            self.assertEqual(said.returncode, 0, said.stderr)
            values = self.watts("wall:power")
            self.assertGreater(len(values), 20, "its update interval of 0.1 s is how often it is asked")
            self.assertEqual(set(values), {(99.99, None), (100, None), (100.01, None)})
            rows = json.loads(self.call("sql", "night.sqlite", "SELECT channel, domain, e.energy_j / t.time_s AS watts, half_width_j FROM energy e JOIN trials t USING (trial)", "--json").stdout)
            self.assertEqual({(row["channel"], row["domain"]) for row in rows}, {("wall:power", "system")})
            for row in rows:
                self.assertAlmostEqual(row["watts"], 100, delta=1)
                self.assertIsNotNone(row["half_width_j"], "its update interval says over how long a value is a mean")
            self.assertEqual(meter.settings, before, "nothing is set at it")
            self.assertFalse([query for query in meter.asked if "?" not in query])

    @testbed.on_a_busy_host
    def test_an_analyser_that_integrates_is_a_counter(self):
        meter, at = self.scpi(integrates=True)
        said = self.night(f'{{name: wall, meter: scpi, at: "{at}"}}')
        self.assertEqual(said.returncode, 0, said.stderr)
        rows = json.loads(self.call("sql", "night.sqlite", "SELECT channel, e.energy_j, half_width_j, t.time_s FROM energy e JOIN trials t USING (trial) WHERE channel = 'wall:energy'", "--json").stdout)
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertAlmostEqual(row["energy_j"], 100 * row["time_s"], delta=max(3, 2 * row["half_width_j"]))
        self.assertIn('"energy_source":"system"', self.call("report", "night.sqlite", "--json").stdout.replace(" ", ""))

    def test_an_analyser_that_is_not_to_be_trusted_is_refused_and_told_how_to_mend(self):
        """Ranges that change by themselves, averaging, values in binary, no power among its items, another make."""
        cases = (
            (lambda m: m.settings.update({":INPUT:VOLTAGE:AUTO": "1"}),
             ":INPut:VOLTage:AUTO? answers ':INPUT:VOLTAGE:AUTO 1': its voltage range changes by itself, and each change loses values\n"
             "  hint: fix it above the most that is drawn:  :INPut:VOLTage:AUTO OFF\n"),
            (lambda m: m.settings.update({":INPUT:CURRENT:AUTO": "1"}),
             ":INPut:CURRent:AUTO? answers ':INPUT:CURRENT:AUTO 1': its current range changes by itself, and each change loses values\n"
             "  hint: fix it above the most that is drawn:  :INPut:CURRent:AUTO OFF\n"),
            (lambda m: m.settings.update({":MEASURE:AVERAGING:STATE": "1"}),
             ":MEASure:AVERaging:STATe? answers ':MEASURE:AVERAGING:STATE 1': over how long a value is a mean is not known then\n"
             "  hint: switch it off  (:MEASure:AVERaging:STATe OFF), or say it:  averages over: 1 s\n"),
            (lambda m: m.settings.update({":NUMERIC:FORMAT": "FLOAT"}),
             ":NUMeric:FORMat? answers ':NUMERIC:FORMAT FLOAT', and values are read as text\n  hint: send it  :NUMeric:FORMat ASCii\n"),
            (lambda m: setattr(m, "items", ["U,1", "I,1", "P,2", "WH,2"]),
             "none of the 4 items that it is set up to tell is the active power of element 1\n  hint: set one up:  :NUMeric:NORMal:ITEM1 P,1\n"),
            (lambda m: setattr(m, "model", "PX8000"),
             "it is a YOKOGAWA PX8000, whose commands dvfs-plan does not know\n  hint: say how its manual has active power asked, and whether its range changes by itself:  "
             "power query: \":FETC:POW:ACT?\", range query: \":SENS:CURR:RANG:AUTO?\"\n"),
        )
        for change, text in cases:
            meter, at = self.scpi()
            change(meter)
            said = self.night(f'{{name: wall, meter: scpi, at: "{at}"}}')
            self.assertEqual(said.returncode, 3, said.stderr)
            self.assertRegex(said.stderr, rf"error: night\.yaml:4:\d+: meter 'wall' \(scpi\) at {re.escape(at)}: {re.escape(text)}")
        meter, at = self.scpi()
        meter.silent = True
        said = self.night(f'{{name: wall, meter: scpi, at: "{at}"}}')
        self.assertEqual(said.returncode, 3)
        self.assertIn(f"meter 'wall' (scpi) at {at}: ask *IDN? of {at.removeprefix('tcp://')}: no answer in time\n  hint: is it switched on, and its interface set to this?\n", said.stderr)

    def test_another_make_by_a_query_of_the_user_s(self):
        class Other(scpi_meter.Wt310):
            automatic = "OFF"

            def answer(self, query):
                self.asked.append(query.strip())
                return {"*IDN?": "ZES ZIMMER,LMG671,00012345,5.041", ":FETC:POW:ACT?": "  +7.5000E+01 ".strip(), ":SENS:CURR:RANG:AUTO?": self.automatic}.get(query.strip())

        meter = Other()
        server = scpi_meter.Server(meter)
        self.addCleanup(server.close)
        probe = f'{{name: lmg, meter: scpi, at: "{server.at}", power query: ":FETC:POW:ACT?", range query: ":SENS:CURR:RANG:AUTO?", averages over: 0.5 s, late by: 0.1 s, domain: psu}}'
        said = self.night(probe)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(self.rows("night.sqlite", "SELECT late_by_s FROM channel WHERE name = 'lmg:power'"), [{"late_by_s": 0.1}])
        self.assertEqual(set(self.watts("lmg:power")), {(75, None)})
        meter.automatic = "ON"
        said = self.call("night.yaml", "--no-html", "--fresh")
        self.assertEqual(said.returncode, 3)
        self.assertIn(":SENS:CURR:RANG:AUTO? answers 'ON': its range changes by itself, and each change loses values\n  hint: fix it above the most that is drawn\n", said.stderr)
        self.night(probe.replace(":FETC:POW:ACT?", ":FETC:POW:ACT"))
        said = self.call("check", "night.yaml")
        self.assertIn("probe 'lmg': 'power query' is one question to the instrument, which ends with '?'; found ':FETC:POW:ACT'\n", said.stderr)

    @testbed.on_a_busy_host
    def test_an_analyser_over_its_range_reset_or_changed_in_the_night(self):
        now = self.folder / "now"

        class Changing(scpi_meter.Wt310):
            def answer(self, query):
                state = now.read_text().strip() if now.exists() else ""
                self.watts = {"over": "INF", "none": "NAN"}.get(state, 100.0)
                self.settings[":INPUT:CURRENT:RANGE"] = "5.0E+00" if state == "range" else "2.0E+00"
                return super().answer(query)

        server = scpi_meter.Server(Changing())
        self.addCleanup(server.close)
        # What it is while trial n runs, and what from its end on.
        states = {1: ("well", "well"), 2: ("over", "well"), 3: ("none", "range"), 4: ("range", "well"), 5: ("well", "well")}
        for n, (during, after) in states.items():
            self.write(f"during{n}", during)
            self.write(f"after{n}", after)
        self.write("night.yaml", f'name: night\nobjective: energy\nconditions: {QUIET}\nprobes: [{{name: wall, meter: scpi, at: "{server.at}"}}]\n'
                                 "workloads: [{name: w, shell: 'cp during{n} now; sleep 2; cp after{n} now'}]\naxes: {n: [1, 2, 3, 4, 5]}\nrepeat: 1\norder: listed\n")
        said = self.call("night.yaml", "--no-html")
        self.assertEqual(said.returncode, 1, said.stderr)
        trials = {row["key"]: row for row in json.loads(self.call("sql", "night.sqlite", "SELECT key, verdict, verdict_text, energy_j FROM trials WHERE attempt = 1", "--json").stdout)}
        self.assertEqual([trials[f"w n={n} #1"]["verdict"] for n in (1, 2, 3, 4, 5)], ["ok", "sensor_impossible", "sensor_gap", "sensor_absent", "ok"], trials)
        self.assertIn("INF, over its range", trials["w n=2 #1"]["verdict_text"])
        for n in (2, 3, 4):
            self.assertIsNone(trials[f"w n={n} #1"]["energy_j"])
        self.assertIn("wall: :INPut:CURRent:RANGe? answers ':INPUT:CURRENT:RANGE 5.0E+00', and ':INPUT:CURRENT:RANGE 2.0E+00' as the night began: its values do not count until it is as before\n",
                      said.stderr)

    @testbed.on_a_busy_host
    def test_a_meter_that_tells_late_and_says_so(self):
        """200 W while it works, 100 W beside it, and a meter that tells each value 0.5 s after it was so."""
        self.write("late.py", """
import collections, sys, time
told = collections.deque([100.0] * int(sys.argv[1]))
due = time.monotonic()
while True:
    told.append(float(open("watts").read() or told[-1]))
    print("wall", told.popleft(), "W", flush=True)
    due += 0.01
    time.sleep(max(0, due - time.monotonic()))
""")
        self.write("watts", "100")
        night = ("name: {0}\nobjective: energy\nconditions: " + QUIET.replace("{", "{{").replace("}", "}}") + "\nprobes: [{{name: wall, command: [python3, late.py, '{2}'], channels: {{wall: {{unit: W, averages over: 10 ms{1}}}}}, rate: 100 Hz}}]\n"
                 "workloads: [{{name: w, shell: 'printf 200 >watts.new; mv watts.new watts; sleep 0.6; printf 100 >watts.new; mv watts.new watts; : {{n}}'}}]\n"
                 "axes: {{n: [1]}}\nrepeat: 3\n")
        shares = {}
        for name, late, values in (("known", ", late by: 0.5 s", 50), ("later", ", late by: 3 s", 300), ("unknown", "", 50)):
            self.write(f"{name}.yaml", night.format(name, late, values))
            done = self.call(f"{name}.yaml", "--no-html")
            self.assertIn(done.returncode, (0, 1) if name == "unknown" else (0,), done.stderr)  # a late meter may seem frozen
            self.assertEqual(", which no interval holds (where it is known how late: the channel's `late by`)" in " ".join(done.stdout.split()), name == "unknown", done.stdout)
            trials = self.rows(f"{name}.sqlite", "SELECT energy_j / time_s AS watts FROM trials WHERE counts")
            shares[name] = [one["watts"] / 200 for one in trials]
        for name in ("known", "later"):
            self.assertEqual(len(shares[name]), 3)
            for share in shares[name]:
                self.assertAlmostEqual(share, 1, delta=0.06, msg=shares)
        self.assertLess(min(shares["unknown"], default=0), 0.8, shares)
        self.write("wrong.yaml", night.format("wrong", ", late by: 20 s", 50))
        refused = self.call("check", "wrong.yaml")
        self.assertIn("channel 'wall': 'late by' is a time above 0 s and up to 10 s: how long before it is told each value was so", refused.stderr)

    def test_a_machine_that_draws_more_now_and_then_does_so_at_rest_too(self):
        """Windows in which it did not were kept, and those in which it did taken again: 20.0 W in 142 of 144, of 30 W."""
        self.write("meter.py", """import random, time
at = then = time.monotonic()
joules, bursts = 0.0, False
while True:
    time.sleep(0.005)
    now = time.monotonic()
    joules += (now - at) * (70 if bursts else 20)
    at = now
    if now > then:
        bursts = not bursts
        then = now + (0.15 if bursts else random.uniform(0.3, 0.9))
    print(f"all {joules} J", flush=True)
""")
        self.write("night.yaml", """name: night
workloads: [{name: w, command: [sleep, '0.2']}]
probes: [{name: m, command: [python3, -S, -E, meter.py], channels: {all: {unit: J}}}]
conditions: {warm up: 0, idle: 300 ms, references: false, foreign load: off, temperature: off}
repeat: 8
""")
        run = self.call("night.yaml", "--no-html")
        self.assertEqual(run.returncode, 0, run.stderr)
        watts = [row["w"] for row in self.rows("night.sqlite", "SELECT energy_j / region_s AS w FROM trial WHERE role IN ('idle_before', 'idle_after') AND verdict = 'ok'")]
        self.assertGreater(len(watts), 12)
        # Four of ten windows meet no burst: fewer than two of these is one night in thousands.
        self.assertGreaterEqual(sum(one > 22 for one in watts), 2, watts)

    @testbed.on_a_busy_host
    def test_another_program_of_a_meter_is_another_night(self):
        """Whoever goes on with a meter that was rewritten, and tells a tenth more, would mix the two."""
        meter = "import random, time\nwhile True:\n    print('wall', {0} + random.random(), 'W', flush=True)\n    time.sleep(0.01)\n"
        night = ("name: night\nobjective: energy\nconditions: " + QUIET + "\nprobes: [{name: wall, command: [python3, meter.py], channels: {wall: {unit: W, averages over: 10 ms}}, rate: 100 Hz}]\n"
                 "workloads: [{name: w, command: [sleep, '0.3']}]\nrepeat: ")
        self.write("meter.py", meter.format(100))
        self.write("night.yaml", night + "2\n")
        self.assertEqual(self.call("night.yaml", "--no-html").returncode, 0)
        before = self.rows("night.sqlite", "SELECT key, energy_j FROM trials ORDER BY trial")
        self.write("meter.py", meter.format(110))
        self.write("night.yaml", night + "4\n")
        for words in (("night.yaml", "--no-html"), ("check", "night.yaml")):
            refused = self.call(*words)
            self.assertEqual(refused.returncode, 2, refused.stdout + refused.stderr)
            self.assertRegex(refused.stdout + refused.stderr, r"meter file \S*/meter\.py: [0-9a-f]{64} -> [0-9a-f]{64}|/meter\.py is another file by now")
        self.assertEqual(self.rows("night.sqlite", "SELECT key, energy_j FROM trials ORDER BY trial"), before)
        self.write("meter.py", meter.format(100))
        self.assertEqual(self.call("night.yaml", "--no-html").returncode, 0)
        self.assertEqual(len(self.rows("night.sqlite", "SELECT key FROM trials WHERE counts")), 4)

    @testbed.on_a_busy_host
    def test_what_a_program_says_is_shown_before_the_night_and_kept_when_it_dies(self):
        night = ("name: night\nobjective: time\nconditions: " + QUIET + "\nprobes: [{name: m, command: [sh, meter.sh], channels: {wall: {unit: W}, total: {unit: J}}}]\n"
                 "workloads: [{name: w, command: [sleep, '0.3']}]\nrepeat: 3\n")
        self.write("night.yaml", night)
        self.write("meter.sh", "echo the device is /dev/x >&2; i=0; while [ $i -lt 20 ]; do i=$((i+1)); echo wall $i.5 W; sleep 0.01; done; echo it went away >&2")
        checked = self.call("check", "night.yaml")
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertIn("  sensor m:wall: 20 values in 1 s, first 1.5 W, 2.5 W, 3.5 W\n  sensor m:total: no value within 1 s (a night waits 10 s for the first)\n"
                      "  sensor m: it ended; a night starts it again, 5 times without a value between\n  sensor m: on stderr it said 'the device is /dev/x; it went away'\n", checked.stdout)
        self.assertNotIn("no meter of yours told a value", checked.stdout)
        self.write("silent.yaml", night.replace("meter.sh", "silent.sh"))
        self.write("silent.sh", "exec sleep 60")
        self.assertIn("  note: no meter of yours told a value: where none does in the night either, no trial has an energy of theirs; `check --rehearse` tries it\n",
                      self.call("check", "silent.yaml").stdout)
        # Of several each one's values of the same second.
        several = ", ".join(f"{{name: m{i}, command: [sh, ticks.sh], channels: {{wall: {{unit: W}}}}}}" for i in range(3))
        self.write("ticks.sh", "i=0; while :; do i=$((i+1)); echo wall $i W; sleep 0.1; done")
        self.write("several.yaml", night.replace(night[night.index("probes:"):night.index("workloads:")], f"probes: [{several}]\n"))
        counts = re.findall(r"sensor m\d:wall: (\d+) values in 1 s", self.call("check", "several.yaml").stdout)
        self.assertEqual(len(counts), 3)
        self.assertLessEqual(max(map(int, counts)), 2 * min(map(int, counts)), counts)  # ten a second, and what came while they started
        self.assertEqual(self.call("night.yaml", "--no-html").returncode, 0)
        told = [row["message"] for row in self.rows("night.sqlite", "SELECT message FROM warnings")]
        self.assertTrue(any("it had ended, and said 'the device is /dev/x; it went away', and was started again" in one for one in told), told)

    @testbed.on_a_busy_host
    def test_a_joulescope_by_its_maker_s_library(self):
        """A stand-in for pyjoulescope_driver, with the calls and the values of its own `statistics`: 8 W."""
        self.write("pyjoulescope_driver.py", """
import threading, time
class Driver:
    rate = None
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def device_paths(self): return ["u/js220/000415", "u/js110/000032"]
    def open(self, path, mode): assert mode == "restore", mode
    def publish(self, topic, value):
        assert topic.startswith("u/js220/000415/s/stats/"), topic
        if topic.endswith("scnt"): self.rate = 1e6 / value
    def subscribe(self, topic, flags, told):
        assert flags == "pub" and topic in ("u/js220/000415/s/stats/value", "u/js110/000032/s/sstats/value"), topic
        def run():
            start = time.monotonic()
            while True:
                time.sleep(1 / (self.rate or 2))
                told(topic, {"accumulators": {"charge": {"value": 0, "units": "C"}, "energy": {"value": 8 * (time.monotonic() - start), "units": "J"}}})
        threading.Thread(target=run, daemon=True).start()
""")
        meter = testbed.ROOT / "experiments/meters/joulescope.py"
        probe = f"{{name: supply, command: [env, PYTHONPATH=., {meter}, DEVICE], channels: {{energy: {{unit: J}}}}}}"
        self.assertEqual(self.night(probe.replace("DEVICE", "u/js220/000415"), objective="energy", repeat=3).returncode, 0)
        watts = [row["watts"] for row in self.rows("night.sqlite", "SELECT energy_j / time_s AS watts FROM trials WHERE counts")]
        self.assertEqual(len(watts), 3)
        for one in watts:
            self.assertAlmostEqual(one, 8, delta=0.7)
        alone = lambda *arguments: subprocess.run([str(meter), *arguments], env=self.environment(PYTHONPATH=str(self.folder)), capture_output=True, text=True, timeout=60)
        self.assertEqual(alone().stderr, "which Joulescope? wanted the only one, found u/js110/000032, u/js220/000415\n")
        self.assertEqual(alone("u/js220/1").stderr, "which Joulescope? wanted u/js220/1, found u/js110/000032, u/js220/000415\n")
        self.write("pyjoulescope_driver.py", "")
        self.assertIn("pip install pyjoulescope_driver\n", alone().stderr)

    def test_faults_of_the_file(self):
        for probe, text in (("{name: wall, meter: shely, at: 'http://x'}", "probe 'wall': unknown meter 'shely' (did you mean 'shelly'?); there are: shelly, tasmota, redfish, scpi, powersensor3"),
                            ("{name: wall, meter: shelly}", "probe 'wall': a meter needs 'at', where it answers:  at: \"http://192.168.1.20\""),
                            ("{name: rapl, at: 'http://x'}", "probe 'rapl': 'at' is of a meter on the network:  {name: wall, meter: shelly, at: \"http://192.168.1.20\"}; channels of a program have a 'domain' of their own"),
                            ("{name: wall, meter: shelly, at: 'http://x', command: [true]}", "probe 'wall' is a meter on the network, which is asked by dvfs-plan itself: it takes no 'command'"),
                            ("{name: rapl, meter: shelly, at: 'http://x'}", "probe 'rapl' is built in; give the meter another name")):
            with self.subTest(probe):
                said = self.night(probe)
                self.assertEqual(said.returncode, 2, said.stderr)
                self.assertRegex(said.stderr, rf"night\.yaml:4:\d+: error: {re.escape(text)}\n")
        said = self.night("{name: wall, meter: shelly, at: 'http://127.0.0.1:9', ca: x.pem}")
        self.assertEqual(said.returncode, 2)
        self.assertIn("probe 'wall': a meter of kind shelly has no use for 'ca'\n  hint: leave it out; docs/meters.md says what each kind takes\n", said.stderr)
        said = self.night("{name: wall, meter: shelly, at: 'http://127.0.0.1:9', power query: 'P?'}")
        self.assertIn("probe 'wall': a meter of kind shelly has no use for 'power query'\n", said.stderr)
        said = self.night("{name: wall, meter: scpi, at: 'http://127.0.0.1:9'}")
        self.assertIn("meter 'wall' (scpi): 'at' is where it answers, tcp://192.168.1.30:5025 or /dev/usbtmc0; found 'http://127.0.0.1:9'\n"
                      "  hint: its manual says which port takes SCPI without VXI-11; by USB there is none to find\n", said.stderr)
        said = self.night("{name: wall, meter: scpi, at: /dev/usbtmc7}")
        self.assertIn("meter 'wall' (scpi): open /dev/usbtmc7: No such file or directory\n  hint: ls /dev/usbtmc* shows those that are plugged in; `modprobe usbtmc` loads their driver\n", said.stderr)
        said = self.night("{name: wall, meter: shelly, at: plug.local}")
        self.assertEqual(said.returncode, 3)
        self.assertIn("meter 'wall' (shelly): 'at' is where it answers, such as http://192.168.1.20; found 'plug.local'\n", said.stderr)


if __name__ == "__main__":
    testbed.main()
