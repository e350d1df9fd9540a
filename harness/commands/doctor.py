"""The doctor at the command line: what this machine has, what is missing, and what helps."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.terminal_lines import print_stdout_line
from harness.doctor.examination import examine_machine
from harness.doctor.finding import DoctorFinding, DoctorPlaces, get_worst_verdict

COMMAND = CommandDeclaration(
    group="Routes and simulators",
    rank=30,
    purpose="check which packages, files and simulators this machine has",
    extra="run",
    examples=(
        "crucible doctor",
        "crucible doctor --root ~/CARLA_0.9.16 --maps maps",
        "crucible doctor --probe localhost:2000",
    ),
)


NARROWEST = 60
COLOURS = {"ok": "green", "warning": "yellow", "fault": "red"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible doctor` takes."""
    parser.add_argument(
        "--root",
        type=Path,
        metavar="DIR",
        help="folder where CARLA is installed (default: $CARLA_ROOT)",
    )
    parser.add_argument(
        "--maps",
        type=Path,
        metavar="DIR",
        help="folder with OpenDRIVE files of further towns (default: none)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs"),
        metavar="DIR",
        help="folder where campaigns are written (default: %(default)s)",
    )
    parser.add_argument(
        "--probe",
        metavar="HOST:PORT",
        help=(
            "compare the CARLA at this address with carlite; reloads the town of the CARLA"
            " (default: no comparison)"
        ),
    )
    parser.add_argument(
        "--town", metavar="NAME", help="town to compare in (default: the loaded town)"
    )
    parser.add_argument(
        "--json",
        nargs="?",
        const="-",
        metavar="FILE",
        help="write all results as JSON to FILE; without FILE: print them (default: a table)",
    )
    parser.set_defaults(
        run=lambda options: (
            run_probe_command(options) if options.probe else run_doctor_command(options)
        )
    )


def run_doctor_command(options: argparse.Namespace) -> int:
    """Examine this machine; exit code 1 where a campaign on carlite cannot run."""
    carla_root = os.environ.get("CARLA_ROOT")
    root = options.root or (Path(carla_root) if carla_root else None)
    findings = list(examine_machine(DoctorPlaces(options.out, root, options.maps)))
    if options.json != "-":
        show_machine_findings(findings)
    write_or_print(options.json, [asdict(finding) for finding in findings])
    return 1 if get_worst_verdict(findings) == "fault" else 0


def run_probe_command(options: argparse.Namespace) -> int:
    """Compare a running CARLA with carlite; exit code 1 where they differ."""
    from harness.doctor.probing import compare_with_carlite  # noqa: PLC0415
    from harness.doctor.report import print_comparison  # noqa: PLC0415

    comparison = compare_with_carlite(options.probe, options.town, options.maps)
    if options.json != "-":
        print_comparison(comparison)
    write_or_print(options.json, asdict(comparison))
    return 1 if comparison.differences else 0


def write_or_print(file: str | None, content: object) -> None:
    """Write everything into a file, or print it."""
    text = json.dumps(content, indent=1)
    if file == "-":
        print(text)
    elif file is not None:
        try:
            Path(file).write_text(text + "\n")
        except OSError as problem:
            raise UserError(f"{file}: cannot be written ({problem.strerror})") from None


def show_machine_findings(findings: Sequence[DoctorFinding]) -> None:
    """Print a table, or plain lines where the terminal shows none."""
    try:
        from rich.text import Text  # noqa: PLC0415

        from harness.common.console import make_console  # noqa: PLC0415
        from harness.common.fitting_table import FittingTable  # noqa: PLC0415
    except ImportError:
        print("\n".join(format_plain_findings(findings)))
        return
    table = FittingTable("check", "", "details", show_lines=False, box=None, padding=(0, 2, 0, 0))
    for finding in findings:
        cure = f"\n-> {finding.cure}" if finding.cure else ""
        verdict = Text(finding.verdict, COLOURS[finding.verdict])
        table.add_row(Text(finding.name), verdict, Text(finding.details + cure))
    make_console().print(table)
    print_stdout_line(format_conclusion(findings))


def format_plain_findings(findings: Sequence[DoctorFinding]) -> list[str]:
    """Return the same as lines."""
    width = max(shutil.get_terminal_size().columns, NARROWEST)
    indent = " " * 29
    lines = []
    for finding in findings:
        text = finding.details + (f" -> {finding.cure}" if finding.cure else "")
        head = f"{finding.name:20}{finding.verdict:9}"
        lines += textwrap.wrap(text, width, initial_indent=head, subsequent_indent=indent)
    return [*lines, format_conclusion(findings)]


def format_conclusion(findings: Sequence[DoctorFinding]) -> str:
    """Return what it comes to."""
    faults = [finding.name for finding in findings if finding.verdict == "fault"]
    if faults:
        return f"a campaign on carlite cannot run: {', '.join(faults)}"
    return "a campaign on carlite can run"
