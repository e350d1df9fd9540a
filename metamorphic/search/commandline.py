"""`crucible search | confirm | shrink | curves`: failures searched for in closed loop."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.options import OneLineParser

if TYPE_CHECKING:
    from metamorphic.search.candidates import SearchEvaluation

    Commands = argparse._SubParsersAction[OneLineParser]
    Follow = Callable[["SearchEvaluation"], object]

OPTIONS_WITH_VALUE = ("--config-dir", "--rounds", "--width", "--every", "--proposal")
"""Of the commands that take settings."""
NAMES = {
    "search": "search for disturbances and hazards under which a system fails, or resume it",
    "confirm": "drive a search's findings again with other seeds, and list what is confirmed",
    "shrink": "find the smallest values at which a finding still happens",
    "curves": "print confirmed failures of several searches against budget",
}


def main(arguments: Sequence[str], program: str = "crucible") -> int:
    """Do what the command line asks for; bad input is one line and exit code 2."""
    parser = OneLineParser(prog=program, description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    add_search_parser(commands)
    add_confirm_parser(commands)
    add_shrink_parser(commands)
    add_curves_parser(commands)
    options = parser.parse_args(order_settings_first(arguments))
    from harness.campaign.run import run_with_exit_code  # noqa: PLC0415 - takes a second

    return run_with_exit_code(options.command, lambda: int(options.run(options)))


def order_settings_first(arguments: Sequence[str], before: int = 1) -> list[str]:
    """Return the words with settings next to what they follow, in front of options.

    `before` is how many words stand in front of the configuration's name. Options may stand
    anywhere, which argparse does not allow between words of one list.
    """
    values = {at + 1 for at, word in enumerate(arguments) if word in OPTIONS_WITH_VALUE}
    settings = [
        word
        for at, word in enumerate(arguments)
        if at not in values and "=" in word and not word.startswith("-")
    ]
    others = [word for at, word in enumerate(arguments) if at in values or word not in settings]
    places = [
        at
        for at, word in enumerate(others)
        if at >= before
        and not word.startswith("-")
        and (at == 0 or others[at - 1] not in OPTIONS_WITH_VALUE)
    ]
    first = places[0] + 1 if places else len(others)
    return [*others[:first], *settings, *others[first:]]


def add_search_parser(commands: Commands) -> None:
    """Add `search`."""
    parser = commands.add_parser("search", help=NAMES["search"], description=NAMES["search"])
    add_configuration_arguments(parser)
    parser.add_argument(
        "--study",
        action="store_true",
        help="run and confirm all searches of search.study, one after the other",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="build all classes that files of --config-dir name (default: declared safe only)",
    )
    parser.set_defaults(run=run_search_command)


def add_configuration_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what names a configuration of a search."""
    parser.add_argument("config", metavar="NAME", help="a file of conf/search, without .yaml")
    parser.add_argument(
        "overrides",
        nargs="*",
        metavar="SETTING",
        help="group=choice or setting=value, as of crucible run, such as system=fcooper",
    )
    parser.add_argument(
        "--config-dir",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="folder with configuration files of yours, such as search/mine.yaml (default: none)",
    )


def add_search_folder_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the folder of a search, and how it is driven on."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="a finished search's folder")
    add = parser.add_argument
    add("--workers", type=int, default=1, metavar="N", help="attempts at a time (default: 1)")
    add(
        "--trust",
        action="store_true",
        help="build all classes that the folder's settings name (default: declared safe only)",
    )
    add("--seed", type=int, default=0, metavar="N", help="seed of the repeats (default: 0)")


def add_confirm_parser(commands: Commands) -> None:
    """Add `confirm`."""
    parser = commands.add_parser("confirm", help=NAMES["confirm"], description=NAMES["confirm"])
    add_search_folder_arguments(parser)
    add = parser.add_argument
    add("--redraws", type=int, default=10, metavar="N", help="seeds for each (default: 10)")
    add(
        "--least",
        type=int,
        default=None,
        metavar="N",
        help="seeds that must show the same failure (default: half of --redraws)",
    )
    add(
        "--most",
        type=int,
        default=20,
        metavar="N",
        help="findings, the first of every distinct failure (default: 20)",
    )
    parser.set_defaults(run=run_confirm_command)


def add_shrink_parser(commands: Commands) -> None:
    """Add `shrink`."""
    parser = commands.add_parser("shrink", help=NAMES["shrink"], description=NAMES["shrink"])
    add_search_folder_arguments(parser)
    add = parser.add_argument
    add(
        "--finding",
        type=int,
        action="append",
        default=[],
        metavar="N",
        help="an evaluation that failed; may be repeated (default: all that are confirmed)",
    )
    add("--redraws", type=int, default=5, metavar="N", help="seeds for each probe (default: 5)")
    add(
        "--least",
        type=int,
        default=None,
        metavar="N",
        help="seeds that must show the same failure (default: half of --redraws)",
    )
    add("--budget", type=int, default=60, metavar="N", help="evaluations for each (default: 60)")
    add(
        "--cells",
        type=int,
        default=6,
        metavar="N",
        help="windows up to the violation, as of crucible attribute; 0: none (default: 6)",
    )
    parser.set_defaults(run=run_shrink_command)


def add_curves_parser(commands: Commands) -> None:
    """Add `curves`."""
    parser = commands.add_parser("curves", help=NAMES["curves"], description=NAMES["curves"])
    parser.add_argument(
        "folders",
        type=Path,
        nargs="+",
        metavar="DIR",
        help="folders of confirmed searches, or of a study with such folders in it",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="build all classes that the folders' settings name (default: declared safe only)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="write findings, a curve and a map for each system there (default: nothing)",
    )
    parser.set_defaults(run=run_curves_command)


def run_search_command(options: argparse.Namespace) -> int:
    """Search, and print what came of it."""
    from metamorphic.search.configuration import compose_search_config, plan_search  # noqa: PLC0415
    from metamorphic.search.searching import plan_search_study  # noqa: PLC0415

    if options.study:
        study = plan_search_study(
            options.config, options.overrides, options.config_dir, trust=options.trust
        )
        for ready in study.searches:
            search_and_print(ready)
            confirm_and_print(ready, study.confirming)
        return show_search_curves([ready.folder for ready in study.searches], trust=True)
    config = compose_search_config(
        options.config, options.overrides, options.config_dir, trust=options.trust
    )
    ready = plan_search(config)
    return search_and_print(ready)


def search_and_print(ready: Any) -> int:
    """Run one search, with its table at the end."""
    from harness.campaign.printing.terminal import console, print_unwrapped_line  # noqa: PLC0415
    from harness.campaign.run import DONE, SOME_FAILED  # noqa: PLC0415
    from metamorphic.search import searching, tables  # noqa: PLC0415

    before = searching.count_done_evaluations(ready)
    mode = ready.campaign["progress"]
    if before and mode in ("live", "plain"):
        print_unwrapped_line(f"{before} of {ready.search.budget} evaluations are done already")
    with follow_evaluations(mode, ready.search.budget, before) as progress:
        evaluations = searching.drive_search(ready, progress)
    console.print(tables.render_search_summary(ready.search, evaluations))
    print_unwrapped_line(tables.NO_RATE)
    print_unwrapped_line(f"records: {ready.folder}")
    whole = all(evaluation.outcome.has_result for evaluation in evaluations)
    return DONE if whole else SOME_FAILED


def confirm_and_print(ready: Any, confirming: Any) -> None:
    """Confirm a search of a study, on the workers of the study."""
    from harness.campaign.printing.terminal import console  # noqa: PLC0415
    from metamorphic.search.confirming import confirm_search  # noqa: PLC0415
    from metamorphic.search.folders import read_search  # noqa: PLC0415
    from metamorphic.search.tables import render_confirmations_table  # noqa: PLC0415

    workers = ready.campaign["executor"].get("workers", 1)
    searched = read_search(ready.folder, workers=workers, trust=True)
    total = len(confirming.chosen(searched)) * confirming.repeats.count
    with follow_evaluations(ready.campaign["progress"], total, 0) as progress:
        confirmations = confirm_search(searched, confirming, progress)
    console.print(render_confirmations_table(searched.evaluations, confirmations))


def run_confirm_command(options: argparse.Namespace) -> int:
    """Confirm findings, and print them all."""
    from harness.campaign.printing.terminal import console, print_unwrapped_line  # noqa: PLC0415
    from metamorphic.search.confirming import CONFIRM, ConfirmationSettings, confirm_search  # noqa: PLC0415
    from metamorphic.search.folders import read_search  # noqa: PLC0415
    from metamorphic.search.tables import NO_RATE, render_confirmations_table  # noqa: PLC0415

    confirming = ConfirmationSettings(repeats=build_repeat_rule(options), most=options.most)
    searched = read_search(options.folder, workers=options.workers, trust=options.trust)
    total = len(confirming.select_findings(searched)) * options.redraws
    with follow_evaluations("live", total, 0) as progress:
        confirmations = confirm_search(searched, confirming, progress)
    console.print(render_confirmations_table(searched.evaluations, confirmations))
    left = len(searched.findings) - len(confirmations)
    if left:
        print_unwrapped_line(
            f"{left} further distinct failures were not repeated: --most {options.most}"
        )
    print_unwrapped_line(NO_RATE)
    print_unwrapped_line(f"records: {options.folder / CONFIRM}")
    return 0


def run_shrink_command(options: argparse.Namespace) -> int:
    """Shrink findings, and print them."""
    from harness.campaign.printing.terminal import console, print_unwrapped_line  # noqa: PLC0415
    from harness.errors import UserError  # noqa: PLC0415
    from metamorphic.search import shrinking  # noqa: PLC0415
    from metamorphic.search.confirming import read_confirmations  # noqa: PLC0415
    from metamorphic.search.folders import read_search  # noqa: PLC0415
    from metamorphic.search.tables import render_shrunk_table  # noqa: PLC0415

    settings = shrinking.ShrinkSettings(
        repeats=build_repeat_rule(options), budget=options.budget, cells=options.cells
    )
    searched = read_search(options.folder, workers=options.workers, trust=options.trust)
    confirmations = [] if options.finding else read_confirmations(searched)
    findings = shrinking.select_findings_to_shrink(searched, confirmations, options.finding)
    if not findings:
        raise UserError(f"{options.folder}: no finding is confirmed; --finding N names one")
    smallest = []
    for finding in findings:
        print_unwrapped_line(f"evaluation {finding.candidate.number}: {finding.outcome.outcome}")
        with follow_evaluations("live", options.budget, 0) as progress:
            smallest.append(shrinking.shrink_finding(searched, finding, settings, progress))
    before = [finding.candidate.values for finding in findings]
    console.print(render_shrunk_table(before, smallest, searched.ready.campaign["tick"]))
    print_unwrapped_line(f"records: {options.folder / shrinking.SHRINK}")
    return 0


def build_repeat_rule(options: argparse.Namespace) -> Any:
    """Return how often a failure must happen again."""
    from harness.errors import UserError  # noqa: PLC0415
    from metamorphic.search.confirm import RepeatRule  # noqa: PLC0415

    for name in ("workers", "redraws", "most", "budget"):
        if getattr(options, name, 1) < 1:
            raise UserError(f"--{name} {getattr(options, name)}: must be ≥ 1")
    if getattr(options, "cells", 0) < 0:
        raise UserError(f"--cells {options.cells}: must be ≥ 0")
    least = -(-options.redraws // 2) if options.least is None else options.least
    return RepeatRule(count=options.redraws, least=least, seed=options.seed)


def run_curves_command(options: argparse.Namespace) -> int:
    """Print the tables of several searches."""
    from harness.errors import UserError  # noqa: PLC0415
    from metamorphic.search.folders import get_ledger_file  # noqa: PLC0415

    folders = [
        place
        for folder in options.folders
        for place in (folder, *sorted(folder.glob("*/*")))
        if get_ledger_file(place).is_file() and place.name not in ("confirm", "shrink")
    ]
    if not folders:
        raise UserError(f"{options.folders[0]}: no search in it")
    return show_search_curves(folders, trust=options.trust, out=options.out)


def show_search_curves(folders: Sequence[Path], *, trust: bool, out: Path | None = None) -> int:
    """Print searches side by side; write findings and figures if there is a place for them."""
    from harness.campaign.printing.terminal import console, print_unwrapped_line  # noqa: PLC0415
    from harness.errors import UserError  # noqa: PLC0415
    from metamorphic.search import tables  # noqa: PLC0415
    from metamorphic.search.folders import read_search  # noqa: PLC0415

    searches = [read_search(folder, trust=trust) for folder in folders]
    curves = [tables.SearchCurve.from_search(searched) for searched in searches]
    if len({len(one.curve) for one in curves}) > 1:
        raise UserError("curves: all searches must have the same budget")
    console.print(tables.render_searches_table(curves))
    console.print(tables.render_guidances_table(curves))
    print_unwrapped_line(tables.NO_RATE)
    if out is not None:
        from metamorphic.search.figures import write_search_figures  # noqa: PLC0415

        for file in write_search_figures(searches, curves, out):
            print_unwrapped_line(f"written: {file}")
    return 0


@contextmanager
def follow_evaluations(mode: str, total: int, before: int) -> Iterator[Follow]:
    """Follow evaluations: a bar on a terminal, plain lines, JSON lines, or nothing."""
    import json  # noqa: PLC0415

    from rich.progress import MofNCompleteColumn, Progress  # noqa: PLC0415

    from harness.campaign.printing.terminal import console, print_unwrapped_line  # noqa: PLC0415

    if mode == "live" and console.is_terminal:
        with Progress(*Progress.get_default_columns(), MofNCompleteColumn()) as progress:
            bar = progress.add_task("evaluations", total=total, completed=before)
            yield lambda _: progress.advance(bar)
    elif mode in ("live", "plain"):
        yield lambda one: print_unwrapped_line(
            f"  {one.candidate.number + 1} of {total}: {format_evaluation_line(one)}"
        )
    elif mode == "json":
        yield lambda one: print(json.dumps(one.to_record()), flush=True)
    else:
        yield lambda _: None


def format_evaluation_line(evaluation: SearchEvaluation) -> str:
    """Return an evaluation on one line."""
    from metamorphic.search.configuration import format_parameter_values  # noqa: PLC0415

    return f"{evaluation.outcome.outcome}  ({format_parameter_values(evaluation.candidate.values)})"
