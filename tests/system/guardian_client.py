"""Speaks the guardian's protocol (orchestrator/guardian/session.hpp) as another user would who has no dvfs-plan at hand."""
import array
import contextlib
import os
import socket
import struct

SOCKET = "/run/dvfs-plan/guardian.sock"


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<I", len(value)) + value


def frame(*texts):
    body = b"".join(text(one) for one in texts)
    return struct.pack("<I", len(body)) + body


class Client:
    """A connection as `user`: (uid, gid, other groups)."""

    def __init__(self, user=None, path=SOCKET):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.bytes = b""
        if user is None:
            self.socket.connect(path)
            self.socket.settimeout(20)
            return
        # SO_PEERCRED is of whoever connects.
        groups = os.getgroups()
        os.setgroups(user[2])
        os.setresgid(user[1], user[1], 0)
        os.setresuid(user[0], user[0], 0)
        try:
            self.socket.connect(path)
        finally:
            os.setresuid(0, 0, 0)
            os.setresgid(0, 0, 0)
            os.setgroups(groups)
            self.socket.settimeout(20)

    def close(self):
        self.socket.close()

    def send(self, *texts):
        self.socket.sendall(frame(*texts))

    def receive(self):
        """The next message as a list of texts; None at the end."""
        while True:
            if len(self.bytes) >= 4:
                size = struct.unpack("<I", self.bytes[:4])[0]
                if len(self.bytes) >= 4 + size:
                    body, self.bytes = self.bytes[4:4 + size], self.bytes[4 + size:]
                    texts = []
                    while body:
                        length = struct.unpack("<I", body[:4])[0]
                        texts.append(body[4:4 + length].decode())
                        body = body[4 + length:]
                    return texts
            try:
                more = self.socket.recv(65536)
            except (ConnectionResetError, BrokenPipeError):
                return None
            if not more:
                return None
            self.bytes += more

    def ask(self, *texts):
        # Who is refused at the door is told so, whether his words still come through or not.
        with contextlib.suppress(BrokenPipeError):
            self.send(*texts)
        return self.receive()

    def hello(self, experiment="night.yaml", mode="now"):
        return self.ask("hello", "5", experiment, "1-2", mode, "")

    def pass_descriptors(self, fds, *texts):
        self.socket.sendmsg([frame(*texts)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
