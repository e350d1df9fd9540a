"""The loop of a child process: agree on the version, build, then answer until stdin is closed.

Standard library and numpy only, Python 3.7 or newer: the module is read by the Python of a
checkout.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

SIGNAL_WHEN_PARENT_ENDS = 1


def serve(build: Callable[[Any], Any]) -> None:
    """Answer frames until stdin is closed; whatever is printed goes to stderr.

    Args:
        build: takes the words of the first frame and returns an object with `notes`, and with
            `answer`, which takes the words and arrays of a frame and returns those of its answer.
    """
    # end with the parent
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SIGNAL_WHEN_PARENT_ENDS, signal.SIGKILL)
    # answers keep the old standard output; whatever packages print goes to stderr
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    wire: Any = importlib.import_module("wire")
    # agree on the version, then load
    hello = wire.receive(sys.stdin.buffer)
    if hello is None:
        return
    words = hello[0]
    if words.get("version") != wire.VERSION:
        wire.send(answers, {"kind": "refused", "version": wire.VERSION})
        return
    built = build(words)
    torch = sys.modules.get("torch")
    versions = {
        "python": sys.version.split()[0],
        "torch": str(getattr(torch, "__version__", "absent")),
    }
    ready = {"kind": "ready", "version": wire.VERSION, "versions": versions, "notes": built.notes}
    ready.update(getattr(built, "properties", {}))
    wire.send(answers, ready)
    # answer frames
    while True:
        asked = wire.receive(sys.stdin.buffer)
        if asked is None:
            return
        wire.send(answers, *built.answer(*asked))
