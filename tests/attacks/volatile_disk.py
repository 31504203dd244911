"""A disk that loses at a power cut what was not flushed: of each sector written since the last flush some are there and some are not, so that writes are
torn. Served to QEMU over a socket (https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md: the newstyle handshake, simple replies)."""
import socket
import struct
import subprocess
import threading

SECTOR = 512
MAGIC, OPTION, REPLY = 0x4E42444D41474943, 0x49484156454F5054, 0x0003E889045565A9
EXPORT_NAME, ABORT, INFO, GO = 1, 2, 6, 7
ACK, IS_INFO, NOT_SUPPORTED = 1, 3, 0x80000001
READ, WRITE, DISCONNECT, FLUSH = 0, 1, 2, 3
FLAGS = 1 | 1 << 2 | 1 << 3  # has flags; knows flush; knows FUA
FUA = 1


def beside(write, begin, end):
    """What is left of an earlier write once [begin, end) was written behind it, and is on the medium: it must not come back over that."""
    at, data = write
    if at + len(data) <= begin or end <= at:
        return [write]
    return [(a, d) for a, d in ((at, data[:max(0, begin - at)]), (max(at, end), data[max(0, end - at):])) if d]


class VolatileDisk:
    def __init__(self, content, path):
        self.now, self.flushed, self.pending, self.lock = bytearray(content), bytearray(content), [], threading.Lock()
        self.flushes = 0
        self.writes_left, self.is_off = None, threading.Event()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen(4)
        self.url = f"nbd+unix:///?socket={path}"
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.listener.close()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def off_behind(self, writes):
        """The power goes behind so many more writes: nothing is answered from then on."""
        with self.lock:
            self.writes_left = writes

    def serve(self, connection):
        try:
            with connection:
                self.shake_hands(connection)
                while self.answer(connection):
                    pass
        except (ConnectionError, struct.error):
            pass  # the machine was switched off

    @staticmethod
    def take(connection, count):
        data = bytearray()
        while len(data) < count:
            more = connection.recv(count - len(data))
            if not more:
                raise ConnectionError
            data += more
        return bytes(data)

    def shake_hands(self, connection):
        connection.sendall(struct.pack(">QQH", MAGIC, OPTION, 1 | 2))
        self.take(connection, 4)
        while True:
            _, option, length = struct.unpack(">QII", self.take(connection, 16))
            self.take(connection, length)
            reply = lambda kind, data=b"": connection.sendall(struct.pack(">QIII", REPLY, option, kind, len(data)) + data)  # noqa: E731
            if option == EXPORT_NAME:
                connection.sendall(struct.pack(">QH", len(self.now), FLAGS))
                return
            if option in (INFO, GO):
                reply(IS_INFO, struct.pack(">HQH", 0, len(self.now), FLAGS))
                reply(ACK)
                if option == GO:
                    return
            elif option == ABORT:
                raise ConnectionError
            else:
                reply(NOT_SUPPORTED)

    def answer(self, connection):
        _, flags, kind, handle, at, length = struct.unpack(">IHHQQI", self.take(connection, 28))
        data = b""
        if kind == DISCONNECT:
            return False
        written = self.take(connection, length) if kind == WRITE else None
        with self.lock:
            if kind == READ:
                data = bytes(self.now[at:at + length])
            elif self.is_off.is_set():
                return False
            elif kind == WRITE:
                if self.writes_left is not None:
                    self.writes_left -= 1
                    if self.writes_left < 0:
                        self.is_off.set()
                self.now[at:at + length] = written
                if flags & FUA:
                    self.flushed[at:at + length] = written
                    self.pending = [piece for one in self.pending for piece in beside(one, at, at + length)]
                else:
                    self.pending.append((at, written))
            elif kind == FLUSH:
                self.flushes += 1
                self.flush()
        if self.is_off.is_set():
            return False
        connection.sendall(struct.pack(">IIQ", 0x67446698, 0, handle) + data)
        return True

    def flush(self):
        for at, data in self.pending:
            self.flushed[at:at + len(data)] = data
        self.pending = []

    def checked(self, path):
        """As a boot checks a file system before it mounts it (systemd-fsck): e2fsck -p, and what it will not do unasked by a hand at the console. A
        superblock of two sectors may be torn, which its backups mend. What it says."""
        with self.lock:
            path.write_bytes(self.flushed)
            said = ""
            for how in ("-p", "-y"):
                run = subprocess.run(["/sbin/e2fsck", how, path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                said += f"e2fsck {how} ({run.returncode}): {run.stdout}"
                if run.returncode < 4:
                    break
            self.flushed = bytearray(path.read_bytes())
            self.now, self.pending = bytearray(self.flushed), []
            return said

    def cut(self, chance):
        """The power goes: returns how many sectors had not been flushed, and how many of these are lost."""
        with self.lock:
            kept, waiting, lost = chance.choice([0.0, 0.1, 0.5, 0.9]), 0, 0
            for at, data in self.pending:
                for i in range(0, len(data), SECTOR):
                    waiting += 1
                    if chance.random() < kept:
                        self.flushed[at + i:at + i + SECTOR] = data[i:i + SECTOR]
                    else:
                        lost += 1
            self.pending = []
            self.now = bytearray(self.flushed)
            self.writes_left = None
            self.is_off.clear()
            return waiting, lost
