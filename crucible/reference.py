"""`crucible reference`: writes reference.json, with which others verify a published study."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.common.command_registry import CommandDeclaration
from harness.common.errors import UserError
from harness.common.options import OneLineParser
from harness.records.arms import NONE
from harness.records.keys import AttemptKey
from harness.records.packing.parts import (
    PackedCampaign,
    read_packed_campaigns,
    read_part,
    split_part,
)

COMMAND = CommandDeclaration(
    group="Studies",
    rank=40,
    purpose="write reference.json, with which others verify a study",
    extra="run,analysis",
    examples=(
        "crucible reference part-1.parquet part-2.parquet --protocol protocol.md --maps towns"
        " --out reference.json",
        "crucible reference part-1.parquet --placebo placebo --out reference.json",
    ),
)


AttemptPlace = tuple[AttemptKey, str]
"""An attempt and the digest of its route."""


def main(arguments: Sequence[str], program: str = "crucible reference") -> int:
    """Do what the command line asks for; bad input is one line and exit code 2."""
    parser = OneLineParser(prog=program, description=__doc__)
    add = parser.add_argument
    add(
        "packs",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="packed files, in the folder of the reference or below",
    )
    add("--out", type=Path, required=True, metavar="FILE", help="reference.json to write")
    add("--protocol", type=Path, metavar="FILE", help="protocol of the study (default: none)")
    add(
        "--maps",
        type=Path,
        metavar="DIR",
        help="folder of the study's OpenDRIVE files (default: towns that come with Crucible)",
    )
    add(
        "--placebo",
        metavar="NAME",
        help="condition whose attempts are repeats with a placebo (default: none)",
    )
    add(
        "--placebo-of",
        default=NONE,
        metavar="NAME",
        help="condition with which the repeats are compared (default: %(default)s)",
    )
    add(
        "--made-by",
        nargs="+",
        action="append",
        default=[],
        metavar="WORD",
        help=("a campaign, and the arguments of its crucible run; may be repeated (default: none)"),
    )
    add(
        "--elsewhere",
        nargs="+",
        default=[],
        metavar="NAME",
        help=(
            "campaigns that another processor drove and whose records name no processor;"
            " bytes of their networks need not be equal (default: none)"
        ),
    )
    options = parser.parse_args(arguments)
    from harness.campaign.run import run_with_exit_code  # noqa: PLC0415 - takes a second

    return run_with_exit_code("reference", lambda: write_study_reference(options))


def write_study_reference(options: argparse.Namespace) -> int:
    """Write the reference, and print what it names."""
    from crucible.verification.machine import detect_machine  # noqa: PLC0415
    from crucible.verification.reference import (  # noqa: PLC0415
        StudyReference,
        compute_pack_digests,
        make_relative_name,
    )
    from crucible.verification.towns import collect_towns, compute_map_digests  # noqa: PLC0415
    from harness.campaign.printing.terminal import print_campaign_line  # noqa: PLC0415
    from harness.campaign.settings.computing import refuse_unrepeatable  # noqa: PLC0415
    from harness.common.protocols import hash_protocol, is_test_town  # noqa: PLC0415
    from harness.records.schema import VERSION  # noqa: PLC0415

    # what was packed
    campaigns = read_packed_campaigns(options.packs)
    folder = options.out.resolve().parent
    held = {str(pack): set(split_part(read_part(pack))) for pack in options.packs}
    packs = compute_pack_digests(options.packs, folder, held)
    # which machine: a reference is of the machine that drove
    machine = detect_machine()
    for campaign in campaigns.values():
        refuse_unrepeatable(campaign.name, campaign.settings, "a reference")
        refuse_other_machine(campaign, machine.versions, machine.python)
    # maps, and the protocol of the test towns among them
    towns = compute_map_digests(collect_towns(campaigns), options.maps)
    tested = sum(map(is_test_town, towns))
    protocol = None
    if options.protocol is not None:
        named = make_relative_name(options.protocol, folder)
        protocol = {"file": named, "sha256": hash_protocol(options.protocol)}
    elif tested:
        raise UserError(f"{min(towns)}: a test town; --protocol FILE must name its protocol")
    # how they were made, and where
    made_by = collect_campaign_overrides(options.made_by, campaigns)
    elsewhere = find_campaigns_driven_elsewhere(options.elsewhere, campaigns, machine.name)
    reference = StudyReference(
        schema=VERSION,
        protocol=protocol,
        count=tested,
        towns=towns,
        campaigns=tuple(
            build_campaign_reference(
                campaign, made_by.get(name), packs[name], elsewhere=name in elsewhere
            )
            for name, campaign in campaigns.items()
        ),
        machine=machine,
        placebo=measure_placebo_agreement(campaigns, options.placebo, options.placebo_of),
    )
    reference.write_json(options.out)
    attempts, count = sum(campaign.attempts for campaign in reference.campaigns), len(campaigns)
    print_campaign_line(
        f"{options.out}: {attempts} attempt{'s' * (attempts != 1)}"
        f" of {count} campaign{'s' * (count != 1)}"
    )
    return 0


def build_campaign_reference(
    campaign: PackedCampaign,
    overrides: tuple[str, ...] | None,
    packs: Mapping[str, str],
    *,
    elsewhere: bool,
) -> Any:
    """Return what the reference says of a campaign."""
    from crucible.verification.reference import CampaignReference  # noqa: PLC0415

    inputs = campaign.settings.get("inputs")
    routes = inputs.get("routes") if isinstance(inputs, dict) else None
    return CampaignReference(
        name=campaign.name,
        digest=str(campaign.contents.get("digest")),
        overrides=overrides,
        arms=tuple(sorted({str(attempt.key.arm) for attempt in campaign.attempts})),
        attempts=len(campaign.attempts),
        routes=routes if isinstance(routes, dict) else {},
        laid=campaign.routes_digest,
        packs=packs,
        elsewhere=elsewhere,
    )


def refuse_other_machine(
    campaign: PackedCampaign, versions: Mapping[str, str], python: str
) -> None:
    """Refuse a campaign that was driven with other packages: its platform is not this one."""
    there = {**campaign.contents.get("versions", {}), "python": campaign.contents.get("python")}
    here: dict[str, object] = {**versions, "python": python}
    for name in sorted(here.keys() | there.keys()):
        if here.get(name) != there.get(name):
            raise UserError(
                f"{campaign.name}: driven with {name} {there.get(name)}, here is {here.get(name)};"
                " write the reference on the machine that drove"
            )


def collect_campaign_overrides(
    given: Sequence[Sequence[str]], campaigns: Mapping[str, PackedCampaign]
) -> dict[str, tuple[str, ...]]:
    """Return the words of each campaign's command line, without paths of one machine."""
    from harness.records.packing.paths import strip_paths  # noqa: PLC0415

    refuse_unknown_campaign("--made-by", [name for name, *_ in given], campaigns)
    return {name: tuple(map(strip_paths, words)) for name, *words in given}


def find_campaigns_driven_elsewhere(
    given: Sequence[str], campaigns: Mapping[str, PackedCampaign], processor: str
) -> set[str]:
    """Return the campaigns of which another processor drove some: as given, or by their records."""
    refuse_unknown_campaign("--elsewhere", given, campaigns)
    by_records = {
        name
        for name, campaign in campaigns.items()
        if any(attempt.processor not in (None, processor) for attempt in campaign.attempts)
    }
    return by_records | set(given)


def refuse_unknown_campaign(
    option: str, names: Sequence[str], campaigns: Mapping[str, PackedCampaign]
) -> None:
    """Refuse names of campaigns that no packed file holds."""
    from harness.common.suggestions import describe_unknown_name  # noqa: PLC0415

    for name in names:
        if name not in campaigns:
            raise UserError(f"{option}: {describe_unknown_name('campaign', name, campaigns)}")


def measure_placebo_agreement(
    campaigns: Mapping[str, PackedCampaign], condition: str | None, original: str
) -> dict[str, Any] | None:
    """Return how far attempts with a placebo agree with those without, None without a placebo."""
    from crucible.verification.agreement import compute_ending_agreement, parse_drive_ending  # noqa: PLC0415

    if condition is None:
        return None
    pairs = [
        (parse_drive_ending(one.ours), parse_drive_ending(other.ours))
        for one, other in iterate_placebo_pairs(campaigns, condition, original)
    ]
    if not pairs:
        raise UserError(f"--placebo {condition}: no attempt of it has one of {original} to compare")
    return {"condition": condition, "of": original, **compute_ending_agreement(pairs).to_record()}


def iterate_placebo_pairs(
    campaigns: Mapping[str, PackedCampaign], condition: str, original: str
) -> Iterator[tuple[Any, Any]]:
    """Yield attempts and their redraws under a condition, of one campaign where it has both."""
    by_campaign = {
        name: dict(iterate_attempt_places(campaign)) for name, campaign in campaigns.items()
    }
    for name, attempts in by_campaign.items():
        others = [attempts, *(known for other, known in by_campaign.items() if other != name)]
        for (key, route), redraw in sorted(attempts.items(), key=lambda item: item[0]):
            if key.arm.condition == condition:
                arm = key.arm.replace_factors(condition=original)
                place = AttemptKey(arm, key.route, key.seed), route
                first = next((known[place] for known in others if place in known), None)
                if first is not None:
                    yield first, redraw


def iterate_attempt_places(campaign: PackedCampaign) -> Iterator[tuple[AttemptPlace, Any]]:
    """Yield a campaign's attempts by what makes them pairs: their route as it was laid, too."""
    from harness.records.names import escape_file_name  # noqa: PLC0415

    for attempt in campaign.attempts:
        place = f"routes/{escape_file_name(attempt.key.route)}.json"
        yield (attempt.key, campaign.sums.get(place, "")), attempt
