"""A child process answers, or what is wrong with it is said in one line and it is gone."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.foreign.child import wire
from agents.foreign.process import Child, ChildError
from agents.v2xverse.system import to_boxes_in_lidar

FAKE = Path(__file__).parent / "far_end.py"
STEP = {"kind": "step"}


def child(fault: str, seconds: float = 60.0) -> Child:
    return Child([sys.executable, str(FAKE), str(Path(wire.__file__).parent), fault], {}, seconds)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_it_answers_as_often_as_it_is_asked() -> None:
    far = child("none")
    points = np.arange(4_000_000, dtype=np.float32).reshape(-1, 4)  # more than a pipe holds
    for _ in range(3):
        words, result = far.ask_child(STEP, {"ego": points}, 60.0)
        assert words["control"] == [0.5, -0.25, 0.0]
        (box,) = to_boxes_in_lidar("alone", result, 7.5).geometry
        assert np.allclose(box, [10.0, 3.0, 0.5, 4.0, 2.0, 1.0, 0.0])
    pid = far._process.pid
    far.end()
    assert not is_running(pid)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("death", "it ended with exit code 1 at step; it said last: warming up torch.cuda.OutOf"),
        ("abort", "it ended by signal 6 at step"),
        ("garbage", r"its answer cannot be read: a frame begins with b'Left hand visual"),
        ("endless", "its answer cannot be read: a frame says it is 1099511627796 bytes long"),
        ("pickled", "its answer cannot be read: .*an array of 'object'"),
    ],
)
def test_a_wrong_answer_is_named_in_the_error(fault: str, expected: str) -> None:
    far = child(fault)
    pid = far._process.pid
    with pytest.raises(ChildError, match=expected):
        far.ask_child(STEP, {}, 60.0)
    assert not is_running(pid)


@pytest.mark.thorough
def test_who_does_not_answer_is_not_waited_for() -> None:
    far = child("hanging")
    pid = far._process.pid
    with pytest.raises(ChildError, match=r"no answer to step within 0\.5 s"):
        far.ask_child(STEP, {}, 0.5)
    assert not is_running(pid)


@pytest.mark.thorough
def test_who_does_not_listen_is_not_waited_for() -> None:
    far = child("deaf")
    much = np.zeros((1 << 20, 4), np.float32)
    with pytest.raises(ChildError, match=r"no answer to step within 0\.5 s"):
        far.ask_child(STEP, {"ego": much}, 0.5)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("version", "it speaks version 2 of the pipe; 1 is needed"),
        ("early", "it ended with exit code 1 at hello; it said last: warming up"),
    ],
)
def test_who_cannot_begin_says_why(fault: str, expected: str) -> None:
    with pytest.raises(ChildError, match=expected):
        child(fault)


def test_a_python_that_is_none() -> None:
    with pytest.raises(ChildError, match=r"/nowhere/python cannot be run: No such file"):
        Child(["/nowhere/python"], {}, 1.0)


def test_frames_carry_numbers_and_words_only() -> None:
    arrays: dict[str, Any] = {"points": np.eye(3, dtype=np.float32), "none": np.zeros((0, 24))}
    frame = wire.pack_frame({"seed": 3}, arrays)
    text, body = wire.parse_frame_header(frame[: wire.HEADER.size])
    rest = frame[wire.HEADER.size :]
    assert len(rest) == text + body
    words, again = wire.unpack_frame(rest[:text], rest[text:])
    assert words == {"seed": 3}
    for name, item in arrays.items():
        assert again[name].dtype == item.dtype
        assert np.array_equal(again[name], item)
    with pytest.raises(wire.WireError, match="holds object"):
        wire.pack_frame({}, {"strange": np.array([{}])})
    with pytest.raises(wire.WireError, match="says nothing"):
        wire.unpack_frame(b'{"arrays": []}', b"")
    with pytest.raises(wire.WireError, match="says nothing"):
        wire.unpack_frame(rest[:text], rest[text:-1])
    for strange in (b"[" * 100_000, b'{"words": {}, "arrays": [["a", "bool", [Infinity]]]}'):
        with pytest.raises(wire.WireError, match="says nothing"):
            wire.unpack_frame(strange, b"")
