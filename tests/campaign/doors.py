"""Commands run in one process under an audit hook, for `test_doors.py`.

`python -m tests.campaign.doors STRANGER HERE < commands.json`: what a command runs, imports or
reads as Python from the folder STRANGER, whatever it starts or connects to, and what it writes
anywhere but below HERE, is printed. The folder is at the end of Python's path: only what is asked
for by name is found there.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType
from typing import Any

from crucible.subcommands import dispatch_subcommand

STARTS = {
    *("subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.fork"),
    *("socket.connect", "socket.bind"),
}
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link"}
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
LOADERS = ("PYTHON", "LD_")
seen: list[str] = []


def watcher(stranger: str, here: str) -> Callable[[str, tuple[Any, ...]], None]:
    """Return an audit hook that notes what a stranger's file must not make a command do."""

    def whole(path: Any) -> str:
        if not isinstance(path, str | bytes):
            return ""
        return os.path.normpath(Path.cwd() / os.fsdecode(path))

    def is_theirs(path: Any) -> bool:
        return whole(path).startswith(stranger)

    def is_elsewhere(path: Any) -> bool:
        return bool(whole(path)) and not whole(path).startswith((here, os.devnull))

    def watch(event: str, given: tuple[Any, ...]) -> None:
        if event in STARTS:
            seen.append(f"{event} {given[:2]}")
        elif event == "exec" and isinstance(given[0], CodeType):
            if is_theirs(given[0].co_filename):
                seen.append(f"exec {given[0].co_filename}")
        elif event in ("compile", "import", "ctypes.dlopen"):
            seen.extend(f"{event} {name}" for name in given[:2] if is_theirs(name))
        elif event == "open":
            path, _, flags = given
            if is_theirs(path) and whole(path).endswith((".py", ".pyc", ".so")):
                seen.append(f"open {path}")
            if isinstance(flags, int) and flags & WRITES and is_elsewhere(path):
                seen.append(f"open for writing {path}")
        elif event in CHANGES and is_elsewhere(given[0]):
            seen.append(f"{event} {given[0]}")
        elif event == "os.putenv" and os.fsdecode(given[0]).startswith(LOADERS):
            seen.append(f"{event} {given}")

    return watch


def answer(command: Sequence[str]) -> dict[str, Any]:
    """Run a command; return its exit code, what it printed, and what the hook noted."""
    seen.clear()
    printed, complained = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complained):
        try:
            code: Any = dispatch_subcommand(list(command))
        except SystemExit as ended:
            code = ended.code
    return {"code": code, "stderr": complained.getvalue(), "seen": list(seen)}


def watch_commands(stranger: str, here: str) -> None:
    """Run the commands of standard input, the first one twice: before it is watched, too."""
    commands: dict[str, list[str]] = json.load(sys.stdin)
    sys.path.append(stranger)
    answer(next(iter(commands.values())))
    sys.addaudithook(watcher(stranger, here))
    answers = {name: answer(command) for name, command in commands.items()}
    seen.clear()
    importlib.import_module("evil")  # so that it is known that the hook would have noted it
    answers["control"] = {"code": 0, "stderr": "", "seen": list(seen)}
    print(json.dumps(answers))


if __name__ == "__main__":
    watch_commands(*sys.argv[1:])
