"""`crucible search`: failures searched for in closed loop."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.common.command_registry import CommandDeclaration
from studies.search.command_options import (
    add_configuration_arguments,
    end_as_campaign,
    order_settings_first,
    show_search_curves,
)

if TYPE_CHECKING:
    from studies.search.configuration import SearchPlan
    from studies.search.confirm import ConfirmationSettings

COMMAND = CommandDeclaration(
    group="Search",
    rank=10,
    purpose="search for disturbances and hazards under which a system fails, or resume a search",
    extra="run,learn,search",
    examples=(
        "crucible search latency_cut_in executor.workers=2",
        "crucible search latency_cut_in system=fcooper search.sampler=random search.seed=2",
        "crucible search mine --config-dir mine out=runs/mine",
        "crucible search latency_cut_in --study executor.workers=2",
    ),
)


def arrange_arguments(arguments: Sequence[str]) -> list[str]:
    """Return the words with settings where argparse takes them: behind the name."""
    return order_settings_first(arguments, before=0)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `crucible search` takes."""
    add_configuration_arguments(parser)
    parser.add_argument(
        "--study",
        action="store_true",
        help="run and confirm all searches of search.study, one after the other",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help=(
            "build all classes that files of --config-dir name (default: only classes that"
            " declare safe_from_file)"
        ),
    )
    parser.set_defaults(run=end_as_campaign("search", run_search_command))


def run_search_command(options: argparse.Namespace) -> int:
    """Search, and print what came of it."""
    from studies.search.configuration import compose_search_config, plan_search  # noqa: PLC0415
    from studies.search.search import plan_search_study  # noqa: PLC0415

    if options.study:
        study = plan_search_study(
            options.config, options.overrides, options.config_dir, trust=options.trust
        )
        dry = any(ready.campaign["dry_run"] for ready in study.searches)
        for ready in study.searches:
            search_and_print(ready)
            if not dry:
                confirm_and_print(ready, study.confirming)
        if dry:
            return 0
        return show_search_curves([ready.folder for ready in study.searches], trust=True)
    config = compose_search_config(
        options.config, options.overrides, options.config_dir, trust=options.trust
    )
    ready = plan_search(config)
    return search_and_print(ready)


def search_and_print(ready: SearchPlan) -> int:
    """Run one search, with its table at the end; with `dry_run`, print its plan only."""
    from harness.campaign.printing.terminal import console, print_campaign_line  # noqa: PLC0415
    from harness.campaign.run import DONE, SOME_FAILED  # noqa: PLC0415
    from studies.search import search as searching  # noqa: PLC0415
    from studies.search import tables  # noqa: PLC0415
    from studies.search.following import follow_evaluations, show_evaluations_plan  # noqa: PLC0415

    described = searching.describe_search(ready)
    if ready.campaign["dry_run"]:
        show_evaluations_plan(ready, described)
        return DONE
    with follow_evaluations(ready, described) as follower:
        evaluations = searching.drive_search(ready, follower)
    console.print(tables.render_search_summary(ready.search, evaluations))
    print_campaign_line(tables.NO_RATE)
    print_campaign_line(f"records: {ready.folder}")
    if any(evaluation.outcome.failed for evaluation in evaluations):
        print_campaign_line(f"next: crucible confirm {ready.folder}")
    whole = all(evaluation.outcome.has_result for evaluation in evaluations)
    return DONE if whole else SOME_FAILED


def confirm_and_print(ready: SearchPlan, confirming: ConfirmationSettings) -> None:
    """Confirm a search of a study, on the workers of the study."""
    from harness.campaign.printing.terminal import console  # noqa: PLC0415
    from studies.search.confirm import confirm_search  # noqa: PLC0415
    from studies.search.folders import read_search  # noqa: PLC0415
    from studies.search.following import follow_evaluations  # noqa: PLC0415
    from studies.search.tables import render_confirmations_table  # noqa: PLC0415

    workers = ready.campaign["executor"].get("workers", 1)
    searched = read_search(ready.folder, workers=workers, trust=True)
    mode = ready.campaign["progress"]
    driven = confirming.describe_repeats(searched)
    with follow_evaluations(searched.ready, driven, mode=mode) as follower:
        confirmations = confirm_search(searched, confirming, follower)
    console.print(render_confirmations_table(searched.evaluations, confirmations))
