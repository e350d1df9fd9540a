"""`crucible models check | export`: folders of published models, read and written."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.given_places import (
    refuse_absent_file,
    refuse_absent_folder,
    refuse_file_for_folder,
)
from harness.common.suggestions import describe_unknown_name

COMMAND = CommandDeclaration(
    group="Systems",
    rank=60,
    purpose="check folders of published models, or write one",
    extra="run,learn",
    examples=(
        "crucible models check checkpoints",
        "crucible models check checkpoints/attfuse --scenes data/test --root /data/HEAL",
        "crucible models export v2xvit --weights runs/full/full_v2xvit.safetensors --out exported",
    ),
)
FAILED = 1
NO_MODEL = (
    "no model in it: a model is a folder with config.yaml, with meta.yaml, or with the folders"
    " perception and planning (or planner); or it is NAME.safetensors with its card NAME.json"
)
CHECKING = """Print a row for each published model in a folder: whose code reads it, what it was
made for, and whether it is whole. Lines below the table say what is missing or broken. Nothing of
the model is run, unless --scenes is given. The exit code is 1 if a model fails."""
EXPORTING = """Write a network of size full as a new folder that V2Xverse's code loads: weights,
settings and a card."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible models` takes."""
    actions = parser.add_subparsers(dest="action", required=True)
    action = actions.add_parser(
        "check", help="read published models, and run nothing of them", description=CHECKING
    )
    action.add_argument(
        "folder",
        type=Path,
        metavar="DIR",
        help="a model's folder, or one with models up to four folders below",
    )
    add_scene_options(action)
    action.set_defaults(run=check_models)
    action = actions.add_parser(
        "export", help="write a full network for V2Xverse's code", description=EXPORTING
    )
    action.add_argument(
        "scheme", metavar="SCHEME", help="single, early, late, fcooper, v2vnet, v2xvit or codriving"
    )
    action.add_argument(
        "--weights",
        required=True,
        metavar="FILE",
        help="a full network's, from `crucible train --size full`; or random",
    )
    action.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder")
    action.set_defaults(run=export_weights)


def add_scene_options(parser: argparse.ArgumentParser) -> None:
    """Add what a measurement on recorded scenes takes."""
    add = parser.add_argument_group("average precision on recorded scenes").add_argument
    add(
        "--scenes",
        type=Path,
        metavar="DIR",
        help=(
            "recordings of `crucible collect`, OPV2V's layout, or a campaign with"
            " record.points=true; code of the checkout is run (default: nothing is run)"
        ),
    )
    add(
        "--root",
        metavar="DIR",
        help="checkout of OpenCOOD or HEAL that runs the models; needed (default: none)",
    )
    add(
        "--python",
        metavar="FILE",
        help="the interpreter in which the checkout runs (default: python)",
    )
    add("--most", type=int, metavar="N", help="frames, spread evenly (default: 200)")
    add(
        "--expected",
        type=float,
        metavar="X",
        help="AP@0.5 on the model's own data set, 0 to 1 (default: that of its eval*.yaml)",
    )
    add(
        "--set",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="settings of system=opencood, such as lift=0.1 (default: its defaults)",
    )


def export_weights(options: argparse.Namespace) -> int:
    """Write the folder, and say what is in it."""
    from agents.bundles.model_export import export_model  # noqa: PLC0415 - needs torch
    from agents.perception.fusion.catalogue import SCHEMES  # noqa: PLC0415
    from agents.perception.loading import RANDOM, load_network  # noqa: PLC0415
    from harness.common.console import make_console  # noqa: PLC0415
    from harness.common.terminal_lines import print_plain_line  # noqa: PLC0415

    kind = SCHEMES.get(options.scheme)
    if kind is None:
        valid = [name for name, scheme in SCHEMES.items() if scheme.v2xverse is not None]
        raise UserError(describe_unknown_name("scheme", options.scheme, valid))
    refuse_file_for_folder(options.out, "--out")
    if options.weights != RANDOM:
        refuse_absent_file(Path(options.weights).expanduser(), "--weights")
    try:
        network = load_network(kind(), "full", options.weights)
    except UserError as problem:
        # a table of keys that do not fit is cut to its first one
        first = [" ".join(line.split()) for line in str(problem).splitlines()[:2]]
        why = ", such as ".join(first).removeprefix("system: ")
        hint = "; weights of `crucible train --size full` are needed" if len(first) > 1 else ""
        raise UserError(f"{why}{hint}") from None
    files = export_model(network, options.out, weights=options.weights)
    count = sum(numbers.numel() for numbers in network.parameters())
    names = ", ".join(file.name for file in files)
    print_plain_line(make_console(), f"{options.out}: {names}; {count:,} parameters")
    return 0


def check_models(options: argparse.Namespace) -> int:
    """Print a row for each bundle, then what is to be said of each."""
    from rich.text import Text  # noqa: PLC0415

    from agents.bundles.bundle import find_bundles  # noqa: PLC0415
    from agents.bundles.bundle_check import HEAD, CheckedBundle, check_bundle  # noqa: PLC0415
    from agents.bundles.crucible_weights import (  # noqa: PLC0415
        check_crucible_weights,
        describe_cardless_weights,
        find_crucible_weights,
    )
    from agents.bundles.scene_measuring import (  # noqa: PLC0415
        measure_bundles,
        refuse_scene_options,
    )
    from harness.common.console import make_console  # noqa: PLC0415
    from harness.common.findings import COLOURS  # noqa: PLC0415
    from harness.common.fitting_table import FittingTable  # noqa: PLC0415
    from harness.common.progress_bar import show_bar  # noqa: PLC0415
    from harness.common.terminal_lines import print_plain_line  # noqa: PLC0415

    # options first: they are wrong whatever the folder has
    refuse_scene_options(options)
    refuse_absent_folder(options.folder)
    checks: list[tuple[Path, Callable[[Path], CheckedBundle]]] = [
        *((folder, check_bundle) for folder in find_bundles(options.folder)),
        *((file, check_crucible_weights) for file in find_crucible_weights(options.folder)),
    ]
    without_card = list(describe_cardless_weights(options.folder))
    if not checks:
        raise UserError("; ".join([f"{options.folder}: {NO_MODEL}", *without_card]))
    console = make_console()
    checked = []
    with show_bar("models", len(checks), console=console) as bar:
        for place, check in checks:
            checked.append(check(place))
            bar.advance()
    table = FittingTable(*HEAD)
    for one in checked:
        *cells, verdict = one.list_cells()
        table.add_row(*map(Text, cells), Text(verdict, COLOURS[verdict]))
    console.print(table)
    for one in checked:
        for finding in one.findings:
            if finding.verdict != "passed" or len(checked) == 1:
                line = f"{one.name}: {finding.check} {finding.verdict}: {finding.sentence}"
                print_plain_line(console, line)
    for line in without_card:
        print_plain_line(console, f"note: {line}")
    wrong = sum(one.verdict == "failed" for one in checked)
    print_plain_line(console, f"{len(checked)} checked, {wrong} failed")
    if options.scenes is not None:
        measure_bundles(options, checked)
    return FAILED if wrong else 0
