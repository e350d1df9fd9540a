"""Systems and fusion modules of your own: are they what a campaign needs?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from agents.commandline import ended
from harness.options import Parser


def main(arguments: list[str] | None = None, program: str = "python -m agents") -> int:
    """Do what the command line asks for; bad input is one line and exit code 2."""
    parser = Parser(prog=program, description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser("check", help="put a system or a fusion module to all checks")
    check.add_argument(
        "system",
        metavar="NAME",
        help="package.module:Class of a system or a fusion module, or the name of a shipped system",
    )
    check.add_argument("settings", nargs="*", metavar="name=value", help="its arguments")
    check.add_argument(
        "--recording", type=Path, metavar="FILE", help="keep the recorded street, or use it again"
    )
    check.set_defaults(run=run_check)
    options = parser.parse_args(arguments)
    return ended(lambda: int(options.run(options)))


def run_check(options: argparse.Namespace) -> int:
    """Check a system or a fusion module; 0 if nothing failed, 1 if something did."""
    from rich.console import Console  # noqa: PLC0415

    from agents.conformance.examination import Examination  # noqa: PLC0415
    from agents.conformance.findings import show  # noqa: PLC0415
    from agents.conformance.instantiation import maker  # noqa: PLC0415
    from agents.conformance.recording import recorded  # noqa: PLC0415

    make = maker(options.system, options.settings)
    if is_fusion_module(make()):
        from agents.conformance.fusion_check import FusionExamination  # noqa: PLC0415

        findings = FusionExamination(make).findings()
        show(f"{options.system} as a fusion module", findings, Console())
    else:
        findings = Examination(make, recorded(options.recording)).findings()
        show(f"{options.system} as a system under test", findings, Console())
    return int(any(each.verdict == "failed" for each in findings))


def is_fusion_module(made: object) -> bool:
    """Return whether something is an intermediate fusion module; if so, torch is loaded."""
    base = sys.modules.get("agents.perception.fusion.base")
    return base is not None and isinstance(made, base.IntermediateFusion)


if __name__ == "__main__":
    sys.exit(main())
