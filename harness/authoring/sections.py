"""Cross-sections of a street: which lanes it has where, and how wide they are.

A street is wide in the middle and arranges itself before its junctions: the parking lane ends, the
sidewalk grows into its place, a left-turn pocket opens at the centre line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.authoring.document import Cubic, LaneMark, LaneSection, RoadLane
from harness.authoring.geometry import TIE
from harness.authoring.plan import StreetProfile

POCKET_WIDTH = 3.25
ISLAND_WIDTH = 0.6
WIDEST_SIDEWALK = 4.0
POCKET_TAPER = 20.0
PARKING_TAPER = 8.0
PARKING_FREE = 8.0
NO_CHANGE = 12.0

TYPES = {"median": "median", "pocket": "driving", "parking": "parking", "sidewalk": "sidewalk"}

Widths = dict[str, float]
"""Lane name to width, from the centre line outward."""


@dataclass(frozen=True)
class CrossSection:
    """A cut through a street: lanes right and left of the centre line, and where that line lies.

    `offset` moves the centre line to the left of the reference line.
    """

    right: Widths
    left: Widths
    offset: float

    def measure_kerb(self, left: bool) -> float:
        """Distance from the reference line to the kerb on one side."""
        side = self.left if left else self.right
        road = sum(width for name, width in side.items() if name != "sidewalk")
        return road + (self.offset if left else -self.offset)


def is_driving(name: str) -> bool:
    """Return whether a lane is a driving lane (pockets included)."""
    return name == "pocket" or name.startswith("drive")


def make_middle_section(profile: StreetProfile) -> CrossSection:
    """Cut the street where no junction is near."""
    right, left = (
        _make_side_widths(profile, profile.median / 2, 0.0, parking) for parking in profile.parking
    )
    return _make_centred_section(right, left, None)


def make_mouth_section(
    profile: StreetProfile, pocket_right: bool, pocket_left: bool
) -> CrossSection:
    """Cut the street at a junction; a pocket belongs to the side that drives towards it."""
    sides = []
    for has_pocket, other in ((pocket_right, pocket_left), (pocket_left, pocket_right)):
        median = profile.median / 2
        if has_pocket:
            median = 0.0
        elif other:
            median = max(profile.median - POCKET_WIDTH, ISLAND_WIDTH)
        sides.append(_make_side_widths(profile, median, POCKET_WIDTH if has_pocket else 0.0, 0.0))
    return _make_centred_section(sides[0], sides[1], make_middle_section(profile))


def _make_side_widths(
    profile: StreetProfile, median: float, pocket: float, parking: float
) -> Widths:
    lanes = {f"drive{k}": profile.lane_width for k in reversed(range(profile.lanes))}
    widths = {"median": median, "pocket": pocket, **lanes, "parking": parking}
    widths["sidewalk"] = profile.sidewalk
    return {name: width for name, width in widths.items() if width > 0}


def _make_centred_section(right: Widths, left: Widths, wide: CrossSection | None) -> CrossSection:
    """Put the roadway's middle on the reference line; let sidewalks fill up to `wide`'s edges."""
    bare = CrossSection(right, left, 0.0)
    offset = (bare.measure_kerb(left=False) - bare.measure_kerb(left=True)) / 2
    cut = CrossSection(right, left, offset)
    for side, is_left in ((right, False), (left, True)):
        if wide is not None and "sidewalk" in side:
            spare = wide.measure_kerb(is_left) - cut.measure_kerb(is_left)
            side["sidewalk"] = max(side["sidewalk"], min(side["sidewalk"] + spare, WIDEST_SIDEWALK))
    return cut


@dataclass(frozen=True)
class EndZone:
    """The stretch at a junction: the same for `steady` metres, then `taper` metres of change."""

    cut: CrossSection
    steady: float
    taper: float


def make_end_zone(profile: StreetProfile, pocket: float, at_end: bool) -> EndZone:
    """Lay out one end of a street; the pocket is on the side that drives towards that end."""
    cut = make_mouth_section(profile, pocket > 0 and at_end, pocket > 0 and not at_end)
    if pocket > 0:
        return EndZone(cut, pocket, POCKET_TAPER)
    if any(profile.parking):
        return EndZone(cut, PARKING_FREE, PARKING_TAPER)
    return EndZone(cut, 0.0, 0.0)


def make_blend_cubic(start: float, end: float, length: float, station: float = 0.0) -> Cubic:
    """Go from one value to another with level ends."""
    if length <= 0 or abs(end - start) < 1e-9:
        return (station, start, 0.0, 0.0, 0.0)
    rise = end - start
    return (station, start, 0.0, 3 * rise / length**2, -2 * rise / length**3)


@dataclass(frozen=True)
class StreetStretch:
    """A part of the street between two stations, from one cross-section to another."""

    begin: float
    end: float
    start: CrossSection
    finish: CrossSection

    def get_side_lanes(self, left: bool) -> tuple[Widths, Widths]:
        """Return one side's lanes at the beginning and at the end."""
        if left:
            return self.start.left, self.finish.left
        return self.start.right, self.finish.right


def compute_quarter_floor(length: float) -> float:
    """Round down to a quarter metre."""
    return math.floor(length * 4 + TIE) / 4


def split_street(
    profile: StreetProfile, first: EndZone, last: EndZone, length: float
) -> list[StreetStretch]:
    """Divide a street; inner boundaries fall on quarter metres, exact in any float format."""
    plain = make_middle_section(profile)
    begin = [compute_quarter_floor(s) for s in (first.steady, first.steady + first.taper)]
    end = [compute_quarter_floor(length - s) for s in (last.steady + last.taper, last.steady)]
    if end[0] - begin[1] < 1.0:
        raise ValueError(f"{length:.1f} m is too short for what its ends need")
    stations = [0.0, *begin, *end, length]
    cuts = [first.cut, first.cut, plain, plain, last.cut, last.cut]
    parts = [
        StreetStretch(stations[k], stations[k + 1], cuts[k], cuts[k + 1])
        for k in range(5)
        if stations[k + 1] - stations[k] > TIE
    ]
    if first.steady == 0 == last.steady:
        return [StreetStretch(0.0, length, plain, plain)]
    return parts


def compute_lane_offset(parts: list[StreetStretch]) -> tuple[Cubic, ...]:
    """Shift the centre line as the cross-sections ask."""
    return tuple(
        make_blend_cubic(part.start.offset, part.finish.offset, part.end - part.begin, part.begin)
        for part in parts
    )


def _list_lane_names(part: StreetStretch, left: bool) -> list[str]:
    start, finish = part.get_side_lanes(left)
    order = ["median", "pocket", *[f"drive{k}" for k in range(8, -1, -1)], "parking", "sidewalk"]
    return [name for name in order if name in start or name in finish]


def _is_steady(part: StreetStretch, name: str, left: bool) -> bool:
    start, finish = part.get_side_lanes(left)
    return name in start and name in finish


def _get_lane_type(part: StreetStretch, name: str, left: bool) -> str:
    if name.startswith("drive"):
        return "driving"
    if not _is_steady(part, name, left):
        return {"pocket": "median", "parking": "shoulder"}.get(name, TYPES[name])
    return TYPES[name]


def get_lane_id(part: StreetStretch, name: str, left: bool) -> int:
    """Return the OpenDRIVE id of a lane within a stretch."""
    rank = _list_lane_names(part, left).index(name) + 1
    return rank if left else -rank


def _make_lane_marks(
    part: StreetStretch, name: str, left: bool, *, outer: str | None, length: float
) -> list[LaneMark]:
    """Draw the line between a lane and its outer neighbour: no change of lane near a junction."""
    if outer is None:
        return [LaneMark(0.0, "none")]
    if outer == "sidewalk":
        return [LaneMark(0.0, "curb")]
    types = [_get_lane_type(part, x, left) for x in (name, outer)]
    if types != ["driving", "driving"]:
        return [LaneMark(0.0, "solid")]
    near, far = (0.0, length) if left else (length, 0.0)
    toll = (near - NO_CHANGE) if near > far else NO_CHANGE
    return (
        _make_dashed_marks(part, toll, solid_after=near > far)
        if near != far
        else [LaneMark(0.0, "broken")]
    )


def _make_dashed_marks(part: StreetStretch, toll: float, solid_after: bool) -> list[LaneMark]:
    """Dashes that turn solid at station `toll` of the street."""
    dashes, solid = LaneMark(0.0, "broken", change=True), LaneMark(0.0, "solid")
    before, after = (dashes, solid) if solid_after else (solid, dashes)
    if toll <= part.begin + TIE:
        return [after]
    if toll >= part.end - TIE:
        return [before]
    return [before, LaneMark(toll - part.begin, after.type, change=after.change)]


def _find_linked_lane(
    part: StreetStretch, other: StreetStretch | None, name: str, left: bool
) -> int | None:
    """Find the lane that continues `name` in a neighbouring stretch."""
    if other is None or name not in _list_lane_names(other, left):
        return None
    if name == "pocket" and not (_is_steady(part, name, left) and _is_steady(other, name, left)):
        return None
    return get_lane_id(other, name, left)


def make_lane_sections(parts: list[StreetStretch]) -> tuple[LaneSection, ...]:
    """Write a street's lane sections."""
    length = parts[-1].end
    result = []
    for index, part in enumerate(parts):
        before = parts[index - 1] if index else None
        after = parts[index + 1] if index + 1 < len(parts) else None
        lanes = [RoadLane(id=0, type="none", widths=(), marks=(_make_centre_mark(part),))]
        for left in (True, False):
            names = _list_lane_names(part, left)
            start, finish = part.get_side_lanes(left)
            for name, outer in zip(names, [*names[1:], None], strict=True):
                width = make_blend_cubic(
                    start.get(name, 0), finish.get(name, 0), part.end - part.begin
                )
                lanes.append(
                    RoadLane(
                        id=get_lane_id(part, name, left),
                        type=_get_lane_type(part, name, left),
                        widths=(width,),
                        marks=tuple(_make_lane_marks(part, name, left, outer=outer, length=length)),
                        predecessor=_find_linked_lane(part, before, name, left),
                        successor=_find_linked_lane(part, after, name, left),
                    )
                )
        result.append(LaneSection(part.begin, tuple(lanes)))
    return tuple(result)


def _make_centre_mark(part: StreetStretch) -> LaneMark:
    if len([name for name in part.start.right if is_driving(name)]) > 1:
        return LaneMark(0.0, "solid solid", "yellow")
    return LaneMark(0.0, "broken" if part.start == part.finish else "solid", "yellow")
