"""Makes campaign folders of packed ones: what analysis reads, and no more."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness.common.errors import UserError
from harness.records.decided import DECIDE_FILE
from harness.records.ledger import LEDGER
from harness.records.packing.layout import STEPS
from harness.records.packing.parts import PackedAttempt, PackedCampaign, read_packed_campaigns
from harness.records.schema import FRAMES
from harness.records.writing import EPISODES, get_storage_options


def unpack_campaigns(files: Sequence[Path], out: Path) -> list[Path]:
    """Write every campaign of the files into a folder of its own; all of them, or none.

    Args:
        files: parts of one study.
        out: folder for the campaigns' folders; it is made if it is not there.

    Returns:
        The folders.

    Raises:
        UserError: a folder is there already, or a file cannot be read.
    """
    campaigns = read_packed_campaigns(files)
    folders = {name.partition("/")[0]: None for name in campaigns}
    for name in folders:
        if os.path.lexists(out / name):
            raise UserError(f"{out / name}: there is such a file already; choose another --out DIR")
    # into a folder next to their places, then a rename for each campaign
    scratch = out / f".unpacking.{os.getpid()}"
    new = not os.path.lexists(out)
    try:
        try:
            write_campaigns(campaigns, scratch)
            for name in folders:
                (scratch / name).rename(out / name)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
            if new:
                remove_empty(out)
    except OSError as problem:
        raise UserError(f"{problem.filename or out}: {problem.strerror}") from None
    return [out / name for name in folders]


def remove_empty(folder: Path) -> None:
    """Remove a folder if there is nothing in it."""
    with suppress(OSError):
        folder.rmdir()


def write_campaigns(campaigns: Mapping[str, PackedCampaign], out: Path) -> None:
    """Write campaigns into a folder."""
    for name, campaign in campaigns.items():
        write_shell(campaign, out / name)
        (out / name / LEDGER).write_text("".join(f"{line}\n" for line in campaign.ledger))
        for attempt in campaign.attempts:
            write_attempt(attempt, out / name)


def write_shell(campaign: PackedCampaign, folder: Path) -> None:
    """Write what a campaign has besides its attempts: settings, routes, sizes, sampling."""
    folder.mkdir(parents=True)
    (folder / "campaign.yaml").write_bytes(campaign.header.encode())
    decided = {} if campaign.decided is None else {DECIDE_FILE: campaign.decided}
    for place, text in (campaign.routes | campaign.sizes | decided).items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_bytes(text.encode())


def write_attempt(attempt: PackedAttempt, folder: Path) -> None:
    """Write one attempt: its result byte for byte, its planning steps as far as they are packed."""
    place = folder / EPISODES / attempt.key.path / f"try{attempt.number}"
    place.mkdir(parents=True)
    (place / "result.json").write_bytes(attempt.result.encode())
    if attempt.timing is not None:
        (place / "timing.json").write_bytes(attempt.timing.encode())
    pq.write_table(
        build_unpacked_frames(attempt),
        place / "frames.parquet",
        **get_storage_options("frames", FRAMES),
    )


def build_unpacked_frames(attempt: PackedAttempt) -> pa.Table:
    """Return an attempt's `frames.parquet`; what is not packed is NaN."""
    packed = {name: attempt.get_step_column(name) for name in STEPS}
    for name, values in packed.items():
        if len(values) != len(packed[STEPS[0]]):
            raise UserError(
                f"{attempt.part.file}: {attempt.key}: {name} has {len(values)} planning steps,"
                f" {STEPS[0]} has {len(packed[STEPS[0]])}"
            )
    unknown = pa.array(np.full(len(packed[STEPS[0]]), np.nan))
    arrays = [packed.get(field.name, unknown) for field in FRAMES]
    fields = [
        field.with_nullable(field.nullable or bool(values.null_count))
        for field, values in zip(FRAMES, arrays, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=FRAMES.metadata))
