"""The format of messages between the two processes: no pickles, nothing is evaluated.

A frame is `CRUX`, two lengths, a JSON object and the bytes of its arrays. The same file serves both
ends; the far one may be an old Python, so it keeps to the standard library and numpy.
"""

from __future__ import annotations

import json
import struct
from typing import IO, Any

import numpy as np

VERSION = 1
MARK = b"CRUX"
HEADER = struct.Struct("<4sIQ")
LONGEST_TEXT, LONGEST_BYTES = 1 << 20, 1 << 30
KINDS = ("float32", "float64", "int64", "uint8", "bool")


class WireError(Exception):
    """What came is no frame."""


def pack_frame(words: dict[str, Any], arrays: dict[str, Any] | None = None) -> bytes:
    """Return a frame."""
    described, body = [], []
    for name, value in (arrays or {}).items():
        array = np.ascontiguousarray(value)
        if str(array.dtype) not in KINDS:
            raise WireError(f"{name} holds {array.dtype}")
        described.append([name, str(array.dtype), list(array.shape)])
        body.append(array.tobytes())
    text = json.dumps({"words": words, "arrays": described}).encode("utf-8")
    return b"".join([HEADER.pack(MARK, len(text), sum(map(len, body))), text, *body])


def parse_frame_header(header: bytes) -> tuple[int, int]:
    """Return how many bytes of text and of arrays follow a header."""
    mark, text, body = HEADER.unpack(header)
    if mark != MARK:
        raise WireError(f"a frame begins with {header!r}")
    if text > LONGEST_TEXT or body > LONGEST_BYTES:
        raise WireError(f"a frame says it is {text + body} bytes long")
    return text, body


def unpack_frame(text: bytes, body: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a frame says, and its arrays."""
    try:
        record = json.loads(text.decode("utf-8"))
        words, arrays, at = dict(record["words"]), {}, 0
        for name, kind, shape in record["arrays"]:
            if kind not in KINDS:
                raise WireError(f"an array of {kind!r}")
            count = 1
            for size in shape:
                count *= int(size)
            array = np.frombuffer(body, kind, count, at).reshape(shape)
            arrays[str(name)] = array
            at += array.nbytes
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise WireError(f"a frame that says nothing: {problem}") from None
    return words, arrays


def send(pipe: IO[bytes], words: dict[str, Any], arrays: dict[str, Any] | None = None) -> None:
    """Write a frame."""
    pipe.write(pack_frame(words, arrays))
    pipe.flush()


def receive(pipe: IO[bytes]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Return the next frame, or nothing when the other end has closed it."""
    header = pipe.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    text, body = parse_frame_header(header)
    return unpack_frame(pipe.read(text), pipe.read(body))
