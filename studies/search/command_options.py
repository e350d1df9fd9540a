"""What `crucible search`, `confirm`, `shrink`, `curves` and `rate` share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

OPTIONS_WITH_VALUE = ("--config-dir", "--rounds", "--width", "--every", "--proposal")
"""Of the commands that take settings."""


def end_as_campaign(
    name: str, work: Callable[[argparse.Namespace], int]
) -> Callable[[argparse.Namespace], int]:
    """Return a command that errors and signals end as they end a campaign: it drives too.

    Args:
        name: of the command, for messages.
        work: what it does; returns the exit code.
    """

    def run_and_end(options: argparse.Namespace) -> int:
        from harness.campaign.run import run_with_exit_code  # noqa: PLC0415 - takes a second

        return run_with_exit_code(name, lambda: int(work(options)))

    return run_and_end


def order_settings_first(arguments: Sequence[str], before: int) -> list[str]:
    """Return the words with settings next to what they follow, in front of options.

    `before` is how many words stand in front of the configuration's name. Options may stand
    anywhere, which argparse does not allow between words of one list.

    Args:
        arguments: words of the command line.
        before: words in front of the configuration's name.
    """
    # words that are the value of an option are no settings
    values = {at + 1 for at, word in enumerate(arguments) if word in OPTIONS_WITH_VALUE}
    settings = [
        word
        for at, word in enumerate(arguments)
        if at not in values and "=" in word and not word.startswith("-")
    ]
    others = [word for at, word in enumerate(arguments) if at in values or word not in settings]
    # behind the configuration's name, wherever options stand
    places = [
        at
        for at, word in enumerate(others)
        if at >= before
        and not word.startswith("-")
        and (at == 0 or others[at - 1] not in OPTIONS_WITH_VALUE)
    ]
    first = places[0] + 1 if places else len(others)
    return [*others[:first], *settings, *others[first:]]


def add_configuration_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what names a configuration of a search."""
    parser.add_argument("config", metavar="NAME", help="a file of conf/search, without .yaml")
    parser.add_argument(
        "overrides",
        nargs="*",
        default=[],
        metavar="SETTING",
        help="group=choice or setting=value, as in crucible run, such as system=fcooper",
    )
    parser.add_argument(
        "--config-dir",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="folder with your configuration files, such as search/mine.yaml (default: none)",
    )


def add_search_folder_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the folder of a search, and how it is driven on."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="a finished search's folder")
    add = parser.add_argument
    add("--workers", type=int, default=1, metavar="N", help="attempts at a time (default: 1)")
    add(
        "--trust",
        action="store_true",
        help=(
            "build all classes that the folder's settings name (default: only classes that"
            " declare safe_from_file)"
        ),
    )
    add("--seed", type=int, default=0, metavar="N", help="seed of the repeats (default: 0)")


def build_repeat_rule(options: argparse.Namespace) -> Any:
    """Return how often a failure must happen again."""
    from harness.common.errors import UserError  # noqa: PLC0415
    from studies.search.confirm import RepeatRule  # noqa: PLC0415

    for name in ("workers", "redraws", "most", "budget"):
        if getattr(options, name, 1) < 1:
            raise UserError(f"--{name} {getattr(options, name)}: must be ≥ 1")
    if getattr(options, "cells", 0) < 0:
        raise UserError(f"--cells {options.cells}: must be ≥ 0")
    least = -(-options.redraws // 2) if options.least is None else options.least
    return RepeatRule(count=options.redraws, least=least, seed=options.seed)


def show_search_curves(folders: Sequence[Path], *, trust: bool, out: Path | None = None) -> int:
    """Print searches side by side; write findings and figures if there is a place for them.

    Args:
        folders: of searches with one budget.
        trust: build all classes that their settings name.
        out: folder for findings and figures; None: print only.
    """
    from harness.campaign.printing.terminal import console, print_campaign_line  # noqa: PLC0415
    from harness.common.errors import UserError  # noqa: PLC0415
    from studies.search import tables  # noqa: PLC0415
    from studies.search.folders import read_search  # noqa: PLC0415

    # only searches of one budget can be compared
    searches = [read_search(folder, trust=trust) for folder in folders]
    curves = [tables.SearchCurve.from_search(searched) for searched in searches]
    if len({len(one.curve) for one in curves}) > 1:
        raise UserError("curves: all searches must have the same budget")
    console.print(tables.render_searches_table(curves))
    console.print(tables.render_guidances_table(curves))
    print_campaign_line(tables.NO_RATE)
    if out is not None:
        from studies.search.figures import write_search_figures  # noqa: PLC0415

        for file in write_search_figures(searches, curves, out):
            print_campaign_line(f"written: {file}")
    return 0
