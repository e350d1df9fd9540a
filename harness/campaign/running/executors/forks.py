"""The runner's side of the fork server: asks for attempt processes, and learns how they end."""

from __future__ import annotations

import signal
import socket
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from threading import Lock

from harness.campaign.attempt.tasks import AttemptTask
from harness.campaign.running.executors.interface import ONE_CORE, TaskSettings
from harness.common.bounded_log import CopiedOutput
from harness.common.environments import build_child_environment
from harness.common.files import open_here
from harness.common.kernels import make_shared_kernel_environment
from harness.common.subprocesses import build_module_command
from harness.world.simulators import LINUX

PATIENCE = 120.0
"""Seconds in which a server imports and forks; one that takes longer is killed."""
SAID = 64
"""Bytes that the server says of a process."""
ONE_THREAD = {
    "JE_ARROW_MALLOC_CONF": "background_thread:false",  # pyarrow's allocator starts one else
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",  # asks for a GPU without starting its driver
}


class ForkedProcess:
    """An attempt process that the server forked, with what is needed of `subprocess.Popen`."""

    def __init__(self, pid: int, status: socket.socket) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._status = status

    def poll(self) -> int | None:
        """Return how it ended, if it has."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0.0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return how it ended; a server that was killed has taken its attempts with it.

        Nothing is taken out of the socket: several threads may ask.
        """
        if self.returncode is None:
            if not wait([self._status], timeout):
                raise subprocess.TimeoutExpired("attempt", timeout or 0.0)
            said = self._status.recv(SAID, socket.MSG_PEEK)
            self.returncode = int(said) if said else -signal.SIGKILL
        return self.returncode

    def close(self) -> None:
        """Let the server forget it: its process id may be reused."""
        self._status.close()


@dataclass(frozen=True, slots=True)
class ForkServerHandle:
    """A fork server and the socket on which it is asked."""

    process: subprocess.Popen[bytes]
    requests: socket.socket

    def kill_server(self) -> None:
        """Kill it, which has nothing to save; its attempts notice, and end too."""
        self.requests.close()
        self.process.kill()
        self.process.wait()


class ForkServer:
    """The fork server of a campaign on this machine, started when needed.

    Where there is none (not on Linux, not with threads) attempt processes are started one by one.
    """

    def __init__(self, work: TaskSettings) -> None:
        self._work = work
        self._lock = Lock()
        self._server: ForkServerHandle | None = None
        self._has_forked = False
        self._given_up = not LINUX

    def start_server(self) -> None:
        """Begin to import."""
        with self._lock:
            self._ensure_server()

    def fork_process(self, task: AttemptTask, answers: int, log: int) -> ForkedProcess | None:
        """Return a new attempt process with these files, if there is a server that can fork.

        A server that refuses this time, or was killed just now, is left to the next request.
        """
        # a pair of sockets for the report: the id, then the exit code
        try:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        except OSError:
            return None
        # pass the task and three descriptors to the server
        with theirs, self._lock:
            server = self._ensure_server()
            if server is not None:
                with suppress(OSError):
                    handles = [answers, log, theirs.fileno()]
                    socket.send_fds(server.requests, [task.to_json().encode()], handles)
        # the leader reports its id once it leads a session
        said = b""
        if server is not None:
            ours.settimeout(PATIENCE)
            try:
                said = ours.recv(SAID)
            except TimeoutError:
                server.process.kill()
            ours.settimeout(None)
        # refused, or the server died: the caller starts a process
        if not said.isdigit():
            ours.close()
            return None
        self._has_forked = True
        return ForkedProcess(int(said), ours)

    def close_server(self) -> None:
        """End the server."""
        with self._lock:
            if self._server is not None:
                self._server.kill_server()
                self._server = None

    def _ensure_server(self) -> ForkServerHandle | None:
        """Return a server that runs; one that has ended is replaced, if it could fork."""
        if self._server is not None and self._server.process.poll() is not None:
            self._given_up = not self._has_forked
            self._server.requests.close()
            self._server = None
        if self._server is None and not self._given_up:
            try:
                self._server = start_fork_server(self._work)
            except OSError:
                self._given_up = True
        return self._server


def start_fork_server(work: TaskSettings) -> ForkServerHandle:
    """Start a server; what packages print in it goes into its log, within the bound of logs."""
    log = work.folder / "logs" / "fork-server.log"
    log.parent.mkdir(exist_ok=True)
    with open(log, "a+b", opener=open_here) as lines, CopiedOutput(lines.fileno()) as output:
        # a request is a packet with descriptors, so the socket keeps packets apart
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                process = subprocess.Popen(
                    build_module_command("harness.campaign.attempt.fork_server", str(work.folder)),
                    cwd=work.directory,
                    stdin=theirs.fileno(),
                    stdout=output.writing,
                    stderr=output.writing,
                    env=build_child_environment(
                        ONE_CORE, ONE_THREAD, make_shared_kernel_environment(), work.environment
                    ),
                    start_new_session=True,
                )
            except OSError:
                ours.close()
                raise
    return ForkServerHandle(process, ours)
