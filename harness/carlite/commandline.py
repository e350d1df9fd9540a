"""The command `carlite` of the distribution of that name (decision 0095).

Options without a command are those of `serve`: campaigns start `python -m harness.carlite`. What
they serve does not depend on the environment, so only `serve` reads `CARLITE_MAPS`.
"""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from harness.carlite import CARLA_VERSION, log, serving

MAPS_VARIABLE = "CARLITE_MAPS"
USAGE = f"""usage: carlite serve [options]   start a server; carlite serve --help lists the options
       carlite precompile        compile for this machine, so that the first server starts fast
       carlite --version

A server that speaks the protocol of CARLA {CARLA_VERSION}, without a GPU. {MAPS_VARIABLE} names a
folder of further towns as NAME.xodr.
"""


def enter_commandline() -> None:
    """Run what the command line asks for, and exit."""
    hide_scipy()
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        print(USAGE, end="")
        sys.exit(0)
    if words == ["--version"]:
        print(f"carlite {metadata.version('carlite')}, protocol of CARLA {CARLA_VERSION}")
        sys.exit(0)
    sys.exit(run_carlite_command(words, "carlite"))


def hide_scipy() -> None:
    """Let numba import no scipy: nothing needs it, and it takes time at every start."""
    without_scipy: dict[str, Any] = {"scipy": None}
    sys.modules.update(without_scipy)


def run_carlite_command(words: list[str], program: str) -> int:
    """Run `serve` or `precompile`; return the exit code, 2 for bad input.

    Args:
        words: of the command line.
        program: how it was called, for help and messages.
    """
    command = words[0] if words else ""
    if command == "precompile" and len(words) == 1:
        from harness.carlite.precompile import compile_all  # noqa: PLC0415 - it takes a second

        compile_all()
        return 0
    if command == "serve":
        maps = os.environ.get(MAPS_VARIABLE)
        if maps and not Path(maps).is_dir():
            log.write_log_line(f"{MAPS_VARIABLE}={maps}: not a folder")
            return 2
        # the last of several --maps counts
        return serving.main([*(["--maps", maps] if maps else []), *words[1:]], f"{program} serve")
    if command and not command.startswith("-"):
        log.write_log_line(
            f"unknown command {' '.join(words)!r}; valid: {program} serve, {program} precompile"
        )
        return 2
    return serving.main(words, program)
