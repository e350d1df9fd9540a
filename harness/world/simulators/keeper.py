"""Supervises a server for its owner; when either exits, it kills what is left of the other.

`python keeper.py PARENT COMMAND...` leads a process group of its own in which the command runs. It
is a program by itself because nothing else is certain. Linux can end a process with its parent
(PR_SET_PDEATHSIG), but "parent" means the thread that forked, which may end long before its
process, and the children of an exited process get no signal: CARLA is started by a shell script.

What the command prints comes through a pipe and is copied to the keeper's own output, within the
bound of all logs: CARLA is not ours, and may print without end.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

if not __package__:  # as a program it finds nothing but Python's own library
    sys.path.append(str(Path(__file__).parents[3]))

from harness.common.bounded_log import BoundedLog, LogPipe

LINUX = sys.platform == "linux"
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
PAUSE = 0.05
C_LIBRARY = ctypes.CDLL(None)


def end_with_parent() -> None:
    """Let Linux end this process together with the thread that started it."""
    C_LIBRARY.prctl(DEATH_SIGNAL, signal.SIGKILL)


def supervise_server(parent: int, command: list[str]) -> None:
    """Run a command until it or the parent ends, then end the group, this process included."""
    signal.signal(signal.SIGTERM, lambda *_: None)  # comes to the whole group
    try:
        output = LogPipe(BoundedLog(sys.stdout.fileno()))
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output.writing,
            stderr=output.writing,
            preexec_fn=end_with_parent if LINUX else None,  # noqa: PLW1509 - one thread only
        )
    except OSError as problem:
        print(f"{command[0]}: {problem.strerror}", file=sys.stderr, flush=True)
        return
    output.leave_writing_to_child()
    while process.poll() is None and os.getppid() == parent:
        output.copy(PAUSE)
    output.copy(0.0)  # the last lines say why a server has ended
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    supervise_server(int(sys.argv[1]), sys.argv[2:])
