"""Where `crucible` and run_campaign.py start.

This file must be readable by older and newer Pythons than Crucible supports: it refuses them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

SUPPORTED = ((3, 10), (3, 12))
BAD_INPUT = 2


def entry() -> None:
    """Run the console command `crucible`."""
    sys.exit(start(sys.argv[1:]))


def run_campaign() -> None:
    """Run `crucible run`, which needs no installation in a checkout."""
    sys.exit(start(["run", *sys.argv[1:]]))


def start(arguments: list[str]) -> int:
    """Run a subcommand with a supported Python, and with Crucible's packages first on the path."""
    if not SUPPORTED[0] <= sys.version_info[:2] <= SUPPORTED[1]:
        print(wrong_python(), file=sys.stderr)
        return BAD_INPUT
    sys.path.insert(0, str(Path(__file__).absolute().parents[1]))
    from crucible.subcommands import main  # noqa: PLC0415 - needs a supported Python
    from harness.installation import crucible_packages_first  # noqa: PLC0415

    crucible_packages_first()
    try:
        code = main(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # nothing reads on, as under `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def wrong_python() -> str:
    """Return one line that names this Python and what to use instead."""
    oldest, newest = (".".join(map(str, version)) for version in SUPPORTED)
    return (
        f"crucible: Python {oldest} to {newest} is needed, this is "
        f"{sys.version_info[0]}.{sys.version_info[1]} ({sys.executable}): in a checkout run "
        "`make PYTHON=/path/to/python3.11` and `source .venv/bin/activate`; "
        "elsewhere install v2x-crucible with such a Python"
    )
