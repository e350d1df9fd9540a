"""Commands of tests, run in processes that need not import.

A command imports for two to four seconds, and a small campaign drives for one. Here a command runs
in a child of a process that has imported what commands import. Its simulator and its attempts are
processes of their own, as ever. Each of pytest's workers has one such process, from the first
command on, and one more for a second environment. In a third one, commands have fresh processes.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).parent.parent
IMPORTED = ("crucible.run", "harness.campaign.planning.plan", "agents.perception.systems", "pandas")
"""What a campaign imports, and much of what the other commands import."""
VARIES = ("PYTEST_CURRENT_TEST",)
"""What may differ in an environment, since no command reads it."""
LONGEST = 1 << 18
"""Bytes of a request."""
PATIENCE = 240.0
"""Seconds in which the process imports and forks, on a busy machine too."""
HANDLES = 3
"""Files of a request: standard output, standard error, and the socket of the report."""
ONE_THREAD = {"JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""pyarrow's allocator starts a thread else; a process with two threads is not to be forked."""


class WarmServer:
    """The process that has imported, and the socket on which it is asked."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.environment = dict(environment)
        self._requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__],
                cwd=ROOT,
                env={**self.environment, **ONE_THREAD},
                stdin=theirs.fileno(),
            )
        atexit.register(self.close)

    def run_command(
        self, arguments: Sequence[str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Run `python` with these arguments to its end, as `subprocess.run` does."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            with theirs:
                request = json.dumps(list(arguments)).encode()
                handles = [out.fileno(), err.fileno(), theirs.fileno()]
                socket.send_fds(self._requests, [request], handles)
            # the id comes once the process has imported, the exit code at the end
            ours.settimeout(PATIENCE)
            pid = int(ours.recv(64))
            ours.settimeout(timeout)
            try:
                code = int(ours.recv(64))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(arguments), timeout) from None
            said = []
            for file in (out, err):
                file.seek(0)
                said.append(file.read().decode())
        return subprocess.CompletedProcess([sys.executable, *arguments], code, *said)

    def close(self) -> None:
        """Let the process end."""
        self._requests.close()
        self._process.wait()


MOST = 2
"""Environments for which a process is kept: each holds some hundred megabytes."""
_servers: list[WarmServer] = []
_lock = threading.Lock()


def run_warm(
    arguments: Sequence[str], *, environment: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """Run `python` with these arguments in the project's folder, and return what it said.

    Args:
        arguments: a script or `-m` and a module, and its arguments.
        environment: of the command.
        timeout: seconds until the command is killed.
    """
    given = {name: value for name, value in environment.items() if name not in VARIES}
    with _lock:
        server = next((one for one in _servers if one.environment == given), None)
        if server is None and len(_servers) < MOST:
            server = WarmServer(given)
            _servers.append(server)
    if server is not None:
        return server.run_command(arguments, timeout)
    return subprocess.run(
        [sys.executable, *arguments],
        check=False,
        cwd=ROOT,
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=timeout,
    )


def serve_commands() -> None:
    """Import, then fork for each request, until requests are closed."""
    requests = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for name in ONE_THREAD:
        os.environ.pop(name)
    for name in IMPORTED:
        import_module(name)
    gc.collect()
    gc.freeze()
    assert threading.active_count() == 1
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # minders are not waited for
    while True:
        message, handles, _, _ = socket.recv_fds(requests, LONGEST, HANDLES)
        if not message:
            return
        minder = os.fork()
        if not minder:
            requests.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            mind_command(json.loads(message), handles)
        for handle in handles:
            os.close(handle)


def mind_command(arguments: list[str], handles: list[int]) -> NoReturn:
    """Fork the command, report its id, and at its end its exit code."""
    out, err, report = handles
    with socket.socket(fileno=report) as reports:
        pid = os.fork()
        if not pid:
            reports.close()
            os.dup2(out, 1)
            os.dup2(err, 2)
            os.close(out)
            os.close(err)
            os._exit(run_command(arguments))
        reports.send(str(pid).encode())
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        reports.send(str(code).encode())
    os._exit(0)


def run_command(arguments: list[str]) -> int:
    """Run a script or a module as the main one; return the exit code, as Python has it."""
    code: object = 0
    try:
        if arguments[0] == "-m":
            sys.argv = arguments[1:]
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = arguments
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as ending:
        code = ending.code
    except BaseException:
        traceback.print_exc()
        code = 1
    # what an interpreter does at its end, but for freeing what it holds
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return code or 0


if __name__ == "__main__":
    serve_commands()
