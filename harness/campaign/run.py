"""A campaign from its configuration to its table."""

from __future__ import annotations

import sys

from omegaconf import DictConfig

from harness.campaign.assignments import write_assignments
from harness.campaign.checking import refuse_misshapen
from harness.campaign.config import plain
from harness.campaign.folder import locked, place, prepare, refuse_foreign
from harness.campaign.plan import plan
from harness.campaign.progress import followed
from harness.campaign.runner import Runner
from harness.campaign.tables import show_plan, show_results
from harness.errors import UserError

DONE, SOME_FAILED, BAD_INPUT = 0, 1, 2


def run(config: DictConfig) -> int:
    """Run what is left of the campaign; return the exit code."""
    try:
        return run_or_refuse(config)
    except UserError as problem:
        print(f"run_campaign: {problem}", file=sys.stderr)
        return BAD_INPUT


def run_or_refuse(config: DictConfig) -> int:
    """Run what is left, unless something must be put right first."""
    settings = plain(config)
    refuse_misshapen(settings)
    planned = plan(settings)
    folder = place(settings)
    refuse_foreign(folder, settings)
    if settings["dry_run"]:
        show_plan(planned, folder)
        return DONE
    with locked(folder), followed(settings["progress"], planned, folder) as listener:
        runner = Runner(folder, settings, listener)
        prepare(folder, settings, runner.simulator.name)
        write_assignments(folder, planned.assignments)
        outcomes = runner.run(planned)
    show_results(folder, planned)
    return DONE if all(outcome.done for outcome in outcomes) else SOME_FAILED
