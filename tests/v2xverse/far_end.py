"""A child that speaks the pipe, and can do wrong in one way: named by its first argument."""

from __future__ import annotations

import importlib
import os
import sys
import time
from typing import Any

import numpy as np

sys.path.insert(0, sys.argv[1])
wire: Any = importlib.import_module("wire")
FAULT = sys.argv[2]


def boxes(name: str) -> dict[str, Any]:
    low, high = -np.array([2.0, 1.0, 0.5]), np.array([2.0, 1.0, 0.5])
    order = [(1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 0), (1, 0, 1), (1, 1, 1), (0, 1, 1), (0, 0, 1)]
    corners = np.array([np.where(item, high, low) for item in order])
    corners += np.array([10.0, 3.0, 8.0])
    return {
        f"{name}_corners": corners.reshape(1, 24),
        f"{name}_scores": np.array([0.75]),
        f"{name}_classes": np.array([1], np.int64),
    }


def answer(words: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    if words["kind"] == "hello":
        return {"kind": "ready", "version": 2 if FAULT == "version" else wire.VERSION}, {}
    if words["kind"] == "reset":
        return {"kind": "reset"}, {}
    arrays = {**boxes("together"), **boxes("alone")}
    return {"kind": "step", "control": [0.5, -0.25, 0.0]}, arrays


def misbehave(kind: str) -> None:
    if FAULT == "early" or (FAULT == "death" and kind == "step"):
        print("warming up", file=sys.stderr)
        raise SystemExit("torch.cuda.OutOfMemoryError: no room")
    if FAULT == "abort" and kind == "step":
        os.abort()
    if FAULT == "hanging" and kind == "step":
        time.sleep(3600.0)
    if FAULT == "garbage" and kind == "step":
        os.write(1, b"Left hand visualizing: False\n" * 9)
    if FAULT == "endless" and kind == "step":
        os.write(1, wire.HEADER.pack(wire.MARK, 20, 1 << 40))
    if FAULT == "pickled" and kind == "step":
        text = b'{"words": {}, "arrays": [["a", "object", [1]]]}'
        os.write(1, wire.HEADER.pack(wire.MARK, len(text), 0) + text)


while (asked := wire.receive(sys.stdin.buffer)) is not None:
    misbehave(asked[0]["kind"])
    wire.send(sys.stdout.buffer, *answer(asked[0]))
    if FAULT == "deaf":
        time.sleep(3600.0)
