"""Scripts run in forks of one process that has loaded Numba: each takes a second less.

A fork has its parent's seed of hashes: what must be the same for every seed needs new processes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

PAUSE = 0.01


class RunningScript(Protocol):
    """What tests need of a running script: a process has it, a fork as well."""

    @property
    def returncode(self) -> Any:
        """The exit code, after its end."""

    def communicate(self, *, timeout: float) -> tuple[str, str]:
        """Wait for the end; return what it printed and what it complained of."""


class ForkedScript:
    """A script in a fork, and the files that it writes."""

    def __init__(self, server: subprocess.Popen[str], files: Path) -> None:
        self._server, self._files = server, files
        self.returncode: int | None = None

    def communicate(self, *, timeout: float) -> tuple[str, str]:
        """Wait for the end; return what it printed and what it complained of."""
        until = time.monotonic() + timeout
        ended = self._files.with_suffix(".ended")
        while not ended.exists():
            assert self._server.poll() is None
            assert time.monotonic() < until
            time.sleep(PAUSE)
        self.returncode = int(ended.read_text())
        printed, complained = (self._files.with_suffix(f".{name}") for name in ("out", "err"))
        return printed.read_text(), complained.read_text()


class ScriptServer:
    """The process that is forked."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._count = folder, 0

    def __enter__(self) -> ScriptServer:
        line = [sys.executable, __file__]
        self._process = subprocess.Popen(line, stdin=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def start(self, script: str, *, cwd: Path, env: Mapping[str, str]) -> ForkedScript:
        """Start a script as `python -c` does."""
        self._count += 1
        files = self._folder / str(self._count)
        request = {"script": script, "cwd": str(cwd), "env": dict(env), "files": str(files)}
        assert self._process.stdin
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return ForkedScript(self._process, files)


def serve_scripts() -> None:
    """Load Numba and compile something, then fork for each line of standard input."""
    import numba
    import numpy as np

    numba.njit(lambda x: 2.0 * x)(1.0)
    numba.njit(lambda count: np.full(count, 1.0).sum())(1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            supervise_script(json.loads(line))


def supervise_script(request: dict[str, Any]) -> None:
    """Fork once more for the script, and write how that has ended."""
    files = Path(request["files"])
    pid = os.fork()
    if pid == 0:
        run_script(request, files)
    _, status = os.waitpid(pid, 0)
    part = files.with_suffix(".part")
    part.write_text(str(os.waitstatus_to_exitcode(status)))
    part.rename(files.with_suffix(".ended"))
    os._exit(0)


def run_script(request: dict[str, Any], files: Path) -> None:
    """Be the process of the script."""
    code = 1
    try:
        for suffix, standard in ((".out", 1), (".err", 2)):
            to = os.open(files.with_suffix(suffix), os.O_WRONLY | os.O_CREAT)
            os.dup2(to, standard)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["env"])
        sys.dont_write_bytecode = True
        sys.path[0] = ""
        exec(compile(request["script"], "<string>", "exec"), {"__name__": "__main__"})
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve_scripts()
