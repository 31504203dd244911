#!/usr/bin/env python3
"""Load for a server over HTTP, and what its answers took: the client of a service that dvfs-plan measures.

    open_loop_client.py http://127.0.0.1:8080/ --rate 50 --requests 2000 --warm-up 100
    open_loop_client.py http://127.0.0.1:8000/v1/completions --stream --model m --prompt-tokens 512 --output-tokens 64 --rate 4

Open loop: requests begin when the schedule says so (Poisson, constant, bursts, or a recorded trace), whether or not earlier ones
are answered, and each latency counts from the time at which its request was due. A server that stalls delays all that come
meanwhile, and the percentiles show it (no "coordinated omission"). --closed N is the other kind, for comparison: N clients that each
wait for their answer.

One region, `load`, holds the requests that count; those of the warm-up come before it. It prints lines `name value unit` for
`metrics: [lines]`:

    requests, answered, errors            that count; with an answer of 2xx; without: work is `per: answered`
    offered_rate, served_rate             requests due and answered a second
    mean_latency, p50_latency ... p999_latency  (a mean only where all were answered)
    ..._ttft                              --stream: time to the first token
    ..._tpot                              and per token after it
    tokens                                that came, as the server counts them (usage); else events of the stream, and it says so
    slo_attained COUNT of COUNT           requests that held every --slo, of all that count: a share with its interval
    p99_lateness                          how late this client itself began requests

A percentile above which less than one request would lie is not stated: p99 takes 100 requests, p999 takes 1000. Requests that were not answered
count as longer than all others.
Python's standard library only.
"""
import argparse
import asyncio
import contextlib
import itertools
import json
import math
import os
import pathlib
import random
import sys
import time
import urllib.parse

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent / "regions")]
try:
    from dvfs_plan_regions import region
except ImportError:  # copied without it: it still prints its lines
    def region(_):
        return contextlib.nullcontext()

PERCENTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99, "p999": 0.999}
SLO_NAMES = ("latency", "ttft", "tpot")


def arguments(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog="\n".join(__doc__.split("\n")[2:]), formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url", help="http://HOST:PORT/PATH (or https)")
    load = parser.add_argument_group("load")
    load.add_argument("--rate", type=float, help="requests a second, on average")
    load.add_argument("--arrivals", choices=["poisson", "constant", "bursts"], default="poisson")
    load.add_argument("--burst", type=int, default=10, metavar="N", help="requests that come at once, with --arrivals bursts (10)")
    load.add_argument("--trace", metavar="FILE", help="lines 'SECONDS [PROMPT_TOKENS OUTPUT_TOKENS]': when each is due; '#' begins a comment")
    load.add_argument("--closed", type=int, metavar="N", help="a closed loop of N clients instead")
    load.add_argument("--requests", type=int, help="how many count")
    load.add_argument("--duration", type=float, metavar="SECONDS", help="as many as come in so long")
    load.add_argument("--warm-up", default="0", metavar="N|SECONDSs", help="requests (100), or a while (5s), that do not count")
    load.add_argument("--seed", type=int, default=1, help="of the arrivals (1): one load at all settings of a block of trials, another in the next block")
    load.add_argument("--same-arrivals", action="store_true", help="one load in all blocks: intervals then hold nothing of how another would have gone")
    load.add_argument("--timeout", type=float, default=60, metavar="SECONDS", help="of one request (60)")
    load.add_argument("--connections", type=int, default=1024, metavar="N", help="open at once at most (1024)")
    request = parser.add_argument_group("each request")
    request.add_argument("--method", help="GET, or POST where there is a body")
    request.add_argument("--body", metavar="TEXT|@FILE")
    request.add_argument("--header", action="append", default=[], metavar="'NAME: VALUE'")
    request.add_argument("--stream", action="store_true", help="an OpenAI-style completion whose tokens come one by one (server-sent events)")
    request.add_argument("--model", default="default")
    request.add_argument("--prompt-tokens", type=int, default=128, metavar="N", help="words of the prompt")
    request.add_argument("--output-tokens", type=int, default=64, metavar="N")
    parser.add_argument("--slo", action="append", default=[], metavar="'NAME<=SECONDS'", help=f"a limit that each request should hold; NAME: {', '.join(SLO_NAMES)}")
    options = parser.parse_args(words)
    if sum(one is not None for one in (options.rate, options.trace, options.closed)) != 1:
        parser.error("exactly one of --rate, --trace and --closed says what the load is")
    for name in ("rate", "closed", "requests", "duration", "timeout", "connections", "burst"):
        value = getattr(options, name)
        if value is not None and not (value > 0 and math.isfinite(value)):
            parser.error(f"--{name} must be above 0; found {value}")
    if options.trace is None and options.requests is None and options.duration is None:
        parser.error("--requests or --duration says how much load there is")
    try:
        options.warm_up_seconds = float(options.warm_up[:-1]) if options.warm_up.endswith("s") else 0
        options.warm_up_requests = 0 if options.warm_up.endswith("s") else int(options.warm_up)
        if not (0 <= options.warm_up_seconds < math.inf and options.warm_up_requests >= 0):
            raise ValueError
    except ValueError:
        parser.error(f"--warm-up is a number of requests (100) or of seconds (5s); found '{options.warm_up}'")
    options.slos = []
    for text in options.slo:
        name, _, limit = text.partition("<=")
        try:
            options.slos.append((name.strip(), float(limit)))
        except ValueError:
            parser.error(f"--slo is NAME<=SECONDS; found '{text}'")
        if name.strip() not in SLO_NAMES:
            parser.error(f"--slo knows {', '.join(SLO_NAMES)}; found '{name.strip()}'")
    return options


class Due:
    """One request of the schedule: when, in seconds from the start, and how large."""
    def __init__(self, at, prompt_tokens, output_tokens):
        self.at, self.prompt_tokens, self.output_tokens = at, prompt_tokens, output_tokens


def arrivals(options):
    """Due requests without end, or those of the trace."""
    if options.trace:
        try:
            lines = open(options.trace)
        except OSError as problem:
            sys.exit(f"the trace cannot be read: {problem}")
        last = 0.0
        with lines:
            for number, line in enumerate(lines, 1):
                words = line.partition("#")[0].split()
                if not words:
                    continue
                try:
                    sizes, at = [int(word) for word in words[1:3]], float(words[0])
                    if not (math.isfinite(at) and at >= 0):
                        raise ValueError
                    if at < last:
                        sys.exit(f"{options.trace}:{number}: times ascend; found {words[0]} behind {last:g}")
                    last = at
                    yield Due(at, *(sizes if len(sizes) == 2 else [options.prompt_tokens, options.output_tokens]))
                except ValueError:
                    sys.exit(f"{options.trace}:{number}: a line is SECONDS [PROMPT_TOKENS OUTPUT_TOKENS]; found '{line.strip()}'")
        return
    # Copies that run at once (DVFS_PLAN_INSTANCE) each have arrivals of their own: together they are as one client of their rates' sum.
    instance, instances = int(os.environ.get("DVFS_PLAN_INSTANCE", "0")), int(os.environ.get("DVFS_PLAN_INSTANCES", "1"))
    # Each block of trials (DVFS_PLAN_BLOCK, from 1) has arrivals of its own: else no interval over trials would hold what they bring.
    block = 1 if options.same_arrivals else int(os.environ.get("DVFS_PLAN_BLOCK", "1"))
    chance = random.Random(options.seed if (instance, block) == (0, 1) else f"{options.seed} {instance} {block}")
    at = instance / instances / options.rate if options.arrivals == "constant" else 0.0
    while True:
        count = options.burst if options.arrivals == "bursts" else 1
        for _ in range(count):
            yield Due(at, options.prompt_tokens, options.output_tokens)
        mean = count / options.rate
        at += mean if options.arrivals == "constant" else chance.expovariate(1 / mean)


class Answer:
    def __init__(self, due, sent):
        self.due, self.sent, self.first, self.last, self.tokens, self.problem = due, sent, None, None, 0, None
        self.told = None  # tokens, as the server counts them: an event may bring several, or one without text

    def value(self, name):
        """Seconds; None where there is none."""
        if self.problem:
            return None
        if name == "latency":
            return self.last - self.due
        if self.first is None:
            return None
        if name == "ttft":
            return self.first - self.due
        return (self.last - self.first) / (self.tokens - 1) if self.tokens > 1 else None


class Server:
    """Connections to it, kept open between requests."""

    def __init__(self, options):
        url = urllib.parse.urlsplit(options.url)
        if url.scheme not in ("http", "https") or not url.hostname:
            sys.exit(f"'{options.url}' is no URL of a server: http://HOST:PORT/PATH")
        self.options = options
        try:
            port = url.port
        except ValueError as problem:
            sys.exit(f"'{options.url}': {problem}")
        self.host, self.port = url.hostname, port or (443 if url.scheme == "https" else 80)
        self.tls = url.scheme == "https" or None
        self.path = (url.path or "/") + ("?" + url.query if url.query else "")
        self.at = url.netloc
        self.idle = []
        self.room = asyncio.Semaphore(options.connections)
        body = options.body
        self.body = pathlib.Path(body[1:]).read_bytes() if body and body.startswith("@") else (body or "").encode()

    def request(self, due):
        body, headers = self.body, list(self.options.header)
        if self.options.stream:
            body = json.dumps({"model": self.options.model, "prompt": " ".join(["word"] * due.prompt_tokens), "max_tokens": due.output_tokens, "ignore_eos": True,
                               "temperature": 0, "stream": True, "stream_options": {"include_usage": True}}).encode()
            headers.append("Content-Type: application/json")
        method = self.options.method or ("POST" if body else "GET")
        lines = [f"{method} {self.path} HTTP/1.1", f"Host: {self.at}", *headers]
        if body or method not in ("GET", "HEAD"):
            lines.append(f"Content-Length: {len(body)}")
        return method, ("\r\n".join(lines) + "\r\n\r\n").encode() + body

    async def ask(self, due, due_at):
        begun = time.monotonic()  # what is waited for a connection is the server's, not ours
        async with self.room:
            answer = Answer(due_at, begun)
            try:
                await asyncio.wait_for(self.exchange(due, answer), self.options.timeout)
            except asyncio.TimeoutError:
                answer.problem = f"no answer within {self.options.timeout:g} s"
            except (OSError, EOFError, ValueError) as problem:
                answer.problem = str(problem) or type(problem).__name__
            answer.last = time.monotonic()
            return answer

    async def exchange(self, due, answer):
        method, request = self.request(due)
        kept = bool(self.idle)
        reader, writer = self.idle.pop() if kept else await asyncio.open_connection(self.host, self.port, ssl=self.tls)
        whole = False
        try:
            writer.write(request)
            await writer.drain()
            try:
                status = await reader.readline()
            except ConnectionError:
                if not kept:
                    raise
                status = b""
            if not status and kept:  # it had closed the connection while nobody asked
                writer.close()
                reader, writer = await asyncio.open_connection(self.host, self.port, ssl=self.tls)
                writer.write(request)
                status = await reader.readline()
            words = b"", b"1"
            while words[1].startswith(b"1"):  # "100 Continue" and its like announce the answer
                if words[0]:
                    status = await reader.readline()
                words = status.split()
                if len(words) < 2 or not words[0].startswith(b"HTTP/"):
                    raise ValueError("the server closed the connection" if not status else f"no HTTP answer: {status[:60]!r}")
                headers = {}
                while (line := await reader.readline()) not in (b"\r\n", b"\n"):
                    if not line:
                        raise EOFError("the answer ended within its headers")
                    name, _, value = line.decode("latin-1").partition(":")
                    headers[name.strip().lower()] = value.strip()
            if words[1] in (b"204", b"304"):
                headers["content-length"] = "0"
                headers.pop("transfer-encoding", None)
            ends = await self.body_of(reader, headers, method, answer)
            whole = ends and words[0] == b"HTTP/1.1" and headers.get("connection", "").lower() != "close"
            if not words[1].startswith(b"2"):
                answer.problem = f"HTTP {words[1].decode('latin-1')}"
            elif self.options.stream and answer.tokens == 0:
                answer.problem = "no token came"
            elif answer.told is not None:
                answer.tokens = answer.told
        finally:
            if whole:
                self.idle.append((reader, writer))
            else:
                writer.close()

    async def body_of(self, reader, headers, method, answer):
        """Reads all of it; False: only the end of the connection told its end."""
        text = b""

        def came(part):
            nonlocal text
            if not self.options.stream:
                return
            text += part
            *lines, text = text.split(b"\n")
            for line in lines:
                event = event_of(line)
                answer.told = tokens_told(event) or answer.told
                if has_text(event):
                    answer.tokens += 1
                    if answer.first is None:
                        answer.first = time.monotonic()

        if method == "HEAD":
            return True
        if "chunked" in headers.get("transfer-encoding", "").lower():
            while True:
                size = int((await reader.readline()).split(b";")[0], 16)
                if size:
                    came(await reader.readexactly(size))
                await reader.readline()
                if not size:
                    return True
        if "content-length" in headers:
            left = int(headers["content-length"])
            while left:
                part = await reader.read(min(left, 1 << 16))
                if not part:
                    raise EOFError("the answer was cut off")
                left -= len(part)
                came(part)
            return True
        while part := await reader.read(1 << 16):
            came(part)
        return False

    def close(self):
        for _, writer in self.idle:
            writer.close()


def event_of(line):
    """What an event of a stream says; None where a line is none, or its end."""
    try:
        return json.loads(line[5:]) if line.startswith(b"data:") else None
    except ValueError:  # "[DONE]"
        return None


def tokens_told(event):
    """How many the server says it has made; None where an event does not say."""
    try:
        told = (event.get("usage") or {}).get("completion_tokens")
        return told if isinstance(told, int) and told > 0 else None
    except AttributeError:
        return None


def has_text(event):
    """Whether an event of a stream brings a token: the last ones bring counts, and roles come without any."""
    try:
        choice = event["choices"][0]
        return bool(choice.get("text") or (choice.get("delta") or {}).get("content"))
    except (LookupError, TypeError, AttributeError):
        return False


async def open_loop(server, schedule, start):
    """Begins each when it is due; returns the tasks, in that order."""
    tasks = []
    for due in schedule:
        wait = start + due.at - time.monotonic()
        if wait > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(server.ask(due, start + due.at)))
        if wait <= 0:
            await asyncio.sleep(0)  # those under way go on even where we are behind
    return tasks


async def closed_loop(server, schedule, clients, until=None):
    answers = []

    async def client():
        for due in schedule:
            if until is not None and time.monotonic() >= until:
                return
            answers.append(await server.ask(due, time.monotonic()))

    await asyncio.gather(*(client() for _ in range(clients)))
    return answers


def first(schedule, requests, seconds):
    """The first so many, or those of the first so many seconds; and the rest."""
    taken = []
    schedule = iter(schedule)
    for due in schedule:
        if seconds is not None and due.at >= seconds:
            return taken, itertools.chain([due], schedule)
        taken.append(due)
        if requests is not None and len(taken) >= requests:
            break
    return taken, schedule


async def run(options):
    server = Server(options)
    schedule = arrivals(options) if options.closed is None else (Due(0, options.prompt_tokens, options.output_tokens) for _ in iter(int, 1))
    if options.closed is not None:
        if options.warm_up_requests:
            await closed_loop(server, iter(first(schedule, options.warm_up_requests, None)[0]), options.closed)
        elif options.warm_up_seconds:
            await closed_loop(server, schedule, options.closed, time.monotonic() + options.warm_up_seconds)
        began = time.monotonic()
        with region("load"):
            if options.requests is not None:
                schedule = iter(first(schedule, options.requests, None)[0])
            answers = await closed_loop(server, schedule, options.closed, None if options.duration is None else began + options.duration)
            ended = time.monotonic()
        server.close()
        return answers, ended - began, ended - began
    warm = []
    if options.warm_up_requests:
        warm, schedule = first(schedule, options.warm_up_requests, None)
    elif options.warm_up_seconds:
        warm, schedule = first(schedule, None, options.warm_up_seconds)
    begins_at = max(warm[-1].at if warm else 0, options.warm_up_seconds)
    counted, _ = first(schedule, options.requests, None if options.duration is None else begins_at + options.duration)
    if not counted:
        sys.exit("no request is left that counts: the warm-up takes them all")
    # All that is due is known before the first: making the schedule takes no time of the load's.
    start = time.monotonic() + 0.05
    earlier = await open_loop(server, warm, start)
    begins = start + counted[0].at
    await asyncio.sleep(max(0.0, begins - time.monotonic()))
    with region("load"):
        tasks = await open_loop(server, counted, start)
        answers = await asyncio.gather(*tasks)
        ended = time.monotonic()
    await asyncio.gather(*earlier)
    server.close()
    return list(answers), ended - begins, counted[-1].at - counted[0].at


def percentile(values, share):
    """By nearest rank; None where no value of at least one in 1 / (1 - share) lies above it."""
    if len(values) * (1 - share) < 1 - 1e-9:
        return None
    return values[max(0, math.ceil(share * len(values) - 1e-9) - 1)]


def offered_rate(options, answers, due_over):
    """Requests a second; None where they are too few. Those that come at once at the end bring no interval with them."""
    at_once = options.burst if options.arrivals == "bursts" and not options.trace else 1
    return (len(answers) - at_once) / due_over if len(answers) > at_once and due_over > 0 else None


def holds(answer, name, limit):
    """An answer of one token has no time per token after it: nothing of it is too long."""
    value = answer.value(name)
    return value <= limit if value is not None else name == "tpot" and answer.tokens == 1


def report(options, answers, took, due_over, say=print):
    def tell(name, value, unit=""):
        say(f"{name} {value:.6g}{' ' + unit if unit else ''}")

    fine = [answer for answer in answers if not answer.problem]
    tell("requests", len(answers))
    tell("answered", len(fine))
    tell("errors", len(answers) - len(fine))
    if options.closed is None and (offered := offered_rate(options, answers, due_over)) is not None:  # a closed loop offers what is served
        tell("offered_rate", offered, "1/s")
    tell("served_rate", len(fine) / took, "1/s")
    names = SLO_NAMES if options.stream else ("latency",)
    untold = []
    for name in names:
        values = sorted(value for answer in fine if (value := answer.value(name)) is not None)
        if not values:
            continue
        if len(fine) == len(answers):
            tell(f"mean_{name}", 1e3 * sum(values) / len(values), "ms")
        else:
            print(f"mean_{name} is not stated: {len(answers) - len(fine)} of {len(answers)} requests were not answered", file=sys.stderr)
        for word, share in PERCENTILES.items():
            # Whoever was not answered waited longer than all others.
            waited = values + [math.inf] * (len(answers) - len(fine))
            value = percentile(waited, share)
            if value is None:
                untold.append((word, math.ceil(1 / (1 - share) - 1e-9)))
            elif math.isfinite(value):
                tell(f"{word}_{name}", 1e3 * value, "ms")
            else:
                print(f"{word}_{name} is not stated: {len(answers) - len(fine)} of {len(answers)} requests were not answered", file=sys.stderr)
    for word, needed in dict(untold).items():
        if word != "p999":
            print(f"{word} is not stated: it takes {needed} requests, and {len(answers)} count", file=sys.stderr)
    if options.stream:
        tell("tokens", sum(answer.tokens for answer in fine))
        if any(answer.told is None for answer in fine):
            print("the server does not tell how many tokens it made (usage): they are counted as events of the stream", file=sys.stderr)
    if options.slos:
        held = sum(not answer.problem and all(holds(answer, name, limit) for name, limit in options.slos) for answer in answers)
        print(f"slo_attained {held} of {len(answers)}", flush=True)
    lateness = sorted(answer.sent - answer.due for answer in answers)
    late = percentile(lateness, 0.99) if len(lateness) >= 100 else lateness[-1]
    tell("p99_lateness", 1e3 * late, "ms")
    typical = sorted(answer.last - answer.due for answer in answers)[len(answers) // 2]
    if options.closed is None and late > max(0.005, 0.1 * typical):
        print(f"this client began 1 % of the requests {1e3 * late:.0f} ms late or more: it is too slow for this load, and part of the latencies is its own", file=sys.stderr)
    for problem in sorted({answer.problem for answer in answers if answer.problem})[:5]:
        print(f"{sum(answer.problem == problem for answer in answers)} requests: {problem}", file=sys.stderr)
    return bool(fine)


def main():
    options = arguments()
    answers, took, due_over = asyncio.run(run(options))
    if not report(options, answers, took, due_over):
        sys.exit("not one request was answered")


if __name__ == "__main__":
    main()
