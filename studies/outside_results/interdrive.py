"""InterDrive's success: what a scene with several egos comes to (CoLMDriver, ICCV 2025).

The score of a scene is the mean completion of its egos times the product of their penalties, in
which red lights and stop signs cost nothing. A scene is a success above 99.95 points. Kinds of
scene stand in the names of routes.

`visualization/result_analysis.py`, with which they count, means this and does another thing: it
overwrites the first ego's penalty with 1 before it multiplies, and gives back the first ego's red
lights and stop signs only, so that these raise a score. `script_score` is that number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.evaluation.joint import SUCCESS
from studies.outside_results.driven_route import DrivenRoute

KINDS = (
    *("ins_c", "ins_ss", "ins_sr", "ins_sl", "ins_oppo", "ins_rl", "ins_crosschange"),
    *("ins_chaos", "hw_merge", "hw_c"),
)
"""Kinds of scene, as the ends of routes' names have them: at intersections, on highways."""
EGO = re.compile(r"(?P<scene>.+)/ego_vehicle_(?P<number>\d+)")
FORGIVEN = {"red_light": 0.7, "stop_infraction": 0.8}
"""Infractions that cost nothing, with their factors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrivenScene:
    """A scene that one ego or several drove.

    Attributes:
        kind: a name of `KINDS`; empty for others.
        score: 0 to 100, red lights and stop signs given back.
        script_score: the same as their script computes it; can be above 100.
    """

    name: str
    kind: str
    score: float
    script_score: float

    @property
    def success(self) -> bool:
        """Whether it counts as a success."""
        return self.score > SUCCESS

    @property
    def script_success(self) -> bool:
        """Whether it counts as a success for their script."""
        return self.script_score > SUCCESS


def group_scenes(drives: Sequence[DrivenRoute]) -> list[DrivenScene]:
    """Return the scenes that drives belong to; a drive of one ego is a scene.

    Args:
        drives: of a result set; several egos are `SCENE/ego_vehicle_N`.
    """
    scenes: dict[tuple[str, int], list[tuple[int, DrivenRoute]]] = {}
    for drive in drives:
        ego = EGO.fullmatch(drive.route)
        name, number = (ego["scene"], int(ego["number"])) if ego else (drive.route, 0)
        scenes.setdefault((name, drive.repetition), []).append((number, drive))
    return [
        make_driven_scene(name, [drive for _, drive in sorted(egos, key=lambda one: one[0])])
        for (name, _), egos in scenes.items()
    ]


def make_driven_scene(name: str, egos: Sequence[DrivenRoute]) -> DrivenScene:
    """Return what the drives of a scene's egos come to, the first ego first."""
    completion = sum(ego.completion for ego in egos) / len(egos)
    penalties = [ego.penalty for ego in egos]
    forgiven = [compute_forgiven_penalty(ego) for ego in egos]
    kind = next((kind for kind in KINDS if name.endswith(kind)), "")
    return DrivenScene(
        name=name,
        kind=kind,
        score=100 * completion * math.prod(penalties) / math.prod(forgiven),
        script_score=100 * completion * math.prod(penalties[1:]) / forgiven[0],
    )


def compute_forgiven_penalty(drive: DrivenRoute) -> float:
    """Return the part of a drive's penalty that is given back, 0 to 1."""
    return math.prod(
        factor ** len(drive.infractions.get(kind, ())) for kind, factor in FORGIVEN.items()
    )


def count_successes(scenes: Sequence[DrivenScene]) -> dict[str, tuple[int, int]]:
    """Return successes and scenes, of all and of each kind that occurs."""
    counts = {"all": (sum(scene.success for scene in scenes), len(scenes))}
    for kind in KINDS:
        of_kind = [scene for scene in scenes if scene.kind == kind]
        if of_kind:
            counts[kind] = (sum(scene.success for scene in of_kind), len(of_kind))
    return counts
