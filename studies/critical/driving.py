"""At which size of a disturbance the outcome of an attempt flips, by twins.

All attempts are searched together, round by round: what a round tries depends on outcomes only, so
that the same command resumes, and any number of workers writes the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from harness.campaign.folder.assignments import read_assignment
from harness.campaign.planning.compatibility import find_unfit_arms, is_without_messages
from harness.campaign.planning.plan import get_maps_folder
from harness.campaign.planning.scenes import refuse_unfit_scenes
from harness.campaign.printing.tables import format_quantity
from harness.campaign.settings.declared import CampaignSettings
from harness.campaign.twins.resized import SizedTwin, SizeGrid
from harness.campaign.twins.twins import CampaignTwins
from harness.common.errors import UserError
from harness.common.safe_reading import sum_of_file
from harness.records.arms import NONE
from harness.records.critical import OutcomeFlip, PlaceboDrives, SearchedAttempt
from harness.records.keys import AttemptKey
from studies.critical.bisection import choose_next_sizes, find_flips

Numbered = Mapping[int, str | None]
"""By the number of a size, the kind of violation: empty for none, nothing without a result."""
SAME_DRIVE = "frames.parquet"
"""The table that two drives share only if the ego did the same in both at every step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticalPlan:
    """What is searched."""

    name: str  # of the disturbance
    grid: SizeGrid
    placebo: str
    placebos: int  # on each side of a flip


def search_critical_sizes(
    twins: CampaignTwins,
    keys: Sequence[AttemptKey],
    plan: CriticalPlan,
    report: Callable[[str], None],
) -> list[SearchedAttempt]:
    """Return the sizes at which attempts flip; keys are those of attempts under `none`."""
    tried: dict[AttemptKey, dict[int, str | None]] = {key: {} for key in keys}
    while asked := [
        (key, number)
        for key in keys
        for number in choose_next_sizes(map_violations(tried[key]), plan.grid.coarse)
    ]:
        sizes = format_quantity(len(asked), "size")
        attempts = format_quantity(len({key for key, _ in asked}), "attempt")
        report(f"{sizes} of {plan.name} in {attempts}")
        driven = [make_sized_twin(plan, key, number) for key, number in asked]
        twins.drive_twins(driven)
        endings = twins.read_endings(driven)
        for (key, number), twin in zip(asked, driven, strict=True):
            tried[key][number] = endings[twin.key]
    return with_placebos(twins, tried, plan, report)


def select_reached_attempts(
    twins: CampaignTwins, keys: Sequence[AttemptKey], plan: CriticalPlan
) -> tuple[list[AttemptKey], list[str]]:
    """Return the attempts that the disturbance and the placebo reach, and why others are left out.

    Sizes and placebos that cannot be driven are refused, as a campaign's plan refuses them.
    """
    # one placebo of every size: all conditions that could be driven
    largest = [make_sized_twin(plan, key, number, 1) for key in keys for number in plan.grid.coarse]
    conditions = {twin.key.arm.condition: twin.make_parts() for twin in largest}
    settings: CampaignSettings = {
        **twins.settings,
        "interference": {**twins.settings["interference"], **conditions},
    }
    routes = [read_assignment(twins.campaign, route) for route in sorted({k.route for k in keys})]
    refuse_unfit_scenes(settings, routes, conditions.keys(), get_maps_folder(settings))
    # arms that receive no messages, or that no disturbance of messages reaches
    arms = list(dict.fromkeys(twin.key.arm for twin in largest))
    deaf = [
        arm
        for arm in arms
        if arm.cooperation == NONE and not is_without_messages(settings, arm.condition)
    ]
    whys = dict.fromkeys(deaf, f"receives no messages, which {plan.name} or its placebo changes")
    if len(deaf) < len(arms):
        whys |= find_unfit_arms(settings, [arm for arm in arms if arm not in deaf])
    # an attempt is left out with the reason of its arm
    without = {arm.replace_factors(condition=NONE): why for arm, why in whys.items()}
    if all(key.arm in without for key in keys):
        raise UserError(f"{twins.campaign}: {plan.name}: {next(iter(without.values()))}")
    left_out = [f"{arm}: {why}; left out" for arm, why in without.items()]
    return [key for key in keys if key.arm not in without], left_out


def map_violations(tried: Numbered) -> dict[int, bool | None]:
    """Return whether there was a violation, by the number of a size."""
    return {number: None if kind is None else bool(kind) for number, kind in tried.items()}


def make_sized_twin(plan: CriticalPlan, key: AttemptKey, number: int, sample: int = 0) -> SizedTwin:
    """Return the twin of a size; with a placebo if it has a sample."""
    placebo = plan.placebo if sample else ""
    return SizedTwin(
        of=key, name=plan.name, size=plan.grid.get_size(number), placebo=placebo, sample=sample
    )


def with_placebos(
    twins: CampaignTwins,
    tried: Mapping[AttemptKey, Numbered],
    plan: CriticalPlan,
    report: Callable[[str], None],
) -> list[SearchedAttempt]:
    """Drive the placebos of both sides of all flips, and return everything."""
    # both sides of every flip
    between = {key: find_flips(map_violations(numbers)) for key, numbers in tried.items()}
    sides = [(key, number) for key, ends in between.items() for number in sorted({*sum(ends, ())})]
    samples = range(1, plan.placebos + 1)
    # placebos of all sides are driven together, so that workers stay busy
    driven = {
        side: [make_sized_twin(plan, side[0], side[1], sample) for sample in samples]
        for side in sides
    }
    listed = [twin for of_side in driven.values() for twin in of_side]
    if listed:
        flips = format_quantity(sum(map(len, between.values())), "flip")
        report(f"{format_quantity(len(listed), 'placebo')} next to {flips}")
        twins.drive_twins(listed)
    endings = twins.read_endings(listed) if listed else {}
    # how many of them end in a violation
    counted = {
        (key, number): summarize_placebos(
            twins, make_sized_twin(plan, key, number), of_side, endings
        )
        for (key, number), of_side in driven.items()
    }
    return [
        SearchedAttempt(
            of=key,
            outcomes={plan.grid.get_size(number): kind for number, kind in sorted(numbers.items())},
            flips=tuple(
                OutcomeFlip(
                    low=plan.grid.get_size(low),
                    high=plan.grid.get_size(high),
                    into=not numbers[low],
                    at_low=counted[key, low],
                    at_high=counted[key, high],
                )
                for low, high in between[key]
            ),
        )
        for key, numbers in tried.items()
    ]


def summarize_placebos(
    twins: CampaignTwins,
    of: SizedTwin,
    driven: Sequence[SizedTwin],
    endings: Mapping[AttemptKey, str | None],
) -> PlaceboDrives:
    """Return how the placebos of one size ended; what drove as without a placebo shows nothing."""
    there = [twin for twin in driven if endings[twin.key] is not None]
    before = sum_of_file(twins.get_twin_path(of) / SAME_DRIVE, within=twins.folder)
    effective = [
        twin
        for twin in there
        if sum_of_file(twins.get_twin_path(twin) / SAME_DRIVE, within=twins.folder) != before
    ]
    return PlaceboDrives(
        sum(bool(endings[twin.key]) for twin in effective), len(effective), len(there)
    )
