"""Packs campaign folders into one file; the other direction is in `unpack`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from harness.common.errors import UserError
from harness.common.files import write_whole
from harness.common.safe_reading import (
    JSON_RECORD,
    LAID_ROUTE,
    STUDY_RECORD,
    FileKind,
    read_text_within,
    refuse_link,
)
from harness.records.critical import CRITICAL
from harness.records.decided import DECIDE_FILE
from harness.records.digests import hash_attempt_records, hash_bytes
from harness.records.keys import AttemptKey
from harness.records.ledger import LEDGER, iter_ledger_lines
from harness.records.names import escape_file_name
from harness.records.packing.layout import (
    ATTEMPT,
    CAMPAIGN,
    DECIDED,
    PACKED,
    ROUTE,
    ROUTES,
    SCHEMA,
    SIZES,
    STEPS,
    TRIES,
    WRITTEN,
)
from harness.records.packing.parts import PackedCampaign, read_packed_campaigns
from harness.records.packing.paths import make_portable_settings, make_portable_text
from harness.records.reading import CampaignRecords
from harness.records.twins import TWINS

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedSizes:
    """What one campaign put into a file."""

    campaign: str
    attempts: int
    earlier: int  # attempts that earlier parts hold
    steps: int


class PackDumper(yaml.SafeDumper):
    """Writes everything in full; readers refuse aliases."""

    def ignore_aliases(self, data: object) -> bool:
        """Never use aliases."""
        return True


def pack_campaigns(
    folders: Sequence[Path], file: Path, earlier: Sequence[Path] = ()
) -> list[PackedSizes]:
    """Write campaigns into one file, without the attempts and routes that earlier parts hold.

    Args:
        folders: of campaigns.
        file: the file to write.
        earlier: files that hold a part of the same study already.

    Returns:
        What each campaign put into the file.

    Raises:
        UserError: a campaign cannot be packed, or contradicts an earlier part.
    """
    campaigns = name_campaigns(folders)
    # only their tables of contents: earlier parts may lack routes that are in still earlier ones
    known = read_packed_campaigns(earlier, whole=False)
    rows: list[Row] = []
    sizes = []
    # rows of a campaign stand together: header, routes, sizes, ledger, attempts
    for name, campaign in campaigns.items():
        of_campaign = list(iter_campaign_rows(name, campaign, known.get(name)))
        attempts = [row for row in of_campaign if row["kind"] == ATTEMPT]
        rows += of_campaign
        sizes.append(
            PackedSizes(
                campaign=name,
                attempts=len(attempts),
                earlier=len(known[name].attempts) if name in known else 0,
                steps=sum(len(row[STEPS[0]]) for row in attempts),
            )
        )
    write_rows(rows, file)
    return sizes


def name_campaigns(folders: Sequence[Path]) -> dict[str, CampaignRecords]:
    """Return campaigns by the names of their folders, sorted, with the twins of critical sizes."""
    campaigns: dict[str, CampaignRecords] = {}
    for folder in folders:
        name = escape_file_name(folder.resolve().name)
        if name in campaigns:
            raise UserError(
                f"{folder}: {name} is given twice; campaigns are named after their folders"
            )
        campaigns[name] = CampaignRecords(folder)
        # critical sizes refer to twins, which are packed as a campaign of their name
        if any(iter_size_texts(folder)):
            campaigns[f"{name}/{TWINS}"] = CampaignRecords(folder / TWINS, within=folder)
    return dict(sorted(campaigns.items()))


def iter_campaign_rows(
    name: str, campaign: CampaignRecords, known: PackedCampaign | None
) -> Iterator[Row]:
    """Yield a campaign's rows, but for what is known of it from earlier parts.

    Args:
        name: of the campaign in the packed file.
        campaign: its records.
        known: what earlier parts hold of it; None for nothing.
    """
    header = format_packed_header(campaign)
    if known is not None and known.header != header:
        raise UserError(f"{campaign.folder}: an earlier part has another campaign called {name}")
    # every part has the header: it identifies the campaign
    yield make_text_row(CAMPAIGN, name, "campaign.yaml", header)
    for route, text in iter_route_texts(campaign.folder):
        row = make_text_row(ROUTE, name, route, text)
        # a route of an earlier part is only named, with its digest
        if known is not None and known.sums.get(route) == row["sha256"]:
            row["text"] = None
        yield row
    for sizes, text in iter_size_texts(campaign.folder):
        if known is not None and known.sizes.get(sizes, text) != text:
            raise UserError(
                f"{campaign.folder / sizes}: differs from what an earlier part holds; pack {name}"
                " whole, without the files of --without that hold it"
            )
        yield make_text_row(SIZES, name, sizes, text)
    # how routes were chosen
    if os.path.lexists(campaign.folder / DECIDE_FILE):
        text = read_exact_text(campaign.folder / DECIDE_FILE, STUDY_RECORD, campaign.folder)
        yield make_text_row(DECIDED, name, DECIDE_FILE, text)
    # ledger and attempts: those that are new
    held = set(known.ledger) if known is not None else set()
    new = [line for line in iter_packed_ledger(campaign.folder) if line not in held]
    yield make_text_row(TRIES, name, LEDGER, "".join(f"{line}\n" for line in new))
    done = {attempt.key for attempt in known.attempts} if known is not None else set()
    for key, place in sorted(campaign.find_attempts().items()):
        if key not in done:
            yield make_attempt_row(name, campaign, key, place)


def format_packed_header(campaign: CampaignRecords) -> str:
    """Return a campaign's `campaign.yaml` as it is packed: marked, without paths of a machine."""
    header = campaign.header
    if header.get(PACKED):
        raise UserError(f"{campaign.folder}: was unpacked; pack the folder that was driven")
    if not isinstance(header.get("settings"), dict):
        raise UserError(f"{campaign.folder / 'campaign.yaml'}: not a campaign's settings")
    packed = {**header, PACKED: True, "settings": make_portable_settings(header["settings"])}
    return yaml.dump(packed, Dumper=PackDumper, sort_keys=False)


def iter_route_texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the files of a campaign's routes, by their place in its folder."""
    refuse_link(folder / ROUTES)
    for file in sorted((folder / ROUTES).rglob("*.json")):
        place = file.relative_to(folder)
        if not any(part.startswith(".") for part in place.parts):
            yield place.as_posix(), read_exact_text(file, LAID_ROUTE, folder)


def iter_size_texts(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the files of a campaign's critical sizes, by their place in its folder."""
    refuse_link(folder / CRITICAL)
    for file in sorted((folder / CRITICAL).glob("[!.]*.json")):
        yield file.relative_to(folder).as_posix(), read_exact_text(file, STUDY_RECORD, folder)


def iter_packed_ledger(folder: Path) -> Iterator[str]:
    """Yield the lines of a campaign's ledger, failures too, without logs and paths of a machine."""
    for line in iter_ledger_lines(folder):
        message = make_portable_text(line["message"], folder)
        yield json.dumps({**line, "message": message, "server": ""})


def make_text_row(kind: str, campaign: str, name: str, text: str) -> Row:
    """Return a row that is a text."""
    digest = hash_bytes(text.encode())
    return {"kind": kind, "campaign": campaign, "name": name, "text": text, "sha256": digest}


def make_attempt_row(name: str, campaign: CampaignRecords, key: AttemptKey, place: Path) -> Row:
    """Return the row of an attempt, whose records must be whole."""
    campaign.read_result(key)
    steps = campaign.read_attempt_columns("frames", key)
    timing, seconds = read_packed_timing(campaign, key, place)
    return {
        "kind": ATTEMPT,
        "campaign": name,
        "text": read_exact_text(place / "result.json", JSON_RECORD, campaign.folder),
        "sha256": hash_attempt_records(place, campaign.folder),
        "arm": str(key.arm),
        "system": key.arm.system,
        "cooperation": key.arm.cooperation,
        "condition": key.arm.condition,
        "route": key.route,
        "seed": key.seed,
        "try": int(place.name.removeprefix("try")),
        "wall_seconds": seconds,
        "timing": timing,
        **{column: get_packed_values(steps, column, place) for column in STEPS},
    }


def get_packed_values(steps: pa.Table, name: str, place: Path) -> np.ndarray | list[None]:
    """Return a column of planning steps; nulls where the system does not say what it detects.

    Args:
        steps: the table of an attempt.
        name: of the column.
        place: folder of the attempt, for messages.

    Raises:
        UserError: it is null at some planning steps only.
    """
    column = steps[name]
    if not column.null_count:
        return np.asarray(column.to_numpy())
    if column.null_count < len(column):
        raise UserError(f"{place / 'frames.parquet'}: {name} is null at some planning steps only")
    return [None] * len(column)


def read_packed_timing(
    campaign: CampaignRecords, key: AttemptKey, place: Path
) -> tuple[str | None, float | None]:
    """Return an attempt's `timing.json` and the seconds it took, None where they are not known."""
    if not os.path.lexists(place / "timing.json"):
        return None, None
    seconds = campaign.read_timing(key).get("seconds")
    total = seconds.get("total") if isinstance(seconds, Mapping) else None
    known = float(total) if isinstance(total, int | float) else None
    return read_exact_text(place / "timing.json", JSON_RECORD, campaign.folder), known


def read_exact_text(file: Path, kind: FileKind, within: Path) -> str:
    """Return a file's text, if it lies in a folder; its bytes are those of the text in UTF-8."""
    try:
        return read_text_within(file, kind, within=within)
    except OSError as problem:
        raise UserError(f"{file}: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise UserError(f"{file}: not UTF-8") from None


def write_rows(rows: Iterable[Row], file: Path) -> None:
    """Write rows as one file, whole or not at all."""
    listed = list(rows)
    arrays = [
        pa.array([row.get(field.name) for row in listed], get_storage_type(field.type)).cast(
            field.type
        )
        for field in SCHEMA
    ]
    table = pa.Table.from_arrays(arrays, schema=SCHEMA)
    write_whole(file, partial(pq.write_table, table, **WRITTEN))


def get_storage_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that a column is first made as."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind
