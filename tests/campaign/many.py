"""A campaign folder with as many finished attempts as one likes, made without driving."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

from harness.campaign.attempt.recorder import AttemptRecorder
from harness.campaign.attempt.results import (
    PrecisionAccumulator,
    build_crucible_record,
    build_driving_record,
    build_pattern_record,
    build_result_record,
    select_window_frames,
)
from harness.campaign.folder.assignments import write_assignments
from harness.campaign.folder.campaign_folder import prepare_campaign
from harness.campaign.folder.inputs import with_inputs
from harness.campaign.planning.plan import CampaignPlan, plan_campaign
from harness.campaign.settings.declared import CampaignSettings
from harness.evaluation.driving import ReportedCollision
from harness.evaluation.scoring import Coefficients
from harness.evaluation.windows import WindowRules
from harness.records.keys import AttemptKey
from harness.records.ledger import LEDGER
from harness.records.schema import FRAMES, TABLES
from harness.records.writing import EPISODES, EpisodeWriter
from tests.campaign.tiny import composed, write_route
from tests.evaluation.test_driving import judged, straight
from tests.records.samples import columns

STEPS = 200
"""Planning steps of an attempt."""


def finished_bend(routes: Path) -> Path:
    """Return a finished campaign of one system on one route, in a folder of its own."""
    write_route(routes)
    files = (f"routes.file={routes / 'routes.xml'}", f"routes.hazards={routes / 'hazards.json'}")
    settings = composed("routes.only=null", "seeds=[1]", "system=ideal_late", *files)
    finish(routes / "out", settings)
    return routes / "out"


def finish(
    folder: Path, settings: CampaignSettings, attempts: Iterable[AttemptKey] | None = None
) -> CampaignPlan:
    """Make a campaign of these settings, with these attempts, or all, finished at the first try.

    The first is written as every try is; the others are copies of it, but for their results.
    """
    planned, settings = plan_campaign(settings), with_inputs(settings)
    folder.mkdir(parents=True)
    prepare_campaign(folder, settings, "carlite")
    write_assignments(folder, planned.assignments)
    first, *others = planned.attempts if attempts is None else attempts
    result = sample_result(first)
    original = write_whole_try(folder, first, result)
    for number, key in enumerate(others, 1):
        place = folder / EPISODES / key.path / "try1"
        place.mkdir(parents=True)
        for name in TABLES:
            os.link(original / f"{name}.parquet", place / f"{name}.parquet")
        write_json(place / "result.json", altered(result, key, number))
        write_json(place / "timing.json", timing(number))
    with (folder / LEDGER).open("w") as ledger:
        ledger.writelines(json.dumps(line_of(key)) + "\n" for key in (first, *others))
    return planned


def write_whole_try(folder: Path, key: AttemptKey, result: dict[str, Any]) -> Path:
    """Write one try with all its tables."""
    with EpisodeWriter(folder, key, 1) as writer:
        for name in TABLES:
            writer.write_table(name, columns(name, STEPS))
        writer.write_json("result", result)
        writer.write_json("timing", timing(0))
        return writer.commit_records()


def sample_result(key: AttemptKey) -> dict[str, Any]:
    """Return the result of a drive of 40 m into the side of a vehicle."""
    moments = list(straight(250.0))
    struck = ReportedCollision(7, "vehicle.audi.tt", 3.0)
    moments[100] = type(moments[0])(**{**fields_of(moments[100]), "contacts": (struck,)})
    drive = judged(moments, 250.0)
    recorder = AttemptRecorder(100.0, 0, ego_id=1, tick_seconds=0.05)
    random = np.random.default_rng(1)
    frames = {name: random.integers(0, 9, STEPS).tolist() for name in FRAMES.names}
    frames["time"] = np.linspace(0.0, 40.0, STEPS).tolist()
    result = build_result_record(key, drive, Coefficients(), recorder)
    result["crucible"] = build_crucible_record(
        **build_driving_record(drive, Coefficients(), recorder),
        patterns=build_pattern_record(
            frames, select_window_frames(frames, drive, 40.0, WindowRules())
        ),
        average_precision=PrecisionAccumulator().build_record(),
        messages=heard(key),
        attempt={
            **key.to_record(),
            "episode_seed": 12345678901234567,
            "simulator": "carlite 0.9.16",
        },
        hazards=[],
    )
    return result


def fields_of(moment: Any) -> dict[str, Any]:
    """Return a frozen moment as a dictionary."""
    return {name: getattr(moment, name) for name in type(moment).__dataclass_fields__}


def heard(key: AttemptKey) -> dict[str, Any]:
    """Return what of the messages reached the system: late ones, under anything but `none`."""
    late = 0 if key.arm.condition == "none" else 190
    same = dict.fromkeys(("displaced", "changed", "missing"), 0)
    return {
        "reads": key.arm.system not in ("oracle", "ideal_single", "single"),
        "fusion": "late",
        "sent": 200,
        "used": 190,
        "uses": 190,
        "late": late,
        **same,
        "silence_asked": False,
        "disturbances": {key.arm.condition: late} if late else {},
    }


def altered(result: dict[str, Any], key: AttemptKey, number: int) -> dict[str, Any]:
    """Return the result of another attempt, with numbers of its own."""
    other = deepcopy(result)
    ours = other["crucible"]
    random = np.random.default_rng(number)
    ours["attempt"].update(key.to_record())
    ours["messages"] = heard(key)
    ours["driving_score"], ours["completion"] = (
        float(random.uniform(0, 100)),
        float(random.random()),
    )
    ours["collided"] = bool(random.random() < 0.4)
    if random.random() < 0.5:
        ours["violation"] = None
    ours["patterns"]["total"] = {
        name: int(random.integers(50)) for name in ours["patterns"]["total"]
    }
    time = None if ours["violation"] else float(random.uniform(20, 60))
    ours["surrogates"] = {"measures": {"time_to_goal": {"value": time, "unit": "s"}}}
    return other


def timing(number: int) -> dict[str, Any]:
    """Return how long it took."""
    return {"seconds": {"drive": 20.0, "total": 24.0 + number % 9}, "ticks": 800}


def line_of(
    key: AttemptKey, number: int = 1, failure: str | None = None, server: str = ""
) -> dict[str, Any]:
    """Return an attempt's line in the ledger."""
    outcome = "done" if failure is None else "failed"
    fields = {"message": "made up", "server": server, "outcome": outcome, "failure": failure}
    return {**key.to_record(), "try": number, **fields}


def write_json(file: Path, content: dict[str, Any]) -> None:
    """Write as records are written."""
    file.write_text(json.dumps(content, sort_keys=True, indent=1) + "\n")
