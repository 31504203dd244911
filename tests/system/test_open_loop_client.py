"""The shipped client of services: what it offers, what it says of the answers, and a sweep with a limit on a percentile."""
import asyncio
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock

import numpy

import loopback
import testbed
from whole import METER, QUIET, Whole

CLIENT = testbed.ROOT / "experiments/workloads/open_loop_client.py"
sys.path.insert(0, str(CLIENT.parent))
import open_loop_client  # noqa: E402


class Server:
    """Answers as it is told; keeps when each request came."""

    def __init__(self, answer):
        self.answer, self.came, self.port = answer, [], None
        self.ready = threading.Event()
        self.thread = threading.Thread(target=lambda: asyncio.run(self.serve()), daemon=True)
        self.thread.start()
        assert self.ready.wait(10)

    async def serve(self):
        self.loop, self.done = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self.connection, "127.0.0.1", 0, backlog=1000)
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        async with server:
            await self.done.wait()

    async def connection(self, reader, writer):
        try:
            while line := await reader.readline():
                length = 0
                while (header := await reader.readline()) not in (b"\r\n", b""):
                    if header.lower().startswith(b"content-length:"):
                        length = int(header.split(b":")[1])
                body = await reader.readexactly(length)
                self.came.append((time.monotonic(), line, body))
                await self.answer(self, writer, body)
                await writer.drain()
        except (OSError, EOFError):
            pass
        finally:
            writer.close()

    def close(self):
        self.loop.call_soon_threadsafe(self.done.set)
        self.thread.join()


def plain(writer, status="200 OK", body=b"yes"):
    writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)


@unittest.skipIf(not os.environ.get("DVFS_PLAN_APART"), "needs a network of its own (tests/system/apart)")
class OpenLoopClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        loopback.up()

    def ask(self, answer, *words, code=0):
        server = Server(answer)
        self.addCleanup(server.close)
        run = subprocess.run([sys.executable, CLIENT, f"http://127.0.0.1:{server.port}/x?y=1", *words], capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        values = {words[0]: (int(words[1]), int(words[3])) if words[2:3] == ["of"] else float(words[1]) for words in map(str.split, run.stdout.splitlines())}
        return values, run.stderr, server

    def test_a_stall_is_in_the_latencies_of_all_that_were_due(self):
        async def stalls_once(server, writer, body):
            if len(server.came) == 100:
                time.sleep(1)  # the whole server
            plain(writer)
        opened, _, _ = self.ask(stalls_once, "--rate", "200", "--arrivals", "constant", "--requests", "400")
        # 200 of 400 came while it stalled, and waited from 1 s down to nothing.
        self.assertLess(opened["p50_latency"], 700)
        self.assertGreater(opened["p90_latency"], 600)
        self.assertGreater(opened["p99_latency"], 900)
        closed, _, _ = self.ask(stalls_once, "--closed", "1", "--requests", "400")
        self.assertLess(closed["p99_latency"], 500)  # one of 400 saw it
        self.assertNotIn("offered_rate", closed)

    @testbed.on_a_busy_host
    def test_the_schedule_is_kept_whatever_the_answers(self):
        async def slow(server, writer, body):
            await asyncio.sleep(0.3)
            plain(writer)
        values, _, server = self.ask(slow, "--rate", "100", "--arrivals", "constant", "--requests", "100")
        times = [at for at, *_ in server.came]
        self.assertAlmostEqual(times[-1] - times[0], 0.99, delta=0.3)
        self.assertAlmostEqual(values["offered_rate"], 100, delta=0.1)
        self.assertGreaterEqual(values["p50_latency"], 300)

    def test_what_is_due(self):
        def due(*words, count=4000):
            schedule = open_loop_client.arrivals(open_loop_client.arguments(["http://h/", "--requests", "1", *words]))
            return [one.at for one in open_loop_client.first(schedule, count, None)[0]]
        poisson = numpy.diff(due("--rate", "50", "--seed", "7"))
        self.assertAlmostEqual(poisson.mean() * 50, 1, delta=4 / math.sqrt(4000))
        self.assertAlmostEqual(poisson.std() / poisson.mean(), 1, delta=0.1)  # of an exponential distribution
        self.assertEqual(due("--rate", "50", "--seed", "7"), due("--rate", "50", "--seed", "7"))
        self.assertNotEqual(due("--rate", "50", "--seed", "7"), due("--rate", "50", "--seed", "8"))
        bursts = due("--rate", "50", "--arrivals", "bursts", "--burst", "8")
        self.assertEqual(len(set(bursts)), 500)
        self.assertAlmostEqual(bursts[-1] / 4000 * 50, 1, delta=0.2)
        numpy.testing.assert_allclose(numpy.diff(due("--rate", "50", "--arrivals", "constant", count=10)), 0.02)

    def test_copies_are_due_each_at_its_own_moments(self):
        def due(instance, *words):
            with unittest.mock.patch.dict(os.environ, {"DVFS_PLAN_INSTANCE": str(instance), "DVFS_PLAN_INSTANCES": "4"}):
                schedule = open_loop_client.arrivals(open_loop_client.arguments(["http://h/", "--requests", "1", "--rate", "25", *words]))
                return [one.at for one in open_loop_client.first(schedule, 2000, None)[0]]
        together = numpy.sort(sum((due(i)[1:] for i in range(4)), []))
        gaps = numpy.diff(together[together < 60])
        self.assertAlmostEqual(gaps.mean() * 100, 1, delta=0.1)
        self.assertAlmostEqual(gaps.std() / gaps.mean(), 1, delta=0.1)  # Poisson's still, and no batches of four
        numpy.testing.assert_allclose(numpy.diff(numpy.sort(sum((due(i, "--arrivals", "constant")[:50] for i in range(4)), []))), 0.01)
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("DVFS_PLAN_INSTANCE", None)
            alone = open_loop_client.arrivals(open_loop_client.arguments(["http://h/", "--requests", "1", "--rate", "25"]))
            self.assertEqual([one.at for one in open_loop_client.first(alone, 2000, None)[0]], due(0), "the first copy's are those of one alone")

    def test_each_block_of_trials_has_arrivals_of_its_own(self):
        def due(block, *words):
            with unittest.mock.patch.dict(os.environ, {"DVFS_PLAN_BLOCK": str(block)}):
                schedule = open_loop_client.arrivals(open_loop_client.arguments(["http://h/", "--requests", "1", "--rate", "25", *words]))
                return [one.at for one in open_loop_client.first(schedule, 200, None)[0]]
        self.assertEqual(due(2), due(2), "one load at all settings of a block")
        self.assertEqual(len({tuple(due(block)) for block in range(1, 30)}), 29)
        self.assertEqual(due(1, "--same-arrivals"), due(7, "--same-arrivals"))

    def test_percentiles_are_those_of_the_definition_or_are_not_stated(self):
        chance = random.Random(11)
        for _ in range(300):
            values = sorted(chance.lognormvariate(0, 1) for _ in range(chance.randrange(1, 1500)))
            for share in open_loop_client.PERCENTILES.values():
                stated, of_thousand = open_loop_client.percentile(values, share), round(1000 * share)
                if len(values) * (1000 - of_thousand) < 1000:
                    self.assertIsNone(stated)
                else:  # the least value that so many hold
                    self.assertEqual(stated, next(v for i, v in enumerate(values, 1) if 1000 * i >= of_thousand * len(values)), (len(values), share))

    @testbed.on_a_busy_host
    def test_tokens_of_a_stream(self):
        async def tokens(server, writer, body):
            asked = json.loads(body)
            await asyncio.sleep(0.05)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            events = [{"choices": [{"delta": {"role": "assistant", "content": ""}}]}]
            events += [{"choices": [{"text": " word"}]}] * asked["max_tokens"] + [{"choices": [], "usage": {"completion_tokens": asked["max_tokens"]}}]
            for event in events:
                part = b"data: " + json.dumps(event).encode() + b"\n\n"
                for piece in (part[:9], part[9:]):  # cut anywhere
                    writer.write(b"%x\r\n" % len(piece) + piece + b"\r\n")
                await writer.drain()
                if event["choices"] and event["choices"][0].get("text"):
                    await asyncio.sleep(0.01)
            part = b"data: [DONE]\n\n"
            writer.write(b"%x\r\n" % len(part) + part + b"\r\n0\r\n\r\n")
        values, _, server = self.ask(tokens, "--stream", "--model", "m", "--prompt-tokens", "7", "--output-tokens", "12", "--rate", "50", "--requests", "120", "--warm-up", "10",
                                     "--slo", "ttft<=10", "--slo", "tpot<=0.0001")
        self.assertEqual((values["requests"], values["tokens"], values["errors"]), (120, 1440, 0))
        self.assertEqual(len(server.came), 130)
        self.assertEqual(json.loads(server.came[0][2])["prompt"].split(), ["word"] * 7)
        self.assertTrue(50 <= values["p50_ttft"] < 150, values)
        self.assertTrue(10 <= values["p50_tpot"] < 30, values)
        self.assertGreater(values["p50_latency"], values["p50_ttft"] + 11 * values["p50_tpot"] * 0.9)
        self.assertEqual(values["slo_attained"], (0, 120))

    def test_tokens_are_those_that_the_server_counts(self):
        """A server that guesses ahead sends several tokens in an event; one that does not say how many there were has its events counted, and that is said."""
        tells = True

        async def several_at_once(server, writer, body):
            asked = json.loads(body)
            self.assertEqual(asked["stream_options"], {"include_usage": True})
            events = [{"choices": [{"text": " one two three"}]}] * (asked["max_tokens"] // 3) + [{"choices": [], "usage": {"completion_tokens": asked["max_tokens"]}}] * tells
            plain(writer, body=b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events))
        values, said, _ = self.ask(several_at_once, "--stream", "--output-tokens", "12", "--rate", "100", "--requests", "20")
        self.assertEqual(values["tokens"], 240)
        self.assertNotIn("usage", said)
        tells = False
        values, said, _ = self.ask(several_at_once, "--stream", "--output-tokens", "12", "--rate", "100", "--requests", "20")
        self.assertEqual(values["tokens"], 80)
        self.assertIn("the server does not tell how many tokens it made (usage): they are counted as events of the stream\n", said)

    @testbed.on_a_busy_host
    def test_a_trace_is_replayed(self):
        async def answers(server, writer, body):
            plain(writer, body=b'data: {"choices": [{"text": "x"}]}\n')
        trace = pathlib.Path(self.enterContext(__import__("tempfile").TemporaryDirectory())) / "trace"
        trace.write_text("# seconds, prompt, output\n0 3 1\n0.1 5 1\n\n0.4 2 9  # last\n")
        values, said, server = self.ask(answers, "--stream", "--trace", str(trace))
        self.assertEqual([(len(json.loads(body)["prompt"].split()), json.loads(body)["max_tokens"]) for _, _, body in server.came], [(3, 1), (5, 1), (2, 9)])
        self.assertAlmostEqual(server.came[2][0] - server.came[0][0], 0.4, delta=0.15)
        self.assertNotIn("p99_latency", values)
        self.assertIn("p99 is not stated: it takes 100 requests, and 3 count\n", said)
        trace.write_text("0 3 1\n0.1 five 1\n")
        failed = subprocess.run([sys.executable, CLIENT, "http://127.0.0.1:1/", "--trace", trace], capture_output=True, text=True)
        self.assertEqual((failed.returncode, failed.stderr), (1, f"{trace}:2: a line is SECONDS [PROMPT_TOKENS OUTPUT_TOKENS]; found '0.1 five 1'\n"))
        trace.write_text("0 3 1\n2 3 1\n1 3 1\n")
        failed = subprocess.run([sys.executable, CLIENT, "http://127.0.0.1:1/", "--trace", trace], capture_output=True, text=True)
        self.assertEqual((failed.returncode, failed.stderr), (1, f"{trace}:3: times ascend; found 1 behind 2\n"))

    def test_what_is_not_answered_counts_as_the_longest(self):
        async def refuses_some(server, writer, body):
            plain(writer, *(("503 Busy",) if len(server.came) % 50 == 0 else ()))
        values, said, _ = self.ask(refuses_some, "--rate", "500", "--requests", "200", "--slo", "latency<=30")
        self.assertEqual((values["requests"], values["answered"], values["errors"], values["slo_attained"]), (200, 196, 4, (196, 200)))
        self.assertNotIn("mean_latency", values)  # of those that were answered it would be too good
        self.assertIn("mean_latency is not stated: 4 of 200 requests were not answered\n", said)
        self.assertIn("p95_latency", values)
        self.assertNotIn("p99_latency", values)
        self.assertIn("p99_latency is not stated: 4 of 200 requests were not answered\n", said)
        self.assertIn("4 requests: HTTP 503\n", said)
        self.assertIn("4 of 200", said)

    def test_answers_of_all_kinds(self):
        async def kinds(server, writer, body):
            n = len(server.came) % 4
            if n == 0:
                writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
            elif n == 1:
                writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            elif n == 2:
                writer.write(b"HTTP/1.0 200 OK\r\n\r\nuntil the end")
                await writer.drain()
                writer.close()
            else:  # answers, and resets the connection while nobody asks
                plain(writer)
                await writer.drain()
                writer.transport.abort()
        values, said, _ = self.ask(kinds, "--rate", "100", "--requests", "100", "--timeout", "5")
        self.assertEqual((values["requests"], values["errors"]), (100, 0), said)

        async def odd_tokens(server, writer, body):
            plain(writer, body=b'data: {"choices": ["x"]}\ndata: 5\ndata: {"choices": [{"delta": {"content": "y"}}]}\n')
        values, _, _ = self.ask(odd_tokens, "--stream", "--rate", "100", "--requests", "10")
        self.assertEqual((values["tokens"], values["errors"]), (10, 0))

    def test_what_the_warm_up_leaves_counts(self):
        due = [open_loop_client.Due(at, 1, 1) for at in range(4)]
        warm, rest = open_loop_client.first(due, None, 2)
        self.assertEqual(([one.at for one in warm], [one.at for one in open_loop_client.first(rest, None, None)[0]]), ([0, 1], [2, 3]))
        options = open_loop_client.arguments(["http://h/", "--rate", "10", "--arrivals", "bursts", "--burst", "5", "--requests", "20"])
        schedule = open_loop_client.first(open_loop_client.arrivals(options), 20000, None)[0]
        self.assertAlmostEqual(open_loop_client.offered_rate(options, schedule, schedule[-1].at) / 10, 1, delta=0.1)
        self.assertIsNone(open_loop_client.offered_rate(options, schedule[:5], 0))

    def test_wrong_words(self):
        for words, error in (((), "exactly one of --rate, --trace and --closed says what the load is"), (("--rate", "5"), "--requests or --duration says how much load there is"),
                             (("--rate", "-5", "--requests", "3"), "--rate must be above 0; found -5.0"), (("--rate", "5", "--requests", "3", "--slo", "p99<=1"), "--slo knows latency, ttft, tpot; found 'p99'"),
                             (("--rate", "5", "--requests", "3", "--warm-up=-3"), "--warm-up is a number of requests (100) or of seconds (5s); found '-3'"),
                             (("--rate", "5", "--requests", "3", "--warm-up", "soon"), "--warm-up is a number of requests (100) or of seconds (5s); found 'soon'")):
            run = subprocess.run([sys.executable, CLIENT, "http://127.0.0.1:1/", *words], capture_output=True, text=True)
            self.assertEqual((run.returncode, run.stderr.splitlines()[-1]), (2, f"open_loop_client.py: error: {error}"))
        nobody = subprocess.run([sys.executable, CLIENT, "http://127.0.0.1:1/", "--rate", "100", "--requests", "3"], capture_output=True, text=True)
        self.assertEqual((nobody.returncode, nobody.stderr.splitlines()[-1]), (1, "not one request was answered"))


@unittest.skipIf(not os.environ.get("DVFS_PLAN_APART"), "needs a network of its own (tests/system/apart)")
class Sweep(Whole):
    @testbed.on_a_busy_host
    def test_the_least_energy_within_a_limit_on_a_percentile(self):
        loopback.up()
        # Each answer takes {ms}. Energy a request is the same, so that the limit alone decides.
        self.write("slow.py", """
import http.server, sys, time
class Slow(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        time.sleep(float(sys.argv[2]) / 1000)
        self.send_response(200); self.send_header("Content-Length", "2"); self.end_headers(); self.wfile.write(b"ok")
    def log_message(self, *words): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Slow).serve_forever()
""")
        self.write("s.yaml", f"""name: s
services:
  - {{name: server, command: [python3, slow.py, "8111", "{{ms}}"], ready: {{port: 8111}}, warm up: [python3, {CLIENT}, "http://127.0.0.1:8111/", --rate, "100", --requests, "5"]}}
workloads:
  - {{name: load, command: [python3, {CLIENT}, "http://127.0.0.1:8111/", --rate, "100", --arrivals, constant, --requests, "120", --warm-up, "10", --slo, latency<=2], metrics: [lines]}}
axes: {{ms: [3000, 1]}}
repeat: 2
objective: {{minimise: energy, per: answered, across: [ms], subject to: {{p99_latency: "<= 2 s", slo_attained: ">= 99 %"}}}}
conditions: {QUIET}
{METER}""")
        run = self.call("s.yaml", "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        scenario = json.loads(run.stdout)["scenarios"][0]
        self.assertEqual(scenario["best_settings"], {"ms": "1"}, run.stderr)
        trials = self.rows("s.sqlite", "SELECT point, verdict, region, units FROM trials ORDER BY point")
        self.assertEqual({(row["verdict"], row["region"], row["units"]) for row in trials}, {("ok", "load", 120)}, run.stderr)
        metrics = self.rows("s.sqlite", "SELECT DISTINCT name, unit FROM metrics")
        self.assertLessEqual({("p99_latency", "ms"), ("slo_attained", "%"), ("served_rate", "1/s")}, {(row["name"], row["unit"]) for row in metrics})


if __name__ == "__main__":
    testbed.main()
