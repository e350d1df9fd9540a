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
    sys.exit(start_subcommand(sys.argv[1:]))


def start_run_subcommand() -> None:
    """Run `crucible run`, which needs no installation in a checkout."""
    sys.exit(start_subcommand(["run", *sys.argv[1:]]))


def start_subcommand(arguments: list[str]) -> int:
    """Run a subcommand with a supported Python, and with Crucible's packages first on the path."""
    if not SUPPORTED[0] <= sys.version_info[:2] <= SUPPORTED[1]:
        print(describe_wrong_python(), file=sys.stderr)
        return BAD_INPUT
    sys.path.insert(0, str(Path(__file__).absolute().parents[1]))
    from crucible.subcommands import dispatch_subcommand  # noqa: PLC0415 - needs a supported Python
    from harness.common.installation import import_crucible_packages  # noqa: PLC0415

    import_crucible_packages()
    try:
        code = dispatch_subcommand(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # nothing reads on, as under `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def describe_wrong_python() -> str:
    """Return one line that names this Python and what to use instead."""
    oldest, newest = (".".join(map(str, version)) for version in SUPPORTED)
    return (
        f"crucible: Python {oldest} to {newest} is needed, this is "
        f"{sys.version_info[0]}.{sys.version_info[1]} ({sys.executable}): in a checkout run "
        "`make PYTHON=/path/to/python3.11` and `source .venv/bin/activate`; "
        "elsewhere install v2x-crucible with such a Python"
    )
