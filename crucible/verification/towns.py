"""The towns of a study: the same files again, from its protocol or from a folder of maps."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from crucible.verification.reference import StudyReference
from harness.common.errors import UserError
from harness.common.nesting import parse_json
from harness.common.protocols import is_test_town
from harness.records.packing.parts import PackedCampaign
from harness.world.maps import find_map, read_map_bytes


def collect_towns(campaigns: Mapping[str, PackedCampaign]) -> set[str]:
    """Return the towns that campaigns were driven in."""
    return {
        parse_route_town(text, f"{name}: {place}")
        for name, campaign in campaigns.items()
        for place, text in campaign.routes.items()
    }


def compute_map_digests(towns: set[str], maps: Path | None) -> dict[str, str]:
    """Return the digests of towns' OpenDRIVE files.

    Args:
        towns: names.
        maps: folder of OpenDRIVE files; None for shipped towns.
    """
    sums = {}
    for town in sorted(towns):
        file = find_map(town, maps)
        if file is None:
            raise UserError(f"{town}: map not found; name its folder with --maps DIR")
        sums[town] = hashlib.sha256(read_map_bytes(file)).hexdigest()
    return sums


def prepare_town_maps(
    reference: StudyReference, folder: Path, maps: Path | None, out: Path
) -> Path | None:
    """Return the folder of maps: as given, or made from the protocol for test towns."""
    needed = [town for town in reference.towns if is_test_town(town)]
    if maps is not None or not needed:
        return maps
    if reference.protocol is None:
        raise UserError("the reference names test towns and no protocol; name --maps DIR")
    if all((out / f"{town}.xodr").is_file() for town in needed):
        return out
    from harness.commands.maps import make_protocol_towns  # noqa: PLC0415 - takes seconds

    make_protocol_towns(folder / reference.protocol["file"], reference.count, out)
    return out


def find_changed_towns(reference: StudyReference, maps: Path | None) -> Iterator[str]:
    """Yield the towns whose OpenDRIVE files are not those of the reference."""
    for town, digest in compute_map_digests(set(reference.towns), maps).items():
        if digest != reference.towns[town]:
            yield f"{town}: another map: its digest is not the reference's"


def parse_route_town(route: str, place: str) -> str:
    """Return the town of a route as it was laid."""
    try:
        return str(parse_json(route)["town"])
    except (ValueError, KeyError, TypeError, RecursionError) as problem:
        raise UserError(f"{place}: not a route of a campaign ({problem!r})") from None
