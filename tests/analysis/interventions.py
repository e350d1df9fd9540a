"""A little campaign with interventions, whose drives end as a test asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml

from harness.records.arms import Arm
from harness.records.keys import AttemptKey
from harness.records.ledger import append_try
from harness.records.schema import VERSION
from harness.types.record_names import PATTERNS
from tests.analysis.little import Drive, write_attempt, write_route
from tests.keys import arm_of

Ending = Callable[[Arm, str, int], Drive]
BASE = arm_of("late", "latency")


def repair(*patterns: str) -> dict[str, Any]:
    """Return what `result.json` says of a repair, before its counts."""
    return {"kind": "repair", "patterns": [name for name in PATTERNS if name in patterns]}


def inject(times: float) -> dict[str, Any]:
    return {"kind": "inject", "patterns": [*PATTERNS[:5]], "times": times}


def write_interventions(
    folder: Path,
    interventions: Mapping[str, Mapping[str, Any]],
    ending: Ending,
    *,
    routes: int = 6,
    seeds: Sequence[int] = (1,),
    base: Arm = BASE,
) -> Path:
    """Write a campaign: late under latency, without an intervention and with each of some."""
    folder.mkdir(parents=True)
    settings = {"seeds": list(seeds), "system": {"late": None}}
    header = {"schema": VERSION, "digest": "0" * 8, "simulator": "carlite", "settings": settings}
    (folder / "campaign.yaml").write_text(yaml.safe_dump(header))
    for number in range(routes):
        write_route(folder, str(number), "Crucible05", 10.0 * number)
    for name in ("none", *interventions):
        arm = base.replace_factors(intervention=name)
        for route in map(str, range(routes)):
            for seed in seeds:
                key = AttemptKey(arm, route, seed)
                place = write_attempt(folder, key, ending(arm, route, seed), "carlite 0.9.16")
                if name != "none":
                    add_record(place / "result.json", name, interventions[name])
                with patch("os.fsync"):
                    append_try(folder, key, number=1, failure=None, message="", server_tail="")
    return folder


def add_record(file: Path, name: str, intervention: Mapping[str, Any]) -> None:
    """Add what an intervention did: something, unless it repairs nothing."""
    result = json.loads(file.read_text())
    counts = {"removed": {}, "moved": {}, "added": dict.fromkeys(intervention["patterns"], 3)}
    result["crucible"]["intervention"] = {
        "name": name,
        **intervention,
        "truth_filter": "reference",
        "rule": "max",
        "steps": 20,
        "changed": 6 if intervention["patterns"] else 0,
        **counts,
    }
    file.write_text(json.dumps(result))
