"""Ports that nothing listens on."""

import socket


def free_port() -> int:
    """A TCP port of the loopback that was free a moment ago."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port
