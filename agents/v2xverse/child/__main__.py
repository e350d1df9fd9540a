"""The child process: run by the Python of a V2Xverse checkout, without Crucible's packages."""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys
from typing import Any

import numpy as np

SIGNAL_WHEN_PARENT_ENDS = 1


def main() -> None:
    """Answer frames until stdin is closed; whatever is printed goes to stderr."""
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
    made = importlib.import_module("stack").Stack
    stack = made(
        words["root"],
        words["agent_config"],
        perception=words["perception"],
        planner=words["planner"],
        folder=words["folder"],
    )
    versions = {"python": sys.version.split()[0], "torch": str(sys.modules["torch"].__version__)}
    ready = {"kind": "ready", "version": wire.VERSION, "versions": versions, "notes": stack.notes}
    wire.send(answers, ready)
    # answer frames
    while True:
        asked = wire.receive(sys.stdin.buffer)
        if asked is None:
            return
        words, arrays = asked
        if words["kind"] == "reset":
            stack.reset(words["seed"], arrays["route"])
            wire.send(answers, {"kind": "reset"})
        else:
            control, together, alone = stack.step(words, arrays)
            boxes = {**to_flat_boxes("together", together), **to_flat_boxes("alone", alone)}
            wire.send(
                answers, {"kind": "step", "control": [float(value) for value in control]}, boxes
            )


def to_flat_boxes(name: str, classes: Any) -> dict[str, Any]:
    """Return corners, scores and classes of boxes as three arrays."""
    # classes without any box come as None
    detected = [
        (corners, np.asarray(scores.detach().cpu(), np.float64), number)
        for number, (corners, scores) in enumerate(classes)
        if corners is not None and len(corners)
    ]
    # (boxes, 24): eight corners of x, y, z
    corners = [np.asarray(boxes[0], np.float64).reshape(-1, 24) for boxes in detected]
    scores = [boxes[1].reshape(-1) for boxes in detected]
    kinds = [np.full(len(boxes[1].reshape(-1)), boxes[2], np.int64) for boxes in detected]
    return {
        name + "_corners": np.concatenate([*corners, np.zeros((0, 24))]),
        name + "_scores": np.concatenate([*scores, np.zeros(0)]),
        name + "_classes": np.concatenate([*kinds, np.zeros(0, np.int64)]),
    }


if __name__ == "__main__":
    main()
