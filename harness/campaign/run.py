"""A campaign from its configuration to its table."""

from __future__ import annotations

from omegaconf import DictConfig

from harness.campaign.assignments import write_assignments
from harness.campaign.config import plain
from harness.campaign.console import console_for, show_plan, show_results
from harness.campaign.folder import locked, place, prepare
from harness.campaign.plan import plan
from harness.campaign.runner import Runner

DONE, SOME_FAILED = 0, 1


def run(config: DictConfig) -> int:
    """Run what is left of the campaign; return the exit code."""
    settings = plain(config)
    planned = plan(settings)
    folder = place(settings)
    if settings["dry_run"]:
        show_plan(planned, folder)
        return DONE
    with locked(folder), console_for(settings["progress"], planned, folder) as listener:
        runner = Runner(folder, settings, listener)
        prepare(folder, settings, runner.simulator.name)
        write_assignments(folder, planned.assignments)
        outcomes = runner.run(planned)
    show_results(folder, planned)
    return DONE if all(outcome.done for outcome in outcomes) else SOME_FAILED
