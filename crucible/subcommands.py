"""The front door: one command with a subcommand for everything that the packages can do.

A subcommand is one file that declares itself (`harness/common/command_registry.py`); its module is
imported when it is asked for, so that each needs its own packages only.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.metadata import version

BAD_INPUT = 2
FIRST_EXAMPLES = """examples:
  crucible run                                        four routes, three arms
  crucible run study=demo out=runs/demo               the same command resumes
  crucible status runs/demo
  crucible report runs/demo
  crucible serve --port 2000
"""


def dispatch_subcommand(arguments: Sequence[str]) -> int:
    """Run one subcommand; bad input is one line and exit code 2."""
    name, rest = (arguments[0], list(arguments[1:])) if arguments else ("--help", [])
    if name in {"-h", "--help", "help"}:
        print(format_help())
        return 0 if arguments else BAD_INPUT
    if name in {"-V", "--version"}:
        print(f"crucible {version('v2x-crucible')}")
        return 0
    from harness.common.command_registry import find_subcommand  # noqa: PLC0415 - the path is set by now
    from harness.common.command_running import describe_unknown_subcommand, run_subcommand  # noqa: PLC0415
    from harness.common.terminal_lines import print_problem  # noqa: PLC0415

    chosen = find_subcommand(name)
    if chosen is None:
        print_problem(f"crucible: {describe_unknown_subcommand(name)}")
        return BAD_INPUT
    return run_subcommand(chosen, rest, f"crucible {name}")


def format_help() -> str:
    """Return what `crucible --help` prints."""
    from harness.common.command_registry import group_subcommands, list_subcommands  # noqa: PLC0415
    from harness.common.terminal_lines import break_for_stream  # noqa: PLC0415

    subcommands = list_subcommands()
    width = max(map(len, subcommands))
    lines = ["usage: crucible SUBCOMMAND ...", "", "Closed-loop tests of cooperative driving.", ""]
    for group, members in group_subcommands(subcommands.values()).items():
        lines.append(f"{group}:")
        margin = " " * (width + 4)
        for one in members:
            line = f"  {one.name:<{width}}  {one.declaration.purpose}"
            lines.append(break_for_stream(line, sys.stdout, margin=margin))
        lines.append("")
    last = "`crucible SUBCOMMAND --help` lists options and examples."
    return "\n".join([*lines, FIRST_EXAMPLES, last])
