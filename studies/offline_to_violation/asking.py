"""Systems on a route's scenes: error patterns, average precision, and metamorphic relations."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from harness.campaign.attempt.results import PrecisionAccumulator
from harness.common.files import write_whole
from harness.evaluation.frame_evaluation import EvaluationSettings, evaluate_frame
from studies.metamorphic.running.study import OfflineStudy, run_study
from studies.metamorphic.running.systems import build_named_system
from studies.metamorphic.scenes.answers import AskableSystem, ask_system
from studies.metamorphic.scenes.scene import list_scene_sources, read_scene
from studies.metamorphic.storage.records import read_study_table
from studies.offline_to_violation.plan import OfflinePlan

FIRST_MOMENT = 2
"""Of the three moments of a scenario, the last one is a scene; the others are for latency."""
EVERY_SCENE = 1_000_000
PATTERNS_FILE = "patterns.parquet"
RULES = EvaluationSettings()
"""Patterns are counted as in a drive of `study=recommended`."""
_systems: dict[str, AskableSystem] = {}


def ask_about_route(plan: OfflinePlan, route: str, *, scenes: Path, folder: Path) -> None:
    """Write what systems answer to a route's scenes, and to what operators make of them.

    Args:
        plan: systems and operators.
        route: its name.
        scenes: the recording.
        folder: of the records; what is there is kept.
    """
    run_study(
        OfflineStudy(
            recordings=(scenes,),
            systems=plan.systems,
            operators=plan.operators,
            scenes=EVERY_SCENE,
            seed=plan.seed,
            folder=folder / "relations",
        ),
        1,
        lambda count: None,
    )
    file = folder / PATTERNS_FILE
    if not file.exists():
        counts = pd.concat([count_scene_patterns(scenes, route, name) for name in plan.systems])
        content = pa.Table.from_pandas(counts, preserve_index=False)
        write_whole(file, partial(pq.write_table, content))


def count_scene_patterns(scenes: Path, route: str, name: str) -> pd.DataFrame:
    """Return a row for each scene: patterns by range, road users, and the route's AP."""
    if name not in _systems:
        _systems[name] = build_named_system(name)
    precision, rows = PrecisionAccumulator(), []
    for source in list_scene_sources([scenes], FIRST_MOMENT):
        scene = read_scene(source)
        answer = ask_system(_systems[name], scene)
        evaluated = evaluate_frame(
            scene.ego.truth,
            scene.hits_anyone,
            ego_alone=answer.ego_alone,
            cooperative=answer.cooperative,
            settings=RULES,
            parked=scene.ego.parked_in_lidar,
        )
        precision.add_frame(evaluated)
        rows.append(
            {
                "route": route,
                "system": name,
                "scene": source.name,
                **evaluated.count_patterns(),
                "road users": evaluated.count_boxes()["truth_all"],
            }
        )
    area = precision.build_record()["cooperative"]["all_point"]
    return pd.DataFrame(rows).assign(AP=float("nan") if area is None else area)


def read_route_patterns(folder: Path) -> pd.DataFrame:
    """Return what `count_scene_patterns` wrote of all systems."""
    table: pd.DataFrame = pq.read_table(folder / PATTERNS_FILE).to_pandas()
    return table


def read_route_measures(folder: Path, route: str) -> pd.DataFrame:
    """Return relations by scene: route, system, operator, exposed, breaches."""
    table: pd.DataFrame = read_study_table(folder / "relations", "measures").to_pandas()
    return table[["system", "operator", "relation", "exposed", "breaches"]].assign(route=route)
