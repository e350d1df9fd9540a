"""Connections to a served language model, led to the proxy that records or plays its answers.

The agent keeps the address in its own configuration. Standard library only, Python 3.7 or newer:
the module is read by the agent's own Python.
"""

from __future__ import annotations

import os
import socket
from typing import Any

LOOPBACK = "127.0.0.1"
NAMES = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
"""Where OpenAI's clients look for an address, and older ones."""


def redirect_model_servers(redirections: list[dict[str, Any]]) -> None:
    """Lead every connection to a server to its stand-in on loopback, and name it to clients.

    Args:
        redirections: `host`, `port`, `path` of a server, whether it is `plain` HTTP, and the port
            on `loopback` that stands for it.
    """
    if not redirections:
        return
    first = redirections[0]
    for name in NAMES:
        os.environ[name] = "http://{}:{}{}".format(LOOPBACK, first["loopback"], first["path"])
    # a client that needs a key finds one; the proxy passes on what it is given
    os.environ.setdefault("OPENAI_API_KEY", "EMPTY")
    # nothing between the client and loopback
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "*"
    # encrypted connections cannot be led elsewhere: their clients go by the variables
    led = {(one["host"], one["port"]): one["loopback"] for one in redirections if one["plain"]}
    addresses = dict(led)
    for (host, port), stand_in in led.items():
        if host == "localhost":
            addresses[LOOPBACK, port] = addresses["::1", port] = stand_in
        if host in (LOOPBACK, "::1"):
            addresses["localhost", port] = stand_in
    original_names, original_connect = socket.getaddrinfo, socket.socket.connect
    original_quiet = socket.socket.connect_ex

    def find_addresses(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        try:
            stand_in = addresses.get((name, int(port)))
        except (TypeError, ValueError):
            stand_in = None
        if stand_in is None:
            return original_names(host, port, *rest, **more)
        return original_names(LOOPBACK, stand_in, *rest, **more)

    def lead(address: Any) -> Any:
        if isinstance(address, tuple) and len(address) == 2:
            stand_in = addresses.get((address[0], address[1]))
            if stand_in is not None:
                return (LOOPBACK, stand_in)
        return address

    def connect(self: Any, address: Any) -> Any:
        return original_connect(self, lead(address))

    def connect_quietly(self: Any, address: Any) -> Any:
        return original_quiet(self, lead(address))

    changed: Any = socket
    changed.getaddrinfo = find_addresses
    changed.socket.connect, changed.socket.connect_ex = connect, connect_quietly
