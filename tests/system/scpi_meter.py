"""A power analyser that speaks SCPI, as the WT310's communication manual (IM WT310-17EN) describes it, and a server for it over TCP."""
import socketserver
import threading
import time


class Wt310:
    """What it answers; `watts` is what it measures now, a number or a text such as NAN (no data) or INF (over its range)."""

    def __init__(self, headers=True, integrates=False):
        self.model = "WT310"
        self.watts = 100.0
        self.headers = headers
        self.settings = {":INPUT:VOLTAGE:AUTO": "0", ":INPUT:CURRENT:AUTO": "0", ":INPUT:VOLTAGE:RANGE": "300.0E+00", ":INPUT:CURRENT:RANGE": "2.0E+00", ":RATE": "100.0E-03",
                         ":MEASURE:AVERAGING:STATE": "0", ":NUMERIC:FORMAT": "ASCII", ":NUMERIC:NORMAL:NUMBER": "4", ":INTEGRATE:STATE": "START" if integrates else "RESET"}
        self.items = ["U,1", "I,1", "P,1", "WH,1"]
        self.started = time.monotonic()
        self.asked = []
        self.silent = False

    def answer(self, query):
        query = query.strip()
        self.asked.append(query)
        if self.silent:
            return None
        word, _, argument = query.upper().partition(" ")
        if word == "*IDN?":
            return f"YOKOGAWA,{self.model},C2QG12345E,F1.03"
        if word == ":NUMERIC:NORMAL:VALUE?":
            return self.value(self.items[int(argument) - 1])
        if word.startswith(":NUMERIC:NORMAL:ITEM"):
            number = word[len(":NUMERIC:NORMAL:ITEM"):-1]
            return self.said(f":NUMERIC:NORMAL:ITEM{number}", self.items[int(number) - 1])
        if word.endswith("?") and word[:-1] in self.settings:
            return self.said(word[:-1], self.settings[word[:-1]])
        return None  # an unknown command has no answer, and an entry in its error queue

    def said(self, header, value):
        return f"{header} {value}" if self.headers else value

    def value(self, item):
        name = item.split(",")[0]
        if name == "WH":
            return f"{self.watts * (time.monotonic() - self.started) / 3600:.6E}"
        # Its last digit moves from one update to the next, as that of any real one does.
        moved = self.watts if isinstance(self.watts, str) else self.watts * (1 + 1e-4 * (int(time.monotonic() * 10) % 3 - 1))
        values = {"U": 230.0, "I": 0.45, "P": moved}
        return values[name] if isinstance(values[name], str) else f"{values[name]:.5E}"


class Server:
    """Answers on 127.0.0.1; `at` is where, as an experiment names it."""

    def __init__(self, meter):
        class Line(socketserver.StreamRequestHandler):
            def handle(self):
                for line in self.rfile:
                    answer = meter.answer(line.decode())
                    if answer is not None:
                        self.wfile.write(answer.encode() + b"\n")

        socketserver.ThreadingTCPServer.daemon_threads = True
        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Line)
        self.at = f"tcp://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
