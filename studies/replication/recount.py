"""Count the study again from its records: `python recount.py STUDY [FILTER]`.

Nothing of Crucible is imported. Patterns are counted from boxes by the words of Guo et al. (III-B),
with shapely's polygons; scores from infractions by the factors of Leaderboard 1.0. The script
prints the means of every arm, and ends with exit code 1 if a drive differs from what was recorded.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import shapely
import yaml

FACTORS = {
    "collision_pedestrian": 0.5,
    "collision_vehicle": 0.6,
    "collision_layout": 0.65,
    "red_light": 0.7,
    "stop_sign": 0.8,
}
PATTERNS = ("LCME", "LCLE", "LADE", "CCME", "CCLE", "CADE")
SOURCES = ("truth", "ego_alone", "cooperative")
TAU, LEAST_AREA = 0.5, 1e-9


def polygons(boxes: pd.DataFrame) -> Any:
    """Return the outline of each box in the plane."""
    x, y, length, width, yaw = (
        boxes[["x", "y", "length", "width", "yaw"]].to_numpy(float).T[:, :, None]
    )
    along = np.array([1, 1, -1, -1]) * length / 2
    aside = np.array([1, -1, -1, 1]) * width / 2
    cos, sin = np.cos(yaw), np.sin(yaw)
    corners = x + along * cos - aside * sin, y + along * sin + aside * cos
    return shapely.polygons(np.stack(corners, axis=2))


def overlaps(one: Any, other: Any) -> Any:
    """Return (len(one), len(other)) intersections over unions of outlines."""
    ratios = np.zeros((len(one), len(other)))
    if not ratios.size:
        return ratios
    # pairs whose outlines meet
    second, first = shapely.STRtree(one).query(other, predicate="intersects")
    common = shapely.area(shapely.intersection(one[first], other[second]))
    union = shapely.area(one[first]) + shapely.area(other[second]) - common
    ratios[first, second] = np.where(common < LEAST_AREA, 0.0, common / union)
    return ratios


def count(boxes: pd.DataFrame, outlines: Any, rule: str) -> dict[int, dict[str, int]]:
    """Return the six counts of each planning step."""
    steps: dict[int, dict[str, int]] = {}
    counted, sources = boxes["counted"].to_numpy(bool), boxes["source"].to_numpy(str)
    groups: Any = boxes.groupby(["frame", "class"], observed=True).indices
    for (frame, _), rows in groups.items():
        of = sources[rows]
        truth, ego, coop = (rows[of == name] for name in SOURCES)
        on_truth = overlaps(outlines[truth], outlines[coop])
        detected = (overlaps(outlines[truth], outlines[ego]) > TAU).any(axis=1)
        of_ego = (overlaps(outlines[coop], outlines[ego]) > 0).any(axis=1)
        touched = on_truth > 0
        wrong = (touched & (on_truth <= TAU)).any(axis=1)
        if rule == "max":
            wrong &= ~(on_truth > TAU).any(axis=1)
        step = steps.setdefault(frame, dict.fromkeys(PATTERNS, 0))
        for mask, last in ((~touched.any(axis=1), "CME"), (wrong, "CLE")):
            step[f"L{last}"] += int((counted[truth] & mask & detected).sum())
            step[f"C{last}"] += int((counted[truth] & mask & ~detected).sum())
        additional = counted[coop] & ~touched.any(axis=0)
        step["LADE"] += int((additional & ~of_ego).sum())
        step["CADE"] += int((additional & of_ego).sum())
    return steps


def recount(place: Path, rule: str, short_is_kept: bool) -> dict[str, Any]:
    """Return what one drive comes to, and what its record says."""
    result = json.loads((place / "result.json").read_text())
    record = result["crucible"]
    penalty = 1 - record["outside_share"]
    collided = False
    for kind in record["infractions"]:
        penalty *= FACTORS.get(kind, 1.0)
        collided |= kind.startswith("collision")
    violation = record["violation"]
    end = violation["time"] if violation else result["meta"]["duration_game"]
    frames = pd.read_parquet(place / "frames.parquet", columns=["frame", "time"])
    before = (end - frames["time"]).round(6)
    last = set(frames["frame"][(before >= 0) & (before < 10)])
    long_enough = before.max() >= 10 or short_is_kept
    boxes = pd.read_parquet(place / "boxes.parquet")
    steps = count(boxes, polygons(boxes), rule)
    recounted: dict[str, float | None] = {
        name: float(sum(step[name] for frame, step in steps.items() if frame in last))
        for name in PATTERNS
    }
    if not long_enough:
        recounted = dict.fromkeys(PATTERNS)
    totals = {f"{name} total": sum(step[name] for step in steps.values()) for name in PATTERNS}
    ours = {
        "driving_score": 100 * record["completion"] * penalty,
        "collided": collided,
        "completion": record["completion"],
        "violated": violation is not None,
        **recounted,
        **totals,
    }
    theirs = {name: record[name] for name in ("driving_score", "collided", "completion")}
    theirs |= {"violated": ours["violated"]}
    theirs |= {name: record["patterns"]["end_10s"][name] for name in PATTERNS}
    theirs |= {f"{name} total": record["patterns"]["total"][name] for name in PATTERNS}
    return {"ours": ours, "recorded": theirs}


def list_drives(folder: Path) -> dict[tuple[str, str, str], Path]:
    """Return the last try of each drive, by arm, route and seed."""
    drives: dict[tuple[str, str, str], Path] = {}
    for file in sorted(folder.glob("episodes/**/try*/result.json")):
        attempt = json.loads(file.read_text())["crucible"]["attempt"]
        arm = "/".join(str(value) for _, value in sorted(attempt["arm"].items()))
        drives[arm, attempt["route"], str(attempt["seed"])] = file.parent
    return drives


def main(study: str, filter_folder: str | None = None) -> int:
    """Print the means of every arm, and each drive that differs."""
    settings = yaml.safe_load((Path(study) / "campaign.yaml").read_text())["settings"]
    rule = settings["patterns"]["rule"]
    short_is_kept = settings.get("windows", {}).get("short") == "kept"
    unclean: set[str] = set()
    if filter_folder:
        for (_, route, _), place in list_drives(Path(filter_folder)).items():
            if json.loads((place / "result.json").read_text())["crucible"]["violation"]:
                unclean.add(route)
    arms, wrong = defaultdict(list), 0
    for (arm, route, seed), place in list_drives(Path(study)).items():
        if route in unclean:
            continue
        drive = recount(place, rule, short_is_kept)
        arms[arm].append(drive["ours"])
        for name, ours in drive["ours"].items():
            recorded = drive["recorded"][name]
            same = ours == recorded or (
                None not in (ours, recorded) and math.isclose(ours, recorded)
            )
            if not same:
                wrong += 1
                print(f"{arm} route {route} seed {seed}: {name} is {ours}, recorded {recorded}")
    for arm, drives in sorted(arms.items()):
        table = pd.DataFrame(drives).astype(float)
        means = {name: round(value, 6) for name, value in table.mean().items()}
        print(json.dumps({"arm": arm, "drives": len(drives), **means}))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
