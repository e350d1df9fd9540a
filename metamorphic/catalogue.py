"""Operators by name, and the relations that are asked of a system's answers to their scenes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from harness.errors import UserError
from harness.suggestions import unknown
from metamorphic.operators.objects import Delete, Insert, Rotate, Scale, Translate
from metamorphic.operators.operator import Operator
from metamorphic.operators.partners import Absent, Duplicate, OneMore, Silent
from metamorphic.operators.sharing import ChannelLoss, GlobalLoss, Latency, PoseError
from metamorphic.operators.stray import StrayPoints
from metamorphic.operators.symmetries import Mirrored, Moved, ReorderedPartners, ReorderedPoints
from metamorphic.operators.weather import Dry, Fog, Rain, Snow, WetGround
from metamorphic.placebos import placebos
from metamorphic.relations.changes import Changes, MirroredAnswer
from metamorphic.relations.counts import counted_by_class
from metamorphic.relations.equal import ROUNDING, AsAlone, Equal, duplicate
from metamorphic.relations.kept import Kept, KeptOfEgo, MoreHelp
from metamorphic.relations.relation import Relation
from metamorphic.space import Values

BANDED: tuple[Relation, ...] = (Kept(), KeptOfEgo(), MoreHelp(), Changes())
"""Relations with a tolerance: placebos say how large it is."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Entry:
    """One way to test: an operator, the values that it is applied with, the relations."""

    operator: Operator
    relations: tuple[Relation, ...]
    fixed: Values = field(default_factory=dict)  # values that are not sampled
    placebo: bool = False
    source: Operator | None = None  # makes the scene that answers are compared with


def entry(operator: Operator, *relations: Relation, **fixed: float) -> Entry:
    """Return an entry whose source is the recorded scene."""
    return Entry(operator=operator, relations=relations, fixed=fixed)


def stray(count: int) -> Entry:
    """Return n points outside the window, in the sweeps of all (Zhou and Sun, MR1)."""
    operator = StrayPoints(name=f"stray_points_{count}")
    return entry(operator, Equal(name="R1_stray_points"), *counted_by_class(), count=count)


def of_placebo(operator: Operator) -> Entry:
    """Return a change that means nothing, under all relations with bands."""
    return Entry(operator=operator, relations=BANDED, placebo=True)


def weather(operator: Operator) -> Entry:
    """Return weather, compared with a dry sweep of the same sensor and the same noise."""
    return Entry(operator=operator, relations=(Kept(),), source=Dry())


MAKERS: Mapping[str, Callable[[], Entry]] = {
    "latency": lambda: entry(Latency(), KeptOfEgo()),
    "pose_error": lambda: entry(PoseError(), KeptOfEgo()),
    "global_loss": lambda: entry(GlobalLoss(), KeptOfEgo()),
    "channel_loss": lambda: entry(ChannelLoss(), KeptOfEgo()),
    "rain": lambda: weather(Rain()),
    "snow": lambda: weather(Snow()),
    "fog": lambda: weather(Fog()),
    "wet_ground": lambda: weather(WetGround()),
    "insert": lambda: entry(Insert(), Changes()),
    "delete": lambda: entry(Delete(), Changes()),
    "scale": lambda: entry(Scale(), Changes()),
    "rotate": lambda: entry(Rotate(), Changes()),
    "translate": lambda: entry(Translate(), Changes()),
    "stray_points_10": lambda: stray(10),
    "stray_points_100": lambda: stray(100),
    "stray_points_1000": lambda: stray(1000),
    "reordered_partners": lambda: entry(
        ReorderedPartners(), Equal(name="R2_partners", tolerance=ROUNDING)
    ),
    "reordered_points": lambda: entry(
        ReorderedPoints(), Equal(name="R2_points", tolerance=ROUNDING)
    ),
    "moved_world": lambda: entry(Moved(), Equal(name="R3_moved_world", tolerance=1e-3)),
    "absent": lambda: entry(Absent("all"), AsAlone()),
    "silent": lambda: entry(Silent("all"), AsAlone(name="R4_silent")),
    "duplicate": lambda: entry(Duplicate(), duplicate(exact=False)),
    "one_more": lambda: entry(OneMore(), MoreHelp()),
    "mirrored": lambda: entry(Mirrored(), MirroredAnswer()),
    **{placebo.name: partial(of_placebo, placebo) for placebo in placebos()},
}


def entries(names: tuple[str, ...]) -> dict[str, Entry]:
    """Return the named entries."""
    for name in names:
        if name not in MAKERS:
            raise UserError(unknown("operator", name, MAKERS))
    return {name: MAKERS[name]() for name in names}
