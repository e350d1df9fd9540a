"""Attribution at the command line: what disturbances have to do with violations."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from rich.markup import escape

from harness.campaign.printing.terminal import console, print_campaign_line
from harness.campaign.run import DONE, run_with_exit_code
from harness.campaign.twins.twins import CampaignTwins
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.fitting_table import FittingTable
from harness.records.cases import find_case, list_violations
from harness.records.keys import AttemptKey
from harness.records.reading import CampaignRecords
from harness.records.twins import TWINS
from studies.attribution.driving import (
    ALL,
    AttemptAttribution,
    compute_attribution,
    refuse_too_fine,
    split_into_windows,
)

COMMAND = CommandDeclaration(
    group="Campaigns",
    rank=40,
    purpose="test by twins whether a violation needed the disturbance, and when",
    extra="run",
    examples=(
        "crucible attribute runs/demo",
        "crucible attribute runs/demo 3 --placebos 10 --workers 2",
    ),
)


LEAST_PLACEBOS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible attribute` takes."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="a campaign's folder")
    parser.add_argument(
        "cases",
        nargs="*",
        default=[],
        metavar="CASE",
        help="violations, by number or name (default: all violations under a disturbance)",
    )
    parser.add_argument(
        "--placebos",
        type=int,
        default=LEAST_PLACEBOS,
        metavar="N",
        help="number of twins with new random samples, at least %(default)s (default: %(default)s)",
    )
    parser.add_argument(
        "--cells",
        type=int,
        default=6,
        metavar="N",
        help="number of windows up to the violation (default: %(default)s)",
    )
    parser.add_argument(
        "--workers",
        type=int,
        default=1,
        metavar="N",
        help="attempts at a time (default: %(default)s)",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help=(
            "build all classes that the folder's settings name (default: only classes that"
            " declare safe_from_file)"
        ),
    )
    parser.set_defaults(
        run=lambda options: run_with_exit_code("attribute", lambda: run_attribute_command(options))
    )


def run_attribute_command(options: argparse.Namespace) -> int:
    """Drive the twins of every case, and print what came of them."""
    if options.placebos < LEAST_PLACEBOS:
        raise UserError(f"--placebos {options.placebos}: {LEAST_PLACEBOS} or more are needed")
    if options.cells < 1:
        raise UserError(f"--cells {options.cells}: must be ≥ 1")
    # every case is checked before the first twin is driven: driving takes hours
    campaign = CampaignRecords(options.folder)
    twins = CampaignTwins(options.folder, options.workers, "plain", options.trust)
    settings = campaign.header["settings"]
    chosen = []
    for key in select_cases(campaign, options.cases):
        violation = campaign.read_result(key)["crucible"]["violation"]
        cells = split_into_windows(violation["frame"], settings["perceive_every"], options.cells)
        refuse_too_fine(key, cells)
        chosen.append((key, violation, cells))
    # drive
    attributions = []
    for key, violation, cells in chosen:
        print_campaign_line(
            f"{key}: {violation['kind'].replace('_', ' ')} at {violation['time']:.2f} s"
        )
        attributions.append(
            compute_attribution(
                twins, key, kind=violation["kind"], cells=cells, placebos=options.placebos
            )
        )
    console.print(build_attribution_table(attributions, settings["tick"]))
    print_campaign_line(f"twins: {options.folder / TWINS}; `crucible report` reads them")
    return DONE


def select_cases(campaign: CampaignRecords, names: list[str]) -> list[AttemptKey]:
    """Return the violations of these names, or all that happened under a disturbance."""
    disturbed = {
        name
        for name, disturbances in campaign.header["settings"]["interference"].items()
        if disturbances
    }
    if not names:
        keys = [key for key in list_violations(campaign) if key.arm.condition in disturbed]
        if not keys:
            raise UserError(f"{campaign.folder}: no violation happened under interference")
        return keys
    chosen = [find_case(campaign, name) for name in names]
    for key in chosen:
        if key.arm.condition not in disturbed:
            raise UserError(f"{key}: nothing was disturbed, so nothing can be attributed")
        if campaign.read_result(key)["crucible"]["violation"] is None:
            raise UserError(f"{key}: ended without a violation")
    return chosen


def build_attribution_table(attributions: list[AttemptAttribution], tick: float) -> FittingTable:
    """Return a row for every case."""
    table = FittingTable("case", "violation", "without", "resampled", "smallest windows found, s")
    table.columns[0].overflow = "fold"
    for attribution in attributions:
        table.add_row(
            escape(str(attribution.of)),
            attribution.kind.replace("_", " "),
            escape(", ".join(describe_attribution(attribution))),
            f"{sum(attribution.resampled)} of {len(attribution.resampled)}",
            describe_windows(attribution, tick),
        )
    return table


def describe_attribution(one: AttemptAttribution) -> Iterator[str]:
    """Yield what happened without each disturbance."""
    if not one.again:
        yield "not repeated: no attribution"
        return
    for name, happened in one.without.items():
        what = "happens too" if happened else "does not happen"
        yield what if name == ALL else f"without {name}: {what}"


def describe_windows(one: AttemptAttribution, tick: float) -> str:
    """Return the windows in seconds."""
    if one.windows is None:
        return "-"
    return ", ".join(f"{first * tick:.1f} to {end * tick:.1f}" for first, end in one.windows)
