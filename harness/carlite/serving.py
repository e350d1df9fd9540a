"""Options and run of a server: `crucible serve`, `carlite serve`.

One line on stdout says that clients may come, and where to:

    carlite 0.9.16 ready on 127.0.0.1:2000, town Crucible05

Exit codes: 0 when asked to stop (SIGTERM, Ctrl-C), 2 with one line on stderr for bad input.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import NoReturn

from harness.carlite import CARLA_VERSION, log
from harness.carlite.errors import UserError

DEFAULT_TOWN = "Crucible05"
STOP_GRACE = 10.0
"""Seconds that a server has to stop in order once its stdin is closed."""


HIGHEST_PORT = 65533
"""Leaves room for the two ports above it."""


class OptionError(UserError):
    """A bad option of the command line."""


class ServerArgumentParser(argparse.ArgumentParser):
    """A parser that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Report a bad option, and the nearest valid one."""
        _, _, words = message.partition("unrecognized arguments: ")
        if words:
            message = describe_unknown_word(words.split()[0], list(self._option_string_actions))
        raise OptionError(f"{message.removeprefix('argument ')} (--help lists the options)")


def describe_unknown_word(word: str, options: list[str]) -> str:
    """Return `unknown option --twon; did you mean --town?`.

    Args:
        word: that no option takes.
        options: that there are.
    """
    if not word.startswith("-"):
        return f"unexpected argument {word}"
    name = word.partition("=")[0]
    close = get_close_matches(name, options, n=1)
    return f"unknown option {name}" + (f"; did you mean {close[0]}?" if close else "")


def parse_listen_host(text: str) -> str:
    """Return an address; an empty one would mean all there are."""
    if not text.strip():
        raise argparse.ArgumentTypeError("no address given")
    return text


def parse_port(text: str) -> int:
    """Return a port that leaves room for the two above it."""
    return parse_whole_number(text, HIGHEST_PORT, str(HIGHEST_PORT))


def parse_seed(text: str) -> int:
    """Return a seed."""
    return parse_whole_number(text, (1 << 64) - 1, "2^64 - 1")


def parse_whole_number(text: str, most: int, written: str) -> int:
    """Return a number from 0 to a greatest one.

    Args:
        text: what was given.
        most: the greatest number.
        written: the greatest number as a message has it.
    """
    if not (text.isascii() and text.isdigit() and int(text) <= most):
        raise argparse.ArgumentTypeError(f"{text}: must be a whole number from 0 to {written}")
    return int(text)


def parse_maps_folder(text: str) -> Path:
    """Return a folder that can be read."""
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"folder not found: {text}")
    if not os.access(path, os.R_OK | os.X_OK):
        raise argparse.ArgumentTypeError(f"folder cannot be read: {text}")
    return path


def parse_recordings_folder(text: str) -> Path:
    """Return a folder that can be written to."""
    path = parse_maps_folder(text)
    if not os.access(path, os.W_OK):
        raise argparse.ArgumentTypeError(f"folder cannot be written to: {text}")
    return path


def parse_server_options(arguments: list[str], program: str) -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = ServerArgumentParser(
        prog=program,
        description=f"Answers carla.Client {CARLA_VERSION} as a CARLA server does, without a GPU.",
        epilog="Calls come in at PORT, sensor streams go out at PORT + 1, and PORT + 2 is for the "
        "Traffic Manager.",
    )
    add = parser.add_argument
    add(
        "--host",
        type=parse_listen_host,
        default="127.0.0.1",
        help="address to listen on (default: %(default)s)",
    )
    add(
        "--port",
        type=parse_port,
        default=2000,
        help="port for calls; 0: a free port (default: %(default)s)",
    )
    add("--town", metavar="NAME", default=DEFAULT_TOWN, help="town to load (default: %(default)s)")
    add(
        "--maps",
        metavar="DIR",
        type=parse_maps_folder,
        help="folder of further towns as NAME.xodr (default: none)",
    )
    add(
        "--recordings",
        metavar="DIR",
        type=parse_recordings_folder,
        help="folder in which relative names of recorder logs are taken (default: the working one)",
    )
    add(
        "--seed",
        metavar="N",
        type=parse_seed,
        default=0,
        help="seed of all random streams (default: 0)",
    )
    add(
        "--traffic-manager",
        choices=("server", "client"),
        default="server",
        help=(
            "where autopilot vehicles are driven: in carlite, or in a thread of the client,"
            " which can hang (default: %(default)s)"
        ),
    )
    add(
        "--stop-with-stdin",
        action="store_true",
        help="stop when stdin is closed: a server then ends with the program that started it",
    )
    add(
        "--strict",
        nargs="?",
        choices=("warn", "refuse"),
        const="warn",
        help="log the first use of approximated calls, or refuse them (default: neither)",
    )
    return parser.parse_args(arguments)


def stop_at_once(*_: object) -> NoReturn:
    """Leave before there is anything to close."""
    sys.exit(0)


@contextlib.contextmanager
def stopping_at_once() -> Iterator[None]:
    """Let SIGTERM and Ctrl-C stop the process while the block lasts, until a server handles them.

    Afterwards the handlers are as they were: the caller may go on.
    """
    earlier = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in earlier:
        signal.signal(number, stop_at_once)
    try:
        yield
    finally:
        for number, handler in earlier.items():
            # None: it was installed by a program in C, and Python cannot put it back
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def stop_when_closed(descriptor: int) -> None:
    """Stop this process once the other end of a pipe is closed.

    The system closes it when the process that holds it ends, however it ends.
    """
    with contextlib.suppress(OSError):
        while os.read(descriptor, 1 << 16):
            pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_GRACE)
    os._exit(1)


def run(options: argparse.Namespace) -> None:
    """Serve until asked to stop."""
    if options.stop_with_stdin:
        threading.Thread(target=stop_when_closed, args=(sys.stdin.fileno(),), daemon=True).start()
    from harness.carlite.accepting import more_descriptors  # noqa: PLC0415 - as below
    from harness.carlite.server import CarliteServer, ServerOptions  # noqa: PLC0415 - bad options fail fast

    with more_descriptors():
        server = CarliteServer(
            ServerOptions(
                host=options.host,
                port=options.port,
                town=options.town,
                maps=options.maps,
                seed=options.seed,
                hosts_traffic=options.traffic_manager == "server",
                strict=options.strict,
                recordings=options.recordings,
            )
        )
        asyncio.run(server.serve())


def main(arguments: list[str], program: str = "python -m harness.carlite") -> int:
    """Run a server until it is asked to stop; return the exit code.

    Args:
        arguments: words of the command line.
        program: how it was called, for help and messages.

    Returns:
        0, or 2 for bad input.
    """
    try:
        options = parse_server_options(arguments, program)
        with stopping_at_once():
            run(options)
    except OptionError as problem:
        log.write_log_line(str(problem), program)
        return 2
    except UserError as problem:
        log.write_log_line(str(problem))
        return 2
    return 0
