"""A campaign from its configuration to its table."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import FrameType

from omegaconf import DictConfig

from harness.campaign.exports.exporting import add_export_listener
from harness.campaign.folder.assignments import write_assignments
from harness.campaign.folder.campaign_folder import (
    get_campaign_path,
    lock_campaign,
    prepare_campaign,
    refuse_foreign,
)
from harness.campaign.folder.inputs import with_inputs
from harness.campaign.folder.summary import summarise_campaign
from harness.campaign.planning.estimate import (
    CampaignEstimate,
    ExpectedAttempts,
    estimate_campaign,
)
from harness.campaign.planning.paces import select_known_paces, update_paces
from harness.campaign.planning.plan import CampaignPlan, plan_campaign
from harness.campaign.planning.validation import refuse_misshapen
from harness.campaign.planning.writable import refuse_unwritable
from harness.campaign.printing.progress import (
    UNKNOWN,
    describe_exhausted_attempts,
    follow_progress,
    print_event,
)
from harness.campaign.printing.tables import (
    count_plan_factors,
    show_beginning,
    show_plan,
    show_results,
)
from harness.campaign.printing.terminal import print_campaign_line
from harness.campaign.printing.throughput import measure_throughput
from harness.campaign.running.executors.interface import Executor, TaskSettings
from harness.campaign.running.executors.local import LocalExecutor
from harness.campaign.running.live import refuse_live, resolve_live_address
from harness.campaign.running.runner import CampaignRunner, InfrastructureError
from harness.campaign.running.work_queue import WorkQueue
from harness.campaign.settings.checkout import with_checkout
from harness.campaign.settings.config import build_part, format_one_line, resolve_settings
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.settings.repeatable import make_attempt_environment
from harness.common.errors import AttemptError, UserError
from harness.common.terminal_lines import print_problem
from harness.records.ledger import list_finished_attempts, rebuild_ledger
from harness.world.simulators import Simulator

MANY_SEEDS = 500
"""Seeds whose plan takes seconds."""
DONE, SOME_FAILED, BAD_INPUT, NO_INFRASTRUCTURE = 0, 1, 2, 3
INTERRUPTED = 130
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def run_campaign_config(config: DictConfig) -> int:
    """Run what is left of the campaign; return the exit code."""
    return run_with_exit_code("crucible run", lambda: run_or_refuse(config))


def run_with_exit_code(name: str, work: Callable[[], int]) -> int:
    """Run the work; errors become one line on stderr and an exit code.

    Args:
        name: of the command, for the message.
        work: returns an exit code.

    Returns:
        0 or 1 from the work; 2 for bad input, 3 for infrastructure.
    """
    try:
        with convert_signals_to_interrupts():
            return work()
    except UserError as problem:
        why, code = str(problem), BAD_INPUT
    except (InfrastructureError, AttemptError, OSError) as problem:
        why, code = format_one_line(problem), NO_INFRASTRUCTURE
    except KeyboardInterrupt:
        why, code = "interrupted; the same command resumes from here", INTERRUPTED
    print_problem(f"{name}: {why}")
    return code


def run_or_refuse(config: DictConfig) -> int:
    """Run what is left, unless the configuration or the folder is refused."""
    # check and plan: nothing is written before this succeeds
    settings = with_checkout(resolve_settings(config))
    refuse_misshapen(settings)
    executor: Executor = build_part(settings["executor"], "executor")
    if len(settings["seeds"]) > MANY_SEEDS:
        print_problem(f"crucible run: planning {len(settings['seeds']):,} seeds ...")
    planned = plan_campaign(settings)
    settings = with_inputs(settings)
    # refuse a folder of other settings, and what this machine cannot do
    folder = get_campaign_path(settings)
    refuse_foreign(folder, settings)
    simulator: Simulator = build_part(settings["simulator"], "simulator")
    here = isinstance(executor, LocalExecutor)
    refuse_live(settings["live"], here)
    if here:  # others' addresses are seen from other machines
        simulator.refuse_town(planned.town)
    if settings["dry_run"]:
        refuse_unwritable(folder)
        show_plan(planned, folder, select_known_paces(settings))
        return DONE
    # write the settings and the routes, then drive
    with lock_campaign(folder):
        prepare_campaign(folder, settings, simulator.name)
        write_assignments(folder, planned.assignments)
        rebuild_ledger(folder)
        # those that finished here are what the speed is measured by
        before = list_finished_attempts(folder)
        estimate = announce_campaign(planned, folder, settings)
        tries = settings["attempts_per_route"]
        queue = WorkQueue(planned.attempts, folder, tries, settings["retry_failed"])
        live = resolve_live_address(settings["live"], here) if queue else None
        began = time.monotonic()
        run_work_queue(
            queue,
            executor,
            folder=folder,
            settings=settings,
            town=planned.town,
            live=live,
            expected=estimate.expected.select_attempts(queue.list_waiting()),
        )
        took = time.monotonic() - began
        speed = measure_throughput(folder, before, tick=settings["tick"], seconds=took)
        # the second queue counts what this run has left undone
        left = WorkQueue(planned.attempts, folder, tries, retry_failed=False)
        if here:
            update_paces(planned, folder, settings, before)
    # results
    rows, faults = summarise_campaign(folder, planned.attempts)
    if settings["progress"] == "json":
        for arm, fault in faults.items():
            print_event(event="arm without effect", arm=dict(arm.factors), message=fault)
        print_event(event="speed", **asdict(speed))
    else:
        truth_filter = settings["patterns"]["truth_filter"]
        show_results(folder, planned, rows, faults, truth_filter=truth_filter)
        if left.progress.given_up:
            print_campaign_line(describe_exhausted_attempts(left.progress))
        if speed.attempts:
            print_campaign_line(str(speed))
    # an arm without effect is a failure, though all of its attempts have a result
    whole = left.progress.done == len(planned.attempts) and not faults
    return DONE if whole else SOME_FAILED


def announce_campaign(
    planned: CampaignPlan, folder: Path, settings: CampaignSettings
) -> CampaignEstimate:
    """Print the plan, the estimate and the folder, before the first try; return the estimate."""
    expected = estimate_campaign(planned, folder, select_known_paces(settings))
    if settings["progress"] in ("live", "plain"):
        show_beginning(planned, folder, expected)
    elif settings["progress"] == "json":
        print_event(
            event="plan",
            **count_plan_factors(planned),
            attempts=len(planned.attempts),
            done=expected.done,
            left=expected.left,
            seconds=None if expected.guests else round(expected.seconds),
            bytes=None if expected.guests else round(expected.bytes),
            folder=str(folder),
        )
    return expected


def run_work_queue(
    queue: WorkQueue,
    executor: Executor,
    *,
    folder: Path,
    settings: CampaignSettings,
    town: str,
    live: str | None = None,
    expected: ExpectedAttempts = UNKNOWN,
) -> None:
    """Run what is in the queue on the executor's worker slots; `live` is a viewer's address.

    Args:
        queue: what is left to drive.
        executor: provides worker slots.
        folder: of the campaign.
        settings: of the campaign.
        town: of all its routes.
        live: address of a viewer; None for none.
        expected: what the attempts are expected to take.
    """
    work = TaskSettings(
        folder=folder.resolve(),
        town=town,
        simulator=settings["simulator"],
        attempt_timeout=settings["attempt_timeout"],
        memory_limit=executor.memory_limit,
        environment=make_attempt_environment(settings),
        directory=Path.cwd(),
        live=live,
    )
    count = min(executor.workers, len(queue))
    with follow_progress(settings["progress"], queue.progress, count, expected) as listener:
        if count:
            exported = add_export_listener(settings, folder, listener)
            with exported as listeners, executor.slots(work, count) as slots:
                CampaignRunner(folder, queue, slots, listeners).run_queue()


@contextmanager
def convert_signals_to_interrupts() -> Iterator[None]:
    """Treat a signal that ends the runner as if Ctrl-C had been pressed.

    Signals that were ignored at the start stay ignored, as `nohup` asks for.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    heard = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, interrupt) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
