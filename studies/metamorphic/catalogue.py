"""Operators by name, and the relations that are asked of a system's answers to their scenes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from harness.common.errors import UserError
from harness.common.suggestions import describe_unknown_name
from studies.metamorphic.operators.composition import ComposedManipulations
from studies.metamorphic.operators.objects import (
    DeleteObject,
    InsertObject,
    RotateObject,
    ScaleObject,
    TranslateObject,
)
from studies.metamorphic.operators.off_road import OffRoadPointsOperator
from studies.metamorphic.operators.partners import (
    AbsentPartners,
    DuplicateMessages,
    OneMorePartner,
    SilentPartners,
)
from studies.metamorphic.operators.pictures import (
    BlackPicture,
    BlurredPictures,
    BrighterPictures,
    DazzledCameras,
    MiscalibratedCameras,
    NightOperator,
    PixelPlacebo,
    SameView,
)
from studies.metamorphic.operators.placebos import make_placebos
from studies.metamorphic.operators.sharing import (
    ChannelLoss,
    GlobalLoss,
    PartnerDelay,
    PartnerLatency,
    PoseError,
)
from studies.metamorphic.operators.stray import StrayPointsOperator, Where
from studies.metamorphic.operators.symmetries import (
    MirroredWorld,
    MovedWorld,
    ReorderedPartners,
    ReorderedPoints,
)
from studies.metamorphic.operators.weather import (
    DryAir,
    FogOperator,
    RainOperator,
    SnowOperator,
    WetGroundOperator,
)
from studies.metamorphic.relations.changes import ExpectedChanges, MirroredAnswer
from studies.metamorphic.relations.counts import make_count_relations
from studies.metamorphic.relations.equal import (
    ROUNDING,
    AsAlone,
    EqualAnswer,
    make_duplicate_relation,
)
from studies.metamorphic.relations.kept import KeptDetections, KeptOfEgo, KeptOnRoad, MoreHelp
from studies.metamorphic.relations.relation import MetamorphicRelation
from studies.metamorphic.scenes.operator import SceneOperator
from studies.space import Values

BANDED: tuple[MetamorphicRelation, ...] = (
    KeptDetections(),
    KeptOfEgo(),
    MoreHelp(),
    ExpectedChanges(),
)
"""Relations with a tolerance: placebos say how large it is."""
MR1: tuple[MetamorphicRelation, ...] = (KeptOnRoad(), *make_count_relations(on_road=True))
"""What Zhou and Sun ask, as a set and by counts; placebos show how often it breaks by chance."""


FAR, FARTHEST = 50.0, 80.0
"""Metres from the ego of a road user at long range: from V2XGen's k on, in reach of the LiDAR."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CatalogueEntry:
    """One way to test: an operator, the values that it is applied with, the relations."""

    operator: SceneOperator
    relations: tuple[MetamorphicRelation, ...]
    fixed: Values = field(default_factory=dict)  # values that are not sampled
    placebo: bool = False
    source: SceneOperator | None = None  # makes the scene that answers are compared with


def make_catalogue_entry(
    operator: SceneOperator, *relations: MetamorphicRelation, **fixed: float
) -> CatalogueEntry:
    """Return an entry whose source is the recorded scene."""
    return CatalogueEntry(operator=operator, relations=relations, fixed=fixed)


def make_stray_entry(count: int) -> CatalogueEntry:
    """Return n points in the far ring, outside all windows, in the sweeps of all."""
    operator = StrayPointsOperator(name=f"stray_points_{count}")
    return make_catalogue_entry(
        operator, EqualAnswer(name="R1_stray_points"), *make_count_relations(), count=count
    )


def make_delay_entry(milliseconds: int) -> CatalogueEntry:
    """Return partners that are late by CooTest's milliseconds."""
    operator = PartnerDelay(f"delay_{milliseconds}")
    return make_catalogue_entry(operator, KeptOfEgo(), milliseconds=milliseconds)


def make_composed_entry(count: int) -> CatalogueEntry:
    """Return V2XGen's N manipulations, one after the other."""
    return make_catalogue_entry(ComposedManipulations(), ExpectedChanges(), manipulations=count)


def make_off_road_entry(name: str, count: int, on: Where) -> CatalogueEntry:
    """Return n points off the road, in the window (Zhou and Sun, MR1)."""
    return make_catalogue_entry(OffRoadPointsOperator(on, name=name), *MR1, count=count)


def make_placebo_entry(operator: SceneOperator) -> CatalogueEntry:
    """Return a change that means nothing, under all relations with bands, and MR1."""
    return CatalogueEntry(operator=operator, relations=(*BANDED, *MR1), placebo=True)


def make_weather_entry(operator: SceneOperator) -> CatalogueEntry:
    """Return weather, compared with a dry sweep of the same sensor and the same noise."""
    return CatalogueEntry(operator=operator, relations=(KeptDetections(),), source=DryAir())


STRAY_OFF_ROAD: Mapping[Where, str] = {"ego": "stray_off_road", "both": "stray_off_road_all"}
"""How operators begin that put points off the road, by whose sweeps get them."""
MAKERS: Mapping[str, Callable[[], CatalogueEntry]] = {
    "latency": lambda: make_catalogue_entry(PartnerLatency(), KeptOfEgo()),
    **{f"delay_{number}": partial(make_delay_entry, number) for number in (100, 200, 300)},
    "pose_error": lambda: make_catalogue_entry(PoseError(), KeptOfEgo()),
    "global_loss": lambda: make_catalogue_entry(GlobalLoss(), KeptOfEgo()),
    "channel_loss": lambda: make_catalogue_entry(ChannelLoss(), KeptOfEgo()),
    "rain": lambda: make_weather_entry(RainOperator()),
    "snow": lambda: make_weather_entry(SnowOperator()),
    "fog": lambda: make_weather_entry(FogOperator()),
    "wet_ground": lambda: make_weather_entry(WetGroundOperator()),
    "insert": lambda: make_catalogue_entry(InsertObject(), ExpectedChanges()),
    "insert_far": lambda: make_catalogue_entry(
        InsertObject(FAR, FARTHEST, always_beyond=FAR), ExpectedChanges()
    ),
    "delete": lambda: make_catalogue_entry(DeleteObject(), ExpectedChanges()),
    "scale": lambda: make_catalogue_entry(ScaleObject(), ExpectedChanges()),
    "rotate": lambda: make_catalogue_entry(RotateObject(), ExpectedChanges()),
    "translate": lambda: make_catalogue_entry(TranslateObject(), ExpectedChanges()),
    **{f"composed_{count}": partial(make_composed_entry, count) for count in (1, 2, 3)},
    "stray_points_10": lambda: make_stray_entry(10),
    "stray_points_100": lambda: make_stray_entry(100),
    "stray_points_1000": lambda: make_stray_entry(1000),
    **{
        f"{start}_{count}": partial(make_off_road_entry, f"{start}_{count}", count, on)
        for on, start in STRAY_OFF_ROAD.items()
        for count in (10, 100, 1000)
    },
    "night": lambda: make_catalogue_entry(NightOperator(), KeptDetections()),
    "blur": lambda: make_catalogue_entry(BlurredPictures(), KeptDetections()),
    "glare": lambda: make_catalogue_entry(DazzledCameras(), KeptDetections()),
    "dropped_camera": lambda: make_catalogue_entry(BlackPicture(), KeptDetections()),
    "miscalibration": lambda: make_catalogue_entry(MiscalibratedCameras(), KeptDetections()),
    "brightness": lambda: make_catalogue_entry(BrighterPictures(), ExpectedChanges()),
    "same_view": lambda: make_catalogue_entry(SameView(), KeptOfEgo()),
    "reordered_partners": lambda: make_catalogue_entry(
        ReorderedPartners(), EqualAnswer(name="R2_partners", tolerance=ROUNDING)
    ),
    "reordered_points": lambda: make_catalogue_entry(
        ReorderedPoints(), EqualAnswer(name="R2_points", tolerance=ROUNDING)
    ),
    "moved_world": lambda: make_catalogue_entry(
        MovedWorld(), EqualAnswer(name="R3_moved_world", tolerance=1e-3)
    ),
    "absent": lambda: make_catalogue_entry(AbsentPartners("all"), AsAlone()),
    "silent": lambda: make_catalogue_entry(SilentPartners("all"), AsAlone(name="R4_silent")),
    "duplicate": lambda: make_catalogue_entry(
        DuplicateMessages(), make_duplicate_relation(exact=False)
    ),
    "one_more": lambda: make_catalogue_entry(OneMorePartner(), MoreHelp()),
    "mirrored": lambda: make_catalogue_entry(MirroredWorld(), MirroredAnswer()),
    **{
        placebo.name: partial(make_placebo_entry, placebo)
        for placebo in (*make_placebos(), PixelPlacebo())
    },
}


def select_catalogue_entries(names: tuple[str, ...]) -> dict[str, CatalogueEntry]:
    """Return the named entries."""
    for name in names:
        if name not in MAKERS:
            raise UserError(describe_unknown_name("operator", name, MAKERS))
    return {name: MAKERS[name]() for name in names}
