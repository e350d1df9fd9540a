"""Reads packed studies: several files, the parts of one study, are read as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from harness.common.errors import UserError
from harness.common.nesting import parse_json, parse_yaml
from harness.common.parquet_reading import TableLimits, open_table
from harness.common.safe_reading import (
    JSON_RECORD,
    LAID_ROUTE,
    LEDGER_LINE,
    MEGABYTE,
    PACKED_STUDY,
    SETTINGS_FILE,
    STUDY_RECORD,
    FileKind,
)
from harness.records.arms import Arm
from harness.records.critical import CRITICAL
from harness.records.decided import DECIDE_FILE
from harness.records.digests import hash_bytes
from harness.records.keys import AttemptKey
from harness.records.packing.layout import (
    ATTEMPT,
    CAMPAIGN,
    DECIDED,
    FORMAT,
    HEADER,
    KINDS,
    MOST_ROWS,
    ROUTE,
    ROUTES,
    SCHEMA,
    SIZES,
    STEPS,
    TRIES,
)
from harness.records.reading import BROKEN, make_unreadable_error
from harness.records.schema import DETECTED, VERSION
from harness.records.twins import TWINS

LIMITS = TableLimits(unpacked=256 * MEGABYTE, rows=MOST_ROWS, kind=PACKED_STUDY)
"""Of a part: its texts, or its planning steps, in memory; the largest published one has 41 MB."""
TEXT_KINDS: dict[str, FileKind] = {
    CAMPAIGN: SETTINGS_FILE,
    ROUTE: LAID_ROUTE,
    SIZES: STUDY_RECORD,
    DECIDED: STUDY_RECORD,
    ATTEMPT: JSON_RECORD,
}
"""What the text of a row is once it is a file again."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PackedAttempt:
    """An attempt in a file.

    Attributes:
        part: the file that it is in.
        row: of the file.
    """

    key: AttemptKey
    number: int  # of the try that has the result
    result: str  # result.json
    records: str  # digest of the whole record
    timing: str | None  # timing.json
    part: PackedPart
    row: int

    @property
    def ours(self) -> dict[str, Any]:
        """What `result.json` holds under `crucible`."""
        try:
            ours: dict[str, Any] = parse_json(self.result)["crucible"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise UserError(f"{self.part.file}: {self.key}: not a result") from None
        return ours

    @property
    def processor(self) -> str | None:
        """The processor that drove it, None where its record does not say."""
        try:
            name = parse_json(self.timing or "{}").get("processor")
        except (ValueError, AttributeError, RecursionError):
            raise UserError(f"{self.part.file}: {self.key}: not a timing.json") from None
        return name if isinstance(name, str) else None

    def get_step_column(self, name: str) -> pa.Array:
        """Return a column of its planning steps; null in all of them if nothing is known of it."""
        values = self.part.steps[name].chunk(0)[self.row].values
        unknown = name in DETECTED and values is not None and values.null_count == len(values)
        if values is None or (values.null_count and not unknown):
            raise UserError(f"{self.part.file}: {self.key}: {name} is null")
        return values


@dataclass(frozen=True, eq=False)
class PackedPart:
    """A file; its planning steps, most of it, are read when they are asked for."""

    file: Path
    table: pa.Table  # all other columns

    @cached_property
    def steps(self) -> pa.Table:
        """The columns of planning steps."""
        return read_columns(self.file, STEPS)


@dataclass(slots=True, eq=False, kw_only=True)
class PackedCampaign:
    """A campaign from all parts that hold some of it.

    Attributes:
        name: of its folder; `NAME/twins` for twins.
    """

    name: str
    header: str  # campaign.yaml
    routes: dict[str, str] = field(default_factory=dict)  # texts by their place in the folder
    sums: dict[str, str] = field(default_factory=dict)  # digests of all of them
    sizes: dict[str, str] = field(default_factory=dict)  # critical ones, texts by their place
    decided: str | None = None  # how routes were chosen: decide.jsonl
    ledger: list[str] = field(default_factory=list)  # lines
    attempts: list[PackedAttempt] = field(default_factory=list)

    @property
    def holds_twins(self) -> bool:
        """Whether its attempts are twins of another campaign's."""
        return self.name.endswith(f"/{TWINS}")

    @property
    def contents(self) -> dict[str, Any]:
        """What its header holds."""
        return parse_packed_header(self.header, self.name)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings in its header."""
        settings: dict[str, Any] = self.contents["settings"]
        return settings

    @property
    def routes_digest(self) -> str:
        """The digest of its routes as they were laid: of a line `PLACE SHA256` for each."""
        lines = [f"{place} {digest}\n" for place, digest in sorted(self.sums.items())]
        return hash_bytes("".join(lines).encode())


def read_packed_campaigns(
    files: Sequence[Path], *, whole: bool = True
) -> dict[str, PackedCampaign]:
    """Return the campaigns of all files by name; `whole` needs every route's text.

    Args:
        files: the parts of one study.
        whole: whether a route without its text is an error.

    Returns:
        By name.

    Raises:
        UserError: a file cannot be read, or parts contradict each other.
    """
    campaigns: dict[str, PackedCampaign] = {}
    for file in files:
        for name, campaign in split_part(read_part(file)).items():
            if name in campaigns:
                merge_campaign_parts(campaigns[name], campaign, file)
            else:
                campaigns[name] = campaign
    for campaign in campaigns.values() if whole else ():
        if lacking := sorted(campaign.sums.keys() - campaign.routes.keys()):
            raise UserError(
                f"{files[0]}: {campaign.name}: {lacking[0]} is in an earlier part; give that too"
            )
    return dict(sorted(campaigns.items()))


def read_part(file: Path) -> PackedPart:
    """Return a file, if it is whole and of this version."""
    return PackedPart(
        file, read_columns(file, [name for name in SCHEMA.names if name not in STEPS])
    )


def read_columns(file: Path, columns: Sequence[str]) -> pa.Table:
    """Return some columns of a file, if it is whole and of this version."""
    try:
        with open_table(file, LIMITS, follow=True) as opened:
            schema = opened.schema
            metadata = schema.metadata or {}
            if HEADER not in metadata:
                raise UserError(f"{file}: not a packed study")
            version = metadata.get(b"crucible_schema")
            if metadata[HEADER] != b"%d" % FORMAT or version != b"%d" % VERSION:
                raise UserError(f"{file}: not a packed study of schema {VERSION}")
            if not schema.equals(SCHEMA) or not 0 <= opened.rows <= MOST_ROWS:
                raise UserError(f"{file}: not the columns and rows of a packed study")
            table = opened.read(columns).combine_chunks()
            table.validate(full=True)
    except BROKEN as problem:
        raise make_unreadable_error(file, problem) from None
    return table


def split_part(part: PackedPart) -> dict[str, PackedCampaign]:
    """Return the campaigns of one file."""
    names = [field.name for field in SCHEMA if field.name not in STEPS]
    columns = {name: part.table[name].to_pylist() for name in names}
    rows = [dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    try:
        campaigns = {
            row["campaign"]: PackedCampaign(
                name=check_campaign_name(row["campaign"]), header=row["text"]
            )
            for row in rows
            if row["kind"] == CAMPAIGN
        }
        for number, row in enumerate(rows):
            add_row(campaigns[row["campaign"]], part, number, row)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise UserError(f"{part.file}: not a packed study ({problem!r})") from None
    return campaigns


def add_row(
    campaign: PackedCampaign, part: PackedPart, number: int, row: Mapping[str, Any]
) -> None:
    """Add a row to its campaign."""
    kind, text = row["kind"], row["text"]
    if kind not in KINDS:
        raise ValueError(kind)
    refuse_long_text(kind, text)
    if kind == ROUTE:
        campaign.sums[check_packed_place(row["name"], ROUTES, 2)] = row["sha256"]
        if text is not None:
            campaign.routes[row["name"]] = text
    elif kind == SIZES:
        campaign.sizes[check_packed_place(row["name"], CRITICAL, 1)] = text
    elif kind == DECIDED:
        campaign.decided = str(text)
    elif kind == TRIES:
        campaign.ledger += text.splitlines()
    elif kind == ATTEMPT:
        campaign.attempts.append(
            PackedAttempt(
                key=AttemptKey(Arm.parse_name(row["arm"]), row["route"], int(row["seed"])),
                number=int(row["try"]),
                result=str(text),
                records=row["sha256"],
                timing=row["timing"],
                part=part,
                row=number,
            )
        )
    if kind != ATTEMPT and text is not None and hash_bytes(text.encode()) != row["sha256"]:
        raise ValueError(f"{row['name']}: not the text that its digest is of")


def refuse_long_text(kind: str, text: str | None) -> None:
    """Refuse a text that would be a larger file, or hold a longer line, than readers take."""
    longest = LEDGER_LINE if kind == TRIES else TEXT_KINDS[kind].most
    parts = (text or "").split("\n") if kind == TRIES else [text or ""]
    if any(len(part) > longest for part in parts):
        raise ValueError(f"{kind}: a text of more than {longest:,} characters")


def check_campaign_name(name: str) -> str:
    """Return the name of a campaign, if it is that of one folder, or of twins in one."""
    folder = name.removesuffix(f"/{TWINS}")
    if not folder or folder.startswith(".") or {"/", "\\", "\0"} & set(folder):
        raise ValueError(f"campaign {name[:40]!r}")
    return name


def check_packed_place(place: str, folder: str, deepest: int) -> str:
    """Return where a file lies in a folder of its campaign, if it lies there."""
    first, *rest = place.split("/")
    whole = first == folder and 1 <= len(rest) <= deepest and place.endswith(".json")
    if not whole or "\0" in place or any(part.startswith(".") or not part for part in rest):
        raise ValueError(f"file {place[:40]!r}")
    return place


def merge_campaign_parts(known: PackedCampaign, more: PackedCampaign, file: Path) -> None:
    """Add what another part holds of a campaign."""
    if known.header != more.header:
        raise UserError(f"{file}: {more.name} is another campaign than in the parts before it")
    for place, digest in more.sums.items():
        if known.sums.setdefault(place, digest) != digest:
            raise UserError(f"{file}: {more.name}: {place} differs from the parts before it")
    for place, text in more.sizes.items():
        if known.sizes.setdefault(place, text) != text:
            raise UserError(f"{file}: {more.name}: {place} differs from the parts before it")
    # a later part has the lines of an earlier one, and more
    if more.decided is not None and not more.decided.startswith(known.decided or ""):
        raise UserError(f"{file}: {more.name}: {DECIDE_FILE} differs from the parts before it")
    known.decided = more.decided or known.decided
    there = {attempt.key for attempt in known.attempts}
    if twice := sorted(attempt.key for attempt in more.attempts if attempt.key in there):
        raise UserError(f"{file}: {more.name}: {twice[0]} is in a part before it too")
    known.routes |= more.routes
    known.ledger += more.ledger
    known.attempts += more.attempts


def parse_packed_header(header: str, name: str) -> dict[str, Any]:
    """Return what a packed `campaign.yaml` holds."""
    try:
        contents = parse_yaml(header, aliases=False)
    except (*BROKEN, yaml.YAMLError) as problem:
        raise UserError(f"{name}: not a campaign's configuration ({problem!r})") from None
    whole = isinstance(contents, dict) and isinstance(contents.get("settings"), dict)
    if not whole or not isinstance(contents.get("versions", {}), dict):
        raise UserError(f"{name}: not a campaign's configuration")
    return dict(contents)
