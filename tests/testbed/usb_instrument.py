"""A measuring instrument on the testbed's USB: what QEMU's usb-redir device talks to (usbredir's protocol 0.7, usbredirproto.h in usbredir's sources), as a
USBTMC device (USBTMC 1.0, USB-IF). The guest's own ehci and usbtmc drivers are in front of it."""
import contextlib
import struct

from socket_device import SocketDevice

HELLO, DEVICE_CONNECT, RESET, INTERFACE_INFO, EP_INFO = 0, 1, 3, 4, 5
SET_CONFIGURATION, GET_CONFIGURATION, CONFIGURATION_STATUS = 6, 7, 8
SET_ALT_SETTING, GET_ALT_SETTING, ALT_SETTING_STATUS, CANCEL_DATA_PACKET = 9, 10, 11, 21
CONTROL_PACKET, BULK_PACKET = 100, 101
SUCCESS, CANCELLED, STALL = 0, 1, 4
HIGH_SPEED, BULK, CONTROL, INVALID = 2, 2, 0, 255
OUT, IN = 0x01, 0x82
PACKET = 512

DEVICE = struct.pack("<BBHBBBBHHHBBBB", 18, 1, 0x0200, 0, 0, 0, 64, 0x0B21, 0x0025, 0x0100, 1, 2, 3, 1)
INTERFACE = struct.pack("<BBBBBBBBB", 9, 4, 0, 0, 2, 0xFE, 0x03, 0x00, 0)
ENDPOINTS = b"".join(struct.pack("<BBBBHB", 7, 5, address, BULK, PACKET, 0) for address in (OUT, IN))
CONFIGURATION = struct.pack("<BBHBBBBB", 9, 2, 9 + len(INTERFACE) + len(ENDPOINTS), 1, 1, 0, 0xC0, 0) + INTERFACE + ENDPOINTS
QUALIFIER = struct.pack("<BBHBBBBBB", 10, 6, 0x0200, 0, 0, 0, 64, 1, 0)
STRINGS = {0: struct.pack("<BBH", 4, 3, 0x0409), 1: "YOKOGAWA", 2: "WT310", 3: "C2QG12345E"}


def string(number):
    text = STRINGS[number]
    return text if isinstance(text, bytes) else bytes([2 + 2 * len(text), 3]) + text.encode("utf-16-le")


class Instrument(SocketDevice):
    """Listens at `path`; `meter.answer(query)` says what it answers, None: nothing."""

    def __init__(self, path, meter):
        self.meter = meter
        self._pending = None
        self.answers, self.waiting = [], []  # what was not yet fetched; requests of the guest for it: (id, of how much)
        super().__init__(path)

    def _talk(self, connection):
        self._connection = connection
        self._send(HELLO, 0, b"usb_instrument".ljust(64, b"\0") + struct.pack("<I", 0))
        while True:
            kind, length, number = struct.unpack("<III", self._take(12))
            self._react(kind, number, self._take(length))

    def _take(self, length):
        data = b""
        while len(data) < length:
            part = self._connection.recv(length - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def _send(self, kind, number, data):
        self._connection.sendall(struct.pack("<III", kind, len(data), number) + data)

    def _plug_in(self):
        one = [0] * 32
        types = [INVALID] * 32
        types[0] = types[16] = CONTROL
        types[1] = types[16 + 2] = BULK
        self._send(INTERFACE_INFO, 0, struct.pack("<I", 1) + bytes(one) + bytes([0xFE] + one[1:]) + bytes([0x03] + one[1:]) + bytes(one))
        self._send(EP_INFO, 0, bytes(types) + bytes(one) + bytes(one))
        self._send(DEVICE_CONNECT, 0, struct.pack("<BBBBHH", HIGH_SPEED, 0, 0, 0, 0x0B21, 0x0025))

    def _react(self, kind, number, data):
        if kind == HELLO:
            self._plug_in()
        elif kind in (SET_CONFIGURATION, GET_CONFIGURATION):
            self._send(CONFIGURATION_STATUS, number, bytes([SUCCESS, 1]))
        elif kind in (SET_ALT_SETTING, GET_ALT_SETTING):
            self._send(ALT_SETTING_STATUS, number, bytes([SUCCESS, 0, 0]))
        elif kind == CONTROL_PACKET:
            self._control(number, data)
        elif kind == BULK_PACKET:
            self._bulk(number, data)
        elif kind == CANCEL_DATA_PACKET:
            for one in [one for one in self.waiting if one[0] == number]:
                self.waiting.remove(one)
                self._send(BULK_PACKET, number, struct.pack("<BBHI", IN, CANCELLED, 0, 0))

    def _control(self, number, data):
        endpoint, request, request_type, _, value, index, length = struct.unpack("<BBBBHHH", data[:10])
        said = None
        if request_type == 0x80 and request == 6:  # GET_DESCRIPTOR
            with contextlib.suppress(KeyError):
                said = {1: lambda: DEVICE, 2: lambda: CONFIGURATION, 3: lambda: string(value & 0xFF), 6: lambda: QUALIFIER}[value >> 8]()
        elif request_type == 0x80 and request == 0:  # GET_STATUS
            said = bytes([1, 0])
        elif request_type & 0x60 == 0x20:  # of the class (USBTMC 1.0, 4.2.1)
            said = {7: lambda: bytes([1, 0, 0, 1, 0, 0]).ljust(24, b"\0"),      # GET_CAPABILITIES
                    5: self._clear,                                            # INITIATE_CLEAR
                    6: lambda: bytes([1, 0]),                                  # CHECK_CLEAR_STATUS
                    1: lambda: self._clear() + b"\0", 2: lambda: bytes([1]).ljust(8, b"\0"),  # ABORT_BULK_OUT and how far it is
                    3: lambda: self._clear() + b"\0", 4: lambda: bytes([1]).ljust(8, b"\0")}.get(request, lambda: None)()  # ABORT_BULK_IN
        elif request_type in (0x00, 0x01, 0x02):  # CLEAR_FEATURE of a halt, and the like
            said = b""
        status = SUCCESS if said is not None else STALL
        said = (said or b"")[:length]
        self._send(CONTROL_PACKET, number, struct.pack("<BBBBHHH", endpoint, request, request_type, status, value, index, len(said)) + said)

    def _clear(self):
        self.answers.clear()
        return bytes([1])

    def _bulk(self, number, data):
        endpoint, _, length, stream = struct.unpack("<BBHI", data[:8])
        if endpoint == IN:
            self.waiting.append((number, length))
        else:
            self._send(BULK_PACKET, number, struct.pack("<BBHI", endpoint, SUCCESS, length, stream))
            self._message(data[8:])
        while self.answers and self.waiting:
            (number, length), said = self.waiting.pop(0), self.answers.pop(0)[:length]
            self._send(BULK_PACKET, number, struct.pack("<BBHI", IN, SUCCESS, len(said), 0) + said)

    # USBTMC 1.0, 3.2 and 3.3: a header of twelve bytes before each message.
    def _message(self, data):
        kind, tag, _, _, size = struct.unpack("<BBBBI", data[:8])
        if kind == 1:
            self._pending = self.meter.answer(data[12:12 + size].decode())
        elif kind == 2 and self._pending is not None:
            text = self._pending.encode() + b"\n"
            self._pending = None
            self.answers.append(struct.pack("<BBBBIBBBB", 2, tag, tag ^ 0xFF, 0, len(text), 1, 0, 0, 0) + text + b"\0" * (-len(text) % 4))
