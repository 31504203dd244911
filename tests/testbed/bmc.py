"""A board management controller for the testbed: what QEMU's ipmi-bmc-extern talks to (the OpenIPMI project's "VM" protocol, lanserv/README.vm).
The guest's own ipmi_si driver asks it through an emulated KCS interface. It answers what a kernel asks at start, and DCMI's power reading."""
import contextlib
import time

from socket_device import SocketDevice

END, COMMAND_END, ESCAPE = 0xA0, 0xA1, 0xAA
APPLICATION, DCMI_GROUP, DCMI = 0x06, 0x2C, 0xDC
INVALID_COMMAND = bytes([0xC1])


class Bmc(SocketDevice):
    """Listens at `path`. What it measures and how it misbehaves are attributes, which a test changes as it goes."""

    def __init__(self, path):
        self.watts, self.takes_s, self.silent, self.active, self.has_dcmi = 150, 0, False, True, True
        self.averages_s = [5, 60]
        self.reads = 0
        super().__init__(path)

    def _talk(self, connection):
        message, escaped = bytearray(), False
        with contextlib.suppress(OSError):
            while received := connection.recv(4096):
                for byte in received:
                    if byte == ESCAPE:
                        escaped = True
                    elif byte == END:
                        if answer := self._answer(bytes(message)):
                            connection.sendall(answer)
                        message.clear()
                    elif byte == COMMAND_END:  # of QEMU's own: its version, what it can do
                        message.clear()
                    else:
                        message.append(byte & ~0x10 if escaped else byte)
                        escaped = False

    def _answer(self, message):
        if len(message) < 4 or sum(message) & 0xFF:
            return None
        number, function, command, data = message[0], message[1], message[2], message[3:-1]
        said = self._say(function >> 2, command, data)
        if said is None:
            return None
        whole = bytes([number, function + 4, command]) + said
        whole += bytes([-sum(whole) & 0xFF])
        return b"".join(bytes([ESCAPE, byte | 0x10]) if byte in (END, COMMAND_END, ESCAPE) else bytes([byte]) for byte in whole) + bytes([END])

    def _say(self, function, command, data):
        """Completion code and data; None: it says nothing."""
        if function == APPLICATION:
            return {0x01: bytes([0, 0x20, 1, 2, 0, 2, 0, 0, 0, 0, 0, 0]), 0x2E: bytes(1), 0x2F: bytes(2), 0x30: bytes(1), 0x31: bytes(2)}.get(command, INVALID_COMMAND)
        if function != DCMI_GROUP or not self.has_dcmi or data[:1] != bytes([DCMI]):
            return INVALID_COMMAND
        if command == 0x02:
            if self.silent:
                return None
            time.sleep(self.takes_s)
            self.reads += 1
            now = int(self.watts).to_bytes(2, "little")
            return bytes([0, DCMI]) + now * 4 + bytes(4) + (60_000).to_bytes(4, "little") + bytes([0x40 if self.active else 0])
        if command == 0x01 and data[1:2] == bytes([5]):
            return bytes([0, DCMI, 1, 5, 2, len(self.averages_s), *self.averages_s])
        return INVALID_COMMAND
