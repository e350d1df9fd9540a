"""Attempt processes that need not import: they are forked from a process that has imported all.

The server imports what the attempts of a campaign import, and makes the systems that may be made
before a fork. It then forks an attempt process for each request: `harness.campaign.running` asks
for one with the task, the files for its reply and its log, and a socket on which its process id is
reported and, later, its exit code. Requests come on standard input; when that is closed, the server
exits, and its attempts end with it.

Only its children make clients of a simulator: the client library starts threads, and what other
threads hold when a process forks stays locked in the child. A server with a second thread exits.
"""

from __future__ import annotations

import gc
import os
import socket
import sys
import traceback
from contextlib import suppress
from multiprocessing import current_process
from multiprocessing.connection import wait
from pathlib import Path

import numpy as np

from harness.campaign.attempt.attempt_process import fork_and_supervise
from harness.campaign.attempt.tasks import AttemptTask
from harness.campaign.folder.campaign_folder import load_campaign_header
from harness.campaign.settings.config import build_part, find_class
from harness.campaign.settings.partner_systems import list_all_systems
from harness.campaign.settings.repeatable import hold_network_kernels
from harness.campaign.settings.trust import iter_targets

PAUSE = 0.05
LONGEST = 1 << 20
"""Bytes of a task."""
HANDLES = 3
"""Files of a request: for the reply, for the log, and the socket of reports."""
NOT_DRIVEN = ("executor", "export")
"""Groups that no attempt builds."""
KEY = 32
"""Bytes of a process's key, from which viewers make the names of recordings."""
REFUSED = b"cannot fork"
FAILED = 1
"""Exit code of a child that never became an attempt process."""


def run_fork_server() -> None:
    """Import, then fork whenever asked to."""
    requests = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    with suppress(Exception):  # what cannot be imported is reported by the attempts that need it
        preload_campaign(Path(sys.argv[1]))
    gc.collect()
    gc.freeze()
    if has_threads():
        print("a thread of a package: attempts are started, not forked", file=sys.stderr)
    else:
        serve_forks(requests)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # does not wait for threads


def has_threads() -> bool:
    """Return whether this process has another thread than its first, by whatever started."""
    return len(os.listdir("/proc/self/task")) > 1  # noqa: PTH208


def preload_campaign(folder: Path) -> None:
    """Import what a campaign's settings name, and make the systems that may be made here."""
    from harness.campaign.attempt import (  # noqa: PLC0415 - a second; may be missing parts
        attempt,  # noqa: F401 - loads all that an attempt needs
        fleet,
    )

    with suppress(ImportError):
        import pandas  # noqa: F401, PLC0415 - pyarrow loads it, half a second, before any column

    # classes of the settings: a missing one is reported by the attempt that needs it
    settings = load_campaign_header(folder / "campaign.yaml")["settings"]
    for place, part in iter_targets(settings, ""):
        if place.partition(".")[0] not in NOT_DRIVEN:
            with suppress(Exception):
                find_class(part["_target_"], place)
    # networks are loaded once, and forks share their memory
    for named in list_all_systems(settings):
        with suppress(Exception):
            if getattr(named.kind, "made_before_fork", lambda: False)():
                system = build_part(named.part, named.place)
                hold_network_kernels(settings)
                system.warm_up()
                fleet.made_before[named.place] = system


def serve_forks(requests: socket.socket) -> None:
    """Fork for each request, and report exit codes, until requests are closed."""
    running: dict[int, socket.socket] = {}
    ended: dict[int, socket.socket] = {}
    # `running` are attempts, `ended` those whose asker has not closed its socket yet
    while True:
        heard = wait([requests, *ended.values()], PAUSE)
        if requests in heard:
            # a request has the task, and descriptors for the answer, the log and the report
            message, handles, _, _ = socket.recv_fds(requests, LONGEST, HANDLES)
            if not message:
                return
            if len(handles) < HANDLES:  # no descriptors left here: the asker starts a process
                for handle in handles:
                    os.close(handle)
                continue
            report = socket.socket(fileno=handles[2])
            # the child closes sockets that are not its concern
            others = [requests, *running.values(), *ended.values()]
            pid = fork_attempt_leader(message, handles, others)
            if pid is None:
                with suppress(OSError):
                    report.send(REFUSED)
                report.close()
            else:
                running[pid] = report
            # the child has copies
            for handle in handles[:2]:
                os.close(handle)
        # an asker that has read the exit code closes its end
        for pid in [pid for pid, report in ended.items() if report in heard]:  # is forgotten
            os.waitpid(pid, 0)
            ended.pop(pid).close()
        # report exit codes; the number stays taken until the asker has it
        for pid in list(running):
            code = read_exit_code(pid)
            if code is not None:
                with suppress(OSError):
                    running[pid].send(str(code).encode())
                ended[pid] = running.pop(pid)


def fork_attempt_leader(
    message: bytes, handles: list[int], others: list[socket.socket]
) -> int | None:
    """Return the id of a new process that leads the attempt, if there can be one.

    It reports its id itself, once it leads a session: then its whole group can be killed.
    """
    parent = os.getpid()
    # a fork of a process with threads may find a lock held for ever
    if has_threads():
        return None
    # buffered lines would be written twice
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        pid = os.fork()
    except OSError:
        return None
    if pid:
        return pid
    try:
        # from here on: the child
        os.setsid()
        answers, log, status = handles
        os.write(status, str(os.getpid()).encode())
        os.close(status)
        # only the answer and the log stay open, as standard output and error
        for other in others:
            other.close()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for handle, standard in ((nothing, 0), (answers, 1), (log, 2)):
            os.dup2(handle, standard)
            os.close(handle)
        # a fork has the random state of its parent
        renew_entropy()
        os._exit(fork_and_supervise(AttemptTask.from_json(message.decode()), parent))
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(FAILED)


def renew_entropy() -> None:
    """Seed global random generators and keys as a new process does; Python's `random` does so."""
    current_process().authkey = os.urandom(KEY)
    np.random.seed()
    if torch := sys.modules.get("torch"):
        torch.default_generator.seed()


def read_exit_code(pid: int) -> int | None:
    """Return how a child has ended, if it has; it stays a zombie, so that its id is not reused."""
    result = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if result is None:
        return None
    return result.si_status if result.si_code == os.CLD_EXITED else -result.si_status


if __name__ == "__main__":
    run_fork_server()
