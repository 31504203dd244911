"""In a network of our own (tests/system/apart) the loopback device is there, and down: this raises it. Root only."""
import fcntl
import os
import socket
import struct


def up():
    if os.geteuid() != 0:
        return  # apart_as_member has raised it
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sH14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS, IFF_UP | IFF_RUNNING


if __name__ == "__main__":
    up()
