"""A served model for tests: OpenAI's form over HTTP, another answer each time it is asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ModelServer(ThreadingHTTPServer):
    """Answers with 3, 4, 5, 3, … m/s, whatever it is asked."""

    daemon_threads = True

    def __init__(self, delay: float) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.delay = delay
        self.asked: list[str] = []
        self.keys: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Answering(BaseHTTPRequestHandler):
    server: ModelServer

    def do_GET(self) -> None:
        self.send({"object": "list", "data": [{"id": "little-llm"}]})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(json.loads(body)["messages"][0]["content"][0]["text"])
        self.server.keys.append(self.headers["Authorization"])
        time.sleep(self.server.delay)
        count = len(self.server.asked)
        message = {"role": "assistant", "content": str(3 + count % 3)}
        self.send({"id": f"chat-{count}", "choices": [{"message": message}]})

    def send(self, answer: Any) -> None:
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serve_model(delay: float = 0.0) -> Iterator[ModelServer]:
    """Serve until the block ends; then nothing listens there."""
    server = ModelServer(delay)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
