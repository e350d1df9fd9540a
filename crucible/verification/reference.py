"""`reference.json`: what others need to drive a sample of a study again, and to compare."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from crucible.verification.agreement import EndingAgreement
from crucible.verification.machine import MachinePlatform, parse_machine
from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.safe_reading import STUDY_RECORD, refuse_link
from harness.records.digests import hash_file
from harness.records.packing.parts import PackedCampaign
from harness.records.reading import read_json_object
from harness.records.schema import VERSION

FORMAT = 1
MOST_TOWNS = 1_000
"""Test towns that a protocol may make: each takes seconds."""
KEY = "crucible_reference"


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignReference:
    """A campaign of a study."""

    name: str
    digest: str  # of its settings, as campaign.yaml has it
    overrides: tuple[str, ...] | None  # of the `crucible run` that made it; None if not given
    arms: tuple[str, ...]
    attempts: int
    routes: Mapping[str, str]  # short digests of the files that routes were read from
    laid: str  # digest of the routes as they were laid
    packs: Mapping[str, str]  # digests of packed files
    elsewhere: bool  # another processor than the reference's drove some of it, or may have

    def to_record(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "name": self.name,
            "digest": self.digest,
            "overrides": None if self.overrides is None else list(self.overrides),
            "arms": list(self.arms),
            "attempts": self.attempts,
            "routes": dict(self.routes),
            "laid": self.laid,
            "packs": dict(self.packs),
            "elsewhere": self.elsewhere,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyReference:
    """A study to be compared with; file names lead on from the folder of its file."""

    schema: int
    protocol: Mapping[str, str] | None  # `file` and `sha256`
    count: int  # test towns that the protocol made
    towns: Mapping[str, str]  # digests of OpenDRIVE files by town
    campaigns: tuple[CampaignReference, ...]
    machine: MachinePlatform  # that drove what was not driven elsewhere
    placebo: Mapping[str, Any] | None  # its condition, and how far redraws with it agree

    @property
    def packs(self) -> dict[str, str]:
        """The digests of all packed files."""
        return {name: digest for one in self.campaigns for name, digest in one.packs.items()}

    @property
    def elsewhere(self) -> set[str]:
        """Campaigns of which some was driven on another processor."""
        return {campaign.name for campaign in self.campaigns if campaign.elsewhere}

    @property
    def of_placebo(self) -> EndingAgreement | None:
        """How far redraws with a placebo agree."""
        return None if self.placebo is None else EndingAgreement.from_record(self.placebo)

    def write_json(self, file: Path) -> None:
        """Write it."""
        record = {
            KEY: FORMAT,
            "schema": self.schema,
            "protocol": None if self.protocol is None else dict(self.protocol),
            "towns": {"count": self.count, "files": dict(self.towns)},
            "campaigns": [campaign.to_record() for campaign in self.campaigns],
            "platform": self.machine.to_record(),
            "placebo": None if self.placebo is None else dict(self.placebo),
        }
        write_whole(file, json.dumps(record, indent=1, sort_keys=True) + "\n")


def read_reference(file: Path) -> StudyReference:
    """Return the reference in a file."""
    record = read_json_object(file, STUDY_RECORD, follow=True)
    if record.get(KEY) != FORMAT:
        raise UserError(f"{file}: not a reference of a study that `crucible reference` wrote")
    # a file from elsewhere: any part may be missing or of another type
    try:
        reference = StudyReference(
            schema=int(record["schema"]),
            protocol=record["protocol"] and check_text_mapping(record["protocol"]),
            count=int(record["towns"]["count"]),
            towns=check_text_mapping(record["towns"]["files"]),
            campaigns=tuple(parse_campaign_reference(part) for part in record["campaigns"]),
            machine=parse_machine(record["platform"], file),
            placebo=record["placebo"],
        )
        assert reference.placebo is None or reference.of_placebo is not None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise UserError(f"{file}: not a whole reference ({problem!r})") from None
    refuse_elsewhere(file, reference)
    return reference


def refuse_elsewhere(file: Path, reference: StudyReference) -> None:
    """Refuse a reference that names files outside its folder, or through a link; or many towns."""
    named = [] if reference.protocol is None else [str(reference.protocol.get("file"))]
    for name in (*named, *reference.packs):
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts or "\0" in name:
            raise UserError(f"{file}: names {name[:80]!r}, which is not in its folder or below")
        refuse_link(file.parent / name, within=file.parent)
    if not 0 <= reference.count <= MOST_TOWNS:
        raise UserError(f"{file}: {reference.count:,} test towns; {MOST_TOWNS} at most")


def parse_campaign_reference(record: Any) -> CampaignReference:
    """Return the campaign of a record."""
    overrides = record["overrides"]
    return CampaignReference(
        name=str(record["name"]),
        digest=str(record["digest"]),
        overrides=None if overrides is None else tuple(map(str, overrides)),
        arms=tuple(map(str, record["arms"])),
        attempts=int(record["attempts"]),
        routes=check_text_mapping(record["routes"]),
        laid=str(record["laid"]),
        packs=check_text_mapping(record["packs"]),
        elsewhere=bool(record["elsewhere"]),
    )


def check_text_mapping(record: Mapping[str, Any]) -> dict[str, str]:
    """Return texts by name; ValueError if one is something else."""
    if not all(isinstance(value, str) for value in record.values()):
        raise ValueError(f"{sorted(record)}: texts are needed")
    return dict(record)


def find_changed_files(reference: StudyReference, folder: Path) -> Iterator[str]:
    """Yield what of the reference's files, and of the schema, is not as it was."""
    if reference.schema != VERSION:
        yield f"schema of records: {reference.schema} -> {VERSION}"
        return
    protocol = reference.protocol
    named = {protocol["file"]: protocol["sha256"]} if protocol is not None else {}
    for name, digest in {**named, **reference.packs}.items():
        if hash_file(folder / name) != digest:
            yield f"{name}: another file: its digest is not the reference's"


def find_changed_routes(
    reference: StudyReference, campaigns: Mapping[str, PackedCampaign]
) -> Iterator[str]:
    """Yield what of the campaigns in packed files is not what the reference names."""
    for named in reference.campaigns:
        campaign = campaigns.get(named.name)
        if campaign is None:
            yield f"{named.name}: in no packed file"
        elif campaign.routes_digest != named.laid:
            yield f"{named.name}: other routes: their digest is not the reference's"
        elif len(campaign.attempts) != named.attempts:
            yield f"{named.name}: {named.attempts} attempts -> {len(campaign.attempts)}"


def make_relative_name(file: Path, folder: Path) -> str:
    """Return how a file is called from a folder that it lies in or below.

    Args:
        file: of the reference.
        folder: of the reference.

    Raises:
        UserError: the file lies elsewhere.
    """
    try:
        return file.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        raise UserError(f"{file}: must lie in {folder} or below, next to the reference") from None


def compute_pack_digests(
    packs: Sequence[Path], folder: Path, campaigns: Mapping[str, set[str]]
) -> dict[str, dict[str, str]]:
    """Return the digests of packed files by campaign; `campaigns` are those of each file.

    Args:
        packs: packed files.
        folder: of the reference.
        campaigns: names by packed file.
    """
    sums: dict[str, dict[str, str]] = {}
    for pack in packs:
        name = make_relative_name(pack, folder)
        for campaign in campaigns[str(pack)]:
            sums.setdefault(campaign, {})[name] = hash_file(pack)
    return sums
