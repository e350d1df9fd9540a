"""Writers in separate processes, to be killed or compared.

    python -m tests.records.writers once FOLDER     write one try
    python -m tests.records.writers kill FOLDER     write it again and again, in FOLDER/000,
                                                    FOLDER/001, ... killed one step later each time

A step is what Python reports to audit hooks about files and folders: opened, made, renamed.
The last folder is that of the writer which came to its end.
"""

from __future__ import annotations

import os
import signal
import sys
from itertools import count
from pathlib import Path

import pandas as pd

from tests.records.samples import KEY, write_try

assert pd, "arrow would import it in every child"


def write_until(folder: Path, step: int) -> bool:
    """Write a try in a child that kills itself at a step; return whether it came to its end."""
    folder.mkdir(parents=True)
    child = os.fork()
    if child == 0:
        left = step

        def audit(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal left
            if arguments and event != "os.kill" and str(arguments[0]).startswith(str(folder)):
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(audit)
        write_try(folder, KEY)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0
    return True


def main(what: str, folder: Path) -> None:
    if what == "once":
        write_try(folder, KEY)
    else:
        next(step for step in count() if write_until(folder / f"{step:03}", step))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
