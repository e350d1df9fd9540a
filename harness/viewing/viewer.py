"""The Rerun viewer: its address, whether it answers, and starting it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from contextlib import suppress

from harness.common.environments import build_child_environment

PORT = 9876
"""Rerun's own choice."""
HERE = f"rerun+http://127.0.0.1:{PORT}/proxy"
ADDRESS = re.compile(r"rerun(?:\+https?)?://(\[[^\]/]+\]|[^\s/:\[\]]+)(?::(\d{1,5}))?/proxy")
EXAMPLE = "rerun+http://HOST:9876/proxy"
PATIENCE = 2.0
"""Seconds in which a viewer answers."""
START = 20.0
"""Seconds in which a viewer that is started answers."""
PAUSE = 0.1
PORTS = 1 << 16


def is_address(text: str) -> bool:
    """Return whether a text is the address of a viewer."""
    matched = ADDRESS.fullmatch(text)
    return matched is not None and int(matched[2] or PORT) < PORTS


def has_display() -> bool:
    """Return whether windows can be opened."""
    return not sys.platform.startswith("linux") or bool(
        {"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ)
    )


def is_answering(address: str) -> bool:
    """Return whether anything listens at an address."""
    matched = ADDRESS.fullmatch(address)
    assert matched
    host = matched[1].strip("[]")
    with suppress(OSError):
        socket.create_connection((host, int(matched[2] or PORT)), PATIENCE).close()
        return True
    return False


def start_viewer() -> bool:
    """Start the viewer on this machine; return whether it answers.

    It stays when this process ends, so that what it shows can still be looked at.
    """
    options = ["--port", str(PORT), "--bind", "127.0.0.1", "--hide-welcome-screen"]
    command = [sys.executable, "-m", "rerun", *options]
    nothing = subprocess.DEVNULL
    try:
        viewer = subprocess.Popen(
            command,
            env=build_child_environment(),
            stdin=nothing,
            stdout=nothing,
            stderr=nothing,
            start_new_session=True,
        )
    except OSError:
        return False
    until = time.monotonic() + START
    while viewer.poll() is None and time.monotonic() < until:
        if is_answering(HERE):
            return True
        time.sleep(PAUSE)
    return False
