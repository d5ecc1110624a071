"""The network interface that leads to another host, as the kernel would choose it."""

import fcntl
import socket
import struct
from typing import Optional

GET_ADDRESS = 0x8915  # SIOCGIFADDR of Linux
_ANY_PORT = 9  # nothing is sent: a datagram socket only learns its own address


def find_interface(host: str) -> Optional[str]:
    """None where the name is unknown, the way there is IPv6 only, or this is no Linux."""
    try:
        return _find_owner(_find_own_address(host))
    except (OSError, AttributeError):
        return None


def find_address(interface: str) -> Optional[str]:
    """Of the first of these that has one: `ib0`, or several with commas between. None: none of them is here."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for name in interface.lstrip("=").split(","):
            try:
                answer = fcntl.ioctl(asking.fileno(), GET_ADDRESS, struct.pack("256s", name.strip().encode()[:15]))
            except OSError:
                continue
            return socket.inet_ntoa(answer[20:24])
    return None


def _find_own_address(host: str) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        way.connect((host, _ANY_PORT))
        address: str = way.getsockname()[0]
        return address


def _find_owner(address: str) -> Optional[str]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(asking.fileno(), GET_ADDRESS, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue  # one without an address
            if socket.inet_ntoa(answer[20:24]) == address:
                return name
    return None
