"""Questions to a served language model and their answers, as they are recorded."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

from harness.common.errors import UserError
from harness.common.safe_reading import STUDY_RECORD, read_text_within

BASE64 = "base64:"
"""Mark before bodies that are no text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One question and its answer.

    Attributes:
        frame: of the agent, from 0; -1 while it is set up.
        server: number of the address in the settings.
        digest: SHA-256 of the question.
        question: method, path and body.
        status: of the answer in HTTP.
        content_type: of the answer.
        answer: its body.
        answer_digest: SHA-256 of the body.
        seconds: that the server took.
    """

    frame: int
    server: int
    digest: str
    question: str
    status: int
    content_type: str
    answer: str
    answer_digest: str
    seconds: float = field(compare=False)

    @property
    def body(self) -> bytes:
        """The answer as it was sent."""
        return decode_body(self.answer)


def encode_body(body: bytes) -> str:
    """Return a body as text: as it is in UTF-8, else in base 64 behind a mark."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text = BASE64
    if text.startswith(BASE64):
        return BASE64 + base64.b64encode(body).decode()
    return text


def decode_body(text: str) -> bytes:
    """Return the body of such a text."""
    if text.startswith(BASE64):
        return base64.b64decode(text.removeprefix(BASE64), validate=True)
    return text.encode()


def make_question(method: str, path: str, body: bytes) -> str:
    """Return a question as text; JSON with sorted keys, so that their order changes no digest."""
    try:
        plain = json.dumps(json.loads(body), sort_keys=True, ensure_ascii=False)
    except ValueError:
        plain = encode_body(body)
    return f"{method} {path}\n{plain}"


def hash_question(server: int, question: str) -> str:
    """Return the SHA-256 of a question to a server."""
    return hashlib.sha256(f"{server} {question}".encode()).hexdigest()


def read_calls(file: Path) -> list[ModelCall]:
    """Return the recorded calls of an attempt, in their order.

    Raises:
        UserError: there are none, or they cannot be read.
    """
    if not file.is_file():
        raise UserError(f"language_model.replay: nothing is recorded of this attempt: no {file}")
    try:
        lines = read_text_within(file, STUDY_RECORD).splitlines()
        calls = [ModelCall(**json.loads(line)) for line in lines]
        changed = [call for call in calls if not is_intact(call)]
    except (OSError, ValueError, TypeError, AttributeError) as problem:
        raise UserError(f"{file}: cannot be read as recorded calls ({problem})") from None
    if changed:
        raise UserError(f"{file}: a question or answer differs from its digest; record again")
    return calls


def is_intact(call: ModelCall) -> bool:
    """Return whether a recorded question and answer are those of their digests."""
    return (
        hash_question(call.server, call.question) == call.digest
        and hashlib.sha256(call.body).hexdigest() == call.answer_digest
    )
