"""Pack at the command line: campaigns as one small file, from which all tables are made again."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.campaign.folder.campaign_folder import load_campaign_header
from harness.campaign.printing.terminal import console, print_campaign_line
from harness.campaign.settings.computing import refuse_unrepeatable
from harness.common.command_registry import CommandDeclaration
from harness.common.fitting_table import FittingTable
from harness.records.packing.pack import pack_campaigns

COMMAND = CommandDeclaration(
    group="Studies",
    rank=10,
    purpose="pack campaigns into one small file, which is enough for all tables",
    extra="run",
    examples=(
        "crucible pack runs/main --out part-1.parquet",
        "crucible pack runs/main runs/placebo --out part-2.parquet --without part-1.parquet",
    ),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible pack` takes."""
    parser.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="campaign folders")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="Parquet file to write"
    )
    parser.add_argument(
        "--without",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help=("earlier parts; attempts and routes of earlier parts are left out (default: none)"),
    )
    parser.set_defaults(run=run_pack_command)


def run_pack_command(options: argparse.Namespace) -> int:
    """Pack, and print what went in."""
    for folder in options.folders:
        header = load_campaign_header(folder / "campaign.yaml")
        refuse_unrepeatable(folder, header["settings"], "a packed study")
    packed = pack_campaigns(options.folders, options.out, options.without)
    table = FittingTable()
    table.add_column("campaign")
    for name in ("attempts", "in earlier parts", "planning steps"):
        table.add_column(name, justify="right")
    for one in packed:
        table.add_row(one.campaign, str(one.attempts), str(one.earlier), str(one.steps))
    console.print(table)
    size, attempts = options.out.stat().st_size, sum(one.attempts for one in packed)
    share = f", {size / attempts:,.0f} an attempt" if attempts else ""
    print_campaign_line(f"{options.out}: {size:,} bytes{share}")
    return 0
