"""Drives a sample again and compares: bytes where they must be equal, endings everywhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from analysis.statistics.intervals import clopper_pearson
from crucible.verification.agreement import Agreement, Ending, agreement_of, ending_of
from crucible.verification.driving import (
    Again,
    changed_weights,
    drive_again,
    refuse_strangers,
)
from crucible.verification.machine import Machine, same_kernels, same_on_intel, unlike
from crucible.verification.recomputed import disagreements
from crucible.verification.reference import Reference, changed_files, changed_routes
from crucible.verification.sampling import networks_in, sampled
from crucible.verification.towns import changed_towns, made_towns
from harness.campaign.twins.record_diff import alike, leaves
from harness.nesting import parse_json
from harness.records.digests import digest_of_records
from harness.records.packing.layout import STEPS
from harness.records.packing.parts import PackedAttempt, PackedCampaign, campaigns_in
from harness.records.reading import read_json, read_table

TOWNS = "towns"
ALL = "all"
WITHOUT = "without networks"
LEAST_ALIKE = 0.9
"""Share of systems without networks that end alike on any x86-64 with the same packages."""
MOST_ENTRIES = 3
"""Entries of a result that are named where it differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Redriven:
    """An attempt that was driven again."""

    name: str  # its campaign and key
    network: bool  # whether its system has one
    elsewhere: bool  # whether another processor drove it than the reference's
    same_bytes: bool
    difference: str  # where the records differ first, in words
    original: PackedAttempt
    place: Path
    wrong: tuple[str, ...]  # what of its result its own records contradict


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What driving a sample again has shown."""

    redriven: tuple[Redriven, ...]
    without_result: tuple[str, ...]  # attempts that could not be driven
    changed: tuple[str, ...]  # definitions that are not what they were
    bytes_expected: str  # of which attempts bytes must be equal
    elsewhere: int  # attempts with networks that another processor drove: theirs need not be
    agreement: Mapping[str, Agreement]  # by stratum
    placebo: Agreement | None


def checked(
    reference_file: Path, reference: Reference
) -> tuple[list[str], dict[str, PackedCampaign]]:
    """Return what of a reference's files changed, and its campaigns if nothing has."""
    folder = reference_file.resolve().parent
    if changed := list(changed_files(reference, folder)):
        return changed, {}
    campaigns = campaigns_in([folder / name for name in sorted(reference.packs)])
    return list(changed_routes(reference, campaigns)), campaigns


def ready(reference_file: Path, reference: Reference, again: Again) -> tuple[list[str], Again]:
    """Return which towns changed, and how attempts are driven: with maps and the protocol."""
    folder = reference_file.resolve().parent
    maps = made_towns(reference, folder, again.maps, again.out / TOWNS)
    protocol = None if reference.protocol is None else folder / reference.protocol["file"]
    changed = list(changed_towns(reference, maps))
    return changed, replace(again, maps=maps, protocol=protocol)


def compared(
    reference: Reference,
    campaigns: Mapping[str, PackedCampaign],
    again: Again,
    *,
    count: int,
    seed: int,
    here: Machine,
) -> Comparison:
    """Drive a sample again and compare it."""
    sample = sampled(campaigns, count, seed)
    for name in sample:
        refuse_strangers(campaigns[name], again)
    changed = [
        f"{name}: other weights: {line}"
        for name, attempts in sample.items()
        for line in changed_weights(
            campaigns[name], sorted({attempt.key.arm.system for attempt in attempts})
        )
    ]
    redriven: list[Redriven] = []
    missing: list[str] = []
    for name, attempts in sample.items() if not changed else ():
        places = drive_again(campaigns[name], [attempt.key for attempt in attempts], again)
        for attempt in attempts:
            if attempt.key in places:
                place = places[attempt.key]
                elsewhere = name in reference.elsewhere
                redriven.append(redriven_of(campaigns[name], attempt, place, elsewhere=elsewhere))
            else:
                missing.append(f"{name}/{attempt.key}")
    expected = bytes_expected(reference.machine, here)
    known = agreements(redriven)
    plain = known[WITHOUT] if same_on_intel(reference.machine, here) else None
    return Comparison(
        redriven=tuple(redriven),
        without_result=tuple(missing),
        changed=(*changed, *violations_of(redriven, expected), *too_few_alike(plain)),
        bytes_expected=expected,
        elsewhere=sum(one.elsewhere and one.network for one in redriven),
        agreement=known,
        placebo=reference.of_placebo,
    )


def bytes_expected(there: Machine, here: Machine) -> str:
    """Return of which attempts two machines must give equal bytes."""
    if not unlike(there, here):
        return ALL
    return WITHOUT if same_kernels(there, here) else "none"


def redriven_of(
    campaign: PackedCampaign, attempt: PackedAttempt, place: Path, *, elsewhere: bool
) -> Redriven:
    """Return how an attempt compares with itself driven again."""
    same = digest_of_records(place) == attempt.records
    return Redriven(
        name=f"{campaign.name}/{attempt.key}",
        network=attempt.key.arm.system in networks_in(campaign.settings),
        elsewhere=elsewhere,
        same_bytes=same,
        difference="" if same else first_difference(attempt, place),
        original=attempt,
        place=place,
        wrong=tuple(disagreements(place, campaign.settings["scoring"])),
    )


def first_difference(attempt: PackedAttempt, place: Path) -> str:
    """Return where an attempt's records, driven again, differ first from those that are packed."""
    frames = read_table(place / "frames.parquet", "frames")
    rows: dict[int, list[str]] = {}
    for name in STEPS:
        old, new = attempt.steps(name).to_numpy(zero_copy_only=False), frames[name].to_numpy()
        rows_of_both = min(len(old), len(new))
        unequal = ~alike(old[:rows_of_both], new[:rows_of_both])
        if unequal.any():
            rows.setdefault(int(unequal.argmax()), []).append(name)
    if rows:
        row = min(rows)
        return f"from planning step {row} on, there in {', '.join(rows[row][:MOST_ENTRIES])}"
    old_entries = dict(leaves(parse_json(attempt.result)))
    new_entries = dict(leaves(read_json(place / "result.json")))
    names = sorted(old_entries.keys() | new_entries.keys())
    entries = [name for name in names if old_entries.get(name) != new_entries.get(name)]
    if entries:
        return f"in the result: {', '.join(entries[:MOST_ENTRIES])}"
    return "in tables that are not packed"


def violations_of(redriven: list[Redriven], expected: str) -> Iterator[str]:
    """Yield what shows that a definition changed: unequal bytes where they must be equal."""
    for one in redriven:
        if must_be_equal(one, expected) and not one.same_bytes:
            yield f"{one.name}: other bytes: {one.difference}"
        for line in one.wrong:
            yield f"{one.name}: result: {line}"


def must_be_equal(one: Redriven, expected: str) -> bool:
    """Return whether an attempt's bytes must be equal: what networks give hangs on who drove."""
    if one.network:
        return expected == ALL and not one.elsewhere
    return expected in (ALL, WITHOUT)


def too_few_alike(plain: Agreement | None) -> Iterator[str]:
    """Yield a line if surely fewer systems without networks end alike than last digits explain."""
    if plain is not None and plain.n and clopper_pearson(plain.alike, plain.n)[1] < LEAST_ALIKE:
        yield (
            f"systems without networks: {plain.alike} of {plain.n} end alike, surely fewer than"
            f" {100 * LEAST_ALIKE:.0f} %; another processor changes last digits only"
        )


def agreements(redriven: list[Redriven]) -> dict[str, Agreement]:
    """Return how far attempts driven again end alike: all of them, and by stratum."""
    strata = {
        ALL: redriven,
        WITHOUT: [one for one in redriven if not one.network],
        "with networks": [one for one in redriven if one.network],
    }
    return {name: agreement_of(map(endings_of, ones)) for name, ones in strata.items()}


def endings_of(one: Redriven) -> tuple[Ending, Ending]:
    """Return how an attempt ended, and how it did when it was driven again."""
    again = read_json(one.place / "result.json")["crucible"]
    return ending_of(one.original.ours), ending_of(again)
