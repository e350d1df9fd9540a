"""Drives a sample again and compares: bytes where they must be equal, endings everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from analysis.statistics.intervals import compute_clopper_pearson_interval
from crucible.verification.agreement import (
    ComparedEnding,
    EndingAgreement,
    compute_ending_agreement,
    parse_drive_ending,
)
from crucible.verification.driving import (
    RedriveSettings,
    drive_attempts_again,
    list_changed_weights,
    refuse_untrusted_campaign,
)
from crucible.verification.machine import (
    MachinePlatform,
    has_same_kernels,
    is_same_intel_platform,
    list_machine_differences,
)
from crucible.verification.recomputed import find_result_disagreements
from crucible.verification.reference import StudyReference, find_changed_files, find_changed_routes
from crucible.verification.sampling import has_network, sample_attempts
from crucible.verification.tolerance import (
    DIFFERS,
    IDENTICAL,
    WITHIN,
    list_intolerable_differences,
)
from crucible.verification.towns import find_changed_towns, prepare_town_maps
from harness.campaign.settings.computing import refuse_unrepeatable
from harness.campaign.twins.record_diff import compare_columns, iter_record_leaves
from harness.common.nesting import parse_json
from harness.records.digests import hash_attempt_records
from harness.records.packing.layout import STEPS
from harness.records.packing.parts import PackedAttempt, PackedCampaign, read_packed_campaigns
from harness.records.reading import read_json_object, read_stored_table

TOWNS = "towns"
ALL = "all"
WITHOUT = "without networks"
LEAST_ALIKE = 0.9
"""Share of systems without networks that end alike on any x86-64 with the same packages."""
MOST_ENTRIES = 3
"""Entries of a result that are named where it differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RedrivenAttempt:
    """An attempt that was driven again."""

    name: str  # its campaign and key
    network: bool  # whether its system has one
    elsewhere: bool  # whether another processor drove it than the reference's
    same_bytes: bool
    difference: str  # where the records differ first, in words
    original: PackedAttempt
    place: Path
    wrong: tuple[str, ...]  # what of its result its own records contradict
    beyond: tuple[str, ...]  # what differs by more than another processor explains

    @property
    def verdict(self) -> str:
        """Whether it is identical, within the tolerance for another processor, or differs."""
        if self.same_bytes:
            return IDENTICAL
        return DIFFERS if self.beyond else WITHIN


@dataclass(frozen=True, slots=True, kw_only=True)
class RedriveComparison:
    """What driving a sample again has shown."""

    redriven: tuple[RedrivenAttempt, ...]
    without_result: tuple[str, ...]  # attempts that could not be driven
    changed: tuple[str, ...]  # definitions that are not what they were
    bytes_expected: str  # of which attempts bytes must be equal
    elsewhere: int  # attempts with networks that another processor drove: theirs need not be
    agreement: Mapping[str, EndingAgreement]  # by stratum
    placebo: EndingAgreement | None

    @property
    def differ(self) -> bool:
        """Whether an attempt differs by more than another processor explains."""
        return any(one.verdict == DIFFERS for one in self.redriven)


def check_reference_files(
    reference_file: Path, reference: StudyReference
) -> tuple[list[str], dict[str, PackedCampaign]]:
    """Return what of a reference's files changed, and its campaigns if nothing has.

    Args:
        reference_file: the reference.
        reference: its contents.
    """
    folder = reference_file.resolve().parent
    if changed := list(find_changed_files(reference, folder)):
        return changed, {}
    campaigns = read_packed_campaigns([folder / name for name in sorted(reference.packs)])
    for name, campaign in campaigns.items():
        refuse_unrepeatable(name, campaign.settings, "`crucible verify`")
    return list(find_changed_routes(reference, campaigns)), campaigns


def prepare_redrive(
    reference_file: Path, reference: StudyReference, again: RedriveSettings
) -> tuple[list[str], RedriveSettings]:
    """Return which towns changed, and how attempts are driven: with maps and the protocol.

    Args:
        reference_file: the reference.
        reference: its contents.
        again: how attempts are to be driven.
    """
    folder = reference_file.resolve().parent
    maps = prepare_town_maps(reference, folder, again.maps, again.out / TOWNS)
    protocol = None if reference.protocol is None else folder / reference.protocol["file"]
    changed = list(find_changed_towns(reference, maps))
    return changed, replace(again, maps=maps, protocol=protocol)


def drive_and_compare_sample(
    reference: StudyReference,
    campaigns: Mapping[str, PackedCampaign],
    again: RedriveSettings,
    *,
    count: int,
    seed: int,
    here: MachinePlatform,
    exact: bool = False,
) -> RedriveComparison:
    """Drive a sample again and compare it.

    Args:
        reference: what was published.
        campaigns: packed ones, by name.
        again: how attempts are driven.
        count: attempts of the sample.
        seed: of the sample.
        here: this machine.
        exact: all bytes must be equal, whatever machine this is.
    """
    sample = sample_attempts(campaigns, count, seed)
    for name in sample:
        refuse_untrusted_campaign(campaigns[name], again)
    # other weights are other systems: nothing is driven
    changed = [
        f"{name}: other weights: {line}"
        # a campaign at a time, attempt by attempt compared
        for name, attempts in sample.items()
        for line in list_changed_weights(
            campaigns[name], sorted({attempt.key.arm.system for attempt in attempts})
        )
    ]
    redriven: list[RedrivenAttempt] = []
    missing: list[str] = []
    for name, attempts in sample.items() if not changed else ():
        places = drive_attempts_again(campaigns[name], [attempt.key for attempt in attempts], again)
        for attempt in attempts:
            if attempt.key in places:
                place = places[attempt.key]
                elsewhere = name in reference.elsewhere
                redriven.append(
                    compare_redriven_attempt(campaigns[name], attempt, place, elsewhere=elsewhere)
                )
            else:
                missing.append(f"{name}/{attempt.key}")
    # what a difference means depends on the machine
    expected = ALL if exact else determine_expected_bytes(reference.machine, here)
    known = compute_agreement_by_stratum(redriven)
    plain = known[WITHOUT] if is_same_intel_platform(reference.machine, here) else None
    return RedriveComparison(
        redriven=tuple(redriven),
        without_result=tuple(missing),
        changed=(
            *changed,
            *find_definition_changes(redriven, expected, exact=exact),
            *check_ending_agreement(plain),
        ),
        bytes_expected=expected,
        elsewhere=0 if exact else sum(one.elsewhere and one.network for one in redriven),
        agreement=known,
        placebo=reference.of_placebo,
    )


def determine_expected_bytes(there: MachinePlatform, here: MachinePlatform) -> str:
    """Return of which attempts two machines must give equal bytes."""
    if not list_machine_differences(there, here):
        return ALL
    return WITHOUT if has_same_kernels(there, here) else "none"


def compare_redriven_attempt(
    campaign: PackedCampaign, attempt: PackedAttempt, place: Path, *, elsewhere: bool
) -> RedrivenAttempt:
    """Return how an attempt compares with itself driven again."""
    same = hash_attempt_records(place) == attempt.records
    results = parse_json(attempt.result), read_json_object(place / "result.json")
    return RedrivenAttempt(
        name=f"{campaign.name}/{attempt.key}",
        network=has_network(campaign.settings, attempt.key.arm),
        elsewhere=elsewhere,
        same_bytes=same,
        difference="" if same else find_first_difference(attempt, place),
        original=attempt,
        place=place,
        wrong=tuple(find_result_disagreements(place, campaign.settings["scoring"])),
        beyond=() if same else tuple(list_intolerable_differences(*results)),
    )


def find_first_difference(attempt: PackedAttempt, place: Path) -> str:
    """Return where an attempt's records, driven again, differ first from those that are packed."""
    frames = read_stored_table(place / "frames.parquet", "frames")
    rows: dict[int, list[str]] = {}
    # planning steps: the first row of every column that differs
    for name in STEPS:
        old, new = (
            attempt.get_step_column(name).to_numpy(zero_copy_only=False),
            frames[name].to_numpy(),
        )
        # a drive may have ended earlier
        rows_of_both = min(len(old), len(new))
        unequal = ~compare_columns(old[:rows_of_both], new[:rows_of_both])
        if unequal.any():
            rows.setdefault(int(unequal.argmax()), []).append(name)
    if rows:
        row = min(rows)
        return f"from planning step {row} on, there in {', '.join(rows[row][:MOST_ENTRIES])}"
    # else entries of the result
    old_entries = dict(iter_record_leaves(parse_json(attempt.result)))
    new_entries = dict(iter_record_leaves(read_json_object(place / "result.json")))
    names = sorted(old_entries.keys() | new_entries.keys())
    entries = [name for name in names if old_entries.get(name) != new_entries.get(name)]
    if entries:
        return f"in the result: {', '.join(entries[:MOST_ENTRIES])}"
    return "in tables that are not packed"


def find_definition_changes(
    redriven: list[RedrivenAttempt], expected: str, *, exact: bool
) -> Iterator[str]:
    """Yield what shows that a definition changed: unequal bytes where they must be equal."""
    for one in redriven:
        if (exact or should_have_equal_bytes(one, expected)) and not one.same_bytes:
            yield f"{one.name}: other bytes: {one.difference}"
        for line in one.wrong:
            yield f"{one.name}: result: {line}"


def should_have_equal_bytes(one: RedrivenAttempt, expected: str) -> bool:
    """Return whether an attempt's bytes must be equal: what networks give hangs on who drove."""
    if one.network:
        return expected == ALL and not one.elsewhere
    return expected in (ALL, WITHOUT)


def check_ending_agreement(plain: EndingAgreement | None) -> Iterator[str]:
    """Yield a line if surely fewer systems without networks end alike than last digits explain."""
    if (
        plain is not None
        and plain.n
        and compute_clopper_pearson_interval(plain.alike, plain.n)[1] < LEAST_ALIKE
    ):
        yield (
            f"systems without networks: {plain.alike} of {plain.n} end alike, surely fewer than"
            f" {100 * LEAST_ALIKE:.0f} %; another processor changes last digits only"
        )


def compute_agreement_by_stratum(redriven: list[RedrivenAttempt]) -> dict[str, EndingAgreement]:
    """Return how far attempts driven again end alike: all of them, and by stratum."""
    strata = {
        ALL: redriven,
        WITHOUT: [one for one in redriven if not one.network],
        "with networks": [one for one in redriven if one.network],
    }
    return {
        name: compute_ending_agreement(map(read_ending_pair, ones)) for name, ones in strata.items()
    }


def read_ending_pair(one: RedrivenAttempt) -> tuple[ComparedEnding, ComparedEnding]:
    """Return how an attempt ended, and how it did when it was driven again."""
    again = read_json_object(one.place / "result.json")["crucible"]
    return parse_drive_ending(one.original.ours), parse_drive_ending(again)
