"""A device of the testbed that is played by this process: QEMU connects to it by a socket in a file."""
import contextlib
import socket
import threading


class SocketDevice:
    """Listens at `path` and hands each connection to `_talk`, which returns, or raises EOFError, where the other side has gone."""

    def __init__(self, path):
        self.path = path
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self):
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                with connection, contextlib.suppress(OSError, EOFError):
                    self._talk(connection)
