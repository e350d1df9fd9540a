"""A small server that answers CoLMDriver's questions by a rule, in the form of OpenAI's API.

CoLMDriver asks a vision-language model how fast to drive (VLM planner), and a language model what
to say to other vehicles, what was agreed on, and how well (negotiation). Where no model is at hand,
this server answers in the agent's own formats, so that a drive goes on to its end. Its answers are
no model's: such a drive shows that questions, answers, records and replay work, and nothing about
the agent. The picture in a question is not looked at.

Standard library only. It listens on loopback until it is interrupted:

    python tools/guests/answering_server.py --ports 1111 8888
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tools.guests import guest_tools
else:
    sys.path.insert(0, str(Path(__file__).absolute().parent))
    import guest_tools

LOOPBACK = "127.0.0.1"
MODEL = "rule"
"""Name by which the server lists its only model."""
NO_INTERACTION = "No interaction now"
"""What CoLMDriver's prompt has where no other vehicle suggested a speed."""
CLOSE, AHEAD, NARROW = 8, 15, 2
"""Metres ahead at which to stop and to slow down, and metres to a side that count as ahead."""
FAST = 6.0
"""m/s above which the speed is kept."""
PERCEIVED = re.compile(
    r"(?:Car|Pedestrian|Bike) \d+, (\d+) meters forward and (\d+) meters to the (?:left|right)"
)
SPEAKER = re.compile(r"You are Vehicle (\d+), the message")
OTHERS = re.compile(r"- Vehicle \(ID: (\d+)\)")
SAID = re.compile(r"Vehicle (\d+): '(.*)'")
GOES = "I go faster, please yield."
YIELDS = "I stop and yield."


def answer_question(text: str) -> str:
    """Return the answer to a prompt, by the role that it gives the model."""
    if "Provide the speed intention" in text:
        return choose_speed(text)
    if "classify each vehicle's speed change" in text:
        return json.dumps(sum_up(text.rsplit("Input proposal:", maxsplit=1)[-1]))
    if "Consensus score" in text:
        return judge_consensus(text.rsplit("Conversation:", maxsplit=1)[-1])
    if SPEAKER.search(text):
        return negotiate(text)
    return "I know no answer to this."


def choose_speed(text: str) -> str:
    """Return the VLM planner's word: what was agreed on, else by the road ahead and the speed."""
    suggested = re.search(r"Communication suggestion: (.*)", text)
    if suggested and suggested[1].strip() != NO_INTERACTION:
        return suggested[1].strip()
    ahead = [int(far) for far, aside in PERCEIVED.findall(text) if int(aside) <= NARROW]
    if any(far < CLOSE for far in ahead):
        return "STOP"
    if any(far < AHEAD for far in ahead):
        return "SLOWER"
    speed = re.search(r"Current Speed: (-?[\d.]+)", text)
    return "KEEP" if speed and float(speed[1]) > FAST else "FASTER"


def negotiate(text: str) -> str:
    """Return a vehicle's message: the one with the lowest number goes, the others yield."""
    speaker = int(SPEAKER.findall(text)[-1])
    others = [int(number) for number in OTHERS.findall(text)]
    return GOES if speaker <= min(others, default=speaker) else YIELDS


def sum_up(text: str) -> dict[str, dict[str, str]]:
    """Return each vehicle's speed, by its last message."""
    last = dict(SAID.findall(text))
    return {
        vehicle: {"speed": "FASTER" if message == GOES else "STOP"}
        for vehicle, message in last.items()
    }


def judge_consensus(text: str) -> str:
    """Return the critic's words: consensus if exactly one vehicle goes."""
    going = [one for one in sum_up(text).values() if one["speed"] == "FASTER"]
    agreed = len(going) == 1
    words = "one vehicle goes, the others yield" if agreed else "it is open which vehicle goes"
    return f"Short analysis: {words}.\nConsensus score: {100 if agreed else 20}"


def join_text(messages: list[dict[str, Any]]) -> str:
    """Return the text of a conversation, without its pictures."""
    parts: list[str] = []
    for message in messages:
        content = message["content"]
        if isinstance(content, str):
            parts.append(content)
        else:
            parts += [part["text"] for part in content if part.get("type") == "text"]
    return "\n".join(parts)


class Answering(BaseHTTPRequestHandler):
    """`GET /v1/models` and `POST /v1/chat/completions`."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """List the only model."""
        if not self.path.endswith("/models"):
            self.send(404, {"error": {"message": f"no {self.path}"}})
            return
        self.send(200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    def do_POST(self) -> None:
        """Answer a conversation."""
        try:
            # a length below 0 would wait for an end that does not come
            body = self.rfile.read(max(int(self.headers.get("Content-Length") or 0), 0))
            text = join_text(json.loads(body)["messages"])
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as problem:
            self.send(400, {"error": {"message": f"no conversation: {problem!r}"}})
            return
        message = {"role": "assistant", "content": answer_question(text)}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        answer = {"id": "chat", "object": "chat.completion", "created": 0, "model": MODEL}
        self.send(200, {**answer, "choices": [choice]})

    def send(self, status: int, answer: Any) -> None:
        """Send JSON."""
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Print nothing for each question."""


class QuietServer(ThreadingHTTPServer):
    """Prints nothing about an agent that went away before it had its answer."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print what went wrong, unless it is the end of a connection."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def open_server(port: int) -> ThreadingHTTPServer:
    """Return a server on a port of loopback; 0: on a free one."""
    return QuietServer((LOOPBACK, port), Answering)


def open_or_refuse(port: int) -> ThreadingHTTPServer:
    """Return a server, or refuse a port that cannot be had."""
    try:
        return open_server(port)
    except OSError as problem:
        raise guest_tools.RefusalError(f"port {port}: {problem.strerror}") from None


def read_options(given: list[str] | None = None) -> argparse.Namespace:
    """Return what the command line says."""
    parser = guest_tools.OneLineParser(
        description="Answer CoLMDriver's questions by a rule, until Ctrl-C."
    )
    parser.add_argument(
        "--ports",
        type=int,
        nargs="+",
        default=[1111, 8888],
        help="on loopback; 0: a free one (default: 1111 8888, as colmdriver_config.yaml has)",
    )
    options = parser.parse_args(given)
    for port in options.ports:
        if not 0 <= port < 2**16:
            parser.error(f"--ports {port}: must be from 0 (a free one) to {2**16 - 1}")
    return options


def serve_ports(ports: list[int]) -> None:
    """Serve until interrupted."""
    for server in [open_or_refuse(port) for port in ports]:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(f"answering at http://{LOOPBACK}:{server.server_address[1]}/v1", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        print("ended")


if __name__ == "__main__":
    asked = read_options()
    guest_tools.run_or_refuse(lambda: serve_ports(asked.ports))
