"""Systems of your own: are they what a campaign needs?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from agents.commandline import ended


def main(arguments: list[str] | None = None, program: str = "python -m agents") -> int:
    """Do what the command line asks for; bad input is one line and exit code 2."""
    parser = argparse.ArgumentParser(prog=program, description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser("check", help="put a system to all checks")
    check.add_argument("system", help="package.module:Class, or the name of a shipped system")
    check.add_argument("settings", nargs="*", metavar="name=value", help="its arguments")
    check.add_argument(
        "--recording", type=Path, metavar="FILE", help="keep the recorded street, or use it again"
    )
    check.set_defaults(run=run_check)
    options = parser.parse_args(arguments)
    return ended(lambda: int(options.run(options)))


def run_check(options: argparse.Namespace) -> int:
    """Check a system; 0 if nothing failed, 1 if something did."""
    from rich.console import Console  # noqa: PLC0415

    from agents.conformance.examination import Examination  # noqa: PLC0415
    from agents.conformance.making import maker  # noqa: PLC0415
    from agents.conformance.recording import recorded  # noqa: PLC0415
    from agents.conformance.report import show  # noqa: PLC0415

    make = maker(options.system, options.settings)
    make()
    findings = Examination(make, recorded(options.recording)).findings()
    show(options.system, findings, Console())
    return int(any(each.verdict == "failed" for each in findings))


if __name__ == "__main__":
    sys.exit(main())
