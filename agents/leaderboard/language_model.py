"""A served language model between an agent and its server: asked, recorded, or played from records.

Agents ask models over HTTP, mostly in the form of OpenAI's chat completions that vLLM serves. A
proxy on loopback stands in between. The form does not matter to it: a question is a method, a path
and a body, and has a digest; an answer is a status and a body (decision 0139).
"""

from __future__ import annotations

import hashlib
import http.client
import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

from agents.leaderboard.model_calls import (
    ModelCall,
    encode_body,
    hash_question,
    make_question,
    read_calls,
)
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.given_places import refuse_absent_folder, refuse_file_for_folder

CALLS = "calls.jsonl"
"""The file with the questions and answers of an attempt."""
LOOPBACK = "127.0.0.1"
PORTS = {"http": 80, "https": 443}
LONGEST = 64 << 20
"""Bytes of a question or an answer."""
PASSED_ON = ("authorization", "content-type", "accept")
"""Headers of a question that the server gets. None of them is recorded."""
DIGITS = 16
"""Of a digest in `result.json`, in base 16."""
FAILED = 502


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """Where a model is served, and what becomes of its answers.

    Attributes:
        url: of the server, or of several; None: the agent asks none.
        record: folder in which questions and answers are kept.
        replay: folder of kept ones, from which they are answered without the server.
        timeout: seconds in which the server may send nothing of an answer.
    """

    url: str | list[str] | None = None  # of the server, or of several; null: the agent asks none
    record: str | None = None  # folder in which questions and answers are kept
    replay: str | None = None  # folder of kept ones, which answer in place of the server
    timeout: float = 60.0  # s in which the server may send nothing of an answer

    def __post_init__(self) -> None:
        """Refuse what does not go together."""
        for url in self.list_urls():
            parse_server_url(url)
        if self.url is None and (self.record or self.replay):
            raise UserError(
                "system: language_model: name the url that the agent asks, also for replay"
            )
        if self.record is not None and self.replay is not None:
            raise UserError("system: language_model: record and replay exclude each other")
        if not self.timeout > 0:
            raise UserError(f"system: language_model.timeout = {self.timeout} s: must be > 0")
        if self.replay is not None:
            refuse_absent_folder(Path(self.replay).expanduser(), "system: language_model.replay:")
        if self.record is not None:
            refuse_file_for_folder(Path(self.record).expanduser(), "system: language_model.record:")

    def list_urls(self) -> list[str]:
        """Return the servers' addresses."""
        if self.url is None:
            return []
        return [self.url] if isinstance(self.url, str) else list(self.url)

    def describe_source(self) -> str:
        """Return how the model is asked, in a few words."""
        if self.replay is not None:
            return f"language model: answers from records in {self.replay}"
        kept = "" if self.record is None else f", recorded in {self.record}"
        return f"language model at {', '.join(self.list_urls())}{kept}"

    def list_files(self) -> list[Path]:
        """Return the files that decide the answers: those that are played.

        Raises:
            UserError: the folder has none.
        """
        if self.replay is None:
            return []
        if files := sorted(Path(self.replay).expanduser().glob(f"**/{CALLS}")):
            return files
        raise UserError(f"system: language_model.replay: {self.replay}: has no {CALLS}")


def parse_server_url(url: str) -> SplitResult:
    """Return the parts of a server's address; one line says what is wrong with it."""
    parts = urlsplit(url)
    try:
        usable = parts.scheme in PORTS and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.username is not None:
        raise UserError(
            f"system: language_model.url: {url} is no address such as http://127.0.0.1:8000/v1"
        )
    return parts


class LanguageModelProxy:
    """Servers on loopback, one for each address in the settings.

    Args:
        settings: of the model.
        on_failure: called once when a question has no answer, so that it is not waited for.
    """

    def __init__(self, settings: LanguageModel, on_failure: Callable[[], None]) -> None:
        self._settings = settings
        self._on_failure = on_failure
        self._lock = threading.Lock()
        self.failure = ""
        self._frame = -1
        self._calls: list[ModelCall] = []
        self._known: dict[str, list[ModelCall]] = {}
        self._asked: dict[str, int] = defaultdict(int)
        self._place: Path | None = None
        self._servers = [
            make_loopback_server(self, number) for number in range(len(settings.list_urls()))
        ]
        for server in self._servers:
            threading.Thread(target=server.serve_forever, daemon=True).start()

    def list_redirections(self) -> list[dict[str, Any]]:
        """Return each server's own host and port, and the port on loopback that stands for it."""
        redirections = []
        for url, server in zip(self._settings.list_urls(), self._servers, strict=True):
            parts = parse_server_url(url)
            redirections.append(
                {
                    "host": parts.hostname,
                    "port": parts.port or PORTS[parts.scheme],
                    "plain": parts.scheme == "http",
                    "path": parts.path,
                    "loopback": server.server_address[1],
                }
            )
        return redirections

    def open_attempt(self, name: str) -> None:
        """Begin an attempt: its own questions are recorded or played.

        Args:
            name: of the attempt, a path of arm, route and seed.

        Raises:
            UserError: nothing is recorded of it.
        """
        with self._lock:
            self._frame, self._calls, self._known = -1, [], {}
            self._asked = defaultdict(int)
        settings = self._settings
        if settings.record is not None:
            self._place = Path(settings.record).expanduser() / name / CALLS
        if settings.replay is not None:
            for call in read_calls(Path(settings.replay).expanduser() / name / CALLS):
                self._known.setdefault(call.digest, []).append(call)

    def note_frame(self, frame: int) -> None:
        """Take note of the agent's frame: questions come in it from now on."""
        with self._lock:
            self._frame = frame

    def close_attempt(self) -> None:
        """Write what was recorded."""
        if self._place is not None:
            lines = [json.dumps(asdict(call), ensure_ascii=False) for call in self._list_calls()]
            write_whole(self._place, "".join(f"{line}\n" for line in lines))

    def make_record(self) -> dict[str, Any]:
        """Return the part of `result.json`: digests of questions and answers in their order."""
        calls = [
            [call.frame, call.digest[:DIGITS], call.answer_digest[:DIGITS], call.status]
            for call in self._list_calls()
        ]
        return {"calls": calls}

    def list_seconds(self) -> list[float]:
        """Return the wall time of each call, in the same order."""
        return [round(call.seconds, 3) for call in self._list_calls()]

    def end(self) -> None:
        """Stop the servers."""
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def answer(
        self, server: int, method: str, path: str, *, body: bytes, headers: Mapping[str, str]
    ) -> ModelCall | None:
        """Return the answer to a question; None if there is none, which is a failure."""
        question = make_question(method, path, body)
        digest = hash_question(server, question)
        began = time.monotonic()
        with self._lock:
            frame = self._frame
            times = self._asked[digest]
            self._asked[digest] += 1
        if self._settings.replay is not None:
            known = self._known.get(digest, [])
            if times >= len(known):
                asked = f"asked {times + 1} times, recorded {len(known)} times"
                self._fail(f"no recorded answer to {method} {path}, {digest[:12]}: {asked}")
                return None
            status, kind = known[times].status, known[times].content_type
            content = known[times].body
        else:
            try:
                status, kind, content = self._ask_server(
                    server, method, path, body=body, headers=headers
                )
            except (OSError, http.client.HTTPException, ValueError) as problem:
                seconds = self._settings.timeout
                late = isinstance(problem, TimeoutError)
                why = f"no answer within {seconds:g} s" if late else f"cannot be asked: {problem}"
                self._fail(f"{self._settings.list_urls()[server]}: {why}")
                return None
        call = ModelCall(
            frame=frame,
            server=server,
            digest=digest,
            question=question,
            status=status,
            content_type=kind,
            answer=encode_body(content),
            answer_digest=hashlib.sha256(content).hexdigest(),
            seconds=time.monotonic() - began,
        )
        with self._lock:
            self._calls.append(call)
        return call

    def _list_calls(self) -> list[ModelCall]:
        """Return the calls by frame; those of one frame by digest: threads ask in any order."""
        with self._lock:
            return sorted(self._calls, key=lambda call: (call.frame, call.digest))

    def _fail(self, why: str) -> None:
        with self._lock:
            first = not self.failure
            self.failure = self.failure or f"language model: {' '.join(why.split())}"
        if first:
            self._on_failure()

    def _ask_server(
        self, server: int, method: str, path: str, *, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, str, bytes]:
        """Return status, content type and body of the served model's answer."""
        parts = parse_server_url(self._settings.list_urls()[server])
        encrypted = parts.scheme == "https"
        kind = http.client.HTTPSConnection if encrypted else http.client.HTTPConnection
        connection = kind(str(parts.hostname), parts.port, timeout=self._settings.timeout)
        passed = {name: value for name, value in headers.items() if name.lower() in PASSED_ON}
        try:
            connection.request(
                method, path, body or None, {**passed, "Accept-Encoding": "identity"}
            )
            response = connection.getresponse()
            content = response.read(LONGEST + 1)
        finally:
            connection.close()
        if len(content) > LONGEST:
            raise ValueError(f"an answer of more than {LONGEST:,} bytes")
        return response.status, response.getheader("Content-Type", "application/json"), content


def make_loopback_server(proxy: LanguageModelProxy, number: int) -> ThreadingHTTPServer:
    """Return a server on a free port of loopback that passes questions on to the proxy."""

    class Passing(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(min(length, LONGEST))
            call = proxy.answer(
                number, self.command, self.path, body=body, headers=dict(self.headers.items())
            )
            status, kind, content = FAILED, "text/plain", proxy.failure.encode()
            if call is not None:
                status, kind, content = call.status, call.content_type, call.body
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = pass_on  # noqa: N815 - names of http.server

        def log_message(self, *_: Any) -> None:
            """Print nothing: the calls are recorded."""

    server = ThreadingHTTPServer((LOOPBACK, 0), Passing)
    server.daemon_threads = True
    return server
