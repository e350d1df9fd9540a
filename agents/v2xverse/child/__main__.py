"""The child process: run by the Python of a V2Xverse checkout, without Crucible's packages."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np


class Answers:
    """What the child answers: resets and steps of V2Xverse's stack."""

    def __init__(self, words: dict[str, Any]) -> None:
        made = importlib.import_module("stack").Stack
        self._stack = made(
            words["root"],
            words["agent_config"],
            perception=words["perception"],
            planner=words["planner"],
            folder=words["folder"],
        )
        self.notes = self._stack.notes

    def answer(
        self, words: dict[str, Any], arrays: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the words and arrays that answer a frame."""
        if words["kind"] == "reset":
            self._stack.reset(words["seed"], arrays["route"], words["speed_factor"])
            return {"kind": "reset"}, {}
        control, together, alone = self._stack.step(words, arrays)
        boxes = {**to_flat_boxes("together", together), **to_flat_boxes("alone", alone)}
        return {"kind": "step", "control": [float(value) for value in control]}, boxes


def main() -> None:
    """Answer frames until stdin is closed."""
    # the pipe and what all children share
    sys.path.insert(1, str(Path(__file__).absolute().parents[2] / "foreign" / "child"))
    importlib.import_module("serving").serve(Answers)


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
